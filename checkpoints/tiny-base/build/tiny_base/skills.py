"""What the embedded base practises before any fine-tuning.

A real base model can tell years apart, copy a sentence and sort a list; it just does not do
so when a table is asked for and distractors stand around. The tiny base gets the same
starting point: tables from *clean* contexts only, under all four prompt strategies, with and
without thinking, and single skills on adversarial contexts (quote, look up, list), so that
fine-tuning on adversarial tables has skills to call on. It never sees a table from an
adversarial context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from tablemend.records import Example, Fact
from tablemend.tasks.tablehallu.prompts import BLANK, Thinking, answer, messages, target
from tablemend.tasks.tablehallu.small_world import (
    NUMBERS,
    SCOPE_COLUMN,
    TOPICS,
    Size,
    example,
    invent_names,
)

# Practice has streams of the small world to itself, far from the small seeds of fine-tuning
# and evaluation data. Those two may share one stream, split by table (as `make demo` does).
PRACTICE_SEED = 1_000_003
KEYS = {topic.key for topic in TOPICS}
ONE_YEAR = 0.4
PROMPTS = ("base", "careful", "follow", "cot")
"""The strategies that the base was made with."""


@dataclass(frozen=True, slots=True)
class Practice:
    """One exercise: a chat, what to answer, and which skill it trains."""

    skill: str
    messages: list[dict[str, str]]
    target: str
    thinking: Thinking = "off"


def _ask(skill: str, context: str, query: str, reply: str) -> Practice:
    text = f"Context:\n{context}\n\nQuery:\n{query}" if context else f"Query:\n{query}"
    return Practice(skill, [{"role": "user", "content": text}], reply)


def repeat(record: Example, rng: Random) -> Practice:
    """A whole clean context, word for word: the densest practice in copying there is."""
    query = rng.choice(("Copy the context.", "Repeat the context."))
    return _ask("repeat", record.gold_context, query, record.gold_context)


def table(record: Example, rng: Random) -> Practice:
    """The task itself, on the clean context, under a random prompt strategy."""
    chat = messages(record, "clean", rng.choice(PROMPTS))
    return Practice("table", chat, target(record, "clean"))


def plain_table(record: Example, rng: Random) -> Practice:
    """The same without the instruction on the format: more tables for the same tokens."""
    return _ask("plain_table", record.gold_context, record.query, answer(record.gold_table))


def quoted_table(record: Example, rng: Random) -> Practice:
    """The task with thinking on: the clean context's sentences once more, then the table."""
    chat = messages(record, "clean", rng.choice(PROMPTS))
    return Practice("quoted_table", chat, target(record, "clean", "quote"), "quote")


def quote(record: Example, rng: Random) -> Practice:
    """The sentences of one or more years, among distractors."""
    years = _some_years(record, rng)
    query = rng.choice(("Quote the sentences about {}.", "Which sentences are about {}?"))
    places: dict[str, set[tuple[int, int]]] = {year: set() for year in years}
    for row in _rows(record):
        if (year := row[SCOPE_COLUMN].value) in places:
            mention = row[SCOPE_COLUMN].adversarial
            places[year].add((mention.sentence_start, mention.sentence_end))
    text = record.adversarial_context
    quoted = "\n".join(text[a:b] for year in years for a, b in sorted(places[year]))
    return _ask("quote", text, query.format(_scope(record, years)), quoted)


def list_entities(record: Example, rng: Random) -> Practice:
    """The keys of one or more years, in the order of the context, among distractors."""
    years = _some_years(record, rng)
    query = rng.choice(("List {}.", "Which are {}?")).format(_scope(record, years))
    rows = sorted(_rows(record), key=lambda row: row[SCOPE_COLUMN].adversarial.start)
    names = [
        ", ".join(row[SCOPE_COLUMN].entity for row in rows if row[SCOPE_COLUMN].value == year)
        for year in years
    ]
    return _ask("list", record.adversarial_context, query, f"They are {'; '.join(names)}.")


def look_up(record: Example, rng: Random) -> Practice:
    """Single cells of single entities in single years, blanks included, among distractors."""
    rows = _rows(record)
    columns = [name for name in record.gold_table.columns if name not in KEYS]
    questions, answers = [], []
    for row in rng.sample(rows, min(6, len(rows))):
        column, year = rng.choice(columns), row[SCOPE_COLUMN]
        questions.append(f'"{column}" of {year.entity} in {year.value}')
        answers.append(row[column].value if column in row else BLANK)
    query = f"Look up: {', '.join(questions)}."
    return _ask("look_up", record.adversarial_context, query, f"Found: {', '.join(answers)}.")


def sort(record: Example, rng: Random) -> Practice:
    """Sort short lists of named numbers, without a context."""
    order = record.constraints.sort_order
    given, answers = [], []
    for _ in range(4):
        values = rng.sample(NUMBERS, rng.randint(2, 3))
        entries = list(zip(values, invent_names(len(values), rng), strict=True))
        given.append(", ".join(f"{name} {value}" for value, name in entries))
        entries.sort(reverse=order == "descending")
        answers.append(", ".join(f"{value} {name}" for value, name in entries))
    column = record.constraints.sort_column
    query = f'Sort each by "{column}" in {order} order: {"; ".join(given)}.'
    return _ask("sort", "", query, f"Sorted: {'; '.join(answers)}.")


def _rows(record: Example) -> list[dict[str, Fact]]:
    """The stated rows, gold and distractors: column -> fact."""
    rows: dict[tuple[bool, int], dict[str, Fact]] = {}
    for fact in record.facts:
        rows.setdefault((fact.violates is None, fact.row), {})[fact.column] = fact
    return list(rows.values())


def _some_years(record: Example, rng: Random) -> list[str]:
    """The query's year, or several of the context's; several teach more for the same tokens."""
    years = sorted({row[SCOPE_COLUMN].value for row in _rows(record)})
    if rng.random() < ONE_YEAR:
        return [str(record.constraints.numerical_range)]
    return rng.sample(years, min(len(years), rng.randint(2, 4)))


def _scope(record: Example, years: list[str]) -> str:
    return f"the {record.topic} in {', '.join(years)}"


SKILLS: dict[str, Callable[[Example, Random], Practice]] = {
    "repeat": repeat,
    "table": table,
    "plain_table": plain_table,
    "quoted_table": quoted_table,
    "quote": quote,
    "list": list_entities,
    "look_up": look_up,
    "sort": sort,
}


def practice(seed: int, index: int, shares: Mapping[str, float], size: Size) -> Practice:
    """Exercise number ``index`` of the stream ``seed``; skills are drawn by ``shares``.

    Every query is for a year of the context: of one that no row has there is no clean context to
    write a table from or to copy, and nothing to quote.
    """
    rng = Random(f"practice:{seed}:{index}")
    skill = rng.choices(list(shares), weights=list(shares.values()))[0]
    return SKILLS[skill](example(PRACTICE_SEED + seed, index, replace(size, none=0.0)), rng)
