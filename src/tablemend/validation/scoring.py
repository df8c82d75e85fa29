"""From items and verdicts to the figures of one set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablemend.records import VERDICTS, Verdict
from tablemend.validation.counting import count_item, human_score
from tablemend.validation.items import Item
from tablemend.validation.judging import Judged
from tablemend.validation.measures import (
    COVERAGE,
    SENTENCE,
    SPAN,
    TEXT,
    correlations,
    rates,
)
from tablemend.values.sentences import Span

LABELS = ("supported", "contradicted", "not_in_source")


def score_verifier(items: Sequence[Item], judged: Judged) -> dict[str, Any]:
    """All figures of one verifier on one set, and of the parts of the set."""
    groups = sorted({item.group for item in items})
    figures = _score(items, judged)
    claims = sum(len(one.verdicts) for one in judged.verifications)
    figures["verifier"] = judged.verifier
    figures["seconds"] = judged.seconds
    figures["claims_per_second"] = claims / judged.seconds if judged.seconds else None
    if len(groups) > 1:
        figures["groups"] = {
            group: _score(*_part(items, judged, group), small=True) for group in groups
        }
    return figures


def _part(items: Sequence[Item], judged: Judged, group: str) -> tuple[list[Item], Judged]:
    chosen = [index for index, item in enumerate(items) if item.group == group]
    verifications = tuple(judged.verifications[index] for index in chosen)
    return [items[index] for index in chosen], Judged(judged.verifier, verifications, 0.0)


def _score(items: Sequence[Item], judged: Judged, small: bool = False) -> dict[str, Any]:
    keys = [item.split_key for item in items]
    counts = [
        count_item(item, verification)
        for item, verification in zip(items, judged.verifications, strict=True)
    ]
    figures: dict[str, Any] = {
        "texts": len(items),
        "claims": sum(one["claims"] for one in counts),
        **rates(counts, keys, COVERAGE),
        "correlation": correlations(
            [one.staf for one in judged.verifications], [human_score(item) for item in items], keys
        ),
    }
    if any(item.label is not None or item.marks for item in items):
        figures["text"] = rates(counts, keys, TEXT)
    if any(item.marks for item in items):
        figures["span"] = rates(counts, keys, SPAN)
        figures["sentence"] = rates(counts, keys, SENTENCE)
    total = sum(counts, start=type(counts[0])()) if counts else {}
    if any(item.label is not None for item in items):
        figures["labels"] = {
            label: {verdict: total.get(f"label {label} {verdict}", 0) for verdict in VERDICTS}
            for label in LABELS
        }
    if not small:
        figures["by_label"] = dict(_by_label(total))
        figures["by_error_type"] = dict(_by_error_type(total))
        figures["reasons"] = reasons(items, judged)
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


def _by_error_type(total: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    """Our types of error: how many spans are predicted, how many of them are right."""
    for name in total:
        if name.startswith("predicted "):
            kind = name.removeprefix("predicted ")
            yield kind, {"predicted": total[name], "hits": total.get(f"hits {kind}", 0)}


def reasons(items: Sequence[Item], judged: Judged) -> dict[str, dict[str, dict[str, int]]]:
    """Claims by kind and verdict, for texts with and without an error by people."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for item, verification in zip(items, judged.verifications, strict=True):
        wrong = any(item.judgements)
        for verdict in verification.verdicts:
            row = found.setdefault(verdict.claim.kind, {}).setdefault(
                "bad" if wrong else "good", dict.fromkeys(VERDICTS, 0)
            )
            row[verdict.verdict] += 1
    return {kind: found[kind] for kind in sorted(found)}


def disagreements(items: Sequence[Item], judged: Judged) -> Iterator[dict[str, Any]]:
    """Claims without a verdict, and those whose verdict people contradict, for a person to read.

    A labelled statement counts as a whole: where it is wrongly accepted, all its claims are
    given, where it is wrongly rejected, those that were.
    """
    for item, verification in zip(items, judged.verifications, strict=True):
        for verdict in verification.verdicts:
            if item.label is not None:
                gold: str = item.label
                agreed = verification.verdict != "unjudged" and (
                    (verification.verdict == "supported") == (item.label == "supported")
                    or (item.label == "supported" and not verdict.wrong)
                )
            else:
                marked = _labels_at(item, verdict)
                gold = ", ".join(marked) or "nothing marked"
                agreed = verdict.wrong == bool(marked)
            if verdict.verdict == "unjudged" or not agreed:
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


def _labels_at(item: Item, verdict: Verdict) -> list[str]:
    """The kinds of error that people marked where a claim, or its words at fault, stand."""
    claim = verdict.claim
    if claim.start is None or claim.end is None:
        return []
    spans = verdict.spans or (Span(claim.start, claim.end),)
    marks = (mark for marks in item.marks for mark in marks if mark.error)
    return sorted({mark.label for mark in marks if any(mark.overlaps(span) for span in spans)})
