"""What eval/annotation_pages.py takes on its command line, and does: pages out, answers in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from tablemend.annotation.answers import read_page_file
from tablemend.annotation.latin_square import assign
from tablemend.annotation.pair_pages import ANSWERS, sample_hash, write_pair_page
from tablemend.config.section import RunFolder
from tablemend.datasets.logic.pair import Ambiguity, Annotation, Domain, Pair
from tablemend.errors import TablemendError
from tablemend.runs import MOVE_AWAY, read_jsonl, read_object, write_json, write_jsonl, write_text
from tablemend.tasks.logic import protocol
from tablemend.tasks.logic.annotating import ANNOTATIONS, PAIRS
from tablemend.tasks.logic.command import MAKES, PairsCommand
from tablemend.tasks.logic.tree import Question, follow
from tablemend.tasks.sources import read_records

PAGES, ASSIGNED = "pages", "assigned.json"


class PagesCommand(PairsCommand):
    """Pages for people who annotate pairs, and the import of what they answer."""

    domain: Domain = "hotel"
    """Whose pairs are annotated: `hotel` with highlights and check, or `logic`."""
    annotators: int = Field(default=5, ge=1, le=10_000)
    """How many pages; a multiple of the number of systems shows every pair alike often."""
    seed: int = Field(default=0, ge=0)
    """Seed of the order in which each annotator sees the inputs."""
    answers: Annotated[str, Field(min_length=1)] | None = None
    """Import these files instead, such as `answers='handed-in/*.json'`; pages must be there."""
    run: RunFolder = "people"
    """Run folder: a name below runs/, or a path where it contains a slash."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A pattern that no file fits."""
        if self.answers is not None and not self.files:
            yield "answers", f"no file {self.answers}"

    @property
    def files(self) -> list[Path]:
        """The answer files, in the order of their names."""
        pattern = Path(self.answers or "")
        return sorted(pattern.parent.glob(pattern.name)) if self.answers else []


def make_pages(command: PagesCommand) -> Iterator[str]:
    """Write a page for each annotator; lines for a person.

    Raises:
        TablemendError: no pairs of the domain, pairs that make no Latin square, or a folder that
            has pages.
    """
    folder = command.folder
    if (folder / ASSIGNED).exists():
        raise TablemendError(f"{folder} has pages, which may be with people: give another run=")
    every = read_records(command.source, Pair.from_json, MAKES)
    own_domain = {one.id: one for one in every if one.domain == command.domain}
    pairs = list(own_domain.values())[: command.n]
    if not pairs:
        raise TablemendError(f"{command.data} has no pair of the domain {command.domain}")
    square = assign(pairs, command.annotators, command.seed)
    width = len(str(command.annotators))
    (folder / PAGES).mkdir(parents=True, exist_ok=True)
    assigned = {}
    for number, own in enumerate(square, 1):
        name = f"a{number:0{width}}"
        page = write_pair_page(name, command.domain, own, command.added)
        write_text(folder / PAGES / f"{name}.html", page)
        assigned[name] = [pair.id for pair in own]
    write_jsonl(folder / PAIRS, [one.to_json() for one in pairs])
    write_json(folder / ASSIGNED, {"added": command.added, "annotators": assigned})
    systems = {pair.system for pair in pairs}
    yield f"{folder / PAGES}: {len(square)} pages of {len(square[0])} pairs, {len(systems)} systems"
    if len(square) % len(systems):
        yield f"{len(square)} is no multiple of {len(systems)}: some pairs have an annotator more"


def import_answers(command: PagesCommand) -> Iterator[str]:
    """Write annotations.jsonl of all files; lines for a person.

    Raises:
        TablemendError: no pages, a file that is no answer of theirs, or two of one annotator; one
            line with the file and the place.
    """
    folder = command.folder
    if not (folder / ASSIGNED).exists():
        raise TablemendError(f"{folder} has no pages: give the run= that they are of")
    pairs = {one.id: one for one in map(Pair.from_json, read_jsonl(folder / PAIRS))}
    noted = read_object(folder / ASSIGNED, MOVE_AWAY)
    assigned = {name: [pairs[id] for id in own] for name, own in dict(noted["annotators"]).items()}
    found, given = [], dict[str, Path]()
    for path in command.files:
        file, passed, annotations = _read_answers(path, assigned, bool(noted["added"]))
        if first := given.get(file.annotator):
            raise TablemendError(f"{first} and {path} are both of {file.annotator}: keep one")
        given[file.annotator] = path
        found += annotations
        finished = sum(one.relation is not None for one in annotations)
        check = {None: "", True: ", check passed", False: ", check not passed"}[passed]
        yield (
            f"{file.annotator}: {finished} of {len(assigned[file.annotator])} pairs, "
            f"{file.right} of {file.exercises} exercises{check}"
        )
    write_jsonl(folder / ANNOTATIONS, [one.to_json() for one in found])
    yield f"{folder / ANNOTATIONS}: {len(found)} annotations of {len(given)} annotators"


# ---- the file that a page gives ----


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


def _read_answers(
    path: Path, assigned: Mapping[str, Sequence[Pair]], added: bool
) -> tuple[_File, bool | None, list[Annotation]]:
    """The file that a page gave an annotator, whether the check is passed, and what was begun."""
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
    return file, passed, annotations
