"""What a program checks of kernels, queries, constraints and long texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablemend.datasets.tablehallu.engine import examples as make_examples
from tablemend.datasets.tablehallu.settings import Shape, Synthesis
from tablemend.datasets.tablehallu_llm import checks, omissions, preservation, queries
from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.statements import Statements
from tablemend.detector.keys import primary_key
from tablemend.prompting.replies import Problem
from tablemend.records import Condition, Constraints, Example
from tablemend.tables.table import Table
from tests.support.injected_drafts import SHAPE, Kernel, all_problems, defects
from tests.support.llm_kernels import CASES, Case

FERRIES = CASES[0]


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Program examples whose conditions read columns of the gold table, as a model's must."""
    return [
        example
        for example in make_examples(Synthesis(source="pool", n=13, seed=23))
        if all(
            condition.column in example.gold_table.columns
            for condition in example.constraints.conditions
        )
    ]


def kernel_of(example: Example) -> Kernel:
    constraints = example.constraints
    draft = KernelDraft(
        example.gold_table, constraints.sort_column, constraints.sort_order, example.gold_context
    )
    return Kernel(draft, example.query, constraints, example.adversarial_context)


def kinds(problems: list[Problem]) -> set[str]:
    return {problem.kind for problem in problems}


def edited(case: Case, old: str, new: str) -> KernelDraft:
    assert old in case.draft.context
    return replace(case.draft, context=case.draft.context.replace(old, new))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_good_kernels_of_a_model_pass(case: Case) -> None:
    assert all_problems(Kernel(case.draft, case.query, case.constraints, "")) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_defects_in_a_models_kernel_are_found(case: Case) -> None:
    kernel = Kernel(case.draft, case.query, case.constraints, "")
    injected = list(defects(kernel, Random(case.name)))
    assert len(injected) >= 15
    assert [defect for defect in injected if not defect.found] == []


def test_program_kernels_pass_and_their_defects_are_found(examples: list[Example]) -> None:
    rejected, made, found = 0, Counter[str](), Counter[str]()
    for number, example in enumerate(examples):
        kernel = kernel_of(example)
        if all_problems(kernel):
            rejected += 1
            continue
        for defect in defects(kernel, Random(number)):
            made[defect.name] += 1
            found[defect.name] += defect.found
    assert len(examples) >= 7 and rejected <= 1
    assert len(made) >= 23
    assert sum(found.values()) >= 0.985 * sum(made.values())
    assert max(made[name] - found[name] for name in made) <= 1


def test_located_facts_are_where_the_program_put_them(examples: list[Example]) -> None:
    seen = elsewhere = 0
    for example in examples:
        draft, text = kernel_of(example).draft, example.adversarial_context
        key = draft.table.columns[primary_key(draft.table)]
        made = {
            (fact.row, fact.column): fact
            for fact in example.facts
            if fact.violates is None and fact.column in draft.table.columns
        }
        located = preservation.locate_facts(draft, text)
        assert {(fact.row, fact.column) for fact in located} == set(made)
        for fact in located:
            assert fact.clean is not None
            for context, place in ((draft.context, fact.clean), (text, fact.adversarial)):
                assert context[place.start : place.end] == fact.value
                sentence = context[place.sentence_start : place.sentence_end]
                assert fact.value in sentence and fact.entity in sentence
            if fact.column != key:
                seen += 1
                elsewhere += fact.adversarial[:2] != made[fact.row, fact.column].adversarial[:2]
    assert seen > 180 and elsewhere <= 0.02 * seen


