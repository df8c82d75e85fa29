"""Synthetic laboratory panels (TabFaith, Appendix B): invented values of nobody.

Complete blood count, metabolic panel and lipid profile of adults. Reference ranges are those that
laboratories commonly print; each has its own. A flag always agrees with its range, and values that
follow from others do: hematocrit from cells and their volume, LDL by the Friedewald formula, the
anion gap from the electrolytes.
"""

from __future__ import annotations

from datetime import date, timedelta
from importlib.resources import files
from random import Random
from typing import NamedTuple

import yaml

from tablemend.tables.table import Cell, Table

ABNORMAL = 0.25
"""Chance that a test is drawn from beyond its range."""

DRIFT = 0.2
"""How far a value moves towards a new one from one day to the next."""


class Test(NamedTuple):
    """A laboratory test: its range in a unit, how it is printed, what it can reach at all."""

    name: str
    unit: str
    low: float | None
    high: float | None
    decimals: int
    least: float
    most: float


PANELS: dict[str, tuple[Test, ...]] = {
    panel: tuple(Test(name, *given) for name, given in tests.items())
    for panel, tests in yaml.safe_load(
        files(__package__).joinpath("clinical.yaml").read_text("utf-8")
    ).items()
}
_FLAGS = (("H", "L", None), ("High", "Low", "Normal"), ("high", "low", "normal"))


def make_table(seed: int, number: int) -> Table:
    """Table ``number`` of a seed: the panels take turns, one in four shows two of them."""
    rng = Random(f"clinical:{seed}:{number}")
    names = list(PANELS)
    chosen = [names[number % len(names)]]
    if rng.random() < 0.25:
        chosen.append(rng.choice([name for name in names if name not in chosen]))
    if rng.random() < 0.3:
        return _series(chosen[0], rng)
    flags = rng.choice(_FLAGS)
    own_unit = rng.random() < 0.6
    rows: list[list[Cell]] = []
    for panel in chosen:
        tests = PANELS[panel]
        count = rng.randint(min(6, len(tests)), len(tests))
        shown = sorted(rng.sample(range(len(tests)), count))
        values = _draw(panel, rng)
        rows += [_row(tests[index], values[tests[index].name], flags, own_unit) for index in shown]
    columns = ["Test", "Result", "Unit", "Reference Range", "Flag"]
    if not own_unit:
        columns = ["Test", "Measurement", "Reference Range", "Flag Status"]
    return Table.of(columns, rows, " and ".join(chosen))


def _series(panel: str, rng: Random) -> Table:
    """One panel on three to five days, two to six days apart."""
    tests = PANELS[panel]
    day = date(rng.randint(2018, 2024), rng.randint(1, 12), rng.randint(1, 28))
    days, drawn = [], []
    values = {test.name: _value(test, rng) for test in tests}
    for _ in range(rng.randint(3, 5)):
        days.append(day)
        drawn.append(_derive(panel, dict(values), rng))
        values = {
            test.name: (1 - DRIFT) * values[test.name] + DRIFT * _value(test, rng) for test in tests
        }
        day += timedelta(days=rng.randint(2, 6))
    count = rng.randint(min(6, len(tests)), len(tests))
    rows: list[list[Cell]] = []
    for index in sorted(rng.sample(range(len(tests)), count)):
        test = tests[index]
        cells = [f"{found[test.name]:.{test.decimals}f}" for found in drawn]
        between = write_range(test.low, test.high, min(test.decimals, 1))
        rows.append([test.name, test.unit, *cells, between])
    columns = ["Test", "Unit", *(day.isoformat() for day in days), "Reference Range"]
    return Table.of(columns, rows, panel)


def flag_of(value: float, low: float | None, high: float | None) -> int:
    """0 above the range, 1 below it, 2 within; both ends belong to it."""
    if high is not None and value > high:
        return 0
    return 1 if low is not None and value < low else 2


def write_range(low: float | None, high: float | None, decimals: int) -> str:
    """``3.5-5.1``, or ``<=200`` and ``>=40`` where it has one end."""
    if low is None:
        return f"<={high:.{decimals}f}"
    if high is None:
        return f">={low:.{decimals}f}"
    return f"{low:.{decimals}f}-{high:.{decimals}f}"


def _row(test: Test, value: float, flags: tuple[str | None, ...], own_unit: bool) -> list[Cell]:
    text = f"{value:.{test.decimals}f}"
    decimals = min(test.decimals, 1)
    between = write_range(test.low, test.high, decimals)
    flag = flags[flag_of(value, test.low, test.high)]
    if own_unit:
        return [test.name, text, test.unit, between, flag]
    space = "" if test.unit == "%" else " "
    return [test.name, f"{text}{space}{test.unit}", between, flag]


def _draw(panel: str, rng: Random) -> dict[str, float]:
    """A value for each test, as it is printed."""
    return _derive(panel, {test.name: _value(test, rng) for test in PANELS[panel]}, rng)


def _derive(panel: str, values: dict[str, float], rng: Random) -> dict[str, float]:
    """The values with those that follow from others, as they are printed."""
    if panel == "Complete blood count":
        cells, volume = values["Red Blood Cells"], values["MCV"]
        values["Hematocrit"] = cells * volume / 10
        values["MCH"] = 10 * values["Hemoglobin"] / cells
        if not 27 <= 100 * values["Hemoglobin"] / values["Hematocrit"] <= 39:
            values["Hemoglobin"] = values["Hematocrit"] * rng.uniform(0.315, 0.36)
            values["MCH"] = 10 * values["Hemoglobin"] / cells
        values["MCHC"] = 100 * values["Hemoglobin"] / values["Hematocrit"]
        rest = max(5.0, 100 - values["Monocytes"] - values["Eosinophils"] - 0.6)
        values["Neutrophils"] = min(values["Neutrophils"], rest - 3)
        values["Lymphocytes"] = rest - values["Neutrophils"]
    elif panel == "Comprehensive metabolic panel":
        gap = values["Sodium"] - values["Chloride"] - values["Bicarbonate"]
        if not 3 <= gap <= 34:
            values["Chloride"] = values["Sodium"] - values["Bicarbonate"] - rng.randint(6, 16)
            gap = values["Sodium"] - values["Chloride"] - values["Bicarbonate"]
        values["Anion Gap"] = gap
        values["Albumin"] = min(values["Albumin"], values["Total Protein"] - 1.5)
    else:
        hdl, fats = values["HDL Cholesterol"], values["Triglycerides"]
        values["VLDL Cholesterol"] = round(fats / 5)
        least = hdl + values["VLDL Cholesterol"] + 30
        values["Total Cholesterol"] = max(values["Total Cholesterol"], least)
        total = values["Total Cholesterol"]
        values["LDL Cholesterol"] = total - hdl - values["VLDL Cholesterol"]
        values["Non-HDL Cholesterol"] = total - hdl
    return {test.name: round(values[test.name], test.decimals) + 0.0 for test in PANELS[panel]}


def _value(test: Test, rng: Random) -> float:
    """Mostly within the range; beyond it, near values are more frequent than far ones."""
    low = test.least if test.low is None else test.low
    high = test.most if test.high is None else test.high
    drawn = rng.random()
    far = rng.random() ** 2
    if drawn < ABNORMAL / 2 and test.low is not None:
        value = low - far * (low - test.least)
    elif drawn < ABNORMAL and test.high is not None:
        value = high + far * (test.most - high)
    else:
        value = low + rng.betavariate(2, 2) * (high - low)
    return round(value, test.decimals)
