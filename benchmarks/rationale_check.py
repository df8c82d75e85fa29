"""Reading a rationale back: every step is recomputed from the query, the table and the context.

Written apart from ``datasets/tablehallu/rationale.py``: its own words, its own reading of values
(that of the detector), its own way through the context. What one of the two gets wrong, the other
reports.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import pairwise

from tablemend.detector.order import is_sorted
from tablemend.records import Condition, ContextKind, Example
from tablemend.tables.table import Cell
from tablemend.values.cells import read_value

_BLANK = "(?:not stated|not given|blank)"
_KEEP, _DROP = "(?:keep|take|in)", "(?:drop|leave|out)"
_HEAD = re.compile(
    r"(?:Scope|Wanted|Asked for): (?P<scope>.+)\. Columns: (?P<columns>.+)\. "
    r"Order: (?P<sort>.+), (?P<order>ascending|descending)\."
)
_FOOT = re.compile(
    r"(?:Sorted by|In order of|Order by) (?P<sort>.+), (?P<order>ascending|descending): "
    r"(?P<rows>.+)\."
)
_QUOTED = re.compile(r'"([^"]*)"')
_NUMBER = re.compile(r"(?P<minus>[-\u2212\u2013(]\s?)?[$€£¥]?(?P<digits>\d[\d,]*(?:\.\d+)?)")
_RELATIONS = "not|below|above|before|after"
Row = tuple[Cell, ...]


def check_rationale(example: Example, text: str, context: ContextKind = "adversarial") -> list[str]:
    """What is wrong with a rationale, one line a problem; empty where every step holds.

    Checked are: the scope, the columns and the order asked for, against query and constraints;
    that the entities of the context are walked through in the order of their first mention, each
    once a row; of a dropped one, that the context says the value beside its name, and that the
    value lies outside of the scope as stated; of a kept one, that a gold row says all its cells,
    that the context says each beside its name, and that those not stated are blank; the sorting.

    Args:
        example: with the constraints, the gold table and the places of sentences.
        text: a rationale, without thinking tags.
        context: which of the contexts it walks through.
    """
    lines = text.split("\n")
    head, foot = _HEAD.fullmatch(lines[0]), _FOOT.fullmatch(lines[-1])
    if head is None or foot is None or len(lines) < 2:
        return ["no first line with scope, columns and order, or no last line with the sorted rows"]
    walk = _Walk(example, context)
    found = [*_check_head(example, head), *walk.check(lines[1:-1])]
    return found + list(_check_foot(example, foot, walk))


def thought_of(answer: str) -> str | None:
    """What an answer says between its thinking tags; ``None`` where there is no whole block."""
    match = re.match(r"\s*<think>\n?(.*?)\n?</think>", answer, re.DOTALL)
    return None if match is None else match[1]


def _check_head(example: Example, head: re.Match[str]) -> Iterator[str]:
    constraints = example.constraints
    if head["scope"] != "; ".join(map(_scope_text, constraints.conditions)):
        yield f"the scope is not that of the query: {head['scope']}"
    columns = list(example.gold_table.columns)
    quoted = _QUOTED.findall(example.query)
    width = len(columns)
    if columns not in (quoted[at : at + width] for at in range(len(quoted) - width + 1)):
        yield "the query does not list the columns of the table"
    if head["columns"] != ", ".join(columns):
        yield f"the columns are not those of the query: {head['columns']}"
    if (head["sort"], head["order"]) != (constraints.sort_column, constraints.sort_order):
        yield f"the order is not that of the query: {head['sort']}, {head['order']}"
    if head["sort"] not in quoted or head["order"] not in example.query:
        yield f"the query does not name the order: {head['sort']}, {head['order']}"


def _scope_text(condition: Condition) -> str:
    low, high = condition.low, condition.high
    match (low, high):
        case (None, None) if special := _special(condition):
            limits = f"is {special}"
        case (None, None):
            limits = f"is {' or '.join(condition.values)}"
        case (None, _):
            limits = f"at most {high}"
        case (_, None):
            limits = f"at least {low}"
        case _:
            limits = f"is {low}" if low == high else f"from {low} to {high}"
    return f"{condition.column} {limits}"


def _special(condition: Condition) -> str:
    """A superlative or an exclusion in words; else empty."""
    if condition.excluded:
        return f"another than {' or '.join(condition.excluded)}"
    end = "highest" if condition.top > 0 else "lowest"
    return f"among the {abs(condition.top)} {end}" if condition.top else ""


def _with_ends(example: Example, condition: Condition) -> Condition:
    """A superlative with the last of its gold values, in order, as its end."""
    if not condition.top:
        return condition
    found = [f.value for f in example.facts if f.violates is None and f.column == condition.column]
    last = found[0]
    for value in found:
        if _less(*map(_size, (value, last) if condition.top > 0 else (last, value))):
            last = value
    return replace(condition, **{"low" if condition.top > 0 else "high": last})


class _Walk:
    """The lines about entities, held against one context.

    Attributes:
        kept: the gold rows of the kept lines, by index, in their order; ``None`` for a line that
            fits none.
    """

    def __init__(self, example: Example, context: ContextKind) -> None:
        self._example = example
        self._conditions = [_with_ends(example, one) for one in example.constraints.conditions]
        text = example.context(context)
        places: dict[tuple[int, int], str] = {}
        rows: dict[str, set[tuple[bool, int]]] = {}
        for fact in example.facts:
            mention = fact.clean if context == "clean" else fact.adversarial
            if mention is not None:
                places[mention.sentence_start, mention.sentence_end] = fact.entity
                rows.setdefault(fact.entity, set()).add((fact.violates is None, fact.row))
        self._sentences = [(text[slice(*span)], places[span]) for span in sorted(places)]
        self._rows = {entity: len(found) for entity, found in rows.items()}
        self.kept: list[int | None] = []

    def check(self, lines: Sequence[str]) -> Iterator[str]:
        """Problems of the lines, and of what they leave out."""
        walked: list[str] = []
        expected = self._expected()
        for number, line in enumerate(lines):
            entity = self._entity(line, expected[number] if number < len(expected) else "")
            if entity is None:
                yield f"no entity of the context: {line}"
                continue
            said = self._said(entity, walked.count(entity))
            walked.append(entity)
            step = line.removeprefix(f"- {entity}: ").removesuffix(".")
            yield from (f"{problem}: {line}" for problem in self._check_step(entity, step, said))
        if walked != expected:
            missing, more = Counter(expected) - Counter(walked), Counter(walked) - Counter(expected)
            if missing or more:
                yield f"not once a row: missing {sorted(missing)}, too many {sorted(more)}"
            else:
                yield "not in the order of the context"
        gold = range(len(self._example.gold_table.rows))
        if sorted(row for row in self.kept if row is not None) != list(gold):
            yield "the kept rows are not those of the table, each once"

    def _expected(self) -> list[str]:
        """Entities by first mention; one that has several rows once for each of its sentences."""
        found: list[str] = []
        for sentence, entity in self._sentences:
            assert entity in sentence
            if self._rows[entity] > 1 or entity not in found:
                found.append(entity)
        return found

    def _entity(self, line: str, expected: str) -> str | None:
        """The entity that a line is about: the one whose turn it is, or else any that fits."""
        for entity in (expected, *sorted(self._rows, key=len, reverse=True)):
            if entity and line.startswith(f"- {entity}: ") and line.endswith("."):
                return entity
        return None

    def _said(self, entity: str, turn: int) -> list[str]:
        """The sentences of a line: its entity's; where that has several rows, its turn's."""
        found = [sentence for sentence, subject in self._sentences if subject == entity]
        return found if self._rows[entity] == 1 else found[turn : turn + 1]

    def _check_step(self, entity: str, step: str, said: Sequence[str]) -> Iterator[str]:
        for condition in self._conditions:
            pattern = (
                f"{re.escape(condition.column)} (?P<value>.+) is (?P<relation>{_RELATIONS}) "
                f"(?P<limit>.+), {_DROP}"
            )
            if (match := re.fullmatch(pattern, step)) is None:
                continue
            value = match["value"]
            if not _is_said(value, said):
                yield f"the context does not say {value!r} of it"
            if not _is_outside(value, match["relation"], match["limit"], condition):
                yield "no reason to drop it"
            return
        if other := re.fullmatch(rf"(?P<kind>.+) is not (?P<key>.+), {_DROP}", step):
            if not _is_said(other["kind"].lower(), [sentence.lower() for sentence in said]):
                yield f"the context does not say {other['kind']!r} of it"
            columns = self._example.gold_table.columns
            if other["kind"] in columns or other["key"] not in columns:
                yield "no reason to drop it"
            return
        yield from self._check_kept(entity, step, said)

    def _check_kept(self, entity: str, step: str, said: Sequence[str]) -> Iterator[str]:
        """The line must be what some gold row of the entity, not kept before, would give."""
        table = self._example.gold_table
        for number, row in enumerate(table.rows):
            if number in self.kept or entity not in row:
                continue
            for pattern in self._kept_patterns(dict(zip(table.columns, row, strict=True)), entity):
                if (match := re.fullmatch(pattern, step)) is None:
                    continue
                self.kept.append(number)
                values = [*filter(None, row), *match.groups()]
                unsaid = [value for value in values if not _is_said(value, said)]
                if unsaid:
                    yield f"the context does not say {unsaid} of it"
                for condition, value in zip(self._conditions, match.groups(), strict=True):
                    if not _is_inside(value, condition):
                        yield f"{condition.column} {value} is out of scope"
                return
        self.kept.append(None)
        yield "neither a reason to drop it nor the cells of a row of the table"

    def _kept_patterns(self, row: dict[str, Cell], entity: str) -> Iterator[str]:
        """A group for the value of each condition; then the row's other cells, word for word."""
        scope = [condition.column for condition in self._conditions]
        fits = "".join(
            f"{re.escape(column)} ({re.escape(row.get(column) or '') or '.+?'}) fits, "
            for column in scope
        )
        for key in [column for column, cell in row.items() if cell == entity]:
            cells = ", ".join(
                f"{re.escape(column)} {_BLANK if cell is None else re.escape(cell)}"
                for column, cell in row.items()
                if column != key and column not in scope
            )
            yield f"{fits}{_KEEP}" + (rf"\. {cells}" if cells else "")


