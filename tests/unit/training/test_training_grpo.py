"""Training on rewards: prompts are evaluation's, rewards are logged whole, and it can go on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tablemend.config import to_yaml
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import GrpoCommand
from tablemend.recipe.training import Reward
from tablemend.renderer import prompt_ids
from tablemend.runs import Run, write_jsonl
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.tasks.tablehallu.scoring import TableReward
from tablemend.training import checkpoints, grpo, stage
from tests.support.scripts import run_script
from tests.support.short_trainings import ROOT, recipes, same_weights, small_data
from tests.support.trainings_in_process import begin, pay_small_ids, train

SERVER = "grpo.server=http://localhost:8000"
VLLM = "grpo.engine=vllm-colocate"
QLORA = ("train.method=qlora", "train.precision=bfloat16", "train.lora={r: 8}")
PARTS = set(Reward.model_fields)


@pytest.fixture
def command(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., GrpoCommand]:
    """The tiny recipe on the random model: two prompts a step, four short answers to each."""
    monkeypatch.chdir(ROOT)
    given = ("thinking=off", "train.max_steps=4", "train.learning_rate=1e-2", "train.save_every=2")
    given = (*given, "grpo.group=4", "grpo.max_new_tokens=8", "grpo.equal_groups=0.9")
    return recipes(GrpoCommand, tiny_model, tmp_path, small_data(12), *given)


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> None:
    pay_small_ids(monkeypatch)


def test_the_prompts_are_those_of_the_evaluation(command: Callable[..., GrpoCommand]) -> None:
    for thinking in ("off", "quote"):
        config = command(f"prompts-{thinking}", f"thinking={thinking}", "train.context=both")
        _, trainer, tokenizer, prepared = begin(config)
        # a tokenizer that adds tokens of its own, as Llama's does
        trainer.processing_class.bos_token = tokenizer.eos_token
        trainer.processing_class.add_bos_token = True
        assert len(prepared.train) == 24
        ids, _, _ = trainer._tokenize_prompts([task.prompt for task in prepared.train])
        for task, found in zip(prepared.train, ids, strict=True):
            chat = prompts.messages(task.sample, task.view, "base", "markdown")
            assert found == prompt_ids(tokenizer, chat, thinking != "off") == list(task.ids)


def test_rewards_are_logged_and_change_the_weights(
    command: Callable[..., GrpoCommand], graded: None, tiny_model: Path
) -> None:
    run, facts = train(command("learn"))
    assert facts["steps"] == 4 and facts["tokens"] > 4 * 8 * 100 and facts["answer"]
    steps = [entry for entry in facts["log"] if grpo.EQUAL in entry]
    assert len(steps) == 4
    for entry in steps:
        assert {f"parts/{name}" for name in PARTS} <= set(entry)
        assert entry["parts/cells"] == 0.25 and entry["hallucinated"] == 1.0
        assert entry["completions/clipped_ratio"] > 0.5 and entry[grpo.EQUAL] < 1
    assert not same_weights(run.model, tiny_model)
    noted = grpo.summary(facts["log"])
    assert noted["last"]["reward"] == steps[-1]["reward"]
    assert noted["mean"]["reward"] == pytest.approx(sum(e["reward"] for e in steps) / 4, abs=1e-5)


def test_groups_with_equal_rewards_are_counted_and_warned_of(
    command: Callable[..., GrpoCommand], tiny_model: Path
) -> None:
    """A random model's answers all earn nothing: nothing is learnt, and it says so."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run, facts = train(command("equal", "train.max_steps=2"))
    noted = grpo.summary(facts["log"])["mean"]
    assert noted[grpo.EQUAL] == 1.0
    assert noted["reward"] == 0.0 and noted["hallucinated"] == 1.0
    said = [str(one.message) for one in caught if "earn the same" in str(one.message)]
    assert len(said) == 1 and "100% of the groups" in said[0] and "equal_groups=0.9" in said[0]
    assert same_weights(run.model, tiny_model)


