"""Whether gold is told without the query: of contexts by lot not, of leaking ones always."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

from tablemend.datasets.shortcut_probe import Probe, Shortcuts, most_said, say_shortcuts
from tablemend.records import Condition, Constraints, Example, Fact, Mention
from tablemend.statistics import Rate
from tablemend.tables.table import Table

NAMES = "Ada Bell Cleo Dora Elba Finn Gale Hope".split()


def value(rate: Rate) -> float:
    assert rate["rate"] is not None and rate["low"] is not None and rate["high"] is not None
    assert rate["low"] <= rate["rate"] <= rate["high"]
    return rate["rate"]


def contexts(
    n: int, leaky: bool, seed: int, sizes: tuple[int, ...] = (2, 2, 2, 2)
) -> list[Example]:
    """Ships of some years, one of which is asked for; a leak: only others have crews in common."""
    rng, made = Random(seed), []
    for number in range(n):
        ships = [year for year, size in enumerate(sizes) for _ in range(size)]
        gold = rng.randrange(len(sizes))
        rng.shuffle(ships)
        text, facts, groups, rows = "", list[Fact](), list[int](), list[tuple[str, ...]]()
        for year in ships:
            name = " ".join(rng.sample(NAMES, 2))
            crew = rng.choice((10, 20)) if leaky and year != gold else rng.randrange(100, 1000)
            start = len(text)
            said = rng.choice(("was built in", "dates from"))
            text += f"{name} {said} {1990 + year} and has a crew of {crew}. "
            row, violates = (len(rows), None) if year == gold else (len(groups), "Year")
            rows += [(name, str(crew))] * (year == gold)
            groups += [year] * (year != gold)
            for column, cell in (("Ship", name), ("Year", str(1990 + year)), ("Crew", str(crew))):
                place = text.index(cell, start)
                mention = Mention(place, place + len(cell), start, len(text) - 1)
                facts.append(Fact(row, name, column, cell, violates, None, mention))
        asked = Condition("Year", str(1990 + gold), str(1990 + gold))
        wanted = Constraints((), None, "Crew", "ascending", (asked,))
        given = ("ships", "", "", "", wanted, Table.of(["Ship", "Crew"], rows), "", text, "easy")
        table = f"{seed}-{number}"
        made.append(Example(*given, tuple(facts), "", table, "", 0, groups=tuple(groups)))
    return made


def measure(train: list[Example], test: list[Example]) -> Shortcuts:
    probe = Probe(train, test)
    return probe.figures(probe.scores())


def test_a_leak_is_found_and_a_lot_is_none() -> None:
    found = measure(contexts(40, True, 0), contexts(40, True, 1))
    assert min(map(value, (found.rows, found.within, found.rule, found.rule_gold))) > 0.9
    assert found.chance == 0.25
    found = measure(contexts(60, False, 0), contexts(60, False, 1))
    assert max(abs(value(rate) - 0.5) for rate in (found.rows, found.within, found.rule)) < 0.1
    assert abs(value(found.rule_gold) - 0.25) < 0.1


def test_each_group_in_turn_says_nothing_of_what_happens_after_the_draw() -> None:
    """Groups of one size make up for each other; the query that is asked shows it."""
    train, test = contexts(30, True, 0), contexts(30, True, 1, (2, 2, 2, 2, 0))
    probe = Probe(train, test)
    scores = probe.scores("repetition", boosting=False)
    assert value(probe.figures(scores).within) > 0.9
    assert value(probe.figures(scores, in_turn=True).within) == pytest.approx(0.5)


def test_a_query_that_no_row_meets_counts_in_turn_alone() -> None:
    train, test = contexts(30, False, 0), contexts(60, False, 1, (1, 2, 3, 0))
    without = sum(not example.gold_table.rows for example in test)
    assert without > 5
    probe = Probe(train, test)
    scores = probe.scores("places and sizes")
    assert probe.figures(scores).within["n"] == 60 - without
    assert probe.figures(scores, in_turn=True).within["n"] == 60 * 3


def test_what_is_said_most_often_in_the_column_of_the_query() -> None:
    rate, chance = most_said(contexts(40, False, 0, (4, 1, 1, 1)))
    assert rate["rate"] == pytest.approx(0.25, abs=0.15) and chance == 0.25


def test_the_card_says_both_kinds_of_figures(tmp_path: Path) -> None:
    for split, seed in (("train", 0), ("test", 1)):
        lines = [json.dumps(example.to_json()) for example in contexts(24, True, seed)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines))
    said = say_shortcuts(tmp_path)
    figures = [float(figure) for figure in re.findall(r"(\d\.\d\d) \[", said)]
    assert len(figures) == 7 and min(figures[:4]) > 0.9 and max(figures[4:6]) < 0.6
    (tmp_path / "test.jsonl").unlink()
    assert say_shortcuts(tmp_path).startswith("Fewer than 20 examples")


def test_groups_are_read_back_and_are_no_part_of_the_id() -> None:
    (example,) = contexts(1, False, 0)
    record = json.loads(json.dumps(example.to_json()))
    assert Example.from_json(record) == example
    assert list(record)[-2:] == ["groups", "facts"]
    older = Example.from_json(
        {name: record[name] for name in record if name not in ("groups", "id")}
    )
    assert older.groups == () and older.id == example.id
