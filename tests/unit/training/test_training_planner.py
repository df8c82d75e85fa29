"""The planner: what it says against what a training takes, and what it refuses to guess."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import constants
from trl.trainer.utils import RepeatSampler

import planner as benchmark
from tablemend.config import parse
from tablemend.datasets.tablehallu import small_world
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoCommand, GrpoCommand, SftCommand, Trained
from tablemend.training import activations, advice, memory, plan
from tablemend.training.activations import empty_model, kept, layer_kinds
from tablemend.training.amounts import Amount, amount_of
from tablemend.training.architectures import config_of, known
from tablemend.training.memory import GIB, STRATEGIES, Memory, Strategy

ROOT = Path(__file__).parents[3]
LAUNCHES = {each.config: each for each in STRATEGIES}
SINGLE = LAUNCHES["single-gpu"]
SMALL = "checkpoints/tiny-base"
SHAPE = (f"model.path={SMALL}", "train.max_length=512")


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def recipe(name: str, *overrides: str) -> SftCommand:
    return parse(SftCommand, [f"recipe={name}", *overrides])


def dpo(*overrides: str, name: str = "qwen3-8b-dpo") -> DpoCommand:
    return parse(DpoCommand, [f"recipe={name}", *overrides])


def grpo(*overrides: str, name: str = "qwen3-8b-grpo") -> GrpoCommand:
    return parse(GrpoCommand, [f"recipe={name}", *overrides])


@cache
def planner() -> memory.Planner:
    """One for all tests: nothing is traced twice."""
    return memory.Planner(config_of(SMALL))


@pytest.mark.parametrize(("method", "checkpointing"), [("full", False), ("lora", True)])
def test_a_training_takes_the_memory_that_is_planned(method: str, checkpointing: bool) -> None:
    config = parse(benchmark.Benchmark, ["recipe=tiny", "train.precision=float32"])
    case = benchmark.case_of(config, method, checkpointing, 2, 2, 128)
    planned, measured = benchmark.compare(case, on_gpu=False)
    assert planned == pytest.approx(measured, rel=0.15)


def test_preferences_take_the_memory_that_is_planned(tiny_model: Path) -> None:
    tokens = ["recipe=tiny-dpo", "train.precision=bfloat16", f"model.path={tiny_model}"]
    config = parse(benchmark.PreferenceBenchmark, tokens)
    config = benchmark.case_of(config, "full", False, 1, 4, 256)
    dpo = config.dpo.model_copy(update={"precompute_reference": False})
    planned, measured = benchmark.compare(config.model_copy(update={"dpo": dpo}), on_gpu=False)
    assert planned == pytest.approx(measured, rel=0.2)


def test_rewards_take_the_memory_that_is_planned(tiny_model: Path) -> None:
    tokens = ["recipe=tiny-grpo", "train.precision=float32", f"model.path={tiny_model}"]
    config = parse(benchmark.RewardBenchmark, tokens)
    case = benchmark.case_of(config, "full", False, 1, 4, 96)
    planned, measured = benchmark.compare(case, on_gpu=False)
    assert planned == pytest.approx(measured, rel=0.2)


def step_of(name: str = "Qwen/Qwen3-0.6B", **changes: Any) -> activations.Pass:
    options: dict[str, Any] = {
        "config": config_of(name),
        "dtype": torch.bfloat16,
        "lora": None,
        "one_type": False,
        "autocast": True,
        "checkpointing": False,
        "attention": "sdpa",
        "rows": 1,
        "length": 512,
    }
    return activations.Pass(**{**options, **changes})


def test_shallow_models_say_what_the_deep_one_keeps() -> None:
    name = "google/gemma-3-12b-it"  # of two kinds of layers
    kinds = layer_kinds(config_of(name))[:8]
    step = step_of(name, config=activations.with_layers(config_of(name), kinds), length=2048)
    drawn, whole = kept(step), activations.traced(step, kinds)
    assert drawn.most == pytest.approx(whole.most, rel=0.02)
    assert drawn.forward == pytest.approx(whole.forward, rel=0.02)


def test_what_is_kept_grows_with_the_batch_and_shrinks_with_checkpointing() -> None:
    one, two, lean = (kept(step_of(**each)) for each in ({}, {"rows": 2}, {"checkpointing": True}))
    assert two.forward == pytest.approx(2 * one.forward, rel=0.05)
    hidden = 28 * 512 * 1024 * 2  # the input of each layer, in bfloat16
    assert hidden < lean.forward < one.forward / 4
    offloaded = kept(step_of(checkpointing=True), most_layers=5)
    assert lean.forward - offloaded.forward == pytest.approx(23 / 28 * hidden, rel=0.15)


def test_what_a_text_never_passes_through_is_not_trained() -> None:
    config = recipe("gemma-3-12b")
    architecture = activations.with_layers(config_of(config.model.path), ["sliding_attention"] * 2)
    model = activations.empty_model(architecture, torch.bfloat16, config.train.lora)
    adapted = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert adapted and all("language_model" in name for name in adapted)
    whole = activations.empty_model(architecture, torch.bfloat16, None)
    frozen = {name for name, weight in whole.named_parameters() if not weight.requires_grad}
    assert {name.split(".")[1] for name in frozen} == {"vision_tower", "multi_modal_projector"}


def test_each_launch_divides_what_it_says() -> None:
    config = recipe("qwen3-0.6b", *SHAPE, "train.global_batch=64", "train.micro_batch=1")
    n = planner().counts(config).total
    found = {name: planner().memory(config, launch) for name, launch in LAUNCHES.items()}
    single, ddp, zero2 = found["single-gpu"], found["ddp"], found["zero2"]
    assert (single.weights, single.gradients, single.optimizer) == (4 * n, 4 * n, 8 * n)
    assert ddp.total == single.total + 4 * n  # its buckets
    assert (zero2.weights, zero2.optimizer) == (2 * n, 12 * n // 8)
    assert found["zero3"].weights == 2 * n // 8
    assert found["fsdp2"].weights == 4 * n // 8
    assert found["zero3-offload"].optimizer == 0 < found["zero3-offload"].host


def test_four_bits_take_less_and_are_not_divided() -> None:
    config = recipe("qwen3-8b", *SHAPE, "train.method=qlora")
    found, zero2 = (planner().memory(config, LAUNCHES[name]) for name in ("single-gpu", "zero2"))
    counts = planner().counts(config)
    assert counts.packed > counts.total / 3  # the layers' matrices in half a byte
    rest = counts.total_bytes - 2 * counts.packed
    assert 0.5 * counts.packed < found.weights - rest < 0.55 * counts.packed
    # DeepSpeed casts floating-point weights, and the packed ones are bytes
    assert zero2.weights == found.weights - 2 * counts.trained  # adapters as well
    bucket = memory.REDUCE_BUCKET * 2
    assert zero2.buffers - bucket == found.buffers > 0  # one unpacked matrix
    assert "keeps whole weights" in advice.refused(config, LAUNCHES["zero3"])
    assert not advice.refused(config, LAUNCHES["ddp"])


def test_a_pair_takes_two_rows_and_a_reference_that_scores_in_every_pass_a_second_model() -> None:
    full = ("train.method=full", "train.lora=null", "model.dtype=float32")
    config = dpo(*SHAPE, *full)
    step, n = planner().pass_of(config, SINGLE), planner().counts(config).total
    assert (step.rows, step.padded) == (2 * config.train.micro_batch, True)
    assert planner().memory(config, SINGLE).reference == 0
    assert planner().memory(config, LAUNCHES["fsdp2"]).reference == 4 * n // 8
    each = dpo(*SHAPE, *full, "dpo.precompute_reference=false")
    assert planner().memory(each, SINGLE).reference == 4 * n
    assert not memory.has_copy(dpo("dpo.precompute_reference=false"), SINGLE)  # adapters


def test_vllm_takes_its_share_of_the_card_beside_the_training() -> None:
    found = planner().memory(grpo(*SHAPE, "grpo.max_new_tokens=64"), SINGLE)
    assert found.vllm == 0.4 and found.generation == 0
    assert not Memory(45 * GIB, 0, 0, 0, vllm=0.4).fits(80)
    assert Memory(42 * GIB, 0, 0, 0, vllm=0.4).fits(80)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (dpo, ("dpo.precompute_reference=false", "train.micro_batch=2")),
        (grpo, ("grpo.engine=transformers", "grpo.group=6", "train.global_batch=96")),
        (recipe, ("qwen3-0.6b",)),
    ],
    ids=["dpo", "grpo", "sft"],
)
def test_what_a_plan_proposes_is_a_valid_recipe(
    make: Callable[..., Trained], given: tuple[str, ...]
) -> None:
    changed = list(advice.changes(make(*given)))
    assert changed
    for overrides, config in changed:
        assert make(*given, *overrides) == config
        for strategy in STRATEGIES:
            mend = advice.uneven(config, strategy)
            if mend:
                assert not advice.uneven(make(*given, *overrides, mend), strategy)


@pytest.fixture
def data(tmp_path: Path) -> str:
    """``data.train`` of twenty examples in a folder."""
    examples = small_world.examples(seed=1, n=20)
    text = "".join(f"{json.dumps(example.to_json())}\n" for example in examples)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text(text)
    return f"data.train={{source: {tmp_path / 'data'}, split: train, n: null, seed: 0}}"


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No network, and an empty cache of the Hub."""

    def connect(*_: Any) -> None:
        raise AssertionError("a plan asked the network")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_steps_on_rewards_are_those_of_trls_order() -> None:
    """A pass leaves out the prompts that fill no step, and each draw is learnt from anew."""
    given = ("grpo.iterations=2", "grpo.group=8", "train.save_every=4", "train.global_batch=64")
    config = grpo(*given, "train.max_steps=null", "train.epochs=1", name="tiny-grpo")
    steps = len(RepeatSampler(range(100), 8, batch_size=8, repeat_count=2)) // 64
    said = plan.steps_line(config, Amount(rows=100))
    assert said.startswith(f"{steps} of 64 answers, 8 to a prompt, 1 passes over the prompts")
    few = plan.steps_line(config, Amount(rows=7))
    assert few == "none: 7 prompts, and one step takes 8: refused"


