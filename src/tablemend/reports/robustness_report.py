"""How firm the systems of a run stand over their contexts: P, R and what differs (ToRR, 3 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tablemend.errors import TablemendError
from tablemend.reports.rendering import align
from tablemend.reports.stored_results import read_results
from tablemend.reports.wording import DASH, percent, with_interval
from tablemend.robustness.agreement import fewest_configurations, ranking_agreement, separability
from tablemend.robustness.comparisons import compare_models
from tablemend.robustness.configurations import (
    Factor,
    level_scores,
    perturbation_impact,
    win_rates,
)
from tablemend.robustness.cube import Array, ScoreCube, count_unscored, mean_scored
from tablemend.robustness.scores import performance, robustness, sorted_scores
from tablemend.runs import read_jsonl, write_json, write_text

PLAIN = "none"
SCORE = "score"


def read_cube(run: Path) -> ScoreCube:
    """The scores of a finished comparison, by system, part of the data, example and context.

    A context called ``FORM+CHANGE`` is a serialisation and a perturbation; any other is a form
    of its own. A score is the share of that name, or else 1 for an answer without an error.

    Raises:
        TablemendError: no finished comparison, or contexts that are no product of forms and
            changes.
    """
    if not (run / "results.json").is_file():
        raise TablemendError(
            f"no {run / 'results.json'}: run the comparison first (python eval/compare.py ...)"
        )
    results = read_results(run / "results.json")
    contexts = [_configuration(name) for name in results["contexts"]]
    forms, changes = (list(dict.fromkeys(part)) for part in zip(*contexts, strict=True))
    if len(forms) * len(changes) != len(contexts):
        raise TablemendError(
            f"{run}: {len(contexts)} contexts are not every pair of {len(forms)} serialisations "
            f"and {len(changes)} perturbations: give evaluation.contexts all pairs, or all"
        )
    systems = list(results["systems"])
    domains: dict[str, str] = {}
    for line in read_jsonl(run / "views.jsonl"):
        domains[line["id"]] = line["domain"]
    sources = {line["id"]: line["source"] for line in _sources(run)}
    parts: dict[str, list[str]] = {}
    for name, domain in domains.items():
        parts.setdefault(domain, []).append(name)
    places = {name: place for own in parts.values() for place, name in enumerate(own)}
    shape = (len(forms), len(changes))
    scores = {
        domain: np.full((len(systems), len(own), *shape), np.nan) for domain, own in parts.items()
    }
    for line in read_jsonl(run / "judgements.jsonl"):
        if line["unscored"]:
            continue
        form, change = _configuration(line["context"])
        share = line["shares"].get(SCORE)
        value = share[0] / share[1] if share else float(not line["findings"])
        name = line["example_id"]
        at = systems.index(line["system"]), places[name], forms.index(form), changes.index(change)
        scores[domains[name]][at] = value
    tables = {domain: [sources[name] for name in own] for domain, own in parts.items()}
    return ScoreCube(systems, forms, changes, scores, tables)


def _sources(run: Path) -> list[dict[str, str]]:
    """The table of each example: its own where the run does not say."""
    found = []
    for example, view in zip(
        read_jsonl(run / "examples.jsonl"), read_jsonl(run / "views.jsonl"), strict=False
    ):
        found.append({"id": view["id"], "source": str(example.get("source_hash") or view["id"])})
    return found


def _configuration(context: str) -> tuple[str, str]:
    form, _, change = context.partition("+")
    return form, change or PLAIN


def write_robustness(run: Path, wanted: float = 0.9) -> str:
    """Write robustness.json and robustness.md; the Markdown.

    Args:
        run: folder of a finished comparison.
        wanted: Kendall's W that a cheaper set of configurations is to reach.

    Raises:
        TablemendError: see :func:`read_cube`.
    """
    cube = read_cube(run)
    tables = _tables(cube, wanted)
    text = "\n\n".join(
        [f"# Robustness: run {run.name}", *(f"## {name}\n\n{own}" for name, own in tables.items())]
    )
    write_text(run / "robustness.md", f"{text}\n")
    write_json(run / "robustness.json", _numbers(cube))
    return text


def _tables(cube: ScoreCube, wanted: float) -> dict[str, str]:
    sets = list(cube.scores)
    p, r = performance(cube), robustness(cube)
    unscored = count_unscored(cube).sum(1)
    rows = [["system", "P", "R", *sets, "unscored"]]
    for number, (own, firm) in enumerate(zip(p.overall(), r.overall(), strict=True)):
        by_set = [percent(rate["rate"]) for rate in p.rates()[number]]
        figures = [with_interval(own), with_interval(firm)]
        rows.append([cube.models[number], *figures, *by_set, str(unscored[number])])
    found = {"Performance and robustness, %": align(rows)}
    curve = sorted_scores(cube)
    if curve.shape[1] > 1:
        found["Scores of an example, sorted, %"] = _matrix(
            cube.models, ["lowest", "median", "highest"],
            np.stack([curve[:, 0], np.median(curve, axis=1), curve[:, -1]], axis=1),
        )  # fmt: skip
    factors: list[tuple[Factor, Sequence[str]]] = [
        ("serialisation", cube.serialisations),
        ("perturbation", cube.perturbations),
    ]
    for factor, names in factors:
        if len(names) > 1:
            means = mean_scored(level_scores(cube, factor), axis=1)
            found[f"Score by {factor}, %"] = _matrix(cube.models, names, means)
            wins = win_rates(cube, factor).by_model()
            found[f"Win rates by {factor}, %"] = _matrix(cube.models, names, wins)
    if PLAIN in cube.perturbations and len(cube.perturbations) > 1:
        impact = perturbation_impact(cube, PLAIN)
        found["Mean absolute impact of a perturbation, points"] = _matrix(
            cube.models, impact.perturbations, impact.absolute_by_model()
        )
    if len(cube.models) > 1:
        found["Pairs of systems"] = _pairs(cube)
        found["Reliability of the ranking"] = _reliability(cube, wanted)
    return found


def _matrix(rows: Sequence[str], columns: Sequence[str], values: Array) -> str:
    cells = [[DASH if np.isnan(one) else percent(float(one)) for one in row] for row in values]
    return align([["", *columns], *([name, *own] for name, own in zip(rows, cells, strict=True))])


def _pairs(cube: ScoreCube) -> str:
    """Paired tests, an example an observation (appendix D)."""
    found = compare_models(cube, "example")
    rows = [["system", "against", "Cohen's d", "95 %", "p, Benjamini-Yekutieli"]]
    for number, (one, other) in enumerate(found.pairs):
        d, error = found.combined_effect[number], 1.96 * found.standard_error[number]
        p = found.combined_p_adjusted[number]
        said = DASH if np.isnan(p) else f"{p:.3f}"
        spread = f"{d - error:+.2f} to {d + error:+.2f}"
        rows.append([cube.models[other], cube.models[one], f"{d:+.2f}", spread, said])
    return align(rows)


def _reliability(cube: ScoreCube, wanted: float) -> str:
    agreement = ranking_agreement(cube)
    w = agreement.overall[0]
    fewest = fewest_configurations(w, wanted, agreement.configurations)
    apart = separability(performance(cube))[1]
    shown = sorted({1, 2, 5, 10, 20, len(w)} & set(agreement.configurations))
    rows = [["configurations", *map(str, shown)]]
    rows.append(["Kendall's W", *(f"{w[agreement.configurations.index(k)]:.2f}" for k in shown)])
    enough = f"{fewest} configurations" if fewest else "no smaller number of configurations"
    said = f"W of {wanted:g} is reached with {enough}. Pairs of systems told apart: "
    return f"{align(rows)}\n\n{said}{percent(apart)} %."


def _numbers(cube: ScoreCube) -> dict[str, Any]:
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
        "sorted": sorted_scores(cube).tolist(),
        "scores": {
            name: mean_scored(block, axis=1).tolist() for name, block in cube.scores.items()
        },
    }
