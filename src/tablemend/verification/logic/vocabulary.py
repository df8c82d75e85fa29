"""What the adjectives of logical claims ask for: which columns, and which end is meant."""

from __future__ import annotations

from typing import NamedTuple

from tablemend.verification.lexicon import terms


class Quality(NamedTuple):
    """What an adjective orders by.

    Attributes:
        about: terms of headers that it speaks of by itself; empty where a noun must say it.
        inverse: terms of headers for which its direction turns: "oldest" is the largest age and
            the smallest year, "fastest" the highest speed and the shortest time.
    """

    about: frozenset[str] = frozenset()
    inverse: frozenset[str] = frozenset()


def _terms(words: str) -> frozenset[str]:
    return frozenset(term for word in words.split() for term in terms(word))


THINGS = frozenset(
    "game games time times match matches player players team teams occasion occasions race races "
    "episode episodes season seasons country countries row rows entry entries member members "
    "song songs event events tournament tournaments week weeks people person driver drivers "
    "nation nations athlete athletes title titles album albums city cities venue venues one ones "
    "quarter quarters month months day days entity entities segment segments "
    "year years category categories account accounts warehouse warehouses employee employees "
    "item items company companies model models test tests product products region regions".split()
)
"""What a row can be called without any column of that name."""

EMPTY = frozenset(
    "value values figure figures amount level during between among overall table list data other "
    "same also moreover meanwhile addition further respectively along all total number each up "
    "out across".split()
)
"""Words that say nothing of a row by themselves."""

DISTINCT = frozenset("different separate distinct unique various".split())
"""Words that count values once each."""

RESULTS = {
    word: result
    for result, words in {
        "w": "win wins won winning victory victories victorious beat beats defeat defeats defeated",
        "l": "lose loses lost losing loss losses",
        "d": "draw draws drew drawn tie ties tied",
    }.items()
    for word in words.split()
}
"""Words of results, by the letter of a cell."""

LOWER_IS_BETTER = _terms(
    "error errors wer cer loss perplexity ppl latency time cost churn stockout defects penalties"
)
"""Headers of columns in which less is better."""

AGAINST = _terms("conceded against allowed ga pa")
"""Headers of what a side lets in."""

RANKS = _terms("rank ranking place position pos finish seed standing pick")
"""Headers of columns in which 1 is the best."""

_WHEN = _terms(
    "date year season released release aired air opened founded built established time period "
    "quarter month day debut elected created published born birth week completed introduced"
)
_LENGTH = _terms(
    "length distance duration long time yards km miles metres years minutes span runtime laps term"
)
_SIZE = _terms("size area population attendance crowd height length employees enrollment capacity")
_HEIGHT = _terms("height elevation metres meters feet ft tall altitude storeys floors m")
_CLOCKED = _terms("time qual lap duration")
_SPEED = _terms("speed mph kmh")

QUALITIES: dict[str, Quality] = {
    "high": Quality(frozenset(), RANKS),
    "low": Quality(frozenset(), RANKS),
    "many": Quality(),
    "little": Quality(),
    "few": Quality(),
    "great": Quality(),
    "large": Quality(_SIZE),
    "small": Quality(_SIZE),
    "long": Quality(_LENGTH),
    "short": Quality(_LENGTH | _HEIGHT),
    "tall": Quality(_HEIGHT),
    "heavy": Quality(_terms("weight kg lbs lb mass")),
    "light": Quality(_terms("weight kg lbs lb mass")),
    "old": Quality(_terms("age") | _WHEN, _WHEN),
    "young": Quality(_terms("age") | _WHEN, _WHEN),
    "new": Quality(_WHEN),
    "recent": Quality(_WHEN),
    "early": Quality(_WHEN),
    "late": Quality(_WHEN),
    "first": Quality(_WHEN),
    "last": Quality(_WHEN),
    "fast": Quality(_CLOCKED | _SPEED, _CLOCKED),
    "slow": Quality(_CLOCKED | _SPEED, _CLOCKED),
    "cheap": Quality(_terms("price cost fee value")),
    "expensive": Quality(_terms("price cost fee value")),
    "rich": Quality(_terms("wealth worth income gdp revenue")),
    "populous": Quality(_terms("population inhabitants")),
    "populated": Quality(_terms("population inhabitants")),
    "popular": Quality(_terms("viewers votes sales visitors")),
    "watched": Quality(_terms("viewers rating share")),
    "attended": Quality(_terms("attendance crowd")),
    "valuable": Quality(_terms("value")),
    "decorated": Quality(_terms("total medals")),
    "wide": Quality(_terms("width gauge")),
    "deep": Quality(_terms("depth")),
    "good": Quality(frozenset(), RANKS),
    "bad": Quality(frozenset(), RANKS),
}
"""By the sense of a cue, or by the adjective that "most" stands before."""

_PAIRS = (
    "highest lowest|most least|largest smallest|biggest smallest|greatest smallest|best worst"
    "|longest shortest|tallest shortest|heaviest lightest|oldest youngest|newest oldest"
    "|latest earliest|fastest slowest|maximum minimum|top bottom|first last|richest poorest"
    "|higher lower|more fewer|larger smaller|bigger smaller|greater smaller|better worse"
    "|longer shorter|taller shorter|heavier lighter|older younger|newer older|later earlier"
    "|faster slower|before after|above below|over under|more less|most fewest|increased decreased"
    "|rose fell|grew shrank|increase decrease|rise fall|up down|gained lost|increasing decreasing"
    "|rising falling|climbed dropped|growth decline|grew declined|improved worsened"
    "|exceeded trailed|exceeds trails|surpassed trailed|outperformed underperformed"
    "|outperforms underperforms|ahead behind|won lost|all none|always never"
)
_OPPOSITES: dict[str, str] = {}
for _pair in _PAIRS.split("|"):
    _one, _other = _pair.split()
    _OPPOSITES.setdefault(_one, _other)
    _OPPOSITES.setdefault(_other, _one)


def opposite(words: str) -> str:
    """The words with their last word of direction turned round; empty where none has one."""
    parts = words.split()
    for place in reversed(range(len(parts))):
        if turned := _OPPOSITES.get(parts[place].casefold()):
            turned = turned.capitalize() if parts[place][0].isupper() else turned
            return " ".join([*parts[:place], turned, *parts[place + 1 :]])
    return ""
