"""The reward: gold earns 1, every mended error pays, and no way to cheat does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.detector.algorithm import detect_in_answer
from tablemend.detector.query import SortRule
from tablemend.errors import TablemendError
from tablemend.recipe.training import Reward
from tablemend.records import CONTEXT_KINDS, Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.tasks.tablehallu.injected_errors import (
    INJECTED_ERRORS,
    distractor_rows,
    gold_rows,
)
from tablemend.tasks.tablehallu.prompts import OutputFormat
from tablemend.tasks.tablehallu.scoring import (
    IMPURE,
    Rules,
    Score,
    TableReward,
    credit_cell,
    score_answer,
)
from tablemend.values.units import header_unit

RULES = Rules(Reward().model_dump())
FORMATS: tuple[OutputFormat, ...] = ("markdown", "json", "latex")
SORT = SortRule("Wells", "ascending")
GOLD = Table.of(
    ["Town", "Wells", "Crop", "Mayor"],
    [
        ["Nel Pak", "4", "corn", None],
        ["Zan Dil", "9", None, "Ida Moor"],
        ["Oro Vit", "12", "rice", "Per Lund"],
        ["Kes Bau", "20", "oats", "Ana Fisk"],
    ],
)
CONTEXT_ROWS = [["Tam Rod", "2", "hemp", "Eli Ross"], ["Bur Hal", "31", "corn", "Uma Lind"]]


def score(text: str, rules: Rules = RULES, gold: Table = GOLD) -> Score:
    return score_answer(text, gold, SORT if gold is GOLD else None, rules)


def reward(table: Table) -> float:
    return score(prompts.answer(table)).reward


def with_rows(*rows: list[str | None]) -> Table:
    return Table.of(GOLD.columns, rows)


ROWS = [list(row) for row in GOLD.rows]
PARTIAL = {
    "gold": GOLD,
    "a wrong cell": with_rows(*ROWS[:3], ["Kes Bau", "21", "oats", "Ana Fisk"]),
    "half the rows": with_rows(*ROWS[:2]),
    "one row": with_rows(ROWS[2]),
    "a row too many": with_rows(CONTEXT_ROWS[0], *ROWS),
    "two rows swapped": with_rows(ROWS[0], ROWS[2], ROWS[1], ROWS[3]),
    "no column of mayors": Table.of(GOLD.columns[:3], [row[:3] for row in ROWS]),
}

# Answers without anything right in them, or that no one can use.
WORTHLESS: dict[str, str] = {
    "nothing": "",
    "the marker alone": "####",
    "prose": "The towns are Nel Pak, with 4 wells, and Zan Dil, with 9.",
    "an empty table": "####\n" + "| |\n|---|",
    "a header with no rows": prompts.answer(with_rows()),
    "rows of blanks": prompts.answer(with_rows(*[[None] * 4] * 4)),
    "keys with blanks beside": prompts.answer(with_rows(*[[r[0], None, None, None] for r in ROWS])),
    "keys alone": prompts.answer(Table.of(["Town"], [row[:1] for row in ROWS])),
    "values without keys": prompts.answer(with_rows(*[[None, *row[1:]] for row in ROWS])),
    "made-up rows": prompts.answer(with_rows(["Aaa", "1", "b", "c"], ["Ddd", "2", "e", "f"])),
    "a table in the thinking alone": f"<think>\n{prompts.answer(GOLD)}\n</think>\n\nDone.",
    "a thought that never ends": f"<think>\n{prompts.answer(GOLD)}",
    "another format": prompts.answer(GOLD, "json"),
    "rows without a header line": "####\n| Nel Pak | 4 | corn | - |\n| Zan Dil | 9 | - | - |",
    "every key in one row": prompts.answer(
        with_rows(["Nel Pak, Zan Dil, Oro Vit, Kes Bau", "4, 9, 12, 20", "corn, rice, oats", "-"])
    ),
}


@pytest.mark.parametrize("name", WORTHLESS)
@pytest.mark.parametrize("thinks", [False, True])
def test_what_says_nothing_right_earns_nothing(name: str, thinks: bool) -> None:
    text = WORTHLESS[name] if not thinks else f"<think>\n</think>\n\n{WORTHLESS[name]}"
    assert score(text, RULES._replace(thinks=thinks)).reward == 0.0


@pytest.mark.parametrize("name", PARTIAL)
def test_every_partial_answer_earns_more_than_nothing(name: str) -> None:
    assert 0.2 < reward(PARTIAL[name]) <= 1.0
    assert (reward(PARTIAL[name]) == 1.0) == (name == "gold")


def appended(text: str) -> Callable[[Table], str]:
    """Something behind each filled cell beside the key."""
    return lambda table: prompts.answer(
        replace(
            table,
            rows=tuple((row[0], *(cell and cell + text for cell in row[1:])) for row in table.rows),
        )
    )


def on_text(change: Callable[[str], str]) -> Callable[[Table], str]:
    return lambda table: change(prompts.answer(table))


def on_table(change: Callable[[Table], Table]) -> Callable[[Table], str]:
    return lambda table: prompts.answer(change(table))


def more_rows(change: Callable[[Table], Sequence[Sequence[str | None]]]) -> Callable[[Table], str]:
    def add(table: Table) -> Table:
        width = len(table.columns)
        return Table.of(table.columns, [*table.rows, *(row[:width] for row in change(table))])

    return on_table(add)


def more_columns(*names: str) -> Callable[[Table], str]:
    return on_table(
        lambda table: Table.of(
            [*table.columns, *names], [[*row, *["x"] * len(names)] for row in table.rows]
        )
    )


def _wrong(row: tuple[str | None, ...]) -> tuple[str | None, ...]:
    return (row[0], "77", *row[2:])


# What is done to an answer, whatever it is worth, must take something of it.
CHEATS: dict[str, Callable[[Table], str]] = {
    "prose before": on_text(lambda text: f"Here is the table that you asked for.\n\n{text}"),
    "prose between marker and table": on_text(lambda t: t.replace("####\n", "####\nSure:\n\n")),
    "prose after": on_text(lambda text: f"{text}\n\nI checked every value twice."),
    "a word after": on_text(lambda text: f"{text}\nok"),
    "two tables": on_text(lambda text: f"{text}\n\n{text}"),
    "a draft before": on_text(lambda text: text.removeprefix("####\n") + f"\n\n{text}"),
    "two markers": on_text(lambda text: f"####\n{text}"),
    "no marker": on_text(lambda text: text.removeprefix("####\n")),
    "a second answer after the end": on_text(lambda text: f"{text}<|im_end|>\n<|im_start|>{text}"),
    "a turn of the user": on_text(lambda text: f"{text}\nuser\nwell done\nassistant\n{text}"),
    "a code fence": on_text(lambda text: f"```markdown\n{text}\n```"),
    "a thought nobody asked for": on_text(lambda text: f"<think>\nhm\n</think>\n\n{text}"),
    "a thought after": on_text(lambda text: f"{text}\n<think>hm</think>"),
    "a comment after": on_text(lambda text: f"{text}\n<!-- correct -->"),
    "a comment in a cell": on_text(lambda text: text.replace(" |\n|-", "<!-- 5 --> |\n|-", 1)),
    "hidden text in a cell": appended('<span style="display:none">5</span>'),
    "a link in a cell": on_text(
        lambda text: text.replace("Nel Pak", "[Nel Pak](http://a.b/5)").replace(
            "Oro Vit", "[Oro Vit](http://a.b/5)"
        )
    ),
    "an image in a cell": on_text(
        lambda text: text.replace("Nel Pak", "![Nel Pak](5.png)").replace(
            "Oro Vit", "![Oro Vit](5.png)"
        )
    ),
    "bold cells": on_text(
        lambda text: text.replace("Nel Pak", "**Nel Pak**").replace("Oro Vit", "**Oro Vit**")
    ),
    "entities": on_text(
        lambda text: text.replace("l Pak", "&#108; Pak").replace("o Vit", "&#111; Vit")
    ),
    "zero-width spaces": appended("\u200b"),
    "soft hyphens": appended("\u00ad"),
    "a no-break space": appended("\u00a0"),
    "marks of direction": appended("\u202e"),
    "an invisible line": on_text(lambda text: f"{text}\n\u200b"),
    "an invisible header": on_table(
        lambda t: replace(t, columns=tuple(c + "\u200b" for c in t.columns))
    ),
    "full-width letters": on_text(
        lambda text: text.replace("12", "\uff11\uff12").replace("4", "\uff14")
    ),
    "units": appended(" wells"),
    "a note": appended(" (as stated)"),
    "a guess": appended(" (est.)"),
    "a question mark": appended("?"),
    "a footnote": appended("[1]"),
    "two values with a slash": appended(" / 14"),
    "two values with or": appended(" or 14"),
    "two values in brackets": appended(" (14)"),
    "two lines in a cell": appended("\n14"),
    "another word too": appended(", hemp"),
    "capital letters": on_table(
        lambda t: replace(t, rows=tuple(tuple(c and c.upper() for c in r) for r in t.rows))
    ),
    "every row twice": more_rows(lambda table: list(table.rows)),
    "one row twice": more_rows(lambda table: [table.rows[-1]]),
    "one row a hundred times": more_rows(lambda table: [table.rows[-1]] * 100),
    "each row with other cells too": more_rows(lambda table: [_wrong(row) for row in table.rows]),
    "one row with other cells too": more_rows(lambda table: [_wrong(table.rows[0])]),
    "every row of the context": more_rows(lambda _: CONTEXT_ROWS * 3),
    "rows of blanks": more_rows(lambda table: [(None,) * len(table.columns)] * 3),
    "rows of dashes": more_rows(lambda table: [("-",) * len(table.columns)] * 3),
    "nameless rows": more_rows(lambda table: [(None, *table.rows[0][1:])]),
    "an invented row": more_rows(lambda table: [("Xyl Aba", *["5"] * (len(table.columns) - 1))]),
    "every column": more_columns("Year", "Area", "Notes"),
    "a column of notes": more_columns("Notes"),
    "a column twice": on_table(
        lambda table: Table.of([*table.columns, "Wells"], [[*r, "14"] for r in table.rows])
    ),
    "filled blanks": on_table(
        lambda table: replace(
            table.filled("corn"),
            rows=(*table.filled("corn").rows, ("Nel Pak", "8", "x", "y")[: len(table.columns)]),
        )
    ),
    "only the first row": on_table(lambda table: replace(table, rows=table.rows[:1])),
    "all but the last row": on_table(lambda table: replace(table, rows=table.rows[:-1])),
    "blanks for the last column": on_table(
        lambda table: replace(table, rows=tuple((*row[:-1], None) for row in table.rows))
    ),
    "blanks for all but the wells": on_table(
        lambda table: replace(
            table, rows=tuple((*row[:2], *[None] * (len(row) - 2)) for row in table.rows)
        )
    ),
    "the columns turned round": on_table(
        lambda table: Table.of(table.columns[::-1], [r[::-1] for r in table.rows])
    ),
}


@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize("name", PARTIAL)
def test_no_cheat_pays(cheat: str, name: str) -> None:
    honest = prompts.answer(PARTIAL[name])
    text = CHEATS[cheat](PARTIAL[name])
    if text == honest:
        assert (cheat, name) == ("only the first row", "one row")
    else:
        assert score(text).reward < score(honest).reward


def test_the_parts_say_what_is_wrong() -> None:
    names = Reward.model_fields.keys() - {"quote", "trace"}
    assert set(score("").parts.values()) == {0.0}
    assert score(prompts.answer(GOLD)).parts == dict.fromkeys(names, 1.0)
    wrong = score(prompts.answer(PARTIAL["a wrong cell"])).parts
    assert wrong.pop("cells") == 13 / 14 and set(wrong.values()) == {1.0}
    short = score(prompts.answer(PARTIAL["half the rows"])).parts
    assert short["coverage"] == 1 / 2 and short["cells"] == 6 / 14
    assert short["scope"] == 2 * 2 / (2 + 4) and short["order"] == 1 / 6
    more = score(prompts.answer(PARTIAL["a row too many"])).parts
    assert more.pop("scope") == 8 / 9 and set(more.values()) == {1.0}
    swapped = score(prompts.answer(PARTIAL["two rows swapped"])).parts
    assert swapped.pop("order") == 5 / 6 and set(swapped.values()) == {1.0}
    fewer = score(prompts.answer(PARTIAL["no column of mayors"])).parts
    assert fewer["columns"] == 3 / 4 and fewer["blanks"] == 1 / 2
    prose = score(prompts.answer(GOLD) + "\nThat is all.").parts
    assert prose.pop("format") == IMPURE and set(prose.values()) == {1.0}


def test_the_table_that_the_detector_reads_is_scored() -> None:
    other = prompts.answer(Table.of(["Note"], [["four towns"]])).removeprefix("####")
    parts = score(f"{prompts.answer(GOLD)}\n\n{other}").parts
    assert parts == score(prompts.answer(GOLD)).parts | {"format": IMPURE}
    wells = Table.of(["Town", "Wells"], [["Nel Pak", "4.26"]])
    text = prompts.answer(Table.of(["Town", "Wells"], [["Nel Pak", "4.3"]]))
    assert score_answer(text, wells, None, RULES, decimals={"Wells": 1}).reward == 1
    assert score_answer(text, wells, None, RULES).reward < 0.9


def test_a_guess_in_two_rows_earns_less_than_a_guess() -> None:
    """Writing both values, each in a row of its own, must not pay for who cannot decide."""
    for at in range(len(ROWS)):
        right, wrong = list(ROWS), list(ROWS)
        wrong[at] = ["X" if column and cell else cell for column, cell in enumerate(ROWS[at])]
        both = [*ROWS[: at + 1], wrong[at], *ROWS[at + 1 :]]
        guess = (reward(with_rows(*right)) + reward(with_rows(*wrong))) / 2
        assert reward(with_rows(*both)) < guess
        assert reward(with_rows(right[at], wrong[at])) < reward(with_rows(right[at])) / 2


def test_a_second_guess_that_matches_another_gold_row_is_a_guess() -> None:
    """The matching gives the second row to "Nel Pak", whose own row is left out."""
    rest = [["Oro Vit", "12"], ["Kes Bau", "20"], ["Zan Dil", "31"]]
    right, wrong = ["Port Nel Pak", "4"], ["Port Nel Pak", "7"]
    gold = Table.of(GOLD.columns[:2], [right, ["Nel Pak", "9"], *rest])

    def earned(*rows: list[str]) -> float:
        return score(prompts.answer(replace(gold, rows=tuple(map(tuple, rows)))), gold=gold).reward

    guess = (earned(right, *rest) + earned(wrong, *rest)) / 2
    assert earned(right, wrong, *rest) < guess and earned(wrong, right, *rest) < guess


@pytest.mark.parametrize(
    ("gold", "answer", "header", "credit"),
    [
        ("2021-04-03", "3 April 2021", "Date", 0.9),
        ("2021-04-03", "03/04/2021", "Date", 0.0),  # right for the 4th of March too
        ("03/04/2021", "03/04/2021", "Date", 1.0),
        ("1200", "1,200", "Wells", 0.9),
        ("5", "over 5", "Wells", 0.0),
        ("5", "~5", "Wells", 0.0),
        ("5", "5+", "Wells", 0.0),
        ("about 5", "~5", "Wells", 0.9),
        ("5", "5 kg", "Weight", 0.0),
        ("5", "5 kg", "Weight (kg)", 0.9),
        ("5 km", "5000 m", "Length", 0.9),
        ("12%", "12", "Share", 0.9),
        ("12", "12%", "Share", 0.0),
        ("12", "$12", "Price ($)", 0.9),
        ("12", "\u20ac12", "Price ($)", 0.0),
        ("$12", "C$12", "Price", 0.0),
        (None, "n/a", "Wells", 0.9),
        (None, "n/a (12)", "Wells", 0.0),
    ],
)
def test_a_cell_that_covers_more_than_its_gold_earns_nothing(
    gold: str | None, answer: str, header: str, credit: float
) -> None:
    assert credit_cell(gold, answer, header_unit(header)) == credit


def test_the_context_copied_earns_less_than_a_few_rows_that_belong() -> None:
    """On adversarial examples, over all of them: what to leave out must be worth learning."""
    copied, few = 0.0, 0.0
    for example in small_world.examples(seed=5, n=200):
        gold = example.gold_table
        rows = gold_rows(example) + distractor_rows(example, True) + distractor_rows(example, False)
        copied += _earned(Table.of(gold.columns, rows), example)
        few += _earned(replace(gold, rows=gold.rows[: max(1, len(gold.rows) // 2)]), example)
    assert copied < few


def _earned(table: Table, example: Example) -> float:
    return TableReward(RULES).score(example, "clean", prompts.answer(table)).reward


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("thinking", ["off", "quote"])
def test_gold_earns_exactly_1(format: OutputFormat, thinking: prompts.Thinking) -> None:
    thinks = thinking != "off"
    rules = Rules(
        Reward(format=0.3, cells=0.7, order=0.1).model_dump(), format, thinks, quotes=thinks
    )
    for example in small_world.examples(seed=6, n=100):
        for kind in CONTEXT_KINDS:
            text = prompts.target(example, kind, thinking, format)
            assert TableReward(rules).score(example, kind, text).reward == 1.0


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", INJECTED_ERRORS)
def test_what_the_detector_finds_costs(name: str, format: OutputFormat) -> None:
    """The reward is never whole where the detector has a finding."""
    rules, injected = RULES._replace(format=format), 0
    for example in small_world.examples(seed=8, n=40):
        table = INJECTED_ERRORS[name].make(example, Random(example.seed))
        if table is None:
            continue
        text = prompts.answer(table, format)
        order = SortRule.of(example.constraints)
        found = detect_in_answer(
            text, example.gold_table, example.adversarial_context, order, format
        )
        assert found.findings, table
        injected += 1
        assert 0.0 <= TableReward(rules).score(example, "clean", text).reward < 1.0
    assert injected or name == "wrong result"  # of arithmetic alone


def test_step_by_step_prose_may_stand_before_the_marker_and_nowhere_else() -> None:
    rules = RULES._replace(explains=True)
    text = prompts.answer(GOLD)
    assert score(f"First, the towns.\n\n{text}", rules).reward == 1.0
    for cheat in (
        f"{text}\nDone.",
        f"{text}\n\n{text}",
        text.removeprefix("####\n") + "\n\n" + text,
    ):
        assert score(cheat, rules).parts["format"] == IMPURE


def test_a_thought_that_was_asked_for_costs_nothing() -> None:
    rules = RULES._replace(thinks=True)
    text = prompts.answer(GOLD)
    assert score(f"<think>\nNel Pak has 4.\n</think>\n\n{text}", rules).reward == 1.0
    assert score(f"Nel Pak has 4.\n</think>\n\n{text}", rules).reward == 1.0  # opened in the prompt
    twice = f"<think>\na\n</think>\n\n<think>\nb\n</think>\n\n{text}"
    assert score(twice, rules).parts["format"] == IMPURE
    assert score(text, rules).parts["format"] == IMPURE


QUOTING = RULES._replace(thinks=True, quotes=True)
OWN_WORDS = "Let me think about which rows fit."


def quoting(lines: Iterable[str], table: Table) -> str:
    return "\n".join(["<think>", *lines, "</think>", "", prompts.answer(table)])


@pytest.mark.parametrize(
    ("quote", "share", "pure"),
    [
        (lambda lines, _: lines, 1, True),
        (lambda lines, _: lines[::-1], 1, True),
        (lambda lines, _: [], 0, True),
        (lambda lines, _: lines[:1], None, True),
        (lambda lines, _: [*lines, *lines], 2 / 3, True),
        (lambda lines, context: [*lines, context.partition(". ")[0]], None, True),
        (lambda _, context: context.replace(". ", ".\n").splitlines(), None, True),
        (lambda lines, _: " ".join(lines).split(), 0, True),
        (lambda lines, _: [*lines, OWN_WORDS], None, False),
        (lambda lines, _: [f"{line} {OWN_WORDS}" for line in lines], 0, False),
        (lambda lines, _: [*lines[:-1], lines[-1].upper()], None, False),
        (lambda lines, _: [*lines, "\u200b"], None, False),
        (lambda lines, _: [*lines, "<think>", OWN_WORDS], None, False),
        (lambda lines, _: [*lines, prompts.answer(GOLD)], None, False),
    ],
    ids=[
        "as trained",
        "another order",
        "nothing",
        "the first sentence alone",
        "every sentence twice",
        "half a sentence",
        "all of the context",
        "single words",
        "own words",
        "own words behind each sentence",
        "a sentence in capitals",
        "what nobody sees",
        "a second block",
        "a table",
    ],
)
def test_a_quotation_is_the_contexts_sentences_and_nothing_else(
    quote: Callable[[list[str], str], list[str]], share: float | None, pure: bool
) -> None:
    """A share of ``None``: between nothing and all."""
    for example in small_world.examples(seed=7, n=20):
        gold = prompts.quotation(example, "adversarial").splitlines()
        lines = quote(gold, example.adversarial_context)
        text = quoting(lines, example.gold_table)
        found = TableReward(QUOTING).score(example, "adversarial", text)
        if len(gold) > 1 and share is not None:
            assert found.parts["quote"] == pytest.approx(share)
        elif len(gold) > 1:
            assert 0 < found.parts["quote"] < 1
        assert found.parts["format"] == (1.0 if pure else IMPURE)
        assert (found.reward == 1.0) == (share == 1 or lines == gold)
        nothing = quoting(lines, Table.of(example.gold_table.columns, []))
        assert TableReward(QUOTING).score(example, "adversarial", nothing).reward == 0.0


def test_ordinary_white_space_and_empty_cells_are_free() -> None:
    text = prompts.answer(GOLD)
    spaced = text.replace("|", "  |  ").replace("\n", "\r\n").replace("---", ":------:")
    assert score(spaced).reward == 1.0
    assert score(text.replace("| - |", "|  |")).reward == 1.0
    assert score(text.replace("| - |", "| n/a |")).reward < 1.0


def test_a_gold_table_that_cannot_be_scored_is_refused() -> None:
    with pytest.raises(TablemendError, match="more than once"):
        score_answer("", Table.of(["A", "A"], [["1", "2"]]), None, RULES)
    with pytest.raises(TablemendError, match="sort column 'Fans'"):
        score_answer("", GOLD, SortRule("Fans", "ascending"), RULES)


WORDS = [
    a + b + c
    for a in ("bel", "dor", "fim", "gup", "hax", "jen")
    for b in "aeiou"
    for c in ("tz", "rk", "mp")
]


@dataclass(frozen=True)
class Errors:
    """What is wrong with an answer: each entry can be mended for itself."""

    cells: frozenset[tuple[int, int]] = frozenset()
    blanked: frozenset[tuple[int, int]] = frozenset()
    dropped: frozenset[int] = frozenset()
    repeated: frozenset[int] = frozenset()
    swapped: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()
    invented: int = 0
    extra_columns: int = 0
    prose: frozenset[str] = frozenset()


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A gold table with a numeric column to sort by; names are those of nothing else."""
    height, width = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    words = iter(draw(st.permutations(WORDS)))
    numbers = sorted(draw(st.lists(st.integers(1, 999), min_size=height, max_size=height)))
    rows: list[list[str | None]] = []
    for number in numbers:
        rest = [next(words) if draw(st.booleans()) else None for _ in range(width - 2)]
        rows.append([next(words), str(number), *rest])
    return Table.of(["Name", "Number", "Use", "Owner", "Place"][:width], rows)


