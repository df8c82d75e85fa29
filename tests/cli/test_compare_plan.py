"""What --check says of a comparison: what it asks, what is missing, what is not possible."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import estimate_prompt
from tablemend.backends.loading import load_tokenizer
from tablemend.backends.requests import Request, Sampling
from tablemend.config import parse
from tablemend.evaluation import systems
from tablemend.evaluation.command import CompareCommand
from tablemend.renderer import prompt_ids
from tablemend.tasks.tablehallu import small_world
from tests.support.answering import AnsweringServer, compare, evaluation, right_answer
from tests.support.scripts import ROOT, run_script

N = 4
EXAMPLES = list(small_world.examples(3, N))
TEST = {"n": N, "seed": 3}
NOWHERE = "openai:tester@http://127.0.0.1:9/v1"
PRICES = {"price_in": 100.0, "price_out": 1000.0}
PAPERS = {"tablehallu": 1, "tabfaith": 3, "faith": 3, "torr": 2}
"""And a table of each that asks a model."""
ALL_IN_TEST = ("shares.train=0", "shares.validation=0", "shares.test=1")
MAKES = {
    "tabfaith": ("sizes={general: 4}", *ALL_IN_TEST),
    "faith": ("n=8", "workers=1", *ALL_IN_TEST),
    "torr": ("sets=[lookup]", "train=8"),
    "logic": ("n=40", *ALL_IN_TEST),
}
Check = Callable[..., tuple[int, dict[str, list[str]], str]]


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    def reply(body: dict[str, Any]) -> Any:
        return 400 if "structured_outputs" in body else right_answer(body, EXAMPLES)

    with AnsweringServer(reply) as started:
        yield started


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Status of --check, the cells of its plan by system, and what is on stderr."""

    def run(tokens: list[str], script: str = "compare") -> tuple[int, dict[str, list[str]], str]:
        capsys.readouterr()
        status = run_script(f"eval/{script}.py", [*tokens, "--check"], monkeypatch)
        said = capsys.readouterr()
        rows = [re.split(r" *\| *", one)[1:-1] for one in said.out.splitlines() if "| " in one]
        return status, {name: cells for name, *cells in rows}, said.err

    return run


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """The setting that names a small set for a paper's recipe."""

    def make(paper: str) -> list[str]:
        if paper == "tablehallu":
            return [
                f"data.test={{source: small-world, n: {N}, seed: 3}}",
                "evaluation.similarity=lexical",
            ]
        out = tmp_path / paper
        assert run_script(f"data_gen/{paper}.py", [*MAKES[paper], f"out={out}"], monkeypatch) == 0
        return [f"data.test.source={out}"]

    return make


RECIPES = sorted(path.stem for path in (ROOT / "recipes").glob("*-eval.yaml"))


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_that_evaluates_takes_a_server(
    recipe: str, tmp_path: Path, server: AnsweringServer, check: Check, data: Any
) -> None:
    paper = recipe.removesuffix("-eval")
    given = [f"model.path={server.model}", *data(paper), f"run={tmp_path / 'run'}"]
    given.append(f"evaluation.options.cache={tmp_path / 'cache'}")
    status, rows, said = check([f"recipe={recipe}", *given])
    assert (status, said) == (0, "")
    assert rows["base"][1].startswith("~") and not (tmp_path / "run").exists()
    no = {name for name, cells in rows.items() if "not possible here: " in cells[-1]}
    assert no == {"tabfaith": {"sft", "sft+cave"}, "tablehallu": {"constrained"}}.get(paper, set())
    assert len(server.bodies) == ("constrained" in no)
    if paper in PAPERS:
        tokens = [f"paper={paper}", f"table={PAPERS[paper]}", *given]
        status, _, said = check(tokens, "reproduce")
        assert (status, said) == (0, "")


def test_the_plan_counts_what_is_left_to_ask(
    tmp_path: Path, server: AnsweringServer, tiny_model: Path, check: Check
) -> None:
    """By the model's own tokenizer where it is here; at the prices; hours of stored seconds."""
    failing = EXAMPLES[1].query

    def reply(body: dict[str, Any]) -> Any:
        return 422 if failing in str(body) else right_answer(body, EXAMPLES)

    server.reply = reply
    local = {"model": f"hf:{tiny_model}", "prompt": "cot"}
    systems = {"base": {}, "here": local, "mend": {"after": "base", "mitigation": "repair"}}
    tokens = evaluation(tmp_path, server.model, systems, TEST, options=PRICES)
    compare([*tokens, "evaluation.systems.here=null"])
    status, rows, _ = check(tokens)
    task = parse(CompareCommand, tokens).task_of()
    chats = [task.messages(one, "adversarial", "cot") for one in EXAMPLES]
    tokenizer = load_tokenizer(Checkpoint(str(tiny_model)))
    counted = sum(len(prompt_ids(tokenizer, chat, False)) for chat in chats)
    left = task.messages(EXAMPLES[1], "adversarial", "base")
    estimated = estimate_prompt(Request("one", left, Sampling(1)))
    assert status == 0
    assert rows["here"][:2] == [f"{N} of {N}", f"{counted:,}"] and rows["here"][4] == ""
    assert rows["base"][:2] == [f"1 of {N}", f"~{estimated:,}"] and rows["base"][4] == "0.00"
    low, high = map(float, rows["base"][3].split(" to "))
    assert high == pytest.approx((estimated * 100 + 500 * 1000) / 1e6, abs=0.01) and low < high
    assert rows["mend"] == ["", "", "", "", "", "edits the answers of base"]


