"""The controlled injection study: 1 to 5 errors of known type and place in faithful summaries.

Tables are those of the test split, so that none was looked at for a rule, and synthetic ones.
Every table has a faithful summary, the same with k errors for k = 1..5 as far as it has room, and
a second faithful summary that stands for a person's reference (TabFaith, section 6.4, Figure 3).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tablemend.datasets.labelled_texts import Split, file_of, overlap, read_records, split_of
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.agreement import (
    COVERAGE,
    TEXT,
    Counts,
    Formula,
    Rates,
    balanced_threshold,
    by_score,
    by_verifier,
    count_claims,
    count_text,
    place_of,
    rates,
    ratio,
)
from tablemend.meta_evaluation.metrics import METRICS, filled_cells
from tablemend.programs.speaker import Unsayable
from tablemend.records import CLAIM_ERRORS, Verdict, Verification
from tablemend.statistics import correlations
from tablemend.tables.html import read_filing
from tablemend.tables.table import Table, TableError
from tablemend.tasks.tabfaith.data import MIX
from tablemend.tasks.tabfaith.domains import SYNTHETIC
from tablemend.tasks.tabfaith.summaries import Fact, InjectedError, Verbaliser, inject
from tablemend.values.text import Span
from tablemend.verifier.staf import verify_text
from tablemend.verifier.verifiers import PROGRAM

CLAIM: dict[str, Formula] = {
    "precision": ratio("rejected_right", "rejected"),
    "recall": ratio("detected", "injected", less="open"),
    "recall_all": ratio("detected", "injected"),
    "open": ratio("open", "injected"),
    "false_alarms": ratio("rejected", "claims"),
    "precision_words": ratio("hits", "predicted"),
    "recall_words": ratio("exact", "injected"),
}
"""Of claims found wrong; ``words``: of the words at fault."""
STAF = "STAF"


def study(data: Path, split: Split | None, n: int | None) -> dict[str, Any]:
    """The figures of the study.

    Args:
        data: folder of the sets.
        split: whose tables are summarised; the metrics' thresholds are chosen on the dev split.
        n: at most so many tables of each source.
    """
    tables = [*read_tables(data, split, n), *synthetic_tables(n, split)]
    summaries = others = [one for named in tables for one in summarise(named)]
    if split != "dev":
        seen = [*read_tables(data, "dev", n), *synthetic_tables(n)]
        others = [one for named in seen for one in summarise(named, verify=False)]
    thresholds = {
        metric: balanced_threshold([(one.scores[metric], bool(one.errors)) for one in others])
        for metric in METRICS
    }
    by_source: dict[str, list[Summary]] = {}
    for one in sorted(summaries, key=lambda one: one.named.source):
        by_source.setdefault(one.named.source, []).append(one)
    return {
        "thresholds": thresholds,
        "by_errors": {
            str(count): at_count(summaries, count, thresholds) for count in range(MOST_ERRORS + 1)
        },
        "by_source": {
            source: at_count(own, 1, thresholds)
            | {
                "read": sum(named.source == source for named in tables),
                "summarised": sum(not one.errors for one in own),
            }
            for source, own in by_source.items()
        },
        "by_type": by_type(summaries),
        "correlation": {
            name: correlations(
                [one.staf if name == STAF else one.scores[name] for one in summaries],
                [one.truth for one in summaries],
                [one.named.key for one in summaries],
            )
            for name in (STAF, *METRICS)
        },
    }


def at_count(
    summaries: Sequence[Summary], errors: int, thresholds: Mapping[str, float | None]
) -> dict[str, Any]:
    """The figures of summaries with so many errors; of texts beside their faithful versions."""
    chosen = [one for one in summaries if one.errors == errors]
    keys = [one.named.key for one in chosen]
    counts = [one.counts for one in chosen]
    figures: dict[str, Any] = {"texts": len(chosen), **rates(counts, keys, COVERAGE | CLAIM)}
    if errors:
        tables = {one.named.table for one in chosen}
        pairs = [o for o in summaries if o.errors in (0, errors) and o.named.table in tables]
        figures["text"] = {STAF: _text_rates(pairs, [one.rejected for one in pairs])}
        for metric, threshold in thresholds.items():
            if threshold is not None:
                opinions = [by_score(one.scores[metric], threshold) for one in pairs]
                figures["text"][metric] = _text_rates(pairs, opinions)
    return figures


def _text_rates(summaries: Sequence[Summary], rejected: Sequence[bool | None]) -> Rates:
    pairs = zip(summaries, rejected, strict=True)
    counts = [count_text(bool(one.errors), opinion) for one, opinion in pairs]
    return rates(counts, [one.named.key for one in summaries], TEXT)


def by_type(summaries: Sequence[Summary]) -> dict[str, Any]:
    """Errors by injected type, over all numbers of errors: found, and with which type."""
    keys = [one.named.key for one in summaries]
    counts = [one.counts for one in summaries]
    total = sum(counts, start=Counts())
    measures = {"recall_all": "detected", "recall_words": "exact", "open": "open"}
    return {
        kind: {
            "injected": total[f"injected {kind}"],
            "typed": {other: total[f"typed {kind} {other}"] for other in CLAIM_ERRORS},
            **rates(
                counts,
                keys,
                {
                    name: ratio(f"{count} {kind}", f"injected {kind}")
                    for name, count in measures.items()
                },
            ),
        }
        for kind in CLAIM_ERRORS
    }


MOST_ERRORS = 5
SEED = "validation"
SEEDS: dict[Split, int] = {"dev": 20_260, "test": 20_261}
"""Of the synthetic tables: those of the dev split are looked at, those of the test split never."""
SYNTHETIC_TABLES = 100
"""Of each domain, where no number is given."""


class SourceTable(NamedTuple):
    """A table of a source, with what it is resampled by."""

    source: str
    key: str
    table: Table


@dataclass(frozen=True, slots=True)
class Summary:
    """One summary of a table, with none or some errors, and what was made of it.

    Attributes:
        named: its table.
        errors: number of errors injected.
        truth: share of its statements that are true.
        staf: share of its scored claims that are supported; ``None`` without any.
        rejected: the verifier's opinion on the whole text; ``None`` for unscored.
        counts: claims and spans, right and wrong.
        scores: the metrics against the other faithful summary.
    """

    named: SourceTable
    errors: int
    truth: float
    staf: float | None
    rejected: bool | None
    counts: Counts
    scores: dict[str, float]


def _plain(record: dict[str, Any]) -> Table:
    return Table.of(record["header"], record["rows"], record.get("title") or record["caption"])


SOURCES: dict[str, Callable[[dict[str, Any]], Table]] = {
    "wikitablequestions": _plain,
    "tabfact": _plain,
    "hitab": lambda record: Table.of(
        record["table"]["texts"][0], record["table"]["texts"][1:], record["table"]["title"]
    ),
    "sec_8k_tables": lambda record: read_filing(record["raw_table"]),
}
"""Tables of people: how a record becomes a table."""


def read_tables(data: Path, split: Split | None, n: int | None) -> Iterator[SourceTable]:
    """Real tables of one split, or of both; those that can be read, at most ``n`` of a source."""

    def unread(place: str, error: Exception) -> None:
        if not isinstance(error, TableError):  # that is ASCII art, or a header without a cell
            why = f"{type(error).__name__}: {error}"
            print(f"left out: {place} is no table ({why})", file=sys.stderr)

    def read(source: str, record: Any) -> SourceTable | None:
        key = record["split_key"]
        is_asked = split in (None, split_of(key))
        return SourceTable(source, key, SOURCES[source](record)) if is_asked else None

    for source in SOURCES:
        path = data / file_of(source)
        if not path.is_file():
            continue
        found: dict[str, SourceTable] = {}
        for named in read_records(path, partial(read, source), unread):
            if named is not None:
                found.setdefault(named.table.content_hash(), named)
        order = sorted(found, key=lambda name: sha256(name.encode()).digest())
        yield from (found[name] for name in order[:n])


def synthetic_tables(n: int | None, split: Split | None = "dev") -> Iterator[SourceTable]:
    """Made-up tables of the enterprise domains, others for each split; each is drawn alone."""
    for own in SEEDS if split is None else (split,):
        for domain in SYNTHETIC:
            for number in range(n or SYNTHETIC_TABLES):
                table = SYNTHETIC[domain](SEEDS[own], number)
                yield SourceTable(f"synthetic {domain}", f"{own} {domain} {number}", table)


def summarise(named: SourceTable, verify: bool = True) -> list[Summary]:
    """The summaries of one table, verified and scored; none where it allows none.

    With ``verify`` off only the metrics are worked out.
    """
    table = named.table
    seed = f"{SEED}:{table.content_hash()}"
    try:
        verbaliser = Verbaliser(table)
        faithful = verbaliser.summarise(Random(f"{seed}:summary"))
        reference = verbaliser.summarise(Random(f"{seed}:reference")).text
    except Unsayable:
        return []
    texts = [faithful]
    for count in range(1, MOST_ERRORS + 1):
        injected = inject(faithful, verbaliser, [MIX] * count, Random(f"{seed}:{count}"))
        if injected is not None:
            texts.append(injected)
    source, cells = Source((table,)), filled_cells([table])
    found = []
    for text, facts, errors in ((one.text, one.facts, one.errors) for one in texts):
        verification = verify_text(text, source, PROGRAM) if verify else Verification((), "")
        untrue = {index for error in errors for index in error.facts}
        scores = {name: score(text, [reference], cells) for name, score in METRICS.items()}
        found.append(
            Summary(
                named,
                len(errors),
                1 - len(untrue) / len(faithful.facts),
                verification.staf,
                by_verifier(verification).wrong,
                count_injected(errors, facts, verification),
                scores,
            )
        )
    return found


def count_injected(
    errors: Sequence[InjectedError], facts: Sequence[Fact], verification: Verification
) -> Counts:
    """Claims and words found wrong against the errors that were injected.

    A claim found wrong is right where an injected error stands in it, or where it turns on a
    statement that the error makes false (a period at the head of a sentence, a name before a
    list). An error is found where such a claim is found wrong, and found exactly where the words
    at fault share a character with it. It is open where it was not found and no such claim has a
    verdict.

    Args:
        errors: what was injected.
        facts: the statements of the text; errors name those that they make false.
        verification: what the verifier says.
    """
    faults = by_verifier(verification).faults
    counts: Counts = Counter(texts=1)
    counts.update(count_claims(verification))
    right, hits = set[int](), set[Span]()
    for error in errors:
        place = Span(error.start, error.end)
        untrue = [place]
        for index in error.facts:
            part = facts[index].parts[facts[index].focus]
            untrue.append(Span(part.start, part.end))
        touching = [one for one in verification.verdicts if _concerns(one, place, untrue)]
        hits |= {span for span, _ in faults if overlap(span, place)}
        wrong = {id(one) for one in touching if one.wrong}
        right |= wrong
        exact = {name for span, name in faults if overlap(span, place)}
        is_open = not wrong and all(one.verdict == "unscored" for one in touching)
        for name in ("", f" {error.type}"):
            counts[f"injected{name}"] += 1
            counts[f"detected{name}"] += bool(wrong)
            counts[f"exact{name}"] += bool(exact)
            counts[f"open{name}"] += is_open
        for name in exact:
            counts[f"typed {error.type} {name}"] += 1
    counts["rejected"] = verification.wrong
    counts["rejected_right"] = len(right)
    counts["predicted"] = len(faults)
    counts["hits"] = sum(span in hits for span, _ in faults)
    return counts


def _concerns(verdict: Verdict, error: Span, untrue: Sequence[Span]) -> bool:
    """Whether a claim says what the error makes false."""
    start, end = place_of(verdict)
    if start <= error.start and error.end <= end:
        return True
    own = [*((verdict.claim.focus,) if verdict.claim.focus else ()), *verdict.spans]
    return any(overlap(one, other) for one in own for other in untrue)
