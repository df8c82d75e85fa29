"""What someone reads to understand one thing, listed in CONTRIBUTING.md, stays short."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tablemend.detector.errors import ERROR_TYPES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
LIMITS = {"SFT": (7, 2300), "Comparison": (15, 2500), "Detector": (12, 3000)}
"""Most files and lines of each path (design.md); ``values`` and ``tables`` do not count."""
_LINE = re.compile(r"- \*\*(?P<name>[^*]+)\*\* \((?P<files>\d+) files, (?P<lines>[\d,]+) lines\):")


class Reading(NamedTuple):
    """A path as CONTRIBUTING.md lists it: a list item, then its files, each in backticks."""

    files: list[str]
    lines: int


def reading_paths() -> dict[str, Reading]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = {}
    for match in _LINE.finditer(text):
        item = text[match.end() :].split("\n\n")[0].split("\n- ")[0]
        files = re.findall(r"`([\w/]+\.py)`", item)
        assert len(files) == int(match["files"]), match["name"]
        found[match["name"]] = Reading(files, int(match["lines"].replace(",", "")))
    return found


PATHS = reading_paths()


def _file(name: str) -> Path:
    """A path from the root of the repository, or from ``src/tablemend``."""
    return ROOT / name if (ROOT / name).is_file() else SOURCE / "tablemend" / name


def _imported(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("name", LIMITS)
def test_a_reading_path_is_short_and_counted(name: str) -> None:
    most_files, most_lines = LIMITS[name]
    path = PATHS[name]
    lines = sum(len(_file(one).read_text(encoding="utf-8").splitlines()) for one in path.files)
    assert len(path.files) <= most_files and lines <= most_lines
    assert abs(path.lines - lines) <= 0.03 * lines, f"CONTRIBUTING.md: {name} has {lines} lines"


@pytest.mark.parametrize("name", LIMITS)
def test_a_reading_path_hangs_together(name: str) -> None:
    """Its first file is the script; each other one is imported by one that stands before it."""
    script, *others = map(_file, PATHS[name].files)
    known = _imported(script)
    for path in others:
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        assert module in known or module.rpartition(".")[0] in known, module
        known |= _imported(path)


@pytest.mark.parametrize("error", ["out_of_range", "blank_filling", "entity_fabrication"])
def test_an_error_type_is_known_to_two_files(error: str) -> None:
    """What finds and names it, and what puts it into gold answers; reports and cards read these.

    `format_error` is also what has no table, and of `order_mismatch` a report shows both rows.
    """
    assert error in ERROR_TYPES
    naming = [path for path in SOURCE.rglob("*.py") if f'"{error}"' in path.read_text("utf-8")]
    assert len(naming) == 2, naming
