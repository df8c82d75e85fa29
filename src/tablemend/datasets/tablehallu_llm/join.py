"""From finished rows to one data set, in order of number: the same bytes whoever made the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablemend.datasets.splits import SPLITS, split_of
from tablemend.datasets.tablehallu.files import encode, split_files
from tablemend.datasets.tablehallu_llm.card import write_card
from tablemend.datasets.tablehallu_llm.counts import Counts
from tablemend.datasets.tablehallu_llm.duplicates import Kernels
from tablemend.datasets.tablehallu_llm.rows import Rejection, Rows
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.topics import split_key
from tablemend.errors import TablemendError
from tablemend.runs import write_json, write_jsonl, write_text

COUNTS = "counts.json"
REJECTED = "rejected.jsonl"
CARD = "README.md"
NEAR_DUPLICATE = Rejection("join", "near-duplicate kernel", "as the kernel of row {}", 0)


def join_rows(settings: LlmSynthesis, rows: Rows) -> dict[str, Any]:
    """Write the files of a data set from its rows; one row at a time is in memory.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: a row cannot be read, or none has an example.
    """
    out = Path(settings.out)
    (out / COUNTS).unlink(missing_ok=True)  # from here to its return the data set is unfinished
    counts, kernels = Counts(), Kernels()
    rejected: list[dict[str, Any]] = []
    with split_files(out, settings.format) as write:
        for number in rows:
            row = rows[number]
            counts.add(row)
            rejections = list(row.rejections)
            if row.example is not None:
                repeated = kernels.add_or_find(number, row.example.gold_table)
                if repeated is None:
                    split = split_of(split_key(row.example.topic), settings.shares)
                    write(encode(row.example), split)
                    counts.take(row.example, split)
                else:
                    text = NEAR_DUPLICATE.text.format(repeated)
                    rejections.append(NEAR_DUPLICATE._replace(text=text))
                    counts.reject(NEAR_DUPLICATE)
                    counts.examples["near_duplicates"] += 1
            rejected += ({"row": number, **rejection._asdict()} for rejection in rejections)
    write_jsonl(out / REJECTED, rejected)
    found = counts.to_json(settings, SPLITS)
    if not found["examples"]["made"]:
        reasons = "; ".join(
            f"{stage}: {next(iter(kinds.values()))} x {next(iter(kinds))}"
            for stage, kinds in found["rejected"].items()
        )
        raise TablemendError(
            f"none of {settings.n} rows could be made: {out / REJECTED} says why of each "
            f"({reasons})"
        )
    write_text(out / CARD, write_card(settings, found))
    write_json(out / COUNTS, found)
    return found
