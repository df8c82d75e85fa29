"""The commands as a newcomer meets them: marks, stdin, pages, exit statuses, scripts."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

import tablemend
from tablemend.cli.app import main
from tablemend.script import SCRIPTS, as_commands
from tablemend.shipped import shipped
from tests.support.chromium import Browser

TABLE = "Team,Points\nAlba,41\nSella,37\nVey,12\n"
TEXT = "Alba won 41 points. Sella won 39 points. Vey <i>smiled</i>.\n"
ANSWER = "| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |\n"
VERIFY = ["verify", "summary.txt", "table.csv"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"table.csv": TABLE, "summary.txt": TEXT, "answer.md": ANSWER}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def test_wrong_words_are_marked_then_errors_then_coverage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(VERIFY) == 0
    marked, _, error, last = capsys.readouterr().out.splitlines()
    assert marked == TEXT.replace("39", "[[39]]").rstrip()
    assert error == "error: number: 30-32: '39', expected '37': Points of Sella: 37, not 39"
    assert last == "STAF 0.50, 2 of 3 claims checked (-v lists all)"
    assert main([*VERIFY, "-v"]) == 0
    assert "claim: unscored: 41-58: Vey <i>smiled</i> (" in capsys.readouterr().out


def _on_a_terminal(*arguments: str) -> str:
    """What a command writes to a terminal."""
    reader, writer = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "tablemend", *arguments]
    process = subprocess.Popen(command, stdout=writer, stderr=writer, env=environment)
    os.close(writer)
    said = b""
    try:
        while block := os.read(reader, 1 << 16):
            said += block
    except OSError:  # the end of a terminal, on Linux
        pass
    os.close(reader)
    assert process.wait() == 0, said
    return said.decode()


@pytest.mark.parametrize(
    ("arguments", "marked"),
    [
        (VERIFY, "\x1b[1;4;31m39\x1b[0m points"),
        (["mend", *VERIFY[1:]], "\x1b[9;31m39\x1b[0m\x1b[1;32m37\x1b[0m points"),
        (["detect", "answer.md", "table.csv"], "\x1b[1;4;31m39\x1b[0m"),
    ],
)
def test_on_a_terminal_the_marks_are_colours(arguments: list[str], marked: str) -> None:
    said = _on_a_terminal(*arguments)
    assert marked in said and "[[" not in said


def test_one_of_the_files_may_be_the_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    given(TEXT)
    assert main(["verify", "-", "table.csv"]) == 0 and "[[39]]" in capsys.readouterr().out
    given(TABLE)
    assert main(["mend", "summary.txt", "-"]) == 0
    assert capsys.readouterr().out == TEXT.replace("39", "37")
    given(ANSWER)
    assert main(["detect", "-", "table.csv"]) == 0 and "[[39]]" in capsys.readouterr().out
    given("")
    assert main(["verify", "summary.txt", "-"]) == 2
    assert capsys.readouterr().err == "error: the text is empty\n"


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], 0),
        (["--fail-on", "error"], 3),
        (["--min-score", "0.5"], 3),  # of 2 of 3 claims
        (["--min-score", "0.5", "--min-coverage", "0.6"], 0),
        (["--min-score", "0.51", "--min-coverage", "0.6"], 3),
        (["--min-coverage", "0.66"], 0),
        (["--min-coverage", "0.67"], 3),
    ],
)
def test_what_is_no_success_exits_with_3(options: list[str], status: int) -> None:
    assert main([*VERIFY, *options]) == status
    line = json.dumps({"text": TEXT, "source": TABLE})
    Path("batch.jsonl").write_text(f"{line}\n", encoding="utf-8")
    assert main(["verify", "--batch", "batch.jsonl", *options]) == status


@pytest.mark.parametrize(
    ("said", "conclusion"),
    [
        ("Alba won 41 points. Sella won 37 points.", "Nothing wrong was found."),
        ("Alba won 41 points. Vey smiled. Sella cried.", "2 of 3 claims could not be checked."),
    ],
)
def test_nothing_wrong_is_said_only_of_what_was_checked(
    said: str, conclusion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("summary.txt").write_text(said, encoding="utf-8")
    assert main(VERIFY) == 0
    assert conclusion in capsys.readouterr().out
    found = tablemend.verify(said, TABLE)
    assert found.conclusion() == conclusion and conclusion in found.to_html()
    assert str(found).startswith(conclusion)
    nothing = tablemend.verify("Vey smiled.", TABLE).conclusion()
    assert nothing == "1 of 1 claims could not be checked."
    assert not tablemend.verify("Alba won 40 points.", TABLE).conclusion()


def test_unscored_claims_fail_only_where_that_is_asked() -> None:
    Path("summary.txt").write_text("Alba won 41 points. Vey smiled.", encoding="utf-8")
    assert main([*VERIFY, "--fail-on", "error"]) == 0
    assert main([*VERIFY, "--fail-on", "unscored"]) == 3
    assert main(["mend", *VERIFY[1:], "--fail-on", "unscored"]) == 3


BAD = {
    "verify": (["absent", "table.csv"], ["summary.txt"], ["summary.txt", "table.csv", "--no"]),
    "mend": (["summary.txt", "absent"], [], ["summary.txt", "table.csv", "--method", "repar"]),
    "detect": (
        ["answer.md", "summary.txt"],
        ["answer.md"],
        ["answer.md", "table.csv", "--query=answer.md"],
    ),
    "where": (["absent"], [], ["recipes", "more"]),
    "compare": (["recipe=absent"], ["tiny"], ["recipe=tiny", "mode=1"]),
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input_is_said_in_short_and_exits_with_2(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in BAD[command]:
        assert main([command, *arguments]) == 2, arguments
        said = capsys.readouterr()
        assert said.err.startswith("error: ") and "Traceback" not in said.err and not said.out
        assert command == "compare" or said.err.count("\n") == 1


def test_every_script_has_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command in SCRIPTS.values():
        assert main([*command.split(), "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: tablemend {command}")
    folders = ("train", "data_gen", "eval", "checkpoints")
    paths = [path for folder in folders for path in shipped(folder).glob("*.py")]
    assert set(SCRIPTS) == {f"{path.parent.name}/{path.name}" for path in paths}


def test_from_a_wheel_messages_name_commands_and_no_scripts() -> None:
    said = "make them first, python data_gen/preference.py recipe=tiny-dpo (train/merge.py)"
    assert as_commands(said) == (
        "make them first, tablemend preference recipe=tiny-dpo (tablemend merge)"
    )
    launched = "accelerate launch --quiet train/sft.py recipe=tiny"
    assert as_commands(launched) == "accelerate launch --quiet -m tablemend train sft recipe=tiny"
    assert as_commands("see benchmarks/eval/x.py") == "see benchmarks/eval/x.py"


def test_a_recipe_that_comes_along_runs_in_an_empty_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare", "recipe=tiny", "--check", "-v"]) == 0
    assert f"path: {shipped('checkpoints/tiny-base')}" in capsys.readouterr().out
    assert main(["data", "tablehallu", "source=small-world", "n=8", "out=made"]) == 0
    assert Path("made/train.jsonl").is_file()
    assert main(["where", "recipes"]) == 0
    recipes = Path(capsys.readouterr().out.splitlines()[-1])
    Path("recipes").mkdir()
    own = (recipes / "tiny.yaml").read_text(encoding="utf-8").replace("seed: 0\n", "seed: 7\n", 1)
    Path("recipes/tiny.yaml").write_text(own, encoding="utf-8")
    assert main(["compare", "recipe=tiny", "--check", "-v"]) == 0
    assert "\nseed: 7\n" in capsys.readouterr().out  # the one that is here comes first


def test_a_shell_completes_commands_and_files(tmp_path: Path) -> None:
    def completed(words: str) -> list[str]:
        asked = {
            "_TABLEMEND_COMPLETE": "complete_bash",
            "COMP_WORDS": f"tablemend {words}",
            "COMP_CWORD": str(len(words.split())),
        }
        done = subprocess.run(
            [sys.executable, "-c", "from tablemend.cli.app import main; main()"],
            env=os.environ | asked,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert completed("ver") == ["verify"]
    assert completed("train s") == ["sft"]


def test_a_page_shows_marks_and_runs_nothing(browser: Browser) -> None:
    assert main([*VERIFY, "--html", "page.html"]) == 0
    browser.open(Path("page.html"))
    assert browser.run("document.querySelector('mark').textContent") == "39"
    assert browser.run("document.querySelector('.text').textContent") == TEXT
    assert browser.run("document.querySelectorAll('.text i').length") == 0
    assert browser.run("document.querySelector('mark').title").startswith("number: ")
    assert browser.problems == []


BEFORE, NAMES = "Łódź won 41 points. José won 39 points.", "Team,Points\nŁódź,41\nJosé,37\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("verify s.txt t.csv", "\\u0141\\xf3d\\u017a won 41 points. Jos\\xe9 won [[39]]"),
        ("mend s.txt t.csv", "Łódź won 41 points. José won 37 points."),
        ("mend s.txt t.csv --json", '"text": "\\u0141\\u00f3d\\u017a won 41 points. Jos\\u00e9'),
        ("detect t.csv t.csv", "| Jos\\xe9 | 37 |"),
        ("where Łódź", "nothing called '\\u0141\\xf3d\\u017a'"),
    ],
)
def test_no_encoding_of_the_terminal_ends_a_command(command: str, said: str) -> None:
    Path("s.txt").write_text(BEFORE, encoding="utf-8")
    Path("t.csv").write_text(NAMES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tablemend", *command.split()],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    shown = (done.stdout + done.stderr).decode()
    assert said in shown and "Traceback" not in shown


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "| :"])
@pytest.mark.parametrize(
    "command",
    ["mend summary.txt table.csv", "verify - table.csv", "data tabfaith --help", "where recipes"],
)
def test_a_closed_stream_is_no_traceback(command: str, closed: str) -> None:
    python = f"{sys.executable} -m tablemend"
    done = subprocess.run(
        f"({python} {command} {closed}); echo status $? >&2",
        shell=True,
        env={name: own for name, own in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Error" not in done.stderr and "status" in done.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device without end")
@pytest.mark.parametrize(
    "command",
    [
        "verify /dev/zero table.csv",
        "verify summary.txt /dev/zero",
        "detect answer.md table.csv --query-file /dev/zero",
        "verify --batch /dev/zero",
        "mend --batch endless",
        "mend summary.txt table.csv --model scripted:/dev/zero",
        "verify - table.csv",
    ],
)
def test_an_input_without_end_is_one_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("endless")
    line = b'{"text": "Alba won 41 points.", "source": "Team,Points\\nAlba,41"}\n'

    def write() -> None:
        with suppress(BrokenPipeError), Path("endless").open("wb") as pipe:
            while True:
                pipe.write(line * 10_000)

    if "endless" in command:
        Thread(target=write, daemon=True).start()
    with Path("/dev/zero").open("rb") as zero:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=zero))
        assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert "MiB, which is the limit" in said and said.count("\n") == 1
