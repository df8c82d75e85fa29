"""Robustness of each system over its contexts, such as prompt formats (ToRR, sections 3 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tablemend.errors import TablemendError
from tablemend.reports.content import DASH, Cell, Rows, interval, percent, plain
from tablemend.reports.plots import plot_curves
from tablemend.reports.rendering import render, resource
from tablemend.reports.tabulation import FinishedRun
from tablemend.robustness.rankings import (
    RankingAgreement,
    compare_models,
    fewest_configurations,
    ranking_agreement,
    separability,
    smallest_grid,
)
from tablemend.robustness.scores import (
    Array,
    Factor,
    ScoreCube,
    count_unscored,
    level_scores,
    mean_scored,
    performance,
    perturbation_impact,
    robustness,
    sorted_scores,
    win_rates,
)
from tablemend.runs import write_json, write_text

PLAIN = "none"
SCORE = "score"
EXAMPLES = (5, 10, 20, 50, 100, 200, 500)
"""Numbers of examples for which W is drawn, up to those of the largest data set."""
DEEPEST = 60
"""Percent of colour in the highest cell of a heat map: text on it can still be read."""
RANKED = "Kendall's W"


def read_cube(run: Path) -> ScoreCube:
    """The scores of a finished comparison, by system, part of the data, example and context.

    A context called ``FORM+CHANGE`` is a serialisation and a perturbation; any other is a form
    of its own. A score is the share of that name, or else 1 for an answer without an error.

    Raises:
        TablemendError: no finished comparison, or contexts that are no product of forms and
            changes.
    """
    finished = FinishedRun.read(run)
    results = finished.results
    contexts = [_configuration(name) for name in results["contexts"]]
    forms, changes = (list(dict.fromkeys(part)) for part in zip(*contexts, strict=True))
    if len(forms) * len(changes) != len(contexts):
        raise TablemendError(
            f"{run}: {len(contexts)} contexts are not every pair of {len(forms)} serialisations "
            f"and {len(changes)} perturbations: give evaluation.contexts all pairs, or all"
        )
    systems = list(results["systems"])
    parts: dict[str, list[str]] = {}
    for name, view in next(iter(finished.views.values()), {}).items():
        parts.setdefault(view.domain, []).append(name)
    shape = (len(forms), len(changes))
    scores = {
        domain: np.full((len(systems), len(own), *shape), np.nan) for domain, own in parts.items()
    }
    places = {name: (domain, n) for domain, own in parts.items() for n, name in enumerate(own)}
    for system, kinds in finished.judgements.items():
        for context, own in kinds.items():
            form, change = _configuration(context)
            for name, one in own.items():
                if not one.unscored:
                    domain, place = places[name]
                    at = systems.index(system), place, forms.index(form), changes.index(change)
                    share = one.share(SCORE)
                    scores[domain][at] = float(not one.findings) if share is None else share
    tables = {domain: [finished.tables[name] for name in own] for domain, own in parts.items()}
    return ScoreCube(systems, forms, changes, scores, tables)


def _configuration(context: str) -> tuple[str, str]:
    form, _, change = context.partition("+")
    return form, change or PLAIN


def write_robustness(run: Path, wanted: float = 0.9) -> str:
    """Write robustness.json, robustness.md and, with pictures, robustness.html; the Markdown.

    Args:
        run: folder of a finished comparison.
        wanted: Kendall's W that a cheaper set of configurations is to reach.

    Raises:
        TablemendError: see :func:`read_cube`.
    """
    cube = read_cube(run)
    reliability = _measure_reliability(cube, wanted) if len(cube.models) > 1 else None
    parts = _parts(cube, reliability, wanted)
    text = "\n\n".join([f"# Robustness: run {run.name}", *(part.markdown() for part in parts)])
    write_text(run / "robustness.md", f"{text}\n")
    write_text(run / "robustness.html", _page(cube, parts, run.name))
    write_json(run / "robustness.json", _numbers(cube, reliability))
    return text


class Part(NamedTuple):
    """A table, with a sentence below it; on the page with drawings and their captions."""

    title: str
    table: Rows
    note: str = ""
    figures: Sequence[tuple[Markup, str]] = ()

    def markdown(self) -> str:
        """Without the drawings."""
        return "\n\n".join([f"## {self.title}", self.table.markdown(), *filter(None, [self.note])])


class Tile(NamedTuple):
    """A cell of a heat map: its text and tooltip, and how deep its colour is, in percent."""

    text: str
    title: str
    depth: int | None


def _page(cube: ScoreCube, parts: Sequence[Part], run: str) -> str:
    means = np.stack([mean_scored(block, axis=1) for block in cube.blocks()], axis=1)
    known = means[~np.isnan(means)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
    names = [f"{form} + {change}" for form in cube.serialisations for change in cube.perturbations]

    def tiles(system: int, place: int, block: Array) -> list[Tile]:
        found, counts = [], (~np.isnan(block[system])).sum(0)
        for name, value, n in zip(names, means[system, place], counts, strict=True):
            if np.isnan(value):
                found.append(Tile(DASH, f"{name}: not scored", None))
                continue
            said = f"{name}: {percent(float(value))} %, {n} of {block.shape[1]} examples"
            depth = DEEPEST * (value - low) / (high - low) if high > low else DEEPEST
            found.append(Tile(f"{100 * value:.0f}", said, round(depth)))
        return found

    blocks = list(zip(cube.scores, cube.blocks(), strict=True))
    return render(
        "tablemend.reports",
        "robustness.html.j2",
        css=resource("tablemend.reports", "style.css"),
        run=run,
        parts=parts,
        sets=len(blocks),
        forms=cube.serialisations,
        changes=cube.perturbations,
        low=f"{100 * low:.0f}",
        high=f"{100 * high:.0f}",
        dash=DASH,
        maps=[
            (system, [(name, tiles(m, d, block)) for d, (name, block) in enumerate(blocks)])
            for m, system in enumerate(cube.models)
        ],
    )


def _parts(cube: ScoreCube, reliability: Reliability | None, wanted: float) -> list[Part]:
    p, r = performance(cube), robustness(cube)
    unscored = count_unscored(cube).sum(1)
    rows = []
    for number, both in enumerate(zip(p.overall(), r.overall(), strict=True)):
        figures = [Cell(percent(one["rate"]), interval(one["low"], one["high"])) for one in both]
        rows.append([Cell(cube.models[number]), *figures, Cell(str(unscored[number]))])
    found = [Part("Performance and robustness, %", Rows(["system", "P", "R", "unscored"], rows))]
    if len(cube.scores) > 1:
        rows = [
            [
                Cell(name),
                *(Cell(percent(one[place]["rate"])) for rates in (p, r) for one in rates.rates()),
            ]
            for place, name in enumerate(cube.scores)
        ]
        head = ["", *(f"{name}, {what}" for what in "PR" for name in cube.models)]
        found.append(Part("By data set, %", Rows(head, rows)))
    curve = sorted_scores(cube)
    if curve.shape[1] > 1:
        table = _matrix(
            cube.models, ["lowest", "median", "highest"],
            np.stack([curve[:, 0], np.median(curve, axis=1), curve[:, -1]], axis=1),
        )  # fmt: skip
        lines = dict(zip(cube.models, (100 * curve).tolist(), strict=True))
        labels = "place of a score, from the lowest of an example to its highest", "mean score, %"
        drawn = plot_curves("sorted", range(1, curve.shape[1] + 1), lines, labels, 100)
        said = (
            "Each example's scores are sorted, then each place is averaged over the examples. The "
            "flatter a line, the less a system depends on the format (ToRR, Figure 3)."
        )
        found.append(Part("Scores of an example, sorted, %", table, figures=[(drawn, said)]))
    factors: list[tuple[Factor, Sequence[str]]] = [
        ("serialisation", cube.serialisations),
        ("perturbation", cube.perturbations),
    ]
    for factor, names in factors:
        if len(names) > 1:
            means = mean_scored(level_scores(cube, factor), axis=1)
            found.append(Part(f"Score by {factor}, %", _matrix(cube.models, names, means)))
            wins = mean_scored(win_rates(cube, factor), axis=1)
            found.append(Part(f"Win rates by {factor}, %", _matrix(cube.models, names, wins)))
    if PLAIN in cube.perturbations and len(cube.perturbations) > 1:
        impact = perturbation_impact(cube, PLAIN)
        means = np.stack([one.mean((1, 2)) for one in impact.values()], axis=1)
        table = _matrix(cube.models, list(impact), means)
        found.append(Part("Mean absolute impact of a perturbation, points", table))
    if len(cube.models) > 1:
        found.append(Part("Pairs of systems", _pairs(cube)))
    if reliability:
        found.append(_reliability(cube, reliability, wanted))
    return found


def _matrix(rows: Sequence[str], columns: Sequence[str], values: Array) -> Rows:
    cells = [[DASH if np.isnan(one) else percent(float(one)) for one in row] for row in values]
    return plain([["", *columns], *([name, *own] for name, own in zip(rows, cells, strict=True))])


def _pairs(cube: ScoreCube) -> Rows:
    """Paired tests, an example an observation (appendix D)."""
    found = compare_models(cube)
    rows = []
    for number, (one, other) in enumerate(found.pairs):
        d, error = found.effect[number], 1.96 * found.standard_error[number]
        p = found.p_adjusted[number]
        said = DASH if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
        spread = f"{d - error:+.2f} to {d + error:+.2f}"
        rows.append([cube.models[other], cube.models[one], f"{d:+.2f}", spread, said])
    return plain([["system", "against", "Cohen's d", "95 %", "p, Benjamini-Yekutieli"], *rows])


class Reliability(NamedTuple):
    """How well rankings agree, and the fewest configurations that are enough.

    Attributes:
        agreement: for all numbers of configurations, and some of examples, all at the end.
        contexts: configurations of that number at least, as ``evaluation.contexts`` takes them.
    """

    agreement: RankingAgreement
    fewest: int | None
    contexts: Sequence[str]


def _measure_reliability(cube: ScoreCube, wanted: float) -> Reliability:
    most = max(block.shape[1] for block in cube.scores.values())
    sizes = [n for n in EXAMPLES if n < most] + [most]
    agreement = ranking_agreement(cube, examples=sizes)
    fewest = fewest_configurations(agreement.overall[-1], wanted, agreement.configurations)
    forms, changes = cube.serialisations, cube.perturbations
    a, b = smallest_grid(fewest or len(forms) * len(changes), len(forms), len(changes))
    return Reliability(
        agreement, fewest, [f"{form}+{change}" for form in forms[:a] for change in changes[:b]]
    )


def _reliability(cube: ScoreCube, found: Reliability, wanted: float) -> Part:
    agreement, fewest, contexts = found
    counts, w = agreement.configurations, agreement.overall[-1]
    apart = separability(performance(cube))[1]
    shown = sorted({1, 2, 5, 10, 20, len(w)} & set(counts))
    rows = [[RANKED, *(f"{w[counts.index(k)]:.2f}" for k in shown)]]
    if fewest == counts[-1] or fewest is None:
        said = f"No smaller number of configurations reaches a W of {wanted:g}."
    else:
        said = (
            f"A W of {wanted:g} is reached with {fewest} of {counts[-1]} configurations. The next "
            f"models can be run with evaluation.contexts=[{','.join(contexts)}]."
        )
    said += " Pairs of systems whose intervals do not overlap: "
    return Part(
        "Reliability of the ranking",
        plain([["configurations", *map(str, shown)], *rows]),
        f"{said}{percent(apart)} %.",
        _agreement_plots(list(cube.scores), agreement, shown),
    )


def _agreement_plots(
    sets: Sequence[str], agreement: RankingAgreement, shown: Sequence[int]
) -> list[tuple[Markup, str]]:
    """W by the number of configurations, and of examples (Figures 4 and 5)."""
    counts, sizes = agreement.configurations, agreement.examples
    drawn, whole = [], "all data sets"
    if len(counts) > 1:
        lines = dict(zip(sets, agreement.by_dataset[-1].T.tolist(), strict=True))
        lines[whole] = agreement.overall[-1].tolist()
        labels = "configurations", RANKED
        said = (
            "How well rankings of the systems agree that come from so many configurations drawn at "
            "random. With all of them it is 1 by construction. A data set on which all systems tie "
            "has no line (ToRR, Figure 4)."
        )
        drawn.append((plot_curves("configurations", counts, lines, labels, strong=whole), said))
    if len(sizes) > 1:
        w = mean_scored(agreement.by_dataset)  # (N, K)
        lines = {f"configurations: {k}": w[:, counts.index(k)].tolist() for k in shown}
        said = (
            "The same with so many examples of each data set, or all that it has; the mean of the "
            "data sets (ToRR, Figure 5)."
        )
        drawn.append((plot_curves("examples", sizes, lines, ("examples", RANKED)), said))
    return drawn


def _numbers(cube: ScoreCube, reliability: Reliability | None) -> dict[str, Any]:
    """The figures behind the tables."""
    p, r = performance(cube), robustness(cube)
    return {
        "systems": list(cube.models),
        "sets": list(cube.scores),
        "serialisations": list(cube.serialisations),
        "perturbations": list(cube.perturbations),
        "performance": p.overall(),
        "robustness": r.overall(),
        "performance_by_set": p.rates(),
        "robustness_by_set": r.rates(),
        "sorted": _listed(sorted_scores(cube)),
        "scores": {
            name: _listed(mean_scored(block, axis=1)) for name, block in cube.scores.items()
        },
        "reliability": reliability
        and {
            "configurations": list(reliability.agreement.configurations),
            "kendalls_w": _listed(reliability.agreement.overall[-1]),
            "fewest": reliability.fewest,
            "contexts": list(reliability.contexts),
        },
    }


def _listed(values: Array) -> list[Any]:
    """For JSON: ``None`` where nothing is scored."""
    found = values.astype(object)
    found[np.isnan(values)] = None
    return list(found.tolist())
