"""Look-ups: which cell a stated number, period or name can be the value of, and whether it is.

Every pair of rows and column that a sentence can mean is a candidate. How its words stand to each
other becomes features; :mod:`.program` weighs them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import accumulate, combinations
from math import isfinite
from typing import Literal

from tablemend.records import ClaimError, Evidence
from tablemend.values.cells import is_blank, year_of
from tablemend.values.dates import covers_date, same_date
from tablemend.values.numbers import label_signs, plain_digits
from tablemend.values.text import Span, fold
from tablemend.values.units import PLAIN
from tablemend.verifier.conditions import PLURAL, conditions
from tablemend.verifier.entity_linking import MomentLink
from tablemend.verifier.indexing import sort_of_period
from tablemend.verifier.lexicon import LITTLE_WORDS, UNIT_TERMS, terms
from tablemend.verifier.number_agreement import (
    Agreement,
    compare,
    counts_names,
    fits,
    holds,
    is_difference,
    is_telling,
    size_of,
    sizes,
)
from tablemend.verifier.oriented_table import ColumnIndex, moment
from tablemend.verifier.reading import Amount, clock_of
from tablemend.verifier.sentence_links import (
    TIME_UNITS,
    ColumnMention,
    Phrase,
    RowFilter,
    SentenceLinks,
    StatedNumber,
    in_brackets,
    range_set,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A table program that a claim can mean, executed.

    Attributes:
        kind: what is stated.
        start, end: the words that state it, as places in the document.
        truth: whether the table gives what is stated; ``None`` where that is not clear.
        features: what speaks for this reading, for the ranking.
        evidence: the cells that decided it.
        error: the type of the error if it is false.
        expected: what would be right in place of the words.
        reason: one line for a person.
        doubtful: whether words were passed over without which it is false: it contradicts nothing.
    """

    kind: Literal["number", "period", "name", "computed"]
    start: int
    end: int
    truth: bool | None
    features: dict[str, float]
    evidence: tuple[Evidence, ...] = ()
    error: ClaimError = "NUM"
    expected: tuple[str, ...] = ()
    reason: str = ""
    doubtful: bool = False


# ---- look-ups

Cells = Sequence[tuple[int, int]]
"""Row and column of each."""
_BREAK = re.compile(r"[,;:()\[\]]")
_BREAKING = frozenset("and or but while whereas although with".split())
_SCOPE = re.compile(
    r"\b(?:season|career|streak|straight|consecutive|averag\w+|all[ -]time|per game|in a row"
    r"|(?:next|last|past|previous|recent|final) (?:\w+ )?(?:games?|match(?:es)?|seasons?|years?"
    r"|months?|weeks?|outings?|contests?|meetings?|starts?|nights?))\b"
)
_SHARES = re.compile(r"%|\b(?:per ?cent|pct|perc|share|rate|ratio|proportion|fraction|margin)")
_CUES = frozenset("superlative rank comparative count quantifier aggregate change negation".split())
NAMED = ("the table has the name", "the table has the period")
"""Reasons of readings that look nothing up."""
NO_VALUE = "the table gives no value"
"""Reason of a look-up that ends at a blank cell."""
_ENTITIES = 4
_COLUMNS = 5
_SEARCHED = 200  # rows that may have a number that is said of another
_MANY = 12
_TOTAL = frozenset("total overall combined all altogether sum".split())
_ORDER: tuple[Agreement, ...] = ("same", "near", "unit", "different")


def bucket(words: int) -> str:
    """A number of words, coarsely."""
    if words <= 2:
        return str(words)
    return "3-4" if words <= 4 else "5-8" if words <= 8 else "9+"


