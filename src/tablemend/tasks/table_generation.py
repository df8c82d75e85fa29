"""TableHallu: the table that a query asks for, from a text (sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from tablemend.config import Format, Source
from tablemend.datasets.tablehallu.distractor_types import TYPES, types_of
from tablemend.detector.errors import INVENTS_ROWS, METRICS, OMITTED_CELL, relation_to_gold
from tablemend.exact_match import SCORER, compare_exactly
from tablemend.records import Example, Finding, Judgement, Mark, Metric, Relation, SampleView, Share
from tablemend.tables.perturbations import CONFIGURATIONS
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import MAKES, read_examples
from tablemend.tasks.task import DEFAULTS, Corruption, Submission, Task, TaskOptions

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence
    from tablemend.tasks.table_reward import TableReward
    from tablemend.tasks.table_scorer import TableScorer

TAKEN_IN = tuple(
    Metric(
        f"distractor_{type}",
        f"Took in: {type}",
        f"took in {type}",
        f"a row or value of a distractor {broken}, of the answers to contexts with one",
        "distractor",
    )
    for type, broken in TYPES.items()
)
"""Answers that took in a distractor, by its type."""


class TableGeneration(Task[Example]):
    """A text and a query in, a table out.

    Args:
        options: ``format`` of the answers, ``similarity`` of their cells.
    """

    name = "table_generation"
    description = (
        "A model reads a text and a query and writes the table that the query asks for. Counted is "
        "what it gets wrong or makes up, by comparing every answer with a table that is known to "
        "be right. In an adversarial context, facts that the query does not ask for stand among "
        "those that it does."
    )
    views: ClassVar[Mapping[str, str]] = {
        "clean": "clean contexts",
        "adversarial": "adversarial contexts",
    }
    more_views: ClassVar[Mapping[str, str]] = {
        one: f"the facts as a table, {one}" for one in CONFIGURATIONS
    }
    length_unit = "characters of the context"
    makes = MAKES
    slots = ("query", "context")
    begins = tablehallu.MARKER
    second_scorer = SCORER
    prompts = tablehallu.STRATEGIES
    metrics = (*METRICS, OMITTED_CELL, INVENTS_ROWS, *TAKEN_IN)

    def __init__(self, options: TaskOptions = DEFAULTS) -> None:
        super().__init__(options)
        self.format: Format = options.format

    def samples(self, source: Source) -> list[Example]:
        """Examples that data_gen/tablehallu.py wrote, or the small world's."""
        return read_examples(source)

    def sample(self, record: Mapping[str, Any]) -> Example:
        """An example, read back."""
        return Example.from_json(dict(record))

    def messages(self, sample: Example, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        """Context and query in one user turn."""
        return tablehallu.messages(sample, view, prompt, self.format)

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat with ``{context}`` and ``{query}``."""
        return tablehallu.chat("{context}", "{query}", prompt, self.format)

    def target(self, sample: Example, view: str, thinking: str) -> str:
        """The gold table, behind the thinking that is asked for."""
        return tablehallu.target(sample, view, thinking, self.format)

    def versions(self) -> dict[str, str]:
        """Of prompts."""
        return {"prompt_hash": tablehallu.prompt_hash()}

    def evidence(self, sample: Example, view: str) -> Evidence:
        """The context, a text or a table, and the query."""
        from tablemend.evidence.source import Source as Evidence  # only who verifies pays for it

        if view in self.more_views:
            return Evidence((sample.stated_table(),), query=sample.query)
        return Evidence(text=sample.context(view), query=sample.query)

    def show(self, sample: Example, view: str) -> SampleView:
        """Query, context with the value of every fact marked, gold table."""
        from tablemend.detector.keys import names_of_rows

        marks = []
        for fact in () if view in self.more_views else sample.facts:
            place = fact.clean if view == "clean" else fact.adversarial
            if place is not None:
                kind = "fact" if fact.violates is None else "distractor"
                why = f" (out of scope by {fact.violates})" if fact.violates else ""
                about = f"{fact.entity}: {fact.column}{why}"
                marks.append(Mark(place.start, place.end, kind, about))
        computed = sample.constraints.computed
        labels: dict[str, tuple[str, ...]] = {"difficulty": (sample.difficulty,)}
        if view != "clean":
            labels["distractor type"] = tuple(sorted({*types_of(sample).values()})) or ("none",)
        return SampleView(
            sample.id,
            view,
            sample.topic,
            f"{sample.domain}, {sample.difficulty}, id {sample.id}",
            sample.domain,
            sample.query,
            sample.context(view),
            tuple(sorted(marks)),
            gold=sample.gold_table,
            calculation=computed.operation if computed else "none",
            labels=labels,
            context_id=self.context_id(sample),
            wanted=names_of_rows(sample.gold_table),
        )

    def context_id(self, sample: Example) -> str:
        """Of the adversarial context."""
        return sample.context_id

    @property
    def packages(self) -> Sequence[str]:
        """Of a similarity that is a model."""
        return () if self.options.similarity == "lexical" else ("sentence_transformers",)

    def scorer(self) -> AbstractContextManager[TableScorer]:
        """The detector."""
        from tablemend.detector.similarity import load_similarity
        from tablemend.tasks.table_scorer import TableScorer

        return nullcontext(TableScorer(self.format, load_similarity(self.options.similarity)))

    def second_opinion(self, answer: Submission[Example]) -> Judgement:
        """What the exact comparison says."""
        gold, sort = answer.sample.gold_table, answer.sample.constraints.sort_column
        decimals = answer.sample.constraints.decimals
        said = compare_exactly(answer.text, self.format, gold.columns, gold.rows, sort, decimals)
        return Judgement(
            tuple(Finding(d.kind, None, None, None, None, d.text) for d in said.differences),
            {"row_recall": Share(said.found, said.rows)},
            unscored=said.unscored,
            scorer=SCORER,
        )

    def relation(self, judgement: Judgement) -> Relation | None:
        """Of the answer's cells to the gold table's."""
        return relation_to_gold(judgement)

    def reward(self, weights: Mapping[str, float], thinking: str, prompt: str) -> TableReward:
        """Parts of a table that are right (docs/training.md)."""
        from tablemend.tasks.table_reward import Rules, TableReward

        thinks, quotes = thinking != "off", thinking == "quote"
        return TableReward(Rules(weights, self.format, thinks, prompt == "cot", quotes))

    def corruptions(
        self, sample: Example, view: str, gold: str, types: Sequence[str], rng: Random
    ) -> Iterator[Corruption]:
        """The gold table with a wrong value, row, column or order."""
        from tablemend.tasks.injected_errors import INJECTED_ERRORS

        table = tablehallu.answer(sample.gold_table, self.format)
        assert gold.endswith(table)
        edits = []
        for type in types:
            own = [
                (name, injection)
                for name, injection in INJECTED_ERRORS.items()
                if injection.type == type
            ]
            rng.shuffle(own)
            edits += own
        for name, injection in edits:
            edited = injection.make(sample, rng)
            if edited is not None:
                text = gold.removesuffix(table) + tablehallu.answer(edited, self.format)
                yield Corruption(name, injection.type, text)
