"""A data set by language models: estimated, made row by row, joined when all rows are there.

The folder holds ``rows/`` with one file a shard, to which every row is appended as it ends, and
in the end ``train``, ``validation`` and ``test``, ``counts.json``, ``rejected.jsonl`` (every
rejection with its reason) and a card. Rows are kept: they were paid for, and with a larger n or
rows of further shards the data set is joined anew from them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.errors import TablemendError
from tablemend.pipeline.counts import Counts
from tablemend.pipeline.estimate import Estimate, compare, estimate, show
from tablemend.pipeline.failures import HeldBack
from tablemend.pipeline.hub import hub_token, push_dataset
from tablemend.pipeline.join import COUNTS, join_rows
from tablemend.pipeline.models import open_maker
from tablemend.pipeline.origin import Origin, open_origin
from tablemend.pipeline.preview import preview_rows
from tablemend.pipeline.prompting import prompts_hash
from tablemend.pipeline.row_files import (
    FOLDER,
    RowIndex,
    RowWriter,
    locked_join,
    locked_shard,
    read_index,
    refuse_other,
    shard_path,
)
from tablemend.pipeline.rows import Row
from tablemend.pipeline.run import Gate, make_rows
from tablemend.pipeline.settings import LlmSynthesis
from tablemend.runs import write_json

SETTINGS = "settings.json"


def make_llm_dataset(settings: LlmSynthesis) -> None:
    """Make a data set or a shard of one, or go on with it, or find it finished; say what came.

    Raises:
        BudgetSpent: a cap is reached; what was made is kept.
        TablemendError: the folder holds something else or is being written, a model cannot be
            had, a row cannot be read, or no row could be made.
        KeyboardInterrupt: the run was stopped; what was made is kept.
    """
    token = hub_token(settings)
    origin = open_origin(settings)
    if settings.preview is not None:
        preview_rows(settings, origin)
        return
    out, noted = Path(settings.out), noted_of(settings, origin)
    _check_folder(out, noted)
    if settings.estimate_only:
        with closing(read_index(out, settings.n, noted)) as index:
            print(show(_forecast(settings, index), settings))
        return
    path = shard_path(out, *settings.part)
    with locked_shard(path):
        write_json(out / SETTINGS, noted)
        counts = _make_and_join(settings, origin, path)
    if counts is not None:
        print(report(counts, out))
        if token is not None:
            print(f"pushed to {push_dataset(settings, token)}")


def _make_and_join(settings: LlmSynthesis, origin: Origin, path: Path) -> dict[str, Any] | None:
    """Make what is missing of the shard; the counts where all shards are there."""
    out, noted = Path(settings.out), noted_of(settings, origin)
    if not settings.retry_failed and (counts := _finished(settings, out)) is not None:
        return counts
    with closing(read_index(out, settings.n, noted)) as index:
        forecast = _forecast(settings, index)
        if forecast.rows:
            _say_topics(settings, origin)
            print(show(forecast, settings))
            _make_missing(settings, origin, index, forecast, RowWriter(path, noted))
    with locked_join(out), closing(read_index(out, settings.n, noted)) as index:
        missing = settings.n - index.present
        if missing:
            print(
                f"shard {settings.shard} is whole; {missing:,} rows of other shards are not in "
                f"{out / FOLDER} yet: bring their files there and run the command of any shard"
            )
            return None
        return _finished(settings, out) or join_rows(settings, index)


def _make_missing(
    settings: LlmSynthesis,
    origin: Origin,
    index: RowIndex,
    forecast: Estimate,
    writer: RowWriter,
) -> None:
    """Make rows and append each as it ends; say what they took, also where the run stops."""
    counts = Counts()
    gate = Gate()
    held = HeldBack(writer.write)
    rows = 0

    async def run() -> None:
        async with open_maker(settings, origin, gate) as make:
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


def _check_folder(out: Path, noted: dict[str, Any]) -> None:
    """Refuse a folder with another data set, or with anything else."""
    path = out / SETTINGS
    if path.exists():
        old = json.loads(path.read_text("utf-8"))
        if old.get("engine") != "llm":
            raise TablemendError(
                f"out={out} holds a data set of engine={old.get('engine')}; give another out="
            )
        if (out / COUNTS).exists():  # else the rows say what they were made with, if any are there
            refuse_other(old, noted, f"the data set in out={out}")
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
    """The counts of a data set that was joined from the rows as they are."""
    path = out / COUNTS
    if not path.exists():
        return None
    counts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    joined = path.stat().st_mtime_ns
    newer = [p for p in (out / FOLDER).glob("*.jsonl") if p.stat().st_mtime_ns > joined]
    return None if newer or counts["examples"]["asked"] != settings.n else counts


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
