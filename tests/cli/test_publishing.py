"""train/publish.py: a folder that others can load and check; a push only of what is complete."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import compare as compare_systems
from tablemend.publishing import checkpoint, hub
from tablemend.publishing.checkpoint import PublishedFolder, leave_out_paths, write_folder
from tablemend.publishing.hub import MergeCommand, PublishCommand
from tablemend.recipe.experiment import (
    DistilCommand,
    DpoCommand,
    GrpoCommand,
    PairsCommand,
    SftCommand,
)
from tablemend.reports.content import with_interval
from tablemend.runs import Run
from tablemend.tasks.tablehallu.dataset import make_dataset
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.training import checkpoints, stage
from tests.support.fake_hub import TOKEN, FakeHub
from tests.support.finished_runs import (
    LORA,
    N,
    copy_of,
    finished_training,
    second_training,
)
from tests.support.scripts import ROOT

NAME = "someone/tiny"


@pytest.fixture
def base(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["sft.py", "recipe=tiny", "run=x y"])
    return copy_of(tiny_model, tmp_path / "base")


def compare(run: Run, *overrides: str) -> None:
    """Judge a finished run as eval/compare.py does."""
    recipe = [f"recipe={run.path / 'sft.yaml'}", f"run={run.path}"]
    compare_systems(parse(CompareCommand, [*recipe, *overrides]))


@pytest.fixture(scope="module")
def compared(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that was compared; :func:`run` is a copy of it."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(sys, "argv", ["sft.py", "recipe=tiny", "run=x y"])
        made = finished_training(folder / "run", copy_of(tiny_model, folder / "base"))
        compare(made)
    return made.path


@pytest.fixture
def run(compared: Path, tmp_path: Path, base: Path) -> Run:
    return Run(copy_of(compared, tmp_path / "run"))


HEAD = {"license": "apache-2.0", "base_model": "none", "datasets": ()}


def publish(run: Run, **options: Any) -> PublishedFolder:
    return write_folder(PublishCommand(run=str(run.path), repo_id=NAME, **HEAD | options))


def test_a_dry_run_writes_what_others_load_and_check(run: Run, fake: type[FakeHub]) -> None:
    published = publish(run)
    assert published.missing == [] and fake.calls == []
    out = published.folder
    tokenizer = AutoTokenizer.from_pretrained(out)
    AutoModelForCausalLM.from_pretrained(out)
    assert tokenizer.chat_template == AutoTokenizer.from_pretrained(run.model).chat_template
    assert GenerationConfig.from_pretrained(out).eos_token_id in (
        tokenizer.eos_token_id,
        [tokenizer.eos_token_id],
    )
    assert not list(out.rglob("*.bin")) and not (out / checkpoints.MARKER).exists()
    names = {path.name for path in (out / "tablemend").iterdir()}
    # and no text of an example
    assert names == {"sft.yaml", "compare.yaml", "manifest.json", "results.json"}
    card = ModelCard.load(out / "README.md")
    assert card.data.license == "apache-2.0" and card.data.base_model is None
    results = json.loads((run.path / "results.json").read_text())
    own = results["systems"]["sft"]["adversarial"]["total_hallu"]
    found = {(one.dataset_config, one.metric_type): one for one in card.data.eval_results}
    rate = found["adversarial", "total_hallu"]
    assert rate.metric_value == round(own["rate"], 4) and rate.metric_args["n"] == N
    assert found["adversarial", "total_hallu_exact"].metric_args["scorer"] == "exact 3"


def test_the_card_says_where_everything_comes_from(run: Run) -> None:
    text = (publish(run).folder / "README.md").read_text(encoding="utf-8")
    facts = run.recorded("sft")
    for said in (
        facts["rows_hash"],
        facts["template_hash"],
        facts["model_revision"],
        facts["commit"],
        "98, dropped 2; 2 longer than max_length",
        "hours: 1.20",
        "Put the final table after `####`.",
        "<|im_start|>assistant",
        "accelerate launch --num_processes 1 --gpu_ids 0 train/sft.py recipe=FOLDER/",
        "Blank-filling",
        "learning_rate: 0.001",
        "the training refuses data that shares a table with them",
        "max_new_tokens=24, do_sample=False",  # as the results were made, not a base's own default
        "train/sft.py recipe=FOLDER/tablemend/sft.yaml run=again\n",
        "eval/compare.py recipe=FOLDER/tablemend/compare.yaml run=again\n",
    ):
        assert said in text, said
    results = json.loads((run.path / "results.json").read_text())
    sides = {
        "TotalHallu": results["systems"],
        "TotalHallu, exact": results["second"]["systems"],
    }
    for name, systems in sides.items():
        found = re.findall(rf"^\| {name} +\|(.*)\|$", text, re.MULTILINE)
        assert [[cell.strip() for cell in row.split("|")] for row in found] == [
            [with_interval(systems[system][context]["total_hallu"]) for system in ("base", "sft")]
            for context in ("clean", "adversarial")
        ]
    assert "Missing" not in text
    run.record("own", {"split": "2 tables are few: they are split by rows"})
    text = (publish(run).folder / "README.md").read_text(encoding="utf-8")
    assert "; the 2 tables are few: they are split by rows. Scored by" in text


def test_no_path_of_this_machine_is_published(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "own" / "rows.jsonl"
    typed = [f"recipe={tmp_path}/r.yaml", f"model.path=hf:{base}", f"run={ROOT}/runs/x"]
    monkeypatch.setattr(sys, "argv", ["sft.py", *typed])
    source = f"data.train={{source: {rows}, n: null, seed: 0}}"
    first = finished_training(tmp_path / "first", base, source)
    run = second_training(tmp_path / "second", first, "dpo")
    config = run.model / "config.json"
    noted = {"_name_or_path": str(base), "x": "https://api.example.org:8000/v1/x"}
    config.write_text(json.dumps(json.loads(config.read_text()) | noted))
    checkpoints.mark_complete(run.model)
    out = publish(run).folder
    for path in filter(Path.is_file, out.rglob("*")):
        text = path.read_bytes().decode("latin-1")
        assert str(tmp_path) not in text and str(ROOT) not in text, path
    assert noted["x"] in (out / "config.json").read_text()
    recipes = out / "tablemend"
    own = parse(DpoCommand, [f"recipe={recipes / 'dpo.yaml'}"])
    assert (own.model.path, own.run) == (".../model", ".../second")
    before = parse(SftCommand, [f"recipe={recipes / '1-sft' / 'sft.yaml'}"])
    assert before.data.train.source == ".../rows.jsonl"
    typed = json.loads((recipes / "1-sft" / "manifest.json").read_text())["sft"]["command"]
    assert typed[1:] == ["recipe=.../r.yaml", "model.path=hf:.../base", "run=runs/x"]
    same = "tokenizer.json"
    assert (out / same).read_bytes() == (run.model / same).read_bytes()


@pytest.mark.parametrize("merged", [False, True])
def test_an_adapter_is_published_merged_or_with_a_base_that_others_have(
    base: Path, tmp_path: Path, merged: bool
) -> None:
    run = finished_training(tmp_path / "run", base, *LORA)
    if merged:
        with pytest.raises(TablemendError, match=r"train/merge\.py"):
            publish(run, merged=True)
        checkpoint.merge_run(MergeCommand(run=str(run.path), prompts=1))
    published = publish(run, merged=merged)
    lacking = "; ".join(published.missing)
    assert ("a base that others have" in lacking) is not merged
    assert "a comparison" in lacking
    card = ModelCard.load(published.folder / "README.md")
    assert card.data.library_name == ("transformers" if merged else "peft")
    assert "Not ready to be used" in card.text
    files = {path.name for path in published.folder.iterdir()}
    assert {"generation_config.json", "tokenizer_config.json", "chat_template.jinja"} <= files
    assert ("adapter_model.safetensors" in files) is not merged


def _set(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_a_push_sends_the_folder_and_only_when_asked(
    run: Run, fake: type[FakeHub], script: Callable[..., Any]
) -> None:
    tokens = ["train/publish.py", f"run={run.path}", f"repo_id={NAME}", "license=mit"]
    tokens.append("base_model=none")
    assert "then push=true" in script(*tokens).out and fake.calls == []
    tokens.append("push=true")
    assert f"pushed: https://hub/{NAME}" in script(*tokens).out
    (create, made), (upload, sent) = fake.calls
    assert (create, upload) == ("create_repo", "upload_folder")
    assert made["private"] is True
    assert {"README.md", "model.safetensors", "tablemend"} <= set(sent["files"])
    assert "tablemend/*" in sent["delete_patterns"]  # or another checkpoint's numbers stay
    fake.problem = RuntimeError(f"403 for {TOKEN}\nmore")
    err = script(*tokens, status=2).err
    assert "403 for ***" in err and TOKEN not in err


NO_RATE = {"rate": None, "low": None, "high": None, "n": 0}


def _unscore(run: Run) -> None:
    results = json.loads((run.path / "results.json").read_text())
    results["systems"]["sft"]["clean"]["total_hallu"] = NO_RATE
    (run.path / "results.json").write_text(json.dumps(results))


def _train_on(run: Run) -> None:
    _set(run.model / "generation_config.json", max_length=7)
    checkpoints.mark_complete(run.model)


@pytest.mark.parametrize(
    ("damage", "lacks"),
    [
        (_unscore, "verdicts: 100% of the answers of sft on clean contexts are unscored"),
        (_train_on, "results of these weights"),
        (
            lambda run: compare(run, "rescore=true", "evaluation.second_scorer=none"),
            "a second scorer",
        ),
        (lambda run: (run.path / "results.json").unlink(), "a comparison"),
        (lambda run: run.record("sft", {}), "the record of the training"),
    ],
)
def test_what_is_not_complete_is_not_pushed(
    run: Run, fake: type[FakeHub], damage: Any, lacks: str
) -> None:
    damage(run)
    published = publish(run)
    assert len(published.missing) == 1 and lacks in published.missing[0]
    command = PublishCommand(run=str(run.path), repo_id=NAME, push=True)
    with pytest.raises(TablemendError, match="is not pushed, it lacks"):
        hub.push(published, command, TOKEN)
    assert fake.calls == []


def test_a_broken_checkpoint_or_another_template_is_refused(run: Run, tmp_path: Path) -> None:
    template = run.model / "chat_template.jinja"
    words = template.read_text()
    template.write_text(words + "{# #}")
    checkpoints.mark_complete(run.model)
    with pytest.raises(TablemendError, match="not the one that was trained on"):
        publish(run)
    template.write_text(words)
    with pytest.raises(TablemendError, match="not there or not whole"):
        publish(run)
    checkpoints.mark_complete(run.model)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(TablemendError, match="holds other files"):
        publish(run, out=str(tmp_path / "mine"))
    clones = tmp_path / "clones"  # of this repository among others
    (clones / "tablemend" / "src").mkdir(parents=True)
    for place, mend in ((clones, "holds other files"), (run.path / "sft.yaml", "is a file")):
        with pytest.raises(TablemendError, match=mend):
            publish(run, out=str(place))
    with pytest.raises(TablemendError, match="system=nobody"):
        publish(run, system="nobody")
    _set(run.model / "generation_config.json", eos_token_id=1)
    checkpoints.mark_complete(run.model)
    with pytest.raises(TablemendError, match="generation would not stop"):
        publish(run)
    assert not (run.path / "publish").exists()


def test_a_run_keeps_to_its_one_training(run: Run) -> None:
    """A second one would take the first one's model for its own, or delete it."""
    given = ["recipe=tiny-dpo", f"run={run.path}", f"model.path={run.model}"]
    for overwrite in (False, True):
        with pytest.raises(TablemendError, match=r"holds another training \(sft\.yaml\)"):
            stage.begin(parse(DpoCommand, given), run, overwrite)
    assert checkpoints.is_complete(run.model) and not (run.path / "dpo.yaml").exists()


