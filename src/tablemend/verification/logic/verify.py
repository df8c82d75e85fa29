"""Judging a claim over the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from tablemend.claims.cues import find_cues
from tablemend.records import Claim, Evidence, Verdict
from tablemend.values.sentences import Span
from tablemend.verification.linking import Linking
from tablemend.verification.links import Links
from tablemend.verification.logic.aggregates import aggregates
from tablemend.verification.logic.changes import changes
from tablemend.verification.logic.comparisons import comparisons
from tablemend.verification.logic.conditions import conditions
from tablemend.verification.logic.counts import counts, size_of, sizes
from tablemend.verification.logic.equalities import differences, equalities
from tablemend.verification.logic.frame import Frame
from tablemend.verification.logic.index import views_of
from tablemend.verification.logic.lookups import bounds, ranks, together
from tablemend.verification.logic.naming import number_of
from tablemend.verification.logic.outcome import Outcome
from tablemend.verification.logic.quantifiers import quantifiers
from tablemend.verification.logic.readings import weigh
from tablemend.verification.logic.references import references
from tablemend.verification.logic.row_filter import RowFilter
from tablemend.verification.logic.superlatives import superlatives
from tablemend.verification.reading import Reading

_PROGRAMS = (
    changes,
    superlatives,
    counts,
    comparisons,
    equalities,
    differences,
    quantifiers,
    aggregates,
    bounds,
    ranks,
    references,
    together,
)
SUPPORTED = 0.7
"""From this belief on a claim is supported."""
CONTRADICTED = 0.3
"""Up to this belief it is contradicted; between the two it is unscored."""
LONGEST = 150
"""Tokens of a statement; a longer one is no sentence, and its readings are without number."""
_TORN = "the table has rows of one name with different values"
_KEPT: WeakKeyDictionary[Linking, dict[tuple[int, int, int], list[_Weighed] | None]] = (
    WeakKeyDictionary()
)
_AUXILIARIES = frozenset("be is are was were do does did have has had".split())
_LOGICAL = frozenset({"superlative", "rank", "comparative", "quantifier", "aggregate", "change"})


def verify_logic(claim: Claim, linking: Linking, grid: int) -> Verdict | None:
    """Verify a claim by what many cells say together.

    The whole sentence is read first, for a comparison or a change often ends behind the claim;
    then the claim's own statement, where it has words that the sentence leaves out.

    Args:
        claim: the claim.
        linking: the document that it is from, linked to its source.
        grid: number of the table to verify by.

    Returns:
        ``None`` where the claim asks for nothing of this sort: it is to be looked up. Unscored
        where it does, and no reading is clear enough.
    """
    unclear: Verdict | None = None
    asked = any(cue.kind in _LOGICAL for cue in find_cues(claim.statement))
    torn = False
    for linked, links in _linked(claim, linking, grid):
        views = _scored(linked, links)
        if views is None:
            continue
        if (verdict := _size(claim, linking, views[0].frame)) is not None:
            read = verdict.wrong or any(view.likely >= SUPPORTED for view in views if view.shares)
            if read or "all" not in views[0].frame.words:
                return verdict
            reason = f"{verdict.reason}; what is said of all of them was not read"
            return replace(verdict, verdict="unscored", reason=reason)
        torn = torn or any(weighed.torn for weighed in views)
        scored = [weighed for weighed in views if weighed.shares]
        if not scored:
            continue
        best = max(scored, key=lambda weighed: abs(weighed.likely - 0.5))
        if CONTRADICTED < best.likely < SUPPORTED:
            said = "; ".join(dict.fromkeys(outcome.reason for _, outcome in best.shares[:2]))
            if asked:
                unclear = unclear or Verdict(
                    claim, "unscored", reason=f"no reading is clear: {said}"
                )
            continue
        if (verdict := _verdict(claim, linking, best)) is not None:
            if linked is linking or not _tells_of_times(claim, verdict, linking, grid):
                return verdict
            continue
        asked = False
    if torn:
        return Verdict(claim, "unscored", reason=_TORN)
    if asked and unclear is None:
        return Verdict(claim, "unscored", reason="no way to compute this from the table")
    return unclear


def _tells_of_times(claim: Claim, verdict: Verdict, linking: Linking, grid: int) -> bool:
    """Whether a period is called wrong of which the sentence names several, with their numbers.

    In "nine in 2016 and six in 2020" no clause tells by itself what is wrong.
    """
    if verdict.error_type != "TMP" or claim.sentence is None:
        return False
    moments = linking.links(claim.sentence, grid).moments
    return sum(bool(link.places or link.columns) for link in moments) > 1


@dataclass(frozen=True, slots=True)
class Explained:
    """The likeliest reading of a whole sentence.

    Attributes:
        likely: the belief that the sentence holds.
        outcome: the reading.
        used: share of the words that say something which it accounts for.
        left: the others.
        evidence: what was computed, and the cells.
        fault: the words at fault, where they are known.
    """

    likely: float
    outcome: Outcome
    used: float
    left: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    fault: Span | None


def explain_sentence(linking: Linking, span: Span, grid: int) -> Explained | None:
    """The likeliest reading of a sentence over a table; ``None`` where there is none."""
    views = [view for view in _scored(linking, linking.links(span, grid)) or () if view.shares]
    if not views or any(view.torn for view in views):
        return None
    best = max(views, key=lambda weighed: abs(weighed.likely - 0.5))
    frame, truth = best.frame, best.likely >= 0.5
    outcome = max(
        ((share, o) for share, o in best.shares if o.truth == truth), key=lambda one: one[0]
    )[1]
    left = sorted(frame.content - outcome.used)
    fault = None
    if outcome.fault is not None:
        first, last = outcome.fault
        fault = Span(frame.tokens[first].start, frame.tokens[last - 1].end)
    evidence = (Evidence(outcome.reason, grid), *_cells(frame, outcome))
    used = 1 - len(left) / max(1, len(frame.content))
    return Explained(
        best.likely, outcome, used, tuple(frame.words[i] for i in left), evidence, fault
    )


def _scored(linking: Linking, links: Links) -> list[_Weighed] | None:
    """A statement over the table by rows and, where that makes sense, by columns.

    Kept as long as its document: a sentence has many claims. ``None`` for one that is too long.
    """
    kept = _KEPT.setdefault(linking, {})
    place = (*links.span, links.grid)
    if place not in kept:
        plain, turned = views_of(linking.source.grids[links.grid])
        views = [plain, turned] if turned.sensible else [plain]
        short = len(linking.reading.tokens_within(*links.span)) <= LONGEST
        kept[place] = [_weighed(Frame(linking, links, v)) for v in views] if short else None
    return kept[place]


def _verdict(claim: Claim, linking: Linking, best: _Weighed) -> Verdict | None:
    """The verdict of the likeliest reading that concerns the claim; ``None`` where none does."""
    truth = best.likely >= SUPPORTED
    least = max(share for share, outcome in best.shares if outcome.truth == truth) / 2
    alike = [o for share, o in best.shares if o.truth == truth and share >= least]
    outcome = next((o for o in alike if _concerns(claim, linking, best.frame, o)), None)
    if outcome is None:
        return None
    evidence = (Evidence(outcome.reason, best.frame.links.grid), *_cells(best.frame, outcome))
    if truth:
        return Verdict(claim, "supported", evidence=evidence, reason=outcome.reason)
    spans = _spans(claim, linking, best.frame, outcome)
    return Verdict(
        claim, "contradicted", outcome.error, evidence, outcome.reason, spans, outcome.expected
    )


def _size(claim: Claim, linking: Linking, frame: Frame) -> Verdict | None:
    """The verdict on a claim that turns on how many rows there are: "of the six regions"."""
    words = _focus_tokens(claim, linking, frame)
    for stated in frame.amounts:
        if stated.first not in words or not size_of(frame, stated):
            continue
        possible = sizes(frame, stated)
        reason = number_of(max(possible))
        evidence = (Evidence(reason, frame.links.grid),)
        if int(stated.value) in possible:
            return Verdict(claim, "supported", evidence=evidence, reason=reason)
        outcome = Outcome(
            "count", False, words, 1.0, (), reason, (stated.first, stated.last), error="NUM"
        )
        spans = _spans(claim, linking, frame, outcome)
        right = (str(len(frame.view.rows)),) if len(possible) == 1 else ()
        return Verdict(claim, "contradicted", "NUM", evidence, reason, spans, right)
    return None


def _concerns(claim: Claim, linking: Linking, frame: Frame, outcome: Outcome) -> bool:
    """Whether what was computed is what the claim turns on.

    A sentence has several claims: where its comparison holds, the number in it is not yet right,
    and where a number is wrong, the comparison beside it is not.
    """
    if claim.focus is None:
        return True
    words = _focus_tokens(claim, linking, frame)
    if not words:
        return claim.kind == "comparative"
    if outcome.truth:
        numbers = frozenset(i for i in words if frame.words[i][0].isdigit())
        return numbers <= outcome.used and bool(words & outcome.used)
    at_fault = range(*outcome.fault) if outcome.fault else ()
    compared = claim.kind == "comparative" and bool(words & outcome.used)
    return compared or not words.isdisjoint(at_fault)


def _focus_tokens(claim: Claim, linking: Linking, frame: Frame) -> frozenset[int]:
    """The tokens of the claim's focus in what was read; empty where it is not there."""
    if claim.focus is None or claim.start is None:
        return frozenset()
    start, end = claim.focus
    span = frame.links.span
    if frame.linking is linking:
        inside = span.start <= start < span.end
        return frozenset(range(*frame.token_range(start, end))) if inside else frozenset()
    said = claim.text[start - claim.start : end - claim.start]
    place = claim.statement.find(said)
    if place < 0:
        return frozenset()
    return frozenset(range(*frame.token_range(place, place + len(said))))


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A statement over one view: how likely it is, and the readings with their shares.

    ``torn`` where a reading was left out because the table has two values for what it computes.
    """

    frame: Frame
    likely: float
    shares: list[tuple[float, Outcome]]
    torn: bool = False


def _weighed(frame: Frame) -> _Weighed:
    found = conditions(frame)
    outcomes = list(run_programs(frame, found))
    sound = [outcome for outcome in outcomes if not _is_torn(frame, found, outcome)]
    return _Weighed(frame, *weigh(frame, found, sound), len(sound) < len(outcomes))


def _is_torn(frame: Frame, found: list[RowFilter], outcome: Outcome) -> bool:
    """Whether a reading computes over rows of one name that differ, and no sum is asked for."""
    torn = frame.view.torn
    if not torn or outcome.family == "aggregate":
        return False
    if any(cue.kind == "aggregate" for cue in frame.cues):
        return False
    columns = {column for _, column in outcome.cells}
    named = {
        row
        for condition in found
        if condition.column == frame.view.key and condition.used <= outcome.used
        for row in condition.rows
    }
    cells = {*outcome.cells, *((row, column) for row in named for column in columns)}
    return not torn.isdisjoint(cells)


def run_programs(frame: Frame, found: list[RowFilter]) -> Iterator[Outcome]:
    """Every reading of a statement, run."""
    negated = _negated(frame, found)
    for program in _PROGRAMS:
        for outcome in program(frame, found):
            if negated is None or negated in outcome.used:
                yield outcome
                continue
            yield replace(
                outcome,
                truth=not outcome.truth,
                used=outcome.used | {negated},
                reason=f"{outcome.reason} (denied)",
                fault=(negated, negated + 1) if outcome.truth else None,
                expected=(),
            )


def _negated(frame: Frame, found: list[RowFilter]) -> int | None:
    """The "not" that denies the whole statement: behind an auxiliary, and of no condition."""
    taken = frozenset[int]().union(*(condition.used for condition in found))
    for place, word in enumerate(frame.words):
        contracted = word.endswith("n't")
        behind = place > 0 and frame.words[place - 1] in _AUXILIARIES
        denies = contracted or word == "never" or (word == "not" and behind)
        if denies and place not in taken:
            return place
    return None


def _linked(claim: Claim, linking: Linking, grid: int) -> Iterator[tuple[Linking, Links]]:
    """The sentence of the claim, linked, and its statement where it is not the sentence."""
    if claim.start is not None and claim.end is not None:
        span = claim.sentence or Span(claim.start, claim.end)
        yield linking, linking.links(span, grid)
        if linking.reading.text[span.start : span.end].rstrip(" .") == claim.statement:
            return
    if len(claim.statement.split()) > LONGEST:
        return  # not read below, and linking it takes time for every claim of its sentence
    alone = Linking(Reading(claim.statement), linking.source)
    yield alone, alone.links(Span(0, len(claim.statement)), grid)


def _cells(frame: Frame, outcome: Outcome) -> tuple[Evidence, ...]:
    """The cells that decided it, as evidence."""
    found = (frame.view.evidence(row, column) for row, column in dict.fromkeys(outcome.cells))
    return tuple(evidence for evidence in found if evidence is not None)


def _spans(claim: Claim, linking: Linking, frame: Frame, outcome: Outcome) -> tuple[Span, ...]:
    """The words at fault in the document; its claim's focus where they are not in it."""
    if outcome.fault is None or claim.start is None or claim.end is None:
        return ()
    first, last = outcome.fault
    fault = Span(frame.tokens[first].start, frame.tokens[last - 1].end)
    for stated in frame.amounts:  # with its currency and its unit
        if (stated.first, stated.last) == (first, last):
            fault = Span(stated.amount.start, stated.amount.end)
    if frame.linking is linking:
        return (fault,)
    words = frame.reading.text[fault.start : fault.end]
    place = linking.reading.text.find(words, claim.start, claim.end)
    if place >= 0:
        return (Span(place, place + len(words)),)
    return (claim.focus,) if claim.focus else (Span(claim.start, claim.end),)
