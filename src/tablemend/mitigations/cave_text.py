"""CAVE for texts: the words of wrong claims are rewritten, and nothing around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tablemend.backends.requests import Message
from tablemend.mitigations.corrections import find_corrections
from tablemend.mitigations.edits import (
    Draft,
    Edit,
    Mended,
    add_edit,
    apply_edits,
    is_asked,
    narrowed,
)
from tablemend.mitigations.rewrite_prompts import (
    COMPARISON,
    PROMPTS,
    RELATION,
    STRATEGIES,
    computed,
    evidence,
    findings,
    is_computed,
    read_rewrite,
)
from tablemend.mitigations.rewriting import NO_BETTER, Rewriting
from tablemend.prompting.replies import Unreadable
from tablemend.records import ClaimError, Verdict, Verification
from tablemend.tables.table import Cell
from tablemend.values.text import Span

VERSION = "cave/2"
LOST = "unflagged words lost"


class Words(NamedTuple):
    """Words to be rewritten, at their place in the text as it is now, and their sentence's."""

    start: int
    end: int
    sentence: Span


class TextRewriting(Rewriting[Words]):
    """A text; claims that overlap are rewritten together."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft)
        self.edits: tuple[Edit, ...] = ()
        self._suggested: list[Edit] = []

    @property
    def text(self) -> str:
        """The text as it is now."""
        return apply_edits(self.draft.text, self.edits)

    def document(self, wanted: Mapping[Words, Cell]) -> str:
        """The text with some of its words rewritten."""
        text = self.text
        for place in sorted(wanted, reverse=True):
            text = text[: place.start] + (wanted[place] or "") + text[place.end :]
        return text

    def flagged(self) -> dict[Words, list[Verdict]]:
        """The words of wrong claims, in the order of the text; those that overlap are one."""
        # What repair would do: a model that is given the value need not work it out.
        possible = find_corrections(self.text, self.draft.evidence, self.now)
        self._suggested = [one.edit for one in possible if not one.doubt]
        wrong = [
            (Words(claim.start, claim.end, claim.sentence or Span(claim.start, claim.end)), one)
            for one in self.now.verdicts
            if one.wrong and not is_asked(self.text, one)
            if (claim := one.claim).start is not None and claim.end is not None
        ]
        found: list[tuple[Words, list[Verdict]]] = []
        for place, verdict in sorted(wrong, key=lambda item: item[0][:2]):
            if found and place.start < found[-1][0].end:
                last, verdicts = found.pop()
                sentence = Span(
                    min(last.sentence.start, place.sentence.start),
                    max(last.sentence.end, place.sentence.end),
                )
                place = Words(last.start, max(last.end, place.end), sentence)
                found.append((place, [*verdicts, verdict]))
            else:
                found.append((place, [verdict]))
        return dict(found)

    def key(self, place: Words) -> str:
        """The words: their place moves with what is rewritten before them."""
        return self.text[place.start : place.end]

    def prompt(self, place: Words, verdicts: Sequence[Verdict]) -> Sequence[Message]:
        """By the error type, but what was computed is handed over as such."""
        strategy = STRATEGIES.get(_error_type(verdicts), RELATION)
        slots = {
            "sentence": self.text[place.sentence.start : place.sentence.end],
            "words": self.key(place),
            "findings": findings(verdicts, self._suggested),
            "evidence": evidence(verdicts, self.draft.evidence),
        }
        if strategy == COMPARISON or any(map(is_computed, verdicts)):
            strategy = COMPARISON
            slots["computed"] = computed(self.text, verdicts, self.draft.evidence)
        return PROMPTS.render(strategy, **slots)

    def read(self, place: Words, answer: str) -> None:
        """The rewrite; what claims that are not flagged turn on must be left in it."""
        words, before = self.key(place), self.text[place.sentence.start : place.start]
        new = read_rewrite(answer, words, before, self.text[place.end : place.sentence.end])
        for right in self._unflagged(place):
            if right not in new:
                raise Unreadable(LOST, f'"{right}" is not wrong: it must stay.')
        if new == words:
            self.give_up(place, new, NO_BETTER)
        else:
            self.wanted[place] = new

    def _unflagged(self, place: Words) -> list[str]:
        """What claims that are not flagged turn on, among words to be rewritten."""
        faults = [span for one in self.asked[place].verdicts for span in _at_fault(one)]
        return [
            self.text[focus.start : focus.end]
            for verdict in self.now.verdicts
            if not verdict.wrong and (focus := verdict.claim.focus) is not None
            if place.start <= focus.start and focus.end <= place.end
            if not any(fault.start < focus.end and focus.start < fault.end for fault in faults)
        ]

    def failing(self, after: Verification) -> list[Words]:
        """Rewrites after which no fewer of their own claims are wrong.

        All of them, where claims outside of them have become wrong: a sentence that goes on from
        a rewritten one may have lost its subject.
        """
        failing = []
        inside = shift = was_inside = 0
        for place in sorted(self.wanted):
            start = place.start + shift
            end = start + len(self.wanted[place] or "")
            shift = end - place.end
            wrong = sum(_overlaps(one, start, end) for one in after.verdicts if one.wrong)
            was = len(self.asked[place].verdicts)
            inside, was_inside = inside + wrong, was_inside + was
            if wrong >= was:
                failing.append(place)
        is_worse = after.wrong - inside > self.now.wrong - was_inside
        return list(self.wanted) if is_worse else failing

    def edit(self, place: Words, new: Cell, reason: str) -> Edit:
        """In places of the text as it is now."""
        error_type = _error_type(self.asked[place].verdicts)
        words = self.key(place)
        return Edit(words, new or "", reason, VERSION, error_type, place.start, place.end)

    def take(self) -> None:
        """From the last to the first, so that places hold."""
        edits = [
            self.edit(place, self.wanted[place], self.asked[place].reason)
            for place in sorted(self.wanted, reverse=True)
        ]
        for edit in edits:
            self.edits = add_edit(self.draft.text, self.edits, narrowed(edit))

    def mended(self) -> Mended:
        """The text, its edits in places of the original."""
        undone, usage = tuple(self.undone), self.usage
        return Mended(self.text, self.edits, undone, self.before, self.now, usage, self.passes)


def _error_type(verdicts: Sequence[Verdict]) -> ClaimError:
    """A comparison if there is one, else the first claim's type."""
    types = [one.error_type for one in verdicts if one.error_type is not None]
    return "CMP" if "CMP" in types else types[0]


def _at_fault(verdict: Verdict) -> Sequence[Span]:
    """The words that a verifier blames; those that the claim turns on where it names none."""
    if verdict.spans or verdict.claim.focus is None:
        return verdict.spans
    return (verdict.claim.focus,)


def _overlaps(verdict: Verdict, start: int, end: int) -> bool:
    first, last = verdict.claim.start, verdict.claim.end
    return first is not None and last is not None and first < end and start < last