class Lookups:
    """The look-ups of one sentence in one table."""

    def __init__(self, frame: SentenceLinks, context: tuple[str, ...] = ()) -> None:
        self.frame = frame
        self.view = frame.view
        self.grid = frame.view.grid
        self.filters: list[RowFilter] = [*conditions(frame), *_weekdays(frame)]
        self._context = context
        self._anywheres: dict[int, bool] = {}

    def candidates(self) -> Iterator[Candidate]:
        """All candidates, for every stated number, period and name."""
        for stated in self.frame.amounts:
            whole = (h for h in self.frame.headings if h.share > 0.99)
            in_header = any(h.encloses(*stated.span) for h in whole)  # "1990 - 95"
            if stated.amount.role != "year" and not in_header and isfinite(stated.value):
                found = list(self.of_number(stated))
                # no other rows deny a number where the row right behind it has it: "14% in Q4"
                given = any(one.truth and one.features.keys() >= _RIGHT_BEHIND for one in found)
                yield from (o for o in found if not (given and "of another row" in o.features))
        for link in self.frame.links.moments:
            yield from self.of_period(link)
        for phrase in self.frame.phrases:
            yield from self.of_name(phrase)

    # ---- numbers

    def of_number(self, stated: StatedNumber) -> Iterator[Candidate]:
        """Cells that can be what a number states."""
        place = stated.span
        own = self._number_features(stated)
        if size_of(self.frame, stated):
            possible = sizes(self.frame, stated)
            narrowed = {len(f.rows) for f in self.filters}  # "of the four companies in 2020"
            truth = int(stated.value) in possible | narrowed
            features = ["size", *self._beside(place), *self._context]
            expected = (str(len(self.view.rows)),) if len(possible) == 1 else ()
            reason = f"the table has {len(self.view.rows)} rows"
            span = Span(stated.amount.start, stated.amount.end)
            yield self._reading("number", span, truth, features, (), "NUM", expected, reason)
            return
        entities = self._entities(place, None)
        among = self._of_unit(stated)
        yield from self._extremes(stated, own, entities, among)
        yield from self._derived(stated, own, entities, among)
        columns = self._columns(place, among)
        if is_difference(self.frame, stated):  # a column of changes has it
            headers = {c: self.view.columns[c].header for c, _ in columns if c is not None}
            changes = {c for c, header in headers.items() if "change" in label_signs(header)}
            columns = [one for one in columns if one[0] in changes]
        timed = stated.amount.number.unit.symbol in TIME_UNITS
        # of someone whom no table has, or worked out of several rows
        loose = self.frame.links.unknown_names or self._is_of_several(stated.first)
        for entity in entities:
            for column, said in columns:
                if column is not None and timed and self.view.columns[column].temporal:
                    continue  # "built in four years" is no year
                if column is None:
                    yield from self._anywhere(stated, entity, [*own, *said], among)
                    continue
                outcome, cells = self._agreement(stated.amount, entity.rows, column)
                features = [*own, *said, *entity.features]
                if not cells and "col unnamed" not in said:
                    named = any(f.fit >= 0.99 and f.column != column for f in entity.filters)
                    if named and all(is_blank(self.view.cell(r, column)) for r in entity.rows):
                        cells = [(row, column) for row in entity.rows[:3]]
                        blank = self._candidate(stated, features, "near", cells)
                        yield replace(blank, reason=NO_VALUE)
                if not cells or outcome == "apart":
                    continue
                several = len(entity.rows) > 1 or "row total" in entity.features
                if outcome == "different" and loose and several:
                    continue
                grade = f"{_grade(said, 'col')} {_grade(entity.features, 'row')}"
                features.append(grade)
                cell = self.view.source(*cells[0])
                if cell and dict(stated.amount.signs).keys() & self.grid.signs(*cell):
                    features.append("sign named")  # "fell 3.1%" of a column of changes
                features += [f"{grade} {name}" for name in own if name.startswith("cue")]
                if not entity.rows or len(entity.rows) > 1:
                    features.append("several cells" if len(cells) > 1 else "one cell of several")
                yield self._candidate(stated, features, outcome, cells)

    def _of_unit(self, stated: StatedNumber) -> tuple[int, ...]:
        """The columns whose header says that they count in the unit of a number, or else all."""
        unit, columns = stated.amount.number.unit, self.view.columns
        wanted = UNIT_TERMS.get(unit.symbol, frozenset())
        if unit.currency:
            money = [c for c in self._value_columns if columns[c].money]
            return tuple(money) or self._value_columns
        found = [
            c
            for c in self._value_columns
            if not wanted.isdisjoint(columns[c].terms) or unit.symbol in columns[c].units
        ]
        dated = {c for link in self.frame.links.moments for c in link.columns}
        if not self.view.turned and len(found) > 1:  # "62.1 TWh in 2023"
            found = [c for c in found if c in dated] or found
        return tuple(found) or self._value_columns

    def _extremes(
        self, stated: StatedNumber, own: list[str], whom: Sequence[_Entity], among: Sequence[int]
    ) -> Iterator[Candidate]:
        """The number as the smallest or largest of a column: "from 3 to 14", "a high of 14"."""
        place = stated.span
        words = self.frame.words[max(0, stated.first - 5) : stated.last + 2]
        near = [word for word in words if word in _EXTREME]
        if not near:
            return
        lead = near[-1]
        named = {h.column for h in self.frame.headings}
        for entity in whom:
            if len(entity.rows) < 2:
                continue
            for column in among:
                ordered = self.view.columns[column].ordered
                rows = [r for r in entity.rows if r in ordered.of]
                if len(rows) < 2 or self.view.columns[column].kind != "number":
                    continue
                ends = {pick(rows, key=ordered.of.__getitem__) for pick in (min, max)}
                outcome, cells = self._agreement(stated.amount, sorted(ends), column)
                unsure = column not in named or self._is_of_several(stated.first)
                if not cells or (unsure and outcome != "same"):
                    continue
                which = [f for f in entity.features if f in _WHICH]
                said = self._heading_features(column, place)
                features = [*own, "extreme", f"extreme {lead}", *said, *which]
                yield self._candidate(stated, features, outcome, cells)

    def _derived(
        self, stated: StatedNumber, own: list[str], whom: Sequence[_Entity], among: Sequence[int]
    ) -> Iterator[Candidate]:
        """The number as a difference, change, ratio, sum, mean or share of cells that are named.

        Only what fits: there are so many that one which does not fit says nothing.
        """
        seen: set[str] = set()
        shares: list[tuple[float, list[tuple[int, int]]]] = []
        summed = self._is_of_several(stated.first) and "cue rank" not in own
        for operation, value, column, cells, how in self._computations(whom, among):
            if summed and operation not in ("sum", "mean", "range"):
                continue
            percent = operation in _RELATIVE or column.percent
            if percent != stated.amount.number.percent and operation != "ratio":
                continue
            if operation == "share":
                shares.append((value, cells))
            plain = operation in ("ratio", *_RELATIVE)
            right = holds(value, stated) if plain else fits(column, value, stated)
            name = f"derived {operation} {how}"
            if not right or name in seen:
                continue
            seen.add(name)
            features = [*own, "derived", f"derived {operation}", name]
            yield self._candidate(stated, features, "same", cells)
        words = self.frame.words[max(0, stated.first - 6) : stated.last + 3]
        if shares and not seen and stated.amount.number.percent and not _SHARING.isdisjoint(words):
            yield self._candidate(stated, [*own, "derived", "no share"], "different", shares[0][1])

    def _computations(
        self, entities: Sequence[_Entity], among: Sequence[int]
    ) -> Iterator[tuple[str, float, ColumnIndex, list[tuple[int, int]], str]]:
        """Operation, value, column, cells and how they were chosen."""
        named = [c for c in among if any(h.column == c for h in self.frame.headings)]
        columns = (named or among)[:_COLUMNS]
        free = [e for e in entities if e.filters or e.carried]
        single = list(dict.fromkeys(e.rows[0] for e in free if len(e.rows) == 1))
        for index in columns:
            column = self.view.columns[index]
            of = column.ordered.of
            if column.kind != "number":
                continue
            how = "of a named column" if named else "of a column"
            for one, other in combinations(single, 2):
                if one in of and other in of:
                    for name, value in _pairwise(of[one], of[other]):
                        yield name, value, column, [(one, index), (other, index)], how
            groups = [("all", self.view.rows), *(("group", e.rows) for e in free)]
            for group, rows in [*groups, ("named", tuple(single))]:
                values = [of[row] for row in rows if row in of]
                if len(values) < 2:
                    continue
                cells = [(row, index) for row in rows if row in of][:3]
                total = sum(values)
                yield "sum", total, column, cells, f"over {group} rows, {how}"
                yield "mean", total / len(values), column, cells, f"over {group} rows, {how}"
                if group == "all":
                    yield "range", max(values) - min(values), column, cells, how
                    part = [of[row] for row in single if row in of]
                    for value in [*part, sum(part)] if total else ():
                        yield "share", 100 * value / total, column, cells, how
        for row in single or (self.view.rows if len(self.view.rows) == 1 else ()):
            summed = (self.view.columns[c] for c in among if self.view.columns[c].adds_up)
            own = [(c.index, c.ordered.of[row]) for c in summed if row in c.ordered.of]
            pairs = [(c, v) for c, v in own if c in named] if len(named) > 1 else own[:_COLUMNS]
            for (one, left), (other, right) in combinations(pairs, 2):
                for name, value in _pairwise(left, right):
                    cells = [(row, one), (row, other)]
                    yield name, value, self.view.columns[one], cells, "across columns"
            if len(own) > 1:
                cells = [(row, c) for c, _ in own][:3]
                total = sum(value for _, value in own)
                yield "sum", total, self.view.columns[own[0][0]], cells, "across columns"

    def _anywhere(
        self, stated: StatedNumber, entity: _Entity, own: list[str], among: Sequence[int]
    ) -> Iterator[Candidate]:
        """The number in whatever column of the rows."""
        found: dict[Agreement, list[tuple[int, int]]] = defaultdict(list)
        for column in among:
            outcome, cells = self._agreement(stated.amount, entity.rows, column)
            if outcome != "unit" or is_telling(stated.amount):
                found[outcome] += cells
        features = [*own, "col none", *entity.features]
        if found["same"] or found["unit"]:
            best: Agreement = "same" if found["same"] else "unit"
            yield self._candidate(stated, features, best, found[best][:3])
        elif found["different"]:  # it may be computed from cells
            yield self._candidate(stated, features, "near", [])

    def _candidate(
        self, stated: StatedNumber, features: list[str], outcome: Agreement, cells: Cells
    ) -> Candidate:
        amount = stated.amount
        truth = None if outcome == "near" else outcome == "same"
        if "other noun" in features and "counts bare" in features and "derived" not in features:
            truth = None  # "41 goals" beside a column of points
        of_them = self.frame.words[stated.last : stated.last + 2] in _OF_THEM
        if (truth is False and of_them) or counts_names(self.frame, stated):
            truth = None  # "four invoices"
        if truth is False and not _REFERRING.isdisjoint(self.frame.words):
            truth = None
        timed = truth is False and amount.number.unit.symbol in TIME_UNITS
        if timed and sum(c.kind in ("date", "time") for c in self.view.columns) > 1:
            truth = None  # "34 minutes", from one time to another
        features = [*features, *self._context]
        error: ClaimError = "NUM"
        if outcome == "unit":
            features.append("other unit")
            error = "ATT"
        elif truth is False:
            if cells:
                features.append(self._size(amount, cells[0]))
            features.append("said elsewhere" if self._is_anywhere(amount) else "said nowhere")
            error = self._error(amount, cells)
            if error != "NUM":
                features.append("of another row")
        expected: tuple[str, ...] = ()
        for cell in cells if truth is False else ():
            # of a cell that states a count and a share the share
            place = self.view.source(*cell)
            second = self.grid.second(*place) if place and amount.number.percent else None
            right = f"{plain_digits(second.value)}%" if second else self.view.cell(*cell)
            expected += (right,) if right not in expected else ()
        said = Span(amount.start, amount.end)
        reason = _reason(self.frame.reading.text[slice(*said)], truth, expected)
        return self._reading("number", said, truth, features, cells, error, expected, reason)

    def _reading(
        self,
        kind: Literal["number", "period", "name"],
        said: Span,
        truth: bool | None,
        features: Iterable[str],
        cells: Cells,
        error: ClaimError,
        expected: tuple[str, ...],
        reason: str,
    ) -> Candidate:
        """A candidate; of many corrections none is named."""
        known, evidence = dict.fromkeys(features, 1.0), self.view.evidence_of(cells[:3])
        expected = expected if len(expected) <= 3 else ()
        return Candidate(kind, *said, truth, known, evidence, error, expected, reason)

    def _error(self, amount: Amount, cells: Cells) -> ClaimError:
        """REL or TMP where another row of the column has the value: the row is the smaller edit."""
        digits = len(str(abs(amount.number.value)).replace(".", "").strip("0"))
        if digits <= 1 and not amount.number.decimals:
            return "NUM"
        rows = self.view.rows[:_SEARCHED]
        for column in {column for _, column in cells}:
            if self._agreement(amount, rows, column, _SEARCHED)[0] == "same":
                return "TMP" if moment(self.view.names[0]) is not None else "REL"
        return "NUM"

    def _is_anywhere(self, amount: Amount) -> bool:
        """Whether any cell of any table has the number."""
        found = self._anywheres.get(amount.start)
        if found is None:
            size = abs(amount.value)
            step = Decimal(1).scaleb(-amount.number.decimals) * amount.number.unit.scale
            found = self._anywheres[amount.start] = any(
                self.frame.index.numbers_between(max(low, Decimal(0)), high)
                for low, high in (
                    ((size - step / 2) / scale, (size + step / 2) / scale)
                    for scale in (Decimal(1), Decimal(100), Decimal(1000), Decimal(1000000))
                )
            )
        return found

    def _size(self, amount: Amount, cell: tuple[int, int]) -> str:
        place = self.view.source(*cell)
        number = self.grid.value(*place).number if place else None
        if number is None or not number.value or not amount.value:
            return "off zero"
        scale = float(self.grid.unit(*place).scale) if place and number.unit.scale == 1 else 1.0
        ratios = [abs(float(amount.value) / float(number.value)) / by for by in (1.0, scale)]
        ratio = min(max(one, 1 / one) if one else 1e9 for one in ratios)
        if ratio == 1:
            return "off sign"
        return f"off {next((most for most in ('1.2', '2', '10') if ratio < float(most)), '1000')}"

    def _number_features(self, stated: StatedNumber) -> list[str]:
        amount = stated.amount
        number = amount.number
        digits = len(str(abs(number.value)).replace(".", "").strip("0"))
        unit = "unit" if number.unit.symbol else "bare"
        unit = "%" if number.percent else "money" if number.unit.currency else unit
        found = ["number", f"digits {min(digits, 4)}", f"counts {unit}", f"role {amount.role}"]
        known = {
            "hedged" if amount.hedge == "about" else "bounded": amount.hedge,
            "spelled": amount.spelled,
            f"pair {amount.pair}": amount.pair,
            "other noun": self._other_noun(stated),
        }
        found += [name for name, is_so in known.items() if is_so]
        found += self._cues_near(stated.first)
        found += self._beside(stated.span)
        return found

    def _beside(self, place: tuple[int, int]) -> list[str]:
        """The small words before and behind something stated."""
        words = self.frame.words
        before = words[place[0] - 1] if place[0] else "start"
        behind = words[place[1]] if place[1] < len(words) else "end"
        beside = (("before", before), ("behind", behind))
        return [f"{side} {word if word in _SMALL else 'else'}" for side, word in beside]

    def _cues_near(self, place: int) -> list[str]:
        """The operations that the clause of a token announces."""
        first, last = self.frame.clause(place)
        return sorted({f"cue {cue}" for at, cue in self._cue_places if first <= at < last})

    def _is_of_several(self, place: int) -> bool:
        """Whether the clause of a token speaks of a sum, a mean or the first few; of no range."""
        first, last = self.frame.clause(place)
        return any(
            first <= self.frame.token_range(cue.start, cue.end)[0] < last
            for cue in self.frame.cues
            if cue.kind == "rank" or (cue.kind == "aggregate" and cue.sense != "range")
        )

    @cached_property
    def _cue_places(self) -> list[tuple[int, str]]:
        return [
            (self.frame.token_range(cue.start, cue.end)[0], "difference" if apart else cue.kind)
            for cue in self.frame.cues
            if cue.kind in _CUES
            for apart in [(cue.kind, cue.sense) == ("change", "difference")]
        ]

    def _other_noun(self, stated: StatedNumber) -> bool:
        """Whether a plural that no header has stands right behind the number."""
        words, named = self.frame.words, self._named_tokens
        for place in range(stated.last, min(stated.last + 2, len(words))):
            if self._breaks[place] != self._breaks[stated.last - 1] or words[place] in LITTLE_WORDS:
                return False
            if place in named:
                return False
            if PLURAL.search(words[place]):
                return True
        return False

    def _agreement(
        self, amount: Amount, rows: Sequence[int], column: int, most: int = _MANY
    ) -> tuple[Agreement, list[tuple[int, int]]]:
        """The best agreement of an amount with the cells of a column, and the cells."""
        found: dict[Agreement, list[tuple[int, int]]] = {}
        said = self.view.columns[column].said
        two = self.view.turned or self.view.columns[column].two_valued
        words = "" if amount.spelled else fold(self.frame.reading.text[amount.start : amount.end])
        for row in rows[:most]:
            place = self.view.source(row, column)
            if place is None:
                continue
            second = self.grid.second(*place) if two else None
            if second is not None and second.percent == amount.number.percent:
                outcome = compare(amount, second, PLAIN)
                if amount.number.percent or outcome == "same":
                    found.setdefault(outcome, []).append((row, column))
                    continue
            number = self.grid.value(*place).number
            if number is not None:
                unit, signs = self.grid.unit(*place), self.grid.signs(*place)
                whole = not number.decimals and not number.unit.symbol and abs(number.value) > 1
                if amount.number.percent and whole and not unit.symbol:
                    named = f"{self.view.columns[column].header} {self.grid.caption}"
                    if not _SHARES.search(named.casefold()):
                        continue  # "71.4% of their games" beside 30 wins
                outcome = compare(amount, number, unit, signs)
                if (
                    words
                    and outcome != "same"
                    and not (signs and amount.signs)
                    and fold(self.view.cell(row, column)) == words
                ):
                    outcome = "same"
            else:
                values = said.get(row, ())
                if not values or amount.number.percent:
                    continue
                outcome = "same" if float(amount.value) in values else "near"
            found.setdefault(outcome, []).append((row, column))
        for outcome in _ORDER:
            if outcome in found:
                return outcome, found[outcome]
        return "apart", []

    # ---- periods

    def of_period(self, link: MomentLink) -> Iterator[Candidate]:
        """Cells that can be what a date, year or time states."""
        moment = link.moment
        first, last = self.frame.token_range(moment.start, moment.end)
        if first == last:
            return
        own = ["period", f"period {moment.kind}", *self._cues_near(first)]
        own += self._beside((first, last))
        dates, headed = self.frame.linking.index.dates, self.frame.linking.index.header_dates
        known = bool(link.places or link.columns)
        if moment.kind == "weekday":  # by the dates of any table that fall on it
            known = known or any(_weekday(day) == moment.readings[0] for day in dates)
        else:
            known = known or any(r in dates or r in headed for r in moment.readings)
        own.append("period known" if known else "period unknown")

        def candidate(truth: bool | None, features: list[str], cells: Cells) -> Candidate:
            said, right = Span(moment.start, moment.end), [self.view.cell(*cell) for cell in cells]
            expected = tuple(dict.fromkeys(right)) if truth is False else ()
            words = self.frame.reading.text[slice(*said)]
            reason = NAMED[1] if truth and not cells else _reason(words, truth, expected)
            known = [*own, *features, *self._context]
            return self._reading("period", said, truth, known, cells, "TMP", expected, reason)

        if self.view.turned:
            return
        clock = moment.kind == "clock"
        bounded = clock and self.frame.words[max(0, first - 1) : first] in _AROUND
        if self.grid.number == 0 and not bounded:
            sorts = self.frame.linking.index.period_sorts
            alike = not sorts.isdisjoint(map(sort_of_period, moment.readings))
            yield candidate(known or (False if alike else None), ["period anywhere"], ())
        kinds = ("time",) if clock else ("date", "span")
        dated = [c for c in self.view.columns if c.kind in kinds or (c.temporal and not clock)]
        named = {h.column for h in self.frame.headings}
        dated.sort(key=lambda column: column.index not in named)
        every = self._entities((first, last), None)
        entities = [one for one in every if one.filters or one.carried]
        rows = [row for entity in entities for row in entity.rows[:_MANY]]
        given = clock and any(
            self._same_period((row, column.index), moment.readings)
            for row in rows
            for column in dated
        )
        for entity in entities:
            for column in dated[:_COLUMNS]:
                if any(f.column == column.index for f in entity.filters):
                    continue
                cells = [(row, column.index) for row in entity.rows[:_MANY]]
                outcomes = [self._same_period(cell, moment.readings) for cell in cells]
                if not any(outcome is not None for outcome in outcomes):
                    continue
                features = [*self._heading_features(column.index, (first, last)), *entity.features]
                features.append("only date" if len(dated) == 1 else "several dates")
                truth = any(outcome for outcome in outcomes)
                by_key = "row by key" in entity.features
                if clock and not truth and (given or bounded or not by_key):
                    continue  # "leaves at 17:10, calls at B, arrives at 18:24"
                kept = [c for c, o in zip(cells, outcomes, strict=True) if o is truth]
                yield candidate(truth, features, kept)

    def _same_period(self, cell: tuple[int, int], readings: tuple[str, ...]) -> bool | None:
        """Whether a cell states a period; ``None`` where it states none."""
        if clock := clock_of(self.view.cell(*cell)):
            return clock in readings
        value = self.grid.value(*cell)
        own = value.dates or ((year,) if (year := year_of(value)) else ())
        if not own:
            return None
        return same_date(own, readings) or covers_date(own, readings) or covers_date(readings, own)

    # ---- names

    def of_name(self, phrase: Phrase) -> Iterator[Candidate]:
        """Cells that can be what a name states."""
        if self.view.turned:
            return
        place = phrase.span
        start, end = said = Span(
            self.frame.tokens[phrase.first].start, self.frame.tokens[phrase.last - 1].end
        )
        if any(link.start < end and start < link.end for link in self.frame.links.moments):
            return
        for mention in phrase.mentions[:2]:
            column = self.view.columns[mention.column]
            own = ["name", f"name of {'key' if column.index == self.view.key else column.kind}"]
            own.append("whole name" if mention.share == 1 else "part of a name")
            own.append(f"rows with it {bucket(len(mention.rows))}")
            own += self._cues_near(phrase.first)
            own += self._beside(place)
            if sum(p.mentions[0].column == mention.column for p in self.frame.phrases) > 1:
                own.append("several names of the column")
            near = [e for e in self._entities(place, mention.column) if e.filters or e.carried]
            named = self._heading_features(mention.column, place)
            error: ClaimError = "ATT" if column.index != self.view.key else "REL"
            for entity in near:
                truth = bool(mention.rows & set(entity.rows))
                graded = f"name {_grade(entity.features, 'row')} {named[0]}"
                rows = [r for r in entity.rows if r in mention.rows] if truth else entity.rows
                cells = [(row, mention.column) for row in rows[:3]]
                expected = () if truth else tuple(dict.fromkeys(self.view.cell(*c) for c in cells))
                known = [*own, *named, graded, *entity.features, *self._context]
                reason = _reason(self.frame.text(*place), truth, expected)
                yield self._reading("name", said, truth, known, cells, error, expected, reason)
            if not near:
                cells = [(row, mention.column) for row in sorted(mention.rows)[:2]]
                known = [*own, "name alone", *self._context]
                yield self._reading("name", said, True, known, cells, "NUM", (), NAMED[0])

    # ---- columns

    @cached_property
    def _value_columns(self) -> tuple[int, ...]:
        return tuple(
            column.index
            for column in self.view.columns
            if column.index != self.view.key and (column.measured or any(column.said.values()))
        )

    def _columns(
        self, place: tuple[int, int], among: Sequence[int]
    ) -> list[tuple[int | None, list[str]]]:
        """Columns that can hold a number, with what speaks for each."""
        named = {h.column for h in self._headings_beside(place)} & set(among)
        own = self._own_column(place)
        if own is not None and own in among:
            features = self._heading_features(own, place)
            return [(own, [*features, "col only" if len(among) == 1 else "col nearest"])]
        if len(among) == 1:
            column, features = among[0], self._heading_features(among[0], place)
            if "col unnamed" in features and len(self._value_columns) > 1:
                features.append("col of its unit")
            return [(column, ["col only", *features])]
        ranked = sorted(named, key=lambda c: self._nearest(c, place)[0])
        found: list[tuple[int | None, list[str]]] = []
        for number, column in enumerate(ranked[:_COLUMNS]):
            features = self._heading_features(column, place)
            features.append("col nearest" if not number else "col farther")
            found.append((column, features))
        gaps = (self._gap(h.span, place) for h in self.frame.headings if h.share > 0.99)
        apart = min((breaks + numbers for _, breaks, numbers, _ in gaps), default=3)
        found.append((None, [f"col none, a column apart {min(apart, 3)}"]))
        return found

    def _headings_beside(self, place: tuple[int, int]) -> list[ColumnMention]:
        """What names columns, but for those that other comparisons keep to themselves."""
        own, headings = self.frame.comparison(place[0]), self.frame.headings
        inside = [h for h in headings if own and self.frame.comparison(h.first) == own]
        dated = any(moment(self.view.headers[h.column]) is not None for h in inside)
        return [
            h
            for h in headings
            if (other := self.frame.comparison(h.first)) == own
            or (other is None and not (dated and moment(self.view.headers[h.column]) is not None))
        ]

    def _nearest(self, column: int, place: tuple[int, int]) -> tuple[int, ColumnMention | None]:
        best: tuple[int, ColumnMention | None] = (1000, None)
        for heading in (h for h in self.frame.headings if h.column == column):
            words, breaks, numbers, side = self._gap(heading.span, place)
            cost = words + 3 * breaks + 4 * numbers + (side == "before")
            best = (cost, heading) if cost < best[0] else best
        return best

    def _heading_features(self, column: int, place: tuple[int, int]) -> list[str]:
        """How the name of a column stands to something stated."""
        _, heading = self._nearest(column, place)
        if heading is None:
            single = len(self._value_columns) == 1 and not self.grid.key_value
            general = single and _GENERAL.issuperset(self.view.columns[column].terms)
            return ["col general" if general else "col unnamed"]
        share = "half" if heading.share >= 0.5 else "part"
        found = ["col whole" if heading.share > 0.99 else f"col {share}"]
        found += self._relation("col", heading.span, place)
        if any(a.first != place[0] and heading.first == a.last for a in self.frame.amounts):
            found.append("col of another number")
        return found

    # ---- rows

    def _entities(self, place: tuple[int, int], column: int | None) -> list[_Entity]:
        """Rows that something can be said of, with what speaks for each."""
        free = [
            f
            for f in self.filters
            if f.rows
            and (f.last <= place[0] or place[1] <= f.first)
            and (column is None or f.column != column)
            and not f.bound
            and "than" not in self.frame.words[place[1] : f.first]  # "at $999 it costs more than B"
            and not any(a.first < f.last and f.first < a.last for a in self._plain_amounts)
        ]
        free = self._of_own_part(free, place)
        gaps = {id(f): self._gap(f.span, place) for f in free}

        def cost(f: RowFilter) -> int:
            words, breaks, numbers, side = gaps[id(f)]
            return words + 2 * breaks + 2 * numbers + 3 * (side == "after")

        free.sort(key=cost)
        found: list[_Entity] = []
        seen: set[frozenset[int]] = set()
        for number, anchor in enumerate(free[:_ENTITIES]):
            rows, used = self._own_member(anchor, place), [anchor]
            for other in free:
                both = rows & other.rows
                if other.column != anchor.column and both and len(both) < len(rows):
                    rows, used = both, [*used, other]
            if rows in seen:
                continue
            seen.add(rows)
            features = self._relation("row", anchor.span, place)
            features.append("row nearest" if not number else "row farther")
            features.append("row whole" if anchor.fit >= 0.99 else "row part")
            features.append("row by key" if anchor.column == self.view.key else "row by cell")
            features.append(f"rows {bucket(len(rows))}")
            if any(
                h.column == anchor.column and self._gap(h.span, anchor.span)[0] <= 1
                for h in self.frame.headings
            ):
                features.append("row with its column")
            if len(used) > 1:
                features.append("row joint")
            if anchor.members:
                aligned = self._own_member(anchor, place) != anchor.rows
                features.append("row aligned" if aligned else "row of a list")
            unused = sum(not (f.rows & rows) for f in free)
            features.append(f"rows left {min(unused, 2)}")
            found.append(_Entity(tuple(sorted(rows)), tuple(used), features))
        if not any(f.column == self.view.key for f in free):
            subject = frozenset(self.frame.links.subject) & self.frame.rows
            if subject and not self.view.turned and subject not in seen:
                word = self.frame.words[0] if self.frame.words else ""
                opening = f"opens with {word}" if word in _PRONOUNS else "opens otherwise"
                features = ["row carried", opening]
                found.append(_Entity(tuple(sorted(subject)), (), features, True))
        every = self.view.rows
        spoken = bool(self.frame.headings or free) or len(self.frame.linking.source.grids) == 1
        spoken &= not self._names_an_unknown or bool(free)
        if len(every) == 1 and frozenset(every) not in seen and spoken:
            found.append(_Entity(every, (), ["row only"], True))
        if self.view.totals and not _TOTAL.isdisjoint(self.frame.words):
            found.append(_Entity(self.view.totals, (), ["row total"], True))
        if column is None and len(every) > 1:
            by_key = [f for f in free if f.column == self.view.key and f.fit >= 0.99]
            apart = min((sum(gaps[id(f)][1:3]) for f in by_key), default=3)
            near = f"row none, a name apart {min(apart, 3)}"
            found.append(_Entity(every, (), ["row none", near]))
        return found

    def _of_own_part(self, free: list[RowFilter], place: tuple[int, int]) -> list[RowFilter]:
        """Without what other clauses and comparisons keep to themselves."""
        beside = [f for f in free if in_brackets(self.frame, f.span, place)]
        if beside:
            return beside
        named = all(a.first != place[0] for a in self._plain_amounts)
        clauses = self.frame.own_clauses
        if named and clauses and place[0] >= clauses[0][0]:
            first, last = next(c for c in clauses if c[0] <= place[0] < c[1])
            opening = clauses[0][0]
            free = [f for f in free if first <= f.first < last or f.last <= opening]
        own = self.frame.comparison(place[0])
        part = {f.column for f in free if own and self.frame.comparison(f.first) == own}
        others = ((f, self.frame.comparison(f.first)) for f in free)
        return [f for f, its in others if its == own or (its is None and f.column not in part)]

    def _own_member(self, names: RowFilter, place: tuple[int, int]) -> frozenset[int]:
        """The rows of the 2nd name for the 2nd number: "A and B scored 5 and 7"."""
        for places in self._lists:
            if place[0] in places and len(places) == len(names.members):
                return names.members[places.index(place[0])]
        return names.rows

    @cached_property
    def _lists(self) -> list[list[int]]:
        """Where numbers begin with nothing but commas and "and" between them; so names."""
        stated: Sequence[StatedNumber | Phrase] = self._plain_amounts
        found = _listed(self.frame, stated)
        in_turn = "respectively" in self.frame.words  # two lists belong together one by one
        return [*found, *_listed(self.frame, self.frame.phrases)] if in_turn else found

    def _own_column(self, place: tuple[int, int]) -> int | None:
        """The column that alone can hold a number: "F1 (86.5)", "for A and B 5 and 7"."""
        headings = [h for h in self.frame.headings if h.share > 0.99]
        for heading in headings:
            if in_brackets(self.frame, heading.span, place):
                return heading.column
        for firsts in _listed(self.frame, headings) if "respectively" in self.frame.words else ():
            for places in self._lists:
                if place[0] in places and len(places) == len(firsts) > 1:
                    first = firsts[places.index(place[0])]
                    return next(h.column for h in headings if h.first == first)
        return None

    @cached_property
    def _names_an_unknown(self) -> bool:
        """Whether the sentence speaks of a name that no table has."""
        frame, first = self.frame, self.frame.tokens[0]
        known = first.word in LITTLE_WORDS or frame.stems[0] in frame.index.known
        opens = frame.reading.text[first.start].isupper() and 0 not in self._named_tokens
        return bool(frame.links.unknown_names) or (opens and not known)

    # ---- geometry

    def _relation(self, name: str, span: tuple[int, int], place: tuple[int, int]) -> list[str]:
        words, breaks, numbers, side = self._gap(span, place)
        found = [f"{name} {side} {bucket(words)}"]
        low, high = sorted((span, place))
        if "than" in self.frame.words[low[1] : high[0]]:
            found.append(f"{name} {side} than")
        if breaks:
            found.append(f"{name} {side} break {min(breaks, 2)}")
        if numbers:
            found.append(f"{name} {side} number between")
        if self.frame.clause(span[0]) != self.frame.clause(place[0]):
            found.append(f"{name} other clause")
        return found

    def _gap(self, one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int, int, str]:
        """Words, breaks and numbers between two runs of tokens, and on which side the first is."""
        side = "before" if one[1] <= other[0] else "after"
        low, high = (one[1], other[0]) if side == "before" else (other[1], one[0])
        if low > high:
            return 0, 0, 0, "within"
        words = self._contents[high] - self._contents[low]
        breaks = self._breaks[high] - self._breaks[low - 1 if low else 0]
        numbers = self._counted[high] - self._counted[low]
        return words, breaks, numbers, side

    @cached_property
    def _plain_amounts(self) -> list[StatedNumber]:
        """Numbers that name no row: no years."""
        return [a for a in self.frame.amounts if a.amount.role != "year"]

    @cached_property
    def _contents(self) -> list[int]:
        return [0, *accumulate(word not in LITTLE_WORDS for word in self.frame.words)]

    @cached_property
    def _counted(self) -> list[int]:
        firsts = {stated.first for stated in self.frame.amounts}
        return [0, *accumulate(place in firsts for place in range(len(self.frame.words)))]

    @cached_property
    def _breaks(self) -> list[int]:
        """For each token how many borders stand before it."""
        words, between = self.frame.words, self.frame.between
        marks = [bool(p and _BREAK.search(between(p - 1, p))) for p in range(len(words))]
        found = list(accumulate(m + (w in _BREAKING) for m, w in zip(marks, words, strict=True)))
        return [*found, *(found[-1:] or [0])]

    @cached_property
    def _named_tokens(self) -> frozenset[int]:
        found = {p for h in self.frame.headings for p in h.tokens}
        return frozenset(found | {p for c in self.filters for p in range(c.first, c.last)})


