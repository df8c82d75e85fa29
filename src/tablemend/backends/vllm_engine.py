"""vLLM's offline engine: prompts of one context side by side, and read once (docs/backends.md).

Prompts are rendered here, by the renderer of training, and handed over as ids; answers are
decoded here too. So a prompt equals the transformers backend's id for id, and a text has the
same special tokens in it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, GenerationConfig

from tablemend.backends import hf
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import BatchEngine
from tablemend.backends.precision import loaded_dtype
from tablemend.backends.requests import Completion, Prompt, Request, check_window, misfit
from tablemend.backends.vllm_launch import (
    adapter_config,
    assign_devices,
    largest_rank,
    merges_adapter,
)
from tablemend.backends.vllm_replica import (
    CPU_BATCHED,
    CPU_BLOCK,
    CPU_KV_GIB,
    LORA_RANKS,
    Job,
    Launch,
    Outcome,
    Replicas,
    Runner,
)
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError, install
from tablemend.renderer import prompt_ids
from tablemend.runs import disk_errors

GIB = 1 << 30


def require_vllm() -> None:
    """Refuse, before anything is read or loaded, to go on without vLLM.

    Raises:
        TablemendError: it is not installed.
    """
    if find_spec("vllm") is None:
        raise TablemendError(
            f"vllm is not installed in this environment: {install('train', 'vllm')} "
            "on a machine with GPUs; on a CPU, make vllm-env and run with "
            ".venv-vllm/bin/python; or answer with transformers (backend=hf, or hf: before the "
            "model's name)"
        )


class VllmEngine(BatchEngine):
    """vLLM, in one process for each copy of the weights.

    The engine starts with the first request and ends with :meth:`close`.

    Args:
        checkpoint: folder, adapter's folder or Hub name.
        options: ``dtype``, ``context_length``, ``revision`` and all of ``vllm`` are read.

    Raises:
        TablemendError: vLLM is not installed, no such checkpoint, or options that this machine
            or the adapter cannot meet.
    """

    def __init__(self, checkpoint: Checkpoint, options: BackendOptions) -> None:
        super().__init__()
        require_vllm()
        checkpoint.check()
        self.checkpoint = checkpoint
        self.options = options
        self._devices = self._assign()
        self._merge = merges_adapter(checkpoint, options.vllm.adapter)
        self._merged: tempfile.TemporaryDirectory[str] | None = None
        self._runner: Runner | None = None
        self._keys = 0

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Weights by content, their type, and what is done with an adapter and a schema."""
        return {
            "engine": "vllm",
            "model": self.checkpoint.path,
            "fingerprint": self.checkpoint.fingerprint(),
            "dtype": loaded_dtype(self.options.dtype),
            "adapter_merged": self._merge,
            "reasoning_parser": self.options.vllm.reasoning_parser,
        }

    def check(self, requests: Sequence[Request]) -> None:
        """Refuse prompts that do not fit; loads the tokenizer alone.

        Raises:
            TablemendError: see :func:`tablemend.backends.requests.check_window`.
        """
        by_length: dict[int, list[Prompt]] = {}
        for request in requests:
            most = request.sampling.max_new_tokens
            by_length.setdefault(most, []).append(self._render(request))
        for most, prompts in by_length.items():
            check_window(prompts, most, self._window)

    def generate_batch(self, requests: Sequence[Request]) -> Generator[Completion]:
        """Answer all, in the order in which the answers end.

        A prompt that does not fit into the window is an ``error``; the others are answered,
        those that begin alike one after the other.
        """
        asked: list[tuple[Prompt, Request]] = []
        for request in requests:
            prompt = self._render(request)
            if why := misfit(prompt, request.sampling.max_new_tokens, self._window):
                yield Completion.failed(prompt.id, why)
            else:
                asked.append((prompt, request))
        asked = self.arrange(asked)
        first = self._keys
        self._keys += len(asked)
        jobs = [self._job(key, *pair) for key, pair in enumerate(asked, first)]
        if jobs:
            for outcome in self._start().run(jobs):
                yield self._completion(asked[outcome.key - first][0], outcome)

    def arrange(self, asked: list[tuple[Prompt, Request]]) -> list[tuple[Prompt, Request]]:
        """The order in which vLLM gets prompts: those that begin alike stand together."""
        return sorted(asked, key=lambda pair: pair[0].ids)

    def load(self) -> None:
        """Start vLLM."""
        self._start()

    def close(self) -> None:
        """End vLLM's processes and delete what was merged."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        if self._merged is not None:
            self._merged.cleanup()
            self._merged = None

    def _assign(self) -> list[dict[str, str]]:
        """Variables that give every replica its devices.

        Raises:
            TablemendError: this machine has too few.
        """
        return assign_devices(self.options.vllm.tensor_parallel, self.options.vllm.data_parallel)

    def _start(self) -> Runner:
        if self._runner is None:
            launch = self._launch()
            self._runner = Replicas([replace(launch, environment=one) for one in self._devices])
        return self._runner

    def _launch(self) -> Launch:
        """What every replica is started with.

        Raises:
            TablemendError: an adapter that cannot be merged.
        """
        options = self.options.vllm
        base = self.checkpoint.adapter_base or self.checkpoint
        model = base.path
        if self._merge:
            model = self._merge_adapter()
        gib = options.kv_cache_gib
        arguments: dict[str, Any] = {
            "model": model,
            "revision": base.revision,
            "tokenizer": model if self._merge else self._tokenizer.name_or_path,
            "tokenizer_revision": base.revision,
            "dtype": self._dtype,
            "max_model_len": self._window,
            "tensor_parallel_size": options.tensor_parallel,
            "gpu_memory_utilization": options.memory,
            "enable_prefix_caching": options.prefix_caching,
            "enforce_eager": bool(options.enforce_eager),
            "use_tqdm_on_load": False,
            "generation_config": "vllm",  # a model's own top_p would change what was asked for
            "structured_outputs_config": {
                "backend": "guidance",
                "disable_any_whitespace": True,  # a schema allows endless whitespace
                "reasoning_parser": options.reasoning_parser or "",
            },
        }
        on_cpu: dict[str, Any] = {
            "block_size": options.block_size or CPU_BLOCK,
            "kv_cache_memory_bytes": int((gib or CPU_KV_GIB) * GIB),
            "enforce_eager": options.enforce_eager is not False,
            # A prompt read in two steps takes back what its seed drew in the first: on a CPU that
            # ends the engine ("CPU Generator does not use offset", vLLM 0.32).
            "enable_chunked_prefill": False,
            "max_num_batched_tokens": max(self._window, CPU_BATCHED),
        }
        if options.block_size is not None:
            arguments["block_size"] = options.block_size
        if gib is not None:
            arguments["kv_cache_memory_bytes"] = int(gib * GIB)
        if options.max_num_seqs is not None:
            arguments["max_num_seqs"] = options.max_num_seqs
        adapter = None
        if self.checkpoint.adapter_base is not None and not self._merge:
            adapter = self.checkpoint.path
            rank = largest_rank(adapter_config(self.checkpoint))
            arguments |= {
                "enable_lora": True,
                "max_loras": 1,
                "max_lora_rank": next(known for known in LORA_RANKS if known >= rank),
            }
        return Launch(arguments, on_cpu, self._stop_ids, adapter)

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
    def _tokenizer(self) -> Any:
        return hf.load_tokenizer(self.checkpoint)

    @cached_property
    def _config(self) -> Any:
        base = self.checkpoint.adapter_base or self.checkpoint
        with hf.named_failures(self.checkpoint):
            config = AutoConfig.from_pretrained(base.path, revision=base.revision)
        return config.get_text_config()

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
        base = self.checkpoint.adapter_base or self.checkpoint
        try:
            named = GenerationConfig.from_pretrained(base.path, revision=base.revision).eos_token_id
        except OSError:  # it has none; what its configuration names holds
            named = self._config.eos_token_id
        return hf.stop_ids(named, self._tokenizer, self.checkpoint)

    def _render(self, request: Request) -> Prompt:
        ids = prompt_ids(self._tokenizer, request.messages, request.thinking)
        return Prompt(request.id, tuple(ids), request.seed)

    def _job(self, key: int, prompt: Prompt, request: Request) -> Job:
        sampling = request.sampling
        schema, grammar = request.schema, request.grammar
        held = self.options.vllm.reasoning_parser is not None or not (
            (schema or grammar) and self._thinks(prompt, request)
        )
        return Job(
            key,
            prompt.ids,
            sampling.max_new_tokens,
            sampling.temperature,
            prompt.seed,
            dict(schema) if schema is not None and held else None,
            grammar if held else None,
        )

    def _thinks(self, prompt: Prompt, request: Request) -> bool:
        """Whether the answer begins with thinking, which a schema would forbid."""
        end = self._tokenizer.decode(prompt.ids[-8:])
        return bool(request.thinking) or end.rstrip().endswith("<think>")

    def _completion(self, prompt: Prompt, outcome: Outcome) -> Completion:
        ids = outcome.ids[:-1] if outcome.finish == "stop" else outcome.ids
        failed = outcome.finish == "error"
        return Completion(
            id=prompt.id,
            text=self._tokenizer.decode(ids, skip_special_tokens=False),
            prompt_tokens=0 if failed else len(prompt.ids),
            completion_tokens=len(outcome.ids),
            finish_reason=outcome.finish,
            error=outcome.error,
            cached_tokens=outcome.cached_tokens,
        )
