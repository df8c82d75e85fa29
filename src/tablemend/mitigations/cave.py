"""CAVE for texts: detect, localise, rewrite, at most twice (TabFaith, section 5).

Only flagged words are rewritten, a rewrite that mends nothing is undone, and a text without a
flag costs no call beyond what its verifier asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tablemend.backends.requests import Completion, Message, Request, Sampling
from tablemend.evidence.source import Source
from tablemend.faithfulness.asking import usage_of
from tablemend.faithfulness.verifier import NOTHING, Usage
from tablemend.mitigations.edits import (
    MAX_NEW_TOKENS,
    PASSES,
    Edit,
    Mended,
    add_edit,
    apply_edits,
    narrowed,
)
from tablemend.mitigations.prompting import COMPARISON, PROMPTS, RETRY, STRATEGIES
from tablemend.mitigations.repair_text import find_edits
from tablemend.mitigations.rewriting import computed, evidence, findings, is_computed, read_rewrite
from tablemend.mitigations.steps import Steps, Unverified
from tablemend.prompting.files import after_rejection
from tablemend.prompting.replies import Unreadable, why_no_answer
from tablemend.records import ClaimError, Verdict, Verification
from tablemend.values.sentences import Span

VERSION = "cave/1"
NO_BETTER = "its claims are as wrong as before"
LOST = "unflagged words lost"
NOT_ALONE = "no better without the other rewrites"


class Flagged(NamedTuple):
    """Words to be rewritten: one flagged claim, or several that overlap.

    Attributes:
        start, end: their place in the text as it is now.
        sentence: that of their sentence.
        verdicts: what is wrong with them.
    """

    start: int
    end: int
    sentence: Span
    verdicts: tuple[Verdict, ...]

    @property
    def error_type(self) -> ClaimError:
        """What decides the strategy: a comparison if there is one, else the first claim's type."""
        types = [one.error_type for one in self.verdicts if one.error_type is not None]
        return "CMP" if "CMP" in types else types[0]

    @property
    def strategy(self) -> str:
        """The prompt: by the error type, but what was computed is handed over as such."""
        if any(map(is_computed, self.verdicts)):
            return COMPARISON
        return STRATEGIES[self.error_type]

    @property
    def reason(self) -> str:
        """What the verifier says."""
        reasons = dict.fromkeys(one.reason for one in self.verdicts if one.reason)
        return "; ".join(reasons) or "not supported by the source"


class Tried(NamedTuple):
    """A rewrite, and how it was asked for.

    Attributes:
        flagged: the words that it is for.
        words: the same, as text.
        new: the rewrite.
        chat: what was asked.
        answer: what was answered.
    """

    flagged: Flagged
    words: str
    new: str
    chat: Sequence[Message]
    answer: str


@dataclass
class _Draft:
    """A text in the making.

    Attributes:
        original: the text before.
        source: its source.
        now: what is found of the text as it is now.
        edits: so far, in places of the original.
        undone: what was taken back.
        failed: chat, answer and reason of the last rewrite that was not taken, by the words.
        usage: of everything that was asked for it.
    """

    original: str
    source: Source
    now: Verification
    edits: tuple[Edit, ...] = ()
    undone: list[Edit] = field(default_factory=list)
    failed: dict[str, tuple[Sequence[Message], str, str]] = field(default_factory=dict)
    usage: Usage = NOTHING

    @property
    def text(self) -> str:
        return apply_edits(self.original, self.edits)

    @property
    def suggested(self) -> list[Edit]:
        """What repair would do: a model that is told the value need not work it out."""
        return find_edits(self.text, self.source, self.now)

    def chat(self, one: Flagged) -> Sequence[Message]:
        """The prompt of the strategy; words that were tried before are asked for once more."""
        words = self.text[one.start : one.end]
        if words in self.failed:
            chat, answer, reason = self.failed[words]
            return after_rejection(chat, answer, [reason], PROMPTS.prompt(RETRY))
        strategy = one.strategy
        slots = {
            "sentence": self.text[one.sentence.start : one.sentence.end],
            "words": words,
            "findings": findings(one.verdicts, self.suggested),
            "evidence": evidence(one.verdicts, self.source),
        }
        if strategy == COMPARISON:
            slots["computed"] = computed(self.text, one.verdicts, self.source)
        return PROMPTS.render(strategy, **slots)

    def read(self, one: Flagged, chat: Sequence[Message], completion: Completion) -> Tried | None:
        """The rewrite of an answer; ``None``, and noted, where it cannot be read."""
        self.usage += usage_of([completion])
        words = self.text[one.start : one.end]
        try:
            if problem := why_no_answer(completion):
                raise Unreadable(*problem)
            new = read_rewrite(
                completion.answer,
                words,
                self.text[one.sentence.start : one.start],
                self.text[one.end : one.sentence.end],
            )
            for right in self.unflagged(one):
                if right not in new:
                    raise Unreadable(LOST, f'"{right}" is not wrong: it must stay.')
        except Unreadable as error:
            self.give_up(Tried(one, words, "", chat, completion.answer), error.problem.text)
            return None
        return Tried(one, words, new, chat, completion.answer)

    def unflagged(self, one: Flagged) -> list[str]:
        """What claims that are not flagged turn on, among words to be rewritten."""
        faults = [span for verdict in one.verdicts for span in _at_fault(verdict)]
        return [
            self.text[focus.start : focus.end]
            for verdict in self.now.verdicts
            if not verdict.wrong and (focus := verdict.claim.focus) is not None
            if one.start <= focus.start and focus.end <= one.end
            if not any(fault.start < focus.end and focus.start < fault.end for fault in faults)
        ]

    def give_up(self, tried: Tried, reason: str) -> None:
        """Note a rewrite that is not taken; its place is that of the text as it is now."""
        one = tried.flagged
        self.undone.append(
            Edit(tried.words, tried.new, reason, VERSION, one.error_type, one.start, one.end)
        )
        self.failed[tried.words] = tried.chat, tried.answer, f"{reason[:1].upper()}{reason[1:]}."

    def take(self, kept: Sequence[Tried], after: Verification) -> None:
        """Make rewrites the text's own; from the last to the first, so that places hold."""
        for tried in sorted(kept, key=_start, reverse=True):
            one = tried.flagged
            edit = Edit(
                tried.words, tried.new, one.reason, VERSION, one.error_type, one.start, one.end
            )
            self.edits = add_edit(self.original, self.edits, narrowed(edit))
        self.now = after

    def with_rewrites(self, rewrites: Sequence[Tried]) -> str:
        """The text with some of its words rewritten."""
        text = self.text
        for tried in sorted(rewrites, key=_start, reverse=True):
            text = text[: tried.flagged.start] + tried.new + text[tried.flagged.end :]
        return text


