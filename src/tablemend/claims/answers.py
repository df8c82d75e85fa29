"""The claims of an answer table: one a filled cell, and one a row that it belongs there."""

from __future__ import annotations

from tablemend.detector.keys import filled_rows, primary_key
from tablemend.detector.query import decimals_from_query
from tablemend.records import Claim, ClaimKind, Document
from tablemend.tables.table import Table
from tablemend.values.blanks import is_blank
from tablemend.values.cells import read_value
from tablemend.values.text import clean


def answer_claims(table: Table, query: str = "") -> Document:
    """Take an answer table apart into claims.

    Row by row: first that the row belongs into the table, then each cell that is no blank. Rows
    of blanks claim nothing, nor do columns that the query has rounded: no text states them. A row
    is named by the column that names the rows (:func:`~tablemend.detector.keys.primary_key`), or
    by its number where that cell is blank.

    Args:
        table: the answer.
        query: the question that it answers; kept for who verifies the rows' scope.
    """
    key, computed = primary_key(table), decimals_from_query(query, table.columns)
    claims: list[Claim] = []
    for index in filled_rows(table):
        row = table.rows[index]
        name = "" if is_blank(row[key]) else clean(row[key] or "")
        stands = f"{name} is one of the rows" if name else f"There is a row number {index + 1}"
        claims.append(_claim(f"{stands}.", "presence", index, None))
        for place, cell in enumerate(row):
            if cell is None or is_blank(cell) or table.columns[place] in computed:
                continue
            column = clean(table.columns[place])
            whose = "" if place == key else f" of {name or f'row {index + 1}'}"
            claims.append(
                _claim(
                    f"The {column}{whose} is {clean(cell)}.",
                    _kind(cell),
                    index,
                    table.columns[place],
                )
            )
    return Document("", tuple(claims), table, query)


def _claim(statement: str, kind: ClaimKind, row: int, column: str | None) -> Claim:
    return Claim(statement, None, None, kind, statement, row=row, column=column)


def _kind(cell: str) -> ClaimKind:
    value = read_value(cell)
    if value.dates:
        return "temporal"
    return "attribute" if value.number is None else "numeric"
