"""Text as it is compared: one spelling for marks that differ only in print, and its tokens.

Tokens carry the borders that inclusion needs: "male" is not in "female", 7 is not in 17.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

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
    spaced = "".join(map(_align, text.translate(_MARKS_IN_PLACE))) if not text.isascii() else text
    return _SPACE.sub(" ", spaced.lower() if spaced.isascii() else spaced)


def _align(character: str) -> str:
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character


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
