"""Goals that a report gives to a side: in the whole match, or in one period of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.verification.findings import Finding, compared_number
from tablemend.verification.matches.match import Match, Mention
from tablemend.verification.reading import Amount

_ORDINALS = {
    "first": 1,
    "1st": 1,
    "opening": 1,
    "second": 2,
    "2nd": 2,
    "third": 3,
    "3rd": 3,
    "fourth": 4,
    "4th": 4,
}
_WORD = "|".join(_ORDINALS)
_GOALS = re.compile(r" (?:unanswered )?goals?\b")
_IN_PERIOD = re.compile(rf" in the (?P<word>{_WORD})(?: period| quarter)?\b")
_ANY_PERIOD = re.compile(r"\b(?:periods?|quarters?|half|halves|overtime|extra time|shootout)\b")
_OPENING = re.compile(rf"(?:however, |then, )?in the (?P<word>{_WORD}) (?:period|quarter), ")
_NORMAL = re.compile(r" in (?:the )?(?:normal|regular|regulation) time\b")
_WHOLE = re.compile(
    r"(?: in total| overall| in (?:the|this) (?:game|match))?"
    r"(?:[.;]|$|,(?! (?:all|one|two|both|each|the (?:first|second)) )| and (?!\w+ goals?\b)"
    r"| while\b| to\b)"
)
_SCORED = re.compile(
    r"(?:,? also)? ?(?:scored|scoring|netted|netting|managed to score)(?: only| just)? $"
)


def judge_goals(match: Match, number: int) -> Iterator[Finding]:
    """Findings on "the Owls scored three goals", "scored two goals in the second period".

    Goals that stand with no period are those of the match, though periods are columns too.

    Args:
        match: the tables.
        number: index of the sentence.
    """
    plain = match.linking.reading.plain
    start, end = match.linking.reading.sentences[number]
    opening = _OPENING.match(plain, start)
    mentions = match.mentions(number)
    for amount in match.linking.sentence_links[number][match.sides.number].amounts:
        goals = _GOALS.match(plain, amount.digits_end)
        side = _scorer(plain, mentions, amount)
        if goals is None or side is None or amount.hedge or amount.role != "value":
            continue
        column: int | None = None
        if period := _IN_PERIOD.match(plain, goals.end()):
            column = match.parts.get(_ORDINALS[period["word"]])
        elif opening is not None:
            behind = plain[goals.end() : end]
            clear = not _ANY_PERIOD.search(behind) and "unanswered" not in goals[0]
            column = match.parts.get(_ORDINALS[opening["word"]]) if clear else None
        elif _NORMAL.match(plain, goals.end()):
            column = _normal_time(match)
        elif _WHOLE.match(plain, goals.end()) and "unanswered" not in goals[0]:
            column = match.score
        right = None if column is None else match.grounder.number(match.sides.number, side, column)
        if right is not None and column is not None:
            evidence = match.grounder.evidence(match.sides.number, [(side, column)])
            yield compared_number(amount, right.value, evidence, evidence[0].text)


def _scorer(plain: str, mentions: list[Mention], amount: Amount) -> int | None:
    """The side that stands right before "scored" and the number."""
    before = [mention for mention in mentions if mention.end <= amount.start]
    if not before or before[-1].player is not None:
        return None
    between = plain[before[-1].end : amount.start].removeprefix(",")
    return before[-1].side if _SCORED.fullmatch(between) else None


def _normal_time(match: Match) -> int | None:
    """The column of the score after normal time, where there is one."""
    for column in match.sides.columns:
        words = column.header.casefold().replace(" ", "")
        if "normaltime" in words or "regulartime" in words or "regulation" in words:
            return column.index
    return None
