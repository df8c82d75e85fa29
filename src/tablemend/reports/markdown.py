"""report.md, and the table that is printed to the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablemend.records import ContextKind
from tablemend.reports.judges import (
    AGREEMENT_HEAD,
    AGREEMENT_NOTE,
    NO_SECOND_JUDGE,
    agreement_rows,
    say_differing,
    second_rates,
    second_scorers,
    short_judge,
)
from tablemend.reports.words import (
    SHOWN_SETTINGS,
    TOTAL,
    cost_table,
    editing_table,
    ending_rows,
    interval,
    listed,
    metrics_of,
    percent,
    say_cut,
    say_formats,
    say_tests,
    tested,
    tests_of,
    with_interval,
)
from tablemend.statistics import Rate


def align(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its cells padded so that it can be read as it is; first row is the head.

    The first column is aligned to the left, the others to the right.
    """
    rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    widths = [max(3, *(len(row[index]) for row in rows)) for index in range(len(rows[0]))]
    lines = [
        [cell.rjust(width) if index else cell.ljust(width) for index, (cell, width) in pairs]
        for pairs in (list(enumerate(zip(row, widths, strict=True))) for row in rows)
    ]
    rule = [
        "-" * width if index == 0 else "-" * (width - 1) + ":" for index, width in enumerate(widths)
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def rate_table(results: Mapping[str, Any], context: ContextKind) -> str:
    """Rates in percent, one system a column; TotalHallu with its 95 % interval below it."""
    systems = {system: kinds[context] for system, kinds in results["systems"].items()}
    rows = [["%", *systems]]
    for metric in metrics_of(results):
        rates = [own[metric.name] for own in systems.values()]
        rows.append([metric.title, *(percent(rate["rate"]) for rate in rates)])
        if metric.name == TOTAL:
            rows.append(["  95 % interval", *(interval(r["low"], r["high"]) for r in rates)])
            for judge, own_rates in second_rates(results, context).items():
                named = f"  by {short_judge(judge)}"
                rows.append([named, *(percent(rate["rate"]) for rate in own_rates)])
    return align([*rows, _counts(systems), *ending_rows(results, context)])


def terminal_table(results: Mapping[str, Any]) -> str:
    """The tables of all contexts, for the end of the command."""
    tables = [
        f"On {name}, {results['n']} examples:\n{rate_table(results, context)}"
        for context, name in results["contexts"].items()
    ]
    return "\n\n".join([*(f"warning: {line}" for line in results.get("warnings", ())), *tables])


def write_markdown(results: Mapping[str, Any]) -> str:
    """The whole report as Markdown."""
    parts = [
        f"# Comparison of {listed(list(results['systems']))}: run {results['run']}",
        f"{results['n']} examples, the same for every system. Judge: {results['judge']}. "
        "Rates are percentages of the scored answers; an answer counts once for every kind of "
        "error that it shows. Intervals are 95 %.",
        *(f"**Warning.** {line}." for line in results.get("warnings", ())),
    ]
    for context, name in results["contexts"].items():
        parts += [f"## Rates on {name}", _interval_table(results, context)]
    parts += post_editing(results)
    parts += ["## Do the systems differ?", PAIRED_NOTE, *_test_lists(results)]
    if results["second_scorer"] is not None:
        parts += ["## Do the scorers agree?", *_agreement(results)]
    parts += ["## What the columns mean", _glossary(results)]
    parts += ["## Cost", _cost_table(results)]
    parts += ["## Where the numbers come from", _provenance(results)]
    return "\n\n".join(parts) + "\n"


EDITING_NOTE = (
    "Answers that a mitigation edited, against the same answers before: how many were edited, how "
    "often it went over them, and what of them still has an error. Differences are in points, with "
    "their 95 % interval."
)


def post_editing(results: Mapping[str, Any]) -> list[str]:
    """What mitigations made of stored answers (TabFaith, Table 3 and Figure 2)."""
    tables = [
        f"On {name}:\n\n{align(table)}"
        for context, name in results["contexts"].items()
        if (table := editing_table(results, context))
    ]
    return ["## Before and after editing", EDITING_NOTE, *tables] if tables else []


PAIRED_NOTE = (
    "Tests compare systems on the same examples. Events: exact McNemar test, Newcombe's interval "
    "of the difference, Bonett and Price's of the ratio. Recalls: paired bootstrap, and a test "
    "that swaps the systems at random. All p-values are corrected for the number of tests of the "
    "same metric (Holm)."
)


def _interval_table(results: Mapping[str, Any], context: ContextKind) -> str:
    systems = {system: kinds[context] for system, kinds in results["systems"].items()}
    rows = [["%", *systems]]
    for metric in metrics_of(results):
        rates = [own[metric.name] for own in systems.values()]
        rows.append([metric.title, *map(with_interval, rates)])
        if metric.name == TOTAL:
            for judge, own in second_rates(results, context).items():
                rows.append([f"TotalHallu, {short_judge(judge)}", *map(with_interval, own)])
    return align([*rows, _counts(systems), *ending_rows(results, context)])


def _counts(systems: Mapping[str, Mapping[str, Rate]]) -> list[str]:
    """The row below a table of rates that says what they are rates of."""
    return ["scored answers (n)", *(str(own[TOTAL]["n"]) for own in systems.values())]


def _test_lists(results: Mapping[str, Any]) -> list[str]:
    if len(results["systems"]) == 1:
        return ["There is one system, and nothing to compare."]
    first = next(iter(results["systems"]))
    parts = []
    for context, name in results["contexts"].items():
        lines = [
            f"- {sentence}"
            for metric in tested(results)
            for sentence in say_tests(
                tests_of(results, context, metric.name, first), results["systems"], metric
            )
        ]
        parts.append("\n".join([f"On {name}:", "", *lines]))
    return parts


def _agreement(results: Mapping[str, Any]) -> list[str]:
    rows = agreement_rows(results)
    if not rows:
        return [NO_SECOND_JUDGE]
    listed_ids = "\n".join(f"- {line}" for line in say_differing(results))
    return [AGREEMENT_NOTE, align([AGREEMENT_HEAD, *rows]), *filter(None, [listed_ids])]


def _glossary(results: Mapping[str, Any]) -> str:
    return "\n".join(
        f"- **{one.title}** ({one.column}): {one.meaning}" for one in metrics_of(results)
    )


def _cost_table(results: Mapping[str, Any]) -> str:
    return align(cost_table(results))


def _provenance(results: Mapping[str, Any]) -> str:
    data = results["data"]
    lines = [
        f"- judge: {results['judge']}",
        f"- second scorers: {', '.join(second_scorers(results)) or 'none'}",
        f"- examples: {data['source']}, {results['n']} of them, hash {data['hash']}",
        f"- task: {results['task']}; answers asked for as {say_formats(results)}",
        f"- {say_cut(results)}",
    ]
    for system, settings in results["settings"].items():
        chosen = [f"{name} {settings[name]}" for name in SHOWN_SETTINGS if name in settings]
        lines.append(f"- {system}: " + ", ".join(chosen))
    return "\n".join(lines)
