"""The files of a data set: one example at a time, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from json.encoder import encode_basestring as quote
from pathlib import Path
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any, Protocol

from tablemend.datasets.tablehallu.settings import Split
from tablemend.errors import TablemendError, install
from tablemend.records import Example
from tablemend.runs import replace_file

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


class Writer(Protocol):
    """Takes examples and makes one file of them."""

    def write(self, example: Example) -> None:
        """Append an example."""

    def close(self) -> None:
        """Finish the file: only now it has its name."""

    def discard(self) -> None:
        """Give up: no file remains."""


def encode(example: Example) -> str:
    """The example as one line of JSON: ``json.dumps(example.to_json())`` in half the time.

    The hundreds of facts are most of an example, so they are written without dicts.
    """
    head: dict[str, Any] = {name: getattr(example, name) for name in example.__slots__}
    del head["facts"]
    head["constraints"] = asdict(example.constraints)
    head["gold_table"] = example.gold_table.to_json()
    head["calls"] = [call._asdict() for call in example.calls]
    facts = []
    known: dict[str | None, str] = {None: "null"}  # entities and columns come again and again
    for row, entity, column, value, violates, clean, (start, end, first, last) in example.facts:
        for text in (entity, column, violates):
            if text not in known and text is not None:
                known[text] = quote(text)
        place = "null" if clean is None else str(list(clean))
        facts.append(
            f'{{"row": {row}, "entity": {known[entity]}, "column": {known[column]}, '
            f'"value": {quote(value)}, "violates": {known[violates]}, "clean": {place}, '
            f'"adversarial": [{start}, {end}, {first}, {last}]}}'
        )
    line = json.dumps(head, ensure_ascii=False)
    return f'{line[:-1]}, "facts": [{", ".join(facts)}]}}\n'


class JsonlWriter:
    """JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.tmp")
        self._file = self._temporary.open("w", encoding="utf-8", newline="\n")

    def write(self, example: Example) -> None:
        """Append a line."""
        self._file.write(encode(example))

    def close(self) -> None:
        """Write to the disk, then rename."""
        self._file.close()
        replace_file(self._temporary, self._path)

    def discard(self) -> None:
        """Remove the unfinished file."""
        _give_up(self._file, self._temporary)


class ParquetWriter:
    """Parquet with a fixed schema, :data:`ROWS_A_GROUP` examples a row group."""

    def __init__(self, path: Path) -> None:
        pq = _parquet()
        self._path = path
        self._temporary = path.with_name(f".{path.name}.tmp")
        self._schema = arrow_schema()
        try:  # the format's first bytes are written here
            self._file = pq.ParquetWriter(self._temporary, self._schema, compression="zstd")
        except OSError:
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)
            raise
        self._rows: list[dict[str, Any]] = []

    def write(self, example: Example) -> None:
        """Append a row."""
        self._rows.append(example.to_json())
        if len(self._rows) == ROWS_A_GROUP:
            self._flush()

    def close(self) -> None:
        """Write the footer, then rename."""
        self._flush()
        self._file.close()
        replace_file(self._temporary, self._path)

    def discard(self) -> None:
        """Remove the unfinished file."""
        _give_up(self._file, self._temporary)
        self._file.is_open = False  # or pyarrow tries once more when it collects the writer

    def _flush(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._file.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


def _give_up(file: Any, temporary: Path) -> None:
    """Close and remove; on a full disk closing fails again, and the first error tells more."""
    with suppress(OSError):
        file.close()
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def open_writer(folder: Path, stem: str, form: str) -> Writer:
    """A writer for ``<folder>/<stem>.<form>``."""
    path = folder / f"{stem}.{form}"
    return JsonlWriter(path) if form == "jsonl" else ParquetWriter(path)


def join_parts(out: Path, parts: str, split: Split, form: str) -> None:
    """Join the parts of a split in order into one file, or into none if there is no part."""
    found = sorted((out / parts).glob(f"{split}-*.{form}"))
    target = out / f"{split}.{form}"
    if not found:
        target.unlink(missing_ok=True)
        return
    temporary = out / f".{target.name}.tmp"
    try:
        if form == "jsonl":
            with temporary.open("wb") as file:
                for path in found:
                    with path.open("rb") as part:
                        copyfileobj(part, file, 1 << 20)
        else:
            pq = _parquet()
            with pq.ParquetWriter(temporary, arrow_schema(), compression="zstd") as writer:
                for batch in _batches(found):
                    writer.write_batch(batch)
        replace_file(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _batches(paths: list[Path]) -> Iterator[pa.RecordBatch]:
    pq = _parquet()
    for path in paths:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=ROWS_A_GROUP)


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
