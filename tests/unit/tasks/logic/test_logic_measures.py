"""Measures of annotations by hand-worked cases, by annotators of known behaviour, and Table 6."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tablemend.errors import TablemendError
from tablemend.records import Relation
from tablemend.runs import write_jsonl
from tablemend.tasks.logic import report as measures
from tablemend.tasks.logic.pair import RELATION_WORDS, Annotation, Domain, Pair, leaves, path_to
from tablemend.tasks.logic.report import (
    accuracy,
    agreement,
    by_category,
    macro,
    published,
    units,
    write_annotation_report,
)


def pair(number: int, *labels: Relation, domain: Domain = "hotel") -> Pair:
    return Pair(domain, f"Name: Hotel {number}", "one two three four", "made", labels)


def said(name: str, about: Pair, label: Relation, **more: object) -> Annotation:
    one = Annotation(name, about.id, path_to(about.domain, label), label)
    return replace(one, **more)


HOTEL: tuple[Relation, ...] = (
    "well_matched", "well_matched_harmless", "too_weak", "too_weak_harmless", "too_strong",
    "independent", "contradictory",
)  # fmt: skip


def test_accuracy_matches_any_label_question_by_question() -> None:
    one, two = pair(1, "too_strong"), pair(2, "too_weak_harmless", "independent")
    found = units(
        [one, two],
        [
            said("a", one, "too_strong"),
            said("a", two, "independent"),
            said("b", one, "independent"),  # right of I|=O and FWI, wrong of O|=I
            said("b", two, "too_weak"),  # right of O|=I; no divergence in O, so none that is wrong
            said("c", one, "output_contradictory"),  # neither follows nor implies
        ],
    )
    hits = {d: accuracy(found, d)["annotators"] for d in measures.DIMENSIONS["hotel"]}
    assert hits == {
        "CAT": {"a": 1.0, "b": 0.0, "c": 0.0},
        "I|=O": {"a": 1.0, "b": 0.5, "c": 1.0},
        "O|=I": {"a": 1.0, "b": 0.5, "c": 0.0},
        "FWI": {"a": 1.0, "b": 1.0},
    }
    overall = accuracy(found, "CAT")
    assert (overall["mean"], overall["n"]) == (pytest.approx(1 / 3), 5)
    assert overall["sd"] == pytest.approx((2 / 9) ** 0.5)


def test_the_ambiguity_of_an_output_is_compared_where_it_is_known() -> None:
    known, unknown = (
        replace(pair(n, "too_weak", domain="logic"), ambiguous=value)
        for n, value in ((1, True), (2, None))
    )
    one, two = (said("a", about, "too_weak") for about in (known, unknown))
    found = [replace(a, path={"ambiguous": n > 0, **a.path}) for n, a in enumerate([one, two])]
    own = accuracy(units([known, unknown], found), "AMB")
    assert (own["mean"], own["n"]) == (0.0, 1)
    assert agreement(units([known, unknown], found), "AMB")["units"] == 0


def test_unscored_annotations_count_nowhere() -> None:
    one = pair(1, "too_strong")
    lost = Annotation("b", one.id, {"self_contradiction": False}, unscored="no answer")
    found = units([one, pair(2, "too_weak")], [said("a", one, "too_strong"), lost])
    assert [[a.annotator for a in unit.annotations] for unit in found] == [["a"]]
    assert units([one], [lost]) == []


def test_an_annotator_who_is_right_with_p_has_an_accuracy_of_p() -> None:
    rng = Random(7)
    pairs = [pair(n, rng.choice(HOTEL)) for n in range(3000)]
    found = []
    for about in pairs:
        for name, p in (("nine", 0.9), ("half", 0.5), ("sure", 1.0)):
            wrong = rng.choice([one for one in HOTEL if one not in about.labels])
            found.append(said(name, about, about.labels[0] if rng.random() < p else wrong))
    own = accuracy(units(pairs, found), "CAT")["annotators"]
    assert own["nine"] == pytest.approx(0.9, abs=0.03)
    assert own["half"] == pytest.approx(0.5, abs=0.03)
    assert own["sure"] == 1.0
    assert agreement(units(pairs, found), "CAT")["alpha"] < 0.7


def test_always_yes_and_always_no_agree_by_less_than_chance() -> None:
    pairs = [pair(n, "well_matched") for n in range(20)]
    yes = [said("yes", one, "well_matched") for one in pairs]
    no = [said("no", one, "too_weak_harmless") for one in pairs]
    found = units(pairs, [*yes, *no])
    assert accuracy(found, "I|=O")["annotators"] == {"yes": 1.0, "no": 0.0}
    # n = 40 values, 20 of each: D_o = 1, D_e = 2 * 20 * 20 / (40 * 39)
    assert agreement(found, "I|=O")["alpha"] == pytest.approx(1 - 39 / 20)
    assert agreement(units(pairs, yes * 2), "I|=O")["alpha"] is None  # all answers the same


def test_missing_annotations_are_left_out_of_alpha() -> None:
    pairs = [pair(n, "well_matched") for n in range(4)]
    labels: list[list[Relation | None]] = [
        ["too_weak", "too_weak", None],
        ["well_matched", "well_matched", "well_matched"],
        ["too_weak", None, None],  # one answer alone
        ["too_weak", "well_matched", "too_weak"],
    ]
    found = [
        said(name, about, label)
        for about, own in zip(pairs, labels, strict=True)
        for name, label in zip("abc", own, strict=True)
        if label
    ]
    got = agreement(units(pairs, found), "CAT")
    # coincidences off the diagonal: 2 of pair 4 (2 * 2 / (3 - 1)); 4 weak and 4 matched values
    assert got["alpha"] == pytest.approx(1 - 2 / (2 * 4 * 4 / 7))
    assert got["units"] == 3


def test_ties_count_for_each_label_on_both_sides() -> None:
    one, two = pair(1, "too_weak", "independent"), pair(2, "too_strong")
    found = [
        said("a", one, "too_weak"),
        said("b", one, "contradictory"),
        said("c", two, "too_strong"),
        said("d", two, "too_strong"),
        said("e", two, "independent"),
    ]
    rows = by_category(units([one, two], found))
    assert {label: tuple(row.values()) for label, row in rows.items()} == {
        "too_weak": (1.0, 1.0, 1.0, 1, 1),
        "too_strong": (1.0, 1.0, 1.0, 1, 1),
        "independent": (0.0, 0.0, 0.0, 1, 0),
        "contradictory": (0.0, 0.0, 0.0, 0, 1),
    }
    assert macro(rows) == [0.5, 0.5, 0.5]


SUPPORT = {
    "hotel": dict(zip(HOTEL, (2, 8, 2, 8, 4, 8, 1), strict=True)),
    "logic": {"well_matched": 61, "too_weak": 4, "too_strong": 5, "independent": 4},
}
TABLE_6: list[tuple[Domain, int, dict[Relation, tuple[int, int]]]] = [
    # model's place in the table, and of each category: said, and rightly so
    ("hotel", 0, {"too_weak_harmless": (25, 8)}),  # Gemini 1.5
    ("hotel", 1, {"well_matched_harmless": (22, 8), "too_weak_harmless": (2, 1),
                  "contradictory": (1, 0)}),  # Llama 3.3
    ("logic", 0, {"well_matched": (62, 58), "output_contradictory": (1, 0),
                  "contradictory": (8, 0)}),  # Gemini 1.5
]  # fmt: skip


@pytest.mark.parametrize(("domain", "model", "given"), TABLE_6, ids=["Gemini", "Llama", "logic"])
def test_table_6_comes_out_of_its_counts(
    domain: Domain, model: int, given: dict[Relation, tuple[int, int]]
) -> None:
    """Labels drawn up so that supports, counts and matches are those of the paper."""
    supports = dict(SUPPORT[domain])
    answers = [label for label, (count, _) in given.items() for _ in range(count)]
    labels: list[list[Relation]] = []
    for label, (count, right) in given.items():
        for place in range(count):
            labels.append([label] if place < right else [])
        if label in supports:
            supports[label] -= right
    rest = [label for label, n in supports.items() for _ in range(n)]
    for label in rest:  # where it is no match; the last pairs have two labels
        free = min(
            (
                place
                for place, own in enumerate(labels)
                if answers[place] != label and label not in own
            ),
            key=lambda place: len(labels[place]),
        )
        labels[free].append(label)
    pairs = [pair(n, *own, domain=domain) for n, own in enumerate(labels)]
    found = [said("m", one, label) for one, label in zip(pairs, answers, strict=True)]
    rows = by_category(units(pairs, found))
    table = next(p for p in published()[1] if p.number == 6 and domain in p.title)
    for name, *own in table.lines[1:]:
        wanted = own[4 * model : 4 * model + 4]
        if name == "Macro average":
            assert [f"{one:.2f}" for one in macro(rows) or ()] == wanted[:3]
        else:
            row = rows[next(key for key, (title, _) in RELATION_WORDS.items() if title == name)]
            got = [f"{row[share]:.2f}" for share in ("precision", "recall", "f1")]
            assert ([*got, str(row["annotated"])], row["support"]) == (wanted, int(own[-1])), name


# "one two three four": tokens at 0-3, 4-7, 8-13, 14-18


def test_spans_are_compared_by_the_tokens_that_they_touch() -> None:
    assert measures.tokens("one two, three", [(4, 10)]) == ({1, 2}, 3)
    assert measures.tokens("one two", [(1, 2)]) == ({0}, 2)
    assert measures.tokens("one two", []) == (frozenset(), 2)


def test_jaccard_is_averaged_over_annotators_then_over_pairs() -> None:
    one, two = pair(1, "too_strong"), pair(2, "well_matched")
    found = [
        said("a", one, "too_strong", wrong=((0, 7),)),  # one two
        said("b", one, "too_strong", wrong=((4, 13),)),  # two three
        said("c", one, "too_strong", wrong=()),
        said("d", one, "too_strong"),  # not asked
        said("a", two, "well_matched", wrong=()),
        said("b", two, "well_matched", wrong=()),
    ]
    got = measures.jaccard(units([one, two], found), "wrong")
    assert got["mean"] == pytest.approx(((1 / 3 + 0 + 0) / 3 + 1) / 2)
    assert (got["pairs"], got["empty"]) == (2, 1 / 4)
    assert measures.jaccard(units([two], found), "divergent_input")["mean"] is None


def test_ratios_are_shares_of_tokens() -> None:
    one, two = pair(1, "too_strong"), pair(2, "too_strong")
    found = [
        said("a", one, "too_strong", divergent_output=((0, 7),)),
        said("never", one, "too_strong", divergent_output=()),
        said("a", two, "too_strong", divergent_output=((0, 18),)),
        said("never", two, "too_strong", divergent_output=()),
    ]
    both = units([one, two], found)
    assert measures.mean_ratio(both, "divergent_output") == (0.25 + 0.5) / 2
    silent = units([one, two], [a for a in found if a.annotator == "never"])
    assert measures.mean_ratio(silent, "divergent_output") == 0
    assert measures.mean_ratio(silent, "wrong") is None


def test_the_slider_correlates_with_ratios() -> None:
    pairs = [pair(n, "too_strong") for n in range(4)]
    ends, sliders = (0, 3, 7, 13), (7, 6, 4, 3)  # 0 to 3 of 4 tokens
    found = [
        said("a", one, "too_strong", wrong=((0, end),) if end else (), slider=slider)
        for one, end, slider in zip(pairs, ends, sliders, strict=True)
    ]
    got = measures.correlation(units(pairs, found), "wrong")
    # x = 0 1 2 3, y = 7 6 4 3: sxy = -7, sxx = 5, syy = 10
    assert got["r"] == pytest.approx(-7 / 50**0.5) and got["n"] == 4
    assert 0 < got["p"] < 0.05
    flat = units(pairs, [replace(one, slider=4) for one in found])
    assert measures.correlation(flat, "wrong")["r"] is None
    assert measures.correlation(units(pairs[:2], found), "wrong") == {"r": None, "p": None, "n": 2}


def run_folder(path: Path, pairs: Iterable[Pair], found: Iterable[Annotation]) -> Path:
    path.mkdir()
    write_jsonl(path / "pairs.jsonl", [one.to_json() for one in pairs])
    write_jsonl(path / "annotations.jsonl", [one.to_json() for one in found])
    return path


def test_the_report_has_every_table_and_keeps_published_figures_apart(tmp_path: Path) -> None:
    pairs = [pair(n, label) for n, label in enumerate(leaves("hotel"))]
    pairs += [pair(n, label, domain="logic") for n, label in enumerate(leaves("logic"))]
    spans = {"divergent_input": (), "divergent_output": ((0, 3),), "wrong": (), "slider": 5}
    found = [
        said(name, one, one.labels[0], **(spans if one.domain == "hotel" else {}))
        for one in pairs
        for name in ("ann", "bob")
    ]
    found += [said("eve", one, "output_contradictory", passed_check=False) for one in pairs[:3]]
    run = run_folder(tmp_path / "run", pairs, found)
    text = write_annotation_report(run)
    for number in (4, 5, 6, 7, 11, 12, 13, 14):
        assert f"Table {number}" in text
    assert text.count("measured here") == 10 and text.count("published, on other pairs") == 10
    numbers = json.loads((run / "annotations.json").read_text())
    assert numbers["hotel"]["annotators"]["ann"]["accuracy"]["CAT"]["mean"] == 1.0
    assert numbers["hotel"]["accuracy"]["CAT"]["mean"] == pytest.approx((1 + 1 + 0) / 3)
    assert "0.62" not in json.dumps(numbers)
    hotel = run_folder(tmp_path / "hotel", pairs[:9], found[:18])
    text_of_one = write_annotation_report(hotel)
    assert "Well-matched (harmless)" in text_of_one and "logic domain" not in text_of_one
    passed = write_annotation_report(run, passed=True)
    assert "eve" in text and "eve" not in passed


@pytest.mark.parametrize(("change", "why"), [("pair", "no pair of"), ("twice", "2 times")])
def test_annotations_of_something_else_are_refused(tmp_path: Path, change: str, why: str) -> None:
    one = pair(1, "too_weak")
    other = one if change == "twice" else pair(2, "too_weak")
    run = run_folder(tmp_path / "run", [one], [said("a", one, "too_weak")])
    write_jsonl(tmp_path / "more.jsonl", [said("a", other, "too_weak").to_json()])
    with pytest.raises(TablemendError, match=why):
        write_annotation_report(run, [str(tmp_path / "more.jsonl")])


def test_nothing_scored_is_said(tmp_path: Path) -> None:
    one = pair(1, "too_weak")
    run = run_folder(tmp_path / "run", [one], [Annotation("a", one.id, unscored="gone")])
    with pytest.raises(TablemendError, match="no annotation has a relation"):
        write_annotation_report(run)
