"""The whole of a reproduction: run folders, the steps that are done and to do, the tables."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from tablemend.config import HUB, SMALL_WORLD, parse
from tablemend.errors import Stopped, TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.plan import trained_systems
from tablemend.evaluation.systems import (
    hash_examples,
    problems,
    read_test,
    refuse,
    resolve,
    why_untrained,
)
from tablemend.recipe.experiment import (
    DistilCommand,
    DpoCommand,
    GrpoCommand,
    SftCommand,
    TrainingRecipe,
)
from tablemend.reports.tabulation import read_results
from tablemend.reproduction.command import ReproduceCommand
from tablemend.reproduction.papers import Item, choose, items_file, paper_of, published
from tablemend.reproduction.tables import ReproducedTable, fill
from tablemend.reproduction.writing import write_table_files
from tablemend.runs import RUNS, Run, folder_of, say
from tablemend.shipped import shipped

COMMANDS: Mapping[str, type[Any]] = {
    "experiment": SftCommand,
    "dpo": DpoCommand,
    "grpo": GrpoCommand,
    "distil": DistilCommand,
}


@dataclass(frozen=True)
class Step:
    """A part of the work.

    Attributes:
        name: what kind.
        done: whether nothing is left to do.
        command: the script that does it with its settings; empty where only a person can.
        there: what there is or is missing, where no command says it.
    """

    name: str
    done: bool
    command: Sequence[str] = ()
    there: str = ""

    @property
    def says(self) -> str:
        """The command, or what there is."""
        return self.there or f"python {shlex.join(self.command)}"


@dataclass(frozen=True)
class Job:
    """Tables whose numbers come from one run folder.

    Attributes:
        items: by place.
        config: the comparison, with the systems and contexts that these tables need.
        tokens: the command line that it was read from.
    """

    items: Mapping[str, Item]
    config: CompareCommand
    tokens: Sequence[str]

    @property
    def run(self) -> Run:
        """The run folder."""
        return Run.of(self.config)

    @property
    def compares(self) -> bool:
        """Whether models are asked."""
        return any(item.needs in ("comparison", "robustness") for item in self.items.values())

    @property
    def training(self) -> TrainingRecipe | None:
        """The training of the checkpoint, where a system has it."""
        own = self.config.evaluation
        asked = {own.answering_system(system).model for system in own.systems.values()}
        if not self.compares or self.config.stage not in asked or self.config.has_engine:
            return None
        config: TrainingRecipe = parse(COMMANDS[self.config.kind], self.training_tokens)
        return config

    @property
    def training_tokens(self) -> list[str]:
        """The command line without what only a comparison reads."""
        return [one for one in self.tokens if not one.startswith(("backend=", "rescore="))]


def plan(command: ReproduceCommand, given: Sequence[str]) -> Iterator[str]:
    """What is there and what is to do with the command that does it, a line at a time.

    Raises:
        TablemendError: what is missing, behind the plan.
    """
    lacking: list[str] = []
    for job in jobs_of(command, given):
        steps = steps_of(job)
        lacking += missing(job, steps)
        yield f"{', '.join(job.items)}: recipe {job.config.name} in {job.run.path}"
        for step in steps:
            mark = "done" if step.done else "to do" if step.command else "MISSING"
            yield f"  {step.name:<11}{mark:<8}{step.says}"
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
            steps = steps_of(job)
            refuse(missing(job, steps))
            for step in steps:
                say(f"{step.name}: {'done: ' if step.done else ''}{step.says}")
                if not step.done:
                    run_command(*step.command)
        except TablemendError as error:
            if len(jobs) == 1:
                raise
            say(f"{', '.join(job.items)}: {error}")
            failed |= dict.fromkeys(job.items, str(error))
    paper = command.paper or ""
    named = folder_of(command.run) if command.run else None
    for place in command.places:
        item = paper_of(paper).items[place]
        own = next((one for one in jobs if place in one.items), None)
        shown = (one for one in published(paper)[1] if one.place == place)
        parts = [ReproducedTable(paper, one, item) for one in shown]
        for made in parts:
            if why := failed.get(place, ""):
                made.missing[""] = why
            elif own is not None:
                fill(made, own.run.path, own.config)
            elif item.needs == "run" and named:
                fill(made, named, None)
            else:
                made.missing[""] = item.nothing
            made.say_missing()
        folder = own.run.path if own is not None else named or RUNS
        yield write_table_files(parts, folder / "reproduction")[0]


def jobs_of(command: ReproduceCommand, given: Sequence[str]) -> list[Job]:
    """The run folders that the tables of a command need, with these settings of the recipe.

    Raises:
        ConfigError: a recipe that cannot be read.
        TablemendError: one of another task than the paper's.
    """
    paper, groups = paper_of(command.paper or ""), dict[Any, dict[str, Item]]()
    for place in command.places:
        item = paper.items[place]
        if item.needs not in ("run", "nothing"):
            recipe = command.recipe or item.recipe or paper.recipe
            groups.setdefault((recipe, *item.set, item.beside), {})[place] = item
    jobs = []
    for (recipe, *settings, beside), items in groups.items():
        tokens = [f"recipe={recipe}", *given, *settings]
        first = parse(CompareCommand, tokens)
        if first.task != paper.task:
            raise TablemendError(
                f"recipe {recipe} is of task {first.task}, {command.paper} needs {paper.task}: "
                f"recipe={paper.recipe}, or on the embedded base {paper.small}"
            )
        run = command.run or first.run or first.name
        tokens += [f"run={run}-{beside}" if beside else f"run={run}"]
        job = Job(items, first, tokens)
        tokens += _narrowed(job) if job.compares else []
        jobs.append(Job(items, parse(CompareCommand, tokens), tokens))
    return jobs


def _narrowed(job: Job) -> Iterator[str]:
    """Settings that leave the systems and contexts which the tables need, and add what lacks."""
    own, contexts = job.config.evaluation.systems, set[str]()
    asked = {one.name: one.settings for one in resolve(job.config, job.run)}
    kept, added = set[str](), dict[str, dict[str, Any]]()
    for item in job.items.values():
        if item.file and item.needs != "data":
            kept |= own.keys() & set(item.cell.get("system", own))
        for _, _, pick in item.cells() if item.needs == "comparison" and not item.file else ():
            name = choose(pick, asked)
            kept |= {one for one in (name, pick.get("minus")) if one in own}
            contexts |= set(item.contexts or [pick["context"]])
            lacking = [one for one in pick["system"] if one in item.add] if name is None else []
            added |= {one: dict(item.add[one]) for one in lacking[:1]}
    for name, change in added.items():
        like = own.get(change.pop("like"))
        if like is not None:
            system = {**like.model_dump(mode="json", exclude_unset=True), **change}
            yield f"evaluation.systems.{name}={json.dumps(system)}"
    kept |= {after for name in kept if (after := own[name].after)}
    if kept:
        yield from (f"evaluation.systems.{name}=null" for name in own if name not in kept)
    views = job.config.task_of().views
    if contexts and set(contexts) <= views.keys():
        yield f"evaluation.contexts=[{','.join(view for view in views if view in contexts)}]"


def steps_of(job: Job) -> list[Step]:
    """The steps of a job in their order; nothing expensive is done to find them.

    Raises:
        TablemendError: the run has a checkpoint that was trained with other settings.
    """
    config, run, training, trained = job.config, job.run, job.training, False
    if training is not None:
        from tablemend.training.checkpoints import is_complete  # torch, where something is trained
        from tablemend.training.stage import FIXED

        if trained := is_complete(run.model):
            mend = "give run=NAME, or the settings it had"
            run.refuse_settings(training.stage, training, FIXED, mend)
    sources = [config.data.test]
    if training is not None and not trained:
        sources += [one for one in (*config.data.training_sources, config.data.validation) if one]
    found = [_data_step(source) for source in dict.fromkeys(one.source for one in sources)]
    if training is not None:
        command = [f"train/{training.stage}.py", *job.training_tokens]
        found.append(Step("training", trained, command))
    if job.compares:
        done = all(step.done for step in found) and _is_answered(job)
        found.append(Step("answers", done, ["eval/compare.py", *job.tokens]))
    if any(item.needs == "robustness" for item in job.items.values()):
        done = found[-1].done and (run.path / "robustness.json").is_file()
        found.append(Step("robustness", done, ["eval/robustness.py", f"run={run.path}"]))
    return found


def _data_step(source: str) -> Step:
    if source == SMALL_WORLD or source.startswith(HUB) or Path(source).exists():
        return Step("data", True, there=source)
    if source not in items_file()["data"]:
        said = f"{source}: needs files of yours; the recipe's head and docs/data.md say which"
        return Step("data", False, there=said)
    script, *settings = items_file()["data"][source]
    return Step("data", False, [f"data_gen/{script}.py", *settings, f"out={source}"])


def _is_answered(job: Job) -> bool:
    """Whether results.json has all systems and contexts, of these samples."""
    config, samples = job.config, read_test(job.config)
    try:
        results = read_results(job.run.path / "results.json")
    except TablemendError:
        return False
    noted = results["settings"]
    return (
        not config.rescore
        and results["data"]["hash"] == hash_examples(samples)
        and set(config.contexts) <= results["contexts"].keys()
        and all(
            why_untrained(config, one) or one.settings.items() <= noted.get(one.name, {}).items()
            for one in resolve(config, job.run)
        )
    )


def missing(job: Job, steps: Sequence[Step]) -> list[str]:
    """What only a person can mend before the steps are done, a line each."""
    found = [step.says for step in steps if not step.done and not step.command]
    if any(step.name == "answers" and not step.done for step in steps):
        found += problems(job.config, trained_systems(job.config, job.run))
    return found


def run_command(script: str, *settings: str) -> None:
    """Run a script of ours to its end; what it reports goes to stderr.

    Raises:
        Stopped: as the script says.
        TablemendError: what it says where it refuses, or that it failed.
    """
    command = [sys.executable, str(shipped(script)), *settings]
    said = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        assert running.stdout is not None
        # line ends stay: a bar of progress writes over itself
        for line in TextIOWrapper(running.stdout, "utf-8", "replace", newline=""):
            if said or line.startswith(("error: ", "stopped: ")):
                said += line  # this command says it itself
            else:
                print(line, end="", file=sys.stderr, flush=True)
    if running.returncode:
        kind, _, why = said.strip().partition(": ")
        failed = f"{script} failed (status {running.returncode})"
        raise (Stopped if kind == "stopped" else TablemendError)(why or failed)
    print(said, end="", file=sys.stderr)