COMMANDS = {
    "data_gen/tablehallu.py": Synthesis,
    "data_gen/preference.py": PairsCommand,
    "train/sft.py": SftCommand,
    "train/dpo.py": DpoCommand,
    "train/grpo.py": GrpoCommand,
    "train/distil.py": DistilCommand,
    "train/merge.py": MergeCommand,
    "eval/compare.py": CompareCommand,
}


def _commands_of(text: str, folder: Path) -> list[tuple[str, Any]]:
    """The commands that a card gives with its recipes: each is valid."""
    (block,) = re.findall(r"resolved recipe:\n\n```sh\n(.*?)\n```", text, re.DOTALL)
    found = []
    for line in block.splitlines():
        words = shlex.split(line.replace("FOLDER", str(folder)))
        (place,) = (n for n, word in enumerate(words) if word.endswith(".py"))
        found.append((words[place], parse(COMMANDS[words[place]], words[place + 1 :])))
    return found


def test_the_card_says_how_the_data_was_made(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "some data"
    made = parse(Synthesis, ["source=small-world", "n=30", "seed=4", f"out={out}"])
    make_dataset(made, lambda _: None)
    source = f"{{source: {out}, split: train, n: 9, seed: 0}}"
    run = finished_training(tmp_path / "run", base, f"data.train={source}")
    published = publish(run)
    text = (published.folder / "README.md").read_text(encoding="utf-8")
    command = "python data_gen/tablehallu.py source=small-world n=30 seed=4 out='.../some data'\n"
    assert text.count(command) == 1
    assert _commands_of(text, published.folder)[0] == (
        "data_gen/tablehallu.py",
        made.model_copy(update={"out": ".../some data"}),
    )
    for stranger in (
        "python data_gen/tablehallu.py n=1; reboot",
        "python data_gen/x.py n=$(reboot)",
    ):
        (out / "README.md").write_text(stranger, encoding="utf-8")
        text = (publish(run).folder / "README.md").read_text(encoding="utf-8")
        assert command in text and "reboot" not in text
    for settings in ({"engine_version": "x/1"}, {"engine_version": "program/9", "n": "$(reboot)"}):
        (out / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        text = (publish(run).folder / "README.md").read_text(encoding="utf-8")
        assert "data_gen/" not in text and "reboot" not in text
    (out / "settings.json").unlink()
    assert "data_gen/" not in (publish(run).folder / "README.md").read_text(encoding="utf-8")


def test_the_cards_head_is_asked_for_or_derived(base: Path, tmp_path: Path) -> None:
    rows = f"data.train={{source: {tmp_path}/rows.jsonl, n: null, seed: 0}}"
    run = finished_training(tmp_path / "run", base, rows)
    asked = ("a licence", "base model's name", "data rows.jsonl")
    unsaid = dict.fromkeys(HEAD)
    lacking = "; ".join(publish(run, **unsaid).missing)
    assert all(one in lacking for one in asked)
    lacking = "; ".join(publish(run).missing)
    assert not any(one in lacking for one in asked)
    record = {"hub": {"name": "them/base"}}
    (base / "fetched.json").write_text(json.dumps(record), encoding="utf-8")
    out = publish(run, **unsaid | {"datasets": ("us/rows",)}).folder
    head = ModelCard.load(out / "README.md").data
    assert (head.base_model, head.base_model_relation) == ("them/base", "finetune")
    assert head.datasets == ["us/rows"]
    for wrong in ({"base_model": "x y"}, {"datasets": ("rows",)}):
        with pytest.raises(ValueError, match="is no name on the Hub"):
            publish(run, **wrong)


WINDOWS = r"C:\Users\Anna Berg\x.csv"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("file:///home/anna/data/x.csv", ".../x.csv"),
        ("file:///home/anna", ".../~"),
        ("file://nas/anna/x.csv", ".../x.csv"),
        ("see ../../home/anna/x.csv.", "see .../x.csv."),
        ("hf:/home/anna/a/b", "hf:.../b"),
        ("/home/anna", ".../~"),
        ("~/notes/x.csv or ~anna/x.csv", ".../x.csv or .../x.csv"),
        (WINDOWS, ".../x.csv"),
        (json.dumps(WINDOWS), '".../x.csv"'),
        (r"C:\Users\anna", ".../~"),
        ("D:/notes/secret/x.csv", ".../x.csv"),
        (r"\\nas\share\folder\x.csv", ".../x.csv"),
        (json.dumps(r"\\nas\share\x.csv"), '".../x.csv"'),
        ("openai:M@http://localhost:8000/v1", "openai:M@http://server.example/v1"),
        (
            "http://10.1.2.3:80/v1 http://172.31.0.7",
            "http://server.example/v1 http://server.example",
        ),
        ("https://wiki.corp.internal/x", "https://server.example/x"),
        ("http://nas.local/x", "http://server.example/x"),
        (
            "http://gpu-box:8000/v1 http://[::1]/v1",
            "http://server.example/v1 http://server.example/v1",
        ),
        ("anna@192.168.0.5:/data/sets/x.csv", "server.example:.../x.csv"),
        ("https://anna:secret@api.example.org/v1", "https://api.example.org/v1"),
    ],
)
def test_what_names_a_machine_or_a_person_is_left_out(text: str, left: str, tmp_path: Path) -> None:
    (path := tmp_path / "x").write_text(text, encoding="utf-8")
    for _ in range(2):
        leave_out_paths([path])
        assert path.read_text(encoding="utf-8") == left


