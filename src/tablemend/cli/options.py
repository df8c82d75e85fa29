"""The options that the commands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from tablemend.errors import TablemendError

if TYPE_CHECKING:
    from tablemend.config.section import BackendOptions
    from tablemend.verifier.verifiers import Extractor, Verifier

Query = Annotated[str | None, typer.Option(metavar="TEXT", help="The answer table's question.")]
QueryFile = Annotated[Path | None, typer.Option(metavar="FILE", help="The question, in a file.")]
Batch = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Many documents, one JSON object a line (see the docs)."),
]
AnswerForm = Annotated[
    Literal["auto", "markdown", "json", "latex", "csv", "html"],
    typer.Option(help="Format of the answer; auto goes by its suffix, else by its content."),
]
MODELS = "Verifying with models"


def expand(command: Callable[..., int]) -> Callable[..., int]:
    """A command for typer, which reads signatures: a parameter that is a dataclass of options
    becomes its fields.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {
        name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)
    }
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        own = signature(groups[name]).parameters if name in groups else {name: parameter}
        types = get_type_hints(groups[name], include_extras=True) if name in groups else hints
        parameters += [
            one.replace(annotation=types[key], kind=Parameter.KEYWORD_ONLY)
            for key, one in own.items()
        ]

    @wraps(command)
    def call(**values: Any) -> int:
        for name, kind in groups.items():
            values[name] = kind(**{one.name: values.pop(one.name) for one in fields(kind)})
        return command(**values)

    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


@dataclass(frozen=True)
class Files:
    """What is verified or mended, and by what."""

    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A text about a table; with --context, an answer table. - is stdin.",
        ),
    ] = None
    tables: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TABLE",
            help="The table that the text is about: .csv, .tsv, .xlsx, .json, .md, .tex, .html,"
            " or -.",
        ),
    ] = None
    context: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The text that the answer was made from.")
    ] = None
    query: Query = None
    query_file: QueryFile = None
    batch: Batch = None
    format: AnswerForm = "auto"


@dataclass(frozen=True)
class Output:
    """Output format, and the conditions for a non-zero exit."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (schema.json).")] = False
    output_format: Annotated[
        Literal["text", "json", "github", "junit", "sarif"],
        typer.Option(help="github: annotations; junit: XML; sarif: 2.1.0 (verify and detect)."),
    ] = "text"
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page.")] = None
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every claim.")] = False
    fail_on: Annotated[
        Literal["error", "unscored"] | None,
        typer.Option(
            help="Exit with 3 where an error is found; or also where something is unscored."
        ),
    ] = None
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 3 where the score is below this.")
    ] = None

    @property
    def form(self) -> Literal["text", "json", "github", "junit", "sarif"]:
        """What is printed.

        Raises:
            TablemendError: ``--json`` beside another format.
        """
        if self.as_json and self.output_format not in ("text", "json"):
            raise TablemendError(f"give either --json or --output-format {self.output_format}")
        return "json" if self.as_json else self.output_format

    @property
    def least_coverage(self) -> float:
        """Share of the claims that must have been checked."""
        return 0.0


@dataclass(frozen=True)
class ClaimOutput(Output):
    """The same of what is scored claim by claim."""

    min_coverage: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Exit with 3 where a smaller share of the claims could be checked; 0.8 beside "
            "--min-score.",
        ),
    ] = None

    @property
    def least_coverage(self) -> float:
        """Of few claims a score is none to pass on."""
        from tablemend.results import ENOUGH

        if self.min_coverage is not None:
            return self.min_coverage
        return 0.0 if self.min_score is None else ENOUGH


@dataclass(frozen=True)
class ModelOptions:
    """The verifier, and the request options of its models."""

    verifier: Annotated[
        str,
        typer.Option(
            rich_help_panel=MODELS,
            help="program, nli:MODEL, llm:MODEL, program-by:MODEL, program+llm:MODEL.",
        ),
    ] = "program"
    extractor: Annotated[
        str,
        typer.Option(rich_help_panel=MODELS, help="What takes a text apart: program, llm:MODEL."),
    ] = "program"
    labels: Annotated[
        str,
        typer.Option(
            metavar="A,B,C", rich_help_panel=MODELS, help="Meaning of an nli model's outputs."
        ),
    ] = ""
    per_request: Annotated[
        Literal["claim", "sentence", "paragraph"] | None,
        typer.Option(
            rich_help_panel=MODELS, help="What a model verifies at once (default sentence)."
        ),
    ] = None
    samples: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=MODELS, help="Programs of program-by:MODEL that vote."),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", rich_help_panel=MODELS, help="Such as concurrency=8."),
    ] = None
    thinking: Annotated[
        Literal["on", "off"] | None,
        typer.Option(rich_help_panel=MODELS, help="Whether a model thinks first."),
    ] = None
    max_new_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=MODELS, help="A model's longest answer, with thinking."
        ),
    ] = None

    @property
    def backend(self) -> BackendOptions:
        """What ``--option`` says.

        Raises:
            TablemendError: an unknown key or a value that it does not take.
        """
        from tablemend.config import ConfigError, parse
        from tablemend.config.section import BackendOptions

        try:
            return parse(BackendOptions, self.option or [])
        except ConfigError as error:
            said = "; ".join(problem.removesuffix(" (command line)") for problem in error.problems)
            raise TablemendError(f"--option {said}") from error

    @property
    def manner(self) -> dict[str, Any]:
        """``--thinking`` and ``--max-new-tokens``, as arguments of what asks a model."""
        thinking = None if self.thinking is None else self.thinking == "on"
        return {"thinking": thinking, "max_new_tokens": self.max_new_tokens}

    def refuse_unread(self, model: str | None, *, answer: bool) -> None:
        """Refuse what would not be read.

        Args:
            model: another model that the command names.
            answer: whether an answer table is verified.

        Raises:
            TablemendError: naming the option.
        """
        from tablemend.verifier.verifiers import PROGRAM, verifier_names

        unread: dict[str, str] = {}
        if model is None and {self.verifier, self.extractor} == {PROGRAM}:
            unread |= dict.fromkeys(("option", "thinking", "max_new_tokens"), "no model is asked")
        kinds = {kind for kind, _ in verifier_names(self.verifier)}
        if "nli" not in kinds:
            unread["labels"] = "they are an nli model's, and none is named"
        if not kinds & {"llm", "program-by"}:
            unread["per_request"] = "no verifier llm:MODEL or program-by:MODEL is named"
        if "program-by" not in kinds:
            unread["samples"] = "no verifier program-by:MODEL is named"
        if answer and self.extractor != PROGRAM:
            unread["extractor"] = "an answer table is not taken apart by a model"
        for name, why in unread.items():
            if getattr(self, name):
                raise TablemendError(f"leave --{name.replace('_', '-')} out: {why}")

    @contextmanager
    def opened(self) -> Iterator[tuple[Verifier, Extractor]]:
        """The verifier and the extractor, closed at the end."""
        from tablemend.verifier.staf import open_extractor, open_verifier

        backend, manner = self.backend, self.manner
        labels = [one.strip() for one in self.labels.split(",") if one.strip()]
        asking: dict[str, Any] = {"per_request": self.per_request or "sentence"}
        asking |= {"samples": self.samples or 1, **manner}
        opened = open_verifier(self.verifier, backend, labels=labels, **asking)
        with (
            closing(opened) as verifier,
            closing(open_extractor(self.extractor, backend, **manner)) as extractor,
        ):
            yield verifier, extractor
