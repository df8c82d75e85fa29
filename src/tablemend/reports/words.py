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


def metrics_of(results: Mapping[str, Any]) -> list[Metric]:
    """The metrics of the task, in the order of their columns."""
    return [Metric(**{**one, "types": tuple(one["types"])}) for one in results["metrics"]]


def titles_of(results: Mapping[str, Any]) -> dict[str, str]:
    """What each metric is called."""
    return {metric.name: metric.title for metric in metrics_of(results)}


def errors_of(results: Mapping[str, Any]) -> list[Metric]:
    """The task's error types."""
    return [metric for metric in metrics_of(results) if metric.kind == "error"]


def error_classes(results: Mapping[str, Any]) -> dict[str, str]:
    """The CSS class of each error type: its colour, by its place in the task's list."""
    return {metric.name: f"error-{place}" for place, metric in enumerate(errors_of(results))}


def tested(results: Mapping[str, Any]) -> list[Metric]:
    """Metrics whose tests are put into words, TotalHallu first; others stand in the table."""
    found = [metric for metric in metrics_of(results) if metric.kind in ("group", "share")]
    return sorted(found, key=lambda metric: metric.name != TOTAL)


def total_of(results: Mapping[str, Any]) -> Metric:
    """Answers with an error of any type."""
    return next(metric for metric in metrics_of(results) if metric.name == TOTAL)


def main_share(results: Mapping[str, Any]) -> Metric | None:
    """What a low rate of errors is read beside: the first share."""
    return next((metric for metric in metrics_of(results) if metric.kind == "share"), None)


def percent(value: float | None) -> str:
    """A share as a percentage with one digit; a dash where there is none."""
    return DASH if value is None else f"{100 * value:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """The limits of an interval of shares, in percent."""
    return "" if low is None or high is None else f"{percent(low)}{DASH}{percent(high)}"


def with_interval(rate: Rate) -> str:
    """``22.0 (17.7-27.0)``, in percent."""
    if rate["rate"] is None:
        return DASH
    return f"{percent(rate['rate'])} ({interval(rate['low'], rate['high'])})"


def p_value(p: float | None) -> str:
    """A p-value as it is read: no more digits than it deserves."""
    if p is None:
        return DASH
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.01 else f"= {p:.2f}"


def tests_of(
    results: Mapping[str, Any], context: str, metric: str, system_a: str | None = None
) -> list[dict[str, Any]]:
    """The paired tests of one metric on one context, of one system against the others or all."""
    return [
        test
        for test in results["paired"]
        if test["context"] == context
        and test["metric"] == metric
        and system_a in (None, test["system_a"])
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
        named = "; ".join(f"{test['system_b']}, {_points(test)}" for test in rest)
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
    rates = [
        percent(systems[test[system]][test["context"]][test["metric"]]["rate"]) for system in SIDES
    ]
    ratio = ""
    if test["ratio"] is not None:
        limits = f"{test['ratio_low']:.2f}{DASH}{test['ratio_high']:.2f}"
        ratio = f", {test['ratio']:.2f} times as much ({limits})"
    what = "Higher" if is_share else "Wrong"
    return (
        f"{test['system_b']} is {'better' if better else 'worse'} than {test['system_a']}: "
        f"{metric.title} {rates[1]} % instead of {rates[0]} %, "
        f"{_points(test)}{ratio}. {what} in {test['system_a']} alone: {test['a_only']}, in "
        f"{test['system_b']} alone: {test['b_only']}, of {test['n']} examples; "
        f"p {p_value(test['p_holm'])}."
    )


SIDES = ("system_a", "system_b")


def _points(test: Mapping[str, Any]) -> str:
    """The difference with its interval, in percentage points."""
    if test["difference"] is None:
        return "no example scored in both"
    points = f"{100 * test['difference']:+.1f} points"
    limits = f"{100 * test['low']:+.1f} to {100 * test['high']:+.1f}"
    return f"{points} ({limits})".replace("-", MINUS)


def contexts_of(results: Mapping[str, Any]) -> list[ContextKind]:
    """The contexts that were shown, in the recipe's order."""
    return list(results["contexts"])


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


ENDINGS = {
    "length": "cut at the token limit",
    "refusal": "refusals",
    "error": "failed requests",
}
"""Ends of an answer that a reader of rates must know of."""


