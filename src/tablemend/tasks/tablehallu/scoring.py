"""How answer tables are scored, and what they earn in training on rewards.

The scorer is the detector, with the distractors that an answer took in. The reward has parts
between 0 and 1, from the detector's matching, and is stricter, because a policy finds every
leniency: a cell in other letters earns less than the gold cell, one that only inclusion or
similarity accepts earns nothing, and text beside the table costs. See ``docs/training.md`` for the
formula and its reasons.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

from tablemend.detector.algorithm import (
    Alignment,
    AnswerFormat,
    align,
    detect_in_answers,
    detector_name,
    round_to_gold,
)
from tablemend.detector.algorithm import Submission as Scored
from tablemend.detector.errors import INVENTS_ROWS, OMITTED_CELL, omits_cell
from tablemend.detector.keys import Gold, filled_rows, prepare_gold
from tablemend.detector.query import SortRule, ordered_pairs
from tablemend.detector.similarity import Similarity
from tablemend.errors import TablemendError
from tablemend.records import Example, Finding, Judgement, Share
from tablemend.tables.extract import Extraction, extract_table
from tablemend.tables.read import write_table
from tablemend.tables.table import Cell, Table, TableError
from tablemend.tasks.tablehallu.prompts import (
    BLANK,
    MARKER,
    OutputFormat,
    answer,
    quotation,
    target,
)
from tablemend.tasks.tablehallu.settings import TYPES, types_of
from tablemend.tasks.task import Score, Submission
from tablemend.values.cells import Value, equal_values, is_blank, read_value, same_value
from tablemend.values.text import header_key
from tablemend.values.units import Unit

REWARD_VERSION = "6"
SPELLING = 0.9
"""Credit of a cell or a column name that says the gold's in other letters."""
IMPURE = 0.5
"""Format of a table that can be read, but does not stand alone or hides something."""
MISPLACED = 0.5
"""Factor on columns that are in another order than the gold table's."""
LONGEST_TITLE = 100
"""Characters of a JSON table's name: longer ones are prose."""

_BLANKS = (None, BLANK)
_EMPTY_JSON = re.compile(rf'{MARKER}(?:\[\]|{{"[^"\\]{{0,{LONGEST_TITLE}}}":\[\]}})')
_SPACE = re.compile(r"[ \t\r\n]+")  # no others: an invisible character is no space
_RULE = re.compile(r":?-+:?")
DISCOUNTED = ("cells", "blanks", "order", "coverage")
"""Parts that count against the gold table alone, so that a copy of everything would have them
all; they are paid times the format, the columns and the share of rows that belong."""


class TableScorer:
    """The detector on answers in one format."""

    def __init__(self, format: Any, similarity: Similarity) -> None:
        self.name = detector_name(similarity)
        self._format, self._similarity = format, similarity

    def score(self, answers: Iterable[Submission[Example]]) -> Iterator[Judgement]:
        """One judgement an answer (:func:`~tablemend.detector.algorithm.detect_in_answers`),
        with the types of distractors that it took in, and whether it invents rows where the query
        asks for one or none.
        """
        read: deque[Submission[Example]] = deque()

        def submissions() -> Iterator[Scored]:
            for one in answers:
                read.append(one)
                yield Scored(
                    one.text,
                    one.sample.gold_table,
                    one.sample.context(one.view),
                    SortRule.of(one.sample.constraints),
                    self._format,
                    one.unscored,
                    one.sample.constraints.decimals,
                )

        for judgement in detect_in_answers(submissions(), self._similarity):
            one = read.popleft()
            if judgement.unscored:
                yield judgement
                continue
            omits = any(map(omits_cell, judgement.findings))
            shares = dict(judgement.shares) | {OMITTED_CELL.name: Share(int(omits), 1)}
            if len(one.sample.gold_table.rows) <= 1:
                invents = any(own.type in INVENTS_ROWS.types for own in judgement.findings)
                shares[INVENTS_ROWS.name] = Share(int(invents), 1)
            if one.view != "clean":
                shares |= taken_in(one.sample, judgement.findings)
            yield replace(judgement, shares=shares)


