"""The request cache: what was answered once is not asked again.

One SQLite file, which several processes of a machine may share. An answer is in it before it is
handed out, so that a process that is killed has nothing to ask again that anybody has seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tablemend.backends.requests import Completion, Request
from tablemend.errors import TablemendError
from tablemend.runs import disk_errors

VERSION = 0x7AB1E302
"""Marks the file as ours, and the version of what is stored (PRAGMA user_version)."""
BUSY_SECONDS = 60.0
"""Longest wait for another process that is writing."""
MEND = "move it away, name another file with cache=PATH, or set cache=null"


class RequestCache:
    """Answers by the SHA-256 of all that they depend on.

    Failed requests are not stored: they are asked again.

    Args:
        path: the file; it and its folder are made where they are not there. It holds prompts, so
            its owner alone can read it.
        identity: of the engine (:attr:`Engine.identity`).

    Raises:
        TablemendError: the path cannot be used, is damaged, or is the file of something else.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = sorted(identity.items())
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # what is beside it follows
        except OSError as error:
            raise TablemendError(f"request cache {path}: {error.strerror}: {MEND}") from error
        with self._usable():
            self._base = sqlite3.connect(
                path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            self._prepare()

    def _prepare(self) -> None:
        (tables,) = self._base.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        if tables and version != VERSION:
            raise TablemendError(
                f"request cache {self.path}: a database of something else, or of another version "
                f"of tablemend: {MEND}"
            )
        self._base.executescript(
            "PRAGMA journal_mode = WAL;"
            "PRAGMA synchronous = NORMAL;"  # safe against kill -9, not against a power cut
            f"PRAGMA user_version = {VERSION};"
            "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL)"
            " WITHOUT ROWID;"
        )

    def key(self, request: Request) -> bytes:
        """SHA-256 of everything that the answer depends on; the request's id is no part of it."""
        sampling = request.sampling
        parts = (
            self._identity,
            [sorted(turn.items()) for turn in request.messages],
            sampling.max_new_tokens,
            sampling.temperature,
            request.thinking,
            request.schema,
            request.seed if sampling.temperature > 0 else None,
            request.grammar,
            *([] if sampling.max_repeats is None else [sampling.max_repeats]),
        )
        return hashlib.sha256(_json(parts)).digest()

    def get(self, key: bytes, id: str) -> Completion | None:
        """The stored answer to a request, under its id."""
        with self._usable(), self._lock:
            found = self._base.execute("SELECT answer FROM answers WHERE key = ?", (key,))
            row = found.fetchone()
            if row is None:
                return None
            return Completion(**json.loads(zlib.decompress(row[0])) | {"id": id})

    def put(self, key: bytes, completion: Completion) -> None:
        """Store an answer, unless the request failed.

        Raises:
            OSError: the disk is full; ``filename`` is the folder.
            TablemendError: the file cannot be written.
        """
        if completion.finish_reason != "error":
            row = key, zlib.compress(_json(asdict(completion)), 1)  # carries a checksum too
            with self._usable(), self._lock:
                self._base.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            with disk_errors(self.path.parent):
                yield
        except (sqlite3.DatabaseError, zlib.error) as error:
            raise TablemendError(f"request cache {self.path}: {error}: {MEND}") from error


def _json(value: object) -> bytes:
    """The order of a schema's properties is kept: answers follow it."""
    return json.dumps(value, separators=(",", ":")).encode()
