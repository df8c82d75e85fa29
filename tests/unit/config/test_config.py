"""Recipes and overrides: what is read, and what is said of everything that is wrong."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import SMALL_WORLD, ConfigError, load, parse, to_yaml
from tablemend.config.load import kind_named
from tablemend.config.section import Section
from tablemend.evaluation.command import CompareCommand, ReportCommand
from tablemend.meta_evaluation.command import ValidateCommand
from tablemend.recipe.experiment import (
    STAGES,
    DistilCommand,
    DpoCommand,
    Experiment,
    GrpoCommand,
    GrpoExperiment,
    SftCommand,
)
from tablemend.recipe.training import FILES, OWNED, trl_fields
from tablemend.tasks.faith.data import FaithSet
from tablemend.tasks.logic.dataset import LogicSet
from tablemend.tasks.tablehallu.engine import examples
from tablemend.tasks.tablehallu.prompts import STRATEGIES, messages, target
from tablemend.tasks.tablehallu.settings import Synthesis

ROOT = Path(__file__).parents[3]
KINDS = {
    path.stem: yaml.safe_load(path.read_text())["kind"]
    for path in sorted((ROOT / "recipes").glob("*.yaml"))
}
EXPERIMENTS = [name for name, kind in KINDS.items() if kind == "experiment"]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def problems(*tokens: str, cls: type[Section] = Experiment) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        parse(cls, tokens)
    return caught.value.problems


COMMANDS: dict[str, tuple[type[Section], str]] = {
    "experiment": (SftCommand, "train/sft.py"),
    "dpo": (DpoCommand, "train/dpo.py"),
    "grpo": (GrpoCommand, "train/grpo.py"),
    "distil": (DistilCommand, "train/distil.py"),
    "evaluation": (CompareCommand, "eval/compare.py"),
}


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind in COMMANDS])
def test_every_recipe_loads_says_its_command_and_reads_back(name: str, tmp_path: Path) -> None:
    command, script = COMMANDS[KINDS[name]]
    config: Any = parse(command, [f"recipe={name}", "seed=7"])
    assert config.name == name
    head = (ROOT / "recipes" / f"{name}.yaml").read_text().split("kind:")[0]
    assert f"{script} recipe={name}" in head and "Hardware" in head
    path = tmp_path / "printed.yaml"
    path.write_text(to_yaml(config))
    assert parse(command, [f"recipe={path}"]) == config


@pytest.fixture(scope="module")
def longest() -> tuple[int, int]:
    """Characters' worth of tokens, at the most, of prompts and training rows of the data recipe."""
    recipe = parse(
        Synthesis, [f"recipe={ROOT / 'recipes' / 'tablehallu-data.yaml'}", "n=30", "queries=1"]
    )
    prompts, rows = [], []
    for example in examples(recipe):
        sent = [
            count_most(messages(example, "adversarial", strategy)[-1]["content"])
            for strategy in STRATEGIES
        ]
        prompts.append(max(sent) + TEMPLATE)
        rows.append(prompts[-1] + count_most(target(example, "adversarial", "quote")))
    assert len(prompts) == 30
    return max(prompts), max(rows)


TEMPLATE = 30
"""Tokens of Qwen3's chat template around one turn (a dozen), with room."""


def count_most(text: str) -> int:
    """Tokens at the most, by and large: a word of letters has one for every three.

    Digits, punctuation marks and the space before a number are one each, as for Qwen3.
    """
    return len(re.findall(r" (?=\d)|\d|[^\W\d_]{1,3}|[^\w\s]|_|\n", text))


CPU = ("tiny", "verifier-tiny", "verifier-smollm2", "smollm2", "gemma-3-270m", "qwen2.5-coder")
CPU += ("parser-qwen2.5-coder",)
"""Recipes for two CPU cores, and of models that the package index has."""
OTHER = ("tabfaith", "verifier", "parser")
TABLES = [name for name in EXPERIMENTS if not name.startswith((*CPU, *OTHER))]
"""Experiments on TableHallu's data."""


@pytest.mark.parametrize("name", TABLES)
def test_the_data_recipe_fits_the_windows_of_the_model_recipes(
    name: str, longest: tuple[int, int]
) -> None:
    config = parse(Experiment, [f"recipe={name}"])
    prompt, row = longest
    assert prompt + config.evaluation.max_new_tokens <= config.model.context_length
    assert row <= config.longest_row


