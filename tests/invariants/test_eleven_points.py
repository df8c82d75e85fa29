"""The eleven things that users of such code bases suffer from most: none of them happens here.

One test a point, by its number; CONTRIBUTING.md has them as a table. Each goes through the code
that a training or a comparison runs. What other tests do in full is named, not repeated.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer

import random_training
from tablemend.backends.backend import RequestCache
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config import ConfigError, parse
from tablemend.detector.algorithm import Submission, detect_in_answers
from tablemend.detector.errors import METRICS
from tablemend.errors import TablemendError
from tablemend.evaluation.scoring import why_unscored
from tablemend.generations import Stored
from tablemend.prompting.replies import Unreadable, read_verdict
from tablemend.recipe.experiment import Experiment, Model
from tablemend.records import Answer
from tablemend.renderer import prompt_ids
from tablemend.reports.tabulation import summarise
from tablemend.runs import Run, surroundings
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.training import checkpoints, launch, plan, stage
from tablemend.training.data import (
    IGNORED,
    build_rows,
    check_end_of_turn,
    content_hash,
    refuse_shared_tables,
    render,
)

ROOT = Path(__file__).parents[2]
BASE = ROOT / "checkpoints" / "tiny-base"
EXAMPLES = list(small_world.examples(seed=1, n=12))
Recipe = Callable[..., Experiment]


@pytest.fixture(scope="module")
def tokenizer(tiny_model: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_model)


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.chdir(ROOT)
    return lambda *tokens: parse(Experiment, ["recipe=tiny", *tokens])


def test_1_the_loss_is_on_the_answer_alone_and_the_template_rewrites_nothing(
    tokenizer: Any, recipe: Recipe
) -> None:
    """Masks in full: test_training_data.py; the batch that is trained on: test_training_sft.py."""
    off = recipe("thinking=off", "evaluation.systems.sft.thinking=off")
    quote = recipe()
    for example in EXAMPLES:
        row = render(tokenizer, example, "adversarial", off)
        loss = tokenizer.decode([label for label in row.labels if label != IGNORED])
        assert "<think>" not in loss and loss.startswith("####")
        row = render(tokenizer, example, "adversarial", quote)
        target = prompts.target(example, "adversarial", "quote", "markdown")
        turns = [
            *prompts.messages(example, "adversarial"),
            {"role": "assistant", "content": target},
            {"role": "user", "content": "Thanks."},
        ]
        # with a further turn the stock template drops the thought; a training row never does
        assert "</think>" in target
        assert target not in tokenizer.apply_chat_template(turns, tokenize=False)
        assert tokenizer.decode(row.target[:-1]) == target


def test_2_an_answer_ends_and_padding_is_not_its_end(tiny_model: Path, tmp_path: Path) -> None:
    """Every saved checkpoint is checked so: test_training_checkpoints.py."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    checkpoints.check_generation(folder, tokenizer)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.save_pretrained(folder)
    with pytest.raises(TablemendError, match="no pad_token of its own"):
        checkpoints.load_tokenizer(Model(path=str(folder), context_length=128))
    tokenizer.eos_token = "<|endoftext|>"
    with pytest.raises(TablemendError, match="does not end the assistant's turn"):
        check_end_of_turn(tokenizer)