def taken_in(example: Example, findings: Iterable[Finding]) -> dict[str, Share]:
    """For each type that the context holds whether an answer took some of it in.

    A row out of scope counts by its name, a wrong value by itself; what distractors of several
    types say, or gold says too, counts for none.
    """
    types = types_of(example)
    taken = set()
    for finding in findings:
        if finding.got is None:
            continue
        suspects = {
            types.get(fact.row) if fact.violates is not None else None
            for fact in example.facts
            if (finding.column is None and same_value(fact.entity, finding.got))
            or (fact.column == finding.column and same_value(fact.value, finding.got))
        }
        if finding.column is None:
            suspects.discard(None)  # a gold entity at another time
        if len(suspects) == 1:
            taken |= suspects
    return {
        f"distractor_{type}": Share(int(type in taken), 1)
        for type in TYPES
        if type in types.values()
    }


class Rules(NamedTuple):
    """What an answer was asked for.

    Attributes:
        weights: of the parts.
        format: the serialisation.
        thinks: a thinking block comes before the answer.
        explains: prose may stand before the marker (the step-by-step prompt).
        quotes: the thinking block quotes the context, and nothing else.
    """

    weights: Mapping[str, float]
    format: OutputFormat = "markdown"
    thinks: bool = False
    explains: bool = False
    quotes: bool = False


class Quote(NamedTuple):
    """What may be quoted.

    Attributes:
        context: the text; every quoted line is in it.
        sentences: of it, those to quote.
    """

    context: str
    sentences: Sequence[str]


def score_answer(
    text: str,
    gold_table: Table,
    order: SortRule | None,
    rules: Rules,
    quote: Quote | None = None,
    decimals: Mapping[str, int] | None = None,
) -> Score:
    """Score one answer.

    Args:
        text: the raw generation, special tokens shown, without its end of turn; nothing where it
            was cut, which earns nothing.
        gold_table: what it should be.
        order: the sort that the query demands.
        rules: what was asked for.
        quote: what the thinking block may hold; ``None``: anything.
        decimals: that the query rounds columns to.

    Raises:
        TablemendError: no answer can be scored against this gold table.
    """
    gold, found, near = _read(text, gold_table, order, rules.format, decimals)
    parts, worth = _grade(near, gold, order)
    if quote is not None and (quote.sentences or not gold.rows):
        parts["quote"] = _grade_quote(text, quote.sentences) if parts["scope"] else 0.0
    if parts["scope"]:
        pure = 1.0 if _is_pure(text, found, rules, gold_table, quote) else IMPURE
        parts["format"] *= pure
        parts["scope"] *= pure if not gold.rows else 1.0
        worth *= pure
    weights = rules.weights
    whole = sum(weights[name] for name in parts)
    paid = sum(
        weights[name] * part * (worth if name in DISCOUNTED else 1.0)
        for name, part in parts.items()
    )
    return Score(parts, paid / whole)


def is_right(
    text: str,
    gold_table: Table,
    order: SortRule | None,
    format: AnswerFormat = "auto",
    decimals: Mapping[str, int] | None = None,
) -> bool:
    """Whether the table of an answer is the gold table: its columns in order, rows and cells.

    Values may be written otherwise, and other text may stand beside the table.

    Raises:
        TablemendError: see :func:`score_answer`.
    """
    gold, _, near = _read(text, gold_table, order, format, decimals)
    parts, _ = _grade(near, gold, order, spelling=1.0)
    return all(part == 1.0 for part in parts.values())


def _read(
    text: str,
    gold_table: Table,
    order: SortRule | None,
    format: AnswerFormat,
    decimals: Mapping[str, int] | None,
) -> tuple[Gold, Extraction, Table | None]:
    """The gold table, what the answer holds, and its table with numbers rounded as asked."""
    gold = prepare_gold(gold_table)
    if isinstance(gold, str):
        raise TablemendError(gold)
    if order is not None and header_key(order.column) not in gold.headers:
        raise TablemendError(f"the sort column {order.column!r} is not in the gold table")
    found = extract_table(text, format, gold_table.columns)
    if found.empty and not gold.rows:  # JSON, which names no column then
        found = replace(found, table=Table(gold_table.columns, ()))
    near = decimals and found.table and round_to_gold(found.table, gold_table, decimals)
    return gold, found, near or found.table


class TableReward:
    """The reward of table generation."""

    name = f"tablemend reward {REWARD_VERSION}"

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def score(self, sample: Example, view: str, text: str) -> Score:
        """What an answer earns (:func:`score_answer`)."""
        quote = None
        if self.rules.quotes:
            quote = Quote(sample.context(view), _quoted(quotation(sample, view)))
        order = SortRule.of(sample.constraints)
        decimals = sample.constraints.decimals
        return score_answer(text, sample.gold_table, order, self.rules, quote, decimals)

    def gold(self, sample: Example, view: str) -> str:
        """What earns the whole reward; a thought that is the model's own is left empty."""
        thinking = "quote" if self.rules.quotes else "empty" if self.rules.thinks else "off"
        return target(sample, view, thinking, self.rules.format)


