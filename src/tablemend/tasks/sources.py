"""Examples from where a recipe says they are: generated, a file, a folder, or the Hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tablemend.config import EXAMPLE_FILES, HUB, SMALL_WORLD, Source
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.synthesis import small_world


def read_examples(source: Source) -> list[Example]:
    """The examples of a source, at most ``source.n`` of them, from the front.

    Raises:
        TablemendError: there is no such file, it holds no examples or fewer than ``n``, or a
            record lacks a field; the message names the file and the record.
    """
    examples = list(islice(_stream(source), source.n))
    if not examples:
        raise TablemendError(f"{source.source} holds no example")
    if source.n is not None and len(examples) < source.n:
        raise TablemendError(
            f"{source.source} holds {len(examples)} examples, n asks for {source.n}: "
            "lower n or make more data"
        )
    return examples


def check_local(*sources: Source | None) -> None:
    """Refuse sources on this machine that are not there; nothing is read.

    Raises:
        TablemendError: see :func:`read_examples`.
    """
    for source in sources:
        if source and source.source != SMALL_WORLD and not source.source.startswith(HUB):
            _file(Path(source.source), source.split)


def _stream(source: Source) -> Iterator[Example]:
    if source.source == SMALL_WORLD:
        assert source.n is not None  # refused by the configuration
        return small_world.examples(source.seed, source.n)
    if source.source.startswith(HUB):
        return _parse(_hub_records(source), source.source)
    path = _file(Path(source.source), source.split)
    records = _json_records(path) if path.suffix == ".jsonl" else _parquet_records(path)
    return _parse(records, str(path))


def _file(path: Path, split: str | None) -> Path:
    """The one file that a path and a split name."""
    if path.is_file():
        if path.suffix not in EXAMPLE_FILES:
            raise TablemendError(
                f"{path}: examples are read from {' or '.join(EXAMPLE_FILES)} files"
            )
        return path
    if not path.is_dir():
        raise TablemendError(
            f"no file or folder {path}: make the data first (python data_gen/tablehallu.py "
            f"--help), or write {HUB}owner/name for a data set on the Hub"
        )
    candidates = [path / f"{split}{suffix}" for suffix in EXAMPLE_FILES]
    found = [candidate for candidate in candidates if candidate.is_file()]
    if len(found) != 1:
        present = ", ".join(sorted(entry.name for entry in path.iterdir())) or "nothing"
        wanted = " or ".join(candidate.name for candidate in candidates)
        raise TablemendError(f"{path}: needs exactly one of {wanted}, has {present}")
    return found[0]


def _parse(records: Iterator[dict[str, Any]], where: str) -> Iterator[Example]:
    for number, record in enumerate(records, 1):
        try:
            yield Example.from_json(record)
        except (KeyError, TypeError, AttributeError, TablemendError) as error:
            raise TablemendError(
                f"{where}: record {number} is no tablemend example ({error!r}): "
                "make the data with python data_gen/tablehallu.py"
            ) from error


def _json_records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise TablemendError(f"{path}:{number} is not a line of JSON: {error}") from error


def _parquet_records(path: Path) -> Iterator[dict[str, Any]]:
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                yield from batch.to_pylist()
    except (ArrowException, OSError) as error:
        raise TablemendError(f"{path} is not readable as Parquet: {error}") from error


def _hub_records(source: Source) -> Iterator[dict[str, Any]]:
    import datasets

    name = source.source.removeprefix(HUB)
    try:
        rows = datasets.load_dataset(name, split=source.split, revision=source.revision)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise TablemendError(f"cannot load {source.source}: {reason}") from error
    yield from rows
