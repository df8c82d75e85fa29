"""The program that checks every example before it is written (TableHallu, A.3).

It trusts nothing of how the example was made: it reads the record alone, parses every value
again from the text, and derives the gold table from the stated facts and the conditions. That
facts are where they are recorded is true by construction, and tested.
"""

from __future__ import annotations

import operator
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction

from tablemend.datasets.tablehallu.columns import read_date, read_number, words_of, write_day
from tablemend.detector.order import is_sorted
from tablemend.records import Condition, Example, Fact
from tablemend.tables.table import Table

_QUOTED = re.compile(r'"([^"]*)"')
_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "addition": operator.add,
    "subtraction": operator.sub,
    "multiplication": operator.mul,
    "division": operator.truediv,
}
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")

Span = tuple[int, int]


class Evidence:
    """An example's facts by row and its sentences by place."""

    def __init__(self, example: Example) -> None:
        self.computed = example.constraints.computed
        self.whole = example
        if self.computed:  # the rest of the table is as without it
            table = example.gold_table
            rows = tuple(row[:-1] for row in table.rows)
            example = replace(example, gold_table=Table(table.columns[:-1], rows, table.title))
        self.example = example
        self.gold: dict[int, list[Fact]] = defaultdict(list)
        self.others: dict[int, list[Fact]] = defaultdict(list)
        self.sentences: dict[Span, list[Fact]] = defaultdict(list)
        for fact in example.facts:
            (self.gold if fact.violates is None else self.others)[fact.row].append(fact)
            _, _, first, last = fact.adversarial
            self.sentences[first, last].append(fact)
        self.conditions = [
            self._as_range(condition) if condition.top else condition
            for condition in example.constraints.conditions
        ]
        """Those of the example; a superlative as the range that its gold rows span."""
        self.blanks = [
            (facts[0].entity, column)
            for row, cells in enumerate(example.gold_table.rows)
            for column, cell in zip(example.gold_table.columns, cells, strict=True)
            if cell is None and (facts := self.gold.get(row))
        ]

    def _as_range(self, condition: Condition) -> Condition:
        """Up from the lowest (or down from the highest) gold value, if there are as many as asked.

        Rows out of scope are then strictly below it.
        """
        values = [
            f.value for facts in self.gold.values() for f in facts if f.column == condition.column
        ]
        dates = [read_date(value) for value in values]
        numbers = [_number(value) for value in values] if None in dates else dates
        known = [number for number in numbers if number is not None]
        if not len(known) == len(self.gold) == abs(condition.top):
            return Condition(condition.column)  # which nothing meets
        end = min(known) if condition.top > 0 else max(known)
        said = format(end, ".15g") if None in dates else date.fromordinal(int(end)).isoformat()
        low, high = (said, None) if condition.top > 0 else (None, said)
        return Condition(condition.column, low, high)


def verify(example: Example) -> str | None:
    """Why an example is invalid, in the words by which rejects are counted; else ``None``."""
    evidence = Evidence(example)
    return next((reason for check in CHECKS if (reason := check(evidence))), None)


def check_coverage(evidence: Evidence) -> str | None:
    """Nothing is in either context beside the recorded sentences and a heading.

    That names no gold entity and no gold value, and has no number outside of the subject.
    """
    example = evidence.example
    clean = {
        (fact.clean.sentence_start, fact.clean.sentence_end)
        for fact in example.facts
        if fact.clean is not None
    }
    values = {
        text for facts in evidence.gold.values() for f in facts for text in (f.value, f.entity)
    }
    said = [words_of(value) for value in values if _is_specific(value)]
    contexts = {"gold": (example.gold_context, clean)}
    contexts["adversarial"] = example.adversarial_context, {*evidence.sentences}
    for name, (text, spans) in contexts.items():
        for rest in _between(text, spans):
            # "1998 Players Championship" before "players"; a heading has a capital
            for subject in sorted(example.constraints.entity_scope, key=len, reverse=True):
                rest = rest.replace(subject, "|").replace(subject[:1].upper() + subject[1:], "|")
            spoken = words_of(rest)
            if any(map(str.isdigit, rest)) or any(value in spoken for value in said):
                return f"unrecorded text in the {name} context"
    return None


def _between(text: str, spans: Iterable[Span]) -> Iterator[str]:
    """What no span covers; the whole text where two overlap."""
    position = 0
    for start, end in sorted(spans):
        if start < position:
            yield text
        if rest := text[position:start].strip():
            yield rest
        position = end
    if rest := text[position:].strip():
        yield rest


