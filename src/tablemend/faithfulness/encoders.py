"""How a classifier reads a claim beside its evidence: pairs of texts, or a table and a text.

An encoder never cuts: what does not fit is encoded with fewer cells, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tablemend.evidence.source import Source
from tablemend.faithfulness.premise import premise
from tablemend.records import Claim, Evidence
from tablemend.tables.table import Table

Ids = dict[str, list[Any]]
"""Model inputs of one claim without padding: lists of the same length by name."""
NO_TABLE = "the model reads tables, and the source has none"
TABLE_TOO_LONG = "the table is too long for the model, and half a table is another one"
CELL_TOO_LONG = "the best cell is too long for the model"


class Encoded(NamedTuple):
    """A claim as a model reads it.

    Attributes:
        ids: the inputs; ``None`` where they would not fit.
        evidence: what the model sees.
        why_not: why there are no inputs.
    """

    ids: Ids | None
    evidence: tuple[Evidence, ...]
    why_not: str = ""


class Encoder(Protocol):
    """Reads claims for one sort of model."""

    def __init__(self, tokenizer: Any, window: int) -> None: ...

    def encode(self, claim: Claim, evidence: Sequence[Evidence], source: Source) -> Encoded:
        """Encode a claim with its evidence, the best first; there is some."""
        ...


class _Tokenizing:
    def __init__(self, tokenizer: Any, window: int) -> None:
        self._tokenizer = tokenizer
        self._window = window


class PairEncoder(_Tokenizing):
    """Premise and hypothesis, as models of inference read them."""

    def encode(self, claim: Claim, evidence: Sequence[Evidence], source: Source) -> Encoded:
        """Encode with as much of the evidence as fits, the best first."""
        for count in range(len(evidence), 0, -1):
            kept = tuple(evidence[:count])
            ids = self._tokenizer(premise(kept), claim.statement, truncation=False, verbose=False)
            if len(ids["input_ids"]) <= self._window:
                return Encoded(dict(ids), kept)
        return Encoded(None, tuple(evidence), CELL_TOO_LONG)


class TapasEncoder(_Tokenizing):
    """A whole table and a statement, as TAPAS reads them."""

    def encode(self, claim: Claim, evidence: Sequence[Evidence], source: Source) -> Encoded:
        """Encode with the table that the best cell stands in."""
        import pandas  # the tokenizer's own wish; it comes with datasets

        table = _table_of(evidence, source)
        if table is None:
            return Encoded(None, tuple(evidence), NO_TABLE)
        rows = [[cell or "" for cell in row] for row in table.rows]
        frame = pandas.DataFrame(rows, columns=list(table.columns), dtype=str)
        try:
            ids = self._tokenizer(table=frame, queries=[claim.statement], truncation=False)
        except ValueError:  # "Too many rows", which are tokens
            return Encoded(None, tuple(evidence), TABLE_TOO_LONG)
        if len(ids["input_ids"][0]) > self._window:
            return Encoded(None, tuple(evidence), TABLE_TOO_LONG)
        return Encoded({name: list(value[0]) for name, value in ids.items()}, tuple(evidence))


class TapexEncoder(_Tokenizing):
    """A whole table and a statement as one line, as TAPEX reads them."""

    def encode(self, claim: Claim, evidence: Sequence[Evidence], source: Source) -> Encoded:
        """Encode with the table that the best cell stands in."""
        table = _table_of(evidence, source)
        if table is None:
            return Encoded(None, tuple(evidence), NO_TABLE)
        text = f" {claim.statement} {flatten(table)}".lower()
        ids = self._tokenizer(text, truncation=False, verbose=False)
        if len(ids["input_ids"]) > self._window:
            return Encoded(None, tuple(evidence), TABLE_TOO_LONG)
        return Encoded(dict(ids), tuple(evidence))


def flatten(table: Table) -> str:
    """A table on one line: ``col : a | b row 1 : x | y`` (TAPEX, section 3.2).

    >>> flatten(Table.of(["Team", "Points"], [["Alba", "5"]]))
    'col : Team | Points row 1 : Alba | 5'
    """
    rows = [
        f"row {number} : {' | '.join(cell or '' for cell in row)}"
        for number, row in enumerate(table.rows, 1)
    ]
    return " ".join([f"col : {' | '.join(table.columns)}", *rows])


def _table_of(evidence: Sequence[Evidence], source: Source) -> Table | None:
    """The table of the best cell."""
    number = next((one.table for one in evidence if one.table is not None), None)
    return None if number is None else source.tables[number]