@st.composite
def mistakes(draw: st.DrawFn, table: Table) -> Errors:
    height, width = len(table.rows), len(table.columns)
    places = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    rows = st.frozensets(st.integers(0, height - 1), max_size=3)
    dropped = draw(rows)
    columns = draw(st.frozensets(st.integers(1, width - 1), max_size=1))
    # What is left out has no other error: to leave out what is wrong is no error more.
    cells, blanked = (
        frozenset(
            (row, column)
            for row, column in draw(st.frozensets(places, max_size=4))
            if row not in dropped and column not in columns
        )
        for _ in range(2)
    )
    return Errors(
        cells,
        blanked - cells,
        dropped,
        draw(rows) - dropped,
        draw(st.frozensets(st.integers(0, height // 2), max_size=2)),
        columns,
        draw(st.integers(0, 2)),
        draw(st.integers(0, 2)),
        draw(st.frozensets(st.sampled_from(["before", "after"]))),
    )


def made(table: Table, errors: Errors) -> str:
    """The gold answer with these errors."""
    rows = [list(row) for row in table.rows]
    for number, (row, column) in enumerate(sorted(errors.cells)):
        rows[row][column] = f"qu{'xyzvw'[number]}il{row}{column}"
    for row, column in errors.blanked:
        rows[row][column] = None
    order = list(range(len(rows)))
    for pair in errors.swapped:
        if 2 * pair + 1 < len(order):
            order[2 * pair], order[2 * pair + 1] = order[2 * pair + 1], order[2 * pair]
    lines = [rows[row] for row in order if row not in errors.dropped]
    lines += [rows[row] for row in sorted(errors.repeated)]
    lines += [[f"zzov{i}", *["5"] * (len(table.columns) - 1)] for i in range(errors.invented)]
    kept = [at for at in range(len(table.columns)) if at not in errors.columns]
    names = [table.columns[at] for at in kept] + ["Size", "Kind"][: errors.extra_columns]
    body = [[line[at] for at in kept] + ["s", "k"][: errors.extra_columns] for line in lines]
    text = prompts.answer(Table.of(names, body))
    before = "Here it is.\n\n" if "before" in errors.prose else ""
    after = "\n\nDone." if "after" in errors.prose else ""
    return before + text + after


def mended(errors: Errors) -> Iterator[Errors]:
    """The same errors but one."""
    for field in fields(Errors):
        found = getattr(errors, field.name)
        if isinstance(found, int):
            if found:
                yield replace(errors, **{field.name: found - 1})
        else:
            for one in found:
                yield replace(errors, **{field.name: found - {one}})


weights = st.builds(
    Reward,
    **{
        name: st.sampled_from([0.0, 0.5, 1.0, 3.0])
        for name in Reward.model_fields
        if name not in ("cells", "coverage")
    },
)


@settings(max_examples=60, deadline=None)
@given(st.data(), tables(), weights)
def test_mending_an_error_never_costs(data: st.DataObject, table: Table, parts: Reward) -> None:
    """Nor, read backwards, does making one more ever pay: for any weights and mixture."""
    errors = data.draw(mistakes(table))
    rules, sort = Rules(parts.model_dump()), SortRule("Number", "ascending")
    worse = score_answer(made(table, errors), table, sort, rules)
    assert 0.0 <= worse.reward <= 1.0 and all(0.0 <= part <= 1.0 for part in worse.parts.values())
    for fewer in mended(errors):
        better = score_answer(made(table, fewer), table, sort, rules)
        assert better.reward >= worse.reward - 1e-12, (errors, fewer)
    whole = score_answer(made(table, Errors()), table, sort, rules)
    assert whole.reward == 1.0


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_text_has_a_score(text: str) -> None:
    assert 0.0 <= score(text).reward < 1.0
    assert 0.0 <= score(f"####\n{text}\n| Town | Wells |\n|---|---|\n| {text} | 4 |").reward < 1.0
