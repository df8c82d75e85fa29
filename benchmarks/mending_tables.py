"""Answer tables scored and mended from context and query alone, measured against gold.

    python benchmarks/mending_tables.py [--data ../shared/data]                     # repair
    python benchmarks/mending_tables.py --model MODEL [--data ../shared/data]       # CAVE

Gold tables get one injected error each; the context is the adversarial one. The verifier and the
method see the answer, the context and the query; the detector, which sees gold, counts before and
after. With ``--data``, also on examples cut from real tables, of which only the test split is
used (``--split dev`` for the other).
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tablemend.backends.backend import Backend, open_backend
from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu.program_engine import examples as make_examples
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.detector.algorithm import detect_in_answer
from tablemend.detector.order import SortRule
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.items import split_of
from tablemend.mitigations.edits import Draft, Mended
from tablemend.mitigations.mend import mend as mend_drafts
from tablemend.records import Example
from tablemend.tables.table import Table
from tablemend.tasks import tablehallu
from tablemend.tasks.injected_errors import (
    INJECTED_ERRORS,
    gold_rows,
    with_rows,
)


def mend(items: list[Draft], model: Backend | None) -> list[Mended]:
    """All answers: by repair, or by CAVE where there is a model."""
    if model is None:
        return mend_drafts(items)
    return mend_drafts(items, "cave", model)


Make = Callable[[Example, random.Random], Table | None]


def unchanged(example: Example, rng: random.Random) -> Table | None:
    """The gold table itself."""
    return with_rows(example, gold_rows(example))


def measure(examples: list[Example], make: Make, model: Backend | None) -> Counter[str]:
    """Counts over the examples that leave room for the error; recalls are sums."""
    found: Counter[str] = Counter()
    injected = [
        (
            example,
            Draft(text, Source(text=example.adversarial_context, query=example.query), "markdown"),
        )
        for number, example in enumerate(examples)
        if (answer := make(example, random.Random(number))) is not None
        for text in [tablehallu.answer(answer)]
    ]
    mended = mend([item for _, item in injected], model)
    for (example, item), one in zip(injected, mended, strict=True):
        order = SortRule.of(example.constraints)
        before, after = (
            detect_in_answer(text, example.gold_table, item.evidence.text, order, "markdown")
            for text in (item.text, one.text)
        )
        assert one.before is not None  # an answer with a table
        verdicts = one.before.verdicts
        found["n"] += 1
        found["flagged"] += any(verdict.wrong for verdict in verdicts)
        found["edited"] += bool(one.edits)
        found["calls"] += one.usage.calls
        found["hallucinated before"] += before.hallucinated
        found["hallucinated after"] += after.hallucinated
        found["damaged"] += len(after.findings) > len(before.findings)
        found["claims"] += len(verdicts)
        found["wrong claims"] += sum(verdict.wrong for verdict in verdicts)
        found["unscored"] += sum(verdict.verdict == "unscored" for verdict in verdicts)
        if not example.gold_table.rows:
            continue
        found["with rows"] += 1
        for name, judgement in (("before", before), ("after", after)):
            found[f"row recall {name}"] += judgement.share("row_recall")
            found[f"cell recall {name}"] += judgement.share("cell_recall")
    return found


def print_injected(title: str, examples: list[Example], model: Backend | None) -> None:
    """One line an error."""
    print(f"\n{title}: {len(examples)} examples")
    print(
        "| injected | n | flagged | edited | TotalHallu before | after | row recall | cell recall"
        " | calls |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, make in {
        "none": unchanged,
        **{n: p.make for n, p in INJECTED_ERRORS.items()},
    }.items():
        found = measure(examples, make, model)
        n = found["n"]
        if not n:
            continue
        recalls = [
            " -> ".join(
                f"{found[f'{kind} recall {when}'] / max(1, found['with rows']):.3f}"
                for when in ("before", "after")
            )
            for kind in ("row", "cell")
        ]
        shares = (
            f"{100 * found[key] / n:.1f} %"
            for key in ("flagged", "edited", "hallucinated before", "hallucinated after")
        )
        print(f"| {name} | {n} | {' | '.join(shares)} | {' | '.join(recalls)} | {found['calls']} |")
        if name == "none":
            claims = found["claims"]
            note = f"{found['wrong claims']} of {claims} claims of gold tables flagged, "
            print(f"|  | {note}{found['unscored']} unscored, {found['damaged']} damaged ||||||||")


def read_lines(path: Path, split: str) -> Iterator[dict[str, Any]]:
    """The records of one split."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if split_of(record["split_key"]) == split:
                yield record


def real_examples(data: Path, split: str, difficulty: str, count: int) -> list[Example]:
    """Examples cut from the tables of one split."""
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables.jsonl"
        with tables.open("w", encoding="utf-8") as file:
            for name in ("wikitablequestions", "tabfact"):
                for record in read_lines(data / name / "open.jsonl", split):
                    title = record.get("caption") or record.get("title")
                    kept = {"title": title, "header": record["header"], "rows": record["rows"]}
                    file.write(json.dumps(kept) + "\n")
        given = {"source": str(tables), "n": count, "queries": 1, "difficulty": difficulty}
        return list(make_examples(Synthesis.model_validate({**given, "out": folder})))


def sets(options: argparse.Namespace) -> Iterator[tuple[str, list[Example]]]:
    """Examples to inject errors in, with their titles."""
    count = options.n
    given = {"n": count, "queries": 1, "seed": 11}
    small = Synthesis.model_validate({"source": "small-world", **given})
    yield "small world", list(make_examples(small))
    pool = Synthesis.model_validate(given)
    yield "built-in pool, easy", list(make_examples(pool))
    for difficulty in ("easy", "medium", "hard") if options.data is not None else ():
        found = real_examples(options.data, options.split, difficulty, count)
        yield f"real tables ({options.split} split), {difficulty}", found


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="what rewrites for CAVE, as a model string")
    parser.add_argument("--n", type=int, default=200, help="examples of each set")
    parser.add_argument("--data", type=Path, help="folder with the public data sets")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    options = parser.parse_args()
    if options.data is not None and not options.data.is_dir():
        parser.error(f"no folder {options.data}: give --data the folder of the public sets")
    with ExitStack() as stack:
        model = None
        if options.model is not None:
            model = stack.enter_context(open_backend(options.model, BackendOptions(cache=None)))
        for title, examples in sets(options):
            print_injected(title, examples, model)


if __name__ == "__main__":
    main()
