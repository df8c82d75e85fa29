"""The second scorers' part of results.json: their rates, and where the detector differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from tablemend.exact_match import Opinion
from tablemend.records import ContextKind, Judgement
from tablemend.reports.paired import PairedTest, compare_events, correct_by_holm
from tablemend.reports.rates import mean_interval, rate_interval
from tablemend.reports.results import Judgements

Opinions = Mapping[str, Mapping[ContextKind, Mapping[str, Sequence[Opinion]]]]
"""system -> context -> example id -> one opinion a judge, the same judges everywhere."""

MOST_EXAMPLES = 20
"""Ids that are listed of each kind of disagreement."""


def tabulate_second(opinions: Opinions, judgements: Judgements) -> dict[str, Any]:
    """What results.json says of the second scorers.

    Returns:
        ``judges``, ``systems`` (judge -> system -> context -> ``total_hallu``, ``row_recall``,
        ``whole``, ``unscored``, ``differences``, ``agreement``) and ``paired`` (judge -> tests of
        TotalHallu). Empty lists and dicts where there is no second scorer.
    """
    names = _judges(opinions)
    return {
        "judges": names,
        "systems": {
            name: {
                system: {
                    context: _summarise(_of_judge(own, place), judgements[system][context])
                    for context, own in kinds.items()
                }
                for system, kinds in opinions.items()
            }
            for place, name in enumerate(names)
        },
        "paired": {
            name: [test.to_json() for test in _compare(opinions, place)]
            for place, name in enumerate(names)
        },
    }


def _judges(opinions: Opinions) -> list[str]:
    lists = {
        tuple(one.judge for one in said)
        for kinds in opinions.values()
        for own in kinds.values()
        for said in own.values()
    }
    assert len(lists) < 2, lists  # the same judges hear every system
    return list(lists.pop()) if lists else []


def _of_judge(own: Mapping[str, Sequence[Opinion]], place: int) -> dict[str, Opinion]:
    return {example_id: said[place] for example_id, said in own.items()}


def _summarise(own: Mapping[str, Opinion], judgements: Mapping[str, Judgement]) -> dict[str, Any]:
    scored = [one for one in own.values() if not one.unscored]
    recalls = [one.row_recall for one in scored if one.row_recall is not None]
    wholes = [one.whole for one in scored if one.whole is not None]
    kinds = Counter(kind for one in scored for kind in {d.kind for d in one.differences})
    return {
        "total_hallu": rate_interval(sum(one.hallucinated for one in scored), len(scored)),
        "row_recall": mean_interval(recalls),
        "whole": rate_interval(sum(wholes), len(wholes)),
        "unscored": rate_interval(len(own) - len(scored), len(own)),
        "differences": dict(sorted(kinds.items())),
        "agreement": compare_judges(judgements, own),
    }


def compare_judges(
    judgements: Mapping[str, Judgement], opinions: Mapping[str, Opinion]
) -> dict[str, Any]:
    """How often the detector and a second scorer say the same of the answers that both scored.

    Returns:
        ``n``; the counts ``both`` (hallucinated), ``detector_only``, ``second_only``, ``neither``;
        ``disagreement``, their number; ``kappa``, Cohen's (Cohen 1960), ``None`` where chance
        alone would agree always; and ``examples``, ids of those on which they differ.
    """
    cells: dict[str, list[str]] = {
        name: [] for name in ("both", "detector_only", "second_only", "neither")
    }
    for example_id, opinion in opinions.items():
        judgement = judgements[example_id]
        if judgement.unscored or opinion.unscored:
            continue
        if judgement.hallucinated:
            cells["both" if opinion.hallucinated else "detector_only"].append(example_id)
        else:
            cells["second_only" if opinion.hallucinated else "neither"].append(example_id)
    counts = {name: len(ids) for name, ids in cells.items()}
    differing = ("detector_only", "second_only")
    return {
        "n": sum(counts.values()),
        **counts,
        "disagreement": sum(counts[name] for name in differing),
        "kappa": cohens_kappa(*counts.values()),
        "examples": {name: cells[name][:MOST_EXAMPLES] for name in differing},
    }


def cohens_kappa(both: int, first_only: int, second_only: int, neither: int) -> float | None:
    """Agreement beyond chance of two judges with two verdicts (Cohen 1960).

    >>> cohens_kappa(20, 5, 10, 15)
    0.4
    >>> cohens_kappa(0, 0, 0, 9) is None
    True
    """
    n = both + first_only + second_only + neither
    first, second = both + first_only, both + second_only
    by_chance = first * second + (n - first) * (n - second)
    if n == 0 or by_chance == n * n:
        return None
    return ((both + neither) * n - by_chance) / (n * n - by_chance)


def _compare(opinions: Opinions, place: int) -> list[PairedTest]:
    """TotalHallu of every pair of systems, on each context, as one judge has it."""
    contexts: dict[ContextKind, None] = {c: None for kinds in opinions.values() for c in kinds}
    tests = []
    for context in contexts:
        said = {system: _of_judge(kinds[context], place) for system, kinds in opinions.items()}
        for system_a, system_b in combinations(said, 2):
            pairs = [
                (one, said[system_b][example_id])
                for example_id, one in said[system_a].items()
                if example_id in said[system_b]
            ]
            outcomes = [
                (one.hallucinated, other.hallucinated)
                for one, other in pairs
                if not one.unscored and not other.unscored
            ]
            tests.append(compare_events(outcomes, context, "total_hallu", system_a, system_b))
    return correct_by_holm(tests)
