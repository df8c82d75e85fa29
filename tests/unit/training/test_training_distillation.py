"""Self-distillation: the loss, the prompts of both views, and that no gold is trained on."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn.functional import log_softmax

from tablemend.config import to_yaml
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DistilCommand
from tablemend.recipe.training import Distil
from tablemend.renderer import prompt_ids
from tablemend.runs import write_jsonl
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.prompts import messages
from tablemend.training import distil
from tests.support.scripts import run_script
from tests.support.short_trainings import ROOT, logged, recipes, same_weights, small_data
from tests.support.trainings_in_process import begin, train

Make = Callable[..., DistilCommand]


@pytest.fixture
def command(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """The tiny recipe on the random model: three steps of eight short answers."""
    monkeypatch.chdir(ROOT)
    given = ("train.max_steps=3", "distil.max_new_tokens=8")
    return recipes(DistilCommand, tiny_model, tmp_path, small_data(12), *given)


def test_the_loss_is_the_divergence_that_is_asked_for(command: Make) -> None:
    """Means of answers of two and of three tokens; above the clip a gradient is scaled down."""
    _, trainer, _, _ = begin(command("loss"))
    student, teacher = torch.randn(2, 2, 3, 7, generator=torch.Generator().manual_seed(0)) * 3
    s, t = log_softmax(student, -1), log_softmax(teacher, -1)
    mixed = (0.5 * s.exp() + 0.5 * t.exp()).log()
    forward, reverse = (t.exp() * (t - s)).sum(-1), (s.exp() * (s - t)).sum(-1)
    jsd = 0.5 * (t.exp() * (t - mixed)).sum(-1) + 0.5 * (s.exp() * (s - mixed)).sum(-1)
    found = SimpleNamespace(
        student_logits=student.requires_grad_(),
        teacher_logits=teacher,
        loss_mask=torch.tensor([[1, 1, 0], [1, 1, 1]]),
    )

    def loss_of(beta: float, clip: float | None = None) -> tuple[Any, Any]:
        trainer.distil = Distil(max_new_tokens=8, beta=beta, clip=clip)
        loss = trainer._compute_self_distillation_loss(None, None, found)
        return loss.detach(), torch.autograd.grad(loss, student)[0]

    for beta, expected in ((0.0, forward), (1.0, reverse), (0.5, jsd)):
        each = torch.stack([expected[0, :2].mean(), expected[1].mean()])
        torch.testing.assert_close(loss_of(beta)[0], each.mean())
    assert bool((jsd < log(2)).all())
    _, whole = loss_of(0.0)
    top = forward[1].max()
    loss, scaled = loss_of(0.0, clip=float(top) / 2)
    assert loss < loss_of(0.0)[0] and trainer._metrics["train"]["clipped_tokens"][-1] >= 0.2
    place = int(forward[1].argmax())
    torch.testing.assert_close(scaled[1, place], whole[1, place] / 2)
    found.loss_mask = torch.zeros_like(found.loss_mask)  # train.trl.num_loss_tokens_to_skip
    assert loss_of(0.0, clip=1.0)[0] == 0
    counted = trainer._metrics["train"]
    assert counted[distil.KL][-1] == counted["clipped_tokens"][-1] == 0


def test_the_loss_over_the_likeliest_tokens_and_the_rest(command: Make) -> None:
    """With all tokens it is the whole divergence; with some, a lower bound of it."""
    student, teacher = torch.randn(2, 1, 3, 9, generator=torch.Generator().manual_seed(1)) * 2
    mask = torch.ones(1, 3, dtype=torch.long)
    found = SimpleNamespace(student_logits=student, teacher_logits=teacher, loss_mask=mask)

    def loss(*given: str) -> float:
        name = "".join(filter(str.isalnum, "".join(given))) or "all"
        _, trainer, _, _ = begin(command(name, "distil.beta=0", *given))
        return float(trainer._compute_self_distillation_loss(None, {}, found))

    whole = loss()
    assert loss("distil.top=9") == pytest.approx(whole, rel=1e-4)
    assert 0 < loss("distil.top=2") < loss("distil.top=5") <= whole + 1e-6


def test_the_clean_pass_adds_how_far_the_student_has_drifted(command: Make) -> None:
    _, plain = train(command("plain"))
    _, kept = train(command("kept", "distil.keep_clean=0.5"))
    drift = logged(kept, "clean_divergence")
    assert len(drift) == 3 and abs(drift[0]) < 1e-4 < drift[-1]  # it begins as its own teacher
    assert "clean_divergence" not in plain["log"][0]
    assert logged(kept, "loss")[0] == pytest.approx(logged(plain, "loss")[0], rel=1e-3)


def test_a_start_with_nothing_to_teach_is_refused(command: Make) -> None:
    _, trainer, _, _ = begin(command("poor", "distil.most_hallucinated=0.1"))
    state = torch.random.get_rng_state()
    with pytest.raises(TablemendError, match=r"hallucinates in 100% of 12 .*most_hallucinated"):
        trainer.refuse_poor_teacher()
    assert torch.equal(state, torch.random.get_rng_state())
    for told in ("null", "1"):
        _, trainer, _, _ = begin(command(f"told-{told}", f"distil.most_hallucinated={told}"))
        trainer.refuse_poor_teacher()


def test_the_prompts_of_both_views_are_those_of_the_evaluation(command: Make) -> None:
    for thinking in ("off", "quote"):
        config = command(f"prompts-{thinking}", f"thinking={thinking}", "train.context=both")
        _, trainer, tokenizer, prepared = begin(config)
        assert len(prepared.train) == 24
        builder = trainer.teacher_context_builder
        for row, one in zip(trainer.train_dataset, prepared.train, strict=True):
            names = [row["prompt"]], [row["privileged_context"]]
            read = builder.select_generation_prompts(*names)
            for view, prompts in ((one.view, names[0]), ("clean", read)):
                chat = messages(one.sample, view, "base", "markdown")
                (found,) = trainer._tokenize_prompts(prompts)
                assert found == prompt_ids(tokenizer, chat, thinking != "off")


def test_no_gold_is_trained_on(command: Make, tmp_path: Path) -> None:
    """Other gold tables, the same losses and weights."""
    runs = []
    for name in ("whole", "first"):
        records = [example.to_json() for example in small_world.examples(seed=1, n=12)]
        for record in records if name == "first" else ():
            record["gold_table"]["rows"] = record["gold_table"]["rows"][:1]
        path = tmp_path / f"{name}.jsonl"
        write_jsonl(path, records)
        data = f"data.train={{source: {path}, seed: 0, n: null}}"
        runs.append(train(command(name, data, "train.learning_rate=1e-2")))
    (one, facts), (other, others) = runs
    assert logged(facts, "loss") == logged(others, "loss") and min(logged(facts, "loss")) > 0
    assert same_weights(one.model, other.model)


def test_the_divergence_of_the_tiny_base_falls(command: Make) -> None:
    given = ("model.path=checkpoints/tiny-base", "model.dtype=float32", "distil.max_new_tokens=32")
    _, facts = train(command("falls", *given, "train.max_steps=5", "distil.clip=8"))
    found = logged(facts, distil.KL)
    assert len(found) == 5 and sum(found[-2:]) < 0.8 * sum(found[:2])
    assert 0 < logged(facts, "clipped_tokens")[0] < 0.5 < logged(facts, "hallucinated")[0]
    assert facts["tokens"] > 5 * 8 * 100


@pytest.mark.parametrize(
    ("lengths", "first", "warned"),
    [
        ([20, 30, 15], True, False),
        ([20, 19, 45], True, True),
        ([20, 9], True, True),
        ([20, 9], False, False),
    ],
)
def test_answers_that_get_empty_or_long_are_warned_of(
    lengths: list[int], first: bool, warned: bool, command: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the first process alone."""
    _, trainer, _, _ = begin(command("lengths"))
    monkeypatch.setattr(trainer, "is_world_process_zero", lambda: first)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for length in (*lengths, lengths[-1]):
            trainer.log({distil.LENGTH: float(length)})
    assert ["may be collapsing" in str(one.message) for one in caught] == [True] * warned


