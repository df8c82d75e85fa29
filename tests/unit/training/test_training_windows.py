"""What does not fit into a model's window: one advice, and who follows it is not refused again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DistilCommand, GrpoCommand, SftCommand, TrainingRecipe
from tablemend.training import checkpoints, trainer
from tablemend.training.architectures import check_window, config_of, to_fit, window_of
from tablemend.training.plan import amount_of
from tests.support.scripts import ROOT, run_script

BASE = "checkpoints/tiny-base"


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("needed", [16, 600, 1024, 1025, 9000])
def test_the_advice_can_be_followed(needed: int) -> None:
    architecture = config_of(BASE)
    model = parse(SftCommand, ["recipe=tiny", "evaluation.max_new_tokens=16"]).model
    advice = to_fit(model, needed)
    if said := re.search(r"model\.context_length=(\d+)", advice):
        check_window(model.model_copy(update={"context_length": int(said[1])}), architecture)
        assert needed <= window_of(architecture)
        return
    assert needed > 1024 and "the window of checkpoints/tiny-base is 1024 tokens: take" in advice
    with pytest.raises(TablemendError, match=r"set at most 1024; .* take a model") as refused:
        check_window(model.model_copy(update={"context_length": needed}), architecture)
    assert advice.partition(": ")[2] in str(refused.value)  # the two say the same


@pytest.mark.parametrize(
    ("command", "recipe", "most"),
    [
        (SftCommand, "tiny", 100),
        (GrpoCommand, "tiny-grpo", 384 + 20),
        (DistilCommand, "tiny-distil", 192 + 20),
    ],
)
def test_a_plan_of_data_that_does_not_fit_says_what_to_set(
    command: type[TrainingRecipe], recipe: str, most: int
) -> None:
    config = parse(command, [f"recipe={recipe}", f"train.max_length={most}", f"model.path={BASE}"])
    with pytest.raises(TablemendError, match=rf"fits {most} tokens, the shortest has \d+: set mod"):
        amount_of(config)


def test_rates_need_prompts_that_leave_room() -> None:
    evaluate = "train.evaluate={n: 2, every: 100, max_new_tokens: 1000}"
    config = parse(SftCommand, ["recipe=tiny", evaluate])
    with pytest.raises(TablemendError, match=r"lower train\.evaluate\.max_new_tokens=1000, or the"):
        trainer.read_rates(config, checkpoints.load_tokenizer(config.model))


def test_a_window_that_the_model_has_not_ends_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tokens = ["recipe=tiny", "model.context_length=8192", f"run={tmp_path / 'run'}"]
    for more in (["--check"], []):
        assert run_script("train/sft.py", [*tokens, *more], monkeypatch) == 2
        assert "set at most 1024" in capsys.readouterr().err
