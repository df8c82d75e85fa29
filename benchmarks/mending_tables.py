"""Answer tables scored and mended from context and query alone, measured against gold.

    python benchmarks/mending_tables.py [--data ../shared/data]                     # repair
    python benchmarks/mending_tables.py --model MODEL [--data ../shared/data]       # CAVE
    python benchmarks/mending_tables.py --examples PATH [--split NAME]              # of a file

Gold tables get one injected error each; the context is the adversarial one. The verifier and the
method see the answer, the context and the query; the detector, which sees gold, counts before and
after. With ``--data``, also on examples cut from real tables, and on tables that language models
wrote for real texts; of these only the test split is used (``--split dev`` for the other).
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tablemend.backends.backend import Backend, open_backend
from tablemend.claims.answers import answer_claims
from tablemend.config import Source as Examples
from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu.engine import examples as make_examples
from tablemend.datasets.tablehallu.injected_errors import (
    INJECTED_ERRORS,
    distractor_rows,
    gold_rows,
    with_rows,
)
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.detector.algorithm import detect_errors, detect_in_answer
from tablemend.detector.keys import primary_key
from tablemend.detector.order import SortRule
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.items import split_of
from tablemend.mitigations.edits import Draft, Mended
from tablemend.mitigations.mend import mend as mend_drafts
from tablemend.records import Example
from tablemend.tables.read import read_table
from tablemend.tables.table import Table, TableError
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import read_examples
from tablemend.verification.context import verify_answer_claims


def _draft(example: Example, text: str, query: str) -> Draft:
    return Draft(text, Source(text=example.adversarial_context, query=query), "markdown")


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
            detect_in_answer(text, example.gold_table, item.context, order, "markdown")
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
        for name, judgement in (("before", before), ("after", after)):
            found[f"row recall {name}"] += judgement.share("row_recall")
            found[f"cell recall {name}"] += judgement.share("cell_recall")
    return found


_RANGES: dict[str, tuple[str, ...]] = {
    "both": (
        'where "{c}" is between {l} and {h}',
        'with "{c}" from {l} to {h}',
        'whose "{c}" is at least {l} and at most {h}',
        "where {c} is no less than {l} and no more than {h}",
    ),
    "low": (
        'where "{c}" is {l} or more',
        'with at least {l} as "{c}"',
        'where "{c}" >= {l}',
        'whose "{c}" is greater than or equal to {l}',
    ),
    "high": (
        'where "{c}" is {h} or less',
        'whose "{c}" is not more than {h}',
        'where "{c}" <= {h}',
        'with "{c}" up to {h}',
    ),
    "one": ('where "{c}" is "{l}"', 'with "{c}" {l}', 'for the "{c}" {l} only', "where {c} = {l}"),
}
_VALUES = ('where "{c}" is {v}', 'with "{c}" {v}', 'whose "{c}" is either {v}', "where {c} is {v}")


def reworded(example: Example, number: int) -> str:
    """The query of an example with its conditions in another wording, behind the columns."""
    conditions = []
    for one in example.constraints.conditions:
        if one.values:
            quoted = " or ".join(f'"{value}"' for value in one.values)
            conditions.append(_VALUES[number % len(_VALUES)].format(c=one.column, v=quoted))
            continue
        kind = "one" if one.low == one.high else "low" if one.high is None else "both"
        wordings = _RANGES["high" if one.low is None else kind]
        wording = wordings[number % len(wordings)]
        conditions.append(wording.format(c=one.column, l=one.low, h=one.high))
    columns = ", ".join(f'"{name}"' for name in example.gold_table.columns)
    sort, order = example.constraints.sort_column, example.constraints.sort_order
    return (
        f"Make a table of the entries with the columns {columns}, {' and '.join(conditions)}, "
        f'sorted by "{sort}" in {order} order.'
    )


def print_dropped(title: str, examples: list[Example]) -> None:
    """Rows that repair drops from gold tables with every row out of scope put in."""
    print(f"\n{title}: rows dropped from gold and all rows out of scope")
    print("| queries | gold rows | dropped | other rows | dropped | precision | rows unscored |")
    print("|---|---|---|---|---|---|---|")
    for name in ("as written", "in other words"):
        found: Counter[str] = Counter()
        for number, example in enumerate(examples):
            gold = gold_rows(example)
            others = [
                *distractor_rows(example, known=False),
                *distractor_rows(example, known=True),
            ]
            query = example.query if name == "as written" else reworded(example, number)
            text = tablehallu.answer(with_rows(example, [*gold, *others]))
            item = _draft(example, text, query)
            (one,) = mend_drafts([item])
            assert one.before is not None
            dropped = [edit.row for edit in one.edits if edit.column is None and edit.new is None]
            rows = [verdict for verdict in one.before.verdicts if verdict.claim.column is None]
            found["gold"] += len(gold)
            found["others"] += len(others)
            found["gold dropped"] += sum(row is not None and row < len(gold) for row in dropped)
            found["others dropped"] += sum(row is not None and row >= len(gold) for row in dropped)
            found["rows"] += len(rows)
            found["unscored"] += sum(verdict.verdict == "unscored" for verdict in rows)
        right, wrong = found["others dropped"], found["gold dropped"]
        precision = f"{100 * right / (right + wrong):.2f} %" if right + wrong else "-"
        print(
            f"| {name} | {found['gold']} | {wrong} | {found['others']} | {right} | {precision}"
            f" | {100 * found['unscored'] / max(found['rows'], 1):.1f} % |"
        )


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
            f"{found[f'{kind} recall before'] / n:.3f} -> {found[f'{kind} recall after'] / n:.3f}"
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
        settings = Synthesis.model_validate(
            {"source": str(tables), "n": count, "difficulty": difficulty, "out": folder}
        )
        return list(make_examples(settings))


def box_scores(data: Path, split: str) -> Iterator[tuple[str, Table, Table]]:
    """Text, gold and a model's table over the columns that both have."""
    for record in read_lines(data / "text2table_rotowire" / "open.jsonl", split):
        for kind, raw in record["gold"].items():
            gold = Table.of([kind, *raw["header"][1:]], raw["rows"])
            for tables in record["llm_tables"].values():
                try:
                    answer = read_table(tables.get(kind) or "", "markdown")
                except TableError:
                    continue
                shared = [name for name in gold.columns if name in answer.columns]
                if shared[:1] != [kind] or answer.duplicate_columns():
                    continue
                cut = [
                    Table.of(shared, zip(*(t.column(name) for name in shared), strict=True))
                    for t in (gold, answer)
                ]
                yield record["text"], cut[0], cut[1]


