"""What is decided before vLLM starts; vLLM itself is not needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tablemend.backends import vllm_engine
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.vllm_adapters import merges_adapter
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError


def on_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)


def test_without_vllm_one_line_says_what_to_do(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_engine, "find_spec", lambda name: None)
    with pytest.raises(
        TablemendError, match=r"not installed.*\[train,vllm\].*vllm-env.*backend=hf"
    ):
        vllm_engine.VllmEngine(Checkpoint(str(tiny_model)), BackendOptions(cache=None))


def adapter(folder: Path, base: Path, **fields: Any) -> Checkpoint:
    config = {"peft_type": "LORA", "r": 16, "base_model_name_or_path": str(base), **fields}
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return Checkpoint(str(folder))


def test_an_adapter_is_merged_on_a_cpu_and_applied_on_a_gpu(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = adapter(tmp_path / "a", tiny_model)
    on_gpus(monkeypatch, 0)
    assert merges_adapter(checkpoint, "auto") and not merges_adapter(checkpoint, "lora")
    on_gpus(monkeypatch, 1)
    assert not merges_adapter(checkpoint, "auto") and merges_adapter(checkpoint, "merge")
    assert not merges_adapter(Checkpoint(str(tiny_model)), "merge")  # no adapter


@pytest.mark.parametrize(
    "fields",
    [{"use_dora": True}, {"modules_to_save": ["lm_head"]}, {"r": 600}, {"peft_type": "IA3"}],
)
def test_what_vllm_cannot_apply_is_merged_or_refused(
    fields: dict[str, Any], tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_gpus(monkeypatch, 1)
    checkpoint = adapter(tmp_path / "a", tiny_model, **fields)
    assert merges_adapter(checkpoint, "auto")
    with pytest.raises(TablemendError, match=r"vLLM does not apply .* set vllm\.adapter=merge"):
        merges_adapter(checkpoint, "lora")


def test_nothing_is_merged_into_a_quantised_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_gpus(monkeypatch, 0)
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text(json.dumps({"quantization_config": {"bits": 4}}))
    checkpoint = adapter(tmp_path / "a", base)
    with pytest.raises(TablemendError, match=r"is quantised.* set vllm\.adapter=lora"):
        merges_adapter(checkpoint, "auto")
    assert not merges_adapter(checkpoint, "lora")
