"""The verdicts on claims about the one thing of an info box.

A sentence is accepted only where the info box explains every word of it: each time, age and count
in it holds, and each other word is a name of the thing, an attribute that is spoken of, or a value
of one. A time, an age or a count that does not hold refutes it. Everything else stays open: that a
word of a sentence stands in an info box proves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tablemend.records import Claim, Verdict, VerdictName
from tablemend.values.numbers import find_quantities
from tablemend.values.sentences import Span
from tablemend.verification.linking import Linking
from tablemend.verification.profiles.amounts import Amounts
from tablemend.verification.profiles.counted import Counted
from tablemend.verification.profiles.dated import Dated
from tablemend.verification.profiles.facts import Fact
from tablemend.verification.profiles.profile import Profile, plain, stems
from tablemend.verification.profiles.silent import Silence, find_silence
from tablemend.verification.profiles.told import Told, Vocabulary

_TIMELY = re.compile(
    r"\b(?:spring|summer|autumn|fall|winter|christmas|easter|day|birthday|january|february|march"
    r"|april|may|june|july|august|september|october|november|december)s?\b",
    re.I,
)
_WHEREABOUTS = re.compile(
    r"\b(?:north|south|east|west|europe|asia|africa|america|australia|hemisphere|coast|ocean)"
    r"|(?:ish|ese|ian|ean|can)s?\b",
    re.I,
)
_NAME = re.compile(r"[^\W\d_]{2,}")
_LONGEST = 400  # characters of a sentence
_NEAR = 30  # characters between an attribute and its value
_SPANS = ("", "%", "min", "h", "s", "day", "week", "month", "year", "decade", "century")
"""Units of what is computed of an info box, rather than told by a cell."""
_LOOSE = 3  # words beside a fact that may tell of something else


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What is found of a sentence."""

    verdict: VerdictName
    facts: tuple[Fact, ...]
    told: Told | None
    silence: Silence | None = None


