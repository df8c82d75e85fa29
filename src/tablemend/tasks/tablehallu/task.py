"""TableHallu: the table that a query asks for, from a text (sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from random import Random
from typing import TYPE_CHECKING, ClassVar

from tablemend.config import SMALL_WORLD, Format, Source
from tablemend.detector.errors import INVENTS_ROWS, METRICS, OMITTED_CELL, relation_to_gold
from tablemend.exact_match import SCORER, compare_exactly
from tablemend.records import Example, Finding, Judgement, Mark, Metric, Relation, SampleView, Share
from tablemend.tables.serialisations import CONFIGURATIONS
from tablemend.tasks.sources import MAKES, read_records
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.prompts import (
    MARKER,
    STRATEGIES,
    answer,
    chat,
    messages,
    prompt_hash,
    target,
)
from tablemend.tasks.tablehallu.settings import TYPES, types_of
from tablemend.tasks.task import DEFAULTS, Corruption, Submission, Task, TaskOptions

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence
    from tablemend.tasks.tablehallu.scoring import TableReward, TableScorer
    from tablemend.tasks.trace_errors import Trace

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


def read_examples(source: Source) -> list[Example]:
    """The examples of table generation in a source, at most ``source.n`` of them, from the front.

    Raises:
        TablemendError: see :func:`~tablemend.tasks.sources.read_records`.
    """
    if source.source == SMALL_WORLD:
        assert source.n is not None  # refused by the configuration
        size = small_world.SIZES[source.size]
        return list(small_world.examples(source.seed, source.n, size=size, queries=source.queries))
    return read_records(source, Example.from_json, MAKES)


class TableGeneration(Task[Example]):
    """A text and a query in, a table out."""

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
    begins = MARKER
    second_scorer = SCORER
    prompts = STRATEGIES
    metrics = (*METRICS, OMITTED_CELL, INVENTS_ROWS, *TAKEN_IN)
    sample_type = Example

    def __init__(self, options: TaskOptions = DEFAULTS) -> None:
        super().__init__(options)
        self.format: Format = options.format

    def samples(self, source: Source) -> list[Example]:
        return read_examples(source)

    def messages(self, sample: Example, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        return messages(sample, view, prompt, self.format)

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        return chat("{context}", "{query}", prompt, self.format)

    def target(self, sample: Example, view: str, thinking: str) -> str:
        return target(sample, view, thinking, self.format)

    def versions(self) -> dict[str, str]:
        return {"prompt_hash": prompt_hash()}

    def evidence(self, sample: Example, view: str) -> Evidence:
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
        return sample.context_id

    @property
    def packages(self) -> Sequence[str]:
        return () if self.options.similarity == "lexical" else ("sentence_transformers",)

    def scorer(self) -> AbstractContextManager[TableScorer]:
        from tablemend.detector.similarity import load_similarity
        from tablemend.tasks.tablehallu.scoring import TableScorer

        return nullcontext(TableScorer(self.format, load_similarity(self.options.similarity)))

    def second_opinion(self, answer: Submission[Example]) -> Judgement:
        gold, sort = answer.sample.gold_table, answer.sample.constraints.sort_column
        decimals = answer.sample.constraints.decimals
        said = compare_exactly(answer.text, self.format, gold.columns, gold.rows, sort, decimals)
        return Judgement(
            tuple(Finding(d.kind, None, None, None, None, d.text) for d in said.differences),
            {"row_recall": Share(said.found, said.rows)},
            unscored=said.unscored,
            scorer=SCORER,
        )

    def trace_errors(self, sample: Example, view: str, text: str) -> Trace:
        """Against what the context states; lists and quotations must have the gold rows."""
        from tablemend.detector.keys import primary_key
        from tablemend.tasks.trace_errors import read_trace

        gold, is_clean = sample.gold_table, view == "clean"
        names = [row[primary_key(gold)] for row in gold.rows]
        if view in self.more_views:
            return read_trace(text, sample.stated_table(), names)
        said = ((one, one.clean if is_clean else one.adversarial) for one in sample.facts)
        places = [(fact.entity, (at.start, at.end)) for fact, at in said if at is not None]
        stated = gold if is_clean else sample.stated_table()
        return read_trace(text, stated, names, sample.context(view), places)

    def relation(self, judgement: Judgement) -> Relation | None:
        return relation_to_gold(judgement)

    def reward(self, weights: Mapping[str, float], thinking: str, prompt: str) -> TableReward:
        from tablemend.tasks.tablehallu.scoring import Rules, TableReward

        thinks, quotes = thinking != "off", thinking == "quote"
        return TableReward(Rules(weights, self.format, thinks, prompt == "cot", quotes))

    def corruptions(
        self, sample: Example, view: str, gold: str, types: Sequence[str], rng: Random
    ) -> Iterator[Corruption]:
        from tablemend.tasks.tablehallu.injected_errors import INJECTED_ERRORS

        table = answer(sample.gold_table, self.format)
        assert gold.endswith(table)
        edits = []
        for type in types:
            own = [(name, one) for name, one in INJECTED_ERRORS.items() if one.type == type]
            rng.shuffle(own)
            edits += own
        for name, injection in edits:
            if (edited := injection.make(sample, rng)) is not None:
                text = gold.removesuffix(table) + answer(edited, self.format)
                yield Corruption(name, injection.type, text)
