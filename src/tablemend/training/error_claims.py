"""Claims with injected errors as examples of the five types, and how well a classifier tells them.

Every summary has one error. The claims whose words hold it are the examples, as a model would
flag them: not only the claim of the wrong words, but each whose statement they make false. The
examples of one error count as one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from tablemend.claims.extract import extract_claims
from tablemend.config.error_types import InjectedErrors
from tablemend.datasets.tabfaith.domains import SYNTHETIC, domain_table
from tablemend.datasets.tabfaith.injection import Injector
from tablemend.datasets.tabfaith.sheet import Unverbalisable
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.datasets.tablehallu import small_world
from tablemend.evidence.source import Source, retrieve_cells
from tablemend.records import CLAIM_ERRORS, Claim, ClaimError, Evidence
from tablemend.statistics import mean_interval
from tablemend.tables.table import Table


class TypedClaim(NamedTuple):
    """A false claim, and what is false of it.

    Attributes:
        claim: the claim.
        evidence: the cells that a model would be shown.
        source: the table.
        type: the type of the injected error.
        error: name of the error; the claims of one error share it.
        weight: one divided by their number.
    """

    claim: Claim
    evidence: tuple[Evidence, ...]
    source: Source
    type: ClaimError
    error: str
    weight: float


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
    injector = Injector(summary, verbaliser)
    for type in CLAIM_ERRORS:
        injected = injector.inject([type], Random(f"{name}:{type}"))
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
            evidence = retrieve_cells(claim.statement, source)
            yield TypedClaim(claim, evidence, source, type, f"{name}:{type}", 1 / len(found))


def measure(
    examples: Sequence[TypedClaim], predicted: Sequence[ClaimError], seed: int
) -> dict[str, Any]:
    """Accuracy over errors, F1 of each type, and the confusion matrix; JSON-serialisable.

    Args:
        examples: claims with injected errors.
        predicted: the type that a classifier gives each.
        seed: of the bootstrap.

    Returns:
        ``confusion[injected][predicted]`` counts errors; one whose claims get several types counts
        in parts.
    """
    confusion = {type: dict.fromkeys(CLAIM_ERRORS, 0.0) for type in CLAIM_ERRORS}
    right: dict[str, float] = defaultdict(float)
    for one, type in zip(examples, predicted, strict=True):
        confusion[one.type][type] += one.weight
        right[one.error] += one.weight * (type == one.type)
    return {
        "errors": len(right),
        "accuracy": mean_interval(list(right.values()), seed),
        "f1": {type: _f1(confusion, type) for type in CLAIM_ERRORS},
        "confusion": confusion,
    }


def _f1(confusion: dict[ClaimError, dict[ClaimError, float]], type: ClaimError) -> float:
    hits = confusion[type][type]
    all_of_type = sum(confusion[type].values()) + sum(row[type] for row in confusion.values())
    return 2 * hits / all_of_type if all_of_type else 0.0
