"""Changes between columns of one measure at several times: "Population 2010", "Population 2020"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from tablemend.values.numbers import plain_digits
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.logic.words import opposite
from tablemend.verification.phrases.comparing import clauses
from tablemend.verification.phrases.measures import heading_terms
from tablemend.verification.phrases.shape import Cell, Part, Shape

_HEDGES = (
    r"(?:about |around |roughly |only |just |nearly |almost |over |more than |some |another )*"
)
_CHANGED = re.compile(
    r"\b(?:(?P<word>(?P<up>gr[eo]w|grown|rose|risen|increased|climbed|expanded)"
    r"|shr[aiu]nk|fell|fallen|declined|decreased|dropped|contracted)"
    r"(?! (?:behind|short|out|to (?:the|a|an) ))"
    # what is lost or gained can be anything else
    rf"|(?P<count>(?P<gain>gained|added)|lost|shed)(?= {_HEDGES}N\d+"
    r"(?: more)?(?: (?:people|employees|staff|workers|members|residents|inhabitants|jobs|points?"
    r"|[CP]\d+)|[.,;]|$| (?:in|between|from|over|since)\b)))\b"
)
_AMOUNT = re.compile(
    r"(?: \w+ly)?(?: (?:in|from|between|to|and|the)| [CP]\d+)* ?(?:by )?"
    rf"{_HEDGES}(?P<number>N\d+)\b(?! (?:in|of) P\d)"
)
_EVERY = re.compile(
    r"^(?P<word>all|every|each|both)(?: of)?(?: the)? (?:(?P<number>N\d+) )?(?P<noun>C\d+|\w+)"
    r"(?:'s?)?(?: C\d+)? $"
)
_IN_EVERY = re.compile(
    r" in (?P<word>all|every|each|both)(?: of)?(?: the)? (?:(?P<number>N\d+) )?(?P<noun>C\d+)"
)
_TOTAL = re.compile(r"^(?:the )?(?:total|overall|combined) (?:\w+ )?C\d+ $")
_FROM_TO = re.compile(r" from (?P<old>N\d+) to (?P<new>N\d+)\b")
_OWN_NOUN = re.compile(r"\b(?:not|never|neither|nor|no|none|only|most|half|some|than|faster)\b|n't")
_PERCENT_OFF = 1  # points of a percentage that is called rounded


class _Change(NamedTuple):
    """One measure of one row at two times."""

    old: Cell
    new: Cell


def judge_growth(shape: Shape) -> Iterator[Finding]:
    """Findings on what rose or fell from one column of a measure to a later one."""
    if shape.grid.key_value:
        return
    series = measures_over_time(shape)
    if not series:
        return
    for start, end in clauses(shape.text):
        told = list(_CHANGED.finditer(shape.text, start, end))
        if len(told) == 1 and not _OWN_NOUN.search(shape.text, start, end):
            yield from _judge(shape, series, told[0], start, end)


def measures_over_time(shape: Shape) -> list[list[int]]:
    """Groups of columns that are called alike but for their period, in the order of time."""
    readings: dict[int, str] = {}
    for reading, places in sorted(shape.linking.index.header_dates.items()):
        for number, column in places:
            if number == shape.grid.number and column in shape.numeric:
                readings.setdefault(column, reading)
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for column in sorted(readings, key=lambda column: readings[column]):
        named = frozenset(t for t in heading_terms(shape, column) if not any(map(str.isdigit, t)))
        if named:
            groups[named].append(column)
    return [columns for columns in groups.values() if len(columns) > 1]


def _columns(
    shape: Shape, series: list[list[int]], start: int, end: int
) -> tuple[list[int], list[Part]] | None:
    """The earlier and the later column that a clause speaks of, and the words for its times."""
    parts = shape.parts_in(start, end)
    named = [part.columns or frozenset() for part in parts if part.mark == "C"]
    times = [part for part in parts if part.mark == "P" and part.by_column]
    if any(part.mark == "P" and not part.by_column for part in parts):
        return None
    said = [group for group in series if any(columns & set(group) for columns in named)]
    about = {column for columns in named for column in columns} - {shape.grid.key}
    if about and not said:
        return None
    group = said or series
    if len(group) != 1:
        return None
    own = [column for column in group[0] for part in times if column in (part.columns or ())]
    if len(own) == 2 == len(times):
        return own, times
    if not times and len(group[0]) == 2:
        return group[0], []
    if len(own) == 1 == len(times) and len(group[0]) == 2 and own[0] == group[0][1]:
        return group[0], times
    return None


def _judge(
    shape: Shape, series: list[list[int]], match: re.Match[str], start: int, end: int
) -> Iterator[Finding]:
    found = _columns(shape, series, start, end)
    if found is None:
        return
    (old, new), times = found
    parts = shape.parts_in(start, end)
    rows = [part for part in parts if part.mark == "R"]
    before = shape.text[start : match.start()]
    if not rows and _TOTAL.match(before) and not times:
        yield from _total(shape, match, (old, new), end)
        return
    every = _EVERY.match(before) if start == 0 else None
    if every is None and (later := _IN_EVERY.match(shape.text, match.end(), end)):
        every = later if later["noun"][0] == "C" else None
    if len(rows) == 1 and rows[0].places and len(rows[0].rows or ()) == 1:
        subjects = sorted(rows[0].rows or ())
    elif not rows and every is not None and _is_noun(shape, every):
        subjects = sorted(shape.rows)
    else:
        return
    changes = [
        _Change(one, two)
        for row in subjects
        if (one := shape.cell(row, old)) is not None and (two := shape.cell(row, new)) is not None
    ]
    if len(changes) != len(subjects):
        return
    up = bool(match["up"] or match["gain"])
    wrong = [c for c in changes if (c.new.value > c.old.value) != up or c.new.value == c.old.value]
    shown = (wrong or changes)[0]
    grid = shape.grid
    reason = (
        f"{grid.cell(shown.old.row, grid.key)}: {grid.cell(shown.old.row, old)}, "
        f"then {grid.cell(shown.new.row, new)}"
    )
    verb = match["word"] or match["count"]
    where = shape.span(*match.span("word" if match["word"] else "count"))
    turned = opposite(verb) if len(subjects) == 1 else ""
    yield shape.finding(
        where, not wrong, "CMP", reason, shown, expected=(turned,) if turned else ()
    )
    if every is not None and not rows:
        yield shape.finding(shape.span(*every.span("word")), not wrong, "CMP", reason, shown)
        yield from _number_of_rows(shape, every)
    for part in (*times, *rows) if not wrong else ():
        yield shape.finding(Span(part.start, part.end), True, "TMP", reason, shown)
    if len(changes) == 1 and not wrong:
        yield from _by_how_much(shape, match, shown, end, reason)


def _total(
    shape: Shape, match: re.Match[str], columns: tuple[int, int], end: int
) -> Iterator[Finding]:
    """As "total headcount rose from 285 to 313": the sums of both columns."""
    sums = []
    for column in columns:
        cells = [shape.cell(row, column) for row in sorted(shape.rows)]
        found = [cell for cell in cells if cell is not None]
        if len(found) != len(cells) or not found:
            return
        sums.append((found[0], sum((cell.value for cell in found), Decimal(0))))
    (first, old), (second, new) = sums
    reason = f"the sums are {plain_digits(old)}, then {plain_digits(new)}"
    truth = new > old if match["up"] or match["gain"] else new < old
    yield shape.finding(shape.span(*match.span()), truth, "CMP", reason)
    told = _FROM_TO.match(shape.text, match.end(), end)
    if told is None:
        return
    for mark, like, total in (("old", first, old), ("new", second, new)):
        part = shape.part(told[mark])
        if part.amount is None:
            continue
        agreement = shape.agreement(part.amount, total, like)
        if agreement in ("same", "different"):
            right = plain_digits(total)
            where = Span(part.start, part.amount.digits_end)
            same = agreement == "same"
            yield shape.finding(where, same, "NUM", reason, kind="number", expected=(right,))


def _is_noun(shape: Shape, every: re.Match[str]) -> bool:
    """Whether "all four cities" are all rows: the name of their column, or any word for them."""
    noun = every["noun"]
    return noun[0] != "C" or shape.part(noun).columns == frozenset({shape.grid.key})


def _number_of_rows(shape: Shape, every: re.Match[str]) -> Iterator[Finding]:
    amount = shape.part(every["number"]).amount if every["number"] else None
    if amount is not None:
        count = len(shape.rows)
        yield shape.finding(
            shape.span(*every.span("number")),
            amount.value == count,
            "NUM",
            f"{count} rows",
            kind="number",
            expected=(str(count),),
        )


def _by_how_much(
    shape: Shape, match: re.Match[str], change: _Change, end: int, reason: str
) -> Iterator[Finding]:
    """The difference, or the percentage of the earlier value."""
    told = _AMOUNT.match(shape.text, match.end(), end)
    if told is None or re.search(
        r"\b(?:from|to) (?:[CP]\d+ )?$", shape.text[: told.start("number")]
    ):
        return
    part = shape.part(told["number"])
    amount = part.amount
    if amount is None:
        return
    apart = abs(change.new.value - change.old.value)
    right = plain_digits(apart)
    percent = amount.number.percent and change.new.unit.symbol != "%"
    if percent and change.old.value:
        relative = apart / abs(change.old.value) * 100
        off = abs(relative - amount.value)
        rounded = round(relative, amount.number.decimals) == amount.value
        agreement = "same" if rounded or (off <= _PERCENT_OFF and amount.hedge) else "different"
        if agreement == "different" and amount.hedge:
            agreement = shape.agreement(amount, relative, change.new)
        right = plain_digits(round(relative, max(amount.number.decimals, 1)))
    else:
        agreement = shape.agreement(amount, apart, change.new)
    if agreement in ("same", "different"):
        yield shape.finding(
            Span(part.start, amount.digits_end),
            agreement == "same",
            "NUM",
            f"{reason}: {right}{'%' if percent else ''}",
            change,
            kind="number",
            expected=(right,),
        )
