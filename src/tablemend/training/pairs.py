"""A preference pair: two answers to one prompt, and the findings that stand between them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tablemend.errors import NoTarget, TablemendError
from tablemend.generations import Scored
from tablemend.recipe.experiment import DpoExperiment, Trained
from tablemend.records import ContextKind, Finding, Judgement
from tablemend.renderer import Tokenizer, prompt_ids, target_ids
from tablemend.runs import hash_text, read_jsonl
from tablemend.tasks.task import Sample, Scorer, Submission
from tablemend.training.data import Row

FILE = "pairs.jsonl"
Split = Literal["train", "validation"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to the prompt of one example in one context.

    Attributes:
        example_id, context: the prompt; its text is the example's.
        split: whether it is trained on, or held out for the loss.
        chosen, rejected: what the model is to write rather, and rather not: thinking included,
            the end of turn left out.
        chosen_source: ``gold``, or ``sampled`` where it is the model's own.
        rejected_source: ``sampled``, or ``injected``.
        edit: name of the injected error; ``None`` for a sampled answer.
        findings: what the detector says of the rejected answer. It says nothing of the chosen one,
            so these are the difference.
        id: hash of all the rest.
    """

    example_id: str
    context: ContextKind
    split: Split
    chosen: str
    rejected: str
    chosen_source: Literal["gold", "sampled"]
    rejected_source: Literal["sampled", "injected"]
    edit: str | None
    findings: tuple[Finding, ...]
    id: str = field(default="")

    def __post_init__(self) -> None:
        if not self.id:
            parts = (self.example_id, self.context, self.split, self.chosen, self.rejected)
            object.__setattr__(self, "id", hash_text("\n".join(parts)))

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Pair:
        """The inverse of :meth:`to_json`."""
        return cls(**{**data, "findings": tuple(Finding(**one) for one in data["findings"])})


def read_pairs(folder: Path) -> list[Pair]:
    """The pairs that data_gen/preference.py wrote.

    Raises:
        TablemendError: there are none, or a line that is no pair.
    """
    path = folder / FILE
    pairs = []
    for number, line in enumerate(read_jsonl(path), 1):
        try:
            pairs.append(Pair.from_json(line))
        except (KeyError, TypeError) as error:
            raise TablemendError(
                f"{path}:{number} is no preference pair ({error}): make the pairs again "
                "(data_gen/preference.py, overwrite=true)"
            ) from error
    if not pairs:
        raise TablemendError(f"{path} holds no pair: make the pairs first, data_gen/preference.py")
    return pairs


def check_pairs(config: DpoExperiment) -> None:
    """Refuse a recipe whose pairs were never made, before anything is loaded.

    Raises:
        TablemendError: naming the command that makes them.
    """
    path = Path(config.dpo.pairs.path) / FILE
    if not path.is_file():
        raise TablemendError(
            f"no pairs in {path}: make them first, python data_gen/preference.py "
            f"recipe={config.name}"
        )


PairRows = tuple[Row, Row]
"""A pair as ids: the rows of the chosen and of the rejected answer, with one prompt."""


def render_pair(tokenizer: Tokenizer, sample: Sample, pair: Pair, config: Trained) -> PairRows:
    """One pair as ids; the prompt is that of evaluation, through the same function."""
    messages = config.task_of().messages(sample, pair.context, config.train.prompt)
    prompt = tuple(prompt_ids(tokenizer, messages, config.thinking != "off"))
    chosen, rejected = (tuple(target_ids(tokenizer, one)) for one in (pair.chosen, pair.rejected))
    return Row(prompt, chosen), Row(prompt, rejected)


class Prompt(NamedTuple):
    """One prompt, and the model's own answers to it; ``None`` where it gets an injected error."""

    example: Sample
    context: ContextKind
    split: Split
    answers: Sequence[Scored] | None = None