@pytest.mark.usefixtures("_offline")
def test_rows_and_steps_are_counted_without_the_tokenizer(data: str, tmp_path: Path) -> None:
    amount = amount_of(recipe("qwen3-8b", data))
    assert (amount.rows, amount.sampled) == (20, 0)
    assert "the tokenizer of Qwen/Qwen3-8B is not on this machine" in amount.uncounted
    assert plan.steps_line(recipe("qwen3-8b"), amount) == "4 of 16 rows"
    assert amount_of(recipe("qwen3-8b", data, "train.context=both")).rows == 40
    mixed = recipe(
        "qwen3-8b-mixed",
        f"data.train.tables.source={tmp_path / 'data'}",
        "data.train.chats={source: small-world, split: null, content: examples, n: 3, share: 0.2}",
    )
    assert amount_of(mixed).rows == 15  # shares of 0.8 and 0.2
    with pytest.raises(TablemendError, match=r"make the pairs first"):
        amount_of(dpo(data, f"dpo.pairs.path={tmp_path}"))


def test_an_unknown_model_has_no_plan_and_is_still_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan.print_plan(recipe("tiny", "model.path=nobody/nothing"))
    assert capsys.readouterr().out.startswith("# no plan: the architecture of nobody/nothing")


@pytest.mark.parametrize("launch", STRATEGIES, ids=lambda launch: launch.config)
def test_a_plan_describes_the_launch_configs_that_are_there(launch: Strategy) -> None:
    path = ROOT / "accelerate_configs" / f"{launch.config}.yaml"
    config = yaml.safe_load(path.read_text())
    kinds = {"single-gpu": "NO", "ddp": "MULTI_GPU", "fsdp2": "FSDP"}
    kind = launch.config.removesuffix("-nodes")
    assert config["distributed_type"] == kinds.get(kind, "DEEPSPEED")
    if kind != launch.config:
        assert config["num_processes"] == launch.gpus
    settings = config.get("deepspeed_config")
    assert (settings is not None) == launch.deepspeed
    if settings is not None:
        assert settings["zero_stage"] == (3 if "weights" in launch.shards else 2)
        for part in ("optimizer", "param"):
            device = settings[f"offload_{part}_device"]
            assert (device == "cpu") == launch.offload


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("tiny", "q_proj, nope"),
        ("tiny", "mlp"),
        ("gemma-3-12b", "fc1"),  # its vision tower has one
    ],
)
def test_adapters_that_fit_no_layer_are_refused_in_one_line(name: str, target: str) -> None:
    config = recipe(name, "train.method=lora", f"train.lora={{r: 4, target_modules: [{target}]}}")
    with pytest.raises(TablemendError) as refused:
        plan.print_plan(config)
    shown = str(refused.value)
    assert f"train.lora.target_modules=[{target}] names {target.split(', ')[-1]}, " in shown
    layers = "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj"
    assert f"the linear layers are {layers}" in shown


@pytest.mark.parametrize("name", known())
def test_a_shape_makes_a_model_of_the_published_size(name: str) -> None:
    model = empty_model(config_of(name), torch.bfloat16, None)
    assert sum(weight.numel() for weight in model.parameters()) == known()[name]["parameters"]


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match=r"has no config\.json"):
        config_of(str(tmp_path))
