"""``tablemend annotate``: pages for annotators, and the report of what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from tablemend.errors import TablemendError
from tablemend.foreign import read_whole

app = typer.Typer()
Source = Annotated[
    str, typer.Argument(help="A folder, a .jsonl or .parquet file, or hub:owner/name.")
]
Split = Annotated[
    Literal["train", "validation", "test"] | None,
    typer.Option(help="Split of a folder or of a Hub data set; test where it is left out."),
]
Revision = Annotated[str | None, typer.Option(help="Commit of a Hub data set.")]


@app.command()
def export(
    data: Source,
    out: Annotated[Path, typer.Option(help="New file to write.")],
    n: Annotated[int, typer.Option(help="Examples in the sample.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    skip: Annotated[
        int,
        typer.Option(
            help="Leave out the first of the seed's order: after a pilot with --n 50, --skip 50."
        ),
    ] = 0,
    no_marks: Annotated[
        bool,
        typer.Option(
            "--no-marks", help="A page that cannot mark where the generator says that facts stand."
        ),
    ] = False,
    split: Split = None,
    revision: Revision = None,
) -> None:
    """Write a sample of a data set as one page for annotators."""
    from tablemend.annotation.page import choose, read_data, write_page
    from tablemend.runs import write_text

    if out.is_symlink() or out.exists():
        raise TablemendError(f"{out} exists: it may hold answers, name a new file")
    read = read_data(data, split, revision)
    chosen = choose(read, n, seed, skip)
    write_text(out, write_page(read, chosen, not no_marks))
    print(f"{out}: {len(chosen)} of {len(read.examples)} examples, data set {read.hash}")


@app.command()
def report(
    data: Source,
    answers: Annotated[list[Path], typer.Argument(help="Answer files, of any annotators.")],
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Also write the report as JSON.")
    ] = None,
    mark: Annotated[
        Path | None, typer.Option(help="New folder: the data set with the verdicts.")
    ] = None,
    drop: Annotated[
        Path | None, typer.Option(help="New folder: the data set without what failed.")
    ] = None,
    split: Split = None,
    revision: Revision = None,
) -> None:
    """Report accuracy and agreement from annotators' answers; mark or drop what failed."""
    from tablemend.annotation.outcome import check_out, write_verified
    from tablemend.annotation.page import read_data
    from tablemend.annotation.report import REPORT, describe, gather, make_report, read_answers
    from tablemend.runs import write_json

    if mark is not None and drop is not None:
        raise TablemendError("give either --mark or --drop")
    for out in (mark, drop):
        if out is not None:
            check_out(out, data)
    if json_out is not None and json_out.exists():  # a report may be written again, nothing else
        try:
            old = json.loads(read_whole(json_out))
        except (OSError, ValueError, RecursionError):
            old = None
        if not isinstance(old, dict) or old.get("format") != REPORT:
            raise TablemendError(f"{json_out} exists and is no report of ours: name another --json")
    files = [read_answers(path) for path in answers]
    read = read_data(data, split, revision)
    found = make_report(gather(files, read), read)
    print(describe(found))
    if json_out is not None:
        write_json(json_out, found)
    if mark is not None:
        write_verified(mark, read, found, drop=False)
        print(f"\n{mark}: the data set with the verdicts in verification.jsonl")
    if drop is not None:
        dropped = write_verified(drop, read, found, drop=True)
        print(f"\n{drop}: {len(read.examples) - dropped} examples, {dropped} dropped")
