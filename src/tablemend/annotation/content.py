"""What annotators see of an example, ready to be shown by the page."""

from __future__ import annotations

from typing import Any

from tablemend.records import Condition, ContextKind, Example

Segment = tuple[str] | tuple[str, int, str, str, str | None]
"""Plain text, or the text of a fact with its row, entity, column, and the column it violates."""


def show(example: Example, marks: bool) -> dict[str, Any]:
    """An example as the page's script reads it.

    Contexts are cut into segments here: places in an example count characters, and a script
    counts UTF-16 units.

    Args:
        example: what to show.
        marks: whether the script may know where the facts stand.
    """
    return {
        "id": example.id,
        "topic": example.topic,
        "about": ", ".join(
            dict.fromkeys(
                part for part in (example.category, example.domain, example.difficulty) if part
            )
        ),
        "query": example.query,
        "constraints": constraints(example),
        "columns": list(example.gold_table.columns),
        "rows": [list(row) for row in example.gold_table.rows],
        "sort": [example.constraints.sort_column, example.constraints.sort_order],
        "gold": segments(example, "clean", marks),
        "adversarial": segments(example, "adversarial", marks),
        "distractors": distractors(example) if marks else [],
    }


def segments(example: Example, context: ContextKind, marks: bool) -> list[Segment]:
    """A context cut at its facts; joined, the texts are the context again."""
    whole = example.context(context)
    places = []
    for fact in example.facts if marks else ():
        place = fact.clean if context == "clean" else fact.adversarial
        if place is not None and 0 <= place.start < place.end <= len(whole):
            places.append((place.start, place.end, fact))
    parts: list[Segment] = []
    end = 0
    for start, stop, fact in sorted(places, key=lambda place: place[:2]):
        if start < end:
            continue  # two facts in one place: the first is marked
        if start > end:
            parts.append((whole[end:start],))
        parts.append((whole[start:stop], fact.row, fact.entity, fact.column, fact.violates))
        end = stop
    if end < len(whole):
        parts.append((whole[end:],))
    return parts


def distractors(example: Example) -> list[tuple[int, str, str, str]]:
    """Row, entity, and the column and value by which each distractor row is out of scope."""
    rows: dict[int, tuple[int, str, str, str]] = {}
    for fact in example.facts:
        if fact.violates is not None:
            value = fact.value if fact.column == fact.violates else ""
            if value or fact.row not in rows:
                rows[fact.row] = (fact.row, fact.entity, fact.violates, value)
    return list(rows.values())


def constraints(example: Example) -> list[tuple[str, str]]:
    """The constraint fields as names and texts (TableHallu, A.2.1)."""
    found = example.constraints
    pairs = [
        ("Entity scope", "; ".join(found.entity_scope)),
        ("Numerical range", found.numerical_range or ""),
        *((f"Condition on {one.column}", condition(one)) for one in found.conditions),
        ("Sorted by", f"{found.sort_column}, {found.sort_order}"),
    ]
    return [(name, text) for name, text in pairs if text]


def condition(one: Condition) -> str:
    """A condition in words; ends of a range are included."""
    if one.values:
        return " or ".join(one.values)
    bounds = ((f"at least {one.low}", one.low), (f"at most {one.high}", one.high))
    return ", ".join(words for words, bound in bounds if bound is not None)
