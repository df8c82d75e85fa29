"""What a reproduction plans: the run folders, and what is missing in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablemend.config import ConfigError
from tablemend.errors import TablemendError
from tablemend.reproduction.command import read_command
from tablemend.reproduction.reproduce import Job, jobs_of, plan, steps_of
from tablemend.training.checkpoints import mark_complete

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def jobs(*tokens: str) -> list[Job]:
    command, given, _ = read_command(tokens)
    return jobs_of(command, given)


def test_a_table_asks_its_systems_and_contexts_alone(tmp_path: Path) -> None:
    run = f"run={tmp_path}/run"
    (job,) = jobs("paper=tablehallu", "table=4", "recipe=tiny", run)
    own = job.config.evaluation
    assert list(own.systems) == ["base", "careful", "follow", "cot", "sft"]
    assert own.contexts == ("adversarial",)
    assert job.training is not None
    (job,) = jobs("paper=tablehallu", "table=1", "recipe=tiny", run)
    assert list(job.config.evaluation.systems) == ["base"] and job.training is None


def test_systems_that_a_recipe_lacks_are_added(tmp_path: Path) -> None:
    run = f"run={tmp_path}/run"
    (job,) = jobs("paper=tablehallu", "table=3", "recipe=tiny", run)
    systems = job.config.evaluation.systems
    assert {name: one.format for name, one in systems.items()} == {
        **{"base": None, "json": "json", "latex": "latex"}
    }
    assert systems["json"].thinking == "off" == systems["base"].thinking
    (job,) = jobs("paper=tablehallu", "table=2", "recipe=tablehallu-eval", run)
    assert list(job.config.evaluation.systems) == ["base", "no-think"]
    (job,) = jobs("paper=tablehallu", "table=2", "recipe=tiny", run)
    assert list(job.config.evaluation.systems) == ["base", "quote"]


def test_tables_of_one_run_are_one_job_and_other_data_another(tmp_path: Path) -> None:
    found = jobs("paper=tablehallu", "recipe=tiny", f"run={tmp_path}/run")
    assert [len(job.items) for job in found] == [10, 1]
    assert found[1].run.path == tmp_path / "run-arithmetic"
    assert found[1].config.data.test.source == "data/tablehallu-arithmetic"
    shown = found[0].config.evaluation.contexts
    assert shown == ("clean", "adversarial")


def test_the_plan_has_the_command_of_each_step(tmp_path: Path) -> None:
    tokens = ["paper=tablehallu", "table=4", "recipe=tiny", f"run={tmp_path}/run"]
    tokens += ["data.test.n=20", "rescore=true"]
    (job,) = jobs(*tokens)
    data, training, answers = steps_of(job)
    assert data.done and not training.done and not answers.done
    assert training.says.startswith("python train/sft.py recipe=tiny data.test.n=20")
    assert "rescore" in answers.says and "rescore" not in training.says
    command, given, check = read_command([*tokens, "--check"])
    lines = list(plan(command, given))
    assert check and [line for line in lines if answers.says in line and "to do" in line]
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_of_other_settings_is_not_taken_for_the_recipes(tmp_path: Path) -> None:
    tokens = ["paper=tablehallu", "table=4", "recipe=tiny", f"run={tmp_path}/run"]
    (job,) = jobs(*tokens)
    assert job.training is not None
    job.run.begin("sft", job.training, ())
    job.run.model.mkdir()
    mark_complete(job.run.model)
    _, training, _ = steps_of(job)
    assert training.done
    (other,) = jobs(*tokens, "train.epochs=2")
    with pytest.raises(TablemendError, match=r"train\.epochs was 1\.0, is 2\.0: give run="):
        steps_of(other)


def test_data_of_a_user_is_missing_and_other_data_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = jobs("paper=torr", "table=2", f"run={tmp_path}/run", "data.test.source=data/no-torr")
    data, *_ = steps_of(job)
    assert not data.done and not data.command and "files of yours" in data.says
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    monkeypatch.chdir(tmp_path)
    (job,) = jobs("paper=tabfaith", "table=1", f"run={tmp_path}/run")
    (data,) = steps_of(job)
    assert data.says == "python data_gen/tabfaith.py recipe=tabfaith out=data/tabfaith"


def test_what_needs_people_says_so() -> None:
    command, given, _ = read_command(["paper=tabfaith", "section=C"])
    assert list(plan(command, given)) == [
        "section C: needs two people at least; tablemend annotate makes their pages and counts "
        "their agreement"
    ]


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["paper=tablehalu"], "no paper 'tablehalu'; did you mean tablehallu?"),
        (["paper=faith", "table=9"], "faith has no table 9 here; it has table 1"),
        (["paper=faith", "table=1", "figure=1"], "name one of table, figure, section"),
        ([], "paper: name one: tablehallu"),
        (["paper=torr", "table"], "no `=`"),
        (["paper=torr", "--chek"], "unknown flag"),
    ],
)
def test_wrong_commands_are_refused(tokens: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_command(tokens)
    assert said in str(caught.value)


def test_wrong_settings_of_the_recipe_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="unknown key"):
        jobs("paper=tablehallu", "table=4", "recipe=tiny", "tabel=4")
    with pytest.raises(TablemendError, match="is of task table_generation, faith needs faith"):
        jobs("paper=faith", "table=3", "recipe=tiny")
    with pytest.raises(ConfigError, match=r"no file recipes/tinny\.yaml"):
        jobs("paper=tablehallu", "table=4", "recipe=tinny")
