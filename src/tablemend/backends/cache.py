"""The request cache: what was answered once is not asked again.

One SQLite file, which several processes may share. An answer is in it before it is handed out,
so that a process that is killed has nothing to ask again that anybody has seen.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tablemend.backends.requests import Completion, Request
from tablemend.errors import TablemendError
from tablemend.runs import disk_errors

APPLICATION = 0x7AB1E3E0
"""Marks the file as ours (PRAGMA application_id)."""
VERSION = 1
"""Version of what is stored (PRAGMA user_version)."""
GROUP_SECONDS = 0.02
"""Answers that end within so much time are committed together."""
ROWS = 400
"""Rows of one statement; older versions of SQLite take 999 values."""
BUSY_SECONDS = 60.0
"""Longest wait for another process that is writing."""
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
HEAD = b"SQLite format 3\0"
SUFFIXES = (".sqlite", ".sqlite3", ".db")
"""A damaged file of another name may be anybody's."""
PARTS = ("", "-wal", "-shm")
"""The file, and what SQLite keeps beside it; all hold prompts, which are nobody else's."""
MEND = "give cache=PATH of a file that can be written, or cache=null"


class Unusable(Exception):
    """The file is no cache of ours, or a damaged one."""


@dataclass(frozen=True, slots=True)
class _File:
    """An open file: reading never waits for writing."""

    reader: sqlite3.Connection
    writer: sqlite3.Connection
    inode: int