_SHARING = frozenset("accounted accounts made makes share represented represents of".split())
_EXTREME = frozenset(
    "from to between and high low highs lows highest lowest peak peaks peaking peaked maximum "
    "minimum max min up range ranging ranged ranges reaching reach reached top as much".split()
)
_OF_THEM = {("of", "them"), ("of", "these"), ("of", "those"), ("of", "which")}
_REFERRING = frozenset({"former", "latter"})
_AROUND = {(word,) for word in ("before", "after", "until", "by", "around", "about", "past")}
_WHICH = frozenset({"row nearest", "row none", "row carried", "row only", "row whole"})
_RIGHT_BEHIND = {"row after 0", "row whole", "col whole"}
_GENERAL = frozenset(t for w in "value result amount reading figure".split() for t in terms(w))
"""Headers of the one column of amounts of a long table: what is measured stands in the row."""
_SMALL = frozenset(
    "start end of was is were are had has have with for by in at on to from than the a an and as "
    "or be s over under about between during since until per each only all not no came finished "
    "scored showed recorded posted reached stood while but who which that".split()
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PRONOUNS = frozenset("it he she they his her its their this these that both".split())


@dataclass(frozen=True, slots=True)
class _Entity:
    """Rows, the conditions that leave them, and features."""

    rows: tuple[int, ...]
    filters: tuple[RowFilter, ...]
    features: list[str]
    carried: bool = False


_RELATIVE = ("change", "share")


def _listed(
    frame: SentenceLinks, items: Sequence[StatedNumber | Phrase | ColumnMention]
) -> list[list[int]]:
    """Where the items of each list begin: with nothing but commas and "and" between them."""
    found: list[list[int]] = []
    last = -1
    for item in items:
        if last < 0 or frame.words[last : item.first] not in ((), ("and",)):
            found.append([])
        found[-1] += [item.first] if item.first >= last else []
        last = item.last
    return found


def _pairwise(one: float, other: float) -> Iterator[tuple[str, float]]:
    """What two values give: difference, change and ratio, both ways round."""
    yield "difference", abs(one - other)
    for left, right in ((one, other), (other, one)):
        if left:
            yield "change", abs(100 * (right - left) / left)
            yield "share", 100 * right / left
            yield "ratio", right / left


def _reason(said: str, truth: bool | None, expected: Sequence[str]) -> str:
    """One line on a look-up, for a person."""
    if truth is None:
        return "neither clearly right nor wrong"
    if truth:
        return "the table says so"
    found = " or ".join(expected[:3])
    return f'the text says "{said}", the table {found}' if found else f'no cell says "{said}"'


def _weekday(iso: str) -> str:
    """The weekday of a day; empty for anything else."""
    try:
        return _DAYS[date.fromisoformat(iso).weekday()] if len(iso) == 10 else ""
    except ValueError:
        return ""


def _weekdays(frame: SentenceLinks) -> Iterator[RowFilter]:
    """Rows whose date falls on a named weekday."""
    for link in frame.links.moments:
        if link.moment.kind != "weekday" or link.places or frame.view.turned:
            continue
        first, last = frame.token_range(link.start, link.end)
        day = link.moment.readings[0]
        for column in frame.view.columns:
            rows = frozenset(r for r, dates in column.dates.items() if _weekday(dates[0]) == day)
            if rows and first < last:
                yield RowFilter(first, last, rows, range_set(first, last), 1.0, column.index)
                break


def _grade(features: Sequence[str], name: str) -> str:
    """How surely words name a column or rows, in one feature for both together."""
    if f"{name} nearest" not in features and f"{name} only" not in features:
        rest = [f for f in features if f in ("row carried", "row only", "row total", "row none")]
        return rest[0] if rest else f"{name} C"
    whole = f"{name} whole" in features or f"{name} only" in features
    apart = any("between" in f or "other clause" in f for f in features if f.startswith(name))
    return f"{name} A" if whole and not apart else f"{name} B"


def scope_features(frame: SentenceLinks) -> list[str]:
    """What of a sentence makes every look-up of it doubtful."""
    known = {
        "other scope": _SCOPE.search(frame.reading.plain, *frame.links.span),
        "unknown name": frame.links.unknown_names,
        "several tables": len(frame.linking.source.grids) > 1,
        "list of attributes": frame.view.grid.key_value,
    }
    return [name for name, is_so in known.items() if is_so]
