"""Copies of the weights under vLLM, each in a process of its own.

vLLM's ``LLM`` refuses ``data_parallel_size`` above 1 and hands answers out only when all are
made. Here its engine is stepped, so that every answer is there as soon as it ends, and copies of
the weights are independent engines: for dense models that is all that data parallelism means.

One copy has a process of its own too: vLLM's processes outlive a parent that is killed, and keep
its GPU's memory. Ours notices that nobody is left, and ends them.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from tablemend.errors import TablemendError
from tablemend.records import FinishReason

IN_FLIGHT = 1024
"""Most jobs that a replica has at once; the rest can still go to another."""
PIECE = 64
"""Jobs that are handed out together: neighbours share their contexts."""
PATIENCE = 30.0
"""Seconds that vLLM is given to end by itself."""
CPU_KV_GIB = 4.0
CPU_BATCHED = 4096  # tokens of a step
CPU_BLOCK = 32  # vLLM's own choice there is 128: most of a short context would not be shared
LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)

ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",  # its messages would stand among ours on stdout
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore::FutureWarning",  # of vLLM's own modules, in its processes
}
"""What is set where the user has not set it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt, as a replica is asked it."""

    key: int
    ids: tuple[int, ...]
    max_new_tokens: int
    temperature: float
    seed: int
    schema: Mapping[str, Any] | None = None
    grammar: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: the ids, end of turn included, or an error."""

    key: int
    ids: tuple[int, ...]
    finish: FinishReason
    cached_tokens: int = 0
    error: str = ""


@dataclass(frozen=True)
class Launch:
    """How a replica is started; it can be sent to another process.

    Attributes:
        arguments: of ``vllm.LLM``, the same on every platform.
        on_cpu: further arguments, where vLLM runs on a CPU.
        stop_ids: tokens that end an answer.
        adapter: folder of a LoRA adapter that is applied at every token.
        environment: variables that are set whatever the user has set.
    """

    arguments: dict[str, Any]
    on_cpu: dict[str, Any]
    stop_ids: frozenset[int]
    adapter: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


class Runner(Protocol):
    """One replica or several."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Answer all, in the order in which the answers end."""
        ...

    def close(self) -> None:
        """Let go of memory and processes; a second call does nothing."""
        ...


class Replica:
    """One engine, in this process; vLLM starts processes of its own below it.

    Raises:
        TablemendError: the engine does not start, with vLLM's reason.
    """

    def __init__(self, launch: Launch) -> None:
        os.environ.update(launch.environment)
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        from vllm import LLM
        from vllm.exceptions import VLLMValidationError
        from vllm.lora.request import LoRARequest
        from vllm.platforms import current_platform

        self._refusals = (ValueError, VLLMValidationError)  # which was a ValueError up to 0.26
        arguments = launch.arguments | (launch.on_cpu if current_platform.is_cpu() else {})
        try:
            self._llm = LLM(**arguments)
        except (*self._refusals, RuntimeError, OSError, ImportError) as error:
            raise TablemendError(
                f"vLLM does not start with {arguments['model']}: {_reason(error)}"
            ) from error
        self._engine: Any = self._llm.llm_engine
        self._stop_ids = launch.stop_ids
        self._lora = LoRARequest("adapter", 1, launch.adapter) if launch.adapter else None
        self._running: set[int] = set()
        self._refused: list[Outcome] = []

    @property
    def unfinished(self) -> int:
        """Jobs whose outcome was not handed out yet."""
        return len(self._running) + len(self._refused)

    def add(self, jobs: Sequence[Job]) -> None:
        """Take jobs; what vLLM refuses of itself (a schema that it cannot follow) is an outcome."""
        for job in jobs:
            try:
                self._engine.add_request(
                    str(job.key),
                    {"prompt_token_ids": list(job.ids)},
                    self._parameters(job),
                    lora_request=self._lora,
                )
            except self._refusals as error:
                self._refused.append(Outcome(job.key, (), "error", error=_reason(error)))
            else:
                self._running.add(job.key)

    def step(self) -> list[Outcome]:
        """Compute one step for all jobs.

        Raises:
            TablemendError: the engine has died.
        """
        from vllm.v1.engine.exceptions import EngineDeadError

        outcomes, self._refused = self._refused, []
        if self._running:
            try:
                made = self._engine.step()
            except EngineDeadError as error:
                raise TablemendError(
                    "vLLM's engine died; its own message stands above. Where memory ran out, "
                    "lower vllm.memory, vllm.kv_cache_gib or vllm.max_num_seqs; the answers so "
                    "far are kept"
                ) from error
            outcomes += [self._outcome(output) for output in made if output.finished]
            self._running -= {outcome.key for outcome in outcomes}
        return outcomes

    def abort(self) -> None:
        """Forget all jobs."""
        from vllm.v1.engine.exceptions import EngineDeadError

        with contextlib.suppress(EngineDeadError):  # Ctrl-C may have reached it first
            self._engine.abort_request([str(key) for key in self._running])
        self._running, self._refused = set(), []

    def close(self) -> None:
        """End vLLM's processes."""
        if self._engine is not None:
            self._engine.engine_core.shutdown(timeout=PATIENCE)
            self._engine, self._llm = None, None

    def _parameters(self, job: Job) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        held = None
        if job.schema is not None:
            held = StructuredOutputsParams(json=dict(job.schema))
        elif job.grammar is not None:
            held = StructuredOutputsParams(grammar=job.grammar)
        return SamplingParams(
            max_tokens=job.max_new_tokens,
            temperature=job.temperature,
            seed=job.seed if job.temperature else None,
            stop_token_ids=sorted(self._stop_ids),
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
            structured_outputs=held,
        )

    def _outcome(self, output: Any) -> Outcome:
        answer = output.outputs[0]
        ids = tuple(answer.token_ids)
        key, cached = int(output.request_id), output.num_cached_tokens or 0
        finish: FinishReason
        if ids and ids[-1] in self._stop_ids:
            finish = "stop"
        elif answer.finish_reason == "length":
            finish = "length"
        else:
            why = f"vLLM ended the answer with {answer.finish_reason!r}"
            return Outcome(key, (), "error", cached, why)
        return Outcome(key, ids, finish, cached)


