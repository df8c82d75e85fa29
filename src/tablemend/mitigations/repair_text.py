"""Repair of a summary without a model: contradicted values replaced where one cell can be meant.

Only what the verifier contradicts is touched, and only where it names one place in the text and
one value of the source for it. Every edit is verified: the words must be supported afterwards,
and no other claim may be worse off; else the edit is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from tablemend.claims.cues import find_cues
from tablemend.evidence.marks import read_cell
from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.mitigations.edits import Edit, Mended, apply_edits, narrowed
from tablemend.mitigations.spelling import Bound, spell_alike
from tablemend.records import NOTHING, Evidence, Verdict, Verification
from tablemend.values.cells import same_value
from tablemend.values.numbers import plain_digits
from tablemend.values.sentences import Span
from tablemend.values.text import fold
from tablemend.values.units import ONE, Unit
from tablemend.verifier.agreement import compare
from tablemend.verifier.reading import Amount, Reading

VERSION = "repair/1"

Verify = Callable[[str, Source], Verification]

_BOUNDS: dict[str, Bound] = {
    "about": "about",
    "over": "over",
    "just over": "over",
    "at least": "over",
    "under": "under",
    "just under": "under",
    "at most": "under",
}
_ENTRIES = re.compile(r"(?:(?:for|in|among) )?[\w-]+ (?:entries|rows|records|items)\b")
_OPENING = 8  # characters before a counting word: "For each of"
_DATE_LIKE = re.compile(r"\d\s*[-/]\s*$"), re.compile(r"\s*[-/]\s*\d")
_PER = re.compile(r"\b(?:per|for every)\s+$")
_EACH = re.compile(r"\s+(?:[\w-]+\s+){1,2}(?:per|for every)\s+\d")
_EXACT = ("", "about", "just over", "just under")
_HUNDRED = Decimal(100)
_FARTHEST = Decimal(1000)
"""A number is not mended to one that is more than this many times as large, or as small."""
_SHARES = re.compile(
    r"%|\b(?:percent\w*|pct|shares?|rates?|growth|margins?|change|proportion|ratio)\b", re.I
)
_GROUPED = re.compile(r"\d,\d{3}")
_PLAIN = re.compile(r"(?<![\d.,])\d{4,}(?![\d.,])")


def repair_text(text: str, source: Source, verify: Verify = verify_text) -> Mended:
    """Replace contradicted numbers, dates and names of a summary.

    Args:
        text: the summary.
        source: what it is verified against.
        verify: verifies a text; by default the program verifier.

    Returns:
        The text with its edits; :attr:`Mended.undone` has those that did not verify better.
    """
    before = verify(text, source)
    edits = find_edits(text, source, before)
    if not edits:
        return Mended(text, (), (), before, before)
    spent = [before]

    def verify_edited(tried: list[Edit]) -> Verification:
        spent.append(verify(apply_edits(text, tried), source))
        return spent[-1]

    kept, after = _keep_better(before, edits, verify_edited)
    usage = sum((one.usage for one in spent), NOTHING)
    undone = tuple(edit for edit in edits if edit not in kept)
    return Mended(apply_edits(text, kept), tuple(kept), undone, before, after, usage, 1)


def _keep_better(
    before: Verification, edits: list[Edit], verify: Callable[[list[Edit]], Verification]
) -> tuple[list[Edit], Verification]:
    """The edits that verify better, all at once, else one by one, and the verification then."""
    after = verify(edits)
    if _is_better(before, after, edits):
        return edits, after
    kept: list[Edit] = []
    best = before
    for edit in edits if len(edits) > 1 else ():
        tried = [*kept, edit]
        after = verify(tried)
        if _is_better(best, after, tried):
            kept, best = tried, after
    return kept, best


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
    for edit in sorted(edits, key=lambda edit: edit.start or 0):
        start = (edit.start or 0) + shift
        end = start + len(edit.new or "")
        shift += len(edit.new or "") - len(edit.old)
        touching = [v for v in after.verdicts if _rests_on(v, start, end)]
        if any(verdict.wrong for verdict in touching):
            return False
        if not any(verdict.verdict == "supported" for verdict in touching):
            return False
    return True


def _rests_on(verdict: Verdict, start: int, end: int) -> bool:
    """Whether a claim holds these words; a wrong one, whether they are at fault in it."""
    claim = verdict.claim
    if verdict.wrong and verdict.spans:
        return any(span.start < end and start < span.end for span in verdict.spans)
    return (
        claim.start is not None
        and claim.end is not None
        and claim.start < end
        and start < claim.end
    )


def find_edits(text: str, source: Source, found: Verification) -> list[Edit]:
    """Edits in the order of the text; none where two verdicts do not agree."""
    reading = Reading(text)
    grouped = bool(_GROUPED.search(text)) or not _PLAIN.search(text)
    wanted: dict[Span, Edit | None] = {}
    for verdict in found.verdicts:
        if verdict.verdict != "contradicted":
            continue
        for span in verdict.spans:
            amount = next((a for a in reading.amounts if _touch(a, span)), None)
            if amount is not None and amount.start <= span.start and span.end <= amount.end:
                # With its sign, currency and scale.
                span = Span(amount.start, amount.end)
            if amount is not None and _is_doubtful(amount, verdict, reading):
                continue
            meant = verdict if amount is None else _own_value(amount, source, verdict, reading)
            if meant is None:
                continue
            edit = _read_edit(text, span, source, meant, amount, grouped=grouped)
            wanted[span] = _agreed(wanted[span], edit) if span in wanted else edit
    alone = (
        edit
        for span, edit in sorted(wanted.items())
        if edit is not None and sum(_touch(other, span) for other in wanted) == 1
    )
    return list(map(narrowed, alone))


def _is_doubtful(amount: Amount, verdict: Verdict, reading: Reading) -> bool:
    """Whether a number is no value of one cell, though it was compared with one.

    It counts rows ("nine of the 13 firms had"), bounds what is counted ("ten entries had more than
    16 %"), is a side of a ratio ("one clerk per 12,600"), or a part of a date that was not read.
    """
    before, after = _DATE_LIKE
    plain = reading.plain
    if before.search(plain[: amount.start][-4:]) or after.match(plain, amount.digits_end):
        return True
    if _PER.search(plain[: amount.start][-12:]) or _EACH.match(plain, amount.end):
        return True
    if any(evidence.row is None for evidence in verdict.evidence):
        return False  # computed over the rows
    sentence = next(s for s in reading.sentences if s.start <= amount.start < s.end)
    entries = _ENTRIES.match(plain, sentence.start, sentence.end)
    counted = [Span(*entries.span())] if entries else []
    counted += [
        Span(sentence.start + cue.start, sentence.start + cue.end)
        for cue in find_cues(reading.text[sentence.start : sentence.end])
        if cue.kind in ("count", "quantifier") and cue.start <= _OPENING
    ]
    return any(amount.start < span.end or amount.hedge not in _EXACT for span in counted)


def _touch(one: Span | Amount, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _agreed(one: Edit | None, other: Edit | None) -> Edit | None:
    """The more exact of two edits that say the same; ``None`` where they do not."""
    if one is None or other is None or not same_value(one.new, other.new):
        return None
    return max(one, other, key=lambda edit: len(edit.new or ""))


def _read_edit(
    text: str,
    span: Span,
    source: Source,
    verdict: Verdict,
    amount: Amount | None,
    *,
    grouped: bool,
) -> Edit | None:
    """What one verdict asks for, where only one thing can be meant."""
    if len(verdict.spans) != 1 or len(verdict.expected) != 1:
        return None
    expected = verdict.expected[0].strip()
    old = text[span.start : span.end]
    if amount is None and (verdict.error_type == "CMP" or not _is_name(old, expected, source)):
        return None  # "Lions had the highest": the name can be wrong, or the comparison
    decline = amount is not None and amount.decline
    bound = _BOUNDS.get(amount.hedge, "") if amount is not None else ""
    cells = list(_cells(source, verdict).values())
    scales = (ONE, *(cell.scale for cell in cells))
    if amount is not None and amount.number.percent:
        bound = "" if expected not in (cell.text for cell in cells) else bound
    if bound and len(cells) == 1:
        expected = cells[0].text  # what the verifier gives may be rounded already
        scales = (cells[0].scale,)
    if amount is not None:
        expected = _in_form(expected, amount, cells)
    new = spell_alike(old, expected, decline=decline, grouped=grouped, bound=bound, scales=scales)
    if new is None or fold(new) == fold(old):
        return None
    if amount is not None and not _is_of_kind(amount, new, source, verdict):
        return None
    reason = verdict.reason or f"the source says {expected}"
    return Edit(old, new, reason, VERSION, verdict.error_type, span.start, span.end)


def _in_form(expected: str, amount: Amount, cells: Iterable[_Cell]) -> str:
    """A cell's number in the scale that the words state, a fraction as their percentage."""
    own = {(cell.scale, cell.fraction) for cell in cells if cell.text == expected}
    number = read_cell(expected).number
    if number is None or len(own) != 1 or number.unit.scale != ONE:
        return expected
    ((scale, fraction),) = own
    if amount.number.percent:
        return f"{plain_digits(number.value * _HUNDRED)}%" if fraction else expected
    stated = amount.number.unit.scale
    if ONE in (scale, stated):
        return expected
    return plain_digits(number.value * scale / stated)


def _is_of_kind(amount: Amount, new: str, source: Source, verdict: Verdict) -> bool:
    """Whether a value can replace a number: of its size, and a percentage for a percentage.

    "Grew 10 %" is never the level that the cell has.
    """
    number = read_cell(new).number
    if number is None or not (number.value and amount.number.value):
        return True
    factor = abs(number.value / amount.number.value)
    if not 1 / _FARTHEST <= factor <= _FARTHEST:
        return False
    cells = _cells(source, verdict)
    if not amount.number.percent or len(cells) != 1:  # what is worked out of two is a change
        return True
    ((evidence, cell),) = cells.items()
    assert evidence.table is not None and evidence.row is not None
    grid = source.grids[evidence.table]
    in_row = any("%" in grid.cell(evidence.row, column.index) for column in grid.columns)
    return cell.share or in_row  # a column of units


def _own_value(
    amount: Amount, source: Source, verdict: Verdict, reading: Reading
) -> Verdict | None:
    """A verdict whose value is not that of another number of the sentence; ``None`` without one.

    "A won more games (3) than B (2)": if 3 is expected for B, that is A's cell. Where the verdict
    was decided by two cells and the sentence states one of them, the other one is meant.
    """
    sentence = next(s for s in reading.sentences if s.start <= amount.start < s.end)
    beside = [
        other
        for other in reading.amounts
        if sentence.start <= other.start < sentence.end
        and other.start != amount.start
        and other.role == "value"
        and other.hedge in _EXACT
    ]

    def is_said(value: str, scales: Iterable[Decimal]) -> bool:
        number = read_cell(value).number
        return number is not None and any(
            compare(other, number, Unit(scale)) == "same" for other in beside for scale in scales
        )

    cells = _cells(source, verdict)
    scales = {ONE, *(cell.scale for cell in cells.values())}
    if len(verdict.expected) != 1 or not is_said(verdict.expected[0], scales):
        return verdict
    others = [where for where, cell in cells.items() if not is_said(cell.text, [cell.scale])]
    if len(cells) != 2 or len(others) != 1:
        return None
    return replace(verdict, expected=(cells[others[0]].text,), evidence=(others[0],))


class _Cell(NamedTuple):
    """A cell of a number as written, its scale, and whether it can be a percentage.

    ``fraction``: 0.25 that can stand for 25 %.
    """

    text: str
    scale: Decimal
    share: bool
    fraction: bool


def _cells(source: Source, verdict: Verdict) -> dict[Evidence, _Cell]:
    """The cells of numbers that decided a verdict."""
    found = {}
    for evidence in verdict.evidence:
        if evidence.table is None or evidence.row is None or evidence.column is None:
            continue
        grid = source.grids[evidence.table]
        number = grid.value(evidence.row, evidence.column).number
        if number is not None:
            unit = grid.unit(evidence.row, evidence.column)
            percent = number.percent or unit.symbol == "%"
            whole = number.value == number.value.to_integral_value()
            fraction = not percent and not whole and abs(number.value) <= 1
            share = percent or abs(number.value) <= 1
            share = share or _SHARES.search(evidence.text) is not None
            cell = grid.cell(evidence.row, evidence.column)
            found[evidence] = _Cell(cell, unit.scale, share, fraction)
    return found


def _is_name(old: str, expected: str, source: Source) -> bool:
    """Whether a text is replaced by a cell's, and a column's name by another column's.

    Words that compare ("highest", "rose") are no names: which side of the claim is wrong is open.
    """
    wanted, own = fold(expected), fold(old)
    for grid in source.grids:
        headers = {fold(column.name) for column in grid.columns}
        if wanted in headers:
            return own in headers
        for line in grid.lines:
            if any(fold(name) == wanted for name in (*line.path, *grid.names(line.index))):
                return True
    return False
