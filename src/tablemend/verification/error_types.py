"""The type of an error where only a model says that a claim is wrong (TabFaith, section 5, step 2).

A program that finds an error knows its type: it has looked up a value or worked out a comparison.
A model says "contradicted" and no more. This classifier reads the claim and its evidence: a
linear model over content-free features, trained by ``train/error_types.py`` on injected errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from tablemend.errors import TablemendError
from tablemend.records import CLAIM_ERRORS, Claim, ClaimError, ClaimKind, Evidence
from tablemend.verification.error_features import VERSION as FEATURES
from tablemend.verification.error_features import features_of

if TYPE_CHECKING:
    from tablemend.evidence.source import Source

SHIPPED = Path(__file__).with_name("error_types.json")
"""The weights that the package brings, trained on made-up tables alone."""
BY_KIND: dict[ClaimKind, ClaimError] = {
    "numeric": "NUM",
    "relational": "REL",
    "comparative": "CMP",
    "temporal": "TMP",
    "attribute": "ATT",
    "presence": "REL",
}
"""What the kind of a claim alone says: what the classifier is compared with."""


@dataclass(frozen=True)
class LinearClassifier:
    """Weights of hashed features.

    Attributes:
        columns: number of places that feature names are hashed to.
        weights: by place, one weight a type in the order of
            :data:`~tablemend.records.CLAIM_ERRORS`; a place that is not there counts nothing.
    """

    columns: int
    weights: Mapping[int, tuple[float, ...]]

    def shares(
        self, claim: Claim, evidence: Sequence[Evidence], source: Source | None = None
    ) -> dict[ClaimError, float]:
        """How likely each type is; they add up to one."""
        totals = [0.0] * len(CLAIM_ERRORS)
        for place in places_of(features_of(claim, evidence, source), self.columns):
            for number, weight in enumerate(self.weights.get(place, ())):
                totals[number] += weight
        highest = max(totals)
        sizes = [math.exp(total - highest) for total in totals]
        return {name: size / sum(sizes) for name, size in zip(CLAIM_ERRORS, sizes, strict=True)}

    def classify(
        self, claim: Claim, evidence: Sequence[Evidence], source: Source | None = None
    ) -> ClaimError:
        """The likeliest type."""
        shares = self.shares(claim, evidence, source)
        return max(shares, key=lambda name: shares[name])

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {
            "features": FEATURES,
            "types": list(CLAIM_ERRORS),
            "columns": self.columns,
            "weights": {str(place): list(row) for place, row in sorted(self.weights.items())},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], name: str) -> LinearClassifier:
        """The inverse of :meth:`to_json`.

        Raises:
            TablemendError: weights of other features, or damaged.
        """
        mend = "train again: python train/error_types.py recipe=error-types"
        if data.get("features") != FEATURES or data.get("types") != list(CLAIM_ERRORS):
            raise TablemendError(f"{name} is not of {FEATURES} and {CLAIM_ERRORS}: {mend}")
        try:
            weights = {
                int(place): tuple(float(weight) for weight in row)
                for place, row in data["weights"].items()
            }
            columns = int(data["columns"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TablemendError(f"{name} is damaged ({error}): {mend}") from error
        if columns < 1 or any(len(row) != len(CLAIM_ERRORS) for row in weights.values()):
            raise TablemendError(f"{name} is damaged (weights of another shape): {mend}")
        return cls(columns, weights)


def classify(
    claim: Claim, evidence: Sequence[Evidence], source: Source | None = None
) -> ClaimError:
    """The type of a claim that a model calls wrong, by the weights that the package brings.

    Args:
        claim: the claim.
        evidence: what the model was shown.
        source: the tables, where they are at hand; a number that the evidence lacks is then
            looked for in all cells.
    """
    if claim.kind == "presence":
        return BY_KIND["presence"]
    return shipped().classify(claim, evidence, source)


@lru_cache(maxsize=1)
def shipped() -> LinearClassifier:
    """The classifier that the package brings, read once."""
    return read_classifier(SHIPPED)


def read_classifier(path: Path) -> LinearClassifier:
    """Weights that ``train/error_types.py`` has written.

    Raises:
        TablemendError: no such file, not JSON, or of other features.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise TablemendError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise TablemendError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise TablemendError(f"{path} holds no JSON object")
    return LinearClassifier.from_json(data, str(path))


def places_of(features: Iterable[str], columns: int) -> list[int]:
    """Where features stand among the columns, each place once, sorted."""
    return sorted({crc32(name.encode()) % columns for name in features})