@pytest.mark.parametrize(
    "text",
    [
        "https://api.openai.com/v1, https://www.apache.org/licenses/LICENSE-2.0",
        "http://172.40.0.7/v1, version 10.0.0.5.1, torch 2.13.0",
        "src/tablemend/x.py and/or 12/31/2020, 3/4 km/h, </s> <br/>",
        json.dumps({"a": "x\n\ny\\nz", "b": "C: 3 / 4"}),
    ],
)
def test_what_names_neither_stays(text: str, tmp_path: Path) -> None:
    (path := tmp_path / "x").write_text(text, encoding="utf-8")
    leave_out_paths([path])
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("stage", "words", "said"),
    [
        (
            "dpo",
            "preference training (DPO)",
            ["pairs: 3, hash `abc`; rejected: the model's own 2, a wrong digit 1"],
        ),
        (
            "grpo",
            "training on rewards (GRPO)",
            ["reward: tablemend reward 9, mean 0.750; 25% of the groups had equal rewards"],
        ),
        ("distil", "on-policy self-distillation", []),
    ],
)
def test_a_second_training_tells_of_its_pairs_or_rewards(
    stage: str, words: str, said: list[str], run: Run, tmp_path: Path
) -> None:
    published = publish(second_training(tmp_path / "second", run, stage))
    text = (published.folder / "README.md").read_text(encoding="utf-8")
    assert f"by supervised fine-tuning, then {words} with tablemend" in text
    assert all(one in text for one in said)
    (first, tuned), *rest = _commands_of(text, published.folder)
    assert (first, tuned.run) == ("train/sft.py", "again-1")
    names = [name for name, _ in rest]
    assert names == ["data_gen/preference.py"] * (stage == "dpo") + [f"train/{stage}.py"]
    assert {config.model.path for _, config in rest} == {"runs/again-1/model"}
    if stage == "dpo":
        assert {config.dpo.pairs.path for _, config in rest} == {"data/again"}


def test_a_chain_that_began_with_merged_weights_lists_the_merge(
    base: Path, tmp_path: Path, script: Callable[..., Any]
) -> None:
    first = finished_training(tmp_path / "first", base, *LORA)
    whole = first.path / "whole"
    merging = [f"run={first.path}", "tolerance=1e-02", "prompts=1", f"out={whole}"]
    script("train/merge.py", *merging)
    published = publish(finished_training(tmp_path / "second", whole))
    text = (published.folder / "README.md").read_text(encoding="utf-8")
    commands = _commands_of(text, published.folder)
    assert [name for name, _ in commands] == ["train/sft.py", "train/merge.py", "train/sft.py"]
    assert commands[1][1] == MergeCommand(run="again-1", tolerance=1e-2, prompts=1)
    assert commands[2][1].model.path == "runs/again-1/merged"
