"""Fit the weights by which the program verifier chooses between the readings of a claim.

    python benchmarks/verifier_weights.py [out=src/tablemend/verifier/weights.json]

A unit is one stated thing: a number, a period, a name or a comparison. It has readings, small
programs over the table that give it (true), that deny it (false) or that leave it open, and one
more that none of them has. They compete: a reading has a share that grows with its weighed
features, and a unit has the share s of its true readings and r of its false ones. A claim or a
statement holds if all its units hold, so that it is true with

    P = 0.5 * prod(s) + 0.5 * prod(1 - r):

what none of the readings has speaks for neither side. The weights are those under which the labels
are likeliest, drawn towards 0; nobody says which reading is the right one (Liang et al. 2011; for
tables the latent programs of TabFact, Chen et al. 2020).

Labels are those of people and of injected errors, of dev splits alone, and the labelled claims of
the tests: what the tests say of these is no held-out figure. A statement is one example; of a text
with marked words every claim is one, wrong where a mark touches the words that it turns on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Literal, cast, get_args

import numpy as np
from pydantic import Field
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

import user_texts
from tablemend.config import Section, load
from tablemend.datasets.labelled_texts import (
    Item,
    Label,
    Mark,
    SetName,
    draw,
    overlap,
    read_set,
    split_of,
)
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.injection_study import SourceTable, read_tables, synthetic_tables
from tablemend.programs.speaker import Unsayable
from tablemend.records import Claim
from tablemend.script import run_script
from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.data import MIX
from tablemend.tasks.tabfaith.summaries import Summary, Verbaliser, inject
from tablemend.values.text import Span
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import CONTRADICTED, SUPPORTED, TextVerifier
from tablemend.workers import map_in

Name = Literal[
    "summaries",
    "quintd",
    "d2t_span_annotation",
    "accuracy_shared_task",
    "tabfact",
    "logicnlg",
    "infotabs",
    "scitab",
    "scigen",
    "user_texts",
    "claims",
]
IMPORTANCE: dict[Name, float] = {
    "summaries": 3,
    "quintd": 1,
    "d2t_span_annotation": 1,
    "accuracy_shared_task": 1,
    "tabfact": 1,
    "logicnlg": 1,
    "infotabs": 0.5,
    "scitab": 0.5,
    "scigen": 0.5,
    "user_texts": 2,
    "claims": 2,
}
"""What a set weighs beside the others; each of its n examples has this divided by the root of n."""
CLAIMS = [
    Path(__file__).parents[1] / "tests" / "data" / f"{name}.jsonl"
    for name in ("claims", "amounts_in_texts")
]
ERRORS = (0, 1, 3)
"""Errors injected in the summaries of a table."""
RIDGE = 0.1
STEPS = 150
LEAST = 0.05
"""Weights closer to 0 are left out."""
_LARGEST = 20.0
_TINY = 1e-6
_KINDS = ("number", "period", "name", "logic bias")  # features that every reading of a kind has

Feature = tuple[Literal["true", "false", "unclear"], str]
Unit = tuple[tuple[dict[str, float], bool | None], ...]
"""The features of each reading, and what it makes of the stated thing."""


class WeightsCommand(Section):
    """What to learn from, and where the weights go."""

    data: str = "../shared/data"
    """Folder of the sets: <data>/tabfact/open.jsonl and so on."""
    sets: tuple[Name, ...] = tuple(IMPORTANCE)
    """What is learnt from."""
    texts: int = Field(default=4000, ge=1)
    """Texts of a set, at most."""
    summaries: int = Field(default=80, ge=1)
    """Tables of each source of the injection study whose summaries are learnt from."""
    workers: int = Field(default=2, ge=1)
    """Processes that read texts."""
    out: str | None = None
    """File to write the weights into, such as src/tablemend/verifier/weights.json; null: only the
    figures are printed."""


@dataclass(frozen=True, slots=True)
class Example:
    """A statement, or a claim of a text.

    Attributes:
        set: where it is from.
        table: what is held out together.
        holds: its label.
        units: what it states, with all readings.
    """

    set: Name
    table: str
    holds: bool
    units: tuple[Unit, ...]


def read_items(name: Name, command: WeightsCommand) -> list[Item]:
    """The texts of a set, of its dev split alone."""
    data = Path(command.data)
    if name == "summaries":
        tables = read_tables(data, "dev", command.summaries)
        made = synthetic_tables(command.summaries)
        return [item for found in (tables, made) for named in found for item in _summaries(named)]
    if name == "user_texts":
        return [_user_text(record) for record in user_texts.read_texts("dev")]
    if name == "claims":
        return list(labelled_claims())
    items = [
        item for item in read_set(cast(SetName, name), data)[0] if split_of(item.split_key) == "dev"
    ]
    return draw(items, command.texts)


def _summaries(named: SourceTable) -> Iterator[Item]:
    """A faithful summary of a table, and the same with errors."""
    table = named.table
    seed = f"weights:{table.content_hash()}"
    try:
        verbaliser = Verbaliser(table)
        faithful = verbaliser.summarise(Random(seed))
    except Unsayable:
        return
    for count in ERRORS:
        text: Summary | None = Summary(faithful.text, faithful.facts, ())
        if count:
            text = inject(faithful, verbaliser, [MIX] * count, Random(f"{seed}:{count}"))
        if text is None:
            continue
        marks = [Mark(error.start, error.end, error.type) for error in text.errors]
        for error in text.errors:
            untrue = [text.facts[index] for index in error.facts]
            words = [fact.parts[fact.focus] for fact in untrue]
            marks += [Mark(part.start, part.end, error.type) for part in words]
        name, source = f"{table.content_hash()} {count}", Source((table,))
        yield Item(name, "summaries", "", text.text, source, named.key, marks=(tuple(marks),))


def _user_text(record: dict[str, object]) -> Item:
    text, table = str(record["text"]), str(record["table"])
    errors = cast(list[dict[str, str]], record["errors"])
    marks = [Mark(*user_texts.place(error), error["type"]) for error in errors]
    source = user_texts.read_source(record)
    return Item(text, "user_texts", "", text, source, table, marks=(tuple(marks),))


def labelled_claims() -> Iterator[Item]:
    """Those of one table each that hold or do not."""
    lines = [line for file in CLAIMS for line in file.read_text(encoding="utf-8").splitlines()]
    for record in map(json.loads, lines):
        table = Table.of(record["columns"], record["rows"], record.get("title"))
        for claim in record["claims"]:
            false = claim["verdict"] in ("wrong", "contradicted")
            if false or claim["verdict"] in ("supported", "not wrong"):
                label: Label = "contradicted" if false else "supported"
                key, source = table.content_hash(), Source((table,))
                yield Item(claim["text"], "claims", "", claim["text"], source, key, label=label)


def read_examples(name: Name, items: Sequence[Item], workers: int = 1) -> list[Example]:
    """All readings of the texts of a set."""
    if workers == 1:
        found = [examples_of(item) for item in items]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
            found = list(map_in(pool, examples_of, items, chunksize=8))
    pairs = zip(items, found, strict=True)
    return [Example(name, item.split_key, *one) for item, own in pairs for one in own]


def examples_of(item: Item) -> list[tuple[bool, tuple[Unit, ...]]]:
    """Label and units of a statement, or of each claim of a text whose label is sure."""
    document = extract_claims(item.text)
    verifier = TextVerifier(document, item.source)
    readable = any(grid.lines for grid in item.source.grids)

    def units(claim: Claim) -> list[Unit]:
        found = verifier.units(claim) if readable else []
        return [tuple((one.features, one.truth) for one in unit) for unit in found]

    if item.label is not None:
        stated = [unit for claim in document.claims for unit in units(claim)]
        return [(item.label == "supported", tuple(stated))]
    marks = [mark for own in item.marks for mark in own]
    known = ((claim, holds(claim, marks)) for claim in document.claims)
    return [(label, tuple(units(claim))) for claim, label in known if label is not None]


def holds(claim: Claim, marks: Sequence[Mark]) -> bool | None:
    """Whether a claim of a marked text is right; ``None`` where a mark leaves that open.

    It is wrong where an error touches the words that it turns on. An error elsewhere in it, or a
    mark of something else than an error, says nothing.
    """
    assert claim.start is not None and claim.end is not None
    whole = Span(claim.start, claim.end)
    if any(mark.error and overlap(mark, claim.focus or whole) for mark in marks):
        return False
    return None if any(overlap(mark, whole) for mark in marks) else True


class Problem:
    """Examples as one matrix: a row a reading, a column a feature.

    Args:
        examples: each with at least one unit.
        features: the columns; without them all features of the examples, in their order.
    """

    def __init__(
        self, examples: Sequence[Example], features: dict[Feature, int] | None = None
    ) -> None:
        self.features: dict[Feature, int] = {} if features is None else features
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        truths: list[bool | None] = []
        unit_of: list[int] = []
        example_of: list[int] = []
        for number, example in enumerate(examples):
            for unit in example.units:
                for known, truth in unit:
                    for name, value in known.items():
                        feature: Feature = (_section(truth), name)
                        if features is None:
                            self.features.setdefault(feature, len(self.features))
                        if feature in self.features:
                            rows.append(len(truths))
                            columns.append(self.features[feature])
                            values.append(value)
                    truths.append(truth)
                    unit_of.append(len(example_of))
                example_of.append(number)
        shape = (len(truths), len(self.features))
        self._matrix = csr_matrix((values, (rows, columns)), shape=shape)
        self._true = np.array([truth is True for truth in truths])
        self._false = np.array([truth is False for truth in truths])
        self._unit_of, self._example_of = np.array(unit_of, int), np.array(example_of, int)
        self._holds = np.array([example.holds for example in examples])
        sizes = {example.set: 0 for example in examples}
        for example in examples:
            sizes[example.set] += 1
        weights = [IMPORTANCE[example.set] / np.sqrt(sizes[example.set]) for example in examples]
        self._weights = np.array(weights) / sum(weights)

    @cached_property
    def _transposed(self) -> csr_matrix:
        return self._matrix.T.tocsr()

    def _shares(self, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """The mass of each reading; of each unit the whole mass and the true and false shares."""
        mass = np.exp(np.clip(self._matrix @ weights, -_LARGEST, _LARGEST))
        units = len(self._example_of)
        total = 1 + np.bincount(self._unit_of, mass, units)
        true = np.bincount(self._unit_of, mass * self._true, units) / total
        false = np.bincount(self._unit_of, mass * self._false, units) / total
        return mass, total, np.maximum(true, _TINY), np.maximum(1 - false, _TINY)

    def _products(self, *shares: np.ndarray) -> list[np.ndarray]:
        """For each example the product over its units."""
        examples = len(self._holds)
        logs = (np.bincount(self._example_of, np.log(one), examples) for one in shares)
        return [np.exp(log) for log in logs]

    def likely(self, weights: np.ndarray) -> np.ndarray:
        """How likely each example is to hold."""
        given, undenied = self._products(*self._shares(weights)[2:])
        return np.clip(0.5 * given + 0.5 * undenied, _TINY, 1 - _TINY)

    def loss(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighed mean of -log P(label) with its ridge, and the gradient of both."""
        mass, total, true, open_ = self._shares(weights)
        given, undenied = self._products(true, open_)
        likely = np.clip(0.5 * given + 0.5 * undenied, _TINY, 1 - _TINY)
        right = np.where(self._holds, likely, 1 - likely)
        by_likely = self._weights * np.where(self._holds, -1, 1) / right
        by_true = (0.5 * by_likely * given)[self._example_of] / true
        by_false = -(0.5 * by_likely * undenied)[self._example_of] / open_
        shared = -(by_true * true + by_false * (1 - open_)) / total
        by_mass = shared[self._unit_of]
        by_mass += self._true * (by_true / total)[self._unit_of]
        by_mass += self._false * (by_false / total)[self._unit_of]
        size = max(1, len(weights))
        value = -float(self._weights @ np.log(right)) + RIDGE * float(weights @ weights) / size / 2
        return value, self._transposed @ (by_mass * mass) + RIDGE * weights / size


