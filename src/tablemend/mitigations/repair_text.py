"""Repair of a summary without a model: a wrong value is replaced where nothing else can be wrong.

Every edit is verified: the words must be supported afterwards, and no other claim may be worse
off; else the edit is taken back. What :mod:`.corrections` leaves in doubt is only noted.
"""

from __future__ import annotations

from collections.abc import Callable

from tablemend.evidence.source import Source
from tablemend.mitigations.corrections import find_corrections
from tablemend.mitigations.edits import Edit, Mended, apply_edits
from tablemend.records import NOTHING, Verdict, Verification
from tablemend.verifier.staf import verify_text

Verify = Callable[[str, Source], Verification]


def repair_text(text: str, source: Source, verify: Verify = verify_text) -> Mended:
    """Replace contradicted numbers, dates and names of a summary.

    Args:
        text: the summary.
        source: what it is verified against.
        verify: verifies a text; by default the program verifier.

    Returns:
        The text with its edits; :attr:`Mended.undone` has those that did not verify better,
        :attr:`Mended.notes` the corrections that were not made.
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

    kept, after = _keep_better(before, edits, verify_edited)
    usage = sum((one.usage for one in spent), NOTHING)
    undone = tuple(edit for edit in edits if edit not in kept)
    text = apply_edits(text, kept)
    return Mended(text, tuple(kept), undone, before, after, usage, 1, notes)


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
        touching = [v for v in after.verdicts if _concerns(v, start, end)]
        if any(verdict.wrong for verdict in touching):
            return False
        if not any(verdict.verdict == "supported" for verdict in touching):
            return False
    return True


def _concerns(verdict: Verdict, start: int, end: int) -> bool:
    """Whether a claim holds these words; a wrong one, whether they are at fault in it."""
    claim = verdict.claim
    if verdict.wrong and verdict.spans:
        return any(span.start < end and start < span.end for span in verdict.spans)
    first, last = claim.start, claim.end
    return first is not None and last is not None and first < end and start < last
