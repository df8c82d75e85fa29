"""The content of a report: numbers and metrics by name, every table and sentence once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tablemend.records import UNDECIDED, ContextKind, Metric
from tablemend.reports.rendering import align
from tablemend.reports.tabulation import TOTAL
from tablemend.statistics import Rate
from tablemend.tables.read import Format

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


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
    sentences = []
    is_share = metric.kind == "share"
    for test in apart:
        a, b = test["system_a"], test["system_b"]
        rate_a, rate_b = (
            percent(systems[one][test["context"]][test["metric"]]["rate"]) for one in (a, b)
        )
        how = "better" if (test["difference"] > 0) == is_share else "worse"
        sentences.append(
            f"{b} is {how} than {a}: {metric.title} {rate_b} % instead of {rate_a} %, "
            f"{_difference(test)}. {'Higher' if is_share else 'Wrong'} in {a} alone: "
            f"{test['a_only']}, in {b} alone: {test['b_only']}, of {test['n']} examples; "
            f"p {p_value(test['p_holm'])}."
        )
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


def _difference(test: Mapping[str, Any]) -> str:
    if test["difference"] is None:
        return "no example scored in both"
    return points(test["difference"], test["low"], test["high"], " points")


Results = Mapping[str, Any]
"""What results.json holds."""


class Cell(NamedTuple):
    """A cell of a table: its text, and in small print an interval; a tooltip, and where the
    examples behind it are in the viewer.
    """

    text: str
    detail: str = ""
    title: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of a report.

    Attributes:
        head: of the columns.
        rows: the first cell names the row.
        strong: places of the rows that matter most.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    strong: frozenset[int] = frozenset()

    def markdown(self) -> str:
        """Aligned, with details in brackets."""
        texts = [
            [f"{c.text} ({c.detail})" if c.detail else c.text for c in row] for row in self.rows
        ]
        return align([self.head, *texts])

    def short(self, width: int) -> str:
        """Aligned, with details of strong rows alone, in rows of their own; columns that do not fit
        into ``width`` characters follow below, each time after the rows' names.
        """
        texts: list[list[str]] = [list(self.head)]
        for place, row in enumerate(self.rows):
            texts.append([cell.text for cell in row])
            if place in self.strong and any(cell.detail for cell in row):
                texts.append(["  95 % interval", *(cell.detail for cell in row[1:])])
        sizes = [max(3, *(len(row[place]) for row in texts)) + 3 for place in range(len(self.head))]
        parts: list[list[int]] = [[]]
        for place, size in enumerate(sizes[1:], 1):
            taken = 1 + sizes[0] + sum(sizes[one] for one in parts[-1])
            if parts[-1] and taken + size > width:
                parts.append([])
            parts[-1].append(place)
        return "\n\n".join(
            align([[row[0], *(row[p] for p in own)] for row in texts]) for own in parts
        )


def plain(rows: Sequence[Sequence[str]]) -> Rows:
    """A table of texts; the first row is the head."""
    head, *body = rows
    return Rows(head, [[Cell(text) for text in row] for row in body])


# ---- rates ----


def rate_table(
    results: Results,
    context: ContextKind,
    metrics: Sequence[Metric],
    systems: Mapping[str, str] | None = None,
) -> Rows:
    """Rates in percent with their intervals, one metric a row (TotalHallu also by the second
    scorer), one of ``systems`` a column, under what they are called; ``None``: all, by name.
    """
    systems = systems or {system: system for system in results["systems"]}
    own = {system: results["systems"][system][context] for system in systems}
    rows: list[list[Cell]] = []
    strong = set()
    for metric in metrics:
        if metric.name == TOTAL:
            strong.add(len(rows))
        rows.append([Cell(metric.title), *(_rate(own[system][metric.name]) for system in systems)])
        second = results["second"]
        if metric.name == TOTAL and second["scorer"]:
            rates = (_rate(second["systems"][system][context][TOTAL]) for system in systems)
            name = f"TotalHallu, {short_name(second['scorer'])}"
            rows.append([Cell(name, title=second["scorer"]), *rates])
    rows.append([Cell("scored answers (n)"), *(Cell(str(one[TOTAL]["n"])) for one in own.values())])
    for metric in (one for one in metrics if one.kind in ("event", "context")):
        numbers = []
        for system, rates in own.items():
            left_out = results.get("left_out", {}).get(system, {}).get(context, {})
            more = left_out.get(metric.name, 0)
            numbers.append(f"{rates[metric.name]['n']}" + (f", {more} left out" if more else ""))
        rows.append([Cell(f"{metric.title} (n)"), *map(Cell, numbers)])
    if any(results["relations"][system][context].keys() - {UNDECIDED} for system in systems):
        counts = [results["relations"][system][context] for system in systems]
        rows.append([Cell("commonest relation"), *map(_relation, counts)])
    for reason, name in ENDINGS.items():
        endings = [results["cost"][system][context]["finish_reasons"] for system in systems]
        counts = [one.get(reason, 0) for one in endings]
        if any(counts):
            rows.append([Cell(name), *(Cell(str(count)) for count in counts)])
    return Rows(["%", *systems.values()], rows, frozenset(strong))


def system_table(results: Results, context: ContextKind) -> Rows:
    """One system a row: error rates and recalls, and what an answer cost; for pages of results."""
    second = results["second"]
    kinds = ("error", "share", "event", "unscored", "context")
    shown = [one for one in metrics_of(results) if one.kind in kinds]
    total = total_of(results).title
    others = [f"{total}, {short_name(second['scorer'])}"] if second["scorer"] else []
    related = any(
        results["relations"][one][context].keys() - {UNDECIDED} for one in results["relations"]
    )
    rows = []
    for system, kinds in results["systems"].items():
        own, cost = kinds[context], results["cost"][system][context]

        def link(outcome: str, system: str = system) -> str:  # to these answers in the viewer
            chosen = {"context": context, "system": system, "outcome": outcome}
            return f"#examples?{urlencode({name: one for name, one in chosen.items() if one})}"

        row = [
            Cell(system, link=link("")),
            Cell(str(own[TOTAL]["n"])),
            _rate(own[TOTAL])._replace(link=link("any-error")),
        ]
        if second["scorer"]:
            row.append(_rate(second["systems"][system][context][TOTAL]))
        for one in shown:
            where = link(one.name) if one.kind in ("error", "unscored") else ""
            row.append(Cell(percent(own[one.name]["rate"]), link=where))
        for amount, digits in ((cost["completion_tokens"], 0), (cost["seconds"], 2)):
            row.append(Cell(f"{amount / max(1, cost['answers']):.{digits}f}"))
        relations = results["relations"][system][context]
        if related:
            row.append(_relation(relations))
        rows.append(row)
    for system, why in results.get("not_possible", {}).items():
        rows.append([Cell(system), Cell(f"not possible here: {why}"), *[Cell("")] * (len(row) - 2)])
    measures = [total, *others, *(one.column for one in shown)]
    costs = ["tokens an answer", "seconds an answer", *["commonest relation"] * related]
    return Rows(["system (rates in %)", "scored", *measures, *costs], rows)


RELATION = {
    "well_matched": "well matched",
    "too_weak": "too weak",
    "tautologous": "says nothing",
    "too_strong": "too strong",
    "independent": "independent",
    "contradictory": "contradictory",
    "not_well_formed": "not well-formed",
}
"""What the relations of a task's answers are called (docs/evaluation.md)."""