def _section(truth: bool | None) -> Literal["true", "false", "unclear"]:
    return "unclear" if truth is None else "true" if truth else "false"


def fit(examples: Sequence[Example]) -> dict[Feature, float]:
    """The weights under which the labels are likeliest."""
    problem = Problem([example for example in examples if example.units])
    start = np.zeros(len(problem.features))
    for (section, name), column in problem.features.items():
        start[column] = -float(section != "unclear" and name in _KINDS)
    limits = {"maxiter": STEPS, "maxfun": 2 * STEPS}
    found = minimize(problem.loss, start, jac=True, method="L-BFGS-B", options=limits)
    return {name: float(found.x[column]) for name, column in problem.features.items()}


def held_out(examples: Sequence[Example]) -> dict[str, tuple[float, float]]:
    """Coverage and accuracy by set: each table by weights fitted on the other half of them."""
    parts: tuple[list[Example], list[Example]] = ([], [])
    for example in examples:
        parts[int(sha256(example.table.encode()).hexdigest(), 16) >> 2 & 1].append(example)
    counts: dict[str, list[int]] = {example.set: [0, 0, 0] for example in examples}
    for example in examples:
        counts[example.set][0] += 1
    for learnt, scored in (parts, parts[::-1]):
        weights = fit(learnt)
        read = [example for example in scored if example.units]
        problem = Problem(read, {name: column for column, name in enumerate(weights)})
        likely = problem.likely(np.array(list(weights.values())))
        for example, belief in zip(read, likely, strict=True):
            if not CONTRADICTED < belief < SUPPORTED:
                counts[example.set][1] += 1
                counts[example.set][2] += (belief >= SUPPORTED) == example.holds
    return {name: (j / n, right / max(j, 1)) for name, (n, j, right) in counts.items()}