def ending_rows(results: Mapping[str, Any], context: ContextKind) -> list[list[str]]:
    """How many answers of each system did not end by themselves; only what there is any of."""
    rows = []
    for reason, name in ENDINGS.items():
        endings = [kinds[context]["finish_reasons"] for kinds in results["cost"].values()]
        counts = [own.get(reason, 0) for own in endings]
        if any(counts):
            rows.append([name, *map(str, counts)])
    return rows


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


def say_cut(results: Mapping[str, Any]) -> str:
    """The rule for answers that were cut."""
    if results.get("cut") == "unscored" or results["format"] is None:
        return "answers cut at the token limit are unscored"
    return "answers cut at the token limit are format errors"


SHOWN_SETTINGS = (
    "engine",
    "model",
    "fingerprint",
    "prompt",
    "thinking",
    "format",
    "dtype",
    "temperature",
    "seed",
    "max_new_tokens",
    "prompts",
)
"""Settings of a system that the reports show, where the system has them."""


def cost_table(results: Mapping[str, Any]) -> list[list[str]]:
    """What each system cost on each context; the first row is the head.

    Columns that nobody has anything in (tokens read before, estimates, prices) are left out.
    """
    costs = {
        (system, context): own
        for system, kinds in results["cost"].items()
        for context, own in kinds.items()
    }
    columns = {
        "answers": [str(own["answers"]) for own in costs.values()],
        "calls": [str(own.get("calls", own["answers"])) for own in costs.values()],
        "edits": [str(own.get("edits", 0)) for own in costs.values()],
        "prompt tokens": [f"{own['prompt_tokens']:,}" for own in costs.values()],
        "of them cached": [f"{own.get('cached_tokens', 0):,}" for own in costs.values()],
        "answer tokens": [f"{own['completion_tokens']:,}" for own in costs.values()],
        "estimated counts": [str(own.get("estimated", 0)) for own in costs.values()],
        "seconds": [f"{own['seconds']:.1f}" for own in costs.values()],
        "price": [f"{own['price']:.4f}" if "price" in own else "0" for own in costs.values()],
        "endings": [
            ", ".join(f"{name} {count}" for name, count in own["finish_reasons"].items())
            for own in costs.values()
        ],
    }
    for name in ("edits", "of them cached", "estimated counts", "price"):
        if set(columns[name]) <= {"0"}:
            del columns[name]
    if columns["calls"] == columns["answers"]:
        del columns["calls"]
    rows = zip(*columns.values(), strict=True)
    return [
        ["system", "context", *columns],
        *([*where, *row] for where, row in zip(costs, rows, strict=True)),
    ]


def editing_table(results: Mapping[str, Any], context: ContextKind) -> list[list[str]]:
    """One column for each system that edits another's answers; the first row is the head.

    Every metric as it was before and is after, and the difference.
    """
    shown = metrics_of(results)
    columns = [["%", *(metric.title for metric in shown), "edited answers", "passes"]]
    for system, kinds in results["cost"].items():
        before = results["settings"][system].get("after")
        if before is None:
            continue
        cost = kinds[context]
        passes = [f"{n} for {count}" for n, count in cost["passes"].items() if n != "0"]
        columns.append(
            [
                f"{before} to {system}",
                *(_before_after(results, context, metric, before, system) for metric in shown),
                f"{cost['edited']} of {cost['answers']}",
                ", ".join(passes) or "0",
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)] if len(columns) > 1 else []


def _before_after(
    results: Mapping[str, Any], context: ContextKind, metric: Metric, before: str, system: str
) -> str:
    """``98.3 to 2.0 (-96.3: -98.1 to -93.5)``, in percent and points."""
    rates = [results["systems"][name][context][metric.name]["rate"] for name in (before, system)]
    shown = " to ".join(map(percent, rates))
    for test in tests_of(results, context, metric.name):
        if {test["system_a"], test["system_b"]} == {before, system} and test[
            "difference"
        ] is not None:
            sign = 1 if test["system_b"] == system else -1
            low, high = sorted((sign * test["low"], sign * test["high"]))
            points = (
                f"{100 * sign * test['difference']:+.1f}: {100 * low:+.1f} to {100 * high:+.1f}"
            )
            return f"{shown} ({points.replace('-', MINUS)})"
    return shown