def _is_said(value: str, sentences: Sequence[str]) -> bool:
    """Whether one of the sentences holds the value as words of its own."""
    whole = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
    return any(whole.search(sentence) for sentence in sentences)


def _check_foot(example: Example, foot: re.Match[str], walk: _Walk) -> Iterator[str]:
    """The kept rows in the order of the table, which is read anew."""
    constraints, table = example.constraints, example.gold_table
    if (foot["sort"], foot["order"]) != (constraints.sort_column, constraints.sort_order):
        yield f"sorted by another rule than asked for: {foot['sort']}, {foot['order']}"
        return
    cells = table.column(constraints.sort_column)
    upward = cells if constraints.sort_order == "ascending" else cells[::-1]
    by_size = all(_less(_size(one), _size(other)) for one, other in pairwise(upward))
    if not by_size and not is_sorted(cells, constraints.sort_order):
        yield "the table is not in the order asked for"
    names = {fact.row: fact.entity for fact in example.facts if fact.violates is None}
    listing = ", ".join(
        names[row] if names[row] == cells[row] else f"{names[row]} ({cells[row]})"
        for row in sorted(row for row in walk.kept if row is not None)
    )
    if foot["rows"] != (listing or "none"):
        yield f"the last line does not list the kept rows in order: {foot['rows']}"


