"""Engines of GRPO: what reaches them, what they are asked for, and what is refused in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import torch
from transformers import Qwen3NextConfig

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import GrpoCommand
from tablemend.training import grpo, launch
from tests.support.short_trainings import ROOT, short, small_data

LENGTH = 1024
GOOD: dict[str, Any] = {
    "/v1/models": {"data": [{"id": "m", "max_model_len": LENGTH}]},
    "/server_info": {
        "vllm_config": {
            "model_config": {"logprobs_mode": "processed_logprobs"},
            "weight_transfer_config": {"backend": "nccl"},
            "device_config": {"device": "cuda"},
        }
    },
}


@pytest.fixture
def command(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., GrpoCommand]:
    """The tiny recipe on the random model: two prompts a step, four answers to each."""
    monkeypatch.chdir(ROOT)

    def make(*overrides: str) -> GrpoCommand:
        given = ("train.max_steps=2", "train.learning_rate=1e-2", "grpo.group=4", *overrides)
        return short(GrpoCommand, tiny_model, tmp_path / "run", small_data(12), *given)

    return make


@pytest.mark.parametrize(
    ("differences", "stops"),
    [
        ([0.0009, 0.0017, 0.0006, 0.0043], False),  # measured: in its process, in bfloat16
        ([0.0007, 0.0012, 0.16, 0.48], True),  # measured: a server that gets no weights
        ([0.0007, 0.16, 0.0012, 0.16], False),
        ([0.015, 0.02, 0.03, 0.02], False),  # a larger model rounds more
        ([0.5, 0.5], True),  # a training that goes on
        ([0.001, float("nan"), float("nan")], True),
    ],
)
def test_a_growing_difference_between_the_engines_stops(
    differences: list[float], stops: bool
) -> None:
    watch, nothing = grpo.Watch(1.0), None
    *before, last = ({grpo.DIFFERENCE: each} for each in differences)
    for logs in before:
        watch.on_log(nothing, nothing, nothing, logs)
    with pytest.raises(TablemendError, match="another model's") if stops else nullcontext():
        watch.on_log(nothing, nothing, nothing, last)


def test_no_vllm_and_no_gpu_are_refused(
    command: Callable[..., GrpoCommand], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = command("grpo.engine=vllm-colocate")
    for there, message in ((False, "needs vllm, which is not installed"), (True, "needs a CUDA")):
        monkeypatch.setattr(launch, "find_spec", lambda _, there=there: there or None)
        with pytest.raises(TablemendError, match=message):
            launch.refuse_engine(config)


def test_layers_other_than_attention_are_refused_before_anything_is_loaded(
    command: Callable[..., GrpoCommand], tmp_path: Path
) -> None:
    """Their state is no row of keys and values; vLLM draws such a model's answers."""
    layers = {"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]}
    Qwen3NextConfig(**layers).save_pretrained(tmp_path / "hybrid")
    (tmp_path / "hybrid" / "model.safetensors").write_bytes(b"weights")
    config = command(f"model.path={tmp_path / 'hybrid'}")
    with pytest.raises(TablemendError, match=r"linear_attention.*take vLLM") as caught:
        launch.refuse_engine(config)
    assert "\n" not in str(caught.value)


Serve = Callable[[dict[str, Any]], str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """A server that answers some paths, and 404 to all others."""

    def start(answers: dict[str, Any]) -> str:
        def get(url: str, timeout: float) -> httpx.Response:
            path, body = httpx.URL(url).path, answers.get(httpx.URL(url).path)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            code = 200 if path in answers else 404
            return httpx.Response(code, content=content, request=httpx.Request("GET", url))

        monkeypatch.setattr(launch.httpx, "get", get)
        return "http://localhost:8000"

    return start


def _started(**changes: Any) -> dict[str, Any]:
    settings = GOOD["/server_info"]["vllm_config"] | changes
    return GOOD | {"/server_info": {"vllm_config": settings}}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "does not describe itself as a vLLM server"),
        (GOOD | {"/v1/models": b"<html>"}, "does not describe itself as a vLLM server"),
        (_started(weight_transfer_config=None), "takes no weights over NCCL"),
        (_started(model_config={"logprobs_mode": "raw_logprobs"}), "gives raw_logprobs"),
        (_started(device_config={"device": "cpu"}), "computes on a CPU"),
        (
            GOOD | {"/v1/models": {"data": [{"max_model_len": 512}]}},
            "holds 512 tokens, prompt and answer need up to 1024",
        ),
    ],
)
def test_a_wrong_server_is_refused_with_the_command_that_starts_a_right_one(
    answers: dict[str, Any],
    message: str,
    serve: Serve,
    command: Callable[..., GrpoCommand],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "find_spec", lambda _: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    config = command("grpo.engine=vllm-server", f"grpo.server={serve(answers)}")
    with pytest.raises(TablemendError) as caught:
        launch.refuse_engine(config)
    noted = str(caught.value)
    assert message in noted and "\n" not in noted
    assert "VLLM_SERVER_DEV_MODE=1 vllm serve" in noted and "--max-model-len 1024" in noted
    uncorrected = command(
        "grpo.engine=vllm-server",
        f"grpo.server={config.grpo.server}",
        "train.trl.vllm_importance_sampling_correction=false",
    )
    if "raw_logprobs" in message:  # nothing reads them then
        launch.refuse_engine(uncorrected)


def test_a_server_is_waited_for_only_where_the_recipe_says_so(
    serve: Serve, command: Callable[..., GrpoCommand], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        pauses: list[float] = []
        clock = SimpleNamespace(sleep=pauses.append, monotonic=lambda: sum(pauses))
        patch.setattr(launch, "time", clock)
        closed = "http://127.0.0.1:9"  # the discard port: nothing listens
        with pytest.raises(TablemendError, match=r"cannot be reached .*vllm_server_timeout"):
            launch.check_server(closed, command())
        assert not pauses
        with pytest.raises(TablemendError, match="cannot be reached"):
            launch.check_server(
                closed, command(f"train.trl.vllm_server_timeout={3 * launch.SERVER_PAUSE}")
            )
        assert pauses == [launch.SERVER_PAUSE] * 3
    launch.check_server(serve(GOOD), command())