def test_a_reward_that_fails_stops_the_training(
    command: Callable[..., GrpoCommand], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = command("fails")
    run, trainer, _, _ = begin(config)
    monkeypatch.setattr(TableReward, "score", lambda *_: 1 / 0)
    with pytest.raises(TablemendError, match="ZeroDivisionError") as caught:
        stage.run_steps(trainer, config, run)
    assert "\n" not in str(caught.value) and "no reward would be true" in str(caught.value)


def test_gold_that_does_not_earn_the_whole_reward_is_refused(
    command: Callable[..., GrpoCommand], tmp_path: Path
) -> None:
    """One that is to be sorted by a column that it lacks, one that says a name twice."""
    records = [example.to_json() for example in small_world.examples(seed=1, n=12)]
    wrong = next(record for record in records if record["constraints"]["sort_column"])
    wrong["constraints"]["sort_column"] = "Height"
    other = next(record for record in records if record is not wrong)
    other["gold_table"]["columns"][1] = other["gold_table"]["columns"][0]
    path = tmp_path / "train.jsonl"
    write_jsonl(path, records)
    config = command("gold", f"data.train={{source: {path}, seed: 0, n: null}}")
    with pytest.raises(TablemendError, match="2 examples do not earn") as caught:
        grpo.prepare(config, Run.of(config), checkpoints.load_tokenizer(config.model))
    assert wrong["id"] in str(caught.value)


def test_prompts_without_room_for_an_answer_are_dropped_and_counted(
    command: Callable[..., GrpoCommand],
) -> None:
    config = command("long")
    tokenizer = checkpoints.load_tokenizer(config.model)
    longest = sorted(
        len(task.ids) for task in grpo.prepare(config, Run.of(config), tokenizer).train
    )[-2]
    config = command("long", f"train.max_length={longest + 8}")
    prepared = grpo.prepare(config, Run.of(config), tokenizer)
    assert prepared.facts["dropped"] == {f"prompt longer than {longest} tokens": 1}
    with pytest.raises(TablemendError, match=r"no prompt of data\.train leaves room .* lower grpo"):
        grpo.prepare(command("long", "train.max_length=16"), Run.of(config), tokenizer)


def test_a_binary_reward_pays_all_or_nothing(command: Callable[..., GrpoCommand]) -> None:
    reward = grpo.reward_of(command("binary", "grpo.binary=true"))
    (sample,) = small_world.examples(1, 1)
    gold = reward.gold(sample, "clean")
    partly = reward.score(sample, "clean", f"Here it is:\n{gold}")
    assert reward.score(sample, "clean", gold).reward == 1.0 and reward.name.endswith("binary")
    assert partly.reward == 0.0 and partly.parts["cells"] == 1.0


def test_the_recipe_reaches_trl(command: Callable[..., GrpoCommand]) -> None:
    config = command(
        "trl",
        "grpo.beta=0.04",
        "train.trl.epsilon_high=0.3",
        "train.trl.loss_type=dr_grpo",
        "train.trl.scale_rewards=none",
        "grpo.iterations=2",
        "train.trl.delta=1.5",
        "model.revision=abc",
    )
    found = grpo.grpo_arguments(config, "out")
    assert found.num_generations == 4 and found.generation_batch_size == 8
    assert found.steps_per_generation == found.gradient_accumulation_steps == 2
    assert (found.beta, found.epsilon, found.epsilon_high) == (0.04, 0.2, 0.3)
    assert (found.loss_type, found.scale_rewards, found.num_iterations) == ("dr_grpo", "none", 2)
    assert found.delta == 1.5 and not found.use_vllm and found.max_completion_length == 8
    assert found.model_init_kwargs == {"revision": "abc"}  # TRL loads the reference by name


def test_the_command_trains_and_shows(
    command: Callable[..., GrpoCommand],
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    graded: None,
) -> None:
    config = command("whole", "train.trl.disable_tqdm=false")
    path = tmp_path / "grpo.yaml"
    path.write_text(to_yaml(config))
    script, tokens = "train/grpo.py", [f"recipe={path}"]
    assert run_script(script, [*tokens, "show=1"], monkeypatch) == 0
    shown = capsys.readouterr().out
    assert "####" in shown and "tokens; reward 1:" in shown and "order 0.25" in shown
    assert not (tmp_path / "whole").exists()
    assert run_script(script, tokens, monkeypatch) == 0
    noted = json.loads((tmp_path / "whole" / "manifest.json").read_text())["grpo"]
    assert noted["rewards"]["last"]["parts/order"] == 0.25
    assert noted["reward"].startswith("tablemend reward") and noted["first_answer"]
    printed = capsys.readouterr()
    assert "of the groups equal" in printed.out
    begun = ("starting ", "reading ", "tokenising ", "loading ", "training: ", "step 1 of ")
    lines = iter(printed.err.splitlines())
    assert all(any(line.startswith(word) for line in lines) for word in begun), printed.err
    assert "{" not in printed.out + printed.err  # no dictionary of the Trainer's
    assert run_script(script, tokens, monkeypatch) == 0
    assert "finished" in capsys.readouterr().out
