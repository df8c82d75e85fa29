"""An audit as a page, and in a few lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tablemend.reports.content import interval, p_value, percent, points
from tablemend.reports.rendering import render, resource
from tablemend.results import Detection, Verification
from tablemend.runs import write_text

TITLES = {
    "type": "By type of error",
    "model": "By model",
    "table": "By table",
    "column": "By column",
    "length": "By length of the answer",
    "time": "Over time",
    "kind": "By what it was scored by",
}
KINDS = {"detect": "its gold table", "verify": "its table or context"}
LOW = (
    "The program finds only some of the errors in real texts (results/validation.md): read rates as"
    " lower limits, and compare them with each other."
)


def write_page(
    path: Path,
    results: Mapping[str, Any],
    examples: Sequence[tuple[Mapping[str, Any], Detection | Verification]],
) -> None:
    """Write audit.html, a page that loads nothing."""
    shown = [{"note": note, "page": Markup(found._repr_html_())} for note, found in examples]
    told = {part: own for part, own in results["by"].items() if _is_told(own)}
    parts = [(TITLES[part], bars(part, own)) for part, own in told.items()]
    page = render(
        "tablemend.reports",
        "audit.html.j2",
        css=resource("tablemend.reports", "style.css"),
        results=results,
        lead=headline(results),
        parts=parts,
        baseline=[_change(one) for one in results.get("baseline", ())],
        reasons=[(title, results[name]) for name, title in
                 (("skipped", "Skipped"), ("unscored", "Unscored")) if results[name]],
        examples=shown,
        low=LOW if any("program" in one for one in results["scorers"]) else "",
    )  # fmt: skip
    write_text(path, page)


def _is_told(rates: Mapping[str, Any]) -> bool:
    """Whether there is more than one part, or one whose name says something."""
    return len(rates) > 1 or any("label" in own for own in rates.values())


def bars(part: str, rates: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of a table with a bar each, as long as the rate, and a line, its interval."""
    return [
        {
            "name": KINDS.get(name, name) if part == "kind" else own.get("label") or name,
            "rate": percent(own["rate"]),
            "interval": interval(own["low"], own["high"]),
            "count": own["count"],
            "n": own["n"],
            "at": round(100 * own["rate"], 2),
            "low": round(100 * own["low"], 2),
            "wide": round(100 * (own["high"] - own["low"]), 2),
        }
        for name, own in rates.items()
        if own["rate"] is not None
    ]


def headline(results: Mapping[str, Any]) -> str:
    """The rate with its interval, and of how many."""
    flawed, counts = results["flawed"], results["answers"]
    sure = f" (95 % interval {interval(flawed['low'], flawed['high'])})" if flawed["n"] > 1 else ""
    claims = results["claims"]
    return (
        f"{percent(flawed['rate'])} %{sure} of {flawed['n']:,} scored answers about"
        f" {results['tables']:,} table{'s' * (results['tables'] != 1)} have an error;"
        f" {claims['scored']:,} of {claims['total']:,} checks could be made."
        f" {counts['unscored']:,} answers unscored, {counts['skipped']:,} records skipped."
    )


def _change(test: Mapping[str, Any]) -> dict[str, str]:
    gap = test["difference"]
    said = "" if gap is None else points(gap, test["low"], test["high"], " points")
    return {
        "of": test["of"],
        "before": percent(test["before"]),
        "now": percent(test["now"]),
        "gap": said,
        "p": "" if gap is None else f"p {p_value(test['p_holm'])} ({test['test']})",
        "verdict": "worse" if test.get("worse") else "",
    }


def say(results: Mapping[str, Any]) -> list[str]:
    """The lines that the command prints."""
    lines = [headline(results), *results["sentences"]]
    if results["by"]["type"]:
        kinds = results["by"]["type"].values()
        lines.append("By type: " + ", ".join(f"{o['label']} {percent(o['rate'])} %" for o in kinds))
    if len(models := results["by"]["model"]) > 1:
        rates = ", ".join(f"{name} {percent(own['rate'])} %" for name, own in models.items())
        lines.append(f"By model: {rates}")
    for title in ("skipped", "unscored"):
        for why, own in results[title].items():
            lines.append(f"{title}: {own['count']} x {why}: {', '.join(own['places'])}")
    for one in map(_change, results.get("baseline", ())):
        if one["verdict"]:
            rates = f"{one['before']} to {one['now']} %"
            lines.append(f"worse: {one['of']}: {rates}, {one['gap']}, {one['p']}")
    return lines
