"""Counts the files and lines of functions and classes that a script runs: JSON on stderr.

    python tests/support/trace_run.py train/sft.py recipe=tiny train.max_steps=2

A function counts whole, once; other processes that the script starts do not count.
"""

from __future__ import annotations

import ast
import json
import runpy
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = str(Path(__file__).parents[2] / "src" / "tablemend")


def main() -> None:
    """Run the script with its arguments."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        sys.setprofile(None)
        lines = ran(seen)
        counted = {"files": len(lines), "lines": sum(map(len, lines.values()))}
        print(json.dumps(counted), file=sys.stderr)


def ran(seen: set[CodeType]) -> dict[str, set[int]]:
    """The lines of the functions that these codes are of, by file."""
    starts: dict[str, set[int]] = {}
    for code in seen:
        name = code.co_filename  # of a template too
        if name.startswith(SOURCE) and name.endswith(".py") and code.co_name != "<module>":
            starts.setdefault(name, set()).add(code.co_firstlineno)
    lines: dict[str, set[int]] = {}
    for path, first in starts.items():
        for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                if start in first:
                    assert node.end_lineno
                    own = set(range(start, node.end_lineno + 1))
                    if isinstance(node, ast.ClassDef):  # its methods count where they run
                        for part in node.body:
                            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                                own -= set(range(part.lineno, (part.end_lineno or 0) + 1))
                    lines.setdefault(path, set()).update(own)
    return lines


if __name__ == "__main__":
    main()
