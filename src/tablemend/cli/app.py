"""The commands of ``tablemend``; what each needs is loaded only when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.exceptions import TyperException

from tablemend import __version__
from tablemend.annotation.command import app as annotate
from tablemend.cli.options import (
    AnswerForm,
    Batch,
    ClaimOutput,
    Files,
    ModelOptions,
    Output,
    Query,
    QueryFile,
    expand,
)
from tablemend.errors import TablemendError
from tablemend.script import SCRIPTS, as_commands, run_script
from tablemend.shipped import shipped


@expand
def detect(
    answer: Annotated[
        Path | None,
        typer.Argument(metavar="ANSWER", help="The raw answer, prose and code fences included."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Argument(metavar="GOLD", help="The table that it should be.")
    ] = None,
    context: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The text that the model was shown.")
    ] = None,
    query: Query = None,
    query_file: QueryFile = None,
    batch: Batch = None,
    format: AnswerForm = "auto",
    similarity: Annotated[
        str, typer.Option(metavar="NAME", help="lexical, or a sentence-transformers model.")
    ] = "lexical",
    *,
    output: Output,
) -> int:
    """Score an answer table by its gold table: what was made up, left out, out of order."""
    from tablemend.api import detection
    from tablemend.cli import inputs, running
    from tablemend.detector.similarity import load_similarity
    from tablemend.tables.read import answer_format

    _ = output.form  # refuses two formats before anything is read
    if batch is not None:
        inputs.refuse_beside_batch(answer, gold, context, query, query_file, output.html)
        return running.detect_batch(batch, format, similarity, output)
    if answer is None or gold is None:
        raise TablemendError("give ANSWER and GOLD, two files, or --batch")
    inputs.refuse_twice(answer, gold, context)
    table = inputs.table_of(gold)
    prose = None if context is None else inputs.text_of(context)
    found = detection(
        inputs.text_of(answer),
        table,
        prose,
        inputs.read_query(query, query_file),
        load_similarity(similarity),
        answer_format(answer, format),
        str(answer),
    )
    if found.unscored and not found.coverage.scored:
        raise TablemendError(f"{gold}: {found.unscored[0].reason}; no answer can be scored by it")
    why = "".join(f"{answer}: {note}; counted as a format error" for note in found.notes)
    return running.finish(found, output, why)


@expand
def verify(given: Files, output: ClaimOutput, asking: ModelOptions) -> int:
    """Score every claim of a text by its table, or an answer table by its context: STAF."""
    from tablemend.cli import running

    return running.verify(given, asking, output)


@expand
def mend(
    given: Files,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="What rewrites (CAVE), such as openai:MODEL@URL."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="repair: by program; cave: a model rewrites (default with --model)."),
    ] = None,
    *,
    output: ClaimOutput,
    asking: ModelOptions,
) -> int:
    """Mend a text by its table, or an answer table by its context; lists every edit."""
    from tablemend.cli import running

    return running.mend(given, asking, method, model, output)


@expand
def audit(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS...",
            help=".jsonl, .json, .csv, .parquet or .eval; a path or a URL.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Default: runs/audit-NAME.")
    ] = None,
    fields: Annotated[
        str,
        typer.Option(metavar="A=PATH,...", help="Such as answer=output.text,table=in.table."),
    ] = "",
    verifier: Annotated[
        str, typer.Option(help="program, nli:MODEL, llm:MODEL, program+llm:MODEL.")
    ] = "program",
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier audit.json: exit with 3 where it is worse."),
    ] = None,
    scores: Annotated[
        str | None, typer.Option(metavar="FILE", help="Each answer's score: .jsonl or .parquet.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: cores).")] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="ray: on the nodes of a Ray cluster.")
    ] = "local",
    as_json: Annotated[bool, typer.Option("--json", help="Print audit.json.")] = False,
) -> int:
    """Score a log of answers: how many have errors, of what type, and where they concentrate."""
    from tablemend.audit.command import run_audit

    how = {"verifier": verifier, "baseline": baseline, "scores": scores, "engine": engine}
    return run_audit(inputs, out, fields, workers, as_json, **how)


EXAMPLES = {
    "verify": (
        "tablemend verify summary.txt table.csv",
        "tablemend verify - report.xlsx --fail-on error < summary.txt",
        "tablemend verify answer.md --context article.txt --query 'List ...'",
    ),
    "mend": (
        "tablemend mend summary.txt table.csv > mended.txt",
        "tablemend mend summary.txt table.csv --model openai:MODEL@http://localhost:8000/v1",
        "tablemend mend answer.md --context article.txt --query 'List ...'",
    ),
    "detect": (
        "tablemend detect answer.md gold.csv",
        "tablemend detect answer.md gold.csv --context article.txt --query 'Show ... by year'",
    ),
    "audit": (
        "tablemend audit answers.jsonl",
        "tablemend audit traces.json --fields answer=output.text,table=input.table",
        "tablemend audit today.parquet --baseline runs/audit-yesterday/audit.json",
    ),
}
GROUPS = {
    "train": "Fine-tune a model; --help of each lists its keys.",
    "data": "Make data sets; --help of each lists its keys.",
    "logic": "Annotate what kind of divergence it is; --help of each lists its keys.",
}
OWN = "Train and compare your own models"
AS_GIVEN = {"allow_extra_args": True, "ignore_unknown_options": True}


def _epilog(examples: Sequence[str]) -> str:
    return "\n\n".join(["Examples:", *examples])


app = typer.Typer(
    help="Find and mend what language models make up when a table is on either side.",
    epilog=_epilog([one for examples in EXAMPLES.values() for one in examples[:1]]),
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)
for command in (verify, mend, detect, audit):
    app.command(epilog=_epilog(EXAMPLES[command.__name__]))(command)
app.add_typer(
    annotate,
    name="annotate",
    help="Pages for annotators, and the report of their answers.",
    rich_help_panel=OWN,
)


def _add_script(group: typer.Typer, command: str, script: str) -> None:
    """A command whose arguments a script reads; the first line of the script says what it does."""
    path = shipped(script)
    with path.open(encoding="utf-8") as file:
        summary = file.readline().strip().strip('"')

    @group.command(
        command.rpartition(" ")[2],
        help=as_commands(summary),
        rich_help_panel=None if " " in command else OWN,
        add_help_option=False,
        context_settings=AS_GIVEN,
    )
    def run(context: typer.Context) -> None:
        sys.argv = [context.command_path, *context.args]  # runpy would put the path there
        code = compile(path.read_text(encoding="utf-8"), path, "exec", dont_inherit=True)
        exec(code, {"__name__": "__main__", "__file__": str(path)})


groups = {name: typer.Typer(help=summary) for name, summary in GROUPS.items()}
for script, name in SCRIPTS.items():
    _add_script(groups.get(name.partition(" ")[0], app), name, script)
for name, group in groups.items():
    app.add_typer(group, name=name, rich_help_panel=OWN)


@app.command(rich_help_panel=OWN)
def where(
    name: Annotated[str, typer.Argument(help="Such as recipes or accelerate_configs/cpu.yaml.")],
) -> None:
    """Print the path of a file or folder that comes along: recipes, accelerate_configs."""
    if not shipped(name).exists():
        raise TablemendError(f"nothing called {name!r} comes along with tablemend")
    print(shipped(name))


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tablemend {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``tablemend``: the exit status, 2 for input that is refused."""
    tokens = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]

    def run() -> None:
        try:
            status = typer.main.get_command(app).main(
                tokens, prog_name="tablemend", standalone_mode=False
            )
        except TyperException as error:  # an option or argument that is none
            raise TablemendError(" ".join(error.format_message().split())) from error
        except typer.Abort as error:
            raise KeyboardInterrupt from error
        raise SystemExit(status or 0)

    try:
        run_script(run)
    except SystemExit as left:
        return int(left.code or 0)
    return 0
