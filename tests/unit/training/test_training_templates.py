"""Rows under the chat templates of other families, as TRL ships them: ends, masks and prompts.

Mistral's and Phi-4's templates are not among them.
"""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from tablemend.config import parse
from tablemend.datasets.tablehallu import small_world
from tablemend.recipe.experiment import Experiment, Model
from tablemend.renderer import prompt_ids
from tablemend.tasks import tablehallu
from tablemend.training import checkpoints
from tablemend.training.data import build_rows, check_end_of_turn, check_row

ENDS = {
    "gemma3": "<end_of_turn>",
    "llama3_1": "<|eot_id|>",
    "phi3": "<|end|>",
    "qwen2_5": "<|im_end|>",
    "qwen3": "<|im_end|>",
}
EXAMPLES = list(small_world.examples(seed=1, n=6))


@pytest.fixture(scope="module", params=ENDS)
def family(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def tokenizer(family: str, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The random model's, with the family's template and end of turn, loaded for training."""
    folder = shutil.copytree(tiny_model, tmp_path_factory.mktemp("templates") / family)
    plain = AutoTokenizer.from_pretrained(folder)
    plain.add_special_tokens({"bos_token": "<bos>", "additional_special_tokens": [ENDS[family]]})
    template = files("trl") / "chat_templates" / f"{family}.jinja"
    plain.chat_template = template.read_text("utf-8")
    plain.save_pretrained(folder)
    return checkpoints.load_tokenizer(
        Model(path=str(folder), context_length=1024, end_of_turn=ENDS[family])
    )


@pytest.mark.parametrize("thinking", ["off", "empty", "quote", "quote-then-sort", "list"])
def test_the_loss_is_on_the_answer_and_its_end_of_turn_alone(
    thinking: str, family: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    config = parse(
        Experiment,
        ["recipe=tiny", f"thinking={thinking}", f"evaluation.systems.sft.thinking={thinking}"],
    )
    system = config.evaluation.systems["sft"]
    check_end_of_turn(tokenizer)
    built = build_rows(tokenizer, EXAMPLES, config)
    assert not built.dropped
    targets = [tablehallu.target(each, "adversarial", config.thinking) for each in EXAMPLES]
    for example, row, target in zip(EXAMPLES, built.rows, targets, strict=True):
        chat = tablehallu.messages(example, "adversarial", system.prompt, config.format_of(system))
        check_row(tokenizer, row, target)
        prompt = prompt_ids(tokenizer, chat, config.thinking_of(system) != "off")
        assert row.input_ids[: len(prompt)] == prompt
        supervised = [label for label in row.labels if label != -100]
        assert row.labels == [-100] * len(prompt) + supervised
        assert tokenizer.decode(supervised) == target + ENDS[family]
        # as the template itself writes the whole chat
        answered = [*chat, {"role": "assistant", "content": target}]
        whole = tokenizer.apply_chat_template(answered, tokenize=False)
        assert whole.startswith(tokenizer.decode(row.input_ids))
