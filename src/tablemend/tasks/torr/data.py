"""A ToRR set: what it can be asked for, a reader for each data set, and the writing of its splits
(The Mighty ToRR, section 2 and appendix A.1; what is left out as in the reference implementation).
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from pydantic import Field

from tablemend.config import HUB, SMALL_WORLD, Count, Section
from tablemend.datasets.build import build_splits
from tablemend.datasets.splits import SPLITS, Shares, Split, split_of
from tablemend.errors import TablemendError
from tablemend.foreign import load_json
from tablemend.runs import hash_text
from tablemend.tables.html import read_html
from tablemend.tables.table import Table, TableError
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.torr.task import FORMS, Demonstration, TableQuestion

Record = Mapping[str, Any]
MOST_CELLS = 200
"""Of WikiTableQuestions tables with more cells are left out, as in the reference implementation."""
LOOKUP = "lookup"
"""Our own set for models of a few million parameters."""
_KEY = 1
"""The column that names a row of the small world."""
_MARK = re.compile(r"\[(?:BOLD|ITALIC|EMPTY|CONTINUE)\] ?")


class Case(NamedTuple):
    """One example of a data set.

    Attributes:
        key: what splits keep apart.
        table: the table.
        fields: what is shown beside it.
        references: right answers, the first of which demonstrations show.
    """

    key: str
    table: Table
    fields: Mapping[str, str]
    references: tuple[str, ...]


def finqa(record: Record) -> Iterator[Case]:
    """A question about a page of a report; the first text before and after the table."""
    if len(record["table"]) < 2:
        return
    qa = record.get("qa", record)
    fields = {
        "before": _first(record["pre_text"]),
        "after": _first(record["post_text"]),
        "question": str(qa["question"]),
        "result": str(qa.get("exe_ans", qa["answer"])),
    }
    key = str(record.get("document") or record["id"])
    yield Case(key, _table(record["table"][0], record["table"][1:]), fields, (str(qa["program"]),))


def tablebench(record: Record) -> Iterator[Case]:
    """A question with a short answer; charts are left out."""
    table = record["table"]
    if isinstance(table, str):
        table = json.loads(table)
    columns, rows = (
        table.get(name, table.get(other))
        for name, other in (("columns", "header"), ("data", "rows"))
    )
    key = str(record.get("split_key") or record["id"])
    fields = {"question": str(record["question"])}
    yield Case(key, _table(columns, rows), fields, (str(record["answer"]),))


def wikitq(record: Record) -> Iterator[Case]:
    """Questions whose answers are cells, or numbers; several answers stand apart by a comma."""
    table = _table(record["header"], record["rows"])
    if len(table.columns) * len(table.rows) > MOST_CELLS:
        return
    for one in record["questions"]:
        answer = ", ".join(map(str, one["answer"]))
        yield Case(str(record["table_id"]), table, {"question": str(one["question"])}, (answer,))


def tabfact(record: Record) -> Iterator[Case]:
    """Statements that people call entailed or refuted."""
    table = _table(record["header"], record["rows"])
    for one in record["statements"]:
        label = "entailed" if int(one["label"]) else "refuted"
        yield Case(str(record["table_id"]), table, {"statement": str(one["text"])}, (label,))


def qtsumm(record: Record) -> Iterator[Case]:
    """A query, and a paragraph about a table."""
    table = record["table"]
    made = _table(table["header"], table["rows"])
    key = str(table.get("title") or record.get("example_id") or made.content_hash())
    yield Case(key, made, {"question": str(record["query"])}, (str(record["summary"]),))


def scigen(record: Record) -> Iterator[Case]:
    """A table of a paper, and the text about it."""
    columns, rows = record["table_column_names"], record["table_content_values"]
    if isinstance(columns, str):  # as the Hub has it
        columns, rows = ast.literal_eval(columns), ast.literal_eval(rows)
    if not rows:
        return
    text = _MARK.sub("", str(record["text"]))
    key = str(record.get("paper_id") or record["paper"])
    yield Case(key, _table(columns, rows), {"caption": str(record["table_caption"])}, (text,))


def numericnlg(record: Record) -> Iterator[Case]:
    """A table of a paper as HTML, and the paragraph about it; row headings are no cells there."""
    html = str(record.get("table_html_clean") or record["table_html"])
    table = read_html(html)
    fields = {"caption": str(record["caption"])}
    yield Case(str(record["paper_id"]), table, fields, (str(record["description"]),))


def turl_cta(record: Sequence[Any]) -> Iterator[Case]:
    """The types of each column of a table of entities."""
    key, page, _, section, caption, headers, columns, annotations, *_ = record
    count = max((column[-1][0][0] for column in columns if column), default=0)
    cells = [{place[0]: entity[1] for place, entity in column} for column in columns]
    rows = [[column.get(row, "") for column in cells] for row in range(count)]
    table = _table(headers, [row for row in rows if any(row)])
    for header, types in zip(headers, annotations, strict=True):
        fields = {"page": page, "section": section, "caption": caption, "column": header}
        yield Case(str(key), table, {k: str(v) for k, v in fields.items()}, (", ".join(types),))


def lookups(seed: int) -> Iterator[Record]:
    """Tables of the small world with two columns, and a question for the cell of each name.

    Without end; none of ToRR's sets. Answers name what they look up, as a small model reads by
    going on behind the name.
    """
    for number in count():
        made = small_world.example(seed, number)
        columns, rows = made.gold_table.columns, made.gold_table.rows
        rng = Random(f"look-up:{seed}:{number}")
        full = [at for at, _ in enumerate(columns) if at != _KEY and all(row[at] for row in rows)]
        if not full or not rows:
            continue
        value = rng.choice(full)
        kept = sorted((_KEY, value))
        pairs = rng.sample([(row[_KEY], row[value]) for row in rows], len(rows))
        asked = ", ".join(str(key) for key, _ in pairs)
        question = f'Look up "{columns[value]}": {asked}.'
        answer = [f"{key} {value}" for key, value in pairs]
        yield {
            "table_id": made.id,
            "header": [columns[at] for at in kept],
            "rows": [[row[at] for at in kept] for row in rows],
            "questions": [{"question": question, "answer": answer}],
        }


READERS: dict[str, Callable[[Any], Iterator[Case]]] = {
    "finqa": finqa,
    "tablebench_data_analysis": tablebench,
    "tablebench_numerical_reasoning": tablebench,
    "tablebench_fact_checking": tablebench,
    "wikitq": wikitq,
    "tabfact": tabfact,
    "qtsumm": qtsumm,
    "scigen": scigen,
    "numericnlg": numericnlg,
    "turl_cta": turl_cta,
    LOOKUP: wikitq,
}
"""By the names of ``tasks/torr/sets.yaml``."""
_KINDS = {
    "tablebench_data_analysis": "DataAnalysis",
    "tablebench_numerical_reasoning": "NumericalReasoning",
    "tablebench_fact_checking": "FactChecking",
}


def belongs(name: str, record: Any) -> bool:
    """Whether a record of a file that several sets share is of this one."""
    return name not in _KINDS or record.get("qtype") == _KINDS[name]


def _table(columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Table:
    """A rectangular table of texts.

    Raises:
        TableError: it has no row.
    """
    if not columns or not rows:
        raise TableError("the table has no row")
    width = max(len(columns), *map(len, rows))
    header, *body = (
        ["" if cell is None else str(cell) for cell in row] + [""] * (width - len(row))
        for row in (columns, *rows)
    )
    return Table.of(header, body)


def _first(texts: Any) -> str:
    return str(texts[0]) if texts else ""


FILES = {
    "finqa": "finqa/open.jsonl",
    "tablebench_data_analysis": "tablebench/open.jsonl",
    "tablebench_numerical_reasoning": "tablebench/open.jsonl",
    "tablebench_fact_checking": "tablebench/open.jsonl",
    "wikitq": "wikitablequestions/open.jsonl",
    "tabfact": "tabfact/open.jsonl",
    "qtsumm": "qtsumm/open.jsonl",
    "scigen": "scigen/open.jsonl",
    "numericnlg": "numericnlg/open.jsonl",
    "turl_cta": "turl_cta/open.jsonl",
}
"""Where each set is looked for in ``data``."""


class TorrSet(Section):
    """Examples of the data sets of ToRR."""

    kind: Literal["torr"] = "torr"
    """What a recipe is for."""
    sets: tuple[str, ...] = tuple(FILES)
    """The data sets; `lookup` is generated, for small models, and not one of the ten."""
    data: str | None = None
    """Folder with the sets: finqa/open.jsonl, wikitablequestions/open.jsonl and so on."""
    files: Mapping[str, str] = {}
    """By name a JSON or JSONL file, or hub:owner/name, in place of the one in `data`."""
    n: Count = Field(default=100, ge=1)
    """Most examples of a set in the test split (section 2.3: 100)."""
    train: Count = Field(default=0, ge=0)
    """Most examples of a set in the train and in the validation split, without demonstrations."""
    cells: int | None = Field(default=None, ge=1)
    """Most cells of a table, its header included; null: any. Larger ones are counted."""
    demonstrations: int | None = Field(default=None, ge=0)
    """Solved examples before each; null: as in the paper, five, of WikiTableQuestions one."""
    shares: Shares = Shares(train=0.5, validation=0.1, test=0.4)
    """Split of the tables and documents; demonstrations are of the train split."""
    seed: int = Field(default=0, ge=0)
    """Seed of what is drawn."""
    out: str = "data/torr"
    """Folder to write into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Sets that there are not, and nowhere to read from."""
        for name in (*self.sets, *self.files):
            if name not in READERS:
                yield "sets", f"no data set {name!r}; there are {', '.join(READERS)}"
        if self.data is None and not self.files and LOOKUP not in self.sets:
            yield "data", "neither a folder of the sets nor files= is given"
        if self.data is not None and not Path(self.data).is_dir():
            yield "data", f"no folder {self.data}"

    def place(self, name: str) -> str | None:
        """Where a set is; ``None`` where it is not there."""
        if name == LOOKUP:
            return SMALL_WORLD
        given = self.files.get(name)
        if given is None and self.data is not None:
            given = str(Path(self.data) / FILES[name])
        there = given is not None and (given.startswith(HUB) or Path(given).is_file())
        return given if there else None


ENGINE = "torr-1"
UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, TableError, SyntaxError)
"""What a record of another form raises."""


def make_dataset(settings: TorrSet) -> dict[str, Any]:
    """Write the splits, or find them written; the counts, as in ``counts.json``.

    Raises:
        TablemendError: none of the sets is there, or a folder that holds something else.
    """
    there = {name: place for name in settings.sets if (place := settings.place(name))}
    if not there:
        raise TablemendError(
            f"none of {', '.join(settings.sets)} is in {settings.data}: see data= and files="
        )
    noted = {"engine_version": ENGINE, **settings.model_dump(mode="json", exclude={"out", "kind"})}

    def find(counts: Counter[str]) -> dict[Split, list[TableQuestion]]:
        found: dict[Split, list[TableQuestion]] = {split: [] for split in SPLITS}
        for name in settings.sets:
            if name in there:
                for split, samples in _examples(name, there[name], settings, counts).items():
                    found[split] += samples
                    counts[f"{split} {name}"] = len(samples)
            else:
                counts[f"missing {name}"] = 1
        return found

    return build_splits(Path(settings.out), noted, find)


def describe(counts: Mapping[str, int], settings: TorrSet) -> Iterator[str]:
    """What came of a set, in lines for a person."""
    for name in settings.sets:
        if f"missing {name}" in counts:
            yield f"{name}: skipped, no {settings.files.get(name) or 'file of it in data='}"
            continue
        parts = [f"{n} {split}" for split in SPLITS if (n := counts.get(f"{split} {name}"))]
        left = counts.get(f"unreadable {name}", 0)
        large = counts.get(f"larger {name}", 0)
        yield (
            f"{name}: {', '.join(parts) or 'no example'}"
            + f", {large} of larger tables left out" * bool(large)
            + f", {left} unreadable" * bool(left)
        )
    yield f"written to {settings.out}"


def _examples(
    name: str, place: str, settings: TorrSet, counts: Counter[str]
) -> dict[Split, list[TableQuestion]]:
    """The examples of one set, by split; of one table no more than its share."""
    pools: dict[Split, list[Case]] = {split: [] for split in SPLITS}
    for record in _records(place, settings):
        try:
            own = list(READERS[name](record)) if belongs(name, record) else []
        except UNREADABLE:
            counts[f"unreadable {name}"] += 1
            continue
        for one in own:
            if (
                settings.cells
                and (len(one.table.rows) + 1) * len(one.table.columns) > settings.cells
            ):
                counts[f"larger {name}"] += 1
                continue
            pools[split_of(hash_text(f"{name} {one.key}"), settings.shares)].append(one)
    types = set[str]()
    if name == "turl_cta":
        types = {t for p in pools.values() for one in p for t in one.references[0].split(", ")}
    asked = settings.demonstrations
    shown = min(FORMS[name]["demonstrations"] if asked is None else asked, len(pools["train"]))
    found: dict[Split, list[TableQuestion]] = {}
    for split, pool in pools.items():
        rng = Random(f"torr:{settings.seed}:{name}:{split}")
        most = settings.n if split == "test" else settings.train
        found[split] = [
            TableQuestion(
                name,
                one.table,
                one.fields,
                one.references,
                tuple(
                    Demonstration(other.table, other.fields, other.references[0])
                    for other in rng.sample(pools["train"], shown if split == "test" else 0)
                ),
                hash_text(f"{name} {one.key}"),
                tuple(sorted(types)),
            )
            for one in rng.sample(pool, min(most, len(pool)))
        ]
    return found


def _records(place: str, settings: TorrSet) -> Iterator[Any]:
    """The records of a file, of the Hub, or generated: enough for every split.

    Raises:
        TablemendError: it cannot be read.
    """
    if place == SMALL_WORLD:
        yield from islice(lookups(settings.seed), 4 * (settings.n + settings.train))
        return
    if place.startswith(HUB):
        from tablemend.config import Source
        from tablemend.tasks.sources import hub_records

        yield from hub_records(Source(source=place, split="test"))
        return
    try:
        with Path(place).open(encoding="utf-8") as file:
            if place.endswith(".json"):
                yield from json.load(file)
            else:
                yield from (load_json(line) for line in file if line.strip())
    except (ValueError, RecursionError) as error:
        raise TablemendError(f"{place} is no JSON: {error}") from error
