"""Our scripts, run in this process, where a test has changed something."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_script(script: str, tokens: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The status that a script of the repository ends with."""
    monkeypatch.setattr(sys, "argv", [script, *tokens])
    monkeypatch.chdir(ROOT)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as left:
        return int(left.code or 0)
    return 0
