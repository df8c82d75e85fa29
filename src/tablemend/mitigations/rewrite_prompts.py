"""What a model is shown of a flagged claim, and how its rewrite is read: strictly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tablemend.evidence.source import Source
from tablemend.mitigations.answer_tables import BLANK
from tablemend.mitigations.edits import Edit
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import (
    EMPTY,
    NOT_PROSE,
    REFUSED,
    Unreadable,
    prose,
)
from tablemend.records import ClaimError, Document, Evidence, Verdict
from tablemend.verifier.program import verify_document
from tablemend.verifier.verifiers import gather, premise

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
CELL = "rewrite_cell"
ROW = "rewrite_row"
COMPARISON = "rewrite_comparison"
STRATEGIES: dict[ClaimError, str] = {
    "NUM": "rewrite_value",
    "CMP": COMPARISON,
    "TMP": "rewrite_time",
}
RELATION = "rewrite_relation"
"""The prompt that an error type is rewritten with (TabFaith, section 5); this one where it has
none of its own."""
RETRY = "retry"
KEEP, DROP = "KEEP", "DROP"
MOST_EVIDENCE = 8
"""Cells and sentences that are shown for one rewrite."""
GROWTH = 3
"""A rewrite so many times as long as the words it replaces, and :data:`SLACK` characters, is
more than these words."""
SLACK = 120
LONGEST_CELL = 300
_QUOTES = (('"', '"'), ("'", "'"), ("`", "`"), ("\u201c", "\u201d"), ("**", "**"))
_END = ".!?"


def findings(verdicts: Sequence[Verdict], suggested: Sequence[Edit] = ()) -> str:
    """What is wrong, one claim a line, with what the source has instead where it is clear.

    Args:
        verdicts: on the claims that are flagged.
        suggested: what repair would do with the words at fault, in their own spelling.
    """
    lines: dict[str, None] = {}
    for verdict in verdicts:
        line = f'- "{" ".join(verdict.claim.statement.split())}": '
        line += verdict.reason or verdict.verdict.replace("_", " ")
        edit = next((one for one in suggested if _is_for(one, verdict)), None)
        if edit is not None:
            line += f'; right would be "{edit.new}" for "{edit.old}"'
        elif len(verdict.expected) == 1:
            right = verdict.expected[0]
            if verdict.error_type != "NUM" and (wrong := _words_at_fault(verdict)):
                line += f'; right would be "{right}" for "{wrong}"'
            else:
                line += f'; the source has "{right}"'
        lines[line] = None
    return "\n".join(lines)


def _words_at_fault(verdict: Verdict) -> str:
    """The one passage of a claim that the verifier blames; empty where it is none or several."""
    claim = verdict.claim
    if len(verdict.spans) != 1 or claim.start is None:
        return ""
    (start, end) = verdict.spans[0]
    return claim.text[start - claim.start : end - claim.start] if start >= claim.start else ""


def _is_for(edit: Edit, verdict: Verdict) -> bool:
    """Whether an edit is of the words that a verdict blames."""
    start, end = edit.start, edit.end
    return start is not None and any(s.start < (end or 0) and start < s.end for s in verdict.spans)


def evidence(verdicts: Sequence[Verdict], source: Source) -> str:
    """What decided the verdicts, and what retrieval adds, each once."""
    found: dict[tuple[object, ...], Evidence] = {}
    for verdict in verdicts:
        for one in (*verdict.evidence, *gather(verdict.claim.statement, source).evidence):
            if one.table is not None and one.row is None:
                continue  # what was computed is shown apart
            if len(found) < MOST_EVIDENCE:
                found.setdefault((one.table, one.row, one.column, one.start, one.text), one)
    return premise(list(found.values())) or "none"


def is_computed(verdict: Verdict) -> bool:
    """Whether it was worked out over a whole table: of a count or a sum no single cell tells."""
    return any(one.table is not None and one.row is None for one in verdict.evidence)


def computed(text: str, verdicts: Sequence[Verdict], source: Source) -> str:
    """What the program finds of the same claims over the whole table (TabFaith 5, CMP)."""
    own = verify_document(Document(text, tuple(one.claim for one in verdicts)), source)
    lines: dict[str, None] = {}
    for verdict in own:
        if verdict.verdict != "unscored":
            said = [one.text for one in verdict.evidence if one.row is None]
            lines |= dict.fromkeys(filter(None, [*said, verdict.reason]))
    return "\n".join(f"- {line}" for line in lines) or "nothing"


def read_rewrite(answer: str, words: str, before: str = "", after: str = "") -> str:
    """The words that replace others in a text.

    Args:
        answer: what the model wrote.
        words: those that it was to rewrite.
        before: the words before them in their sentence.
        after: the words behind them.

    Returns:
        The rewrite, with the first letter and the end as the old words have them. A model that
        repeats the rest of the sentence is understood: only the words between count.

    Raises:
        Unreadable: nothing, a refusal, data, several lines, or more than the words.
    """
    said = _unquoted(prose(answer), words)
    if "\n" in said:
        raise Unreadable(NOT_PROSE, "Answer with the rewritten words alone, on one line.")
    head, tail = before.strip(), after.strip()
    if (head or tail.strip(_END)) and said.startswith(head) and said.endswith(tail):
        said = said[len(head) : len(said) - len(tail)].strip()
    if words[-1:] not in _END:
        said = said.rstrip(_END)
    elif said and said[-1] not in _END:
        said += words[-1]
    first = said.partition(" ")[0]
    if first.casefold() == words.partition(" ")[0].casefold():
        said = words[: len(first)] + said[len(first) :]
    if not said.strip():
        raise Unreadable(EMPTY, "The answer was empty.")
    if len(said) > GROWTH * len(words) + SLACK:
        raise Unreadable(NOT_PROSE, "The answer is longer than the words: give these alone.")
    return said


def _unquoted(text: str, words: str) -> str:
    """Without quotation marks around the whole, unless the words have them."""
    for opening, closing in _QUOTES:
        inside = text[len(opening) : len(text) - len(closing)]
        if (
            text.startswith(opening)
            and text.endswith(closing)
            and inside.strip()
            and opening not in inside
            and not words.startswith(opening)
        ):
            return inside.strip()
    return text


def read_cell(answer: str) -> str | None:
    """The new content of a cell; ``None`` for a blank one.

    Raises:
        Unreadable: nothing, a refusal, data, or more than a cell.
    """
    said = _unquoted(prose(answer), "")
    if "\n" in said or "|" in said or len(said) > LONGEST_CELL:
        raise Unreadable(NOT_PROSE, "Answer with the content of the cell alone.")
    return None if said == BLANK else said


_ROW_WORD = re.compile(rf"[\W_]*({KEEP}|{DROP})[\W_]*", re.IGNORECASE)


def read_row(answer: str) -> bool:
    """Whether a row stays.

    Raises:
        Unreadable: anything but one of the two words.
    """
    match = _ROW_WORD.fullmatch(answer[:LONGEST_CELL])
    if match is None:
        kind = EMPTY if not answer.strip() else REFUSED
        raise Unreadable(kind, f"Answer with one word: {KEEP} or {DROP}.")
    return match[1].upper() == KEEP
