"""Fit the weights by which the program verifier chooses between readings of a statement.

    python benchmarks/logic_weights.py [out=src/tablemend/verification/logic/weights.py]

Every statement has readings (small programs over the table) and one label. The readings compete:
each has a mass that grows with its weighed features, and one more mass of 1 belongs to a meaning
that none of them has, which speaks for neither side. The weights are those under which the labels
are likeliest; nobody says which reading is the right one (Liang et al. 2011; for tables the latent
programs of TabFact, Chen et al. 2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import cast

import numpy as np
from pydantic import Field
from scipy.optimize import minimize
from tablemend.verifier.logic.weights import WEIGHTS

from tablemend.config import Section, load
from tablemend.datasets.tabfaith.injection import Injector
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.injection import read_tables, synthetic_tables
from tablemend.meta_evaluation.items import split_of
from tablemend.meta_evaluation.sets import SetName, read_set
from tablemend.programs.speaker import Unsayable
from tablemend.script import run_script
from tablemend.tables.table import Table
from tablemend.values.sentences import Span
from tablemend.verifier.linking import Linking
from tablemend.verifier.logic.conditions import conditions
from tablemend.verifier.logic.families import CONTRADICTED, SUPPORTED, run_programs
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.index import views_of
from tablemend.verifier.logic.readings import belief, features
from tablemend.verifier.reading import Reading

STATEMENTS: tuple[SetName, ...] = ("tabfact", "logicnlg")
ERRORS = 2
"""Errors injected in each summary."""
RIDGE = 2.0
_LARGEST = 30.0


class WeightsCommand(Section):
    """What to learn from, and where the weights go."""

    data: str = "../shared/data"
    """Folder of the sets: <data>/tabfact/open.jsonl and so on."""
    summaries: int = Field(default=50, ge=0)
    """Tables of each source of the injection study whose summaries are learnt from as well."""
    out: str | None = None
    """File to write the weights into, such as src/tablemend/verification/logic/weights.py;
    null: only the figures are printed."""


@dataclass(frozen=True, slots=True)
class Example:
    """A statement over one table.

    Attributes:
        set: where it is from.
        table: what is held out together.
        label: whether it is true.
        readings: the features of each reading, and whether it makes the statement true.
    """

    set: str
    table: str
    label: bool
    readings: tuple[tuple[dict[str, float], bool], ...]


def read_examples(data: Path, summaries: int) -> list[Example]:
    """Statements of people and sentences of summaries, of rules halves alone."""
    examples: list[Example] = []
    for name in STATEMENTS:
        for item in read_set(name, data)[0]:
            if split_of(item.split_key) == "dev":
                linking = Linking(Reading(item.text), item.source)
                span = Span(0, len(item.text))
                label = item.label == "supported"
                examples += _examples(name, item.split_key, label, linking, span)
    tables = [*read_tables(data, "dev", summaries), *synthetic_tables(summaries)]
    for named in tables if summaries else ():
        examples += _of_summaries(named.table)
    return examples


def _of_summaries(table: Table) -> Iterator[Example]:
    """Every sentence of a faithful summary, and of the same with injected errors."""
    key = table.content_hash()
    try:
        verbaliser = Verbaliser(table)
        summary = verbaliser.summarise(Random(f"logic:{key}"))
    except Unsayable:
        return
    texts: list[tuple[str, tuple[int, ...]]] = [(summary.text, ())]
    injector = Injector(summary, verbaliser)
    if injected := injector.inject_mixed(ERRORS, Random(f"logic:{key}:{ERRORS}")):
        texts.append((injected.text, tuple(error.start for error in injected.errors)))
    for text, errors in texts:
        linking = Linking(Reading(text), Source((table,)))
        for span in linking.reading.sentences:
            wrong = any(span.start <= place < span.end for place in errors)
            yield from _examples("summaries", key, not wrong, linking, span)


def _examples(
    name: str, table: str, label: bool, linking: Linking, span: Span
) -> Iterator[Example]:
    """A statement over the table by rows, and by columns where that makes sense."""
    links = linking.links(span, 0)
    for view in views_of(linking.source.grids[0]):
        if view.turned and not view.sensible:
            continue
        frame = Frame(linking, links, view)
        found = conditions(frame)
        outcomes = list(run_programs(frame, found))
        known = [(features(frame, found, outcomes, o), o.truth) for o in outcomes]
        if known or not view.turned:
            yield Example(name, table, label, tuple(known))


def fit(examples: Sequence[Example]) -> dict[str, float]:
    """The weights under which the labels are likeliest, drawn towards 0."""
    examples = [example for example in examples if example.readings]
    names = sorted({name for e in examples for known, _ in e.readings for name in known})
    place = {name: number for number, name in enumerate(names)}
    sizes = [len(example.readings) for example in examples]
    owner = np.repeat(np.arange(len(examples)), sizes)
    matrix = np.zeros((len(owner), len(names)))
    agrees = np.zeros(len(owner))
    row = 0
    for example in examples:
        for known, truth in example.readings:
            for name, value in known.items():
                matrix[row, place[name]] = value
            agrees[row] = truth == example.label
            row += 1

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        mass = np.exp(np.clip(matrix @ weights, -_LARGEST, _LARGEST))
        total = 1 + np.bincount(owner, mass, len(examples))
        right = 0.5 + np.bincount(owner, mass * agrees, len(examples))
        gradient = mass * (agrees / right[owner] - 1 / total[owner])
        value = float(np.sum(np.log(total) - np.log(right)) + RIDGE * (weights @ weights) / 2)
        return value, RIDGE * weights - matrix.T @ gradient

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B")
    weights = cast(np.ndarray, found.x)
    return {name: round(float(weights[place[name]]), 2) for name in names}


def held_out(examples: Sequence[Example]) -> dict[str, tuple[float, float]]:
    """Coverage and accuracy by set: each table by weights fitted on the other split."""
    parts: tuple[list[Example], list[Example]] = ([], [])
    for example in examples:
        parts[int(sha256(example.table.encode()).hexdigest(), 16) >> 2 & 1].append(example)
    counts: dict[str, list[int]] = {}
    for learnt, scored in (parts, parts[::-1]):
        weights = fit(learnt)
        for example in scored:
            seen = counts.setdefault(example.set, [0, 0, 0])
            seen[0] += 1
            likely = belief(example.readings, weights)
            if not CONTRADICTED < likely < SUPPORTED:
                seen[1] += 1
                seen[2] += (likely >= SUPPORTED) == example.label
    return {name: (j / n, right / max(j, 1)) for name, (n, j, right) in counts.items()}


def module_of(weights: dict[str, float]) -> str:
    """The weights as the module that the package ships."""
    lines = "".join(f'    "{name}": {value},\n' for name, value in sorted(weights.items()) if value)
    head = '"""Weights of the readings\' features, fitted by ``benchmarks/logic_weights.py``."""'
    return f"{head}\n\nWEIGHTS: dict[str, float] = {{\n{lines}}}\n"


def changed(weights: dict[str, float]) -> float:
    """The largest difference to the shipped weights."""
    names = weights.keys() | WEIGHTS.keys()
    return max(abs(weights.get(name, 0.0) - WEIGHTS.get(name, 0.0)) for name in names)


def main() -> None:
    """Read the dev splits, verify tables held out, fit on all, write."""
    command = load(WeightsCommand)
    examples = read_examples(Path(command.data), command.summaries)
    for name, (coverage, accuracy) in held_out(examples).items():
        print(f"{name}: {coverage:.1%} scored, {accuracy:.1%} of them right")
    weights = fit(examples)
    print(f"{len(weights)} weights, at most {changed(weights):.2f} from the shipped ones")
    if command.out is not None:
        Path(command.out).write_text(module_of(weights), encoding="utf-8")
        print(command.out)


if __name__ == "__main__":
    run_script(main)
