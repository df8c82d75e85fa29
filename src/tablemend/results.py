"""What ``tablemend.detect``, ``verify`` and ``mend`` give back: frozen, typed, and one JSON.

Rows count from 0, the first below the header; places in texts are characters, half-open. The JSON
schema of all three is ``schema.json`` beside this file (:func:`schema`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from tablemend.records import NOTHING, Usage, VerdictName
from tablemend.records.edits import LONGEST, WHOLE, Place, Record, Span, quoted
from tablemend.records.edits import Edit as Edit
from tablemend.values.text import on_one_line

Kind = Literal["detect", "verify", "mend"]
ENOUGH = 0.8
"""Share of the claims from which on "nothing wrong was found" is said of a text."""


class Evidence(Record):
    """What decided: a cell, a sentence of the context, or what was computed."""

    text: str
    """For a person: `Row "x", Column "y": 5`, a sentence, "highest Points: 41, of x"."""
    table: int | None = None
    """Number of the source's table, from 0, where it is a cell."""
    row: int | None = None
    """Index of the cell's row, from 0: the first below the header."""
    column: str | None = None
    """Name of the cell's column."""
    value: str | None = None
    """What the cell holds; null where it is empty."""


class Error(Place):
    """One thing that is wrong."""

    type: str
    """NUM, REL, CMP, TMP, ATT (TabFaith) of claims; format_error, out_of_range, order_mismatch,
    attribute, blank_filling, entity_fabrication (TableHallu) of an answer beside its gold table."""
    name: str
    """The type in words."""
    word: str
    """The words at fault, as they stand in the text or the cell; of a row that should not be there,
    its cells; empty for a table as a whole."""
    claim: str
    """The claim that is wrong, in the words of the text; of a table, what was found."""
    expected: tuple[str, ...] = ()
    """What the source has instead, one for each reading; empty where it has nothing."""
    reason: str = ""
    """Why, in one line."""
    evidence: tuple[Evidence, ...] = ()
    """What decided it."""

    @property
    def got(self) -> str:
        """What stands there: :attr:`word`."""
        return self.word

    def __str__(self) -> str:
        """One line for a person."""
        said = quoted(self.word) if self.word or self.expected else ""
        if self.expected:
            said += f", expected {' or '.join(map(quoted, self.expected))}"
        parts = (self.name, "" if self.where == WHOLE else self.where, said, self.reason)
        return on_one_line(": ".join(filter(None, parts)), LONGEST)


class Claim(Place):
    """One claim of a text, or one cell or row of an answer table, and its verdict."""

    text: str
    """Its words."""
    kind: str
    """numeric, relational, comparative, temporal, attribute; presence for a row."""
    statement: str
    """The claim in words that can be read alone."""
    verdict: VerdictName
    """`unscored` is neither right nor wrong."""
    type: str | None = None
    """The error's type, where it is wrong."""
    reason: str = ""
    """Why, in one line."""
    evidence: tuple[Evidence, ...] = ()
    """What decided it, or what was looked at."""

    def __str__(self) -> str:
        """One line for a person."""
        said = f"{self.verdict.replace('_', ' ')}: {self.where}: {self.text}"
        return on_one_line(f"{said} ({self.reason})" if self.reason else said, LONGEST)


class Unscored(Place):
    """What could not be scored; it counts neither as right nor as wrong."""

    text: str
    """The claim, or the error type that could not be looked for."""
    reason: str
    """Why."""

    def __str__(self) -> str:
        """One line for a person."""
        where = "" if self.where == WHOLE else f"{self.where}: "
        return on_one_line(f"{where}{self.text}: {self.reason}", LONGEST)


class Coverage(Record):
    """How much of it was scored at all."""

    scored: int
    """How many have a verdict."""
    total: int
    """Of how many."""
    of: Literal["claims", "error types"]
    """What is counted."""

    @property
    def share(self) -> float:
        """How much of it was scored, 0 to 1; 0 of nothing."""
        return self.scored / self.total if self.total else 0.0

    def __str__(self) -> str:
        return f"{self.scored} of {self.total} {self.of} checked"


