"""The errors of an answer table: what each is called, and how it is found (TableHallu, C.1).

A further error type is one entry of :data:`ERRORS` and the code here that finds it;
``tasks/tablehallu/injected_errors.py`` puts it into gold answers, for training and tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tablemend.records import (
    ABSTENTION,
    UNSCORED,
    Finding,
    Judgement,
    Metric,
    Relation,
    relation,
    total,
)
from tablemend.values.cells import equal_values, is_blank, read_value
from tablemend.values.text import header_key

if TYPE_CHECKING:  # who only trains reads the metrics here, and loads no detector
    from tablemend.detector.keys import Gold
    from tablemend.detector.matching import Cells
    from tablemend.detector.query import SortRule
    from tablemend.tables.table import Cell, Table

REPEATED = "a column stands more than once: "
NEEDS_CONTEXT = "out_of_range"
"""What only the context tells from an entity fabrication."""

ERRORS = (
    Metric(
        "format_error",
        "Format error",
        "format",
        "no readable table, or not the columns that the query asked for, in its order",
    ),
    Metric(
        "out_of_range",
        "Out of range",
        "range",
        "a row that the context does mention but the query's scope leaves out",
    ),
    Metric(
        "order_mismatch", "Order mismatch", "order", "the rows are not sorted as the query says"
    ),
    Metric(
        "attribute",
        "Attribute distortion",
        "attribute",
        "a value that contradicts the context, or is missing though the context has it",
    ),
    Metric(
        "blank_filling",
        "Blank-filling",
        "blank",
        "a value where the context says nothing and the cell should be empty",
    ),
    Metric(
        "entity_fabrication",
        "Entity fabrication",
        "fabrication",
        "a row about something that the context never mentions",
    ),
)
ERROR_TYPES = tuple(one.name for one in ERRORS)
INVENTS_ROWS = Metric(
    "invents_rows",
    "Invents rows for a query of one or none",
    "invents rows",
    "a row that is out of range or made up, of the answers to queries that one row of the context "
    "meets, or none",
    "event",
    ("out_of_range", "entity_fabrication"),
)
OMITTED_CELL = Metric(
    "omitted_cell",
    "Omitted cell",
    "omitted",
    "an attribute distortion that is an empty cell where the context has a value",
    "event",
    ("attribute",),
)
METRICS = (
    *ERRORS,
    Metric(
        "constraint_violation",
        "Constraint violation",
        "constraint",
        "a format error, an out-of-range row or an order mismatch: the query was not followed",
        "group",
        ("format_error", "out_of_range", "order_mismatch"),
    ),
    Metric(
        "context_violation",
        "Context violation",
        "context",
        "a distorted value, a filled blank or an invented row: the context was not followed",
        "group",
        ("attribute", "blank_filling", "entity_fabrication"),
    ),
    total(ERRORS, "at least one error of any kind"),
    Metric(
        "row_recall",
        "Row recall",
        "row recall",
        "share of the rows asked for that the answer contains; higher is better",
        "share",
    ),
    Metric(
        "cell_recall",
        "Cell recall",
        "cell recall",
        "share of the values asked for that the answer states correctly; higher is better",
        "share",
    ),
    ABSTENTION,
    UNSCORED,
)


def omits_cell(finding: Finding) -> bool:
    """Whether an error is a value that is left out, and no other value in its place."""
    return finding.type == "attribute" and is_blank(finding.got)


def relation_to_gold(judgement: Judgement) -> Relation | None:
    """How an answer's cells relate to those of the gold table, both taken as conjunctions of facts.

    The order of the rows states nothing. A value in place of another contradicts it; further rows
    and filled blanks add to it; missing values make the answer too weak. ``None`` where the answer
    is unscored.
    """
    if judgement.unscored:
        return None
    if judgement.counts["format_error"]:
        return "not_well_formed"
    if judgement.abstained:
        return "tautologous"
    differs = any(one.type == "attribute" and not omits_cell(one) for one in judgement.findings)
    added = sum(
        judgement.counts[one] for one in ("out_of_range", "blank_filling", "entity_fabrication")
    )
    whole = judgement.share("cell_recall") in (None, 1.0)
    return relation(not (differs or added), whole, contradicts=differs)


def check_format(gold: Gold, answer: Table) -> Finding | None:
    """The names of the columns and their order must be the gold table's."""
    headers = [header_key(column) for column in answer.columns]
    if headers == list(gold.headers):
        return None
    missing = [c for c, k in zip(gold.table.columns, gold.headers, strict=True) if k not in headers]
    extra = [c for c, k in zip(answer.columns, headers, strict=True) if k not in gold.headers]
    repeated = {k: c for c, k in zip(answer.columns, headers, strict=True) if headers.count(k) > 1}
    if repeated:
        evidence = REPEATED + ", ".join(map(repr, repeated.values()))
    elif missing or extra:
        reasons = (("missing", missing), ("not asked for", extra))
        said = (f"{why}: {', '.join(map(repr, names))}" for why, names in reasons if names)
        evidence = "columns " + "; ".join(said)
    else:
        evidence = "the columns are in another order"
    first, expected = (missing[0] if missing else None), " | ".join(gold.table.columns)
    return Finding("format_error", None, first, expected, " | ".join(answer.columns), evidence)


