"""The second scorer's part of results.json: its rates, and where the detector differs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from tablemend.records import UNSCORED, Judgement, Metric
from tablemend.reports.tabulation import (
    Judgements,
    Tables,
    compare_pair,
    correct_by_holm,
    summarise,
)
from tablemend.reports.wording import TOTAL
from tablemend.statistics import cohens_kappa

MOST_EXAMPLES = 20
"""Ids that are listed of each kind of disagreement."""
ROW_RECALL = Metric("row_recall", "Row recall", "row recall", "rows that are there", "share")


def tabulate_second(second: Judgements, first: Judgements, tables: Tables) -> dict[str, Any]:
    """What results.json says of the second scorer.

    Args:
        second: its judgements; empty contexts where there is none.
        first: the detector's.
        tables: that the examples were made from.

    Returns:
        ``scorer``, its name or ``None``; ``systems`` (system -> context -> rates and
        ``agreement``) and ``paired`` (tests of TotalHallu). Empty without a scorer.
    """
    every = [one for kinds in second.values() for own in kinds.values() for one in own.values()]
    if not every:
        return {"scorer": None, "systems": {}, "paired": []}
    types = {finding.type for one in every for finding in one.findings}
    total = Metric(TOTAL, "TotalHallu", "TotalHallu", "any", "group", tuple(sorted(types)))
    contexts = next(iter(second.values()))
    return {
        "scorer": every[0].scorer,
        "systems": {
            system: {
                context: {
                    **summarise(
                        list(own.values()),
                        (total, ROW_RECALL, UNSCORED),
                        [tables[name] for name in own],
                    ),
                    "agreement": compare_scorers(first[system][context], own),
                }
                for context, own in kinds.items()
            }
            for system, kinds in second.items()
        },
        "paired": correct_by_holm(
            [
                test
                for context in contexts
                for a, b in combinations(second, 2)
                for test in compare_pair(context, a, b, second, (total,), tables)
            ]
        ),
    }


def compare_scorers(
    first: Mapping[str, Judgement], second: Mapping[str, Judgement]
) -> dict[str, Any]:
    """How often the detector and the second scorer say the same of the answers that both scored.

    Returns:
        ``n``; the counts ``both`` (hallucinated), ``detector_only``, ``second_only``, ``neither``;
        ``disagreement``, their number; ``kappa``, Cohen's, ``None`` where chance alone would agree
        always; and ``examples``, ids of those on which they differ.
    """
    cells: dict[tuple[bool, bool], list[str]] = {
        (True, True): [],
        (True, False): [],
        (False, True): [],
        (False, False): [],
    }
    for example_id, other in second.items():
        one = first[example_id]
        if not one.unscored and not other.unscored:
            cells[one.hallucinated, other.hallucinated].append(example_id)
    names = ("both", "detector_only", "second_only", "neither")
    ids = dict(zip(names, cells.values(), strict=True))
    counts = {name: len(own) for name, own in ids.items()}
    differing = ("detector_only", "second_only")
    return {
        "n": sum(counts.values()),
        **counts,
        "disagreement": sum(counts[name] for name in differing),
        "kappa": cohens_kappa(*counts.values()),
        "examples": {name: ids[name][:MOST_EXAMPLES] for name in differing},
    }
