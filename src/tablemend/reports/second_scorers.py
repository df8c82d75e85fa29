"""The second scorers' part of results.json: their rates, and where the detector differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from tablemend.exact_match import Opinion
from tablemend.records import ContextKind, Judgement
from tablemend.reports.tabulation import Judgements, Tables, correct_by_holm, name_test
from tablemend.statistics import (
    cohens_kappa,
    compare_events,
    design_effect,
    mean_interval,
    rate_interval,
)

Opinions = Mapping[str, Mapping[ContextKind, Mapping[str, Sequence[Opinion]]]]
"""system -> context -> example id -> one opinion a scorer, the same scorers everywhere."""
Own = dict[str, dict[ContextKind, dict[str, Opinion]]]
"""system -> context -> example id -> the opinion of one scorer."""

MOST_EXAMPLES = 20
"""Ids that are listed of each kind of disagreement."""


def tabulate_second(opinions: Opinions, judgements: Judgements, tables: Tables) -> dict[str, Any]:
    """What results.json says of the second scorers.

    Returns:
        ``scorers``, ``systems`` (scorer -> system -> context -> ``total_hallu``, ``row_recall``,
        ``whole``, ``unscored``, ``differences``, ``agreement``) and ``paired`` (scorer -> tests of
        TotalHallu). Empty lists and dicts where there is no second scorer.
    """
    found: dict[str, Any] = {"scorers": [], "systems": {}, "paired": {}}
    for place, name in enumerate(_names(opinions)):
        own: Own = {
            system: {
                context: {example_id: said[place] for example_id, said in answers.items()}
                for context, answers in kinds.items()
            }
            for system, kinds in opinions.items()
        }
        found["scorers"].append(name)
        found["systems"][name] = {
            system: {
                context: _summarise(answers, judgements[system][context], tables)
                for context, answers in kinds.items()
            }
            for system, kinds in own.items()
        }
        found["paired"][name] = _compare(own, tables)
    return found


def _names(opinions: Opinions) -> list[str]:
    lists = {
        tuple(one.scorer for one in said)
        for kinds in opinions.values()
        for own in kinds.values()
        for said in own.values()
    }
    assert len(lists) < 2, lists  # the same scorers score every system
    return list(lists.pop()) if lists else []


def _summarise(
    own: Mapping[str, Opinion], judgements: Mapping[str, Judgement], tables: Tables
) -> dict[str, Any]:
    scored = {name: one for name, one in own.items() if not one.unscored}
    clusters = [tables[name] for name in scored]
    wrong = [float(one.hallucinated) for one in scored.values()]
    recalls = {n: one.row_recall for n, one in scored.items() if one.row_recall is not None}
    wholes = [one.whole for one in scored.values() if one.whole is not None]
    kinds = Counter(kind for one in scored.values() for kind in {d.kind for d in one.differences})
    effect = design_effect(wrong, clusters)
    return {
        "total_hallu": rate_interval(int(sum(wrong)), len(wrong), effect),
        "row_recall": mean_interval(list(recalls.values()), clusters=[tables[n] for n in recalls]),
        "whole": rate_interval(sum(wholes), len(wholes)),
        "unscored": rate_interval(len(own) - len(scored), len(own)),
        "differences": dict(sorted(kinds.items())),
        "agreement": compare_scorers(judgements, own),
    }


def compare_scorers(
    judgements: Mapping[str, Judgement], opinions: Mapping[str, Opinion]
) -> dict[str, Any]:
    """How often the detector and a second scorer say the same of the answers that both scored.

    Returns:
        ``n``; the counts ``both`` (hallucinated), ``detector_only``, ``second_only``, ``neither``;
        ``disagreement``, their number; ``kappa``, Cohen's, ``None`` where chance alone would agree
        always; and ``examples``, ids of those on which they differ.
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


def _compare(own: Own, tables: Tables) -> list[dict[str, Any]]:
    """TotalHallu of every pair of systems, on each context."""
    tests = []
    for context in dict.fromkeys(context for kinds in own.values() for context in kinds):
        for a, b in combinations(own, 2):
            outcomes = {
                name: (one.hallucinated, other.hallucinated)
                for name, one in own[a][context].items()
                if (other := own[b][context].get(name)) is not None
                and not one.unscored
                and not other.unscored
            }
            clusters = [tables[name] for name in outcomes]
            paired = compare_events(list(outcomes.values()), clusters)
            tests.append(name_test(context, "total_hallu", a, b, paired))
    return correct_by_holm(tests)