def _reason(error: BaseException) -> str:
    """The telling line of an exception; pydantic's own first line only counts errors."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    telling = [line.strip() for line in lines if "Value error, " in line]
    return telling[0].partition("Value error, ")[2] if telling else lines[0]


class Replicas:
    """Several replicas, each in a process that sees devices of its own.

    Jobs are shared out in contiguous parts, so that prompts of one context meet in one cache; a
    replica that has finished its part takes from the end of the longest other one.

    Args:
        launches: one a replica.

    Raises:
        TablemendError: one of them does not start.
    """

    def __init__(self, launches: Sequence[Launch]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connections: list[Connection] = []
        self._processes = []
        atexit.register(self.close)  # before multiprocessing waits for processes that wait for us
        for number, launch in enumerate(launches):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, launch), name=f"vllm-{number}")
            process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)
        try:
            for number in range(len(launches)):
                self._receive(number)
        except BaseException:
            self.close()
            raise

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Answer all, in the order in which the answers end."""
        count = len(self._connections)
        ends = [len(jobs) * part // count for part in range(count + 1)]
        parts = [deque(jobs[ends[part] : ends[part + 1]]) for part in range(count)]
        running: list[set[int]] = [set() for _ in parts]
        try:
            while True:
                for number in range(count):
                    while len(running[number]) < IN_FLIGHT and (piece := take(parts, number)):
                        running[number] |= {job.key for job in piece}
                        self._connections[number].send(piece)
                busy = [self._connections[number] for number in range(count) if running[number]]
                if not busy:
                    return
                for ready in wait(busy):
                    number = self._connections.index(ready)  # type: ignore[arg-type]
                    outcomes = self._receive(number)
                    own = [outcome for outcome in outcomes if outcome.key in running[number]]
                    running[number] -= {outcome.key for outcome in own}
                    yield from own
        finally:
            for number in range(count):
                if running[number]:
                    with contextlib.suppress(OSError):
                        self._connections[number].send([])

    def close(self) -> None:
        """End the processes."""
        for connection in self._connections:
            connection.close()
        self._connections = []
        for process in self._processes:
            process.join(2 * PATIENCE)
            if process.is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid or 0, signal.SIGKILL)
                process.join()
        self._processes = []
        atexit.unregister(self.close)

    def _receive(self, number: int) -> list[Outcome]:
        try:
            message = self._connections[number].recv()
        except (EOFError, ConnectionResetError) as error:
            raise TablemendError(
                f"vLLM's replica {number} died; its own message stands above. Where memory ran "
                "out, lower vllm.memory or vllm.kv_cache_gib; the answers so far are kept"
            ) from error
        if isinstance(message, TablemendError):
            raise message
        outcomes: list[Outcome] = message
        return outcomes


def take(parts: Sequence[deque[Job]], number: int) -> list[Job]:
    """The next jobs for a replica: of its own part, else from the end of the longest part."""
    if own := parts[number]:
        return [own.popleft() for _ in range(min(PIECE, len(own)))]
    longest = max(parts, key=len)
    return [longest.pop() for _ in range(min(PIECE, len(longest)))][::-1]


def _serve(connection: Connection, launch: Launch) -> None:
    """A replica's process: jobs come in as lists (an empty one aborts), outcomes go out."""
    os.setsid()  # Ctrl-C is the parent's; and vLLM's processes can be ended with this one
    inbox: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(connection, inbox), daemon=True).start()
    replica = None
    try:
        replica = Replica(launch)
        connection.send([])
        while True:
            while not replica.unfinished or not inbox.empty():
                jobs = inbox.get()
                if jobs is None:
                    return
                if jobs:
                    replica.add(jobs)
                else:
                    replica.abort()
            connection.send(replica.step())
    except TablemendError as error:
        with contextlib.suppress(OSError):
            connection.send(error)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the parent has gone
    finally:
        if replica is not None:
            replica.close()


def _read(connection: Connection, inbox: queue.SimpleQueue[list[Job] | None]) -> None:
    """Take in what the parent sends, at once: both sides sending at a time would block both.

    Once it has gone and patience is over, everything in this session is killed.
    """
    try:
        while True:
            inbox.put(connection.recv())
    except (EOFError, OSError):
        inbox.put(None)
    time.sleep(PATIENCE)
    os.killpg(0, signal.SIGKILL)
