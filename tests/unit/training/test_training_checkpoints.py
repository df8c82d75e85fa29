"""Checkpoints: refused when they are not whole, verified when they are saved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from accelerate import FullyShardedDataParallelPlugin
from accelerate.utils.fsdp_utils import fsdp2_prepare_auto_wrap_policy
from safetensors.torch import load_file, save_file
from transformers import Gemma3Config, Gemma3ForConditionalGeneration

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Model
from tablemend.training import checkpoints


@pytest.fixture
def copy(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def _cut(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def _empty(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"] = torch.zeros(0)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _index(folder: Path) -> None:
    index = {"weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "no checkpoint folder"),
        (lambda folder: (folder / "model.safetensors").unlink(), "but no weights"),
        (lambda folder: (folder / "config.json").unlink(), "it has no config.json"),
        (_cut, "is not readable"),
        (_empty, "norm.weight is empty"),
        (_index, "lacks model-00002-of-00002.safetensors"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused(copy: Path, damage: object, message: str) -> None:
    checkpoints.check_model(str(copy))
    damage(copy)  # type: ignore[operator]
    with pytest.raises(TablemendError, match=message):
        checkpoints.check_model(str(copy))


def test_fsdp_finds_the_layers_of_a_model_that_sees_pictures(copy: Path) -> None:
    """Gemma 3's vision tower names layers that it lacks, which accelerate refuses to wrap."""
    small = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    text = {**small, "vocab_size": 64, "num_hidden_layers": 2, "num_key_value_heads": 1}
    vision = {**small, "num_hidden_layers": 1, "image_size": 28, "vision_use_head": False}
    ids = {"image_token_index": 1, "boi_token_index": 2, "eoi_token_index": 3}
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4, **ids)
    Gemma3ForConditionalGeneration(config).save_pretrained(copy)
    model = checkpoints.load_model(Model(path=str(copy), context_length=64))
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap"
    )
    wraps = fsdp2_prepare_auto_wrap_policy(plugin, model)
    wrapped = [type(module).__name__ for module in model.modules() if wraps(module)]
    assert wrapped.count("Gemma3DecoderLayer") == 2


def test_a_tokenizer_without_template_or_padding_is_refused(copy: Path) -> None:
    config = Model(path=str(copy), context_length=128)
    settings = json.loads((copy / "tokenizer_config.json").read_text())
    settings["pad_token"] = settings["eos_token"]
    (copy / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(TablemendError, match="no pad_token of its own"):
        checkpoints.load_tokenizer(config)
    (copy / "chat_template.jinja").unlink()
    with pytest.raises(TablemendError, match="no chat template"):
        checkpoints.load_tokenizer(config)


def test_saved_weights_are_checked(copy: Path) -> None:
    shapes = checkpoints.read_shapes(copy)
    checkpoints.check_weights(copy, shapes)
    with pytest.raises(TablemendError, match=r"lacks 1 saved tensors, first other\.weight"):
        checkpoints.check_weights(copy, {**shapes, "other.weight": (4,)})
    (size,) = shapes["model.norm.weight"]
    part = rf"tensor model\.norm\.weight was saved with shape \({size},\), and is \({2 * size},\)"
    with pytest.raises(TablemendError, match=part):  # one process's half of it
        checkpoints.check_shapes(copy, {**shapes, "model.norm.weight": (2 * size,)})
    tensors = load_file(copy / "model.safetensors")
    tensors["model.norm.weight"][3] = torch.nan
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TablemendError, match=r"model\.norm\.weight is not finite"):
        checkpoints.check_weights(copy, shapes)


def test_an_untrained_adapter_is_refused(tmp_path: Path) -> None:
    name = "base_model.model.layers.0.q_proj.lora_B.weight"
    save_file({name: torch.zeros(4, 2)}, tmp_path / "adapter_model.safetensors")
    shapes = {name: (4, 2)}
    for check in (checkpoints.check_adapter, lambda it: checkpoints.check_weights(it, shapes)):
        with pytest.raises(TablemendError, match="the adapter is zero: it was never trained"):
            check(tmp_path)
    other = name.replace("q_proj", "v_proj")  # an expert may have seen no token yet
    tensors = {name: torch.zeros(4, 2), other: torch.ones(4, 2)}
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    checkpoints.check_weights(tmp_path, {**shapes, other: (4, 2)})
