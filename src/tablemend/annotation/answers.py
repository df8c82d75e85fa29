"""Reading annotators' files and checking them against the data set."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablemend.annotation.page import ANSWERS
from tablemend.annotation.sample import Data
from tablemend.annotation.steps import VERSION, Choice, Step
from tablemend.errors import TablemendError
from tablemend.foreign import read_whole


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
    """Read the file that the page gave an annotator.

    Raises:
        TablemendError: it cannot be read, or something in it is not what is wanted; the message
            names the file and the place.
    """
    try:
        file = _File.model_validate_json(read_whole(path).removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TablemendError(f"cannot read the answers {path}: {reason}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise TablemendError(
            f"{path}{f', {place}' if place else ''}: {first['msg']}; wanted is a file that "
            "the page of `tablemend annotate export` wrote"
        ) from error
    except ValueError as error:
        raise TablemendError(f"cannot read the answers {path}: {error}") from error
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
