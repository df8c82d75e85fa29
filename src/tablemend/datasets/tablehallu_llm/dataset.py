"""A data set by language models: estimated, made row by row, joined when all rows are there.

The folder holds ``rows/`` with one file a shard, to which every row is appended as it ends, and
in the end ``train``, ``validation`` and ``test``, ``counts.json``, ``rejected.jsonl`` (every
rejection with its reason) and a card. Rows are kept: they were paid for, and with a larger n or
rows of further shards the data set is joined anew from them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.datasets.tablehallu_llm.counts import Counts
from tablemend.datasets.tablehallu_llm.estimate import Estimate, compare, estimate, show
from tablemend.datasets.tablehallu_llm.failures import HeldBack
from tablemend.datasets.tablehallu_llm.hub import hub_token, push_dataset
from tablemend.datasets.tablehallu_llm.join import COUNTS, join_rows
from tablemend.datasets.tablehallu_llm.models import Backends, open_maker
from tablemend.datasets.tablehallu_llm.origin import Origin, open_origin
from tablemend.datasets.tablehallu_llm.preview import preview_rows
from tablemend.datasets.tablehallu_llm.prompting import prompts_hash
from tablemend.datasets.tablehallu_llm.row_files import (
    FOLDER,
    RowIndex,
    RowWriter,
    locked_join,
    locked_shard,
    read_index,
    refuse_other,
    shard_path,
)
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.run import Gate, make_rows
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.errors import TablemendError
from tablemend.runs import hash_file, read_object, write_json

SETTINGS = "settings.json"
JOINED = f"{FOLDER}/.joined.json"
"""Not in ``counts.json``: that is the same however the rows were shared out."""
_DAMAGED = f"copy {FOLDER}/ into a new folder and give that as out=, the rows are joined anew"


def make_llm_dataset(settings: LlmSynthesis) -> None:
    """Make a data set or a shard of one, or go on with it, or find it finished; say what came.

    Raises:
        BudgetSpent: a cap is reached; what was made is kept.
        Stopped: the requests of many rows in a row failed for good; likewise.
        TablemendError: the folder holds something else or is being written, a model cannot be
            had, a row cannot be read, or no row could be made.
        KeyboardInterrupt: the run was stopped; what was made is kept.
    """
    token = hub_token(settings)
    origin = open_origin(settings)
    if settings.preview is not None:
        with Backends(settings) as backends:
            preview_rows(settings, origin, backends)
        return
    out, noted = Path(settings.out), noted_of(settings, origin)
    _check_folder(out, noted, settings.n)
    if settings.estimate_only:
        with closing(read_index(out, settings.n, noted)) as index:
            print(show(_forecast(settings, index), settings))
        return
    path = shard_path(out, *settings.part)
    with Backends(settings) as backends:
        if not path.parent.exists() and _finished(settings, out) is None:
            backends.open()  # before there is a folder: a model that cannot be had leaves none
        with locked_shard(path):
            counts = _make_and_join(settings, origin, noted, path, backends)
    if counts is not None:
        print(report(counts, out))
        if token is not None:
            print(f"pushed to {push_dataset(settings, token)}")


def _make_and_join(
    settings: LlmSynthesis,
    origin: Origin,
    noted: Mapping[str, Any],
    path: Path,
    backends: Backends,
) -> dict[str, Any] | None:
    """Make what is missing of the shard; the counts where all shards are there."""
    out = Path(settings.out)
    if not settings.retry_failed and (counts := _finished(settings, out)) is not None:
        return counts
    with closing(read_index(out, settings.n, noted)) as index:
        write_json(out / SETTINGS, noted)  # they fit the rows
        forecast = _forecast(settings, index)
        if forecast.rows:
            backends.open()
            _say_topics(settings, origin)
            print(show(forecast, settings))
            writer = RowWriter(path, noted)
            _make_missing(settings, origin, index, forecast, writer, backends)
    with locked_join(out), closing(read_index(out, settings.n, noted)) as index:
        missing = settings.n - index.present
        if missing:
            print(
                f"shard {settings.shard} is whole; {missing:,} rows of other shards are not in "
                f"{out / FOLDER} yet: bring their files there and run the command of any shard"
            )
            return None
        counts = _finished(settings, out)
        if counts is None:
            counts = join_rows(settings, index)
            write_json(out / JOINED, _joined_from(out))
        return counts


def _make_missing(
    settings: LlmSynthesis,
    origin: Origin,
    index: RowIndex,
    forecast: Estimate,
    writer: RowWriter,
    backends: Backends,
) -> None:
    """Make rows and append each as it ends; say what they took, also where the run stops."""
    counts = Counts()
    gate = Gate()
    held = HeldBack(writer.write)
    rows = 0

    async def run() -> None:
        async with open_maker(settings, origin, gate, backends) as make:
            with gate.closed_by_signals():
                missing = index.missing(*settings.part, settings.retry_failed)
                await make_rows(missing, held.watched(make), done, settings.concurrency, gate)
        held.end(index.answered)

    with closing(writer), tqdm(total=forecast.rows, unit="row", disable=None) as bar:

        def done(row: Row, seconds: float) -> None:
            nonlocal rows
            counts.add(row)
            rows += 1
            held.take(row, seconds)
            bar.set_postfix(_figures(settings, counts), refresh=False)
            bar.update()

        try:
            asyncio.run(run())
        finally:
            bar.close()
            if rows:
                print(compare(forecast, counts.usage, rows, settings))


def _figures(settings: LlmSynthesis, counts: Counts) -> dict[str, str]:
    """What the progress bar shows."""
    spent, cost = counts.usage.total(), counts.usage.cost(settings)
    shown = {
        "given_up": str(counts.given_up),
        "tokens": f"{spent.prompt_tokens + spent.completion_tokens:,}",
    }
    if cost is not None:
        shown["cost"] = f"{sum(cost.values()):,.2f}"
    return shown


def noted_of(settings: LlmSynthesis, origin: Origin) -> dict[str, Any]:
    """All that the rows depend on."""
    return {**origin.noted, "prompts": prompts_hash(), **settings.noted()}


def _say_topics(settings: LlmSynthesis, origin: Origin) -> None:
    if origin.topics is not None and settings.n > origin.topics.count:
        print(
            f"note: there are {origin.topics.count:,} topics; later rows take them again (with "
            "other years, where they have some), and near-duplicate kernels are dropped"
        )


def _check_folder(out: Path, noted: dict[str, Any], n: int) -> None:
    """Refuse a folder with another data set, or with anything else."""
    path = out / SETTINGS
    if path.exists():
        old = read_object(path, _DAMAGED)
        if old.get("engine") != "llm":
            raise TablemendError(
                f"out={out} holds a data set of engine={old.get('engine')}; give another out="
            )
        if (out / COUNTS).exists():  # else the rows say what they were made with, if any are there
            refuse_other(old, noted, f"the data set in out={out}")
            asked = read_object(out / COUNTS, _DAMAGED)["examples"]["asked"]
            if n < asked:
                raise TablemendError(
                    f"out={out} holds a data set of n={asked}, which n={n} would make smaller: "
                    "give another out=, or no smaller n"
                )
    elif out.exists() and (not out.is_dir() or not all(map(_is_ours, out.iterdir()))):
        raise TablemendError(f"out={out} holds something else; give another out=")


def _is_ours(path: Path) -> bool:
    """Whether a file or folder may stand in a folder that is only begun."""
    return path.name == FOLDER or (path.name.startswith(".") and path.suffix == ".tmp")


def _forecast(settings: LlmSynthesis, index: RowIndex) -> Estimate:
    missing: Iterator[int] = index.missing(*settings.part, settings.retry_failed)
    rows = sum(1 for _ in missing)
    return estimate(settings, rows, index.usage, index.seconds, index.present)


def _finished(settings: LlmSynthesis, out: Path) -> dict[str, Any] | None:
    """The counts of a data set that was joined from the rows as they are.

    Files of rows are told by their length: a copy may keep the time of its original.
    """
    path = out / COUNTS
    if not path.exists():
        return None
    counts = read_object(path, _DAMAGED)
    if counts.get("examples", {}).get("asked") != settings.n:
        return None
    now = _joined_from(out)
    if not now["rows"]:  # they are not needed any more
        return counts
    joined = out / JOINED
    return counts if joined.exists() and read_object(joined, _DAMAGED) == now else None


def _joined_from(out: Path) -> dict[str, Any]:
    """The data set that was joined, and the length of each file that it was joined from."""
    rows = {path.name: path.stat().st_size for path in sorted((out / FOLDER).glob("*.jsonl"))}
    return {"counts": hash_file(out / COUNTS), "rows": rows}


def report(counts: dict[str, Any], out: Path) -> str:
    """What came of a data set, in lines for a person."""
    examples = counts["examples"]
    splits = ", ".join(f"{count} {split}" for split, count in counts["splits"].items())
    lines = [f"{examples['made']} of {examples['asked']} rows are examples in {out} ({splits})"]
    if examples["given_up"]:
        lines.append(f"given up: {examples['given_up']}")
    if examples["requests_failed"]:
        lines.append(
            f"note: {examples['requests_failed']} of them because a request failed for good; "
            "retry_failed=true makes these rows anew"
        )
    if examples["near_duplicates"]:
        lines.append(f"near-duplicate kernels dropped: {examples['near_duplicates']}")
    for stage, verdicts in counts["verdicts"].items():
        words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        lines.append(f"  {stage}: {words}")
    for stage, kinds in counts["rejected"].items():
        lines += [f"  rejected: {stage}: {count} x {kind}" for kind, count in kinds.items()]
    if counts["rejected"]:
        lines.append(f"{out / 'rejected.jsonl'} says why of each")
    return "\n".join(lines)
