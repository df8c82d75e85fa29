"""What a program checks of kernels, queries, constraints and long texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablemend.prompting.replies import Problem
from tablemend.records import Condition, Constraints, Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.engine import examples as make_examples
from tablemend.tasks.tablehallu.settings import Shape, Synthesis
from tablemend.tasks.tablehallu_llm import checks, statements
from tablemend.tasks.tablehallu_llm.settings import LlmSynthesis
from tablemend.tasks.tablehallu_llm.statements import KernelDraft, Statements
from tablemend.values.text import sentence_spans
from tests.support.llm_kernels import CASES, Case
from tests.support.model_server.pipeline import prose

FERRIES = CASES[0]
DATA = Path(__file__).parents[3] / "data"
GIVEN = LlmSynthesis(generator="hf:a/b")
SHAPE, LEAST = GIVEN.shape, 10 * GIVEN.min_expansion


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Program examples whose conditions read columns of the gold table, as a model's must."""
    return [
        example
        for example in make_examples(Synthesis(source="pool", n=12, seed=23))
        if all(
            condition.column in example.gold_table.columns
            and (condition.low or condition.high or condition.values)
            for condition in example.constraints.conditions
        )
    ]


class Kernel(NamedTuple):
    """Everything that is checked; no long text where there is none."""

    draft: KernelDraft
    query: str
    constraints: Constraints
    text: str = ""

    def problems(self) -> list[Problem]:
        return [
            *checks.check_kernel(self.draft, SHAPE),
            *checks.check_query(self.query, self.draft),
            *checks.check_constraints(self.constraints, self.draft, self.query),
            *(checks.check_adversarial(self.draft, self.text, LEAST) if self.text else ()),
        ]


def kinds(problems: list[Problem]) -> set[str]:
    return {problem.kind for problem in problems}


def defects(kernel: Kernel, rng: Random) -> Iterator[tuple[str, set[str], str]]:
    """A defect, the kinds of what is found, and the kind that must be among them."""
    draft, _, _, text = kernel
    table, context = draft.table, draft.context
    read = Statements(table, context)
    for row in range(len(table.rows)):
        for column, place in read.locate(row).items():
            if place and column != read.key and len(read.cell_spans(row, column)) == 1:
                cut = context[: place.start] + context[place.end :]
                found = checks.check_kernel(replace(draft, context=cut), SHAPE)
                yield "value dropped", kinds(found), checks.NOT_STATED
    row, column = rng.choice(
        [(r, c) for r, own in enumerate(table.rows) for c, cell in enumerate(own) if cell is None]
    )
    name, header = table.rows[row][read.key], table.columns[column]
    value = rng.choice([cell for cell in table.column(header) if cell is not None])
    for said, kind in (
        (f"The {header} of {name} is {value}.", statements.NULL_STATED),
        (f"{name} has {value} as its {header}.", statements.NULL_STATED),
        (f"The {header} of {name} has not been disclosed.", statements.NULL_REMARKED),
        (f"{name} has {value} too.", statements.NULL_STATED),
        (f"No information on the {header} of {name} is available.", statements.NULL_REMARKED),
    ):
        filled = replace(draft, context=f"{context} {said}")
        yield said, kinds(checks.check_kernel(filled, SHAPE)), kind
        if text and header in said:
            end = rng.choice(sentence_spans(text)).end
            longer = f"{text[:end]} {said}{text[end:]}"
            yield said, kinds(checks.check_adversarial(draft, longer, LEAST)), kind
    if text:
        place = rng.choice(checks.locate_facts(draft, text)).adversarial
        cut = text[: place.sentence_start] + text[place.sentence_end :]
        yield "gold lost", kinds(checks.check_adversarial(draft, cut, LEAST)), checks.LOST
        rest = text
        for span in sentence_spans(context):
            rest = rest.replace(context[slice(*span)], "")
        together = checks.check_adversarial(draft, f"{context}\n\n{rest}", LEAST)
        yield "not dispersed", kinds(together), checks.CLUSTERED


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_good_kernels_of_a_model_pass_and_defects_in_them_are_found(case: Case) -> None:
    kernel = Kernel(case.draft, case.query, case.constraints)
    assert kernel.problems() == []
    injected = list(defects(kernel, Random(case.name)))
    missed = [name for name, found, kind in injected if kind not in found]
    assert len(injected) >= 10 and len(missed) <= 0.1 * len(injected), missed


def test_program_kernels_pass_and_their_defects_are_found(examples: list[Example]) -> None:
    rejected = made = found = 0
    for number, one in enumerate(examples):
        rule = one.constraints.sort_column, one.constraints.sort_order
        draft = KernelDraft(one.gold_table, *rule, prose(one.gold_context))
        adversarial = prose(one.adversarial_context)
        kernel = Kernel(draft, one.query, one.constraints, adversarial)
        if kernel.problems():
            rejected += 1
            continue
        for _, got, kind in defects(kernel, Random(number)):
            made += 1
            found += kind in got
    assert len(examples) >= 6 and rejected <= 3
    assert found >= 0.9 * made


