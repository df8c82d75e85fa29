"""The construction: every row of a context is gold with probability 1/k, whatever is said of it."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from pathlib import Path

import pytest

from tablemend.records import Example, Fact
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.engine import examples, open_maker
from tablemend.tasks.tablehallu.settings import Synthesis

FIRST = (
    "Alder Benton Corley Dunmore Ellis Farley Garston Holby Ingle Jarrow Kelham Lydd Moss".split()
)
LAST = ("Rovers", "United", "Athletic")
COUNTIES = ("Norfolk", "Surrey", "Devon", "Kent", "Essex", "Dorset", "Cumbria")
HEADER = ("Club", "County", "Founded", "Capacity", "Titles")
CLUBS = [
    (
        f"{first} {last}",
        COUNTIES[(5 * n + n // 7) % 7],
        str(1880 + 13 * n % 100),
        str(2000 + 1397 * n % 23000),
        str(2 + 5 * n % 17),
    )
    for n, (first, last) in enumerate(product(FIRST, LAST))
]


TABLES = {"Clubs of the Southern League": CLUBS[:20], "Clubs of the Northern League": CLUBS[20:]}


TRAIN = {"train": 1, "validation": 0, "test": 0}  # tables of one split give each other names


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("clubs") / "clubs.jsonl"
    tables = [{"title": t, "header": HEADER, "rows": rows} for t, rows in TABLES.items()]
    path.write_text("".join(json.dumps(table) + "\n" for table in tables), encoding="utf-8")
    return str(path)


def rows_of(example: Example) -> dict[tuple[int, int], list[Fact]]:
    """The facts of every row, by its group, -1 for gold, and its number in the record."""
    rows: dict[tuple[int, int], list[Fact]] = defaultdict(list)
    for fact in example.facts:
        group = -1 if fact.violates is None else example.groups[fact.row]
        rows[group, fact.row].append(fact)
    return rows


def kinds_of(example: Example, facts: list[Fact], said: Counter[tuple[str, str]]) -> Iterator[str]:
    """What can be seen of a row without the query."""
    places = [fact.adversarial.start for fact in facts]
    context, border = example.adversarial_context, "\n\n"
    if border not in context:  # a sentence a line
        border = "\n"
    middle = len(context) / 2
    yield "first half" if min(places) < middle else "second half"
    if border not in context[max(places) :]:
        yield "last paragraph"
    if context[: min(places)].count(border) < 2:
        yield "first paragraph"
    counts = sorted(said[fact.column, fact.value] for fact in facts if fact.value != fact.entity)
    yield "only unique values" if counts[-1] == 1 else "a repeated value"
    yield "a value said often" if counts[-1] >= 5 else "none said often"
    yield f"{len(facts)} facts"
    own = {club for club, *_ in TABLES.get(example.topic, ())}
    yield "a real row" if facts[0].entity in own else "a made-up row"
    yield "any row"


def excess(found: Iterable[Example]) -> dict[str, tuple[float, float]]:
    """By kind of row: its share of gold over 1/k of its rows, and the same in standard errors."""
    gold, mean, variance = Counter[str](), Counter[str](), Counter[str]()
    for example in found:
        rows = rows_of(example)
        said = Counter((fact.column, fact.value) for facts in rows.values() for fact in facts)
        groups: dict[int, Counter[str]] = defaultdict(Counter)  # whose rows are gold together
        for (group, _), facts in rows.items():
            groups[group].update(kinds_of(example, facts, said))
        for kind in {kind for counts in groups.values() for kind in counts}:
            counts = [own[kind] for own in groups.values()]
            expected = sum(counts) / len(groups)
            gold[kind] += groups[-1][kind]
            mean[kind] += expected
            variance[kind] += sum(n * n for n in counts) / len(groups) - expected**2
    return {
        kind: (gold[kind] / mean[kind], (gold[kind] - mean[kind]) / math.sqrt(variance[kind]))
        for kind in mean
        if variance[kind] > 30  # fewer say nothing
    }


def streams(clubs: str) -> dict[str, Iterable[Example]]:
    every = small_world.Size(none=0)
    large = small_world.Size(groups=3, rows=(4, 6), none=0)
    return {
        "small world": small_world.examples(seed=11, n=2000, size=every),
        "small world, large": small_world.examples(seed=12, n=1000, size=large),
        "pool": examples(Synthesis(source="pool", n=700, few=0, queries=1, seed=3)),
        "table": examples(Synthesis(source=clubs, shares=TRAIN, n=1300, few=0, queries=1, seed=4)),
    }


@pytest.mark.parametrize("source", ["small world", "small world, large", "pool", "table"])
def test_every_kind_of_row_is_gold_as_often_as_any_other(source: str, clubs: str) -> None:
    found = excess(streams(clubs)[source])
    assert len(found) >= 6
    if source == "table":
        assert {"a real row", "a made-up row", "first paragraph", "last paragraph"} <= {*found}
    # Some ten kinds: by chance one in 5,000 of such tests has one beyond four standard errors.
    assert all(abs(errors) < 4 for _, errors in found.values()), found


def test_a_leak_is_seen() -> None:
    """The same test on data in which gold is always the group said first."""
    stream = small_world.examples(seed=11, n=2000, size=small_world.Size(none=0), queries=4)
    leaky = {}
    for example in stream:
        first = min(fact.adversarial.start for fact in example.facts if fact.violates is None)
        kept = leaky.setdefault(example.adversarial_context, (first, example))
        if first < kept[0]:
            leaky[example.adversarial_context] = first, example
    found = excess(example for _, example in leaky.values())
    assert found["first paragraph"][1] > 8


def test_all_queries_of_a_context_share_its_text(clubs: str) -> None:
    made = open_maker(Synthesis(source=clubs, shares=TRAIN, n=20, queries=3, few=0)).make
    for number in range(5):
        found = made(number)
        assert len({example.adversarial_context for example in found}) == 1
        assert len({example.source_hash for example in found}) == 1
        assert len({example.query for example in found}) == len(found) == 3
        gold = [{row[0] for row in example.gold_table.rows} for example in found]
        assert all(not one & other for one, other in pairwise(gold))


def test_some_contexts_have_groups_of_one_row_and_a_query_for_none(clubs: str) -> None:
    settings = Synthesis(
        source=clubs, shares=TRAIN, n=300, few=1, queries=1, distractor_types={"both": 0}
    )
    sizes = Counter(len(example.gold_table.rows) for example in examples(settings))
    total = sizes.total()
    assert sizes[0] + sizes[1] + sizes[5] + sizes[6] == total > 250
    # Of five groups one has no row and two have one.
    assert 0.1 < sizes[0] / total < 0.3
    assert 0.3 < sizes[1] / total < 0.5


def test_a_tenth_of_the_contexts_by_default(clubs: str) -> None:
    sizes = [
        len(example.gold_table.rows)
        for example in examples(Synthesis(source=clubs, shares=TRAIN, n=600, queries=1))
    ]
    few = sum(size < 2 for size in sizes) / len(sizes)
    assert 0.03 < few < 0.1  # of a tenth, three groups of five
    assert {5, 6} >= {size for size in sizes if size > 1}


def test_the_only_row_of_a_context_is_asked_for_as_often_as_none(tmp_path: Path) -> None:
    """Of two intervals one is empty: where it ends is said all the same."""
    path = tmp_path / "few.jsonl"
    path.write_text(json.dumps({"header": HEADER, "rows": CLUBS[:5]}), encoding="utf-8")
    shape = {"min_rows": 1, "max_rows": 2}
    settings = Synthesis(
        source=str(path), shares=TRAIN, n=200, few=1, queries=1, distractors="real", shape=shape
    )
    sizes = Counter(len(example.gold_table.rows) for example in examples(settings))
    assert {*sizes} == {0, 1}
    assert 0.4 < sizes[0] / sizes.total() < 0.6


def test_ends_of_huge_and_tiny_numbers_have_no_exponent(tmp_path: Path) -> None:
    """Else the group could not be asked for, and its rows would never be gold."""
    path = tmp_path / "stars.jsonl"
    rows = [
        (f"Star {first}", county, f"{10**17 + n * 37**10:d}", f"0.0000{10 + 7 * n % 90}", str(n))
        for n, (first, county) in enumerate(zip(FIRST, 2 * COUNTIES, strict=False))
    ]
    header = ("Star", "County", "Distance", "Mass", "Planets")
    path.write_text(json.dumps({"header": header, "rows": rows}), encoding="utf-8")
    types = dict.fromkeys(("temporal", "categorical", "geographic", "both"), 0)
    settings = Synthesis(
        source=str(path), shares=TRAIN, distractors="real", shape={"min_rows": 2, "max_rows": 2},
        distractor_types=types, few=0,
    )  # fmt: skip
    maker = open_maker(settings)
    ends = [
        end
        for number in range(40)
        for example in maker.make(number)
        for condition in example.constraints.conditions
        for end in (condition.low, condition.high)
    ]
    assert not any(end and "e" in end for end in ends)
    assert any(end and len(end) == 18 for end in ends)
    assert "gold row's scope not stated" not in maker.rejected


def test_a_title_that_says_what_rows_are_heads_contexts(tmp_path: Path) -> None:
    path = tmp_path / "clubs.jsonl"
    table = {"title": "1998 Clubs Championship", "header": HEADER, "rows": CLUBS[:30]}
    path.write_text(json.dumps(table), encoding="utf-8")
    maker = open_maker(Synthesis(source=str(path), shares=TRAIN, distractors="real", few=0))
    found = [example for number in range(10) for example in maker.make(number)]
    assert any("1998 Clubs Championship\n" in one.adversarial_context for one in found)