def test_held_out_contexts_of_the_small_world_are_asked_twice() -> None:
    """Else no report says whether answers follow the query; training asks each context once."""
    asked = {}
    for name, kind in KINDS.items():
        if kind in STAGES:
            data = parse(COMMANDS[kind][0], [f"recipe={name}"]).data
            if data.test.source == SMALL_WORLD:
                asked[name] = data.test.queries
                assert {source.queries for source in data.training_sources} == {1}
    assert asked == dict.fromkeys(("tiny", "tiny-dpo", "tiny-grpo", "tiny-distil"), 2)


TRAINED = [name for name, kind in KINDS.items() if kind in STAGES and not name.startswith(CPU)]


@pytest.mark.parametrize("name", TRAINED)
def test_recipes_for_gpus_answer_through_vllm_and_have_held_out_data(name: str) -> None:
    config = parse(CompareCommand, [f"recipe={name}"])
    assert config.default_engine == "vllm"
    assert config.kind in ("grpo", "distil") or config.data.validation is not None  # no loss there
    assert config.train is not None
    assert config.train.lora is None or config.train.lora.dropout == 0


def test_all_problems_are_reported_at_once_with_path_source_and_suggestion() -> None:
    found = problems(
        "recipe=tiny",
        "typo",
        "--fast",
        "=3",
        "learning_rate=3",
        "train.lerning_rate=3",
        "evaluation.systems.base.promt=cot",
        "train.scheduler=cosin",
        "train.warmup=7",
        "seed.x=1",
        "train.trl.adam_bta1=0.9",
        "train.trl.bf16=true",
    )
    text = "\n".join(found)
    assert len(found) == 11
    assert "typo: no `=`" in text
    assert "--fast: unknown flag" in text
    assert "=3: an empty name" in text
    assert "learning_rate: unknown key; did you mean train.learning_rate? (command line)" in text
    assert "train.lerning_rate: unknown key; did you mean learning_rate?" in text
    assert "evaluation.systems.base.promt: unknown key; did you mean prompt?" in text
    assert "train.scheduler" in text and "did you mean cosine?" in text
    assert "train.warmup" in text and "not 7" in text
    assert "seed.x=1: seed is a value" in text
    assert "train.trl.adam_bta1: is no field of trl.SFTConfig; did you mean adam_beta1?" in text
    assert "train.trl.bf16: is set by train.precision" in text


def test_a_problem_in_the_file_names_file_and_line(tmp_path: Path) -> None:
    lines = (ROOT / "recipes" / "tiny.yaml").read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith("global_batch"))
    lines[at] = "  global_batch: -4"
    path = tmp_path / "bad.yaml"
    path.write_text("\n".join(lines))
    assert any(
        "train.global_batch" in p and f"{path}:{at + 1}" in p for p in problems(f"recipe={path}")
    )


@pytest.mark.parametrize("value", ["key ${oc.env:HIDDEN,none}", "${seed}"])
def test_references_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("HIDDEN", "s3cret")
    path = tmp_path / "strange.yaml"
    for form in (value, {"a": value}, {"a": [value]}):
        path.write_text(f"kind: experiment\ndata:\n  test: {json.dumps(form)}\n")
        for tokens in ([f"recipe={path}"], ["recipe=tiny", f"data.test={json.dumps(form)}"]):
            (found,) = problems(*tokens)
            assert found == "${...} is not filled in: write what is meant"


