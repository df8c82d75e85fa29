"""Repair of a summary without a model: a wrong value is replaced where nothing else can be wrong.

Every edit is verified: the words must be supported afterwards, and no other claim may be worse
off; else the edit is taken back. What is in doubt is only noted: where a number does not
fit its row, the number can be wrong, or the name, the period, the superlative or the scope beside
it. A correction is certain only where the sentence leaves no doubt which cell the number states, or
which rows it was worked out of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tablemend.evidence.grid import Grid
from tablemend.evidence.labels import read_cell
from tablemend.evidence.source import Source
from tablemend.mitigations.edits import Edit, Mended, apply_edits, is_asked, narrowed
from tablemend.mitigations.spelling import spell_alike
from tablemend.records import NOTHING, Verdict, Verification
from tablemend.values.cells import same_value
from tablemend.values.numbers import find_quantities, parse_number, plain_digits
from tablemend.values.text import Span, align, fold
from tablemend.values.units import ONE, PLAIN
from tablemend.verifier.entity_linking import (
    CellLink,
    ColumnLink,
    Linking,
    Links,
    MomentLink,
    RowLink,
)
from tablemend.verifier.lexicon import find_cues
from tablemend.verifier.number_agreement import compare
from tablemend.verifier.reading import Amount, Reading
from tablemend.verifier.staf import verify_text

Verify = Callable[[str, Source], Verification]
VERSION = "repair/4"
FARTHEST = 10
"""A number is not mended to one that is more than this many times as large, or as small."""
TELLING = 3
"""Digits of a number that stands in another column of its row by no mere chance."""
MOST_OTHERS = 3
"""Names that are offered in place of one."""

_GROUPED = re.compile(r"\d,\d{3}")
_PLAIN = re.compile(r"(?<![\d.,])\d{4,}(?![\d.,])")
_INSIDE = re.compile(r"\d-[a-z]")
_BEFORE = re.compile(
    r"(?:[\w.]-|[\d.]\s*[/x*:+]|\w[/x*:+_])\s*$"
    r"|\b(?:per|every|each|but|number|no\.|top|first|last|next|past|another|age[ds]?)\s+$"
)
_AFTER = re.compile(
    r"\s*[-/x*:_+]\s*\d|-[^\W\d]|'(?!s\b)|\w|\s*\+|\s+(?:of them|coming|came|from)\b"
    r"|\s*(?:[\w-]+\s+){0,2}(?:per|each|apiece|in a row|straight|consecutive|ago|later|earlier|left"
    r"|remaining|old)\b"
)
"""What makes a number a part of a word, an idiom, a unit or a date: "7-day", "4x1.5", "per 100"."""
_SCOPE = re.compile(
    r"\b(?:(?:last|past|next|previous|prior|recent) (?:\w+ )?(?:games?|matche?s?|contests?|years?"
    r"|months?|weeks?|days?|seasons?|quarters?|minutes?|night)|seasons?|career|span|stretch|so far"
    r"|outside|excluding|except|without|other than|different|distinct|unique|averag\w+|mean)\b"
)
"""Words of a scope that a table does not tell, or that a sum or count does not have."""
_SEVERAL = re.compile(r"\b(?:combin\w+|tot[ae]\w*|altogether|each|both|every|rang(?:e[sd]?|ing))\b")
_COMPARED = re.compile(r"\b(?:between|than|more|fewer|less|higher|lower|above|below|over|by)\b")
_NEAR = 25
"""Characters around a number in which a comparison speaks of it."""
_EXTREME = re.compile(
    r"\b(?:peak\w*|record|(?:a|new|all-time) (?:high|low)|(?:high|low)s? of|maxim\w+|minim\w+"
    r"|bottom\w*|best|worst)\b"
)
_SHARE = re.compile(
    r"%|\b(?:percent\w*|pct|shares?|rates?|growth|margins?|change|proportion|ratio)\b", re.I
)
_PRONOUN = re.compile(
    r"\W*(?:(?:also|in addition|moreover|meanwhile|furthermore|besides),? )?"
    r"(?:it|he|she|they|its|his|her|the|this)\b",
    re.I,
)
_OF = re.compile(r"\bof (?:the |its |all )?\Z")
_BOUND = re.compile(r"(?:more|less|fewer|at|over|under|above|below|between|not)\b|[-$€£\d]")
_NAME = re.compile(r"\b[A-Z][a-z]")
_ZERO = re.compile(r"zero|no|0[.0]*", re.I)
_OTHER_TABLE = "another table of the source may be meant"  # such as a nested JSON document
_OTHER_NAME = "another name of the sentence may be wrong"
Link = ColumnLink | RowLink | CellLink | MomentLink


def repair_text(text: str, source: Source, verify: Verify = verify_text) -> Mended:
    """Replace contradicted numbers, dates and names of a summary.

    :attr:`Mended.undone` has the edits that did not verify better, :attr:`Mended.notes` the
    corrections that were not made.
    """
    before = verify(text, source)
    found = find_corrections(text, source, before)
    edits = [one.edit for one in found if not one.doubt]
    notes = tuple(one.note for one in found if one.doubt)
    if not edits:
        return Mended(text, (), (), before, before, notes=notes)
    spent = [before]

    def verify_edited(tried: list[Edit]) -> Verification:
        spent.append(verify(apply_edits(text, tried), source))
        return spent[-1]

    kept, after = edits, verify_edited(edits)
    if not _is_better(before, after, edits):  # else one by one
        kept, after = [], before
        for edit in edits if len(edits) > 1 else ():
            tried = [*kept, edit]
            then = verify_edited(tried)
            if _is_better(after, then, tried):
                kept, after = tried, then
    usage = sum((one.usage for one in spent), NOTHING)
    undone = tuple(edit for edit in edits if edit not in kept)
    text = apply_edits(text, kept)
    return Mended(text, tuple(kept), undone, before, after, usage, 1, notes)


def _is_better(before: Verification, after: Verification, edits: list[Edit]) -> bool:
    """Whether edits mend what they are for and break nothing.

    Fewer claims are wrong, no fewer supported, and every new word is in a supported claim and
    in no wrong one.
    """
    if after.wrong >= before.wrong:
        return False
    if after.counts["supported"] < before.counts["supported"]:
        return False
    shift = 0
    for edit in sorted(edits, key=lambda edit: edit.span or (0, 0)):
        start = (edit.span or (0, 0))[0] + shift
        end = start + len(edit.new or "")
        shift += len(edit.new or "") - len(edit.old)
        touching = [v for v in after.verdicts if _concerns(v, start, end)]
        if any(verdict.wrong for verdict in touching):
            return False
        if not any(verdict.verdict == "supported" for verdict in touching):
            return False
    return True


def _concerns(verdict: Verdict, start: int, end: int) -> bool:
    """Whether a claim holds these words; a wrong one, whether they are at fault in it."""
    if verdict.wrong and verdict.spans:
        return any(span.start < end and start < span.end for span in verdict.spans)
    return verdict.claim.touches(start, end)


class Correction(NamedTuple):
    """What a verdict asks for.

    Attributes:
        edit: the words at fault replaced by what the source has.
        doubt: why it is not made; empty where only this can be meant.
        others: what could be wrong instead: words, and what they would have to be.
    """

    edit: Edit
    doubt: str = ""
    others: tuple[tuple[str, str], ...] = ()

    @property
    def note(self) -> str:
        """Why nothing was changed, for a person, with every correction that is possible."""
        pairs = ((self.edit.old, self.edit.new or ""), *self.others)
        possible = " or ".join(f'"{new}" for "{old}"' for old, new in pairs)
        return f"not changed at {self.edit.where}, {self.doubt}: {possible}"


def find_corrections(text: str, source: Source, found: Verification) -> list[Correction]:
    """What the verdicts ask for, in the order of the text; nothing where two do not agree."""
    reader = _Reader(text, source, found.verdicts)
    wanted: dict[Span, Correction | None] = {}
    for verdict in found.verdicts:
        if verdict.verdict != "contradicted" or is_asked(text, verdict):
            continue
        if len(verdict.spans) == 1 == len(verdict.expected):
            claim = reader.claim(verdict)
            if claim.amount is not None and reader.is_said_beside(claim):
                continue
            one = reader.correction(claim)
            if claim.span in wanted:  # the more doubtful, where both say the same
                other = wanted[claim.span]
                if one is None or other is None or not same_value(other.edit.new, one.edit.new):
                    one = None
                elif other.doubt:
                    one = other
            wanted[claim.span] = one
    return [
        one._replace(edit=narrowed(one.edit))
        for span, one in sorted(wanted.items())
        if one is not None and sum(_touch(other, span) for other in wanted) == 1
    ]


def _unsigned(words: str) -> str:
    """A number without its sign: a sign says the same in other words too ("a loss of")."""
    return re.sub(r"[-\u2212\u2013()]", "", fold(words)).strip()


def _touch(one: Span | Amount, other: Span | Amount) -> bool:
    return one.start < other.end and other.start < one.end


def _gap(one: Span | Amount | Link, link: Link) -> int:
    """Characters between a number and other words."""
    return max(link.start - one.end, one.start - link.end)


class _Cell(NamedTuple):
    """A cell that a claim can be about."""

    grid: Grid
    row: int
    column: int

    @property
    def text(self) -> str:
        """As the table writes it."""
        return self.grid.cell(self.row, self.column)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A contradicted claim.

    Attributes:
        verdict: on it.
        span: the words at fault, a number with its currency and unit.
        sentence: the place of its sentence.
        clause: the sentence in small letters, up to the end of the clause with the words at fault.
        amount: the number at fault; ``None`` for other words.
        cells: that decided the verdict.
        cell: the one that has what is expected; ``None`` where that is worked out of several.
    """

    verdict: Verdict
    span: Span
    sentence: Span
    clause: str
    amount: Amount | None
    cells: list[_Cell]
    cell: _Cell | None


