"""Exercises in sorting and filtering: chats that teach a small model to compare.

    python benchmarks/exercises.py source=data/tablehallu n=8000 out=data/exercises.jsonl

A recipe reads them as instruction data (content: messages; docs/training.md).
In a target table nearly every token is a copy, so a small model that is fine-tuned on tables alone
learns to copy and not to compare. Here some four tokens in ten need a comparison (LAB_LOG.md,
2026-11-26).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pydantic import Field

from tablemend.config import Count, Section, Source, load
from tablemend.datasets.source_tables.renaming import read_vocabulary
from tablemend.detector.query import sort_rows
from tablemend.errors import TablemendError
from tablemend.records import Example, SortOrder
from tablemend.runs import write_jsonl
from tablemend.script import run_script
from tablemend.tasks.sources import read_records

MAKES = "python data_gen/tablehallu.py"
LISTS = 6
"""In one exercise."""
NAMED = ("Name", "Title", "Film", "Player", "Competition", "Team")
COUNTED = ("Year", "Points", "Rank", "Votes", "Population", "Score")
TYPED = ("Language", "Team", "Party", "Country", "Type", "Role")
SHORTEST, LONGEST = 3, 6
"""Values of a list."""
FEWEST, MOST = 6, 18
"""Rows of a list."""
LISTS_OF_ROWS = 2
"""In one exercise."""
OF_A_TYPE = 0.25
"""Share of the lists of rows that are filtered by words and not by numbers."""
_WORD = re.compile(r"[A-Z][a-z]+")


class Exercises(Section):
    """A file of exercises."""

    source: str = "data/tablehallu"
    """Folder of a TableHallu set; its train split has the names to sort."""
    n: Count = Field(default=8000, ge=1)
    """Exercises, of six lists each; of two, where rows are filtered."""
    names: float = Field(default=0.5, ge=0, le=1)
    """Share with names to sort; of the others half have numbers to sort, half numbers to filter."""
    rows: float = Field(default=0, ge=0, le=1)
    """Share with rows to filter, a value and a name each, as `thinking: list` has them; `names` is
    a share of the others."""
    tokenizer: str | None = None
    """Folder of the model, whose own vocabulary is sorted too: each of its words gets a place."""
    seed: int = Field(default=0, ge=0)
    """Seed of what is drawn."""
    out: str = "data/exercises.jsonl"
    """File to write."""


class _List(NamedTuple):
    column: str
    order: SortOrder
    values: list[str]


class _Names:
    """Names of rows, by table and all together, and words: those in them and more."""

    def __init__(self, tables: Sequence[Sequence[str]], more: Iterable[str] = ()) -> None:
        self.tables = [names for names in tables if len(names) >= LONGEST]
        self.every = sorted({name for names in self.tables for name in names})
        words = (word for name in self.every for word in _WORD.findall(name))
        self.words = sorted({*words, *more})

    def draw(self, rng: Random) -> _List:
        """Names of one table, of several, words, or pairs behind "The" or one other word.

        In an order that the detector takes.
        """
        while True:
            pool = rng.choice((self.words, self._pairs(rng), self.every, rng.choice(self.tables)))
            values = rng.sample(pool, rng.randint(SHORTEST, LONGEST))
            if len({value.casefold() for value in values}) < len(values):
                continue  # their order would be a matter of chance
            column, order = rng.choice(NAMED), _order(rng)
            if rows := sort_rows(values, order):
                return _List(column, order, [values[row] for row in rows])

    def _pairs(self, rng: Random) -> list[str]:
        first = ("The", rng.choice(self.words))
        return [f"{rng.choice(first)} {word}" for word in rng.sample(self.words, LONGEST)]


def make_exercises(settings: Exercises) -> None:
    """Write the file.

    Raises:
        TablemendError: no such set, too few names in it, or no tokenizer.
    """
    known: Sequence[str] = ()
    if settings.tokenizer is not None:
        known = read_vocabulary(settings.tokenizer, "tokenizer").words
    tables: dict[str, set[str]] = {}
    source = Source(source=settings.source, split="train")
    for example in read_records(source, Example.from_json, MAKES):
        stated = (row[0] for row in example.gold_table.rows if row[0] and "|" not in row[0])
        tables.setdefault(example.source_hash, set()).update(stated)
    names = _Names([sorted(one) for one in tables.values()], known)
    if not names.tables or len(names.words) < LONGEST:
        raise TablemendError(f"{settings.source}: no table names {LONGEST} rows: give a larger set")
    write_jsonl(Path(settings.out), list(islice(exercises(names, settings), settings.n)))


def exercises(names: _Names, settings: Exercises) -> Iterator[dict[str, Any]]:
    """Chats as a recipe reads them with ``content: messages``; without end."""
    rng = Random(f"exercises:{settings.seed}")
    while True:
        head, line = "Sort each list.", _sorted
        draw: Callable[[Random], _List] = names.draw
        if rng.random() >= settings.names:
            draw = _numbers
            if rng.random() < 0.5:
                head, line = "Keep what is in the range and sort it.", _filtered
        if settings.rows and rng.random() < settings.rows:
            head = "Keep what is in the range."
            lines = [_filtered_rows(names, rng) for _ in range(LISTS_OF_ROWS)]
        else:
            lines = [line(draw(rng), rng) for _ in range(LISTS)]
        asked = [head, *(f"{n}. {one}" for n, (one, _) in enumerate(lines, 1))]
        told = [f"{n}. {one}" for n, (_, one) in enumerate(lines, 1)]
        turns = (("user", asked), ("assistant", told))
        yield {"messages": [{"role": who, "content": "\n".join(said)} for who, said in turns]}


def _order(rng: Random) -> SortOrder:
    return rng.choice(("ascending", "descending"))


def _sorted(one: _List, rng: Random) -> tuple[str, str]:
    mixed = rng.sample(one.values, len(one.values))
    return f"{one.column}, {one.order}: {' | '.join(mixed)}", " | ".join(one.values)


def _filtered(one: _List, rng: Random) -> tuple[str, str]:
    """A range whose ends are values of the list."""
    said, kept = _range(one.values if one.order == "ascending" else one.values[::-1], rng)
    asked, _ = _sorted(one._replace(column=f"{one.column} {said}"), rng)
    return asked, " | ".join(kept if one.order == "ascending" else kept[::-1])


def _range(rising: Sequence[str], rng: Random) -> tuple[str, Sequence[str]]:
    """A range whose ends are two of the values, in words, and the values in it."""
    low, high = sorted(rng.sample(range(len(rising)), 2))
    said, first, last = rng.choice(
        (
            (f"from {rising[high]}", high, len(rising)),
            (f"up to {rising[low]}", 0, low),
            (f"{rising[low]} to {rising[high]}", low, high),
        )
    )
    return said, rising[first : last + 1]


def _filtered_rows(names: _Names, rng: Random) -> tuple[str, str]:
    """Rows with a number in a range, or with some words or others than these."""
    kept: Sequence[str]
    if rng.random() < OF_A_TYPE:
        column, values = rng.choice(TYPED), rng.sample(names.words, rng.randint(SHORTEST, LONGEST))
        some = values[: rng.randint(1, 2)]
        said, kept = " or ".join(some), some
        if rng.random() < 0.5:
            said, kept = f"other than {said}", values[len(some) :]
    else:
        column, order, values = _numbers(rng, rng.randint(SHORTEST, MOST))
        said, kept = _range(values if order == "ascending" else values[::-1], rng)
    drawn = [rng.choice(kept), *rng.choices(values, k=rng.randint(FEWEST, MOST) - 1)]
    rows = [(value, rng.choice(names.every)) for value in rng.sample(drawn, len(drawn))]
    asked = " | ".join(f"{value} {name}" for value, name in rows)
    told = " | ".join(f"{value} {name}" for value, name in rows if value in kept)
    return f"{column}: {asked}\n{said}", f"{said}: {told}"


def _numbers(rng: Random, count: int = 0) -> _List:
    """Different years, small and large numbers, or decimals, in order."""
    count, order = count or rng.randint(SHORTEST, LONGEST), _order(rng)
    kind = rng.choice(("year", "small", "large", "decimal"))
    if kind == "year":
        drawn, form = rng.sample(range(1900, 2025), count), "{}"
    elif kind == "small":
        drawn, form = rng.sample(range(rng.choice((20, 100, 1000))), count), "{}"
    elif kind == "large":
        drawn, form = rng.sample(range(10 ** rng.randint(3, 7)), count), "{:,}"
    else:
        places = rng.choice((1, 2))
        drawn = [n / 10**places for n in rng.sample(range(10 ** rng.randint(2, 5)), count)]
        form = f"{{:.{places}f}}"
    drawn = sorted(drawn, reverse=order == "descending")
    return _List(rng.choice(COUNTED), order, [form.format(number) for number in drawn])


def main() -> None:
    """Read the settings, make the file, say where it is."""
    settings = load(Exercises)
    make_exercises(settings)
    print(f"{settings.n} exercises written to {settings.out}")


if __name__ == "__main__":
    run_script(main)
