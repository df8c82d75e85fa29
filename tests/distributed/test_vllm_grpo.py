"""train/grpo.py with vLLM in its process, on a CPU: what is drawn is what is trained.

It runs in .venv-vllm: make test-vllm.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="runs in .venv-vllm: make test-vllm")

from tablemend.runs import Run

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).parents[2]
ON_A_CPU = """
import runpy
from functools import partial

import vllm._custom_ops
from trl.generation import vllm_generation

from tablemend.training import launch

if __name__ == "__main__":
    # vLLM packs the weights of linear layers for oneDNN and drops what it could load new ones into
    vllm._custom_ops._supports_onednn = False
    # TRL has no setting for these
    vllm_generation.LLM = partial(
        vllm_generation.LLM, dtype="float32", enforce_eager=True, kv_cache_memory_bytes=1 << 28
    )
    launch.refuse_engine = lambda config: None  # no GPU
    runpy.run_path("train/grpo.py", run_name="__main__")
"""


def test_what_vllm_draws_is_scored_alike_by_the_model_that_trains(tmp_path: Path) -> None:
    """Before a step and after it. In a process of its own: TRL and vLLM leave variables behind."""
    run = Run(tmp_path / "run")
    overrides = [
        "recipe=tiny-grpo",
        "model.path=checkpoints/tiny-base",
        f"run={run.path}",
        "data={train: {source: small-world, n: 12, seed: 1},"
        " test: {source: small-world, n: 4, seed: 3}}",
        "thinking=off",
        "grpo.engine=vllm-colocate",
        "grpo.max_new_tokens=96",
        "train.max_steps=2",
        "train.global_batch=16",
        "train.micro_batch=16",
        "train.precision=float32",  # as vLLM, whatever the CPU has
        "train.learning_rate=1e-3",
        "train.warmup=0",
        "train.log_every=1",
        "train.trl.disable_tqdm=true",
    ]
    done = subprocess.run(
        [sys.executable, "-c", ON_A_CPU, *overrides],
        cwd=ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    steps = [entry for entry in run.recorded("grpo")["log"] if "reward" in entry]
    assert len(steps) == 2
    assert steps[0]["grad_norm"] > 0.01  # whatever it is, AdamW's first step moves by 1e-3
    # measured: 2e-6, and 0.25 where the second answers are drawn with the first weights
    assert max(entry["sampling/sampling_logp_difference/mean"] for entry in steps) < 1e-3
    assert steps[0]["completions/clipped_ratio"] < 0.5  # the end of turn ends an answer
