"""A claim and a table in, a verdict out: what fine-tunes a model to be a verifier (TabFaith 4.1).

The prompt is the one that the verifier ``llm:MODEL`` asks with, so a checkpoint serves as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tablemend.backends.requests import END_OF_THINKING
from tablemend.errors import NoTarget
from tablemend.foreign import FromJson
from tablemend.prompting.replies import Unreadable
from tablemend.records import (
    ABSTENTION,
    UNSCORED,
    Finding,
    Judgement,
    Metric,
    SampleView,
    Share,
    VerdictName,
    total,
)
from tablemend.runs import hash_text
from tablemend.tables.table import Table
from tablemend.tasks.task import AnswerReward, AnswerScorer, Score, Task, after_thinking
from tablemend.thinking import behind_thinking

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence

VIEW = "table"
SCORER = "verdict against label 1"
ERRORS = (
    Metric("missed", "Missed error", "missed", "a wrong claim that is said to be supported"),
    Metric("false_alarm", "False alarm", "false alarm", "a supported claim said to be wrong"),
    Metric("mixed_up", "Mixed up", "mixed up", "contradicted for not in source, or the reverse"),
)
METRICS = (
    *ERRORS,
    total(ERRORS, "a verdict that is not the label"),
    Metric("accuracy", "Accuracy", "accuracy", "right verdicts; higher is better", "share"),
    ABSTENTION,
    UNSCORED,
)


@dataclass(frozen=True, slots=True)
class LabelledClaim(FromJson):
    """A claim about a table, and whether it is so.

    Attributes:
        claim: one sentence.
        table: the evidence.
        label: the verdict.
        domain: the data set that it comes from.
        reason: why it is wrong, in a line; may be empty.
    """

    claim: str
    table: Table
    label: VerdictName
    domain: str
    reason: str = ""

    @property
    def id(self) -> str:
        """Hash of the content."""
        return hash_text(json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True))

    @property
    def source_hash(self) -> str:
        """Hash of the table."""
        return self.table.content_hash()

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return asdict(self) | {"table": self.table.to_json()}


class ClaimVerification(Task[LabelledClaim]):
    """A claim and a table in, a verdict out."""

    name = "claim_verification"
    description = (
        "A model reads a table and a claim and says whether the table supports the claim, "
        "contradicts it or says nothing of it. Counted are verdicts that are not the label."
    )
    views: ClassVar[Mapping[str, str]] = {VIEW: "tables"}
    length_unit = "cells of the table"
    makes = "python data_gen/claims.py"
    slots = ("about", "evidence", "statement")
    begins = END_OF_THINKING
    prompts = ("base",)
    mendable = False
    metrics = METRICS
    sample_type = LabelledClaim

    def messages(
        self, sample: LabelledClaim, view: str, prompt: str
    ) -> Sequence[Mapping[str, str]]:
        """What the verifier ``llm:`` asks."""
        from tablemend.faithfulness.llm import PROMPTS, VERIFY, slots_of
        from tablemend.faithfulness.premise import Shown, gather, whole_tables

        source = self.evidence(sample, view)
        tables = whole_tables(source)
        shown = Shown((), tables=tables) if tables else gather(sample.claim, source)
        return PROMPTS.render(VERIFY, **slots_of(sample.claim, shown, source))

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat with its slots open."""
        from tablemend.faithfulness.llm import PROMPTS, VERIFY

        return PROMPTS.render(VERIFY, **{slot: f"{{{slot}}}" for slot in self.slots})

    def target(self, sample: LabelledClaim, view: str, thinking: str) -> str:
        """The label as the JSON object that the prompt asks for.

        Raises:
            NoTarget: the claim has no verdict.
            TablemendError: thinking that no label comes with.
        """
        if sample.label == "unscored":
            raise NoTarget("its claim is unscored")
        answer = json.dumps({"reason": sample.reason, "verdict": sample.label}, ensure_ascii=False)
        return after_thinking(self.name, thinking, answer)

    def versions(self) -> dict[str, str]:
        """Of the prompt."""
        from tablemend.faithfulness.llm import PROMPTS, VERIFY

        return {"prompt_hash": hash_text(PROMPTS.version(VERIFY))}

    def evidence(self, sample: LabelledClaim, view: str) -> Evidence:
        """The table."""
        from tablemend.evidence.source import Source as Evidence  # only who verifies pays for it

        return Evidence((sample.table,))

    def show(self, sample: LabelledClaim, view: str) -> SampleView:
        """The claim over its table, and the label."""
        return SampleView(
            sample.id,
            view,
            sample.table.title or sample.domain,
            f"{sample.domain}, id {sample.id}",
            sample.domain,
            query=sample.claim,
            tables=(sample.table,),
            gold=sample.label,
            labels={"label": (sample.label,)},
        )

    def scorer(self) -> AbstractContextManager[AnswerScorer[LabelledClaim]]:
        """Verdict against label."""
        return nullcontext(AnswerScorer(SCORER, judge))

    def reward(
        self, weights: Mapping[str, float], thinking: str, prompt: str
    ) -> AnswerReward[LabelledClaim]:
        """One for the label, nothing for another verdict or none."""
        return AnswerReward(SCORER, self, "empty" if thinking == "on" else thinking, _earn)


def judge(sample: LabelledClaim, text: str) -> Judgement:
    """Whether the verdict of an answer is the label; unscored where it holds no verdict."""
    from tablemend.faithfulness.llm import read_verdict

    try:
        said, reason = read_verdict(behind_thinking(text).strip())
    except Unreadable as error:
        return Judgement(unscored=f"no verdict: {error}", scorer=SCORER)
    shares = {"accuracy": Share(int(said == sample.label), 1)}
    if said == sample.label:
        return Judgement(shares=shares, scorer=SCORER)
    type = "mixed_up"
    if "supported" in (said, sample.label):
        type = "missed" if said == "supported" else "false_alarm"
    finding = Finding(type, None, None, sample.label, said, reason)
    return Judgement((finding,), shares, scorer=SCORER)


def _earn(sample: LabelledClaim, text: str) -> Score:
    right = judge(sample, text).share("accuracy") or 0.0
    return Score({"verdict": right}, right)