def text_of(weights: dict[Feature, float]) -> str:
    """The weights as the JSON file that the package ships, many on a line."""
    sections = []
    for section in get_args(Literal["true", "false", "unclear"]):
        kept = [
            f"{json.dumps(name)}: {round(weight, 2)}"
            for (own, name), weight in sorted(weights.items())
            if own == section and abs(weight) >= LEAST
        ]
        rows = [", ".join(row) for row in batched(kept, 3)]
        sections.append(f'"{section}": {{\n' + ",\n".join(rows) + "\n}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def batched(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Runs of some items (:func:`itertools.batched` of Python 3.12)."""
    return (items[start : start + size] for start in range(0, len(items), size))


def main() -> None:
    """Read the dev splits, score tables held out, fit on all, write."""
    command = load(WeightsCommand)
    examples: list[Example] = []
    for name in command.sets:
        examples += read_examples(name, read_items(name, command), command.workers)
    units = sum(len(example.units) for example in examples)
    print(f"{len(examples)} examples with {units} stated things")
    for part, (coverage, accuracy) in held_out(examples).items():
        print(f"{part}: {coverage:.1%} scored, {accuracy:.1%} of them right")
    weights = fit(examples)
    print(f"{len(weights)} weights")
    if command.out is not None:
        Path(command.out).write_text(text_of(weights), encoding="utf-8")
        print(command.out)


if __name__ == "__main__":
    run_script(main)
