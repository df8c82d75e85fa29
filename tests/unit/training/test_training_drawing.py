"""Answers drawn inside a training: in the order of the prompts, repeatable, without dropout."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from tablemend.backends.hf import HFModel
from tablemend.backends.requests import Sampling
from tablemend.recipe.training import Distil
from tablemend.training import grpo

LENGTH = 12
PROMPTS = [[5, 6, 7], [9, 8, 7, 6, 5, 4], [11], [5, 6, 7]]


def _model(folder: Path, ends: frozenset[int] = frozenset()) -> HFModel:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return HFModel(model, AutoTokenizer.from_pretrained(folder), ends)


def _draw(model: HFModel, temperature: float, seed: int = 0) -> list[list[int]]:
    torch.manual_seed(seed)
    return grpo.draw(model, PROMPTS, Sampling(LENGTH, temperature))


def test_answers_are_those_of_generate_where_nothing_is_left_to_chance(tiny_model: Path) -> None:
    model = _model(tiny_model)
    wanted = [_greedy(model.model, prompt) for prompt in PROMPTS]
    assert _draw(model, 1e-6) == wanted
    assert len({tuple(answer) for answer in wanted}) == len(wanted) - 1  # two prompts are alike
    end = wanted[1][LENGTH // 2]
    cut = _draw(_model(tiny_model, frozenset({end})), 1e-6)
    assert cut == [a[: a.index(end) + 1] if end in a else a for a in wanted]
    assert len(cut[1]) <= LENGTH // 2 + 1


def _greedy(model: Any, prompt: list[int]) -> list[int]:
    ids = torch.tensor([prompt])
    found = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=LENGTH,
        eos_token_id=None,
        pad_token_id=0,
    )
    return found[0, len(prompt) :].tolist()


def test_nothing_is_dropped_while_answers_are_drawn(tiny_model: Path) -> None:
    plain = _model(tiny_model)
    lora = LoraConfig(r=4, lora_dropout=0.9, target_modules="all-linear", init_lora_weights=False)
    adapted = get_peft_model(plain.model, lora)
    answers = []
    for mode in (True, False):
        adapted.train(mode)
        answers.append(_draw(HFModel(adapted, plain.tokenizer, frozenset()), 1e-6))
        assert adapted.training is mode
    assert answers[0] == answers[1]


def test_weights_are_cast_once_for_all_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def answers(*_: object) -> list[list[int]]:
        seen.append(torch.is_autocast_enabled("cpu"))
        return [[1]]

    monkeypatch.setattr(grpo, "draw", answers)
    monkeypatch.setattr(grpo, "drawing_model", lambda _: nullcontext())
    trainer = grpo.RolloutMixin.__new__(grpo.RolloutMixin)
    trainer.drawing, trainer.processing_class, trainer.eos_token_ids = (
        Distil(max_new_tokens=4),
        None,
        [1],
    )
    trainer.accelerator = SimpleNamespace(autocast=lambda: torch.autocast("cpu", torch.bfloat16))
    assert trainer.draw([[1]], 4) == [[1]]
    assert seen == [True] and not torch.is_autocast_enabled("cpu")
