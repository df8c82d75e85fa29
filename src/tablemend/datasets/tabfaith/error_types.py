"""Injected errors as examples of the five types, the classifier learnt from them, and its figures.

Every summary has one error. The claims whose words hold it are the examples, as a model would
flag them: not only the claim of the wrong words, but each whose statement they make false. The
examples of one error count as one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from tablemend.claims.extract import extract_claims
from tablemend.config.error_types import InjectedErrors, Linear
from tablemend.datasets.tabfaith.domains import SYNTHETIC, domain_table
from tablemend.datasets.tabfaith.injection import Injector
from tablemend.datasets.tabfaith.sheet import Unverbalisable
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.datasets.tablehallu import small_world
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source, retrieve_cells
from tablemend.records import CLAIM_ERRORS, Claim, ClaimError, Evidence
from tablemend.reports.rates import mean_interval
from tablemend.tables.table import Table
from tablemend.verification.error_features import features_of
from tablemend.verification.error_types import LinearClassifier, places_of

_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class TypedClaim:
    """A false claim, and what is false of it.

    Attributes:
        claim: the claim.
        evidence: the cells that a model would be shown.
        source: the table.
        type: the type of the injected error.
        error: number of the error; the claims of one error share it.
        weight: one divided by their number.
        focused: whether the wrong words are those that the claim turns on.
    """

    claim: Claim
    evidence: tuple[Evidence, ...]
    source: Source
    type: ClaimError
    error: str
    weight: float
    focused: bool


def made_up_tables(data: InjectedErrors, seed: int) -> list[Table]:
    """Tables of the synthetic domains and of the small world; none twice."""
    tables = [domain_table(name, seed, n) for name in SYNTHETIC for n in range(data.tables)]
    examples = small_world.examples(seed=seed, n=data.tables)
    tables += [example.gold_table for example in islice(examples, data.tables)]
    return list({table.content_hash(): table for table in tables}.values())


def split(tables: Sequence[Table], held_out: float) -> tuple[list[Table], list[Table]]:
    """Tables to learn from and tables to measure on, by the hash of their content."""
    learn: list[Table] = []
    measure: list[Table] = []
    for table in tables:
        digest = hashlib.sha256(f"error types:{table.content_hash()}".encode()).hexdigest()
        (measure if int(digest[:8], 16) < held_out * 16**8 else learn).append(table)
    return learn, measure


def typed_claims(tables: Iterable[Table], summaries: int, seed: int) -> Iterator[TypedClaim]:
    """False claims of summaries with one injected error; tables that allow none are left out."""
    for table in tables:
        name = f"{seed}:{table.content_hash()}"
        try:
            verbaliser = Verbaliser(table)
            for number in range(summaries):
                yield from _of_summary(verbaliser, Source((table,)), f"{name}:{number}")
        except Unverbalisable:
            continue


def _of_summary(verbaliser: Verbaliser, source: Source, name: str) -> Iterator[TypedClaim]:
    summary = verbaliser.summarise(Random(name))
    injector = Injector(summary, verbaliser.sheet, verbaliser.recomputation)
    for type in CLAIM_ERRORS:
        injected = injector.plant([type], Random(f"{name}:{type}"))
        if injected is None:
            continue
        error = injected.errors[0]
        found = [
            claim
            for claim in extract_claims(injected.text).claims
            if claim.start is not None
            and claim.end is not None
            and claim.start <= error.start
            and error.end <= claim.end
            and error.text in claim.statement
        ]
        for claim in found:
            focus = claim.focus
            yield TypedClaim(
                claim,
                retrieve_cells(claim.statement, source),
                source,
                type,
                f"{name}:{type}",
                1 / len(found),
                focus is not None and focus.start < error.end and error.start < focus.end,
            )


def fit(examples: Sequence[TypedClaim], linear: Linear, seed: int) -> LinearClassifier:
    """Logistic regression; every type weighs the same.

    Each example is learnt twice, with the whole table at hand and with the evidence alone.

    Raises:
        TablemendError: a type of which there is no example.
    """
    import numpy as np
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    types, weights = np.array([one.type for one in examples]), [one.weight for one in examples]
    balance = {}
    for type in CLAIM_ERRORS:
        total = sum(one.weight for one in examples if one.type == type)
        if not total:
            raise TablemendError(f"no example of {type} to learn from: raise data.tables")
        balance[type] = 1 / total
    rows = [
        places_of(features_of(one.claim, one.evidence, source), linear.columns)
        for whole in (True, False)
        for one in examples
        for source in [one.source if whole else None]
    ]
    ends = np.cumsum([0, *map(len, rows)])
    places = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    matrix = csr_array((np.ones(len(places)), places, ends), shape=(len(rows), linear.columns))
    scaled = np.array([w * balance[t] for w, t in zip(weights, types, strict=True)])
    scaled *= len(examples) / scaled.sum() / 2
    model = LogisticRegression(C=linear.strength, max_iter=2000, random_state=seed)
    model.fit(matrix, np.concatenate([types, types]), sample_weight=np.tile(scaled, 2))
    order = [list(model.classes_).index(name) for name in CLAIM_ERRORS]
    learnt = model.coef_[order].T.round(_DECIMALS)
    used = np.unique(places)
    return LinearClassifier(
        linear.columns,
        {int(p): tuple(map(float, learnt[p])) for p in used if learnt[p].any()},
    )


def measure(
    examples: Sequence[TypedClaim], said: Sequence[ClaimError], seed: int
) -> dict[str, Any]:
    """Accuracy over errors, F1 of each type, and the confusion matrix; JSON-serialisable.

    Args:
        examples: claims with injected errors.
        said: the type that a classifier gives each.
        seed: of the bootstrap.

    Returns:
        ``confusion[type][said]`` counts errors; an error whose claims are told apart counts in
        parts. ``accuracy_focused`` takes only the claims that turn on the wrong words.
    """
    confusion = {type: dict.fromkeys(CLAIM_ERRORS, 0.0) for type in CLAIM_ERRORS}
    right: dict[str, float] = defaultdict(float)
    focused: dict[str, list[bool]] = defaultdict(list)
    for one, predicted in zip(examples, said, strict=True):
        confusion[one.type][predicted] += one.weight
        right[one.error] += one.weight * (predicted == one.type)
        if one.focused:
            focused[one.error].append(predicted == one.type)
    return {
        "errors": len(right),
        "claims": len(examples),
        "tables": len({one.source.tables[0].content_hash() for one in examples}),
        "accuracy": mean_interval(list(right.values()), seed),
        "accuracy_focused": mean_interval(
            [sum(hits) / len(hits) for hits in focused.values()], seed
        ),
        "f1": {type: _f1(confusion, type) for type in CLAIM_ERRORS},
        "macro_f1": sum(_f1(confusion, type) for type in CLAIM_ERRORS) / len(CLAIM_ERRORS),
        "confusion": confusion,
    }


def _f1(confusion: dict[ClaimError, dict[ClaimError, float]], type: ClaimError) -> float:
    hits = confusion[type][type]
    said = sum(row[type] for row in confusion.values())
    there = sum(confusion[type].values())
    return 2 * hits / (said + there) if said + there else 0.0
