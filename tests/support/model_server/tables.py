"""Tables for the prompts of the benchmark: the gold one of a known example, right or wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

from tablemend.config import EXAMPLE_FILES, Source
from tablemend.datasets.splits import SPLITS
from tablemend.datasets.tablehallu.names import invent_word
from tablemend.errors import TablemendError
from tablemend.records import ContextKind, Example
from tablemend.tables.table import Cell, Table
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import read_examples

MISTAKES = ("extra-row", "wrong-cell", "filled-blank", "wrong-order", "made-up-row")
QUERY = "\n\nQuery:\n"


class KnownTables:
    """Examples by the queries of their prompts."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._by_query: dict[str, list[Example]] = defaultdict(list)
        for example in examples:
            self._by_query[example.query].append(example)

    @classmethod
    def open(cls, path: Path) -> KnownTables:
        """The examples of a file, or of a folder: of its splits, or of all its files.

        Raises:
            TablemendError: no such file or folder, or no examples in it.
        """
        if not path.is_dir():
            return cls(read_examples(Source(source=str(path))))
        files = sorted(file for file in path.iterdir() if file.suffix in EXAMPLE_FILES)
        if not files:
            raise TablemendError(f"{path} holds no {' or '.join(EXAMPLE_FILES)} file of examples")
        splits = [file for file in files if file.stem in SPLITS]
        files = splits or files
        return cls(one for file in files for one in read_examples(Source(source=str(file))))

    def find(self, prompt: str) -> tuple[Example, ContextKind] | None:
        """The example that a prompt was made from, and which of its contexts it shows."""
        _, found, rest = prompt.rpartition(QUERY)
        query = rest.partition("\n\n")[0]
        if not found:
            return None
        for example in self._by_query.get(query, ()):
            if example.adversarial_context in prompt:
                return example, "adversarial"
            if example.gold_context in prompt:
                return example, "clean"
        return None


def write_answer(
    prompt: str, example: Example, mistake: str | None, rng: Random
) -> tuple[str, bool]:
    """The example's gold table in the format asked for; whether it has the mistake."""
    wrong = None if mistake is None else _with_mistake(example, mistake, rng)
    plain: tablehallu.OutputFormat = "markdown"
    formats = tablehallu.FORMATS.items()
    output = next((name for name, wording in formats if wording in prompt), plain)
    return tablehallu.answer(wrong or example.gold_table, output), wrong is not None


def _with_mistake(example: Example, mistake: str, rng: Random) -> Table | None:
    """The gold table with one error of the paper's types; ``None`` where it has no place for it."""
    table = example.gold_table
    rows: list[list[Cell]] = [list(row) for row in table.rows]
    entities = {fact.entity for fact in example.facts}
    key = next(i for i, cell in enumerate(rows[0]) if cell in entities)
    match mistake:
        case "extra-row":
            others: dict[int, dict[str, Cell]] = defaultdict(dict)
            for fact in example.facts:
                if fact.violates is not None:
                    others[fact.row][fact.column] = fact.value
                    others[fact.row].setdefault(table.columns[key], fact.entity)
            if not others:
                return None
            stated = rng.choice(list(others.values()))
            rows.append([stated.get(column) for column in table.columns])
        case "wrong-cell" | "filled-blank":
            places = [
                (number, index, other)
                for index in range(len(table.columns))
                if index != key
                for number, row in enumerate(rows)
                if (row[index] is None) == (mistake == "filled-blank")
                for other in table.column(table.columns[index])
                if other is not None and other != row[index]
            ]
            if not places:
                return None
            number, index, other = rng.choice(places)
            rows[number][index] = other
        case "wrong-order":
            if len(rows) < 2:
                return None
            rows[0], rows[-1] = rows[-1], rows[0]
        case "made-up-row":
            row = list(rng.choice(rows))
            row[key] = f"{invent_word(rng, 3)} {invent_word(rng, 3)}"
            rows.append(row)
        case _:
            return None
    return Table.of(table.columns, rows, table.title)