class TableContent(Record):
    """An answer table, as it was read."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


class Piece(NamedTuple):
    """A part of a text, or a cell, and what is wrong with it or was changed."""

    text: str
    mark: Error | Edit | None = None


class Result(Record):
    """What all three results have."""

    schema_version: Literal[1] = 1
    """Rises where a reader of the JSON would have to change."""
    kind: Kind
    """Which function or command made it."""
    name: str = ""
    """The file, or the line of a batch."""
    text: str
    """The text or the raw answer that the spans are of; of `mend`, as it is now."""
    table: TableContent | None = None
    """The table of an answer, as it was read from `text`."""
    score: float | None
    """0 to 1; null where nothing could be scored. STAF of `verify` and `mend`, the share of
    supported claims among those scored; of `detect` the cell recall, the share of the gold table's
    filled cells that the answer states, beside which `errors` say what it made up."""
    score_name: Literal["STAF", "cell recall"] = "STAF"
    """What the score is."""
    coverage: Coverage
    """How much could be scored."""
    errors: tuple[Error, ...] = ()
    """What is wrong; of `mend`, what still is."""
    unscored: tuple[Unscored, ...] = ()
    """What could not be scored, with the reasons."""
    notes: tuple[str, ...] = ()
    """What a reader must know beside."""
    scorer: str = ""
    """What scored it, with its version."""
    usage: Usage = NOTHING
    """What models were asked."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-serialisable dict, as ``--json`` prints it; ``schema.json`` describes it."""
        return self.model_dump(mode="json")

    def pieces(self) -> list[Piece]:
        """The text, cut at the words that are wrong; all of it in order."""
        return _cut(self.text, [(one.span, one) for one in self.errors if one.span is not None])

    def cells(self) -> list[list[Piece]]:
        """The rows of the answer table, each cell with what is wrong with it or with its row."""
        return _cells(self.table, self.errors)

    def summary(self) -> str:
        """One line: the score beside how much it is of."""
        score = "none" if self.score is None else f"{self.score:.2f}"
        return f"{self.score_name} {score}, {self.coverage}"

    def conclusion(self) -> str:
        """What follows where nothing wrong was found: how far that can be relied on."""
        if self.errors or not self.coverage.total:
            return ""
        if self.coverage.of == "claims" and self.coverage.share < ENOUGH:
            left = self.coverage.total - self.coverage.scored
            return f"{left} of {self.coverage.total} claims could not be checked."
        return "Nothing wrong was found." if self.coverage.scored else ""

    def __str__(self) -> str:
        """The errors, one a line, or :meth:`conclusion`; then :meth:`summary`."""
        lines = [*map(str, self.errors), self.conclusion(), self.summary()]
        return "\n".join(filter(None, lines))

    def to_html(self) -> str:
        """A whole page that loads nothing, as ``--html`` writes it."""
        return self._render("page.html.j2")

    def _repr_html_(self) -> str:
        return self._render("result.html.j2")

    def _render(self, template: str) -> str:
        from tablemend.reports.rendering import render  # jinja2

        return render("tablemend", template, result=self)


class Detection(Result):
    """An answer table beside its gold table (TableHallu, Algorithm 1)."""

    kind: Literal["detect"] = "detect"
    score_name: Literal["cell recall"] = "cell recall"
    row_recall: float | None = None
    """Share of the gold table's rows that the answer has."""
    counts: dict[str, int]
    """Errors of each of the six types."""
    abstained: bool = False
    """The answer is an empty table."""


class Verification(Result):
    """A text or an answer table, claim by claim (TabFaith, section 4)."""

    kind: Literal["verify"] = "verify"
    score_name: Literal["STAF"] = "STAF"
    claims: tuple[Claim, ...] = ()
    """All of them, in the order of the text or the rows."""


class Mended(Result):
    """A text or an answer table after repair or CAVE."""

    kind: Literal["mend"] = "mend"
    score_name: Literal["STAF"] = "STAF"
    original: str
    """The text or answer before."""
    original_table: TableContent | None = None
    """The table of an answer before."""
    score_before: float | None = None
    """The score before."""
    edits: tuple[Edit, ...] = ()
    """What was changed, in the order of the text or the rows."""
    undone: tuple[Edit, ...] = ()
    """Changes that were tried and taken back."""

    def changes(self) -> list[Piece]:
        """The original, cut at the words that were changed; all of it in order."""
        return _cut(self.original, [(one.span, one) for one in self.edits if one.span is not None])

    def cells(self) -> list[list[Piece]]:
        """The rows of the original answer table, each cell with its change or that of its row.

        Other edits, of the order or of columns, are in :attr:`edits` alone. Where the original held
        no table these are the rows of the new one.
        """
        if self.original_table is None:
            return super().cells()
        return _cells(self.original_table, self.edits)

    def summary(self) -> str:
        """One line: the score after and before, and how much it is of."""
        before = "none" if self.score_before is None else f"{self.score_before:.2f}"
        edits = f"{len(self.edits)} edit" + "s" * (len(self.edits) != 1)
        return f"{super().summary()}; {edits}, STAF before {before}"


def _cells(table: TableContent | None, marked: Sequence[Error | Edit]) -> list[list[Piece]]:
    """The cells of a table, each with the first mark of its own or of its row."""
    if table is None:
        return []
    marks = {(one.row, one.column): one for one in reversed(marked)}
    return [
        [
            Piece(cell or "", marks.get((number, column)) or marks.get((number, None)))
            for column, cell in zip(table.columns, row, strict=True)
        ]
        for number, row in enumerate(table.rows)
    ]


def _cut(text: str, marks: list[tuple[Span, Any]]) -> list[Piece]:
    """A text cut at places; of two that overlap the first is cut out."""

    def cut() -> Iterator[Piece]:
        position = 0
        for (start, end), mark in sorted(marks, key=lambda one: one[0]):
            if start >= position:
                yield Piece(text[position:start])
                yield Piece(text[start:end], mark)
                position = end
        yield Piece(text[position:])

    return [piece for piece in cut() if piece.text]


AnyResult = Annotated[Detection | Verification | Mended, Field(discriminator="kind")]


@cache
def _adapter() -> TypeAdapter[Detection | Verification | Mended]:
    return TypeAdapter(AnyResult)


def schema() -> dict[str, Any]:
    """The JSON schema of what ``tablemend detect|verify|mend --json`` print."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A result of tablemend",
        **_adapter().json_schema(mode="serialization"),
    }


def read_result(data: dict[str, Any]) -> Detection | Verification | Mended:
    """A result again, from :meth:`Result.to_dict`."""
    return _adapter().validate_python(data)
