"""What numbers, metrics and tests are called: the wording that all reports share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablemend.records import ERROR_TYPES, ContextKind
from tablemend.reports.rates import Rate
from tablemend.tables.read import Format

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
ERROR_NAMES: Mapping[str, str] = {
    "format_error": "Format error",
    "out_of_range": "Out of range",
    "order_mismatch": "Order mismatch",
    "attribute": "Attribute distortion",
    "blank_filling": "Blank-filling",
    "entity_fabrication": "Entity fabrication",
}
ERROR_MEANINGS: Mapping[str, str] = {
    "format_error": "no readable table, or not the columns that the query asked for, in its order",
    "out_of_range": "a row that the context does mention but the query's scope leaves out",
    "order_mismatch": "the rows are not sorted as the query says",
    "attribute": "a value that contradicts the context, or is missing though the context has it",
    "blank_filling": "a value where the context says nothing and the cell should be empty",
    "entity_fabrication": "a row about something that the context never mentions",
}
METRIC_NAMES: dict[str, str] = {
    **ERROR_NAMES,
    "constraint_violation": "Constraint violation",
    "context_violation": "Context violation",
    "total_hallu": "TotalHallu",
    "row_recall": "Row recall",
    "cell_recall": "Cell recall",
    "abstention": "Abstention",
    "unjudged": "Unjudged",
}
METRIC_MEANINGS: dict[str, str] = {
    **ERROR_MEANINGS,
    "constraint_violation": "a format error, an out-of-range row or an order mismatch: the query "
    "was not followed",
    "context_violation": "a distorted value, a filled blank or an invented row: the context was "
    "not followed",
    "total_hallu": "at least one error of any kind",
    "row_recall": "share of the rows asked for that the answer contains; higher is better",
    "cell_recall": "share of the values asked for that the answer states correctly; higher is "
    "better",
    "abstention": "a readable table without a single filled row: no error, and no answer",
    "unjudged": "no verdict was possible; these answers count in no other column",
}
CONTEXT_NAMES: dict[ContextKind, str] = {
    "clean": "clean contexts",
    "adversarial": "adversarial contexts",
}
COLUMN_NAMES: dict[str, str] = {
    "format_error": "format",
    "out_of_range": "range",
    "order_mismatch": "order",
    "attribute": "attribute",
    "blank_filling": "blank",
    "entity_fabrication": "fabrication",
    "constraint_violation": "constraint",
    "context_violation": "context",
    "total_hallu": "TotalHallu",
    "row_recall": "row recall",
    "cell_recall": "cell recall",
    "abstention": "abstention",
    "unjudged": "unjudged",
}
TESTED = ("total_hallu", "constraint_violation", "context_violation", "row_recall", "cell_recall")
"""Metrics whose tests are put into words; the others stand in the table of all tests."""

assert set(ERROR_NAMES) == set(ERROR_TYPES)


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
    results: Mapping[str, Any], context: str, metric: str, arm_a: str | None = None
) -> list[dict[str, Any]]:
    """The paired tests of one metric on one context, of one arm against the others or all."""
    return [
        test
        for test in results["paired"]
        if test["context"] == context
        and test["metric"] == metric
        and arm_a in (None, test["arm_a"])
    ]


def say_tests(tests: Sequence[Mapping[str, Any]], arms: Mapping[str, Any]) -> list[str]:
    """Tests of one metric against one arm: a sentence for each arm that is told apart from it,
    and one for all others. Absence of evidence is not called equality.
    """
    apart = [test for test in tests if is_told_apart(test)]
    rest = [test for test in tests if not is_told_apart(test)]
    sentences = [_say_apart(test, arms) for test in apart]
    if rest:
        named = "; ".join(f"{test['arm_b']}, {_points(test)}" for test in rest)
        name = METRIC_NAMES[rest[0]["metric"]]
        sentences.append(
            f"Not told apart from {rest[0]['arm_a']} in {name} by these examples: {named}."
        )
    return sentences


def is_told_apart(test: Mapping[str, Any], level: float = 0.05) -> bool:
    """Whether the corrected p-value is below the level."""
    return test["p_holm"] is not None and test["p_holm"] < level


def _say_apart(test: Mapping[str, Any], arms: Mapping[str, Any]) -> str:
    recall = test["metric"].endswith("recall")
    better = (test["difference"] > 0) == recall
    rates = [percent(arms[test[arm]][test["context"]][test["metric"]]["rate"]) for arm in SIDES]
    ratio = ""
    if test["ratio"] is not None:
        limits = f"{test['ratio_low']:.2f}{DASH}{test['ratio_high']:.2f}"
        ratio = f", {test['ratio']:.2f} times as much ({limits})"
    what = "Higher" if recall else "Wrong"
    return (
        f"{test['arm_b']} is {'better' if better else 'worse'} than {test['arm_a']}: "
        f"{METRIC_NAMES[test['metric']]} {rates[1]} % instead of {rates[0]} %, "
        f"{_points(test)}{ratio}. {what} in {test['arm_a']} alone: {test['a_only']}, in "
        f"{test['arm_b']} alone: {test['b_only']}, of {test['n']} examples; "
        f"p {p_value(test['p_holm'])}."
    )


SIDES = ("arm_a", "arm_b")


def _points(test: Mapping[str, Any]) -> str:
    """The difference with its interval, in percentage points."""
    if test["difference"] is None:
        return "no example judged in both"
    points = f"{100 * test['difference']:+.1f} points"
    limits = f"{100 * test['low']:+.1f} to {100 * test['high']:+.1f}"
    return f"{points} ({limits})".replace("-", MINUS)


def contexts_of(results: Mapping[str, Any]) -> list[ContextKind]:
    """The contexts that were shown, in the recipe's order."""
    return list(next(iter(results["arms"].values())))


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
    """How many answers of each arm did not end by themselves; only what there is any of."""
    rows = []
    for reason, name in ENDINGS.items():
        endings = [kinds[context]["finish_reasons"] for kinds in results["cost"].values()]
        counts = [own.get(reason, 0) for own in endings]
        if any(counts):
            rows.append([name, *map(str, counts)])
    return rows


def formats_of(results: Mapping[str, Any]) -> dict[str, Format]:
    """The table format that each arm was asked for."""
    return {
        arm: settings.get("format", results["format"])
        for arm, settings in results["settings"].items()
    }


def say_formats(results: Mapping[str, Any]) -> str:
    """``markdown``, or ``markdown (base and cot), json (structured)`` where arms differ."""
    arms: dict[str, list[str]] = {}
    for arm, format in formats_of(results).items():
        arms.setdefault(format, []).append(arm)
    if len(arms) == 1:
        return next(iter(arms))
    return ", ".join(f"{format} ({listed(names)})" for format, names in arms.items())


def say_cut(results: Mapping[str, Any]) -> str:
    """The rule for answers that were cut."""
    if results.get("cut") == "unjudged":
        return "answers cut at the token limit are unjudged"
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
"""Settings of an arm that the reports show, where the arm has them."""


def cost_table(results: Mapping[str, Any]) -> list[list[str]]:
    """What each arm cost on each context; the first row is the head.

    Columns that nobody has anything in (tokens read before, estimates, prices) are left out.
    """
    costs = {
        (arm, context): own
        for arm, kinds in results["cost"].items()
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
        ["arm", "context", *columns],
        *([*where, *row] for where, row in zip(costs, rows, strict=True)),
    ]
