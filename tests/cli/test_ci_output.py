"""``--output-format``: annotations, JUnit XML and SARIF with the right lines and columns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.cli import ci
from tablemend.cli.app import main
from tablemend.results import Coverage, Error, Verification

ROOT = Path(__file__).parents[2]
TABLE = "Team,Points\nAlba,41\nSella,37\nVey,12\n"
TEXT = "Ünï 100 % code 🙂.\r\nAlba won 41 points.\r\nIn Zürich, Sella won 39 points.\rVey won\n13."
ANSWER = (
    "Here: Sella\n\n| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 39 |\n| Vey | 39 |\n"
)
FORMATS = ("github", "junit", "sarif")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(TABLE, encoding="utf-8")
    Path("a b:1.txt").write_bytes(TEXT.encode())
    Path("answer.md").write_text(ANSWER, encoding="utf-8")
    lines = [{"text": "Alba won 41 points.", "source": TABLE}, {"text": TEXT, "source": TABLE}]
    lines += [{"answer": "none", "context": "Alba won."}]
    Path("batch.jsonl").write_text("\n" + "\n".join(map(json.dumps, lines)), encoding="utf-8")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == status
    return capsys.readouterr().out


def words(text: str, region: dict[str, int]) -> str:
    """What a region of SARIF covers, read without our code."""
    lines = re.split(r"\r\n|\r|\n", text)
    assert region["startLine"] == region["endLine"]
    return lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]


def regions(out: str) -> list[tuple[str, dict[str, int]]]:
    places = [one["locations"][0] for one in json.loads(out)["runs"][0]["results"]]
    physical = [one["physicalLocation"] for one in places]
    return [(one["artifactLocation"]["uri"], one.get("region", {})) for one in physical]


def test_sarif_has_what_its_schema_requires_and_regions_cover_the_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = said(capsys, "verify", "a b:1.txt", "table.csv", "--output-format", "sarif")
    log = json.loads(out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    driver = run["tool"]["driver"]
    assert driver["name"] == "tablemend" and run["columnKind"] == "unicodeCodePoints"
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "NUM"
        assert result["level"] == "error" and result["message"]["text"]
    found = regions(out)
    assert [file for file, _ in found] == ["a%20b%3A1.txt"] * 2
    assert [words(TEXT, region) for _, region in found] == ["39", "13"]
    assert [region["startLine"] for _, region in found] == [3, 5]
    whole = regions(said(capsys, "verify", str(Path("a b:1.txt").resolve()), "table.csv",
                         "--output-format", "sarif"))  # fmt: skip
    assert whole[0][0].startswith("file:///")


def test_github_gets_annotations_with_all_that_is_escaped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("verify", "a b:1.txt", "table.csv", "--output-format", "github")
    first, second, rest = said(capsys, *arguments).splitlines()
    place = "file=a b%3A1.txt,line=3,endLine=3,col=22,endColumn=23,title=number::"
    assert first.startswith(f"::error {place}") and "expected '37'" in first
    assert ",line=5,endLine=5,col=1," in second and not rest.startswith("::")
    out = said(capsys, *arguments, "--fail-on", "unscored", status=3)
    assert "::warning file=a b%3A1.txt,line=1," in out and "100 %25 code" in out
    error = Error(type="NUM", name="a,b:c", word="", claim="", reason="x", span=(0, 3))
    text = ci.write(
        [Verification(name="f\n%,::error", text="a\nb", score=0.0, errors=(error,),
                      coverage=Coverage(scored=1, total=1, of="claims"))],
        "github", with_unscored=False,
    )  # fmt: skip
    first, last = text.splitlines()
    assert first == "::error file=f%0A%25%2C%3A%3Aerror,line=1,endLine=2,col=1," \
        "title=a%2Cb%3Ac::a,b:c: 0-3: x"  # fmt: skip
    assert "::" not in last


def test_junit_has_a_case_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "verify", "a b:1.txt", "table.csv", "--output-format", "junit")
    root = ElementTree.fromstring(out.encode())
    (suite,) = root
    cases = list(suite)
    kinds = [[child.tag for child in case] for case in cases]
    assert kinds.count([]) == 1 and kinds.count(["failure"]) == 2 and ["skipped"] in kinds
    for node in (root, suite):
        assert [int(node.attrib[name]) for name in ("tests", "failures", "errors", "skipped")] == [
            len(cases), 2, 0, len(cases) - 3]  # fmt: skip
    failed = next(case for case in cases if len(case) and case[0].tag == "failure")
    assert failed.attrib["file"] == "a b:1.txt" and failed.attrib["line"] == "3"
    assert "37, not 39" in failed[0].attrib["message"]


def test_cells_of_an_answer_table_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "detect", "answer.md", "table.csv", "--output-format", "sarif")
    found = regions(out)
    assert [words(ANSWER, region) for _, region in found] == ["39", "39"]
    assert [region["startLine"] for _, region in found] == [6, 7]
    records = json.dumps([{"Team": "Alba", "Points": 40}], indent=1)  # a row on several lines
    Path("answer.md").write_text(records, encoding="utf-8")
    out = said(capsys, "detect", "answer.md", "table.csv", "--output-format", "sarif")
    assert regions(out)[0] == ("answer.md", {})
    root = ElementTree.fromstring(
        said(capsys, "detect", "answer.md", "table.csv", "--output-format", "junit").encode()
    )
    assert root.attrib["tests"] == root.attrib["failures"] == "1"


@pytest.mark.parametrize("format", FORMATS)
def test_a_batch_points_at_its_lines_and_leaves_no_document_out(
    format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = said(capsys, "verify", "--batch", "batch.jsonl", "--output-format", format,
               "--fail-on", "error", status=3)  # fmt: skip
    if format == "sarif":
        found = [(file, region["startLine"]) for file, region in regions(out)]
        assert found == [("batch.jsonl", 3)] * 2 + [("batch.jsonl", 4)]
    elif format == "junit":
        suites = list(ElementTree.fromstring(out.encode()))
        assert [suite.attrib["name"] for suite in suites] == [
            f"batch.jsonl, line {number}" for number in (2, 3, 4)]  # fmt: skip
        assert [suite.attrib["failures"] for suite in suites] == ["0", "2", "0"]
        assert suites[2].attrib["errors"] == "1"
    else:
        assert out.count("::error file=batch.jsonl,line=3,title") == 2
        assert out.count("::warning file=batch.jsonl,line=4,title") == 1


@given(st.text(min_size=1, max_size=30), st.integers(0, 29), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_any_text_gives_a_whole_report(text: str, start: int, length: int) -> None:
    start = min(start, len(text) - 1)
    span = (start, min(len(text), start + length))
    error = Error(type="NUM", name="number", word=text[slice(*span)], claim=text, span=span)
    coverage = Coverage(scored=1, total=1, of="claims")
    found = [Verification(name=text, text=text, score=0.0, errors=(error,), coverage=coverage)]
    assert ElementTree.fromstring(ci.write(found, "junit", with_unscored=True).encode())
    ((_, region),) = regions(ci.write(found, "sarif", with_unscored=True))
    assert region["startLine"] >= 1 and region["startColumn"] >= 1
    commands = ci.write(found, "github", with_unscored=True).split("\n")
    assert len(commands) == 2 and commands[0].startswith("::error ")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("verify x table.csv --json --output-format sarif", "give either --json or"),
        ("detect x table.csv --json --output-format junit", "give either --json or"),
        ("mend answer.md --context table.csv --output-format github", "it belongs to verify"),
        ("verify x table.csv --output-format tap", "output-format"),
    ],
)
def test_formats_that_do_not_go_together_are_refused_before_anything_is_read(
    arguments: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert not out and reason in err and len(err.splitlines()) == 1


def test_the_action_runs_its_arguments(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / ".github/actions/verify/action.yml").read_text())
    example = yaml.safe_load((ROOT / ".github/workflows/verify-example.yml").read_text())
    (step,) = [one for one in example["jobs"]["verify"]["steps"] if "with" in one][1:]
    assert step["uses"] == "./.github/actions/verify"
    assert set(step["with"]) <= set(action["inputs"])
    inputs = {name: one.get("default", "") for name, one in action["inputs"].items()}

    def ran(**given: str) -> subprocess.CompletedProcess[str]:
        values = inputs | {name.replace("_", "-"): value for name, value in given.items()}
        env = {name: values[one.split("inputs.")[1].split(" ")[0]]
               for name, one in action["runs"]["steps"][1]["env"].items()}  # fmt: skip
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        script = action["runs"]["steps"][1]["run"]
        return subprocess.run(["bash", "-e", "-c", script], env=os.environ | env | {"PATH": path},
                              capture_output=True, text=True)  # fmt: skip

    done = ran(arguments="verify 'a b:1.txt' table.csv")
    assert (done.returncode, done.stdout.count("::error")) == (3, 2), done.stderr
    done = ran(arguments="verify 'a b:1.txt' table.csv", fail_on="never", output="log.sarif",
               output_format="sarif")  # fmt: skip
    assert done.returncode == 0 and done.stdout == ""
    assert len(regions(Path("log.sarif").read_text(encoding="utf-8"))) == 2


def test_the_hooks_are_whole_and_their_entries_run(capsys: pytest.CaptureFixture[str]) -> None:
    clientlib: Any = pytest.importorskip("pre_commit.clientlib", reason="no pre-commit")
    hooks = clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
    verify, detect = [one["entry"].split()[1:] for one in hooks]
    assert "::error" in said(capsys, *verify, "a b:1.txt", "table.csv", "--output-format",
                             "github", status=3)  # fmt: skip
    assert said(capsys, *detect, "table.csv", "table.csv", "--format", "csv")
