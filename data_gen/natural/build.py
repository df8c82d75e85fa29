"""Make the test set in natural English of its texts: examples of table generation.

    python data_gen/natural/build.py [folder=data_gen/natural]

Reads `contexts.jsonl` of the folder: real tables, a text of each written by hand, the table that a
second reader, who saw the text alone, read in it, and two queries. Refuses a text where the
detector finds a difference between the two tables, and what the checks of generated data refuse;
writes `validation.jsonl` (to choose on) and `test.jsonl` (to look at once).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tablemend.config import Section, load
from tablemend.detector.algorithm import align, detect_errors
from tablemend.detector.keys import Gold, prepare_gold
from tablemend.errors import TablemendError
from tablemend.records import Condition, Constraints, Example, Fact, Mention
from tablemend.runs import read_jsonl, say, write_jsonl
from tablemend.script import run_script
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.verification import meets, verify

ENGINE = "natural/1"
SPLITS = ("validation", "test")
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?][\"”’)]*(?=\s+[\"“(]?[A-Z0-9])|(?=\n|$))")

Row = Mapping[str, str]


class Settings(Section):
    """Where the texts are."""

    folder: str = "data_gen/natural"
    """Folder with `contexts.jsonl`; the examples go there, too."""


def examples_of(record: Mapping[str, Any]) -> Iterator[Example]:
    """The examples of one text, one a query.

    Raises:
        TablemendError: the second reader has another table, or a check refuses an example.
    """
    rows, text = record["rows"], record["text"]
    words = wordings(record)
    places = [places_of(text, row) for row in words]
    for query in record["queries"]:
        asked = [
            Condition(**{**one, "values": tuple(one["values"])}) for one in query["conditions"]
        ]
        met = [n for n, row in enumerate(rows) if all(meets(row.get(c.column), c) for c in asked)]
        gold = query["gold"]
        if sorted(gold) != met:
            raise TablemendError(f"{record['id']}: rows {gold} are gold, and {met} meet the query")
        said = [
            replace(c, values=tuple({words[n][c.column] for n in met if c.values})) for c in asked
        ]
        columns = query["columns"]
        example = Example(
            topic=record["title"],
            category=record["category"],
            domain=record["domain"],
            query=query["query"],
            constraints=Constraints(
                tuple(query["entity_scope"]),
                query["numerical_range"],
                query["sort_column"],
                query["sort_order"],
                tuple(said),
            ),
            gold_table=Table.of(columns, ([words[n].get(c) for c in columns] for n in gold)),
            gold_context="",
            adversarial_context=text,
            difficulty="paper",
            facts=tuple(
                Fact(row, words[n][record["key"]], column, value, broken, None, places[n][column])
                for row, n, broken in [
                    *((row, n, None) for row, n in enumerate(gold)),
                    *(
                        (row, n, next(c.column for c in asked if not meets(rows[n][c.column], c)))
                        for row, n in enumerate(n for n in range(len(rows)) if n not in met)
                    ),
                ]
                for column, value in words[n].items()
            ),
            source=record["source"],
            source_hash=record["source_hash"],
            engine=ENGINE,
            seed=0,
        )
        if (reason := verify(example)) is not None:
            raise TablemendError(f"{record['id']}: {query['query']}: {reason}")
        yield example


def wordings(record: Mapping[str, Any]) -> list[Row]:
    """The rows of the table with their cells as the text writes them, by the second reader.

    Raises:
        TablemendError: the detector finds a difference.
    """
    columns = record["columns"]
    tables = [
        Table.of(columns, ([row.get(one) for one in columns] for row in part))
        for part in (record["rows"], record["read"])
    ]
    found = detect_errors(tables[1], tables[0], record["text"]).findings
    gold = prepare_gold(tables[0])
    alignment = align(tables[1], gold) if isinstance(gold, Gold) else None
    if found or alignment is None or len(alignment.matched) < len(record["rows"]):
        raise TablemendError(f"{record['id']}: the second reader has another table: {found}")
    read = {gold: record["read"][answer] for answer, gold in alignment.matched.items()}
    return [
        {one: read[n][one] for one in columns if row.get(one) is not None}
        for n, row in enumerate(record["rows"])
    ]


def places_of(text: str, row: Row) -> dict[str, Mention]:
    """Where a text states the cells of a row.

    Of several places it is the one nearest to the row's rarest cell; of a cell that the text has in
    other words ("at Oracle Arena before 19,596") the sentence of that cell.
    """
    found = {
        column: [match.start() for match in re.finditer(re.escape(value), text, re.I)]
        for column, value in row.items()
    }
    centre = min(filter(None, found.values()), key=len)[0]
    spans = [match.span() for match in _SENTENCE.finditer(text)]
    places = {}
    for column, starts in found.items():
        start = min(starts, key=lambda one: abs(one - centre), default=centre)
        first, last = next((one for one in reversed(spans) if one[0] <= start), (0, len(text)))
        end = start + len(row[column])
        own = (start, end) if starts else (first, last)
        places[column] = Mention(*own, first, max(last, own[1]))
    return places


def main() -> None:
    """Make the examples of each split."""
    folder = Path(load(Settings).folder)
    made: dict[str, list[Any]] = {split: [] for split in SPLITS}
    for record in read_jsonl(folder / "contexts.jsonl"):
        made[record["split"]] += [one.to_json() for one in examples_of(record)]
    for split, examples in made.items():
        write_jsonl(folder / f"{split}.jsonl", examples)
        say(f"{len(examples)} examples in {folder / split}.jsonl")


if __name__ == "__main__":
    run_script(main)
