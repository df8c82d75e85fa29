"""From finished rows to one data set, in order of number: the same bytes whoever made the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tablemend.datasets.splits import SPLITS, Split, split_of
from tablemend.datasets.tablehallu.files import encode, example_file
from tablemend.datasets.tablehallu_llm.card import write_card
from tablemend.datasets.tablehallu_llm.counts import Counts
from tablemend.datasets.tablehallu_llm.duplicates import KernelIndex
from tablemend.datasets.tablehallu_llm.row_files import RowIndex, append_whole
from tablemend.datasets.tablehallu_llm.rows import Rejection, Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.topics import split_key
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.runs import replace_file, write_json, write_text

COUNTS = "counts.json"
REJECTED = "rejected.jsonl"
CARD = "README.md"
KERNELS = ".kernels.sqlite.tmp"
NEAR_DUPLICATE = Rejection("join", "near-duplicate kernel", "as the kernel of row {}", 0)


def join_rows(settings: LlmSynthesis, index: RowIndex) -> dict[str, Any]:
    """Write the files of a data set from its rows; one row at a time is in memory.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: a line holds no row, or no row has an example.
    """
    out = Path(settings.out)
    (out / COUNTS).unlink(missing_ok=True)  # from here to its return the data set is unfinished
    (out / CARD).unlink(missing_ok=True)
    counts = Counts()
    with _split_files(out, settings.format) as write, _Rejected(out / REJECTED) as rejected:
        rows = _found_repeats(out, index) if settings.kernel == "llm" else _all(index)
        for row, repeated in rows:
            counts.add(row)
            rejections = row.rejections
            if repeated is not None:
                rejection = NEAR_DUPLICATE._replace(text=NEAR_DUPLICATE.text.format(repeated))
                rejections = (*rejections, rejection)
                counts.reject(rejection.stage, rejection.kind)
                counts.near_duplicates += 1
            elif row.example is not None:
                split = split_of(_split_key(row.example, settings), settings.shares)
                write(row.example, split)
                counts.take(row.example, split)
            rejected.write(row.number, rejections)
    found = counts.to_json(settings, SPLITS)
    if not counts.made:
        raise TablemendError(
            f"none of {settings.n} rows could be made: {out / REJECTED} says why of each "
            f"({_first(found['rejected'])})"
        )
    write_text(out / CARD, write_card(settings, found))
    write_json(out / COUNTS, found)
    return found


def _all(index: RowIndex) -> Iterator[tuple[Row, None]]:
    """Rows in order of number; the program may cut one table often, as its splits allow."""
    for number in range(index.n):
        yield index.read(number), None


def _found_repeats(out: Path, index: RowIndex) -> Iterator[tuple[Row, int | None]]:
    """Rows in order of number, each with that of an earlier one with nearly the same kernel."""
    path = out / KERNELS
    _remove_kernels(path)
    try:
        with KernelIndex(path) as kernels:
            for number in range(index.n):
                row = index.read(number)
                example = row.example
                found = example and kernels.add_or_find(str(number), example.gold_table)
                yield row, int(found) if found else None
    finally:
        _remove_kernels(path)


def _remove_kernels(path: Path) -> None:
    for found in path.parent.glob(f"{path.name}*"):  # SQLite keeps files beside it
        found.unlink(missing_ok=True)


def _split_key(example: Example, settings: LlmSynthesis) -> str:
    """What decides the split: the topic, or the table that the program cut the example from."""
    return split_key(example.topic) if settings.kernel == "llm" else example.source_hash


@contextmanager
def _split_files(out: Path, form: str) -> Iterator[Callable[[Example, Split], None]]:
    """What writes examples into the file of their split, which comes with the first of them."""
    found: dict[Split, Callable[[str], object]] = {}
    with ExitStack() as stack:

        def write(example: Example, split: Split) -> None:
            if split not in found:
                found[split] = stack.enter_context(example_file(out / f"{split}.{form}"))
            found[split](encode(example))

        yield write
    for split in set(SPLITS) - found.keys():
        (out / f"{split}.{form}").unlink(missing_ok=True)


class _Rejected:
    """``rejected.jsonl``: every rejection of every row, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.tmp")
        self._file = self._temporary.open("wb", buffering=0)
        self._end = 0

    def __enter__(self) -> _Rejected:
        return self

    def write(self, number: int, rejections: tuple[Rejection, ...]) -> None:
        """Append the rejections of a row."""
        if rejections:
            lines = [
                json.dumps({"row": number, **rejection._asdict()}, ensure_ascii=False) + "\n"
                for rejection in rejections
            ]
            data = "".join(lines).encode("utf-8", "replace")
            self._end = append_whole(self._file, data, self._end)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                replace_file(self._temporary, self._path)
        finally:
            self._file.close()
            self._temporary.unlink(missing_ok=True)


def _first(rejected: Mapping[str, Mapping[str, int]]) -> str:
    """The most frequent reason of every stage."""
    return "; ".join(
        f"{stage}: {next(iter(kinds.values()))} x {next(iter(kinds))}"
        for stage, kinds in rejected.items()
    )
