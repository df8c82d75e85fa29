"""What the rest of tablemend generates with: an engine, the request cache and the caps."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import Budget, BudgetSpent, Engine, Spent
from tablemend.backends.names import EngineKind, ModelName
from tablemend.backends.requests import Completion, Request
from tablemend.config.section import BackendOptions
from tablemend.errors import MOST_FAILURES, Stopped, TablemendError
from tablemend.runs import disk_errors

__all__ = ["Backend", "BudgetSpent", "Spent", "open_backend"]


class Backend:
    """Answers requests; what was answered once is not asked, nor paid for, again.

    Attributes:
        name: the model string; it never holds a key.
    """

    def __init__(self, name: str, engine: Engine, options: BackendOptions) -> None:
        self.name = name
        self._engine = engine
        self._budget = Budget(options)
        self._ahead = engine.ahead
        if options.max_tokens_total is not None or options.max_cost is not None:
            self._ahead = min(engine.ahead, options.concurrency)  # what is in flight is answered
        self._cache = None
        if options.cache is not None:
            self._cache = RequestCache(Path(options.cache).expanduser(), engine.identity)

    @property
    def identity(self) -> dict[str, Any]:
        """All that an answer depends on beside the request; see :class:`Engine`."""
        return self._engine.identity

    @property
    def spent(self) -> Spent:
        """What was used since the backend was opened."""
        return self._budget.spent

    def go_on(self, before: Spent) -> None:
        """Count what earlier commands spent towards the caps."""
        self._budget.before = before

    def too_long(self, requests: Sequence[Request]) -> dict[str, str]:
        """Why requests leave no room for an answer, by id, before anything is loaded or sent."""
        return self._engine.too_long(requests)

    def load(self) -> None:
        """Load the weights, or start what the first request needs."""
        self._engine.load()

    async def answer(self, request: Request) -> Completion:
        """Answer one; any number may be waited for at once, in one event loop.

        A request that fails for good is a completion with ``finish_reason="error"``.

        Raises:
            BudgetSpent: a cap is reached; requests in flight are answered all the same.
            TablemendError: the engine cannot go on.
        """
        return await self._answer(request, None)

    async def _answer(self, request: Request, lap: Callable[[], float] | None) -> Completion:
        key = b""
        if self._cache is not None:
            key = self._cache.key(request)
            found = self._cache.get(key, request.id)
            if found is not None:
                self._budget.count_cached()
                return found
        self._budget.begin()
        completion = None
        try:
            completion = await self._engine.answer(request)
        finally:
            self._budget.end(completion)
        if lap is not None:
            completion = replace(completion, seconds=lap())
        if self._cache is not None:
            self._cache.put(key, completion)
        return completion

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer all, in the order in which the answers end.

        Requests are taken as they are needed, so that a stream without an end keeps its memory;
        see :func:`stream`.

        Raises:
            BudgetSpent: a cap is reached; every answer before it was handed out.
            TablemendError: the engine cannot go on; likewise.
        """
        last = time.monotonic()

        def lap() -> float:
            nonlocal last
            before, last = last, time.monotonic()
            return last - before

        async def answer(request: Request) -> Completion:
            return await self._answer(request, lap)

        yield from stream(answer, requests, self._ahead, self.leave)

    async def leave(self) -> None:
        """Let go of what belongs to the running event loop, which is about to end."""
        await self._engine.leave()

    def close(self) -> None:
        """Let go of the engine and the cache; a second call does nothing."""
        self._engine.close()
        if self._cache is not None:
            self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def open_backend(
    name: str | ModelName,
    options: BackendOptions,
    *,
    default: EngineKind | None = None,
    attn: str = "sdpa",
) -> Backend:
    """The backend that a model string names; weights are loaded with the first request.

    Args:
        name: such as ``hf:Qwen/Qwen3-8B`` (:meth:`ModelName.parse`).
        options: how the model is asked.
        default: engine of a string that names none; ``None`` refuses such a string.
        attn: attention kernel of transformers (``hf`` alone).

    Raises:
        TablemendError: a string that names no model, no such checkpoint, an engine that is not
            installed or that does not read an option which was set, no key.
    """
    model = ModelName.parse(name, default) if isinstance(name, str) else name
    engine = _open_engine(model, options, attn)
    try:
        return Backend(str(model), engine, options)
    except BaseException:  # a cache that cannot be used
        engine.close()
        raise


