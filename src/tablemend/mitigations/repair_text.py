"""Repair of a summary without a model: contradicted values replaced where one cell can be meant.

Only what the verifier contradicts is touched, and only where it names one place in the text and
one value of the source for it. Every edit is verified: the words must be supported afterwards,
and no other claim may be worse off; else the edit is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.faithfulness.verifier import NOTHING, Usage
from tablemend.mitigations.edits import Edit, Mended, apply_edits, narrowed
from tablemend.mitigations.spelling import Bound, spell_alike
from tablemend.records import Verdict, Verification
from tablemend.values.sentences import Span
from tablemend.values.text import fold
from tablemend.values.units import ONE
from tablemend.verification.reading import Reading

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
_GROUPED = re.compile(r"\d,\d{3}")
_PLAIN = re.compile(r"(?<![\d.,])\d{4,}(?![\d.,])")


def repair_text(text: str, source: Source, verify: Verify = verify_text) -> Mended:
    """Replace contradicted numbers, dates and names of a summary.

    Args:
        text: the summary.
        source: what it is verified against.
        verify: judges a text; by default the program verifier.

    Returns:
        The text with its edits; :attr:`Mended.undone` has those that did not verify better.
    """
    return repair_verified(text, source, verify(text, source), verify)


def repair_verified(
    text: str, source: Source, before: Verification, verify: Verify = verify_text
) -> Mended:
    """:func:`repair_text` of a text that is verified already."""
    edits = find_edits(text, source, before)
    if not edits:
        return Mended(text, (), (), before, before)
    spent = [before]

    def verify_edited(tried: list[Edit]) -> Verification:
        spent.append(verify(apply_edits(text, tried), source))
        return spent[-1]

    kept, after = _keep_better(before, edits, verify_edited)
    usage = sum((Usage(v.calls, v.prompt_tokens, v.completion_tokens) for v in spent), NOTHING)
    undone = tuple(edit for edit in edits if edit not in kept)
    return Mended(apply_edits(text, kept), tuple(kept), undone, before, after, usage)


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

    Fewer claims are wrong, no fewer supported, and every new word stands in a supported claim and
    in no wrong one.
    """
    if _wrong(after) >= _wrong(before):
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


def _wrong(verification: Verification) -> int:
    return sum(verdict.wrong for verdict in verification.verdicts)


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
        edit = _read_edit(text, source, verdict, reading, grouped=grouped)
        for span in verdict.spans:
            known = wanted.get(span, edit)
            agreed = edit is not None and known is not None and known.new == edit.new
            wanted[span] = edit if agreed else None
    return list(_apart(wanted))


def _apart(wanted: dict[Span, Edit | None]) -> Iterator[Edit]:
    """Edits whose words no other verdict finds fault with in another way."""
    for span in sorted(wanted):
        edit = wanted[span]
        touched = [other for other in wanted if other.start < span.end and span.start < other.end]
        if edit is not None and len(touched) == 1:
            yield edit


def _read_edit(
    text: str, source: Source, verdict: Verdict, reading: Reading, *, grouped: bool
) -> Edit | None:
    """What one verdict asks for, where only one thing can be meant."""
    if len(verdict.spans) != 1 or len(verdict.expected) != 1:
        return None
    (start, end), expected = verdict.spans[0], verdict.expected[0].strip()
    amount = next((a for a in reading.amounts if a.start < end and start < a.end), None)
    if amount is not None and amount.start <= start and end <= amount.end:
        start, end = amount.start, amount.end  # with its sign, currency and scale
    old = text[start:end]
    if amount is None and (verdict.error_type == "CMP" or not _is_name(old, expected, source)):
        return None  # "Lions had the highest": the name can be wrong, or the comparison
    decline = amount is not None and amount.decline
    bound = _BOUNDS.get(amount.hedge, "") if amount is not None else ""
    scales = _scales(source, verdict)
    if bound and (cell := _deciding_cell(source, verdict)) is not None:
        expected, scale = cell  # what the verifier gives may be rounded already
        scales = (scale,)
    new = spell_alike(old, expected, decline=decline, grouped=grouped, bound=bound, scales=scales)
    if new is None or fold(new) == fold(old):
        return None
    reason = verdict.reason or f"the source says {expected}"
    return narrowed(Edit(old, new, reason, VERSION, verdict.error_type, start, end))


def _scales(source: Source, verdict: Verdict) -> tuple[Decimal, ...]:
    """What the cells that decided a verdict count in."""
    found = {ONE}
    for evidence in verdict.evidence:
        if evidence.table is not None and evidence.row is not None and evidence.column is not None:
            grid = source.grids[evidence.table]
            found.add(grid.unit(evidence.row, evidence.column).scale)
    return tuple(sorted(found))


def _deciding_cell(source: Source, verdict: Verdict) -> tuple[str, Decimal] | None:
    """The one cell that decided a verdict, as written, and what it counts in."""
    places = {(e.table, e.row, e.column) for e in verdict.evidence if e.row is not None}
    if len(places) != 1:
        return None
    table, row, column = places.pop()
    if table is None or row is None or column is None:
        return None
    grid = source.grids[table]
    return grid.cell(row, column), grid.unit(row, column).scale


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
