"""The sample of FAITH: a sentence of a report with one number masked, and the report's tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tablemend.config.section import Serialisation
from tablemend.errors import TablemendError
from tablemend.foreign import FromJson
from tablemend.runs import hash_text
from tablemend.tables.serialisations import serialise
from tablemend.tables.table import Table
from tablemend.tables.write import write_table
from tablemend.tasks.faith.values import read_values

MASK = "[MASK]"
SCENARIOS: dict[str, str] = {
    "A": "A direct look-up",
    "B": "B one metric compared",
    "C": "C two metrics",
    "D": "D several metrics",
    "": "scenario unknown",
}
"""FAITH, 3.4."""
DERIVATIONS = "derivations-2"
"""Version of :mod:`tablemend.tasks.faith.derivations`, which who only asks does not load."""


@dataclass(frozen=True, slots=True)
class MaskedSpan(FromJson):
    """One masked number (FAITH, 3.1).

    Attributes:
        company: whose report it is; splits are made by it.
        report: name of the filing.
        tables: all of the report; their titles are their pre-texts.
        before, after: the sentences around.
        sentence: with :data:`MASK` in place of the number.
        answer: the masked words.
        scenario: how it is to be worked out; empty where nobody has said.
        derivation: cells and formula, in lines; empty where they are not known.
        source: what labelled it: ``program``, models, or people.
        exact: the figure before it was rounded, where it is known.
    """

    company: str
    report: str
    tables: tuple[Table, ...]
    before: str
    sentence: str
    after: str
    answer: str
    scenario: str = ""
    derivation: str = ""
    source: str = ""
    exact: str = ""

    def __post_init__(self) -> None:
        if self.scenario not in SCENARIOS or not read_values(self.answer):
            raise TablemendError(
                f"scenario {self.scenario!r} is none of A to D, or {self.answer!r} no number"
            )

    @property
    def id(self) -> str:
        """Hash of what is shown and of the answer; labels may change."""
        shown = (self.before, self.sentence, self.after, self.answer)
        return hash_text(json.dumps([self.company, *shown, *(t.to_json() for t in self.tables)]))

    @property
    def source_hash(self) -> str:
        """Hash of the company."""
        return hash_text(self.company)

    @property
    def domain(self) -> str:
        """The scenario, which reports break rates down by."""
        return SCENARIOS[self.scenario]

    @property
    def around(self) -> str:
        """The sentences before and after."""
        return f"{self.before} {self.after}"

    @property
    def text(self) -> str:
        """The sentence between its neighbours."""
        return " ".join(filter(None, (self.before, self.sentence, self.after)))

    @property
    def hint(self) -> str:
        """What kind of value is masked, so that only one is right (FAITH, 3.3)."""
        units = frozenset().union(*(one.units for one in read_values(self.answer)))
        if any(unit.startswith("per ") for unit in units):
            return "an amount per share or unit"
        if "%" in units:
            return "a percentage"
        return "an amount of money" if are_money(units) else "a count or quantity"

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return asdict(self) | {"tables": [table.to_json() for table in self.tables]}


def are_money(units: frozenset[str]) -> bool:
    """Whether a currency is among them: three letters, energy aside."""
    return any(len(one) == 3 and one.isalpha() and one not in ("boe", "btu") for one in units)


def write_tables(tables: Sequence[Table], serialisation: Serialisation | None = None) -> str:
    """The tables with their pre-texts, numbered; in Markdown, aligned, where nothing is given."""
    parts = []
    for number, table in enumerate(tables, 1):
        title = f" {table.title}" if table.title else ""
        own = Table(table.columns, table.rows)
        body = serialise(own, serialisation) if serialisation else write_table(own, "markdown")
        parts.append(f"Table {number}:{title}\n\n{body}")
    return "\n\n".join(parts)
