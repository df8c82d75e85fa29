"""GRPO's answers, drawn by our own batched generation where no vLLM does.

``generate`` runs all answers of a step until the last one ends, and copies all keys and values at
every token. :class:`~tablemend.backends.hf.HFModel` does neither: the answers of the tiny model
took an eighth of the time (LAB_LOG.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule
from trl.models.utils import unwrap_model_for_generation

from tablemend.backends.hf import HFModel
from tablemend.backends.requests import Prompt, Sampling


def draw(model: HFModel, prompts: Sequence[Sequence[int]], sampling: Sampling) -> list[list[int]]:
    """One answer for each prompt, in its order, with the token that ends it.

    Each answer's stream is seeded from torch's generator: a resumed training draws the same.

    Args:
        model: the model as it is now; dropout is off while it draws.
        prompts: ids of each.
        sampling: temperature, and the most tokens of an answer.
    """
    seeds = torch.randint(2**62, (len(prompts),)).tolist()
    asked = [
        Prompt(str(number), tuple(ids), seed)
        for number, (ids, seed) in enumerate(zip(prompts, seeds, strict=True))
    ]
    training = model.model.training
    model.model.eval()
    try:
        answers = {
            answer.prompt.id: list(answer.ids)
            for answer in model.draw(asked, sampling, batch_size=len(asked))
        }
    finally:
        model.model.train(training)
    return [answers[prompt.id] for prompt in asked]


@contextmanager
def drawing_model(trainer: Any) -> Iterator[Any]:
    """The trainer's model with all its weights in place, so that processes need not wait.

    ZeRO-3 and FSDP2 bring weights together at every call of the model, in all processes at once;
    while answers are drawn, each process makes as many calls as its own answers take.
    """
    with unwrap_model_for_generation(
        trainer.model_wrapped,
        trainer.accelerator,
        gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
    ) as model:
        shards = [module for module in model.modules() if isinstance(module, FSDPModule)]
        if not shards:
            yield model
            return
        plugin = trainer.accelerator.state.fsdp_plugin
        try:
            for module in shards:
                module.set_reshard_after_forward(False, recurse=False)
                module.unshard()
            yield model
        finally:
            for module in shards:
                module.reshard()
                if module is not model:  # the outermost keeps its weights for the backward pass
                    module.set_reshard_after_forward(plugin.reshard_after_forward, recurse=False)