class Profiles:
    """Judges the claims of a text against an info box.

    Args:
        linking: the text and its tables.
    """

    def __init__(self, linking: Linking) -> None:
        self.linking = linking
        grids = linking.source.grids
        self.profile = Profile.of(grids[0]) if len(grids) == 1 else None
        self._found: dict[int, _Sentence] = {}

    @cached_property
    def _judges(self) -> tuple[Dated, Amounts, Counted]:
        assert self.profile is not None
        return Dated(self.profile), Amounts(self.profile), Counted(self.profile)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        assert self.profile is not None
        return Vocabulary(self.profile)

    def judge(self, claim: Claim, looked_up: Verdict) -> Verdict:
        """The verdict on a claim.

        Args:
            claim: the claim.
            looked_up: what is found of its words in the cells; it stays where the source is no
                info box, and where it names something that stands nowhere.
        """
        if self.profile is None or claim.start is None or claim.end is None:
            return looked_up
        found = self._sentence(self.linking.sentence_at(claim.start))
        if found.verdict == "contradicted":
            return self._refuted(claim, found, looked_up)
        if found.verdict == "supported":
            return self._supported(claim, found)
        if found.silence is not None:
            return self._silent(claim, found.silence, looked_up)
        if looked_up.verdict == "unscored":
            return looked_up
        if self._is_of_one_cell(claim, looked_up):
            return looked_up
        if looked_up.verdict == "not_in_source" and self._is_strange(looked_up):
            return looked_up
        reason = "the info box has words of it; what is said of them was not looked up"
        return Verdict(claim, "unscored", evidence=looked_up.evidence, reason=reason)

    def _refuted(self, claim: Claim, found: _Sentence, looked_up: Verdict) -> Verdict:
        """The claim that a false fact stands in is contradicted, the others stay open."""
        wrong = [fact for fact in found.facts if not fact.truth]
        focus = claim.focus or Span(claim.start or 0, claim.end or 0)
        claims = [f for f in wrong if f.start < focus.end and focus.start < f.end]
        if not claims:
            holding = [f for f in wrong if (claim.start or 0) <= f.start < (claim.end or 0)]
            claims = holding
        if not claims:
            return Verdict(claim, "unscored", reason="another part of the sentence does not hold")
        assert self.profile is not None
        evidence = tuple(
            self.profile.evidence(attribute) for f in claims for attribute in f.attributes
        )
        spans = tuple(Span(fact.start, fact.end) for fact in claims)
        first = claims[0]
        return Verdict(claim, "contradicted", first.error, evidence, first.reason, spans)

    def _is_of_one_cell(self, claim: Claim, verdict: Verdict) -> bool:
        """Whether one cell is meant: by a number with its unit, or an attribute that is told of."""
        if verdict.verdict == "not_in_source":
            return bool(verdict.evidence)
        said = self.linking.reading.text
        if claim.focus is not None:
            stated = find_quantities(said[claim.focus.start : claim.focus.end].casefold())
            if any(
                one.number.unit.symbol not in _SPANS or one.number.unit.currency for one in stated
            ):
                return True
        assert self.profile is not None
        for span in verdict.spans if verdict.error_type == "ATT" else ():
            before = _NAME.findall(said[max(0, span.start - _NEAR) : span.start])
            headers = [stem for a in self.profile.attributes for stem in stems(a.header)]
            if any(
                len(word) > 3 and plain(word)[: len(word) - 2] == header[: len(word) - 2]
                for word in before
                for header in headers
            ):
                return True
        return False

    def _silent(self, claim: Claim, silence: Silence, looked_up: Verdict) -> Verdict:
        """The claim that holds words which the info box is silent about; the others stay open."""
        if not (claim.start or 0) <= silence.start < (claim.end or 0):
            if looked_up.verdict == "not_in_source" and self._is_strange(looked_up):
                return looked_up
            return Verdict(claim, "unscored", reason=f"in its sentence, {silence.reason}")
        spans = (Span(silence.start, silence.end),)
        return Verdict(claim, "not_in_source", "ATT", (), silence.reason, spans)

    def _is_strange(self, verdict: Verdict) -> bool:
        """Whether what stands nowhere is a name, and no form or larger place of one that does.

        An info box that names a place is silent about what country or coast that lies in; its
        numbers and dates are told in words and spans that no cell has.
        """
        assert self.profile is not None
        text = self.linking.reading.text
        for span in verdict.spans:
            said = text[span.start : span.end]
            if any(c.isdigit() for c in said) or not said[:1].isupper():
                continue
            if _TIMELY.search(said) or _WHEREABOUTS.search(said):
                continue
            words = [plain(word) for word in _NAME.findall(said)]
            if not any(self.profile.resembles(word) for word in words):
                return True
        return False

    def _sentence(self, number: int) -> _Sentence:
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = self._read(number)
        return found

    def _read(self, number: int) -> _Sentence:
        assert self.profile is not None
        reading = self.linking.reading
        start, end = reading.sentences[number]
        if end - start > _LONGEST:
            return _Sentence("unscored", (), None)
        facts: list[Fact] = []
        for judge in self._judges:
            for fact in judge.facts(reading.plain, start, end):
                if not any(f.start < fact.end and fact.start < f.end for f in facts):
                    facts.append(fact)
        told = self._vocabulary.told(reading.tokens_within(start, end), facts)
        if any(not fact.truth for fact in facts):
            sure = len(told.open) <= _LOOSE
            return _Sentence("contradicted" if sure else "unscored", tuple(facts), told)
        explained = not told.open and not told.loose
        if explained and (facts or told.attributes):
            return _Sentence("supported", tuple(facts), told)
        silence = find_silence(self.profile, reading.plain, start, end)
        if silence is not None and not facts:
            return _Sentence("not_in_source", (), told, silence)
        return _Sentence("unscored", tuple(facts), told)

    def _supported(self, claim: Claim, found: _Sentence) -> Verdict:
        assert self.profile is not None
        attributes = [a for fact in found.facts for a in fact.attributes]
        attributes += found.told.attributes if found.told else ()
        evidence = tuple(self.profile.evidence(a) for a in dict.fromkeys(attributes))
        return Verdict(
            claim, "supported", evidence=evidence, reason="the info box has all that is said"
        )
