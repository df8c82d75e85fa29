"""Tables made again as Markdown, LaTeX and JSON, and the page that lists them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tablemend.reports.content import Cell, Rows
from tablemend.reports.wording import DASH, interval, p_value, percent, points
from tablemend.reproduction.items import paper_of
from tablemend.reproduction.made import Made
from tablemend.reproduction.published import PAPERS, Published, published
from tablemend.runs import write_json, write_text
from tablemend.statistics import Rate
from tablemend.tables.table import Table
from tablemend.tables.write import write_table

PUBLISHED = "published"
SHOWN = 4
"""Columns of a published table that the page gives the range of."""


def write_made(found: Sequence[Made], folder: Path) -> list[Path]:
    """Write the parts of one table into a folder, in three formats.

    Returns:
        The files; the Markdown is the first.
    """
    first = found[0]
    name = f"{first.paper}-{first.published.place.replace(' ', '-')}"
    paths = [folder / f"{name}.{ending}" for ending in ("md", "tex", "json")]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(paths[0], "\n\n".join(map(markdown, found)) + "\n")
    write_text(paths[1], "\n\n".join(latex(rows_of(one)) for one in found) + "\n")
    write_json(paths[2], [_numbers(one) for one in found])
    return paths


def _numbers(made: Made) -> dict[str, Any]:
    own = made.published
    theirs: dict[str, dict[str, float | str]] = {}
    for row, column, value in own.cells():
        theirs.setdefault(row, {})[column] = value
    kept = {"paper": made.paper, "place": own.place, "title": own.title, "unit": own.unit}
    shown = {"ours": made.ours, PUBLISHED: theirs, "published_n": own.n}
    rest = {"missing": made.missing, "tests": made.tests, "measured": made.measured}
    return {
        **kept,
        **shown,
        **rest,
        "notes": [*filter(None, (own.note, own.unread, made.item.note))],
    }


def rows_of(made: Made) -> Rows:
    """Ours and the published numbers, column by column."""
    own, theirs = made.published, _by_cell(made)
    columns = list(dict.fromkeys([*own.head[1:], *(c for row in made.ours.values() for c in row)]))
    has_ours = [c for c in columns if any(c in row for row in made.ours.values())]
    head = [own.head[0] if own.head else "part"]
    for column in columns:
        head += [column] * (column in has_ours)
        head += [f"{column} ({PUBLISHED})"] * any(c == column for _, c in theirs)
    rows = []
    for label in dict.fromkeys([*made.ours, *(own.rows or {})]):
        ours, row = made.ours.get(label, {}), [Cell(label)]
        for column in columns:
            row += [show(ours.get(column), made.item.scale, made.item.file)] * (column in has_ours)
            if any(c == column for _, c in theirs):
                row.append(Cell(str(theirs.get((label, column), DASH))))
        ns = sorted({rate["n"] for rate in ours.values() if rate["n"]})
        row.append(Cell(DASH.join(map(str, ns[:: max(1, len(ns) - 1)])) or DASH))
        rows.append([*row, Cell(made.missing.get(label, made.missing.get("", "")))])
    return Rows([*head, "n of ours", "why ours is missing"], rows)


def _by_cell(made: Made) -> dict[tuple[str, str], float | str]:
    return {(row, column): value for row, column, value in made.published.cells()}


def show(rate: Rate | None, scale: int, file: str = "") -> Cell:
    """A number of ours: shares times 100 or as they are, counts whole."""
    if rate is None:
        return Cell(DASH)
    value, low, high = rate["rate"], rate["low"], rate["high"]
    if value is None:
        return Cell(str(rate["n"]) if rate["n"] else DASH)
    if low is None and (value > 1 or file == "counts.json"):
        return Cell(f"{value:,.0f}" if value == round(value) or value > 1000 else f"{value:.1f}")
    if scale == 1 or (low is None and file):
        return Cell(f"{value:.3f}", "" if low is None else f"{low:.3f}{DASH}{high:.3f}")
    return Cell(percent(value), interval(low, high))


def markdown(made: Made) -> str:
    """The table, its tests, and what ours are measured on."""
    own = made.published
    unit = f", {own.unit}" if own.unit else ""
    lines = [f"## {_title(made.paper)}, {own.place.title()}: {own.title}{unit}"]
    lines += [rows_of(made).markdown()] if own.rows or made.ours else []
    measured = "; ".join(f"{key} {value}" for key, value in made.measured.items())
    lines.append(
        f"Columns marked as {PUBLISHED} are the paper's{f' (n = {own.n:,})' if own.n else ''}; the "
        f"others are ours, with 95 % intervals: {measured or 'none'}."
    )
    notes = (f"No published number: {own.unread}." if own.unread else "", own.note, made.item.note)
    lines += [
        *filter(None, notes),
        *([made.missing[""]] if not own.rows and "" in made.missing else []),
    ]
    if made.tests:
        head = ["metric", "a", "b", "n", "b less a, points", "p, Holm"]
        rows = [
            [
                *(test["metric"], test["system_a"], test["system_b"], str(test["n"])),
                points(test["difference"], test["low"], test["high"]) if test["n"] else DASH,
                p_value(test["p_holm"]).removeprefix("= "),
            ]
            for test in made.tests
        ]
        together = "the intervals of a metric hold together with 95 % (Bonferroni)"
        lines += [f"Paired tests on the same samples; {together}:", plain(head, rows).markdown()]
    return "\n\n".join(lines)


def plain(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Rows:
    """A table of texts alone."""
    return Rows(head, [[Cell(text) for text in row] for row in rows])


def latex(rows: Rows) -> str:
    """The same as a LaTeX table, details in brackets."""
    texts = [[f"{c.text} ({c.detail})" if c.detail else c.text for c in row] for row in rows.rows]
    return write_table(Table(tuple(rows.head), tuple(map(tuple, texts))), "latex")


def _title(paper: str) -> str:
    return published(paper)[0].partition(":")[0]


# ---- the page ----


def tables_of_page(measured: Mapping[str, Any]) -> dict[str, str]:
    """For each paper what docs/reproduce.md says of its tables, from the data alone.

    Args:
        measured: by paper and place, ``ours`` (what was found) and ``page`` (which says so).
    """
    made = {}
    for paper in PAPERS:
        rows = []
        for place, item in paper_of(paper).items.items():
            parts = [one for one in published(paper)[1] if one.place == place]
            ours = measured.get(paper, {}).get(place)
            said = (
                f"{ours['ours']} ([{Path(ours['page']).stem}](../{ours['page']}))" if ours else ""
            )
            command = item.nothing if item.needs in ("nothing", "run") else _command(paper, place)
            theirs = "; ".join(dict.fromkeys(_summary(one) for one in parts))
            rows.append([f"{place.title()}: {parts[0].title}", command, theirs, said])
        head = ["what", "command", "published, lowest to highest", "ours"]
        made[paper.replace("-", " ")] = f"*{published(paper)[0]}*\n\n{plain(head, rows).markdown()}"
    return made


def _command(paper: str, place: str) -> str:
    kind, number = place.split()
    return f"`python eval/reproduce.py paper={paper} {kind}={number}`"


def _summary(one: Published) -> str:
    """The range of the first and last columns' values, or why there are none."""
    if one.unread:
        return one.unread
    said = []
    for column in one.head[1:]:
        found = [_number(value) for _, c, value in one.cells() if c == column]
        values = sorted(value for value in found if value is not None)
        ends = dict.fromkeys(f"{value:g}" for value in (*values[:1], *values[-1:]))
        said += [f"{column} {' to '.join(ends)}"] * bool(values)
    shown = said if len(said) <= SHOWN else [*said[: SHOWN // 2], *said[-SHOWN // 2 :]]
    return f"{', '.join(shown)}{f' ({one.unit})' if one.unit else ''}"


def _number(value: float | str) -> float | None:
    """Of `0.62 (0.26)` the first; none of a dash."""
    try:
        return float(str(value).split()[0])
    except ValueError:
        return None
