"""The detector: one answer against its gold table and context (TableHallu, Algorithm 1, C.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, NamedTuple

from tablemend.detector.errors import REPEATED, check_format, find_errors
from tablemend.detector.keys import (
    Gold,
    filled_rows,
    names_of_rows,
    prepare_gold,
    primary_key,
)
from tablemend.detector.matching import Cells, match_rows
from tablemend.detector.query import SortRule
from tablemend.detector.similarity import LexicalSimilarity, Similarity
from tablemend.errors import TablemendError, defect
from tablemend.records import Finding, Judgement, Share
from tablemend.tables.extract import Extraction, extract_table
from tablemend.tables.read import Format
from tablemend.tables.table import Cell, Table
from tablemend.values.cells import is_blank, writes_dots
from tablemend.values.text import header_key

AnswerFormat = Format | Literal["auto"]
DETECTOR_VERSION = "1.5.0"
_NO_TABLE = "no readable table: "
_LEXICAL = LexicalSimilarity()
_PLAIN = re.compile(r"[-+]?[0-9][0-9,]{0,30}(\.[0-9]{1,30})?").fullmatch


@dataclass(frozen=True, slots=True)
class Submission:
    """One answer to be scored.

    Attributes:
        text: the raw generation.
        gold: the table that it should be.
        context: the text that was shown to the model.
        order: the sort that the query demands; ``None`` leaves the order check out.
        format: the serialisation that was asked for; ``"auto"`` is any but CSV.
        failed: why there is no answer (a failed request): the judgement is then *unscored*.
        decimals: that the query rounds columns to (:func:`~.query.decimals_from_query`).
    """

    text: str
    gold: Table
    context: str
    order: SortRule | None = None
    format: AnswerFormat = "auto"
    failed: str = ""
    decimals: Mapping[str, int] | None = None


class Alignment(NamedTuple):
    """Which rows and cells of an answer belong to which of its gold table.

    Attributes:
        place: index in the gold table of each column that both have.
        body: index in the answer of each of its filled rows.
        cells: both tables, cut to these columns and rows.
        matched: gold row of each matched answer row; both count from 0 in ``cells``.
    """

    place: list[int]
    body: list[int]
    cells: Cells
    matched: dict[int, int]


def detect_errors(
    answer: Table,
    gold: Table,
    context: str,
    order: SortRule | None = None,
    similarity: Similarity = _LEXICAL,
) -> Judgement:
    """The errors of a table that has been read already; see :func:`detect_in_answers`."""
    return _detect_in_table(Extraction(answer, ""), gold, context, order, similarity)


def detect_in_answer(
    text: str,
    gold: Table,
    context: str,
    order: SortRule | None = None,
    format: AnswerFormat = "auto",
    similarity: Similarity = _LEXICAL,
    decimals: Mapping[str, int] | None = None,
) -> Judgement:
    """The errors of one raw answer; see :func:`detect_in_answers`."""
    known = {cell for row in gold.rows for cell in row}
    found = extract_table(text, format, gold.columns, known)
    if decimals and found.table is not None:
        found = replace(found, table=round_to_gold(found.table, gold, decimals))
    return _detect_in_table(found, gold, context, order, similarity)


def detect_in_answers(
    submissions: Iterable[Submission], similarity: Similarity = _LEXICAL
) -> Iterator[Judgement]:
    """The errors of a stream of answers, in order, in bounded memory.

    Args:
        submissions: any iterable, read one at a time.
        similarity: decides what equality and inclusion leave open; asked once for all open pairs
            of a step of an answer.

    Yields:
        One judgement a submission. A failed request, an unusable gold table or a defect of ours
        gives an unscored one, with the reason.
    """
    name = detector_name(similarity)
    for one in submissions:
        if one.failed:
            yield Judgement(unscored=f"no answer: {one.failed}", scorer=name)
            continue
        try:
            yield detect_in_answer(
                one.text, one.gold, one.context, one.order, one.format, similarity, one.decimals
            )
        except (TablemendError, OSError, MemoryError):
            raise
        except Exception as error:  # the others of the stream go on
            yield Judgement(unscored=defect(error), scorer=name)


def detector_name(similarity: Similarity) -> str:
    """What reports print: detector version and similarity."""
    return f"tablemend {DETECTOR_VERSION}, {similarity.name}"


def round_to_gold(answer: Table, gold: Table, decimals: Mapping[str, int]) -> Table:
    """An answer whose numbers are the gold ones where they are as near as the rounding allows."""
    asked = {header_key(column): count for column, count in decimals.items()}
    wanted = {
        header_key(column): [(Decimal(c.replace(",", "")), c) for c in cells if c and _PLAIN(c)]
        for column, cells in zip(gold.columns, zip(*gold.rows, strict=True), strict=False)
        if header_key(column) in asked
    }

    def rounded(column: str, cell: Cell) -> Cell:
        key, text = header_key(column), (cell or "").strip().replace("\u2212", "-")
        if key not in wanted or not _PLAIN(text):
            return cell
        number, half = Decimal(text.replace(",", "")), Decimal(5).scaleb(-asked[key] - 1)
        return next((own for value, own in wanted[key] if abs(value - number) <= half), cell)

    rows = tuple(tuple(map(rounded, answer.columns, row)) for row in answer.rows)
    return Table(answer.columns, rows, answer.title)


def _detect_in_table(
    found: Extraction,
    gold_table: Table,
    context: str,
    order: SortRule | None,
    similarity: Similarity,
) -> Judgement:
    """Algorithm 1."""
    name = detector_name(similarity)
    gold = prepare_gold(gold_table)
    if isinstance(gold, str):
        return Judgement(unscored=gold, scorer=name)
    if order is not None and header_key(order.column) not in gold.headers:
        reason = f"the sort column {order.column!r} is not in the gold table"
        return Judgement(unscored=reason, scorer=name)
    answer = found.table
    if answer is None:
        unread = Finding("format_error", None, None, None, None, f"{_NO_TABLE}{found.reason}")
        alone = () if found.empty else (unread,)
        abstained = found.empty and bool(gold.rows)
        said = names_of_rows(Table(gold_table.columns, ())) if found.empty else ""
        return Judgement(alone, _recall(gold, 0, 0), abstained, scorer=name, said=said)
    said = names_of_rows(answer)
    format_error = check_format(gold, answer)
    findings: tuple[Finding, ...] = (format_error,) if format_error else ()
    aligned = align(answer, gold, similarity)
    if aligned is None:
        abstained = bool(gold.rows) and not filled_rows(answer)
        return Judgement(findings, _recall(gold, 0, 0), abstained, scorer=name, said=said)
    place, body, cells, matched = aligned
    cells.prepare((gold_row, row) for row, gold_row in matched.items())
    stated = _count_matched_cells(gold, place, cells, matched)
    findings = findings or tuple(find_errors(gold, cells, matched, body, context, order))
    return Judgement(findings, _recall(gold, len(matched), stated), scorer=name, said=said)


def _recall(gold: Gold, rows: int, cells: int) -> dict[str, Share]:
    """Rows and filled cells of the gold table that an answer states, of all that it has."""
    return {"row_recall": Share(rows, len(gold.rows)), "cell_recall": Share(cells, gold.cells)}


def why_no_table(judgement: Judgement) -> str:
    """Why the answer cannot be compared as a table; empty where it can be, right or wrong.

    No table that can be read, one beyond the size limit, or two columns of one name, of which
    nobody can say which one is meant. All are format errors; a command says them aloud.
    """
    for finding in judgement.findings:
        is_format = finding.type == "format_error"
        if is_format and finding.evidence.startswith((_NO_TABLE, REPEATED)):
            return finding.evidence
    return ""


def align(answer: Table, gold: Gold, similarity: Similarity = _LEXICAL) -> Alignment | None:
    """The rows and cells of an answer beside those of its gold table.

    ``None`` where no row can be named: the answer has no key column, or no filled row. The rows of
    a gold table without any are named by the answer's own key column.
    """
    places: dict[str, int] = {}
    for index, column in enumerate(answer.columns):
        places.setdefault(header_key(column), index)
    shared = [(index, places[name]) for index, name in enumerate(gold.headers) if name in places]
    body = filled_rows(answer)
    place = [index for index, _ in shared]
    if not body or not (gold.key in place if gold.rows else place):
        return None
    said = [tuple(answer.rows[row][index] for _, index in shared) for row in body]
    names = [gold.table.columns[index] for index in place]
    key = place.index(gold.key) if gold.rows else primary_key(Table.of(names, said))
    cells = Cells(
        [tuple(row[index] for index in place) for row in gold.rows],
        said,
        [
            gold.units[index]._replace(dots=gold.units[index].dots or writes_dots(column))
            for index, column in zip(place, zip(*said, strict=True), strict=True)
        ],
        key,
        similarity,
        gold.is_info_box,
    )
    return Alignment(place, body, cells, match_rows(cells))


def _count_matched_cells(
    gold: Gold, place: list[int], cells: Cells, matched: dict[int, int]
) -> int:
    """Filled gold cells that a matched row states; the key of a matched row is stated."""
    stated = 0
    for row, gold_row in matched.items():
        filled = [gold.filled[gold_row][index] for index in place]
        if cells.identical(gold_row, row):
            stated += sum(filled)
            continue
        stated += sum(
            not is_blank(cells.answer[row][column])
            if column == cells.key
            else cells.same(gold_row, row, column)
            for column, wanted in enumerate(filled)
            if wanted
        )
    return stated
