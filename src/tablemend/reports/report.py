"""From a run folder to what people look at: report.md and report.html."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from tablemend.errors import TablemendError
from tablemend.generations import Generations
from tablemend.records import Judgement, SampleView
from tablemend.reports import plots
from tablemend.reports.content import (
    CALCULATED,
    agreement_table,
    cost_table,
    editing_table,
    pair_sentences,
    pair_table,
    part_table,
    rate_table,
    say_differing,
    setting_table,
    system_table,
)
from tablemend.reports.page_markers import fill_page
from tablemend.reports.rendering import inline_hash, render, resource
from tablemend.reports.stored_results import read_results
from tablemend.reports.viewer import Shown, ShownSystems, Views, pack_examples
from tablemend.reports.wording import (
    TOTAL,
    contexts_of,
    listed,
    main_share,
    metrics_of,
    say_cut,
    say_formats,
    say_unread,
    total_of,
)
from tablemend.runs import read_jsonl, write_text

SCRIPTS = ("vendor/preact-10.29.8/preact.min.umd.js", "vendor/preact-10.29.8/hooks.umd.js",
           "vendor/htm-3.1.1/htm.umd.js", "viewer.js")  # fmt: skip


def write_reports(run: Path) -> dict[str, Any]:
    """Write report.md and report.html from what a comparison left in its run folder.

    Returns:
        The results.

    Raises:
        TablemendError: the folder holds no finished comparison.
    """
    path = run / "results.json"
    if not path.is_file():
        raise TablemendError(
            f"no {path}: run the comparison first (python eval/compare.py recipe=... run=...)"
        )
    results = read_results(path)
    try:
        views: dict[str, dict[str, SampleView]] = {}
        for line in read_jsonl(run / "views.jsonl"):
            one = SampleView.from_json(line)
            views.setdefault(one.view, {})[one.id] = one
        shown = _read_shown(run)
        if shown.keys() != results["systems"].keys():
            raise TablemendError(
                f"{run}: judgements.jsonl is not of the systems of results.json: run the "
                "comparison again (python eval/compare.py recipe=... run=...)"
            )
        pages = write_markdown(results), write_html(results, views, shown)
    except (LookupError, TypeError, ValueError, AttributeError, jinja2.TemplateError) as error:
        raise TablemendError(
            f"{run}: results.json, views.jsonl or judgements.jsonl are not as this version writes "
            f"them ({error!r}): run the comparison again (python eval/compare.py recipe=... "
            "run=...)"
        ) from error
    write_text(run / "report.md", pages[0])
    write_text(run / "report.html", pages[1])
    return results


def _read_shown(run: Path) -> ShownSystems:
    generations = Generations(run / "generations")
    shown: dict[str, dict[Any, dict[str, Shown]]] = {}
    answers: dict[tuple[str, str], Any] = {}
    for line in read_jsonl(run / "judgements.jsonl"):
        system, context, example_id = (
            line.pop("system"),
            line.pop("context"),
            line.pop("example_id"),
        )
        if (system, context) not in answers:
            answers[system, context] = generations.read(system, context)
        if example_id not in answers[system, context]:
            raise TablemendError(
                f"{generations.path(system, context)} no longer holds the answers that "
                "results.json was made from: run the comparison to its end "
                "(python eval/compare.py recipe=...)"
            )
        one = Shown(answers[system, context][example_id].answer, Judgement.from_json(line))
        shown.setdefault(system, {}).setdefault(context, {})[example_id] = one
    return shown


def fill_results_page(path: Path, results: Mapping[str, Any]) -> None:
    """Put a table of all systems for each context into a page's marked places.

    Raises:
        TablemendError: no such page, or a marker that names no context of this run.
    """
    made = {context: system_table(results, context).markdown() for context in results["contexts"]}
    fill_page(path, made, made)


def terminal_table(results: Mapping[str, Any]) -> str:
    """The rates on all contexts, for the end of the command."""
    tables = [
        f"On {name}, {results['n']} examples:\n"
        f"{rate_table(results, context, metrics_of(results)).short()}"
        for context, name in results["contexts"].items()
    ]
    unread = say_unread(results)
    impossible = results.get("not_possible", {}).items()
    return "\n\n".join(
        [*unread, *tables, *(f"{name}: not possible here: {why}" for name, why in impossible)]
    )


def write_markdown(results: Mapping[str, Any]) -> str:
    """The whole report as Markdown."""
    return render("tablemend.reports", "report.md.j2", **_content(results))


SECTIONS = {
    "short": "In short",
    "meanings": "What is counted",
    "plots": "Plots",
    "rates": "All rates",
    "tests": "Do the systems differ?",
    "editing": "Before and after editing",
    "agreement": "Do the scorers agree?",
    "provenance": "Where the numbers come from",
}


def write_html(results: Mapping[str, Any], views: Views, shown: ShownSystems) -> str:
    """The whole page: no request leaves it, and every text from a model is escaped."""
    content, last = _content(results), contexts_of(results)[-1]
    left_out = set() if content["edits"] else {"editing"}
    if results["second_scorer"] is None:
        left_out.add("agreement")
    errors = [metric.name for metric in content["metrics"] if metric.kind == "error"]
    scripts = [resource("tablemend.reports", name) for name in SCRIPTS]
    return render(
        "tablemend.reports",
        "report.html.j2",
        **content,
        css=resource("tablemend.reports", "style.css")
        + resource("tablemend.reports", "viewer.css"),
        scripts=scripts,
        policy=" ".join(f"'{inline_hash(one)}'" for one in scripts),
        data=pack_examples(results, views, shown),
        sections={id: title for id, title in SECTIONS.items() if id not in left_out},
        styles={name: f"error-{place}" for place, name in enumerate(errors)},
        total=total_of(results),
        last=results["contexts"][last],
        short=system_table(results, last),
        differences=pair_sentences(results, last, only_total=True),
        plots={
            "errors": plots.plot_errors(results),
            "contexts": plots.plot_contexts(results),
            "lengths": plots.plot_lengths(results),
            "domains": plots.plot_parts(results, "by_domain", TOTAL),
            "calculations": plots.plot_parts(results, "by_calculation", CALCULATED),
        },
        tests=pair_table(results),
    )


def _content(results: Mapping[str, Any]) -> dict[str, Any]:
    """What the page and the Markdown report both show."""
    metrics = metrics_of(results)
    several = len(results["systems"]) > 1
    share = main_share(results)
    contexts = {
        name: {
            "rates": rate_table(results, context, metrics),
            "editing": editing_table(results, context),
            "tests": pair_sentences(results, context) if several else [],
            "calculations": part_table(results, context, "by_calculation", CALCULATED),
            "domains": part_table(results, context, "by_domain", share.name) if share else None,
        }
        for context, name in results["contexts"].items()
    }
    return {
        "results": results,
        "metrics": metrics,
        "share": share,
        "contexts": list(contexts.items()),
        "edits": any(settings.get("after") for settings in results["settings"].values()),
        "agreement": agreement_table(results),
        "differing": say_differing(results),
        "costs": cost_table(results),
        "settings": setting_table(results),
        "formats": say_formats(results),
        "cut": say_cut(results),
        "unread": say_unread(results),
        "listed": listed,
    }
