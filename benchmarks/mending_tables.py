"""Answer tables scored and mended from context and query alone, measured against gold.

    python benchmarks/mending_tables.py [--data ../shared/data]        # repair, programs' contexts
    python benchmarks/mending_tables.py --examples data_gen/natural    # repair, natural English
    python benchmarks/mending_tables.py --run runs/NAME --system base  # repair, a model's answers
    python benchmarks/mending_tables.py --model MODEL ...              # CAVE in place of repair

Gold tables get one injected error each; the context is the adversarial one. The verifier and the
method see the answer, the context and the query; the detector, which sees gold, counts before and
after, and judges every edit by itself. With ``--data``, also on examples cut from real tables, of
which only the test split is used (``--split dev`` for the other). ``--run`` takes the answers that
a finished comparison stored.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablemend.backends.backend import Backend, open_backend
from tablemend.config import Source as Examples
from tablemend.config.section import BackendOptions
from tablemend.datasets.labelled_texts import split_of
from tablemend.detector.algorithm import AnswerFormat, detect_errors
from tablemend.detector.errors import ERROR_TYPES
from tablemend.detector.query import SortRule, columns_from_query
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.generations import Generations
from tablemend.mitigations import repair_table
from tablemend.mitigations.edits import Draft, Edit, Mended
from tablemend.mitigations.mend import mend as mend_drafts
from tablemend.records import Example, Judgement
from tablemend.reports.tabulation import read_results
from tablemend.runs import read_jsonl
from tablemend.script import run_script
from tablemend.statistics import mean_interval
from tablemend.tables.extract import extract_table
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts
from tablemend.tasks.tablehallu.engine import examples as make_examples
from tablemend.tasks.tablehallu.injected_errors import (
    INJECTED_ERRORS,
    distractor_rows,
    gold_rows,
    with_rows,
)
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.task import read_examples
from tablemend.values.cells import is_blank
from tablemend.values.text import header_key

VIEW = "adversarial"
RECALLS = ("row_recall", "cell_recall")


def mend(items: list[Draft], model: Backend | None) -> list[Mended]:
    """All answers: by repair, or by CAVE where there is a model."""
    if model is None:
        return mend_drafts(items)
    return mend_drafts(items, "cave", model)


@dataclass
class Outcome:
    """What became of some answers.

    Attributes:
        counts: over the answers; recalls are sums.
        edits: of each kind and for each edit, its gain (1 right, -1 harmful, 0 neither) and the
            source table.
    """

    counts: Counter[str] = field(default_factory=Counter)
    edits: defaultdict[str, list[tuple[int, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )


def kind_of(edit: Edit) -> str:
    """What an edit of a table changes."""
    if edit.row is not None and edit.column is not None:
        filled = "filled" if is_blank(edit.old) else "replaced"
        return f"cell {filled if edit.new else 'blanked'}"
    if edit.row is not None:
        return "row dropped"
    if edit.column is not None:
        return f"column {'renamed' if edit.new else 'dropped'}"
    return "columns reordered" if edit.method == repair_table.COLUMNS_VERSION else "rows reordered"


def gain(before: Judgement, after: Judgement, types: Sequence[str] = ERROR_TYPES) -> int:
    """1 where an answer has become better, -1 where it is worse in any way, 0 where it is neither.

    Args:
        before: what the detector says of it as it was.
        after: and as it is.
        types: of the errors that count.
    """
    was, now = (
        [one.share(name) or 0 for name in RECALLS] + [-sum(one.counts[type] for type in types)]
        for one in (before, after)
    )
    if any(new < old for old, new in zip(was, now, strict=True)):
        return -1
    return int(now != was)


def judge_edits(
    example: Example, table: Table, edits: Sequence[Edit], final: Table
) -> Iterator[tuple[str, int]]:
    """The kind and the gain of each edit of an answer, made alone.

    Columns are judged together, by the format error; rows and cells once columns are in order, by
    those that gold has too, and cells of rows out of scope by what the context says of these; the
    order of rows last.
    """
    gold, rule = example.gold_table, SortRule.of(example.constraints)
    shape = repair_table.in_order(table, example.query)

    def judge(answer: Table, rows: Sequence[Sequence[str | None]] = gold.rows) -> Judgement:
        known = {header_key(name): place for place, name in enumerate(answer.columns)}
        names = [name for name in gold.columns if header_key(name) in known]
        places = [gold.columns.index(name) for name in names]
        own = [known[header_key(name)] for name in names]
        return detect_errors(
            Table.of(names, [[row[i] for i in own] for row in answer.rows]),
            Table.of(names, [[row[i] for i in places] for row in rows]),
            example.adversarial_context,
            rule if rule and rule.column in names else None,
        )

    def change(chosen: Sequence[Edit]) -> Table:
        rows: list[list[str | None] | None] = [list(row) for row in shape.table.rows]
        for edit in chosen:
            if edit.row is not None and edit.column is None:
                rows[edit.row] = None
            elif edit.row is not None and edit.column is not None:
                cells = rows[edit.row]
                if cells is not None:
                    cells[shape.names.index(edit.column)] = edit.new
        return Table.of(shape.table.columns, [row for row in rows if row is not None])

    others = (distractor_rows(example, known) for known in (True, False))
    every = [*gold.rows, *(row for rows in others for row in rows)]
    before = judge(shape.table)
    for edit in edits:
        kind = kind_of(edit)
        if kind.startswith("column"):
            whole = (
                detect_errors(one, gold, example.adversarial_context, rule)
                for one in (table, shape.table)
            )
            yield kind, gain(*whole, ("format_error",))
        elif kind == "rows reordered":
            yield kind, gain(judge(change(edits)), judge(final))
        else:
            alone = change([edit])
            found = gain(before, judge(alone))
            if not found and edit.column is not None:
                of_context = (judge(one, every) for one in (shape.table, alone))
                found = gain(*of_context, ("attribute", "blank_filling"))
            yield kind, found


def measure(
    answers: Iterable[tuple[Example, str]], format: AnswerFormat, model: Backend | None
) -> Outcome:
    """Mend answers, and count."""
    found = Outcome()
    counts = found.counts
    items = [
        (one, Draft(text, Source(text=one.adversarial_context, query=one.query), format))
        for one, text in answers
    ]
    mended = mend([item for _, item in items], model)
    for (example, item), one in zip(items, mended, strict=True):
        gold, context = example.gold_table, item.evidence.text
        order = SortRule.of(example.constraints)
        tables = [
            extract_table(text, format, gold.columns, {c for row in gold.rows for c in row}).table
            for text in (item.text, one.text)
        ]
        counts["n"] += 1
        counts["calls"] += one.usage.calls
        if tables[0] is None or tables[1] is None:
            counts["no table"] += 1
            continue
        before, after = (detect_errors(table, gold, context, order) for table in tables)
        assert one.before is not None  # an answer with a table
        verdicts = one.before.verdicts
        counts["flagged"] += any(verdict.wrong for verdict in verdicts)
        counts["edited"] += bool(one.edits)
        counts["hallucinated before"] += before.hallucinated
        counts["hallucinated after"] += after.hallucinated
        whole = not gold.rows or all(after.share(name) == 1 for name in RECALLS)
        counts["mended"] += bool(one.edits) and not after.hallucinated and whole
        counts["worse"] += gain(before, after) < 0
        counts["claims"] += len(verdicts)
        counts["wrong claims"] += sum(verdict.wrong for verdict in verdicts)
        counts["unscored"] += sum(verdict.verdict == "unscored" for verdict in verdicts)
        seen = extract_table(item.text, format, columns_from_query(example.query) or (), context)
        for kind, good in judge_edits(example, seen.table or tables[0], one.edits, tables[1]):
            found.edits[kind].append((good, example.source_hash))
        if gold.rows:
            counts["with rows"] += 1
            for name, judgement in (("before", before), ("after", after)):
                for recall in RECALLS:
                    counts[f"{recall} {name}"] += judgement.share(recall) or 0
    return found


def injected(examples: Sequence[Example]) -> Iterator[tuple[str, list[tuple[Example, str]]]]:
    """Gold answers, and of each kind of error those that leave room for it."""
    yield "none", [(one, prompts.answer(with_rows(one, gold_rows(one)))) for one in examples]
    for name, error in INJECTED_ERRORS.items():
        made = [(one, error.make(one, random.Random(n))) for n, one in enumerate(examples)]
        yield name, [(one, prompts.answer(table)) for one, table in made if table is not None]


def print_outcomes(
    title: str,
    sets: Iterable[tuple[str, list[tuple[Example, str]]]],
    model: Backend | None,
    format: AnswerFormat = "markdown",
) -> None:
    """One line a set of answers, then one line a kind of edit, of all sets."""
    print(f"\n{title}\n")
    names = ("n", "flagged", "edited", "mended", "worse")
    print(f"| answers | {' | '.join(names)} | TotalHallu | row recall | cell recall | calls |")
    print("|---|" + "--:|" * (len(names) + 4))
    edits: dict[str, list[tuple[int, str]]] = defaultdict(list)
    notes = []
    for name, answers in sets:
        outcome = measure(answers, format, model)
        found = outcome.counts
        if not (n := found["n"]):
            continue
        for kind, own in outcome.edits.items():
            edits[kind] += own
            edits["all"] += own
        hallu = (f"{100 * found[f'hallucinated {when}'] / n:.1f}" for when in ("before", "after"))
        recalls = (
            " -> ".join(
                f"{found[f'{one} {when}'] / max(1, found['with rows']):.3f}"
                for when in ("before", "after")
            )
            for one in RECALLS
        )
        counted = " | ".join(str(found[one]) for one in names)
        rates = f"{' -> '.join(hallu)} % | {' | '.join(recalls)}"
        print(f"| {name} | {counted} | {rates} | {found['calls']} |")
        notes.append(
            f"{name}: {found['wrong claims']} of {found['claims']} claims flagged, "
            f"{found['unscored']} unscored; {found['no table']} answers without a table"
        )
    print(f"\n{notes[0] if notes else 'no answers'}")
    print("\n| edits | n | right | harmful | harm |\n|---|--:|--:|--:|--:|")
    for kind, own in sorted(edits.items(), key=lambda one: (one[0] == "all", one[0])):
        harms = [float(good < 0) for good, _ in own]
        rate = mean_interval(harms, clusters=[table for _, table in own])
        share = " to ".join(
            "-" if rate[end] is None else f"{100 * rate[end]:.1f}" for end in ("low", "high")
        )
        right = sum(good > 0 for good, _ in own)
        harmful = int(sum(harms))
        print(
            f"| {kind} | {len(own)} | {right} | {harmful} | "
            f"{100 * harmful / len(own):.1f} % ({share}) |"
        )


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
    if options.examples is not None:
        split = options.split or "validation"
        source = Examples(source=options.examples, split=split)
        yield f"{options.examples}, {split}", read_examples(source)
        return
    count = options.n
    given = {"n": count, "queries": 1, "seed": 11}
    small = Synthesis.model_validate({"source": "small-world", **given})
    yield "small world", list(make_examples(small))
    pool = Synthesis.model_validate(given)
    yield "built-in pool, easy", list(make_examples(pool))
    for difficulty in ("easy", "medium", "hard") if options.data is not None else ():
        split = options.split or "test"
        found = real_examples(options.data, split, difficulty, count)
        yield f"real tables ({split} split), {difficulty}", found


def stored_answers(run: Path, system: str) -> tuple[AnswerFormat, list[tuple[Example, str]]]:
    """The answers of one system of a finished comparison, and their format.

    Raises:
        TablemendError: there are none of the system.
    """
    format = read_results(run / "results.json")["format"]
    stored = Generations(run / "generations").read(system, VIEW)
    if not stored or not format:
        raise TablemendError(f"{run}: no answer tables of a system {system!r} to {VIEW} contexts")
    examples = map(Example.from_json, read_jsonl(run / "examples.jsonl"))
    return format, [(one, stored[one.id].answer.text) for one in examples if one.id in stored]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="what rewrites for CAVE, as a model string")
    parser.add_argument("--n", type=int, default=200, help="examples of each set that is made")
    parser.add_argument("--data", type=Path, help="folder with the public data sets")
    parser.add_argument("--examples", help="folder with examples, such as data_gen/natural")
    parser.add_argument("--split", help="of --examples (validation) or --data (test; or dev)")
    parser.add_argument("--run", type=Path, help="folder of a finished comparison")
    parser.add_argument("--system", default="base", help="whose answers of --run")
    options = parser.parse_args()
    if options.data is not None and not options.data.is_dir():
        parser.error(f"no folder {options.data}: give --data the folder of the public sets")
    with ExitStack() as stack:
        model = None
        if options.model is not None:
            model = stack.enter_context(open_backend(options.model, BackendOptions(cache=None)))
        if options.run is not None:
            format, answers = stored_answers(options.run, options.system)
            print_outcomes(str(options.run), [(options.system, answers)], model, format)
            return
        for title, examples in sets(options):
            print_outcomes(f"{title}: {len(examples)} examples", injected(examples), model)


if __name__ == "__main__":
    run_script(main)
