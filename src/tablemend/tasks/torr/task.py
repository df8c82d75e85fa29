"""ToRR: one answer to a table in each of 35 prompt configurations (The Mighty ToRR, section 2).

A configuration is a view of a sample: the serialisation of the table, and a perturbation of its
structure. Reports score each view; ``eval/robustness.py`` says how robust a system is over them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import yaml
from pydantic import BeforeValidator

from tablemend.backends.requests import END_OF_THINKING
from tablemend.foreign import FromJson
from tablemend.records import (
    UNSCORED,
    Finding,
    Judgement,
    Metric,
    SampleView,
    Share,
    total,
)
from tablemend.runs import hash_text
from tablemend.tables.serialisations import CONFIGURATIONS, Mode, perturb, write_configuration
from tablemend.tables.table import Table
from tablemend.tasks.task import AnswerReward, AnswerScorer, Score, Task, after_thinking
from tablemend.tasks.torr.scoring import METRICS as SCORES
from tablemend.tasks.torr.scoring import Unscored, execution_accuracy, first_line, load_rouge
from tablemend.thinking import behind_thinking

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence


def _given(fields: Mapping[str, str | None]) -> dict[str, str]:
    """Without blanks: read from Parquet, each example has the fields of all."""
    return {name: value for name, value in fields.items() if value is not None}


Fields = Annotated[Mapping[str, str], BeforeValidator(_given)]


@dataclass(frozen=True, slots=True)
class Demonstration(FromJson):
    """A solved example.

    Attributes:
        table: the table.
        fields: what is shown beside it, by name: ``question``, ``caption``.
        answer: what is to be written.
    """

    table: Table
    fields: Fields
    answer: str


@dataclass(frozen=True, slots=True)
class TableQuestion(FromJson):
    """One example of one of the data sets.

    Attributes:
        set: name of the data set.
        table: the table, in its original order.
        fields: what is shown beside it, by name.
        references: right answers; one of them is enough.
        demonstrations: shown before it, their tables in the same configuration.
        source_hash: what splits keep apart: the table, or the document that it stands in.
        types: labels to choose from; empty where any text is an answer.
    """

    set: str
    table: Table
    fields: Fields
    references: tuple[str, ...]
    demonstrations: tuple[Demonstration, ...] = ()
    source_hash: str = ""
    types: tuple[str, ...] = field(default=())

    @property
    def id(self) -> str:
        """Hash of the content."""
        return hash_text(json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True))

    @property
    def domain(self) -> str:
        """The data set, which reports break rates down by."""
        return self.set

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        shown = [asdict(one) | {"table": one.table.to_json()} for one in self.demonstrations]
        return asdict(self) | {"table": self.table.to_json(), "demonstrations": shown}


FORMS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("sets.yaml").read_text("utf-8")
)
"""By data set: what is asked, shown and scored."""
SCORER = "torr-1"
UNITXT = "unitxt"
"""The prompt whose tables are written as the package unitxt does, loss included."""
WRONG = Metric(
    "wrong", "Not right", "not right", "an answer that earns less than half of the score"
)
METRICS = (
    WRONG,
    total((WRONG,), "an answer that earns less than half of its data set's score"),
    Metric(
        "score", "Score", "score", "the score of the data set, 0 to 1; higher is better", "share"
    ),
    UNSCORED,
)
RESULT = "result"
"""A field of FinQA that is not shown: what its program gives."""
_written = lru_cache(maxsize=1 << 14)(write_configuration)  # demonstrations come back
PARTS = 10_000
"""A score is a share of so many parts: shares are counted, not measured."""


class Torr(Task[TableQuestion]):
    """A table and a question of any of ten kinds in, an answer out."""

    name = "torr"
    description = (
        "A model answers questions about tables, which are written in several formats and "
        "perturbed in ways that change nothing of what they say. Counted is the score of each "
        "data set; the same example should earn the same in every configuration."
    )
    views: ClassVar[Mapping[str, str]] = {one: one for one in CONFIGURATIONS}
    length_unit = "cells of the table"
    makes = "python data_gen/torr.py"
    slots = ("ask", "examples", "example")
    begins = END_OF_THINKING
    prompts = ("base", UNITXT)
    metrics = METRICS
    sample_type = TableQuestion
    mendable = False

    @property
    def default_view(self) -> str:
        """CSV, as the benchmark's own default, unperturbed."""
        return "csv+none"

    def messages(
        self, sample: TableQuestion, view: str, prompt: str
    ) -> Sequence[Mapping[str, str]]:
        """What is asked, the demonstrations, and the example, all tables in one configuration."""
        form = FORMS[sample.set]
        mode: Mode = "unitxt" if prompt == UNITXT else "lossless"
        parts = [str(form["ask"]).strip().replace("{types}", ", ".join(sample.types))]
        for number, one in enumerate(sample.demonstrations, 1):
            parts.append(
                f"Example {number}\n{_show(form, one.table, one.fields, view, mode)} {one.answer}"
            )
        parts.append(_show(form, sample.table, sample.fields, view, mode))
        return ({"role": "user", "content": "\n\n".join(parts)},)

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat with its slots open."""
        return ({"role": "user", "content": "\n\n".join(f"{{{slot}}}" for slot in self.slots)},)

    def target(self, sample: TableQuestion, view: str, thinking: str) -> str:
        """The first reference.

        Raises:
            TablemendError: thinking that no target comes with.
        """
        return after_thinking(self.name, thinking, sample.references[0])

    def versions(self) -> dict[str, str]:
        """Of what is asked and shown."""
        return {"prompt_hash": hash_text(json.dumps(FORMS, sort_keys=True))}

    def evidence(self, sample: TableQuestion, view: str) -> Evidence:
        """The table, as it is shown."""
        from tablemend.evidence.source import Source as Evidence  # only who verifies pays for it

        return Evidence((perturb(sample.table, view.partition("+")[2]),))

    def show(self, sample: TableQuestion, view: str) -> SampleView:
        """The table as it is shown, the question, and the first reference."""
        shown = {name: text for name, text in sample.fields.items() if name != RESULT}
        asked = "; ".join(f"{name}: {text}" for name, text in shown.items())
        return SampleView(
            sample.id,
            view,
            sample.set,
            f"{sample.set}, id {sample.id}",
            sample.set,
            query=asked,
            tables=(perturb(sample.table, view.partition("+")[2]),),
            gold=sample.references[0],
        )

    @property
    def packages(self) -> Sequence[str]:
        """Of ROUGE."""
        return ("rouge_score",)

    def scorer(self) -> AbstractContextManager[AnswerScorer[TableQuestion]]:
        """The metric of each data set.

        Raises:
            TablemendError: rouge-score is not installed.
        """
        load_rouge()
        return nullcontext(AnswerScorer(SCORER, judge))

    def reward(
        self, weights: Mapping[str, float], thinking: str, prompt: str
    ) -> AnswerReward[TableQuestion]:
        """The score."""

        def earn(sample: TableQuestion, text: str) -> Score:
            value = judge(sample, text).share("score") or 0.0
            return Score({"score": value}, value)

        return AnswerReward(SCORER, self, "off" if thinking == "on" else thinking, earn)


def _show(
    form: Mapping[str, Any], table: Table, fields: Mapping[str, str], view: str, mode: Mode
) -> str:
    text = str(form["show"])
    for name, value in fields.items():
        text = text.replace(f"{{{name}}}", value, 1)
    return text.replace("{table}", _written(table, view, mode), 1)


def judge(sample: TableQuestion, text: str) -> Judgement:
    """The score of an answer by the metric of its data set."""
    answer = behind_thinking(text).strip()
    try:
        value = SCORES[FORMS[sample.set]["metric"]](answer, sample.references, sample.table)
    except Unscored as error:
        return Judgement(unscored=str(error), scorer=SCORER)
    shares = {"score": Share(round(value * PARTS), PARTS)}
    if RESULT in sample.fields:
        result = sample.fields[RESULT]
        runs = execution_accuracy(first_line(answer), result, sample.table)
        shares["execution"] = Share(int(runs), 1)
    findings: tuple[Finding, ...] = ()
    if value < 0.5:
        right = sample.references[0]
        findings = (Finding("wrong", None, None, right, answer, f"score {value:.2f}"),)
    return Judgement(findings, shares, scorer=SCORER)
