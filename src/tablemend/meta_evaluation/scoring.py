"""From items and opinions to the figures of one set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tablemend.meta_evaluation.baselines import best_threshold, count_scored, score_items
from tablemend.meta_evaluation.counting import (
    Counts,
    clean_share,
    count_item,
    count_people,
    human_score,
)
from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.measures import (
    COVERAGE,
    SENTENCE,
    SPAN,
    TEXT,
    rates,
)
from tablemend.meta_evaluation.opinions import about
from tablemend.meta_evaluation.verifying import Scored
from tablemend.records import VERDICTS, Verification
from tablemend.statistics import correlation_with_p, correlations
from tablemend.values.sentences import Span

LABELS = ("supported", "contradicted", "not_in_source")
TWICE = "annotated twice"
"""The texts of a set that two people annotated."""


class Texts(NamedTuple):
    """Texts, what was counted of each, and the number that a scorer gives it."""

    items: Sequence[Item]
    counts: Sequence[Counts]
    scores: Sequence[float | None]

    def part(self, chosen: Sequence[int]) -> Texts:
        """Some of the texts, by place."""
        return Texts(
            [self.items[index] for index in chosen],
            [self.counts[index] for index in chosen],
            [self.scores[index] for index in chosen],
        )


def score_verifier(items: Sequence[Item], scored: Scored) -> dict[str, Any]:
    """All figures of one verifier on one set, and of the parts of the set."""
    counts = [
        count_item(item, verification)
        for item, verification in zip(items, scored.verifications, strict=True)
    ]
    total = sum(counts, start=Counts())
    figures = _all_figures(Texts(items, counts, [one.staf for one in scored.verifications]))
    figures["verifier"] = scored.verifier
    figures["calls"] = sum(one.calls for one in scored.verifications)
    if scored.seconds:
        figures["claims_per_second"] = total["claims"] / scored.seconds
    figures["size"] = size_correlations(items, scored)
    figures["by_label"] = dict(_by_label(total))
    return figures


def score_metric(
    items: Sequence[Item], others: Sequence[Item], metric: str
) -> dict[str, Any] | None:
    """All figures of one metric; ``None`` where the set has not what it needs.

    Args:
        items: the texts to report on.
        others: the texts of the dev split, on which the threshold is chosen.
        metric: see :func:`score_items`.
    """
    scores = score_items(items, metric)
    if all(score is None for score in scores):
        return None
    same = items is others
    threshold = best_threshold(scores if same else score_items(others, metric), others)
    counts = [
        Counts() if threshold is None else count_scored(item, score, threshold)
        for item, score in zip(items, scores, strict=True)
    ]
    return _all_figures(Texts(items, counts, scores)) | {"threshold": threshold}


def score_people(items: Sequence[Item]) -> dict[str, Any] | None:
    """The other annotator as a scorer, both ways round; ``None`` where nobody annotated twice."""
    twice = [item for item in items if len(item.marks) > 1]
    if not twice:
        return None
    counts = [count_people(item) for item in twice]
    keys = [item.split_key for item in twice]
    shares = [[clean_share(item.text, marks) for marks in item.marks] for item in twice]
    pairs = [
        (one, other, key)
        for own, key in zip(shares, keys, strict=True)
        for one, other in (own[:2], own[1::-1])
    ]
    one, other, pair_keys = zip(*pairs, strict=True)
    return {
        "texts": len(twice),
        "correlation": correlations(one, other, pair_keys),
        "text": rates(counts, keys, TEXT),
        "span": rates(counts, keys, SPAN),
        "sentence": rates(counts, keys, SENTENCE),
        "groups": {},
    }


def parts(items: Sequence[Item]) -> Iterator[tuple[str, list[int]]]:
    """The parts of a set that have figures of their own, as places of their items."""
    groups = sorted({item.group for item in items})
    if len(groups) > 1:
        for group in groups:
            yield group, [index for index, item in enumerate(items) if item.group == group]
    twice = [index for index, item in enumerate(items) if len(item.marks) > 1]
    if twice:
        yield TWICE, twice


def _all_figures(scored: Texts) -> dict[str, Any]:
    """The figures of a set, and of its parts below ``groups``."""
    groups = {name: _figures(scored.part(chosen)) for name, chosen in parts(scored.items)}
    return _figures(scored) | {"groups": groups}


def _figures(scored: Texts) -> dict[str, Any]:
    items, counts, scores = scored
    keys = [item.split_key for item in items]
    people = [human_score(item) for item in items]
    figures: dict[str, Any] = {
        "texts": len(items),
        "correlation": correlations(scores, people, keys),
    }
    names = {name for one in counts for name in one}
    if "claims" in names:
        figures["claims"] = sum(one["claims"] for one in counts)
        figures |= rates(counts, keys, COVERAGE)
    if names and any(item.label is not None or item.marks for item in items):
        figures["text"] = rates(counts, keys, TEXT)
    if "claims" in names and any(item.marks for item in items):
        figures["span"] = rates(counts, keys, SPAN)
        figures["sentence"] = rates(counts, keys, SENTENCE)
    if any(item.label is not None for item in items) and "claims" in names:
        total = sum(counts, start=Counts())
        figures["labels"] = {
            label: {verdict: total[f"label {label} {verdict}"] for verdict in VERDICTS}
            for label in LABELS
        }
    return figures


def _by_label(total: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    """People's kinds of error: how many are marked, found, open, found one to one."""
    for name in total:
        if name.startswith("marked "):
            label = name.removeprefix("marked ")
            yield (
                label,
                {
                    "marked": total[name],
                    "found": total.get(f"found {label}", 0),
                    "open": total.get(f"open {label}", 0),
                    "found_single": total.get(f"single found {label}", 0),
                },
            )