def check_gold_facts(evidence: Evidence) -> str | None:
    """Each non-blank gold cell is one fact, a blank one is none, and nothing else is said."""
    example = evidence.example
    table = example.gold_table
    scope = {condition.column for condition in example.constraints.conditions}
    if set(evidence.gold) != set(range(len(table.rows))):
        return "gold row without a fact"
    for row, cells in enumerate(table.rows):
        stated: dict[str, str] = {}
        for fact in evidence.gold[row]:
            if fact.column in stated:
                return "gold fact stated twice"
            stated[fact.column] = fact.value
        gold = dict(zip(table.columns, cells, strict=True))
        for column, cell in gold.items():
            if cell is None and column in stated:
                return "blank cell stated"
            if cell is not None and column not in stated:
                return "gold fact missing"
            if cell is not None and stated[column] != cell:
                return "gold fact differs from its cell"
        if any(column not in gold and column not in scope for column in stated):
            return "gold row with a fact outside table and scope"
        if len({fact.entity for fact in evidence.gold[row]}) > 1:
            return "gold row with two entities"
    keys = [
        column
        for index, column in enumerate(table.columns)
        if all(cells[index] == evidence.gold[row][0].entity for row, cells in enumerate(table.rows))
    ]
    return None if keys else "no column holds the entities"


def check_repetition(evidence: Evidence) -> str | None:
    """No gold value is said a second time in the words around the recorded ones."""
    example = evidence.example
    for (start, end), facts in evidence.sentences.items():
        if facts[0].violates is not None:
            continue
        rest, position = [], start
        for place in sorted(fact.adversarial[:2] for fact in facts):
            rest.append(example.adversarial_context[position : place[0]])
            position = place[1]
        rest.append(example.adversarial_context[position:end])
        entity = facts[0].entity
        said = words_of(" | ".join(rest).replace(entity, " | "))
        for fact in facts:
            value = words_of(fact.value)
            if fact.value == entity or not _is_specific(fact.value) or value not in said:
                continue
            if all(value not in words_of(other.column) for other in facts):
                return "value repeated in its sentence"
    return None


def check_blanks(evidence: Evidence) -> str | None:
    """A blank attribute is stated nowhere for its entity (null value protection)."""
    hidden = set(evidence.blanks)
    if any((fact.entity, fact.column) in hidden for fact in evidence.example.facts):
        return "blank attribute stated for its entity"
    text = evidence.example.adversarial_context
    places = sorted(evidence.sentences)
    starts = [start for start, _ in places]
    for entity, column in hidden:
        label = words_of(column)
        position = text.find(entity)
        while position >= 0 and label.strip():
            start, end = places[bisect_right(starts, position) - 1]
            spoken = words_of(text[start:end].replace(entity, " | "))
            for fact in evidence.sentences[start, end]:
                other = words_of(fact.column)
                if label in other and fact.column != column:
                    spoken = spoken.replace(other, " | ")
            if label in spoken:
                return "blank attribute named beside its entity"
            position = text.find(entity, end)
    return None


def check_scope(evidence: Evidence) -> str | None:
    """Gold rows meet every condition; each distractor row fails the one it says, at least."""
    conditions = evidence.conditions
    if not conditions:
        return "no condition"
    for facts in evidence.gold.values():
        values = {fact.column: fact.value for fact in facts}
        met = [meets(values.get(condition.column), condition) for condition in conditions]
        if not all(met):
            return "gold row out of scope" if False in met else "gold row's scope not stated"
    for facts in evidence.others.values():
        values = {fact.column: fact.value for fact in facts}
        if len(values) < len(facts):
            return "distractor fact stated twice"
        kind = facts[0].violates or ""
        if kind not in {condition.column for condition in conditions}:
            if (reason := _check_kind(evidence, facts, kind)) is not None:
                return reason
            continue
        failed = set()
        for condition in conditions:
            found = meets(values.get(condition.column), condition)
            if found is None:
                return "distractor's scope not stated"
            if not found:
                failed.add(condition.column)
        if not failed:
            return "distractor in scope"
        if any(fact.violates not in failed for fact in facts):
            return "distractor breaks another condition than recorded"
    return None


def _check_kind(evidence: Evidence, facts: list[Fact], kind: str) -> str | None:
    """A row about another kind of subject says so with every name, and heads no gold column."""
    text, columns = evidence.example.adversarial_context, evidence.example.gold_table.columns
    spans = {fact.adversarial[2:] for fact in facts}
    said = all(words_of(kind) in words_of(text[start:end]) for start, end in spans)
    named = any(fact.column == kind and fact.value == fact.entity for fact in facts)
    if not said or not named or kind.casefold() in map(str.casefold, columns):
        return "distractor of another kind that does not say so"
    return None


def entity_column(example: Example) -> str:
    """The column that holds the entities, by the facts: a gold table without rows cannot say."""
    columns = example.gold_table.columns
    held = {fact.column for fact in example.facts if fact.value == fact.entity}
    return next((column for column in columns if column in held), columns[0])


