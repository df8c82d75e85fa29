"""report.html: one self-contained page that a stranger can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from tablemend.records import ContextKind, Metric, SampleView
from tablemend.reports import plots
from tablemend.reports.examples import Look, Shown, choose_examples, legend, show_example
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
from tablemend.reports.markdown import EDITING_NOTE, PAIRED_NOTE
from tablemend.reports.markup import Markup, join, tag
from tablemend.reports.words import (
    DASH,
    SHOWN_SETTINGS,
    TOTAL,
    contexts_of,
    cost_table,
    editing_table,
    ending_rows,
    error_classes,
    formats_of,
    interval,
    listed,
    main_share,
    metrics_of,
    p_value,
    percent,
    say_cut,
    say_formats,
    say_tests,
    tested,
    tests_of,
    titles_of,
    total_of,
)
from tablemend.statistics import Rate

ShownSystems = Mapping[str, Mapping[ContextKind, Mapping[str, Shown]]]
"""system -> context -> example id -> answer and judgement."""


def write_html(
    results: Mapping[str, Any], views: Mapping[str, Mapping[str, SampleView]], shown: ShownSystems
) -> str:
    """The whole page: no request leaves it, and every text from a model is escaped."""
    title = f"tablemend comparison: {results['run']}"
    css = files("tablemend.reports").joinpath("style.css").read_text(encoding="utf-8")
    body = tag(
        "main",
        _head(results, title),
        _short(results),
        _meanings(results),
        _plots(results),
        _rates(results),
        _tests(results),
        _editing(results),
        _judges(results),
        _examples(results, views, shown),
        _provenance(results),
    )
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
            tag("title", title),
            tag("style", Markup(css)),
        ),
        tag("body", body),
        lang="en",
    )
    return f"<!doctype html>\n{page}\n"


SECTIONS = {
    "short": "In short",
    "meanings": "What is counted",
    "plots": "Plots",
    "rates": "All rates",
    "tests": "Do the systems differ?",
    "editing": "Before and after editing",
    "judges": "Do the scorers agree?",
    "examples": "Examples",
    "provenance": "Where the numbers come from",
}


def _section(name: str, *children: str | None) -> Markup:
    return tag("section", tag("h2", SECTIONS[name]), *children, id=name)


def _head(results: Mapping[str, Any], title: str) -> Markup:
    return join(
        tag("h1", title),
        tag(
            "p",
            f"{results['description']} {results['n']} samples, each answered by "
            f"{len(results['systems'])} systems (a model with a way of asking it).",
            class_="lead",
        ),
        tag("p", f"Judge: {results['judge']}.{_beside(results)}", class_="note"),
        *(tag("p", f"Warning: {line}.", class_="warning") for line in results.get("warnings", ())),
        tag(
            "nav",
            *(
                tag("a", text, href=f"#{name}")
                for name, text in SECTIONS.items()
                if (name != "editing" or _edits(results))
                and (name != "judges" or results["second_scorer"] is not None)
            ),
        ),
    )


def _beside(results: Mapping[str, Any]) -> str:
    judges = second_scorers(results)
    return f" Beside it: {listed(judges)}." if judges else ""


def _short(results: Mapping[str, Any]) -> Markup:
    contexts = contexts_of(results)
    context = contexts[-1]
    first = next(iter(results["systems"]))
    total = total_of(results)
    tests = tests_of(results, context, TOTAL, first)
    sentences = say_tests(tests, results["systems"], total)
    share = main_share(results)
    return _section(
        "short",
        tag(
            "p",
            f"Answers with {total.meaning} (TotalHallu) on {results['contexts'][context]}, with "
            "the 95 % interval"
            + ("." if share is None else f"; below it, {share.title}: {share.meaning}."),
        ),
        tag(
            "div",
            *(
                _card(index, system, kinds[context], share, _second_card(results, context, index))
                for index, (system, kinds) in enumerate(results["systems"].items())
            ),
            class_="cards",
        ),
        _sentences(sentences) if sentences else None,
    )


def _second_card(results: Mapping[str, Any], context: ContextKind, index: int) -> list[str]:
    """What each second scorer says of one system."""
    return [
        f"by {short_judge(judge)} {percent(rates[index]['rate'])} %"
        for judge, rates in second_rates(results, context).items()
    ]


def _card(
    index: int,
    system: str,
    rates: Mapping[str, Rate],
    share: Metric | None,
    second: Sequence[str],
) -> Markup:
    total = rates[TOTAL]
    return tag(
        "div",
        tag("span", system, class_="name"),
        tag("b", f"{percent(total['rate'])} %"),
        tag("span", f"{interval(total['low'], total['high'])} %, n = {total['n']}"),
        *(tag("span", said) for said in second),
        None
        if share is None
        else tag("span", f"{share.column} {percent(rates[share.name]['rate'])} %"),
        class_="card",
        style=f"--system: var(--system-{index % len(plots.MARKERS)})",
    )


def _meanings(results: Mapping[str, Any]) -> Markup:
    items: list[Markup] = []
    classes = error_classes(results)
    for metric in metrics_of(results):
        kind = classes.get(metric.name)
        chip = tag("span", metric.title, class_=f"chip {kind}") if kind else metric.title
        items += [tag("dt", chip), tag("dd", metric.meaning)]
    return _section(
        "meanings",
        tag(
            "p",
            "Rates are shares of the scored answers; an answer counts once for every kind of "
            "error that it shows, however often. Read a low rate beside the shares: who writes "
            "nothing makes no mistake.",
        ),
        tag("dl", *items),
    )


def _plots(results: Mapping[str, Any]) -> Markup:
    domains = plots.plot_domains(results)
    return _section(
        "plots",
        _figure(
            plots.plot_errors(results),
            "What goes wrong. Each mark is the share of a system's answers that show the error; "
            "the line is its 95 % interval. Further left is better.",
        ),
        _figure(
            plots.plot_contexts(results),
            "What distractors cost. The longer the pale bar, the more a system is misled by facts "
            "that were not asked for.",
        )
        if len(contexts_of(results)) > 1
        else None,
        _figure(
            plots.plot_lengths(results),
            f"By length, in {results['length_unit']}: samples are parted into groups of about the "
            "same size.",
        ),
        _figure(domains, "By domain: answers with at least one error.")
        if domains is not None
        else tag(
            "p", "All examples are of one domain, so there is no plot by domain.", class_="note"
        ),
    )


def _figure(svg: Markup, caption: str) -> Markup:
    return tag("figure", tag("div", svg, class_="plot"), tag("figcaption", caption))


def _rates(results: Mapping[str, Any]) -> Markup:
    parts: list[Markup] = []
    for context in contexts_of(results):
        head = ["", *(f"{system}" for system in results["systems"])]
        rows = []
        for metric in metrics_of(results):
            cells = [
                _rate_cell(kinds[context][metric.name]) for kinds in results["systems"].values()
            ]
            name = tag("th", metric.title, scope="row", title=metric.meaning)
            is_total = metric.name == TOTAL
            rows.append(tag("tr", name, *cells, class_="total" if is_total else None))
            if is_total:
                rows += _second_rows(results, context)
        counts = [str(kinds[context][TOTAL]["n"]) for kinds in results["systems"].values()]
        rows.append(
            tag("tr", tag("th", "scored answers", scope="row"), *(tag("td", n) for n in counts))
        )
        rows += [
            tag("tr", tag("th", name, scope="row"), *(tag("td", n) for n in counts))
            for name, *counts in ending_rows(results, context)
        ]
        title = tag("h3", f"On {results['contexts'][context]}, %")
        parts.append(tag("div", title, tag("div", _table(head, rows), class_="scroll")))
    return _section("rates", tag("div", *parts, class_="beside"))


def _second_rows(results: Mapping[str, Any], context: ContextKind) -> list[Markup]:
    return [
        tag(
            "tr",
            tag("th", f"TotalHallu, {short_judge(judge)}", scope="row", title=judge),
            *map(_rate_cell, rates),
            class_="total",
        )
        for judge, rates in second_rates(results, context).items()
    ]


def _rate_cell(rate: Rate) -> Markup:
    return tag("td", percent(rate["rate"]), tag("small", interval(rate["low"], rate["high"])))


def _table(head: Sequence[str], rows: Sequence[Markup]) -> Markup:
    return tag(
        "table",
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))),
        tag("tbody", *rows),
        class_="numbers",
    )


def _tests(results: Mapping[str, Any]) -> Markup:
    systems = results["systems"]
    if len(systems) == 1:
        return _section("tests", tag("p", "There is one system, and nothing to compare."))
    first = next(iter(systems))
    parts: list[Markup] = [tag("p", PAIRED_NOTE)]
    for context in contexts_of(results):
        sentences = [
            sentence
            for metric in tested(results)
            for sentence in say_tests(
                tests_of(results, context, metric.name, first), systems, metric
            )
        ]
        parts += [
            tag("h3", f"Against {first}, on {results['contexts'][context]}"),
            _sentences(sentences),
        ]
    head = [
        "context",
        "metric",
        "a",
        "b",
        "n",
        "a only",
        "b only",
        "difference",
        "ratio",
        "p",
        "p Holm",
    ]
    columns = {metric.name: metric.column for metric in metrics_of(results)}
    rows = [_test_row(test, columns) for test in results["paired"]]
    every = tag(
        "details",
        tag("summary", f"All {len(rows)} tests, between all systems"),
        tag("div", _table(head, rows), class_="scroll"),
    )
    return _section("tests", *parts, every)


def _edits(results: Mapping[str, Any]) -> bool:
    return any(own.get("after") for own in results["settings"].values())


def _editing(results: Mapping[str, Any]) -> Markup | None:
    """What mitigations made of stored answers; nothing where no system edits."""
    if not _edits(results):
        return None
    parts: list[Markup] = [tag("p", EDITING_NOTE)]
    for context, name in results["contexts"].items():
        head, *rows = editing_table(results, context)
        body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
        parts += [tag("h3", f"On {name}, %"), tag("div", _table(head, body), class_="scroll")]
    return _section("editing", *parts)


def _judges(results: Mapping[str, Any]) -> Markup | None:
    """Nothing where the task has no second scorer."""
    if results["second_scorer"] is None:
        return None
    rows = agreement_rows(results)
    if not rows:
        return _section("judges", tag("p", NO_SECOND_JUDGE))
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    differing = say_differing(results)
    return _section(
        "judges",
        tag("p", AGREEMENT_NOTE),
        tag("div", _table(AGREEMENT_HEAD, body), class_="scroll"),
        tag("p", "Examples on which they differ, by id:") if differing else None,
        _sentences(differing) if differing else None,
    )


def _sentences(sentences: Sequence[str]) -> Markup:
    return tag("ul", *(tag("li", one) for one in sentences), class_="tests")


def _test_row(test: Mapping[str, Any], columns: Mapping[str, str]) -> Markup:
    ratio = "" if test["ratio"] is None else f"{test['ratio']:.2f}"
    limits = "" if test["ratio"] is None else f"{test['ratio_low']:.2f}, {test['ratio_high']:.2f}"
    cells = [
        tag("td", test["context"]),
        tag("td", columns[test["metric"]]),
        *(tag("td", str(test[name])) for name in ("system_a", "system_b", "n", "a_only", "b_only")),
        tag("td", percent(test["difference"]), tag("small", _span(test["low"], test["high"]))),
        tag("td", ratio, tag("small", limits)),
        tag("td", p_value(test["p"]).removeprefix("= ")),
        tag("td", p_value(test["p_holm"]).removeprefix("= ")),
    ]
    return tag("tr", *cells)


def _span(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{percent(low)}, {percent(high)}"


def _examples(
    results: Mapping[str, Any],
    views: Mapping[str, Mapping[str, SampleView]],
    shown: ShownSystems,
) -> Markup:
    context = contexts_of(results)[-1]
    own = views[context]
    judgements = {
        system: {example_id: one.judgement for example_id, one in kinds[context].items()}
        for system, kinds in shown.items()
    }
    chosen = choose_examples(judgements)
    look = Look(formats_of(results), titles_of(results), error_classes(results))
    articles = [
        show_example(
            number,
            own[example_id],
            {
                system: kinds[context][example_id]
                for system, kinds in shown.items()
                if example_id in kinds[context]
            },
            look,
        )
        for number, example_id in enumerate(chosen, 1)
    ]
    return _section(
        "examples",
        tag(
            "p",
            f"{len(chosen)} of {len(own)} samples, on {results['contexts'][context]}, chosen by a "
            "rule so that every kind of error of every system is seen: telling, not "
            "representative. "
            "What is wrong has the colour of its error and a number; the list below it, and a "
            "tooltip, say why.",
        ),
        legend(look),
        *articles,
    )


def _provenance(results: Mapping[str, Any]) -> Markup:
    cost_head, *costs = cost_table(results)
    cost_rows = [tag("tr", *(tag("td", cell) for cell in row)) for row in costs]
    setting_rows = [
        tag(
            "tr",
            tag("td", system),
            *(tag("td", str(settings.get(name, DASH))) for name in SHOWN_SETTINGS),
        )
        for system, settings in results["settings"].items()
    ]
    data = results["data"]
    return _section(
        "provenance",
        tag(
            "p",
            f"Recipe {results['recipe']}, task {results['task']}; samples: {data['source']}, hash "
            f"{data['hash']}; answers asked for as {say_formats(results)}; {say_cut(results)}; "
            f"judge: {results['judge']}. ",
            "The numbers of this page are in ",
            tag("code", "results.json"),
            ", code and package versions in ",
            tag("code", "manifest.json"),
            ", every answer in ",
            tag("code", "generations/"),
            " beside it.",
        ),
        tag("h3", "Cost"),
        tag("div", _table(cost_head, cost_rows), class_="scroll"),
        tag("h3", "Systems"),
        tag("div", _table(["system", *SHOWN_SETTINGS], setting_rows), class_="scroll"),
    )