def test_3_training_and_evaluation_show_the_same_prompt(tiny_model: Path, recipe: Recipe) -> None:
    """One function makes both, and every training compares them (sft._check_first)."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    begin = "<|endoftext|>"
    number = tokenizer.convert_tokens_to_ids(begin)
    tokenizer.chat_template = f"{begin}{tokenizer.chat_template}"
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, number)]
    )
    assert tokenizer("a")["input_ids"][0] == number  # a careless call would add a second one
    config = recipe()
    system = config.evaluation.systems["sft"]
    for example in EXAMPLES:
        row = render(tokenizer, example, "adversarial", config)
        chat = prompts.messages(example, "adversarial", system.prompt, config.format)
        assert list(row.prompt) == prompt_ids(tokenizer, chat, config.thinking_of(system) != "off")
        assert row.input_ids.count(number) == 1
    for other in ("prompt=careful", "thinking=off", "format=json"):
        with pytest.raises(ConfigError, match=r"is not train\.prompt|the model is trained with"):
            recipe(f"evaluation.systems.sft.{other}")


def test_4_nothing_is_cut_in_silence_and_packed_examples_stay_apart(
    tokenizer: Any, tiny_model: Path, recipe: Recipe, tmp_path: Path
) -> None:
    """Attention across packed examples is measured in test_gpu_training.py."""
    lengths = [len(render(tokenizer, each, "adversarial", recipe())) for each in EXAMPLES]
    limit = sorted(lengths)[len(lengths) // 2]
    built = build_rows(tokenizer, EXAMPLES, recipe(f"train.max_length={limit}"))
    fitting = [length for length in lengths if length <= limit]
    assert [len(row) for row in built.rows] == fitting and len(fitting) < len(lengths)
    assert sum(built.dropped.values()) == len(lengths) - len(fitting)
    for name in ("max_length", "truncation_mode", "packing_strategy", "padding_free"):
        with pytest.raises(ConfigError, match=rf"train\.trl\.{name}: is set by train\."):
            recipe(f"train.trl.{name}=1")
    packed = recipe(
        f"model.path={tiny_model}",
        "train.packing=true",
        "train.max_length=64",
        "train.precision=float32",
    )
    shorter = [20, 30, 64, 40, 33, 31, 17, 63]
    trainer = random_training.random_trainer(
        packed, tokenizer, shorter, [5] * len(shorter), str(tmp_path)
    )
    drawn = random_training.random_rows(
        shorter, [5] * len(shorter), 600, tokenizer.pad_token_id, packed.seed
    )
    kept = Counter(token for ids in trainer.train_dataset["input_ids"] for token in ids)
    assert kept == Counter(token for row in drawn for token in row.input_ids)
    assert len(trainer.train_dataset) < len(shorter)


def test_5_a_resumed_training_goes_on_with_its_rows_on_another_world_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal losses: test_training_sft.py; two processes: test_training_launch_strategies.py."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    launch.record_launch(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "1")
    launch.check_checkpoint(tmp_path)
    assert "was saved by ddp on 2 processes, single on 1 process go on" in capsys.readouterr().out
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    monkeypatch.setenv("FSDP_VERSION", "2")
    with pytest.raises(TablemendError, match="cannot be continued by fsdp2"):
        launch.check_checkpoint(tmp_path)


def test_6_empty_tensors_are_refused_and_zero3_saves_whole_weights(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LoRA with ZeRO-3 and checkpointing trains: test_training_launch_strategies.py; a quantised
    base is no base to merge into: test_publishing_merging.py.
    """
    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    weights = load_file(folder / "model.safetensors")
    name = "model.embed_tokens.weight"
    save_file({**weights, name: torch.empty(0)}, folder / "model.safetensors")
    with pytest.raises(TablemendError, match=rf"tensor {name} is empty"):
        checkpoints.check_weights(folder, {name: tuple(weights[name].shape)})
    with pytest.raises(TablemendError, match=rf"tensor {name} is empty"):
        checkpoints.check_model(str(folder))
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "3")
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL", "false")
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    launch.init_distributed()
    assert os.environ["ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"] == "true"


def test_7_out_of_memory_says_what_to_change(recipe: Recipe, tmp_path: Path) -> None:
    """Before the start, --check does so too: test_training_planner.py."""
    config = recipe()
    message = r"train\.micro_batch=16 .*gradient_checkpointing=true, .*activation_offloading=true"
    with (
        pytest.raises(TablemendError, match=message),
        stage.refusals(config.train, Run(tmp_path)),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
    offered = [overrides[-1] for overrides, _ in plan.suggest_overrides(config)]
    assert offered[:3] == [
        "train.micro_batch=1",
        "train.gradient_checkpointing=true",
        "train.trl.activation_offloading=true",
    ]


def test_8_another_version_cannot_change_ids_or_masks_unseen(recipe: Recipe) -> None:
    """Version drift: 100 rows of the committed tokenizer, to the id and to where the loss begins.

    A change here is a change of the training data of every run: say it in the changelog.
    """
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    rows = build_rows(tokenizer, small_world.examples(seed=11, n=100), recipe())
    assert len(rows.rows) == 100
    assert content_hash(rows.rows) == "ab6026aedc420e9a"


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("train.lerning_rate=1", "learning_rate"),
        ("train.trl.adam_beta3=0.9", "adam_beta"),
        ("evaluation.systems.sft.promt=base", "prompt"),
    ],
)
def test_9_a_typo_is_refused_with_the_name_that_was_meant(
    typo: str, meant: str, recipe: Recipe
) -> None:
    """All problems at once, with file and line: test_config.py."""
    with pytest.raises(ConfigError, match=rf"did you mean {meant}"):
        recipe(typo)