class TestKernels:
    def test_shape_and_header_come_first(self) -> None:
        table = Table.of(["A", "a ", "C"], [["x", "1", None]])
        draft = KernelDraft(table, "Z", "ascending", "Nothing.")
        found = checks.check_kernel(draft, Shape(min_columns=4, min_rows=5))
        assert kinds(found) == {checks.COLUMNS, checks.ROWS, checks.HEADER}

    def test_cells(self) -> None:
        rows = [list(row) for row in FERRIES.draft.table.rows]
        rows[0][4], rows[1][3], rows[2][1] = "not disclosed", "Vey; Corran", None
        table = Table.of(FERRIES.draft.table.columns, rows)
        found = kinds(checks.check_kernel(replace(FERRIES.draft, table=table), SHAPE))
        assert {checks.BLANK_WORD, checks.SEVERAL_VALUES, checks.SORT_EMPTY} <= found

    def test_two_rows_of_one_name_must_be_full(self) -> None:
        rows = [list(row) for row in FERRIES.draft.table.rows]
        rows[0][0] = "Sella"
        draft = replace(FERRIES.draft, table=Table.of(FERRIES.draft.table.columns, rows))
        assert checks.KEY_REPEATED in kinds(checks.check_kernel(draft, SHAPE))

    @pytest.mark.parametrize(
        "sentence",
        [
            "The passenger capacity of the Sella is unknown.",
            "No figure for the passengers of the Sella is available.",
            "How many passengers the Sella takes has never been disclosed.",
            "The Sella's operator hasn't published a number.",
        ],
    )
    def test_remarks_on_a_null(self, sentence: str) -> None:
        draft = edited(FERRIES, "home port in Vey.", f"home port in Vey. {sentence}")
        found = kinds(checks.check_kernel(draft, SHAPE))
        assert found & {omissions.NULL_REMARKED, omissions.NULL_STATED}

    @pytest.mark.parametrize(
        "sentence",
        [
            "She takes 610 passengers.",
            "Her capacity is 610.",
            "The ship carries passengers in two decks.",
        ],
    )
    def test_a_null_that_a_later_sentence_fills(self, sentence: str) -> None:
        draft = edited(FERRIES, "home port in Vey.", f"home port in Vey. {sentence}")
        found = kinds(checks.check_kernel(draft, SHAPE))
        assert found & {omissions.NULL_STATED, checks.EXTRA}

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("launched in 1995", "launched in 1996"),
            ("At 88.4 m she takes", "She takes"),
            ("operates out of Port Hale", "operates"),
            ("a capacity of 1,150", "a capacity of 1.15 million"),
            ("is based at Corran", "is based there"),
        ],
    )
    def test_a_value_that_the_context_does_not_state(self, old: str, new: str) -> None:
        found = checks.check_kernel(edited(FERRIES, old, new), SHAPE)
        assert kinds(found) - {checks.EXTRA} == {checks.NOT_STATED}


class TestQueries:
    def check(self, query: str, case: Case = FERRIES) -> set[str]:
        return kinds(queries.check_query(query, case.draft))

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
        assert self.check(query) == (set() if admitted else {queries.CELL_IN_QUERY})


class TestConstraints:
    def check(self, query: str = FERRIES.query, **changes: object) -> set[str]:
        constraints = replace(FERRIES.constraints, **changes)  # type: ignore[arg-type]
        return kinds(queries.check_constraints(constraints, FERRIES.draft, query))

    @pytest.mark.parametrize(
        ("condition", "kind"),
        [
            (Condition("Launched", "1995", "2010"), queries.GOLD_OUT_OF_SCOPE),
            (Condition("launch year", "1995", "2012"), queries.NO_SUCH_COLUMN),
            (Condition("Launched"), queries.EMPTY_CONDITION),
            (Condition("Launched", "1995", "2012", ("1995",)), queries.EMPTY_CONDITION),
            (Condition("Launched", "1990", "2012"), queries.NOT_IN_QUERY),
            (Condition("Launched", "early", None), queries.UNREADABLE_CONDITION),
            (Condition("Passengers", "400", None), queries.UNREADABLE_CONDITION),
            (Condition("Home Port", values=("Corran", "Vey")), queries.GOLD_OUT_OF_SCOPE),
            (Condition("Home Port", values=("Corran", "Vey", "Port Hale")), queries.NOT_IN_QUERY),
        ],
    )
    def test_conditions(self, condition: Condition, kind: str) -> None:
        assert self.check(conditions=(condition,)) == {kind}

    def test_an_open_end_is_one_off_what_the_query_says(self) -> None:
        query = FERRIES.query.replace("from 1995 to 2012", "after 1994")
        condition = Condition("Launched", "1995", None)
        assert self.check(query, conditions=(condition,), numerical_range="after 1994") == set()

    def test_the_other_fields(self) -> None:
        assert self.check(entity_scope=()) == {queries.NO_SCOPE}
        assert self.check(numerical_range="1980 to 2012") == {queries.NOT_IN_QUERY}


PARAGRAPHS = [
    "The neighbouring Karst Archipelago has a fleet of its own. The Doria, launched in 1978, is "
    "54 m long and carries 380 passengers from Lund. Her sister Emilia followed in 1981.",
    "Freight on the strait is another matter. The barge Tolle was launched in 1969 at Marn. It is "
    "47 m long, and no passenger has ever set foot on it.",
    "Across the sound, the island of Hest replaced its boats in 2016 with the catamaran Ventus, "
    "which is 39 m long. It seats 210 passengers, and its home port is Hestvik.",
    "Older vessels are kept in the museum. The paddle steamer Royal Ann, launched in 1888, once "
    "carried 700 passengers between Marn and Lund.",
]


