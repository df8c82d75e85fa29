"""From a run folder to what people look at: report.md and report.html."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import jinja2
from markupsafe import Markup

from tablemend.errors import TablemendError
from tablemend.generations import Generations
from tablemend.records import Answer, ContextKind, Judgement, SampleView
from tablemend.reports import plots
from tablemend.reports.content import (
    CALCULATED,
    agreement_table,
    cost_table,
    editing_table,
    formats_of,
    listed,
    main_share,
    metrics_of,
    pair_sentences,
    pair_table,
    part_table,
    rate_table,
    say_cut,
    say_differing,
    say_formats,
    say_unread,
    setting_table,
    system_table,
    total_of,
)
from tablemend.reports.rendering import fill_page, inline_hash, render, resource
from tablemend.reports.tabulation import TOTAL, FinishedRun, Views, each_part
from tablemend.runs import write_text
from tablemend.tables.extract import extract_table
from tablemend.tables.read import Format
from tablemend.tables.table import Table
from tablemend.thinking import end_of_thinking

SCRIPTS = ("vendor/preact-10.29.8/preact.min.umd.js", "vendor/preact-10.29.8/hooks.umd.js",
           "vendor/htm-3.1.1/htm.umd.js", "viewer.js")  # fmt: skip


def write_reports(run: Path) -> dict[str, Any]:
    """Write report.md and report.html from what a comparison left in its run folder.

    Returns:
        The results.

    Raises:
        TablemendError: the folder holds no finished comparison.
    """
    try:
        finished = FinishedRun.read(run)
        results, views, shown = finished.results, finished.views, _read_shown(run, finished)
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


def _read_shown(run: Path, finished: FinishedRun) -> ShownSystems:
    generations = Generations(run / "generations")

    def shown(
        system: str, context: ContextKind, own: Mapping[str, Judgement]
    ) -> dict[str, ShownAnswer]:
        answers = generations.read(system, context)
        if own.keys() - answers.keys():
            raise TablemendError(
                f"{generations.path(system, context)} no longer holds the answers that "
                "results.json was made from: run the comparison to its end "
                "(python eval/compare.py recipe=...)"
            )
        return {name: ShownAnswer(answers[name].answer, one) for name, one in own.items()}

    return each_part(finished.judgements, shown)


def fill_results_page(path: Path, results: Mapping[str, Any]) -> None:
    """Put a table of all systems for each context into a page's marked places.

    Raises:
        TablemendError: no such page, or a marker that names no context of this run.
    """
    made = {context: system_table(results, context).markdown() for context in results["contexts"]}
    fill_page(path, made, made)


def terminal_table(results: Mapping[str, Any]) -> str:
    """The rates on all contexts, for the end of the command; as wide as the terminal, else 100."""
    width = get_terminal_size((100, 24)).columns
    tables = [
        f"On {name}, {results['n']} examples:\n"
        f"{rate_table(results, context, metrics_of(results)).short(width)}"
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
    content, last = _content(results), list(results["contexts"])[-1]
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


BLOCK = 1 << 18
"""Characters of a block before it is compressed: what is read to open one example."""
BETWEEN_WORDS = re.compile(r'[\s|"<>{}\[\]]+')
"""Where a text is cut for the search; viewer.js cuts what is searched for in the same way."""


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One answer on the page."""

    answer: Answer
    judgement: Judgement

    def outcomes(self, errors: Sequence[str]) -> list[str]:
        """What it can be found by: its types of error, or else the one thing that it is."""
        if self.judgement.unscored:
            return ["unscored"]
        found = [name for name in errors if self.judgement.counts[name]]
        return found or ["abstention" if self.judgement.abstained else "right"]


ShownSystems = Mapping[str, Mapping[ContextKind, Mapping[str, ShownAnswer]]]
"""system -> context -> example id -> answer and judgement."""


