"""The pre-training of the embedded base."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import PreTrainedTokenizerFast  # noqa: E402

from tablemend.config import parse  # noqa: E402
from tablemend.config.load import ConfigError  # noqa: E402
from tablemend.errors import TablemendError  # noqa: E402
from tablemend.runs import Run, read_jsonl  # noqa: E402
from tablemend.tasks.tablehallu.small_world import ENGINE  # noqa: E402
from tablemend.training.launch import choose_precision  # noqa: E402
from tiny_base import skills, training  # noqa: E402
from tiny_base.config import Pretraining  # noqa: E402
from tiny_base.tokenizer import TEMPLATE  # noqa: E402
from tiny_base.training import (  # noqa: E402
    Batch,
    Trainer,
    batches,
    build_tokenizer,
    full_size,
)

BUILD = Path(__file__).parents[2] / "checkpoints" / "tiny-base" / "build"
SCRIPT, RECIPE = BUILD / "pretrain.py", f"recipe={BUILD / 'recipe.yaml'}"

TINY = [
    "threads=1",
    "vocab_size=600",
    "shape.hidden=32",
    "shape.layers=1",
    "shape.heads=2",
    "shape.intermediate=32",
    "schedule.tokens=12000",
    "schedule.batch_tokens=2048",
]


@pytest.fixture(scope="module")
def config() -> Pretraining:
    return parse(Pretraining, [RECIPE, *TINY])


@pytest.fixture(scope="module")
def tokenizer(config: Pretraining) -> PreTrainedTokenizerFast:
    return build_tokenizer(config)


def _stream(config: Pretraining, tokenizer: PreTrainedTokenizerFast) -> list[tuple[float, Batch]]:
    shares = config.skills.model_dump()
    return list(batches(tokenizer, config.schedule, shares, full_size(config), config.seed))


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("world.attributes=[1,3]", "world.attributes"),
        ("world.attributes=[2,5]", "world.attributes"),
        ("world.rows=[0,3]", "world.rows"),
        ("world.rows=[2,9]", "world.rows"),
        ("world.groups=1", "world.groups"),
        ("world.groups=21", "world.groups"),
        # 42 names, of which there are 40
        (
            "world={groups: 14, rows: [1, 3], attributes: [2, 3], twins: 0.5, descending: 0}",
            "world.groups",
        ),
        ("world.rows=[3,2]", "world.rows"),
        ("skills={" + ", ".join(f"{name}: 0" for name in skills.SKILLS) + "}", "skills.repeat"),
    ],
)
def test_what_would_crash_mid_run_is_refused_before(override: str, key: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(key)):
        parse(Pretraining, [RECIPE, *TINY, override])


def test_batches_weigh_targets_and_never_padding(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    _, batch = _stream(config, tokenizer)[0]
    assert batch.ids.numel() <= config.schedule.batch_tokens
    ends = (batch.ids == tokenizer.eos_token_id).int()
    for ids, weights, end in zip(batch.ids, batch.weights, ends, strict=True):
        last = int(end.nonzero()[-1])
        assert weights[last] == 1.0
        assert not weights[last + 1 :].any()
        answer = tokenizer.decode(ids[(weights == 1.0)])
        assert answer.endswith("<|im_end|>")
        assert "<|im_start|>" not in answer


@pytest.mark.parametrize("tokens", [1, 12_000, 150_000])  # the last needs a second pool
def test_the_run_ends_with_the_batch_that_reaches_the_tokens(
    tokens: int, config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    schedule = config.schedule.model_copy(update={"tokens": tokens})
    stream = _stream(config.model_copy(update={"schedule": schedule}), tokenizer)
    sizes = [batch.ids.numel() for _, batch in stream]
    assert sum(sizes[:-1]) < tokens <= sum(sizes)
    assert all(0 <= progress < 1 for progress, _ in stream)


def test_saved_base_loads_and_ends_its_turn(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    trainer = Trainer(config, tokenizer)
    next(trainer.steps())
    trainer.save(tmp_path / "base")
    assert [path.name for path in tmp_path.iterdir()] == ["base"]
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "base")
    assert model.dtype == torch.bfloat16
    for name, weight in trainer.model.named_parameters():
        assert torch.equal(model.get_parameter(name), weight.to(torch.bfloat16)), name
    assert model.generation_config.use_cache is not False
    assert model.config.use_cache is not False
    assert loaded.convert_ids_to_tokens(model.generation_config.eos_token_id) == "<|im_end|>"
    assert loaded.chat_template == tokenizer.chat_template


def test_the_script_continues_stops_when_finished_and_tells_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    monkeypatch.setattr(training, "TOKENIZER_EXERCISES", 100)
    monkeypatch.setattr(training, "TEST_EXERCISES", 8)

    def call(name: str, *more: str) -> Path:
        run = tmp_path / f"run-{name}"
        overrides = [f"run={run}", f"out={tmp_path / name}", "log_every=1", "save_every=2"]
        monkeypatch.setattr(sys, "argv", ["pretrain.py", *TINY, *overrides, *more])
        main()
        return run

    def interrupt(trainer: Trainer) -> dict[str, Any]:
        if trainer.step == 4:  # logged, not saved
            raise KeyboardInterrupt
        return state_of(trainer)

    whole = call("whole")
    state_of = Trainer.state
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Trainer, "state", interrupt)
        call("resumed")
    assert not (tmp_path / "resumed").exists()
    with pytest.raises(TablemendError, match="context_length was 1024, is 900"):
        call("resumed", "context_length=900")
    resumed = call("resumed")
    assert "at step 2" in capsys.readouterr().out

    keys = ("step", "tokens", "exact")  # losses and seconds are of one process
    lines = [[[line[k] for k in keys] for line in read_jsonl(run / "log.jsonl")] for run in
             (whole, resumed)]  # fmt: skip
    assert lines[0] == lines[1]
    steps = [step for step, *_ in lines[0]]
    assert steps == list(range(1, len(steps) + 1))  # the last one, too, is there once
    noted = [Run(run).recorded("pretrain") for run in (whole, resumed)]
    assert noted[0]["engine"] == ENGINE
    assert noted[0]["precision"] == choose_precision("auto", "cpu")
    assert noted[0]["weights"].startswith("sha256:")
    assert noted[0]["weights"] == noted[1]["weights"]

    before = (resumed / "log.jsonl").read_bytes()
    call("resumed")
    assert "finished: " in capsys.readouterr().out
    assert (resumed / "log.jsonl").read_bytes() == before
    call("resumed", "overwrite=true")
    assert "saved " in capsys.readouterr().out
    assert Run(resumed).recorded("pretrain")["weights"] == noted[0]["weights"]


def test_chat_template_equals_qwen3s_for_text_chats() -> None:
    trl = pytest.importorskip("trl")
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    ours = environment.from_string(TEMPLATE.read_text())
    folder = Path(trl.__file__).parent / "chat_templates"
    theirs = environment.from_string((folder / "qwen3.jinja").read_text())
    user, system = {"role": "user", "content": "Q"}, {"role": "system", "content": "S"}
    thought = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nA"}
    plain = {"role": "assistant", "content": "A"}
    chats = [
        [user],
        [system, user],
        [user, plain],
        [user, thought],
        [user, thought, user],
        [system, user, plain, user, thought],
    ]
    for chat in chats:
        for thinking in (True, False):
            for prompt in (True, False):
                options = {
                    "messages": chat,
                    "add_generation_prompt": prompt,
                    "enable_thinking": thinking,
                }
                assert ours.render(**options) == theirs.render(**options)
