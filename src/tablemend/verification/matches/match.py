"""The tables of one match: two sides with their score, and the players of each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal

from tablemend.evidence.grid import Grid
from tablemend.values.text import fold
from tablemend.verification.grounding import Grounder
from tablemend.verification.linking import Linking
from tablemend.verification.pairs import score_columns
from tablemend.verification.parts import part_columns

_FEWEST = 4  # players
_SIDES = 2
_HOME = frozenset({"home", "host", "hosts"})
_AWAY = frozenset({"away", "visitor", "visitors", "visiting", "guest", "guests", "road"})
_BY_PLACE = re.compile(
    r"\bthe (?P<words>(?:(?P<home>home|host)|away|visiting|road) (?:team|side)|visitors)\b"
)
_BENCH = frozenset({"bench", "reserve", "substitute", "sub"})
_ABSENT = re.compile(r"did not|dnp|inactive|injured|unused")
_ROLE = re.compile(r"\b(?:start|position|role|lineup)", re.I)


@dataclass(frozen=True, slots=True)
class Mention:
    """A side or a player that the text names.

    Attributes:
        start, end: place of the words.
        side: row of the side.
        player: row of the player; ``None`` where the side itself is named.
    """

    start: int
    end: int
    side: int
    player: int | None = None


@dataclass(frozen=True, slots=True)
class Roster:
    """The players of both sides.

    Attributes:
        grid: their table.
        side_of: row of a player -> row of the side.
        bench: players who came from the bench.
        starters: players who did not, and played.
        role: the column that tells the bench apart; ``None`` without one.
        measures: the columns of numbers.
    """

    grid: Grid
    side_of: dict[int, int]
    bench: frozenset[int]
    starters: frozenset[int]
    role: int | None
    measures: frozenset[int]


@dataclass(frozen=True, slots=True)
class Match:
    """Two sides and their players.

    Attributes:
        linking: the text and its tables.
        grounder: reads cells.
        sides: the table of two rows.
        score: its column of the result.
        home: row of the side that plays at home, where a column tells it.
        parts: number of a quarter or period -> its column.
        roster: the players; ``None`` without a table of them.
    """

    linking: Linking
    grounder: Grounder
    sides: Grid
    score: int
    home: int | None
    parts: dict[int, int]
    roster: Roster | None = None
    _said: dict[int, list[Mention]] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[int, int]:
        """The rows of the two sides."""
        one, other = self.sides.lines
        return one.index, other.index

    def rival(self, side: int) -> int:
        """The other side."""
        one, other = self.rows
        return other if side == one else one

    def name(self, side: int) -> str:
        """What a side is called."""
        return next(line.name for line in self.sides.lines if line.index == side)

    def won(self, side: int) -> bool | None:
        """Whether a side has the higher score; ``None`` for a draw or an empty cell."""
        own, other = (
            self.grounder.number(self.sides.number, row, self.score)
            for row in (side, self.rival(side))
        )
        if own is None or other is None or own.value == other.value:
            return None
        return own.value > other.value

    def lead(self, side: int, parts: tuple[int, ...]) -> Decimal | None:
        """By how much a side outscored the other one over some quarters."""
        total = Decimal(0)
        for part in parts:
            if part not in self.parts:
                return None
            for row, sign in ((side, 1), (self.rival(side), -1)):
                number = self.grounder.number(self.sides.number, row, self.parts[part])
                if number is None:
                    return None
                total += sign * number.value
        return total

    def mentions(self, number: int) -> list[Mention]:
        """The sides and the players that a sentence names, each by a name of one row."""
        if number not in self._said:
            self._said[number] = self._mentions(number)
        return self._said[number]

    def _mentions(self, number: int) -> list[Mention]:
        by_grid = self.linking.sentence_links[number]
        found = [
            Mention(link.start, link.end, link.rows[0])
            for link in by_grid[self.sides.number].rows
            if len(link.rows) == 1
            and self.linking.reading.plain[link.start : link.end] not in _HOME | _AWAY
        ]
        if self.roster is not None:
            grid = self.roster.grid
            found += [
                Mention(link.start, link.end, self.roster.side_of[link.rows[0]], link.rows[0])
                for link in by_grid[grid.number].rows
                if len(link.rows) == 1
                and link.column == grid.key
                and link.rows[0] in self.roster.side_of
            ]
        start, end = self.linking.reading.sentences[number]
        for said in _BY_PLACE.finditer(self.linking.reading.plain, start, end):
            if self.home is not None:
                side = self.home if said["home"] else self.rival(self.home)
                found.append(Mention(*said.span("words"), side))
        found.sort(key=lambda mention: (mention.start, -mention.end))
        kept: list[Mention] = []
        for mention in found:
            if not kept or mention.start >= kept[-1].end:
                kept.append(mention)
        return kept


def read_match(linking: Linking, grounder: Grounder) -> Match | None:
    """The match that the tables tell, where exactly one table is of two sides with a score."""
    found = []
    for grid in linking.source.grids:
        plain = not (grid.transposed or grid.key_value) and len(grid.lines) == _SIDES
        if plain and (columns := score_columns(grounder, grid.number)):
            rows = [line.index for line in grid.lines]
            told = {tuple(grid.cell(row, column) for row in rows) for column in columns}
            found += [(grid, columns[0])] if len(told) == 1 else []
    if len(found) != 1:
        return None
    sides, score = found[0]
    home, parts = _home(sides), part_columns(grounder, sides.number)
    for grid in linking.source.grids:
        side_of = _side_of(grid, sides) if grid is not sides else {}
        if len(side_of) >= _FEWEST:
            bench, starters, role = _roles(grid, side_of)
            measures = frozenset(
                column.index
                for column in grid.columns
                if column.kind == "number" and column.index != grid.key
            )
            roster = Roster(grid, side_of, bench, starters, role, measures)
            return Match(linking, grounder, sides, score, home, parts, roster)
    return Match(linking, grounder, sides, score, home, parts)


def _home(sides: Grid) -> int | None:
    """The side that plays at home: the one of a column whose two cells say home and away."""
    for column in sides.columns:
        said = {fold(sides.cell(line.index, column.index)): line.index for line in sides.lines}
        home = [row for word, row in said.items() if word in _HOME]
        if len(home) == 1 and len(said) == _SIDES and said.keys() <= _HOME | _AWAY:
            return home[0]
    return None


def _side_of(grid: Grid, sides: Grid) -> dict[int, int]:
    """Row of a player -> row of the side, by a column that repeats what the sides are called."""
    if grid.transposed or grid.key_value or len(grid.lines) < _FEWEST:
        return {}
    for own in sides.columns:
        names = {fold(sides.cell(line.index, own.index)): line.index for line in sides.lines}
        if len(names) < _SIDES or "" in names or own.kind == "number":
            continue
        for column in grid.columns:
            if column.index == grid.key or column.kind == "number":
                continue
            said = [fold(grid.cell(line.index, column.index)) for line in grid.lines]
            if set(said) == names.keys():
                return {
                    line.index: names[name] for line, name in zip(grid.lines, said, strict=True)
                }
    return {}


def _roles(
    grid: Grid, side_of: dict[int, int]
) -> tuple[frozenset[int], frozenset[int], int | None]:
    """Who came from the bench and who did not, by a column that says so of some players."""
    for column in grid.columns:
        if column.index == grid.key or not _ROLE.search(column.header):
            continue
        said = {row: fold(grid.cell(row, column.index)) for row in side_of}
        bench = frozenset(row for row, word in said.items() if word in _BENCH)
        starters = frozenset(
            row
            for row, word in said.items()
            if word and word not in _BENCH and not _ABSENT.search(word)
        )
        if bench and starters:
            return bench, starters, column.index
    return frozenset(), frozenset(), None
