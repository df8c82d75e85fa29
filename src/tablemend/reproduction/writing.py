"""Tables made again as Markdown, LaTeX and JSON, the page that lists them all, and leaderboards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.reports.content import (
    DASH,
    Cell,
    Rows,
    interval,
    metrics_of,
    p_value,
    percent,
    plain,
    points,
)
from tablemend.reports.tabulation import TOTAL, FinishedRun, compare_pair, correct_by_holm
from tablemend.reproduction.command import LeaderboardCommand
from tablemend.reproduction.papers import PAPERS, PublishedTable, paper_of, published
from tablemend.reproduction.tables import ReproducedTable
from tablemend.runs import folder_of, write_json, write_text
from tablemend.statistics import Rate
from tablemend.tables.read import write_table
from tablemend.tables.table import Table

PUBLISHED = "published"
SHOWN = 4
"""Columns of a published table that the page gives the range of."""


def write_table_files(found: Sequence[ReproducedTable], folder: Path) -> list[Path]:
    """Write the parts of one table into a folder, in three formats.

    Returns:
        The files; the Markdown is the first.
    """
    first = found[0]
    name = f"{first.paper}-{first.published.place.replace(' ', '-')}"
    paths = [folder / f"{name}.{ending}" for ending in ("md", "tex", "json")]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(paths[0], "\n\n".join(map(markdown, found)) + "\n")
    tables = []
    for rows in map(rows_of, found):
        cells = (
            tuple(f"{c.text} ({c.detail})" if c.detail else c.text for c in r) for r in rows.rows
        )
        tables.append(write_table(Table(tuple(rows.head), tuple(cells)), "latex"))
    write_text(paths[1], "\n\n".join(tables) + "\n")
    data = []
    for one in found:
        own = one.published
        theirs: dict[str, dict[str, float | str]] = {}
        for row, column, value in own.cells():
            theirs.setdefault(row, {})[column] = value
        data.append(
            {
                "paper": one.paper,
                "place": own.place,
                "title": own.title,
                "unit": own.unit,
                "ours": one.ours,
                PUBLISHED: theirs,
                "published_n": own.n,
                "missing": one.missing,
                "tests": one.tests,
                "measured": one.measured,
                "notes": one.notes,
            }
        )
    write_json(paths[2], data)
    return paths


def rows_of(made: ReproducedTable) -> Rows:
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


def markdown(made: ReproducedTable) -> str:
    """The table, its tests, and what ours are measured on."""
    own = made.published
    unit = f", {own.unit}" if own.unit else ""
    title = published(made.paper)[0].partition(":")[0]
    lines = [f"## {title}, {own.place.title()}: {own.title}{unit}"]
    lines += [rows_of(made).markdown()] if own.rows or made.ours else []
    measured = "; ".join(f"{key} {value}" for key, value in made.measured.items())
    lines.append(
        f"Columns marked as {PUBLISHED} are the paper's{f' (n = {own.n:,})' if own.n else ''}; the "
        f"others are ours, with 95 % intervals: {measured or 'none'}."
    )
    lines += [*made.notes, *filter(None, [made.missing.get("", "")])]
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
        lines += [f"Paired tests on the same samples; {together}:", plain([head, *rows]).markdown()]
    return "\n\n".join(lines)


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
            command = item.nothing
            if item.needs not in ("nothing", "run"):
                asked = place.replace(" ", "=")
                command = f"`python eval/reproduce.py paper={paper} {asked}`"
            theirs = "; ".join(dict.fromkeys(_summary(one) for one in parts))
            rows.append([f"{place.title()}: {parts[0].title}", command, theirs, said])
        head = ["what", "command", "published, lowest to highest", "ours"]
        made[paper.replace("-", " ")] = (
            f"*{published(paper)[0]}*\n\n{plain([head, *rows]).markdown()}"
        )
    return made


def _summary(one: PublishedTable) -> str:
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


def make_leaderboard(command: LeaderboardCommand) -> tuple[str, dict[str, Any]]:
    """The Markdown, and what leaderboard.json has.

    Raises:
        TablemendError: a run that cannot be read, has none of the systems or no such context, or
            does not go with the first one.
    """
    runs = {name: FinishedRun.read(folder_of(name)) for name in dict.fromkeys(command.runs)}
    first = next(iter(runs.values())).results
    context = command.context or list(first["contexts"])[-1]
    shown = [m for m in metrics_of(first) if m.kind in ("error", "share") or m.name == TOTAL]
    rows: dict[str, dict[str, Any]] = {}
    judged = {}
    for name, answers in runs.items():
        own = answers.results
        here = [one for one in own["systems"] if one in (command.systems or (one,))]
        if context not in own["contexts"] or not here:
            has = f"no context {context}" if here else f"none of systems={list(command.systems)}"
            known = f"{', '.join(own['contexts'])}; {', '.join(own['systems'])}"
            raise TablemendError(f"{name} has {has}; it has {known}")
        for key in ("task", "data", "scorer", "cut"):
            one, other = (x[key]["hash"] if key == "data" else x[key] for x in (own, first))
            if one != other:
                raise TablemendError(
                    f"{name} has {key} {one}, the first run {other}: compare them on the same "
                    "samples, or score again with rescore=true"
                )
        for one in here:
            settings = own["settings"][own["settings"][one].get("after") or one]
            model = str(settings.get("model") or settings["named"]).partition("@")[0]
            label = f"{name}: {one} of {model}"
            rows[label] = {m.name: own["systems"][one][context][m.name] for m in shown}
            judged[label] = {context: answers.judgements[one][context]}
    pairs, tables = list(combinations(rows, 2)), next(iter(runs.values())).tables
    found = [compare_pair(context, a, b, judged, shown, tables, len(pairs)) for a, b in pairs]
    tests = correct_by_holm([test for own in found for test in own])
    table = [["model, %", *(m.title for m in shown), "n"]]
    for label, row in rows.items():
        rates = (percent(row[m.name]["rate"]) for m in shown)
        table.append([label, *rates, str(row[TOTAL]["n"])])
    less = [["model", "less", "TotalHallu, points", "p, Holm", "n"]]
    for one in tests:
        if one["metric"] == TOTAL:
            said = points(one["difference"], one["low"], one["high"]) if one["n"] else DASH
            p = p_value(one["p_holm"]).removeprefix("= ")
            less.append([one["system_b"], one["system_a"], said, p, str(one["n"])])
    text = f"# Leaderboard: {context}\n\n{plain(table).markdown()}\n\n{plain(less).markdown()}\n"
    return text, {"context": context, "rows": rows, "differences": tests}
