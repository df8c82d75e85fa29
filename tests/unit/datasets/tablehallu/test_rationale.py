"""Rationales: every one that is written passes the checker, and the checker sees every edit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from rationale_check import check_rationale
from tablemend.config import parse
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.program_engine import examples
from tablemend.datasets.tablehallu.rationale import NoRationale, rationale
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.records import Condition, Example

SMALL = list(small_world.examples(seed=11, n=200))
DIFFICULTIES = ("easy", "medium", "hard")


def pool(difficulty: str, n: int) -> Iterator[Example]:
    return examples(
        parse(Synthesis, ["source=pool", f"n={n}", "seed=8", f"difficulty={difficulty}"])
    )


@pytest.fixture(scope="module")
def large() -> list[Example]:
    return [example for difficulty in DIFFICULTIES for example in pool(difficulty, 40)]


def test_a_rationale_to_the_letter() -> None:
    example = small_world.example(seed=1, index=1)
    assert rationale(example).split("\n") == [
        "Wanted: Year is 2024. Columns: Fans, Club, Shirt. Order: Fans, ascending.",
        "- Rin Sem: Year 2024 fits, take. Fans 6, Shirt not given.",
        "- Cem Bru: Year 2024 fits, take. Fans 2, Shirt black.",
        "- Bor Mak: Year 2021 is not 2024, leave.",
        "- Wel Rek: Year 2024 fits, take. Fans 9, Shirt yellow.",
        "- Cem Bru: Year 2019 is not 2024, leave.",
        "- Gal Dan: Year 2021 is not 2024, leave.",
        "- Gal Dan: Year 2020 is not 2024, leave.",
        "- Wel Rek: Year 2019 is not 2024, leave.",
        "- Dor Lod: Year 2019 is not 2024, leave.",
        "- Wel Rek: Year 2020 is not 2024, leave.",
        "In order of Fans, ascending: Cem Bru (2), Rin Sem (6), Wel Rek (9).",
    ]
    assert "leave" not in rationale(example, "clean")


@pytest.mark.parametrize("kind", ["clean", "adversarial"])
def test_every_step_of_the_engine_holds(large: list[Example], kind: str) -> None:
    for example in large:
        assert check_rationale(example, rationale(example, kind), kind) == []  # type: ignore[arg-type]
    conditions = [c for example in large for c in example.constraints.conditions]
    # ranges, open ranges, categories, dates and pairs of conditions have all been there
    assert any(c.values for c in conditions) and any("-" in f"{c.low}{c.high}" for c in conditions)
    assert any((c.low is None) != (c.high is None) for c in conditions)
    assert any(len(example.constraints.conditions) == 2 for example in large)
    relations = set(
        re.findall(r" is (below|above|before|after|not) ", "\n".join(map(rationale, large)))
    )
    assert {"below", "above", "not"} < relations


Edit = Callable[[list[str], Random], list[str]]


def _swap_verdict(lines: list[str], rng: Random) -> list[str]:
    swapped = {"keep": "drop", "take": "leave", "in": "out"}
    swapped |= {drop: keep for keep, drop in swapped.items()}
    at = rng.randrange(1, len(lines) - 1)
    return [
        re.sub(r", (keep|take|in|drop|leave|out)\.", lambda m: f", {swapped[m[1]]}.", line)
        if number == at
        else line
        for number, line in enumerate(lines)
    ]


def _leave_out(lines: list[str], rng: Random) -> list[str]:
    at = rng.randrange(1, len(lines) - 1)
    return lines[:at] + lines[at + 1 :]


@pytest.mark.parametrize("edit", [_swap_verdict, _leave_out], ids=lambda edit: edit.__name__)
def test_the_checker_sees_every_edit(edit: Edit) -> None:
    rng = Random(5)
    for example in SMALL:
        text = rationale(example)
        edited = "\n".join(edit(text.split("\n"), rng))
        assert edited != text
        assert check_rationale(example, edited), edited


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {
                "adversarial_context": SMALL[0].adversarial_context
                + "\nIn 2011, Bal Bek had 2 guns."
            },
            "unrecorded text in the adversarial context",
        ),
        (
            {
                "constraints": replace(
                    SMALL[0].constraints, conditions=(Condition("Year", low="2035", high="2036"),)
                )
            },
            "gold row out of scope",
        ),
        ({"constraints": replace(SMALL[0].constraints, conditions=())}, "no condition"),
        (
            {"constraints": replace(SMALL[0].constraints, sort_order="descending")},
            "rows not in the declared order",
        ),
    ],
)
def test_a_record_with_an_open_step_has_no_rationale(
    changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(NoRationale, match=reason):
        rationale(replace(SMALL[0], **changes))  # type: ignore[arg-type]
