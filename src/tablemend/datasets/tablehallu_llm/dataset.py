"""A data set by language models: estimated, made row by row, joined when all rows are there.

The folder holds ``rows.jsonl``, to which every row is appended as it ends, and in the end
``train``, ``validation`` and ``test``, ``counts.json``, ``rejected.jsonl`` (every rejection with
its reason) and a card. Rows are kept: they were paid for, and with a larger n the data set is
joined anew from them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.datasets.build import (
    COUNTS,
    SETTINGS,
    no_empty_folder,
    refuse_other_files,
    split_files,
)
from tablemend.datasets.card import FILE, draw_statistics
from tablemend.datasets.splits import split_of
from tablemend.datasets.tablehallu_llm.asking import Rejection, Row
from tablemend.datasets.tablehallu_llm.card import card_of
from tablemend.datasets.tablehallu_llm.counts import Counts, cost_of, estimate, has_failed
from tablemend.datasets.tablehallu_llm.prompting import PROMPTS
from tablemend.datasets.tablehallu_llm.settings import FREE, LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import ENGINE, RowMaker
from tablemend.datasets.tablehallu_llm.topics import Topics, open_topics, split_key
from tablemend.datasets.tablehallu_llm.wording import ENGINE as QUERY_LAST
from tablemend.datasets.tablehallu_llm.wording import ContextMaker
from tablemend.errors import MOST_FAILURES, Stopped, TablemendError
from tablemend.records import Example
from tablemend.runs import Store, to_line, write_json, write_jsonl, write_text
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.dataset import sizes_of
from tablemend.values.text import fold

MAKERS = {"kernel-first": (ENGINE, RowMaker), "query-last": (QUERY_LAST, ContextMaker)}
ROWS = "rows.jsonl"
REJECTED = "rejected.jsonl"


def make_llm_dataset(
    settings: LlmSynthesis,
    open_maker: Callable[[LlmSynthesis, Topics, ExitStack], RowMaker] | None = None,
) -> None:
    """Make a data set, or go on with it, or find it finished; say what came.

    Rows whose requests failed for good are asked for again.

    Raises:
        BudgetSpent: a cap is reached; what was made is kept.
        Stopped: the requests of many rows in a row failed for good; likewise.
        TablemendError: the folder holds something else or is being written, a model cannot be
            had, or no row could be made.
    """
    topics = open_topics(settings.topics, settings.seed)
    engine, made_by = MAKERS[settings.order]
    out = Path(settings.out)
    refuse_other_files(out, ROWS)
    with ExitStack() as stack:
        maker = (open_maker or made_by)(settings, topics, stack)
        noted = {
            "engine_version": engine,
            "topics": topics.digest,
            "prompts": PROMPTS.hash,
            **settings.model_dump(mode="json", exclude=set(FREE)),
            **maker.identity,
        }
        store = Store(out / ROWS, "number", noted)
        made = Counts()
        for number in (number for number in store if number < settings.n):
            made.add(store[number])
        failed = {n for n in range(settings.n) if n in store and has_failed(store[n])}
        missing = [n for n in range(settings.n) if n not in store or n in failed]
        if missing and settings.n > topics.count and settings.order == "kernel-first":
            print(f"note: there are {topics.count:,} topics; later rows take them again")
        if missing:
            print(estimate(settings, len(missing), made))
        if settings.estimate_only:
            return
        stack.enter_context(no_empty_folder(out))
        stack.enter_context(store)
        if missing:
            _make_missing(settings, maker, store, missing, failed)
        print(report(_join(settings, store), out))


def _make_missing(
    settings: LlmSynthesis,
    maker: RowMaker,
    store: Store,
    missing: Sequence[int],
    failed_before: set[int],
) -> None:
    """Make what is missing, ``concurrency`` rows at a time; append each row as it ends.

    Whatever goes wrong in one row, no further row is begun; those in the making end, and what is
    whole by then is stored.

    Raises:
        Stopped: the :data:`MOST_FAILURES` latest rows have failed. Those that an earlier command
            has seen fail do not count: what no server will ever answer must not keep a data set
            from its end.
        Exception: the first error of a row.
    """
    counts, waiting = Counts(), iter(missing)
    errors: list[Exception] = []
    in_a_row = 0

    def done(row: Row) -> None:
        nonlocal in_a_row
        record = row.to_json()
        store.put(record)
        counts.add(record)
        spent = cost_of(counts.usage, settings)
        cost = {} if spent is None else {"cost": f"{sum(spent.values()):,.2f}"}
        tokens = sum(used.total() - used["calls"] for used in counts.usage.values())
        shown = {"given_up": counts.examples["given_up"], "tokens": f"{tokens:,}"}
        bar.set_postfix(shown | cost, refresh=False)
        bar.update()
        failed = has_failed(record)
        in_a_row = in_a_row + (row.number not in failed_before) if failed else 0
        if failed and in_a_row == MOST_FAILURES:
            raise Stopped(
                f"requests of {in_a_row} rows in a row failed for good, the last because "
                f"{row.rejections[-1].text}: mend that; the same command makes these rows "
                "anew and goes on"
            )

    async def work() -> None:
        while not errors and (number := next(waiting, None)) is not None:
            try:
                done(await maker.make(number))
            except Exception as error:
                errors.append(error)

    async def make_all() -> None:
        try:
            await asyncio.gather(*(work() for _ in range(settings.concurrency)))
        finally:
            await maker.leave()

    with tqdm(total=len(missing), unit="row", disable=None) as bar:
        asyncio.run(make_all())
    if errors:
        raise errors[0]


def _join(settings: LlmSynthesis, store: Store) -> dict[str, Any]:
    """Write the files from the rows, in order of number: the same bytes whatever order they had.

    Returns the counts, as in ``counts.json``; it is an error that no row has an example.
    """
    out = Path(settings.out)
    for name in (COUNTS, FILE):  # from here to its return the data set is unfinished
        (out / name).unlink(missing_ok=True)
    counts = Counts()
    tables: dict[frozenset[frozenset[str]], int] = {}
    rejected: list[dict[str, Any]] = []
    with split_files(out) as write:
        for number in range(settings.n):
            row = store[number]
            counts.sizes.update(row["counts"])
            for record in row["examples"]:
                example = Example.from_json(record)
                first, key = number, example.source_hash
                if settings.order == "kernel-first":
                    key = split_key(example.topic)
                    if content := _content(example.gold_table):
                        first = tables.setdefault(content, number)
                if first == number:
                    split = split_of(key, settings.shares)
                    write(to_line(record), split)
                    counts.examples["made"] += 1
                    counts.splits[split] += 1
                    counts.sizes.update(sizes_of(example))
                else:
                    found = Rejection("join", "repeated table", f"as in row {first}", 0)
                    row["rejections"].append(found._asdict())
                    counts.examples["repeated"] += 1
            counts.add(row)
            rejected += ({"row": number, **rejection} for rejection in row["rejections"])
    write_jsonl(out / REJECTED, rejected)
    joined = counts.to_json(settings)
    if not joined["examples"]["made"]:
        kinds = (kinds for kinds in joined["rejected"].values())
        reasons = "; ".join(f"{n} x {kind}" for own in kinds for kind, n in own.items())
        why = f"{out / REJECTED} says why of each ({reasons})"
        raise TablemendError(f"none of {settings.n} rows could be made: {why}")
    write_text(out / "README.md", card_of(settings, joined))
    draw_statistics(out, joined["sizes"])
    write_json(out / SETTINGS, store.settings)
    write_json(out / COUNTS, joined)
    return joined


def _content(table: Table) -> frozenset[frozenset[str]]:
    """What two tables share that differ in the order of rows and columns or in headers alone;
    nothing of a table without rows, which repeats none.
    """
    return frozenset(frozenset(fold(cell) for cell in row if cell) for row in table.rows)


def report(counts: dict[str, Any], out: Path) -> str:
    """What came of a data set, in lines for a person."""
    examples = counts["examples"]
    splits = ", ".join(f"{count} {split}" for split, count in counts["splits"].items())
    lines = [f"{examples['asked']} rows gave {examples['made']} examples in {out} ({splits})"]
    kinds = [kind for kind in ("given_up", "repeated") if examples[kind]]
    lines += [f"{kind.replace('_', ' ')}: {examples[kind]}" for kind in kinds]
    if examples["requests_failed"]:
        failed = f"{examples['requests_failed']} of them because a request failed for good"
        lines.append(f"note: {failed}; the same command asks for them again")
    rejected = sum(n for kinds in counts["rejected"].values() for n in kinds.values())
    return "\n".join([*lines, f"rejections: {rejected}; README.md has them by stage and reason"])
