"""Engines of GRPO: what reaches them, what they are asked for, and what is refused in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from transformers import GenerationConfig, Qwen3NextConfig

from tablemend.config import ConfigError, parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import GrpoCommand
from tablemend.renderer import prompt_ids
from tablemend.tasks import tablehallu
from tablemend.training import engine, grpo, stage
from tablemend.training.phases import Prepared
from tests.support.short_trainings import ROOT, short, small_data
from tests.support.trainings_in_process import begin

SERVER = "grpo.server=http://localhost:8000"
LENGTH = 1024
GOOD: dict[str, Any] = {
    "/health": None,
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


class FakeVllm:
    """What TRL builds, without vLLM: answers each group with gold, gold again, prose and a cut."""

    made: FakeVllm
    stale = False
    """Whether it never gets new weights."""
    tasks: dict[tuple[int, ...], list[list[int]]]

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.generation_kwargs = options["generation_kwargs"] or {}
        known = options["model"].named_parameters() if self.stale else ()
        self.weights = {name: weight.detach().clone() for name, weight in known}
        self.asked: list[list[int]] = []
        self.synced: list[torch.Tensor] = []
        FakeVllm.made = self

    def sync_weights(self) -> None:
        weight = next(iter(self.options["model"].parameters()))
        self.synced.append(weight.detach().clone())

    def generate(self, *, prompts: list[list[int]], **_: Any) -> tuple[Any, ...]:
        start = len(self.asked)
        self.asked += prompts
        found = [FakeVllm.tasks[tuple(ids)][(start + at) % 4] for at, ids in enumerate(prompts)]
        logprobs = [self._score(*both) for both in zip(prompts, found, strict=True)]
        return prompts, found, logprobs, None

    def _logits(self, ids: list[int]) -> torch.Tensor:
        model = self.options["model"]
        found = torch.func.functional_call(model, self.weights, (torch.tensor([ids]),))
        return found.logits[0]

    def _score(self, prompt: list[int], answer: list[int]) -> list[list[float]]:
        """As vLLM scores what it draws: after the temperature (processed_logprobs)."""
        with torch.no_grad():
            logits = self._logits(prompt + answer)
        scores = torch.log_softmax(logits[len(prompt) - 1 : -1] / self.options["temperature"], -1)
        return [[scores[at, token].item()] for at, token in enumerate(answer)]


@pytest.fixture
def fake_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trl.trainer.grpo_trainer.VLLMGeneration", FakeVllm)


def _gold_first(prepared: Prepared, tokenizer: Any, thinking: tablehallu.Thinking) -> None:
    """Gold, gold again, prose and a cut for each prompt."""
    end = [tokenizer.eos_token_id]
    FakeVllm.tasks = {}
    for task in prepared.train:
        gold = tokenizer.encode(tablehallu.target(task.sample, task.view, thinking, "markdown"))
        FakeVllm.tasks[task.ids] = [gold + end, gold + end, gold[:5] + end, gold]


@pytest.mark.usefixtures("fake_vllm")
def test_vllm_that_does_not_get_the_weights_stops_the_training(
    command: Callable[..., GrpoCommand], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeVllm, "stale", True)
    config = command("thinking=off", "grpo.engine=vllm-colocate", "train.max_steps=20")
    run, trainer, tokenizer, prepared = begin(config, overwrite=True)
    _gold_first(prepared, tokenizer, "off")
    with pytest.raises(TablemendError, match=r"by 0\.\d+ nats .*\(0\.0000 at first"):
        stage.train(trainer, config, run)
    assert 1 < trainer.state.global_step < 20


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
    agreement = grpo.Agreement()
    *before, last = differences
    for difference in before:
        agreement.check(difference)
    with pytest.raises(TablemendError, match="another model's") if stops else nullcontext():
        agreement.check(last)


@pytest.mark.usefixtures("fake_vllm")
@pytest.mark.parametrize("thinking", ["off", "quote"])
def test_vllm_is_asked_as_transformers_is(
    thinking: tablehallu.Thinking,
    command: Callable[..., GrpoCommand],
) -> None:
    """The same prompts, the same ends of an answer; its weights are those after each step."""
    _, plain, _, _ = begin(command(f"thinking={thinking}"))
    assert isinstance(plain.generation_config, GenerationConfig)
    config = command(
        f"thinking={thinking}",
        "grpo.engine=vllm-colocate",
        "grpo.temperature=0.7",
        "train.trl.generation_kwargs={frequency_penalty: 0.1}",
    )
    run, trainer, tokenizer, prepared = begin(config, overwrite=True)
    vllm = FakeVllm.made
    assert vllm.generation_kwargs == {
        "frequency_penalty": 0.1,
        "stop_token_ids": plain.generation_config.eos_token_id,
        "ignore_eos": True,
    }
    assert vllm.options["mode"] == "colocate" and vllm.options["max_model_length"] == LENGTH
    assert vllm.options["temperature"] == 0.7 and vllm.options["max_completion_length"] == 384
    _gold_first(prepared, tokenizer, thinking)
    facts = stage.train(trainer, config, run)
    chats = [tablehallu.messages(t.sample, t.view, "base", "markdown") for t in prepared.train]
    known = [prompt_ids(tokenizer, chat, thinking != "off") for chat in chats]
    assert len(vllm.asked) == 16 and all(ids in known for ids in vllm.asked)
    assert len(vllm.synced) == 2 and not torch.equal(*vllm.synced)
    steps = [entry for entry in facts["log"] if grpo.EQUAL in entry]
    assert [entry["reward"] for entry in steps] == [0.5, 0.5]  # one that is cut earns nothing
    assert [entry["completions/clipped_ratio"] for entry in steps] == [0.25, 0.25]
    noted = grpo.summary(facts["log"])["mean"]
    assert noted["sampling/sampling_logp_difference/mean"] < 1e-3  # TRL scored the same tokens
    assert noted["sampling/importance_sampling_ratio/mean"] == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize(
    ("overrides", "key", "message"),
    [
        (["grpo.engine=vllm-server", "grpo.server=localhost:8000"], "grpo.server", "http://HOST"),
        (["grpo.engine=vllm-server", f"{SERVER}/"], "grpo.server", "without /v1 or a slash"),
        (["grpo.engine=vllm-server", f"{SERVER}/v1"], "grpo.server", "without /v1 or a slash"),
        ([SERVER], "grpo.server", "goes with engine"),
        (
            ["grpo.engine=vllm-colocate", "train.method=qlora", "train.precision=bfloat16",
             "train.lora={r: 8}"],
            "grpo.engine",
            "without their new scales",
        ),
        (
            ["grpo.engine=vllm-colocate", "train.trl.generation_kwargs={seed: 1}"],
            "train.trl.generation_kwargs.seed",
            "would be equal",
        ),
    ],
)  # fmt: skip
def test_an_engine_that_cannot_work_is_no_recipe(
    overrides: list[str], key: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError) as caught:
        parse(GrpoCommand, ["recipe=tiny-grpo", *overrides])
    assert any(key in found and message in found for found in caught.value.problems)


def test_no_vllm_and_no_gpu_are_refused(
    command: Callable[..., GrpoCommand], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = command("grpo.engine=vllm-colocate")
    for there, message in ((False, "needs vllm, which is not installed"), (True, "needs a CUDA")):
        monkeypatch.setattr(engine, "find_spec", lambda _, there=there: there or None)
        with pytest.raises(TablemendError, match=message):
            engine.refuse_engine(config)


def test_layers_other_than_attention_are_refused_before_anything_is_loaded(
    command: Callable[..., GrpoCommand], tmp_path: Path
) -> None:
    """Their state is no row of keys and values; vLLM draws such a model's answers."""
    layers = {"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]}
    Qwen3NextConfig(**layers).save_pretrained(tmp_path / "hybrid")
    (tmp_path / "hybrid" / "model.safetensors").write_bytes(b"weights")
    config = command(f"model.path={tmp_path / 'hybrid'}")
    with pytest.raises(TablemendError, match=r"linear_attention.*take vLLM") as caught:
        engine.refuse_engine(config)
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

        monkeypatch.setattr(engine.httpx, "get", get)
        return "http://localhost:8000"

    return start


def _started(**changes: Any) -> dict[str, Any]:
    settings = GOOD["/server_info"]["vllm_config"] | changes
    return GOOD | {"/server_info": {"vllm_config": settings}}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "answers 404 to /health"),
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
    monkeypatch.setattr(engine, "find_spec", lambda _: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    config = command("grpo.engine=vllm-server", f"grpo.server={serve(answers)}")
    with pytest.raises(TablemendError) as caught:
        engine.refuse_engine(config)
    noted = str(caught.value)
    assert message in noted and "\n" not in noted
    assert "VLLM_SERVER_DEV_MODE=1 vllm serve" in noted and "--max-model-len 1024" in noted
    uncorrected = command(
        "grpo.engine=vllm-server",
        f"grpo.server={config.grpo.server}",
        "train.trl.vllm_importance_sampling_correction=false",
    )
    if "raw_logprobs" in message:  # nothing reads them then
        engine.refuse_engine(uncorrected)


def test_a_server_is_waited_for_only_where_the_recipe_says_so(
    serve: Serve, command: Callable[..., GrpoCommand], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        pauses: list[float] = []
        patch.setattr(engine.time, "sleep", pauses.append)
        closed = "http://127.0.0.1:9"  # the discard port: nothing listens
        with pytest.raises(TablemendError, match=r"cannot be reached .*vllm_server_timeout"):
            engine.check_server(closed, command())
        assert not pauses
        with pytest.raises(TablemendError, match="cannot be reached"):
            engine.check_server(closed, command("train.trl.vllm_server_timeout=0.2"))
        assert set(pauses) == {engine.PAUSE}
    engine.check_server(serve(GOOD), command())
