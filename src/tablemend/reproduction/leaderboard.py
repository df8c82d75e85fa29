"""Systems of several runs in one table: rates, and paired differences corrected by Holm."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from tablemend.errors import TablemendError
from tablemend.reports.content import DASH, metrics_of, p_value, percent, plain, points
from tablemend.reports.tabulation import TOTAL, compare_pair, correct_by_holm
from tablemend.reproduction.cells import Answers
from tablemend.reproduction.command import LeaderboardCommand
from tablemend.runs import folder_of


def make_leaderboard(command: LeaderboardCommand) -> tuple[str, dict[str, Any]]:
    """The Markdown, and what leaderboard.json has.

    Raises:
        TablemendError: a run that cannot be read, has none of the systems or no such context, or
            does not go with the first one.
    """
    runs = {name: Answers.of(folder_of(name)) for name in dict.fromkeys(command.runs)}
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
