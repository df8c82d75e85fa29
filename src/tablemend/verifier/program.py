"""The program verifier: the readings of each claim, executed and weighed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tablemend.evidence.source import Source
from tablemend.records import Claim, Document, Evidence, Verdict
from tablemend.values.sentences import Span
from tablemend.verifier.candidate import Candidate
from tablemend.verifier.computed import computed_readings, features
from tablemend.verifier.context import verify_answer_claims
from tablemend.verifier.frame import Frame
from tablemend.verifier.linking import Linking
from tablemend.verifier.lookups import NAMED, NO_VALUE, Lookups, scope_features
from tablemend.verifier.operators.slots import Slots
from tablemend.verifier.ranking import fitted, weigh
from tablemend.verifier.reading import Reading
from tablemend.verifier.scripts import Scripts
from tablemend.verifier.views import views_of

VERSION = "program/7"
SUPPORTED = 0.7
"""From this belief on a claim is supported."""
CONTRADICTED = 0.35
"""Up to this belief it is contradicted; between the two it is unscored."""
_INFO_BOX = "the table has one row: only a cell that is plainly otherwise is called wrong"
_OTHER_TIME = re.compile(
    r"\b(?:will|next|upcoming|(?:host|visit|face|travel|head|return)s?)\b"
    r".*\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:turned|swung|flipped) (?:in)?to\b"
)
_PART = re.compile(
    r"\b(?:first|second|third|fourth|final|opening|1st|2nd|3rd|4th) "
    r"(quarter|half|period|inning|set)\b"
)
_LONGEST = 1500
_RIVAL = 0.4
"""A reading with this much of the likeliest one's share has a say in what would be right."""
_ONLY = "what is said of it was not looked up"
_TOKENS = 150


class TextVerifier:
    """One text against one source.

    Args:
        document: the text and its claims.
        source: the tables.
    """

    def __init__(self, document: Document, source: Source) -> None:
        self.document = document
        self.linking = Linking(Reading(document.text), source)
        self._scripts = Scripts(document.text, source)
        lines = [line for grid in source.grids for line in grid.lines]
        self._is_info_box = len(source.grids) == 1 == len(lines)
        self._found: dict[int, list[tuple[Candidate, frozenset[int] | None]]] = {}

    def verdicts(self) -> list[Verdict]:
        """One verdict a claim.

        What is only named is supported where something else of its sentence was looked up and
        found right, and nothing wrong: that a word stands in the table proves no sentence.
        """
        found = [self.verify(claim) for claim in self.document.claims]
        places = [self.linking.sentence_at(claim.start or 0) for claim in self.document.claims]
        sound = {
            place
            for place, one in zip(places, found, strict=True)
            if one.verdict == "supported" and one.reason not in NAMED
        } - {place for place, one in zip(places, found, strict=True) if one.wrong}
        return [
            Verdict(one.claim, "unscored", evidence=one.evidence, reason=f"{one.reason}; {_ONLY}")
            if one.verdict == "supported" and one.reason in NAMED and place not in sound
            else one
            for place, one in zip(places, found, strict=True)
        ]

    def verify(self, claim: Claim) -> Verdict:
        """The verdict on one claim."""
        if claim.start is None or claim.end is None:
            return Verdict(claim, "unscored", reason="it has no place in the text")
        if not any(grid.lines for grid in self.linking.source.grids):
            return Verdict(claim, "unscored", reason="the source has no table with rows")
        sentence = self.linking.reading.sentences[self.linking.sentence_at(claim.start)]
        if reason := self._scripts.unread(*sentence):
            return Verdict(claim, "unscored", reason=reason)
        units = self.units(claim)
        if not units:
            return Verdict(claim, "unscored", reason="nothing in it can be looked up or computed")
        beliefs = [weigh(candidates, fitted()) for candidates in units]
        worst = min(beliefs, key=lambda belief: belief.at_most)
        best = max(beliefs, key=lambda belief: belief.likely)
        least = min(belief.likely for belief in beliefs)
        if worst.at_most <= CONTRADICTED:
            false = [(s, one) for s, one in worst.shares if one.truth is False and not one.doubtful]
            if self._is_info_box:
                false = [(s, one) for s, one in false if one.kind != "computed"]
            if not false:
                return Verdict(claim, "unscored", reason=_INFO_BOX)
            most, fault = false[0]
            rivals = [one for share, one in false if share >= _RIVAL * most]
            same = (fault.start, fault.end, fault.expected, fault.error)
            named = (o for _, o in false if (o.start, o.end, o.expected, o.error) == same)
            fault = next((o for o in named if o.kind == "computed"), fault)  # it names the row
            span = Span(fault.start, fault.end)
            return Verdict(
                claim,
                "contradicted",
                fault.error,
                fault.evidence,
                fault.reason,
                (span,),
                _corrections(fault, rivals),
            )
        if best.likely < SUPPORTED or least < 0.5:
            blank = next((c for b in beliefs for _, c in b.shares if c.reason == NO_VALUE), None)
            if blank is not None:
                return Verdict(claim, "unscored", evidence=blank.evidence, reason=NO_VALUE)
            return Verdict(claim, "unscored", reason="no reading is clear enough")
        if self._is_info_box:
            return Verdict(claim, "unscored", reason=_INFO_BOX)
        chosen = next(one for _, one in best.shares if one.truth)
        return Verdict(claim, "supported", evidence=chosen.evidence, reason=chosen.reason)

    def units(self, claim: Claim) -> list[list[Candidate]]:
        """The readings of each thing that a claim states."""
        assert claim.start is not None
        assert claim.end is not None
        focus = claim.focus or Span(claim.start, claim.end)
        found = self.of_sentence(self.linking.sentence_at(claim.start))
        own: dict[tuple[int, int], list[Candidate]] = {}
        for candidate, used in found:
            if used is None and candidate.start < focus.end and focus.start < candidate.end:
                own.setdefault((candidate.start, candidate.end), []).append(candidate)
        if not own:
            own[focus] = []
        for (start, end), candidates in own.items():
            size = any("size" in candidate.features for candidate in candidates)
            for candidate, used in found:
                if used is None or (size and "logic is quantifier" not in candidate.features):
                    continue  # a number of rows is no condition; "all four" is one
                inside = any(start <= place < end for place in used)
                if candidate.truth:
                    if inside:
                        candidates.append(candidate)
                elif (candidate.start < end and start < candidate.end) or (
                    claim.kind == "comparative" and inside and candidate.error != "NUM"
                ):
                    candidates.append(candidate)
        return [candidates for candidates in own.values() if candidates]

    def of_sentence(self, number: int) -> list[tuple[Candidate, frozenset[int] | None]]:
        """All readings of a sentence; of those computed, where the words stand that they use."""
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = list(self._read(number))
        return found

    def _read(self, number: int) -> list[tuple[Candidate, frozenset[int] | None]]:
        sentence = self.linking.reading.sentences[number]
        if sentence.end - sentence.start > _LONGEST:
            return []
        found: list[tuple[Candidate, frozenset[int] | None]] = []
        for grid in self.linking.source.grids:
            links = self.linking.links(sentence, grid.number)
            plain, turned = views_of(grid)
            for view in (plain, turned) if turned.sensible else (plain,):
                frame = Frame(self.linking, links, view)
                if not frame.words or len(frame.words) > _TOKENS:
                    continue
                context = tuple(scope_features(frame))
                lookups = Lookups(frame, context)
                found += [(one, None) for one in lookups.candidates()]
                if not grid.key_value:
                    found += _computed(frame, lookups, context)
        if self._is_of_another_time(sentence):
            found = [
                (replace(one, doubtful=True) if one.truth is False else one, used)
                for one, used in found
            ]
        return found

    def _is_of_another_time(self, sentence: Span) -> bool:
        """Whether a sentence is about a game to come, a part of one that no table has, or two times
        of which it names one: "a loss of 5 in 2023 turned into a profit of 8".
        """
        plain, index = self.linking.reading.plain, self.linking.index
        if _OTHER_TIME.search(plain, *sentence):
            return True
        part = _PART.search(plain, *sentence)
        known = {*index.header_terms, *index.words}
        sorts = any("q" in sort or "h" in sort for sort in index.period_sorts)
        return part is not None and part[1] not in known and not sorts


