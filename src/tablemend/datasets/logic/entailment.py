"""A description held against a record: what is supported, what is divergent and of which kind.

A small program with the words of the domain. A description with a word that it does not know is
unscored, never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, get_args

from tablemend.datasets.logic.hotel import (
    CITY,
    COUNTRY,
    NAME,
    SINGLE,
    STARS,
    TYPE,
    Fact,
    Hotel,
    Lexicon,
    lexicon,
    read_hotel,
)
from tablemend.datasets.logic.pair import Kind, Span
from tablemend.records import Relation, relation
from tablemend.values.places import singular
from tablemend.values.sentences import sentence_spans
from tablemend.values.text import align, placed_tokens
from tablemend.values.words import LITTLE_WORDS

_MOST_BETWEEN = 4
"""Words between those of a value that is said in another order ("free in-room WiFi")."""
_NAMED = 5
"""Unknown words in the reason."""
_CAN_BE_CALLED_HOTEL = "Hotel"


class Comparison(NamedTuple):
    """What a description says of a record.

    Attributes:
        relation: of the two; ``None`` where it is unscored.
        unscored: why.
        supported: spans of the description that the record holds.
        divergent: spans that it does not, with the kind of each.
        missing: spans of the record that the description does not hold.
    """

    relation: Relation | None
    unscored: str
    supported: tuple[Span, ...]
    divergent: tuple[tuple[Span, Kind], ...]
    missing: tuple[Span, ...]


class _Word(NamedTuple):
    """A word of a description, where it stands, and the number of its sentence."""

    stem: str
    start: int
    end: int
    sentence: int


class _Meaning(NamedTuple):
    """What a phrase says: a fact, that an attribute has a value, a harmless addition, or nothing.

    Attributes:
        fact: with an empty value, any value of the attribute.
        kind: of an addition.
        likely: the value that makes an addition likely.
        least: the fact is a lower bound.
    """

    fact: Fact | None = None
    kind: Kind | None = None
    likely: str = ""
    least: bool = False


Phrase = tuple[str, ...]
_EMPTY = _Meaning()


@dataclass
class _Reading:
    """What was found in a description, before it is summed up."""

    hotel: Hotel
    asserted: set[Fact] = field(default_factory=set)
    denied: set[Fact] = field(default_factory=set)
    supported: list[Span] = field(default_factory=list)
    divergent: list[tuple[Span, Kind]] = field(default_factory=list)
    contradicts: bool = False
    says: bool = False


def compare(record: str, text: str, words: Lexicon | None = None) -> Comparison:
    """The relation of a description to a record, by evidence (Annotating Hallucinations, 3.2).

    Args:
        record: ``Attribute: value; value``, a line each.
        text: the description.
        words: other than all of hotel.yaml.

    Raises:
        TablemendError: a line of the record that is none.
    """
    hotel = read_hotel(record)
    data = (words or lexicon()).data
    tokens = _tokens(text)
    if not tokens:
        return Comparison(None, "no words", (), (), hotel.spans(frozenset(hotel.facts)))
    if _is_broken(tokens):
        return Comparison("not_well_formed", "", (), (), ())
    phrases = _general_phrases() if words is None else _phrases(words)
    found, rest = _match(tokens, phrases | _own_phrases(hotel), hotel)
    denying = {_stem(word) for word in data["denying"]}
    negated = {
        sentence: place
        for place, (stem, _, _, sentence) in sorted(rest.items(), reverse=True)
        if stem in denying
    }
    reading = _Reading(hotel)
    lonely = []
    for number, (place, span, meaning) in enumerate(found):
        if meaning.likely and not _goes_with_it(found, number, text):
            lonely.append(text[slice(*span)])
            continue
        sentence = tokens[place].sentence
        denied = sentence in negated and negated[sentence] < place
        _judge(reading, meaning, span, denied, data)
    glue = {_stem(word) for word in data["glue"].split()} | denying
    unknown = [text[word.start : word.end] for word in rest.values() if word.stem not in glue]
    unknown += lonely
    missing = frozenset(fact for fact in hotel.facts if fact not in reading.asserted)
    some = ", ".join(dict.fromkeys(unknown[:_NAMED]))
    return Comparison(
        None if unknown else _name(reading, missing, data),
        f"words that the lexicon does not have: {some}" if unknown else "",
        tuple(reading.supported),
        tuple(reading.divergent),
        hotel.spans(missing),
    )


def _goes_with_it(found: Sequence[tuple[int, Span, _Meaning]], number: int, text: str) -> bool:
    """Whether what is likely of a value stands beside it: "free housekeeping", not "free meals"."""
    _, (start, end), meaning = found[number]
    before, behind = found[max(0, number - 1)], found[min(len(found) - 1, number + 1)]
    gaps = ((before, text[before[1][1] : start]), (behind, text[end : behind[1][0]]))
    return any(
        other.fact and other.fact.value == meaning.likely and not gap.strip()
        for (_, _, other), gap in gaps
    )


def _name(reading: _Reading, missing: frozenset[Fact], data: Mapping[str, Any]) -> Relation:
    kinds = {kind for _, kind in reading.divergent}
    if not reading.says and not kinds:
        return "tautologous"
    named = relation(
        "wrong" not in kinds,
        not missing,
        contradicts=reading.contradicts,
        consistent=not _contradicts_itself(reading, data),
    )
    if kinds and named in ("well_matched", "too_weak"):
        return "well_matched_harmless" if named == "well_matched" else "too_weak_harmless"
    return named


def _contradicts_itself(reading: _Reading, data: Mapping[str, Any]) -> bool:
    """Whether something is said and denied, or two things that exclude each other."""
    if reading.asserted & reading.denied:
        return True
    exclusive, capitals = data["exclusive"], data["capitals"]
    said: dict[str, set[str]] = {}
    for fact in reading.asserted:
        if fact.attribute != TYPE or fact.value in exclusive:
            said.setdefault(fact.attribute, set()).add(fact.value)
    if any(len(said.get(attribute, ())) > 1 for attribute in (STARS, CITY, COUNTRY, TYPE)):
        return True
    elsewhere = {home for city in said.get(CITY, ()) if (home := capitals.get(city))}
    known = {reading.hotel.get(COUNTRY)} if reading.hotel.get(CITY) in said.get(CITY, ()) else set()
    return any(elsewhere - {country} for country in said.get(COUNTRY, set()) - known if elsewhere)


def _judge(
    reading: _Reading, meaning: _Meaning, span: Span, denied: bool, data: Mapping[str, Any]
) -> None:
    """Note what a phrase says of the record."""
    hotel, (fact, kind, likely, least) = reading.hotel, meaning
    values = hotel.lines()
    if kind:
        if likely and not any(likely in own for own in values.values()):
            kind = "wrong"
        reading.divergent.append((span, kind))
        return
    if fact is None:
        return
    attribute, value = fact
    reading.says |= attribute != NAME
    own = values.get(attribute, [])
    if attribute == TYPE and not own and value in str(hotel.get(NAME)).split():
        own = [value]  # "Hotel Torre Azul" is a hotel
    if denied:
        reading.denied.add(fact)
        reading.contradicts |= value in own or (not value and bool(own))
        reading.divergent.append((span, "wrong"))
    elif least:
        holds = bool(own) and int(value) <= int(own[0])
        reading.contradicts |= bool(own) and not holds
        reading.supported += [span] if holds else []
        reading.divergent += [] if holds else [(span, "wrong")]
    elif value in own or (not value and own):
        reading.asserted.add(fact)
        reading.supported.append(span)
    else:
        reading.asserted.add(fact)
        reading.divergent.append((span, _kind(fact, hotel, data)))
        reading.contradicts |= _excludes(fact, hotel, data)


def _kind(fact: Fact, hotel: Hotel, data: Mapping[str, Any]) -> Kind:
    """Wrong, or what everybody would infer: the country of a capital, that an inn is a hotel."""
    capitals, exclusive = data["capitals"], data["exclusive"]
    own = hotel.get(fact.attribute)
    if fact.attribute == COUNTRY and own is None:
        return "inferable" if capitals.get(hotel.get(CITY)) == fact.value else "wrong"
    if fact == Fact(TYPE, _CAN_BE_CALLED_HOTEL) and own is not None and own not in exclusive:
        return "inferable"
    return "wrong"


def _excludes(fact: Fact, hotel: Hotel, data: Mapping[str, Any]) -> bool:
    """Whether a fact that the record does not have cannot be true beside it."""
    exclusive = data["exclusive"]
    own = hotel.get(fact.attribute)
    if fact.attribute == TYPE:
        return own in exclusive and fact.value in exclusive
    return own is not None and fact.attribute in SINGLE


# ---- words and phrases ----


def _stem(word: str) -> str:
    """The singular, in British spelling."""
    word = re.sub(r"iz(e[ds]?|ing)$", r"is\1", word)
    return f"{word[:-3]}y" if word.endswith("ies") else singular(word)


def _tokens(text: str) -> list[_Word]:
    ends = [span.end for span in sentence_spans(text)]
    words = []
    sentence = 0
    for word, start, end in placed_tokens(align(text)):
        while sentence < len(ends) and start >= ends[sentence]:
            sentence += 1
        words.append(_Word(_stem(word), start, end, sentence))
    return words


_ARTICLES = frozenset({"a", "an", "the"})
_NEVER_BEHIND_ONE = _ARTICLES | frozenset(
    "is are be of in and it or include includes provide offer with for on to by".split()
)


def _is_broken(tokens: list[_Word]) -> bool:
    """Whether an article stands where no English sentence has one."""
    return any(
        one.stem in _ARTICLES
        and (other is None or other.sentence != one.sentence or other.stem in _NEVER_BEHIND_ONE)
        for one, other in zip(tokens, [*tokens[1:], None], strict=True)
    )


def _phrase(text: str) -> Phrase:
    """The words of a phrase, without the article at its head."""
    words = tuple(word.stem for word in _tokens(text))
    return words[1:] if words[:1] and words[0] in ("a", "an") else words


@cache
def _general_phrases() -> dict[Phrase, _Meaning]:
    return _phrases(lexicon())


def _phrases(words: Lexicon) -> dict[Phrase, _Meaning]:
    """All that the lexicon has words for."""
    return {_phrase(text): meaning for text, meaning in _meanings(words)}


def _meanings(words: Lexicon) -> Iterator[tuple[str, _Meaning]]:
    data = words.data
    for kind in get_args(Kind):
        own = data["harmless"].get(kind, {})
        listed = ("words", "rooms", "place", "sentences", "read") if kind != "inferable" else ()
        for name in listed:
            yield from ((text, _Meaning(kind=kind)) for text in own.get(name, ()))
    inferable = data["harmless"]["inferable"]
    for value, text in [*inferable["before"].items(), *inferable.items()]:
        if value != "before":
            nations = data["countries"].values() if "{" in text else ()
            for filled in [text.format(demonym=one) for one in (*nations, "local")]:
                yield filled, _Meaning(kind="inferable", likely=value)
    yield from ((text, _EMPTY) for text in data["tautologies"])
    yield from ((f"star rating of {most} or below", _EMPTY) for most in ("5", "five"))
    yield from ((text, _Meaning(Fact(name, ""))) for text, name in data["hints"].items())
    for name, attribute in words.attributes.items():
        yield from ((text, _Meaning(Fact(name, ""))) for text in attribute.general)
        for value, texts in attribute.values.items():
            yield from ((text, _Meaning(Fact(name, value))) for text in texts)
    yield from ((type_, _Meaning(Fact(TYPE, type_))) for type_ in data["types"])
    yield from ((city, _Meaning(Fact(CITY, city))) for city in (*data["capitals"], *data["cities"]))
    yield from ((country, _Meaning(Fact(COUNTRY, country))) for country in data["countries"])
    for number, word in enumerate(data["star"], 1):
        for said in (str(number), word):
            exact = _Meaning(Fact(STARS, str(number)))
            for form in ("{} star", "rated {} out of five stars", "star rating is {}"):
                yield form.format(said), exact
            yield f"star rating of {said}", exact
            yield f"at least {said} stars", exact._replace(least=True)


def _own_phrases(hotel: Hotel) -> dict[Phrase, _Meaning]:
    """What the record itself says, in its own words."""
    found = {_phrase(fact.value): _Meaning(fact) for fact in hotel.facts if fact.attribute != STARS}
    return {phrase: meaning for phrase, meaning in found.items() if phrase}


def _match(
    tokens: list[_Word], phrases: Mapping[Phrase, _Meaning], hotel: Hotel
) -> tuple[list[tuple[int, Span, _Meaning]], dict[int, _Word]]:
    """The longest phrases from left to right, and the words that belong to none."""
    stems = [token.stem for token in tokens]
    longest = max(map(len, phrases))
    found: list[tuple[int, Span, _Meaning]] = []
    rest: dict[int, _Word] = {}
    hinted: dict[int, _Word] = {}
    place = 0
    while place < len(tokens):
        for length in range(min(longest, len(tokens) - place), 0, -1):
            meaning = phrases.get(tuple(stems[place : place + length]))
            if meaning and tokens[place].sentence == tokens[place + length - 1].sentence:
                span = tokens[place].start, tokens[place + length - 1].end
                found.append((place, span, meaning))
                if meaning.fact and not meaning.fact.value:
                    hinted |= {n: tokens[n] for n in range(place, place + length)}
                place += length
                break
        else:
            rest[place] = tokens[place]
            place += 1
    said = {meaning.fact for _, _, meaning in found}
    for fact in hotel.facts:
        if fact not in said and fact.attribute not in (NAME, STARS):
            for places in _scattered(rest | hinted, _phrase(fact.value)):
                span = tokens[min(places)].start, tokens[max(places)].end
                found.append((min(places), span, _Meaning(fact)))
                rest = {number: word for number, word in rest.items() if number not in places}
    return sorted(found), rest


def _scattered(rest: Mapping[int, _Word], phrase: Iterable[str]) -> list[set[int]]:
    """The first place where all words of a value stand near each other in one sentence."""
    wanted = {word for word in phrase if word not in LITTLE_WORDS}
    for first, word in sorted(rest.items()):
        if len(wanted) > 1 and word.stem in wanted:
            near = range(first, first + len(wanted) + _MOST_BETWEEN + 1)
            places = {
                rest[number].stem: number
                for number in reversed(near)
                if number in rest and rest[number].sentence == word.sentence
            }
            if wanted <= places.keys():
                return [{places[one] for one in wanted}]
    return []
