"""The detector as a scorer of generated tables, with the distractors that an answer took in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tablemend.datasets.tablehallu.distractor_types import TYPES, types_of
from tablemend.detector.algorithm import Submission as Scored
from tablemend.detector.algorithm import detect_in_answers, detector_name
from tablemend.detector.errors import INVENTS_ROWS, OMITTED_CELL, omits_cell
from tablemend.detector.order import SortRule
from tablemend.detector.similarity import Similarity
from tablemend.records import Example, Finding, Judgement, Share
from tablemend.tasks.task import Submission
from tablemend.values.cells import same_value


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
