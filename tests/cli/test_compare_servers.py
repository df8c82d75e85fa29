"""The comparison with models behind servers: what is sent, stored, asked again and scored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tablemend.errors import TablemendError
from tablemend.evaluation import generating
from tablemend.reports.report import terminal_table, write_markdown, write_reports
from tablemend.runs import Store, sole_writer
from tablemend.tasks.tablehallu import small_world
from tests.support.answering import AnsweringServer, asked, compare, evaluation, right_answer
from tests.support.results import examples_in
from tests.support.scripts import ROOT, run_script

N = 5
EXAMPLES = list(small_world.examples(3, N))
MANY = list(small_world.examples(3, 60))
KEY = "sk-this-key-must-never-be-written"


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(lambda body: right_answer(body, MANY)) as started:
        yield started


@pytest.fixture
def recipe(tmp_path: Path, server: AnsweringServer) -> Callable[..., list[str]]:
    """Tokens of an evaluation with the given systems, asked of the server."""

    def make(systems: dict[str, dict[str, Any]], *overrides: str) -> list[str]:
        test, options = {"n": N, "seed": 3}, {"concurrency": 4}
        tokens = evaluation(tmp_path, server.model, systems, test, options=options)
        return [*tokens, *overrides]

    return make


def lines(folder: Path, system: str, context: str = "adversarial") -> list[dict[str, Any]]:
    path = folder / "run" / "generations" / f"{system}.{context}.jsonl"
    return list(Store(path, "example_id").values())


def test_each_system_is_asked_and_scored_in_its_own_format(recipe, tmp_path: Path, server) -> None:
    systems = {"md": {}, "js": {"format": "json"}, "tex": {"format": "latex"}}
    results = compare(recipe(systems))
    for name in systems:
        rates = results["systems"][name]["adversarial"]
        assert (rates["total_hallu"]["rate"], rates["total_hallu"]["n"]) == (0.0, N)
        assert rates["cell_recall"]["rate"] == 1.0
    first = {name: lines(tmp_path, name)[0]["text"] for name in systems}
    assert "|" in first["md"] and '{"' in first["js"] and "tabular" in first["tex"]
    formats = {name: settings["format"] for name, settings in results["settings"].items()}
    assert formats == {"md": "markdown", "js": "json", "tex": "latex"}
    assert "markdown (md), json (js), latex (tex)" in write_markdown(results)
    write_reports(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    for example in examples_in(page):  # each answer is read in its system's format
        assert [one["unreadable"] for one in example["answers"]] == ["", "", ""]
        assert all(one["table"]["columns"] for one in example["answers"])
    with pytest.raises(TablemendError, match="format was 'json', is 'markdown'"):
        compare(recipe({**systems, "js": {}}), "rescore=true")


def test_a_failed_request_is_unscored_and_asked_again(recipe, tmp_path, server, capsys) -> None:
    failing = {EXAMPLES[1].id, EXAMPLES[3].id}

    def reply(body):
        return 422 if asked(body, MANY)[0].id in failing else right_answer(body, MANY)

    server.reply = reply
    tokens = recipe({"base": {}})
    rates = compare(tokens)["systems"]["base"]["adversarial"]
    assert rates["unscored"]["rate"] == 2 / N
    assert (rates["total_hallu"]["rate"], rates["total_hallu"]["n"]) == (0.0, N - 2)
    said = capsys.readouterr().err
    assert "2 requests failed" in said and "the same command asks them again" in said
    stored = {line["example_id"]: line for line in lines(tmp_path, "base")}
    assert all("status 422: told to fail" in stored[one]["error"] for one in failing)
    server.bodies.clear()
    failing.remove(EXAMPLES[1].id)
    results = compare(tokens)
    assert {asked(body, MANY)[0].id for body in server.bodies} == {EXAMPLES[1].id, EXAMPLES[3].id}
    assert results["cost"]["base"]["adversarial"]["finish_reasons"] == {"error": 1, "stop": N - 1}
    assert "failed requests" in terminal_table(results)
    failing.clear()
    assert compare(tokens)["systems"]["base"]["adversarial"]["unscored"]["rate"] == 0.0
    server.bodies.clear()
    compare(tokens)
    assert server.bodies == []


def test_a_server_that_is_gone_is_not_asked_for_all(
    recipe, tmp_path, server, monkeypatch, capsys
) -> None:
    gone_after = 8

    def reply(body):
        return 503 if len(server.bodies) > gone_after else right_answer(body, MANY)

    server.reply = reply
    retries = ("evaluation.options.retries=2", "evaluation.options.concurrency=2")
    tokens = recipe({"base": {}, "cot": {"prompt": "cot"}}, "data.test.n=60", *retries)
    for stored, sent in ((28, 8 + 3 * 20), (48, 3 * 40)):  # the second stop: 20 further ones
        server.bodies.clear()
        assert run_script("eval/compare.py", tokens, monkeypatch) == 1
        shown = capsys.readouterr().err
        (line,) = [e for e in shown.splitlines() if e.startswith(("error: ", "stopped: "))]
        assert line.startswith(f"stopped: {server.model}: 20 requests in a row failed for good")
        assert "status 503: told to fail (3 tries)" in line and "Traceback" not in shown
        kept = {
            (one["system"], one["example_id"])
            for a in ("base", "cot")
            for one in lines(tmp_path, a)
        }
        assert len(kept) == stored
        assert len(server.bodies) <= sent + 3 * 4 * 2  # and what was in flight or just sent
        gone_after = 0
    assert not (tmp_path / "run" / "results.json").exists()
    gone_after = 1000
    server.bodies.clear()
    assert run_script("eval/compare.py", tokens, monkeypatch) == 0
    assert len(server.bodies) == 2 * 60 - 8
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    for system in ("base", "cot"):
        rates = results["systems"][system]["adversarial"]
        assert (rates["unscored"]["rate"], rates["cell_recall"]["rate"]) == (0.0, 1.0)


def test_a_cap_counts_the_whole_run_and_a_higher_one_goes_on(
    recipe, tmp_path, server, monkeypatch, capsys
) -> None:
    tokens = recipe({"base": {}}, "data.test.n=20", "evaluation.options.concurrency=1")

    def run(cap: int) -> tuple[int, str]:  # 150 tokens a request, by the server's count
        given = [*tokens, f"evaluation.options.max_tokens_total={cap}"]
        return run_script("eval/compare.py", given, monkeypatch), capsys.readouterr().err

    asked_for = []
    for cap in (1200, 1200, 2400):
        status, shown = run(cap)
        errors = [e for e in shown.splitlines() if e.startswith(("error: ", "stopped: "))]
        assert status == 1 and len(errors) == 1 and f"max_tokens_total={cap}" in errors[0]
        assert "higher cap goes on" in errors[0] and "Traceback" not in shown
        asked_for.append(len(server.bodies))
    assert asked_for == [8, 8, 16]
    assert run(3000)[0] == 0
    stored = [line["example_id"] for line in lines(tmp_path, "base")]
    assert len(stored) == len(set(stored)) == len(server.bodies) == 20
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    spent = manifest["generate"]["spent"][server.model]
    assert (spent["requests"], spent["completion_tokens"]) == (20, 1000)


def test_what_was_spent_before_a_kill_is_noted(recipe, tmp_path, server, monkeypatch) -> None:
    monkeypatch.setattr("tablemend.evaluation.generating.NOTED_AFTER", 4)
    killed = iter(range(1000))

    def record(self, run, own=generating._Queue.record):
        if next(killed) == 2:  # the third time, and whatever comes after it
            raise SystemExit(137)
        own(self, run)

    with monkeypatch.context() as patch:
        patch.setattr(generating._Queue, "record", record)
        with pytest.raises(SystemExit):
            compare(recipe({"base": {}}, "data.test.n=20", "evaluation.options.concurrency=1"))
    noted = json.loads((tmp_path / "run" / "manifest.json").read_text())["generate"]["spent"]
    assert noted[server.model]["requests"] >= 8


def test_a_cut_answer_is_scored_by_rule_and_counted(recipe, server) -> None:
    halves = {EXAMPLES[0].id, EXAMPLES[1].id}

    def reply(body):
        text = right_answer(body, MANY)
        one = asked(body, MANY)[0].id
        if one == EXAMPLES[2].id:  # cut behind a whole table
            return {"finish_reason": "length", "message": {"content": text + "\n\nNote that"}}
        if one in halves:  # cut in the thinking
            return {"finish_reason": "length", "message": {"content": "<think>\nLet me"}}
        return text

    server.reply = reply
    tokens = recipe({"base": {}})
    results = compare(tokens)
    rates = results["systems"]["base"]["adversarial"]
    assert rates["format_error"]["rate"] == rates["total_hallu"]["rate"] == 3 / N
    assert rates["cell_recall"]["rate"] < 1.0
    assert rates["unscored"]["rate"] == rates["abstention"]["rate"] == 0.0
    assert "cut at the token limit" in terminal_table(results)
    rates = compare(tokens, "rescore=true", "evaluation.cut=unscored")["systems"]["base"][
        "adversarial"
    ]
    assert (rates["format_error"]["rate"], rates["format_error"]["n"]) == (0.0, N - 3)
    assert rates["unscored"]["rate"] == 3 / N


def test_prices_and_spending_are_reported_and_no_key_is_written(
    recipe, tmp_path, server, monkeypatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OTHER_KEY", KEY + "-other")
    own = {"cache": None, "key_variable": "OTHER_KEY", "price_in": 1, "price_out": 4}
    tokens = recipe({"base": {}, "dear": {"options": own}})
    results = compare(tokens)
    assert "price" not in results["cost"]["base"]["adversarial"]
    dear = results["cost"]["dear"]["adversarial"]
    assert dear["price"] == pytest.approx(N * (100 * 1 + 50 * 4) / 1e6)
    assert "price" in write_markdown(results)
    sent = {headers.get("authorization") for headers in server.headers}
    assert sent == {f"Bearer {KEY}", f"Bearer {KEY}-other"}
    write_reports(tmp_path / "run")
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(written) > 6
    assert not [path for path in written if KEY in path.read_text(encoding="utf-8")]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["compare"]["asked"]["dear"]["options"]["price_out"] == 4
    assert manifest["generate"]["spent"][server.model]["requests"] == 2 * N


def test_systems_may_be_added_and_other_examples_are_refused(recipe, tmp_path, server) -> None:
    compare(recipe({"base": {}}))
    server.bodies.clear()
    systems = {"base": {}, "cot": {"prompt": "cot"}}
    assert set(compare(recipe(systems))["systems"]) == {"base", "cot"}
    assert len(server.bodies) == N
    before = (tmp_path / "run" / "compare.yaml").read_text()
    for change in ("data.test.seed=4", "data.test.n=6", "evaluation.n=2"):
        with pytest.raises(TablemendError, match=r"started with other settings.*run=NAME"):
            compare(recipe(systems, change))
    assert (tmp_path / "run" / "compare.yaml").read_text() == before
    assert len(server.bodies) == N
    compare(recipe(systems, "evaluation.n=2", f"run={tmp_path / 'other'}"))


def test_a_second_process_on_one_run_is_refused(recipe, tmp_path, monkeypatch, capsys) -> None:
    with sole_writer(tmp_path / "run"):
        assert run_script("eval/compare.py", recipe({"base": {}}), monkeypatch) == 2
    shown = capsys.readouterr().err
    assert f"another process ({os.getpid()}) is writing into {tmp_path / 'run'}" in shown


def test_a_kill_loses_only_what_is_in_flight(recipe, tmp_path, server) -> None:
    server.latency = 0.02
    tokens = recipe({"base": {}, "cot": {"prompt": "cot"}}, "data.test.n=60")
    command = [sys.executable, str(ROOT / "eval" / "compare.py"), *tokens]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while len(server.bodies) < 40 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = [line["example_id"] for system in ("base", "cot") for line in lines(tmp_path, system)]
    in_flight = len(server.bodies) - len(kept)
    assert 20 < len(kept) < 120
    assert in_flight <= 2 * 4  # twice the concurrency: those sent, and answers just handed over
    results = compare(tokens)
    assert len(server.bodies) == 120 + in_flight
    for system in ("base", "cot"):
        stored = [line["example_id"] for line in lines(tmp_path, system)]
        assert sorted(stored) == sorted(example.id for example in MANY)
        assert results["systems"][system]["adversarial"]["total_hallu"]["rate"] == 0.0
