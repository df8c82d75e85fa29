"""Reading annotators' files and checking them against the data set."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablemend.annotation.page import ANSWERS
from tablemend.annotation.sample import Data
from tablemend.annotation.sheet import COLUMNS, ID_SIGN, unguard
from tablemend.annotation.steps import CHOICES, STEPS, VERSION, Choice, Step
from tablemend.errors import TablemendError

WORDS: dict[str, Choice | None] = {
    **{choice: choice for choice in CHOICES},
    **{choice[0]: choice for choice in CHOICES},
    "": None,
}
"""What may stand in the answer column of a sheet, in any case."""


class Vote(NamedTuple):
    """One annotator's answer to one question; ``None`` where it was left open."""

    annotator: str
    example: str
    step: Step
    choice: Choice | None
    note: str
    where: str


class AnswerFile(NamedTuple):
    """What one file says; ``data`` is the hash of the data set that it is about."""

    path: Path
    data: str
    votes: list[Vote]


Ballots = dict[str, dict[Step, dict[str, Vote]]]
"""Example -> step -> annotator -> vote, for every question that was put to anyone."""


class _Given(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    example: str
    step: Step
    answer: Choice | None
    note: str


class _File(BaseModel):
    """The JSON that the page writes."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    format: Literal["tablemend-annotation"]
    version: Literal[1]
    data: str
    source: str
    split: str | None
    annotator: str = Field(pattern=r"\S")
    answers: list[_Given]


assert get_args(_File.model_fields["format"].annotation) == (ANSWERS,)
assert get_args(_File.model_fields["version"].annotation) == (VERSION,)


def read_answers(path: Path) -> AnswerFile:
    """Read the JSON or CSV file of an annotator, or of several.

    Raises:
        TablemendError: it cannot be read, or something in it is not what is wanted; the message
            names the file and the place.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TablemendError(f"cannot read the answers {path}: {reason}") from error
    if path.suffix.lower() == ".json":
        return _read_json(path, content)
    if path.suffix.lower() == ".csv":
        return _read_csv(path, content)
    raise TablemendError(f"{path}: answers are read from .json or .csv files")


def _read_json(path: Path, content: bytes) -> AnswerFile:
    try:
        file = _File.model_validate_json(content.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise TablemendError(
            f"{path}{f', {place}' if place else ''}: {first['msg']}; wanted is a file that the "
            "page of `tablemend annotate export` wrote"
        ) from error
    votes = [
        Vote(
            same_name(file.annotator),
            given.example,
            given.step,
            given.answer,
            given.note.strip(),
            f"{path}, answers.{number}",
        )
        for number, given in enumerate(file.answers)
    ]
    return AnswerFile(path, file.data, votes)


def _read_csv(path: Path, content: bytes) -> AnswerFile:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TablemendError(
            f"{path} is not UTF-8: save the sheet as 'CSV UTF-8' ({error.reason})"
        ) from error
    rows = list(_rows(path, text))
    hashes = {row["data"].removeprefix(ID_SIGN) for row, _ in rows}
    if len(hashes) != 1:
        raise TablemendError(
            f"{path}: the column data must be the same in all rows and holds {len(hashes)} values"
        )
    votes = [_vote(row, where, _annotator(path, rows)) for row, where in rows]
    return AnswerFile(path, hashes.pop(), votes)


def _rows(path: Path, text: str) -> Iterator[tuple[dict[str, str], str]]:
    """Rows by column name with their place; commas, semicolons or tabs, by the header."""
    head = text.split("\n", 1)[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    names: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{path}, line {reader.line_num}"
            if names is None:
                names = [cell.strip().lower() for cell in cells]
                missing = [name for name in COLUMNS if names.count(name) != 1]
                if missing:
                    raise TablemendError(f"{path}: needs one column {missing[0]!r}")
                continue
            if len(cells) != len(names):
                raise TablemendError(f"{where}: {len(cells)} cells under {len(names)} columns")
            yield {name: unguard(c).strip() for name, c in zip(names, cells, strict=True)}, where
    except csv.Error as error:
        raise TablemendError(f"{path}, line {reader.line_num}: {error}") from error
    if names is None:
        raise TablemendError(f"{path} is empty")


def _annotator(path: Path, rows: Iterable[tuple[dict[str, str], str]]) -> str:
    """Whose rows without a name are: the only name's in the sheet, else the file's."""
    names = {same_name(row["annotator"]) for row, _ in rows} - {""}
    if len(names) > 1:
        return ""
    return names.pop() if names else same_name(path.stem)


def _vote(row: dict[str, str], where: str, default: str) -> Vote:
    annotator = same_name(row["annotator"]) or default
    if not annotator:
        raise TablemendError(
            f"{where}: no annotator, and the sheet has several: fill the column in every row"
        )
    step = next((step for step in STEPS if step == row["step"].lower()), None)
    if step is None:
        raise TablemendError(f"{where}: step {row['step']!r} is none of {', '.join(STEPS)}")
    if row["answer"].lower() not in WORDS:
        raise TablemendError(
            f"{where}: answer {row['answer']!r} is none of {', '.join(CHOICES)}, and not empty"
        )
    example = row["example"].removeprefix(ID_SIGN)
    return Vote(annotator, example, step, WORDS[row["answer"].lower()], row["note"], where)


def same_name(name: str) -> str:
    """A name by which the same person is known again: case and spacing do not matter."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def gather(files: Iterable[AnswerFile], data: Data) -> Ballots:
    """All votes on a data set. An answer beats a question left open by the same annotator.

    Raises:
        TablemendError: a file is about another data set or names an unknown example, an
            annotator gave two answers to one question, or nobody answered anything.
    """
    ballots: Ballots = {}
    for file in files:
        if file.data != data.hash:
            place = f"{data.source}{f', split {data.split}' if data.split else ''}"
            raise TablemendError(
                f"{file.path} is about the data set {file.data}, {place} is {data.hash}: give the "
                "data set and --split that were exported, unchanged"
            )
        for vote in file.votes:
            if vote.example not in data.examples:
                raise TablemendError(f"{vote.where}: {data.source} has no example {vote.example!r}")
            voters = ballots.setdefault(vote.example, {}).setdefault(vote.step, {})
            voters[vote.annotator] = _join(voters.get(vote.annotator), vote)
    if not any(
        vote.choice
        for steps in ballots.values()
        for voters in steps.values()
        for vote in voters.values()
    ):
        raise TablemendError("the answer files hold no answer yet")
    return ballots


def _join(old: Vote | None, new: Vote) -> Vote:
    """Two votes of one annotator on one question, as in two downloads of the same work."""
    if old is None:
        return new
    if old.choice and new.choice and old.choice != new.choice:
        raise TablemendError(
            f"{new.annotator} answers {new.step} of example {new.example} twice: {old.choice} "
            f"({old.where}) and {new.choice} ({new.where}): keep one, or tell two people apart "
            "by their names"
        )
    chosen, other = (old, new) if old.choice and not new.choice else (new, old)
    return chosen._replace(note=chosen.note or other.note)
