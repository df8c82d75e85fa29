"""The transformers backend: batched generation that never waits for its slowest row.

``model.generate`` runs a batch until its last row ends, so one answer that does not end costs
the whole batch the full length. Here a row that ends leaves and the next prompt takes its place.
Greedy answers are those of ``model.generate`` (tests/unit/backends/test_backends_hf.py).
"""

from __future__ import annotations

import gc
import random
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.decoding import (
    Grammars,
    Matcher,
    join_rows,
    keep_rows,
    new_cache,
    use_cpu_attention,
)
from tablemend.backends.engine import BatchEngine
from tablemend.backends.loading import (
    LocalEngine,
    completion_of,
    emulation,
    load_tokenizer,
    load_weights,
    loaded_dtype,
    loading_device,
    read_config,
    read_window,
    stop_ids,
)
from tablemend.backends.requests import Completion, Prompt, Request, Sampling, repeats
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError
from tablemend.records import FinishReason
from tablemend.runs import say

# Tokens per prefill pass: on a CPU larger passes fall out of its caches, on a GPU smaller ones
# leave it idle.
CPU_PREFILL = 4096
GPU_PREFILL = 32768
CROWD = 4  # ended rows are taken out when they are one in so many


@dataclass(frozen=True, slots=True)
class Answer:
    """The tokens of an answer, the one that ends it among them.

    Attributes:
        prompt: what it answers.
        ids: at least one.
        finish: ``stop``, or ``length`` where it was cut.
    """

    prompt: Prompt
    ids: Sequence[int]
    finish: FinishReason


