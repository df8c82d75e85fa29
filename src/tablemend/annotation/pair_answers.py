"""Answers that the pages for pairs give, as annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from tablemend.annotation.answers import read_page_file
from tablemend.annotation.pair_pages import ANSWERS, sample_hash
from tablemend.datasets.logic.annotation import Ambiguity, Annotation
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.errors import TablemendError
from tablemend.tasks.logic import protocol
from tablemend.tasks.logic.tree import Question, follow


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    pair: str
    path: dict[str, bool]
    finished: bool
    ambiguities: list[Ambiguity]
    divergent_input: list[tuple[int, int]] | None
    divergent_output: list[tuple[int, int]] | None
    wrong: list[tuple[int, int]] | None
    slider: int | None = Field(ge=1, le=7)
    comment: str
    seconds: float = Field(ge=0)


class _File(BaseModel):
    """The JSON that the page writes."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    format: Literal["tablemend-pairs"]
    protocol: str
    sample: str
    domain: Domain
    annotator: str = Field(pattern=r"\S")
    exercises: int
    right: int
    check: _Answer | None
    answers: list[_Answer]


assert get_args(_File.model_fields["format"].annotation) == (ANSWERS,)


class PairAnswers(NamedTuple):
    """What one annotator handed in.

    Attributes:
        annotator: whose page it is.
        right, exercises: of the training.
        passed: the comprehension check; ``None`` where there was none.
        annotations: of the pairs that were begun.
    """

    annotator: str
    right: int
    exercises: int
    passed: bool | None
    annotations: list[Annotation]


def read_pair_answers(
    path: Path, assigned: Mapping[str, Sequence[Pair]], added: bool = False
) -> PairAnswers:
    """Read the file that a page gave an annotator.

    Args:
        path: of the file.
        assigned: the pairs of every annotator.
        added: whether questions that the paper's tree lacks were asked as well.

    Raises:
        TablemendError: it cannot be read, is of another page, or something in it is not what is
            wanted; one line with the file and the place.
    """
    file = read_page_file(path, _File, "a page of `python eval/annotation_pages.py`")
    pairs = {pair.id: pair for pair in assigned.get(file.annotator, ())}
    if not pairs:
        raise TablemendError(f"{path}: no page was made for {file.annotator}")
    if file.protocol != protocol.PROTOCOL_HASH or file.sample != sample_hash(list(pairs.values())):
        raise TablemendError(
            f"{path} answers other questions or pairs than the page of {file.annotator} in this "
            "run: give the run that its page is from, unchanged"
        )

    def annotation(where: str, answer: _Answer, pair: Pair, passed: bool | None) -> Annotation:
        """An answer, its path walked again."""
        told, leaf = follow(file.domain, answer.path, added)
        if extra := answer.path.keys() - told.keys():
            raise TablemendError(f"{path}, {where}.path: {min(extra)} is not asked on this way")
        for name in protocol.MARKS:
            text = protocol.side(pair, name)
            for start, end in getattr(answer, name) or ():
                if not 0 <= start < end <= len(text):
                    place = f"{path}, {where}.{name}"
                    raise TablemendError(f"{place}: {[start, end]} is no part of its text")
        finished = answer.finished and not isinstance(leaf, Question)
        return Annotation.from_json(
            answer.model_dump(exclude={"finished"})
            | {"annotator": file.annotator, "path": told, "passed_check": passed}
            | {"relation": leaf if finished else None}
            | {"unscored": "" if finished else f"not finished: {len(told)} answers"}
        )

    passed = None
    if file.domain == "hotel":
        passed = file.check is not None and protocol.passes(
            annotation("check", file.check, protocol.CHECK, None)
        )
    annotations = []
    for number, answer in enumerate(file.answers):
        where = f"answers.{number}"
        if answer.pair not in pairs:
            raise TablemendError(f"{path}, {where}: {answer.pair} is no pair of {file.annotator}")
        if answer.path or answer.divergent_input or answer.divergent_output:  # not only looked at
            annotations.append(annotation(where, answer, pairs[answer.pair], passed))
    if len({one.pair for one in annotations}) < len(annotations):
        raise TablemendError(f"{path} has two answers for one pair: it was changed by hand")
    return PairAnswers(file.annotator, file.right, file.exercises, passed, annotations)
