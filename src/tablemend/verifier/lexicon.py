"""Words: those that announce an operation, those that headers and texts share, those of queries.

Cue words are those by which a statement compares, ranks, counts, adds up, or places things in time
(``cue_words.yaml``); abbreviations and synonyms stand in ``lexicons/``, a file a domain, and what
adjectives ask for in ``vocabulary.yaml``. A header and a text are brought to the same *terms*: the
header ``PTS_QTR1`` and the words "points in the first quarter" are ``point``, ``quarter``, ``1``.
It reads running English, tokenised English ("113 - 107 , at home") and English whose verbs are
lemmatised ("mira oss be in the top 5").
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from tablemend.values.dates import MONTHS
from tablemend.values.numbers import ORDINALS as ORDINAL_WORDS
from tablemend.values.numbers import TENS, UP_TO_TWENTY
from tablemend.values.text import align, clean, strip_accents

# ---- cue words

CueKind = Literal[
    "superlative",
    "rank",
    "comparative",
    "count",
    "quantifier",
    "aggregate",
    "change",
    "temporal",
    "negation",
    "hedge",
]

_CUES_FILE: dict[str, Any] = yaml.load(
    Path(__file__).with_name("cue_words.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)
Scale = dict[str, tuple[str, int]]
"""Word -> its adjective and direction."""


def _scale(degree: int, others: dict[str, list[Any]]) -> Scale:
    found: Scale = {
        word: (adjective, degrees[0])
        for adjective, degrees in _CUES_FILE["adjectives"].items()
        for word in degrees[degree].split()
    }
    return found | {
        word: (adjective, way)
        for words, (adjective, way) in others.items()
        for word in words.split()
    }


SENSES: dict[CueKind, str] = _CUES_FILE["senses"]
NUMBERS = {word: value for value, word in enumerate(UP_TO_TWENTY) if value}
ORDINALS = {word: value for value, word in enumerate(ORDINAL_WORDS, 1)}
FACTORS = {word: value for value, words in _CUES_FILE["factors"].items() for word in words.split()}
_COUNTS = FACTORS | ORDINALS | NUMBERS
COMPARATIVES = _scale(1, _CUES_FILE["comparatives"])
SUPERLATIVES = _scale(2, _CUES_FILE["superlatives"])
_DEGREES = COMPARATIVES | SUPERLATIVES


def _any_word(words: Scale) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_COUNT = "|".join(NUMBERS)
_CUE_PARTS: dict[str, str] = _CUES_FILE["parts"] | {
    "number_word": _COUNT,
    "number": rf"(?:\d{{1,3}}|{_COUNT})",
    "ordinal": rf"(?:\d+\s?(?:st|nd|rd|th)|{'|'.join(ORDINALS)})",
    "comparative": _any_word(COMPARATIVES),
    "superlative": _any_word(SUPERLATIVES),
    "clear_month": "|".join(name for name in MONTHS if name not in ("march", "may")),
    # "over 20", "about a million", "nearly $ 5", "at least one"
    "amount": (
        r"(?=\s*(?:[$€£¥~]|usd|an? (?:hundred|thousand|million|billion|dozen)|half\b|twice\b|"
        rf"a (?:third|quarter)\b|[-+.]?\d|(?:{_COUNT}|{'|'.join(TENS[1:])}|hundred|zero)\b))"
    ),
}
_CUE_PART = re.compile(rf"<({'|'.join(_CUE_PARTS)})>")


RULES: tuple[tuple[CueKind, str, int, str], ...] = tuple(
    (
        kind,
        sense,
        direction,
        _CUE_PART.sub(
            lambda match: _CUE_PARTS[match[1]],
            written if isinstance(written, str) else "|".join(written),
        ),
    )
    for kind, sense, direction, written in _CUES_FILE["rules"]
)
"""Kind, sense, direction and pattern; where two match at one place, the first is taken."""


class Cue(NamedTuple):
    """A cue word, or several that belong together ("second highest", "at least").

    Attributes:
        kind: what sort of operation it announces.
        sense: which one, within the kind; see :data:`SENSES`. Of superlatives, comparatives and
            ranks by an adjective it is the adjective: ``high`` of "highest", "higher" and
            "second highest".
        direction: +1 towards more, later or upwards, -1 towards less, earlier or downwards, 0
            where there is no side. "best" is +1 and "worst" -1: what good means, the column
            decides.
        start, end: its place in the text.
        number: the rank ("third": 3), the factor ("twice": 2), the count ("once": 1), the number
            of a quarter or half; ``None`` where it has none.
    """

    kind: CueKind
    sense: str
    direction: int
    start: int
    end: int
    number: int | None = None


_CUE = re.compile(
    r"(?<!\w)(?<!\w-)(?:"
    + "|".join(f"(?P<r{place}>{rule[3]})" for place, rule in enumerate(RULES))
    + r")(?!\w)"
)
# Marks that stand at the end or the beginning of another word.
_CUE_MARKS: tuple[tuple[CueKind, str, int, re.Pattern[str]], ...] = (
    ("negation", "not", 0, re.compile(r"n't\b")),
    ("hedge", "about", 0, re.compile(r"[~≈](?=\s?[$€£¥]?\d)")),
    ("hedge", "above", 1, re.compile(r"(?<=\d)\+(?![\w+])|[>≥](?=\s?[$€£¥]?\d)")),
    ("hedge", "below", -1, re.compile(r"[<≤](?=\s?[$€£¥]?\d)")),
)
_CUES_IN_NAMES = frozenset({"superlative", "rank", "comparative", "change"})
_ARTICLE = re.compile(r"(?:with\s+)?(?:the|an?|its|his|her|their|'s)\s+")
_CAPITAL_AFTER = re.compile(r"[ -][A-Z][a-z]")
_CUE_WORD = re.compile(r"[a-z]+|\d+")
_NUMBERED = frozenset({"quarter", "half", "period", "century", "multiple", "multiply"})


@lru_cache(maxsize=4096)
def find_cues(text: str) -> tuple[Cue, ...]:
    """Every cue of a text, in order and without overlap; the longest reading at a place wins.

    A number alone is no cue, nor is a date: :class:`~tablemend.values.places.Places` finds them.
    """
    aligned = align(text)
    found = []
    for cue in map(_cue, _CUE.finditer(aligned)):
        named = cue.kind in _CUES_IN_NAMES and text[cue.start].isupper() and cue.sense != "place"
        if not (named and _CAPITAL_AFTER.match(text, cue.end)):  # "Most Valuable Player"
            found.append(cue)
    for kind, sense, direction, pattern in _CUE_MARKS:
        found += [Cue(kind, sense, direction, *m.span()) for m in pattern.finditer(aligned)]
    return tuple(sorted(found, key=lambda cue: cue.start))


def _cue(match: re.Match[str]) -> Cue:
    kind, sense, direction, _ = RULES[int((match.lastgroup or "r0")[1:])]
    start, end = match.span()
    if article := _ARTICLE.match(match.string, start, end):
        start = article.end()
    words = _CUE_WORD.findall(match.string, start, end)
    if not sense or (kind == "rank" and sense == "within" and not direction):
        adjective, direction = next(_DEGREES[w] for w in reversed(words) if w in _DEGREES)
        sense = sense or adjective
    numbered = kind in ("rank", "count") or sense in _NUMBERED
    return Cue(kind, sense, direction, start, end, _cue_number(words) if numbered else None)


def _cue_number(words: list[str]) -> int | None:
    """What the words of a cue count: the first number, ordinal or factor among them."""
    counts = (_COUNTS.get(word) or int(word) for word in words if word in _COUNTS or word.isdigit())
    return next(counts, None)


# ---- terms

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


# ---- qualities


class Quality(NamedTuple):
    """What an adjective orders by.

    Attributes:
        about: terms of headers that it speaks of by itself; empty where a noun must say it.
        inverse: terms of headers for which its direction turns: "oldest" is the largest age and
            the smallest year, "fastest" the highest speed and the shortest time.
    """

    about: frozenset[str] = frozenset()
    inverse: frozenset[str] = frozenset()


_QUALITIES_FILE: dict[str, Any] = yaml.load(
    Path(__file__).with_name("vocabulary.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


def _headers(names: str) -> frozenset[str]:
    """The terms of the headers of some sorts: "age when"."""
    words = " ".join(_QUALITIES_FILE["headers"][name] for name in names.split()).split()
    return frozenset(term for word in words for term in terms(word))


THINGS = frozenset(_QUALITIES_FILE["things"].split())
EMPTY = frozenset(_QUALITIES_FILE["empty"].split())
DISTINCT = frozenset(_QUALITIES_FILE["distinct"].split())
LIMITING = frozenset(_QUALITIES_FILE["limiting"].split())
RESULTS: dict[str, str] = {
    word: result for result, words in _QUALITIES_FILE["results"].items() for word in words.split()
}
LOWER_IS_BETTER = _headers("lower_is_better")
RANKS = _headers("ranks")
QUALITIES = {
    adjective: Quality(_headers(said.get("about", "")), _headers(said.get("inverse", "")))
    for adjective, said in _QUALITIES_FILE["qualities"].items()
}
_OPPOSITES: dict[str, str] = {}
for _pair in _QUALITIES_FILE["opposites"]:
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


# ---- phrases of queries

_PHRASES: dict[str, str] = yaml.load(
    Path(__file__).with_name("wordings.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


def any_of(*names: str) -> str:
    """A pattern of any of the phrases under these names; ``*`` is the rest of a word."""
    found = [phrase for name in names for phrase in _PHRASES[name].split(", ")]
    patterns = (
        re.escape(phrase).replace(r"\*", r"\w*").replace(r"\ ", r"\s+")
        for phrase in sorted(found, key=len, reverse=True)
    )
    return f"(?:{'|'.join(patterns)})"


def words_of(*names: str) -> frozenset[str]:
    """All words of these phrases."""
    return frozenset(re.findall(r"[^\s,]+", " ".join(_PHRASES[name] for name in names)))


def called(header: str) -> list[str]:
    """What a sentence may call a row whose name stands under a header, beside that header."""
    keys = (f"row {word}" for word in header.lower().split())
    return [noun for key in keys for noun in _PHRASES.get(key, "").split(", ") if noun]
