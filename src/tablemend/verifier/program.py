"""The program verifier: the readings of each claim, executed and weighed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import exp, log
from pathlib import Path
from typing import NamedTuple

from tablemend.evidence.source import Source
from tablemend.records import Claim, Document, Evidence, Verdict
from tablemend.values.cells import read_value
from tablemend.values.text import Span
from tablemend.verifier.answer_table.verify import verify_answer_claims
from tablemend.verifier.cell_candidates import NAMED, NO_VALUE, Candidate, Lookups, scope_features
from tablemend.verifier.conditions import is_part, is_part_of_group, unread
from tablemend.verifier.entity_linking import Linking
from tablemend.verifier.lexicon import EMPTY, RESULTS, THINGS
from tablemend.verifier.number_agreement import in_open_scale
from tablemend.verifier.operators.comparisons import comparisons, references, together
from tablemend.verifier.operators.counts_and_extremes import (
    counts,
    extremes,
    only,
    quantifiers,
    ranks,
)
from tablemend.verifier.operators.series import changes, totals
from tablemend.verifier.operators.slots import Derivation, Slots
from tablemend.verifier.oriented_table import views_of
from tablemend.verifier.reading import Reading, Scripts
from tablemend.verifier.sentence_links import SentenceLinks, range_set

# ---- weights

_LARGEST = 20.0


class Weights(NamedTuple):
    """Weights of features for readings that hold, that do not, and that leave it open."""

    true: Mapping[str, float]
    false: Mapping[str, float]
    unclear: Mapping[str, float]

    def mass(self, candidate: Candidate) -> float:
        """How much a reading weighs beside no reading at all, which weighs 1."""
        weights = self.true if candidate.truth else self.false
        weights = self.unclear if candidate.truth is None else weights
        score = sum(weights.get(name, 0.0) * value for name, value in candidate.features.items())
        return exp(max(-_LARGEST, min(score, _LARGEST)))


@lru_cache(maxsize=1)
def fitted() -> Weights:
    """The weights that ``benchmarks/verifier_weights.py`` fits."""
    text = Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
    read = json.loads(text)
    return Weights(read["true"], read["false"], read["unclear"])


class Belief(NamedTuple):
    """How likely a claim holds, and the readings with their shares, the likeliest first.

    Attributes:
        likely: how likely it holds.
        at_most: the same if what is doubtful proves nothing.
        shares: each reading with its share.
    """

    likely: float
    at_most: float
    shares: tuple[tuple[float, Candidate], ...]


def weigh(candidates: Sequence[Candidate], weights: Weights) -> Belief:
    """Let readings compete; one more, of weight 1, is the meaning that none of them has."""
    masses = [weights.mass(candidate) for candidate in candidates]
    total = 1.0 + sum(masses)
    shares = sorted(zip(masses, candidates, strict=True), key=lambda one: -one[0])
    true = sum(mass for mass, one in shares if one.truth)
    false = sum(mass for mass, one in shares if one.truth is False)
    doubtful = sum(mass for mass, one in shares if one.truth is False and one.doubtful)
    likely, at_most = (0.5 + 0.5 * one / total for one in (true - false, true - false + doubtful))
    return Belief(likely, at_most, tuple((mass / total, one) for mass, one in shares))


# ---- computed readings

_AUXILIARIES = frozenset("be is are was were do does did have has had".split())
_OPERATIONS = frozenset(
    "superlative rank comparative quantifier aggregate change negation count".split()
)
_OPERATORS: tuple[Callable[[Slots], Iterator[Derivation]], ...] = (
    extremes,
    ranks,
    counts,
    comparisons,
    quantifiers,
    only,
    totals,
    changes,
    references,
    together,
)


def computed_readings(slots: Slots) -> list[Derivation]:
    """Every reading; what stands under a "not" is turned round."""
    negated = _negated(slots)
    found = []
    for operator in _OPERATORS:
        for reading in operator(slots):
            if _is_torn(slots, reading):
                continue
            place = reading.fault[0] if reading.fault else min(reading.used, default=negated or 0)
            if (
                negated is not None
                and negated not in reading.used
                and slots.frame.clause(place) == slots.frame.clause(negated)
            ):  # the "not" is of its clause
                reason, used = f"{reading.reason} (denied)", reading.used | {negated}
                reading = replace(reading, truth=not reading.truth, used=used, reason=reason)
                reading = replace(reading, fault=(negated, negated + 1), expected=())
            found.append(replace(reading, doubtful=_overreaches(slots, reading)))
    return found


def _negated(slots: Slots) -> int | None:
    """The "not" that denies the whole statement: behind an auxiliary, and of no condition."""
    taken = frozenset[int]().union(*(f.used for f in slots.filters))
    words = slots.frame.words
    for place, word in enumerate(words):
        behind = place > 0 and words[place - 1] in _AUXILIARIES
        denies = word.endswith("n't") or word == "never" or (word == "not" and behind)
        if denies and words[place + 1 : place + 2] != ("only",) and place not in taken:
            return place
    return None


def _overreaches(slots: Slots, reading: Derivation) -> bool:
    """Whether it fails over rows that words which nobody read may leave out."""
    if reading.truth or reading.fault is None:
        return False
    frame, used, fault = slots.frame, reading.used, reading.fault
    stated = next((s.amount for s in frame.amounts if s.first == fault[0]), None)
    for row, column in reading.cells if stated else ():
        index = slots.view.columns[column]
        number = read_value(index.cell(row)).number
        if number and stated and in_open_scale(stated, number, index.unit(row)) == "near":
            return True
    if reading.operator == "total":
        return "range" not in reading.features and is_part(frame, used, fault)
    if reading.operator not in ("count", "quantifier"):
        return False
    if reading.operator == "count" and all(not f.used & used for f in slots.filters):
        behind = (fault[1], frame.clause(fault[0])[1])
        return bool(unread(frame, used, behind))  # "three cities are capitals"
    return is_part_of_group(frame, used, fault[1])


def _is_torn(slots: Slots, reading: Derivation) -> bool:
    """Whether it computes over rows of one name that differ, and no sum is asked for."""
    torn = slots.view.torn
    if not torn or any(cue.kind == "aggregate" for cue in slots.frame.cues):
        return False
    columns, key = {column for _, column in reading.cells}, slots.view.key
    named = (f.rows for f in slots.filters if f.column == key and f.used <= reading.used)
    cells = ((row, column) for rows in named for row in rows for column in columns)
    return not torn.isdisjoint({*reading.cells, *cells})


def features(slots: Slots, readings: Sequence[Derivation], reading: Derivation) -> dict[str, float]:
    """What is known of a reading: its slots, and how much of the sentence it accounts for."""
    frame = slots.frame
    first, last = reading.part or (0, len(frame.words))
    content = frame.content & range_set(first, last)
    left = content - reading.used
    weight = {place: _weight(slots, place) for place in content}
    covered = 1.0 - sum(weight[place] for place in left) / (sum(weight.values()) or 1.0)
    stated = [s for s in frame.amounts if first <= s.first < last]
    numbers = sum(not reading.used & s.tokens for s in stated)
    named = [f for f in slots.filters if first <= f.first < last]
    names = sum(not f.used & reading.used for f in named)
    spans = [(cue.kind, frame.token_range(cue.start, cue.end)) for cue in frame.cues]
    kinds = [
        kind
        for kind, span in spans
        if kind in _OPERATIONS and first <= span[0] < last and not reading.used & range_set(*span)
    ]
    own = reading.operator
    alike = sum(
        (r.operator, r.truth, r.used) == (own, reading.truth, reading.used) for r in readings
    )
    known = {
        "bias": 1.0,
        f"is {own}": 1.0,
        f"{own} holds": float(reading.truth),
        f"{own} covered": covered,
        "covered": covered,
        "all covered": float(not left),
        "numbers left": float(min(numbers, 3)),
        f"{own} numbers left": float(min(numbers, 3)),
        "names left": float(min(names, 3)),
        f"{own} names left": float(min(names, 3)),
        "fails on nothing": float(not reading.truth and not reading.cells),
        "no condition": float(all(not f.used & reading.used for f in slots.filters)),
        "cues left": float(min(len(kinds), 3)),
        "negations left": float("negation" in kinds),
        "alike": log(alike),
        "readings": log(sum(r.operator == own for r in readings)),
        "words": min(len(content), 30) / 10,
    }
    known |= {f"{own} left {kind}": 1.0 for kind in kinds}
    known |= {f"{own} {name}": 1.0 for name in reading.features}
    if slots.view.turned:
        known |= {"turned": 1.0, f"{own} turned": 1.0}
    return {f"logic {name}": value for name, value in known.items() if value}


def _weight(slots: Slots, place: int) -> float:
    word = slots.frame.words[place]
    if word.isdigit():
        return 2.0
    verb = place in slots.frame.verbs and word not in RESULTS
    light = word in THINGS or word in EMPTY or verb or place in slots.frame.headed
    return 0.25 if light else 1.0


# ---- verdicts

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
    """One text against one source."""

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
            span = Span(fault.start, fault.end)  # more than one is right where readings differ
            same_words = (one for one in rivals if (one.start, one.end) == span)
            corrections = [right for one in same_words for right in one.expected]
            expected = tuple(dict.fromkeys(corrections))
            why = fault.error, fault.evidence, fault.reason
            return Verdict(claim, "contradicted", *why, (span,), expected)
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
                frame = SentenceLinks(self.linking, links, view)
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


def _computed(
    frame: SentenceLinks, lookups: Lookups, context: tuple[str, ...]
) -> list[tuple[Candidate, frozenset[int]]]:
    slots = Slots(frame, lookups.filters)
    readings = computed_readings(slots)
    found, tokens = [], frame.tokens
    for reading in readings:
        fault = reading.fault if not reading.truth else None
        first, last = fault or (0, len(tokens))
        evidence = frame.view.evidence_of(dict.fromkeys(reading.cells[:3]))
        if reading.operator != "together" or not evidence:  # that one only looks up
            evidence = (Evidence(reading.reason, frame.links.grid), *evidence)
        known = features(slots, readings, reading)
        known |= dict.fromkeys((f"logic {name}" for name in context), 1.0)
        start, end, expected = tokens[first].start, tokens[last - 1].end, reading.expected
        decided = reading.error, expected if fault else (), reading.reason, reading.doubtful
        candidate = Candidate("computed", start, end, reading.truth, known, evidence, *decided)
        used = frozenset(tokens[place].start for place in reading.used if place < len(tokens))
        found.append((candidate, used))
    return found


def verify_document(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Verify every claim of a text or an answer table, in its order."""
    if document.table is not None:
        return verify_answer_claims(document, source)
    verdicts = TextVerifier(document, source).verdicts()
    return tuple(replace(verdict, verifier=VERSION) for verdict in verdicts)