def _without(package: str) -> Callable[[str], Any]:
    find = importlib.util.find_spec
    return lambda name: None if name == package else find(name)


MISSING = [
    ("openai", "openai is not installed: pip install -e '.[api]' -c constraints.txt"),
    ("data.test={source: nowhere, split: test}", "nowhere: "),
    (f"model.path={NOWHERE}", "no server answers at http://127.0.0.1:9/v1: start it"),
    ("model.path=openai:m@https://localhost/v1", "https://localhost/v1 needs a key"),
    ("model.path=runs/nowhere/model", "no checkpoint folder runs/nowhere/model"),
    ("evaluation.similarity=all-mpnet-base-v2", "sentence_transformers is not installed"),
]


@pytest.mark.parametrize(
    ("script", "change", "said"),
    [
        *((script, *one) for script in ("compare", "reproduce") for one in MISSING),
        # no table of a paper needs a grammar
        ("compare", "llguidance", "llguidance is not installed: pip install -e '.[constrained]'"),
    ],
)
def test_what_is_missing_is_one_line(
    script: str,
    change: str,
    said: str,
    tmp_path: Path,
    server: AnsweringServer,
    tiny_model: Path,
    check: Check,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    held = {"model": f"hf:{tiny_model}", "mitigation": "header", "thinking": "off"}
    tokens = evaluation(tmp_path, server.model, {"base": {}, "held": held}, TEST)
    if script == "reproduce":
        tokens += ["paper=tablehallu", "table=1"]
    lacks = {one for one in ("openai", "llguidance") if one == change}
    lacks |= {"sentence_transformers"} if "similarity" in change else set()
    for package in lacks:
        monkeypatch.setattr(systems, "find_spec", _without(package))
    status, _, error = check([*tokens, *([] if change in lacks else [change])], script)
    (line,) = error.splitlines()
    said = said.replace("nowhere: ", "no file or folder nowhere: " if script == "compare" else said)
    assert status == 2 and said in line
    assert server.bodies == []


def test_all_that_is_missing_is_said_together(tmp_path: Path, check: Check) -> None:
    tokens = evaluation(tmp_path, NOWHERE, {"base": {}}, TEST)
    status, rows, error = check([*tokens, "data.test={source: nowhere, split: test}"])
    assert status == 2 and rows == {}
    first, *lines = error.splitlines()
    assert first == "error: 2 things are missing:" and len(lines) == 2


@pytest.mark.parametrize("how", ["refuses", "unreachable"])
def test_a_rewriter_that_cannot_be_asked_ends_nothing_that_was_paid_for(
    how: str, tmp_path: Path, server: AnsweringServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that no server answers for is found first; one that refuses is not possible here."""
    server.reply = lambda body: right_answer(body, EXAMPLES).translate(
        str.maketrans("2345", "5432")
    )
    with AnsweringServer(lambda body: 404) as other:
        cave = {"after": "base", "mitigation": "cave"}
        cave["model"] = NOWHERE if how == "unreachable" else other.model
        tokens = evaluation(tmp_path, server.model, {"base": {}, "cave": cave}, TEST)
        status = run_script("eval/compare.py", tokens, monkeypatch)
        if how == "unreachable":
            assert status == 2 and server.bodies == []
            return
        results = compare([*tokens, "rescore=true"])
    assert status == 0 and list(results["systems"]) == ["base"]
    assert "status 404" in results["not_possible"]["cave"]


def test_a_hosted_model_is_compared_by_a_recipe_that_trains(
    tmp_path: Path, server: AnsweringServer
) -> None:
    test = f"data.test={{source: small-world, n: {N}, seed: 3}}"
    given = ["recipe=tiny", f"model.path={server.model}", f"run={tmp_path / 'run'}", test]
    given += ["evaluation.systems.constrained=null", "evaluation.options.cache=null"]
    results = compare(given)
    assert set(results["not_possible"]) == {"sft", "sft+repair"}
    assert results["systems"]["base"]["adversarial"]["total_hallu"]["rate"] == 0
