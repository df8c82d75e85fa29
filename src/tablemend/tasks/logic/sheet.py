"""Pairs as a CSV sheet for people who annotate them, and their answers as annotations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tablemend.config.section import RunFolder
from tablemend.datasets.logic.pair import Annotation, Pair
from tablemend.errors import TablemendError
from tablemend.prompting.replies import Unreadable
from tablemend.records import RELATIONS
from tablemend.runs import read_jsonl, write_jsonl, write_text
from tablemend.tables.csvtable import write_csv
from tablemend.tables.read import load_table
from tablemend.tables.table import Table
from tablemend.tasks.logic import protocol
from tablemend.tasks.logic.annotating import ANNOTATIONS, PAIRS
from tablemend.tasks.logic.command import MAKES, PairsCommand
from tablemend.tasks.logic.tree import AMBIGUOUS, RELATION_WORDS, follow, leaves, path_to
from tablemend.tasks.sources import read_records

SHEET, GUIDELINES = "pairs.csv", "guidelines.md"
ASKED = ("relation", "ambiguities", *protocol.MARKS, "slider", "comment")
"""Columns that an annotator fills; all but the relation may stay empty."""


class SheetCommand(PairsCommand):
    """A sheet for people who annotate pairs, and the import of what they fill in."""

    answers: Annotated[str, Field(min_length=1)] | None = None
    """Read these filled sheets instead, such as `answers='handed-in/*.csv'`; the name of a file
    is its annotator's."""
    run: RunFolder = "people"
    """Run folder: a name below runs/, or a path where it contains a slash."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A pattern that no file fits."""
        if self.answers is not None and not self.files:
            yield "answers", f"no file {self.answers}"

    @property
    def files(self) -> list[Path]:
        """The filled sheets, in the order of their names."""
        pattern = Path(self.answers or "")
        return sorted(pattern.parent.glob(pattern.name)) if self.answers else []


def write_sheet(command: SheetCommand) -> Iterator[str]:
    """Write pairs.csv, guidelines.md and pairs.jsonl without labels shown; lines for a person.

    Raises:
        TablemendError: no pairs, or a run folder that has a sheet.
    """
    sheet = command.folder / SHEET
    if sheet.exists():
        raise TablemendError(f"{sheet} exists, and may be with people: give another run=")
    read = read_records(command.source, Pair.from_json, MAKES)
    pairs = list({one.id: one for one in read}.values())[: command.n]
    rows = [[one.id, _text(one.input), _text(one.output), *[""] * len(ASKED)] for one in pairs]
    command.folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(command.folder / PAIRS, [one.to_json() for one in pairs])
    write_text(sheet, "\ufeff" + write_csv(Table.of(["pair", "input", "output", *ASKED], rows)))
    parts = []
    for domain in dict.fromkeys(one.domain for one in pairs):
        names = [f"- {one}: {RELATION_WORDS[one][1]}" for one in leaves(domain)]
        parts += [f"# {domain}", protocol.opening(domain)[0]["content"].strip(), "\n".join(names)]
    write_text(command.folder / GUIDELINES, "\n\n".join(parts) + "\n")
    yield f"{sheet}: {len(pairs)} pairs; each annotator fills a copy that bears the own name"


def read_answers(command: SheetCommand) -> Iterator[str]:
    """Write annotations.jsonl of all filled sheets; lines for a person.

    Raises:
        TablemendError: no sheet was written, or a file that is no filled copy of it; one line with
            file, row and column.
    """
    if not (command.folder / PAIRS).exists():
        raise TablemendError(f"{command.folder} has no sheet: give the run= that it is of")
    pairs = {one.id: one for one in map(Pair.from_json, read_jsonl(command.folder / PAIRS))}
    found: list[Annotation] = []
    for path in command.files:
        own = list(_read_sheet(path, pairs, command.added))
        found += own
        yield f"{path.stem}: {len(own)} of {len(pairs)} pairs"
    write_jsonl(command.folder / ANNOTATIONS, [one.to_json() for one in found])
    yield f"{command.folder / ANNOTATIONS}: {len(found)} annotations of {len(command.files)} sheets"


def _text(text: str) -> str:
    """A cell that no spreadsheet calculates."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _read_sheet(path: Path, pairs: dict[str, Pair], added: bool) -> Iterator[Annotation]:
    table = load_table(path)
    names = [(name or "").strip() for name in table.columns]
    if missing := [name for name in ("pair", "relation") if name not in names]:
        raise TablemendError(f"{path}: no column {missing[0]}: fill in a copy of {SHEET}")
    seen = set[str]()
    for number, cells in enumerate(table.rows, 2):
        row = {name: (cell or "").strip() for name, cell in zip(names, cells, strict=True)}
        where = f"{path}, row {number}"
        pair = pairs.get(row["pair"])
        if pair is None or pair.id in seen:
            why = "is no pair of this run" if pair is None else "stands there twice"
            raise TablemendError(f"{where}: {row['pair'] or 'an empty cell'} {why}")
        seen.add(pair.id)
        if row["relation"]:
            yield _annotation(path.stem, where, pair, row, added)


def _annotation(name: str, where: str, pair: Pair, row: dict[str, str], added: bool) -> Annotation:
    said = row["relation"].casefold().replace(" ", "_")
    relation = next((one for one in RELATIONS if one == said), None)
    values: dict[str, Any] = {}
    try:
        if kinds := row.get("ambiguities"):
            values["ambiguities"] = protocol.read_kinds(kinds)
        if slider := row.get("slider"):
            values["slider"] = protocol.read_slider(slider)
        for mark in protocol.MARKS:
            if quotes := row.get(mark):
                values[mark] = protocol.read_quotes(protocol.side(pair, mark), quotes)
    except Unreadable as error:
        raise TablemendError(f"{where}: {error.problem.text}") from error
    told = {AMBIGUOUS: "ambiguities" in values}
    if relation:
        told |= path_to(pair.domain, relation)
    path, leaf = follow(pair.domain, told, added)
    if relation is None or leaf != relation:
        known = ", ".join(leaves(pair.domain))
        raise TablemendError(f"{where}: no relation {row['relation']!r}: write one of {known}")
    return Annotation(name, pair.id, path, relation, **values, comment=row.get("comment", ""))