def _corrections(fault: Candidate, rivals: Sequence[Candidate]) -> tuple[str, ...]:
    """What would be right in place of the words at fault; more than one where readings differ."""
    same = [one for one in rivals if (one.start, one.end) == (fault.start, fault.end)]
    return tuple(dict.fromkeys(right for one in same for right in one.expected))


def _computed(
    frame: Frame, lookups: Lookups, context: tuple[str, ...]
) -> list[tuple[Candidate, frozenset[int]]]:
    slots = Slots(frame, lookups.filters)
    readings = computed_readings(slots)
    found = []
    for reading in readings:
        fault = reading.fault if not reading.truth else None
        first, last = fault or (0, len(frame.words))
        used = frozenset(
            frame.tokens[place].start for place in reading.used if place < len(frame.tokens)
        )
        cells = (frame.view.evidence(*cell) for cell in dict.fromkeys(reading.cells[:3]))
        evidence = tuple(one for one in cells if one is not None)
        if reading.operator != "together" or not evidence:  # that one only looks up
            evidence = (Evidence(reading.reason, frame.links.grid), *evidence)
        known = features(slots, readings, reading)
        known |= dict.fromkeys((f"logic {name}" for name in context), 1.0)
        found.append(
            (
                Candidate(
                    "computed",
                    frame.tokens[first].start,
                    frame.tokens[last - 1].end,
                    reading.truth,
                    known,
                    evidence,
                    reading.error,
                    reading.expected if fault else (),
                    reading.reason,
                    reading.doubtful,
                ),
                used,
            )
        )
    return found


def verify_document(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Verify every claim of a text or an answer table, in its order."""
    if document.table is not None:
        return verify_answer_claims(document, source)
    verdicts = TextVerifier(document, source).verdicts()
    return tuple(replace(verdict, verifier=VERSION) for verdict in verdicts)
