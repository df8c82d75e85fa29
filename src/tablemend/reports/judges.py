"""What reports say of the second scorers: their names, rates, and where they differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tablemend.records import ContextKind
from tablemend.reports.words import DASH
from tablemend.statistics import Rate


def second_scorers(results: Mapping[str, Any]) -> list[str]:
    """The judges beside the detector; none in results of an earlier version."""
    return list(results.get("second", {}).get("judges", ()))


def second_rates(
    results: Mapping[str, Any], context: ContextKind, metric: str = "total_hallu"
) -> dict[str, list[Rate]]:
    """A rate of every system, by second scorer."""
    return {
        judge: [kinds[context][metric] for kinds in results["second"]["systems"][judge].values()]
        for judge in second_scorers(results)
    }


def short_judge(judge: str) -> str:
    """``exact`` or the model's name, without versions."""
    return re.sub(r" \d+$", "", judge.partition(",")[0]).removeprefix("llm:")


NO_SECOND_JUDGE = (
    "No second scorer: evaluation.second_scorer=exact has one, and rescore=true asks it about the "
    "stored answers."
)
AGREEMENT_HEAD = (
    "judge",
    "system",
    "context",
    "both scored",
    "both: error",
    "detector alone",
    "second alone",
    "kappa",
)
AGREEMENT_NOTE = (
    "A second scorer shares no code with the detector; rewards and mitigations never see it. The "
    "exact one compares every cell to the letter, but for case, white space and the way to write "
    "a decimal number: what it alone calls wrong is mostly another way to write the same. What the "
    "detector alone calls wrong deserves a look. Kappa is Cohen's: 1 is full agreement, 0 is "
    "chance; a dash where nearly all answers get the same verdict and chance would agree always."
)


def agreement_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """How often each second scorer says what the detector says; one row a system and context."""
    return [
        [
            short_judge(judge),
            system,
            context,
            *(str(own["agreement"][name]) for name in COUNTS),
            _kappa(own["agreement"]["kappa"]),
        ]
        for judge in second_scorers(results)
        for system, kinds in results["second"]["systems"][judge].items()
        for context, own in kinds.items()
    ]


COUNTS = ("n", "both", "detector_only", "second_only")


def _kappa(kappa: float | None) -> str:
    return DASH if kappa is None else f"{kappa:.2f}"


def say_differing(results: Mapping[str, Any], most: int = 5) -> list[str]:
    """Ids of answers on which the judges differ, in a sentence a system and context."""
    return [
        f"{system}, {context}, {who} alone ({short_judge(judge)}): {', '.join(ids[:most])}"
        + (f" and {own['agreement'][name] - most} more" if own["agreement"][name] > most else "")
        for judge in second_scorers(results)
        for system, kinds in results["second"]["systems"][judge].items()
        for context, own in kinds.items()
        for name, who in (("detector_only", "detector"), ("second_only", "second scorer"))
        if (ids := own["agreement"]["examples"][name])
    ]
