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
    return {
        "paper": made.paper,
        "place": own.place,
        "title": own.title,
        "unit": own.unit,
        "ours": made.ours,
        PUBLISHED: theirs,
        "published_n": own.n,
        "missing": made.missing,
        "tests": made.tests,
        "measured": made.measured,
        "notes": _notes(made),
    }


def _notes(made: Made) -> list[str]:
    own = made.published
    unread = own.unread and f"No published number: {own.unread}."
    return [*filter(None, (unread, own.note, made.item.note))]


def rows_of(made: Made) -> Rows:
    """Ours and the published numbers, column by column."""
    own, ours = made.published, made.ours
    theirs = {(row, column): value for row, column, value in own.cells()}
    columns = dict.fromkeys([*own.head[1:], *(c for row in ours.values() for c in row)])
    shown = [(c, False) for c in columns if any(c in row for row in ours.values())]
    shown += [(c, True) for c in columns if any(c == column for _, column in theirs)]
    shown.sort(key=lambda one: list(columns).index(one[0]))
    rows = []
    for label in dict.fromkeys([*ours, *(own.rows or {})]):
        row = ours.get(label, {})
        cells = [
            Cell(str(theirs.get((label, c), DASH))) if is_theirs
            else show(row.get(c), made.item.scale)
            for c, is_theirs in shown
        ]  # fmt: skip
        counts = {rate["n"] for rate in row.values()} - {0}
        n = DASH.join(map(str, sorted({min(counts), max(counts)}))) if counts else DASH
        why = made.missing.get(label) or made.missing.get("", "")
        rows.append([Cell(label), *cells, Cell(n), Cell(why)])
    heads = [f"{c} ({PUBLISHED})" if is_theirs else c for c, is_theirs in shown]
    return Rows([*(own.head[:1] or ["part"]), *heads, "n of ours", "why ours is missing"], rows)


def show(rate: Rate | None, scale: int) -> Cell:
    """A number of ours: a rate times 100 or as it is; what has no interval as it is."""
    value, low, high = (rate[key] for key in ("rate", "low", "high")) if rate else [None] * 3
    if value is None:
        return Cell(DASH)
    if low is None or high is None:
        digits = 0 if value == round(value) or value > 1000 else 1 if value > 1 else 3
        return Cell(f"{value:,.{digits}f}")
    if scale == 1:
        return Cell(f"{value:.3f}", f"{low:.3f}{DASH}{high:.3f}")
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
    lines += [*_notes(made), *filter(None, [made.missing.get("", "")])]
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
    """For each paper what results/reproduced.md says of its tables, from the data alone.

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
