"""Repair and CAVE: injected errors that are mended, faithful claims that are damaged.

    python benchmarks/mending.py [--data FOLDER]                     # repair, without a model
    python benchmarks/mending.py --model MODEL [--data FOLDER]       # CAVE

Each table has a faithful summary, verified by its construction, and the same with one error that
is injected. An error counts as mended where its words are right again; a faithful claim as damaged
where an edit touches it, in the faithful summary or beside the error. Tables are synthetic ones of
three domains and, with the folder of the public sets, those of the test split; the synthetic ones
are drawn anew for each split too.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tablemend.backends.backend import open_backend
from tablemend.config.section import BackendOptions
from tablemend.datasets.labelled_texts import Split
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.injection_study import SourceTable, read_tables, synthetic_tables
from tablemend.mitigations.cave import cave
from tablemend.mitigations.edits import Draft, Edit, Mended, Tools
from tablemend.mitigations.repair_text import repair_text
from tablemend.programs.speaker import Unsayable
from tablemend.records import ClaimError
from tablemend.tasks.tabfaith.summaries import Fact, InjectedError, Summary, Verbaliser, inject
from tablemend.values.cells import same_value
from tablemend.verifier.verifiers import ProgramExtractor, ProgramVerifier

SEED = "mending"
Pair = tuple[SourceTable, str, tuple[Fact, ...], Summary]
"""A table, a faithful summary of it, its claims, and the same with one error."""


def make_pair(named: SourceTable, error: ClaimError) -> Pair | None:
    """Two summaries of a table; ``None`` where it allows none with such an error."""
    try:
        verbaliser = Verbaliser(named.table)
        summary = verbaliser.summarise(Random(f"{SEED}:{named.key}:{named.table.content_hash()}"))
    except Unsayable:
        return None
    injected = inject(summary, verbaliser, [{error: 1.0}], Random(f"{SEED}:{named.key}"))
    return None if injected is None else (named, summary.text, summary.facts, injected)


def mend(pairs: Sequence[Pair], model: str | None) -> list[tuple[Mended, Mended]]:
    """Both texts of every pair after CAVE by a model, or after repair without one."""
    texts = [
        (text, Source((named.table,)))
        for named, faithful, _, injected in pairs
        for text in (faithful, injected.text)
    ]
    if model is None:
        mended = [repair_text(*text) for text in texts]
    else:
        with open_backend(model, BackendOptions(cache=None)) as backend:
            tools = Tools(ProgramVerifier(), ProgramExtractor(), backend)
            mended = cave([Draft(*text) for text in texts], tools)
    return list(zip(mended[::2], mended[1::2], strict=True))


def count_pair(pair: Pair, found: tuple[Mended, Mended]) -> Counter[str]:
    """What mending did to the two texts."""
    _, _, facts, injected = pair
    faithful, mended = found
    counts: Counter[str] = Counter(tables=1, faithful=len(facts))
    edits = faithful.edits
    counts["damaged"] = sum(any(_touches(edit, fact) for edit in edits) for fact in facts)
    counts["edited faithful texts"] = bool(edits)
    counts["calls"] = faithful.usage.calls + mended.usage.calls
    (error,) = injected.errors
    counts["errors"] = 1
    counts["mended"] = is_mended(injected.text, mended.edits, error)
    around = [edit for edit in mended.edits if not _overlaps(edit, error.start, error.end)]
    right = [fact for place, fact in enumerate(injected.facts) if place not in error.facts]
    counts["faithful"] += len(right)
    counts["damaged"] += sum(any(_touches(edit, fact) for edit in around) for fact in right)
    return counts


def is_mended(text: str, edits: tuple[Edit, ...], error: InjectedError) -> bool:
    """Whether the words at fault now say what the faithful summary said there."""
    start, end = error.start, error.end
    words = text[start:end]
    for edit in sorted(edits, key=lambda edit: -(edit.start or 0)):
        if _overlaps(edit, start, end):
            assert edit.start is not None and edit.end is not None
            left, right = min(start, edit.start), max(end, edit.end)
            if (left, right) != (start, end):
                return False  # more was changed than was wrong
            words = words[: edit.start - start] + (edit.new or "") + words[edit.end - start :]
    return same_value(words, error.original)


def _overlaps(edit: Edit, start: int, end: int) -> bool:
    return edit.start is not None and edit.end is not None and edit.start < end and start < edit.end


def _touches(edit: Edit, fact: Fact) -> bool:
    return any(_overlaps(edit, part.start, part.end) for part in fact.parts)


def _tables(data: Path | None, split: Split, n: int) -> Iterator[SourceTable]:
    yield from synthetic_tables(n, split)
    if data is not None:
        yield from read_tables(data, split, n)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the public sets, for real tables")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--tables", type=int, default=100, help="of each source")
    parser.add_argument("--model", help="what rewrites for CAVE, as a model string")
    parser.add_argument("--error", choices=("NUM", "REL", "TMP", "ATT"), default="NUM")
    options = parser.parse_args()
    if options.data is not None and not options.data.is_dir():
        parser.error(f"no folder {options.data}: give --data the folder of the public sets")
    counts: dict[str, Counter[str]] = {}
    tables = _tables(options.data, options.split, options.tables)
    made = [make_pair(named, options.error) for named in tables]
    pairs = [pair for pair in made if pair is not None]
    start = time.perf_counter()
    for pair, found in zip(pairs, mend(pairs, options.model), strict=True):
        counts.setdefault(pair[0].source, Counter()).update(count_pair(pair, found))
    seconds = time.perf_counter() - start
    if not counts:
        parser.error("no table allows a summary with such an error")
    counts["all"] = sum(counts.values(), Counter[str]())
    print(f"{'tables of':<22} {'tables':>7} {'mended':>8} {'damaged':>9}")
    for source, found in counts.items():
        mended, damaged = found["mended"] / found["errors"], found["damaged"] / found["faithful"]
        print(f"{source:<22} {found['tables']:>7} {mended:>8.1%} {damaged:>9.2%}")
    print(f"{seconds:.0f} s, {counts['all']['calls']} calls")


if __name__ == "__main__":
    main()