def _relation(counts: Mapping[str, int]) -> Cell:
    """The relation that most answers have to what they should say; all of them on a tooltip."""
    ordered = sorted(counts.items(), key=lambda one: -one[1])
    n = sum(counts.values())
    said = [f"{RELATION.get(name, name)} {percent(count / n)}" for name, count in ordered]
    return Cell(said[0], title=", ".join(said))


ENDINGS = {
    "length": "cut at the token limit",
    "refusal": "refusals",
    "error": "failed requests",
}
"""Ends of an answer that a reader of rates must know of; shown where there is any."""


def _rate(rate: Rate) -> Cell:
    return Cell(percent(rate["rate"]), interval(rate["low"], rate["high"]))


CALCULATED = "attribute"
"""The error that a wrong calculation is (TableHallu, 4.6)."""


def part_table(results: Results, context: ContextKind, by: str, metric: str) -> Rows | None:
    """One metric by parts of the data; ``None`` where there is one part alone.

    Wrong values by what was to be calculated (TableHallu, Figure 7), accuracy by scenario (FAITH,
    Table 3).
    """
    names = parts_of(results, by)
    if len(names) < 2:
        return None
    found = results[by]
    most = {name: max(own[context][name][metric]["n"] for own in found.values()) for name in names}
    head = [f"{name} (n = {most[name]})" for name in names]
    rows = [
        [Cell(system), *(_rate(kinds[context][name][metric]) for name in names)]
        for system, kinds in found.items()
    ]
    return Rows(["%", *head], rows)


# ---- tests and mitigations ----


