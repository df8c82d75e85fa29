"""Finished rows on the disk: one file a shard, locked, only ever appended to.

A file begins with the settings that its rows were made with, so that it can be carried to another
machine and is refused where it does not belong. What an interruption left of a line is cut off
when the file is opened to be continued.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import time
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import IO, Any

from tablemend.datasets.tablehallu_llm.counts import Usage
from tablemend.datasets.tablehallu_llm.rows import Row, unreadable
from tablemend.errors import TablemendError
from tablemend.records import Call

FOLDER = "rows"
JOIN_LOCK = ".join.lock"
GROUP_ROWS = 32
GROUP_SECONDS = 1.0
"""What a power cut may take: so many rows, or what ended in so many seconds. A process that is
killed loses nothing that was written."""
OPEN_FILES = 128
"""Files of shards that are read at the same time; a process may not open any number."""
_HEAD = "tablemend_rows"
_VERSION = 1
_NAME = re.compile(r"(\d+)-of-(\d+)\.jsonl")


def shard_path(out: Path, part: int, parts: int) -> Path:
    """File of shard ``part``, counted from 0."""
    width = max(2, len(str(parts)))
    return out / FOLDER / f"{part + 1:0{width}}-of-{parts:0{width}}.jsonl"


@contextmanager
def locked_shard(path: Path) -> Iterator[None]:
    """Hold the file of a shard; other shards of the same sharding may be made beside it.

    Raises:
        TablemendError: another process holds this shard, or one of another sharding.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _lock_file(path).open("a+", encoding="utf-8") as file:
        if not _try_lock(file):
            raise TablemendError(
                f"{path} is being written by {_holder(file)}: wait for it, or give another shard= "
                "or out="
            )
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        sharding = path.name.partition("-of-")[2]
        for other in sorted(path.parent.glob(".*-of-*.lock")):
            if not other.name.endswith(f"-of-{sharding}.lock"):
                with other.open("a+", encoding="utf-8") as held:
                    if not _try_lock(held):
                        raise TablemendError(
                            f"{path.parent}: {_holder(held)} makes {other.name[1:-5]}, so rows "
                            "would be made twice: wait for it, or give a shard= of that sharding"
                        )
        yield


@contextmanager
def locked_join(out: Path) -> Iterator[None]:
    """Wait until nobody else joins the rows of a folder."""
    with (out / FOLDER / JOIN_LOCK).open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _lock_file(path: Path) -> Path:
    # beside the rows, never removed: a lock on a file that is gone locks nothing
    return path.with_name(f".{path.name}.lock")


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise TablemendError(
            f"{file.name} cannot be locked ({error.strerror}): give an out= on a disk that can"
        ) from error
    return True


def _holder(file: IO[str]) -> str:
    file.seek(0)
    return file.read().strip() or "another process"


class RowWriter:
    """Appends rows to the file of a shard, each as a whole line.

    Args:
        path: the file; it is continued where it is there.
        noted: what the rows depend on.
    """

    def __init__(self, path: Path, noted: Mapping[str, Any]) -> None:
        self._path = path
        # unbuffered: closing the file would write once more what the disk had no room for
        self._file = path.open("ab+", buffering=0)
        self._end = _end_of_rows(path)
        self._file.truncate(self._end)
        self._pending, self._since = 0, time.monotonic()
        if self._end == 0:
            self._append(json.dumps({_HEAD: _VERSION, "settings": noted}, ensure_ascii=False))
            self.sync()

    def write(self, row: Row, seconds: float) -> None:
        """Append a row and the time that it took.

        Raises:
            OSError: for example of a full disk; the rows before it are whole.
        """
        self._append(f'{{"seconds": {seconds:.3f}, {row.to_line()[1:-1]}')
        self._pending += 1
        if self._pending >= GROUP_ROWS or time.monotonic() - self._since > GROUP_SECONDS:
            self.sync()

    def _append(self, line: str) -> None:
        # half of a surrogate pair, which a model can write in JSON, is no text
        data = f"{line}\n".encode("utf-8", "replace")
        try:
            self._end = append_whole(self._file, data, self._end)
        except OSError as error:
            error.filename = error.filename or str(self._path)
            raise

    def sync(self) -> None:
        """Bring what is written to the disk."""
        os.fsync(self._file.fileno())
        self._pending, self._since = 0, time.monotonic()

    def close(self) -> None:
        """Bring everything to the disk."""
        try:
            self.sync()
        finally:
            self._file.close()


def _end_of_rows(path: Path) -> int:
    """Length of the file up to its last newline; 0 where there is no row behind the head."""
    with path.open("rb") as file:
        head = len(file.readline())
    end = end_of_last_line(path)
    return end if end > head else 0


