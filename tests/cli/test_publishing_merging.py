"""train/merge.py: the merged weights answer as base and adapter do, or nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tablemend.errors import TablemendError
from tablemend.publishing import checkpoint
from tablemend.publishing.hub import MergeCommand
from tablemend.runs import Run, read_object
from tablemend.training import adapters, checkpoints
from tests.support.finished_runs import LORA, copy_of, finished_training, spoil_merges
from tests.support.scripts import ROOT


@pytest.fixture
def base(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ROOT)
    return copy_of(tiny_model, tmp_path / "base")


@pytest.fixture
def run(base: Path, tmp_path: Path) -> Run:
    return finished_training(tmp_path / "run", base, *LORA)


def merge(run: Run, **options: object) -> adapters.Difference | None:
    return checkpoint.merge_run(MergeCommand(run=str(run.path), **options))  # type: ignore[arg-type]


def test_the_merged_checkpoint_answers_as_base_and_adapter(
    run: Run, base: Path, script: Callable[..., Any]
) -> None:
    tokens = ["train/merge.py", f"run={run.path}", "prompts=3"]
    out = script(*tokens).out
    assert "on 3 prompts, 100.0% of the next tokens are the same" in out
    folder = run.path / "merged"
    assert checkpoints.is_complete(folder) and not list(folder.glob("adapter_*"))
    noted = read_object(run.manifest, "")["merge"]
    assert 0 <= noted["max_logit_difference"] <= noted["tolerance"] < 1e-3
    assert noted["base_revision"] == checkpoints.revision_of(str(base))
    ids = torch.tensor([AutoTokenizer.from_pretrained(folder).encode("In 2020 the red gate")])
    merged = AutoModelForCausalLM.from_pretrained(folder)(ids).logits
    plain = AutoModelForCausalLM.from_pretrained(base)(ids).logits
    assert (merged - plain).abs().max() > 0.01  # the adapter is in it
    assert "finished" in script(*tokens).out


def test_logits_that_differ_leave_no_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil_merges(monkeypatch)
    with pytest.raises(TablemendError, match=r"logits differ by .* would answer otherwise"):
        merge(run)
    assert not (run.path / "merged").exists()
    assert "merge" not in read_object(run.manifest, "")
    accepted = merge(run, tolerance=1e6)
    assert accepted is not None and accepted.max_logit_difference > 1e-3


def test_a_quantised_base_is_refused(run: Run, base: Path) -> None:
    path = base / "config.json"
    settings = json.loads(path.read_text())
    settings["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    path.write_text(json.dumps(settings))
    with pytest.raises(TablemendError, match="quantised"):
        merge(run)


def test_another_base_is_refused(run: Run, base: Path) -> None:
    tensors = load_file(base / "model.safetensors")
    name = next(iter(tensors))
    save_file({**tensors, name: tensors[name] + 1}, base / "model.safetensors")
    with pytest.raises(TablemendError, match="holds other weights than those"):
        merge(run)


def test_what_is_no_finished_adapter_is_refused(base: Path, tmp_path: Path, run: Run) -> None:
    whole = finished_training(tmp_path / "whole", base)
    with pytest.raises(TablemendError, match="whole weights already") as refusal:
        merge(whole)
    assert "only" not in str(refusal.value)  # lora.save=merged may leave an adapter as well
    (run.model / checkpoints.MARKER).unlink()
    with pytest.raises(TablemendError, match="finish the training first"):
        merge(run)
    with pytest.raises(TablemendError, match="not the run of one training"):
        merge(Run(tmp_path))


def test_a_whole_checkpoint_that_is_not_this_merge_is_not_taken_for_it(
    run: Run, base: Path, tmp_path: Path
) -> None:
    checkpoints.mark_complete(base)
    out = tmp_path / "out"
    assert merge(run, prompts=1, out=str(out)) is not None
    assert merge(run, out=str(out)) is None
    for other in (base, run.model):
        held = checkpoints.revision_of(str(other))
        with pytest.raises(TablemendError, match=r"is there and .*: move it away"):
            merge(run, out=str(other))
        assert checkpoints.revision_of(str(other)) == held
    adapter = load_file(run.model / "adapter_model.safetensors")
    name = next(iter(adapter))
    save_file({**adapter, name: adapter[name] + 1}, run.model / "adapter_model.safetensors")
    checkpoints.mark_complete(run.model)
    with pytest.raises(TablemendError, match="is there and"):  # of the adapter that was there
        merge(run, out=str(out))
