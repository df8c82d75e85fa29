"""Reports of one match: two sides in one table, their players in another."""

from __future__ import annotations

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.records import Verdict
from tablemend.tables.table import Table
from tablemend.verification.program import verify_document

SIDES = Table.of(
    [
        "Team",
        "City",
        "Points",
        "Points in the first quarter",
        "Points in the second quarter",
        "Points in the third quarter",
        "Points in the fourth quarter",
        "Turnovers",
        "Field goal percentage (%)",
        "Home or away",
        "Weekday",
    ],
    [
        ["Owls", "Norvik", "100", "20", "30", "26", "24", "12", "48", "home", "Friday"],
        ["Jays", "Sundal", "90", "25", "20", "25", "20", "16", "41", "away", "Friday"],
    ],
)
PLAYERS = Table.of(
    ["Player", "Team city", "Starting position", "Points", "Rebounds", "Assists", "Steals"],
    [
        ["Ann Lee", "Norvik", "G", "30", "11", "4", "1"],
        ["Bo Tan", "Norvik", "F", "20", "5", "2", "0"],
        ["Cy Rao", "Norvik", "bench", "15", "3", "1", "2"],
        ["Di Ek", "Norvik", "bench", "8", "2", "0", "0"],
        ["Ed Moss", "Sundal", "C", "24", "12", "10", "1"],
        ["Flo Hart", "Sundal", "G", "16", "2", "7", "3"],
        ["Gus Iwu", "Sundal", "bench", "12", "6", "1", "0"],
        ["Hal Poe", "Sundal", "bench", "4", "1", "0", "0"],
    ],
)
SOURCE = Source((SIDES, PLAYERS))
HOCKEY = Source(
    (
        Table.of(
            ["team name", "side", "score display", "score period 1", "score period 2"],
            [["Elks", "home", "4", "0", "4"], ["Seals", "away", "3", "2", "1"]],
        ),
    )
)


def _wrong(text: str, source: Source = SOURCE) -> set[str]:
    """The words that are called wrong."""
    found: set[str] = set()
    for verdict in _verify(text, source):
        if verdict.wrong:
            found |= {text[start:end] for start, end in verdict.spans}
    return found


