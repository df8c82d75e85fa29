"""Examples of the program in a model's words: every fact where it was, each place known.

The sentences of both contexts go out in bundles, each comes back on its own merits: one that a
program does not take is asked for again, with the reason, and stays as it was in the end.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tablemend.backends.requests import Message
from tablemend.datasets.tablehallu.compose import Sentence, Stated
from tablemend.datasets.tablehallu.verification import Limits, verify
from tablemend.datasets.tablehallu_llm.asking import Asked, GivenUp, Talk
from tablemend.datasets.tablehallu_llm.parsing import read_paraphrases
from tablemend.datasets.tablehallu_llm.prompting import render, with_problems
from tablemend.datasets.tablehallu_llm.rewording import NOT_REWORDED, Rewording, Told
from tablemend.datasets.tablehallu_llm.settings import Paraphrase
from tablemend.prompting.replies import Problem
from tablemend.records import Example, Mention
from tablemend.values.sentences import Span

ENGINE = "paraphrase/1"
STAGE = "paraphrase"


class Paraphrased(NamedTuple):
    """An example in other words.

    Attributes:
        example: with both contexts reworded.
        reworded: sentences in new words.
        kept: sentences in the program's words.
    """

    example: Example
    reworded: int
    kept: int


async def paraphrase_example(
    example: Example,
    talk: Talk,
    asked: Asked,
    options: Paraphrase,
    retries: int,
    only_gold: bool = False,
) -> Paraphrased:
    """Put an example's sentences into other words; a gold sentence is the same in both contexts.

    Every sentence that was not taken is among the talk's rejections, with the reason.

    Args:
        example: of the program engine: all its text is recorded sentences.
        talk: the row's.
        asked: the model that writes.
        options: size of a bundle, and what becomes of sentences that fail for good.
        retries: times that failing sentences are asked for again.
        only_gold: leave the distractors as they are; for a gold context that a model perturbs.

    Raises:
        GivenUp: a request failed for good; a sentence did and ``options.failed`` is ``reject``;
            or the new example does not pass verification.
    """
    told = list(_read(example, only_gold))
    rewording = Rewording(example)
    new: dict[int, Sentence] = {}
    pending = [number for number, one in enumerate(told) if rewording.is_fit(one)]
    failed: dict[int, tuple[str, Problem]] = {}
    for attempt in range(retries + 1):
        again: list[int] = []
        for bundle in _bundles(pending, options.sentences):
            answers = await _ask(
                talk,
                asked,
                [told[number].text for number in bundle],
                [failed[number] for number in bundle if number in failed],
            )
            for number, answer in zip(bundle, answers, strict=False):
                checked = rewording.check(told[number], answer)
                if isinstance(checked, Sentence):
                    new[number] = checked
                else:
                    talk.reject(STAGE, attempt, [checked])
                    failed[number] = answer, checked
                    again.append(number)
        pending = again
    if options.failed == "reject" and len(new) < len(told):
        unfit = sorted(set(range(len(told))) - set(new) - set(failed))
        talk.reject(STAGE, 0, [Problem(NOT_REWORDED, told[number].text) for number in unfit])
        raise GivenUp
    made = _rewrite(example, {told[number]: sentence for number, sentence in new.items()})
    table = example.gold_table
    sizes = (len(table.rows),) * 2, (len(table.columns),) * 2
    if (invalid := verify(made, Limits(*sizes))) is not None:
        talk.reject(STAGE, retries, [Problem(f"verification: {invalid}", invalid)])
        raise GivenUp
    return Paraphrased(made, len(new), len(told) - len(new))


def _read(example: Example, only_gold: bool) -> Iterator[Told]:
    """The sentences of an example, gold ones first, in order of their facts."""
    sentences: dict[Span, list[int]] = {}
    for index, fact in enumerate(example.facts):
        if fact.violates is None or not only_gold:
            sentences.setdefault(_sentence(fact.adversarial), []).append(index)
    for (start, end), facts in sentences.items():
        text = example.adversarial_context[start:end]
        yield Told(text, example.facts[facts[0]].entity, tuple(facts))


def _bundles(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]


async def _ask(
    talk: Talk, asked: Asked, sentences: Sequence[str], failed: Sequence[tuple[str, Problem]]
) -> list[str]:
    """Other words for some sentences; none where no answer could be read.

    Args:
        talk: the row's.
        asked: the model that writes.
        sentences: what to put into other words.
        failed: what was answered for them before and why it was not taken; empty at first.

    Raises:
        GivenUp: the request failed for good.
    """
    listing = "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, 1))
    messages: Sequence[Message] = render(STAGE, count=str(len(sentences)), sentences=listing)
    if failed:
        answer = json.dumps({"sentences": [text for text, _ in failed]}, ensure_ascii=False)
        problems = [
            Problem(problem.kind, f"Sentence {number}: {problem.text}")
            for number, (_, problem) in enumerate(failed, 1)
        ]
        messages = with_problems(messages, answer, problems)

    def read(text: str) -> list[str]:
        return read_paraphrases(text, len(sentences))

    async def check(answers: list[str]) -> Sequence[Problem]:
        return ()  # sentence by sentence, later: one that fails must not cost the others

    try:
        return (await talk.draft(asked, STAGE, messages, read, check))[0]
    except GivenUp:
        if talk.failed:
            raise
        return []


def _rewrite(example: Example, new: Mapping[Told, Sentence]) -> Example:
    """The example with sentences replaced; order, paragraphs and all other words stay."""
    clean: dict[Span, str] = {}
    adversarial: dict[Span, str] = {}
    stated: dict[int, Stated] = {}
    for told, sentence in new.items():
        stated.update(zip(told.facts, sentence.stated, strict=True))
        fact = example.facts[told.facts[0]]
        adversarial[_sentence(fact.adversarial)] = sentence.text
        if fact.clean is not None:
            clean[_sentence(fact.clean)] = sentence.text
    in_clean = _Edited(example.gold_context, clean)
    in_adversarial = _Edited(example.adversarial_context, adversarial)
    facts = tuple(
        fact._replace(
            clean=None if fact.clean is None else in_clean.moved(fact.clean, stated.get(index)),
            adversarial=in_adversarial.moved(fact.adversarial, stated.get(index)),
        )
        for index, fact in enumerate(example.facts)
    )
    return replace(
        example,
        id="",
        gold_context=in_clean.text,
        adversarial_context=in_adversarial.text,
        facts=facts,
    )


def _sentence(place: Mention) -> Span:
    return Span(place.sentence_start, place.sentence_end)


class _Edited:
    """A text with some sentences replaced, and where its places have come to stand."""

    def __init__(self, text: str, new: Mapping[Span, str]) -> None:
        self._new = new
        self._ends: list[int] = []
        self._shifts = [0]
        parts, position = [], 0
        for (start, end), words in sorted(new.items()):
            parts += [text[position:start], words]
            position = end
            self._ends.append(end)
            self._shifts.append(self._shifts[-1] + len(words) - (end - start))
        self.text = "".join((*parts, text[position:]))

    def moved(self, place: Mention, stated: Stated | None) -> Mention:
        """A place in the new text.

        Args:
            place: in the old text.
            stated: the value inside the new words of its sentence; ``None`` where that is kept.
        """
        old = _sentence(place)
        first = old.start + self._shifts[bisect_right(self._ends, old.start)]
        if stated is None:
            start, end = place.start - old.start, place.end - old.start
            return Mention(first + start, first + end, first, first + old.end - old.start)
        last = first + len(self._new[old])
        return Mention(first + stated.start, first + stated.end, first, last)
