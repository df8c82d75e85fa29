"""The whole of a reproduction: plan, what is missing, the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tablemend.errors import TablemendError
from tablemend.evaluation.systems import refuse
from tablemend.reproduction.command import ReproduceCommand
from tablemend.reproduction.items import paper_of
from tablemend.reproduction.made import Made, fill
from tablemend.reproduction.plan import Job, describe, jobs_of, missing, steps_of
from tablemend.reproduction.published import published
from tablemend.reproduction.writing import write_made
from tablemend.runs import RUNS, folder_of, say


def plan(command: ReproduceCommand, given: Sequence[str]) -> Iterator[str]:
    """What is there and what is to do, a line at a time.

    Raises:
        TablemendError: what is missing, behind the plan.
    """
    lacking: list[str] = []
    for job in jobs_of(command, given):
        steps = steps_of(job)
        lacking += missing(job, steps)
        yield from describe(job, steps)
    for place in command.places:
        item = paper_of(command.paper or "").items[place]
        if item.needs in ("nothing", "run"):
            yield f"{place}: {item.nothing}"
    refuse(list(dict.fromkeys(lacking)))


def reproduce(command: ReproduceCommand, given: Sequence[str]) -> Iterator[Path]:
    """Do what is missing, and write every table; the same command continues.

    Where several run folders are needed, one that cannot be had leaves its tables without numbers
    of ours, and they say why.

    Yields:
        The Markdown of each table.

    Raises:
        TablemendError: the one run folder cannot be had; where files of a user are missing, before
            anything is run.
    """
    jobs = jobs_of(command, given)
    failed: dict[str, str] = {}
    for job in jobs:
        try:
            _work(job)
        except TablemendError as error:
            if len(jobs) == 1:
                raise
            say(f"{', '.join(job.items)}: {error}")
            failed |= dict.fromkeys(job.items, str(error))
    for place in command.places:
        own = next((one for one in jobs if place in one.items), None)
        found = _made(command, place, own, failed.get(place, ""))
        yield write_made(found, _folder(command, own))[0]


def _work(job: Job) -> None:
    """Every step that is not done."""
    steps = steps_of(job)
    refuse(missing(job, steps))
    for step in steps:
        say(f"{step.name}: {'done: ' if step.done else ''}{step.says}")
        if not step.done and step.run is not None:
            step.run()


def _made(command: ReproduceCommand, place: str, job: Job | None, why: str) -> list[Made]:
    """The parts of a table; ``why``: what its numbers cannot be had for."""
    paper = command.paper or ""
    item = paper_of(paper).items[place]
    found = [Made(paper, one, item) for one in published(paper)[1] if one.place == place]
    for made in found:
        if why:
            made.missing[""] = why
        elif job is not None:
            fill(made, job.run.path, job.config)
        elif item.needs == "run" and command.run:
            fill(made, folder_of(command.run), None)
        else:
            made.missing[""] = item.nothing
        made.say_missing()
    return found


def _folder(command: ReproduceCommand, job: Job | None) -> Path:
    """Where a table is written: into its run folder."""
    if job is not None:
        return job.run.path / "reproduction"
    return (folder_of(command.run) if command.run else RUNS) / "reproduction"