def pair_sentences(
    results: Results, context: ContextKind, *, only_total: bool = False
) -> list[str]:
    """Every system against the first, by TotalHallu, and by groups and shares too."""
    first = next(iter(results["systems"]))
    shown = [metric for metric in metrics_of(results) if metric.kind in ("group", "share")]
    return [
        sentence
        for metric in sorted(shown, key=lambda metric: metric.name != TOTAL)
        if metric.name == TOTAL or not only_total
        for sentence in say_tests(
            tests_of(results["paired"], context, metric.name, first), results["systems"], metric
        )
    ]


_TESTS = "context|metric|a|b|n|a only|b only|difference|p|p Holm".split("|")


def pair_table(results: Results) -> Rows:
    """All paired tests, between all systems."""
    columns = {metric.name: metric.column for metric in metrics_of(results)}
    rows = []
    for test in results["paired"]:
        names = [str(test[key]) for key in ("system_a", "system_b", "n", "a_only", "b_only")]
        low, high = test["low"], test["high"]
        rows.append(
            [
                *map(Cell, [test["context"], columns[test["metric"]], *names]),
                Cell(
                    percent(test["difference"]),
                    "" if low is None else f"{percent(low)}, {percent(high)}",
                ),
                *(Cell(p_value(test[key]).removeprefix("= ")) for key in ("p", "p_holm")),
            ]
        )
    return Rows(_TESTS, rows)


def editing_table(results: Results, context: ContextKind) -> Rows | None:
    """One column for each system that edits another's answers; ``None`` where none does.

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
    return plain(list(zip(*columns, strict=True))) if len(columns) > 1 else None


def _before_after(
    results: Results, context: ContextKind, metric: Metric, before: str, system: str
) -> str:
    """``98.3 to 2.0: -96.3 (-98.1 to -93.5)``, in percent and points."""
    rates = [results["systems"][name][context][metric.name]["rate"] for name in (before, system)]
    shown = " to ".join(map(percent, rates))
    for test in tests_of(results["paired"], context, metric.name, before, system):
        if test["difference"] is not None:
            sign = 1 if test["system_b"] == system else -1
            ends = [sign * test[key] for key in ("low", "high") if test[key] is not None]
            return f"{shown}: {points(sign * test['difference'], *(sorted(ends) or (None, None)))}"
    return shown


# ---- the scorers' agreement ----

_AGREEMENT = "system|context|both scored|both: error|detector alone|second alone|kappa".split("|")


def agreement_table(results: Results, systems: Sequence[str] | None = None) -> Rows | None:
    """How often the second scorer says what the detector says; ``None`` without one."""
    rows = [
        [
            system,
            context,
            *(str(own[name]) for name in ("n", "both", "detector_only", "second_only")),
            DASH if own["kappa"] is None else f"{own['kappa']:.2f}",
        ]
        for system, context, own in _agreements(results)
        if systems is None or system in systems
    ]
    return plain([_AGREEMENT, *rows]) if rows else None


def _agreements(results: Results) -> list[tuple[str, str, Mapping[str, Any]]]:
    return [
        (system, context, own["agreement"])
        for system, kinds in results["second"]["systems"].items()
        for context, own in kinds.items()
    ]


def say_differing(results: Results, most: int = 5) -> list[str]:
    """Ids of answers on which the scorers differ, in a sentence a system and context."""
    return [
        f"{system}, {context}, {who} alone: {', '.join(ids[:most])}"
        + (f" and {own[name] - most} more" if own[name] > most else "")
        for system, context, own in _agreements(results)
        for name, who in (("detector_only", "detector"), ("second_only", "second scorer"))
        if (ids := own["examples"][name])
    ]


# ---- costs and settings ----

SHOWN_SETTINGS = (
    "engine model rewriter fingerprint prompt thinking format dtype temperature seed "
    "max_new_tokens prompts"
).split()
"""Settings of a system that the reports show, where the system has them."""


def setting_table(results: Results, systems: Sequence[str] | None = None) -> Rows:
    """The settings of the systems, one a column; who edits answers has those of who gave them."""
    every = results["settings"]
    systems = systems or list(every)
    settings = [{**every.get(every[one].get("after"), {}), **every[one]} for one in systems]
    names = [name for name in SHOWN_SETTINGS if any(name in one for one in settings)]
    rows = [[name, *(str(one.get(name, DASH)) for one in settings)] for name in names]
    return plain([["", *systems], *rows])


def cost_table(results: Results) -> Rows:
    """What each system cost on each context.

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
    return plain(
        [
            ["system", "context", *columns],
            *([*where, *row] for where, row in zip(costs, rows, strict=True)),
        ]
    )
