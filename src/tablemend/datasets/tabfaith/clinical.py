"""Synthetic laboratory panels (TabFaith, Appendix B): invented values of nobody.

Complete blood count, metabolic panel and lipid profile of adults. Reference ranges are those that
laboratories commonly print; each has its own. A flag always agrees with its range, and values that
follow from others do: hematocrit from cells and their volume, LDL by the Friedewald formula, the
anion gap from the electrolytes.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
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

    def draw(self, rng: Random) -> float:
        """Mostly within the range; beyond it, near values are more frequent than far ones."""
        low = self.least if self.low is None else self.low
        high = self.most if self.high is None else self.high
        drawn, far = rng.random(), rng.random() ** 2
        if drawn < ABNORMAL / 2 and self.low is not None:
            return low - far * (low - self.least)
        if drawn < ABNORMAL and self.high is not None:
            return high + far * (self.most - high)
        return low + rng.betavariate(2, 2) * (high - low)

    def flag(self, value: float) -> int:
        """0 above the range, 1 below it, 2 within; both ends belong to it."""
        if self.high is not None and value > self.high:
            return 0
        return 1 if self.low is not None and value < self.low else 2

    @property
    def range(self) -> str:
        """``3.5-5.1``, or ``<=200`` and ``>=40`` where it has one end."""
        low, high = (
            "" if end is None else f"{end:.{min(self.decimals, 1)}f}"
            for end in (self.low, self.high)
        )
        return f"{low}-{high}" if low and high else f">={low}" if low else f"<={high}"


PANELS: dict[str, tuple[Test, ...]] = {
    panel: tuple(Test(name, *given) for name, given in tests.items())
    for panel, tests in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text("utf-8")
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
        values = _printed(panel, {test.name: test.draw(rng) for test in PANELS[panel]}, rng)
        for test in _shown(panel, rng):
            text, flag = f"{values[test.name]:.{test.decimals}f}", test.flag(values[test.name])
            joined = f"{text}{test.unit}" if test.unit == "%" else f"{text} {test.unit}"
            shown = [text, test.unit] if own_unit else [joined]
            rows.append([test.name, *shown, test.range, flags[flag]])
    columns = ["Test", "Measurement", "Reference Range", "Flag Status"]
    if own_unit:
        columns = ["Test", "Result", "Unit", "Reference Range", "Flag"]
    return Table.of(columns, rows, " and ".join(chosen))


def _series(panel: str, rng: Random) -> Table:
    """One panel on three to five days, two to six days apart."""
    day = date(rng.randint(2018, 2024), rng.randint(1, 12), rng.randint(1, 28))
    days, drawn = [], []
    values = {test.name: test.draw(rng) for test in PANELS[panel]}
    for _ in range(rng.randint(3, 5)):
        days.append(day.isoformat())
        drawn.append(_printed(panel, dict(values), rng))
        for test in PANELS[panel]:
            values[test.name] += DRIFT * (test.draw(rng) - values[test.name])
        day += timedelta(days=rng.randint(2, 6))
    rows = []
    for test in _shown(panel, rng):
        cells = [f"{found[test.name]:.{test.decimals}f}" for found in drawn]
        rows.append([test.name, test.unit, *cells, test.range])
    return Table.of(["Test", "Unit", *days, "Reference Range"], rows, panel)


def _shown(panel: str, rng: Random) -> list[Test]:
    """Six or more of the tests of a panel, in its order."""
    tests = PANELS[panel]
    count = rng.randint(min(6, len(tests)), len(tests))
    return [tests[index] for index in sorted(rng.sample(range(len(tests)), count))]


def _printed(panel: str, values: dict[str, float], rng: Random) -> dict[str, float]:
    """The values as they are printed, with those that follow from others."""
    values = {test.name: round(values[test.name], test.decimals) for test in PANELS[panel]}
    if panel == "Complete blood count":
        cells, volume = values["Red Blood Cells"], values["MCV"]
        values["Hematocrit"] = cells * volume / 10
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
            gap = rng.randint(6, 16)
            values["Chloride"] = values["Sodium"] - values["Bicarbonate"] - gap
        values["Anion Gap"] = gap
        values["Albumin"] = min(values["Albumin"], values["Total Protein"] - 1.5)
    else:
        values["VLDL Cholesterol"] = round(values["Triglycerides"] / 5)
        rest = values["HDL Cholesterol"] + values["VLDL Cholesterol"]
        values["Total Cholesterol"] = max(values["Total Cholesterol"], rest + 30)
        values["LDL Cholesterol"] = values["Total Cholesterol"] - rest
        values["Non-HDL Cholesterol"] = values["Total Cholesterol"] - values["HDL Cholesterol"]
    return {test.name: round(values[test.name], test.decimals) + 0.0 for test in PANELS[panel]}
