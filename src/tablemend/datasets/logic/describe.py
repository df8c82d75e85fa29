"""Descriptions of accommodation by a program: the relation and every span by construction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from tablemend.datasets.logic.hotel import (
    CITY,
    COUNTRY,
    NAME,
    STARS,
    TYPE,
    Fact,
    Hotel,
    is_near,
    lexicon,
    make_hotel,
)
from tablemend.datasets.logic.pair import Kind, Pair, Span
from tablemend.records import RELATIONS, Relation

SYSTEM = "program"
HARMLESS: tuple[Kind, ...] = ("subjective", "vague", "unverifiable", "inferable")
_NONE: frozenset[Relation] = frozenset({"well_matched", "too_weak"})
_ALWAYS: frozenset[Relation] = frozenset({"well_matched_harmless", "too_weak_harmless"})
_WEAKER: frozenset[Relation] = frozenset({"too_weak", "too_weak_harmless", "independent"})
_SLOT = re.compile(r"\{(\w+)\}")


class Piece(NamedTuple):
    """A part of a sentence, and why it is divergent; ``None`` where it is not."""

    text: str
    kind: Kind | None = None


Sentence = list[Piece]


@dataclass
class Plan:
    """What a description says.

    Attributes:
        hotel: the record.
        omitted: facts that are not said, or only in weaker words.
        changed: facts in whose place another is said.
        added: facts that the record does not have, as they are said.
        weak_stars, general: facts are said in weaker words.
        closing: sentences that contradict, not in the lists.
        harmless: how often each kind is added.
    """

    hotel: Hotel
    omitted: set[Fact] = field(default_factory=set)
    changed: dict[Fact, Fact] = field(default_factory=dict)
    added: list[Fact] = field(default_factory=list)
    weak_stars: bool = False
    general: list[str] = field(default_factory=list)
    closing: list[Sentence] = field(default_factory=list)
    harmless: dict[Kind, int] = field(default_factory=dict)


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
    spans: list[tuple[Span, Kind]] = []
    if relation == "tautologous":
        count = rng.randint(2, 4)
        said = [[Piece(one)] for one in rng.sample(lexicon().data["tautologies"], count)]
        plan = Plan(hotel, omitted=set(hotel.facts))
    else:
        plan = _plan(hotel, relation, rng)
        said = list(_sentences(plan, rng))
    if relation == "not_well_formed":
        text = " ".join(_shuffled(one, rng) for one in said)
    else:
        text, spans = _assemble(said)
    missing = frozenset(plan.omitted | plan.changed.keys())
    return Pair(
        domain="hotel",
        input=hotel.shown(),
        output=text,
        system=SYSTEM,
        labels=(relation,),
        divergent_input=() if relation == "not_well_formed" else hotel.spans(missing),
        divergent_output=tuple(span for span, _ in spans),
        wrong=tuple(span for span, kind in spans if kind == "wrong"),
        kinds=tuple(kind for _, kind in spans),
    )


def _plan(hotel: Hotel, relation: Relation, rng: Random) -> Plan:
    plan = Plan(hotel)
    some = rng.random() < 0.5
    if relation in _WEAKER or (relation in ("contradictory", "output_contradictory") and some):
        _weaken(plan, rng)
    if relation in ("too_strong", "independent"):
        plan.added += _extra(plan, rng, rng.choice((1, 1, 2)))
    elif relation == "contradictory":
        _contradict(plan, rng)
        plan.added += _extra(plan, rng, rng.choice((0, 0, 1)))
    elif relation == "output_contradictory":
        _contradict_itself(plan, rng)
    if relation in _ALWAYS or (relation not in _NONE and rng.random() < 0.6):
        for _ in range(rng.choice((1, 1, 2, 3))):
            kind = rng.choice(HARMLESS)
            plan.harmless[kind] = plan.harmless.get(kind, 0) + 1
    if relation in _ALWAYS and plan.harmless.keys() <= {"inferable"}:
        plan.harmless["subjective"] = 1  # nothing may be inferable
    return plan


def _weaken(plan: Plan, rng: Random) -> None:
    """Leave out a fact or two, or an attribute for which a general word stands, or stars."""
    hotel, words = plan.hotel, lexicon()
    lists = [fact for fact in hotel.facts if fact.attribute in words.attributes]
    stars = hotel.get(STARS)
    if stars not in (None, "1") and rng.random() < 0.1:
        plan.weak_stars = True
        plan.omitted.add(Fact(STARS, str(stars)))
    elif rng.random() < 0.15:
        attribute = rng.choice(lists).attribute
        plan.general.append(attribute)
        plan.omitted |= {fact for fact in lists if fact.attribute == attribute}
    else:
        single = [fact for fact in hotel.facts if fact.attribute in (STARS, TYPE)]
        pool = [*lists, *(single if rng.random() < 0.3 else ())]
        plan.omitted |= set(rng.sample(pool, min(rng.choice((1, 1, 2)), len(lists))))


def _extra(plan: Plan, rng: Random, count: int) -> list[Fact]:
    """Facts that the record does not have, of attributes that the description may list."""
    pool = [
        Fact(name, value)
        for name, own in lexicon().attributes.items()
        if name not in plan.general
        for value in own.values
    ]
    found: list[Fact] = []
    for fact in rng.sample(pool, len(pool)):
        if len(found) < count and not is_near(fact.value, [*plan.hotel.facts, *found]):
            found.append(fact)
    return found


def _contradict(plan: Plan, rng: Random) -> None:
    """Say another value where there is only one, or deny one that the record has."""
    hotel = plan.hotel
    open_ = [fact for fact in hotel.facts if fact not in plan.omitted]
    ways = [fact for fact in open_ if _others(fact, hotel)]
    if rng.random() < 0.75 and ways:
        fact = rng.choice(ways)
        plan.changed[fact] = Fact(fact.attribute, rng.choice(_others(fact, hotel)))
        return
    lists = [f for f in hotel.facts if f.attribute in lexicon().attributes]
    fact = rng.choice([f for f in lists if f.attribute not in plan.general] or lists)
    plan.omitted.add(fact)
    if fact.attribute in plan.general:
        plan.general.remove(fact.attribute)
    plan.closing.append(_denial(fact, rng))


def _others(fact: Fact, hotel: Hotel) -> list[str]:
    """Values that exclude a fact without contradicting what everybody knows."""
    data = lexicon().data
    pool: Iterable[str] = ()
    if fact.attribute == STARS:
        pool = map(str, range(1, 6))
    elif fact.attribute == TYPE and fact.value in data["exclusive"]:
        pool = data["exclusive"]
    elif fact.attribute == CITY:
        pool = data["cities"]
    elif fact.attribute == COUNTRY and hotel.get(CITY) not in data["capitals"]:
        pool = data["countries"]
    return [value for value in pool if value != fact.value]


def _contradict_itself(plan: Plan, rng: Random) -> None:
    """Say a thing and its opposite, two numbers of stars, or a capital of another country."""
    data, hotel = lexicon().data, plan.hotel
    ways = ["deny"]
    if hotel.get(STARS) and not plan.weak_stars:
        ways.append("stars")
    if hotel.get(CITY) in data["capitals"] and hotel.get(COUNTRY):
        ways.append("capital")
    way = rng.choice(ways)
    if way == "stars":
        stars = Fact(STARS, str(hotel.get(STARS)))
        plan.omitted.discard(stars)
        other = rng.choice([n for n in range(1, 6) if str(n) != stars.value])
        plan.closing.append(_rating(str(other), "wrong", rng))
    elif way == "capital":
        country = Fact(COUNTRY, str(hotel.get(COUNTRY)))
        others = [one for one in data["countries"] if one != country.value]
        plan.changed[country] = Fact(COUNTRY, rng.choice(others))
    else:
        said = [
            fact
            for fact in hotel.facts
            if fact.attribute in lexicon().attributes and fact not in plan.omitted
        ]
        if not said:
            plan.added = said = _extra(plan, rng, 1)
        plan.closing.append(_denial(rng.choice(said), rng))


def _denial(fact: Fact, rng: Random) -> Sentence:
    phrase = rng.choice(lexicon().attributes[fact.attribute].values[fact.value])
    template: str = rng.choice(lexicon().data["denials"])
    bare = re.sub(r"^an? ", "", phrase)
    text = template.format(thing=bare, a_thing=phrase, It="It")
    return [Piece(text.removesuffix("."), "wrong"), Piece(".")]


def _rating(stars: str, kind: Kind | None, rng: Random) -> Sentence:
    data = lexicon().data
    template: str = rng.choice(data["ratings"])
    text = template.format(n=data["star"][int(stars) - 1])
    return [Piece(text.removesuffix("."), kind), Piece(".")]


# ---- sentences ----


def _sentences(plan: Plan, rng: Random) -> Iterator[Sentence]:
    data, words = lexicon().data, lexicon()
    middle: list[Sentence] = []
    late = rng.random() < 0.3 and not plan.weak_stars
    yield _opening(plan, rng, late)
    stars, kind = _said(plan, STARS)
    if late and stars:
        middle.append(_rating(stars, kind, rng))
    facts: list[tuple[Fact, Kind | None]]
    facts = [(fact, None) for fact in plan.hotel.facts if fact not in plan.omitted]
    facts += [(fact, "wrong") for fact in plan.added]
    for name, own in words.attributes.items():
        listed = [one for one in facts if one[0].attribute == name]
        if listed:
            rng.shuffle(listed)
            middle.append(_list(plan, name, listed, rng))
        # Now and then beside the list too: it follows from it, and gives nothing away.
        if name in plan.general or (listed and rng.random() < 0.05):
            general = Piece(rng.choice(own.general))
            middle.append(_fill(rng.choice(data["generals"]), {"general": [general]}))
    for kind_, count in plan.harmless.items():
        pool: list[str] = data["harmless"][kind_].get("sentences", ())
        middle += [
            [Piece(one[:-1], kind_), Piece(one[-1])]
            for one in rng.sample(pool, min(count, len(pool)))
        ]
    if rng.random() < 0.15:
        middle.append([Piece(rng.choice(data["tautologies"]))])
    rng.shuffle(middle)
    for sentence in plan.closing:  # behind what it may contradict, or before
        middle.insert(rng.randint(0, len(middle)), sentence)
    yield from middle


def _take(plan: Plan, kind: Kind, rng: Random) -> bool:
    """Whether an addition of this kind is made here, and no longer elsewhere."""
    if not plan.harmless.get(kind) or rng.random() < 0.4:
        return False
    plan.harmless[kind] -= 1
    return True


def _said(plan: Plan, attribute: str) -> tuple[str | None, Kind | None]:
    """The value that is said of an attribute with one, and whether it is wrong."""
    for fact, other in plan.changed.items():
        if fact.attribute == attribute:
            return other.value, "wrong"
    value = plan.hotel.get(attribute)
    return (None if value is None or Fact(attribute, value) in plan.omitted else value), None


def _opening(plan: Plan, rng: Random, late: bool) -> Sentence:
    data = lexicon().data
    stay: Sentence = []
    if _take(plan, "subjective", rng):
        stay += [Piece(rng.choice(data["harmless"]["subjective"]["words"]), "subjective"), _SPACE]
    stars, kind = _said(plan, STARS)
    if stars and not late:
        written = rng.choice((stars, data["star"][int(stars) - 1]))
        stay += [Piece(f"{written}-star", kind), _SPACE]
    type_, kind = _said(plan, TYPE)
    stay.append(Piece(type_.lower(), kind) if type_ else Piece(rng.choice(("property", "place"))))
    if plan.weak_stars:
        fewer = rng.randint(1, int(str(plan.hotel.get(STARS))) - 1)
        plural = "s" * (fewer > 1)
        stay.append(Piece(f" with at least {data['star'][fewer - 1]} star{plural}"))
    place: Sentence = [Piece("located ")]
    city, kind = _said(plan, CITY)
    if _take(plan, "vague", rng):
        place += [Piece(rng.choice(data["harmless"]["vague"]["place"]), "vague"), _SPACE]
    else:
        place.append(Piece("in "))
    place.append(Piece(str(city), kind))
    country, kind = _said(plan, COUNTRY)
    home = data["capitals"].get(city)
    if country:
        place += [Piece(", "), Piece(country, kind)]
    elif home and plan.hotel.get(COUNTRY) is None and _take(plan, "inferable", rng):
        place += [Piece(", "), Piece(home, "inferable")]
    template: str = rng.choice(data["openings"])
    if template.startswith("{Place}"):
        place = [Piece("Located "), *place[1:]]
    name = [Piece(str(plan.hotel.get(NAME)))]
    return _fill(template, {"name": name, "stay": stay, "place": place, "Place": place})


_SPACE = Piece(" ")


def _list(
    plan: Plan, attribute: str, facts: list[tuple[Fact, Kind | None]], rng: Random
) -> Sentence:
    """A sentence with values of one attribute; wrong as a whole where every value is."""
    words, harmless = lexicon(), lexicon().data["harmless"]
    items: list[Sentence] = []
    for fact, kind in facts:
        own: Sentence = [Piece(rng.choice(words.attributes[attribute].values[fact.value]), kind)]
        before = harmless["inferable"]["before"].get(fact.value)
        after = harmless["inferable"].get(fact.value)
        if kind is None and (before or after) and _take(plan, "inferable", rng):
            own = _likely(own[0].text, before, after, plan)
        items.append(own)
    listed: Sentence = []
    for number, item in enumerate(items):
        if number:
            listed.append(Piece(" and " if number == len(items) - 1 else ", "))
        listed += item
    template = rng.choice(words.attributes[attribute].frames)
    rooms: Sentence = [Piece("the rooms")]
    if "ooms}" in template and _take(plan, "unverifiable", rng):
        rooms = [Piece(rng.choice(harmless["unverifiable"]["rooms"]), "unverifiable"), _ROOMS]
    elif "ooms}" in template and _take(plan, "subjective", rng):
        adjective = rng.choice(harmless["subjective"]["rooms"])
        rooms = [Piece("the "), Piece(adjective, "subjective"), _ROOMS]
    it = [Piece("it")]
    slots = {"list": listed, "It": it, "it": it, "rooms": rooms, "Rooms": rooms}
    said = _fill(template, slots)
    if all(kind == "wrong" for _, kind in facts) and all(
        piece.kind in (None, "wrong") for piece in said
    ):
        return [Piece("".join(piece.text for piece in said).removesuffix("."), "wrong"), Piece(".")]
    return said


_ROOMS = Piece(" rooms")


def _likely(phrase: str, before: str | None, after: str | None, plan: Plan) -> Sentence:
    """A value with what usually goes with it."""
    data = lexicon().data
    country = plan.hotel.get(COUNTRY)
    if after:
        demonym = data["countries"].get(country, "local")
        return [Piece(f"{phrase} "), Piece(after.format(demonym=demonym), "inferable")]
    article = re.match(r"an? ", phrase)
    first = [Piece("a ")] if article else []
    rest = phrase[article.end() :] if article else phrase
    return [*first, Piece(str(before), "inferable"), Piece(f" {rest}")]


def _fill(template: str, slots: Mapping[str, Sentence]) -> Sentence:
    """The pieces of a template; ``{a}`` is the article of what follows."""
    pieces: Sentence = []
    end = 0
    for match in _SLOT.finditer(template):
        pieces.append(Piece(template[end : match.start()]))
        end = match.end()
        if match[1] == "a":
            following = slots["stay"][0].text
            vowel = following[0] in "aeiou" and not following.startswith(("one", "uni"))
            pieces.append(Piece("an" if vowel else "a"))
        else:
            pieces += slots[match[1]]
    return [piece for piece in [*pieces, Piece(template[end:])] if piece.text]


def _assemble(said: Iterable[Sentence]) -> tuple[str, list[tuple[Span, Kind]]]:
    """The text, and the divergent spans in it; sentences begin with a capital."""
    text = ""
    spans: list[tuple[Span, Kind]] = []
    for sentence in said:
        text += " " if text else ""
        begin = len(text)
        for piece in sentence:
            if piece.kind:
                spans.append(((len(text), len(text) + len(piece.text)), piece.kind))
            text += piece.text
        text = text[:begin] + text[begin].upper() + text[begin + 1 :]
    return text, spans


def _shuffled(sentence: Sentence, rng: Random) -> str:
    words = "".join(piece.text for piece in sentence).split()
    return " ".join(rng.sample(words, len(words)))