class RowIndex:
    """Where every row stands; eleven bytes a row in memory.

    Of two rows of a number the first counts, in the order of file names, unless its requests
    failed and another's did not.

    Attributes:
        present: rows that are there.
        usage: calls and tokens of all of them by stage.
        seconds: time that they took, added up.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.present = 0
        self.usage = Usage()
        self.seconds = 0.0
        self._files: list[Path] = []
        self._file_of = array("H", bytes(2 * n))
        self._offset_of = array("q", [-1]) * n
        self._failed = bytearray(n)
        self._open: dict[int, IO[bytes]] = {}

    @property
    def answered(self) -> bool:
        """Whether there is a row whose requests did not fail."""
        return self.present > sum(self._failed)

    def has(self, number: int, retry_failed: bool = False) -> bool:
        """Whether a row is there; with ``retry_failed`` one whose requests failed is not."""
        if self._offset_of[number] < 0:
            return False
        return not (retry_failed and self._failed[number])

    def missing(self, part: int = 0, parts: int = 1, retry_failed: bool = False) -> Iterator[int]:
        """Numbers of a shard that are still to be made."""
        for number in range(part, self.n, parts):
            if not self.has(number, retry_failed):
                yield number

    def read(self, number: int) -> Row:
        """Row ``number``.

        Raises:
            TablemendError: naming the file, where the line holds no row.
        """
        place = self._file_of[number]
        file = self._open.pop(place, None) or self._files[place].open("rb")
        self._open[place] = file  # the latest at the end
        if len(self._open) > OPEN_FILES:
            self._open.pop(next(iter(self._open))).close()
        file.seek(self._offset_of[number])
        return Row.from_line(file.readline(), f"{self._files[place]}: row {number}")

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _add(self, place: int, offset: int, line: bytes, where: str) -> None:
        number, calls, seconds, given_up = _skim(line, where)
        failed = given_up and bool(calls) and calls[-1].finish_reason == "error"
        if number >= self.n:
            return
        if self._offset_of[number] >= 0 and not (self._failed[number] and not failed):
            return
        self.present += self._offset_of[number] < 0
        self._file_of[number], self._offset_of[number] = place, offset
        self._failed[number] = failed
        self.usage.add(calls)
        self.seconds += seconds


def read_index(out: Path, n: int, noted: Mapping[str, Any]) -> RowIndex:
    """Find the rows of a folder, of all shards.

    Raises:
        TablemendError: a file was made with other settings, or holds a line that is no row; with
            the file and the line.
    """
    index = RowIndex(n)
    for path in sorted((out / FOLDER).glob("*.jsonl")):
        if not _NAME.fullmatch(path.name):
            raise TablemendError(f"{path} is no file of rows: they are called 01-of-01.jsonl")
        index._files.append(path)
        with path.open("rb") as file:
            offset, head = 0, b""
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):  # being written, or cut by an interruption
                    break
                if number == 1:
                    head = line
                else:  # a file without a row binds nobody to its settings
                    if number == 2:
                        _check_head(head, path, noted)
                    index._add(len(index._files) - 1, offset, line, f"{path}:{number}")
                offset += len(line)
    return index


def _check_head(line: bytes, path: Path, noted: Mapping[str, Any]) -> None:
    try:
        head = json.loads(line)
        version, old = head[_HEAD], head["settings"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TablemendError(
            f"{path}:1 does not say what its rows were made with: it is no file of rows"
        ) from error
    if version != _VERSION:
        raise TablemendError(f"{path} is of version {version}, this is version {_VERSION}")
    refuse_other(old, noted, str(path))


def refuse_other(old: Mapping[str, Any], noted: Mapping[str, Any], where: str) -> None:
    """Refuse what was made with other settings, naming them.

    Raises:
        TablemendError: a setting differs.
    """
    was, now = dict(_leaves(old)), dict(_leaves(noted))
    changed = [
        f"{name} was {was.get(name)!r}, is {now.get(name)!r}"
        for name in {**was, **now}
        if was.get(name) != now.get(name)
    ]
    if changed:
        raise TablemendError(
            f"{where} was made with other settings ({'; '.join(changed)}); give another out=, or "
            "the settings of before"
        )


def _leaves(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _skim(line: bytes, where: str) -> tuple[int, list[Call], float, bool]:
    """Number, calls, seconds, and whether the row was given up; the example is read later."""
    try:
        data = json.loads(line)
        number, example, seconds = data["number"], data["example"], data["seconds"]
        calls = [Call(**call) for call in data["calls"]]
        if type(number) is not int or number < 0 or not isinstance(example, dict | None):
            raise ValueError("its number or example is none")
        return number, calls, float(seconds), example is None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise unreadable(where, error) from error


def append_whole(file: FileIO, data: bytes, end: int) -> int:
    """Append all of some bytes, or nothing: on a failure the file is cut back.

    Args:
        file: open to be appended to, without a buffer.
        data: what is to stand at its end.
        end: its length.

    Returns:
        Its length now.

    Raises:
        OSError: for example of a full disk.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        file.truncate(end)
        raise
    return end + len(data)


def end_of_last_line(path: Path, block: int = 1 << 16) -> int:
    """Byte after the last newline; 0 where there is none."""
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        while position > 0:
            start = max(0, position - block)
            file.seek(start)
            newline = file.read(position - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            position = start
    return 0
