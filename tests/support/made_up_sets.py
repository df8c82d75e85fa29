"""Small made-up records in the form of every set with human labels, and of the studied tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEAMS = ("Alba", "Sella", "Vey", "Tarn", "Orla", "Brenn")
COUNT = 6
"""Tables of each set, enough for both halves."""


def statement_table(number: int) -> dict[str, Any]:
    rows = [
        [team, str(10 + 7 * place + number), str(3 + place)] for place, team in enumerate(TEAMS)
    ]
    return {"header": ["team", "points", "wins"], "rows": rows}


def tabfact(number: int) -> dict[str, Any]:
    points = 10 + number
    return {
        "table_id": f"t{number}",
        "caption": "league",
        "difficulty": ("simple", "complex")[number % 2],
        **statement_table(number),
        "statements": [
            {"text": f"alba have {points} point", "label": 1},
            {"text": f"alba have {points + 5000} point", "label": 0},
        ],
    }


def logicnlg(number: int) -> dict[str, Any]:
    true, false = "Brenn had the most points", "Alba had the most points"
    return {
        "table_id": f"l{number}",
        "title": "league",
        **statement_table(number),
        "references": [{"text": true}, {"text": "Alba had 3 wins"}],
        "pos_neg": [{"pos": true, "neg": false}, {"pos": true, "neg": true}],
    }


def infotabs(number: int) -> dict[str, Any]:
    return {
        "table_id": f"i{number}",
        "part": "dev",
        "category": "Person",
        "table": {"title": ["Ann Vey"], "Born": ["5 May 1931"], "Instruments": ["oboe", "harp"]},
        "hypotheses": [
            {"text": "Ann Vey was born in 1931.", "label": "E"},
            {"text": "Ann Vey was born in 1977.", "label": "C"},
            {"text": "Ann Vey liked the sea.", "label": "N"},
        ],
    }


def _paper_table() -> dict[str, Any]:
    return {
        "table_caption": "Accuracy of two models.",
        "table_column_names": ["[EMPTY]", "Accuracy"],
        "table_content_values": [["Small", "71.2"], ["Large", "[BOLD] 80.5"]],
    }


def scitab(number: int) -> dict[str, Any]:
    label = ("supports", "refutes", "not enough info")[number % 3]
    return {"id": f"c{number}", "claim": "Large is best.", "label": label, **_paper_table()}


def scigen(number: int) -> dict[str, Any]:
    output = "Large reaches an accuracy of 80.5 . Small reaches 99.9 . We thank"
    return {
        "id": f"g{number}",
        **_paper_table(),
        "gold_text": "Large is the best with 80.5.",
        "output": output,
        "units": [
            {"text": "Large reaches an accuracy of 80.5 .", "label": "Entailed"},
            {"text": "Small reaches 99.9 . /", "label": "Incorrect"},
            {"text": "We thank", "label": "N/A"},
        ],
    }


def _span(text: str, words: str, kind: str) -> dict[str, Any]:
    start = text.index(words)
    span = {"start": start, "end": start + len(words), "text": words, "type": kind}
    return span | {"offset_ok": True}


GAME = {"homeTeam": {"name": "Alba"}, "awayTeam": {"name": "Vey"}, "homeScore": 3, "awayScore": 1}
SAID = "Alba beat Vey by 3 goals to 7. It was a fine evening."


def quintd(number: int) -> dict[str, Any]:
    domain, data = (
        ("ice_hockey", repr(GAME)),
        ("owid", "# country: Tarnland\n# title: Rain\n# unit: mm\ndate,value\n2001,7\n2002,9\n"),
        ("wikidata", "Ann Vey\n---\n- instance of: human\n- born: 1931\n"),
    )[number % 3]
    spans = [_span(SAID, "7", "Incorrect"), _span(SAID, "It was a fine evening", "Other")]
    return {
        "id": f"{domain}-{number}",
        "domain": domain,
        "data": data,
        "outputs": [{"model": "m", "text": SAID, "human_spans": spans}],
    }


def d2t_span_annotation(number: int) -> dict[str, Any]:
    first = [_span(SAID, "7", "Contradictory"), _span(SAID, "fine evening", "Not checkable")]
    second = [_span(SAID, "3 goals to 7", "Contradictory"), _span(SAID, "It was", "Repetitive")]
    annotations = [{"spans": first}, {"spans": second}][: 1 + (number % 2 or number < 4)]
    return {
        "id": f"football-{number}",
        "domain": "football",
        "data": GAME,
        "outputs": [{"model": "m", "text": SAID, "annotations": annotations}],
    }


def accuracy_shared_task(number: int) -> dict[str, Any]:
    spaced = "The Terns beat the Owls 101 - 93 on Monday . Ann Vey had 7 points ."
    header = ["FIRST_NAME", "SECOND_NAME", "PLAYER_NAME", "TEAM_CITY", "START_POSITION", "MIN"]
    header += "PTS REB AST STL BLK TO PF FGM FGA FG_PCT FG3M FG3A FG3_PCT FTM FTA FT_PCT".split()
    header += ["OREB", "DREB"]
    values = [str(place) for place in range(len(header) - 6)]
    line = {
        f"TEAM-{name}": str(20 + place)
        for place, name in enumerate(
            "WINS LOSSES PTS_QTR1 PTS_QTR2 PTS_QTR3 PTS_QTR4 REB AST TOV FG_PCT FG3_PCT "
            "FT_PCT".split()
        )
    }
    errors = [
        {"char_start": spaced.index(words), "char_end": spaced.index(words) + len(words)}
        | {"type": kind}
        for words, kind in (("Monday", "NAME"), ("7", "NUMBER"))
    ]
    return {
        "id": f"S{number}",
        "date": "02_03_17",
        "text": spaced,
        "text_detokenized": "The Terns beat the Owls 101-93 on Monday. Ann Vey had 7 points.",
        "human_summary": "The Terns won 101 - 93 .",
        "errors": errors,
        "box_score": {
            "header": header,
            "rows": [
                ["Ann", "Vey", "Ann Vey", "Tarn", "N/A", "20", *values],
                ["Bo", "Orl", "Bo Orl", "Orla", "N/A", "N/A", *["N/A"] * len(values)],
            ],
        },
        "home_line": line | {"TEAM-NAME": "Terns", "TEAM-CITY": "Tarn", "TEAM-PTS": "101"},
        "vis_line": line | {"TEAM-NAME": "Owls", "TEAM-CITY": "Orla", "TEAM-PTS": "93"},
    }


def d2t_human_ratings(number: int) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "dataset": "SFRES",
        "mr": "inform(name='the tern',food=fish,kids_allowed='no')",
        "text": "The Tern serves fish." if number % 2 else "The Tern serves rice and 12 soups.",
        "refs": ["The Tern serves fish and children may not come in."],
        "human": {"informativeness": 5.0 if number % 2 else 2.0 + number / 10},
    }


def wikitablequestions(number: int) -> dict[str, Any]:
    return {"title": f"League {number}", "caption": "", **statement_table(number)}


FILES = {
    "tabfact/open.jsonl": tabfact,
    "logicnlg/open.jsonl": logicnlg,
    "infotabs/open.jsonl": infotabs,
    "scitab/open.jsonl": scitab,
    "scigen/open.human_eval.jsonl": scigen,
    "quintd/open.jsonl": quintd,
    "d2t_span_annotation/open.jsonl": d2t_span_annotation,
    "accuracy_shared_task/open.jsonl": accuracy_shared_task,
    "d2t_human_ratings/open.jsonl": d2t_human_ratings,
    "wikitablequestions/open.jsonl": wikitablequestions,
}


def write_sets(folder: Path) -> Path:
    """All sets below a folder, with split keys of both halves."""
    for name, make in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True)
        records = [
            make(number) | {"split_key": f"{path.parent.name} {number}"} for number in range(COUNT)
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return folder