class RequestCache:
    """Answers by the SHA-256 of all that they depend on.

    Failed requests are not stored: they are asked again. A value that cannot be read counts as
    none. A file that is damaged is set aside, which is said on stderr, and begun anew.

    Args:
        path: the file; it and its folder are made where they are not there.
        identity: of the engine (:attr:`Engine.identity`).

    Raises:
        TablemendError: the path cannot be used, or is the database of something else.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = hashlib.sha256(_bytes(sorted(identity.items())))
        self._lock = threading.Lock()  # of the writer and of whoever replaces the file
        self._group: list[tuple[bytes, Completion, asyncio.Future[None]]] = []
        self._commit: asyncio.Task[None] | None = None
        self._file = self._open()

    def key(self, request: Request) -> bytes:
        """SHA-256 of everything that the answer depends on; the request's id is no part of it."""
        digest = self._identity.copy()
        sampling = request.sampling
        parts = (
            [sorted(turn.items()) for turn in request.messages],
            sampling.max_new_tokens,
            sampling.temperature,
            request.thinking,
            request.schema,
            request.seed if sampling.temperature > 0 else None,
            *([] if request.grammar is None else [request.grammar]),
        )
        digest.update(_bytes(parts))
        return digest.digest()

    def get(self, key: bytes, id: str) -> Completion | None:
        """The stored answer to a request, under its id."""
        file = self._file
        try:
            row = file.reader.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        except sqlite3.DatabaseError as error:
            self._mend(file, error)
            return None
        return None if row is None else _decode(row[0], id)

    def put(self, answers: Sequence[tuple[bytes, Completion]]) -> None:
        """Store answers in one transaction; those that failed are left out.

        Raises:
            OSError: the disk is full; ``filename`` is the folder.
            TablemendError: the file cannot be written.
        """
        rows = [(key, _encode(one)) for key, one in answers if one.finish_reason != "error"]
        with self._lock:
            try:
                self._write(rows)
            except sqlite3.DatabaseError as error:
                self._mend(self._file, error, locked=True)
                self._write(rows)

    def _write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        # many rows a statement: SQLite lets go of Python's lock at every one, and each time two
        # threads are in each other's way
        with disk_errors(self.path.parent), self._file.writer as writer:
            for start in range(0, len(rows), ROWS):
                some = rows[start : start + ROWS]
                values = ", ".join(["(?, ?)"] * len(some))
                writer.execute(
                    f"INSERT OR REPLACE INTO answers VALUES {values}",
                    [x for row in some for x in row],
                )

    async def store(self, key: bytes, completion: Completion) -> None:
        """Store an answer together with those of the same moment; returns once it is stored.

        Raises:
            OSError, TablemendError: see :meth:`put`.
        """
        if completion.finish_reason == "error":
            return
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._group.append((key, completion, stored))
        if self._commit is None:
            self._commit = asyncio.create_task(self._commit_group())
        await stored

    async def settle(self) -> None:
        """Wait for what is being stored."""
        while self._commit is not None:
            await self._commit

    async def _commit_group(self) -> None:
        """Store group after group until there is none."""
        try:
            while self._group:
                await asyncio.sleep(GROUP_SECONDS)
                group, self._group = self._group, []
                try:
                    await asyncio.to_thread(self.put, [one[:2] for one in group])
                except Exception as error:  # whoever waits gets it
                    _tell(group, error)
                else:
                    _tell(group, None)
        finally:
            self._commit = None

    def close(self) -> None:
        """Store what is left and close the file."""
        group, self._group = self._group, []  # left by a loop that ended early
        if group:
            self.put([one[:2] for one in group])
        with self._lock:
            self._file.reader.close()
            self._file.writer.close()

    def _mend(self, file: _File, error: sqlite3.DatabaseError, locked: bool = False) -> None:
        """Replace a file that turns out to be damaged.

        Raises:
            TablemendError: it is not damaged, but cannot be used.
        """
        if _code(error) not in DAMAGED:
            raise self._refusal(error) from error
        with nullcontext() if locked else self._lock:
            if self._file is file:  # else another thread was quicker
                self._set_aside(file.inode, str(error))
                self._file = self._open()

    def _open(self) -> _File:
        try:
            self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise TablemendError(f"request cache {self.path}: {error.strerror}: {MEND}") from error
        for _ in range(3):
            inode = _inode(self.path)
            try:
                with disk_errors(self.path.parent):
                    return self._connect()
            except Unusable as error:
                self._set_aside(inode, str(error))
            except sqlite3.DatabaseError as error:
                if _code(error) not in DAMAGED:
                    raise self._refusal(error) from error
                self._set_aside(inode, str(error))
        raise TablemendError(f"request cache {self.path} is damaged again at once: {MEND}")

    def _connect(self) -> _File:
        with suppress(OSError):  # SQLite says what is wrong with the path
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        with ExitStack() as opened:
            writer = opened.enter_context(closing(self._handle("IMMEDIATE")))
            self._prepare(writer)
            for suffix in PARTS:  # made by an earlier version
                with suppress(OSError):
                    Path(f"{self.path}{suffix}").chmod(0o600)
            reader = opened.enter_context(closing(self._handle(None)))
            opened.pop_all()  # nothing failed: they stay open
            return _File(reader, writer, _inode(self.path))

    def _handle(self, isolation: Literal["IMMEDIATE"] | None) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=isolation
        )

    def _prepare(self, base: sqlite3.Connection) -> None:
        """Make the table in a new file; check that an old one is ours and whole."""
        tables = base.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        application = base.execute("PRAGMA application_id").fetchone()[0]
        version = base.execute("PRAGMA user_version").fetchone()[0]
        if tables and application != APPLICATION:
            raise TablemendError(
                f"{self.path} is a database of something else, no request cache: {MEND}"
            )
        if tables and version != VERSION:
            raise Unusable(f"it has version {version}, this is version {VERSION}")
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")  # safe against kill -9, not against a power cut
        if not tables:
            base.executescript(
                f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
                "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL)"
                " WITHOUT ROWID;"
            )
        columns = [row[1] for row in base.execute("PRAGMA table_info(answers)")]
        if columns != ["key", "answer"]:
            raise Unusable("its table has other columns")
        base.execute("SELECT answer FROM answers LIMIT 1").fetchone()

    def _set_aside(self, inode: int, reason: str) -> None:
        """Give a damaged file another name, its log of changes with it.

        Raises:
            TablemendError: by name and content it is a file of something else.
        """
        if _inode(self.path) != inode:  # another process has done so
            return
        if self.path.suffix not in SUFFIXES and self.path.read_bytes()[:16] != HEAD:
            raise TablemendError(f"cache={self.path} is no request cache ({reason}): {MEND}")
        stamp, number = time.strftime("%Y%m%d-%H%M%S"), 0
        while (aside := self.path.with_name(f"{self.path.name}.{stamp}-{number}")).exists():
            number += 1
        for suffix in PARTS:
            with suppress(FileNotFoundError):
                Path(f"{self.path}{suffix}").rename(f"{aside}{suffix}")
        print(
            f"request cache {self.path} is damaged ({reason}): set aside as {aside}, begun anew",
            file=sys.stderr,
        )

    def _refusal(self, error: sqlite3.Error) -> TablemendError:
        return TablemendError(f"request cache {self.path}: {error}: {MEND}")


def _tell(
    group: Sequence[tuple[bytes, Completion, asyncio.Future[None]]], error: Exception | None
) -> None:
    for _, _, stored in group:
        if stored.done():  # nobody waits any more
            continue
        if error is None:
            stored.set_result(None)
        else:
            stored.set_exception(error)


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 where Python's module itself has refused."""
    try:
        return error.sqlite_errorcode & 0xFF
    except AttributeError:
        return 0


def _inode(path: Path) -> int:
    """What tells a file from the one that takes its name; 0 where there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _bytes(value: object) -> bytes:
    """What is hashed. The order of a schema's properties is part of it: answers follow it."""
    return json.dumps(value, separators=(",", ":")).encode()


def _encode(completion: Completion) -> bytes:
    fields = (
        completion.text,
        completion.prompt_tokens,
        completion.completion_tokens,
        completion.finish_reason,
        completion.seconds,
        completion.cached_tokens,
        completion.estimated,
    )
    return zlib.compress(json.dumps(fields).encode(), 1)  # carries a checksum too


def _decode(stored: bytes, id: str) -> Completion | None:
    try:
        text, prompt, answer, finish, seconds, cached, estimated = json.loads(
            zlib.decompress(stored)
        )
    except (zlib.error, ValueError, TypeError):
        return None
    return Completion(id, text, prompt, answer, finish, "", seconds, cached, estimated)
