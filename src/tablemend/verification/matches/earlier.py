"""Numbers that a report says of other matches: averages, runs of wins, "five of their last six"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.matches.match import Match

_NUMBER = r"(?:\d+|\w+)"
_GAMES = r"(?:games|outings|contests|matchups|matches|meetings|starts|tries|appearances)"
_SEVERAL = re.compile(
    rf"\b(?:over|in|during|of|through) (?:his|her|their|its|the|that) (?:last|past|previous|first)?"
    rf" ?(?:{_NUMBER} )?(?:{_GAMES}|span|stretch)\b|\bin a row\b"
    r"|\b(?:on|for) the (?:season|year)\b|\bthis (?:season|year)\b|\bper game\b"
    rf"|\b{_NUMBER}-game stretch\b|\bstretch where\b"
)
_SUMMED = re.compile(r"\b(?:averag(?:es|ed|ing)|combin(?:es|ed|ing) for)\b")
_RUN = re.compile(
    rf"(?:[a-z-]+ ){{0,3}}?(?:in a row|straight\b|consecutive\b)"
    rf"|of (?:his|her|their|its|the) (?:last|past|previous|first) {_NUMBER}\b"
)
_OF_LAST = re.compile(r"\b(?:last|past|previous) $")
_PART = re.compile(
    r"[^.,;]{0,30}?\b(?:in|over|during) the (?:first|second|third|fourth|final|opening)"
    r" (?P<part>half|quarter|period)\b"
)
_END = re.compile(r"[;]|\b(?:but|while|whereas)\b")


def judge_earlier_matches(match: Match, number: int) -> Iterator[Finding]:
    """Findings on a sentence: what is told of several matches stands in no table of one.

    A cell may hold the same number by chance; that proves nothing. What a player did in a part of
    the match stays open, where the players' table has no parts.

    Args:
        match: the tables.
        number: index of the sentence.
    """
    plain = match.linking.reading.plain
    start, end = match.linking.reading.sentences[number]
    amounts = match.linking.sentence_links[number][match.sides.number].amounts
    summed = []
    if _SEVERAL.search(plain, start, end):
        for verb in _SUMMED.finditer(plain, start, end):
            stop = _END.search(plain, verb.end(), end)
            summed.append((verb.end(), stop.start() if stop else end))
    for amount in amounts:
        if amount.role == "article":
            continue
        behind = plain[amount.digits_end : end].lstrip()
        if (
            any(first <= amount.start < last for first, last in summed)
            or _RUN.match(behind)
            or _OF_LAST.search(plain[max(start, amount.start - 12) : amount.start])
        ):
            reason = "it is said of several matches, and the tables tell of one"
            span = Span(amount.start, amount.digits_end)
            yield Finding(
                amount.start,
                amount.end,
                "number",
                "not_in_source",
                "NUM",
                reason=reason,
                span=span,
                firm=True,
            )
        elif (part := _PART.match(plain, amount.digits_end, end)) and _is_of_player(
            match, number, amount.start, part["part"]
        ):
            reason = "the table of the players tells nothing of parts of the match"
            yield Finding(amount.start, amount.end, "number", "unscored", reason=reason, firm=True)


def _is_of_player(match: Match, number: int, place: int, part: str) -> bool:
    """Whether the last name before a place is a player's, and no column of players is of a part."""
    before = [mention for mention in match.mentions(number) if mention.start < place]
    if match.roster is None or not before or before[-1].player is None:
        return False
    return not any(part in column.header.casefold() for column in match.roster.grid.columns)
