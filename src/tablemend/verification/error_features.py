"""What a claim and its evidence show of the sort of error, as named features without any content.

A number, name or period that the evidence does not have; a value that stands in another row or
column; a superlative or comparison. No word of a table or text is a feature, so that what is
learnt from one domain holds in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from tablemend.claims.cues import Cue, find_cues
from tablemend.claims.tokens import name_spans, tokens_of_sentence
from tablemend.records import Claim, Evidence
from tablemend.values.numbers import Number, find_quantities, find_spelled, same_number
from tablemend.values.places import Places, singular
from tablemend.values.sentences import Span
from tablemend.values.text import align, clean, tokens_of
from tablemend.verification.indexing import Place, index_grids

if TYPE_CHECKING:
    from tablemend.evidence.grid import Grid
    from tablemend.evidence.source import Source

VERSION = "features-1"
_CELL = re.compile(r'Row "(?P<row>.*)", Column "(?P<column>.*)": (?P<value>.*)\Z', re.DOTALL)
_PERIODS = frozenset("quarter half fiscal weekday month season decade".split())
_YEAR = re.compile(r"(?<![\d.,$-])(?:1[5-9]|20)\d\d(?![\d,]|\.\d|\s?%)")
_QUARTER = re.compile(
    r"\bq([1-4])\b|\b(first|second|third|fourth|1st|2nd|3rd|4th)[ -]quarter\b"
    r"|\bquarter ([1-4])\b|\b([1-4])q"
)
_ORDER = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b")
_EMPTY = frozenset(
    "a an the of in on at to for and by with from as its their his her is are was were be been has "
    "have had that this these it they he she per no row".split()
)
_LONGEST = 2000
_LOW, _HIGH = Decimal("0.995"), Decimal("1.005")
_MOST_CELLS = 12  # that have one number
_NAMED = 0.5
"""Share of a header's words that a claim must have, so that it is taken to name it."""


class Cell(NamedTuple):
    """A cell of the evidence: its row's and its column's words, and what it says."""

    row: frozenset[str]
    column: frozenset[str]
    words: frozenset[str]
    number: Number | None


@dataclass(frozen=True)
class _Read:
    """A claim, read."""

    words: frozenset[str]
    numbers: tuple[tuple[Number, Span], ...]
    periods: frozenset[str]
    names: tuple[frozenset[str], ...]
    cues: tuple[Cue, ...]


def features_of(
    claim: Claim, evidence: Sequence[Evidence], source: Source | None = None
) -> list[str]:
    """The names of the features that a claim has, each once, in order.

    Args:
        claim: the claim.
        evidence: what was retrieved for it.
        source: with its tables a number or period that no evidence has is looked for in all
            cells; without them only in the evidence.
    """
    statement = claim.statement[:_LONGEST]
    focus = (
        claim.text[claim.focus.start - claim.start : claim.focus.end - claim.start]
        if (claim.focus is not None and claim.start is not None)
        else ""
    )
    said = _read(statement)
    more = _wider(said, source.grids) if source is not None else _Wider()
    evidence = [*evidence, *(one for one in more.evidence if one not in evidence)]
    return list(dict.fromkeys(_features(claim, said, _read(focus), evidence, more)))


class _Wider(NamedTuple):
    """What whole tables add: cells with a claim's numbers, and all their periods."""

    evidence: tuple[Evidence, ...] = ()
    periods: frozenset[str] = frozenset()
    asked: bool = False


def _wider(said: _Read, grids: tuple[Grid, ...]) -> _Wider:
    index = index_grids(grids)
    places = []
    for number, _ in said.numbers:
        size = abs(number.value)
        near = index.numbers_between(size * _LOW, size * _HIGH)
        best = sorted(near, key=lambda one: -_named(said, grids, one.place))
        places += [one.place for one in best[:_MOST_CELLS]]
    found = tuple(
        grids[place.grid].evidence(place.row, place.column)
        for place in dict.fromkeys(places)
        if place.row >= 0 and place.column >= 0
    )
    return _Wider(found, _periods_of(grids), asked=True)


def _named(said: _Read, grids: tuple[Grid, ...], place: Place) -> float:
    cell = _cell(grids[place.grid].evidence(place.row, place.column).text)
    if cell is None:
        return 0.0
    return _share(cell.row, said.words) + _share(cell.column, said.words)


