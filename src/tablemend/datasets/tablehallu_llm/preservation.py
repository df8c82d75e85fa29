"""Whether a long text keeps what the base context says, and where it says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tablemend.datasets.tablehallu_llm.omissions import Omissions
from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.statements import Sentence, Statements
from tablemend.prompting.replies import Problem
from tablemend.records import Fact, Mention
from tablemend.values.sentences import Span, paragraph_spans

TOO_SHORT = "too short"
NO_PROSE = "lists or headings"
LOST = "original sentence lost"
TORN = "pronoun torn from its sentence"
CLUSTERED = "original sentences not dispersed"

_JOINT = re.compile(r"(?<=[.!?]) (?=[^\Wa-z])")
_MARKUP = ("#", "|", "- ", "* ", "\u2022", "```")


class Kept(NamedTuple):
    """A sentence of the base context that the long text has word for word.

    Attributes:
        clean: its place in the base context.
        start: where it begins in the long text.
        torn: the sentence before it was what its pronoun pointed to, and is not there.
    """

    clean: Span
    start: int
    torn: bool

    @property
    def span(self) -> Span:
        """Its place in the long text."""
        return Span(self.start, self.start + self.clean.end - self.clean.start)

    def holds(self, place: Mention) -> bool:
        """Whether a place of the base context is in this sentence."""
        return self.clean.start <= place.start and place.end <= self.clean.end


class Preserved:
    """A base context beside the long text that was made from it.

    Args:
        draft: the kernel.
        text: the long text.
    """

    def __init__(self, draft: KernelDraft, text: str) -> None:
        self.draft = draft
        self.text = text
        self.clean = Statements(draft.table, draft.context, closed=True)
        self.adversarial = Statements(draft.table, text, closed=False)
        self.kept: list[Kept] = []
        self.lost: list[str] = []
        """Sentences of the base context that the long text has not."""
        self._compare()

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """The gold facts with their places in both texts, row by row.

        The value is as the texts write it. A cell whose sentence is lost has no fact.
        """
        found = []
        for row, cells in enumerate(self.draft.table.rows):
            for column, clean in self.clean.locate(row).items():
                kept = next((one for one in self.kept if clean and one.holds(clean)), None)
                if clean and kept:
                    start, end = clean[:2]
                    shift = kept.start - kept.clean.start
                    found.append(
                        Fact(
                            row,
                            cells[self.clean.key] or "",
                            self.draft.table.columns[column],
                            self.draft.context[start:end],
                            None,
                            Mention(start, end, *kept.clean),
                            Mention(start + shift, end + shift, *kept.span),
                        )
                    )
        return tuple(found)

    def _compare(self) -> None:
        """Find every sentence of the base context in the long text, each at a place of its own."""
        taken: set[int] = set()
        before: Sentence | None = None
        for sentence in self.clean.sentences:
            whole = Span(sentence.start, sentence.end)
            # What "Corp." seems to join may be two sentences.
            parts = [whole] if self._starts(whole) else self._parts(whole)
            for part in parts:
                # The same words may stand there several times: "It opened in 1990."
                starts = [start for start in self._starts(part) if start not in taken]
                if not starts:
                    self.lost.append(self.draft.context[slice(*part)])
                    continue
                torn = False
                if sentence.about and not sentence.named:
                    right = [s for s in starts if self._follows(s, before, sentence.about)]
                    torn, starts = not right, right or starts
                taken.add(starts[0])
                self.kept.append(Kept(part, starts[0], torn))
            before = sentence

    def _parts(self, sentence: Span) -> list[Span]:
        text = self.draft.context[slice(*sentence)]
        ends = [match.start() for match in _JOINT.finditer(text)]
        starts = [0, *(end + 1 for end in ends)]
        return [
            Span(sentence.start + start, sentence.start + end)
            for start, end in zip(starts, [*ends, len(text)], strict=True)
        ]

    def _starts(self, sentence: Span) -> list[int]:
        """Where a sentence is word for word, not as the end of another word."""
        said = self.draft.context[slice(*sentence)]
        places = (match.start() for match in re.finditer(re.escape(said), self.text))
        return [start for start in places if start == 0 or not self.text[start - 1].isalnum()]

    def _follows(self, start: int, before: Sentence | None, about: frozenset[int]) -> bool:
        """Whether what precedes a place is about the same rows as in the base context."""
        head = self.text[:start].rstrip()
        if before is not None and head.endswith(self.draft.context[before.start : before.end]):
            return True
        return bool(head) and about <= self.adversarial.sentence_at(len(head) - 1).about


def check_adversarial(draft: KernelDraft, text: str, expansion: float) -> list[Problem]:
    """The long text (TableHallu, A.2.2 and A.3.2), as far as a program can read it.

    Whether new material contradicts the table or meets the query is left to the verifier.

    Args:
        draft: the kernel that it was made from.
        text: the long text.
        expansion: how many times as many words as the base context it must have at least.
    """
    preserved = Preserved(draft, text)
    known = [kept.span for kept in preserved.kept]
    return [
        *_check_form(draft, text, expansion),
        *_check_sentences(preserved),
        *dict.fromkeys(Omissions(preserved.adversarial, draft.context).find(known)),
        *_check_dispersal(preserved),
    ]


def locate_facts(draft: KernelDraft, adversarial: str) -> tuple[Fact, ...]:
    """See :attr:`Preserved.facts`."""
    return Preserved(draft, adversarial).facts


def _check_form(draft: KernelDraft, text: str, expansion: float) -> Iterator[Problem]:
    least = round(len(draft.context.split()) * expansion)
    words = len(text.split())
    if words < least:
        yield Problem(TOO_SHORT, f"The text has {words} words; it needs {least} at least.")
    if any(line.startswith(_MARKUP) for line in text.split("\n")):
        yield Problem(NO_PROSE, "The text must be prose without headings, lists and tables.")


def _check_sentences(preserved: Preserved) -> Iterator[Problem]:
    for said in preserved.lost:
        yield Problem(LOST, f"The text must keep this sentence word for word: {said!r}")
    for kept in preserved.kept:
        if kept.torn:
            said = preserved.text[slice(*kept.span)]
            yield Problem(
                TORN,
                f"The sentence {said!r} must directly follow the one that it speaks on from, "
                "or its pronoun points elsewhere.",
            )


def _check_dispersal(preserved: Preserved) -> Iterator[Problem]:
    places = [fact.adversarial for fact in preserved.facts]
    if len({place.sentence_start for place in places}) < 2:
        return
    first = min(place.sentence_start for place in places)
    last = max(place.sentence_end for place in places)
    paragraphs = paragraph_spans(preserved.text)
    held = sum(any(span.start <= place.start < span.end for place in places) for span in paragraphs)
    if held < 2 or last - first < 2 * len(preserved.draft.context):
        yield Problem(
            CLUSTERED,
            "The sentences of the original stand together; spread them over the whole text.",
        )
