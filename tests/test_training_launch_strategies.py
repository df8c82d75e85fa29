"""Two real processes: each strategy trains as one process does, resumes, and saves what loads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from tablemend.config import SftCommand, parse, to_yaml
from tablemend.runs import Run
from tablemend.training import checkpoints, sft, stage

ROOT = Path(__file__).parents[1]
STRATEGIES = ("ddp", "zero2", "zero3", "fsdp2")
STEPS, CUT = 6, 3
LORA = (
    "train.method=lora",
    "train.lora={r: 4, alpha: 8}",
    "train.learning_rate=1e-2",
    "train.gradient_checkpointing=true",  # with ZeRO-3 and LoRA it once did not train
)
METHODS = {"full": (), "lora": LORA}
TOLERANCE = 1e-3

Make = Callable[[str, str], SftCommand]


@pytest.fixture(scope="module")
def make(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A short training of the random model."""
    folder = tmp_path_factory.mktemp("strategies")

    def command(name: str, method: str) -> SftCommand:
        return parse(SftCommand, tokens(folder / f"{name}-{method}", method))

    def tokens(path: Path, method: str) -> list[str]:
        return [
            f"recipe={ROOT / 'recipes' / 'tiny.yaml'}",
            f"model.path={tiny_model}",
            f"run={path}",
            "data={train: {source: small-world, n: 48, seed: 1},"
            " test: {source: small-world, n: 4, seed: 3}}",
            "data.validation=null",
            "train.minutes=null",
            "train.epochs=null",
            f"train.max_steps={STEPS}",
            "train.global_batch=8",
            "train.micro_batch=2",
            "train.precision=float32",
            f"train.save_every={CUT}",
            "train.log_every=1",
            "train.trl.disable_tqdm=true",
            *METHODS[method],
        ]

    return command


@pytest.fixture(scope="module")
def alone(make: Make) -> Callable[[str], list[float]]:
    """The losses of one process, by method."""
    known: dict[str, list[float]] = {}

    def losses(method: str) -> list[float]:
        if method not in known:
            config = make("single", method)
            run, tokenizer = Run.of(config), checkpoints.load_tokenizer(config.model)
            assert stage.begin(config, run, overwrite=False)
            trainer = sft.build_trainer(config, run, tokenizer, sft.prepare(config, tokenizer))
            known[method] = _losses(stage.train(trainer, config, run))
        return known[method]

    return losses


def _losses(facts: dict[str, Any]) -> list[float]:
    return [entry["loss"] for entry in facts["log"] if "loss" in entry]


def _launch(strategy: str, config: SftCommand, *options: str) -> str:
    """Train under accelerate_configs/STRATEGY.yaml; return what was printed."""
    if strategy.startswith("zero") and sys.platform != "linux":
        pytest.skip("deepspeed is installed on Linux alone (pyproject.toml)")
    recipe = Run.of(config).path.with_suffix(".yaml")
    recipe.write_text(to_yaml(config))
    accelerate = str(Path(sys.executable).with_name("accelerate"))
    port = ("--main_process_port", "0")
    file = f"--config_file=accelerate_configs/{strategy}.yaml"
    command = [accelerate, "launch", file, *port, *options, "train/sft.py", f"recipe={recipe}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def _facts(config: SftCommand) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(Run.of(config).manifest.read_text())["sft"]
    return facts


def _check_checkpoint(folder: Path) -> None:
    """Whole, loads with nothing missing, and a tied head is not saved twice."""
    assert checkpoints.is_complete(folder)
    model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    saved = load_file(folder / "model.safetensors")
    assert set(saved) == {name for name, _ in model.named_parameters()}
    assert all(tensor.numel() and tensor.dtype == torch.float32 for tensor in saved.values())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_processes_train_as_one_resume_and_save(
    strategy: str, make: Make, alone: Callable[[str], list[float]], tmp_path: Path
) -> None:
    config = make(strategy, "full")
    _launch(strategy, config)
    facts, run = _facts(config), Run.of(config)
    assert (facts["strategy"], facts["world_size"]) == (strategy, 2)
    assert _losses(facts) == pytest.approx(alone("full"), abs=TOLERANCE)
    _check_checkpoint(run.model)
    assert not (run.path / ".prepared.pickle").exists()
    # an interruption after the first checkpoint
    whole = load_file(run.model / "model.safetensors")
    shutil.rmtree(run.model)
    shutil.rmtree(run.path / "sft" / f"checkpoint-{STEPS}")
    said = _launch(strategy, config)
    assert f"resuming from {run.path}/sft/checkpoint-{CUT}" in said
    again = _facts(config)
    assert _losses(again) == pytest.approx(_losses(facts), abs=1e-6)
    resumed = load_file(run.model / "model.safetensors")
    assert all(torch.allclose(whole[name], resumed[name], atol=1e-6) for name in whole)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_adapters_train_as_in_one_process(
    strategy: str, make: Make, alone: Callable[[str], list[float]]
) -> None:
    config = make(strategy, "lora")
    _launch(strategy, config)
    facts = _facts(config)
    losses = _losses(facts)
    assert facts["strategy"] == strategy and losses[-1] < losses[0]
    assert losses == pytest.approx(alone("lora"), abs=TOLERANCE)
    _check_checkpoint(Run.of(config).model)


@pytest.mark.slow
def test_fsdp2_goes_on_with_another_number_of_processes(make: Make) -> None:
    config = make("moved", "full")
    _launch("fsdp2", config)
    run, losses = Run.of(config), _losses(_facts(config))
    shutil.rmtree(run.model)
    shutil.rmtree(run.path / "sft" / f"checkpoint-{STEPS}")
    said = _launch("fsdp2", config, "--num_processes=4")
    assert "was saved by fsdp2 on 2 processes, fsdp2 on 4 processes go on" in said
    assert _losses(_facts(config)) == pytest.approx(losses, abs=TOLERANCE)
