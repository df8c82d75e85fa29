"""Who led a side, its bench or the match, and who came next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.matches.match import Mention
from tablemend.verification.matches.squad import Squad

_BENCH = r"(?:second unit|bench|reserves|second-unit)"
_LED = re.compile(
    r"\b(?P<verb>led|leads|leading|paced|paces|topped)\b (?:"
    rf"(?:the |his |their )?(?:\w+ )?(?P<bench>{_BENCH})\b"
    r"|(?P<all>all (?:scorers|players)|the game|everyone|both (?:teams|sides))\b"
    r"|(?:(?:the )?way for )?(?:the |his )?(?P<team>team\b|way\b|(?=\x00)))"
)
_LED_BY = re.compile(
    r"\b(?:was|were) (?P<verb>led|paced) by (?:the )?(?:(?:\w+ ){1,3}(?:from|of) )?$"
)
_HIGH = re.compile(r"\b(?P<word>(?P<of>game|team|bench)(?: *- *| )(?:high|leading|best))\b")
_BEST = re.compile(r"\b(?P<word>high[- ]point man|(?:leading|top|high) scorer)\b")
_NEXT = re.compile(
    r"\b(?:was|came|is|were) (?P<word>next|(?:right |just |close )?behind(?: him)?)\b"
)
_RANK = re.compile(
    r"\b(?:was|is|finished|came in) (?P<word>second|third|fourth|fifth|2nd|3rd|4th|5th)"
    r" (?:on|for|among) (?:the )?(?:team\b|(?=\x00))"
)
_PLACES = {"second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5}


class Leaders:
    """Judges who is said to lead.

    Args:
        squad: the players.
    """

    def __init__(self, squad: Squad) -> None:
        self._squad = squad

    def judge(self, number: int) -> Iterator[Finding]:
        """Findings on a sentence."""
        start, end = self._squad.match.linking.reading.sentences[number]
        mentions = self._squad.match.mentions(number)
        yield from self._led(number, mentions)
        yield from self._led_by(start, end, mentions)
        yield from self._highs(number, mentions)
        yield from self._next(number, mentions)
        yield from self._ranked(number, mentions)

    def _led(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "Ann Lee led the bench with 14 points", "paced the Hawks", "led the way for Hof"."""
        start, end = self._squad.match.linking.reading.sentences[number]
        for match in _LED.finditer(self._squad.masked(start, end, mentions)):
            verb = Span(start + match.start("verb"), start + match.end("verb"))
            behind = start + match.end()
            subject = self._squad.before(verb.start, mentions)
            if subject is None or subject.player is None:
                continue
            team = next((m for m in mentions if m.start == behind and m.player is None), None)
            if match["team"] == "" and team is None:
                continue
            if team is not None and team.side != subject.side:
                yield self._of_other_side(subject, team)
                continue
            if self._is_one_of_several(subject, mentions):
                continue
            if match["bench"] and not any(m.player is None for m in mentions):
                yield from self._misplaced(subject, self._squad.last_player(number))
            column = self._squad.measure(verb.end, end)
            if self._squad.of_part(verb.end, end):
                reason = "it is said of a part of the match, or of several"
                for place in (Span(subject.start, subject.end), verb, team):
                    if place is not None:
                        yield Finding(
                            place.start, place.end, "name", "unscored", reason=reason, firm=True
                        )
                continue
            if column is None:
                continue
            rows = self._squad.group(subject, "bench" if match["bench"] else match["all"] or "team")
            if match["bench"] and subject.player in self._squad.roster.starters:
                words = Span(start + match.start("bench"), start + match.end("bench"))
                yield self._is_starter(subject, words)
                team_rows = self._squad.group(subject, "team")
                if not self._is_highest(subject, team_rows, column):
                    yield self._highest(subject, rows, column, verb)
                continue
            if rows:
                yield self._highest(subject, rows, column, verb)

    def _led_by(self, start: int, end: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "The Hawks were led by Ann Lee, who scored 22 points"."""
        for team, player in pairwise(mentions):
            if team.player is not None or player.player is None:
                continue
            match = _LED_BY.search(self._squad.plain, team.end, player.start)
            if match is None or self._squad.plain[team.end : match.start()].strip(" ()-0123456789"):
                continue
            if team.side != player.side:
                yield self._of_other_side(player, team)
                continue
            column = self._squad.measure(player.end, end)
            several = re.match(r",? (?:and|,) ", self._squad.plain[player.end : player.end + 6])
            if column is None or several:
                continue
            verb = Span(*match.span("verb"))
            yield self._highest(player, self._squad.group(player, "team"), column, verb)

    def _highs(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "a game-high 23 points", "the leading scorer": the most of the match or of a side."""
        start, end = self._squad.match.linking.reading.sentences[number]
        for pattern in (_HIGH, _BEST):
            for match in pattern.finditer(self._squad.plain, start, end):
                subject = self._squad.subject(number, match.start(), mentions)
                column = (
                    self._squad.points
                    if pattern is _BEST
                    else self._squad.measure(match.end(), end, 24)
                )
                if subject is None or column is None or self._squad.of_part(match.end(), end):
                    continue
                group = match["of"] if pattern is _HIGH else "team"
                rows = self._squad.group(subject, "all" if group == "game" else group)
                if not rows:
                    continue
                found = self._highest(subject, rows, column, Span(*match.span("word")))
                yield found
                if found.verdict == "supported" and subject.start >= 0:
                    yield replace(found, start=subject.start, end=subject.end)

    def _next(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "Ann Lee was next with 14 points": behind a player of the same side, and nobody else.

        Those who were named before count as told already.
        """
        start, end = self._squad.match.linking.reading.sentences[number]
        before = self._squad.last_player(number)
        for match in _NEXT.finditer(self._squad.plain, start, end):
            subject = self._squad.before(match.start(), mentions)
            column = self._squad.measure(match.end(), end)
            if subject is None or subject.player is None or before is None or column is None:
                continue
            if before.side != subject.side:
                if not any(m.player is None for m in mentions):
                    yield from self._misplaced(subject, before)
                continue
            own = self._squad.count(subject.player, column)
            if own is None:
                continue
            named = self._squad.named_before(number)
            ahead = [
                row
                for row in self._squad.group(subject, "team")
                if row not in named and (self._squad.count(row, column) or 0) > own
            ]
            shown = [(row, column) for row in (subject.player, *ahead[:1])]
            reason = "more: " + ", ".join(self._squad.name(row) for row in ahead[:3])
            where = Span(*match.span("word"))
            yield self._squad.finding(where, not ahead, "CMP", shown, reason)

    def _misplaced(self, subject: Mention, before: Mention | None) -> Iterator[Finding]:
        """Who goes on with a list of one side's players and is of the other side."""
        if before is not None and before.side != subject.side:
            where = Span(subject.start, subject.end)
            reason = f"{self._squad.name(before.player)} is of the other side"
            yield self._squad.finding(where, False, "ATT", [], reason)

    def _ranked(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "Ann Lee was second on the team, with 14 points"."""
        start, end = self._squad.match.linking.reading.sentences[number]
        masked = self._squad.masked(start, end, mentions)
        for match in _RANK.finditer(masked):
            subject = self._squad.before(start + match.start(), mentions)
            column = self._squad.measure(start + match.end(), end)
            if subject is None or subject.player is None or column is None:
                continue
            own = self._squad.count(subject.player, column)
            if own is None:
                continue
            rows = self._squad.group(subject, "team")
            above = [row for row in rows if (self._squad.count(row, column) or 0) > own]
            where = Span(start + match.start("word"), start + match.end("word"))
            shown = [(row, column) for row in (subject.player, *above[:2])]
            reason = f"{len(above)} of the side have more"
            right = len(above) + 1 == _PLACES[match["word"]]
            yield self._squad.finding(where, right, "CMP", shown, reason)

    def _highest(
        self, subject: Mention, rows: tuple[int, ...], column: int, where: Span
    ) -> Finding:
        best = max(rows, key=lambda row: self._squad.count(row, column) or Decimal(-1))
        right = self._is_highest(subject, rows, column)
        shown = [(best, column), (subject.player or 0, column)]
        header = self._squad.roster.grid.columns[column].header
        reason = (
            f"{header}: {self._squad.roster.grid.cell(best, column)}, of {self._squad.name(best)}"
        )
        return self._squad.finding(where, right, "CMP", shown, reason)

    def _is_highest(self, subject: Mention, rows: tuple[int, ...], column: int) -> bool:
        own = self._squad.count(subject.player or 0, column)
        return own is not None and all((self._squad.count(row, column) or 0) <= own for row in rows)

    def _is_starter(self, subject: Mention, words: Span) -> Finding:
        cell = self._squad.role_cell(subject.player or 0)
        return self._squad.finding(words, False, "ATT", (cell,) if cell else (), "a starter")

    def _of_other_side(self, player: Mention, team: Mention) -> Finding:
        right = self._squad.match.name(player.side)
        reason = f"{self._squad.name(player.player)} is of the {right}"
        found = self._squad.finding(Span(team.start, team.end), False, "ATT", [], reason)
        return replace(found, expected=(right,))

    def _is_one_of_several(self, subject: Mention, mentions: list[Mention]) -> bool:
        before = [m for m in mentions if m.end <= subject.start and m.player is not None]
        return bool(before) and bool(
            re.fullmatch(r",? and ", self._squad.plain[before[-1].end : subject.start])
        )
