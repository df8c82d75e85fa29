"""Our tasks in lm-evaluation-harness: prompts and rates of given answers; what it cannot ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tablemend.harnesses
from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.harnesses.benchmark import Benchmark
from tablemend.reports.tabulation import summarise
from tablemend.tasks.faith.data import FaithSet, make_dataset

pytest.importorskip("lm_eval", reason="needs the extra lm-eval")

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

FOLDER = Path(tablemend.harnesses.__file__).parent / "lm_eval_tasks"
GIVEN: dict[str, Any] = {"source": "small-world", "n": 6, "view": "adversarial"}


class Given(LM):  # type: ignore[misc]
    """Answers with what is given, and keeps what it is asked."""

    tokenizer_name = "given"

    def __init__(self, answers: Sequence[str]) -> None:
        super().__init__()
        self.answers, self.asked = answers, list[str]()

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        self.asked = [request.args[0] for request in requests]
        return list(self.answers)

    def apply_chat_template(self, chat: list[dict[str, str]], **_: Any) -> str:
        return "".join(f"<{turn['role']}>{turn['content']}" for turn in chat)

    def loglikelihood(self, requests: Any) -> Any:
        raise AssertionError

    loglikelihood_rolling = loglikelihood


def manager(**given: Any) -> TaskManager:
    return TaskManager(include_path=str(FOLDER), metadata={"tablemend": given} if given else {})


def test_prompts_and_rates_are_ours() -> None:
    own = Benchmark({"task": "table_generation", **GIVEN})
    answers = [own.target(sample) for sample in own.samples]
    answers[1:3] = answers[0], ""
    model, name = Given(answers), "tablemend_table_generation"
    found = simple_evaluate(
        model, tasks=[name], task_manager=manager(**GIVEN), apply_chat_template=True
    )
    shown = [model.apply_chat_template(list(map(dict, own.messages(one)))) for one in own.samples]
    assert model.asked == shown
    judged = [own.judge(one, text) for one, text in zip(own.samples, answers, strict=True)]
    expected = {k: v["rate"] for k, v in summarise(judged, own.task.metrics).items() if v["n"]}
    results = found["results"][name]
    values = {key.removesuffix(",none"): value for key, value in results.items() if "," in key}
    assert {key: values[key] for key in expected} == expected
    assert 0 < expected["total_hallu"] < 1


def test_a_systems_turn_stands_before_the_users(tmp_path: Path) -> None:
    data = tmp_path / "faith"
    halves = ["shares.train=0.5", "shares.validation=0", "shares.test=0.5"]
    make_dataset(parse(FaithSet, ["n=6", f"out={data}", "workers=1", *halves]), lambda _: None)
    own = Benchmark({"task": "faith", "source": str(data), "n": 2})
    model, name = Given([own.target(sample) for sample in own.samples]), "tablemend_faith"
    tasks = manager(source=str(data), n=2)
    found = simple_evaluate(model, tasks=[name], task_manager=tasks, apply_chat_template=True)
    chats = [list(map(dict, own.messages(sample))) for sample in own.samples]
    assert [turn["role"] for turn in chats[0]] == ["system", "user"]
    assert model.asked == [model.apply_chat_template(chat) for chat in chats]
    assert found["results"][name]["total_hallu,none"] == 0.0


def test_settings_are_needed_and_turns_that_the_harness_cannot_make_are_refused() -> None:
    with pytest.raises(TablemendError, match='"source": "FOLDER"'):
        manager().load(["tablemend_table_generation"])
    with pytest.raises(TablemendError, match="several turns"):
        manager(**GIVEN, prompt="few-shot").load(["tablemend_table_generation"])
    with pytest.raises(TablemendError, match="no view"):
        manager(**{**GIVEN, "view": "x"}).load(["tablemend_table_generation"])
