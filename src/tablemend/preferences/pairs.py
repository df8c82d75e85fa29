"""A preference pair: two answers to one prompt, and the findings that stand between them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tablemend.detector.judge import judge_answer
from tablemend.detector.order import SortRule
from tablemend.detector.similarity import Similarity
from tablemend.errors import TablemendError
from tablemend.generations import Judged
from tablemend.recipe.experiment import DpoExperiment
from tablemend.records import ERROR_TYPES, ContextKind, Example, Finding, Judgement
from tablemend.runs import hash_text, read_jsonl
from tablemend.synthesis.planting import PLANTS, Plant
from tablemend.synthesis.rationale import NoRationale
from tablemend.tasks import tablehallu

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
        rejected_source: ``sampled``, or ``planted``.
        edit: name of the planted error; ``None`` for a sampled answer.
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
    rejected_source: Literal["sampled", "planted"]
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


class Prompt(NamedTuple):
    """One prompt, and the model's own answers to it; ``None`` where it gets a planted error."""

    example: Example
    context: ContextKind
    split: Split
    answers: Sequence[Judged] | None = None


@dataclass
class PairMaker:
    """Makes one pair a prompt, and counts what is left out.

    Attributes:
        config: the recipe.
        similarity: the detector's judge of cells that differ in wording.
        dropped: prompts without a pair, by reason.
        passed_over: answers and edits that make no pair, by reason; the prompt may have another.
    """

    config: DpoExperiment
    similarity: Similarity
    dropped: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)

    def make(self, prompts: Iterable[Prompt]) -> list[Pair]:
        """The pairs, in the order of the prompts."""
        return [pair for prompt in prompts if (pair := self._make_one(prompt)) is not None]

    def _make_one(self, prompt: Prompt) -> Pair | None:
        example, context, config = prompt.example, prompt.context, self.config
        try:
            gold = tablehallu.target(example, context, config.thinking, config.format)
        except NoRationale as error:
            self.dropped[f"no rationale: {error}"] += 1
            return None
        judgement = self._judge(gold, prompt)
        if judgement.unjudged:
            self.dropped[f"the chosen answer cannot be judged: {judgement.unjudged}"] += 1
            return None
        if judgement.findings:
            self.dropped[f"the chosen answer has a finding: {judgement.findings[0].type}"] += 1
            return None
        make = self._planted_pair if prompt.answers is None else self._sampled_pair
        pair = make(gold, prompt)
        if pair is None:
            kind = "edit" if prompt.answers is None else "answer of the model"
            self.dropped[f"no {kind} with a finding"] += 1
        return pair

    def _sampled_pair(self, gold: str, prompt: Prompt) -> Pair | None:
        """Of the model's answers the first with a finding, beside gold or its best."""
        rejected: Judged | None = None
        best: Judged | None = None
        for one in prompt.answers or ():
            reason = why_no_rejected(one)
            if reason:
                self.passed_over[f"sampled: {reason}"] += 1
            if not reason and rejected is None:
                rejected = one
            if best is None and _is_flawless(one):
                best = one
        if rejected is None:
            return None
        own = best if self.config.dpo.pairs.chosen == "best" else None
        return Pair(
            prompt.example.id,
            prompt.context,
            prompt.split,
            gold if own is None else own.stored.answer.text,
            rejected.stored.answer.text,
            "gold" if own is None else "sampled",
            "sampled",
            None,
            rejected.judgement.findings,
        )

    def _planted_pair(self, gold: str, prompt: Prompt) -> Pair | None:
        """Gold beside itself with one error, which the detector finds and calls by its type."""
        example, format = prompt.example, self.config.format
        table = tablehallu.answer(example.gold_table, format)
        assert gold.endswith(table)
        rng = random.Random(f"{self.config.seed}/plant/{example.id}/{prompt.context}")
        for name, plant in self._plants(rng):
            edited = plant.make(example, rng)
            if edited is None:
                continue
            rejected = gold.removesuffix(table) + tablehallu.answer(edited, format)
            findings = self._judge(rejected, prompt).findings
            if plant.type not in {finding.type for finding in findings}:
                self.passed_over[f"planted: {name} is no finding"] += 1
                continue
            return Pair(
                example.id,
                prompt.context,
                prompt.split,
                gold,
                rejected,
                "gold",
                "planted",
                name,
                findings,
            )
        return None

    def _plants(self, rng: random.Random) -> list[tuple[str, Plant]]:
        """All that the recipe allows, in an order that gives each error type the same share."""
        types = list(self.config.dpo.pairs.errors or ERROR_TYPES)
        rng.shuffle(types)
        found = []
        for type in types:
            own = [(name, plant) for name, plant in PLANTS.items() if plant.type == type]
            rng.shuffle(own)
            found += own
        return found

    def _judge(self, text: str, prompt: Prompt) -> Judgement:
        example = prompt.example
        return judge_answer(
            text,
            example.gold_table,
            example.context(prompt.context),
            SortRule.of(example.constraints),
            self.config.format,
            self.similarity,
        )


def why_no_rejected(one: Judged) -> str:
    """Why a sampled answer cannot be a rejected one; empty where it can."""
    if one.stored.failed:
        return "the request failed"
    if one.stored.answer.finish_reason == "length":
        return "cut at the token limit"  # with an end of turn it would be another answer
    if one.stored.answer.finish_reason == "refusal":
        return "the model declined"
    if one.judgement.unjudged:
        return "unjudged"
    return "" if one.judgement.findings else "without a finding"


def _is_flawless(one: Judged) -> bool:
    """Whether an answer states all of the gold table, and nothing else."""
    whole = one.judgement.row_recall == one.judgement.cell_recall == 1.0
    return why_no_rejected(one) == "without a finding" and whole
