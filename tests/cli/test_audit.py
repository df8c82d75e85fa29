"""``tablemend audit``: logs of all kinds in, rates and where errors concentrate out."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.audit.command import audit
from tablemend.audit.inputs import look_up, text_in
from tablemend.cli.app import main
from tests.support.chromium import Browser

TABLE = "| Team | Points | Wins |\n|---|---|---|\n| Alba | 41 | 12 |\n| Sella | 37 | 10 |"
SAID = {"o1": "Alba won 41 points.", "o2": "Sella won 39 points.", "o3": "Alba had 14 wins."}
PROMPT = f"Describe the table.\n\n{TABLE}\n"
TIME = "2026-11-01T10:00:00.000Z"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(name: str, records: list[dict[str, Any]]) -> str:
    Path(name).write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return name


def _langfuse() -> list[dict[str, Any]]:
    """Observations as its pages export them: what was said as JSON within JSON."""
    prompt = json.dumps(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PROMPT}]
    )
    steps: list[dict[str, Any]] = [
        {
            "id": name,
            "traceId": "t",
            "type": "GENERATION",
            "providedModelName": "gpt",
            "startTime": TIME,
            "input": prompt,
            "output": json.dumps({"role": "assistant", "content": text}),
        }
        for name, text in SAID.items()
    ]
    step = dict.fromkeys(steps[0], "") | {"id": "s", "type": "SPAN", "input": "x", "output": "y"}
    return [*steps, step]


def _as_langfuse_trace() -> str:
    data = {"id": "t", "metadata": {"table": TABLE}, "observations": _langfuse()}
    Path("trace.json").write_text(json.dumps(data), encoding="utf-8")
    return "trace.json"


def _as_langfuse_csv() -> str:
    with Path("log.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _langfuse()[0])
        writer.writeheader()
        writer.writerows(_langfuse())
    return "log.csv"


def _spans() -> list[dict[str, Any]]:
    return [
        {
            "context": {"span_id": name, "trace_id": "t"},
            "span_kind": "LLM",
            "start_time": TIME,
            "attributes": {
                "llm.model_name": "gpt",
                "output.value": text,
                "metadata": json.dumps({"table": TABLE}),
            },
        }
        for name, text in SAID.items()
    ]


def _as_phoenix_page() -> str:
    Path("spans.json").write_text(json.dumps({"data": _spans(), "next_cursor": None}))
    return "spans.json"


def _as_phoenix_frame() -> str:
    pandas = pytest.importorskip("pandas")
    rows = [
        {
            "context.span_id": one["context"]["span_id"],
            "start_time": pandas.Timestamp(TIME),
            **{f"attributes.{name}": value for name, value in one["attributes"].items()},
        }
        for one in _spans()
    ]
    pandas.DataFrame(rows).to_parquet("frame.parquet")
    return "frame.parquet"


def _as_openinference() -> str:
    spans = [
        {
            "spanId": name,
            "startTimeUnixNano": "1793527200000000000",
            "attributes": [
                {"key": "openinference.span.kind", "value": {"stringValue": "LLM"}},
                {"key": "llm.model_name", "value": {"stringValue": "gpt"}},
                {"key": "input.value", "value": {"stringValue": PROMPT}},
                {"key": "output.value", "value": {"stringValue": text}},
            ],
        }
        for name, text in SAID.items()
    ]
    return _write("otlp.jsonl", [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}])


def _samples() -> list[dict[str, Any]]:
    return [
        {
            "id": name,
            "epoch": 1,
            "input": "attachment://1",
            "attachments": {"1": PROMPT},
            "target": "",
            "output": {
                "model": "g",
                "choices": [{"message": {"role": "assistant", "content": text}}],
            },
        }
        for name, text in SAID.items()
    ]


HEADER = {"version": 2, "eval": {"model": "gpt", "created": TIME}}


def _as_inspect_json() -> str:
    Path("inspect.json").write_text(json.dumps({**HEADER, "samples": _samples()}))
    return "inspect.json"


def _as_inspect_eval() -> str:
    with zipfile.ZipFile("inspect.eval", "w") as log:
        log.writestr("header.json", json.dumps(HEADER))
        for one in _samples():
            log.writestr(f"samples/{one['id']}_epoch_1.json", json.dumps(one))
    return "inspect.eval"


WRITERS = [value for name, value in sorted(globals().items()) if name.startswith("_as_")]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_exports_of_tracing_tools_are_read_as_they_are(write: Callable[[], str]) -> None:
    found = audit([write()], Path("out"))
    assert found["answers"]["scored"] == 3 and found["flawed"]["count"] == 2
    assert set(found["outcomes"]) == set(SAID)
    assert found["outcomes"]["o1"][1] == [] and found["outcomes"]["o2"][1] == ["NUM"]
    assert found["by"]["model"].keys() == {"gpt"} and found["by"]["time"].keys() == {"2026-11-01"}
    assert {one["errors"][0]["column"] for one in found["examples"]} == {"Points", "Wins"}


def test_fields_are_mapped_by_name_and_refused_where_they_are_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = _write("own.jsonl", [{"r": {"say": SAID["o2"], "t.x": TABLE}}])
    assert main(["audit", name, "--fields", "answer=r.say,table=r.t.x", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "100.0 %" in said and "runs/audit-own: audit.html, audit.json" in said
    assert main(["audit", name, "--fields", "anwser=r.say"]) == 2
    assert (
        "--fields anwser=r.say: wanted NAME=PATH with a NAME of answer," in capsys.readouterr().err
    )
    assert look_up({"a": '{"b": [{"c.d": 1}]}'}, "a.b.0.c.d") == 1
    assert text_in([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]) == "y"
    assert (
        text_in({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}) == "ab"
    )


def test_tables_are_scored_by_gold_or_by_their_context() -> None:
    gold = [{"Team": "Alba", "Points": "41"}, {"Team": "Sella", "Points": "37"}]
    text = "Alba won 41 points. Sella won 37 points."
    wrong = "| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |"
    records = [{"answer": wrong, "gold": gold, "context": text}, {"answer": wrong, "context": text}]
    records += [{"answer": json.dumps(gold), "gold": gold}, {"answer": "none", "context": text}]
    found = audit([_write("tables.jsonl", records)], Path("out"))
    assert {name: own["count"] for name, own in found["by"]["kind"].items()} == {
        "detect": 1,
        "verify": 1,
    }
    assert found["unscored"].keys() == {"the answer holds no table"}
    assert (
        found["by"]["column"]["Points"]["count"] == 2
        and found["by"]["column"]["Team"]["count"] == 0
    )


def test_what_cannot_be_read_is_counted_and_named_and_the_rest_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    good = json.dumps({"answer": SAID["o2"], "table": TABLE, "model": "a"})
    lines = [good, "{no json", "", json.dumps({"answer": "x"}), json.dumps({"table": TABLE}), "3"]
    lines += [json.dumps({"answer": "x", "table": "t-17"}), good.replace('"a"', '"b"'), '{"cut": ']
    Path("log.jsonl").write_bytes("\n".join(lines).encode() + b"\xff")
    assert main(["audit", "log.jsonl", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "of 2 scored answers" in said and "By model: a 100.0 %, b 100.0 %" in said
    assert "skipped: 2 x no JSON: log.jsonl:2, log.jsonl:9" in said
    assert "skipped: 1 x no answer: log.jsonl:5" in said and "no object: log.jsonl:6" in said
    assert "nothing to score it by: no table, gold table or context: log.jsonl:4" in said
    assert "unscored: 1 x the source cannot be read: log.jsonl:7" in said


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "a.jsonl: there is nothing in it"),
        ("a.jsonl", "{no\n", "nothing could be scored: no JSON (a.jsonl:1, and 0 more)"),
        (
            "a.jsonl",
            '{"x": 1}\n',
            "no answer (a.jsonl:1, and 0 more); name the fields with --fields",
        ),
        ("a.json", "{no", "a.json cannot be read: "),
        ("a.parquet", "no", "a.parquet cannot be read: "),
        ("a.eval", "no", "a.eval cannot be read: File is not a zip file"),
        ("a.txt", "x", "a.txt: no answers can be read from it: give .jsonl"),
        ("b.jsonl", None, "cannot open b.jsonl: No such file or directory"),
    ],
)
def test_where_nothing_can_be_scored_one_line_says_why(
    name: str, content: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path(name).write_text(content, encoding="utf-8")
    assert main(["audit", name, "--workers", "1"]) == 2
    assert message in (said := capsys.readouterr().err.splitlines()[-1]) and said.startswith(
        "error"
    )


def _log(shares: dict[str, float], n: int = 20) -> list[dict[str, Any]]:
    """Answers about tables, of each the share with a wrong number."""
    return [
        {
            "id": f"{team}-{number}",
            "answer": f"{team} won {41 if number >= share * n else 40} points. {team} had 12 wins.",
            "table": [
                {"Team": team, "Points": "41", "Wins": "12"},
                {"Team": "Zed", "Points": "3", "Wins": "1"},
            ],
            "table_id": team,
        }
        for team, share in shares.items()
        for number in range(n)
    ]


TEAMS = "Alba Brea Cora Dorn Elva Fenn Gora Hald".split()


def test_where_errors_concentrate_is_said_and_chance_is_not() -> None:
    even = audit([_write("even.jsonl", _log(dict.fromkeys(TEAMS, 0.25)))], Path("even"))
    assert not [one for one in even["sentences"] if "tables" in one]
    piled = audit(
        [_write("piled.jsonl", _log(dict.fromkeys(TEAMS, 0.05) | {"Cora": 1.0}))], Path("p")
    )
    assert (
        "1 of 8 tables, with 12.5 % of the answers, have 74.1 % of the flawed"
        in piled["sentences"][0]
    )
    assert "“Cora”" in piled["sentences"][0]
    assert piled["by"]["column"]["Wins"]["count"] == 0
    assert len(piled["examples"]) == 20 and piled["examples"][0]["text"]
    # one wide interval of 8 tables, and not of 160 answers
    assert piled["flawed"]["high"] - piled["flawed"]["low"] > 0.3


def test_a_baseline_says_what_got_worse_and_exits_with_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _write("old.jsonl", _log(dict.fromkeys(TEAMS, 0.05)))
    _write("new.jsonl", _log(dict.fromkeys(TEAMS, 0.5)))
    others = [{**one, "id": f"x{one['id']}"} for one in _log(dict.fromkeys(TEAMS, 0.5))]
    _write("others.jsonl", others)
    assert main(["audit", "old.jsonl", "--workers", "1"]) == 0
    old = "runs/audit-old/audit.json"
    assert main(["audit", "old.jsonl", "--baseline", old, "--workers", "1"]) == 0
    assert "worse" not in capsys.readouterr().out
    for name, test in (("new", "paired"), ("others", "two proportions")):
        assert main(["audit", f"{name}.jsonl", "--baseline", old, "--workers", "1"]) == 3
        said = capsys.readouterr().out
        assert "worse: flawed answers: 5.0 to 50.0 %, +45.0 points" in said and test in said
    Path("bad.json").write_text("{}")
    for bad, why in (
        ("bad.json", "is no audit.json of this version"),
        ("none.json", "No such file"),
    ):
        assert main(["audit", "old.jsonl", "--baseline", bad]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.slow
def test_a_kill_in_the_middle_loses_and_doubles_nothing_and_a_grown_log_goes_on() -> None:
    records = _log(dict.fromkeys(TEAMS, 0.3), 30)
    command = [
        sys.executable,
        "-m",
        "tablemend",
        "audit",
        _write("log.jsonl", records),
        "--workers",
        "2",
    ]
    blocks = Path("runs/audit-log/blocks.jsonl")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        until = time.monotonic() + 60
        while not (blocks.exists() and blocks.stat().st_size) and time.monotonic() < until:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    kept = blocks.read_bytes().count(b"\n")
    assert 2 <= kept < 1 + len(records) / 16
    subprocess.run(command, check=True, capture_output=True)
    audit(["log.jsonl"], Path("whole"))
    for name in ("audit.json", "scores.jsonl", "audit.html"):
        assert Path("runs/audit-log", name).read_bytes() == Path("whole", name).read_bytes()
    _write("log.jsonl", records + _log({"Ivor": 1.0}, 5))
    before = Path("whole/blocks.jsonl").stat().st_size
    assert audit(["log.jsonl"], Path("whole"))["answers"]["read"] == len(records) + 5
    assert 0 < Path("whole/blocks.jsonl").stat().st_size - before < before / 4


def test_scores_go_into_parquet_and_through_fsspec(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    name = _write("log.jsonl", _log({"Alba": 0.5}, 4))
    audit([f"file://{tmp_path}/{name}"], Path("out"), scores=f"file://{tmp_path}/scores.parquet")
    rows = parquet.read_table("scores.parquet").to_pylist()
    assert [one["place"] for one in rows] == [f"log.jsonl:{n}" for n in (1, 2, 3, 4)]
    assert [bool(json.loads(one["errors"])) for one in rows] == [True, True, False, False]


def test_the_page_shows_rates_sentences_and_marked_answers(browser: Browser) -> None:
    shares = dict.fromkeys(TEAMS, 0.05) | {"Cora": 1.0}
    records = [{**one, "model": "<b>m</b>"} for one in _log(shares)]
    audit([_write("log.jsonl", records)], Path("out"))
    browser.open(Path("out/audit.html").resolve())
    text = browser.run("document.body.innerText")
    assert "1 of 8 tables" in text and "20 answers to look at" in text
    assert browser.run("document.querySelectorAll('.example mark').length") >= 20
    assert "<b>m</b>" in text and browser.run("document.querySelectorAll('.bar b').length") > 8
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
