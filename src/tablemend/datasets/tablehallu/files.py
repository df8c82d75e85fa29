"""The files of a data set of examples: whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablemend.datasets.splits import SPLITS, Split
from tablemend.errors import TablemendError, install
from tablemend.records import Example
from tablemend.runs import replace_file, to_line

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_A_GROUP = 64

EXAMPLE: dict[str, Any] = {
    **dict.fromkeys(("topic", "category", "domain", "query"), str),
    "constraints": {
        "entity_scope": [str],
        "numerical_range": str,
        "sort_column": str,
        "sort_order": str,
        "conditions": [{"column": str, "low": str, "high": str, "values": [str]}],
    },
    "gold_table": {"title": str, "columns": [str], "rows": [[str]]},
    **dict.fromkeys(("gold_context", "adversarial_context", "difficulty"), str),
    "facts": [
        {
            "row": int,
            **dict.fromkeys(("entity", "column", "value", "violates"), str),
            "clean": [int],
            "adversarial": [int],
        }
    ],
    **dict.fromkeys(("source", "source_hash", "engine"), str),
    "seed": int,
    "id": str,
    "calls": [
        {
            "stage": str,
            "attempt": int,
            **dict.fromkeys(("prompt", "model"), str),
            **dict.fromkeys(("prompt_tokens", "completion_tokens"), int),
            **dict.fromkeys(("finish_reason", "verdict"), str),
        }
    ],
}
"""Types of an example's fields (:data:`tablemend.datasets.card.Fields`)."""


def encode(example: Example) -> str:
    """The example as one line of JSON, its facts last."""
    data = example.to_json()
    facts = data.pop("facts")
    return to_line({**data, "facts": facts})


@contextmanager
def example_file(path: Path) -> Iterator[Callable[[str], object]]:
    """What writes examples, each a line of JSON, into a file.

    Args:
        path: ends with ``.jsonl`` or ``.parquet``; it has its name only when it is whole.

    Raises:
        TablemendError: Parquet without its library.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        if path.suffix == ".jsonl":
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                yield file.write
        else:
            with _parquet_file(temporary) as write:
                yield write
        replace_file(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def split_files(out: Path, form: str) -> Iterator[Callable[[str, Split], None]]:
    """What writes lines into the file of their split, which comes with the first of them.

    Args:
        out: the folder; files of other splits there are removed.
        form: ``jsonl`` or ``parquet``.
    """
    found: dict[Split, Callable[[str], object]] = {}
    with ExitStack() as stack:

        def write(line: str, split: Split) -> None:
            if split not in found:
                found[split] = stack.enter_context(example_file(out / f"{split}.{form}"))
            found[split](line)

        yield write
    for split in set(SPLITS) - found.keys():
        (out / f"{split}.{form}").unlink(missing_ok=True)


@contextmanager
def _parquet_file(path: Path) -> Iterator[Callable[[str], object]]:
    """Parquet with a fixed schema, :data:`ROWS_A_GROUP` examples a row group."""
    pq = _parquet()
    import pyarrow as pa

    schema = arrow_schema()
    file = pq.ParquetWriter(path, schema, compression="zstd")
    rows: list[dict[str, Any]] = []

    def flush() -> None:
        if rows:
            file.write_table(pa.Table.from_pylist(rows, schema=schema))
            rows.clear()

    def write(line: str) -> None:
        rows.append(json.loads(line))
        if len(rows) == ROWS_A_GROUP:
            flush()

    try:
        yield write
        flush()
        file.close()
    finally:
        with suppress(OSError):  # of a full disk, which was reported once
            file.close()
        file.is_open = False  # or pyarrow tries once more when it collects the writer


def _parquet() -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TablemendError(
            f"format=parquet needs the extra: {install('data')}, or format=jsonl"
        ) from error
    return pq


def arrow_schema() -> pa.Schema:
    """The Arrow types of an example, so that a file without a value of a kind reads the same."""
    import pyarrow as pa

    return pa.schema([(name, _arrow(kind)) for name, kind in EXAMPLE.items()])


def _arrow(kind: Any) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, list):
        return pa.list_(_arrow(kind[0]))
    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(inner)) for name, inner in kind.items()])
    return pa.int64() if kind is int else pa.string()
