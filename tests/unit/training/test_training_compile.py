"""Layers compiled for training (train.compile) compute what they did, on rows of any length."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters
from transformers import AutoModelForCausalLM, AutoTokenizer

from tablemend.backends.hf import HFModel
from tablemend.backends.requests import Sampling
from tablemend.errors import TablemendError
from tablemend.training import grpo
from tablemend.training.models import compile_layers

ROWS = [torch.arange(5, 5 + 2 * length).view(2, length) for length in (24, 31)]


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_gradients_are_the_same_and_answers_are_drawn_without_compiling(tiny_model: Path) -> None:
    plain, compiled = (
        AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32).train()
        for _ in range(2)
    )
    compile_layers(compiled)
    counters.clear()
    for rows in ROWS:
        for model in (plain, compiled):
            model(input_ids=rows, labels=rows, use_cache=False).loss.backward()
    made = counters["stats"]["unique_graphs"]
    assert made > 0
    for one, other in zip(plain.parameters(), compiled.parameters(), strict=True):
        assert one.grad is not None
        torch.testing.assert_close(other.grad, one.grad, rtol=1e-3, atol=1e-5)
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    prompts, sampling = [[5, 6, 7], [9, 8, 7, 6]], Sampling(8, 0)
    answers = [
        grpo.draw(HFModel(model, tokenizer, frozenset()), prompts, sampling)
        for model in (plain, compiled)
    ]
    assert answers[0] == answers[1]
    assert counters["stats"]["unique_graphs"] == made


def test_a_model_without_named_layers_is_refused(tiny_model: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny_model)
    model._no_split_modules = set()
    with pytest.raises(TablemendError, match=r"names no layers: set train\.compile=false"):
        compile_layers(model)
