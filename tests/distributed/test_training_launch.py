"""What was asked of accelerate is what trains, or one line says why not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tablemend.errors import TablemendError
from tablemend.recipe.training import Train
from tablemend.training import launch
from tablemend.training.launch import Launch

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "accelerate_configs"


def test_one_process_that_sees_several_gpus_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers would multiply the batch by their number, and say nothing."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    train = Train(epochs=1, learning_rate=1, global_batch=8, micro_batch=4)
    with pytest.raises(TablemendError, match=r"one process sees 8 GPUs.*--num_processes 8"):
        launch.refuse_launch(train)
    with monkeypatch.context() as patch:  # DeepSpeed takes one of them
        patch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
        patch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
        launch.refuse_launch(train)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    launch.refuse_launch(train)


def test_the_environment_says_the_strategy() -> None:
    assert launch.from_environment({}) == Launch("single", 1)
    assert launch.from_environment({"WORLD_SIZE": "4"}) == Launch("ddp", 4)
    deepspeed = {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "3"}
    assert launch.from_environment(deepspeed | {"WORLD_SIZE": "2"}) == Launch("zero3", 2)
    fsdp = {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2", "WORLD_SIZE": "2"}
    assert launch.from_environment(fsdp) == Launch("fsdp2", 2)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "1"}, "asks for fsdp1; there are single"),
        (
            {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_CONFIG_FILE": "ds.json"},
            "names a deepspeed_config_file",
        ),
        (
            {"ACCELERATE_USE_PARALLELISM_CONFIG": "true", "PARALLELISM_CONFIG_CP_SIZE": "2"},
            "has a parallelism_config: .*fewer than train.global_batch. Leave it out",
        ),
    ],
)
def test_what_could_not_be_trained_or_saved_is_refused(
    environment: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(TablemendError, match=words):
        launch.init_distributed()


@pytest.mark.parametrize(
    ("batch", "micro", "processes", "words"),
    [(8, 2, 3, "train.global_batch=6"), (8, 4, 4, "=16"), (10, 2, 2, "=12"), (1, 1, 4, "=4")],
)
def test_the_nearest_batch_that_divides_is_named(
    batch: int, micro: int, processes: int, words: str
) -> None:
    train = Train(epochs=1, learning_rate=1, global_batch=batch, micro_batch=micro)
    with pytest.raises(TablemendError, match=f"the nearest that does is .*{words}$"):
        train.accumulation(processes)
    assert train.accumulation(1) == batch // micro


Note = Callable[[str, int], None]


@pytest.fixture
def note(monkeypatch: pytest.MonkeyPatch) -> Note:
    """Set the environment of a launch."""

    def write(strategy: str, processes: int) -> None:
        for name in ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"):
            monkeypatch.delenv(name, raising=False)
        if strategy.startswith("zero"):
            monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
            monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", strategy[-1])
        if strategy == "fsdp2":
            monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
            monkeypatch.setenv("FSDP_VERSION", "2")
        monkeypatch.setenv("WORLD_SIZE", str(processes))

    return write


@pytest.mark.parametrize(
    ("before", "now", "goes_on"),
    [
        (("zero3", 2), ("zero3", 2), True),
        (("zero3", 2), ("zero3", 4), False),
        (("zero2", 2), ("zero3", 2), False),
        (("fsdp2", 2), ("fsdp2", 4), True),
        (("fsdp2", 2), ("ddp", 2), False),
        (("ddp", 2), ("single", 1), True),
        (("single", 1), ("ddp", 2), True),
    ],
)
def test_a_checkpoint_is_continued_only_by_a_launch_that_can_read_it(
    before: tuple[str, int],
    now: tuple[str, int],
    goes_on: bool,
    note: Note,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    note(*before)
    launch.record_launch(tmp_path)
    note(*now)
    if goes_on:
        launch.check_checkpoint(tmp_path)
        said = capsys.readouterr().out
        assert (f"was saved by {before[0]} on {before[1]}" in said) == (before != now)
    else:
        with pytest.raises(TablemendError, match=f"saved by {before[0]} on .* cannot be continued"):
            launch.check_checkpoint(tmp_path)


def test_the_slurm_script_is_bash_and_names_configs_that_are_there() -> None:
    script = CONFIGS / "slurm.sbatch"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    text = script.read_text()
    for name in ("ddp-nodes", "zero2-nodes", "zero3-nodes", "fsdp2-nodes"):
        assert name in text and f"slurm.sbatch {name}" in (CONFIGS / f"{name}.yaml").read_text()


@pytest.mark.parametrize("container", ["", "image.sqsh"])
def test_the_slurm_script_launches_on_every_machine(container: str, tmp_path: Path) -> None:
    """srun, scontrol and accelerate are replaced by scripts that write their arguments down."""
    tools = tmp_path / "tools"
    tools.mkdir()
    given = 4 if container else 1  # options of srun
    programs = {
        tools / "scontrol": "echo node-a; sleep 0.2; echo node-b",
        tools / "srun": f'echo "${{@:2:{given - 1}}}" >> options; shift {given}; '
        'for id in 0 1; do SLURM_NODEID=$id "$@"; done',
        tools / "accelerate": 'echo "$@" >> calls',
    }
    for path, line in programs.items():
        path.write_text(f"#!/bin/bash\n{line}\n")
        path.chmod(0o755)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "SLURM_GPUS_ON_NODE": "8",
        "SLURM_JOB_NODELIST": "node-[a-b]",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_JOB_ID": "1234567",
        "CONTAINER": container,
    }
    command = ["bash", str(CONFIGS / "slurm.sbatch"), "zero3-nodes", "train/sft.py", "run=a b"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [
        "launch --config_file accelerate_configs/zero3-nodes.yaml --num_machines 2 "
        f"--num_processes 16 --machine_rank {rank} --main_process_ip node-a "
        "--main_process_port 24567 train/sft.py run=a b"
        for rank in (0, 1)
    ]
    options = (tmp_path / "options").read_text().split()
    assert options[:1] == ([f"--container-image={container}"] if container else [])
