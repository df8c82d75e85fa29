"""Which answer row is which gold row, and which cells agree (TableHallu, C.1)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tablemend.detector.similarity import (
    THRESHOLD,
    Pair,
    Similarity,
    initialisms,
    regions_in_full,
    standard_tokens,
)
from tablemend.tables.table import Cell, Row
from tablemend.values.cells import (
    digit_words,
    equal_values,
    includes,
    modifiers,
    negations,
    read_under,
    read_value,
    stated_bounds,
    without_additions,
)
from tablemend.values.text import tokens_of
from tablemend.values.units import Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CROSS = "\u274c"
"""As a cell it says no, or nothing."""
ALL_PAIRS = 4_000
"""Pairs of keys that no row was found by yet, up to which each is compared with each."""
NEAREST, MOST_SHARING = 20, 200
_CODE = re.compile(r"[\w.]*\d[\w.]*")
Edges = dict[int, list[int]]


def compare_cells(gold: Cell, answer: Cell, unit: Unit) -> bool | Pair:
    """Whether an answer cell says what a gold cell says, or the pair to ask similarity about.

    In order: two blanks are the same and a blank equals nothing else; standardised equality;
    numbers strictly ("15" is "15 %" in a column of rates alone); inclusion at token
    borders. Numbers, dates, and texts that differ in their digits or negations never reach
    similarity.
    """
    if gold == answer:
        return True
    one, other = read_under(gold, unit), read_under(answer, unit)
    if one.blank or other.blank:
        crossed = {str(gold).strip(), str(answer).strip()}
        return (one.blank and other.blank) or (_CROSS in crossed and "no" in (one.text, other.text))
    if unit.codes and _CODE.fullmatch(one.text) and _CODE.fullmatch(other.text):
        return equal_values(one, other, unit)
    if equal_values(one, other, unit) or includes(one, other, unit):
        return True
    if one.number or other.number or one.dates or other.dates:
        return False
    if stated_bounds(one.text) != stated_bounds(other.text):
        return False
    texts = regions_in_full(one.text, other.text), regions_in_full(other.text, one.text)
    if texts != (one.text, other.text):
        return compare_cells(*texts, unit)
    first, second = tokens_of(one.text), tokens_of(other.text)
    if negations(first) != negations(second):
        return False
    turned = modifiers(first), modifiers(second)
    if turned[0] != turned[1] and all(turned):
        return False
    digits = digit_words(first), digit_words(second)
    if digits[0] != digits[1] and all(digits):
        return False
    left, right = sorted(without_additions(one.text, other.text))
    return left, right


@dataclass(slots=True)
class Cells:
    """The cells of one answer beside those of its gold table, over the columns both have.

    Attributes:
        gold: gold rows, cut to the shared columns.
        answer: answer rows, cut to the same columns in the same order.
        units: what the numbers of each shared column count in.
        key: index of the primary key among the shared columns.
        similarity: decides what :func:`compare_cells` leaves open; asked for many pairs at once.
        is_info_box: whether the keys are names of attributes: "birth place" is no "place".
    """

    gold: Sequence[Row]
    answer: Sequence[Row]
    units: Sequence[Unit]
    key: int
    similarity: Similarity
    is_info_box: bool = False
    _similar: dict[Pair, bool] = field(default_factory=dict)
    _verdicts: dict[tuple[int, int], Sequence[bool | Pair]] = field(default_factory=dict)

    def identical(self, gold_row: int, answer_row: int) -> bool:
        """Whether two rows agree letter by letter; most rows do, and it is quick to see."""
        return self.gold[gold_row] == self.answer[answer_row]

    def same(self, gold_row: int, answer_row: int, column: int) -> bool:
        """Whether two cells agree."""
        return self._agrees(self._compare(gold_row, answer_row)[column])

    def agreement(self, gold_row: int, answer_row: int) -> int:
        """Columns beside the key that agree."""
        verdicts = self._compare(gold_row, answer_row)
        return sum(self._agrees(own) for place, own in enumerate(verdicts) if place != self.key)

    def similar(self, pairs: Iterable[Pair]) -> set[Pair]:
        """Those of some pairs that mean the same."""
        asked = set(pairs)
        new = sorted(asked - self._similar.keys())
        scores = self.similarity.score(new) if new else []
        self._similar |= {pair: own >= THRESHOLD for pair, own in zip(new, scores, strict=True)}
        return {pair for pair in asked if self._similar[pair]}

    def prepare(self, rows: Iterable[tuple[int, int]]) -> None:
        """Ask at once for all that is open between the cells of some (gold, answer) rows."""
        verdicts = (one for pair in rows for one in self._compare(*pair))
        self.similar(one for one in verdicts if not isinstance(one, bool))

    def _agrees(self, verdict: bool | Pair) -> bool:
        return verdict if isinstance(verdict, bool) else bool(self.similar([verdict]))

    def _compare(self, gold_row: int, answer_row: int) -> Sequence[bool | Pair]:
        """The verdict of each column; keys are compared by :func:`match_rows` alone."""
        if (gold_row, answer_row) not in self._verdicts:
            cells = zip(self.gold[gold_row], self.answer[answer_row], self.units, strict=True)
            self._verdicts[gold_row, answer_row] = [
                column == self.key or compare_cells(*own) for column, own in enumerate(cells)
            ]
        return self._verdicts[gold_row, answer_row]


def match_rows(cells: Cells) -> dict[int, int]:
    """One-to-one row matching by the primary key: gold row of each matched answer row.

    Keys match by standardised equality, then inclusion, then similarity, each only among rows
    that are still free; last, a row without a key is matched where more than half of its
    other cells agree. Where several rows share a key the pairing is the one with
    the most agreeing cells (an assignment problem), ties in favour of the given order.
    """
    matched: dict[int, int] = {}
    for find_edges in (_equal_keys, _included_keys, _similar_keys, _missing_keys):
        free_gold = sorted(set(range(len(cells.gold))) - set(matched.values()))
        free_answer = [row for row in range(len(cells.answer)) if row not in matched]
        if not free_gold or not free_answer:
            break
        if edges := find_edges(cells, free_gold, free_answer):
            matched.update(_assign(cells, edges))
    return matched


def _equal_keys(cells: Cells, gold: list[int], answer: list[int]) -> Edges:
    index: dict[object, list[int]] = defaultdict(list)
    unit = cells.units[cells.key]
    keys = {row: read_under(cells.gold[row][cells.key], unit) for row in gold}
    for row, value in keys.items():
        for form in value.forms():
            index[form].append(row)
    edges: Edges = {}
    for row in answer:
        value = read_under(cells.answer[row][cells.key], unit)
        near = {found for form in value.forms() for found in index.get(form, ())}
        equal = [found for found in sorted(near) if equal_values(keys[found], value, unit)]
        if equal:
            edges[row] = equal
    return edges


def _included_keys(cells: Cells, gold: list[int], answer: list[int]) -> Edges:
    verdicts = _key_verdicts(cells, gold, answer)
    edges = _edges(cells, gold, answer, {keys for keys, v in verdicts.items() if v is True})
    if cells.is_info_box:
        edges = {row: [g for g in near if cells.agreement(g, row)] for row, near in edges.items()}
    return {row: near for row, near in edges.items() if near}


def _similar_keys(cells: Cells, gold: list[int], answer: list[int]) -> Edges:
    verdicts = _key_verdicts(cells, gold, answer)
    asked = {keys: pair for keys, pair in verdicts.items() if not isinstance(pair, bool)}
    similar = cells.similar(asked.values())
    return _edges(cells, gold, answer, {keys for keys, pair in asked.items() if pair in similar})


def _missing_keys(cells: Cells, gold: list[int], answer: list[int]) -> Edges:
    nameless = [row for row in answer if read_value(cells.answer[row][cells.key]).blank]
    couples = [(one, other) for other in nameless for one in gold][:ALL_PAIRS]
    cells.prepare(couples)
    edges: Edges = defaultdict(list)
    for one, other in couples:
        if 2 * cells.agreement(one, other) > len(cells.units) - 1:
            edges[other].append(one)
    return dict(edges)


def _key_verdicts(
    cells: Cells, gold: list[int], answer: list[int]
) -> dict[tuple[Cell, Cell], bool | Pair]:
    """Comparisons of the distinct free keys; a missing key is nothing to compare.

    Of more than :data:`ALL_PAIRS` pairs each answer's key is compared with those :data:`NEAREST`
    gold keys alone that share the beginnings of the most, and of the rarest, words with it.
    """
    left, right = (
        [key for key in dict.fromkeys(own) if not read_value(key).blank]
        for own in (
            (cells.gold[row][cells.key] for row in gold),
            (cells.answer[row][cells.key] for row in answer),
        )
    )
    pairs = ((one, other) for one in left for other in right)
    if len(left) * len(right) > ALL_PAIRS:
        pairs = _near_keys(left, right)
    return {pair: compare_cells(*pair, cells.units[cells.key]) for pair in pairs}


def _near_keys(gold: list[Cell], answer: list[Cell]) -> Generator[tuple[Cell, Cell], None, None]:
    index: dict[str, list[Cell]] = defaultdict(list)
    for key in gold:
        for beginning in _beginnings(key):
            index[beginning].append(key)
    for key in answer:
        shared: dict[Cell, float] = defaultdict(float)
        for beginning in _beginnings(key):
            found = index.get(beginning, [])
            for other in found[:MOST_SHARING]:
                shared[other] += 1 / len(found)
        nearest = sorted(shared, key=lambda other: -shared[other])[:NEAREST]
        yield from ((other, key) for other in nearest)


def _beginnings(key: Cell) -> set[str]:
    """What two keys that can be one share some of: beginnings of words, an initialism."""
    value = read_value(key)
    words = [*tokens_of(value.text).words, *standard_tokens(value.text).words]
    found = {word[:3] for word in words} | {date[:4] for date in value.dates}
    return found | initialisms(tuple(words[: len(words) // 2])) | {"".join(words)[:5]}


def _edges(
    cells: Cells, gold: list[int], answer: list[int], admitted: set[tuple[Cell, Cell]]
) -> Edges:
    if not admitted:
        return {}
    by_key: dict[Cell, list[int]] = defaultdict(list)
    for row in gold:
        by_key[cells.gold[row][cells.key]].append(row)
    edges: Edges = {}
    for row in answer:
        key = cells.answer[row][cells.key]
        near = [found for one in by_key if (one, key) in admitted for found in by_key[one]]
        if near:
            edges[row] = sorted(near)
    return edges


def _assign(cells: Cells, edges: Edges) -> dict[int, int]:
    """One gold row for each answer row: as many as possible, then by agreement."""
    matched: dict[int, int] = {}
    contested: list[tuple[list[int], list[int]]] = []
    for answer, gold in _components(edges):
        if len(answer) == len(gold) == 1:
            matched[answer[0]] = gold[0]
        else:
            contested.append((answer, gold))
    cells.prepare((g, a) for answer, _ in contested for a in answer for g in edges[a])
    for answer, gold in contested:
        matched.update(_best_pairing(cells, edges, answer, gold))
    return matched


def _best_pairing(cells: Cells, edges: Edges, answer: list[int], gold: list[int]) -> dict[int, int]:
    import numpy as np

    place = {row: index for index, row in enumerate(gold)}
    certain = len(cells.units) + 2.0  # one more pair outweighs any agreement
    # A strictly convex cost keeps equal rows in their order: a tie must not look like a swap.
    nudge = 0.5 / (len(answer) + len(gold)) ** 3
    gain = np.zeros((len(answer), len(gold)))
    for i, row in enumerate(answer):
        for found in edges[row]:
            j = place[found]
            gain[i, j] = certain + cells.agreement(found, row) - nudge * (i - j) ** 2

    return {answer[i]: gold[j] for i, j in assign(gain) if gain[i, j] > 0.0}


def _components(edges: Edges) -> list[tuple[list[int], list[int]]]:
    """Connected (answer rows, gold rows); most have one of each."""
    askers: dict[int, list[int]] = defaultdict(list)
    for row, near in edges.items():
        for found in near:
            askers[found].append(row)
    seen: set[int] = set()
    components = []
    for start in edges:
        if start in seen:
            continue
        answer, gold, queue = [], set[int](), [start]
        seen.add(start)
        while queue:
            row = queue.pop()
            answer.append(row)
            for found in edges[row]:
                if found not in gold:
                    gold.add(found)
                    fresh = [other for other in askers[found] if other not in seen]
                    seen.update(fresh)
                    queue.extend(fresh)
        components.append((sorted(answer), sorted(gold)))
    return components


def assign(gain: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The pairs (row, column) with the largest sum; every row or every column is in one.

    Shortest augmenting paths (Crouse 2016, On implementing 2D rectangular assignment algorithms),
    with the order in which ties fall of ``scipy.optimize.linear_sum_assignment``, which would be
    half of what an installation takes.
    """
    import numpy as np  # only contested keys pay for it

    if gain.shape[0] > gain.shape[1]:
        return sorted((row, column) for column, row in assign(gain.T))
    cost = -gain
    height, width = cost.shape
    of_rows, of_columns = np.zeros(height), np.zeros(width)
    column_of, row_of = np.full(height, -1), np.full(width, -1)
    for start in range(height):
        shortest, path = np.full(width, np.inf), np.full(width, -1)
        seen_rows, seen_columns = [start], []
        left = np.arange(width)[::-1].copy()
        lowest, row = 0.0, start
        while True:
            reached = lowest + cost[row, left] - of_rows[row] - of_columns[left]
            nearer = reached < shortest[left]
            path[left[nearer]] = row
            shortest[left[nearer]] = reached[nearer]
            lowest = shortest[left].min()
            ties = np.flatnonzero(shortest[left] == lowest)
            free = ties[row_of[left[ties]] < 0]
            place = free[-1] if free.size else ties[0]
            column = left[place]
            if row_of[column] < 0:
                break
            row = row_of[column]
            seen_rows.append(row)
            seen_columns.append(column)
            left[place] = left[-1]
            left = left[:-1]
        of_rows[start] += lowest
        for other in seen_rows[1:]:
            of_rows[other] += lowest - shortest[column_of[other]]
        of_columns[seen_columns] -= lowest - shortest[seen_columns]
        while True:  # the pairs along the path change sides
            row_of[column] = row = path[column]
            column_of[row], column = column, column_of[row]
            if row == start:
                break
    return [(row, int(column)) for row, column in enumerate(column_of)]
