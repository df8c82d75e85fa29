"""Numbers that a report says of other matches: averages, runs of wins, "five of their last six"."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_END = re.compile(r"[;]|\b(?:but|while|whereas)\b")


def judge_earlier_matches(match: Match, number: int) -> Iterator[Finding]:
    """Findings on a sentence: what is told of several matches stays open.

    The cells of one match may hold the same number by chance, and another one proves nothing.

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
            yield Finding(amount.start, amount.end, "number", "unjudged", reason=reason, firm=True)
