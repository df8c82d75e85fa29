"""Hotels made by seed, and descriptions of them: the relation and every span by construction.

While a sentence is made, what is divergent in it stands in marks with its kind:
``<wrong:lockers>``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.records import RELATIONS, Relation
from tablemend.tasks.logic.pair import Kind, Pair, Span

SYSTEM = "program"
HARMLESS: tuple[Kind, ...] = ("subjective", "vague", "unverifiable", "inferable")
_MARKED = re.compile(r"<(\w+):([^>]*)>")


WORDS: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("hotel.yaml").read_text("utf-8"))
ATTRIBUTES: Mapping[str, Mapping[str, Any]] = WORDS["attributes"]
"""Attributes with several values: ``general`` can be said of any of them, ``frames`` are sentences
with a list of them, and ``values`` has for each what a text may call it, article included."""
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


def make_hotel(rng: Random) -> Hotel:
    """A record with a name and a city, mostly stars, country and type, and one list or more."""
    name = f"{rng.choice(WORDS['names']['first'])} {rng.choice(WORDS['names']['second'])}"
    if rng.random() < 0.4:
        city, country = rng.choice(list(WORDS["capitals"].items()))
    else:
        city, country = rng.choice(WORDS["cities"]), rng.choice(list(WORDS["countries"]))
    single = (name, str(rng.randint(1, 5)), city, country, rng.choice(WORDS["types"]))
    facts = [
        Fact(attribute, value)
        for attribute, value in zip(SINGLE, single, strict=True)
        if rng.random() >= _LEFT_OUT.get(attribute, 0)
    ]
    kept = [one for one in ATTRIBUTES if rng.random() < _LIST_SHARE]
    for attribute in kept or [rng.choice(list(ATTRIBUTES))]:
        values = list(ATTRIBUTES[attribute]["values"])
        for value in rng.sample(values, rng.randint(1, MOST_VALUES)):
            if not is_near(value, facts):
                facts.append(Fact(attribute, value))
    return Hotel(tuple(facts))


def is_near(value: str, facts: Iterable[Fact]) -> bool:
    """Whether one of the facts may say it already, or follow from it: a minibar and a fridge."""
    had = {fact.value for fact in facts}
    return value in had or any(value in group and had & set(group) for group in WORDS["near"])


# ---- descriptions ----


def hotel_pairs(n: int, seed: int = 0, relations: Sequence[Relation] = RELATIONS) -> Iterator[Pair]:
    """Pairs of these relations in equal numbers and random order, each with a record of its own."""
    drawn = Random(f"hotel relations:{seed}")
    block: list[Relation] = []
    for number in range(n):
        block = block or drawn.sample(relations, len(relations))
        yield make_pair(seed, number, block.pop())


def make_pair(seed: int, number: int, relation: Relation) -> Pair:
    """A record and a description of this relation; the same for the same seed and number."""
    rng = Random(f"hotel:{seed}:{number}")
    return describe(make_hotel(rng), relation, rng)


def describe(hotel: Hotel, relation: Relation, rng: Random) -> Pair:
    """A description of this relation to the record, with its spans."""
    plan = _Plan(hotel, rng)
    if relation == "tautologous":
        plan.omitted = set(hotel.facts)
        said: Iterable[str] = rng.sample(WORDS["tautologies"], rng.randint(2, 4))
    else:
        plan.make(relation)
        said = list(plan.sentences())
    missing = hotel.spans({f for f in hotel.facts if f in plan.omitted or f[0] in plan.changed})
    if relation == "not_well_formed":
        broken = (_MARKED.sub(r"\2", one).split() for one in said)
        said = [" ".join(rng.sample(words, len(words))) for words in broken]
        missing = ()
    else:
        said = map(_capital, said)
    text, spans = _read_marks(said)
    return Pair(
        domain="hotel",
        input=hotel.shown(),
        output=text,
        system=SYSTEM,
        labels=(relation,),
        divergent_input=missing,
        divergent_output=tuple(spans),
        wrong=tuple(span for span, kind in spans.items() if kind == "wrong"),
        kinds=tuple(spans.values()),
    )


def _mark(kind: Kind | None, text: str) -> str:
    """The text, its full stop aside, as divergent; as it is without a kind."""
    words = text.removesuffix(".")
    return f"<{kind}:{words}>{text[len(words) :]}" if kind else text


def _read_marks(said: Iterable[str]) -> tuple[str, dict[Span, Kind]]:
    """The text without marks, and the spans that were marked."""
    text, spans = "", dict[Span, Kind]()
    for part in re.split(r"(<.*?>)", " ".join(said)):
        marked = _MARKED.fullmatch(part)
        if marked:
            kind: Kind = marked[1]  # type: ignore[assignment]
            spans[len(text), len(text) + len(marked[2])] = kind
        text += marked[2] if marked else part
    return text, spans


def _capital(sentence: str) -> str:
    return re.sub(r"^(<\w+:)?.", lambda match: match[0][:-1] + match[0][-1].upper(), sentence)


class _Plan:
    """What a description says.

    Attributes:
        omitted: facts that are not said, or only in weaker words.
        changed: attributes of which another value is said.
        added: facts that the record does not have, as they are said.
        least: of the stars only a number is said that there are at least.
        general: attributes of which only a general word is said.
        closing: sentences that contradict, not in the lists.
        harmless: how often each kind is still to be added.
    """

    def __init__(self, hotel: Hotel, rng: Random) -> None:
        self.hotel, self.rng = hotel, rng
        self.lists = [fact for fact in hotel.facts if fact.attribute in ATTRIBUTES]
        self.omitted: set[Fact] = set()
        self.changed: dict[str, str] = {}
        self.added: list[Fact] = []
        self.least = False
        self.general: list[str] = []
        self.closing: list[str] = []
        self.harmless = Counter[Kind]()

    # ---- what is said ----

    def make(self, relation: Relation) -> None:
        rng, some = self.rng, self.rng.random() < 0.5
        weaker = relation in ("too_weak", "too_weak_harmless", "independent")
        if weaker or (relation in ("contradictory", "output_contradictory") and some):
            self.weaken()
        if relation in ("too_strong", "independent"):
            self.added = self.extra(rng.choice((1, 1, 2)))
        elif relation == "contradictory":
            self.contradict()
            self.added = self.extra(rng.choice((0, 0, 1)))
        elif relation == "output_contradictory":
            self.contradict_itself()
        needed = relation.endswith("_harmless")
        if needed or (relation not in ("well_matched", "too_weak") and rng.random() < 0.6):
            self.harmless.update(rng.choice(HARMLESS) for _ in range(rng.choice((1, 1, 2, 3))))
        if needed and self.harmless.keys() <= {"inferable"}:
            self.harmless["subjective"] = 1  # nothing may be inferable

    def weaken(self) -> None:
        """Leave out a fact or two, or an attribute for which a general word stands, or stars."""
        rng, stars = self.rng, self.hotel.get(STARS)
        if stars not in (None, "1") and rng.random() < 0.1:
            self.least = True
            self.omitted = {Fact(STARS, str(stars))}
        elif rng.random() < 0.15:
            self.general = [rng.choice(self.lists).attribute]
            self.omitted = {fact for fact in self.lists if fact.attribute in self.general}
        else:
            single = [fact for fact in self.hotel.facts if fact.attribute in (STARS, TYPE)]
            pool = [*self.lists, *(single if rng.random() < 0.3 else ())]
            self.omitted = set(rng.sample(pool, min(rng.choice((1, 1, 2)), len(self.lists))))

    def extra(self, count: int) -> list[Fact]:
        names = [name for name in ATTRIBUTES if name not in self.general]
        pool = [Fact(name, value) for name in names for value in ATTRIBUTES[name]["values"]]
        found: list[Fact] = []
        for fact in self.rng.sample(pool, len(pool)):
            if len(found) < count and not is_near(fact.value, [*self.hotel.facts, *found]):
                found.append(fact)
        return found

    def contradict(self) -> None:
        """Say another value where there is only one, or deny one that the record has."""
        said = [fact for fact in self.hotel.facts if fact not in self.omitted]
        ways = [fact for fact in said if self.others(fact)]
        if self.rng.random() < 0.75 and ways:
            fact = self.rng.choice(ways)
            self.changed[fact.attribute] = self.rng.choice(self.others(fact))
        else:
            listed = [one for one in self.lists if one.attribute not in self.general]
            fact = self.rng.choice(listed or self.lists)
            self.omitted.add(fact)
            self.general = [name for name in self.general if name != fact.attribute]
            self.deny(fact)

    def others(self, fact: Fact) -> list[str]:
        """Values that exclude a fact without contradicting what everybody knows."""
        exclusive, capitals = WORDS["exclusive"], WORDS["capitals"]
        pools = {
            STARS: map(str, range(1, 6)),
            TYPE: exclusive if fact.value in exclusive else (),
            CITY: WORDS["cities"],
            COUNTRY: () if self.hotel.get(CITY) in capitals else WORDS["countries"],
        }
        return [value for value in pools.get(fact.attribute, ()) if value != fact.value]

    def contradict_itself(self) -> None:
        """Say a thing and its opposite, two numbers of stars, or a capital of another country."""
        rng, stars, country = self.rng, self.hotel.get(STARS), self.hotel.get(COUNTRY)
        ways = ["deny"]
        if stars and not self.least:
            ways.append("stars")
        if self.hotel.get(CITY) in WORDS["capitals"] and country:
            ways.append("capital")
        way = rng.choice(ways)
        if way == "stars":
            self.omitted.discard(Fact(STARS, str(stars)))
            other = rng.choice([str(n) for n in range(1, 6) if str(n) != stars])
            self.closing.append(self.rating(other, "wrong"))
        elif way == "capital":
            others = [one for one in WORDS["countries"] if one != country]
            self.changed[COUNTRY] = rng.choice(others)
        else:
            said = [fact for fact in self.lists if fact not in self.omitted]
            if not said:
                self.added = said = self.extra(1)
            self.deny(rng.choice(said))

    def deny(self, fact: Fact) -> None:
        phrase = self.rng.choice(ATTRIBUTES[fact.attribute]["values"][fact.value])
        bare = re.sub(r"^an? ", "", phrase)
        text = self.rng.choice(WORDS["denials"]).format(thing=bare, a_thing=phrase, It="It")
        self.closing.append(_mark("wrong", text))

    # ---- in which words ----

    def sentences(self) -> Iterator[str]:
        rng, middle = self.rng, list[str]()
        late = rng.random() < 0.3 and not self.least
        yield self.opening(late)
        stars, wrong = self.said(STARS)
        if late and stars:
            middle.append(self.rating(stars, wrong))
        for name, own in ATTRIBUTES.items():
            listed = [f for f in self.hotel.facts if f not in self.omitted and f.attribute == name]
            listed += [fact for fact in self.added if fact.attribute == name]
            if listed:
                rng.shuffle(listed)
                middle.append(self.listing(name, listed))
            # Now and then beside the list too: it follows from it, and gives nothing away.
            if name in self.general or (listed and rng.random() < 0.05):
                general = rng.choice(own["general"])
                middle.append(rng.choice(WORDS["generals"]).format(general=general))
        for kind, count in self.harmless.items():
            pool: list[str] = WORDS["harmless"][kind].get("sentences", ())
            middle += [_mark(kind, one) for one in rng.sample(pool, min(count, len(pool)))]
        if rng.random() < 0.15:
            middle.append(rng.choice(WORDS["tautologies"]))
        rng.shuffle(middle)
        for sentence in self.closing:  # behind what it may contradict, or before
            middle.insert(rng.randint(0, len(middle)), sentence)
        yield from middle

    def takes(self, kind: Kind) -> bool:
        """Whether an addition of this kind is made here, and no longer elsewhere."""
        if not self.harmless[kind] or self.rng.random() < 0.4:
            return False
        self.harmless[kind] -= 1
        return True

    def said(self, attribute: str) -> tuple[str | None, Kind | None]:
        """The value that is said of an attribute with one, and whether it is wrong."""
        if attribute in self.changed:
            return self.changed[attribute], "wrong"
        value = self.hotel.get(attribute)
        return None if value is None or Fact(attribute, value) in self.omitted else value, None

    def rating(self, stars: str, kind: Kind | None) -> str:
        text = self.rng.choice(WORDS["ratings"]).format(n=WORDS["star"][int(stars) - 1])
        return _mark(kind, text)

    def opening(self, late: bool) -> str:
        """Name, place and, unless they come late, stars."""
        rng, stay = self.rng, ""
        if self.takes("subjective"):
            word = rng.choice(WORDS["harmless"]["subjective"]["words"])
            stay = f"{_mark('subjective', word)} "
        stars, kind = self.said(STARS)
        if stars and not late:
            written = rng.choice((stars, WORDS["star"][int(stars) - 1]))
            stay += f"{_mark(kind, f'{written}-star')} "
        type_, kind = self.said(TYPE)
        stay += _mark(kind, type_.lower()) if type_ else rng.choice(("property", "place"))
        if self.least:
            fewer = rng.randint(1, int(str(self.hotel.get(STARS))) - 1)
            stay += f" with at least {WORDS['star'][fewer - 1]} star{'s' * (fewer > 1)}"
        city, kind = self.said(CITY)
        vague = self.takes("vague")
        where = _mark("vague", rng.choice(WORDS["harmless"]["vague"]["place"])) if vague else "in"
        place = f"located {where} {_mark(kind, str(city))}"
        country, kind = self.said(COUNTRY)
        home = WORDS["capitals"].get(city)
        if country:
            place += f", {_mark(kind, country)}"
        elif home and self.hotel.get(COUNTRY) is None and self.takes("inferable"):
            place += f", {_mark('inferable', home)}"
        first = _MARKED.sub(r"\2", stay)
        article = "an" if first[0] in "aeiou" and not first.startswith(("one", "uni")) else "a"
        slots = {"name": self.hotel.get(NAME), "a": article, "stay": stay, "place": place}
        text: str = rng.choice(WORDS["openings"]).format(**slots, Place=_capital(place))
        return text

    def listing(self, attribute: str, facts: Sequence[Fact]) -> str:
        """A sentence with values of one attribute; wrong as a whole where every value is."""
        rng, harmless = self.rng, WORDS["harmless"]
        items = []
        for fact in facts:
            phrase: str = rng.choice(ATTRIBUTES[attribute]["values"][fact.value])
            inferable = [
                harmless["inferable"][side].get(fact.value) for side in ("before", "after")
            ]
            if fact in self.added:
                phrase = _mark("wrong", phrase)
            elif any(inferable) and self.takes("inferable"):
                phrase = self.likely(phrase, *inferable)
            items.append(phrase)
        listed = " and ".join([*filter(None, [", ".join(items[:-1])]), items[-1]])
        template = rng.choice(ATTRIBUTES[attribute]["frames"])
        rooms = "the rooms"
        if "ooms}" in template and self.takes("unverifiable"):
            rooms = f"{_mark('unverifiable', rng.choice(harmless['unverifiable']['rooms']))} rooms"
        elif "ooms}" in template and self.takes("subjective"):
            rooms = f"the {_mark('subjective', rng.choice(harmless['subjective']['rooms']))} rooms"
        said: str = template.format(list=listed, It="it", it="it", rooms=rooms, Rooms=rooms)
        if {kind for kind, _ in _MARKED.findall(said)} == {"wrong"} and set(facts) <= {*self.added}:
            said = _mark("wrong", _MARKED.sub(r"\2", said))
        return said

    def likely(self, phrase: str, before: str | None, after: str | None) -> str:
        if after:
            demonym = WORDS["countries"].get(self.hotel.get(COUNTRY), "local")
            return f"{phrase} {_mark('inferable', after.format(demonym=demonym))}"
        article, bare = re.findall(r"^(an? )?(.*)", phrase)[0]
        return f"{article and 'a '}{_mark('inferable', str(before))} {bare}"
