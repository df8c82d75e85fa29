"""The options that the commands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from tablemend.errors import TablemendError

if TYPE_CHECKING:
    from tablemend.config.section import BackendOptions
    from tablemend.verifier.verifiers import Extractor, Verifier

FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE", help="A text about a table; with --context, an answer table. - is stdin."
    ),
]
Tables = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="TABLE",
        help="The table that the text is about: .csv, .tsv, .xlsx, .json, .md, .tex, .html, or -.",
    ),
]
Context = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The text that the answer was made from.")
]
Query = Annotated[str | None, typer.Option(metavar="TEXT", help="The answer table's question.")]
QueryFile = Annotated[Path | None, typer.Option(metavar="FILE", help="The question, in a file.")]
AnswerForm = Annotated[
    Literal["auto", "markdown", "json", "latex", "csv", "html"],
    typer.Option(help="Format of the answer; auto goes by its suffix, else by its content."),
]
Batch = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Many documents, one JSON object a line (see the docs)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON (schema.json).")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="List every claim.")]
FailOn = Annotated[
    Literal["error", "unscored"] | None,
    typer.Option(help="Exit with 3 where an error is found; or also where something is unscored."),
]
MinScore = Annotated[
    float | None, typer.Option(min=0, max=1, help="Exit with 3 where the score is below this.")
]
MinCoverage = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Exit with 3 where a smaller share of the claims could be checked; 0.8 beside "
        "--min-score.",
    ),
]
MODELS = "Verifying with models"
VerifierName = Annotated[
    str,
    typer.Option(
        "--verifier",
        rich_help_panel=MODELS,
        help="program, nli:MODEL, llm:MODEL, program+llm:MODEL.",
    ),
]
ExtractorName = Annotated[
    str,
    typer.Option(
        "--extractor", rich_help_panel=MODELS, help="What takes a text apart: program, llm:MODEL."
    ),
]
Labels = Annotated[
    str,
    typer.Option(
        metavar="A,B,C", rich_help_panel=MODELS, help="Meaning of an nli model's outputs."
    ),
]
BackendOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="KEY=VALUE", rich_help_panel=MODELS, help="Such as concurrency=8."
    ),
]
ThinkingOption = Annotated[
    Literal["on", "off"] | None,
    typer.Option("--thinking", rich_help_panel=MODELS, help="Whether a model thinks first."),
]
MaxNewTokens = Annotated[
    int | None,
    typer.Option(min=1, rich_help_panel=MODELS, help="A model's longest answer, with thinking."),
]


class Output(NamedTuple):
    """Output format, and the conditions for a non-zero exit."""

    as_json: bool
    html: Path | None
    verbose: bool
    fail_on: str | None
    min_score: float | None
    min_coverage: float | None = None


class ModelOptions(NamedTuple):
    """The verifier, and the request options of its models."""

    verifier: str
    extractor: str
    labels: str
    option: list[str]
    thinking: str | None
    max_new_tokens: int | None

    @property
    def backend(self) -> BackendOptions:
        """What ``--option`` says.

        Raises:
            TablemendError: an unknown key or a value that it does not take.
        """
        from tablemend.config import ConfigError, parse
        from tablemend.config.section import BackendOptions

        try:
            return parse(BackendOptions, self.option)
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
        if all(kind != "nli" for kind, _ in verifier_names(self.verifier)):
            unread["labels"] = "they are an nli model's, and none is named"
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
        with (
            closing(open_verifier(self.verifier, backend, labels=labels, **manner)) as verifier,
            closing(open_extractor(self.extractor, backend, **manner)) as extractor,
        ):
            yield verifier, extractor