def _open_engine(model: ModelName, options: BackendOptions, attn: str) -> Engine:
    """Each engine is imported where it is used: none is needed for the others."""
    if model.engine == "openai":
        from tablemend.backends.openai_client import OpenAIEngine

        return OpenAIEngine(model, options)
    default = BackendOptions()
    for name in ("body", "thinking_switch", "limit_field"):
        if getattr(options, name) != getattr(default, name):
            raise TablemendError(
                f"{model}: {name} is for servers (openai:), the engine {model.engine} does not "
                "read it: leave it out"
            )
    if model.engine == "scripted":
        from tablemend.backends.engine import ReplayEngine

        return ReplayEngine(Path(model.model))
    checkpoint = Checkpoint.parse(model.model, options.revision)
    checkpoint.check()
    if model.engine == "vllm":
        from tablemend.backends.vllm_engine import VllmEngine

        return VllmEngine(checkpoint, options)
    if checkpoint.folder is None:
        checkpoint.fingerprint()  # a name that the Hub does not have is refused before torch loads
    from tablemend.backends.hf import HFEngine

    # flex attention would be compiled anew for every width of the cache
    return HFEngine(checkpoint, options, "sdpa" if attn == "flex_attention" else attn)


def ask(backend: Backend, requests: Sequence[Request]) -> dict[str, Completion]:
    """Answer all requests.

    Returns:
        Completions by the ids of their requests; one that failed for good, or that does not fit
        into the model's window, says why.

    Raises:
        Stopped: :data:`MOST_FAILURES` requests in a row failed, so that a server must be gone.
        BudgetSpent: a cap is reached.
        TablemendError: a model that cannot be used.
    """
    if not requests:
        return {}
    too_long = backend.too_long(requests)
    found = {name: Completion.failed(name, why) for name, why in too_long.items()}
    fitting = [request for request in requests if request.id not in too_long]
    in_a_row = 0
    completions = backend.generate(fitting)
    assert isinstance(completions, Generator)
    with closing(completions):  # what is in flight at a stop is cancelled
        for completion in completions:
            found[completion.id] = completion
            in_a_row = in_a_row + 1 if completion.finish_reason == "error" else 0
            if in_a_row == MOST_FAILURES:
                raise Stopped(
                    f"{backend.name}: {in_a_row} requests in a row failed for good, the last "
                    f"because {completion.error}: mend that and run the command again"
                )
    return found


def short_name(backend: Backend) -> str:
    """A model as it is recorded: without the address of its server."""
    name = ModelName.parse(backend.name)
    return f"{name.engine}:{name.model}"


def stream(
    answer: Callable[[Request], Awaitable[Completion]],
    requests: Iterable[Request],
    ahead: int,
    leave: Callable[[], Awaitable[None]],
) -> Iterator[Completion]:
    """Answer every request, in the order in which the answers end.

    At most ``ahead`` requests are taken before their answers are handed out, so that an endless
    iterator needs no more memory than a short one. It is read in the caller's thread and must
    not itself wait for an answer. A caller that is slow with one answer keeps nobody waiting:
    what was taken goes on in a thread of its own.

    What fails, an answer or the iterator, is raised after everything in flight has ended and was
    handed out. Closing the generator, Ctrl-C included, cancels what is in flight.

    Args:
        answer: answers one request.
        requests: what to answer.
        ahead: requests between taking and handing out.
        leave: called in the thread at the end, to let go of connections.
    """
    waiting = iter(requests)
    ended: SimpleQueue[Completion | BaseException] = SimpleQueue()
    tasks: set[asyncio.Task[None]] = set()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="tablemend-backend", daemon=True)
    thread.start()

    async def run(request: Request) -> None:
        try:
            ended.put(await answer(request))
        except (Exception, asyncio.CancelledError) as error:  # the caller gets it
            ended.put(error)

    def start(request: Request) -> None:
        task = loop.create_task(run(request))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def wind_up() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await leave()
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()

    pending, more = 0, True
    failure: BaseException | None = None
    try:
        while pending or more:
            if more and pending < ahead:
                try:
                    loop.call_soon_threadsafe(start, next(waiting))
                    pending += 1
                except StopIteration:
                    more = False
                except Exception as error:
                    more, failure = False, error
            try:
                one = ended.get(block=pending > 0 and (pending == ahead or not more))
            except Empty:
                continue
            pending -= 1
            if isinstance(one, Completion):
                yield one
            elif failure is None:
                more, failure = False, one
        if failure is not None:
            raise failure
    finally:
        try:
            asyncio.run_coroutine_threadsafe(wind_up(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


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
