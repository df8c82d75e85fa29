"""The best one-to-one pairing of the rows and columns of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def assign(gain: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The pairs (row, column) with the largest sum; every row or every column is in one.

    Shortest augmenting paths (Crouse 2016, On implementing 2D rectangular assignment algorithms),
    with the order in which ties fall of ``scipy.optimize.linear_sum_assignment``, which would be
    half of what an installation takes.

    Args:
        gain: finite numbers, rows by columns.
    """
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
