"""What is decided before vLLM starts; vLLM itself is not needed."""

from __future__ import annotations

import json
import os
from collections import deque
from pathlib import Path
from typing import Any

import pytest
import torch

from tablemend.backends import vllm_engine
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.vllm_launch import assign_devices, merges_adapter
from tablemend.backends.vllm_replica import PIECE, Job, take
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError


def on_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def on_cores(monkeypatch: pytest.MonkeyPatch, cores: set[int]) -> None:
    on_gpus(monkeypatch, 0)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores, raising=False)


def test_without_vllm_one_line_says_what_to_do(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_engine, "find_spec", lambda name: None)
    with pytest.raises(
        TablemendError, match=r"not installed.*\[train,vllm\].*vllm-env.*backend=hf"
    ):
        vllm_engine.VllmEngine(Checkpoint(str(tiny_model)), BackendOptions(cache=None))


def test_copies_on_gpus_see_gpus_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    on_gpus(monkeypatch, 8)
    assert assign_devices(8, 1) == assign_devices(8, None) == assign_devices(5, None) == [{}]
    assert [one["CUDA_VISIBLE_DEVICES"] for one in assign_devices(1, None)] == list("01234567")
    assert [one["CUDA_VISIBLE_DEVICES"] for one in assign_devices(4, None)] == [
        "0,1,2,3",
        "4,5,6,7",
    ]
    with pytest.raises(TablemendError, match="needs 9 GPUs, there are 8"):
        assign_devices(9, None)
    assert assign_devices(2, 3) == [
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        {"CUDA_VISIBLE_DEVICES": "2,3"},
        {"CUDA_VISIBLE_DEVICES": "4,5"},
    ]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-ab")
    assert assign_devices(1, 2) == [
        {"CUDA_VISIBLE_DEVICES": "5"},
        {"CUDA_VISIBLE_DEVICES": "GPU-ab"},
    ]
    with pytest.raises(TablemendError, match="needs 4 GPUs, there are 2: lower"):
        assign_devices(2, 2)


def test_copies_on_a_cpu_share_no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cores(monkeypatch, {0, 1, 2, 3, 6})
    assert assign_devices(1, 1) == assign_devices(1, None) == [{}]
    assert assign_devices(1, 2) == [
        {"VLLM_CPU_OMP_THREADS_BIND": "0,1"},
        {"VLLM_CPU_OMP_THREADS_BIND": "2,3"},
    ]
    assert assign_devices(2, 1) == [{"VLLM_CPU_OMP_THREADS_BIND": "0,1|2,3"}]
    with pytest.raises(TablemendError, match="needs 6 CPU cores, there are 5"):
        assign_devices(3, 2)


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


def test_a_copy_takes_neighbours_and_helps_with_the_longest_part() -> None:
    jobs = [Job(key, (key,), 1, 0.0, 0) for key in range(3 * PIECE)]
    parts = [deque(jobs[:PIECE]), deque(jobs[PIECE:])]
    assert take(parts, 0) == jobs[:PIECE]
    assert take(parts, 0) == jobs[-PIECE:]  # its own part is empty
    assert take(parts, 1) == jobs[PIECE : 2 * PIECE]
    assert take(parts, 0) == take(parts, 1) == []
