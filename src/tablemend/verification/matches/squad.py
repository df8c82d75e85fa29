"""The players of a match in a text: who is meant, what is counted, who is of which group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from tablemend.records import ClaimError
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Cell
from tablemend.verification.lexicon import terms
from tablemend.verification.matches.match import Match, Mention, Roster

_POINTS = frozenset(terms("points"))
_PART = re.compile(r"[^.;]*?\b(?:half|quarter|period|overtime|season|career|streak)\b(?! *-)")
_CLOSE = 80  # characters
_SUBJECT = re.compile(r"(?:'s?)?(?:,? who)?(?: also| once again| again| [a-z]+)?,? ")


class Squad:
    """Reads what sentences say of players.

    Args:
        match: the tables.
        roster: the players.
    """

    def __init__(self, match: Match, roster: Roster) -> None:
        self.match = match
        self.roster = roster
        self.plain = match.linking.reading.plain
        self.points = next(
            (
                heading.column
                for heading, said in match.linking.index.terms.items()
                if heading.grid == roster.grid.number and said == _POINTS
            ),
            None,
        )

    def group(self, subject: Mention, group: str) -> tuple[int, ...]:
        """The players of a group: of the match, of the subject's side, of its bench."""
        rows = [
            row
            for row, side in self.roster.side_of.items()
            if group not in ("team", "bench") or side == subject.side
        ]
        return tuple(row for row in rows if group != "bench" or row in self.roster.bench)

    def finding(
        self,
        where: Span,
        right: bool,
        error: ClaimError,
        cells: Sequence[Cell],
        reason: str,
    ) -> Finding:
        """The firm verdict on words, with cells of the roster as evidence."""
        return Finding(
            where.start,
            where.end,
            "name",
            "supported" if right else "contradicted",
            None if right else error,
            self.match.grounder.evidence(self.roster.grid.number, list(cells)),
            reason,
            None if right else where,
            firm=True,
        )

    def count(self, row: int, column: int) -> Decimal | None:
        """A number of a player; ``None`` for one who did not play."""
        number = self.match.grounder.number(self.roster.grid.number, row, column)
        return None if number is None else number.value

    def name(self, row: int | None) -> str:
        """What a player is called."""
        return next((x.name for x in self.roster.grid.lines if x.index == row), "")

    def role_cell(self, row: int) -> Cell | None:
        """The cell that says whether a player started."""
        column = self.roster.role
        return None if column is None else (row, column)

    def of_part(self, start: int, end: int) -> bool:
        """Whether words behind a place speak of a part of the match, or of several matches."""
        return _PART.match(self.plain, start, min(end, start + _CLOSE)) is not None

    def masked(self, start: int, end: int, mentions: list[Mention]) -> str:
        """The sentence with every named side and player as marks that patterns can find."""
        said = list(self.plain[start:end])
        for mention in mentions:
            said[mention.start - start] = "\x00"
        return "".join(said)

    def before(self, place: int, mentions: list[Mention]) -> Mention | None:
        """Who stands right before a verb."""
        earlier = [m for m in mentions if m.end <= place]
        if not earlier or not _SUBJECT.fullmatch(self.plain[earlier[-1].end : place]):
            return None
        return earlier[-1]

    def subject(self, number: int, place: int, mentions: list[Mention]) -> Mention | None:
        """The player whom a sentence speaks of at a place; nobody where a side was named later."""
        earlier = [m for m in mentions if m.end <= place]
        players = [m for m in earlier if m.player is not None]
        if players:
            late = re.search(r"\b(?:while|whereas|and the)\b", self.plain[players[-1].end : place])
            return None if late else players[-1]
        links = self.match.linking.sentence_links[number][self.roster.grid.number]
        start = self.match.linking.reading.sentences[number].start
        pronoun = re.match(r"(?:\w+,? )?(?:he|his)\b", self.plain[start : start + 24])
        if earlier or not pronoun or len(links.subject) != 1:
            return None
        row = links.subject[0]
        return Mention(-1, start, self.roster.side_of[row], row)

    def introduced(self, place: int, mentions: list[Mention]) -> Mention | None:
        """The player behind "was": "the only other starter in double figures was Ann Lee"."""
        behind = [m for m in mentions if m.start >= place]
        if behind and re.fullmatch(
            r"[^,;.]{0,60}\b(?:was|were) ", self.plain[place : behind[0].start]
        ):
            return behind[0]
        return None

    def measure(self, start: int, end: int, reach: int = 90) -> int | None:
        """The first column of numbers that the words behind a place name whole."""
        number = self.match.linking.sentence_at(start)
        for link in self.match.linking.sentence_links[number][self.roster.grid.number].columns:
            if link.start < start:
                continue
            if link.start > min(end, start + reach):
                return None
            if link.coverage == 1 and len(link.columns) == 1:
                return link.columns[0] if link.columns[0] in self.roster.measures else None
        return None

    def named_before(self, number: int) -> set[int]:
        """The players of all earlier sentences."""
        return {
            mention.player
            for earlier in range(number)
            for mention in self.match.mentions(earlier)
            if mention.player is not None
        }

    def last_player(self, number: int) -> Mention | None:
        """The last player of the sentence before."""
        if not number:
            return None
        players = [m for m in self.match.mentions(number - 1) if m.player is not None]
        return players[-1] if players else None
