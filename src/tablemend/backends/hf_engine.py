"""The transformers backend as an engine: chats in, answers out, the model loaded when needed."""

from __future__ import annotations

import gc
from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import torch
from transformers.utils import logging

from tablemend.backends import hf
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import BatchEngine
from tablemend.backends.loading import loading_device
from tablemend.backends.local import LocalEngine
from tablemend.backends.precision import loaded_dtype
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config.section import BackendOptions


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
        self._model: hf.HFModel | None = None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Weights by content, their type and the attention kernel."""
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
        for sampling, own in _by_sampling(requests).items():
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
        """Load the weights."""
        self._load()

    def close(self) -> None:
        """Let the weights go."""
        if self._model is not None:
            self._model = None
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _load(self) -> hf.HFModel:
        if self._model is None:
            logging.disable_progress_bar()  # ours counts answers
            self._model = hf.load_model(
                self.checkpoint,
                dtype=self.options.dtype,
                attn=self.attn,
            )
        return self._model


def _by_sampling(requests: Sequence[Request]) -> dict[Sampling, list[Request]]:
    """What can be decoded in one batch."""
    groups: dict[Sampling, list[Request]] = {}
    for request in requests:
        groups.setdefault(request.sampling, []).append(request)
    return groups
