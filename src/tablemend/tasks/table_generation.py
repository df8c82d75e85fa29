"""TableHallu: the table that a query asks for, from a text (sections 3 and 4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from tablemend.config import Format, Source
from tablemend.datasets.tablehallu.distractor_types import TYPES, types_of
from tablemend.detector.algorithm import Submission as Scored
from tablemend.detector.algorithm import detect_in_answers, detector_name
from tablemend.detector.errors import (
    INVENTS_ROWS,
    METRICS,
    OMITTED_CELL,
    omits_cell,
    relation_to_gold,
)
from tablemend.detector.keys import names_of_rows
from tablemend.detector.order import SortRule
from tablemend.detector.similarity import Similarity, load_similarity
from tablemend.exact_match import SCORER, compare_exactly
from tablemend.records import Example, Finding, Judgement, Mark, Metric, Relation, SampleView, Share
from tablemend.tables.perturbations import CONFIGURATIONS
from tablemend.tasks import tablehallu
from tablemend.tasks.injected_errors import INJECTED_ERRORS
from tablemend.tasks.sources import MAKES, read_examples
from tablemend.tasks.table_reward import Rules, TableReward
from tablemend.tasks.task import DEFAULTS, Corruption, Submission, Task, TaskOptions
from tablemend.values.cells import same_value

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence

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
        """Parts of a table that are right (docs/dpo-grpo.md)."""
        thinks, quotes = thinking != "off", thinking == "quote"
        return TableReward(Rules(weights, self.format, thinks, prompt == "cot", quotes))

    def corruptions(
        self, sample: Example, view: str, gold: str, types: Sequence[str], rng: Random
    ) -> Iterator[Corruption]:
        """The gold table with a wrong value, row, column or order."""
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


class TableScorer:
    """The detector on answers in one format."""

    def __init__(self, format: Any, similarity: Similarity) -> None:
        self.name = detector_name(similarity)
        self._format, self._similarity = format, similarity

    def score(self, answers: Iterable[Submission[Example]]) -> Iterator[Judgement]:
        """One judgement an answer (:func:`~tablemend.detector.algorithm.detect_in_answers`),
        with the types of distractors that it took in, and whether it invents rows where the query
        asks for one or none.
        """
        read: deque[Submission[Example]] = deque()

        def submissions() -> Iterator[Scored]:
            for one in answers:
                read.append(one)
                yield Scored(
                    one.text,
                    one.sample.gold_table,
                    one.sample.context(one.view),
                    SortRule.of(one.sample.constraints),
                    self._format,
                    one.unscored,
                    one.sample.constraints.decimals,
                )

        for judgement in detect_in_answers(submissions(), self._similarity):
            one = read.popleft()
            if judgement.unscored:
                yield judgement
                continue
            omits = any(map(omits_cell, judgement.findings))
            shares = dict(judgement.shares) | {OMITTED_CELL.name: Share(int(omits), 1)}
            if len(one.sample.gold_table.rows) <= 1:
                invents = any(own.type in INVENTS_ROWS.types for own in judgement.findings)
                shares[INVENTS_ROWS.name] = Share(int(invents), 1)
            if one.view != "clean":
                shares |= taken_in(one.sample, judgement.findings)
            yield replace(judgement, shares=shares)


def taken_in(example: Example, findings: Iterable[Finding]) -> dict[str, Share]:
    """For each type that the context holds whether an answer took some of it in.

    A row out of scope counts by its name, a wrong value by itself; what distractors of several
    types say, or gold says too, counts for none.
    """
    types = types_of(example)
    taken = set()
    for finding in findings:
        if finding.got is None:
            continue
        suspects = {
            types.get(fact.row) if fact.violates is not None else None
            for fact in example.facts
            if (finding.column is None and same_value(fact.entity, finding.got))
            or (fact.column == finding.column and same_value(fact.value, finding.got))
        }
        if finding.column is None:
            suspects.discard(None)  # a gold entity at another time
        if len(suspects) == 1:
            taken |= suspects
    return {
        f"distractor_{type}": Share(int(type in taken), 1)
        for type in TYPES
        if type in types.values()
    }
