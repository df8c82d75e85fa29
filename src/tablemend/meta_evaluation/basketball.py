"""Reports of basketball games with the errors that people found: the Accuracy Shared Task.

Thomson and Reiter 2021, "Generation Challenges: Results of the Accuracy Evaluation Shared Task".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tablemend.evidence.source import Source
from tablemend.meta_evaluation.items import Item, Mark
from tablemend.tables.table import Table

PLAYER = {
    "PLAYER_NAME": "Player",
    "TEAM_CITY": "Team city",
    "START_POSITION": "Starting position",
    "MIN": "Minutes",
    "PTS": "Points",
    "REB": "Rebounds",
    "AST": "Assists",
    "STL": "Steals",
    "BLK": "Blocks",
    "TO": "Turnovers",
    "PF": "Personal fouls",
    "FGM": "Field goals made",
    "FGA": "Field goals attempted",
    "FG_PCT": "Field goal percentage (%)",
    "FG3M": "Three-pointers made",
    "FG3A": "Three-pointers attempted",
    "FG3_PCT": "Three-point percentage (%)",
    "FTM": "Free throws made",
    "FTA": "Free throws attempted",
    "FT_PCT": "Free throw percentage (%)",
    "OREB": "Offensive rebounds",
    "DREB": "Defensive rebounds",
}
"""Columns of the box score in words, as its makers explain them (Wiseman et al. 2017, RotoWire)."""
TEAM = {
    "TEAM-NAME": "Team",
    "TEAM-CITY": "City",
    "TEAM-PTS": "Points",
    "TEAM-WINS": "Wins",
    "TEAM-LOSSES": "Losses",
    "TEAM-PTS_QTR1": "Points in the first quarter",
    "TEAM-PTS_QTR2": "Points in the second quarter",
    "TEAM-PTS_QTR3": "Points in the third quarter",
    "TEAM-PTS_QTR4": "Points in the fourth quarter",
    "TEAM-REB": "Rebounds",
    "TEAM-AST": "Assists",
    "TEAM-TOV": "Turnovers",
    "TEAM-FG_PCT": "Field goal percentage (%)",
    "TEAM-FG3_PCT": "Three-point percentage (%)",
    "TEAM-FT_PCT": "Free throw percentage (%)",
}
BLANK = "N/A"


def accuracy_shared_task(record: dict[str, Any]) -> Iterator[Item]:
    """One report, spaced as usual where that changes nothing else; the marks are moved there."""
    text = record["text_detokenized"]
    if "".join(text.split()) != "".join(record["text"].split()):
        text = record["text"]
    places = move_places(record["text"], text)
    marks = tuple(
        Mark(places[error["char_start"]], places[error["char_end"] - 1] + 1, error["type"])
        for error in record["errors"]
    )
    yield Item(
        id=record["id"],
        set="accuracy_shared_task",
        group="",
        text=text,
        source=Source(game_tables(record)),
        split_key=record["split_key"],
        references=(record["human_summary"],),
        marks=(marks,),
    )


def move_places(one: str, other: str) -> list[int]:
    """For each character of a text its place in another that differs in spaces alone.

    A space gets the place of what follows it.
    """
    visible = [place for place, character in enumerate(other) if not character.isspace()]
    places, count = [], 0
    for character in one:
        places.append(visible[min(count, len(visible) - 1)])
        count += not character.isspace()
    return places


def game_tables(record: dict[str, Any]) -> tuple[Table, Table]:
    """The two teams with the day of the game, and the players."""
    day = datetime.strptime(record["date"], "%m_%d_%y").date()
    home, away = record["home_line"], record["vis_line"]
    columns = [*TEAM.values(), "Home or away", "Date", "Weekday"]
    teams = [
        [*(line[key] for key in TEAM), place, f"{day:%B} {day.day}, {day.year}", f"{day:%A}"]
        for line, place in ((home, "home"), (away, "away"))
    ]
    score = record["box_score"]
    index = [score["header"].index(name) for name in PLAYER]
    bench = list(PLAYER).index("START_POSITION")
    players = []
    for row in score["rows"]:
        cells = ["" if row[place] == BLANK else row[place] for place in index]
        played = cells[list(PLAYER).index("MIN")]
        cells[bench] = cells[bench] or ("bench" if played else "did not play")
        players.append(cells)
    title = f"{away['TEAM-NAME']} at {home['TEAM-NAME']}"
    return Table.of(columns, teams, title), Table.of(list(PLAYER.values()), players, title)
