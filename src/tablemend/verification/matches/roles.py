"""Starters and reserves, double-doubles, and how many players reached double figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from tablemend.values.sentences import Span
from tablemend.verification.doubles import COUNTS, TOLD
from tablemend.verification.findings import Finding, compared_number
from tablemend.verification.matches.match import Mention
from tablemend.verification.matches.squad import Squad

_BENCH = r"(?:second unit|bench|reserves|second-unit)"
_FROM_BENCH = re.compile(
    r"\b(?:off the (?P<a>bench)|in an? (?P<b>(?:reserve|bench|backup) role)|as a (?P<c>reserve)"
    r"|(?P<d>reserve|backup|bench player|sixth man))\b(?! (?:points|scoring))"
)
_STARTING = re.compile(
    r"\b(?P<a>starters?)\b(?! (?:were|had|have|all|in the))"
    r"|\b(?P<b>starting) (?:\w+ ){0,2}?(?:guard|forward|center|centre|lineup|line-up)\b"
)
_DOUBLE = re.compile(
    r"\b(?P<word>only (?P<other>other )?)(?P<of>[^,;.]{0,40}?)\b(?:in|to|who|with)\b[^,;.]{0,30}?"
    r"\bdouble[- ](?:figures|digits)\b(?! in (?!points|scoring))"
)
_MANY = re.compile(
    r" (?P<of>players|starters|reserves|bench players) (?:[a-z]+ ){0,3}?(?:in|to|reach|reached"
    r"|scored?(?: in)?|finish(?:ed)? in) double[- ](?:figures|digits)\b(?! in (?!points|scoring))"
)
_OTHERS = re.compile(r"\b(?:season|career|last|streak|previous|if|when|half|quarter)\b")
_EFFORTS = re.compile(
    r"\s*-\s*point (?:efforts|performances|outings|games|nights|showings)\b(?: (?:from|by))?"
)
_AND = re.compile(r"(?: \([^)]*\))?,? and ")
_TEN = 10


class Roles:
    """Judges what players are said to be.

    Args:
        squad: the players.
    """

    def __init__(self, squad: Squad) -> None:
        self._squad = squad

    def judge(self, number: int) -> Iterator[Finding]:
        """Findings on a sentence."""
        mentions = self._squad.match.mentions(number)
        yield from self._roles(number, mentions)
        yield from self._double_figures(number, mentions)
        yield from self._doubles(number, mentions)
        yield from self._counted(number, mentions)
        yield from self._efforts(number, mentions)
        yield from self._twice(mentions)

    def _roles(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "scored 12 points off the bench", "the only other starter"."""
        start, end = self._squad.match.linking.reading.sentences[number]
        if not self._squad.roster.bench:
            return
        for pattern, right in (
            (_FROM_BENCH, self._squad.roster.bench),
            (_STARTING, self._squad.roster.starters),
        ):
            for match in pattern.finditer(self._squad.plain, start, end):
                behind = [m for m in mentions if 0 <= m.start - match.end() <= 2]
                named = re.match(
                    r"[^,;.]{0,60}\b(?:was|were) $", self._squad.plain[match.end() : end]
                )
                subject = (
                    behind[0] if behind else self._squad.subject(number, match.start(), mentions)
                )
                if subject is None:
                    subject = self._squad.introduced(match.end(), mentions)
                if named or subject is None or subject.player is None:
                    continue
                known = self._squad.roster.bench | self._squad.roster.starters
                if subject.player not in known or _OTHERS.search(
                    self._squad.plain, subject.end, match.start()
                ):
                    continue
                words = next(
                    span for name in match.groupdict() if (span := match.span(name))[0] > 0
                )
                said = self._squad.role_cell(subject.player)
                yield self._squad.finding(
                    Span(*words), subject.player in right, "ATT", (said,) if said else (), "role"
                )

    def _double_figures(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "the only other starter in double figures": nobody else who was not named yet."""
        start, end = self._squad.match.linking.reading.sentences[number]
        if self._squad.points is None:
            return
        for match in _DOUBLE.finditer(self._squad.plain, start, end):
            subject = self._squad.subject(number, match.start(), mentions)
            subject = subject or self._squad.introduced(match.end(), mentions)
            if subject is None or subject.player is None:
                continue
            inside = [m for m in mentions if match.start() < m.start < match.end()]
            if any(m.side != subject.side for m in inside):
                continue
            team = self._squad.group(subject, "team")
            if "starter" in match["of"]:
                team = tuple(row for row in team if row in self._squad.roster.starters)
            elif re.search(_BENCH + "|reserve", match["of"]):
                team = tuple(row for row in team if row in self._squad.roster.bench)
            named = self._squad.named_before(number) if match["other"] else set()
            named |= {m.player for m in mentions if m.player is not None}
            high = [
                row for row in team if (self._squad.count(row, self._squad.points) or 0) >= _TEN
            ]
            missed = [row for row in high if row not in named]
            own = self._squad.count(subject.player, self._squad.points)
            if own is None:
                continue
            right = not missed and own >= _TEN
            shown = [(row, self._squad.points) for row in missed[:2]] or [
                (subject.player, self._squad.points)
            ]
            end_of = match.start() + len(match["word"].rstrip())
            reason = "ten or more: " + ", ".join(self._squad.name(row) for row in high)
            yield self._squad.finding(Span(match.start(), end_of), right, "CMP", shown, reason)

    def _doubles(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "a double-double": ten or more in two of the counts that make one."""
        start, end = self._squad.match.linking.reading.sentences[number]
        columns = [
            heading.column
            for heading, said in self._squad.match.linking.index.terms.items()
            if heading.grid == self._squad.roster.grid.number and said in COUNTS
        ]
        for match in TOLD.finditer(self._squad.plain, start, end):
            subject = self._squad.subject(number, match.start(), mentions)
            wanted = 2 if match[1] == "double" else 3
            if subject is None or subject.player is None or len(columns) <= wanted:
                continue
            high = [c for c in columns if (self._squad.count(subject.player, c) or 0) >= _TEN]
            shown = [(subject.player, column) for column in high or columns]
            reason = f"ten or more in {len(high)} of the counts"
            right = len(high) >= wanted
            yield self._squad.finding(Span(*match.span()), right, "NUM", shown, reason)

    def _counted(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "the Hawks had six players in double figures"."""
        for amount in self._squad.match.linking.sentence_links[number][
            self._squad.roster.grid.number
        ].amounts:
            match = _MANY.match(self._squad.plain, amount.digits_end)
            earlier = [m for m in mentions if m.end <= amount.start]
            if match is None or self._squad.points is None or not earlier or amount.hedge:
                continue
            team = self._squad.group(earlier[-1], "team")
            if match["of"] != "players":
                own = (
                    self._squad.roster.starters
                    if match["of"] == "starters"
                    else self._squad.roster.bench
                )
                team = tuple(row for row in team if row in own)
            high = [
                row for row in team if (self._squad.count(row, self._squad.points) or 0) >= _TEN
            ]
            evidence = self._squad.match.grounder.evidence(
                self._squad.roster.grid.number, [(row, self._squad.points) for row in high]
            )
            reason = "ten or more: " + ", ".join(self._squad.name(row) for row in high)
            yield compared_number(amount, Decimal(len(high)), evidence, reason)

    def _efforts(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "a pair of 23-point efforts from Ann Lee and Bo Tan": the number is that of both."""
        amounts = self._squad.match.linking.sentence_links[number][
            self._squad.roster.grid.number
        ].amounts
        for count, amount in pairwise([*amounts[:1], *amounts]):
            match = _EFFORTS.match(self._squad.plain, amount.digits_end)
            column = self._squad.points
            if match is None or column is None or amount.hedge:
                continue
            listed = [m for m in mentions if m.start >= match.end()][:2]
            if len(listed) < 2 or any(m.player is None for m in listed):
                listed = [m for m in mentions if m.end <= amount.start][-2:]
            if len(listed) < 2 or any(m.player is None for m in listed):
                continue
            if not _AND.fullmatch(self._squad.plain[listed[0].end : listed[1].start]):
                continue
            rows = [m.player for m in listed if m.player is not None]
            values = [self._squad.count(row, column) for row in rows]
            wrong = [value for value in values if value != amount.value]
            cells = [(row, column) for row in rows]
            evidence = self._squad.match.grounder.evidence(self._squad.roster.grid.number, cells)
            right = wrong[0] if wrong else amount.value
            if right is None:
                continue
            found = compared_number(amount, right, evidence, "the points of both")
            yield found if len(set(values)) == 1 else replace(found, expected=())
            if count is not amount and count.value == len(rows) and count.end <= amount.start:
                yield compared_number(count, count.value, evidence, "so many are named")

    def _twice(self, mentions: list[Mention]) -> Iterator[Finding]:
        """As "led by the duo of Ann Lee and Ann Lee"."""
        for one, other in pairwise(mentions):
            between = self._squad.plain[one.end : other.start]
            if one.player is not None and one.player == other.player and _AND.fullmatch(between):
                where = Span(other.start, other.end)
                yield self._squad.finding(
                    where, False, "ATT", [], "the list names one player twice"
                )
