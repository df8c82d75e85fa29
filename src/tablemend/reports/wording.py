"""What numbers, metrics and tests are called: the wording that all reports share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablemend.records import ContextKind, Metric
from tablemend.statistics import Rate
from tablemend.tables.read import Format

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
TOTAL = "total_hallu"
"""Name of the metric that every task has: answers with an error of any type."""


# ---- numbers ----


def percent(value: float | None) -> str:
    """A share as a percentage with one digit; a dash where there is none."""
    return DASH if value is None else f"{100 * value:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """The limits of an interval of shares, in percent."""
    return "" if low is None or high is None else f"{percent(low)}{DASH}{percent(high)}"


def with_interval(rate: Rate) -> str:
    """``22.0 (17.7-27.0)``, in percent."""
    if rate["rate"] is None or rate["low"] is None:
        return percent(rate["rate"])
    return f"{percent(rate['rate'])} ({interval(rate['low'], rate['high'])})"


def points(difference: float, low: float | None, high: float | None, unit: str = "") -> str:
    """A difference with its interval, in percentage points: ``+2.0 (-1.0 to +5.0)``."""
    text = f"{100 * difference:+.1f}{unit}"
    if low is not None and high is not None:
        text += f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return text.replace("-", MINUS)


def p_value(p: float | None) -> str:
    """A p-value as it is read: no more digits than it deserves."""
    if p is None:
        return DASH
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.01 else f"= {p:.2f}"


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# ---- what results.json holds ----


def metrics_of(results: Mapping[str, Any]) -> list[Metric]:
    """The metrics of the task, in the order of their columns."""
    return [Metric(**{**one, "types": tuple(one["types"])}) for one in results["metrics"]]


def total_of(results: Mapping[str, Any]) -> Metric:
    """Answers with an error of any type."""
    return next(metric for metric in metrics_of(results) if metric.name == TOTAL)


def main_share(results: Mapping[str, Any]) -> Metric | None:
    """What a low rate of errors is read beside: the first share."""
    return next((metric for metric in metrics_of(results) if metric.kind == "share"), None)


def parts_of(results: Mapping[str, Any], by: str) -> list[str]:
    """Names of the parts of the data, such as domains; ``none`` first."""
    kinds = results.get(by, {}).values()
    names = {name for contexts in kinds for own in contexts.values() for name in own}
    return sorted(names, key=lambda name: (name != "none", name))


def contexts_of(results: Mapping[str, Any]) -> list[ContextKind]:
    """The contexts that were shown, in the recipe's order."""
    return list(results["contexts"])


def short_name(scorer: str) -> str:
    """The second scorer's name without its version: ``exact``."""
    return scorer.partition(" ")[0]


def formats_of(results: Mapping[str, Any]) -> dict[str, Format | None]:
    """The table format that each system was asked for; ``None`` where answers are texts."""
    return {
        system: settings.get("format", results["format"])
        for system, settings in results["settings"].items()
    }


def say_formats(results: Mapping[str, Any]) -> str:
    """``markdown``, or ``markdown (base and cot), json (structured)`` where systems differ."""
    systems: dict[str, list[str]] = {}
    for system, format in formats_of(results).items():
        systems.setdefault(format or "text", []).append(system)
    if len(systems) == 1:
        return next(iter(systems))
    return ", ".join(f"{format} ({listed(names)})" for format, names in systems.items())


UNREAD = {
    "format_error": "hold no table with the columns asked for: no other error is counted of these",
    "abstention": "say nothing",
    "unscored": "hold no claim or answer that could be scored: these count in no other column",
}
"""What is said of answers that hold nothing to be scored, by name of the metric."""
MOST = 0.5
"""Share of such answers from which on the other rates are about few, and the head says so."""


def say_unread(results: Mapping[str, Any]) -> list[str]:
    """``Of base's answers, 97 % on clean contexts hold no table ...``: systems whose rates are of
    few answers. One that edits is left out: the system whose answers it edits is named.
    """
    sentences = []
    for metric in metrics_of(results):
        for system, kinds in results["systems"].items() if metric.name in UNREAD else ():
            shares = [
                f"{100 * rate:.0f} % on {results['contexts'][context]}"
                for context, own in kinds.items()
                if (rate := own[metric.name]["rate"]) is not None and rate >= MOST
            ]
            if shares and not results["settings"][system].get("after"):
                said = UNREAD[metric.name]
                sentences.append(f"Of {system}'s answers, {listed(shares)} {said}.")
    return sentences


def say_cut(results: Mapping[str, Any]) -> str:
    """The rule for answers that were cut."""
    if results.get("cut") == "unscored" or results["format"] is None:
        return "answers cut at the token limit are unscored"
    return "answers cut at the token limit are format errors"


# ---- paired tests ----


def tests_of(
    tests: Sequence[Mapping[str, Any]], context: str, metric: str, *systems: str | None
) -> list[Mapping[str, Any]]:
    """The paired tests of one metric on one context that all of ``systems`` take part in."""
    return [
        test
        for test in tests
        if (test["context"], test["metric"]) == (context, metric)
        and set(systems) <= {test["system_a"], test["system_b"]}
    ]


def say_tests(
    tests: Sequence[Mapping[str, Any]], systems: Mapping[str, Any], metric: Metric
) -> list[str]:
    """Tests of one metric against one system: a sentence for each system that differs from it, and
    one for all others. Absence of evidence is not called equality.
    """
    apart = [test for test in tests if is_significant(test)]
    rest = [test for test in tests if not is_significant(test)]
    sentences = [_say_apart(test, systems, metric) for test in apart]
    if rest:
        named = "; ".join(f"{test['system_b']}, {_difference(test)}" for test in rest)
        sentences.append(
            f"No significant difference from {rest[0]['system_a']} in {metric.title} on these "
            f"examples: {named}."
        )
    return sentences


def is_significant(test: Mapping[str, Any], level: float = 0.05) -> bool:
    """Whether the corrected p-value is below the level."""
    return test["p_holm"] is not None and test["p_holm"] < level


def _say_apart(test: Mapping[str, Any], systems: Mapping[str, Any], metric: Metric) -> str:
    is_share = metric.kind == "share"
    better = (test["difference"] > 0) == is_share
    a, b = test["system_a"], test["system_b"]
    rate_a, rate_b = (
        percent(systems[one][test["context"]][test["metric"]]["rate"]) for one in (a, b)
    )
    what = "Higher" if is_share else "Wrong"
    return (
        f"{b} is {'better' if better else 'worse'} than {a}: {metric.title} {rate_b} % instead of "
        f"{rate_a} %, {_difference(test)}. {what} in {a} alone: {test['a_only']}, in {b} "
        f"alone: {test['b_only']}, of {test['n']} examples; p {p_value(test['p_holm'])}."
    )


def _difference(test: Mapping[str, Any]) -> str:
    if test["difference"] is None:
        return "no example scored in both"
    return points(test["difference"], test["low"], test["high"], " points")