def _grade(
    answer: Table | None, gold: Gold, order: SortRule | None, spelling: float = SPELLING
) -> tuple[dict[str, float], float]:
    """The parts of an answer, and what its table is worth: columns times precision of the rows.

    Every part is 0 where no row is stated: nothing right, nothing paid. Format and columns are
    shared where each row that is right shares its key: they would pay a guess in two rows. The
    rest of the format is left to the caller. Where gold has no row, a row is nothing right, and the
    header alone is paid by its columns.
    """
    if not gold.rows:
        is_right = answer is not None and not answer.rows
        columns = _grade_columns(answer, gold, spelling) if answer and is_right else 0.0
        return {"format": float(columns > 0), "columns": columns, "scope": float(columns > 0)}, 0.0
    gaps = sum(map(len, gold.filled)) - gold.cells
    pairs = _pairs(gold, order, ())[1]
    names = ["format", "columns", "scope", "cells"]
    names += ["blanks"] * (gaps > 0) + ["order"] * (pairs > 0) + ["coverage"]
    parts = dict.fromkeys(names, 0.0)
    aligned = None if answer is None else align(answer, gold)
    if answer is None or aligned is None:
        return parts, 0.0
    stated = _stated(gold, aligned, spelling)
    if not stated:
        return parts, 0.0
    empty = [len(table.rows) - len(filled_rows(table)) for table in (answer, gold.table)]
    rows = len(aligned.body) + max(0, empty[0] - empty[1])
    right = sum(row.share for row in stated.values())
    parts["format"] = max(row.share for row in stated.values())
    parts["columns"] = _grade_columns(answer, gold, spelling) * parts["format"]
    parts["scope"] = 2 * right / (len(gold.rows) + rows)
    parts["cells"] = sum(row.filled for row in stated.values()) / gold.cells
    parts["coverage"] = right / len(gold.rows)
    if gaps:
        parts["blanks"] = sum(row.blank for row in stated.values()) / gaps
    if pairs:
        parts["order"] = _pairs(gold, order, tuple(stated))[0] / pairs
    return parts, parts["columns"] * right / rows


class _Row(NamedTuple):
    """What a stated gold row counts for: itself, and the credit of its filled and blank cells."""

    share: float
    filled: float
    blank: float


def _stated(gold: Gold, aligned: Alignment, spelling: float) -> dict[int, _Row]:
    """The gold rows that the answer states, in its order: the key, and a cell beside it.

    The key alone will do where the gold row has no other cell in the columns of the answer; but
    an answer that has no cell right beside the keys states nothing, unless the gold table has
    keys alone.

    Rows that claim one key share it, and a cell is worth the mean of what they say: who writes
    a row twice, with other cells, has guessed twice and earns less than one guess on average. A
    row that the matching gave to another gold row still claims the key that it writes.
    """
    cells, key = aligned.cells, aligned.cells.key
    stated: dict[int, _Row] = {}
    tells = gold.cells == sum(filled[gold.key] for filled in gold.filled)
    said = [read_value(row[key]) for row in cells.answer]
    settled = {
        row
        for row, gold_row in aligned.matched.items()
        if equal_values(read_value(cells.gold[gold_row][key]), said[row], cells.units[key])
    }
    for row, gold_row in sorted(aligned.matched.items()):
        name = read_value(cells.gold[gold_row][key])
        rivals = [
            other
            for other in range(len(cells.answer))
            if other not in settled
            and other != row
            and equal_values(name, said[other], cells.units[key])
        ]
        credits = [
            fmean(
                credit_cell(
                    cells.gold[gold_row][at], cells.answer[one][at], cells.units[at], spelling
                )
                for one in (row, *rivals)
            )
            for at in range(len(aligned.place))
        ]
        filled = [gold.filled[gold_row][column] for column in aligned.place]
        beside = [credit for at, credit in enumerate(credits) if filled[at] and at != key]
        tells = tells or (credits[key] > 0 and any(beside))
        if credits[key] and (any(beside) or not beside):
            stated[gold_row] = _Row(
                1 / (1 + len(rivals)),
                sum(credit for credit, full in zip(credits, filled, strict=True) if full),
                sum(credit for credit, full in zip(credits, filled, strict=True) if not full),
            )
    return stated if tells else {}


