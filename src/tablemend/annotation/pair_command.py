"""What eval/annotation_pages.py takes on its command line, and does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tablemend.annotation.latin_square import assign
from tablemend.annotation.pair_answers import read_pair_answers
from tablemend.annotation.pair_pages import write_pair_page
from tablemend.config.section import RunFolder
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.errors import TablemendError
from tablemend.runs import MOVE_AWAY, read_jsonl, read_object, write_json, write_jsonl, write_text
from tablemend.tasks.logic.annotating import ANNOTATIONS, PAIRS
from tablemend.tasks.logic.command import MAKES, PairsCommand
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
        TablemendError: no pages, a file that is no answer of theirs, or two of one annotator.
    """
    folder = command.folder
    if not (folder / ASSIGNED).exists():
        raise TablemendError(f"{folder} has no pages: give the run= that they are of")
    pairs = {one.id: one for one in map(Pair.from_json, read_jsonl(folder / PAIRS))}
    noted = read_object(folder / ASSIGNED, MOVE_AWAY)
    assigned = {name: [pairs[id] for id in own] for name, own in dict(noted["annotators"]).items()}
    found, given = [], dict[str, Path]()
    for path in command.files:
        answers = read_pair_answers(path, assigned, bool(noted["added"]))
        if first := given.get(answers.annotator):
            raise TablemendError(f"{first} and {path} are both of {answers.annotator}: keep one")
        given[answers.annotator] = path
        found += answers.annotations
        finished = sum(one.relation is not None for one in answers.annotations)
        check = {None: "", True: ", check passed", False: ", check not passed"}[answers.passed]
        yield (
            f"{answers.annotator}: {finished} of {len(assigned[answers.annotator])} pairs, "
            f"{answers.right} of {answers.exercises} exercises{check}"
        )
    write_jsonl(folder / ANNOTATIONS, [one.to_json() for one in found])
    yield f"{folder / ANNOTATIONS}: {len(found)} annotations of {len(given)} annotators"
