"""A data set by language models: estimated, made row by row, joined when all rows are there.

The folder holds ``rows.jsonl``, to which every row is appended as it ends, and in the end
``train``, ``validation`` and ``test``, ``counts.json``, ``rejected.jsonl`` (every rejection with
its reason) and a card. Rows are kept: they were paid for, and with a larger n the data set is
joined anew from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.datasets.build import COUNTS, SETTINGS, refuse_other_files, split_files
from tablemend.datasets.splits import split_of
from tablemend.datasets.tablehallu.dataset import sizes_of
from tablemend.datasets.tablehallu.statistics_plot import FILE, draw_statistics
from tablemend.datasets.tablehallu_llm.card import card_of
from tablemend.datasets.tablehallu_llm.counts import Counts, cost_of, estimate, has_failed
from tablemend.datasets.tablehallu_llm.duplicates import Kernels
from tablemend.datasets.tablehallu_llm.model_rows import OpenMaker, RowMaker, make_rows
from tablemend.datasets.tablehallu_llm.prompting import prompts_hash
from tablemend.datasets.tablehallu_llm.rows import Rejection, Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import ENGINE
from tablemend.datasets.tablehallu_llm.topics import open_topics, split_key
from tablemend.errors import MOST_FAILURES, Stopped, TablemendError
from tablemend.records import Example
from tablemend.runs import (
    MOVE_AWAY,
    Store,
    read_object,
    to_line,
    write_json,
    write_jsonl,
    write_text,
)

ROWS = "rows.jsonl"
REJECTED = "rejected.jsonl"


def make_llm_dataset(settings: LlmSynthesis, open_maker: OpenMaker = RowMaker) -> None:
    """Make a data set, or go on with it, or find it finished; say what came.

    Rows whose requests failed for good are asked for again.

    Args:
        settings: what to make and where.
        open_maker: opens what makes the rows.

    Raises:
        BudgetSpent: a cap is reached; what was made is kept.
        Stopped: the requests of many rows in a row failed for good; likewise.
        TablemendError: the folder holds something else or is being written, a model cannot be
            had, or no row could be made.
    """
    topics = open_topics(settings.topics, settings.seed)
    out = Path(settings.out)
    _check_folder(out, settings.n)
    versions = {"engine_version": ENGINE, "topics": topics.digest, "prompts": prompts_hash()}
    store = Store(out / ROWS, "number", {**versions, **settings.noted()})
    made, failed = Counts(), set[int]()
    for number in (number for number in store if number < settings.n):
        row = store[number]
        made.add(row)
        if has_failed(row):
            failed.add(number)
    missing = [n for n in range(settings.n) if n not in store or n in failed]
    with ExitStack() as stack:
        maker = None
        if missing and not settings.estimate_only:
            maker = open_maker(settings, topics, stack)
        if missing:
            if settings.n > topics.count:
                print(
                    f"note: there are {topics.count:,} topics; later rows take them again (with "
                    "other years, where they have some), and near-duplicate kernels are dropped"
                )
            print(estimate(settings, len(missing), made))
        if settings.estimate_only:
            return
        stack.callback(_remove_if_empty, out)
        stack.enter_context(store)
        if maker is not None:
            _make_missing(settings, maker, store, missing, failed)
        print(report(_join(settings, store), out))


def _check_folder(out: Path, n: int) -> None:
    """Refuse a folder with anything else, or with a larger data set."""
    refuse_other_files(out, ROWS)
    if (out / COUNTS).exists():
        asked = read_object(out / COUNTS, MOVE_AWAY)["examples"]["asked"]
        if n < asked:
            raise TablemendError(
                f"out={out} holds a data set of n={asked}, which n={n} would make smaller: "
                "give another out=, or no smaller n"
            )


def _remove_if_empty(out: Path) -> None:
    with suppress(OSError):
        out.rmdir()


def _make_missing(
    settings: LlmSynthesis,
    maker: RowMaker,
    store: Store,
    missing: Sequence[int],
    failed_before: set[int],
) -> None:
    """Make what is missing; append each row as it ends.

    Raises:
        Stopped: the :data:`MOST_FAILURES` latest rows have failed. Those that an earlier command
            has seen fail do not count: what no server will ever answer must not keep a data set
            from its end.
    """
    counts = Counts()
    in_a_row = 0
    with tqdm(total=len(missing), unit="row", disable=None) as bar:

        def done(row: Row) -> None:
            nonlocal in_a_row
            record = row.to_json()
            store.put(record)
            counts.add(record)
            bar.set_postfix(_figures(settings, counts), refresh=False)
            bar.update()
            if not has_failed(record):
                in_a_row = 0
                return
            in_a_row += row.number not in failed_before
            if in_a_row == MOST_FAILURES:
                raise Stopped(
                    f"requests of {in_a_row} rows in a row failed for good, the last because "
                    f"{row.rejections[-1].text}: mend that; the same command makes these rows "
                    "anew and goes on"
                )

        make_rows(maker, missing, done, settings.concurrency)


def _figures(settings: LlmSynthesis, counts: Counts) -> dict[str, str]:
    """What the progress bar shows."""
    cost = cost_of(counts.usage, settings)
    shown = {"given_up": str(counts.examples["given_up"]), "tokens": f"{counts.tokens():,}"}
    return shown if cost is None else shown | {"cost": f"{sum(cost.values()):,.2f}"}


def _join(settings: LlmSynthesis, store: Store) -> dict[str, Any]:
    """Write the files from the rows, in order of number: the same bytes whatever order they had.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: no row has an example.
    """
    out = Path(settings.out)
    for name in (COUNTS, FILE):  # from here to its return the data set is unfinished
        (out / name).unlink(missing_ok=True)
    counts, kernels = Counts(), Kernels()
    rejected: list[dict[str, Any]] = []
    with split_files(out) as write:
        for number in range(settings.n):
            row = store[number]
            if row["example"] is not None:
                example = Example.from_json(row["example"])
                repeated = kernels.add_or_find(number, example.gold_table)
                if repeated is None:
                    split = split_of(split_key(example.topic), settings.shares)
                    write(to_line(row["example"]), split)
                    counts.examples["made"] += 1
                    counts.splits[split] += 1
                    counts.sizes.update(sizes_of(example))
                else:
                    same = f"as the kernel of row {repeated}"
                    found = Rejection("join", "near-duplicate kernel", same, 0)._asdict()
                    row["rejections"].append(found)
                    counts.examples["near_duplicates"] += 1
            counts.add(row)
            rejected += ({"row": number, **rejection} for rejection in row["rejections"])
    write_jsonl(out / REJECTED, rejected)
    found = counts.to_json(settings)
    if not found["examples"]["made"]:
        kinds = (kinds for kinds in found["rejected"].values())
        reasons = "; ".join(f"{n} x {kind}" for own in kinds for kind, n in own.items())
        raise TablemendError(
            f"none of {settings.n} rows could be made: {out / REJECTED} says why of each "
            f"({reasons})"
        )
    write_text(out / "README.md", card_of(settings, found))
    draw_statistics(out, found["sizes"])
    write_json(out / SETTINGS, store.settings)
    write_json(out / COUNTS, found)
    return found


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
