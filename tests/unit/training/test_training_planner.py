"""The planner: what it says against what a training takes, and what it refuses to guess."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import constants
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM
from trl.trainer.utils import RepeatSampler

import planner as benchmark
from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoCommand, GrpoCommand, SftCommand, TrainingRecipe
from tablemend.tasks.tablehallu import small_world
from tablemend.training import memory, plan
from tablemend.training.architectures import Shape, config_of, known
from tablemend.training.memory import GIB, STRATEGIES, Memory, Planner, Strategy
from tablemend.training.plan import Amount, amount_of

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


def planner(config: TrainingRecipe, path: str = SMALL) -> Planner:
    return Planner(config, Shape(config_of(path)))


def smollm2() -> Shape:
    """SmolLM2-135M's."""
    width = {"hidden_size": 576, "intermediate_size": 1536, "vocab_size": 49152}
    heads = {"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3}
    return Shape(AutoConfig.for_model("llama", tie_word_embeddings=True, **width, **heads))


LORA = ("train.micro_batch=1", "train.global_batch=8", "train.max_length=4096")
WITHOUT = "train.gradient_checkpointing=false"
EAGER = "train.compile=false"
FULL = ("train.method=full", "train.lora=null")
"""Of recipe qwen3-8b, which has adapters of rank 32 and checkpointing."""


@pytest.mark.parametrize(
    ("overrides", "gib"),
    [
        ((), 19.1),
        (("train.compile=true",), 18.8),
        ((WITHOUT,), 47.8),
        ((WITHOUT, "train.micro_batch=2"), 78.7),
        (FULL, 66.2),
        (("train.micro_batch=4",), 26.3),
        (("train.packing=true",), 19.2),
    ],
)
def test_a_plan_is_near_what_was_measured(overrides: tuple[str, ...], gib: float) -> None:
    """Qwen3-8B's shape on one H200, every token scored (docs/training.md)."""
    found = planner(recipe("qwen3-8b", *LORA, *overrides), "Qwen/Qwen3-8B")
    assert found.memory(SINGLE, 4095).total / GIB == pytest.approx(gib, rel=0.1)


def test_a_plan_of_small_weights_is_near_what_was_measured() -> None:
    """SmolLM2-135M's shape on one H100, half of the tokens scored (results/README.md)."""
    config = recipe("smollm2-135m-gpu", "train.max_length=1200", "train.precision=bfloat16")
    assert Planner(config, smollm2()).memory(SINGLE, 600).total / GIB == pytest.approx(39, rel=0.1)


@pytest.mark.parametrize(
    ("name", "overrides", "rate"),
    [
        ("qwen3-8b", (EAGER,), 6_122),
        ("qwen3-8b", (), 8_959),
        ("qwen3-8b", (EAGER, WITHOUT), 8_494),
        ("qwen3-8b", (EAGER, *FULL), 6_745),
        ("smollm2-135m-gpu", ("train.compile=false",), 59_407),
        ("smollm2-135m-gpu", (), 76_026),
    ],
)
def test_a_plan_takes_as_long_as_was_measured(
    name: str, overrides: tuple[str, ...], rate: int
) -> None:
    """Tokens a second on one H200 and, of small weights, one H100 (results/README.md)."""
    config = recipe(name, "train.max_steps=null", "train.epochs=1", *overrides)
    large = name == "qwen3-8b"
    shape = Shape(config_of("Qwen/Qwen3-8B")) if large else smollm2()
    amount = Amount(rows=10**6, tokens=4096 if large else 840, supervised=400, sampled=1)
    hours = plan.gpu_hours(config, shape, amount)
    assert 1e6 * amount.tokens / hours / 3600 == pytest.approx(rate, rel=0.2)


@pytest.mark.parametrize(
    ("kind", "precision", "case"),
    [
        (benchmark.Benchmark, "float32", ("full", False, 2, 2, 128)),
        (benchmark.Benchmark, "float32", ("lora", True, 2, 2, 128)),
        (benchmark.PreferenceBenchmark, "bfloat16", ("full", False, 1, 4, 128)),
        (benchmark.RewardBenchmark, "float32", ("full", False, 1, 4, 96)),
    ],
    ids=["full", "lora", "preferences", "rewards"],
)
def test_a_training_takes_the_memory_that_is_planned(
    kind: type[Any], precision: str, case: tuple[Any, ...], tiny_model: Path
) -> None:
    name = {"PreferenceBenchmark": "tiny-dpo", "RewardBenchmark": "tiny-grpo"}
    tokens = [f"recipe={name.get(kind.__name__, 'tiny')}", f"train.precision={precision}"]
    config = benchmark.case_of(parse(kind, [*tokens, f"model.path={tiny_model}"]), *case)
    if config.dpo is not None:
        dpo = config.dpo.model_copy(update={"precompute_reference": False})
        config = config.model_copy(update={"dpo": dpo})
    planned, measured = benchmark.compare(config, on_gpu=False)
    assert planned == pytest.approx(measured, rel=0.2)


def test_what_is_kept_grows_with_the_batch_and_shrinks_with_checkpointing() -> None:
    def activations(*overrides: str) -> int:
        config = recipe("qwen3-0.6b", "train.max_length=2048", *overrides)
        return planner(config, "Qwen/Qwen3-0.6B").memory(SINGLE).activations

    one, two = activations("train.micro_batch=1", WITHOUT), activations(WITHOUT)
    assert two == pytest.approx(2 * one, rel=0.2)
    inputs = 28 * 2048 * 1024 * 4  # of each layer, in float32
    lean = activations("train.micro_batch=1")
    assert inputs < lean < one / 2
    assert lean - inputs == pytest.approx(
        activations("train.micro_batch=1", "train.trl.activation_offloading=true")
        - 5 / 28 * inputs,
        rel=0.01,
    )


@pytest.mark.parametrize(
    ("kind", "options", "note"),
    [  # model types with layers of their own
        ("gemma4", {}, ""),
        ("qwen3_5", {}, ""),
        ("qwen3_next", {}, ""),
        ("gpt_oss", {}, ""),
        ("gpt2", {}, ""),
        ("deepseek_v3", {}, "low-rank keys"),
        ("jamba", {}, "layers of kind linear_attention are planned as full attention"),
    ],
)
def test_any_architecture_has_a_plan_that_says_what_it_does_not_know(
    kind: str, options: dict[str, Any], note: str
) -> None:
    shape = Shape(AutoConfig.for_model(kind, **options))
    assert note in "; ".join(shape.notes)
    found = Planner(recipe("qwen3-8b", *LORA), shape)
    assert found.memory(SINGLE).total > 2 * found.total


def test_an_architecture_that_transformers_does_not_know_is_planned_by_its_values(
    tmp_path: Path,
) -> None:
    text = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99}
    values = {"model_type": "nobodys", "text_config": text}
    (tmp_path / "config.json").write_text(json.dumps(values))
    shown = list(plan.plan_of(recipe("tiny", f"model.path={tmp_path}")))
    assert "transformers does not know nobodys: planned by its config.json" in shown
    assert any(line.startswith("single-gpu ") for line in shown)
    del text["vocab_size"]
    (tmp_path / "config.json").write_text(json.dumps(values))
    shown = list(plan.plan_of(recipe("tiny", f"model.path={tmp_path}")))
    assert shown == ["no plan: the configuration of a nobodys names no vocab_size"]


