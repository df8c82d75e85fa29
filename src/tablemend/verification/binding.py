"""Which column and which row of a table an amount is said of."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from tablemend.claims.cues import Cue, find_cues
from tablemend.evidence.grid import Grid
from tablemend.values.sentences import Span
from tablemend.verification.lexicon import LITTLE_WORDS, header_terms, terms
from tablemend.verification.linking import Linking, Links, MomentLink
from tablemend.verification.lists import align_lists
from tablemend.verification.periods import align_periods
from tablemend.verification.reading import Amount

_BORDER = re.compile(r"[,;:()\[\]]|\b(?:and|or|but|while|whereas|with)\b")
_CLAUSE = re.compile(r"[;]|\b(?:while|whereas|but|although)\b")
_SOURCE = re.compile(r"\s*(?:(?:(?:from|by|for|to|of|in|at|on|during) (?:the )?)|\(\s*)$")
_OBJECT = re.compile(
    r"\b(?:over|against|beat|defeated|downed|topped|edged|hosted?|past|visiting|versus|vs\.?|to|than"
    r"|behind|from|for|of|facing|outscored|between|join|with|leads?|led|leading"
    r"|pac(?:es|ed|ing)) (?:the )?(?:visiting |host )?$"
)
_OPENED = re.compile(
    r"\s*(?:'s)?\s*[(:,]?\s*(?:(?:with|at|had|has|have|scored|is|was|about|roughly|around|nearly"
    r"|almost|over|just|under|approximately|more|less|than) ){0,3}[$€£]?\s*"
)
_ADVERBS = frozenset("overall respectively apiece each more less higher lower total".split())
_PRONOUN = re.compile(
    r"(?:(?:in|on|at|for|with|during|also|additionally|overall|however|but|and)\b[^,]{0,40},? )?"
    r"(?!it (?:was|is|were) [^,.]{1,40} (?:that|who|which)\b)"
    r"(?:he|she|it|they|his|her|its|their|this|the (?:company|team|player|city|country|firm))\b"
)
_FROM = re.compile(r"(?:\s*-?\s*[a-z]+){0,3}? (?:from|by) (?:the )?")
_THE_SAME = re.compile(r"(?:the|this|that)(?: same)? (\w+) (?:also )?\w+")
_ANYONE = frozenset("entry row one record item former latter same".split())
_STOP = re.compile(r"[.,;:()\[\]/]|\b(?:and|or|but|while)\b")
_PLURAL = re.compile(r"[a-z]{2}[^s]s$|^(?:people|men|women|children|persons)$")
_AT = re.compile(r"(?:[a-z]+, )?(?:at|with) (?:\w+ ){0,2}[$€£]?")
_RELATIVE = re.compile(r"\s*,?\s*(?:who|which|whose)\b")
_MODIFIER = re.compile(
    r" (?:players?|guard|forward|center|centre|reserves?|starters?|bench|team|fans?|win|loss"
    r"|victory|defen[sc]e|offen[sc]e|attack)\b"
)
_FAR = 1000
_MET = 12  # of a list of names without end, the nearest


@dataclass(frozen=True, slots=True)
class Candidate:
    """Rows or columns that an amount can be said of.

    Attributes:
        indices: the rows or columns, which the words fit equally well.
        distance: how far the words are: 0 next to the amount; larger is less likely.
        clear: whether nothing else can be meant.
        start, end: place of the words; -1 where they stand in an earlier sentence or nowhere.
    """

    indices: tuple[int, ...]
    distance: int
    clear: bool
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Binding:
    """What an amount is said of in one table, best first.

    Attributes:
        grid: number of the table.
        attributes: what is counted or measured: columns, or rows where rows are attributes.
        entities: of whom or when: rows, or columns where rows are attributes.
        transposed: whether rows are the attributes.
    """

    grid: int
    attributes: tuple[Candidate, ...]
    entities: tuple[Candidate, ...]
    transposed: bool

    def cells(self, attribute: Candidate, entity: Candidate) -> list[tuple[int, int]]:
        """Row and column of the cells where both meet."""
        pairs = [(e, a) for e in entity.indices for a in attribute.indices]
        return [(a, e) for e, a in pairs] if self.transposed else pairs


class Binder:
    """Finds bindings in one sentence.

    Args:
        linking: the linked text.
        number: index of the sentence.
    """

    def __init__(self, linking: Linking, number: int) -> None:
        self.linking = linking
        self.sentence: Span = linking.reading.sentences[number]
        self.by_grid: dict[int, Links] = linking.sentence_links[number]
        self.plain = linking.reading.plain
        links = next(iter(self.by_grid.values()), None)
        self.amounts: tuple[Amount, ...] = links.amounts if links else ()

    @cached_property
    def cues(self) -> tuple[Cue, ...]:
        """The cue words of the sentence; their places count from its start."""
        return find_cues(self.linking.reading.text[self.sentence.start : self.sentence.end])

    @property
    def strangers(self) -> tuple[Span, ...]:
        """Names in the sentence that no table knows."""
        links = next(iter(self.by_grid.values()), None)
        return links.strangers if links else ()

    @cached_property
    def _listed(self) -> dict[int, tuple[int, int]]:
        """Whom the amounts of a list are said of, by their order."""
        return align_lists(self.plain, *self.sentence, self.amounts, self._persons)

    @cached_property
    def _periods(self) -> dict[int, int]:
        links = next(iter(self.by_grid.values()), None)
        moments = [link.moment for link in links.moments] if links else []
        return align_periods(self.plain, self.sentence.end, self.amounts, moments, self.cues)

    def _moment_candidate(
        self, amount: Amount, moment: MomentLink, number: int, count: int, indices: tuple[int, ...]
    ) -> Candidate | None:
        """The rows or columns of a period, as near as it is to the amount."""
        if amount.start in self._periods:
            if self._periods[amount.start] != number:
                return None
            return Candidate(indices, 0, True, moment.start, moment.end)
        if count == 1:
            return Candidate(indices, 0, True, moment.start, moment.end)
        distance = min(
            self._distance(amount, moment.start, moment.end),
            self._entity_distance(amount, moment.start, moment.end),
        )
        return Candidate(indices, distance, distance <= 1, moment.start, moment.end)

    def bind(self, amount: Amount) -> list[Binding]:
        """The bindings of an amount, one a table in which something is named."""
        bindings = []
        for grid in self.linking.source.grids:
            links = self.by_grid[grid.number]
            rows, columns = self._rows(amount, grid, links), self._columns(amount, grid, links)
            if grid.transposed:
                bindings.append(Binding(grid.number, rows, columns, True))
            else:
                bindings.append(Binding(grid.number, columns, rows, False))
        return bindings

    def _columns(self, amount: Amount, grid: Grid, links: Links) -> tuple[Candidate, ...]:
        value_columns = [c.index for c in grid.columns if c.index != grid.key]
        if len(value_columns) == 1:
            return (Candidate((value_columns[0],), 0, True),)
        found = []
        owned = bool(self.other_noun(amount))
        alone = len({link.columns for link in links.columns}) == 1
        for link in links.columns:
            if any(
                (moment.columns or moment.places)
                and moment.start <= link.start
                and link.end <= moment.end
                for moment in links.moments
            ):
                continue  # the "quarter" of "the first quarter of 2024"
            distance = self._distance(amount, link.start, link.end)
            if distance < _FAR:
                penalty = 0 if link.coverage == 1 else 2
                clear = (distance <= 2 or alone) and (link.coverage == 1 or link.terms > 1)
                clear = clear and not (owned and distance)
                found.append(
                    Candidate(link.columns, distance + penalty, clear, link.start, link.end)
                )
        count = sum(bool(link.columns) for link in links.moments)
        said = {(c.start, c.end): c.indices for c in found}
        for number, moment in enumerate(links.moments):
            if moment.columns and not _is_in(moment, said):
                candidate = self._moment_candidate(amount, moment, number, count, moment.columns)
                found += [_narrowed(candidate, found)] if candidate else []
        if not found and len(grid.columns) == 1:
            found.append(Candidate((0,), 0, True))
        return tuple(sorted(found, key=lambda candidate: candidate.distance))

    def _rows(self, amount: Amount, grid: Grid, links: Links) -> tuple[Candidate, ...]:
        if len(grid.lines) == 1:
            return (Candidate((grid.lines[0].index,), 0, True),)
        found: list[Candidate] = []
        if grid.transposed:
            return self._attribute_rows(amount, grid, links)
        named = [(link.start, link.end, link.rows) for link in links.rows]
        dated = [
            (number, link, rows)
            for number, link in enumerate(links.moments)
            if (rows := moment_rows(grid, link))
        ]
        for number, link, rows in dated:
            if not any(start < link.end and link.start < end for start, end, _ in named):
                candidate = self._moment_candidate(amount, link, number, len(dated), rows)
                found += [candidate] if candidate else []
        distinct = {rows for _, _, rows in named}
        listed = self._listed.get(amount.start)
        if listed and (own := [rows for *place, rows in named if tuple(place) == listed]):
            return (Candidate(own[0], 0, len(own[0]) == 1, *listed),)
        for start, end, rows in named:
            distance = self._entity_distance(amount, start, end)
            clear = len(distinct) == 1 or distance <= 2
            clear = clear and not self._stranger_between(end, amount)
            clear = clear and not self._told_of_another(grid.number, end, amount)
            if clear and self._is_object(start, end) and distance:
                clear = not self._stranger_between(self.sentence.start, amount)
            found.append(Candidate(rows, distance, clear, start, end))
        found = _meet(found)
        if links.subject and not links.rows:
            clear = len(links.subject) == 1 and not links.strangers and self.continues(grid)
            carried = Candidate(links.subject, 12, clear)
            found = _meet([*found, carried]) if found else [carried]
        return tuple(sorted(found, key=lambda candidate: candidate.distance))

    def _attribute_rows(self, amount: Amount, grid: Grid, links: Links) -> tuple[Candidate, ...]:
        named = named_rows(grid, links)
        found = []
        full = {(link.start, link.end) for link in links.rows if link.full}
        alone = len({rows for _, _, rows in named}) == 1
        for start, end, rows in named:
            distance = self._distance(amount, start, end)
            if distance < _FAR:
                said = (start, end) in full
                clear = said and (distance <= 3 or alone)
                found.append(Candidate(rows, distance + (0 if said else 2), clear, start, end))
        if not found and links.subject and not links.rows:
            clear = len(links.subject) == 1 and self.continues(grid)
            found.append(Candidate(links.subject, 12, clear))
        return tuple(sorted(found, key=lambda candidate: candidate.distance))

    def _distance(self, amount: Amount, start: int, end: int) -> int:
        """How far words that name what is counted stand from the amount."""
        first, last = amount.start, amount.end
        if amount.pair:
            mate = self.linking.reading.amounts[amount.mate]
            first, last = min(first, mate.start), max(last, mate.end)
        if start < last and end > amount.digits_end:
            return 0
        if start >= last:
            between = self.plain[last:start]
            words = len(re.findall(r"\w+", between))
            if self._leads(first, last):
                return 1 if words <= 7 else _FAR
            if self._amount_between(last, start):
                return 8 if not _CLAUSE.search(between) and words <= 8 else _FAR
            if _BORDER.search(between):
                return 7 if words <= 6 and not _CLAUSE.search(between) else _FAR
            return 0 if words <= 1 else 2 if words <= 3 else 4 if words <= 6 else 7
        between = self.plain[end:first]
        words = len(re.findall(r"\w+", between))
        if self._amount_between(end, first):
            return 9 if words <= 24 and not _CLAUSE.search(between) else _FAR
        if self._counted_by_another(start):
            return 8
        if re.fullmatch(r"\s*(?:[:(=]|was|is|of|at|were|are)\s*(?:a |an )?(?:[$€£])?\s*", between):
            return 1
        if _BORDER.search(between):
            return 8 if words <= 8 else _FAR
        return 1 if words <= 4 else 2 if words <= 10 else 5

    def _leads(self, start: int, end: int) -> bool:
        """Whether an amount opens the sentence for what follows: "At 15.6%, the result of"."""
        before = self.plain[self.sentence.start : start]
        return bool(_AT.fullmatch(before)) and "," in self.plain[end : end + 12]

    def _counted_by_another(self, start: int) -> bool:
        """Whether words directly follow another amount, as "assists" does in "two assists"."""
        return any(
            other.end <= start
            and other.role != "article"
            and len(re.findall(r"\w+", self.plain[other.end : start])) <= 1
            and not _BORDER.search(self.plain[other.end : start])
            for other in self.amounts
        )

    def _entity_distance(self, amount: Amount, start: int, end: int) -> int:
        """How far words that name somebody stand from the amount; who precedes is meant."""
        if start >= amount.digits_end:
            between = self.plain[amount.digits_end : start]
            if self._leads(amount.start, amount.end) and len(between.split()) <= 12:
                return 1
            named_by = _SOURCE.search(between) and not self._amount_between(amount.end, start)
            words = len(re.findall(r"\w+", between))
            if named_by and words <= 6 and not re.search(r"[,;]", between):
                return 1 if words <= 3 else 3
            return 9
        between = self.plain[end : amount.start]
        if _OPENED.fullmatch(between):
            return 0
        words = len(re.findall(r"\w+", between))
        distance = 0 if words <= 3 else 1 if words <= 10 else 2
        if self._is_object(start, end):
            distance += 6
        if _CLAUSE.search(between):
            distance += 4
        # A name that another subject follows before the amount is farther than that one.
        return distance + 4 * any(
            end <= name < amount.start and not self._is_object(name, stop)
            for name, stop in self._persons
        )

    @cached_property
    def _persons(self) -> list[tuple[int, int]]:
        """Places of all names in the sentence, unknown ones included."""
        named = [
            (link.start, link.end)
            for links in self.by_grid.values()
            for link in links.rows
            if link.column >= 0
        ]
        return sorted({*named, *self.strangers})

    def _told_of_another(self, number: int, end: int, amount: Amount) -> bool:
        """Whether a name of another table, or an unknown one, has the amount.

        It stands between ("Brann won, with Tufekcic contributing four goals"), or as its source
        behind ("two goals from Patterson").
        """
        own = {(link.start, link.end) for link in self.by_grid[number].rows}
        others = [place for place in self._persons if place not in own]
        between = any(
            end <= start and stop <= amount.start and not self._is_object(start, stop)
            for start, stop in others
        )
        source = _FROM.match(self.plain, amount.digits_end)
        return between or (
            source is not None and any(abs(start - source.end()) <= 1 for start, _ in others)
        )

    def _stranger_between(self, start: int, amount: Amount) -> bool:
        """Whether a name that no table knows can be whom the amount is said of."""
        return any(
            name.end <= amount.start and name.start >= start and not self._is_object(*name)
            for name in self.strangers
        )

    def _is_object(self, start: int, end: int) -> bool:
        """Whether a name stands where no subject does: "over the Magic", "the Nets guard"."""
        if _RELATIVE.match(self.plain, end):
            return False
        if _MODIFIER.match(self.plain, end):
            return True
        return bool(_OBJECT.search(self.plain[max(0, start - 24) : start]))

    def continues(self, grid: Grid) -> bool:
        """Whether the sentence goes on about somebody: "He also had ...", "The model showed"."""
        start = self.sentence.start
        if _PRONOUN.match(self.plain, start):
            return True
        match = _THE_SAME.match(self.plain, start)
        if match is None:
            return False
        if any(term in header_terms(grid.columns[grid.key].header) for term in terms(match[1])):
            return True
        key = {
            term
            for column in grid.columns
            for term in header_terms(column.header)
            if column.kind in ("name", "text", "date")
        }
        also = " also " in match[0] or " same " in match[0]
        return match[1] in _ANYONE or (also and any(term in key for term in terms(match[1])))

    def other_noun(self, amount: Amount) -> str:
        """The noun that no header has behind an amount, so that it counts that; else nothing.

        "six games", "three straight games"; a unit ("290 mmol/L") is none.
        """
        end = min(amount.end + 30, self.sentence.end)
        named: list[tuple[int, int]] = []
        for links in self.by_grid.values():
            columns = self.linking.source.grids[links.grid].columns
            named += [
                (link.start, link.end)
                for link in links.columns
                if any(columns[column].kind == "number" for column in link.columns)
            ]
            named += [(link.start, link.end) for link in links.rows]
        written = self.linking.reading.text
        place = amount.end
        for token in self.linking.reading.tokens_within(amount.end, end)[:2]:
            between = self.plain[place : token.start]
            if _STOP.search(between) or token.word in LITTLE_WORDS or not token.word.isalpha():
                return ""
            if any(start <= token.start < stop for start, stop in named):
                if not written[token.start].islower():
                    return ""
                place = token.end
                continue  # the "red" of "12 red cards", where a team is called Reds
            if self._counts(token.word):
                return ""
            if self.plain[token.end : token.end + 1] == "/" or token.word in _ADVERBS:
                return ""
            if _PLURAL.search(token.word):
                return token.word
            place = token.end
        return ""

    def _counts(self, word: str) -> bool:
        """Whether a word stands in the header of a column of numbers."""
        return any(
            heading.column >= 0
            and self.linking.source.grids[heading.grid].columns[heading.column].kind == "number"
            for term in terms(word)
            for heading in self.linking.index.headings.get(term, ())
        )

    def _amount_between(self, start: int, end: int) -> bool:
        return any(start <= other.start < end and other.role != "article" for other in self.amounts)


def _meet(candidates: list[Candidate]) -> list[Candidate]:
    """Candidates that name fewer rows together than each alone: "Revenue" and "Q1 2023".

    The rows that both name take the place of the larger sets; a name that stays ambiguous is not
    clear.
    """
    candidates = sorted(candidates, key=lambda candidate: candidate.distance)[:_MET]
    met = []
    wide: set[int] = set()
    for number, one in enumerate(candidates):
        for place, other in enumerate(candidates[number + 1 :], number + 1):
            both = tuple(index for index in one.indices if index in other.indices)
            if not both or len(both) == min(len(one.indices), len(other.indices)):
                continue
            nearer, farther = sorted((one, other), key=lambda candidate: candidate.distance)
            distance = (nearer.distance + farther.distance) // 2
            clear = one.clear and other.clear
            met.append(Candidate(both, distance, clear, nearer.start, nearer.end))
            wide |= {number, place}
    kept = [candidate for number, candidate in enumerate(candidates) if number not in wide]
    return [
        candidate
        if len(candidate.indices) == 1
        else Candidate(candidate.indices, candidate.distance, False, candidate.start, candidate.end)
        for candidate in (*met, *kept)
    ]


def _is_in(moment: MomentLink, said: dict[tuple[int, int], tuple[int, ...]]) -> bool:
    """Whether a period is a part of words that name one of its columns: "share in 2014"."""
    return any(
        start <= moment.start and moment.end <= end and set(columns) <= set(moment.columns)
        for (start, end), columns in said.items()
    )


def _narrowed(period: Candidate, named: list[Candidate]) -> Candidate:
    """A period's columns, only those that the nearest words name too: "share" of "2014, share"."""
    for other in sorted(named, key=lambda candidate: candidate.distance):
        both = tuple(index for index in period.indices if index in other.indices)
        if both and len(both) < len(period.indices):
            return replace(period, indices=both)
    return period


def named_rows(grid: Grid, links: Links) -> list[tuple[int, int, tuple[int, ...]]]:
    """Places of the words that name rows, by a name or by a period, and the rows."""
    named = [(link.start, link.end, link.rows) for link in links.rows]
    for link in links.moments:
        if rows := moment_rows(grid, link):
            named.append((link.start, link.end, rows))
    return sorted(named)


def moment_rows(grid: Grid, link: MomentLink) -> tuple[int, ...]:
    """The rows that a period tells apart from others; none where all have it."""
    rows = tuple(sorted({row for row, _ in link.places}))
    return rows if len(rows) < len(grid.lines) else ()
