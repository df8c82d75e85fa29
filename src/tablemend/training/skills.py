"""What the embedded base practises before any fine-tuning.

A real base model can tell years apart, copy a sentence and sort a list; it just does not do
so when a table is asked for and distractors stand around. The tiny base gets the same
starting point: tables from *clean* contexts only, under all four prompt strategies, and
single skills on adversarial contexts (quote, look up, list), so that fine-tuning on
adversarial tables has skills to call on. It never sees a table from an adversarial context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tablemend.records import Example, Fact
from tablemend.synthesis.small_world import NUMBERS, SCOPE_COLUMN, Size, example, invent_names
from tablemend.tasks.tablehallu import BLANK, STRATEGIES, messages, quotation, target

# Streams of the small world: practice, fine-tuning and evaluation never share a seed.
PRACTICE_SEED = 1_000_003


@dataclass(frozen=True, slots=True)
class Practice:
    """One exercise: a chat, what to answer, and which skill it trains."""

    skill: str
    messages: list[dict[str, str]]
    target: str


def _ask(skill: str, context: str, query: str, answer: str) -> Practice:
    text = f"Context:\n{context}\n\nQuery:\n{query}" if context else f"Query:\n{query}"
    return Practice(skill, [{"role": "user", "content": text}], answer)


def _scope(record: Example) -> str:
    return f"the {record.topic} in {record.constraints.numerical_range}"


def repeat(record: Example, rng: Random) -> Practice:
    """A whole clean context, word for word: the densest practice in copying there is."""
    query = rng.choice(("Copy the context.", "Repeat the context."))
    return _ask("repeat", record.gold_context, query, record.gold_context)


def table(record: Example, rng: Random) -> Practice:
    """The task itself, on the clean context, under a random prompt strategy."""
    chat = messages(record, "clean", rng.choice(STRATEGIES))
    return Practice("table", chat, target(record, "clean"))


def quote(record: Example, rng: Random) -> Practice:
    """The sentences in scope, among distractors."""
    query = rng.choice(("Quote the sentences about {}.", "Which sentences are about {}?"))
    answer = quotation(record, "adversarial")
    return _ask("quote", record.adversarial_context, query.format(_scope(record)), answer)


def list_entities(record: Example, rng: Random) -> Practice:
    """The keys in scope, in the order of the context, among distractors."""
    query = rng.choice(("List {}.", "Which are {}?")).format(_scope(record))
    key = record.gold_table.columns[0]
    facts = [fact for fact in record.facts if fact.violates is None and fact.column == key]
    facts.sort(key=lambda fact: fact.adversarial.start)
    answer = f"They are {', '.join(fact.value for fact in facts)}."
    return _ask("list", record.adversarial_context, query, answer)


def look_up(record: Example, rng: Random) -> Practice:
    """Single cells of single entities in single years, blanks included, among distractors."""
    rows: dict[tuple[bool, int], dict[str, Fact]] = {}
    for fact in record.facts:
        rows.setdefault((fact.violates is None, fact.row), {})[fact.column] = fact
    columns = record.gold_table.columns[1:]
    asked = rng.sample(list(rows.values()), min(4, len(rows)))
    questions, answers = [], []
    for facts in asked:
        column = rng.choice(columns)
        year = facts[SCOPE_COLUMN]
        questions.append(f'"{column}" of {year.entity} in {year.value}')
        answers.append(facts[column].value if column in facts else BLANK)
    query = f"Look up: {', '.join(questions)}."
    return _ask("look_up", record.adversarial_context, query, f"Found: {', '.join(answers)}.")


def sort(record: Example, rng: Random) -> Practice:
    """Sort short lists of named numbers, without a context."""
    order = record.constraints.sort_order
    names = invent_names(6, rng)
    given, answers = [], []
    for length in rng.choice(((2, 2, 2), (3, 3), (2, 3), (2, 2))):
        values = rng.sample(NUMBERS, length)
        entries = [(value, names.pop()) for value in values]
        given.append(", ".join(f"{name} {value}" for value, name in entries))
        entries.sort(reverse=order == "descending")
        answers.append(", ".join(f"{name} {value}" for value, name in entries))
    column = record.constraints.sort_column
    query = f'Sort each by "{column}" in {order} order: {"; ".join(given)}.'
    return _ask("sort", "", query, f"Sorted: {'; '.join(answers)}.")


SKILLS: dict[str, Callable[[Example, Random], Practice]] = {
    "repeat": repeat,
    "table": table,
    "quote": quote,
    "list": list_entities,
    "look_up": look_up,
    "sort": sort,
}


def practice(seed: int, index: int, shares: Mapping[str, float], size: Size) -> Practice:
    """Exercise number ``index`` of the stream ``seed``; skills are drawn by ``shares``."""
    rng = Random(f"practice:{seed}:{index}")
    skill = rng.choices(list(shares), weights=list(shares.values()))[0]
    return SKILLS[skill](example(PRACTICE_SEED + seed, index, size), rng)
