"""Run folders as a training and a comparison leave them, made without either."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from peft import get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from tablemend.config import parse
from tablemend.recipe.experiment import DistilCommand, DpoCommand, GrpoCommand, SftCommand
from tablemend.runs import Run, hash_text
from tablemend.training import adapters, checkpoints
from tablemend.training.models import lora_config

LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8, save: adapter}")
N = 5


def finished_training(folder: Path, base: Path, *overrides: str, seed: int = 1) -> Run:
    """The run folder of a finished SFT: configuration, manifest, a checkpoint unlike its base."""
    recipe = yaml.safe_load(Path("recipes/tiny.yaml").read_text(encoding="utf-8"))
    recipe["evaluation"]["systems"] = {
        "base": {"model": "base", "thinking": "off"},
        "sft": {"model": "sft", "thinking": "quote"},
    }
    given = folder.with_suffix(".yaml")
    given.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    tokens = [
        f"recipe={given}",
        f"model.path={base}",
        f"run={folder}",
        f"data.test.n={N}",
        "evaluation.max_new_tokens=24",
        *overrides,
    ]
    config = parse(SftCommand, tokens)
    run = Run.of(config)
    run.begin("sft", config, ())
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(base)
    model: Any = AutoModelForCausalLM.from_pretrained(base)
    if config.train.lora is not None:
        model = get_peft_model(model, lora_config(config.train.lora))
    for name, weight in model.named_parameters():
        if weight.requires_grad and "lora_A" not in name:
            weight.data += 0.05 * torch.randn_like(weight)
    model.save_pretrained(run.model)
    tokenizer.save_pretrained(run.model)
    checkpoints.mark_complete(run.model)
    facts = {
        "examples": 100,
        "rows": 98,
        "dropped": {"longer than max_length": 2},
        "rows_hash": "744642c466080c0d",
        "template_hash": hash_text(str(tokenizer.chat_template)),
        "prompt_hash": "3183ca59902112a2",
        "model_revision": checkpoints.revision_of(str(base)),
        "steps": 40,
        "seconds": 4321.0,
        "tokens": 123456,
        "last_loss": 0.25,
    }
    run.record("sft", facts)
    return run


def second_training(folder: Path, first: Run, stage: str) -> Run:
    """The run folder of a second training that began with a finished run and changed nothing."""
    kind = {"dpo": DpoCommand, "grpo": GrpoCommand, "distil": DistilCommand}[stage]
    config = parse(kind, [f"recipe=tiny-{stage}", f"model.path={first.model}", f"run={folder}"])
    run = Run.of(config)
    run.begin(stage, config, ())
    shutil.copytree(first.model, run.model)
    pairs = {
        "pairs": 3,
        "pairs_hash": "abc",
        "pairs_made": {
            "command": ["preference.py", "recipe=tiny-dpo"],
            "rejected": {"the model's own": 2, "a wrong digit": 1},
        },
    }
    rewards = {
        "reward": "tablemend reward 9",
        "rewards": {"mean": {"reward": 0.75, "frac_reward_zero_std": 0.25}},
    }
    facts = {**first.recorded("sft"), "model_revision": checkpoints.revision_of(str(first.model))}
    run.record(stage, facts | {"dpo": pairs, "grpo": rewards, "distil": {}}[stage])
    return run


def copy_of(base: Path, folder: Path) -> Path:
    """A base that a test may spoil."""
    shutil.copytree(base, folder)
    return folder


def spoil_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every merge lose something on its way to the disk."""

    honest = adapters.align_special_tokens

    def careless(merged: Any, tokenizer: Any) -> None:
        honest(merged, tokenizer)
        merged.model.norm.weight.data *= 1.5

    monkeypatch.setattr(adapters, "align_special_tokens", careless)
