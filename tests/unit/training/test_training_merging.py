"""A merge is told from a wrong one in every type of weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import PeftModel, get_peft_model
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from tablemend.recipe.experiment import Model
from tablemend.recipe.training import Lora
from tablemend.training import adapters, checkpoints
from tablemend.training.models import lora_config

LAYER = "model.layers.1.mlp.down_proj"
PROMPTS = [list(range(5, 45)), list(range(60, 90))]
EDITS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "honest": lambda _, merged: merged,
    "scaled": lambda before, merged: merged + 0.05 * (merged - before),
    "left out": lambda before, _: before,
}


@pytest.fixture(params=["float32", "bfloat16", "float16"])
def base(request: pytest.FixtureRequest, tiny_model: Path, tmp_path: Path) -> Model:
    """A base in one type, and beside it an adapter that adds 2 % to each of its weights."""
    model = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=getattr(torch, request.param))
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    for folder in ("base", "adapter"):
        tokenizer.save_pretrained(tmp_path / folder)
    model.save_pretrained(tmp_path / "base")
    torch.manual_seed(0)
    both = get_peft_model(model, lora_config(Lora(r=4, alpha=8), model))
    for layer in both.modules():
        if isinstance(layer, adapters.LoraLayer):
            second = layer.lora_B["default"].weight.data.normal_()
            weight = layer.get_base_layer().weight.float()
            second *= 0.02 * weight.norm() / layer.get_delta_weight("default").norm()
    both.save_pretrained(tmp_path / "adapter")
    return Model(path=str(tmp_path / "base"), dtype="auto", context_length=128)


def test_a_wrong_merge_is_refused(
    base: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = PeftModel.__getattr__

    def edited(both: PeftModel) -> PreTrainedModel:
        inner = both.get_base_model().get_submodule(LAYER)
        before = inner.get_base_layer().weight.detach().float().clone()
        whole = before + inner.get_delta_weight("default").float()
        merged: PreTrainedModel = honest(both, "merge_and_unload")()
        weight = merged.get_submodule(LAYER).weight
        weight.data = EDITS[name](before, whole).to(weight.dtype)
        return merged

    monkeypatch.setattr(PeftModel, "merge_and_unload", edited, raising=False)
    revision = checkpoints.revision_of(base.path)
    missed = {}
    for name in EDITS:  # which the edit reads
        found = adapters.merge(tmp_path / "adapter", tmp_path / "out", base, revision, PROMPTS)
        assert found.accepted is (name == "honest"), name
        missed[name] = found.missed
    assert missed == pytest.approx({"honest": 0, "scaled": 0.05, "left out": 1}, abs=0.02)
