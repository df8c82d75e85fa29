"""The tables of the equal-budget study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from studies.equal_budget import PROMPTED, TRAINED
from tablemend.reports.rendering import align
from tablemend.reports.wording import DASH, percent, with_interval

ENDS = ("", "+repair", "+cave")
PLACES = ("made by", "summary", "all systems", "clean", "training")
"""Names of the places in a page."""
NAMES = {
    "base": "base",
    "careful": "prompt: careful",
    "follow": "prompt: follow",
    "cot": "prompt: cot",
    "sft": "SFT",
    "rationales": "SFT with rationales",
    "start": "SFT, a part of the budget",
    "dpo": "SFT, then DPO",
    "grpo": "SFT, then GRPO",
}

Figures = Mapping[str, Any]


def places(results: Figures) -> dict[str, str]:
    """What fills each of :data:`PLACES`."""
    return {
        "made by": made_by(results),
        "summary": summary(results),
        "all systems": results_table(results),
        "clean": results_table(results, "clean"),
        "training": training_table(results),
    }


def made_by(results: Figures) -> str:
    """Where the figures come from."""
    study, made = results["study"], results["made"]
    seeds = ", ".join(map(str, study["seeds"]))
    return (
        f"{study['tokens']:,} training tokens a stack; of DPO and GRPO {study['spent']:.0%} are "
        f"spent on SFT before. Seeds {seeds}; {study['n']} held-out examples, the same for all. "
        f"Scorers: {results['scorer']}; exact comparison. {made['machine']}, commit "
        f"{(made['commit'] or 'unknown')[:7]}."
    )


def summary(results: Figures) -> str:
    """Best ending of each stack beside base: the table for a hurried reader."""
    rows = [["stack", "alone", "+ repair", "+ CAVE", "row recall", "training tokens"]]
    for name in (*PROMPTED, *TRAINED):
        systems = [results["systems"].get(f"{name}{end}") for end in ENDS]
        alone = results["systems"][name]["adversarial"]
        rows.append(
            [
                NAMES[name],
                *(_by_both(system and system["adversarial"]) for system in systems),
                percent(alone["row_recall"]["rate"]),
                _thousands(_spent(results, name)),
            ]
        )
    return align(rows)


def results_table(results: Figures, context: str = "adversarial") -> str:
    """Every system: rates by both scorers with intervals, coverage, and what an answer costs."""
    head = (
        "system|TotalHallu, detector (95 %)|seeds|TotalHallu, exact scorer (95 %)|of base|"
        "row recall|scored|the scorers differ|calls|tokens read|tokens written|seconds"
    )
    rows = [head.split("|")]
    base = results["systems"]["base"][context]["detector"]["rate"]
    for name in (*PROMPTED, *TRAINED):
        for end in ENDS:
            system = results["systems"].get(f"{name}{end}")
            if system is None:
                continue
            own = system[context]
            rate = own["detector"]["rate"]
            rows.append(
                [
                    NAMES[name] + {"": "", "+repair": " + repair", "+cave": " + CAVE"}[end],
                    with_interval(own["detector"]),
                    _range(own["detector"]["seeds"]),
                    with_interval(own["exact"]),
                    DASH if not base or rate is None else f"{rate / base:.2f}",
                    percent(own["row_recall"]["rate"]),
                    percent(1 - own["unscored"]),
                    f"{own['disagreement']} of {own['answers']}",
                    f"{own['calls']:.2f}",
                    f"{own['prompt_tokens']:.0f}",
                    f"{own['completion_tokens']:.0f}",
                    f"{own['seconds']:.2f}",
                ]
            )
    return align(rows)


def training_table(results: Figures) -> str:
    """What each training took, means over the seeds."""
    rows = [["training", "steps", "tokens trained on", "tokens drawn", "minutes"]]
    for name, seeds in results["training"].items():
        rows.append(
            [
                NAMES[name] if name not in ("dpo", "grpo") else f"{name.upper()} from the start",
                _thousands(_mean(seeds, "steps")),
                _thousands(_mean(seeds, "tokens")),
                _thousands(_mean(seeds, "drawn")),
                f"{_mean(seeds, 'seconds') / 60:.1f}",
            ]
        )
    return align(rows)


def _by_both(system: Figures | None) -> str:
    """TotalHallu by the detector and by the exact scorer; a dash for a system that was not run."""
    if system is None:
        return DASH
    return f"{percent(system['detector']['rate'])} / {percent(system['exact']['rate'])}"


def _spent(results: Figures, name: str) -> float:
    """Tokens that a stack was trained on, its start's with them."""
    chain = {"dpo": ("start", "dpo"), "grpo": ("start", "grpo")}.get(name, (name,))
    return sum(_mean(results["training"].get(part, ()), "tokens") for part in chain)


def _mean(seeds: Sequence[Figures], key: str) -> float:
    return fmean(one.get(key, 0) for one in seeds) if seeds else 0.0


def _thousands(value: float) -> str:
    return f"{value:,.0f}" if value else "0"


def _range(rates: Sequence[float | None]) -> str:
    """The rates of the seeds, lowest to highest, where they differ."""
    known = sorted(set(_known(rates)))
    return (
        percent(known[0]) if len(known) == 1 else f"{percent(known[0])}{DASH}{percent(known[-1])}"
    )


def _known(rates: Sequence[float | None]) -> Iterator[float]:
    return (rate for rate in rates if rate is not None)