def info_boxes(data: Path, split: str) -> Iterator[tuple[str, Table, Table]]:
    """Text, gold fields and a model's."""
    for record in read_lines(data / "text2table_wikibio" / "open.jsonl", split):
        tables = (read_table(record[k], "markdown") for k in ("gold_table", "gemini_table"))
        yield record["text"], next(tables), next(tables)


def print_agreement(title: str, items: Iterable[tuple[str, Table, Table]]) -> None:
    """Verdicts on cells and rows of models' tables beside what the detector says with gold."""
    counts: Counter[tuple[str, str]] = Counter()
    for text, gold, answer in items:
        found = {(f.row, f.column): f.type for f in detect_errors(answer, gold, text).findings}
        for verdict in verify_answer_claims(answer_claims(answer), Source(text=text)):
            claim = verdict.claim
            if claim.column == answer.columns[primary_key(answer)]:
                continue
            truth = found.get((claim.row, claim.column)) or found.get((claim.row, None), "agrees")
            counts[("row: " if claim.column is None else "cell: ") + truth, verdict.verdict] += 1
    print(f"\n{title}")
    print("| detector, with gold | supported | contradicted | not in source | unscored |")
    print("|---|---|---|---|---|")
    names = ("supported", "contradicted", "not_in_source", "unscored")
    for truth in sorted({truth for truth, _ in counts}):
        print(f"| {truth} | {' | '.join(str(counts[truth, name]) for name in names)} |")


def sets(options: argparse.Namespace) -> Iterator[tuple[str, list[Example]]]:
    """Examples to injection errors in, with their titles."""
    count = options.n
    if options.examples is not None:
        split = options.split or ("test" if options.examples.is_dir() else None)
        source = Examples(source=str(options.examples), split=split)
        yield str(options.examples), read_examples(source)[:count]
        return
    small = Synthesis.model_validate({"source": "small-world", "n": count, "seed": 11})
    yield "small world", list(make_examples(small))
    pool = Synthesis.model_validate({"n": count, "seed": 11})
    yield "built-in pool, easy", list(make_examples(pool))
    for difficulty in ("easy", "medium", "hard") if options.data is not None else ():
        found = real_examples(options.data, options.split, difficulty, count)
        yield f"real tables ({options.split} split), {difficulty}", found


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="what rewrites for CAVE, as a model string")
    parser.add_argument("--examples", type=Path, help="JSONL file of examples, or a folder")
    parser.add_argument("--split", help="of a folder (default: test)")
    parser.add_argument("--rows", action="store_true", help="only count the rows that are dropped")
    parser.add_argument("--n", type=int, default=200, help="examples of each set")
    parser.add_argument("--data", type=Path, help="folder with the public data sets")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    options = parser.parse_args()
    with ExitStack() as stack:
        model = None
        if options.model is not None:
            model = stack.enter_context(open_backend(options.model, BackendOptions(cache=None)))
        for title, examples in sets(options):
            if model is None:
                print_dropped(title, examples)
            if not options.rows:
                print_injected(title, examples, model)
    data, split = options.data, options.split
    if data is not None and not options.rows:
        print_agreement(f"box scores by three models ({split} split)", box_scores(data, split))
        print_agreement(f"info boxes by a model ({split} split)", info_boxes(data, split))


if __name__ == "__main__":
    main()
