"""Logical annotation as a task: a pair in, the name of its relation out, in one answer.

The whole protocol, step by step, is eval/annotate.py's; guidelines and pairs are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar

from tablemend.backends.requests import END_OF_THINKING
from tablemend.errors import NoTarget
from tablemend.records import (
    RELATIONS,
    UNSCORED,
    Finding,
    Judgement,
    Metric,
    Relation,
    SampleView,
    Share,
    total,
)
from tablemend.tasks.logic.pair import MAKES, QUESTIONS, RELATION_WORDS, Pair, leaves, path_to
from tablemend.tasks.logic.protocol import PROMPTS, PROTOCOL_HASH
from tablemend.tasks.task import AnswerReward, AnswerScorer, Score, Task, after_thinking
from tablemend.thinking import behind_thinking

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence

SCORER = "logic-1"
VIEW = "pair"
WRONG = Metric("wrong", "Wrong relation", "wrong", "another relation than any reference names")
METRICS = (
    WRONG,
    total((WRONG,), "an answer that names a wrong relation"),
    Metric("accuracy", "Accuracy", "accuracy", "the relation is one of the references'", "share"),
    Metric(
        "follows", "I |= O", "I|=O", "whether O follows from I, as the relation implies", "share"
    ),
    Metric(
        "implies", "O |= I", "O|=I", "whether I follows from O, as the relation implies", "share"
    ),
    UNSCORED,
)


class Logic(Task[Pair]):
    """An input and an output in, the relation between them out."""

    name = "logic"
    description = (
        "A model reads what a system was given and what it wrote, a formula and a sentence or the "
        "attributes of a hotel and a description, and names the relation of logical consequence "
        "between them. Counted are relations that no reference names."
    )
    views: ClassVar[Mapping[str, str]] = {VIEW: "pairs"}
    length_unit = "characters of input and output"
    makes = MAKES
    slots = ("input", "output", "categories")
    begins = END_OF_THINKING
    prompts = ("base",)
    metrics = METRICS
    sample_type = Pair
    mendable = False

    def messages(self, sample: Pair, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        named = (RELATION_WORDS[label] for label in leaves(sample.domain))
        categories = "\n".join(f"{title}: {meaning}" for title, meaning in named)
        slots = {"input": sample.input, "output": sample.output, "categories": categories}
        return PROMPTS.render(sample.domain, **slots)

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        return PROMPTS.render("logic", **{slot: f"{{{slot}}}" for slot in self.slots})

    def target(self, sample: Pair, view: str, thinking: str) -> str:
        """The first label, behind the path to it where ``thinking`` is ``rationale``.

        Raises:
            NoTarget: nobody knows the relation.
            TablemendError: thinking that no target comes with.
        """
        if not sample.labels:
            raise NoTarget("the relation of the pair is not known")
        asked, way = QUESTIONS[sample.domain], path_to(sample.domain, sample.labels[0])
        steps = "\n".join(f"{asked[k].ask} {'Yes' if yes else 'No'}." for k, yes in way.items())
        return after_thinking(self.name, thinking, RELATION_WORDS[sample.labels[0]][0], steps)

    def versions(self) -> dict[str, str]:
        return {"prompt_hash": PROTOCOL_HASH}

    def evidence(self, sample: Pair, view: str) -> Evidence:
        from tablemend.evidence.source import Source as Evidence  # only who verifies pays for it

        return Evidence(text=sample.input)

    def show(self, sample: Pair, view: str) -> SampleView:
        return SampleView(
            sample.id,
            view,
            sample.system,
            f"{sample.domain} domain, id {sample.id}",
            sample.domain,
            text=f"{sample.input}\n\n{sample.output}",
            gold=RELATION_WORDS[sample.labels[0]][0] if sample.labels else None,
        )

    def scorer(self) -> AbstractContextManager[AnswerScorer[Pair]]:
        return nullcontext(AnswerScorer(SCORER, judge))

    def reward(
        self, weights: Mapping[str, float], thinking: str, prompt: str
    ) -> AnswerReward[Pair]:
        return AnswerReward(SCORER, self, "off" if thinking == "on" else thinking, _earn)


def read_relation(text: str) -> Relation | None:
    """The relation that an answer names, without its thinking; ``None`` where it is not one name.

    Marks around the name and the case do not matter; "x" and "x (harmless)" are two names.
    """
    answer = behind_thinking(text).casefold().strip(" \t\n.,:*_`\"'")
    return {RELATION_WORDS[one][0].casefold(): one for one in RELATIONS}.get(answer)


def judge(sample: Pair, text: str) -> Judgement:
    """Whether an answer names a right relation; of a path both have, whether its answers agree."""
    said = read_relation(text)
    if said is None:
        return Judgement(unscored="no answer: not one of the names", scorer=SCORER)
    if not sample.labels:
        return Judgement(unscored="the relation of the pair is not known", scorer=SCORER)
    shares = {"accuracy": Share(int(said in sample.labels), 1)}
    own = path_to(sample.domain, said)
    for step in ("follows", "implies"):
        wanted = {path_to(sample.domain, label).get(step) for label in sample.labels} - {None}
        if wanted and step in own:
            shares[step] = Share(int(own[step] in wanted), 1)
    right, got = (RELATION_WORDS[one][0] for one in (sample.labels[0], said))
    wrong = Finding("wrong", None, None, right, got, f"right: {right}")
    return Judgement(() if said in sample.labels else (wrong,), shares, scorer=SCORER)


def _earn(sample: Pair, text: str) -> Score:
    accuracy = judge(sample, text).share("accuracy") or 0.0
    return Score({"accuracy": accuracy}, accuracy)