@pytest.mark.parametrize("teacher", ["base", "ema"])
def test_a_second_model_is_refused_under_fsdp(
    teacher: str, command: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "ACCELERATE_USE_FSDP", "true")
    monkeypatch.setitem(os.environ, "FSDP_VERSION", "2")
    with pytest.raises(TablemendError, match=rf"distil\.teacher={teacher}.*fsdp2 cannot hold"):
        distil.METHOD.check(command("shards", f"distil.teacher={teacher}"))
    distil.METHOD.check(command("lora", "train.method=lora", "train.lora={r: 4}"))


def test_the_command_trains_and_shows(
    command: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "distil.yaml"
    path.write_text(
        to_yaml(
            command(
                "whole", "train.lora={r: 4}", "train.method=lora", "distil.most_hallucinated=null"
            )
        )
    )
    script, tokens = "train/distil.py", [f"recipe={path}"]
    assert run_script(script, [*tokens, "show=1"], monkeypatch) == 0
    shown = capsys.readouterr().out
    student, teacher = re.findall(r"(?:student|teacher), (\d+) tokens", shown)
    assert int(student) > int(teacher) > 50
    assert run_script(script, tokens, monkeypatch) == 0
    noted = json.loads((tmp_path / "whole" / "manifest.json").read_text())["distil"]
    assert noted["steps"] == 3 and logged(noted, distil.KL)[-1] > 0
    assert "answers with a finding: " in capsys.readouterr().out
    assert run_script(script, tokens, monkeypatch) == 0
    assert "finished" in capsys.readouterr().out
