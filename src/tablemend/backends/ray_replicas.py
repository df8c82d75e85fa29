"""Copies of the weights on a Ray cluster, under Ray Data's vLLM engine.

Ray Data runs a data set from its source to its end, and starts its engines for each. Here the
source is a queue that stays open, so one data set, with its engines, answers everything that is
asked until :meth:`RayReplicas.close`: a row whose next prompt depends on an answer does not wait
for engines to start again, nor for the slowest of a batch.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError, as_completed
from contextlib import suppress
from typing import Any

from tablemend.backends.vllm_replica import ENVIRONMENT, Job, Launch, Outcome
from tablemend.errors import TablemendError

LITTLE = 0.05  # CPUs that Ray keeps for a step that hardly computes
AT_ONCE = 64
"""Prompts that an engine has at once, where its `max_num_seqs` is not given."""
PATIENCE = 60.0
"""Seconds that the cluster is given to end what runs."""
NO_ARGUMENT = ("model", "use_tqdm_on_load")
"""Arguments of ``vllm.LLM`` that Ray's engine does not take, or takes elsewhere."""


class RayReplicas:
    """Engines on a Ray cluster that answer what is put to them, each answer as it ends.

    Args:
        launch: how each engine is started; an adapter must have been merged.
        copies: number of engines.
        tensor_parallel: devices of each.
        address: of a running cluster, ``auto`` for the one that this machine belongs to; ``None``
            starts one on this machine alone.
        patience: seconds without any answer, while some are waited for, after which the engines
            count as failed: Ray starts a dead engine again, and again, without an end.

    Raises:
        TablemendError: the cluster cannot be reached, or has too few GPUs.
    """

    def __init__(
        self,
        launch: Launch,
        copies: int,
        tensor_parallel: int,
        address: str | None,
        patience: float,
    ) -> None:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._stop_ids = launch.stop_ids
        self._futures: dict[int, Future[Outcome]] = {}
        self._most: dict[int, int] = {}
        self._lock = threading.Lock()
        self._failure: TablemendError | None = None
        self._patience = patience
        self._progress = time.monotonic()
        started: Future[Any] = Future()
        # One thread from the first word with Ray to the last: where the thread that joined a
        # cluster ends, Ray leaves it.
        self._thread = threading.Thread(
            target=self._live, args=(started, launch, copies, tensor_parallel, address), daemon=True
        )
        self._thread.start()
        self._queue = started.result()
        threading.Thread(target=self._watch, daemon=True).start()

    def _live(
        self,
        started: Future[Any],
        launch: Launch,
        copies: int,
        tensor_parallel: int,
        address: str | None,
    ) -> None:
        import ray

        self._own = not ray.is_initialized()
        try:
            if self._own:
                _connect(address, copies * tensor_parallel)
            gpus = bool(ray.cluster_resources().get("GPU", 0))
            _check_room(ray.available_resources(), gpus, copies, tensor_parallel)
            queue = _open_queue()
            arguments = launch.arguments | ({} if gpus else launch.on_cpu)
            answers = _build(queue, arguments, copies, tensor_parallel, gpus)
            started.set_result(queue)
            for batch in answers.iter_batches(batch_size=None, prefetch_batches=0):
                for line in batch["outcome"]:
                    self._resolve(json.loads(line))
            self._fail(TablemendError("the Ray engines were closed"))
        except Exception as error:  # of any kind: whoever waits must hear of it
            if not isinstance(error, TablemendError):
                lines = str(error).strip().splitlines() or [type(error).__name__]
                error = TablemendError(f"the Ray engines failed: {lines[-1]}")
            self._fail(error)
            if not started.done():
                started.set_exception(error)
        finally:
            if self._own:
                _leave()

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Answer all, in the order in which the answers end."""
        for future in as_completed(self.submit(jobs)):
            yield future.result()

    def submit(self, jobs: Sequence[Job]) -> list[Future[Outcome]]:
        """Put jobs to the engines.

        Raises:
            TablemendError: the engines have failed.
        """
        futures: list[Future[Outcome]] = [Future() for _ in jobs]
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if not self._futures:
                self._progress = time.monotonic()
            self._futures.update(zip((job.key for job in jobs), futures, strict=True))
            self._most.update((job.key, job.max_new_tokens) for job in jobs)
        self._queue.put([_row(job) for job in jobs])
        return futures

    def close(self) -> None:
        """Let the engines end, and the cluster where it is ours."""
        if not self._thread.is_alive():
            return
        with self._lock:
            failed = self._failure is not None
        if failed:
            if self._own:  # what still runs there would never end by itself
                _leave()
            return
        self._queue.put(None)
        self._thread.join(PATIENCE)

    def _resolve(self, given: dict[str, Any]) -> None:
        key = given["key"]
        with self._lock:
            self._progress = time.monotonic()
            future = self._futures.pop(key, None)
            most = self._most.pop(key, 0)
        if future is not None:  # a job of a worker that died may be answered twice
            with suppress(InvalidStateError):  # who waited may have left
                future.set_result(self._outcome(key, given, most))

    def _watch(self) -> None:
        """Fail what waits for engines that give no answer at all."""
        while self._thread.is_alive():
            with self._lock:
                silent = time.monotonic() - self._progress if self._futures else 0.0
            if silent > self._patience:
                self._fail(
                    TablemendError(
                        f"no answer of the Ray engines for {self._patience:g} s (options.timeout); "
                        "if they die again and again, the reason is in Ray's logs of this session"
                    )
                )
                return
            time.sleep(min(1.0, self._patience / 4))

    def _outcome(self, key: int, given: dict[str, Any], most: int) -> Outcome:
        if given["error"]:
            return Outcome(key, (), "error", error=given["error"])
        ids = tuple(given["ids"])
        if ids and ids[-1] in self._stop_ids:
            return Outcome(key, ids, "stop")
        if len(ids) >= most:
            return Outcome(key, ids, "length")
        return Outcome(key, (), "error", error=f"vLLM ended the answer after {len(ids)} tokens")

    def _fail(self, error: TablemendError) -> None:
        with self._lock:
            self._failure = error
            futures = list(self._futures.values())
            self._futures.clear()
        for future in futures:
            with suppress(InvalidStateError):
                future.set_exception(error)


def _leave() -> None:
    import ray

    if ray.is_initialized():
        ray.shutdown()


def _connect(address: str | None, devices: int) -> None:
    """Join a cluster, or start one here.

    Raises:
        TablemendError: no cluster at that address.
    """
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if address is None:
        # Logical CPUs: on a small machine two models' engines still stand beside their sources.
        cpus = max(os.cpu_count() or 1, 2 * devices + 2)
        options |= {"num_cpus": cpus, "include_dashboard": False}
    try:
        ray.init(address=address, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TablemendError(f"no Ray cluster at {address!r}: {reason}") from error


def _check_room(
    free: Mapping[str, float], on_gpus: bool, copies: int, tensor_parallel: int
) -> None:
    """Engines that do not fit would be waited for, without a word."""
    needed = copies * tensor_parallel
    kind = "GPU" if on_gpus else "CPU"
    if not on_gpus and tensor_parallel > 1:
        raise TablemendError("the Ray cluster has no GPU: vllm.tensor_parallel must be 1")
    if free.get(kind, 0) < needed:
        raise TablemendError(
            f"the Ray cluster has {free.get(kind, 0):g} free {kind}s; vllm.data_parallel={copies} "
            f"with vllm.tensor_parallel={tensor_parallel} needs {needed}"
        )


def _open_queue() -> Any:
    from ray.util.queue import Queue

    return Queue(actor_options={"num_cpus": 0})


def _build(
    queue: Any, arguments: dict[str, Any], copies: int, tensor_parallel: int, on_gpus: bool
) -> Any:
    """The endless data set of answers; nothing runs before it is read."""
    from ray.data import DataContext, read_datasource
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    context = DataContext.get_current()
    kept = context.target_max_block_size, context.enable_progress_bars
    context.target_max_block_size = 1  # pass every block on at once, not when it has filled up
    context.enable_progress_bars = False
    bundle = {"CPU": 1, "GPU": 1} if on_gpus else {"CPU": 1}
    # left alone, every engine on a node would bind its threads to the same cores
    threads = {} if on_gpus else {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
    engine = {name: value for name, value in arguments.items() if name not in NO_ARGUMENT}
    config = vLLMEngineProcessorConfig(
        model_source=arguments["model"],
        engine_kwargs=engine | {"distributed_executor_backend": "ray" if on_gpus else "mp"},
        concurrency=(copies, copies),
        batch_size=1,
        max_concurrent_batches=arguments.get("max_num_seqs", AT_ONCE),
        placement_group_config={"bundles": [bundle] * tensor_parallel, "strategy": "PACK"},
        runtime_env={"env_vars": ENVIRONMENT | threads},
        should_continue_on_error=True,
        log_engine_metrics=False,
        chat_template_stage=False,
        tokenize_stage=False,
        detokenize_stage=False,
    )
    processor = build_processor(
        config,
        preprocess=_prepare,
        postprocess=_collect,
        preprocess_map_kwargs={"num_cpus": LITTLE},
        postprocess_map_kwargs={"num_cpus": LITTLE},
    )
    try:
        source = _source_of(queue)
        return processor(read_datasource(source, override_num_blocks=1, num_cpus=LITTLE))
    finally:
        context.target_max_block_size, context.enable_progress_bars = kept


def _source_of(queue: Any) -> Any:
    """A Ray source with one task, which hands on what comes through a queue until ``None``."""
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    def read() -> Iterator[Any]:
        import pyarrow as pa

        while (rows := queue.get()) is not None:
            for row in rows:  # a block each: Ray hands out blocks, and answers of one together
                yield pa.Table.from_pylist([row])

    class QueueSource(Datasource):  # type: ignore[misc]
        """Prompts as they are asked."""

        def estimate_inmemory_data_size(self) -> None:
            """Unknown: it has no end."""

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            """The one task."""
            unknown = BlockMetadata(
                num_rows=None, size_bytes=None, input_files=None, exec_stats=None
            )
            return [ReadTask(read, unknown)]

    return QueueSource()


def _row(job: Job) -> dict[str, Any]:
    """A job as a row; the parameters are text, as their fields differ from row to row."""
    parameters: dict[str, Any] = {
        "max_tokens": job.max_new_tokens,
        "temperature": job.temperature,
    }
    if job.temperature:
        parameters["seed"] = job.seed
    if job.schema is not None:
        parameters["structured_outputs"] = {"json": json.dumps(job.schema)}
    elif job.grammar is not None:
        parameters["structured_outputs"] = {"grammar": job.grammar}
    return {"key": job.key, "ids": list(job.ids), "parameters": json.dumps(parameters)}


def _prepare(row: dict[str, Any]) -> dict[str, Any]:
    """A row as Ray's engine wants it; runs on the cluster."""
    return {
        "tokenized_prompt": row["ids"],
        "prompt": "",
        "sampling_params": json.loads(row["parameters"]) | {"detokenize": False},
    }


def _collect(row: dict[str, Any]) -> dict[str, Any]:
    """What is needed of an answer; runs on the cluster."""
    error = str(row["__inference_error__"] or "").splitlines()
    given = {
        "key": int(row["key"]),
        "ids": [int(token) for token in row["generated_tokens"] or ()],
        "error": error[0] if error else "",
    }
    return {"outcome": json.dumps(given)}