def cave_text(
    text: str,
    source: Source,
    passes: int = PASSES,
    thinking: bool | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> Steps:
    """Post-edit a text by a model.

    Args:
        text: the summary.
        source: its table.
        passes: most times that words are rewritten; the second time the model is told why the
            first did not do.
        thinking: whether the model is to think first; ``None`` asks for nothing.
        max_new_tokens: longest answer, thinking included.

    Returns:
        Steps for :func:`~tablemend.mitigations.steps.run_together`.
    """
    before: Verification = yield Unverified(text, source)
    draft = _Draft(text, source, before, usage=spent(before))
    asked = 0
    for number in range(passes):
        units = flagged(draft.now)
        if not units:
            break
        chats = [draft.chat(one) for one in units]
        completions: list[Completion] = yield [
            Request(f"cave.{number}.{place}", chat, Sampling(max_new_tokens), thinking)
            for place, chat in enumerate(chats)
        ]
        asked += 1
        read = map(draft.read, units, chats, completions)
        rewrites = [tried for tried in read if tried is not None]
        if not rewrites:
            continue
        after: Verification = yield Unverified(draft.with_rewrites(rewrites), source)
        draft.usage += spent(after)
        kept = mending(draft.now, after, rewrites)
        for tried in rewrites:
            if tried not in kept:
                draft.give_up(tried, NO_BETTER)
        if kept and len(kept) < len(rewrites):
            after = yield Unverified(draft.with_rewrites(kept), source)
            draft.usage += spent(after)
            if count_wrong(after) >= count_wrong(draft.now):
                for tried in kept:
                    draft.give_up(tried, NOT_ALONE)
                kept = []
        if kept:
            draft.take(kept, after)
    undone = tuple(draft.undone)
    return Mended(draft.text, draft.edits, undone, before, draft.now, draft.usage, asked)


def flagged(found: Verification) -> list[Flagged]:
    """The words of wrong claims, in the order of the text; those that overlap are one."""
    wrong = [
        (one.claim.start, one.claim.end, one)
        for one in found.verdicts
        if one.wrong and one.claim.start is not None and one.claim.end is not None
    ]
    units: list[Flagged] = []
    for start, end, verdict in sorted(wrong, key=lambda item: item[:2]):
        sentence = verdict.claim.sentence or Span(start, end)
        if units and start < units[-1].end:
            last = units[-1]
            sentence = Span(
                min(last.sentence.start, sentence.start), max(last.sentence.end, sentence.end)
            )
            units[-1] = Flagged(last.start, max(last.end, end), sentence, (*last.verdicts, verdict))
        else:
            units.append(Flagged(start, end, sentence, (verdict,)))
    return units


def mending(before: Verification, after: Verification, rewrites: Sequence[Tried]) -> list[Tried]:
    """The rewrites after which fewer of their own claims are wrong.

    None is kept where claims outside of all rewrites have become wrong: a sentence that goes on
    from a rewritten one may have lost its subject.
    """
    kept = []
    inside = shift = 0
    for tried in sorted(rewrites, key=_start):
        one = tried.flagged
        start = one.start + shift
        end = start + len(tried.new)
        shift += len(tried.new) - (one.end - one.start)
        wrong = sum(_overlaps(verdict, start, end) for verdict in after.verdicts if verdict.wrong)
        inside += wrong
        if wrong < len(one.verdicts):
            kept.append(tried)
    outside = count_wrong(before) - sum(len(tried.flagged.verdicts) for tried in rewrites)
    return kept if count_wrong(after) - inside <= outside else []


def _at_fault(verdict: Verdict) -> Sequence[Span]:
    """The words that a verifier blames; those that the claim turns on where it names none."""
    if verdict.spans or verdict.claim.focus is None:
        return verdict.spans
    return (verdict.claim.focus,)


def count_wrong(found: Verification) -> int:
    """Claims that are contradicted or not in the source."""
    return sum(verdict.wrong for verdict in found.verdicts)


def _overlaps(verdict: Verdict, start: int, end: int) -> bool:
    first, last = verdict.claim.start, verdict.claim.end
    return first is not None and last is not None and first < end and start < last


def _start(tried: Tried) -> int:
    return tried.flagged.start


def spent(found: Verification) -> Usage:
    """What a verification took."""
    return Usage(found.calls, found.prompt_tokens, found.completion_tokens, found.failed)
