"""Results on a terminal, in a pipe, and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tablemend.cli.options import Output
from tablemend.results import Detection, Edit, Mended, Piece, Result, Verification
from tablemend.tables.read import write_table
from tablemend.tables.table import Table

SHOWN = 5
"""Unscored claims that are listed where nothing could be scored."""
WRONG, OLD, NEW = "bold red underline", "red strike", "bold green"


def print_json(found: Result, indent: int | None = 2) -> None:
    """A result as JSON, in ASCII where the output is not in UTF-8."""
    is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    print(json.dumps(found.to_dict(), ensure_ascii=not is_utf8, indent=indent))


def report(lines: Mapping[str, str], output: Output) -> None:
    """The totals of a batch; beside JSON they go to stderr."""
    file = sys.stderr if output.as_json else sys.stdout
    for title, text in lines.items():
        print(f"{title:<22}{text}", file=file)


def show(found: Detection | Verification | Mended, output: Output) -> None:
    """A result for a person, or as JSON.

    The text with the wrong words marked: in colour on a terminal, else in ``[[...]]``; then the
    errors, then the score and how much it is of. Of a mended text stdout has the text alone, byte
    for byte, and stderr has the rest.
    """
    if output.as_json:
        print_json(found)
        return
    mends = isinstance(found, Mended)
    if isinstance(found, Mended):
        _print_mended(found)
    console = _console(stderr=mends)
    if not mends and (found.table is not None or found.text.strip()):
        _print_document(found, console)
    lines: list[tuple[str, Sequence[object], str]] = []
    if isinstance(found, Mended):
        lines += [("edit", found.edits, "green"), ("undone", found.undone, "yellow")]
        if not found.edits:
            lines.append(("", ["Nothing was changed."], ""))
    lines.append(("still wrong" if mends else "error", found.errors, "red"))
    if output.verbose or isinstance(found, Detection):
        lines.append(("unscored", found.unscored, "yellow"))
    if output.verbose and isinstance(found, Verification):
        lines[-1] = ("claim", found.claims, "cyan")
    lines.append(("note", found.notes, "yellow"))
    for title, items, style in lines:
        for item in items:
            console.print(Text(f"{title}: ", style) if title else Text(), Text(str(item)), sep="")
    left = found.unscored if found.coverage.of == "claims" and not output.verbose else ()
    for item in () if found.coverage.scored else left[:SHOWN]:
        console.print(Text("unscored: ", "yellow"), Text(str(item)), sep="")
    if not mends and (conclusion := found.conclusion()):
        console.print(conclusion)
    more = Text(" (-v lists all)" if left else "")
    console.print(Text(found.summary(), "bold"), more, sep="")
    if output.verbose:
        console.print(f"scorer: {found.scorer}")
    if found.usage.calls:
        tokens = f"{found.usage.prompt_tokens} tokens in, {found.usage.completion_tokens} out"
        console.print(f"asked: {found.usage.calls} calls, {tokens}")


def _console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _print_document(found: Result, console: Console) -> None:
    colour = console.color_system is not None and not console.no_color
    if found.table is None:
        marked = Text()
        for piece in found.pieces():
            marked.append_text(_piece(piece, colour))
        marked.rstrip()
        console.print(marked)
    elif colour:
        grid = Grid()
        for column in found.table.columns:
            grid.add_column(Text(column))
        for row in found.cells():
            grid.add_row(*(_piece(piece, colour) for piece in row))
        console.print(grid)
    else:
        rows = [[_piece(piece, colour).plain for piece in row] for row in found.cells()]
        print(write_table(Table.of(found.table.columns, rows), "markdown").rstrip("\n"))
    console.print()


def _piece(piece: Piece, colour: bool) -> Text:
    if piece.mark is None:
        return Text(piece.text)
    return Text.assemble((piece.text, WRONG)) if colour else Text(f"[[{piece.text}]]")


def _print_mended(found: Mended) -> None:
    console = _console()
    if console.color_system is None or console.no_color or found.table is not None:
        if not console.is_terminal and isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as the text was read
        sys.stdout.write(found.text)
    else:
        for piece in found.changes():
            if isinstance(piece.mark, Edit):
                console.print(
                    Text(piece.text, OLD), Text(piece.mark.new or "", NEW), sep="", end=""
                )
            else:
                console.print(Text(piece.text), end="")
    sys.stdout.flush()
    if not found.text.endswith("\n"):  # what goes into a file stays as it is, byte for byte
        print(file=sys.stdout if console.is_terminal else sys.stderr, flush=True)
