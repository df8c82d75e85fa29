"""Who won: the winner that a sentence names has the larger number, and not the smaller one."""

from __future__ import annotations

import re

from tablemend.values.number_words import ONE_TO_TEN
from tablemend.values.numbers import plain_digits
from tablemend.values.sentences import Span
from tablemend.verification.binding import Binder
from tablemend.verification.findings import Finding, compared_number
from tablemend.verification.grounding import Grounder
from tablemend.verification.linking import RowLink
from tablemend.verification.pairs import score_columns

_BEAT = re.compile(
    r"\b(?:defeat(?:s|ed)?|beat(?:s|en)?|top(?:s|ped)|edge[sd]?|down(?:s|ed)|rout(?:s|ed)|blank(?:s|ed)"
    r"|outlast(?:s|ed)?|overc[ao]mes?|knocked off|(?:won|wins|win|triumph(?:s|ed)|prevail(?:s|ed)"
    r"|victor(?:y|ious))(?: \w+){0,6}? (?:over|against))\s+(?:the |host(?:ing)? |visiting )*$"
)
_LOST = re.compile(
    r"\b(?:lost|loses?|fell|falls?|succumbed) (?:\w+ ){0,3}?(?:to|against) (?:the )?$"
)
_MARGIN = re.compile(
    r"\s*-?\s*(?:point|goal|run)s? (?:win|victory|loss|defeat|triumph|margin of victory)\b"
)
_VERB = re.compile(r"(?!(?:have|has|had|were|was|who|that|which)\b)[a-z]+")
_PASSIVE = re.compile(r"\b(?:was|were|been|being|is|are) (?:\w+ )?\w+ by\b")
_LONE_WIN = re.compile(
    r"\s*,?\s*(?:have |has |had |were |was |(?:who|that|which) )?(?:\w+ ){0,2}?"
    r"(?:won|win|wins|emerged victorious|came out on top|prevailed"
    r"|secured (?:the|a) (?:win|victory))\b"
    rf"(?! (?:the (?:first|second|third)|\d|{ONE_TO_TEN}))"
)
_OTHER_SCOPE = re.compile(
    r"\b(?:season|series|last|straight|previous|earlier|consecutive|half|quarter|period|set|not|n't"
    r"|if|record|streak)\b"
)


def judge_result(grounder: Grounder, binder: Binder) -> list[Finding]:
    """The finding on "X beat Y" and "X won", where a table of two rows has the score.

    Only a table of exactly two rows, with one clear column of scores, tells the result of the one
    match that the text can mean.
    """
    plain = binder.plain
    start, end = binder.sentence
    found = []
    for grid in grounder.grids:
        lines = grid.lines
        columns = score_columns(grounder, grid.number)
        if len(lines) != 2 or not columns:
            continue
        links = [link for link in binder.by_grid[grid.number].rows if len(link.rows) == 1]
        for index, link in enumerate(links):
            told = _winner(plain, start, end, links, index)
            if told is None:
                continue
            winner, verb = told
            loser = next(line.index for line in lines if line.index != winner.rows[0])
            cells = [(winner.rows[0], columns[0]), (loser, columns[0])]
            values = [grounder.number(grid.number, *cell) for cell in cells]
            if values[0] is None or values[1] is None:
                continue
            evidence = grounder.evidence(grid.number, cells)
            said = grounder.text[winner.start : winner.end]
            if values[0].value > values[1].value:
                reason = f"{said} has the larger number"
                found.append(
                    Finding(
                        link.start,
                        link.end,
                        "name",
                        "supported",
                        evidence=evidence,
                        reason=reason,
                        firm=True,
                    )
                )
            elif values[0].value < values[1].value:
                found.append(
                    Finding(
                        link.start,
                        link.end,
                        "name",
                        "contradicted",
                        "CMP",
                        evidence,
                        f"{said} has the smaller number",
                        verb,
                        firm=True,
                    )
                )
        found += _margins(grounder, binder, grid.number, columns[0])
    return found


def _margins(grounder: Grounder, binder: Binder, number: int, column: int) -> list[Finding]:
    """The "15" of "a 15-point win": the difference of the two scores."""
    rows = [line.index for line in grounder.grids[number].lines]
    values = [grounder.number(number, row, column) for row in rows]
    found = []
    for amount in binder.amounts:
        told = _MARGIN.match(binder.plain, amount.digits_end)
        if told is None or values[0] is None or values[1] is None or amount.hedge:
            continue
        margin = abs(values[0].value - values[1].value)
        reason = f"the two scores differ by {plain_digits(margin)}"
        found.append(
            compared_number(
                amount, margin, grounder.evidence(number, [(row, column) for row in rows]), reason
            )
        )
    return found


def _winner(
    plain: str, start: int, end: int, links: list[RowLink], index: int
) -> tuple[RowLink, Span] | None:
    """Whom the words beside a name call the winner, and these words; ``None`` where none do."""
    link = links[index]
    if index:
        before = links[index - 1]
        between = plain[before.end : link.start]
        if before.rows == link.rows or _PASSIVE.search(between):
            return None
        if _OTHER_SCOPE.search(between):
            return None
        for pattern, winner in ((_BEAT, before), (_LOST, link)):
            if match := pattern.search(between):
                return winner, _trim(plain, before.end + match.start(), before.end + match.end())
        return None
    stop = links[1].start if len(links) > 1 else end
    tail = plain[link.end : stop]
    lone = _LONE_WIN.match(tail)
    if lone and len(links) == 1 and not _OTHER_SCOPE.search(plain, start, end):
        return link, _trim(plain, link.end + lone.start(), link.end + lone.end())
    return None


def _trim(plain: str, start: int, end: int) -> Span:
    """The verb alone, without the space and the articles around it."""
    words = _VERB.search(plain, start, end)
    return Span(*words.span()) if words else Span(start, end)
