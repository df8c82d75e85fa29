"""The words that headers and texts share: abbreviations, synonyms, and one form for each word.

Both sides are brought to the same *terms*: the header ``PTS_QTR1`` and the words "points in the
first quarter" are ``point``, ``quarter``, ``1``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tablemend.values.text import clean, strip_accents

LITTLE_WORDS = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his i if in into "
    "is it its me my of off on or our out s she so such than that the their them then "
    "there these they this those to too up upon us was we were what when where which "
    "while who whom whose will with within you your".split()
)
"""Words that name nothing alone."""

# Abbreviations that stand in headers, and in texts, for these words.
_ABBREVIATIONS = {
    "pts": "point",
    "pt": "point",
    "reb": "rebound",
    "rebs": "rebound",
    "boards": "rebound",
    "board": "rebound",
    "trb": "rebound",
    "oreb": "offensive rebound",
    "dreb": "defensive rebound",
    "ast": "assist",
    "asts": "assist",
    "dimes": "assist",
    "stl": "steal",
    "stls": "steal",
    "blk": "block",
    "blks": "block",
    "tov": "turnover",
    "fg": "fieldgoal",
    "fgm": "fieldgoal made",
    "fga": "fieldgoal attempt",
    "fg3": "3 point",
    "fg3m": "3 point made",
    "fg3a": "3 point attempt",
    "3p": "3 point",
    "3pt": "3 point",
    "3pm": "3 point made",
    "3pa": "3 point attempt",
    "three": "3",
    "threes": "3 point",
    "treys": "3 point",
    "trey": "3 point",
    "ft": "free throw",
    "ftm": "free throw made",
    "fta": "free throw attempt",
    "pct": "percent",
    "percentage": "percent",
    "perc": "percent",
    "avg": "average",
    "mean": "average",
    "qtr": "quarter",
    "qtrs": "quarter",
    "yds": "yard",
    "yd": "yard",
    "td": "touchdown",
    "tds": "touchdown",
    "att": "attempt",
    "comp": "completion",
    "rec": "reception",
    "gp": "game played",
    "gs": "game started",
    "pld": "played",
    "hr": "home run",
    "rbi": "run batted in",
    "rbis": "run batted in",
    "rev": "revenue",
    "revs": "revenue",
    "qty": "quantity",
    "amt": "amount",
    "pop": "population",
    "temp": "temperature",
    "temps": "temperature",
    "max": "maximum",
    "min": "minimum",
    "dept": "department",
    "mgr": "manager",
    "dob": "born",
    "birth": "born",
    "birthdate": "born",
    "hgt": "height",
    "wgt": "weight",
    "elev": "elevation",
    "est": "established",
    "loc": "location",
    "nr": "number",
    "num": "number",
    "yr": "year",
    "elapsed": "minute",
    "yrs": "year",
    "mins": "minute",
    "mos": "month",
    "govt": "government",
    "intl": "international",
    "acc": "accuracy",
    "prec": "precision",
    "params": "parameter",
    "hgb": "hemoglobin",
    "wbc": "white blood cell",
    "rbc": "red blood cell",
    "plt": "platelet",
    "hct": "hematocrit",
    "bun": "urea nitrogen",
    "chol": "cholesterol",
    "trig": "triglyceride",
    "churn": "churn",
    "yoy": "year over year",
    "qoq": "quarter over quarter",
    "ytd": "year to date",
    "opp": "opponent",
    "vs": "opponent",
}
# Abbreviations of which the whole header consists; in a text these letters mean other things.
_WHOLE_HEADERS = {
    "to": "turnover",
    "min": "minute",
    "pf": "personal foul",
    "w": "win",
    "l": "loss",
    "d": "draw",
    "t": "tie",
    "g": "game",
    "gd": "score difference",
    "ga": "score against",
    "gf": "score",
    "no": "number",
    "no.": "number",
    "#": "number",
    "pos": "position",
    "r": "run",
    "h": "hit",
    "e": "error",
    "p": "played",
    "s": "set",
    "ppg": "point per game",
    "rpg": "rebound per game",
    "apg": "assist per game",
}
# Other words and other forms of the same thing.
_SYNONYMS = {
    "scored": "point score",
    "scoring": "point score",
    "scores": "score",
    "goal": "score",
    "conceded": "conceded against",
    "conceding": "conceded against",
    "concede": "conceded against",
    "goals": "score",
    "won": "win",
    "wins": "win",
    "winning": "win",
    "victories": "win",
    "victory": "win",
    "lost": "loss",
    "lose": "loss",
    "losses": "loss",
    "losing": "loss",
    "defeats": "loss",
    "drawn": "draw",
    "drew": "draw",
    "tied": "tie",
    "winner": "winner",
    "winners": "winner",
    "champion": "winner",
    "runners": "runner",
    "swipes": "steal",
    "stolen": "steal",
    "giveaways": "turnover",
    "attended": "attendance",
    "spectators": "attendance",
    "crowd": "attendance",
    "inhabitants": "population",
    "people": "population",
    "residents": "population",
    "populated": "population",
    "populous": "population",
    "located": "location",
    "situated": "location",
    "died": "death",
    "deaths": "death",
    "founded": "founded",
    "established": "founded",
    "formed": "founded",
    "created": "founded",
    "sales": "sale",
    "sold": "sale",
    "turnover": "turnover",
    "earnings": "earning",
    "earned": "earning",
    "profit": "profit",
    "profits": "profit",
    "country": "country",
    "nation": "country",
    "nationality": "country",
    "films": "film",
    "movie": "film",
    "movies": "film",
    "album": "album",
    "directed": "director",
    "directors": "director",
    "written": "writer",
    "wrote": "writer",
    "author": "writer",
    "starring": "star",
    "starred": "star",
    "stars": "star",
    "produced": "producer",
    "released": "release",
    "aired": "air",
    "viewers": "viewer",
    "watched": "viewer",
    "votes": "vote",
    "voters": "vote",
    "seats": "seat",
    "ranked": "rank",
    "rated": "rating",
    "ranking": "rank",
    "placed": "place",
    "position": "position",
    "finished": "finish",
    "finishing": "finish",
    "tall": "height",
    "high": "high",
    "heights": "height",
    "long": "length",
    "heavy": "weight",
    "weighs": "weight",
    "weighing": "weight",
    "wide": "width",
    "aged": "age",
    "old": "age",
    "priced": "price",
    "costs": "cost",
    "cost": "cost",
    "built": "built",
    "constructed": "built",
    "coached": "coach",
    "managed": "manager",
    "played": "played",
    "plays": "played",
    "appearances": "appearance",
    "appeared": "appearance",
    "humid": "humidity",
    "cloudy": "cloud",
    "clouds": "cloud",
    "windy": "wind",
    "winds": "wind",
    "rainy": "rain",
    "rainfall": "rain",
    "gusts": "gust",
    "gusting": "gust",
    "feel": "feel",
    "feels": "feel",
    "feeling": "feel",
    "screen": "display",
    "displays": "display",
    "processor": "cpu",
    "chipset": "chipset",
    "cameras": "camera",
    "colours": "color",
    "colour": "color",
    "colors": "color",
    "announced": "announced",
    "launched": "launch",
    "weights": "weight",
    "tests": "test",
    "countries": "country",
    "cities": "city",
    "companies": "company",
    "industries": "industry",
    "counties": "county",
    "parties": "party",
    "first": "1",
    "opening": "1",
    "second": "2",
    "third": "3",
    "fourth": "4",
    "1st": "1",
    "2nd": "2",
    "3rd": "3",
    "4th": "4",
    "gross": "gross",
}
_PHRASES = (
    (
        re.compile(
            r"\bfrom (?:beyond|behind|outside) the arc\b|\bfrom (?:deep|downtown|distance)\b"
            r"|\bfrom (?:the )?(?:three|3|long)(?:[ -]+(?:point|pointer|range))*"
            r"(?: (?:line|range|land|territory))?\b"
            r"|\b(?:three|3)[ -]+pointers?\b|\b(?:three|3)[ -]+point (?:shot|range|line|land)s?\b"
            r"|\blong[ -]range\b"
        ),
        ("3", "point"),
    ),
    (
        re.compile(
            r"\bfrom the (?:field|floor)\b|\bfield[ -]+goals?\b"
            r"|\b(?:shot|shooting|shots)\b(?! from (?:the )?(?:three|3|long|deep|beyond|down|free))"
        ),
        ("fieldgoal",),
    ),
    (
        re.compile(
            r"\b(?:from|at) the (?:free[ -]+throw |foul |charity )?(?:line|stripe)\b"
            r"|\bfree[ -]+throws?(?: line)?\b"
        ),
        ("free", "throw"),
    ),
)

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[%#&]")
_CAMEL = re.compile(r"(?<=[a-z]{2})(?=[A-Z][a-z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})")
_LETTERS_DIGITS = re.compile(r"(?<=[A-Za-z]{3})(?=\d)|(?<=\d)(?=[A-Za-z]{4})")
_FIELD_GOAL = re.compile(r"\bfield[ -]goals?\b", re.I)  # no goal of football
_INITIALS = re.compile(r"\b(?:[A-Za-z]\.)+[A-Za-z]\b\.?")
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_SHORT = 3  # letters of a header that is no word
_ENDINGS = ("ings", "ing", "edly", "ed", "ers", "er", "es", "s", "ly")


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """One form for the forms of an English word; small letters expected. Not a grammar."""
    if word.endswith("'s"):
        word = word[:-2]
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ss", "us", "is")):
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            base = word[: -len(ending)]
            if len(base) > 4 and base[-1] == base[-2] and base[-1] not in "lsez":
                base = base[:-1]
            return base.removesuffix("e")
    return word.removesuffix("s").removesuffix("e") if len(word) > 4 else word.removesuffix("s")


@lru_cache(maxsize=1 << 14)
def terms(word: str) -> tuple[str, ...]:
    """The terms of a word in small letters: ``pts`` is ``point``, ``fgm`` three terms."""
    expansion = _ABBREVIATIONS.get(word) or _SYNONYMS.get(word)
    if expansion is not None:
        return tuple(stem(part) for part in expansion.split())
    return (stem(word),)


@lru_cache(maxsize=1 << 12)
def header_terms(header: str) -> tuple[str, ...]:
    """The terms of a header, without its unit in brackets unless that is all there is."""
    text = strip_accents(clean(header))
    bare = _BRACKETS.sub(" ", text)
    text = bare if _WORD.search(bare) else text
    whole = _WHOLE_HEADERS.get(text.strip().casefold())
    if whole:
        return tuple(stem(word) for word in whole.split())
    text = _FIELD_GOAL.sub("fieldgoal", text)
    text = _INITIALS.sub(lambda match: match[0].replace(".", ""), text)
    text = _LETTERS_DIGITS.sub(" ", _CAMEL.sub(" ", text.replace("_", " ")))
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if word in LITTLE_WORDS and len(text.split()) > 1:
            continue
        found += ("percent",) if word == "%" else terms(word)
    return tuple(dict.fromkeys(found))


def is_opaque(header: str) -> bool:
    """Whether a header is a short form that can stand for anything: "F", "G+"."""
    text = clean(header).strip(" .")
    letters = text.rstrip("+-\u2212")
    if not letters.isalpha() or len(letters) > _SHORT or not (text.isupper() or len(text) == 1):
        return False
    low = text.casefold()
    return low not in _WHOLE_HEADERS and low not in _ABBREVIATIONS and low not in _SYNONYMS


def phrase_terms(text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """Idioms that name a column, with their places, in a text of small letters."""
    found = []
    for pattern, said in _PHRASES:
        found += [(match.start(), match.end(), said) for match in pattern.finditer(text)]
    return sorted(found)