def find_errors(
    gold: Gold,
    cells: Cells,
    matched: dict[int, int],
    body: list[int],
    context: str,
    order: SortRule | None,
) -> Iterator[Finding]:
    """Everything after the format check; the answer's columns are the gold table's here."""
    for row, number in enumerate(body):
        if row not in matched:
            yield _place_unmatched(cells, matched, row, body, context)
        elif not cells.identical(matched[row], row):
            yield from _find_cell_errors(gold, cells, matched[row], row, number)
    if order is not None:
        yield from _find_order_error(gold, cells, matched, body, order)


def _find_cell_errors(
    gold: Gold, cells: Cells, gold_row: int, row: int, number: int
) -> Iterator[Finding]:
    for column, name in enumerate(gold.table.columns):
        expected, got = cells.gold[gold_row][column], cells.answer[row][column]
        if column == cells.key:
            if gold.filled[gold_row][column] and is_blank(got):
                evidence = "the key is missing; the rest of the row agrees"
                yield Finding("attribute", number, name, expected, None, evidence)
        elif cells.same(gold_row, row, column):
            continue
        elif not gold.filled[gold_row][column]:
            evidence = f"the gold cell of {_name(cells.gold[gold_row][cells.key])} is blank"
            yield Finding("blank_filling", number, name, None, got, evidence)
        elif is_blank(got):
            yield Finding("attribute", number, name, expected, got, "the value is missing")
        else:
            name_of_row = _name(cells.gold[gold_row][cells.key])
            evidence = f"{name_of_row} has {expected!r} in the gold table"
            yield Finding("attribute", number, name, expected, got, evidence)


def _place_unmatched(
    cells: Cells, matched: dict[int, int], row: int, body: list[int], context: str
) -> Finding:
    """Out-of-range where the key is known, entity fabrication where nothing names it."""
    key = cells.answer[row][cells.key]
    value = read_value(key)
    if key is None or value.blank:
        evidence = "the row has no key and belongs to no gold row"
        return Finding("out_of_range", body[row], None, None, None, evidence)
    for other in matched:
        taken = read_value(cells.answer[other][cells.key])
        if not taken.blank and equal_values(taken, value):
            same = cells.answer[other] == cells.answer[row]
            evidence = (
                f"{'repeats' if same else 'names again the key of'} row {body[other] + 1};"
                f" the gold table has no further row for {_name(key)}"
            )
            return Finding("out_of_range", body[row], None, None, key, evidence)
    from tablemend.detector.similarity import index_context

    mentions = index_context(context).mentions
    said = cells.answer[row][1 - cells.key] if cells.is_info_box else None
    type = "out_of_range"
    if said and (mentions(said) or all(map(mentions, said.split(", ")))):
        evidence = f"{said!r} is in the context, but the gold table has no row {_name(key)}"
    elif mentions(key):
        evidence = f"{_name(key)} is in the context but not in the gold table"
    else:
        type = "entity_fabrication"
        evidence = f"{_name(key)} is neither in the gold table nor in the context"
    return Finding(type, body[row], None, None, key, evidence)


def _find_order_error(
    gold: Gold, cells: Cells, matched: dict[int, int], body: list[int], order: SortRule
) -> Iterator[Finding]:
    """A row that shares its key and has a wrong sort cell is passed over: which row it is (and
    so where it belongs) would be a guess, and a wrong cell is no order error.
    """
    column = gold.headers.index(header_key(order.column))
    values = [row[column] for row in gold.rows]
    keys = Counter(read_value(row[gold.key]).text for row in gold.rows)
    rows = [
        row
        for row, gold_row in sorted(matched.items())
        if keys[read_value(gold.rows[gold_row][gold.key]).text] == 1
        or cells.same(gold_row, row, column)
    ]
    from tablemend.detector.query import find_disorder  # who only trains does not need it

    disorder = find_disorder(values, [matched[row] for row in rows], order.order)
    if disorder:
        before, after = (rows[place] for place in disorder)
        first, second = values[matched[before]], values[matched[after]]
        evidence = (
            f"row {body[after] + 1} ({second}) stands after row {body[before] + 1} ({first}),"
            f" {order.order} by {gold.table.columns[column]!r} was asked for"
        )
        name = gold.table.columns[column]
        yield Finding("order_mismatch", body[after], name, first, second, evidence)


def _name(key: Cell) -> str:
    return "the row without a key" if key is None else repr(key)
