"""Accommodation as attributes and values, made by seed from lists of our own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.logic.pair import Span

NAME, STARS, CITY, COUNTRY = "Name", "Star rating", "City", "Country"
TYPE = "Accommodation type"
SINGLE = (NAME, STARS, CITY, COUNTRY, TYPE)
"""Attributes with one value, in the order of the paper."""
MOST_VALUES = 3
"""Of one attribute (Annotating Hallucinations, Appendix A)."""
_LEFT_OUT = {STARS: 0.1, COUNTRY: 0.15, TYPE: 0.1}
"""Share of records that do not say it."""
_LIST_SHARE = 0.65
"""Share of records that have each of the attributes with several values."""


class Fact(NamedTuple):
    """One value of one attribute."""

    attribute: str
    value: str


class Hotel(NamedTuple):
    """A record: its facts in the order in which they are shown."""

    facts: tuple[Fact, ...]

    def get(self, attribute: str) -> str | None:
        """The first value of an attribute."""
        return next((fact.value for fact in self.facts if fact.attribute == attribute), None)

    def lines(self) -> dict[str, list[str]]:
        """The values of each attribute."""
        found: dict[str, list[str]] = {}
        for attribute, value in self.facts:
            found.setdefault(attribute, []).append(value)
        return found

    def shown(self) -> str:
        """The input text: ``Attribute: value; value``, a line each."""
        return "\n".join(f"{name}: {'; '.join(values)}" for name, values in self.lines().items())

    def spans(self, missing: Collection[Fact]) -> tuple[Span, ...]:
        """Where facts are in :meth:`shown`: a value, or the line if all of its values are asked."""
        found: list[Span] = []
        start = 0
        for name, values in self.lines().items():
            place, own = start + len(name) + 2, list[Span]()
            for value in values:
                own += [(place, place + len(value))] if (name, value) in missing else []
                place += len(value) + 2
            whole = len(own) == len(values) and name not in SINGLE
            found += [(start, place - 2)] if whole else own
            start = place - 1
        return tuple(found)


class Attribute(NamedTuple):
    """The words of an attribute with several values.

    ``general`` can be said of any of its values, ``frames`` are sentences with a list of values,
    and ``values`` has for each what a text may call it, article included.
    """

    general: list[str]
    frames: list[str]
    values: Mapping[str, list[str]]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of the domain (hotel.yaml)."""

    attributes: Mapping[str, Attribute]
    data: Mapping[str, Any]


@cache
def lexicon() -> Lexicon:
    """All of hotel.yaml."""
    data = yaml.safe_load(Path(__file__).with_name("hotel.yaml").read_text("utf-8"))
    return Lexicon({name: Attribute(**own) for name, own in data["attributes"].items()}, data)


def make_hotel(rng: Random) -> Hotel:
    """A record with a name and a city, mostly stars, country and type, and one list or more."""
    words = lexicon()
    data = words.data
    name = f"{rng.choice(data['names']['first'])} {rng.choice(data['names']['second'])}"
    if rng.random() < 0.4:
        city, country = rng.choice(list(data["capitals"].items()))
    else:
        city, country = rng.choice(data["cities"]), rng.choice(list(data["countries"]))
    single = (name, str(rng.randint(1, 5)), city, country, rng.choice(data["types"]))
    facts = [
        Fact(attribute, value)
        for attribute, value in zip(SINGLE, single, strict=True)
        if rng.random() >= _LEFT_OUT.get(attribute, 0)
    ]
    kept = [one for one in words.attributes if rng.random() < _LIST_SHARE]
    for attribute in kept or [rng.choice(list(words.attributes))]:
        values = list(words.attributes[attribute].values)
        for value in rng.sample(values, rng.randint(1, MOST_VALUES)):
            if not is_near(value, facts):
                facts.append(Fact(attribute, value))
    return Hotel(tuple(facts))


def is_near(value: str, facts: Iterable[Fact]) -> bool:
    """Whether one of the facts may say it already, or follow from it: a minibar and a fridge."""
    had = {fact.value for fact in facts}
    near = lexicon().data["near"]
    return value in had or any(value in group and had & set(group) for group in near)
