"""From a run folder to what people look at: report.md and report.html."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.generations import Generations
from tablemend.records import Judgement, SampleView
from tablemend.reports.examples import Shown
from tablemend.reports.html import ShownSystems, write_html
from tablemend.reports.markdown import write_markdown
from tablemend.reports.shape import read_results
from tablemend.runs import read_jsonl, write_text


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
    except (AttributeError, KeyError, TypeError) as error:
        raise TablemendError(
            f"{run}: views.jsonl or judgements.jsonl are not as this version writes them "
            f"({error!r}): run the comparison again (python eval/compare.py recipe=... run=...)"
        ) from error
    if shown.keys() != results["systems"].keys():
        raise TablemendError(
            f"{run}: judgements.jsonl is not of the systems of results.json: run the comparison "
            "again (python eval/compare.py recipe=... run=...)"
        )
    write_text(run / "report.md", write_markdown(results))
    write_text(run / "report.html", write_html(results, views, shown))
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
