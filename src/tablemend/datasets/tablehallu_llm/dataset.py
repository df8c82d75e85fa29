"""A data set by language models: estimated, made row by row, joined when all rows are there.

The folder holds ``rows/`` with one file a shard, to which every row is appended as it ends, and
in the end ``train``, ``validation`` and ``test``, ``counts.json``, ``rejected.jsonl`` (every
rejection with its reason) and a card. Rows are kept: they were paid for, and with a larger n or
rows of further shards the data set is joined anew from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.datasets.tablehallu_llm.counts import Counts
from tablemend.datasets.tablehallu_llm.estimate import estimate
from tablemend.datasets.tablehallu_llm.join import COUNTS, join_rows
from tablemend.datasets.tablehallu_llm.model_rows import Pair, open_models, run
from tablemend.datasets.tablehallu_llm.preview import preview_rows
from tablemend.datasets.tablehallu_llm.prompting import prompts_hash
from tablemend.datasets.tablehallu_llm.rows import FOLDER, Row, Rows, shard_path
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import ENGINE
from tablemend.datasets.tablehallu_llm.topics import Topics, open_topics
from tablemend.errors import MOST_FAILURES, Stopped, TablemendError
from tablemend.runs import LOCK, Store, read_object, refuse_other, sole_writer, write_json

SETTINGS = "settings.json"
_DAMAGED = f"copy {FOLDER}/ into a new folder and give that as out=, the rows are joined anew"


def make_llm_dataset(settings: LlmSynthesis) -> None:
    """Make a data set or a shard of one, or go on with it, or find it finished; say what came.

    Rows whose requests failed for good are asked for again.

    Raises:
        BudgetSpent: a cap is reached; what was made is kept.
        Stopped: the requests of many rows in a row failed for good; likewise.
        TablemendError: the folder holds something else or is being written, a model cannot be
            had, a row cannot be read, or no row could be made.
    """
    topics = open_topics(settings.topics, settings.seed)
    if settings.preview is not None:
        preview_rows(settings, topics)
        return
    noted, out = noted_of(settings, topics), Path(settings.out)
    _check_folder(out, noted, settings.n)
    if (out / COUNTS).exists() and not (out / FOLDER).exists():  # not needed any more
        print(report(read_object(out / COUNTS, _DAMAGED), out))
        return
    rows = Rows(out, settings.n, noted)
    if missing := len(list(_missing(settings, rows))):
        with ExitStack() as stack:
            pair = None if settings.estimate_only else open_models(settings, stack)
            if settings.n > topics.count:
                print(
                    f"note: there are {topics.count:,} topics; later rows take them again (with "
                    "other years, where they have some), and near-duplicate kernels are dropped"
                )
            print(estimate(settings, missing, rows.usage, rows.seconds, len(rows)))
            if pair is not None:
                _make_missing(settings, topics, pair, noted)
    if not settings.estimate_only:
        _join(settings, noted)


def noted_of(settings: LlmSynthesis, topics: Topics) -> dict[str, Any]:
    """All that the rows depend on."""
    versions = {"engine_version": ENGINE, "topics": topics.digest, "prompts": prompts_hash()}
    return {**versions, **settings.noted()}


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
    return path.name in (FOLDER, LOCK) or (path.name.startswith(".") and path.suffix == ".tmp")


def _missing(settings: LlmSynthesis, rows: Rows) -> Iterator[int]:
    """Numbers of the shard that are not there, or whose requests failed."""
    part, parts = settings.part
    return (n for n in range(part, settings.n, parts) if n not in rows or n in rows.failed)


def _make_missing(
    settings: LlmSynthesis, topics: Topics, pair: Pair, noted: dict[str, Any]
) -> None:
    """Make what is missing of the shard, as the only process that does; append each row as it ends.

    Raises:
        Stopped: the :data:`MOST_FAILURES` latest rows have failed. Those that an earlier command
            has seen fail do not count: what no server will ever answer must not keep a data set
            from its end.
    """
    out = Path(settings.out)
    with Store(shard_path(out, *settings.part), "number", noted) as store:
        rows = Rows(out, settings.n, noted)
        write_json(out / SETTINGS, noted)  # they fit the rows
        numbers = list(_missing(settings, rows))
        counts = Counts()
        in_a_row = 0
        with tqdm(total=len(numbers), unit="row", disable=None) as bar:

            def done(row: Row, seconds: float) -> None:
                nonlocal in_a_row
                store.put({"seconds": round(seconds, 3), **row.to_json()})
                counts.add(row)
                bar.set_postfix(_figures(settings, counts), refresh=False)
                bar.update()
                if not row.failed:
                    in_a_row = 0
                    return
                in_a_row += row.number not in rows.failed
                if in_a_row == MOST_FAILURES:
                    raise Stopped(
                        f"requests of {in_a_row} rows in a row failed for good, the last because "
                        f"{row.rejections[-1].text}: mend that; the same command makes these rows "
                        "anew and goes on"
                    )

            run(settings, topics, pair, numbers, done)


def _figures(settings: LlmSynthesis, counts: Counts) -> dict[str, str]:
    """What the progress bar shows."""
    spent, cost = counts.usage.total(), counts.usage.cost(settings)
    shown = {
        "given_up": str(counts.examples["given_up"]),
        "tokens": f"{spent.prompt_tokens + spent.completion_tokens:,}",
    }
    return shown if cost is None else shown | {"cost": f"{sum(cost.values()):,.2f}"}


def _join(settings: LlmSynthesis, noted: dict[str, Any]) -> None:
    """Join the rows where those of all shards are there, and say what came of them."""
    out = Path(settings.out)
    with sole_writer(out / FOLDER):
        rows = Rows(out, settings.n, noted)
        if missing := settings.n - len(rows):
            print(
                f"shard {settings.shard} is whole; {missing:,} rows of other shards are not in "
                f"{out / FOLDER} yet: bring their files there and run the command of any shard"
            )
            return
        write_json(out / SETTINGS, noted)
        print(report(join_rows(settings, rows), out))


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
            "the same command asks for them again"
        )
    if examples["near_duplicates"]:
        lines.append(f"near-duplicate kernels dropped: {examples['near_duplicates']}")
    for stage, verdicts in counts["verdicts"].items():
        words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        lines.append(f"  {stage}: {words}")
    for stage, kinds in counts["rejected"].items():
        lines += [f"  rejected: {stage}: {count} x {kind}" for kind, count in kinds.items()]
    return "\n".join(lines)
