"""Scores of a part of a match: "64-48 in the first half", where quarters or periods are columns."""

from __future__ import annotations

import re
from decimal import Decimal

from tablemend.values.numbers import plain_digits
from tablemend.verification.binding import Binder
from tablemend.verification.findings import Finding, compared_number
from tablemend.verification.grounding import Cell, Grounder
from tablemend.verification.partial import is_running
from tablemend.verification.reading import Amount

_ORDINALS = {
    "first": 1,
    "1st": 1,
    "opening": 1,
    "one": 1,
    "second": 2,
    "2nd": 2,
    "two": 2,
    "third": 3,
    "3rd": 3,
    "three": 3,
    "fourth": 4,
    "4th": 4,
    "final": 4,
}
_WORD = "|".join(_ORDINALS)
_HALF = re.compile(r"\b(first|1st|opening|second|2nd) half\b|\b(halftime|the half|the break)\b")
_ONE = re.compile(
    rf"\b(?P<after>after (?:the )?|end of (?:the )?)?(?P<word>{_WORD}) "
    r"(?:quarter|period)s?\b"
)
_BORDER = re.compile(r"[,;:()]|\b(?:and|but|while|before|after which)\b")
_FINAL = re.compile(r"\s*(?:victory|win|triumph|defeat|loss|final)\b")
_FINAL_BEFORE = re.compile(r"\b(?:final score|ended|finished|won)\b[^,;]*$")
_FAR = 70  # characters
_NAMES = frozenset({"quart", "period"})


def judge_part(
    grounder: Grounder, binder: Binder, one: Amount, other: Amount
) -> list[Finding] | None:
    """Findings on a score that is said of a half, a quarter or a period.

    Args:
        grounder: compares with cells.
        binder: of the sentence.
        one: the first number.
        other: the second.

    Returns:
        ``None`` where no part is said, or the tables do not tell it.
    """
    told = _nearest_part(binder, one, other)
    if told is None:
        return None
    running = is_running(binder.plain, one.start, other.digits_end)
    if running:
        told = tuple(range(1, told[-1] + 1))
    for grid in grounder.grids:
        columns = part_columns(grounder, grid.number)
        if len(told) > 1 and 4 not in columns:
            continue  # a match of three periods has no halves
        if len(grid.lines) != 2 or not all(part in columns for part in told):
            continue
        sums = []
        cells: list[Cell] = []
        for line in grid.lines:
            own = [(line.index, columns[part]) for part in told]
            numbers = [grounder.number(grid.number, *cell) for cell in own]
            if any(number is None for number in numbers):
                return None
            sums.append(sum((n.value for n in numbers if n is not None), Decimal(0)))
            cells += own
        found = _judge(grounder, grid.number, (one, other), sums, cells)
        if running and any(finding.verdict == "contradicted" for finding in found):
            reason = "a score on the way; the table has those of whole parts"
            return [_unclear(finding, reason) for finding in found]
        return found
    return None


def _judge(
    grounder: Grounder,
    grid: int,
    amounts: tuple[Amount, Amount],
    sums: list[Decimal],
    cells: list[Cell],
) -> list[Finding]:
    """Each number against the sum that is left for it; the order of the two is free."""
    one, other = (amount.value for amount in amounts)
    straight = (one == sums[0]) + (other == sums[1])
    crossed = (one == sums[1]) + (other == sums[0])
    swap = crossed > straight or (crossed == straight and (one >= other) != (sums[0] >= sums[1]))
    right = [sums[1], sums[0]] if swap else sums
    evidence = grounder.evidence(grid, cells)
    found = []
    for amount, expected in zip(amounts, right, strict=True):
        reason = f"it is {plain_digits(expected)} in that part"
        found.append(compared_number(amount, expected, evidence, reason))
    return found


def _unclear(finding: Finding, reason: str) -> Finding:
    return Finding(finding.start, finding.end, "number", "unscored", reason=reason)


def _nearest_part(binder: Binder, one: Amount, other: Amount) -> tuple[int, ...] | None:
    """The quarters of the part that is said nearest to the score, behind it first."""
    start, end = binder.sentence
    found: list[tuple[int, tuple[int, ...]]] = []
    for match in _HALF.finditer(binder.plain, start, end):
        parts: tuple[int, ...] = (
            (1, 2) if match[2] or match[1] in ("first", "1st", "opening") else (3, 4)
        )
        found.append((match.start(), parts))
    for match in _ONE.finditer(binder.plain, start, end):
        number = _ORDINALS[match["word"]]
        parts = tuple(range(1, number + 1)) if match["after"] else (number,)
        found.append((match.start(), parts))
    if _FINAL.match(binder.plain, other.digits_end) or _FINAL_BEFORE.search(
        binder.plain, start, one.start
    ):
        return None
    beside = [
        (max(place - other.end, one.start - place), parts)
        for place, parts in found
        if len(found) == 1 or not _BORDER.search(binder.plain, *_between(place, one, other))
    ]
    return min(beside)[1] if beside and min(beside)[0] <= _FAR else None


def _between(place: int, one: Amount, other: Amount) -> tuple[int, int]:
    return (other.end, place) if place >= other.end else (place, one.start)


def part_columns(grounder: Grounder, grid: int) -> dict[int, int]:
    """Number of a quarter or period -> its column."""
    found: dict[int, int] = {}
    for heading, said in grounder.linking.index.terms.items():
        if heading.grid != grid or heading.column < 0 or not said & _NAMES:
            continue
        numbers = [int(term) for term in said if term.isdigit() and len(term) == 1]
        if len(numbers) == 1:
            found[numbers[0]] = heading.column
    return found
