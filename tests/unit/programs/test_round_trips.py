"""Round trips: what is said of a table is supported, and with one slot edited contradicted."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tablemend.datasets.source_tables.sources import make_table
from tablemend.evidence.source import Source
from tablemend.programs.edit import edits, reword
from tablemend.programs.execute import check
from tablemend.programs.program import Statement
from tablemend.programs.sample import KINDS, Sampler
from tablemend.programs.say import Realiser, Sentence
from tablemend.programs.speaker import TableDescriber, Unsayable, speakers
from tablemend.programs.table import TypedTable
from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.domains import SYNTHETIC
from tablemend.verifier.staf import verify_text
from tablemend.verifier.verifiers import PROGRAM

TABLES = [
    *(make(5, number) for make in SYNTHETIC.values() for number in range(12)),
    *(make_table(5, number).table for number in range(16)),
]
KNOWN_MISSES = {
    "group": "the most common value is read as the most of a number",
    "attribute": "a text beside a column of numbers is often left open",
}
"""Kinds of statements that the verifier does not read, and why."""


def trips(table: Table) -> list[tuple[str, str, str]]:
    """Of each kind of statement how its faithful and its edited sentence are judged."""
    source, found = Source((table,)), []
    for speaker in speakers(TypedTable.of(table)):
        rng = Random(table.content_hash())
        sampler = Sampler(speaker, rng)
        for kind in KINDS:
            drawn = (statement for _ in range(6) if (statement := kind(sampler)) is not None)
            statement = next(drawn, None)
            try:
                said = Realiser(speaker, rng).say(statement) if statement else None
            except Unsayable:
                continue
            if statement is None or said is None:
                continue
            assert check(statement, speaker.table).holds, said.text
            edited = _edited(said, statement, speaker, rng)
            verdicts = [verify_text(text, source, PROGRAM).verdict for text in (said.text, edited)]
            found.append((kind.__name__, *verdicts))
    return found


def _edited(said: Sentence, statement: Statement, speaker: TableDescriber, rng: Random) -> str:
    """The sentence with one slot edited so that it is false."""
    for edit in edits(statement, speaker.table, rng):
        if (span := said.span(edit.role)) is None:
            continue
        old = said.text[slice(*span)]
        new = reword(old, edit, statement, speaker)
        if new and new != old:
            return said.text[: span.start] + new + said.text[span.end :]
    return ""


@pytest.fixture(scope="module")
def verdicts() -> Counter[tuple[str, ...]]:
    return Counter(trip for table in TABLES for trip in trips(table))


@pytest.mark.parametrize(
    "kind",
    [
        *(kind.__name__ for kind in KINDS if kind.__name__ not in KNOWN_MISSES),
        *(
            pytest.param(kind, marks=pytest.mark.xfail(reason=reason, strict=True))
            for kind, reason in KNOWN_MISSES.items()
        ),
    ],
)
def test_what_is_said_is_supported_and_what_is_edited_contradicted(
    verdicts: Counter[tuple[str, ...]], kind: str
) -> None:
    own = {trip[1:]: count for trip, count in verdicts.items() if trip[0] == kind}
    n = sum(own.values())
    assert n >= 3, "too few statements of this kind"
    said = sum(count for (first, _), count in own.items() if first == "supported")
    wrong = sum(count for (_, second), count in own.items() if second == "supported")
    false_alarms = sum(count for (first, _), count in own.items() if first == "contradicted")
    assert wrong <= n // 8 and false_alarms <= n // 8, own
    assert said >= 0.8 * n, own
