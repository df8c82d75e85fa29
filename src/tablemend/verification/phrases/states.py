"""What rows are: "Tuesday was sunny", "two days were sunny", "850 laptops", "unbeaten"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import terms
from tablemend.verification.negation import DENIED
from tablemend.verification.phrases.measures import heading_terms
from tablemend.verification.phrases.shape import Part, Shape

_BEING = re.compile(
    r"^(?:the )?(?P<rows>[RP]\d+(?:(?:,|,? and) [RP]\d+)*)(?: \w+ly)?"
    r" (?:is|are|was|were|stayed|remained) (?:both |all |also )?(?P<value>V\d+)(?=[.;,]|$| and\b)"
)
_COUNTED = re.compile(
    r"^(?:only |just |exactly )?(?P<number>N\d+)(?: of (?:the|all) N\d+)?(?: (?:\w+|C\d+))?"
    r" (?:is|are|was|were) (?P<value>V\d+)(?=[.;]|$)"
)
_SORT = re.compile(r"(?P<number>N\d+) (?P<value>V\d+)(?=[.;,]|$| in\b)")
_VALUE = re.compile(
    r"^(?:the )?(?P<row>R\d+)(?: \w+)? (?:is|was|measured|stood at|came to|registered|read)"
    r" (?P<number>N\d+)(?: (?P<unit>V\d+))?(?=[.;,]|$)"
)
_WITHOUT = re.compile(r"\b(?P<word>(?P<loss>unbeaten|undefeated)|winless)\b")
_NO_ROW = re.compile(r"^(?P<word>no|N0) (?:\w+|C\d+) (?:is|was|stayed|remained|finished|went) $")
_LOSS, _WIN = frozenset(terms("lost")), frozenset(terms("won"))


def judge_states(shape: Shape) -> Iterator[Finding]:
    """Findings on what rows are said to be, by a column of words or of wins and losses."""
    if shape.grid.transposed or shape.grid.key_value:
        return
    yield from _records(shape)
    if DENIED.search(shape.text):
        return
    yield from _being(shape)
    yield from _only_value(shape)
    yield from _counted(shape)
    yield from _sorts(shape)


def _column(shape: Shape, value: Part) -> int | None:
    """The one column of words that has a value, where no totals row has it."""
    columns = {column for _, column in value.places}
    column = next(iter(columns)) if len(columns) == 1 else None
    if column is None or column == shape.grid.key or shape.grid.columns[column].kind == "number":
        return None
    return column


def _being(shape: Shape) -> Iterator[Finding]:
    """As "Tuesday was sunny": contradicted where the column has something else for the row."""
    match = _BEING.match(shape.text)
    if match is None:
        return
    value = shape.part(match["value"])
    column = _column(shape, value)
    named = [shape.part(mark) for mark in re.findall(r"[RP]\d+", match["rows"])]
    if column is None or not all(len(part.rows or ()) == 1 for part in named):
        return
    rows = [next(iter(part.rows or ())) for part in named]
    if any(shape.grid.value(row, column).blank for row in rows):
        return
    wrong = [row for row in rows if (row, column) not in value.places]
    shown = (wrong or rows)[0]
    evidence = shape.grid.evidence(shown, column)
    expected = (shape.grid.cell(shown, column),) if len(rows) == 1 else ()
    yield shape.finding(
        Span(value.start, value.end), not wrong, "ATT", evidence.text, expected=expected
    )
    for part in named if not wrong else ():
        yield shape.finding(Span(part.start, part.end), True, "ATT", evidence.text)


def _counted(shape: Shape) -> Iterator[Finding]:
    """As "two days were sunny": so many rows have the value."""
    match = _COUNTED.match(shape.text)
    if match is None:
        return
    part, value = shape.part(match["number"]), shape.part(match["value"])
    amount, column = part.amount, _column(shape, value)
    if amount is None or amount.hedge or amount.number.decimals or column is None:
        return
    count = len({row for row, _ in value.places if row in shape.rows})
    header = shape.grid.columns[column].header
    yield shape.finding(
        Span(part.start, amount.digits_end if amount.spelled else part.end),
        amount.value == count,
        "NUM",
        f"{count} rows where {header}: {shape.name(value)}",
        kind="number",
        expected=(str(count),),
    )


def _sorts(shape: Shape) -> Iterator[Finding]:
    """As "the South sold 850 tablets", where what the South sold are laptops."""
    rows = [part for part in shape.parts if part.mark == "R"]
    if len(rows) != 1 or len(rows[0].rows or ()) != 1:
        return
    row = next(iter(rows[0].rows or ()))
    for match in _SORT.finditer(shape.text):
        value = shape.part(match["value"])
        column = _column(shape, value)
        amount = shape.part(match["number"]).amount
        if column is None or amount is None or shape.grid.value(row, column).blank:
            continue
        if (row, column) in value.places or not any(
            (cell := shape.cell(row, index)) is not None
            and shape.agreement(amount, cell.value, cell) == "same"
            for index in shape.numeric
        ):
            continue
        right = _in_the_form_of(shape.name(value), shape.grid.cell(row, column))
        reason = shape.grid.evidence(row, column).text
        yield shape.finding(Span(value.start, value.end), False, "ATT", reason, expected=(right,))


def _in_the_form_of(said: str, right: str) -> str:
    """A word of a cell in small letters and as a plural where the text has it so."""
    if said.islower():
        right = right.lower()
    return f"{right}s" if said.endswith("s") and not right.endswith("s") else right


def _only_value(shape: Shape) -> Iterator[Finding]:
    """As "Potassium was 455 mmol/L": the value of a row, where rows have one number."""
    match = _VALUE.match(shape.text)
    if match is None or len(shape.numeric) != 1:
        return
    row, part = shape.part(match["row"]), shape.part(match["number"])
    cell = shape.only([row, Part("C", -1, -1, columns=shape.numeric)])
    unit = shape.part(match["unit"]) if match["unit"] else None
    if cell is None or part.amount is None:
        return
    if unit is not None and not any(place == cell.row for place, _ in unit.places):
        return  # another unit than the row's
    agreement = shape.agreement(part.amount, cell.value, cell)
    if agreement in ("same", "different"):
        reason = shape.grid.evidence(cell.row, cell.column).text
        yield shape.finding(
            Span(part.start, part.amount.digits_end),
            agreement == "same",
            "NUM",
            reason,
            (cell,),
            kind="number",
            expected=(shape.grid.cell(cell.row, cell.column),),
        )


def _records(shape: Shape) -> Iterator[Finding]:
    """As "Leeds were unbeaten", "no team was unbeaten": by the column of losses, or of wins."""
    for match in _WITHOUT.finditer(shape.text):
        said = _LOSS if match["loss"] else _WIN
        columns = [c for c in sorted(shape.numeric) if heading_terms(shape, c) == said]
        before = shape.text[: match.start()]
        if len(columns) != 1:
            continue
        measure = Part("C", -1, -1, columns=frozenset(columns))
        cells = [cell for cell in shape.numbers([measure]) if cell.row in shape.rows]
        none = _NO_ROW.match(before)
        named = [part for part in shape.parts_in(0, match.start()) if part.mark == "R"]
        if none is not None:
            if none["word"] != "no" and (zero := shape.part("N0").amount) and zero.value:
                continue
            truth = all(cell.value > 0 for cell in cells)
            shown = min(cells, key=lambda cell: cell.value)
        elif len(named) == 1 and not DENIED.search(before):
            own = shape.only([named[0], measure])
            if own is None:
                continue
            truth, shown = own.value == 0, own
        else:
            continue
        reason = shape.grid.evidence(shown.row, shown.column).text
        where = shape.span(*match.span("word"))
        yield shape.finding(where, truth, "CMP", reason, (shown,))
        if none is not None:
            yield shape.finding(shape.span(*none.span("word")), truth, "CMP", reason, (shown,))
