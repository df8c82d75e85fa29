"""``tablemend verify``, run as a user runs it, with good and bad input."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tablemend.cli.app import main
from tablemend.records import Claim, Verdict
from tablemend.verifier.program import TextVerifier
from tests.support.chat_server import ChatServer, answer, refuse

TABLE = "Team,Points,City\nAlba,41,Oslo\nSella,37,Rome\nVey,12,Lima\n"
TEXT = "Alba won 41 points. Sella has 39 points."
FILES = ["summary.txt", "table.csv"]
ANSWER = ["a.md", "--context", "summary.txt"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path


def run(folder: Path, text: str, *options: str, source: str = "table.csv") -> int:
    (folder / "summary.txt").write_text(text, encoding="utf-8")
    return main(["verify", str(folder / "summary.txt"), str(folder / source), *options])


def run_json(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str
) -> dict[str, Any]:
    assert run(folder, text, "--json", *options) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_claims_are_printed_with_places_verdicts_and_evidence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_json(folder, capsys, TEXT)
    assert found["score"] == 0.5 and found["unscored"] == []
    assert found["coverage"] == {"scored": 2, "total": 2, "of": "claims"}
    for claim in found["claims"]:
        assert TEXT[slice(*claim["span"])] == claim["text"]
    right, wrong = found["claims"]
    assert (right["verdict"], right["type"]) == ("supported", None)
    assert (wrong["verdict"], wrong["type"]) == ("contradicted", "NUM")
    (error,) = found["errors"]
    assert (error["word"], error["expected"]) == ("39", ["37"]) and TEXT[
        slice(*error["span"])
    ] == "39"
    cell = {"table": 0, "row": 1, "column": "Points", "value": "37"}
    assert {"text": 'Row "Sella", Column "Points": 37', **cell} in error["evidence"]


def test_an_answer_table_is_verified_against_its_context(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "answer.md").write_text("Sure:\n\n|Team|Points|\n|---|---|\n|Alba|41|\n", "utf-8")
    (folder / "article.txt").write_text("Alba won 41 points. Vey won 12.", "utf-8")
    files = [str(folder / "answer.md"), "--context", str(folder / "article.txt")]
    assert main(["verify", *files, "--query", "The points of Alba", "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert [(one["row"], one["column"]) for one in claims] == [
        (0, None),
        (0, "Team"),
        (0, "Points"),
    ]
    (folder / "answer.md").write_text("I cannot do that.", "utf-8")
    assert main(["verify", *files]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "no table found" in captured.err
    assert captured.err.count("\n") == 1


def test_a_batch_gives_the_mean_or_one_object_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"Team": "Alba", "Points": "41"}, {"Team": "Sella", "Points": "37"}]
    lines = [
        {"text": "Alba has 41 points.", "source": TABLE},
        {"text": "Sella has 39 points.", "source": rows},
        {"text": "", "source": TABLE},
        {"answer": "no table", "context": "Alba has 41 points."},
        {"answer": "|Team|Points|\n|---|---|\n|Alba|41|", "context": "Alba has 41 points."},
        {"text": "Sella has 39 points \ud83d\ude00 \ud800.", "source": f"{TABLE}\ud800,1,\n"},
    ]
    batch = folder / "batch.jsonl"
    batch.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    assert main(["verify", "--batch", str(batch), "--json"]) == 0
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert [one["name"] for one in found] == [f"{batch}, line {n}" for n in range(1, 7)]
    assert [one["score"] for one in found[:3]] == [1.0, 0.0, None]
    assert captured.err.splitlines()[1].startswith("STAF")
    assert "39 points \U0001f600 \ufffd" in found[5]["claims"][0]["text"]  # half of a pair
    assert (
        "no table found" in found[3]["unscored"][0]["reason"] and "no table found" in captured.err
    )
    assert main(["verify", "--batch", str(batch)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("STAF") and "documents             6, 2 without a scored claim" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": 5, "source": TABLE}, "text: Input should be a valid string"),
        ({"answer": "|a|", "context": ["x"]}, "context: Input should be a valid string"),
        ({"source": TABLE}, "give either text"),
        ({"text": "a", "answer": "b", "context": "c"}, "give either text"),
        ({"text": "a"}, "give source (a table) or context (a text)"),
        ({"text": "a", "source": TABLE, "query": "q"}, "query belongs to answer"),
        ({"text": "a", "source": 5}, "wanted a table, as text or as JSON"),
        ({"text": "a", "source": []}, "the source cannot be read"),
        ({"text": "a", "source": "Sella had 37 points."}, "text to go by is given as context"),
        ({"text": "a", "source": [["Team", "Points"], ["Alba"]]}, "row 1 has 1 cells"),
        ([1], "wanted an object with text, answer, source, context, query"),
        ({"txt": "a", "source": TABLE}, "did you mean text?"),
    ],
)
def test_a_line_that_is_not_what_is_wanted_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], line: Any, message: str
) -> None:
    batch = folder / "batch.jsonl"
    batch.write_text(json.dumps(line) + "\n", "utf-8")
    for command in ("verify", "mend"):
        assert main([command, "--batch", str(batch)]) == 2
        captured = capsys.readouterr()
        assert "batch.jsonl, line 1: " in captured.err and message in captured.err
        assert captured.err.count("\n") == 1 and captured.out == ""


@pytest.mark.parametrize("command", ["verify", "mend"])
def test_a_line_that_a_defect_of_ours_ends_does_not_end_the_batch(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def verify(self: TextVerifier, claim: Claim) -> Verdict:
        if "Vey" in claim.text:
            raise IndexError("tuple index out of range")
        return whole(self, claim)

    whole = TextVerifier.verify
    monkeypatch.setattr(TextVerifier, "verify", verify)
    texts = ["Alba has 41 points.", "Vey has 12 points.", "Sella has 37 points."]
    batch = folder / "batch.jsonl"
    lines = [json.dumps({"text": text, "source": TABLE}) for text in texts]
    batch.write_text("\n".join(lines), "utf-8")
    assert main([command, "--batch", str(batch), *["--json"][: command == "verify"]]) == 1
    shown = capsys.readouterr()
    found = [json.loads(line) for line in shown.out.splitlines()]
    assert [one["coverage"]["total"] > 0 for one in found] == [True, False, True]
    assert "line 2: a defect of tablemend (IndexError at test_faithfulness_verify.py:" in shown.err
    assert found[1]["unscored"][0]["reason"] == shown.err.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give FILE, a text or an answer table, or --batch"),
        (["summary.txt"], "summary.txt: give TABLE, where it is a text, or --context"),
        ([*FILES, "--context", "summary.txt"], "summary.txt: give TABLE"),
        ([*FILES, "--query", "q"], "leave --query out: it belongs to an answer table"),
        ([*FILES, "--format", "csv"], "leave --format out: it belongs to an answer table"),
        ([*FILES, "--format", "cvs"], "Invalid value for '--format'"),
        ([*FILES, "--fial-on", "error"], "No such option: --fial-on"),
        ([*FILES, "--min-score", "83"], "Invalid value for '--min-score'"),
        (["-", "-"], "-: the standard input can be read once"),
        (["none.txt", "table.csv"], "no such file"),
        (["summary.txt", "none.csv"], "no such file"),
        (["bytes.txt", "table.csv"], "not UTF-8"),
        (["summary.txt", "empty.txt"], "the file is empty"),
        (["summary.txt", "none.xlsx"], "none.xlsx: No such file"),
        (["summary.txt", "book.xlsx"], "book.xlsx: not a workbook that can be read"),
        (["--batch", "summary.txt"], "line 1: not JSON"),
        (["--batch", "empty.txt"], "is empty"),
        ([*FILES, "--batch", "summary.txt"], "leave the others out"),
        ([*FILES, "--option", "concurrency=2"], "leave --option out: no model is asked"),
        ([*FILES, "--labels", "a,b"], "leave --labels out"),
        ([*FILES, "--verifier", "program+llm:hf:a/b", "--labels", "a"], "leave --labels out"),
        ([*ANSWER, "--extractor", "llm:hf:a/b"], "leave --extractor out"),
        (
            [*FILES, "--verifier", "llm:hf:a/b", "--option", "concurency=2"],
            "--option concurency: unknown key; did you mean concurrency?",
        ),
        (
            [*FILES, "--verifier", "llm:hf:a/b", "--max-new-tokens", "0"],
            "Invalid value for '--max-new-tokens'",
        ),
        ([*FILES, "--verifier", "nil"], "no verifier 'nil'; did you mean nli?"),
        ([*FILES, "--verifier", "program+program"], "joined as program+nli:MODEL"),
        ([*FILES, "--verifier", "program+gpt"], "joined as program+nli:MODEL"),
        ([*FILES, "--verifier", "llm:"], "no verifier 'llm:'"),
        ([*FILES, "--verifier", "llm:gpt"], "'gpt' names no engine"),
        ([*FILES, "--verifier", "llm:hf:a/b", "--samples", "3"], "leave --samples out"),
        ([*FILES, "--verifier", "program-by:"], "no verifier 'program-by:'"),
        ([*FILES, "--verifier", "programby:hf:a/b"], "did you mean program-by?"),
        ([*FILES, "--extractor", "nli:x"], "no extractor 'nli:x'"),
    ],
)
def test_bad_options_and_files_are_one_line(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    Path("summary.txt").write_text(TEXT, "utf-8")
    Path("bytes.txt").write_bytes(b"\xff\xfe caf\xe9")
    Path("empty.txt").touch()
    Path("book.xlsx").write_text("no workbook", "utf-8")
    status = main(["verify", *arguments])
    captured = capsys.readouterr()
    assert status == 2 and message in captured.err and captured.out == ""
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1


@pytest.mark.parametrize("verifier", ["llm:", "program+llm:"])
@pytest.mark.parametrize("failing", [1, 2])
def test_a_model_that_gives_no_answer_at_all_is_no_success(
    failing: int, verifier: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claims of two lines: all requests fail, or only the first."""
    line = {"text": "Alba likes 41 rainy days.", "source": TABLE}
    (folder / "batch.jsonl").write_text(f"{json.dumps(line)}\n" * 2, "utf-8")
    refused, good = refuse(422, "not today"), answer('{"reason": "so", "verdict": "supported"}')
    with ChatServer(lambda seen: refused if seen.number < failing else good) as server:
        asked = (f"--verifier={verifier}openai:m@{server.url}", "--option=cache=null")
        arguments = ["verify", "--batch", str(folder / "batch.jsonl"), "--json", *asked]
        assert main([*arguments, "--option=concurrency=1"]) == failing - 1
        assert len(server.seen) == 2
        captured = capsys.readouterr()
        assert len(captured.out.splitlines()) == 2
        why = "every request to a model failed (2 in all): status 422: not today (1 try)"
        assert (why in captured.err) is (failing == 2)
        server.respond = lambda _: refused
        assert run(folder, line["text"], *asked) == 1
        assert "every request to a model failed (1 in all): " in capsys.readouterr().err


