"""A model writes a test, the program computes: good tests, nonsense, mended ones, votes, limits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tablemend import verify
from tablemend.cli.app import main
from tablemend.errors import Stopped, TablemendError
from tablemend.evidence.source import Source
from tablemend.records import Usage, Verdict
from tablemend.tables.table import Table
from tablemend.verifier import staf
from tablemend.verifier.extraction import answer_claims, extract_claims
from tablemend.verifier.llm import WHOLE
from tablemend.verifier.program_by import (
    MEND,
    TEMPERATURE,
    ProgramByVerifier,
    read_programs,
    run_test,
    slots_of,
)
from tablemend.verifier.staf import open_verifier
from tests.support.chat_server import ChatServer, answer
from tests.support.faithfulness_models import Answer, CannedBackend
from tests.support.prompts import recognise

TABLE = Table.of(
    ["Team", "Points", "City", "Budget ($ millions)"],
    [["Alba", "41", "Oslo", "45.3"], ["Sella", "37", "Rome", "30"], ["Vey", "12", "Rome", "-2.5"]],
    title="League 2019",
)
SOURCE = Source((TABLE,))
TEXT = "Alba won 41 points. Sella has 39 points."
ALBA = 'value("Points", row["Team"] == "Alba")'
SELLA = 'value("Points", row["Team"] == "Sella")'


def verdicts(
    answer: Callable[[str], Answer], text: str = TEXT, **manner: object
) -> tuple[list[Verdict], Usage, CannedBackend]:
    backend = CannedBackend(answer)
    verifier = ProgramByVerifier(backend, **manner)  # type: ignore[arg-type]
    ((found, usage),) = verifier.verify([(extract_claims(text), SOURCE)])
    return list(found), usage, backend


def by_statement(alba: str, sella: str) -> Callable[[str], str]:
    return lambda asked: alba if "Statement: Alba" in asked else sella


def test_a_test_is_executed_and_shown_with_what_comes_out() -> None:
    found, usage, backend = verdicts(by_statement(f"1: {ALBA} == 41", f"1: {SELLA} == 39"))
    right, wrong = found
    assert (right.verdict, right.expected, right.spans) == ("supported", (), ())
    assert (wrong.verdict, wrong.error_type, wrong.expected) == ("contradicted", "NUM", ("37",))
    assert [TEXT[slice(*span)] for span in wrong.spans] == ["39"]
    assert wrong.evidence[0].text == f"{SELLA} == 39: 37" == wrong.reason
    assert (wrong.evidence[1].row, wrong.evidence[1].column) == (1, 1)
    assert usage == Usage(2, 20, 6)
    shown = [one.slots for r in backend.asked if (one := recognise(r.messages))]
    assert {one["statement"] for one in shown} == set(re.findall(r"[^.]+\.", TEXT)) or len(
        shown
    ) == 2
    assert shown[0]["table"] == shown[1]["table"]  # an engine reads it once
    assert all("| Alba | 41 | Oslo | 45.3 |" in one["table"] for one in shown)


def test_the_text_decides_what_was_said_not_the_model() -> None:
    """A model that writes the table's number in place of the text's is no witness."""
    found, _, _ = verdicts(by_statement(f"1: {ALBA}", f"1: {SELLA} == 37"))
    assert [one.verdict for one in found] == ["supported", "contradicted"]
    text = "Alba won 41 points, 4 more than Sella."
    part = {'"41"': f"{ALBA} == 41", '"4"': f"{ALBA} == 41", "": f"{ALBA} > {SELLA}"}

    def answer(asked: str) -> str:
        lines = re.findall(r"^(\d+)\. (.*)$", asked.rpartition("Parts:")[2], re.M)
        return "\n".join(f"{n}: {part.get(words, part[''])}" for n, words in lines)

    found, _, _ = verdicts(answer, text)
    (four,) = (one for one in found if one.claim.focus and text[slice(*one.claim.focus)] == "4")
    assert four.verdict == "unscored"  # that line tests another part


@pytest.mark.parametrize(
    ("statement", "test", "holds"),
    [
        ("Alba has over 45 million dollars.", 'value("Budget", "Alba") > 45', True),
        ("Alba has $45.3 million.", 'value("Budget", "Alba") == 45.3', True),
        ("Alba has $45 million.", 'value("Budget", "Alba") == 45', True),
        ("Alba has $46 million.", 'value("Budget", "Alba") == 46', False),
        ("Vey made a loss of 2.5 million.", 'value("Budget", "Vey") == 2.5', True),
        ("the mean is about 30 points", 'mean("Points") == 30', True),
        ("The teams of Rome have 49 points.", 'sum("Points", row["City"] == "Rome") == 49', True),
        ("Alba won, it is of Rome", f'{ALBA} > 37 and value("City", "Alba") == "Rome"', False),
        ("Alba has 41 kg", 'value("City", "Alba") == 41', False),
        ("Two teams have over 20 points", 'count(row["Points"] > 20) == 2', True),
    ],
)  # fmt: skip
def test_amounts_are_compared_as_the_statement_has_them(
    statement: str, test: str, holds: bool
) -> None:
    trial = run_test(test, [TABLE], statement)
    assert trial.holds is holds, trial


def test_a_test_that_names_no_column_is_asked_for_once_more_with_the_error() -> None:
    def answer(asked: str) -> str:
        if "cannot be run" in asked:
            assert "no column 'Point'; did you mean 'Points'?" in asked
            return f"1: {SELLA} == 39"
        return "1: value('Point', 'Sella') == 39" if "t: Sella" in asked else f"1: {ALBA} == 41"

    found, usage, backend = verdicts(answer)
    assert [one.verdict for one in found] == ["supported", "contradicted"]
    assert usage.calls == 3 == len(backend.asked)
    assert len(backend.asked[-1].messages) == 4 and MEND == "mend_program"


@pytest.mark.parametrize(
    ("answer", "reason", "calls"),
    [
        ("I like tables.", "the model's answer has no test for it", 4),
        ("1: I like (tables)", "no Python expression", 4),
        ("1: value('Goals', 'Alba') == 41", "no column 'Goals'; there are 'Team'", 4),
        ("1: value('Points', row['City'] == 'Rome') == 41", "2 rows with different values", 4),
        (("", "error"), "request failed: gone", 2),
        ((f"1: {ALBA}", "length"), "cut by the token limit", 2),
    ],
)
def test_what_cannot_be_run_is_unscored_and_says_why(
    answer: Answer, reason: str, calls: int
) -> None:
    found, usage, _ = verdicts(lambda _: answer)
    assert {one.verdict for one in found} == {"unscored"} and usage.calls == calls
    assert all(reason in one.reason for one in found), found


def test_nonsense_is_told_and_nothing_is_called_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staf, "open_backend", lambda *_: CannedBackend(lambda _: "Nice table!"))
    found = verify(TEXT, TABLE, verifier="program-by:hf:canned")
    assert found.conclusion() == "2 of 2 claims could not be checked."


def test_what_would_run_long_is_stopped() -> None:
    rows = [[f"name {number}", str(number)] for number in range(2_500)]
    long = Table.of(["Name", "Size"], rows)
    trial = run_test('group_argmax("Name", sum("Size")) == "name 3"', [long], "name 3 is largest")
    assert trial.holds is None and "5,000,000 cells" in trial.problem
    slots = slots_of("name 2400 has a size of 2400", [WHOLE], Source((long,)))
    assert "(2500 rows in all)" in slots["table"] and len(slots["table"]) < 4_500
    assert "| name 2400 | 2400 |" in slots["statement"]


def test_samples_vote_and_of_as_many_the_first_counts() -> None:
    said = [f"1: {ALBA} == 41", f"1: {SELLA} == 41", f"1: {ALBA} == 41", "1: nonsense("]
    answers = iter(said[::-1])  # the backend answers the last request first
    found, usage, backend = verdicts(
        lambda _: next(answers, "no"), "Alba won 41 points.", samples=4
    )
    assert [one.verdict for one in found] == ["supported"]
    assert found[0].reason.endswith("(2 of 4 samples)") and usage.calls == 5
    heat = {request.sampling.temperature for request in backend.asked}
    assert heat == {0.0, TEMPERATURE} and len({request.seed for request in backend.asked}) == 4
    tie = iter([f"1: {SELLA} == 41", f"1: {ALBA} == 41"])
    found, _, _ = verdicts(lambda _: next(tie), "Alba won 41 points.", samples=2)
    assert found[0].verdict == "supported"


def test_clauses_are_tested_as_a_whole_and_asked_once() -> None:
    text = "Alba won 41 points and 12 games in 2019."
    found, usage, backend = verdicts(lambda _: f"{ALBA} == 41", text, per_request="claim")
    assert len({one.claim.statement for one in found}) == usage.calls <= len(found)
    shown = [one.slots for r in backend.asked if (one := recognise(r.messages))]
    assert {one["parts"] for one in shown} == {f"1. {WHOLE}"}


def test_an_answer_is_lines_with_or_without_code() -> None:
    assert read_programs("```python\n1: a(1)\n2. b(2)\n3) `c(3)`\n```", 2) == {1: "a(1)", 2: "b(2)"}
    assert read_programs("The test:\n```\ncount() == 3\ncount() == 4\n```", 1) == {
        1: "count() == 3"
    }
    assert read_programs("7: a(1)", 2) == read_programs("none", 1) == {}


def test_the_rules_come_first_and_their_verdicts_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = CannedBackend(lambda _: "1: nonsense")
    monkeypatch.setattr(staf, "open_backend", lambda *_: backend)
    found = verify(TEXT, TABLE, verifier="program+program-by:hf:canned")
    assert [one.type for one in found.errors] == ["NUM"] and not backend.asked
    for name in ("program-by", "program-by:", "program-by:nothing", "program-bye:hf:x"):
        with pytest.raises(TablemendError):
            open_verifier(name)


def test_the_command_line_shows_the_test_and_what_it_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai")
    (tmp_path / "text.txt").write_text("Sella has 39 points.", "utf-8")
    (tmp_path / "table.csv").write_text("Team,Points\nAlba,41\nSella,37\n", "utf-8")
    with ChatServer(lambda _: answer(f"1: {SELLA} == 39")) as server:
        files = [str(tmp_path / "text.txt"), str(tmp_path / "table.csv"), "--option=cache=null"]
        model = f"--verifier=program-by:openai:m@{server.url}"
        assert main(["verify", *files, model, "--samples=3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["usage"]["calls"] == 3
    assert found["errors"][0]["expected"] == ["37"] and SELLA in found["errors"][0]["reason"]


def test_answer_tables_and_texts_without_a_table_are_left_open() -> None:
    backend = CannedBackend(lambda _: "1: count() == 1")
    items = [(answer_claims(TABLE), Source(text=TEXT)), (extract_claims(TEXT), Source(text=TEXT))]
    for found, usage in ProgramByVerifier(backend).verify(items):
        assert {one.reason for one in found} == {"there is no table with rows"}
        assert usage.calls == 0


def test_a_second_table_is_looked_in_and_a_server_that_is_gone_stops() -> None:
    other = Table.of(["Cup", "Winner"], [["A", "Vey"], ["B", "Alba"]])
    trial = run_test('value("Winner", "A") == "Vey"', [TABLE, other], "Vey won the A cup")
    assert trial.holds and trial.table == 1
    many = extract_claims(" ".join(f"Alba won {n} points." for n in range(50, 80)))
    with pytest.raises(Stopped, match="20 requests in a row failed"):
        ProgramByVerifier(CannedBackend(lambda _: ("", "error"))).verify([(many, SOURCE)])