class _Reader:
    """The corrections of one text.

    Args:
        text: the summary.
        source: its tables.
        verdicts: on all its claims.
    """

    def __init__(self, text: str, source: Source, verdicts: tuple[Verdict, ...]) -> None:
        self.text, self.source, self.verdicts = text, source, verdicts
        self.reading = Reading(text)
        self.linking = Linking(self.reading, source)
        self.grouped = bool(_GROUPED.search(text)) or not _PLAIN.search(text)

    def claim(self, verdict: Verdict) -> _Claim:
        """A verdict with its place in the text and in a table."""
        (span,) = verdict.spans
        amount = next((one for one in self.reading.amounts if _touch(one, span)), None)
        if amount is not None:
            span = Span(amount.start, amount.end)
        sentence = self.reading.sentences[self.linking.sentence_at(span.start)]
        rest = re.split(r"[,;:]\s", self.text[span.end : sentence.end])[0]
        clause = (self.text[sentence.start : span.end] + rest).lower()
        cells = [
            _Cell(self.source.grids[one.table], one.row, one.column)
            for one in verdict.evidence
            if one.table is not None and one.row is not None and one.column is not None
        ]
        same = [cell for cell in cells if same_value(cell.text, verdict.expected[0])]
        if not same and len(cells) == len(verdict.evidence):
            same = cells
        cell = same[0] if len(same) == 1 else None
        return _Claim(verdict, span, sentence, clause, amount, cells, cell)

    def is_said_beside(self, claim: _Claim) -> bool:
        """Whether what is expected is another number of the sentence: "won more (3) than B (2)"."""
        number = read_cell(claim.verdict.expected[0]).number
        return number is not None and any(
            compare(other, number, PLAIN) == "same"
            for other in self.reading.amounts
            if _touch(other, claim.sentence) and not _touch(other, claim.span)
            if other.role == "value" and other.hedge in ("", "about")
        )

    def correction(self, claim: _Claim) -> Correction | None:
        """What is to be done with the words at fault."""
        amount, cell, old = claim.amount, claim.cell, self.text[slice(*claim.span)]
        if amount is None:
            return self._other_row(claim) if cell is None else self._name(claim, cell)
        if self._is_no_value(amount, claim.sentence):
            return None
        scale = ONE if cell is None else cell.grid.unit(cell.row, cell.column).scale
        expected = claim.verdict.expected[0].strip()
        number = None if cell is None else cell.grid.value(cell.row, cell.column).number
        if amount.number.percent and number and not number.percent and abs(number.value) < 1:
            expected = f"{plain_digits(number.value * 100)}%"  # 0.25 in a cell
        decline, scales = amount.decline, (ONE, scale)
        new = spell_alike(old, expected, decline=decline, grouped=self.grouped, scales=scales)
        if new is None or _unsigned(new) == _unsigned(old) or not _is_of_size(amount, new):
            return None
        edit = self._edit(claim, new)
        if cell is None:
            several = len(self.source.tables) > 1
            doubt = _OTHER_TABLE if several else self._doubt_worked_out(claim, new)
            return Correction(edit, doubt)
        if not self._is_of_unit(amount, cell):
            return None
        others = tuple(self._others(amount, claim.sentence, cell))
        if len(self.source.tables) > 1:
            return Correction(edit, _OTHER_TABLE, others)
        return Correction(edit, self._doubt(claim, amount, cell, new, bool(others)), others)

    def _edit(self, claim: _Claim, new: str) -> Edit:
        verdict, old = claim.verdict, self.text[slice(*claim.span)]
        reason = verdict.reason or f"the source says {verdict.expected[0]}"
        return Edit(
            span=(claim.span.start, claim.span.end),
            old=old,
            new=new,
            type=verdict.error_type,
            reason=reason,
            method=VERSION,
        )

    def _is_no_value(self, amount: Amount, sentence: Span) -> bool:
        """Whether a number is a bound, a rank, a year, or a part of a word, an idiom or a pair."""
        plain = self.reading.plain
        return (
            amount.pair not in ("", "of")
            or amount.role != "value"
            or amount.hedge not in ("", "about")
            or _INSIDE.search(plain, amount.start, amount.end) is not None
            or _BEFORE.search(plain[sentence.start : amount.start]) is not None
            or _AFTER.match(plain[amount.end : sentence.end]) is not None
        )

    def _is_of_unit(self, amount: Amount, cell: _Cell) -> bool:
        """Whether a cell counts in what the number counts in."""
        number, own = cell.grid.value(cell.row, cell.column).number, amount.number.unit
        if number is None:
            return False
        symbol = number.unit.symbol or cell.grid.unit(cell.row, cell.column).symbol
        if symbol or not own.symbol:
            return symbol == own.symbol or not (own.symbol or own.currency)
        row = " ".join(cell.grid.cell(cell.row, column.index) for column in cell.grid.columns)
        around = f"{cell.grid.columns[cell.column].header} {row} {cell.grid.caption}"
        if own.symbol == "%":
            return abs(number.value) <= 1 or _SHARE.search(around) is not None
        said = self.text[amount.digits_end : amount.end].strip().lower()
        return bool(said) and said in around.lower()

    def _doubt_worked_out(self, claim: _Claim, new: str) -> str:
        """Why a count, a sum or a difference could be right of other rows than were taken.

        The conditions are read off the verifier's reason; one in other words is a doubt.
        """
        reason, cells = claim.verdict.reason, claim.cells
        counted = [v.reason for v in self._verdicts_in(claim.sentence) if " where" in v.reason]
        conditions = re.findall(r"(?: where|,) ([^:,]+): ([^,]+)", reason)
        columns = [name for name, _ in conditions]
        rows = cells[0].grid.table.rows if cells else ()
        known = {fold(text) for row in rows for text in row if text}
        is_whole = all(_BOUND.match(value) or fold(value) in known for _, value in conditions)
        plain = bool(conditions) or all(parse_number(cell.text) is not None for cell in cells)
        apart = len(set(columns)) == len(columns) and "in the table" not in reason
        if scope := _SCOPE.search(claim.clause):
            return f'"{scope[0]}" may say another scope'
        if not ((cells or counted) and is_whole and plain and apart) or _ZERO.fullmatch(new):
            return "other rows may be meant"
        said = " ".join((reason, *counted))
        for one in self.reading.amounts if counted else ():
            is_apart = _touch(one, claim.sentence) and not _touch(one, claim.span)
            before = self.text[claim.sentence.start : one.start]
            is_size = _OF.search(before) or f"{one.value:f} row" in said
            is_read = self.text[one.start : one.digits_end] in said
            if is_apart and one.role == "value" and not is_size and not is_read:
                return "another number of the sentence may be meant"
        return self._doubt_of_sentence(claim)

    def _doubt_of_sentence(self, claim: _Claim) -> str:
        """Where little of a sentence is right, or much is wrong, it may be about another row."""
        verdicts = list(self._verdicts_in(claim.sentence))
        wrong = {s.start for one in verdicts for s in one.spans if not _touch(s, claim.span)}
        right = sum(one.verdict == "supported" for one in verdicts)
        if wrong and len(wrong) >= min(right, 2):
            return "the sentence may be about something else"
        return ""

    def _doubt(self, claim: _Claim, amount: Amount, cell: _Cell, new: str, elsewhere: bool) -> str:
        """Why something else than a number could be wrong; empty where nothing can."""
        sentence, old = claim.sentence, self.text[slice(*claim.span)]
        anchored = self._is_anchored(sentence, cell)
        links = self.linking.links(sentence, cell.grid.number)
        line = next(one for one in cell.grid.lines if one.index == cell.row)
        header = fold(f"{cell.grid.columns[cell.column].header} {line.header}")
        near = self.text[max(sentence.start, amount.start - _NEAR) : amount.end + _NEAR].lower()
        words = _SCOPE.findall(claim.clause) + _SEVERAL.findall(claim.clause)
        for word in words + _COMPARED.findall(near):
            if word not in header:
                return f'"{word}" may ask for more than one cell'
        if extreme := self._unsupported_extreme(claim, cell):
            return f'"{extreme}" may be wrong'
        if not self._is_row_meant(claim.span, links, cell, anchored):
            return "another row may be meant"
        if not _is_column_meant(amount, links, cell):
            return "another column may be meant"
        beside = any(cell.column in one.columns and _gap(amount, one) <= 1 for one in links.columns)
        if elsewhere and not (anchored and beside):
            return f"the table has {old} elsewhere"
        if not anchored and _ZERO.fullmatch(new.strip()):
            return "the table has none"
        return self._doubt_of_sentence(claim)

    def _verdicts_in(self, sentence: Span) -> Iterator[Verdict]:
        for one in self.verdicts:
            if one.claim.start is not None and sentence.start <= one.claim.start < sentence.end:
                yield one

    def _is_anchored(self, sentence: Span, cell: _Cell) -> bool:
        """Whether something else that the sentence says of the same row is right."""
        own = cell.grid.number, cell.row
        return any(
            (one.table, one.row) == own and one.column not in (None, cell.column, cell.grid.key)
            for verdict in self._verdicts_in(sentence)
            if verdict.verdict == "supported"
            for one in verdict.evidence
        )

    def _unsupported_extreme(self, claim: _Claim, cell: _Cell) -> str:
        """A superlative or comparison of the clause that the table does not bear out.

        It does where a claim of it is supported, or where the cell's own value is what comes first:
        then the number alone is wrong.
        """
        sound = []
        for one in self._verdicts_in(claim.sentence):
            if one.verdict == "supported" and one.claim.kind == "comparative" and one.claim.focus:
                sound.append(one.claim.focus)
            elif (
                any(_touch(claim.span, span) for span in one.spans)
                and any(evidence.row is None for evidence in one.evidence)
                and any(same_value(cell.text, value) for value in one.expected)
            ):
                return ""
        found = [
            (cue.start, cue.end)
            for cue in find_cues(claim.clause)
            if cue.kind in ("superlative", "rank", "comparative")
        ]
        found += [match.span() for match in _EXTREME.finditer(claim.clause)]
        for start, end in found:
            span = Span(claim.sentence.start + start, claim.sentence.start + end)
            if not any(_touch(focus, span) for focus in sound):
                return claim.clause[start:end]
        return ""

    def _is_row_meant(self, span: Span, links: Links, cell: _Cell, anchored: bool) -> bool:
        """Whether the name before the words, or the periods beside them, tell the cell's row."""
        known: list[Link] = [*links.rows, *links.columns, *links.cells]
        for link in links.moments:
            said = self.text[link.start : link.end].lower()
            is_known = link.columns or link.places or said in cell.grid.caption.lower()
            if not is_known and not any(_gap(link, one) < 0 for one in known):
                return False
        before = [link for link in links.rows if link.end <= span.start]
        named = before[-1] if before else next(iter(links.rows), None)
        timed = sorted(
            (one for one in links.moments if one.places), key=lambda one: _gap(span, one)
        )
        if named is not None:
            rows = set(named.rows)
        elif timed:
            rows = {row for row, _ in timed[0].places}
        else:
            sentence = self.text[links.span.start : links.span.end]
            rows = set(links.subject) if anchored or _PRONOUN.match(sentence) else set()
        start = named.end if named is not None and before else links.span.start + 1
        for name in _NAME.finditer(self.text, start, span.start):
            if not any(one.start <= name.start() < one.end for one in [*known, *links.moments]):
                return False
        for places in [one.places for one in timed[:1]] + [one.places for one in links.cells]:
            rows = rows & {row for row, _ in places} or rows
        return rows == {cell.row}

    def _others(self, amount: Amount, sentence: Span, cell: _Cell) -> Iterator[tuple[str, str]]:
        """Other names under which the table has the number: of a row, or of a column."""
        grid = cell.grid
        links = self.linking.links(sentence, grid.number)

        def has(row: int, column: int) -> bool:
            number = grid.value(row, column).number
            signs = grid.signs(row, column)
            return (
                number is not None
                and compare(amount, number, grid.unit(row, column), signs) == "same"
            )

        rows = [
            n.name or n.header
            for n in grid.lines
            if n.index != cell.row and has(n.index, cell.column)
        ]
        said: list[Link] = [one for one in links.rows if cell.row in one.rows]
        said += [one for one in links.moments if any(row == cell.row for row, _ in one.places)]
        yield from ((self._said(said, "the row"), name) for name in rows[:MOST_OTHERS])
        if len(amount.value.as_tuple().digits) >= TELLING:
            named: list[Link] = [one for one in links.columns if cell.column in one.columns]
            for column in grid.columns:
                if column.index != cell.column and has(cell.row, column.index):
                    yield self._said(named, "the column"), column.name

    def _said(self, links: list[Link], kind: str) -> str:
        """The words that name something, or what it is."""
        return self.text[links[0].start : links[0].end] if links else kind

    def _other_row(self, claim: _Claim) -> Correction:
        """Another name, where a row is named that has not the extreme; or that row's number."""
        said, others = self.text[slice(*claim.span)], []
        for cell in claim.cells[:1]:
            stated = read_cell(cell.text).number
            named = next((one for one in cell.grid.lines if fold(one.name) == fold(said)), None)
            if stated is None or named is None:
                continue
            own = cell.grid.cell(named.index, cell.column)
            for amount in self.reading.amounts:
                if _touch(amount, claim.sentence) and compare(amount, stated, PLAIN) == "same":
                    others.append((self.text[amount.start : amount.digits_end], own))
        return Correction(self._edit(claim, claim.verdict.expected[0]), _OTHER_NAME, tuple(others))

    def _name(self, claim: _Claim, cell: _Cell) -> Correction | None:
        """A name for another of the same column, where the rest of the sentence is of the row."""
        said = self.text[slice(*claim.span)]
        column = {fold(cell.grid.cell(line.index, cell.column)) for line in cell.grid.lines}
        new = spell_alike(said, cell.text)
        if claim.verdict.error_type == "CMP" or fold(said) not in column or new is None:
            return None
        if fold(new) == fold(said) or said[:1].isupper() != cell.text[:1].isupper():
            return None  # "off the bench" is no position "G"
        return Correction(self._edit(claim, new), _OTHER_NAME)  # no name is certain


def _is_of_size(amount: Amount, new: str) -> bool:
    """Whether a value is about as large as the number that it would replace."""
    stated = [one.number.value for one in find_quantities(align(new))]
    if len(stated) != 1 or not stated[0] or not amount.value:
        return len(stated) == 1 or _ZERO.fullmatch(new) is not None
    return 1 / FARTHEST <= abs(stated[0] / amount.value) <= FARTHEST


def _is_column_meant(amount: Amount, links: Links, cell: _Cell) -> bool:
    """Whether the period or the header beside the number, or its unit, tells the column."""
    timed = [link for link in links.moments if link.columns]
    named: Sequence[MomentLink | ColumnLink] = timed or links.columns
    if named:
        return cell.column in min(named, key=lambda link: _gap(amount, link)).columns
    own = amount.number.unit.symbol, amount.number.unit.currency
    alike = [
        one.index
        for one in cell.grid.columns
        if one.kind == "number" and own in (("", ""), (one.unit.symbol, one.unit.currency))
    ]
    return alike == [cell.column]
