"""Constructed claims, one operator each: supported, contradicted, unscored."""

from __future__ import annotations

import pytest

from tests.support.logic_claims import PLAYERS, QUARTERS, SEASON, verdict

SUPPORTED, CONTRADICTED = "supported", "contradicted"

PLAYER_CASES = [
    # superlatives and ranks: the totals row does not count
    ("Maria Costa scored the most goals", SUPPORTED),
    ("Anna Berg scored the most goals", CONTRADICTED),
    ("Anna Berg had the second most goals", SUPPORTED),
    ("Lucia Vega had the second most goals", CONTRADICTED),
    ("The player with the highest number of assists was Lucia Vega", SUPPORTED),
    ("The player with the highest number of assists was Ida Holm", CONTRADICTED),
    ("The lowest number of goals was 0, by Carla Ruiz", SUPPORTED),
    ("The oldest player was Lucia Vega", SUPPORTED),
    ("The oldest player was Ida Holm", CONTRADICTED),
    ("The youngest player was Ida Holm", SUPPORTED),
    # comparisons
    ("Anna Berg scored more goals than Lucia Vega", SUPPORTED),
    ("Eva Novak scored more goals than Lucia Vega", CONTRADICTED),
    ("Anna Berg scored 6 more goals than Lucia Vega", SUPPORTED),
    ("Anna Berg scored 5 more goals than Lucia Vega", CONTRADICTED),
    ("Lucia Vega had more assists than goals", SUPPORTED),
    ("Anna Berg had more assists than goals", CONTRADICTED),
    ("There were more players from Spain than from Sweden", SUPPORTED),
    ("There were more players from Sweden than from Spain", CONTRADICTED),
    ("Anna Berg and Ida Holm are from the same country", SUPPORTED),
    ("Anna Berg and Eva Novak are from the same country", CONTRADICTED),
    # counts
    ("There are 3 players from Spain", SUPPORTED),
    ("There are 4 players from Spain", CONTRADICTED),
    ("There are two players from Sweden", SUPPORTED),
    ("There are more than 2 players from Spain", SUPPORTED),
    ("There are more than 3 players from Spain", CONTRADICTED),
    ("There is 1 defender from Sweden", SUPPORTED),
    ("There are 3 different countries", SUPPORTED),
    ("3 of the 6 players are from Spain", SUPPORTED),
    ("2 of the 6 players are from Spain", CONTRADICTED),
    ("4 players had more than 1 goal", SUPPORTED),
    ("5 players had more than 1 goal", CONTRADICTED),
    ("There are 3 Spanish players", SUPPORTED),
    # quantifiers and only
    ("All of the players from Spain were born before 1995", SUPPORTED),
    ("All of the players from Sweden were born before 1995", CONTRADICTED),
    ("None of the players from Spain is a defender", SUPPORTED),
    ("None of the players from Sweden is a defender", CONTRADICTED),
    ("Both Anna Berg and Ida Holm are from Sweden", SUPPORTED),
    ("Both Anna Berg and Eva Novak are from Sweden", CONTRADICTED),
    ("Most of the players are from Spain", CONTRADICTED),
    ("Half of the players are from Spain", SUPPORTED),
    ("Eva Novak is the only player from Croatia", SUPPORTED),
    ("Anna Berg is the only player from Sweden", CONTRADICTED),
    # sums and averages leave the totals row out
    ("The total number of goals of the players from Spain was 21", SUPPORTED),
    ("The total number of goals of the players from Spain was 36", CONTRADICTED),
    ("The average number of goals was 6", SUPPORTED),
    ("The average number of goals was 9", CONTRADICTED),
    ("The goals ranged from 0 to 15", SUPPORTED),
    ("The goals ranged from 1 to 15", CONTRADICTED),
    # denial
    ("Anna Berg did not score the most goals", SUPPORTED),
    ("Maria Costa did not score the most goals", CONTRADICTED),
]
SEASON_CASES = [
    ("They won 3 games", SUPPORTED),
    ("They lost 3 games", CONTRADICTED),
    ("They won 1 game in October", SUPPORTED),
    ("They won 2 games in October", CONTRADICTED),
    ("There were 2 games before October 5, 2003", SUPPORTED),
    ("There were 4 games before October 5, 2003", CONTRADICTED),
    ("The game against the Dolphins had the highest attendance", SUPPORTED),
    ("The game against the Saints had the highest attendance", CONTRADICTED),
    ("They played the Saints before the Titans", SUPPORTED),
    ("They played the Titans before the Saints", CONTRADICTED),
    ("They lost to the Saints on September 14, 2003", SUPPORTED),
    ("They lost to the Saints on September 7, 2003", CONTRADICTED),
]
QUARTER_CASES = [
    ("Revenue rose from $200 million in Q1 2023 to $220 million in Q2 2023", SUPPORTED),
    ("Revenue fell from $200 million in Q1 2023 to $220 million in Q2 2023", CONTRADICTED),
    ("Revenue grew by 10% between Q2 2023 and Q3 2023", SUPPORTED),
    ("Revenue grew by 25% between Q2 2023 and Q3 2023", CONTRADICTED),
    ("Revenue peaked in Q3 2023", SUPPORTED),
    ("Revenue peaked in Q4 2023", CONTRADICTED),
    ("Net income was lowest in Q1 2023", SUPPORTED),
    ("Net income was lowest in Q3 2023", CONTRADICTED),
    ("Revenue increased every quarter from Q1 2023 to Q3 2023", SUPPORTED),
    ("Net income increased every quarter from Q1 2023 to Q3 2023", CONTRADICTED),
]


@pytest.mark.parametrize(("text", "expected"), PLAYER_CASES)
def test_players(text: str, expected: str) -> None:
    assert verdict(PLAYERS, text) == expected


@pytest.mark.parametrize(("text", "expected"), SEASON_CASES)
def test_games(text: str, expected: str) -> None:
    assert verdict(SEASON, text) == expected


@pytest.mark.parametrize(("text", "expected"), QUARTER_CASES)
def test_periods_side_by_side(text: str, expected: str) -> None:
    assert verdict(QUARTERS, text) == expected