@lru_cache(maxsize=64)
def _periods_of(grids: tuple[Grid, ...]) -> frozenset[str]:
    """Every period that headers and cells of words and dates state."""
    texts = [column.header for grid in grids for column in grid.columns]
    for grid in grids:
        texts.append(grid.caption)
        dated = [column.index for column in grid.columns if column.kind != "number"]
        for line in grid.lines:
            texts.append(line.header)
            texts += [grid.cell(line.index, column)[:_LONGEST] for column in dated]
    return frozenset[str]().union(*(_periods(align(text)) for text in texts))


def _features(
    claim: Claim, said: _Read, focus: _Read, evidence: Sequence[Evidence], more: _Wider
) -> Iterator[str]:
    kind = claim.kind
    cells = [cell for one in evidence if (cell := _cell(one.text)) is not None]
    prose = "" if cells else align(" ".join(one.text for one in evidence))
    yield from ("bias", f"kind={kind}", f"tables seen={more.asked}")
    cues = {f"{cue.kind}/{_sort(cue)}" for cue in said.cues}
    kinds = {cue.kind for cue in said.cues}
    for name in sorted(cues | kinds):
        yield f"cue={name}"
        yield f"{kind} & cue={name}"
    focused = sorted({cue.kind for cue in focus.cues})
    for name in focused:
        yield f"focus cue={name}"

    # numbers
    found = [_grounds(number, said.words, cells, prose) for number, _ in said.numbers]
    yield f"numbers={min(len(found), 3)}"
    for ground in sorted(set(found)):
        yield f"number {ground}"
        yield f"{kind} & number {ground}"
    missing = sum(ground == "nowhere" for ground in found)
    yield f"numbers missing={min(missing, 2)}"
    for number, _ in focus.numbers[:1]:
        ground = _grounds(number, said.words, cells, prose)
        yield f"focus number {ground}"
        yield f"focus number {ground} & missing={min(missing, 2)}"
        yield f"focus unit={number.unit.symbol or bool(number.unit.currency)}"

    # periods
    known = more.periods.union(
        *(_periods(" ".join(sorted(cell.row | cell.column | cell.words))) for cell in cells),
        *(_periods(align(one.text)) for one in evidence),
    )
    lost = said.periods - known
    yield f"periods={min(len(said.periods), 2)} missing={min(len(lost), 2)}"
    yield f"{kind} & periods missing={min(len(lost), 2)}"
    if focus.periods:
        yield f"focus period found={focus.periods <= known}"
    yield f"evidence has periods={bool(known)}"

    # names: of rows and columns that are named, and of those that are not
    rows = [_share(cell.row, said.words) >= _NAMED for cell in cells]
    columns = [_share(cell.column, said.words) >= _NAMED for cell in cells]
    yield f"rows named={sum(rows)} of {len(rows)}"
    yield f"columns named={sum(columns)} of {len(columns)}"
    yield f"crossing named={any(r and c for r, c in zip(rows, columns, strict=True))}"
    stated = [number for number, _ in said.numbers]
    crossing = [
        any(cell.number is not None and _equal(cell.number, number) for number in stated)
        for cell, row, column in zip(cells, rows, columns, strict=True)
        if row and column and cell.number is not None
    ]
    yield f"crossing says it={any(crossing)} else={not all(crossing)}"
    spoken = frozenset[str]().union(*(cell.row | cell.column | cell.words for cell in cells))
    spoken |= frozenset(_words(prose))
    names = [_share(name, spoken) for name in said.names]
    yield f"names={min(len(names), 3)} unknown={min(sum(share < 1 for share in names), 2)}"
    distinct = {cell.row for cell in cells}
    yield f"evidence rows={len(distinct)} columns={len({cell.column for cell in cells})}"
    state = "none" if not found else "missing" if missing else "placed"
    if "row and column" in found:
        state = "right"
    compared = kinds & {"superlative", "rank", "comparative", "change", "quantifier"}
    # What decides only together: a missing number in a comparison is another matter.
    core = (
        f"kind {kind}",
        f"number {state}",
        f"compared {min(compared, default='no')}",
        f"periods {min(len(said.periods), 2)} missing {min(len(lost), 1)}",
        f"rows {any(rows)} columns {any(columns)}",
        f"crossing {'none' if not crossing else 'says it' if any(crossing) else 'else'}",
        f"names {min(len(names), 2)} unknown {any(share < 1 for share in names)}",
        f"direction {_direction(said)}",
    )
    yield from (f"{one} & {other}" for one, other in combinations(core, 2))


