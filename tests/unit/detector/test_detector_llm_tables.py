"""Tables that real models wrote for real texts, scored against human or automatic gold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from tablemend.detector.algorithm import detect_errors
from tablemend.tables.extract import extract_table
from tablemend.tables.read import read_table
from tablemend.tables.table import Table, TableError
from tablemend.values import is_blank

Read = Callable[[str], list[dict[str, Any]]]


def found(table: Table, gold: Table, text: str) -> Counter[str]:
    return Counter({name: n for name, n in detect_errors(table, gold, text).counts.items() if n})


def shared_columns(gold: Table, answer: Table) -> tuple[Table, Table]:
    """Both tables cut to the columns that both have, in gold order."""
    places = {name.strip().lower(): index for index, name in reversed([*enumerate(answer.columns)])}
    shared = [
        (index, places[name.lower()])
        for index, name in enumerate(gold.columns)
        if name.lower() in places
    ]
    columns = [gold.columns[index] for index, _ in shared]
    return (
        Table.of(columns, [[row[index] for index, _ in shared] for row in gold.rows]),
        Table.of(columns, [[row[index] for _, index in shared] for row in answer.rows]),
    )


def box_scores(records: list[dict[str, Any]]) -> Iterator[tuple[str, Table, Table]]:
    """Text, gold and model's table over the columns both have, the first being the name."""
    for record in records:
        for kind, raw in record["gold"].items():
            gold = Table.of([kind, *raw["header"][1:]], raw["rows"])
            for tables in record["llm_tables"].values():
                try:
                    answer = read_table(tables.get(kind) or "", "markdown")
                except TableError:
                    continue
                one, other = shared_columns(gold, answer)
                if one.columns[0] == kind and not other.duplicate_columns():
                    yield record["text"], one, other


def count_plainly(gold: Table, answer: Table) -> Counter[str] | None:
    """What a reader counts cell by cell; ``None`` unless all names are unique and known."""
    names = [row[0] for row in answer.rows]
    rows = {row[0]: row for row in gold.rows}
    if len(rows) < len(gold.rows) or len(set(names)) < len(names) or not set(names) <= set(rows):
        return None
    counts: Counter[str] = Counter()
    for row in answer.rows:
        for expected, got in zip(rows[row[0]][1:], row[1:], strict=True):
            if is_blank(expected):
                counts["blank_filling"] += not is_blank(got)
            elif expected != got:
                counts["attribute"] += 1
    return +counts


def test_box_scores_are_counted_as_by_hand(shared_data: Read) -> None:
    compared = 0
    for text, gold, answer in box_scores(shared_data("text2table_rotowire")):
        expected = count_plainly(gold, answer)
        cells = {cell for table in (gold, answer) for row in table.rows for cell in row[1:]}
        if expected is None or not all(is_blank(cell) or (cell or "").isdigit() for cell in cells):
            continue
        compared += 1
        assert found(answer, gold, text) == expected, (gold, answer)
    assert compared > 700


def test_no_invented_player_stands_in_the_text(shared_data: Read) -> None:
    """The two verdicts on an unmatched row agree with a plain search in the text."""
    kinds: Counter[str] = Counter()
    for text, gold, answer in box_scores(shared_data("text2table_rotowire")):
        for finding in detect_errors(answer, gold, text).findings:
            if finding.type == "entity_fabrication":
                name = re.escape(finding.got or "")
                assert not re.search(rf"(?<!\w){name}(?!\w)", text), finding
            if finding.type in ("entity_fabrication", "out_of_range"):
                kinds[finding.type] += 1
    assert kinds["out_of_range"] > 500
    assert 150 < kinds["entity_fabrication"] < 400


@pytest.mark.parametrize("name", ["text2table_wikibio", "wikitabletext"])
def test_gold_fields_are_clean(name: str, shared_data: Read) -> None:
    for record in shared_data(name):
        if name == "wikitabletext":
            if not record["gold_text_supported"]:
                continue
            gold = Table.of(["Field", "Value"], record["gold_text_supported"])
        else:
            gold = read_table(record["gold_table"], "markdown")
        judgement = detect_errors(gold, gold, record["text"])
        assert judgement.unscored == ""
        assert judgement.findings == ()
        assert (judgement.share("row_recall"), judgement.share("cell_recall")) == (1.0, 1.0)


def test_most_values_that_a_model_copied_are_accepted(shared_data: Read) -> None:
    """Gemini's WikiBio fields: by hand, 3 in 4 values of a shared field say the same."""
    wrong = shared = 0
    for record in shared_data("text2table_wikibio"):
        gold = read_table(record["gold_table"], "markdown")
        answer = read_table(record["gemini_table"], "markdown")
        judgement = detect_errors(answer, gold, record["text"])
        shared += judgement.shares["row_recall"].part
        wrong += judgement.counts["attribute"]
    assert shared > 1000
    assert 0.05 < wrong / shared < 0.15


def test_fields_of_one_sentence_by_three_models(shared_data: Read) -> None:
    """WikiTableText without its headings, which no sentence holds and a model makes up.

    What is copied letter by letter is never flagged; of the rest little is (docs/detector.md).
    """

    def without_headings(rows: Iterable[Sequence[str | None]]) -> Table:
        kept = [row for row in rows if (row[0] or "").lower() not in ("title", "subtitle")]
        return Table.of(["Field", "Value"], kept)

    matched = wrong = unread = 0
    for record in shared_data("wikitabletext"):
        gold = without_headings(record["gold_text_supported"])
        for text in record["llm_tables"].values():
            found = extract_table(text)
            unread += found.table is None
            answer = without_headings(found.table.rows if found.table else ())
            if not gold.rows or not answer.rows:
                continue
            judgement = detect_errors(answer, gold, record["text_detok"])
            assert judgement.unscored == "" and judgement.counts["format_error"] == 0
            flagged = {finding.row for finding in judgement.findings}
            names = Counter(row[0] for table in (gold, answer) for row in table.rows)
            assert not [
                row
                for index, row in enumerate(answer.rows)
                if row in gold.rows and names[row[0]] == 2 and index in flagged
            ]
            matched += judgement.shares["row_recall"].part
            wrong += judgement.counts["attribute"]
    assert matched > 4000 and unread < 15
    assert 0.02 < wrong / matched < 0.04