def meets(value: str | None, condition: Condition) -> bool | None:
    """Whether a stated value meets a condition; ``None`` where that cannot be read."""
    if value is None:
        return None
    if condition.excluded:
        return words_of(value) not in map(words_of, condition.excluded)
    if condition.values:
        return value in condition.values
    ends = (condition.low, condition.high)
    if ends == (None, None):
        return None
    is_date = any(end is not None and _ISO.fullmatch(end) for end in ends)
    read: Callable[[str], float | None] = read_date if is_date else _number
    found = read(value)
    low, high = (None if end is None else read(end) for end in ends)
    if found is None or (low is None) != (ends[0] is None) or (high is None) != (ends[1] is None):
        return None
    return (low is None or found >= low) and (high is None or found <= high)


def _number(text: str) -> float | None:
    number = read_number(text)
    return None if number is None else number[0]


def check_order(evidence: Evidence) -> str | None:
    """The gold rows are in strict order of the sort column."""
    constraints = evidence.example.constraints
    table = evidence.example.gold_table
    if constraints.sort_column not in table.columns:
        return "sort column not in the table"
    cells = [cell for cell in table.column(constraints.sort_column) if cell is not None]
    if len(cells) < len(table.rows):
        return "blank cell in the sort column"
    if len(set(cells)) < len(cells) or not is_sorted(cells, constraints.sort_order):
        return "rows not in the declared order"
    return None


def check_query(evidence: Evidence) -> str | None:
    """The query names the columns in order and the sort rule, and no cell but the scope's."""
    example = evidence.example
    constraints = example.constraints
    columns = list(evidence.whole.gold_table.columns)
    quoted = _QUOTED.findall(example.query)
    width = len(columns)
    if columns not in (quoted[i : i + width] for i in range(len(quoted) - width + 1)):
        return "columns not listed in order in the query"
    if constraints.sort_column not in quoted or constraints.sort_order not in example.query:
        return "sort rule not in the query"
    known = {*columns, *(condition.column for condition in constraints.conditions)}
    free = _QUOTED.sub(lambda match: " | " if match[1] in known else match[0], example.query)
    spoken = words_of(free)
    allowed = _bounds(constraints.conditions)
    for cells in example.gold_table.rows:
        for cell in cells:
            if cell is not None and _is_specific(cell):
                words = words_of(cell)
                if words in spoken and words not in allowed and _number(cell) not in allowed:
                    return "gold cell in the query"
    return None


def check_computed(evidence: Evidence) -> str | None:
    """The last column is what the query says of two others, which have no blank in any row."""
    computed, table = evidence.computed, evidence.whole.gold_table
    if computed is None:
        return None
    if evidence.blanks:
        return "blank in a table with a computed column"
    named = _QUOTED.findall(evidence.whole.query)[-3:]
    if named != [computed.column, computed.left, computed.right]:
        return "columns of the calculation not named in the query"
    half = Fraction(1, 2 * 10**computed.decimals)
    for row, cell in enumerate(table.column(computed.column)):
        stated = {fact.column: fact.value for fact in evidence.gold[row]}
        given = (stated.get(computed.left, ""), stated.get(computed.right, ""), cell or "")
        numbers = [Fraction(str(n)) for text in given if (n := _number(text)) is not None]
        if len(numbers) < len(given):
            return "calculation without a number"
        left, right, result = numbers
        if abs(_OPERATIONS[computed.operation](left, right) - result) >= half:
            return "computed cell is another than its columns give"
        if len(given[2].partition(".")[2]) != computed.decimals:
            return "computed cell with other decimals than the query says"
    return None


def _is_specific(value: str) -> bool:
    """A letter or two ("A", "no") are no value that one could recognise again."""
    return any(map(str.isdigit, value)) or sum(map(str.isalpha, value)) > 2


def _bounds(conditions: Iterable[Condition]) -> set[str | float | None]:
    """What the query may say of cells: the admitted values, the ends, the parts of a date."""
    allowed: set[str | float | None] = set()
    for condition in conditions:
        allowed.update(map(words_of, (*condition.values, *condition.excluded)))
        for end in (condition.low, condition.high):
            if end is None:
                continue
            if _ISO.fullmatch(end):
                day = date.fromisoformat(end)
                allowed.update((float(day.day), float(day.year), words_of(end)))
                allowed.add(words_of(write_day(day)))
            else:
                allowed.add(_number(end))
    allowed.discard(None)
    return allowed


CHECKS: tuple[Callable[[Evidence], str | None], ...] = (
    check_coverage,
    check_gold_facts,
    check_repetition,
    check_blanks,
    check_scope,
    check_order,
    check_query,
    check_computed,
)
