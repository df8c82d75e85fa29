"""Repair of a summary without a model: contradicted values replaced where one cell can be meant.

Only what the verifier contradicts is touched, and only where it names one place in the text and
one value of the source for it. Every edit is verified: the words must be supported afterwards,
and no other claim may be worse off; else the edit is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.faithfulness.verifier import NOTHING, Usage
from tablemend.mitigations.edits import Edit, Mended, add_edit, apply_edits
from tablemend.mitigations.spelling import spell_alike
from tablemend.records import ClaimError, Verdict, Verification
from tablemend.values.sentences import Span
from tablemend.values.text import fold
from tablemend.verification.reading import Reading

VERSION = "repair/1"
PASSES = 2

Verify = Callable[[str, Source], Verification]

_GROUPED = re.compile(r"\d,\d{3}")
_PLAIN = re.compile(r"(?<![\d.,])\d{4,}(?![\d.,])")


@dataclass(frozen=True, slots=True)
class _Fix:
    """A replacement that the verdicts ask for, in places of the text as it is."""

    span: Span
    new: str
    reason: str
    error: ClaimError | None

    def edit(self, text: str) -> Edit:
        return Edit(
            text[self.span.start : self.span.end],
            self.new,
            self.reason,
            VERSION,
            self.error,
            self.span.start,
            self.span.end,
        )


def repair_text(text: str, source: Source, verify: Verify = verify_text) -> Mended:
    """Replace contradicted numbers, dates and names of a summary.

    Args:
        text: the summary.
        source: what it is verified against.
        verify: judges a text; by default the program verifier.

    Returns:
        The text with its edits in places of the original. :attr:`Mended.undone` has those that
        did not verify better, in places of the text that they were tried on.
    """
    return repair_verified(text, source, verify(text, source), verify)


def repair_verified(
    text: str, source: Source, before: Verification, verify: Verify = verify_text
) -> Mended:
    """:func:`repair_text` of a text that is verified already."""
    edits: tuple[Edit, ...] = ()
    undone: list[Edit] = []
    current, found = text, before
    spent = [before]
    for _ in range(PASSES):
        fixes = [fix for fix in _find_fixes(current, source, found) if not _tried(fix, undone)]
        if not fixes:
            break
        changed, after, kept = _apply(current, source, found, fixes, verify, undone, spent)
        if not kept:
            break
        shift = 0
        for edit in kept:  # in the order of the text, so that earlier ones shift later ones
            assert edit.start is not None and edit.end is not None
            moved = Edit(
                edit.old,
                edit.new,
                edit.reason,
                edit.method,
                edit.error_type,
                edit.start + shift,
                edit.end + shift,
            )
            edits = add_edit(text, edits, moved)
            shift += len(edit.new or "") - len(edit.old)
        current, found = changed, after
    usage = sum((Usage(v.calls, v.prompt_tokens, v.completion_tokens) for v in spent), NOTHING)
    return Mended(current, edits, tuple(undone), before, found, usage)


def _apply(
    text: str,
    source: Source,
    before: Verification,
    fixes: list[_Fix],
    verify: Verify,
    undone: list[Edit],
    spent: list[Verification],
) -> tuple[str, Verification, list[Edit]]:
    """Apply the replacements that verify better: all at once, else one by one."""
    edits = [fix.edit(text) for fix in fixes]
    changed = apply_edits(text, edits)
    after = verify(changed, source)
    spent.append(after)
    if _is_better(before, after, edits):
        return changed, after, edits
    if len(edits) == 1:
        undone.append(edits[0])
        return text, before, []
    kept: list[Edit] = []
    best, best_text = before, text
    for edit in edits:
        tried = [*kept, edit]
        changed = apply_edits(text, tried)
        after = verify(changed, source)
        spent.append(after)
        if _is_better(best, after, tried):
            kept, best, best_text = tried, after, changed
        else:
            undone.append(edit)
    return best_text, best, kept


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


def _find_fixes(text: str, source: Source, found: Verification) -> list[_Fix]:
    """Replacements in the order of the text; none where two verdicts do not agree."""
    reading = Reading(text)
    grouped = bool(_GROUPED.search(text)) or not _PLAIN.search(text)
    wanted: dict[Span, _Fix | None] = {}
    for verdict in found.verdicts:
        if verdict.verdict != "contradicted":
            continue
        fix = _fix(text, source, verdict, reading, grouped=grouped)
        for span in verdict.spans:
            known = wanted.get(span, fix)
            agreed = fix is not None and known is not None and known.new == fix.new
            wanted[span] = fix if agreed else None
    fixes = [fix for fix in wanted.values() if fix is not None]
    return list(_apart(fixes, [span for span, fix in wanted.items() if fix is None]))


def _apart(fixes: list[_Fix], doubtful: list[Span]) -> Iterator[_Fix]:
    """Replacements whose words no other verdict finds fault with in another way."""
    spans = [*(fix.span for fix in fixes), *doubtful]
    for fix in sorted(fixes, key=lambda fix: fix.span):
        touched = [s for s in spans if s.start < fix.span.end and fix.span.start < s.end]
        if len(touched) == 1:
            yield fix


def _fix(
    text: str, source: Source, verdict: Verdict, reading: Reading, *, grouped: bool
) -> _Fix | None:
    """What one verdict asks for, where only one thing can be meant."""
    if len(verdict.spans) != 1 or len(verdict.expected) != 1:
        return None
    span, expected = verdict.spans[0], verdict.expected[0].strip()
    old = text[span.start : span.end]
    amount = next((a for a in reading.amounts if a.start < span.end and span.start < a.end), None)
    if amount is not None and amount.hedge not in ("", "about"):
        return None  # "over 50": the bound may be meant, not the number
    if amount is None and not _is_name(old, expected, source):
        return None
    decline = amount is not None and amount.decline
    new = spell_alike(old, expected, decline=decline, grouped=grouped)
    if new is None or fold(new) == fold(old):
        return None
    return _Fix(span, new, verdict.reason or f"the source says {expected}", verdict.error_type)


def _is_name(old: str, expected: str, source: Source) -> bool:
    """Whether a text is replaced by a cell or a header of a source's table, or a date by a date.

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


def _tried(fix: _Fix, undone: list[Edit]) -> bool:
    return any(edit.new == fix.new and edit.start == fix.span.start for edit in undone)
