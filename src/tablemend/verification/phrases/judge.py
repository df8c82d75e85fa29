"""All phrases of a sentence over all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.phrases.comparing import compare_two
from tablemend.verification.phrases.earlier import judge_earlier
from tablemend.verification.phrases.growing import judge_growth
from tablemend.verification.phrases.leading import judge_leaders
from tablemend.verification.phrases.missing import judge_missing
from tablemend.verification.phrases.ranges import judge_ranges
from tablemend.verification.phrases.shape import Shape
from tablemend.verification.phrases.spreads import judge_spreads
from tablemend.verification.phrases.states import judge_states
from tablemend.verification.phrases.stating import judge_statements
from tablemend.verification.phrases.summing import judge_counts, judge_sums, judge_ties
from tablemend.verification.phrases.titles import judge_titles

_RULES: tuple[Callable[[Shape], Iterator[Finding]], ...] = (
    compare_two,
    judge_ranges,
    judge_statements,
    judge_states,
    judge_growth,
    judge_spreads,
    judge_ties,
    judge_sums,
    judge_counts,
    judge_earlier,
    judge_leaders,
    judge_missing,
    judge_titles,
)
_LONGEST = 600  # characters: a sentence beyond is no sentence, and patterns cost time


class Phrases:
    """Judges the turns of phrase of a linked text.

    Args:
        grounder: of the text and its tables.
    """

    def __init__(self, grounder: Grounder) -> None:
        self.linking = grounder.linking
        self._grounder = grounder
        self._found: dict[int, list[Finding]] = {}

    def judge(self, number: int) -> list[Finding]:
        """Findings on a sentence; of words that two rules judge, the first rule's."""
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = self._judge(number)
        return found

    def _judge(self, number: int) -> list[Finding]:
        start, end = self.linking.reading.sentences[number]
        if end - start > _LONGEST:
            return []
        found: list[Finding] = []
        for grid in self.linking.source.grids:
            shape = Shape(self._grounder, number, grid.number)
            for rule in _RULES:
                for finding in rule(shape):
                    if not any(f.start < finding.end and finding.start < f.end for f in found):
                        found.append(finding)
        return found