def credit_cell(gold: Cell, answer: Cell, unit: Unit, spelling: float = SPELLING) -> float:
    """1 for the gold cell as it is written, less for its value in other letters, else 0."""
    if is_blank(gold):
        return 1.0 if answer in (*_BLANKS, gold) else spelling * is_blank(answer)
    if answer == gold:
        return 1.0
    one, other = read_value(gold), read_value(answer)
    return spelling * (
        equal_values(one, other, unit)
        and not _says_more(one, other, unit)
        and (_is_exact(answer) or not _is_exact(gold))
    )


def _says_more(gold: Value, answer: Value, unit: Unit) -> bool:
    """Whether an answer equal to gold also covers another value, or states another fact.

    ``03/04/2021`` is right for two days; ``5 kg`` is more than ``5`` where the header has no unit.
    """
    if len(answer.dates) > 1:
        return True
    if answer.number is None or gold.number is None:
        return False
    stated, said = gold.number.unit, answer.number.unit
    units = bool(said.symbol) and not (stated.symbol or unit.symbol)
    return units or said.currency not in ("", stated.currency, unit.currency)


def _is_exact(cell: Cell) -> bool:
    """Whether a cell that is a number gives it, and no bound or estimate: "over 5", "5+"."""
    number = read_value(cell).number
    return number is None or not number.bound


def _grade_columns(answer: Table, gold: Gold, spelling: float) -> float:
    """Names that are the gold table's, of both tables' names together; less out of order."""
    names = dict(zip(gold.headers, gold.table.columns, strict=True))
    named: dict[str, float] = {}
    for column in answer.columns:
        name = header_key(column)
        if name in names and name not in named:
            named[name] = 1.0 if column == names[name] else spelling
    extra = len(answer.columns) - len(named)
    places = [gold.headers.index(name) for name in named]
    in_order = all(one < other for one, other in pairwise(places))
    return sum(named.values()) / (len(names) + extra) * (1.0 if in_order else MISPLACED)


def _pairs(gold: Gold, order: SortRule | None, stated: Sequence[int]) -> tuple[int, int]:
    """Pairs of gold rows in the order demanded: in the answer, and in the gold table."""
    if order is None:
        return 0, 0
    column = gold.headers.index(header_key(order.column))
    return ordered_pairs([row[column] for row in gold.rows], stated, order.order)


def _quoted(thought: str) -> list[str]:
    """The lines of a thinking block."""
    lines = (line.strip() for line in thought.strip().removeprefix("<think>").splitlines())
    return [line for line in lines if line]


def _grade_quote(text: str, sentences: Sequence[str]) -> float:
    """F1 of the quoted lines."""
    lines = _quoted(text.partition("</think>")[0])
    if not sentences:
        return float(not lines)
    right = (Counter(lines) & Counter(sentences)).total()
    return 2 * right / (len(lines) + len(sentences))


def _is_pure(text: str, found: Extraction, rules: Rules, gold: Table, quote: Quote | None) -> bool:
    """Whether an answer is the marker and its table, written as we would write that table.

    So there is nothing beside the table, and nothing inside of it that a reader does not see: a
    comment, a link, a second table, an attribute of a tag. Nor does anything but the context's own
    words stand in a quotation.
    """
    assert found.table is not None
    if rules.thinks:
        thought, _, text = text.partition("</think>")
        if quote is not None and any(line not in quote.context for line in _quoted(thought)):
            return False
    if rules.explains:
        before, marker, after = text.rpartition(MARKER)
        text = marker + after
        if extract_table(before, rules.format).table is not None:
            return False
    if found.empty:
        return _EMPTY_JSON.fullmatch(_squeeze(text, rules.format)) is not None
    if len(found.table.title) > max(LONGEST_TITLE, len(gold.title)):
        return False
    try:
        plain = [answer(found.table, rules.format)]
        if rules.format != "json":  # an empty cell is as good as a dash
            plain.append(f"{MARKER}\n{write_table(replace(found.table, title=''), rules.format)}")
    except TableError:  # characters that the format cannot hold
        return False
    return _squeeze(text, rules.format) in [_squeeze(one, rules.format) for one in plain]


def _squeeze(text: str, format: OutputFormat) -> str:
    """A text without ordinary white space, and all Markdown rules alike."""
    text = _SPACE.sub("", text)
    return _RULE.sub("-", text) if format == "markdown" else text