def test_more_examples_than_memory_holds_are_refused_in_one_line() -> None:
    many = 10**12
    for cls in (Synthesis, LogicSet, FaithSet):
        assert "memory or more, and this" in " ".join(problems(f"n={many}", cls=cls))
    for key in ("data.test.n", "data.train.n"):
        (found,) = problems("recipe=tiny", f"{key}={many}")
        assert found.startswith(f"{key}: needs ")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[" * 3_000, "nested too deeply"),
        ("9" * 5_000, "Exceeds the limit (4300 digits)"),
        ("!!timestamp now", "no attribute"),
        ("${a b}", "token recognition error"),
    ],
)
def test_what_yaml_cannot_read_is_one_line(tmp_path: Path, value: str, message: str) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(f"kind: experiment\nname: {value}\n")
    for tokens in ([f"recipe={path}"], ["recipe=tiny", f"name={value}"]):
        (found,) = problems(*tokens)
        assert message in found and len(found) < 300 + len(str(path))
    assert kind_named([f"recipe={path}"]) in (None, "experiment")


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        (["train.lora={r: 8}"], "train.lora"),
        (["train.max_steps=5"], "train.epochs"),
        (["train.epochs=null"], "train.epochs"),
        (["train.micro_batch=5"], "train.micro_batch"),
        (["data.train={source: data/x, split: train_sft}"], "data.train.split"),
        (["train.max_length=99999"], "train.max_length"),
        (["thinking=on"], "thinking"),
        (["evaluation.systems.sft.thinking=off"], "evaluation.systems.sft.thinking"),
        (["evaluation.systems.sft.prompt=cot"], "evaluation.systems.sft.prompt"),
        (["evaluation.max_new_tokens=99999"], "evaluation.max_new_tokens"),
        (["evaluation.contexts=[clean,clean]"], "evaluation.contexts"),
        (["data.test={source: x.jsonl, seed: 3}"], "data.test.seed"),
        (["data.test={source: x.jsonl, seed: 0, queries: 3}"], "data.test.queries"),
        (["data.test.queries=0"], "data.test.queries"),
        (["data.test={source: folder, n: 3, seed: 0}"], "data.test.split"),
        (["data.test.split=test"], "data.test.split"),
        (["data.test={source: x.jsonl, split: test}"], "data.test.split"),
        (["data.test.n=null"], "data.test.n"),
        (["data.test.seed=1", "data.train.seed=1"], "data.test"),
        (["data.test.seed=1", "data.train.seed=1", "data.test.queries=3"], "data.test"),
    ],
)
def test_conflicts_are_refused_at_their_path(overrides: list[str], path: str) -> None:
    found = problems("recipe=tiny", *overrides)
    assert any(p.startswith(f"{path}: ") for p in found), found


def test_unknown_recipe_lists_those_there_are() -> None:
    (found,) = problems("recipe=tinny")
    assert "did you mean tiny?" in found and "qwen3-8b" in found
    assert "no recipe given" in problems()[0]
    assert "more than one" in problems("recipe=tiny", "recipe=qwen3-8b")[0]


def test_help_lists_recipes_and_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        load(SftCommand, ["--help"])
    assert caught.value.code == 0
    page = capsys.readouterr().out
    assert "tiny " in page and "qwen3-32b" in page and "tablehallu-data" not in page
    for key in ("train.learning_rate: float", "overwrite: bool = False", "systems.<name>.prompt"):
        assert key in page
    assert "base|careful|follow|cot" in page


def test_a_class_without_recipes_takes_overrides_alone() -> None:
    class Command(Section):
        n: int = 3
        """How many."""

    assert parse(Command, ["n=4"]).n == 4
    assert parse(Command, []).n == 3
    with pytest.raises(ConfigError, match="recipe: unknown key"):
        parse(Command, ["recipe=tiny"])


def test_a_refusal_is_short_has_no_traceback_and_loads_no_torch() -> None:
    command = [sys.executable, "-X", "importtime", "train/sft.py", "recipe=tiny", "train.lr=1"]
    done = subprocess.run(command, capture_output=True, text=True)
    shown = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert done.returncode == 2
    assert shown[0].startswith("error: ") and "did you mean learning_rate?" in shown[1]
    assert "Traceback" not in done.stderr and " torch" not in done.stderr


def test_the_fields_of_the_installed_trl_are_read_from_its_source() -> None:
    import trl
    from trl.experimental import sdft

    known: set[str] = set()
    for name in FILES:
        module = sdft if name == "SDFTConfig" else trl
        fields = {field.name for field in dataclasses.fields(getattr(module, name))}
        assert fields <= trl_fields(name)
        known |= fields
    assert set(OWNED) <= known