def test_what_a_text_never_passes_through_is_not_trained() -> None:
    name = "google/gemma-3-12b-it"
    shape = Shape(config_of(name))
    assert 0.4e9 < shape.unused < 0.45e9  # its vision tower
    full = recipe("gemma-3-12b", *FULL)
    assert Planner(full, shape).trained == shape.total - shape.unused


def test_each_launch_divides_what_it_says() -> None:
    config = recipe("qwen3-0.6b", *SHAPE, "train.global_batch=64", "train.micro_batch=1")
    n = planner(config).total
    found = {name: planner(config).memory(launch) for name, launch in LAUNCHES.items()}
    single, ddp, zero2 = found["single-gpu"], found["ddp"], found["zero2"]
    assert (single.weights, single.gradients, single.optimizer) == (4 * n, 4 * n, 8 * n)
    assert ddp.total == single.total + 4 * n  # its buckets
    assert (zero2.weights, zero2.optimizer) == (2 * n, 12 * n // 8)
    assert found["zero3"].weights == 2 * n // 8
    assert found["fsdp2"].weights == 4 * n // 8
    assert found["zero3-offload"].optimizer == 0 < found["zero3-offload"].host


def test_four_bits_take_less_and_are_not_divided() -> None:
    config = recipe("qwen3-8b", *SHAPE, "train.method=qlora")
    own = planner(config)
    found, zero2 = (own.memory(LAUNCHES[name]) for name in ("single-gpu", "zero2"))
    assert own.packed > own.total / 3  # the layers' matrices in half a byte
    rest = 2 * (own.total - own.packed)
    assert 0.5 * own.packed < found.weights - rest < 0.55 * own.packed
    # DeepSpeed casts floating-point weights, and the packed ones are bytes
    assert zero2.weights == found.weights
    bucket = memory.REDUCE_BUCKET * 2
    assert zero2.buffers - bucket == found.buffers > 0  # one unpacked matrix
    assert "keeps whole weights" in plan.unsupported_launch(config, LAUNCHES["zero3"])
    assert not plan.unsupported_launch(config, LAUNCHES["ddp"])


def test_a_pair_takes_two_rows_and_a_reference_that_scores_in_every_pass_a_second_model() -> None:
    full = ("train.method=full", "train.lora=null", "model.dtype=float32")
    config = dpo(*SHAPE, *full)
    n, tuning = planner(config).total, recipe("qwen3-8b", *SHAPE, *full)
    pair, row = (planner(each).memory(SINGLE).activations for each in (config, tuning))
    assert 1.5 < pair / row < 2.5
    assert planner(config).memory(SINGLE).reference == 0
    assert planner(config).memory(LAUNCHES["fsdp2"]).reference == 4 * n // 8
    each = dpo(*SHAPE, *full, "dpo.precompute_reference=false")
    assert planner(each).memory(SINGLE).reference == 4 * n
    assert not memory.has_copy(dpo("dpo.precompute_reference=false"), SINGLE)  # adapters


def test_vllm_takes_its_share_of_the_card_beside_the_training() -> None:
    found = planner(grpo(*SHAPE, "grpo.max_new_tokens=64")).memory(SINGLE)
    assert found.vllm == 0.4 and found.generation == 0
    assert not Memory(45 * GIB, 0, 0, 0, vllm=0.4).fits(80)
    assert Memory(42 * GIB, 0, 0, 0, vllm=0.4).fits(80)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (dpo, ("dpo.precompute_reference=false", "train.micro_batch=2")),
        (grpo, ("grpo.engine=transformers",)),
        (recipe, ("qwen3-0.6b",)),
    ],
)
def test_what_a_plan_proposes_is_a_valid_recipe(
    make: Callable[..., TrainingRecipe], given: tuple[str, ...]
) -> None:
    changed = list(plan.suggest_overrides(make(*given)))
    assert changed
    for overrides, config in changed:
        assert make(*given, *overrides) == config


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


