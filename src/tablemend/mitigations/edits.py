"""What a mitigation is given, and what it changed: every edit with its place and its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tablemend.backends.backend import Backend
from tablemend.backends.requests import Sampling
from tablemend.detector.algorithm import AnswerFormat
from tablemend.detector.query import columns_from_query
from tablemend.evidence.source import Source
from tablemend.records import NOTHING, Usage, Verdict, Verification
from tablemend.records.edits import Edit as Edit
from tablemend.tables.extract import Extraction, extract_table
from tablemend.verifier.verifiers import Extractor, Verifier

MAX_NEW_TOKENS = 1024

_WORD = re.compile(r"\s+|\w+(?:[.,]\w+)*|.", re.DOTALL)


class Draft(NamedTuple):
    """An answer that may be edited.

    Attributes:
        text: the raw answer.
        evidence: what it was made from; its query, where it is a table.
        format: serialisation of an answer table; ``None`` for a text.
        name: of the sample, for messages.
    """

    text: str
    evidence: Source
    format: AnswerFormat | None = None
    name: str = ""

    def read(self, text: str | None = None) -> Extraction:
        """The table of the answer, or of what became of it, as context and question name things;
        of a text about a table there is none.
        """
        if self.format is None:
            return Extraction(None, "")
        columns = columns_from_query(self.evidence.query) or ()
        answer = self.text if text is None else text
        return extract_table(answer, self.format, columns, self.evidence.text)


class Tools(NamedTuple):
    """What a mitigation may use.

    Attributes:
        verifier: of claims, cells and rows.
        extractor: takes texts apart into claims.
        backend: the model; ``None`` for a mitigation that asks none.
        thinking: whether the model is to think first; ``None`` asks for nothing.
        sampling: how its tokens are chosen.
    """

    verifier: Verifier
    extractor: Extractor
    backend: Backend | None = None
    thinking: bool | None = None
    sampling: Sampling = Sampling(MAX_NEW_TOKENS)


@dataclass(frozen=True, slots=True)
class Mended:
    """A text or a raw answer after a mitigation.

    Attributes:
        text: as it is now; without edits the same as before, byte for byte.
        edits: what was changed, in the order of the text or the rows.
        undone: rewrites that were tried and taken back, with the reason.
        before, after: what was found of it, where it was verified as a whole; the same object
            where nothing was changed.
        usage: what models were asked for it, verifying included.
        passes: how often it was edited; of CAVE at most twice.
        notes: corrections that are possible and were not made, each with the reason.
    """

    text: str
    edits: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()
    before: Verification | None = None
    after: Verification | None = None
    usage: Usage = NOTHING
    passes: int = 0
    notes: tuple[str, ...] = ()


def apply_edits(original: str, edits: Sequence[Edit]) -> str:
    """A text with its edits; whatever lies between them is untouched.

    Raises:
        ValueError: edits that overlap, or whose ``old`` is not at their place.
    """
    parts, position = [], 0
    for edit in sorted(edits, key=_place):
        start, end = _place(edit)
        if start < position or original[start:end] != edit.old:
            raise ValueError(f"{edit.old!r} is not alone at {start}:{end}")
        parts += [original[position:start], edit.new or ""]
        position = end
    return "".join([*parts, original[position:]])


def add_edit(original: str, edits: Sequence[Edit], edit: Edit) -> tuple[Edit, ...]:
    """One more edit to a text that was edited before.

    Args:
        original: the text before all edits.
        edits: those so far, in places of the original.
        edit: the next, in places of the text as it is now. Where it touches words that were
            edited before, the two become one.

    Returns:
        All edits in places of the original, in the order of the text.

    Raises:
        ValueError: its ``old`` is not at its place.
    """
    text = apply_edits(original, edits)
    start, end = _place(edit)
    if text[start:end] != edit.old:
        raise ValueError(f"{edit.old!r} is not at {start}:{end}")
    apart, touched = [], []
    grown = before = 0
    left, right = start, end
    for known in sorted(edits, key=_place):
        growth = len(known.new or "") - len(known.old)
        begins = _place(known)[0] + grown
        ends = begins + len(known.new or "")
        if begins <= end and ends >= start:
            touched.append(known)
            left, right = min(left, begins), max(right, ends)
        else:
            apart.append(known)
            before += growth if ends < start else 0
        grown += growth
    new = text[left:start] + (edit.new or "") + text[end:right]
    first = left - before
    last = right - before - sum(len(one.new or "") - len(one.old) for one in touched)
    reasons = dict.fromkeys([*(one.reason for one in touched), edit.reason])
    merged = Edit(
        span=(first, last),
        old=original[first:last],
        new=new,
        reason="; ".join(reasons),
        method=edit.method,
        type=touched[0].type if touched else edit.type,
    )
    kept = apart if merged.old == merged.new else [*apart, merged]  # one that takes another back
    return tuple(sorted(kept, key=_place))


def narrowed(edit: Edit) -> Edit:
    """The same edit of a text without the words at both ends that stay as they are."""
    old, new = _WORD.findall(edit.old), _WORD.findall(edit.new or "")
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    tail = next((i for i in range(most - head) if old[-1 - i] != new[-1 - i]), most - head)
    start = _place(edit)[0] + sum(map(len, old[:head]))
    kept = "".join(old[head : len(old) - tail])
    new_words = "".join(new[head : len(new) - tail])
    return edit.model_copy(
        update={"span": (start, start + len(kept)), "old": kept, "new": new_words}
    )


def is_asked(text: str, verdict: Verdict) -> bool:
    """Whether a claim is of a question, which states nothing that could be mended."""
    sentence = verdict.claim.sentence
    return sentence is not None and text[: sentence.end].rstrip("\"'\u201d\u2019)] ").endswith("?")


def _place(edit: Edit) -> tuple[int, int]:
    """The place of an edit of a text."""
    if edit.span is None:
        raise ValueError("an edit of a table has no place in a text")
    return edit.span
