"""Descriptions by the program: labels and spans by construction, and no label by its looks."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from math import log
from random import Random
from statistics import mean, stdev

import pytest

from tablemend.records import RELATIONS, Relation
from tablemend.tasks.logic.hotel import (
    ATTRIBUTES,
    HARMLESS,
    MOST_VALUES,
    SINGLE,
    WORDS,
    Fact,
    Hotel,
    describe,
    hotel_pairs,
    is_near,
    make_hotel,
    make_pair,
)
from tablemend.tasks.logic.pair import Pair

N = 150
MADE: dict[Relation, list[Pair]] = {
    relation: [make_pair(1, number, relation) for number in range(N)] for relation in RELATIONS
}


def test_every_relation_is_made() -> None:
    assert all(pair.labels == (relation,) for relation, own in MADE.items() for pair in own)


def test_a_record_has_what_the_paper_says() -> None:
    seen: set[str] = set()
    for number in range(200):
        hotel = make_hotel(Random(number))
        lines = hotel.lines()
        seen |= set(lines)
        assert list(lines)[:1] == ["Name"] and "City" in lines
        assert all(len(own) == 1 for name, own in lines.items() if name in SINGLE)
        assert max(len(own) for own in lines.values()) <= MOST_VALUES
        assert set(lines) - set(SINGLE)
        for fact in hotel.facts:
            assert not is_near(fact.value, [other for other in hotel.facts if other != fact])
    assert seen == {*SINGLE, *ATTRIBUTES}


def test_the_same_seed_and_number_give_the_same_pair() -> None:
    assert make_pair(1, 3, "independent") == MADE["independent"][3]
    assert make_pair(2, 3, "independent") != MADE["independent"][3]
    assert all(Pair.from_json(own[0].to_json()) == own[0] for own in MADE.values())


def test_sets_hold_relations_in_equal_numbers_and_grow_at_the_end() -> None:
    pairs = list(hotel_pairs(60, seed=3))
    assert pairs[:25] == list(hotel_pairs(25, seed=3))
    assert Counter(pair.labels[0] for pair in pairs) == dict.fromkeys(RELATIONS, 6)
    assert len({pair.source_hash for pair in pairs}) == 60
    assert [p.labels for p in pairs[:10]] != [p.labels for p in pairs[10:20]]
    two = hotel_pairs(20, 3, ("too_weak", "too_strong"))
    assert {pair.labels[0] for pair in two} == {"too_weak", "too_strong"}


def test_spans_say_where_input_and_output_diverge() -> None:
    hotel = Hotel((Fact("Name", "Alba Court"), Fact("Sport", "Diving"), Fact("Sport", "Yoga")))
    shown = hotel.shown()

    def texts(*missing: Fact) -> list[str]:
        return [shown[start:end] for start, end in hotel.spans(frozenset(missing))]

    assert texts(Fact("Sport", "Yoga")) == ["Yoga"]
    assert texts(*hotel.facts) == ["Alba Court", "Sport: Diving; Yoga"]


@pytest.mark.parametrize("relation", RELATIONS)
def test_spans_fit_the_relation(relation: Relation) -> None:
    for pair in MADE[relation]:
        assert len(pair.kinds) == len(pair.divergent_output)
        assert set(pair.wrong) <= set(pair.divergent_output)
        assert all(0 <= a < b <= len(pair.output) for a, b in pair.divergent_output)
        assert all(0 <= a < b <= len(pair.input) for a, b in pair.divergent_input)
        assert all(one[1] <= other[0] for one, other in pairwise(pair.divergent_output))
        kinds = set(pair.kinds)
        if relation in ("well_matched", "too_weak", "tautologous", "not_well_formed"):
            assert not kinds
        if relation.endswith("harmless"):
            assert kinds and "wrong" not in kinds
        if relation in ("too_strong", "independent", "contradictory", "output_contradictory"):
            assert pair.wrong
        if relation.startswith("well_matched") or relation == "too_strong":
            assert not pair.divergent_input
        if relation.startswith("too_weak") or relation in ("independent", "contradictory"):
            assert pair.divergent_input


def test_all_four_kinds_of_harmless_additions_are_made() -> None:
    kinds = Counter(kind for own in MADE.values() for pair in own for kind in pair.kinds)
    assert set(kinds) == {"wrong", *HARMLESS}
    assert min(kinds.values()) > 50


def test_an_omitted_value_is_not_in_the_text_and_an_added_one_not_in_the_record() -> None:
    for pair in MADE["independent"]:
        output = pair.output
        for sentence in WORDS["tautologies"]:
            output = output.replace(sentence, "")
        for start, end in pair.divergent_input:
            value = pair.input[start:end]
            for text in [x for own in ATTRIBUTES.values() for x in own["values"].get(value, ())]:
                assert not re.search(rf"\b{re.escape(text)}\b", output), (text, pair)


def test_english_is_not_broken() -> None:
    for relation, own in MADE.items():
        if relation == "not_well_formed":
            continue
        for pair in own:
            assert re.fullmatch(r"(?:[A-Z][^{}.]*\. ?)+", pair.output), pair.output
            assert not re.search(
                r"\b[Aa] (?!one)[aeiou]|\b[Aa]n [^aeiouAEIOU]|  | [,.]|,\.", pair.output
            )
            assert not re.search(r"\b(\w+) \1\b", pair.output), pair.output


# ---- no label by its looks ----


def test_lengths_do_not_give_the_relation_away() -> None:
    full = [one for one in RELATIONS if one != "tautologous"]
    lengths = {one: [len(pair.output) for pair in MADE[one]] for one in full}
    spread = mean(map(stdev, lengths.values()))
    means = [mean(own) for own in lengths.values()]
    assert max(means) - min(means) < spread


def _blind_accuracy(one: Relation, other: Relation) -> float:
    """How often a naive Bayes classifier of the output's words alone is right; 0.5 is chance."""
    counts = {name: Counter[str]() for name in (one, other)}
    half = N // 2
    bags = {
        name: [set(re.findall(r"\w+", pair.output.lower())) for pair in MADE[name]]
        for name in (one, other)
    }
    for name, counter in counts.items():
        for bag in bags[name][:half]:
            counter.update(bag)

    def score(bag: set[str], name: Relation) -> float:
        return sum(log((counts[name][word] + 1) / (half + 2)) for word in bag)

    right = sum(score(bag, one) > score(bag, other) for bag in bags[one][half:])
    right += sum(score(bag, other) > score(bag, one) for bag in bags[other][half:])
    return right / (2 * (N - half))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("well_matched", "too_weak"),
        ("well_matched_harmless", "too_weak_harmless"),
        ("too_strong", "independent"),
        ("too_strong", "well_matched_harmless"),
        ("independent", "too_weak_harmless"),
    ],
)
def test_who_does_not_see_the_input_does_not_know_the_relation(
    one: Relation, other: Relation
) -> None:
    assert _blind_accuracy(one, other) < 0.66


def test_a_record_with_one_list_takes_every_relation() -> None:
    hotel = Hotel((Fact("Name", "Alba Court"), Fact("City", "Velunde"), Fact("Sport", "Diving")))
    for relation in RELATIONS:
        for number in range(20):
            assert describe(hotel, relation, Random(number)).output