def _verify(text: str, source: Source = SOURCE) -> tuple[Verdict, ...]:
    return verify_document(extract_claims(text), source)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Di Ek led the bench with 8 points and 2 rebounds.", {"led"}),
        ("Bo Tan led the second unit with 20 points.", {"second unit"}),
        ("Bo Tan led the Owls with 20 points.", {"led"}),
        ("Ed Moss led the Owls with 24 points.", {"Owls"}),
        ("The Owls were led by Ed Moss, who scored 24 points.", {"Owls"}),
        ("Ed Moss finished with a game-high 24 points.", {"game-high"}),
        ("Ann Lee scored 30 points. Cy Rao was next with 15 points.", {"next"}),
        ("Ann Lee scored 30 points. Flo Hart was next with 16 points.", {"Flo Hart"}),
        ("Cy Rao was second on the team, with 15 points.", {"second"}),
        ("Bo Tan scored 20 points off the bench.", {"bench"}),
        (
            "Ed Moss scored 24 points. Gus Iwu was the only other Jays player in double figures.",
            {"only other"},
        ),
        ("Bo Tan recorded a double-double with 20 points in 30 minutes.", {"double-double"}),
        ("The Owls had four players in double figures.", {"four"}),
        ("A pair of 20-point efforts from Bo Tan and Cy Rao helped.", {"20"}),
        ("The Owls were led by the duo of Ann Lee and Ann Lee.", {"Ann Lee"}),
        ("The Jays beat the host Owls on Friday.", {"beat"}),
        ("The Owls beat the host Jays on Friday.", {"host"}),
        ("The Owls came away with a road win.", {"road"}),
        ("The Jays pulled away in the second half.", {"pulled away"}),
        ("The Owls outscored the Owls 26-25 in the third quarter.", {"Owls"}),
        ("The Jays outscored the Owls in the second quarter.", {"outscored"}),
        ("The Owls took a three-point lead into halftime.", {"three"}),
        ("The Owls had a 56-40 margin over the second and third quarters.", {"40"}),
        ("The Jays were the superior shooters in this game.", {"superior"}),
        ("The Jays were down 50-45 at halftime, and the Owls were down 50-45 at half.", {"down"}),
        ("The Owls forced the Jays into 16 turnovers, committing nine of their own.", {"nine"}),
        ("The next game of the Owls is on Friday.", {"Friday"}),
    ],
)
def test_wrong_words_are_found(text: str, words: set[str]) -> None:
    assert _wrong(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Cy Rao led the bench with 15 points and three rebounds.",
        "Ann Lee led the Owls with 30 points.",
        "The Jays were led by Ed Moss, who scored 24 points.",
        "Ann Lee finished with a game-high 30 points.",
        "Ed Moss had a team-high 24 points.",
        "Ann Lee scored 30 points. Bo Tan was next with 20 points.",
        "Bo Tan was second on the team, with 20 points.",
        "Cy Rao scored 15 points off the bench.",
        "Ann Lee recorded a double-double with 30 points and 11 rebounds.",
        "The Owls had three players in double figures.",
        "The Owls beat the visiting Jays, 100-90.",
        "The Owls pulled away in the second half.",
        "The Owls outscored the Jays 30-20 in the second quarter.",
        "The Owls outscored the Jays by a 56-45 margin over the second and third quarters.",
        "The Owls were the better shooters in this game.",
        "The Owls forced the Jays into 16 turnovers, while committing only 12 of their own.",
    ],
)
def test_what_is_right_is_supported(text: str) -> None:
    verdicts = _verify(text)
    assert not _wrong(text)
    assert any(verdict.verdict == "supported" for verdict in verdicts)


@pytest.mark.parametrize(
    "text",
    [
        "Ann Lee is averaging 30 points and 11 rebounds over her last three games.",
        "The Owls have won four of their last five games.",
        "It was the second double-double in a row for Ann Lee.",
    ],
)
def test_numbers_of_several_matches_are_not_in_the_source(text: str) -> None:
    numbers = [v for v in _verify(text) if v.claim.kind == "numeric"]
    assert numbers
    assert {(v.verdict, v.error_type, v.expected) for v in numbers} == {
        ("not_in_source", "NUM", ())
    }


@pytest.mark.parametrize(
    "text",
    ["Ann Lee scored 15 points in the first half.", "Ann Lee had 12 points in the fourth quarter."],
)
def test_a_player_in_a_part_of_the_match_stays_open(text: str) -> None:
    assert not _wrong(text)
    assert not _wrong("Ann Lee scored 15 points in the first half.", Source((PLAYERS,)))


def test_a_lead_in_a_part_of_the_match_is_not_the_final_one() -> None:
    assert not _wrong("Bo Tan led the way in points in the first half.")


def test_a_true_margin_at_a_time_is_no_error() -> None:
    assert not _wrong("The Owls took a five-point lead into halftime.")


def test_goals_without_a_period_are_those_of_the_match() -> None:
    assert not _wrong("The Elks scored 4 goals, with 4 goals in the second period.", HOCKEY)
    assert _wrong("The Seals scored 3 goals in the second period.", HOCKEY) == {"3"}
    assert _wrong("The Elks scored 3 goals.", HOCKEY) == {"3"}


def test_home_and_away_stand_for_the_sides() -> None:
    assert not _wrong("The home team won with a final score of 4-3.", HOCKEY)
    assert _wrong("The away team won the game.", HOCKEY)


def test_sides_of_one_city_tell_no_players_apart() -> None:
    sides = Table.of(SIDES.columns, [[*row[:1], "Norvik", *row[2:]] for row in SIDES.rows])
    assert not _wrong("Ed Moss led the Owls with 24 points.", Source((sides, PLAYERS)))