Rows = list[list[str | None]]
TABLES: dict[str, Callable[[Rows], Rows]] = {
    checks.ROWS: lambda rows: rows[:1],
    checks.SAME_ROW: lambda rows: [*rows, rows[-1]],
    checks.UNSORTED: lambda rows: rows[::-1],
    checks.NO_NULL: lambda rows: [[cell or "1" for cell in row] for row in rows],
    checks.EMPTY_COLUMN: lambda rows: [[*row[:4], None] for row in rows],
    checks.KEY_EMPTY: lambda rows: [[None, *rows[0][1:]], *rows[1:]],
    checks.SORT_EMPTY: lambda rows: [["Alba", None, *rows[0][2:]], *rows[1:]],
    checks.SEVERAL_VALUES: lambda rows: [[*rows[0][:4], "450; 460"], *rows[1:]],
    checks.NOT_STATED: lambda rows: [[*rows[0][:4], "451"], *rows[1:]],
}
HEADERS = {
    checks.COLUMNS: ["Ferry"],
    checks.HEADER: ["Ferry", "Launched", "Length (m)", "Home Port", "ferry"],
    checks.SORT_COLUMN: ["Ferry", "Year", "Length (m)", "Home Port", "Passengers"],
}


@pytest.mark.parametrize("kind", [*TABLES, *HEADERS])
def test_defects_of_a_table_are_found(kind: str) -> None:
    table = FERRIES.draft.table
    rows = TABLES.get(kind, list)([list(row) for row in table.rows])
    columns = HEADERS.get(kind, list(table.columns))
    changed = Table.of(columns, [row[: len(columns)] for row in rows], table.title)
    assert kind in kinds(checks.check_kernel(replace(FERRIES.draft, table=changed), SHAPE))


TEXTS = [json.loads(line) for line in (DATA / "llm_texts.jsonl").read_text("utf-8").splitlines()]
FOUND_BY = {
    "blank stated": {statements.NULL_STATED},
    "blank stated without its header's word": {checks.EXTRA, statements.FURTHER},
    "blank can be worked out from the text": {statements.NULL_STATED},
    "remark that something is missing": {statements.NULL_REMARKED},
    "value not stated": {checks.NOT_STATED},
    "values of two rows exchanged": {checks.NOT_STATED},
    "value of the text differs from the table": {checks.NOT_STATED},
    "entity that the table does not have": {checks.EXTRA},
    "number that the table does not have": {checks.EXTRA},
    "heading or list in the text": {checks.NO_PROSE},
    "note or label left in the text": {checks.NOTE},
    "note about the task left in the text": {checks.NOTE},
    "rows not sorted": {checks.UNSORTED},
    "word for an empty cell": {checks.BLANK_WORD},
    "name that resembles one of the table": {checks.ALIKE},
    "a third of the length asked for": {checks.TOO_SHORT},
    "value of the original text changed": {checks.LOST},
    "another value for a filled cell": {statements.FURTHER},
    "original sentence lost": {checks.LOST},
    "original sentences in one place": {checks.CLUSTERED},
}
REFUSED = {"a06"}  # "to be taken by mouth" for "Oral"


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text["id"])
def test_texts_as_models_write_them(text: dict[str, Any]) -> None:
    table = Table.of(text["columns"], text["rows"], text["title"])
    draft = KernelDraft(table, *text["sort"], text["context"])
    found = kinds([*checks.check_kernel(draft, SHAPE), *checks.check_query(text["query"], draft)])
    if "text" in text:
        assert found == set()
        found = kinds(checks.check_adversarial(draft, text["text"], LEAST))
    if text["defect"] is None:
        assert (found == set()) == (text["id"] not in REFUSED)
    else:
        assert found & FOUND_BY[text["defect"]]


