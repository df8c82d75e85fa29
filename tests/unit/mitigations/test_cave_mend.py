"""``tablemend mend`` and its three lines of Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tablemend.cli.app import main
from tests.support.chat_server import ChatServer, refuse

TABLE = "Team,Points,City\nAlba,41,Oslo\nSella,37,Rome\nVey,12,Lima\n"
WRONG = "Alba won 41 points.\r\n\r\nSella won 39 points.\n"
RIGHT = WRONG.replace("39", "37")
CONTEXT = "Alba won 41 points in 2019. Sella won 37 points in 2019. Vey won 12 points in 2019."
ANSWER = "Here:\n\n| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |\n\nDone.\n"
QUERY = (
    "List the team and the points of all teams. The table has the columns 'Team' and 'Points'."
    " Sort it by 'Points' in descending order."
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # the request cache goes there
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "summary.txt").write_bytes(WRONG.encode())
    (tmp_path / "answer.md").write_text(ANSWER, encoding="utf-8")
    (tmp_path / "article.txt").write_text(CONTEXT, encoding="utf-8")
    return tmp_path


@pytest.fixture
def method(request: pytest.FixtureRequest, model_server: Callable[..., str]) -> list[str]:
    return ["--model", model_server()] if request.param == "cave" else []


TEXT = ["mend", "summary.txt", "table.csv"]
TABLE_ANSWER = ["mend", "answer.md", "--context", "article.txt", "--query", QUERY]


@pytest.mark.parametrize("method", ["repair", "cave"], indirect=True)
def test_a_text_is_mended_and_the_edits_listed(
    folder: Path, capsys: pytest.CaptureFixture[str], method: list[str]
) -> None:
    assert main([*TEXT, *method]) == 0
    captured = capsys.readouterr()
    assert captured.out == RIGHT
    assert "NUM: " in captured.err and "'39' -> '37'" in captured.err
    assert "STAF 1.00, 2 of 2 claims checked; 1 edit, STAF before 0.50" in captured.err
    assert ("1 calls" in captured.err) == bool(method)


@pytest.mark.parametrize("method", ["repair", "cave"], indirect=True)
def test_an_answer_table_is_mended_in_its_answer(
    folder: Path, capsys: pytest.CaptureFixture[str], method: list[str]
) -> None:
    assert main([*TABLE_ANSWER, *method, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"].startswith("Here:\n\n|") and found["text"].endswith("|\n\nDone.\n")
    assert "41" in found["text"] and "39" not in found["text"]
    (edit,) = found["edits"]
    assert (edit["row"], edit["column"], edit["old"]) == (1, "Points", "39") and edit["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*TEXT, "--method", "cave"], "cave needs a model to rewrite with"),
        ([*TEXT, "--method", "repair", "--model", "hf:a/b"], "repair asks no model"),
        ([*TEXT, "--thinking", "on"], "leave --thinking out"),
        ([*TABLE_ANSWER, "--verifier", "nli"], "leave --verifier out"),
        ([*TABLE_ANSWER, "--extractor", "llm:hf:a/b"], "leave --extractor out"),
        ([*TEXT, "--model", "openai:x@y"], "write openai:MODEL@"),
        (["mend", "summary.txt"], "summary.txt: give TABLE"),
        ([*TABLE_ANSWER, "--batch", "b.jsonl"], "leave the others out"),
        ([*TEXT, "--verifier", "programm"], "no verifier 'programm'; did you mean program?"),
        ([*TEXT, "--labels", "a,b"], "leave --labels out"),
    ],
)
def test_bad_options_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""


@pytest.mark.parametrize("method", ["repair", "cave"], indirect=True)
def test_a_text_without_a_claim_stays_and_is_said_so(
    folder: Path, capsys: pytest.CaptureFixture[str], method: list[str]
) -> None:
    (folder / "summary.txt").write_text("")
    assert main([*TEXT, *method]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "Nothing was changed." in captured.err
    assert "no claim was found" in captured.err


@pytest.mark.parametrize("method", ["repair", "cave"], indirect=True)
def test_a_batch_is_mended_line_by_line(
    folder: Path, capsys: pytest.CaptureFixture[str], method: list[str]
) -> None:
    lines = [
        {"text": WRONG, "source": TABLE},
        {"answer": "none", "context": CONTEXT},
        {"answer": ANSWER, "context": CONTEXT, "query": QUERY},
        {"text": RIGHT, "source": TABLE},
    ]
    (folder / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert main(["mend", "--batch", "batch.jsonl", *method]) == 0
    captured = capsys.readouterr()
    assert "4 documents, 1 without a table to mend" in captured.err
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert [one["name"] for one in found] == [f"batch.jsonl, line {n}" for n in (1, 2, 3, 4)]
    assert found[0]["text"] == found[3]["text"] == RIGHT and not found[3]["edits"]
    assert "no table found" in found[1]["unscored"][0]["reason"] and "39" not in found[2]["text"]


@pytest.mark.parametrize("asked", [["--model={}"], ["--verifier=llm:{}"]])
def test_a_model_that_gives_no_answer_at_all_is_no_success(
    folder: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    line = json.dumps({"text": WRONG, "source": TABLE})
    (folder / "batch.jsonl").write_text(f"{line}\n{line}\n", encoding="utf-8")
    with ChatServer(lambda _: refuse(422, "not today")) as server:
        options = [one.format(f"openai:m@{server.url}") for one in asked]
        for command in (["mend", "--batch", "batch.jsonl"], TEXT):
            assert main([*command, *options, "--option=cache=null"]) == 1
            said = capsys.readouterr().err
            assert "every request to a model failed (" in said and "status 422: not today" in said
