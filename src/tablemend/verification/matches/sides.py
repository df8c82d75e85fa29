"""What reports of a match say of its two sides: who played whom, where, and how it went on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tablemend.values.numbers import parse_number, plain_digits
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding, compared_number
from tablemend.verification.lexicon import header_terms
from tablemend.verification.matches.match import Match, Mention
from tablemend.verification.reading import Amount

_AGAINST = re.compile(
    r"\b(?:defeat(?:s|ed|ing)?|beat(?:s|ing)?|out-?scor(?:es|ed|ing)|outlast(?:ed|ing)?|edg(?:ed|ing)"
    r"|top(?:ped|ping)|down(?:ed|ing)|against|versus|vs\.?|play(?:s|ed)? host to|host(?:s|ed|ing)?"
    r"|visit(?:s|ed|ing)?|fac(?:es|ed|ing)|forc(?:e|ed|ing))\s+(?:the )?(?:host |visiting )?$"
)
_BREAK = re.compile(r"\b(?:while|whereas|but|and the|and their|with)\b|;")
_HOST = re.compile(r"\b(?P<word>(?P<home>host|hosting|home)|visiting|road) $")
_WHERE = re.compile(
    r"\b(?P<word>(?P<home>home)|road) (?:victory|win|loss|defeat|triumph)\b(?! of| at)"
    r"|\bin front of (?:their|its) (?P<crowd>home) (?:crowd|fans)\b"
)
_OTHER = re.compile(
    r"\b(?:season|next|will|last|straight|record|streak|games|host|upcoming|first|previous|earlier)\b"
)
_PART = (
    r"(?:the )?(?:(?P<half>first|opening|second) half|(?P<quarter>first|opening|second|third|fourth"
    r"|final) (?:quarter|period|frame))"
)
_ORDINALS = {"first": 1, "opening": 1, "second": 2, "third": 3, "fourth": 4, "final": 4}
_AWAY = re.compile(
    r"\b(?P<word>pull(?:ed|ing)? away|(?:battl|fought|storm|claw|rall)\w*(?: back)?)"
    rf" (?:for good )?(?:in|during) {_PART}"
)
_NUMBER = (
    r"(?P<number>\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
    r"|fifteen|sixteen|seventeen|eighteen|nineteen|twenty)"
)
_MARGIN = re.compile(
    rf"\b{_NUMBER}\s*-\s*point (?:game|lead|deficit|advantage|cushion|margin|hole)\b"
    r"[^,;.]{0,12}?\b(?:(?P<break>(?:at|into) (?:the )?(?:half\w*|break|intermission|locker room))"
    r"|(?:at the end of|after) (?:the )?(?P<after>first|opening|second|third)"
    r"|(?:heading into|entering|going into) the (?P<into>second|third|fourth|final))\b"
)
_THROUGHOUT = re.compile(
    rf"\b(?P<word>(?:{_NUMBER}-point|double-digit) lead) (?:for|throughout|over|during)"
    r" (?:the )?(?:entire(?:ty of)?|whole|all of) ?(?:the )?second half\b"
)
_LONE_WIN = re.compile(
    r" (?:won|wins|prevailed|emerged victorious)\b"
    r"(?! (?:the (?!game|match)|\w+ (?:period|quarter)))"
)
_BY_PLACE = re.compile(r"(?:home|host|away|visiting|road) (?:team|side)|visitors")
_FORCED = re.compile(r"\b(?:forc(?:e|ed|ing)|caus(?:e|ed|ing))\b")
_OWN = re.compile(r" of (?:their|its) own\b")
_STANDING = re.compile(
    r"\b(?P<word>down|trail(?:ed|ing)|behind|(?P<up>up|led|leading|ahead)) (?:by )?\d+ *- *\d+ at"
    r" (?:the )?(?:half(?:time)?|break|intermission)\b"
)
_OUTSCORED = re.compile(
    rf"\b(?P<word>out-?scor(?:ed|es|ing))\b[^,;.]{{0,60}}? (?:in|during) {_PART}"
)
_TWO_PARTS = re.compile(
    r"[^,;.]{0,16} (?:over|in|during|across) the (?P<one>first|second|third) and"
    r" (?P<other>second|third|fourth) (?:quarters|periods)\b"
)
_BETTER = re.compile(
    r"\b(?:were|was) the (?:far |much )?(?P<word>superior|better|more efficient) shoot\w+"
)


_SHOOTING = frozenset(header_terms("Field goal percentage"))
_NEXT = re.compile(
    r"\b(?:next (?:game|match|fixture|contest|outing)|up next|on deck|head(?:s|ing)? (?:back )?home"
    r"|remains? (?:at )?home|(?:return|head|travel)s? (?:back )?to\b|(?:will|'ll|to) (?:look to"
    r"|host|play host|face|visit|travel|take on|await|battle|welcome|return))\b"
)


class Sides:
    """Judges what sentences say of the two sides.

    Args:
        match: the tables.
    """

    def __init__(self, match: Match) -> None:
        self.match = match
        self.plain = match.linking.reading.plain

    def judge(self, number: int) -> Iterator[Finding]:
        """Findings on a sentence."""
        mentions = self.match.mentions(number)
        start, end = self.match.linking.reading.sentences[number]
        yield from self._against_itself(mentions)
        yield from self._places(start, end, mentions)
        yield from self._won(mentions)
        yield from self._course(start, end, mentions)
        yield from self._margins(start, end)
        yield from self._throughout(start, end, mentions)
        yield from self._own(number, mentions)
        yield from self._shooting(start, end, mentions)
        yield from self._later(number)
        yield from self._standing(start, end, mentions)
        yield from self._outscored(start, end, mentions)
        yield from self._sums(number)

    def _against_itself(self, mentions: list[Mention]) -> Iterator[Finding]:
        """As "the Hawks, outscoring the Hawks": nobody plays against itself."""
        for one, other in pairwise(mentions):
            if one.player is not None or other.player is not None or one.side != other.side:
                continue
            between = self.plain[one.end : other.start]
            if not _AGAINST.search(between) or _BREAK.search(between):
                continue
            where = Span(other.start, other.end)
            right = self.match.name(self.match.rival(one.side))
            yield self._finding(where, False, "nobody plays against itself", (right,), "ATT")

    def _won(self, mentions: list[Mention]) -> Iterator[Finding]:
        """As "the home team won": whoever plays at home, or away, has the higher score."""
        for mention in mentions:
            match = _LONE_WIN.match(self.plain, mention.end)
            by_place = _BY_PLACE.fullmatch(self.plain, mention.start, mention.end)
            won = self.match.won(mention.side)
            if match is not None and by_place and mention.player is None and won is not None:
                yield self._finding(Span(mention.start, match.end()), won, "by the score")

    def _places(self, start: int, end: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "the host Hawks", "a road win": who plays at home."""
        home = self.match.home
        if home is None:
            return
        for mention in mentions:
            if mention.player is not None:
                continue
            match = _HOST.search(self.plain, max(start, mention.start - 12), mention.start)
            verb = match and match["word"] == "hosting" and not self._is_behind_the(match.start())
            if match and not verb and not _OTHER.search(self.plain, start, match.start()):
                right = (mention.side == home) == bool(match["home"])
                yield self._place(Span(*match.span("word")), right)
        for match in _WHERE.finditer(self.plain, start, end):
            earlier = [m for m in mentions if m.end <= match.start()]
            if not earlier or earlier[-1].player is not None:
                continue
            if _OTHER.search(self.plain, earlier[-1].end, end):
                continue
            where = Span(*match.span("crowd" if match["crowd"] else "word"))
            at_home = bool(match["home"] or match["crowd"])
            yield self._place(where, (earlier[-1].side == home) == at_home)

    def _is_behind_the(self, place: int) -> bool:
        return self.plain[max(0, place - 4) : place] == "the "

    def _place(self, where: Span, right: bool) -> Finding:
        assert self.match.home is not None
        return self._finding(where, right, f"{self.match.name(self.match.home)} play at home")

    def _course(self, start: int, end: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "pulled away in the second half": they outscored the other side in that part."""
        for match in _AWAY.finditer(self.plain, start, end):
            earlier = [m for m in mentions if m.end <= match.start() and m.player is None]
            parts = _parts(match)
            lead = self.match.lead(earlier[-1].side, parts) if earlier else None
            if lead is None:
                continue
            won = self.match.won(earlier[-1].side)
            right = lead > 0 and (won is not False or not match["word"].startswith("pull"))
            reason = f"in that part {plain_digits(abs(lead))} {'more' if lead > 0 else 'fewer'}"
            yield self._finding(Span(*match.span("word")), right, reason)

    def _standing(self, start: int, end: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "down 72-68 at halftime": who was ahead then."""
        for match in _STANDING.finditer(self.plain, start, end):
            sides = [m for m in mentions if m.player is None]
            before = [m for m in sides if m.end <= match.start()]
            behind = [m for m in sides if m.start >= match.end()]
            opening = (
                re.match(r", (?:the )?$", self.plain[match.end() : behind[0].start])
                if behind
                else None
            )
            if not before and opening is None:
                continue
            subject = before[-1] if before else behind[0]
            lead = self.match.lead(subject.side, (1, 2))
            if lead:
                reason = f"{plain_digits(abs(lead))} {'ahead' if lead > 0 else 'behind'} then"
                right = (lead > 0) == bool(match["up"])
                yield self._finding(Span(*match.span("word")), right, reason)

    def _outscored(self, start: int, end: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "outscored the Hawks 50-38 in the second half": who had more in that part."""
        for match in _OUTSCORED.finditer(self.plain, start, end):
            earlier = [m for m in mentions if m.end <= match.start()]
            inside = [m for m in mentions if match.start() < m.start < match.end()]
            if not earlier or earlier[-1].player is not None:
                continue
            if len(inside) > 1 or any(m.side == earlier[-1].side for m in inside):
                continue
            lead = self.match.lead(earlier[-1].side, _parts(match))
            if lead is not None:
                reason = f"in that part {plain_digits(abs(lead))} {'more' if lead > 0 else 'fewer'}"
                yield self._finding(Span(*match.span("word")), lead > 0, reason)

    def _sums(self, number: int) -> Iterator[Finding]:
        """As "by a 59-38 margin over the second and third quarters": sums of two parts."""
        amounts = self.match.linking.sentence_links[number][self.match.sides.number].amounts
        for one, other in pairwise(amounts):
            told = _TWO_PARTS.match(self.plain, other.digits_end)
            mates = self.match.linking.reading.amounts
            if told is None or one.pair != "score" or mates[one.mate] != other:
                continue
            parts = (_ORDINALS[told["one"]], _ORDINALS[told["other"]])
            if not all(part in self.match.parts for part in parts):
                continue
            cells = [(row, self.match.parts[part]) for row in self.match.rows for part in parts]
            values = [self.match.grounder.number(self.match.sides.number, *cell) for cell in cells]
            counts = [value.value for value in values if value is not None]
            if len(counts) < len(cells):
                continue
            sums = sorted([counts[0] + counts[1], counts[2] + counts[3]])
            if one.value >= other.value:
                sums.reverse()
            evidence = self.match.grounder.evidence(self.match.sides.number, cells)
            for amount, right in zip((one, other), sums, strict=True):
                reason = f"it is {plain_digits(right)} over these two"
                yield compared_number(amount, right, evidence, reason)

    def _margins(self, start: int, end: int) -> Iterator[Finding]:
        """As "a six-point lead at halftime": the difference of the scores at that time."""
        for match in _MARGIN.finditer(self.plain, start, end):
            number = parse_number(match["number"])
            last = 2
            if match["after"]:
                last = _ORDINALS[match["after"]]
            elif match["into"]:
                last = _ORDINALS[match["into"]] - 1
            parts = tuple(range(1, last + 1))
            lead = self.match.lead(self.match.rows[0], parts)
            if lead is None or number is None:
                continue
            cells = [(row, self.match.parts[part]) for row in self.match.rows for part in parts]
            evidence = self.match.grounder.evidence(self.match.sides.number, cells)
            reason = f"the difference is {plain_digits(abs(lead))} then"
            amount = Amount(*match.span("number"), match.end("number"), number)
            yield compared_number(amount, abs(lead), evidence, reason)

    def _throughout(self, start: int, end: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "held a double-digit lead for the entire second half": at its ends and between."""
        for match in _THROUGHOUT.finditer(self.plain, start, end):
            earlier = [m for m in mentions if m.end <= match.start() and m.player is None]
            number = parse_number(match["number"] or "10")  # double digits
            if not earlier or number is None:
                continue
            leads = [
                self.match.lead(earlier[-1].side, tuple(range(1, last + 1))) for last in (2, 3, 4)
            ]
            known = [lead for lead in leads if lead is not None]
            if len(known) == len(leads) and min(known) < number.value:
                reason = f"{plain_digits(min(known))} at the end of a quarter"
                yield self._finding(Span(*match.span("word")), False, reason)

    def _own(self, number: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "forced the Hawks into 16 turnovers, committing nine of their own"."""
        links = self.match.linking.sentence_links[number][self.match.sides.number]
        for forced, own in pairwise(links.amounts):
            told = _OWN.match(self.plain, own.digits_end)
            between = [c for c in links.columns if forced.end <= c.start and c.end <= own.start]
            earlier = [m for m in mentions if m.end <= forced.start]
            if told is None or len(between) != 1 or len(earlier) < 2:
                continue
            by, at = earlier[-2:]
            clear = by.player is None and at.player is None and by.side != at.side
            if not clear or not _FORCED.search(self.plain, by.end, at.start):
                continue
            if between[0].coverage < 1 or len(between[0].columns) != 1 or forced.hedge or own.hedge:
                continue
            column = between[0].columns[0]
            for amount, side in ((forced, at.side), (own, by.side)):
                right = self.match.grounder.number(self.match.sides.number, side, column)
                if right is not None:
                    cells = [(side, column)]
                    evidence = self.match.grounder.evidence(self.match.sides.number, cells)
                    yield compared_number(amount, right.value, evidence, evidence[0].text)

    def _shooting(self, start: int, end: int, mentions: list[Mention]) -> Iterator[Finding]:
        """As "were the better shooters": the higher share of field goals."""
        columns = [
            heading.column
            for heading, said in self.match.linking.index.terms.items()
            if heading.grid == self.match.sides.number and said == _SHOOTING
        ]
        for match in _BETTER.finditer(self.plain, start, end):
            earlier = [m for m in mentions if m.end <= match.start()]
            if len(columns) != 1 or not earlier or earlier[-1].player is not None:
                continue
            own, other = (
                self.match.grounder.number(self.match.sides.number, row, columns[0])
                for row in (earlier[-1].side, self.match.rival(earlier[-1].side))
            )
            if own is not None and other is not None:
                reason = f"{plain_digits(own.value)} against {plain_digits(other.value)}"
                yield self._finding(Span(*match.span("word")), own.value > other.value, reason)

    def _later(self, number: int) -> Iterator[Finding]:
        """As "their next game is on Friday": the day of this match says nothing of a later one."""
        start, end = self.match.linking.reading.sentences[number]
        if not _NEXT.search(self.plain, start, end):
            return
        for link in self.match.linking.sentence_links[number][self.match.sides.number].moments:
            if link.moment.kind == "weekday":
                where = Span(link.start, link.end)
                yield Finding(
                    where.start,
                    where.end,
                    "moment",
                    "not_in_source",
                    "TMP",
                    reason="the tables tell of no later match",
                    span=where,
                    firm=True,
                )

    def _finding(
        self,
        where: Span,
        right: bool,
        reason: str,
        expected: tuple[str, ...] = (),
        error: str = "CMP",
    ) -> Finding:
        cells = [(row, self.match.score) for row in self.match.rows]
        return Finding(
            where.start,
            where.end,
            "name",
            "supported" if right else "contradicted",
            None if right else ("ATT" if error == "ATT" else "CMP"),
            self.match.grounder.evidence(self.match.sides.number, cells),
            reason,
            None if right else where,
            expected,
            firm=True,
        )


def _parts(match: re.Match[str]) -> tuple[int, ...]:
    if match["half"]:
        return (3, 4) if match["half"] == "second" else (1, 2)
    return (_ORDINALS[match["quarter"]],)