Size = Decimal | date


def _is_inside(value: str, condition: Condition) -> bool:
    if condition.excluded:
        return value not in condition.excluded
    if condition.values:
        return value in condition.values
    size, low, high = map(_size, (value, condition.low, condition.high))
    if size is None:
        return False
    return not (_less(size, low) or _less(high, size))


def _is_outside(value: str, relation: str, limit: str, condition: Condition) -> bool:
    """Whether the reason is one of the condition's, and true of the value."""
    if special := _special(condition):
        return relation == "not" and limit == special and not _is_inside(value, condition)
    if relation == "not":
        admitted = condition.values or (condition.low or "",)
        is_one = bool(condition.values) or condition.low == condition.high
        return is_one and limit == " or ".join(admitted) and not _is_inside(value, condition)
    is_low = relation in ("below", "before")
    if condition.values or limit != (condition.low if is_low else condition.high):
        return False
    size, end = _size(value), _size(limit)
    if isinstance(end, date) != (relation in ("before", "after")):
        return False
    return _less(size, end) if is_low else _less(end, size)


def _less(one: Size | None, other: Size | None) -> bool:
    """Whether both are known, of one kind, and in strict order."""
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return one < other
    return isinstance(one, date) and isinstance(other, date) and one < other


def _size(text: str | None) -> Size | None:
    """A whole date, or the one number of a text without its unit and scale, as the query speaks."""
    value = read_value(text)
    if len(value.dates) == 1 and len(value.dates[0]) == len("2000-01-01"):
        return date.fromisoformat(value.dates[0])
    found = list(_NUMBER.finditer(text or ""))
    if len(found) != 1:
        return None
    size = Decimal(found[0]["digits"].replace(",", ""))
    return -size if found[0]["minus"] else size