@dataclass
class PairMaker:
    """Makes one pair a prompt, and counts what is left out.

    Attributes:
        config: the recipe.
        scorer: of the task.
        dropped: prompts without a pair, by reason.
        passed_over: answers and edits that make no pair, by reason; the prompt may have another.
    """

    config: DpoExperiment
    scorer: Scorer[Any]
    dropped: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)

    def make(self, prompts: Iterable[Prompt]) -> list[Pair]:
        """The pairs, in the order of the prompts."""
        return [pair for prompt in prompts if (pair := self._make_one(prompt)) is not None]

    def _make_one(self, prompt: Prompt) -> Pair | None:
        example, context, config = prompt.example, prompt.context, self.config
        try:
            gold = config.task_of().target(example, context, config.thinking)
        except NoTarget as error:
            self.dropped[f"{error.kind}: {error}"] += 1
            return None
        judgement = self._score(gold, prompt)
        if judgement.unscored:
            self.dropped[f"the chosen answer cannot be scored: {judgement.unscored}"] += 1
            return None
        if judgement.findings:
            self.dropped[f"the chosen answer has a finding: {judgement.findings[0].type}"] += 1
            return None
        sides = (
            self._injected(gold, prompt) if prompt.answers is None else self._sampled(gold, prompt)
        )
        if sides is None:
            kind = "edit" if prompt.answers is None else "answer of the model"
            self.dropped[f"no {kind} with a finding"] += 1
            return None
        return Pair(example.id, context, prompt.split, **sides)

    def _sampled(self, gold: str, prompt: Prompt) -> dict[str, Any] | None:
        """Of the model's answers the first with a finding, beside gold or its best."""
        rejected: list[Scored] = []
        flawless: list[str] = []
        for one in prompt.answers or ():
            if reason := why_no_rejected(one):
                self.passed_over[f"sampled: {reason}"] += 1
            else:
                rejected.append(one)
            if _is_flawless(one):
                flawless.append(one.stored.answer.text)
        if not rejected:
            return None
        own = flawless[:1] if self.config.dpo.pairs.chosen == "best" else []
        return {
            "chosen": own[0] if own else gold,
            "chosen_source": "sampled" if own else "gold",
            "rejected": rejected[0].stored.answer.text,
            "rejected_source": "sampled",
            "edit": None,
            "findings": rejected[0].judgement.findings,
        }

    def _injected(self, gold: str, prompt: Prompt) -> dict[str, Any] | None:
        """Gold beside itself with one error, which the scorer finds and calls by its type."""
        sample, view, task = prompt.example, prompt.context, self.config.task_of()
        rng = random.Random(f"{self.config.seed}/plant/{sample.id}/{view}")
        errors = [metric.name for metric in task.metrics if metric.kind == "error"]
        types = list(self.config.dpo.pairs.errors or errors)  # each gets the same share
        rng.shuffle(types)
        for one in task.corruptions(sample, view, gold, types, rng):
            findings = self._score(one.text, prompt).findings
            if one.type in {finding.type for finding in findings}:
                return {
                    "chosen": gold,
                    "chosen_source": "gold",
                    "rejected": one.text,
                    "rejected_source": "injected",
                    "edit": one.name,
                    "findings": findings,
                }
            self.passed_over[f"injected: {one.name} is no finding"] += 1
        return None

    def _score(self, text: str, prompt: Prompt) -> Judgement:
        (found,) = self.scorer.score([Submission(prompt.example, prompt.context, text)])
        return found


def why_no_rejected(one: Scored) -> str:
    """Why a sampled answer cannot be a rejected one; empty where it can."""
    if one.stored.failed:
        return "the request failed"
    # with an end of turn an answer that was cut would be another
    unfit = {"length": "cut at the token limit", "refusal": "the model declined"}
    if reason := unfit.get(one.stored.answer.finish_reason):
        return reason
    if one.judgement.unscored:
        return "unscored"
    return "" if one.judgement.findings else "without a finding"


def _is_flawless(one: Scored) -> bool:
    """Whether an answer states all that it should, and nothing else."""
    whole = all(share.value == 1.0 for share in one.judgement.shares.values())
    return why_no_rejected(one) == "without a finding" and whole
