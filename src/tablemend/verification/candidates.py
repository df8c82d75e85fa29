"""Rows and columns that an amount can be said of, and what several names of them leave."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tablemend.evidence.grid import Grid
from tablemend.verification.linking import Links, MomentLink

_MET = 12  # of a list of names without end, the nearest


@dataclass(frozen=True, slots=True)
class Candidate:
    """Rows or columns that an amount can be said of.

    Attributes:
        indices: the rows or columns, which the words fit equally well.
        distance: how far the words are: 0 next to the amount; larger is less likely.
        clear: whether nothing else can be meant.
        start, end: place of the words; -1 where they stand in an earlier sentence or nowhere.
    """

    indices: tuple[int, ...]
    distance: int
    clear: bool
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Binding:
    """What an amount is said of in one table, best first.

    Attributes:
        grid: number of the table.
        attributes: what is counted or measured: columns, or rows where rows are attributes.
        entities: of whom or when: rows, or columns where rows are attributes.
        transposed: whether rows are the attributes.
    """

    grid: int
    attributes: tuple[Candidate, ...]
    entities: tuple[Candidate, ...]
    transposed: bool

    def cells(self, attribute: Candidate, entity: Candidate) -> list[tuple[int, int]]:
        """Row and column of the cells where both meet."""
        pairs = [(e, a) for e in entity.indices for a in attribute.indices]
        return [(a, e) for e, a in pairs] if self.transposed else pairs


def meet(candidates: list[Candidate]) -> list[Candidate]:
    """Candidates that name fewer rows together than each alone: "Revenue" and "Q1 2023".

    The rows that both name take the place of the larger sets; a name that stays ambiguous is not
    clear.
    """
    candidates = sorted(candidates, key=lambda candidate: candidate.distance)[:_MET]
    met = []
    wide: set[int] = set()
    for number, one in enumerate(candidates):
        for place, other in enumerate(candidates[number + 1 :], number + 1):
            both = tuple(index for index in one.indices if index in other.indices)
            if not both or len(both) == min(len(one.indices), len(other.indices)):
                continue
            nearer, farther = sorted((one, other), key=lambda candidate: candidate.distance)
            distance = (nearer.distance + farther.distance) // 2
            clear = one.clear and other.clear
            met.append(Candidate(both, distance, clear, nearer.start, nearer.end))
            wide |= {number, place}
    kept = [candidate for number, candidate in enumerate(candidates) if number not in wide]
    return [
        candidate
        if len(candidate.indices) == 1
        else Candidate(candidate.indices, candidate.distance, False, candidate.start, candidate.end)
        for candidate in (*met, *kept)
    ]


def is_in(moment: MomentLink, said: dict[tuple[int, int], tuple[int, ...]]) -> bool:
    """Whether a period is a part of words that name one of its columns: "share in 2014"."""
    return any(
        start <= moment.start and moment.end <= end and set(columns) <= set(moment.columns)
        for (start, end), columns in said.items()
    )


def narrowed(period: Candidate, named: list[Candidate]) -> Candidate:
    """A period's columns, only those that the nearest words name too: "share" of "2014, share"."""
    for other in sorted(named, key=lambda candidate: candidate.distance):
        both = tuple(index for index in period.indices if index in other.indices)
        if both and len(both) < len(period.indices):
            return replace(period, indices=both)
    return period


def named_rows(grid: Grid, links: Links) -> list[tuple[int, int, tuple[int, ...]]]:
    """Places of the words that name rows, by a name or by a period, and the rows."""
    named = [(link.start, link.end, link.rows) for link in links.rows]
    for link in links.moments:
        if rows := moment_rows(grid, link):
            named.append((link.start, link.end, rows))
    return sorted(named)


def moment_rows(grid: Grid, link: MomentLink) -> tuple[int, ...]:
    """The rows that a period tells apart from others; none where all have it."""
    rows = tuple(sorted({row for row, _ in link.places}))
    return rows if len(rows) < len(grid.lines) else ()
