"""From a folder of tables to a comparison: data, fine-tuning and answers, one after another."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tablemend.config import SMALL_WORLD, parse
from tablemend.config.load import keys_text, recipes_of, usage_text
from tablemend.config.section import RunFolder
from tablemend.datasets.build import describe
from tablemend.datasets.source_tables.sources import SourceTable, open_source
from tablemend.datasets.splits import POOL, SPLITS, Shares, Split, split_of
from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.pretrained.fetch import NAMES, Fetch, fetch
from tablemend.recipe.experiment import SftCommand
from tablemend.runs import Run, folder_of, say, write_jsonl
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.borrowed_names import Usable
from tablemend.tasks.tablehallu.dataset import make_dataset
from tablemend.tasks.tablehallu.engine import FEWEST_ROWS, find_tables, open_maker
from tablemend.tasks.tablehallu.settings import Shape, Synthesis
from tablemend.values.text import count_tokens

ROWS = ((5, 6), (3, 4), (2, 3), (1, 2))
"""Rows of a gold table, the most first; the first of which contexts fit the model is taken."""
FEW = 10
"""Tables, below which they are split by rows."""
DRAWN = 32
"""Contexts that are drawn to see what fits."""
ROOM = 0.9
"""Of the shortest context that does not fit: the longest that is made. Texts of other tables take
more tokens of a model for the same estimate."""
SHORTEST = 50
"""Tokens of a context, at the least."""
CUTS = 10_000
"""Cuts of a table that are tried."""
INSTRUCT = "-instruct"


class RunCommand(Synthesis):
    """What train/run.py takes: the settings of the data, and these."""

    model: str = "tiny"
    """A recipe that fine-tunes (`tiny`, `qwen3-8b`), or a model that `tablemend fetch` has."""
    run: RunFolder = "own"
    """Run folder: a name below runs/, or a path where it contains a slash."""
    out: str = ""
    """Folder of the data; empty: data/ and the run's name."""


@dataclass(frozen=True)
class Own:
    """A command that was read.

    Attributes:
        command: the settings of the data; which model, which run folder.
        data: the same, as data_gen/tablehallu.py takes it.
        training, comparison: the model's recipe, on these data.
        tokens: the command line of the training.
    """

    command: RunCommand
    data: Synthesis
    training: SftCommand
    comparison: CompareCommand
    tokens: Sequence[str]


def help_page() -> str:
    """The page that ``--help`` prints."""
    usage = usage_text("recipe=own source=FOLDER [model=NAME] [key.sub=value ...]", None)
    also = "Any other key is one of the model's recipe: train.max_steps=50, evaluation.n=24, ..."
    return f"{usage}\n\n{keys_text(RunCommand)}\n{also}"


def read_own(tokens: Sequence[str]) -> Own:
    """The data's settings, and the recipe of the model with what else is said.

    Raises:
        ConfigError: with every problem of one of them.
        TablemendError: no source, or no such model.
    """
    own = [one for one in tokens if _key(one) in {"recipe", *RunCommand.model_fields}]
    own += [one for one in tokens if one.startswith("-") or "=" not in one]
    command = parse(RunCommand, [one for one in own if not one.startswith("model.")])
    if "source" not in command.model_fields_set:
        raise TablemendError("source: missing: the folder of your tables: source=FOLDER")
    known = [name for name, _ in recipes_of(SftCommand)]
    recipe = next(
        (n for n in (command.model, command.model.removesuffix(INSTRUCT)) if n in known), ""
    )
    if not recipe:
        raise TablemendError(
            f"model={command.model} is none of {', '.join(known)}; of another model: "
            "model=RECIPE model.path=FOLDER_OR_NAME"
        )
    out = command.out or f"data/{folder_of(command.run).name}"
    given = command.model_dump(exclude_unset=True, exclude={"model", "run", "out"})
    data = Synthesis.model_validate({**given, "out": out})
    parts = {
        s: f"{{source: {json.dumps(out)}, split: {s}}}" for s in SPLITS if getattr(data.shares, s)
    }
    rest = [
        f"recipe={recipe}",
        f"run={command.run}",
        "evaluation.n=null",
        *(f"data.{split}={parts.get(split, 'null')}" for split in SPLITS),
        *(
            one
            for one in tokens
            if one not in own or _key(one) == "seed" or one.startswith("model.")
        ),
    ]
    lines = []
    for kind, other in ((SftCommand, CompareCommand), (CompareCommand, SftCommand)):
        foreign = other.model_fields.keys() - kind.model_fields.keys()
        lines.append([one for one in rest if _key(one) not in foreign])
    training = parse(SftCommand, lines[0])
    if training.task != "table_generation":
        raise TablemendError(f"model={command.model} is of task {training.task}, not of tables")
    return Own(command, data, training, parse(CompareCommand, lines[1]), lines[0])