def test_an_unknown_model_has_no_plan_and_is_still_checked() -> None:
    (shown,) = plan.plan_of(recipe("tiny", "model.path=nobody/nothing"))
    assert shown.startswith("no plan: the architecture of nobody/nothing")


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
        list(plan.plan_of(config))
    shown = str(refused.value)
    assert f"train.lora.target_modules=[{target}] names {target.split(', ')[-1]}, " in shown
    layers = "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj"
    assert f"the linear layers are {layers}" in shown


@pytest.mark.parametrize("name", known())
def test_a_shape_has_the_published_size(name: str) -> None:
    published, shape = known()[name]["parameters"], Shape(config_of(name))
    # Gemma 4's small ones have one more matrix for all layers' own inputs
    allowed = 0.004 if name == "google/gemma-4-E4B-it" else 0.001
    assert not shape.notes and shape.total == pytest.approx(published, rel=allowed)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("lfm2", {}),  # its MLP is narrower than its configuration says
        ("bamba", {}),
        ("granitemoehybrid", {"layer_types": ["mamba", "attention", "mamba"]}),
        ("nemotron_h", {"layers_block_type": ["linear_attention", "mlp", "full_attention", "moe"]}),
        ("glm4_moe", {"num_hidden_layers": 3}),
        ("qwen3_moe", {"mlp_only_layers": [0], "num_hidden_layers": 2}),
    ],
)
def test_a_shape_has_the_size_of_the_model_that_transformers_builds(
    kind: str, given: dict[str, Any]
) -> None:
    layers = given.get("layer_types") and {"num_hidden_layers": len(given["layer_types"])}
    config = CONFIG_MAPPING[kind](**given, **(layers or {}))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    shape = Shape(config)
    assert not shape.notes and shape.total == pytest.approx(model.num_parameters(), rel=1e-4)


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match=r"has no config\.json"):
        config_of(str(tmp_path))
