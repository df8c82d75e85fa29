"""A verified copy of a data set: with the verdicts beside it, or without what failed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile, rmtree
from typing import Any

from tablemend.annotation.page import Data
from tablemend.annotation.report import alpha_notes, results_table
from tablemend.config import EXAMPLE_FILES, HUB
from tablemend.datasets.build import lines_file
from tablemend.datasets.card import write_card
from tablemend.datasets.splits import SPLITS
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.reports.rendering import render
from tablemend.runs import read_jsonl, sync, sync_all, to_line, write_jsonl, write_text

CARD = "README.md"
VERDICTS = "verification.jsonl"


def check_out(out: Path, data: str) -> None:
    """Refuse a folder that would overwrite something, before any work.

    Raises:
        TablemendError: it exists, or lies inside the data set.
    """
    if out.is_symlink() or out.exists():
        raise TablemendError(f"{out} exists: name a new folder, nothing is overwritten")
    if not data.startswith(HUB) and out.resolve().is_relative_to(Path(data).resolve()):
        raise TablemendError(f"{out} lies inside the data set {data}: name a folder beside it")


def write_verified(out: Path, data: Data, report: dict[str, Any], *, drop: bool) -> int:
    """The data set with ``verification.jsonl`` and an extended card, and how many were left out.

    Other splits are copied. What counts or resumes the making of the original is not.

    Args:
        out: a new folder.
        data: what was verified.
        report: of :func:`~tablemend.annotation.report.make_report`.
        drop: leave out the examples that were scored wrong; else the files stay as they are.

    Raises:
        TablemendError: no example would be left.
    """
    wrong = {case["example"] for case in report["cases"] if case["verdict"] == "wrong"}
    failed = wrong if drop else set()
    if failed == set(data.examples):
        raise TablemendError("every example was scored wrong: there is nothing to write")
    note = f"The verdict on each example is in `{VERDICTS}`."
    if drop:
        note = (
            f"Left out of this data set because they were scored wrong: {len(failed)}. The counts "
            "of this card, and this table, are those before."
        )
    with _new_folder(out) as folder:
        for path in _files(data):
            copyfile(path, folder / path.name)
        if drop or data.source.startswith(HUB):
            own = _own_file(data)
            written = Path(own).with_suffix(".jsonl").name
            (folder / own).unlink(missing_ok=True)
            if (card := folder / CARD).exists():
                write_text(card, card.read_text("utf-8").replace(own, written))
            with lines_file(folder / written) as write:
                for example in data.examples.values():
                    if example.id not in failed:
                        write(to_line(example.to_json()))
        _write_verdicts(folder, data, report)
        _write_card(folder, data, report, note)
    return len(failed)


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A folder that has its name only when it is whole."""
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        sync_all(temporary)
        temporary.rename(out)
        sync(out.parent)
    finally:
        rmtree(temporary, ignore_errors=True)


def _own_file(data: Data) -> str:
    """Name of the file with the verified examples."""
    if data.source.startswith(HUB):
        return f"{data.split}.jsonl"
    path = Path(data.source)
    if data.split is None:
        return path.name
    return next(
        f"{data.split}{suffix}"
        for suffix in EXAMPLE_FILES
        if (path / f"{data.split}{suffix}").is_file()
    )


def _files(data: Data) -> list[Path]:
    """Files of the original: those with examples, the card, and the verdicts of other splits."""
    if data.source.startswith(HUB):
        return []
    path = Path(data.source)
    if path.is_file():
        return [path]
    names = (CARD, VERDICTS, *(f"{split}{suffix}" for split in SPLITS for suffix in EXAMPLE_FILES))
    return [path / name for name in names if (path / name).is_file()]


def _write_verdicts(folder: Path, data: Data, report: dict[str, Any]) -> None:
    """One line an example; the notes and names of annotators stay in the report.

    What an earlier round said of another split is kept.
    """
    path = folder / VERDICTS
    lines = [line for line in read_jsonl(path) if line.get("split") != data.split]
    for case in report["cases"]:
        steps = {
            step: {key: value for key, value in one.items() if key != "notes"}
            for step, one in case["steps"].items()
        }
        lines.append({"split": data.split, **case, "steps": steps})
    write_jsonl(path, lines)


def _write_card(folder: Path, data: Data, report: dict[str, Any], note: str) -> None:
    path = folder / CARD
    if path.exists():
        card = path.read_text("utf-8")
    else:  # which file is which split, and its types
        files: dict[str, str] = {
            one.stem if one.stem in SPLITS else "test": one.name
            for one in sorted(folder.iterdir())
            if one.suffix in EXAMPLE_FILES and one.name != VERDICTS
        }
        name, kinds = ["# Query-driven table generation"], ["text-generation"]
        card = write_card(name, categories=kinds, tags=[], files=files, record=Example)
    title = re.escape(heading(data))
    old = re.search(rf"^{title}\n.*?(?=^## |\Z)", card, re.MULTILINE | re.DOTALL)
    if old:
        card = card[: old.start()] + card[old.end() :]
    section = render(
        "tablemend.annotation",
        "card_section.md.j2",
        heading=heading(data),
        report=report,
        table=results_table(report),
        notes=[*alpha_notes(report), note],
    )
    write_text(path, f"{card.rstrip()}\n\n{section}")


def heading(data: Data) -> str:
    """Title of the card's section, one a split; annotators are counted in it, not named."""
    return f"## Human verification{f': {data.split}' if data.split else ''}"
