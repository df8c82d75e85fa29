"""Text as it is compared: one spelling for marks that differ only in print, its tokens, sentences.

Tokens carry the borders that inclusion needs: "male" is not in "female", 7 is not in 17.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sentencex import get_sentence_boundaries

from tablemend.foreign import shown

_FRACTIONS = {"¼": ".25", "½": ".5", "¾": ".75"}
_FRACTION = re.compile(r"(\d?)[ \u2009\u202f]?([¼½¾])")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_TAGGED = re.compile(r"<su([bp])>(.{1,20}?)</su\1>", re.IGNORECASE)
_RAISED_ENDING = re.compile(r"(?<=\d)\^(?=(?:st|nd|rd|th)\b)", re.IGNORECASE)
# Quotes, double quotes, dashes, invisible marks: NFKC does not unify these.
_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", None),
        "\u00d7": "x",
        "\u2044": "/",
    }
)
_MATHEMATICS = re.compile(r"\\\((.+)\\\)$|\$([^$]+)\$$")  # LaTeX, a whole cell
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*|__|`)(?=\S)(.{1,300}?)(?<=\S)\1")
_MARKS_IN_PLACE = {mark: plain for mark, plain in _MARKS.items() if plain is not None}
_SPACES = re.compile(r"\s+")
_SPACE = re.compile(r"\s")
_DASH_BETWEEN_DIGITS = re.compile(r"(?<=\d) ?- ?(?=\d)")
_ACCENTS = re.compile("[\u0300-\u036f]")

_TOKEN = re.compile(
    r"""
    (?P<border>[()\[\]{},;])
  | (?P<number>(?:(?<![^\s(])-)?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)(?![^\W_])
  | (?P<company>co(?![\w-])\.?)
  | (?P<initials>[^\W\d_](?:\.[^\W\d_]){1,7})\b\.?(?![^\W_])
  | (?P<word>[^\W_]+(?:'[^\W_]+)*(?:\+{1,2}(?![\w+])|\#(?!\w))?)
  | (?P<and>&)
    """,
    re.VERBOSE,
)
_RATING = re.compile(r"(?<![^\s(,/])([a-d]{1,3})(-)(?=$|[\s),;/])")


class Tokens(NamedTuple):
    """Words and numbers of a text, and the bracket- or comma-bounded part each stands in."""

    words: tuple[str, ...]
    parts: tuple[int, ...]


def clean(text: str) -> str:
    """One spelling for quotes, dashes, widths, spaces and emphasis marks; the case is kept.

    What is raised stands behind a caret: ``km²`` and ``km<sup>2</sup>`` are ``km^2``.
    """
    if "<" in text:
        text = _TAGGED.sub(lambda m: ("^" if m[1] in "pP" else "") + m[2], text)
    if not text.isascii():
        text = _FRACTION.sub(lambda m: (m[1] or "0") + _FRACTIONS[m[2]], text)
        text = _SUPERSCRIPT.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text)
        text = unicodedata.normalize("NFKC", text.translate(_MARKS)).translate(_MARKS)
    if "*" in text or "`" in text or "__" in text:
        text = _EMPHASIS.sub(r"\2", text)
    if "^" in text:
        text = _RAISED_ENDING.sub("", text)
    text = _SPACES.sub(" ", text).strip()
    if text[:1] in ("$", "\\"):
        text = _MATHEMATICS.sub(lambda match: match[1] or match[2], text)
    if "-" in text:
        text = _DASH_BETWEEN_DIGITS.sub("-", text)
    return text


def fold(text: str) -> str:
    """:func:`clean` and case-folded: the standard form of a text cell."""
    return clean(text).casefold()


def strip_accents(text: str) -> str:
    """``São`` as ``Sao``; marks of other scripts than Latin, Greek and Cyrillic stay."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def split_tokens(text: str) -> Tokens:
    """Tokens of a text of any length: folded, accents and possessive 's dropped.

    Numbers are written one way (``1,234`` as ``1234``, ``5.0`` as ``5``), initials lose their
    dots (``u.s.`` as ``us``), ``Co`` has one (``co-founder`` is
    ``co founder``), ``&`` is ``and``; ``+``, ``#`` and the minus of a short rating
    belong to their word, so that ``A+``, ``A`` and ``A-`` stay three things.
    """
    words: list[str] = []
    parts: list[int] = []
    part = 0
    folded = _RATING.sub(r"\1minus", strip_accents(fold(text)))
    for match in _TOKEN.finditer(folded):
        if match.lastgroup == "border":
            part += 1
            continue
        words.append(_spell(match))
        parts.append(part)
    return Tokens(tuple(words), tuple(parts))


def _spell(match: re.Match[str]) -> str:
    """The one spelling of a token."""
    kind, token = match.lastgroup, match[0]
    if kind == "number":
        return plain_number(token)
    if kind == "initials":
        return token.replace(".", "")
    if kind == "company":
        return "co."
    if kind == "and":
        return "and"
    return token.removesuffix("'s")


class PlacedToken(NamedTuple):
    """A token of a running text, and where it stands."""

    word: str
    start: int
    end: int


def placed_tokens(aligned: str) -> list[PlacedToken]:
    """Tokens, spelled as :func:`split_tokens` does, with their places in an aligned text."""
    ratings = {match.start(1) for match in _RATING.finditer(aligned)}
    tokens = []
    for match in _TOKEN.finditer(aligned):
        if match.lastgroup == "border":
            continue
        word, (start, end) = _spell(match), match.span()
        if match[0].endswith("'s"):
            end -= 2
        if not word.isascii():
            word = strip_accents(fold(word))
        if start in ratings:
            word, end = f"{word}minus", end + 1
        tokens.append(PlacedToken(word, start, end))
    return tokens


def align(text: str) -> str:
    """:func:`fold` as far as every character keeps its place.

    Marks, spaces and case are unified; ligatures, fractions and invisible marks stay as written.
    """
    if not text.isascii():
        marked = text.translate(_MARKS_IN_PLACE)
        text = "".join(low if len(low := mark.lower()) == 1 else mark for mark in marked)
    return _SPACE.sub(" ", text.lower() if text.isascii() else text)


_split_cached = lru_cache(maxsize=1 << 15)(split_tokens)


def tokens_of(text: str) -> Tokens:
    """:func:`split_tokens` behind a bounded cache, for cells."""
    return _split_cached(text) if len(text) <= 256 else split_tokens(text)


def plain_number(digits: str) -> str:
    """``1,234.50`` as ``1234.5``."""
    digits = digits.replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def on_one_line(text: str, longest: int) -> str:
    """A text for a line of a report: :func:`shown`, cut where it has too many characters."""
    text = shown(text)
    return text if len(text) <= longest else text[: longest - 3] + "..."


@lru_cache(maxsize=1 << 13)
def header_key(name: str) -> str:
    """What two spellings of one column name share.

    Case, whitespace, underscores and emphasis are print; words, numbers, units and their
    punctuation are the name (TableHallu, Appendix E: "Top AI Company" is not
    "Top AI Company Invested").
    """
    return fold(name).replace(" ", "").replace("_", "").strip("\"'")


# ---- words of headers

FUNCTION_WORDS = frozenset(
    "a an and are as at by for from had has have in is its no number of on or per s the to total "
    "was were with".split()
)
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_ATTRIBUTES = frozenset(
    "attribute property field key name item feature metric parameter characteristic".split()
) | {""}
_VALUES = frozenset("value values detail details description information content".split()) | {""}
_VERB_ENDINGS = frozenset({"", "s", "d", "ed", "ing"})
_ENDINGS = _VERB_ENDINGS | frozenset(
    "al ally ance ation cation e ee ence er ers es ies ion ity ive ment n or r tion y".split()
)


def singular(word: str) -> str:
    """Both forms of a plural in one spelling; not a grammar, only a common form."""
    if len(word) > 3 and word[-1] == "s" and word[-2:] != "ss" and word.isalpha():
        return word[:-1]
    return word


def names_attributes(label: str) -> bool:
    """Whether a column's name, or none, says that its cells are attributes."""
    return label.strip().casefold() in _ATTRIBUTES


def names_values(label: str) -> bool:
    """Whether a column's name, or none, says that its cells are the values of attributes."""
    return label.strip().casefold() in _VALUES


def content_words(header: str) -> list[str]:
    """The words of a column's name that carry its meaning, without units in brackets."""
    words = tokens_of(_BRACKETS.sub(" ", header)).words
    return [singular(word) for word in words if word not in FUNCTION_WORDS]


def akin(one: str, other: str) -> bool:
    """Whether two words are forms of one: "rank" and "ranked", "designer" and "designed"."""
    if one == other:
        return True
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    endings = {one[same:], other[same:]}
    return (same >= 4 and endings <= _VERB_ENDINGS) or (same >= 5 and endings <= _ENDINGS)


# ---- sentences

# "Lohust Corp. The", "Phase I. In": an abbreviation, but a word that no name goes on with.
_BEGINNING = re.compile(
    r"(?<![\w.])(?:[A-Z][\w&'.-]{0,60}|a\.m|p\.m|etc)\.[\"\u201d')\]]*(\s+)"
    r"(?=(?:The|It|Its|In|On|At|He|She|They|His|Her|Their|This|These|Those|There|For|By|As|An|After"
    r"|Another|With|From|Both|All|Each|Meanwhile|However|Among|While|When)\b)"
)
# "came to 8.42 m. It was", "carries 95 m³/s. The": a unit behind a number.
_AFTER_UNIT = re.compile(
    r"\d ?(?:[kcm]?m[²³23]?|k?g|lbs?|mi|ft|yds?|s|min|h|hrs?|pp|pg|f?L"
    r"|[a-zA-Z]{1,3}[²³]?/[a-z]{1,3})\.(\s+)(?=[A-Z][a-z]|[A-Z]\b)"
)
_ITEM = re.compile(r"^[ \t]*(?:[-*\u2022\u2013]|\d{1,3}[.)])[ \t]+", re.M)
LONGEST_SENTENCE = 1_200
"""Characters; what has no end within them is no sentence, and linking its words to one another
would take time without bound."""


class Span(NamedTuple):
    """Half-open character places in a text."""

    start: int
    end: int


def sentence_spans(text: str) -> list[Span]:
    """The sentences of an English text in order, without the space around them.

    A boundary is left out rather than put into the middle of a sentence: "Dr. Venn", "3.5",
    "U.S. Army" and "No. 5" are no ends. A line break between paragraphs always is one.
    """
    spans: list[Span] = []
    joined = False
    for start, end in _boundaries(text):
        said = text[start:end]
        start += len(said) - len(said.lstrip())
        end -= len(said) - len(said.rstrip())
        if start >= end:
            joined = False
            continue
        if joined:
            start = spans.pop().start
        spans += _divide(text, start, end)
        # "Approx." and "Vol." before a number are no sentences.
        joined = " " not in text[start:end] and text[end - 1] == "." and "\n" not in said
        joined |= text[end : end + 1] == "/"  # "Famous for.../Occupation"
    return spans


def _boundaries(text: str) -> Iterator[Span]:
    """Sentences and line breaks; the sentences of a list's item one by one."""
    items = [match.span() for match in _ITEM.finditer(text)]
    starts = [(0, 0), *items]
    ends = [start for start, _ in items] + [len(text)]
    for (start, words), stop in zip(starts, ends, strict=True):
        for boundary in get_sentence_boundaries("en", text[words:stop]):
            end = words + boundary["end_index"]
            yield Span(start, end)
            start = end


def _divide(text: str, start: int, end: int) -> Iterator[Span]:
    """Sentences that an abbreviation seemed to join."""
    found = [*_BEGINNING.finditer(text, start, end), *_AFTER_UNIT.finditer(text, start, end)]
    for match in sorted(found, key=lambda match: match.start(1)):
        yield Span(start, match.start(1))
        start = match.end()
    yield Span(start, end)


def pieces(text: str, span: Span) -> Iterator[Span]:
    """A sentence, or where it is too long to be one, its parts between spaces."""
    start, end = span
    while end - start > LONGEST_SENTENCE:
        cut = text.rfind(" ", start, start + LONGEST_SENTENCE)
        cut = start + LONGEST_SENTENCE if cut <= start else cut + 1
        yield Span(start, cut)
        start = cut
    yield Span(start, end)


def paragraph_spans(text: str) -> list[Span]:
    """The paragraphs of a text, which empty lines part."""
    spans, position = [], 0
    for part in text.split("\n\n"):
        start = position + len(part) - len(part.lstrip())
        end = position + len(part.rstrip())
        if start < end:
            spans.append(Span(start, end))
        position += len(part) + 2
    return spans


# ---- tokens of a model

_QWEN_TOKEN = re.compile(r" (?=\d)|\d|[A-Z][a-z]{0,2}|[a-z]{1,5}|[^\W\d_]|[^\w\s]|_|\n+")


def count_tokens(text: str) -> int:
    """About the number of tokens, rather too many than too few.

    Against the tokenizer of Qwen (the vocabulary that Qwen to Qwen3 share), over 40 easy
    contexts of each of five sources: 1.02 to 1.15 times the true count on average, 0.95 to 1.31
    times for a single context.
    """
    return len(_QWEN_TOKEN.findall(text))