def _key(token: str) -> str:
    return token.partition("=")[0].partition(".")[0]


def run(tokens: Sequence[str]) -> Iterator[str]:
    """Every step that is not done; the same call goes on.

    Yields:
        What came of each, for a person.

    Raises:
        TablemendError: no such tables, none that fit the model, and what each step refuses.
    """
    own = read_own(tokens)
    if own.command.model in NAMES:
        yield fetch(own.command.model, Fetch())
        own = read_own(tokens)  # its folder is there now
    from tablemend.evaluation.compare import compare
    from tablemend.reports.report import terminal_table, write_reports
    from tablemend.reproduction.reproduce import run_command

    say(f"reading the tables of {own.data.source}")
    data, cut = fit(own.data, own.comparison), ""
    tables = usable_tables(data)
    found = splits_of(tables, data.shares)
    if data.source not in (POOL, SMALL_WORLD) and (len(tables) < FEW or not all(found.values())):
        source = open_source(data.source, data, data.seed)
        parts = [cut_table(source.read(table.place), data.shares) for table in tables]
        if any(len(one) > 1 for one in parts):
            cut = (
                f"{len(tables)} tables are few: they are split by rows, so training and test share "
                "tables, and no row"
            )
            yield cut
            rows = Path(f"{data.out}-tables.jsonl")
            rows.parent.mkdir(parents=True, exist_ok=True)
            write_jsonl(rows, [part.to_json() for one in parts for part in one])
            given = own.data.model_dump(exclude_unset=True) | {"source": str(rows)}
            data = fit(Synthesis.model_validate(given), own.comparison, most_tables=True)
            found = splits_of(usable_tables(data), data.shares)
        if not all(found.values()):
            raise TablemendError(
                f"source={own.data.source}: {len(tables)} tables are too few to be split by table, "
                f"and too short to be split by rows: give more, or some of {4 * FEWEST_ROWS} rows"
            )
        if cut:  # tables take turns, and have a part in every split
            n = round(data.n * data.shares.train * sum(found.values()) / found["train"])
            data = data.model_copy(update={"n": n})
    counts = make_dataset(data, lambda done: None)
    yield from describe(counts, data.out, data.shares)
    samples = own.comparison.task_of().samples(own.comparison.data.test)
    if too_long := prompts_too_long(samples, own.comparison):
        sizes = [count_tokens(one.adversarial_context) for one in samples if one.id in too_long]
        raise TablemendError(
            f"{len(sizes)} of {len(samples)} test samples are too long for model="
            f"{own.command.model}: set max_tokens={int(ROOM * min(sizes))} out={data.out}-shorter"
        )
    comparison, most = own.comparison, 2 * round(own.data.n * own.data.shares.test)
    if comparison.evaluation.n is None and len(samples) > most:
        evaluation = comparison.evaluation.model_copy(update={"n": most})
        comparison = comparison.model_copy(update={"evaluation": evaluation})
    run_command("train/sft.py", *own.tokens)
    folder = Run.of(own.training)
    folder.record("own", {"source": own.data.source, "split": cut or "by table"})
    compare(comparison)
    yield terminal_table(write_reports(folder.path))
    yield str(folder.path / "report.html")


