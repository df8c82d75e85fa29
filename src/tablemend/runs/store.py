"""The one resumable store: records by key, in a file of JSON lines that is only appended to."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Hashable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any, Self

from tablemend.errors import TablemendError
from tablemend.foreign import load_json
from tablemend.runs.files import hash_text, lock, to_line

SYNC_SECONDS = 1.0
"""A power cut takes at most the records of so many seconds; a kill takes none."""
HEAD = "settings"


class Store(Mapping[Any, dict[str, Any]]):
    """The records of a file by their key; of two with one key the later counts.

    Whatever stops the writer, whole records stay, and what was cut of one is made again::

        with Store(path, "id", settings) as store:
            for item in items:
                if item.id not in store:
                    store.put({"id": item.id, "answer": answer(item)})

    Reading takes no lock and sees what was whole when the store was opened. In memory is only
    where each record begins.

    Args:
        path: the file; it comes with the first record.
        key: the field of a record that is its key.
        settings: what the records depend on, noted in the file's first line; ``None``: whatever
            is noted there.

    Attributes:
        settings: those noted, or to be noted.

    Raises:
        TablemendError: the file is of other settings, which are named, or holds a line that is no
            record.
    """

    def __init__(self, path: Path, key: str, settings: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.settings = None if settings is None else json.loads(json.dumps(settings))
        self._key = key
        self._places: dict[Hashable, int] = {}
        self._lines = self._end = 0
        self._file: FileIO | None = None
        self._synced = 0.0
        if path.exists():
            self._read_on()

    def __getitem__(self, key: Hashable) -> dict[str, Any]:
        place = self._places[key]
        with self.path.open("rb") as file:
            file.seek(place)
            record: dict[str, Any] = load_json(file.readline())
        return record

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __enter__(self) -> Self:
        """Begin to write, as the only process that does.

        Raises:
            TablemendError: another process is writing.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # unbuffered: closing the file would write once more what the disk had no room for
        self._file = self.path.open("ab+", buffering=0)
        if not lock(self._file):
            self._file.close()
            raise TablemendError(
                f"{self.path} is being written by another process: wait until it has ended"
            )
        self._read_on()
        self._file.truncate(self._end)
        self._synced = time.monotonic()
        return self

    def __exit__(self, *raised: object) -> None:
        assert self._file is not None
        try:
            if self._end:
                os.fsync(self._file.fileno())
            else:
                self.path.unlink(missing_ok=True)
        finally:
            self._file.close()

    def put(self, record: Mapping[str, Any]) -> None:
        """Append a record: all of it, or nothing.

        Raises:
            OSError: for example of a full disk; the records before it stay whole.
        """
        assert self._file is not None, "inside `with store:`"
        head = "" if self._end else to_line({HEAD: self.settings or {}})
        # half of a surrogate pair, which a model can write in JSON, is no text
        lines = [text.encode("utf-8", "replace") for text in (head, to_line(record))]
        rest = memoryview(b"".join(lines))
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            self._file.truncate(self._end)
            error.filename = error.filename or str(self.path)
            raise
        self._places[record[self._key]] = self._end + len(lines[0])
        self._end += sum(map(len, lines))
        self._lines += 2 if head else 1

    def _read_on(self) -> None:
        """Take in the whole lines that are not known yet."""
        with self.path.open("rb") as file:
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):  # being written, or cut
                    return
                self._lines += 1
                try:
                    if self._lines == 1:
                        noted = _settings_in(line, self.path)
                        if self.settings is not None:
                            refuse_other(noted, self.settings, str(self.path))
                        self.settings = noted
                    else:
                        self._places[load_json(line)[self._key]] = self._end
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    why = f"no {self._key!r}" if isinstance(error, KeyError) else error
                    raise TablemendError(
                        f"{self.path}:{self._lines} is no record ({why}): take the line out, and "
                        "it is made again"
                    ) from error
                self._end += len(line)


def settings_of(path: Path) -> dict[str, Any] | None:
    """What the records of a store's file were made with; ``None`` where there are none.

    Raises:
        TablemendError: the first line does not say so.
    """
    if not path.exists():
        return None
    with path.open("rb") as file:
        line = file.readline()
    return _settings_in(line, path) if line.endswith(b"\n") else None


def _settings_in(line: bytes, path: Path) -> dict[str, Any]:
    try:
        return dict(load_json(line)[HEAD])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TablemendError(
            f"{path}:1 does not say what its records were made with: it is of another kind, or of "
            "a version before stores had settings (2026-11-23); move it away"
        ) from error


def hash_settings(settings: Mapping[str, Any]) -> str:
    """Hash of settings, whatever their order."""
    return hash_text(json.dumps(settings, sort_keys=True))


def refuse_other(old: Any, new: Any, where: str) -> None:
    """Refuse what was made with other settings than those of now, naming them.

    Raises:
        TablemendError: a setting differs.
    """
    if changed := differences(old, new):
        raise TablemendError(
            f"{where} was made with other settings ({'; '.join(changed)}): give those again, or "
            "another place to write to"
        )


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """What differs between two nested settings, one line a dotted key."""
    before, after = dict(leaves(old, path)), dict(leaves(new, path))
    return [
        f"{key} was {before.get(key)!r}, is {after.get(key)!r}"
        for key in before | after
        if before.get(key) != after.get(key)
    ]


def leaves(data: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values of nested settings by their dotted keys, which begin with ``path``."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from leaves(value, f"{path}.{name}" if path else name)
    else:
        yield path, data
