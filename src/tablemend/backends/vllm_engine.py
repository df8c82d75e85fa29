"""vLLM's own engine in this process, asked in token ids (docs/evaluation.md).

Prompts are rendered here, by the renderer of training, and handed over as ids; answers are
decoded here too. So a prompt equals the transformers backend's id for id, and a text has the
same special tokens in it. Batching, prefix caching and sharing requests out among copies of the
weights are vLLM's (``AsyncLLM``).
"""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from functools import cached_property
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig

from tablemend.backends import hf
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import require_vllm
from tablemend.backends.loading import (
    LocalEngine,
    completion_of,
    loaded_dtype,
    read_config,
    stop_ids,
)
from tablemend.backends.requests import REPEATED, Completion, Prompt, Request
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError
from tablemend.runs import disk_errors
from tablemend.thinking import opened_thought

CPU_KV_BYTES = 4 << 30
CPU_BATCHED = 4096  # tokens of a step
CPU_BLOCK = 32  # vLLM's own choice there is 128: most of a short context would not be shared
PATIENCE = 30.0
"""Seconds that vLLM is given to end by itself."""
ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",  # its messages would stand among ours on stdout
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore::FutureWarning",  # of vLLM's own modules, in its processes
}
"""What is set where the user has not set it."""
WATCH = """
import os, signal, sys
sys.stdin.read()
for pid in map(int, sys.argv[1:]):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""
"""Ends vLLM's processes, which outlive a parent that is killed and keep its GPU's memory."""


class VllmEngine(LocalEngine):
    """vLLM's ``AsyncLLM``, in an event loop of its own, which any other may ask.

    The engine starts with the first request and ends with :meth:`close`. An adapter is merged into
    its base first, in a temporary folder.

    Args:
        checkpoint: folder, adapter's folder or Hub name.
        options: ``dtype``, ``context_length``, ``revision`` and all of ``vllm`` are read.

    Raises:
        TablemendError: vLLM is not installed, or no such checkpoint.
    """

    def __init__(self, checkpoint: Checkpoint, options: BackendOptions) -> None:
        require_vllm()
        checkpoint.check()
        super().__init__(checkpoint, options)
        self._merged: tempfile.TemporaryDirectory[str] | None = None
        self._starting = threading.Lock()
        self._refusal: TablemendError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._llm: Any = None
        self._watch: subprocess.Popen[bytes] | None = None
        self._names = itertools.count()

    @cached_property
    def identity(self) -> dict[str, Any]:
        return {
            "engine": "vllm",
            "model": self.checkpoint.path,
            "fingerprint": self.checkpoint.fingerprint(),
            "dtype": loaded_dtype(self.options.dtype),
            "reasoning_parser": self.options.vllm.engine.get("reasoning_parser"),
        }

    async def answer(self, request: Request) -> Completion:
        """Answer one; a prompt that does not fit into the window is an ``error``.

        Raises:
            TablemendError: vLLM does not start, or has died.
        """
        prompt = self._render(request)
        if why := self._misfit(prompt, request):
            return Completion.failed(prompt.id, why)
        if self._llm is None:
            await asyncio.to_thread(self.load)
        assert self._loop is not None
        answered = asyncio.run_coroutine_threadsafe(self._generate(prompt, request), self._loop)
        return await asyncio.wrap_future(answered)

    async def _generate(self, prompt: Prompt, request: Request) -> Completion:
        from vllm.exceptions import VLLMValidationError
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        try:
            outputs = self._llm.generate(
                {"prompt_token_ids": list(prompt.ids)},
                self._parameters(prompt, request),
                str(next(self._names)),
            )
            (output,) = [one async for one in outputs]  # there is one, at the end
        except EngineDeadError as error:
            raise TablemendError(
                "vLLM's engine died; its own message stands above. Where memory ran out, lower "
                "vllm.memory, vllm.engine.kv_cache_memory_bytes or vllm.max_num_seqs; the answers "
                "so far are kept"
            ) from error
        except (ValueError, VLLMValidationError, EngineGenerateError) as error:
            # what it refuses, such as a schema that it cannot follow
            return Completion.failed(prompt.id, _reason(error.__cause__ or error))
        return self._completion(prompt, output)

    def _parameters(self, prompt: Prompt, request: Request) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import (
            RepetitionDetectionParams,
            RequestOutputKind,
            StructuredOutputsParams,
        )

        sampling, held = request.sampling, None
        fewest, most = REPEATED
        if request.schema is not None:
            held = StructuredOutputsParams(json=dict(request.schema))
        elif request.grammar is not None:
            held = StructuredOutputsParams(grammar=request.grammar)
        parser = self.options.vllm.engine.get("reasoning_parser")
        thinks = request.thinking or opened_thought(self._tokenizer, prompt.ids)
        if held and parser is None and thinks:  # a schema would forbid that
            held = None
        return SamplingParams(
            max_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            seed=prompt.seed if sampling.temperature else None,
            stop_token_ids=sorted(self._stop_ids),
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
            structured_outputs=held,
            repetition_detection=None
            if sampling.max_repeats is None
            else RepetitionDetectionParams(most, fewest, sampling.max_repeats),
        )

    def _completion(self, prompt: Prompt, output: Any) -> Completion:
        answer, cached = output.outputs[0], output.num_cached_tokens or 0
        ids = list(answer.token_ids)
        if ids and ids[-1] in self._stop_ids:
            return completion_of(self._tokenizer, prompt, ids, "stop", cached)
        if answer.finish_reason in ("length", "repetition"):
            return completion_of(self._tokenizer, prompt, ids, "length", cached)
        why = f"vLLM ended the answer with {answer.finish_reason!r}"
        return Completion.failed(prompt.id, why)

    def load(self) -> None:
        """Start vLLM.

        Raises:
            TablemendError: it does not start, or an adapter cannot be merged.
        """
        with self._starting:  # several may ask at the same time, each in a thread
            if self._llm is not None:
                return
            if self._refusal is not None:
                raise self._refusal
            for name, value in ENVIRONMENT.items():
                os.environ.setdefault(name, value)
            arguments = self._arguments()
            before = set(active_children())
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="vllm", daemon=True).start()
            self._loop = loop
            try:
                self._llm = asyncio.run_coroutine_threadsafe(_start(arguments), loop).result()
            except TablemendError as error:  # whoever waits need not find out for themselves
                self._refusal = error
                raise
            own = [str(child.pid) for child in active_children() if child not in before]
            self._watch = subprocess.Popen(
                [sys.executable, "-c", WATCH, *own], stdin=subprocess.PIPE, start_new_session=True
            )

    def close(self) -> None:
        if self._watch is not None:
            self._watch.kill()
            self._watch.communicate()
            self._watch = None
        if self._loop is not None:
            if self._llm is not None:
                asyncio.run_coroutine_threadsafe(_end(self._llm), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop, self._llm = None, None
        if self._merged is not None:
            self._merged.cleanup()
            self._merged = None

    def _arguments(self) -> dict[str, Any]:
        """What vLLM is started with.

        Raises:
            TablemendError: an adapter that cannot be merged.
        """
        options, on_gpus = self.options.vllm, torch.cuda.is_available()
        base, is_adapter = self.checkpoint.base, self.checkpoint.adapter_base is not None
        model = self._merge_adapter() if is_adapter else base.path
        copies = torch.cuda.device_count() // options.tensor_parallel if on_gpus else 1
        arguments: dict[str, Any] = {
            "model": model,
            "revision": base.revision,
            "tokenizer_revision": base.revision,
            "dtype": self._dtype,
            "max_model_len": self._window,
            "tensor_parallel_size": options.tensor_parallel,
            "data_parallel_size": options.data_parallel or max(1, copies),
            "gpu_memory_utilization": options.memory,
            "enable_prefix_caching": options.prefix_caching,
            "enforce_eager": not on_gpus,
            "max_num_seqs": options.max_num_seqs,
            "use_tqdm_on_load": False,
            "generation_config": "vllm",  # a model's own top_p would change what was asked for
            "structured_outputs_config": {
                "backend": "guidance",
                "disable_any_whitespace": True,  # a schema allows endless whitespace
                "reasoning_parser": options.engine.get("reasoning_parser") or "",
            },
        }
        if not on_gpus:
            arguments["kv_cache_memory_bytes"] = CPU_KV_BYTES
            arguments["block_size"] = CPU_BLOCK
            # A prompt read in two steps takes back what its seed drew in the first: on a CPU that
            # ends the engine ("CPU Generator does not use offset", vLLM 0.32).
            arguments["enable_chunked_prefill"] = False
            arguments["max_num_batched_tokens"] = max(self._window, CPU_BATCHED)
        own = {name: value for name, value in options.engine.items() if name != "reasoning_parser"}
        return arguments | own

    def _merge_adapter(self) -> str:
        """A temporary folder with the base and the adapter in one."""
        if self._merged is None:
            self._merged = tempfile.TemporaryDirectory(prefix="tablemend-merged-")
            folder = Path(self._merged.name)
            loaded = hf.load_model(self.checkpoint, dtype=self.options.dtype)
            with disk_errors(folder):
                loaded.model.save_pretrained(folder)
                loaded.tokenizer.save_pretrained(folder)
            if torch.cuda.is_available():
                del loaded
                torch.cuda.empty_cache()
        return self._merged.name

    @cached_property
    def _config(self) -> Any:
        return read_config(self.checkpoint).get_text_config()

    @cached_property
    def _window(self) -> int:
        """Most tokens of prompt and answer: the model's, or less where asked for.

        Raises:
            TablemendError: the model names none, and nor do the options.
        """
        asked = self.options.context_length
        most = self._config.to_dict().get("max_position_embeddings")
        if most is None and asked is None:
            raise TablemendError(f"{self.checkpoint.path} names no window: set context_length")
        return min(length for length in (most, asked) if length is not None)

    @property
    def _dtype(self) -> str:
        """As stored where the device can; vLLM's ``auto`` would round float32 to 16 bits."""
        dtype = loaded_dtype(self.options.dtype)
        if dtype == "auto" and self._config.dtype is not None:
            return str(self._config.dtype).removeprefix("torch.")
        return dtype

    @cached_property
    def _stop_ids(self) -> frozenset[int]:
        base = self.checkpoint.base
        try:
            named = GenerationConfig.from_pretrained(base.path, revision=base.revision).eos_token_id
        except OSError:  # it has none; what its configuration names holds
            named = self._config.eos_token_id
        return stop_ids(named, self._tokenizer, self.checkpoint)


async def _start(arguments: dict[str, Any]) -> Any:
    """Start an engine; in the event loop that it will answer in."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    try:
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
    except Exception as error:  # of vLLM, torch, zmq (a long $TMPDIR), ...: no common class
        raise TablemendError(
            f"vLLM does not start with {arguments['model']}: {_reason(error)}"
        ) from error


async def _end(llm: Any) -> None:
    llm.shutdown(timeout=PATIENCE)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _reason(error: BaseException) -> str:
    """The telling line of an exception; pydantic's own first line only counts errors."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    telling = [line.strip() for line in lines if "Value error, " in line]
    return telling[0].partition("Value error, ")[2] if telling else lines[0]
