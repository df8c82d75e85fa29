"""Our scripts, run in this process: a new one imports for seconds, and cannot be changed."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess

import pytest

ROOT = Path(__file__).parents[2]


def run_script(
    script: str, tokens: Sequence[str], monkeypatch: pytest.MonkeyPatch, folder: Path = ROOT
) -> int:
    """The status that a script of the repository ends with."""
    monkeypatch.setattr(sys, "argv", [script, *tokens])
    monkeypatch.chdir(folder)
    try:
        runpy.run_path(str(ROOT / script), run_name="__main__")
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def run_captured(script: str, *tokens: str, folder: Path = ROOT) -> CompletedProcess[str]:
    """The same with what it printed, as of a process of its own."""
    said = [BytesIO(), BytesIO()]
    out, err = (TextIOWrapper(each, "utf-8", write_through=True) for each in said)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        status = run_script(script, tokens, patch, folder)
    return CompletedProcess(script, status, *(each.getvalue().decode() for each in said))
