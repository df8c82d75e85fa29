"""The pairing of rows is scipy's, ties included, without scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tablemend.detector.matching import assign


@pytest.mark.parametrize("values", [2, 4, 1000])
def test_pairs_are_those_of_scipy_whatever_is_tied(values: int) -> None:
    generator = np.random.default_rng(values)
    for _ in range(400):
        shape = generator.integers(1, 9, 2)
        gain = generator.integers(0, values, shape) / 4 + generator.choice([0.0, 5.0], shape)
        rows, columns = linear_sum_assignment(gain, maximize=True)
        assert assign(gain) == list(zip(rows.tolist(), columns.tolist(), strict=True))


def test_a_large_table_of_equal_rows_is_paired_in_time() -> None:
    place = np.arange(300.0)
    gain = 5 - (place[:, None] - place[None, :]) ** 2 / 1e6
    assert assign(gain) == [(row, row) for row in range(300)]