def pack_examples(
    results: Mapping[str, Any], views: Views, shown: ShownSystems
) -> dict[str, Markup]:
    """Every example with every answer.

    Returns:
        ``index``, ``words``, ``block-0``, ``block-1``, ... -> JSON, deflated, in base64.
    """
    metrics, formats = metrics_of(results), formats_of(results)
    errors = [one.name for one in metrics if one.kind == "error"]
    numbers: dict[str, int] = {}  # of the words
    rows, words, entries, starts, size = [], [], list[str](), [0], 0
    # contexts of an example stand together: they are alike, and compress each other
    in_order = [
        views[context][example_id]
        for example_id in dict.fromkeys(name for own in views.values() for name in own)
        for context in results["contexts"]
        if example_id in views[context]
    ]
    for place, view in enumerate(in_order):
        answers = {
            system: kinds[view.view].get(view.id) for system, kinds in shown.items()
        }  # fmt: skip
        gold = view.gold.columns if isinstance(view.gold, Table) else ()
        packed = [
            one and _answer(one, formats[system], gold) for system, one in answers.items()
        ]  # fmt: skip
        # one list for each thing known of marks, places from one to the next: so they compress
        lists = zip(*view.marks, strict=True) if view.marks else ([],) * 4
        begins, ends, kinds, reasons = map(list, lists)
        lengths = [end - begin for begin, end in zip(begins, ends, strict=True)]
        marks = [_steps(begins), lengths, kinds, reasons]
        entries.append(json.dumps(view.to_json() | {"marks": marks, "answers": packed}))
        labels = {"domain": (view.domain,), **view.labels, "calculation": (view.calculation,)}
        rows.append(
            {
                "id": view.id,
                "context": view.view,
                "title": view.title,
                "query": view.query[:160],
                "labels": labels,
                "outcomes": [one and one.outcomes(errors) for one in answers.values()],
            }
        )
        found = {
            numbers.setdefault(word, len(numbers))
            for text in _texts(view, answers.values())
            for word in BETWEEN_WORDS.split(text.lower())
        }
        words.append(_steps(sorted(found)))
        if size > BLOCK:
            starts.append(place)
            size = 0
        size += len(entries[-1])
    index = {
        "systems": list(shown),
        "contexts": results["contexts"],
        "errors": [[one.name, one.title] for one in metrics if one.kind == "error"],
        "shares": [[one.name, one.title] for one in metrics if one.kind == "share"],
        "total": total_of(results).title,
        "blocks": starts,
        "rows": rows,
    }
    parts = {
        "index": json.dumps(index),
        "words": json.dumps({"words": list(numbers), "rows": words}, separators=(",", ":")),
    }
    for number, (start, end) in enumerate(pairwise([*starts, len(entries)])):
        parts[f"block-{number}"] = f"[{','.join(entries[start:end])}]"
    return {  # for inert scripts: base64 has no character that ends one
        name: Markup(base64.b64encode(zlib.compress(text.encode(), 9)).decode())
        for name, text in parts.items()
    }


def _texts(view: SampleView, answers: Iterable[ShownAnswer | None]) -> Iterator[str]:
    """All that a search looks into."""
    yield from (view.id, view.title, view.note, view.query, view.text)
    gold = () if view.gold is None else (view.gold,)
    for one in (*view.tables, *gold):
        if isinstance(one, Table):
            yield from one.columns
            yield from (cell for row in one.rows for cell in row if cell is not None)
        else:
            yield one
    yield from (one.answer.text for one in answers if one)


def _answer(shown: ShownAnswer, format: Format | None, columns: tuple[str, ...]) -> dict[str, Any]:
    """An answer with its findings; ``table`` and ``unreadable`` where a table was asked for."""
    answer, judgement = shown.answer, shown.judgement
    packed = {
        "text": answer.text,
        "begin": end_of_thinking(answer.text),
        "tokens": answer.completion_tokens,
        "ending": answer.finish_reason,
        "error": answer.error,
        "unscored": judgement.unscored,
        "shares": judgement.shares,
        "findings": [asdict(finding) for finding in judgement.findings],
    }
    if format is not None:
        read = extract_table(answer.text, format, columns)
        packed["table"] = read.table and read.table.to_json()
        packed["unreadable"] = read.reason
    return packed


def _steps(numbers: Sequence[int]) -> list[int]:
    """Each number less the one before it: small ones compress."""
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]
