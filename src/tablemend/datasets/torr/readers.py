"""One reader a data set of ToRR: its records to examples (appendix A.1; what is left out of them as
in the reference implementation).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, NamedTuple

from tablemend.tables.html import read_html
from tablemend.tables.table import Table, TableError
from tablemend.tasks.tablehallu import small_world

Record = Mapping[str, Any]
MOST_CELLS = 200
"""Of WikiTableQuestions tables with more cells are left out, as in the reference implementation."""
LOOKUP = "lookup"
"""Our own set for models of a few million parameters."""
_KEY = 1
"""The column that names a row of the small world."""
_MARK = re.compile(r"\[(?:BOLD|ITALIC|EMPTY|CONTINUE)\] ?")


class Read(NamedTuple):
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


def finqa(record: Record) -> Iterator[Read]:
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
    yield Read(key, _table(record["table"][0], record["table"][1:]), fields, (str(qa["program"]),))


def tablebench(record: Record) -> Iterator[Read]:
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
    yield Read(key, _table(columns, rows), fields, (str(record["answer"]),))


def wikitq(record: Record) -> Iterator[Read]:
    """Questions whose answers are cells, or numbers; several answers stand apart by a comma."""
    table = _table(record["header"], record["rows"])
    if len(table.columns) * len(table.rows) > MOST_CELLS:
        return
    for one in record["questions"]:
        answer = ", ".join(map(str, one["answer"]))
        yield Read(str(record["table_id"]), table, {"question": str(one["question"])}, (answer,))


def tabfact(record: Record) -> Iterator[Read]:
    """Statements that people call entailed or refuted."""
    table = _table(record["header"], record["rows"])
    for one in record["statements"]:
        label = "entailed" if int(one["label"]) else "refuted"
        yield Read(str(record["table_id"]), table, {"statement": str(one["text"])}, (label,))


def qtsumm(record: Record) -> Iterator[Read]:
    """A query, and a paragraph about a table."""
    table = record["table"]
    made = _table(table["header"], table["rows"])
    key = str(table.get("title") or record.get("example_id") or made.content_hash())
    yield Read(key, made, {"question": str(record["query"])}, (str(record["summary"]),))


def scigen(record: Record) -> Iterator[Read]:
    """A table of a paper, and the text about it."""
    columns, rows = record["table_column_names"], record["table_content_values"]
    if isinstance(columns, str):  # as the Hub has it
        columns, rows = ast.literal_eval(columns), ast.literal_eval(rows)
    if not rows:
        return
    text = _MARK.sub("", str(record["text"]))
    key = str(record.get("paper_id") or record["paper"])
    yield Read(key, _table(columns, rows), {"caption": str(record["table_caption"])}, (text,))


def numericnlg(record: Record) -> Iterator[Read]:
    """A table of a paper as HTML, and the paragraph about it; row headings are no cells there."""
    html = str(record.get("table_html_clean") or record["table_html"])
    table = read_html(html)
    fields = {"caption": str(record["caption"])}
    yield Read(str(record["paper_id"]), table, fields, (str(record["description"]),))


def turl_cta(record: Sequence[Any]) -> Iterator[Read]:
    """The types of each column of a table of entities."""
    key, page, _, section, caption, headers, columns, annotations, *_ = record
    count = max((column[-1][0][0] for column in columns if column), default=0)
    cells = [{place[0]: entity[1] for place, entity in column} for column in columns]
    rows = [[column.get(row, "") for column in cells] for row in range(count)]
    table = _table(headers, [row for row in rows if any(row)])
    for header, types in zip(headers, annotations, strict=True):
        fields = {"page": page, "section": section, "caption": caption, "column": header}
        yield Read(str(key), table, {k: str(v) for k, v in fields.items()}, (", ".join(types),))


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


READERS: dict[str, Callable[[Any], Iterator[Read]]] = {
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
