"""Mixtures of sources: their shares, chats among them, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from transformers import AutoTokenizer

from tablemend.config import ConfigError, Part, parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment, SftCommand
from tablemend.renderer import prompt_ids
from tablemend.runs import Run
from tablemend.tasks.sources import Chat, mix, read_chats, read_training
from tablemend.tasks.tablehallu.task import read_examples
from tablemend.training import plan, stage
from tablemend.training.data import (
    IGNORED,
    build_mixture,
    build_rows,
    check_row,
    content_hash,
    render_chat,
)
from tablemend.training.plan import amount_of
from tablemend.training.sft import build_trainer, prepare

ROOT = Path(__file__).parents[3]
RUN = Run(ROOT / "nowhere")
TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "One and one?"},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "And one?"},
    {"role": "assistant", "content": "Three."},
]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def tokenizer(tiny_model: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_model)


def chats_file(folder: Path, n: int = 20) -> Path:
    records = [
        {"messages": [*TURNS[:-1], {"role": "assistant", "content": f"Three, {index}."}]}
        for index in range(n)
    ]
    path = folder / "chats.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


Recipe = Callable[..., Experiment]


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """The tiny recipe with a mixture for its training data."""
    chats = {"source": str(chats_file(tmp_path)), "content": "messages", "share": 0.2}
    one = {"source": "small-world", "n": 60, "seed": 1, "share": 0.5}
    two = {"source": "small-world", "n": 40, "seed": 7, "share": 0.3}

    def read(*tokens: str, cls: type[Any] = Experiment, **parts: Any) -> Any:
        data = yaml.safe_load((ROOT / "recipes" / "tiny.yaml").read_text())
        data["data"]["train"] = parts or {"one": one, "two": two, "chat": chats}
        path = tmp_path / "mixed.yaml"
        path.write_text(yaml.safe_dump(data))
        return parse(cls, [f"recipe={path}", *tokens])

    return read


def problems(read: Callable[[], Any]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read()
    return caught.value.problems


@pytest.mark.parametrize(
    ("shares", "sizes"),
    [
        ({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 60, "b": 40, "c": 20}),
        ({"a": 0.9, "b": 0.1}, {"a": 1000, "b": 7}),
        ({"a": 1.0}, {"a": 5}),
    ],
)
def test_shares_hold_at_every_length_and_nothing_is_taken_twice(
    shares: dict[str, float], sizes: dict[str, int]
) -> None:
    order = mix(shares, sizes)
    taken: Counter[str] = Counter()
    for length, name in enumerate(order, 1):
        taken[name] += 1
        assert all(abs(taken[one] - share * length) < len(shares) for one, share in shares.items())
    assert all(taken[name] <= size for name, size in sizes.items())
    assert len(order) == min(int(size / shares[name]) for name, size in sizes.items())
    assert order == mix(shares, sizes)


def test_a_mixture_is_rendered_counted_and_the_same_every_time(
    tokenizer: Any, recipe: Recipe
) -> None:
    config = recipe()
    rows, facts = build_mixture(tokenizer, read_training(config.data.train, read_examples), config)
    assert [facts[name]["used"] for name in ("one", "two", "chat")] == [50, 30, 20]
    assert [facts[name]["available"] for name in ("one", "two", "chat")] == [60, 40, 20]
    assert sum(part["rows"] for part in facts.values()) == len(rows.rows) == 100
    assert sum(part["tokens"] for part in facts.values()) == sum(map(len, rows.rows))
    again, _ = build_mixture(tokenizer, read_training(config.data.train, read_examples), config)
    assert content_hash(again.rows) == content_hash(rows.rows)
    alone = build_rows(
        tokenizer, read_training(config.data.train, read_examples)["one"][:50], config
    )
    assert set(alone.rows) < set(rows.rows)
    # mixed from the front on, not one source after the other
    assert not set(rows.rows[:50]) <= set(alone.rows)


def test_the_plan_of_a_mixture_is_what_the_training_has(
    tokenizer: Any, recipe: Recipe, tiny_model: Path, tmp_path: Path
) -> None:
    """Rows, what is dropped of them, steps and tokens: exactly, since nothing is sampled."""
    longest = sorted(map(len, prepare(recipe(), RUN, tokenizer).train))
    given = {"epochs": 1, "global_batch": 8, "micro_batch": 4, "precision": "float32"}
    config = recipe(
        *(f"train.{key}={value}" for key, value in given.items()),
        f"train.max_length={longest[-4] - 1}",
        f"model.path={tiny_model}",
        f"run={tmp_path / 'run'}",
        cls=SftCommand,
    )
    amount = amount_of(config)
    run, prepared = Run.of(config), prepare(config, RUN, tokenizer)
    rows = prepared.train
    dropped = sum(prepared.facts["dropped"].values())
    assert (amount.rows, amount.dropped) == (len(rows), dropped)
    assert amount.dropped >= 4 and amount.sampled == len(longest) == 100
    assert amount.supervised == pytest.approx(sum(len(row.target) for row in rows) / len(rows))
    facts = stage.run_steps(build_trainer(config, run, tokenizer, prepared), config, run)
    assert facts["tokens"] == round(amount.tokens * amount.rows)
    assert plan.steps_line(config, amount).startswith(f"{facts['steps']} of 8 rows, ")


def test_loss_is_on_the_last_answer_alone(tokenizer: Any) -> None:
    row = render_chat(tokenizer, Chat.of({"messages": TURNS}))
    supervised = [label for label in row.labels if label != IGNORED]
    assert tokenizer.decode(supervised) == "Three.<|im_end|>"
    assert list(row.prompt) == prompt_ids(tokenizer, TURNS[:-1], False)
    assert "Two." in tokenizer.decode(row.prompt)
    check_row(tokenizer, row, "Three.")


def test_only_an_answer_that_thinks_is_prompted_to_think(tokenizer: Any) -> None:
    """Else ordinary data would teach to skip the thinking that the tables are trained with."""
    turns = [TURNS[1], {"role": "assistant", "content": "<think>\n1 + 1\n</think>\n\nTwo."}]
    row = render_chat(tokenizer, Chat.of({"messages": turns}))
    assert tokenizer.decode(row.prompt).endswith("<|im_start|>assistant\n")
    assert tokenizer.decode(row.target).startswith("<think>\n1 + 1\n</think>")
    plain = render_chat(tokenizer, Chat.of({"messages": TURNS[1:3]}))
    assert tokenizer.decode(plain.prompt).endswith("<think>\n\n</think>\n\n")


def test_a_part_of_which_nothing_is_left_is_named(tokenizer: Any, recipe: Recipe) -> None:
    config = recipe("train.max_length=100")
    with pytest.raises(
        TablemendError, match=r"^data\.train\.one: no .* fits 100 .* set model\.con"
    ):
        build_mixture(tokenizer, read_training(config.data.train, read_examples), config)


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        ("data.train.one.share=0.6", "data.train: the shares sum to 1.1, not to 1"),
        ("data.train.one.share=0", "data.train.one.share: input should be greater than 0"),
        ("data.train.one.n=null", "data.train.one.n: a generated source needs the number"),
        ("data.train.one.sed=2", "data.train.one.sed: unknown key; did you mean seed?"),
        ("data.train.two.seed=3", "data.test: the same examples as data.train"),
        ("data.train.one.content=messages", "data.train.one.content: small-world generates"),
        ("data.train.chat.content=mesages", "data.train.chat.content: input should be 'examples'"),
        ("data.train.source=small-world", "data.train.one: unknown key; data.train has source"),
        ("thinking=empty", "evaluation.systems.sft.thinking: the model is trained with"),
    ],
)
def test_a_mixture_that_makes_no_sense_is_refused_at_its_place(
    recipe: Recipe, token: str, problem: str
) -> None:
    found = problems(lambda: recipe(token))
    assert any(one.startswith(problem) for one in found), found


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"text": "a"}, "needs a list `messages`"),
        ({"messages": TURNS[:1]}, "at least two turns"),
        ({"messages": [*TURNS, TURNS[-1]]}, "must be the assistant's"),
        ({"messages": [{**TURNS[1], "role": "human"}, TURNS[-1]]}, "turn 1: the role is one of"),
        ({"messages": [TURNS[1], {**TURNS[-1], "content": " "}]}, "turn 2: content must be"),
        ({"messages": [{**TURNS[1], "tool_calls": []}, TURNS[-1]]}, "no place for tool_calls"),
        ({"messages": ["a", "b"]}, "turn 1 is no mapping"),
        (["a"], "is no chat"),
    ],
)
def test_records_that_are_no_chat_are_refused_by_number(
    record: Any, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"messages": TURNS}) + "\n" + json.dumps(record) + "\n")
    part = Part(source=str(path), content="messages", share=1)
    with pytest.raises(TablemendError) as caught:
        read_chats(part)
    assert f"{path}: record 2 is no chat (" in str(caught.value) and problem in str(caught.value)


def test_targets_longer_than_answers_may_be_are_warned_of(tokenizer: Any) -> None:
    tokens = ["recipe=tiny", "data.train.n=5", "data.test.n=5", "data.validation.n=5"]
    with pytest.warns(UserWarning, match=r"evaluation\.max_new_tokens is 16: answers like it"):
        prepare(parse(Experiment, [*tokens, "evaluation.max_new_tokens=16"]), RUN, tokenizer)