@dataclass(frozen=True)
class HFModel:
    """A loaded model and what is needed to use it.

    Attributes:
        model: a transformers causal language model, in evaluation mode.
        tokenizer: its tokenizer, with a chat template.
        stop_ids: tokens that end an answer.
    """

    model: Any
    tokenizer: Any
    stop_ids: frozenset[int]

    @cached_property
    def grammars(self) -> Grammars:
        """What holds answers to grammars."""
        return Grammars(self.tokenizer, self.stop_ids)

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, batch_size: int
    ) -> Iterator[Completion]:
        """Answer every prompt, in the order in which the answers end.

        Long prompts go first, so that a batch too large for the memory fails at once.

        Raises:
            TablemendError: a grammar that cannot be read; a batch that does not fit into the
                GPU's memory.
        """
        try:
            for answer in self.draw(prompts, sampling, batch_size):
                yield completion_of(self.tokenizer, answer.prompt, answer.ids, answer.finish)
        except torch.OutOfMemoryError as error:
            raise TablemendError(
                f"out of GPU memory with {batch_size} prompts at once: "
                "lower batch_size in the options of the model; the answers so far are kept"
            ) from error

    def draw(
        self, prompts: Sequence[Prompt], sampling: Sampling, batch_size: int
    ) -> Iterator[Answer]:
        """As :meth:`generate`, in tokens, and running out of memory is torch's own error.

        Every prompt leaves room for a whole answer in the model's window.
        """
        queue = deque(sorted(prompts, key=lambda prompt: len(prompt.ids), reverse=True))
        batch = _Batch(self, sampling)
        most_tokens = CPU_PREFILL if self.model.device.type == "cpu" else GPU_PREFILL
        while queue or batch.rows:
            while queue and len(batch.rows) < batch_size:
                width = len(queue[0].ids)  # the longest: the queue is sorted
                count = max(1, min(batch_size - len(batch.rows), most_tokens // width, len(queue)))
                batch.add([queue.popleft() for _ in range(count)])
            yield from batch.leave()
            if batch.rows:
                batch.step()


@dataclass
class _Row:
    """One answer in the making."""

    prompt: Prompt
    stream: random.Random
    grammar: Matcher | None = None
    ids: list[int] = field(default_factory=list)
    finish: FinishReason | None = None
    left: bool = False


class _Batch:
    """Rows decoded together, right-aligned: ``mask`` is 0 where a row has no token."""

    def __init__(self, owner: HFModel, sampling: Sampling) -> None:
        self.owner = owner
        self.sampling = sampling
        self.rows: list[_Row] = []
        self.device = owner.model.device
        self.cache = new_cache()
        self.mask = torch.zeros(0, 0, dtype=torch.long, device=self.device)
        self.last = torch.zeros(0, 1, dtype=torch.long, device=self.device)

    @torch.inference_mode()
    def add(self, prompts: Sequence[Prompt]) -> None:
        """Read prompts, choose the first token of each, and let the rows in."""
        width = max(len(prompt.ids) for prompt in prompts)
        ids = [[0] * (width - len(p.ids)) + list(p.ids) for p in prompts]
        mask = [[0] * (width - len(p.ids)) + [1] * len(p.ids) for p in prompts]
        rows = []
        for prompt in prompts:
            own = prompt.grammar
            grammar = None if own is None else self.owner.grammars.matcher(own)
            rows.append(_Row(prompt, random.Random(prompt.seed), grammar))
        new_mask = torch.tensor(mask, device=self.device)
        cache = new_cache()
        output = self.owner.model(
            input_ids=torch.tensor(ids, device=self.device),
            attention_mask=new_mask,
            position_ids=(new_mask.cumsum(1) - 1).clamp(min=0),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        last = self._choose(rows, output.logits[:, -1])
        if self.rows:
            join_rows(self.cache, cache)
            width = max(self.mask.shape[1], new_mask.shape[1])
            masks = (pad(one, (width - one.shape[1], 0)) for one in (self.mask, new_mask))
            self.mask = torch.cat(list(masks))  # right-aligned
            self.last = torch.cat([self.last, last])
        else:
            self.cache, self.mask, self.last = cache, new_mask, last
        self.rows += rows

    @torch.inference_mode()
    def step(self) -> None:
        """One more token for every row."""
        positions = self.mask.sum(1, keepdim=True)
        self.mask = torch.cat([self.mask, torch.ones_like(self.last)], dim=1)
        output = self.owner.model(
            input_ids=self.last,
            attention_mask=self.mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
        )
        self.last = self._choose(self.rows, output.logits[:, -1])

    def _choose(self, rows: Sequence[_Row], logits: Tensor) -> Tensor:
        """The next token of every row, (rows, 1), noted in the rows that have not ended."""
        for row, own in zip(rows, logits, strict=True):
            if row.grammar is not None and row.finish is None:
                row.grammar.forbid(own)
        if self.sampling.temperature == 0:
            chosen = logits.argmax(-1, keepdim=True)
        else:
            # Inverse of the distribution function at a number from the row's own stream.
            weights = torch.softmax(logits.float() / self.sampling.temperature, -1).cumsum(-1)
            draws = torch.tensor([[row.stream.random()] for row in rows], device=weights.device)
            chosen = torch.searchsorted(weights, draws * weights[:, -1:], right=True)
            chosen = chosen.clamp(max=logits.shape[-1] - 1)
        for row, token in zip(rows, chosen[:, 0].tolist(), strict=True):
            if row.finish is None:
                row.ids.append(token)
                if row.grammar is not None:
                    row.grammar.take(token)
                if token in self.owner.stop_ids:
                    row.finish = "stop"
                elif len(row.ids) == self.sampling.max_new_tokens or repeats(
                    row.ids, self.sampling.max_repeats
                ):
                    row.finish = "length"
        return chosen.to(self.device)

    def leave(self) -> Iterator[Answer]:
        """Hand out the answers that have ended; take their rows out once they are a crowd."""
        for row in self.rows:
            if row.finish is not None and not row.left:
                row.left = True
                yield Answer(row.prompt, row.ids, row.finish)
        if self.rows and sum(row.left for row in self.rows) * CROWD >= len(self.rows):
            self._compact()

    @torch.inference_mode()
    def _compact(self) -> None:
        kept = [index for index, row in enumerate(self.rows) if not row.left]
        self.rows = [self.rows[index] for index in kept]
        if not kept:
            return
        self.mask, self.last = self.mask[kept], self.last[kept]
        first_column = int(self.mask.any(0).int().argmax())
        self.mask = self.mask[:, first_column:]
        keep_rows(self.cache, kept, first_column)


def load_model(
    checkpoint: Checkpoint,
    *,
    dtype: str = "auto",
    attn: str = "sdpa",
) -> HFModel:
    """Load a model for generation, on the GPU where there is one.

    Args:
        checkpoint: a folder, a Hub name, or the folder of a LoRA adapter, which is merged into
            its base.
        dtype: ``float32``, ``bfloat16``, or ``auto``: as stored, but float32 where the device
            emulates bfloat16.
        attn: attention kernel of transformers.

    Raises:
        TablemendError: no weights, no chat template, no end of turn, or an architecture whose
            state is not a key-value cache.
    """
    tokenizer = load_tokenizer(checkpoint)
    read_window(checkpoint)  # refuses architectures that cannot be batched here
    device = loading_device()
    is_adapter = checkpoint.adapter_base is not None
    if is_adapter and getattr(read_config(checkpoint), "quantization_config", None):
        raise TablemendError(
            f"{checkpoint.path}: its base {checkpoint.base.path} is quantised, and merging would "
            "round the adapter away: name an unquantised base, or let a server apply it (vllm "
            "serve --enable-lora)"
        )
    if warning := emulation("dtype", dtype, device):
        say(warning)
    model = load_weights(
        checkpoint.base,
        AutoModelForCausalLM,
        dtype=loaded_dtype(dtype, device),
        attn_implementation=attn,
        device_map="auto" if device == "cuda" else None,
    )
    if is_adapter:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, checkpoint.path).merge_and_unload()
    use_cpu_attention()
    ends = stop_ids(model.generation_config.eos_token_id, tokenizer, checkpoint)
    return HFModel(model.eval(), tokenizer, ends)


class HFEngine(LocalEngine, BatchEngine):
    """transformers in this process.

    Weights are loaded with the first request and let go by :meth:`close`. An answer is held to its
    request's grammar; a schema is for whoever reads the answer.

    Args:
        checkpoint: folder, adapter's folder or Hub name.
        options: ``dtype``, ``context_length`` and ``batch_size`` are read.
        attn: attention kernel of transformers.
    """

    def __init__(self, checkpoint: Checkpoint, options: BackendOptions, attn: str = "sdpa") -> None:
        LocalEngine.__init__(self, checkpoint, options)
        BatchEngine.__init__(self)
        self.attn = attn
        self._model: HFModel | None = None

    @cached_property
    def identity(self) -> dict[str, Any]:
        return {
            "engine": "hf",
            "model": self.checkpoint.path,
            "fingerprint": self.checkpoint.fingerprint(),
            "dtype": loaded_dtype(self.options.dtype, loading_device()),
            "attn": self.attn,
        }

    def generate(self, requests: Sequence[Request]) -> Generator[Completion]:
        """Answer all, in the order in which the answers end.

        A prompt that does not fit into the window is an ``error``; the others are answered.
        """
        groups: dict[Sampling, list[Request]] = {}  # what can be decoded in one batch
        for request in requests:
            groups.setdefault(request.sampling, []).append(request)
        for sampling, own in groups.items():
            fitting = []
            for request in own:
                prompt = self._render(request)
                if why := self._misfit(prompt, request):
                    yield Completion.failed(prompt.id, why)
                else:
                    fitting.append(prompt)
            if fitting:
                model = self._load()
                yield from model.generate(fitting, sampling, self.options.batch_size)

    def load(self) -> None:
        self._load()

    def close(self) -> None:
        if self._model is not None:
            self._model = None
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _load(self) -> HFModel:
        if self._model is None:
            logging.disable_progress_bar()  # ours counts answers
            self._model = load_model(self.checkpoint, dtype=self.options.dtype, attn=self.attn)
        return self._model