def long_text(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs)


def dispersed(case: Case, *more: str) -> str:
    """The sentences of a case, a paragraph of them each between two new ones."""
    statements = Statements(case.draft.table, case.draft.context, closed=True)
    parts, text = [], case.draft.context
    for sentence in statements.sentences:
        said = text[sentence.start : sentence.end]
        if parts and not sentence.named:
            parts[-1] += f" {said}"
        else:
            parts.append(said)
    mixed = [part for pair in zip(parts, PARAGRAPHS * 3, strict=False) for part in pair]
    return long_text(*mixed, *more)


class TestLongTexts:
    def check(self, text: str, expansion: float = 1.0) -> list[Problem]:
        return preservation.check_adversarial(FERRIES.draft, text, expansion)

    def test_a_good_one_passes(self) -> None:
        assert self.check(dispersed(FERRIES), 2.0) == []

    @pytest.mark.parametrize(
        "said",
        [
            "Unlike the Alba, the Doria was launched with only 380 seats.",
            "The Alba is admired by all who see her.",
            "In 1978, long before the Alba, the port of Lund was dredged.",
            "There is the Borea. It was in 1961 that the Tolle gained its present length.",
        ],
    )
    def test_a_gold_name_may_be_mentioned(self, said: str) -> None:
        assert self.check(dispersed(FERRIES, said)) == []

    @pytest.mark.parametrize(
        ("said", "kind"),
        [
            ("The Borea has a length of 93 m.", omissions.NULL_STATED),
            ("The length of the Borea is unknown.", omissions.NULL_STATED),
            ("Of the Borea, no details were published.", omissions.NULL_REMARKED),
        ],
    )
    def test_what_may_not_be_said_of_a_gold_row(self, said: str, kind: str) -> None:
        assert kind in kinds(self.check(dispersed(FERRIES, said)))

    def test_a_pronoun_stays_with_its_sentence(self) -> None:
        text = dispersed(FERRIES)
        said = "She measures 71 m and has her home port in Vey."
        torn = text.replace(f" {said}", "").replace("from Lund.", f"from Lund. {said}")
        assert kinds(self.check(torn)) == {preservation.TORN}

    def test_lost_clustered_short_and_listed(self) -> None:
        text = dispersed(FERRIES)
        lost = self.check(text.replace("she is 62.5 metres long, ", ""))
        assert preservation.LOST in kinds(lost)
        assert "'The oldest of them, the Alba, was launched" in lost[0].text
        clustered = long_text(*PARAGRAPHS, *PARAGRAPHS, FERRIES.draft.context.replace("\n\n", " "))
        assert kinds(self.check(clustered)) == {preservation.CLUSTERED}
        assert kinds(self.check(text, 50)) == {preservation.TOO_SHORT}
        assert kinds(self.check(f"# Ferries\n\n{text}")) == {preservation.NO_PROSE}


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
        *queries.check_query(text, draft),
        *queries.check_constraints(constraints, draft, text),
        *preservation.check_adversarial(draft, f"{text} More. {text}", 1.0),
    ]
    assert all(problem.kind and problem.text for problem in found)
    for fact in preservation.locate_facts(draft, text):
        assert text[fact.adversarial.start : fact.adversarial.end] == fact.value


class TestStatements:
    def test_who_a_sentence_is_about(self) -> None:
        table = Table.of(["Name", "Born"], [["Ada Brevik", "1861"], ["Johan Sire", "1863"]])
        text = "Both are painters. Ada Brevik was born. She paints. Brevik and Sire met. He left."
        closed = Statements(table, text, closed=True)
        about = [sentence.about for sentence in closed.sentences]
        assert about == [set(), {0}, {0}, {0, 1}, {0, 1}]
        assert closed.speaks_of(closed.sentences[0], 1)
        opened = Statements(table, text, closed=False)
        assert [sentence.about for sentence in opened.sentences] == [set(), {0}, {0}, set(), set()]

    def test_a_name_inside_a_longer_name_is_not_said(self) -> None:
        rows = [["Korea", "Seoul", "1"], ["North Korea", "Korea Street", "2"]]
        table = Table.of(["Country", "Seat", "Rank"], rows)
        text = "North Korea is second. Its seat is Korea Street."
        statements = Statements(table, text, closed=True)
        assert statements.name_spans("Korea") == []
        assert statements.locate(0) == {0: None, 1: None, 2: None}
