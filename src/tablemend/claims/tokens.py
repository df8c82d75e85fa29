"""The words and marks of a sentence, and the names among them."""

from __future__ import annotations

import re
from typing import NamedTuple

from tablemend.values.sentences import Span

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*(?:[^\W_]+)?"
    r"|(?<=[\w\s])['\u2019](?:s|re|ve|ll)\b"
    r"|[^\W\d_][^\W_]*(?:[.&/+'\u2019-](?!['\u2019]?s\b)[^\W_]+)*|[^\w\s]|_"
)
_CONNECTORS = frozenset(
    "of de da do del della di du la le el y e van von der den and& the am im ter".split()
)
_FUNCTION = frozenset(
    "a an the this that these those his her its their our my your he she it they we you i "
    "one in on at by with from for of to during after before since until under over among "
    "between according despite within throughout as and or but while whereas although "
    "though however yet because so if when where which who both all each every some any "
    "no none most many few several only also then there here overall finally additionally "
    "moreover furthermore meanwhile later next last first second third not is are was "
    "were be has have had did do".split()
)
_INSIDE = frozenset({".", "'", "-", "&", "/"})


class Token(NamedTuple):
    """A word or a mark.

    Attributes:
        word: in small letters, with a plain apostrophe.
        start, end: its place in the text.
        capital: whether it is written with a capital, or with digits and letters ("iPhone").
    """

    word: str
    start: int
    end: int
    capital: bool


def tokens_of_sentence(text: str, start: int, end: int) -> list[Token]:
    """The words and marks between two places, in order.

    A function word has no capital, wherever it stands.
    """
    return [
        Token(word, *match.span(), _is_capital(match[0]) and not _is_function(word, text, match))
        for match in _TOKEN.finditer(text, start, end)
        if (word := match[0].lower().replace("\u2019", "'"))
    ]


def _is_function(word: str, text: str, match: re.Match[str]) -> bool:
    """Whether a word is a function word and not the initial of a name."""
    return word in _FUNCTION and (len(word) > 1 or text[match.end() : match.end() + 1] != ".")


def _is_capital(word: str) -> bool:
    return word[0].isupper() or (word[0].isalpha() and word[1:] != word[1:].lower())


def name_spans(tokens: list[Token]) -> list[Span]:
    """Runs of capitalised words: "Al Horford", "University of Oslo", "J. Rodríguez".

    The first word of a sentence has a capital without being a name: whoever asks decides.
    """
    found: list[Span] = []
    place = 0
    while place < len(tokens):
        if not tokens[place].capital:
            place += 1
            continue
        last = place
        ahead = place + 1
        while ahead < len(tokens):
            token = tokens[ahead]
            if token.capital:
                last = ahead
            elif (token.word not in _CONNECTORS and not _joins(tokens, ahead)) or (
                token.word in ("and", "the") and tokens[ahead - 1].word not in ("of", "&")
            ):
                break
            ahead += 1
            if ahead - last > 3:
                break
        found.append(Span(tokens[place].start, tokens[last].end))
        place = last + 1
    return found


def _joins(tokens: list[Token], place: int) -> bool:
    """Whether a mark stands inside a name: the dot of an initial, a dash without spaces."""
    mark, before = tokens[place], tokens[place - 1]
    if mark.word == ".":
        return before.end - before.start <= 2 and before.capital
    if mark.word not in _INSIDE:
        return False
    return (
        before.end == mark.start
        and place + 1 < len(tokens)
        and (tokens[place + 1].start == mark.end)
    )
