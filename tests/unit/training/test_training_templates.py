"""Rows under every chat template that TRL ships: prompt and target as the template writes them.

Mistral's and Phi-4's templates are not among them.
"""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment, Model
from tablemend.renderer import ANSWER, DAY, PROBE, prompt_ids, whole_chat
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.thinking import behind_thinking, continued, opened_thought
from tablemend.training import checkpoints
from tablemend.training.data import build_rows, check_drawing_template, check_end_of_turn, check_row

TEMPLATES = {
    path.name.removesuffix(".jinja"): path.read_text("utf-8")
    for path in (files("trl") / "chat_templates").iterdir()
    if path.name.endswith(".jinja")
}
EXAMPLES = list(small_world.examples(seed=1, n=3))
BAR = "[|\uff5c]"
MARK = re.compile(rf"<{BAR}[^|\uff5c>\s]+{BAR}>|<[a-z]+_of_[a-z]+>|<\|?turn\|?>|<\|?channel\|?>")
NO_TEXT = {"llava_next", "llava_next_training"}
"""Their templates take parts in place of a text."""
NO_ANSWER = {"idefics3", "idefics3_training", "smolvlm", "smolvlm_training", "glm4moe"}
"""Their templates leave out an answer that is a text, or write no end of turn."""
THOUGHTS_REFUSED = {
    *("deepseek_r1_distill", "deepseekv3", "deepseekv3_training"),  # dropped from an answer
    *("glm4moe_training", "gptoss", "gptoss_training"),  # written in another way
    *("muse_glimmer", "muse_glimmer_training", "qwen3_8", "qwen3_8_training"),
}
ALWAYS_OPEN = {name for name in TEMPLATES if name.startswith("deepseek")}
"""They open a thought before every answer."""


def tokenizer_of(name: str, base: Path, folder: Path, end: str | None = None) -> Any:
    """The random model's tokenizer with a template and its marks, loaded for training."""
    folder = shutil.copytree(base, folder / name)
    plain = AutoTokenizer.from_pretrained(folder)
    marks = sorted({*MARK.findall(TEMPLATES[name]), "<|im_end|>"})
    plain.add_special_tokens({"bos_token": "<bos>", "additional_special_tokens": marks})
    plain.chat_template = TEMPLATES[name]
    plain.save_pretrained(folder)
    behind = whole_chat(plain, PROBE, ANSWER, None).rpartition(ANSWER)[2]
    end = end or next((mark for mark in marks if behind.startswith(mark)), "<|im_end|>")
    return checkpoints.load_tokenizer(Model(path=str(folder), context_length=2048, end_of_turn=end))


def recipe(thinking: str) -> Experiment:
    ways = [f"thinking={thinking}", f"evaluation.systems.sft.thinking={thinking}"]
    return parse(Experiment, ["recipe=tiny", "model.context_length=2048", *ways])


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - NO_TEXT - NO_ANSWER))
def test_prompt_and_target_are_what_the_template_itself_writes(
    name: str, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    tokenizer = tokenizer_of(name, tiny_model, tmp_path)
    check_end_of_turn(tokenizer)
    end = tokenizer.eos_token
    for thinking in ("off", "empty", "quote", "quote-then-sort", "list"):
        config, thinks = recipe(thinking), thinking != "off"
        if name in (THOUGHTS_REFUSED if thinks else ALWAYS_OPEN):
            with pytest.raises(TablemendError, match="does not write an answer") as error:
                build_rows(tokenizer, EXAMPLES, config)
            assert "\n" not in str(error.value)
            continue
        built = build_rows(tokenizer, EXAMPLES, config)
        assert not built.dropped
        system = config.evaluation.systems["sft"]
        for example, row in zip(EXAMPLES, built.rows, strict=True):
            chat = prompts.messages(example, "adversarial", system.prompt, config.format_of(system))
            target = prompts.target(example, "adversarial", thinking)
            check_row(tokenizer, row, target)
            prompt = prompt_ids(tokenizer, chat, thinks)
            assert row.labels == [-100] * len(prompt) + list(row.target)
            assert row.input_ids[: len(prompt)] == prompt
            whole = whole_chat(tokenizer, chat, target, thinks)
            assert whole.startswith(tokenizer.decode(row.input_ids))
            # what is generated behind the prompt is read as the target was written
            opened = opened_thought(tokenizer, row.prompt)
            written = tokenizer.decode(row.target).removesuffix(end)
            assert opened + written == target
            assert behind_thinking(opened + written) == behind_thinking(target)


@pytest.mark.parametrize("name", sorted(NO_TEXT))
def test_a_template_that_takes_no_text_is_one_line(
    name: str, tiny_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(TablemendError, match="takes no chat of text with the turns user"):
        tokenizer_of(name, tiny_model, tmp_path)


@pytest.mark.parametrize(
    ("name", "end"),
    [("phi3_5", "</s>"), ("glm4moe", "<|user|>"), ("gemma3", "<eos>"), ("smolvlm", "<|im_end|>")],
)
def test_an_end_that_does_not_follow_the_answer_is_refused(
    name: str, end: str, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Phi-3.5 writes its eos behind all turns, and <|end|> behind each."""
    monkeypatch.setitem(TEMPLATES, name, TEMPLATES[name].replace("eos_token", f"'{end}'"))
    base = shutil.copytree(tiny_model, tmp_path / "base")
    plain = AutoTokenizer.from_pretrained(base)
    plain.add_special_tokens({"additional_special_tokens": [end]})
    plain.save_pretrained(base)
    tokenizer = tokenizer_of(name, base, tmp_path, end)
    with pytest.raises(TablemendError, match="does not end the assistant's turn"):
        check_end_of_turn(tokenizer)


@pytest.mark.parametrize("name", ["deepseekv3", "qwen3_8", "gptoss"])
def test_thoughts_that_a_model_draws_need_no_template_that_keeps_them(
    name: str, tiny_model: Path, tmp_path: Path
) -> None:
    tokenizer = tokenizer_of(name, tiny_model, tmp_path)
    check_drawing_template(tokenizer, True)
    if name in ALWAYS_OPEN:
        with pytest.raises(TablemendError, match="opens none"):
            check_drawing_template(tokenizer, False)
    else:
        check_drawing_template(tokenizer, False)


def test_a_template_that_names_today_gives_the_same_prompt_on_any_day(
    tiny_model: Path, tmp_path: Path
) -> None:
    tokenizer = tokenizer_of("gptoss", tiny_model, tmp_path)
    ids = prompt_ids(tokenizer, PROBE, True)
    assert f"Current date: {DAY.isoformat()}" in tokenizer.decode(ids)


@pytest.mark.parametrize(
    ("opened", "answer", "rest"),
    [
        ("", "<think>\na</think>b", "<think>\na</think>b"),
        ("<think>\n", "<think>\na</think>b", "a</think>b"),
        ("<think>\n", "<think>a</think>b", "a</think>b"),
        ("<think>", "<think>\n\n</think>b", "\n\n</think>b"),
        ("<think>\n", "b", "b"),
    ],
)
def test_an_answer_goes_on_where_the_prompt_opens_its_thought(
    opened: str, answer: str, rest: str
) -> None:
    assert continued(opened, answer) == rest