def size_correlations(items: Sequence[Item], scored: Scored) -> dict[str, Any]:
    """STAF, and people's judgement, against rows times columns of all tables of the source."""
    rows = [
        (sum(len(table.rows) * len(table.columns) for table in item.source.tables), staf, people)
        for item, one in zip(items, scored.verifications, strict=True)
        if (staf := one.staf) is not None and (people := human_score(item)) is not None
    ]
    return {
        "STAF": correlation_with_p([(cells, staf) for cells, staf, _ in rows]),
        "people": correlation_with_p([(cells, people) for cells, _, people in rows]),
    }


def disagreements(items: Sequence[Item], scored: Scored) -> Iterator[dict[str, Any]]:
    """Claims without a verdict, and those whose verdict people contradict, for a person to read.

    A labelled statement counts as a whole: where it is wrongly accepted, all its claims are
    given, where it is wrongly rejected, those that were.
    """
    for item, verification in zip(items, scored.verifications, strict=True):
        labels = labels_of(item, verification)
        for verdict, marked in zip(verification.verdicts, labels, strict=True):
            if item.label is not None:
                gold: str = item.label
                agreed = verification.verdict != "unscored" and (
                    (verification.verdict == "supported") == (item.label == "supported")
                    or (item.label == "supported" and not verdict.wrong)
                )
            else:
                gold = ", ".join(sorted(marked)) or "nothing marked"
                agreed = verdict.wrong == bool(marked)
            if verdict.verdict == "unscored" or not agreed:
                yield {
                    "set": item.set,
                    "id": item.id,
                    "gold": gold,
                    "verdict": verdict.verdict,
                    "error_type": verdict.error_type,
                    "kind": verdict.claim.kind,
                    "claim": verdict.claim.text,
                    "statement": verdict.claim.statement,
                    "reason": verdict.reason,
                    "evidence": [evidence.text for evidence in verdict.evidence],
                    "text": item.text,
                }


def labels_of(item: Item, verification: Verification) -> list[set[str]]:
    """The kinds of error that people marked in each claim."""
    verdicts = verification.verdicts
    found: dict[int, set[str]] = {id(verdict): set() for verdict in verdicts}
    for marks in item.marks:
        for mark in marks:
            if mark.error:
                for verdict in about(Span(mark.start, mark.end), verdicts):
                    found[id(verdict)].add(mark.label)
    return [found[id(verdict)] for verdict in verdicts]