@pytest.mark.parametrize(
    ("cls", "recipe"),
    [(SftCommand, "tiny"), (DpoCommand, "tiny-dpo"), (GrpoCommand, "tiny-grpo")],
)
@pytest.mark.parametrize("model", ["openai:m@http://localhost/v1", "vllm:org/model"])
def test_only_a_comparison_takes_a_model_string(
    cls: type[Section], recipe: str, model: str
) -> None:
    tokens = (f"recipe={recipe}", f"model.path={model}")
    (problem,) = problems(*tokens, cls=cls)
    assert problem.startswith("model.path: training takes a folder or a name on the Hub")
    assert parse(CompareCommand, tokens).has_engine


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        (["recipe=tablehallu-eval", "train.learning_rate=1"], "train.global_batch"),
        (["recipe=tablehallu-eval", "data.train={source: x.jsonl}"], "data.train"),
        (
            ["recipe=tablehallu-eval", "evaluation.systems.x.model=sft"],
            "evaluation.systems.x.model",
        ),
        (["recipe=tiny", "evaluation.systems.x={model: dpo}"], "evaluation.systems.x.model"),
        (["recipe=tiny", "train=null"], "train"),
        (["recipe=tiny", "data.train=null"], "data.train"),
        (["recipe=tiny", "evaluation.systems.sft.format=json"], "evaluation.systems.sft.format"),
        (
            ["recipe=tiny", "evaluation.systems.base.model=openai:m@h"],
            "evaluation.systems.base.model",
        ),
        (["recipe=tiny", "evaluation.systems.base.model=opena:m"], "evaluation.systems.base.model"),
        (["recipe=tiny", "backend=vlm"], "backend"),
        (["recipe=tiny", "evaluation.batch_size=4"], "evaluation.batch_size"),
    ],
)
def test_what_no_comparison_can_be_is_refused_at_its_path(overrides: list[str], path: str) -> None:
    assert path in [
        problem.partition(":")[0] for problem in problems(*overrides, cls=CompareCommand)
    ]


@pytest.mark.parametrize("run", ["..", "", "a/..", "/"])
@pytest.mark.parametrize(
    ("cls", "tokens"),
    [(Experiment, ["recipe=tiny"]), (ReportCommand, []), (ValidateCommand, [])],
)
def test_a_run_is_no_folder_that_holds_others(cls: Any, tokens: list[str], run: str) -> None:
    (problem,) = problems(*tokens, f"run='{run}'", cls=cls)
    assert problem.startswith("run: needs the name of a folder of the run's own")
    assert parse(cls, [*tokens, "run=../elsewhere/.x"]).run == "../elsewhere/.x"


def test_where_no_key_is_like_it_the_section_is_named() -> None:
    (line,) = problems("recipe=qwen3-8b", "train.lora.rank=3")
    assert "train.lora.rank: unknown key; train.lora has r, alpha, dropout" in line
    for key in ("r", "train.r"):  # the same name elsewhere comes first
        (line,) = problems("recipe=qwen3-8b", f"{key}=4")
        assert line == f"{key}: unknown key; did you mean train.lora.r? (command line)"
    (line,) = problems("recipe=tiny-grpo", "temperature=0", cls=GrpoCommand)
    assert "dpo.pairs.temperature or grpo.temperature or" in line
    (line,) = problems("recipe=tiny", "trian.seed=3")
    assert line == "trian: unknown key; did you mean train? (command line)"


def test_each_stage_knows_the_fields_of_its_own_trl_configuration(tmp_path: Path) -> None:
    recipe = yaml.safe_load(Path("recipes/tiny.yaml").read_text())
    recipe |= {"kind": "grpo", "grpo": {"max_new_tokens": 8}}
    recipe["evaluation"]["systems"] = {"grpo": {"model": "grpo", "thinking": "quote"}}
    recipe["train"]["trl"] = {"num_generations": 4, "delta": 1.5, "packing": True}
    path = tmp_path / "grpo.yaml"
    path.write_text(yaml.safe_dump(recipe))
    found = "\n".join(problems(f"recipe={path}", cls=GrpoExperiment))
    assert "train.trl.num_generations: is set by grpo.group" in found
    assert "train.trl.packing: is no field of trl.GRPOConfig" in found
    assert "train.trl.delta" not in found


def test_a_system_of_the_recipe_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    given = ["recipe=tiny", "evaluation.systems.cot=null", "evaluation.systems.repair=null"]
    left = parse(Experiment, given).evaluation.systems
    assert set(parse(Experiment, given[:1]).evaluation.systems) - set(left) == {"cot", "repair"}
    with pytest.raises(ConfigError, match="no system 'base'"):
        parse(Experiment, ["recipe=tiny", "evaluation.systems.base=null"])


def test_a_mapping_on_the_command_line_takes_the_place_of_the_recipes(tmp_path: Path) -> None:
    """Merged, a source that is a file would keep the seed of a generated one."""
    test = "data.test={source: examples.jsonl, n: 3}"
    config = parse(CompareCommand, ["recipe=tiny", "task=table_generation", test])
    assert config.data.test.model_fields_set == {"source", "n"}
    with pytest.raises(ConfigError, match=r"data\.test\.nope.*command line"):
        parse(CompareCommand, ["recipe=tiny", "data.test={source: small-world, n: 1, nope: 2}"])
