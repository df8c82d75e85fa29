"""Pairs by construction: edits go the way they say, worlds are worlds of blocks, bytes repeat."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.errors import TablemendError
from tablemend.tasks.logic.dataset import LogicSet, describe, make_dataset
from tablemend.tasks.logic.formula import (
    BLOCKS,
    Formula,
    free_variables,
    parse_formula,
    size,
)
from tablemend.tasks.logic.generate import (
    CATEGORIES,
    PREDICATES,
    Block,
    World,
    holds,
    make_pairs,
    random_atom,
    random_formula,
    rewrite,
    sample_formulas,
    strengthen,
    to_pair,
    weaken,
    worlds,
)
from tablemend.tasks.logic.pair import Pair
from tests.support.scripts import run_script

GENERATED = st.builds(
    lambda seed, q, c: random_formula(Random(seed), q, c),
    st.integers(0, 10**6),
    st.integers(0, 3),
    st.integers(1, 5),
)
AXIOMS = (
    "∀x ∀y ((LeftOf(x, y) ↔ RightOf(y, x)) ∧ (LeftOf(x, y) ⊕ RightOf(x, y) ⊕ SameCol(x, y)))",
    "∀x ∀y ∀z (Between(x, y, z) → Between(x, z, y) ∧ ¬Between(y, x, z) ∧ y ≠ z ∧ x ≠ y)",
    "∀x ∀y ∀z (Between(x, y, z) → ¬(Behind(x, y) ∧ Behind(x, z)))",
    "∀x ∀y (Adjoins(x, y) → Adjoins(y, x) ∧ x ≠ y)",
    "∀x ((Small(x) ∨ Medium(x) ∨ Large(x)) ∧ ¬(Cube(x) ∧ Tet(x)))",
)


@pytest.mark.parametrize("axiom", AXIOMS)
def test_the_worlds_are_worlds_of_blocks(axiom: str) -> None:
    assert set(PREDICATES) - {"="} == set(BLOCKS)
    assert all(holds(parse_formula(axiom), world) for world in worlds()[:300])


def test_a_world_makes_formulas_true_or_false() -> None:
    one, two, three = Block(0, 0, 0, 0, True), Block(1, 1, 2, 1, False), Block(2, 2, 1, 1, False)
    names = dict.fromkeys(worlds()[0].names, one)
    world = World((one, two, three), names)
    true = [
        "∃x ∃y ∃z (Between(x, y, z) ∧ Large(x))",
        "∀x (Tet(x) ↔ ¬Green(x))",
        "∀x (x = a ⊕ Larger(x, a))",
        "Cube(a) ∧ (Tet(a) ∨ Small(a)) ∧ ∀x (LeftOf(x, a) → Large(x))",
    ]
    assert all(holds(parse_formula(text), world) for text in true)
    assert not any(holds(parse_formula(f"¬({text})"), world) for text in true)


@settings(deadline=None)
@given(GENERATED, st.integers(0, 10**6))
def test_edits_go_the_way_they_say(formula: Formula, seed: int) -> None:
    rng = Random(seed)

    def new(bound: tuple) -> Formula:
        return random_atom(rng, bound)

    same, below, above = (
        rewrite(formula, rng, 3),
        weaken(formula, rng, new),
        strengthen(formula, rng, new),
    )
    for world in worlds()[:60]:
        value = holds(formula, world)
        assert holds(same, world) == value
        assert holds(below, world) >= value >= holds(above, world)


def test_formulas_are_of_every_size_and_repeat_with_the_seed() -> None:
    formulas = sample_formulas(60, seed=4)
    assert formulas == sample_formulas(60, seed=4) != sample_formulas(60, seed=5)
    assert len(set(formulas)) == 60 and not any(map(free_variables, formulas))
    sizes = list(map(size, formulas))
    assert Counter(one.quantifiers for one in sizes).keys() == {0, 1, 2, 3}
    assert min(Counter(one.quantifiers for one in sizes).values()) >= 6
    assert {one.connectives for one in sizes} >= {1, 2, 3, 4, 5}
    assert {one.predicates for one in sizes} >= {1, 2, 3, 4}
    lengths = [one.length for one in sizes]
    assert min(lengths) < 8 and max(lengths) > 20


def test_a_pair_can_be_read_back() -> None:
    pairs = list(make_pairs(14, CATEGORIES, seed=2))
    assert Counter(one.category for one in pairs) == dict.fromkeys(CATEGORIES, 2)
    for number, made in enumerate(pairs):
        pair = to_pair(made, Random(number))
        assert parse_formula(pair.input, BLOCKS) == made.input
        assert pair.labels == (made.category,) and pair.ambiguous is False


def test_an_output_is_ambiguous_where_its_wording_is() -> None:
    made = list(make_pairs(28, CATEGORIES, seed=3))
    pairs = [to_pair(one, Random(7), ambiguous=True) for one in made]
    plain = [to_pair(one, Random(7)) for one in made]
    assert [one.labels for one in pairs] == [one.labels for one in plain]
    assert sum(one.ambiguous is True for one in pairs) >= 20  # an atom has no such wording
    assert not any(one.ambiguous for one in plain)


def test_the_command_writes_splits_by_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["n=28", "ambiguous=0.5", "shares.train=0.5", "shares.validation=0"]
    options += ["shares.test=0.5"]
    for name in ("one", "two"):
        assert (
            run_script("data_gen/logic.py", [*options, f"out={tmp_path / name}"], monkeypatch) == 0
        )
    assert "logic too_weak: 4" in capsys.readouterr().out
    files = {path.name: path.read_bytes() for path in (tmp_path / "one").glob("*.json*")}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "two").glob("*.json*")}
    sources = {}
    for split in ("train", "test"):
        pairs = [Pair.from_json(json.loads(line)) for line in files[f"{split}.jsonl"].splitlines()]
        assert pairs
        sources[split] = {pair.source_hash for pair in pairs}
    assert not sources["train"] & sources["test"]


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    settings = LogicSet(n=1, categories=("independent",), out=str(tmp_path / "set"))
    assert list(describe(make_dataset(settings), settings))[-1].endswith("set")
    with pytest.raises(TablemendError, match="seed"):
        make_dataset(settings.model_copy(update={"seed": 1}))