def fit(data: Synthesis, config: CompareCommand, most_tables: bool = False) -> Synthesis:
    """The settings with the largest gold tables whose contexts the model can read, where the given
    ones leave that open, and with the longest context.

    Args:
        data: the settings.
        config: the comparison; every system's prompt has to leave room for an answer.
        most_tables: prefer what more tables can be used with to larger gold tables.

    Raises:
        TablemendError: no table is usable, or no context is short enough.
    """
    if data.source == SMALL_WORLD:
        return data
    shapes = [data.shape]
    if "shape" not in data.model_fields_set:
        shapes = [Shape(min_rows=a, max_rows=b, min_columns=3, max_columns=5) for a, b in ROWS]
    trials = [data.model_copy(update={"shape": shape}) for shape in shapes]
    if "distractors" not in data.model_fields_set:  # short tables: real rows alone
        trials += [one.model_copy(update={"distractors": "real"}) for one in reversed(trials)]
    reason, best, most_used = "", None, -1
    for trial in trials:
        shape = trial.shape
        try:
            usable = find_tables(open_source(data.source, data, data.seed), trial)[0]
        except TablemendError as error:
            reason = reason or str(error)
            continue
        maker = open_maker(trial, usable)
        drawn = [one for number in range(DRAWN) for one in maker.make(number)]
        sizes = {one.id: count_tokens(one.adversarial_context) for one in drawn}
        if drawn and (unfit := prompts_too_long(drawn, config)):
            most = int(ROOM * min(sizes[name] for name in unfit))
            trial = trial.model_copy(update={"max_tokens": most})
            if most < SHORTEST or 4 * sum(size <= most for size in sizes.values()) < len(drawn):
                reason = (
                    f"{len(unfit)} of {len(drawn)} samples of {shape.min_rows} to {shape.max_rows} "
                    f"rows do not fit {config.model.context_length} tokens of {config.model.path}, "
                    f"{config.evaluation.max_new_tokens} of them for the answer: take a model that "
                    "reads more, or lower evaluation.max_new_tokens"
                )
                continue
        used = sum(not table.unfit for table in usable)
        if drawn and used > most_used:
            best, most_used = trial, used
            if not most_tables:
                break
    if best is None:
        raise TablemendError(
            f"source={data.source}: {reason}".replace(f"{data.source}: source=", "")
        )
    return best


def usable_tables(data: Synthesis) -> list[Usable]:
    """The tables of a source that give contexts; of the pool, none is looked at."""
    if data.source == SMALL_WORLD:
        return []
    tables = find_tables(open_source(data.source, data, data.seed), data)[0]
    return [table for table in tables if not table.unfit]


def splits_of(tables: Sequence[Usable], shares: Shares) -> dict[Split, int]:
    """How many tables fall into each split that is wanted."""
    found = Counter(split_of(table.source_hash, shares) for table in tables)
    return {split: found[split] for split in SPLITS if getattr(shares, split)}


def cut_table(read: SourceTable, shares: Shares) -> list[Table]:
    """A table's rows in parts, one for each split; whole where it is too short for that.

    A part's content decides its split, as a table's does: the cut is drawn until it is that which
    the part was made for.
    """
    table = Table(read.table.columns, read.table.rows, read.topic)
    wanted = [split for split in SPLITS if getattr(shares, split)]
    rows, least = len(table.rows), min(2 * FEWEST_ROWS, len(table.rows) // len(wanted))
    sizes = {split: max(least, round(getattr(shares, split) * rows)) for split in wanted}
    most = max(wanted, key=lambda split: sizes[split])
    sizes[most] = rows - sum(sizes[split] for split in wanted if split != most)
    if least < FEWEST_ROWS:
        return [table]
    for attempt in range(CUTS):
        order = list(range(len(table.rows)))
        Random(f"{table.content_hash()}:{attempt}").shuffle(order)
        parts = []
        for split in wanted:
            own, order = sorted(order[: sizes[split]]), order[sizes[split] :]
            parts.append(Table(table.columns, tuple(table.rows[n] for n in own), table.title))
        if [split_of(part.content_hash(), shares) for part in parts] == wanted:
            return parts
    return [table]


def prompts_too_long(samples: Sequence[Any], config: CompareCommand) -> set[str]:
    """Ids of the samples with a prompt that leaves no room for an answer; nothing is loaded.

    The checkpoint of a training that is still to come reads what its base reads.
    """
    systems = {
        name: one.model_copy(update={"model": "base"}) if one.model == config.stage else one
        for name, one in config.evaluation.systems.items()
    }
    evaluation = config.evaluation.model_copy(update={"systems": systems})
    base = config.model_copy(update={"evaluation": evaluation})
    from tablemend.evaluation.generating import too_long
    from tablemend.evaluation.systems import problems, refuse, resolve

    asked = resolve(base, Run.of(base))
    refuse(problems(base, asked))
    return too_long(asked, samples, base)