class TestQueries:
    def check(self, query: str, case: Case = FERRIES) -> set[str]:
        return kinds(checks.check_query(query, case.draft))

    @pytest.mark.parametrize(
        "listing",
        [
            "Ferry, Launched, Length (m), Home Port, Passengers",
            "Ferry, Launched, Length (m), Home Port and Passengers",
            "'Ferry', 'Launched', 'Length (m)', 'Home Port', and 'Passengers'",
            "1. Ferry 2. Launched 3. Length (m) 4. Home Port 5. Passengers",
            "Ferry; Launched; Length (m); Home Port; Passengers",
            "**Ferry**, **Launched**, **Length (m)**, **Home Port**, **Passengers**",
            "\u201cFerry,\u201d \u201cLaunched,\u201d \u201cLength (m),\u201d Home Port "
            "and, finally, Passengers",
        ],
    )
    def test_columns_may_be_listed_in_many_ways(self, listing: str) -> None:
        query = f"List the ferries with the columns {listing}. Sort by Launched, ascending."
        assert self.check(query) == set()

    @pytest.mark.parametrize(
        ("said", "admitted"),
        [
            ("launched from 1995 to 2012", True),
            ("launched from 1990 to 2020", True),
            ("such as the Alba", False),
            ("based at Corran", False),
            ("based at Corran, Vey or Port Hale", True),
            ("with at most 1,200 passengers", True),
        ],
    )
    def test_what_may_be_said_of_cells(self, said: str, admitted: bool) -> None:
        query = FERRIES.query.replace("launched from 1995 to 2012", said)
        assert self.check(query) == (set() if admitted else {checks.CELL_IN_QUERY})

    @pytest.mark.parametrize(
        ("old", "new", "kind"),
        [
            ('"Ferry", "Launched"', '"Launched", "Ferry"', checks.COLUMNS_UNORDERED),
            ('"Home Port"', "", checks.COLUMN_MISSING),
            ("ascending", "descending", checks.OTHER_SORT_RULE),
            ('Sort the table by "Launched" in ascending order.', "", checks.NO_SORT_RULE),
        ],
    )
    def test_columns_and_order_are_those_of_the_table(self, old: str, new: str, kind: str) -> None:
        assert old in FERRIES.query
        assert self.check(FERRIES.query.replace(old, new)) == {kind}


class TestConstraints:
    def check(self, query: str = FERRIES.query, **changes: object) -> set[str]:
        constraints = replace(FERRIES.constraints, **changes)  # type: ignore[arg-type]
        return kinds(checks.check_constraints(constraints, FERRIES.draft, query))

    @pytest.mark.parametrize(
        ("condition", "kind"),
        [
            (Condition("Launched", "1995", "2010"), checks.GOLD_OUT_OF_SCOPE),
            (Condition("launch year", "1995", "2012"), checks.NO_SUCH_COLUMN),
            (Condition("Launched"), checks.EMPTY_CONDITION),
            (Condition("Launched", "1995", "2012", ("1995",)), checks.EMPTY_CONDITION),
            (Condition("Launched", "1990", "2012"), checks.NOT_IN_QUERY),
            (Condition("Launched", "early", None), checks.UNREADABLE_CONDITION),
            (Condition("Passengers", "400", None), checks.UNREADABLE_CONDITION),
            (Condition("Home Port", values=("Corran", "Vey")), checks.GOLD_OUT_OF_SCOPE),
            (Condition("Home Port", values=("Corran", "Vey", "Port Hale")), checks.NOT_IN_QUERY),
        ],
    )
    def test_conditions(self, condition: Condition, kind: str) -> None:
        assert self.check(conditions=(condition,)) == {kind}

    def test_an_open_end_is_one_off_what_the_query_says(self) -> None:
        query = FERRIES.query.replace("from 1995 to 2012", "after 1994")
        condition = Condition("Launched", "1995", None)
        assert self.check(query, conditions=(condition,), numerical_range="after 1994") == set()

    def test_the_other_fields(self) -> None:
        assert self.check(entity_scope=()) == {checks.NO_SCOPE}
        assert self.check(numerical_range="1980 to 2012") == {checks.NOT_IN_QUERY}


_CELLS = st.sampled_from(
    (
        "Alba|Port Hale|Hale|1,200|-3.2|4 May 2021|2021-05|n/a|Q1 2021|(x|5%|$5|Yes|\u00bd|\ufb01x"
        "|\u0130|3rd|a.b|\u5317\u4eac|0"
    ).split("|")
) | st.text(min_size=1, max_size=6)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_table_and_text_break_a_check(data: st.DataObject) -> None:
    width = data.draw(st.integers(2, 4))
    columns = data.draw(st.lists(_CELLS, min_size=width, max_size=width))
    row = st.lists(st.none() | _CELLS, min_size=width, max_size=width)
    table = Table.of(columns, data.draw(st.lists(row, min_size=2, max_size=4)))
    words = _CELLS | st.sampled_from([". ", "\n\n", ". It is ", " has ", '"', " Corp. The "])
    text = " ".join(data.draw(st.lists(words, max_size=25)))
    draft = KernelDraft(table, data.draw(st.sampled_from(columns)), "ascending", text)
    condition = Condition(columns[0], data.draw(_CELLS), None)
    constraints = Constraints(("x",), data.draw(_CELLS), columns[-1], "descending", (condition,))
    found = [
        *checks.check_kernel(draft, Shape(min_columns=3, min_rows=2)),
        *checks.check_query(text, draft),
        *checks.check_constraints(constraints, draft, text),
        *checks.check_adversarial(draft, f"{text} More. {text}", 1.0),
    ]
    assert all(problem.kind and problem.text for problem in found)
    for fact in checks.locate_facts(draft, text):
        assert text[fact.adversarial.start : fact.adversarial.end] == fact.value


def test_dots_within_a_label_end_no_sentence() -> None:
    text = "With host under Famous for.../Occupation, Ada Bollo is 43. She won."
    assert [text[start:end] for start, end in sentence_spans(text)] == [text[:-9], text[-8:]]