def _direction(said: _Read) -> str:
    """Whether "rose from 5 to 7" agrees with itself."""
    changes = [cue for cue in said.cues if cue.kind == "change" and cue.direction]
    if len(changes) != 1 or len(said.numbers) != 2:
        return "none"
    (one, _), (other, _) = said.numbers
    if one.unit.symbol != other.unit.symbol or one.value == other.value:
        return "none"
    return str((other.value > one.value) == (changes[0].direction > 0))


def _sort(cue: Cue) -> str:
    return (
        f"{cue.sense}{cue.direction:+d}"
        if cue.kind in ("hedge", "temporal")
        else str(cue.direction)
    )


def _grounds(number: Number, words: frozenset[str], cells: Sequence[Cell], prose: str) -> str:
    """Where the evidence has a number: whether the claim names that cell's row and column."""
    best = "nowhere"
    for cell in cells:
        if cell.number is None or not _equal(cell.number, number):
            continue
        row = _share(cell.row, words) >= _NAMED
        column = _share(cell.column, words) >= _NAMED
        place = (
            "row and column"
            if row and column
            else "row"
            if row
            else "column"
            if column
            else "elsewhere"
        )
        if _RANKS.index(place) < _RANKS.index(best):
            best = place
    if best == "nowhere" and prose:
        stated = [one.number for one in find_quantities(prose)]
        best = "prose" if any(_equal(number, other) for other in stated) else "nowhere"
    return best


_RANKS = ("row and column", "row", "column", "elsewhere", "prose", "nowhere")


def _equal(cell: Number, stated: Number) -> bool:
    """As equal as a text's rounding lets a number be."""
    if same_number(cell, stated):
        return True
    scaled = [cell.value, cell.value * stated.unit.scale, cell.value / stated.unit.scale]
    return any(abs(abs(value) - abs(stated.value)) * 200 <= abs(stated.value) for value in scaled)


@lru_cache(maxsize=4096)
def _read(text: str) -> _Read:
    plain = align(text)
    places = Places(text)
    numbers = {stated.start: stated for stated in places.numbers}
    years = {match.start() for match in _YEAR.finditer(plain)}
    quarters = [match.span() for match in _QUARTER.finditer(plain)]
    amounts = tuple(
        (stated.number, Span(stated.start, stated.end))
        for start, stated in sorted(numbers.items())
        if start not in years and not any(a <= start < b for a, b in quarters)
    )
    tokens = tokens_of_sentence(text, 0, len(text))
    names = tuple(frozenset(_words(text[name.start : name.end])) for name in name_spans(tokens))
    return _Read(
        frozenset(_words(text)),
        amounts,
        _periods(plain),
        tuple(name for name in names if name and not _periods(" ".join(name))),
        find_cues(text),
    )


@lru_cache(maxsize=4096)
def _cell(text: str) -> Cell | None:
    match = _CELL.match(text)
    if match is None:
        return None
    value = match["value"][:_LONGEST]
    quantities = find_quantities(clean(value)) or find_spelled(clean(value).casefold())
    return Cell(
        frozenset(_words(match["row"])),
        frozenset(_words(match["column"])),
        frozenset(_words(value)),
        quantities[0].number if quantities else None,
    )


def _periods(plain: str) -> frozenset[str]:
    """Years, quarters and months in one spelling."""
    found = {match[0] for match in _YEAR.finditer(plain)}
    for match in _QUARTER.finditer(plain):
        name = next(group for group in match.groups() if group)
        found.add(f"q{_ORDER.get(name, name[0])}")
    found |= {match[1] for match in _MONTH.finditer(plain) if match[1] not in ("may", "mar")}
    return frozenset(found)


def _words(text: str) -> list[str]:
    return [singular(word) for word in tokens_of(text[:_LONGEST]).words if word not in _EMPTY]


def _share(of: frozenset[str], among: frozenset[str]) -> float:
    """Share of some words that stand among others; 0 of none."""
    return len(of & among) / len(of) if of else 0.0
