"""The words that headers and texts share: abbreviations, synonyms, and one form for each word.

Abbreviations and synonyms stand in ``lexicons/``, a file a domain.

Both sides are brought to the same *terms*: the header ``PTS_QTR1`` and the words "points in the
first quarter" are ``point``, ``quarter``, ``1``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import yaml

from tablemend.values.text import clean, strip_accents

LITTLE_WORDS = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his i if in into "
    "is it its me my of off on or our out s she so such than that the their them then "
    "there these they this those to too up upon us was we were what when where which "
    "while who whom whose will with within you your".split()
)
"""Words that name nothing alone."""

_FOLDER = Path(__file__).with_name("lexicons")


def _load(section: str) -> dict[str, str]:
    """Form -> what it means, of all domains."""
    found: dict[str, str] = {}
    for path in sorted(_FOLDER.glob("*.yaml")):
        meanings = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader).get(section, {})
        found |= {form: meaning for meaning, forms in meanings.items() for form in forms.split()}
    return found


_WORDS = _load("words")
_WHOLE_HEADERS = _load("headers")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[%#&]")
_CAMEL = re.compile(r"(?<=[a-z]{2})(?=[A-Z][a-z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})")
_LETTERS_DIGITS = re.compile(r"(?<=[A-Za-z]{3})(?=\d)|(?<=\d)(?=[A-Za-z]{4})")
_FIELD_GOAL = re.compile(r"\bfield[ -]goals?\b", re.I)  # no goal of football
_INITIALS = re.compile(r"\b(?:[A-Za-z]\.)+[A-Za-z]\b\.?")
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
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


UNIT_TERMS = {unit: frozenset(map(stem, words.split())) for unit, words in _load("units").items()}
"""Unit -> terms of the headers whose cells count in it."""


@lru_cache(maxsize=1 << 14)
def terms(word: str) -> tuple[str, ...]:
    """The terms of a word in small letters: ``pts`` is ``point``, ``fgm`` three terms."""
    expansion = _WORDS.get(word)
    if expansion is not None:
        return tuple(stem(part) for part in expansion.split())
    return (stem(word),)


@lru_cache(maxsize=1 << 12)
def header_terms(header: str) -> tuple[str, ...]:
    """The terms of a header, without its unit in brackets unless that is all there is."""
    text = strip_accents(clean(header))
    bare = _BRACKETS.sub(" ", text)
    text = bare if _TOKEN.search(bare) else text
    whole = _WHOLE_HEADERS.get(text.strip().casefold())
    if whole:
        return tuple(stem(word) for word in whole.split())
    text = _FIELD_GOAL.sub("fieldgoal", text)
    text = _INITIALS.sub(lambda match: match[0].replace(".", ""), text)
    text = _LETTERS_DIGITS.sub(" ", _CAMEL.sub(" ", text.replace("_", " ")))
    found: list[str] = []
    for word in _TOKEN.findall(text.casefold()):
        if word in LITTLE_WORDS and len(text.split()) > 1:
            continue
        found += ("percent",) if word == "%" else terms(word)
    return tuple(dict.fromkeys(found))


_ORIGIN = ("an", "ish", "ese", "ch", "ss", "sh", "ek", "qi", "li", "ni", "ine")
_COUNTRIES = {
    adjective: tuple(names.split("|"))
    for adjective, names in {
        "american": "united states|usa|u.s.",
        "british": "great britain|united kingdom|england|scotland|wales",
        "english": "england",
        "scottish": "scotland",
        "welsh": "wales",
        "irish": "ireland",
        "french": "france",
        "spanish": "spain",
        "dutch": "netherlands|holland",
        "danish": "denmark",
        "swiss": "switzerland",
        "greek": "greece",
        "turkish": "turkey",
        "polish": "poland",
        "finnish": "finland",
        "czech": "czech",
        "norwegian": "norway",
        "filipino": "philippines",
        "chinese": "china",
        "portuguese": "portugal",
        "korean": "korea",
        "german": "germany",
    }.items()
}


def comes_from(word: str, name: str) -> bool:
    """Whether a word is the adjective of a place: "australian" of "australia", in small letters."""
    if len(word) < 5 or not word.endswith(_ORIGIN):
        return False
    if names := _COUNTRIES.get(word):
        return any(country in name for country in names)
    length = max(4, len(word) - 3)
    return any(part[:length] == word[:length] for part in name.split())
