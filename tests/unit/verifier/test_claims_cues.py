"""The lexicon of cue words: every kind, tokenised and lemmatised texts, and what is no cue."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from tablemend.verifier.lexicon import SENSES, CueKind, find_cues


@pytest.mark.parametrize(
    ("text", "words", "kind", "sense", "direction", "number"),
    [
        ("He had the highest score.", "highest", "superlative", "high", 1, None),
        ("the fewest goals", "fewest", "superlative", "few", -1, None),
        ("It won the most medals.", "most", "superlative", "many", 1, None),
        ("temperatures with a low of -3", "low", "superlative", "low", -1, None),
        ("The team was led by Ann Poe.", "led by", "superlative", "lead", 1, None),
        ("the second-highest score", "second-highest", "rank", "high", 1, 2),
        ("the 3rd lowest price", "3rd lowest", "rank", "low", -1, 3),
        ("mira oss be in the top 5", "top 5", "rank", "within", 1, 5),
        ("the three highest games", "three highest", "rank", "within", 1, 3),
        ("Oslo took third place.", "third place", "rank", "place", 0, 3),
        ("jim finish in last", "finish in last", "rank", "last", -1, None),
        ("Red scored more points than Blue.", "more", "comparative", "many", 1, None),
        ("It was lower than in 2019.", "lower than", "comparative", "low", -1, None),
        ("BERT outperforms GloVe.", "outperforms", "comparative", "exceed", 1, None),
        ("the red sox lose to the cubs", "lose to the", "comparative", "beat", -1, None),
        ("in the same year", "same", "comparative", "equal", 0, None),
        ("twice as many wins", "twice as many", "comparative", "multiple", 1, 2),
        ("They won 3 times.", "3 times", "count", "times", 0, 3),
        ("there be 4 game in may", "there be", "count", "there_are", 0, None),
        ("the number of games", "number of", "count", "number", 0, None),
        ("a 12 - rebound double - double", "double - double", "count", "multi_double", 0, 2),
        ("All of the teams won.", "All of", "quantifier", "all", 0, None),
        ("no team won", "no", "quantifier", "none", 0, None),
        ("Only Ann Poe won.", "Only", "quantifier", "only", 0, None),
        ("the only team", "only", "quantifier", "only", 0, None),
        ("Most players scored.", "Most", "quantifier", "most", 1, None),
        ("a majority of games", "majority of", "quantifier", "most", 1, None),
        ("a total of 48 goals", "total of", "aggregate", "sum", 0, None),
        ("on average 12 points", "on average", "aggregate", "mean", 0, None),
        ("Revenue rose to 5.", "rose", "change", "rise", 1, None),
        ("Sales were down 3 %.", "down", "change", "fall", -1, None),
        ("Profit doubled.", "doubled", "change", "multiply", 1, 2),
        ("a gap of 5 points", "gap", "change", "difference", 0, None),
        ("It was built before 1990.", "before", "temporal", "before", -1, None),
        ("the earliest game", "earliest", "superlative", "early", -1, None),
        ("sales in Q3 grew", "Q3", "temporal", "quarter", 0, 3),
        ("in the fourth quarter", "fourth quarter", "temporal", "quarter", 0, 4),
        ("They play on Friday.", "Friday", "temporal", "weekday", 0, None),
        ("at 17:30", "17:30", "temporal", "clock", 0, None),
        ("from May to August", "May", "temporal", "month", 0, None),
        ("They didn't win.", "n't", "negation", "not", 0, None),
        ("bob do not play", "not", "negation", "not", 0, None),
        ("more than 5 goals", "more than", "hedge", "above", 1, None),
        ("at least two teams", "at least", "hedge", "at_least", 1, None),
        ("about $ 5 million", "about", "hedge", "about", 0, None),
        ("~30 games", "~", "hedge", "about", 0, None),
        ("20+ points", "+", "hedge", "above", 1, None),
        ("up to 200 hours", "up to", "hedge", "at_most", -1, None),
    ],
)
def test_a_cue_is_found_with_its_kind_and_side(
    text: str, words: str, kind: str, sense: str, direction: int, number: int | None
) -> None:
    found = [
        (text[cue.start : cue.end], cue.kind, cue.sense, cue.direction, cue.number)
        for cue in find_cues(text)
    ]
    assert (words, kind, sense, direction, number) in found


@pytest.mark.parametrize(
    "text",
    [
        "The Trail Blazers met the Nets.",
        "He may play for them.",
        "No. 5 of the series",
        "All-Star Weekend",
        "It makes up 21 %.",
        "Hemoglobin was low at 10.2.",
        "It falls within the class of novels.",
        "It is a drama as well as a comedy.",
        "北京是中国的首都。",
        "",
    ],
)
def test_what_only_looks_like_a_cue_is_none(text: str) -> None:
    assert find_cues(text) == ()


def test_cues_stand_in_order_and_never_overlap(shared_data: Any) -> None:
    texts = [
        statement["text"]
        for record in shared_data("tabfact")[:150]
        for statement in record["statements"]
    ]
    texts += [output["text"] for record in shared_data("quintd") for output in record["outputs"]]
    found = 0
    for text in texts:
        end = 0
        for cue in find_cues(text):
            assert cue.kind in get_args(CueKind)
            assert end <= cue.start < cue.end <= len(text)
            end, found = cue.end, found + 1
    assert found > len(texts)


def test_every_kind_says_its_senses() -> None:
    assert set(SENSES) == set(get_args(CueKind))