def test_10_a_number_can_be_made_again_and_splits_share_no_table(
    tokenizer: Any, recipe: Recipe
) -> None:
    """Manifests: test_runs.py; refusals before a training: test_training_sft.py."""
    made = [build_rows(tokenizer, small_world.examples(seed=1, n=12), recipe()) for _ in "ab"]
    other = build_rows(tokenizer, small_world.examples(seed=2, n=12), recipe())
    assert content_hash(made[0].rows) == content_hash(made[1].rows) != content_hash(other.rows)
    noted = surroundings()
    assert {"commit", "dirty", "command", "packages", "world_size"} <= set(noted)
    assert {"torch", "transformers", "trl"} <= set(noted["packages"])
    refuse_shared_tables(EXAMPLES[:6], EXAMPLES[6:], "test")
    renamed = replace(EXAMPLES[0], id="another")
    with pytest.raises(TablemendError, match="share 1 tables"):
        refuse_shared_tables(EXAMPLES[:6], [renamed], "test")


def test_11_failures_are_no_scores_keys_are_whole_and_nobody_times_out(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judges: test_compare_second_scorer.py; keys: test_backends_cache.py; processes:
    test_training_sft.py.
    """
    failed = Stored(Answer("a", "base", "clean", "", 0, 0, "error", error="status 503"), 1.0)
    why = why_unscored(failed, recipe())
    assert why == "status 503"
    gold = EXAMPLES[0].gold_table
    asked_for = [Submission("", gold, "", failed=why), Submission("no table", gold, "")]
    rates = summarise(list(detect_in_answers(asked_for)), METRICS)
    assert (rates["unscored"]["n"], rates["unscored"]["rate"]) == (2, 0.5)
    assert (rates["total_hallu"]["n"], rates["total_hallu"]["rate"]) == (1, 1.0)
    with pytest.raises(Unreadable):
        read_verdict("The answer looks fine to me.", "yes", "no")

    cache = RequestCache(tmp_path / "cache.sqlite", {"model": "m"})
    asked = Request("a", ({"role": "user", "content": "one"},), Sampling(9, 0.6), True, None, 7)
    cache.put(cache.key(asked), Completion("a", "1", 1, 1, "stop"))
    another = replace(asked, messages=({"role": "user", "content": "two"},))
    assert cache.get(cache.key(asked), "b") is not None
    assert cache.get(cache.key(another), "b") is None

    # a process that is not the main one waits, without a limit that data could reach, and reads
    limits: list[timedelta] = []

    def new_group(backend: str, timeout: timedelta) -> str:
        limits.append(timeout)
        return backend

    def receive(made: list[object], src: int, group: str) -> None:
        made[0] = ["ids"]

    world = SimpleNamespace(num_processes=2, is_main_process=False)
    monkeypatch.setattr(launch, "PartialState", lambda: world)
    monkeypatch.setattr(torch.distributed, "new_group", new_group)
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda _: None)
    monkeypatch.setattr(torch.distributed, "broadcast_object_list", receive)
    assert launch.on_main_process(lambda: pytest.fail("tokenised a second time")) == ["ids"]
    assert limits[0] > timedelta(days=7)


def test_the_page_names_every_point_and_only_tests_that_are_there() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    _, _, section = page.partition("## What users suffer from, and where it is tested\n")
    rows = re.findall(r"^\| (\d+) \|.*$", section, re.MULTILINE)
    assert rows == [str(number) for number in range(1, 12)]
    named = set(re.findall(r"\btest_\w+\.py", section))
    assert named and named <= {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    points = {int(name.split("_")[1]) for name in globals() if re.match(r"test_\d", name)}
    assert points == set(range(1, 12))