TEXTS = {
    "another script": "\u0410\u043b\u044c\u0431\u0430 \u0432\u044b\u0438.",
    "marks": "\u2026 !!! ??? \u2014\u2014 ### $$$",
    "markup": "<p>Alba won <b>41</b> points.</p>",
    "without an end": "alba won 41 points and " * 150,
    "long word": "x" * 20_000,
    "surrogates": "Alba \U0001f600 won forty-one points, Vey a dozen.",
}
TABLES = {
    "one column": "Team\n" + "Alba\nSella\n",
    "no row": "Team,Points\n",
    "2,000 rows": "Team,Points\n" + "".join(f"T{n},{n}\n" for n in range(2_000)),
    "long cells": f'Team,Points\nAlba,"{"41 points " * 1_000}"\n',
    "HTML in cells": "Team,Points\n<b>Alba</b>,<td>41</td>\n",
    "contradictory": "Team,Points\nAlba,41\nAlba,52\n",
    "blank": "Team,Points\n,\n,\n",
    "twice the same header": "Team,Points,Points\nAlba,41,52\n",
}
ODD = {name: (text, TABLE) for name, text in TEXTS.items()} | {
    name: ("Alba won 41 points. T7 has the most points.", table) for name, table in TABLES.items()
}


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_and_tables_end_in_verdicts_and_in_time(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text, table = ODD[name]
    (folder / "odd.csv").write_text(table, "utf-8")
    start = time.process_time()
    status = run(folder, text, "--json", source="odd.csv")
    assert time.process_time() - start < 10
    captured = capsys.readouterr()
    if status == 2:
        assert captured.err.count("\n") == 1
    else:
        for claim in json.loads(captured.out)["claims"]:
            assert text[slice(*claim["span"])] == claim["text"]


@pytest.mark.parametrize(
    ("text", "source", "why"),
    [
        ("", TABLE, "no claim was found"),
        ("!", TABLE, "no claim was found"),
        (TEXT, "Sella won 37 points.", "its source has no table"),
    ],
)
def test_where_nothing_is_scored_there_is_no_staf(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, source: str, why: str
) -> None:
    name = "source.csv" if source == TABLE else "source.txt"
    (folder / name).write_text(source, "utf-8")
    assert run(folder, text, "--json", source=name) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["score"] is None
    assert why in captured.err and captured.err.count("\n") == 1
