"""A description held against a record: what is supported, what is divergent and of which kind.

A small program with the words of the domain. A description with a word that it does not know is
unscored, never guessed at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

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
_ANY_HOTEL = Fact(TYPE, "Hotel")
"""Can be said of any place whose type does not exclude it."""


class Comparison(NamedTuple):
    """What a description says of a record.

    Attributes:
        relation: of the two; ``None`` where it is unscored, for the reason in ``unscored``.
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


class _Found(NamedTuple):
    place: int
    span: Span
    meaning: _Meaning


Phrase = tuple[str, ...]


def compare(record: str, text: str, words: Lexicon | None = None) -> Comparison:
    """The relation of a description to a record, by evidence (Annotating Hallucinations, 3.2).

    A record is ``Attribute: value; value``, a line each; ``words`` are all of hotel.yaml, or these.

    Raises:
        TablemendError: a line of the record that is none.
    """
    hotel = read_hotel(record)
    words = words or lexicon()
    data = words.data
    tokens = _tokens(text)
    if not tokens:
        return Comparison(None, "no words", (), (), hotel.spans(hotel.facts))
    if _is_broken(tokens, data):
        return Comparison("not_well_formed", "", (), (), ())
    own = {_phrase(one.value): _Meaning(one) for one in hotel.facts if one.attribute != STARS}
    found, rest = _match(tokens, _phrases(words) | own, hotel)
    denying = {_stem(word) for word in data["denying"]}
    negated: dict[int, int] = {}
    for place, word in sorted(rest.items()):
        if word.stem in denying:
            negated.setdefault(word.sentence, place)
    glue = {_stem(word) for word in data["glue"].split()} | denying
    unknown = [text[word.start : word.end] for word in rest.values() if word.stem not in glue]
    reading = _Reading(hotel, data)
    for number, (place, span, meaning) in enumerate(found):
        if meaning.likely and not _goes_with_it(found, number, text):
            unknown.append(text[slice(*span)])
        else:
            reading.judge(meaning, span, negated.get(tokens[place].sentence, place) < place)
    missing = hotel.spans(set(hotel.facts) - reading.asserted)
    spans = tuple(reading.supported), tuple(reading.divergent), missing
    if unknown:
        some = ", ".join(dict.fromkeys(unknown[:_NAMED]))
        return Comparison(None, f"words that the lexicon does not have: {some}", *spans)
    return Comparison(reading.relation(not missing), "", *spans)


def _goes_with_it(found: Sequence[_Found], number: int, text: str) -> bool:
    """Whether what is likely of a value stands beside it: "free housekeeping", not "free meals"."""
    _, (start, end), meaning = found[number]
    beside = [(one, text[one.span[1] : start]) for one in found[max(0, number - 1) : number]]
    beside += [(one, text[end : one.span[0]]) for one in found[number + 1 : number + 2]]
    facts = [one.meaning.fact for one, gap in beside if not gap.strip()]
    return any(fact and fact.value == meaning.likely for fact in facts)


class _Reading:
    """What a description says of a record, phrase by phrase."""

    def __init__(self, hotel: Hotel, data: Mapping[str, Any]) -> None:
        self.hotel, self.values = hotel, hotel.lines()
        self.exclusive, self.capitals = data["exclusive"], data["capitals"]
        self.asserted: set[Fact] = set()
        self.denied: set[Fact] = set()
        self.supported: list[Span] = []
        self.divergent: list[tuple[Span, Kind]] = []
        self.contradicts = self.says = False

    def judge(self, meaning: _Meaning, span: Span, denied: bool) -> None:
        """Note what a phrase says."""
        fact, kind, likely, least = meaning
        if kind:
            is_likely = not likely or any(likely in own for own in self.values.values())
            self.divergent.append((span, kind if is_likely else "wrong"))
        if fact is None:
            return
        attribute, value = fact
        self.says |= attribute != NAME
        own = self.values.get(attribute, [])
        if attribute == TYPE and not own and value in str(self.hotel.get(NAME)).split():
            own = [value]  # "Hotel Torre Azul" is a hotel
        holds = value in own or (not value and bool(own))
        if denied:
            self.denied.add(fact)
            self.contradicts |= holds
            holds = False
        elif least:
            holds = bool(own) and int(value) <= int(own[0])
            self.contradicts |= bool(own) and not holds
        else:
            self.asserted.add(fact)
            self.contradicts |= not holds and self.excludes(fact)
        if holds:
            self.supported.append(span)
        else:
            is_inferable = not denied and not least and self.is_inferable(fact)
            self.divergent.append((span, "inferable" if is_inferable else "wrong"))

    def is_inferable(self, fact: Fact) -> bool:
        """Whether everybody would infer it: the country of a capital, that an inn is a hotel."""
        own = self.hotel.get(fact.attribute)
        if fact.attribute == COUNTRY:
            return own is None and self.capitals.get(self.hotel.get(CITY)) == fact.value
        return fact == _ANY_HOTEL and own is not None and own not in self.exclusive

    def excludes(self, fact: Fact) -> bool:
        """Whether a fact that the record does not have cannot be true beside it."""
        own = self.hotel.get(fact.attribute)
        if fact.attribute == TYPE:
            return own in self.exclusive and fact.value in self.exclusive
        return own is not None and fact.attribute in SINGLE

    def contradicts_itself(self) -> bool:
        """Whether something is said and denied, or two things that exclude each other."""
        said: dict[str, set[str]] = {name: set() for name in (STARS, CITY, COUNTRY, TYPE)}
        for attribute, value in self.asserted:
            if attribute in said and (attribute != TYPE or value in self.exclusive):
                said[attribute].add(value)
        countries = said[COUNTRY]
        if self.hotel.get(CITY) in said[CITY]:
            countries = countries - {self.hotel.get(COUNTRY)}
        homes = {home for city in said[CITY] if (home := self.capitals.get(city))}
        return (
            bool(self.asserted & self.denied)
            or any(len(values) > 1 for values in said.values())
            or any(homes - {country} for country in countries)
        )

    def relation(self, implies: bool) -> Relation:
        """The relation, given whether all of the record is said."""
        kinds = {kind for _, kind in self.divergent}
        if not self.says and not kinds:
            return "tautologous"
        consistent = not self.contradicts_itself()
        named = relation(
            "wrong" not in kinds, implies, contradicts=self.contradicts, consistent=consistent
        )
        if not kinds:
            return named
        harmless: dict[Relation, Relation]
        harmless = {"well_matched": "well_matched_harmless", "too_weak": "too_weak_harmless"}
        return harmless.get(named, named)


# ---- words and phrases ----


def _stem(word: str) -> str:
    """The singular, in British spelling."""
    word = re.sub(r"iz(e[ds]?|ing)$", r"is\1", word)
    return f"{word[:-3]}y" if word.endswith("ies") else singular(word)


def _tokens(text: str) -> list[_Word]:
    ends = [span.end for span in sentence_spans(text)]
    return [
        _Word(_stem(word), start, end, bisect_right(ends, start))
        for word, start, end in placed_tokens(align(text))
    ]


def _is_broken(tokens: list[_Word], data: Mapping[str, Any]) -> bool:
    """Whether an article stands where no English sentence has one."""
    never = {*data["articles"], *data["never_behind_articles"].split()}
    return any(
        one.stem in data["articles"]
        and (other is None or other.sentence != one.sentence or other.stem in never)
        for one, other in zip(tokens, [*tokens[1:], None], strict=True)
    )


def _phrase(text: str) -> Phrase:
    """The words of a phrase, without the article at its head."""
    words = tuple(word.stem for word in _tokens(text))
    return words[1:] if words[:1] and words[0] in ("a", "an") else words


@cache
def _phrases(words: Lexicon) -> dict[Phrase, _Meaning]:
    return {_phrase(text): meaning for text, meaning in _meanings(words)}


def _meanings(words: Lexicon) -> Iterator[tuple[str, _Meaning]]:
    data = words.data
    inferable = data["harmless"]["inferable"]
    for value, text in [*inferable["before"].items(), *inferable["after"].items()]:
        for filled in {text.format(demonym=one) for one in (*data["countries"].values(), "local")}:
            yield filled, _Meaning(kind="inferable", likely=value)
    for kind, own in data["harmless"].items():
        if kind != "inferable":
            yield from ((text, _Meaning(kind=kind)) for texts in own.values() for text in texts)
    yield from ((text, _Meaning()) for text in data["tautologies"])
    yield from ((f"star rating of {most} or below", _Meaning()) for most in ("5", "five"))
    said = {text: Fact(name, "") for text, name in data["hints"].items()}
    for name, attribute in words.attributes.items():
        said |= {text: Fact(name, "") for text in attribute.general}
        for value, texts in attribute.values.items():
            said |= {text: Fact(name, value) for text in texts}
    cities = (*data["capitals"], *data["cities"])
    for name, values in ((TYPE, data["types"]), (CITY, cities), (COUNTRY, data["countries"])):
        said |= {value: Fact(name, value) for value in values}
    for number, word in enumerate(data["star"], 1):
        fact = Fact(STARS, str(number))
        for stars in (fact.value, word):
            said |= {form.format(stars): fact for form in data["read_stars"]}
            yield f"at least {stars} stars", _Meaning(fact, least=True)
    yield from ((text, _Meaning(fact)) for text, fact in said.items())


def _match(
    tokens: list[_Word], phrases: Mapping[Phrase, _Meaning], hotel: Hotel
) -> tuple[list[_Found], dict[int, _Word]]:
    """The longest phrases from left to right, and the words that belong to none."""
    stems = [token.stem for token in tokens]
    longest = max(map(len, phrases))
    found: list[_Found] = []
    rest = dict(enumerate(tokens))
    hinted: dict[int, _Word] = {}
    for place, token in enumerate(tokens):
        ends = range(min(place + longest, len(tokens)), place, -1)
        for end in ends if place in rest else ():
            meaning = phrases.get(tuple(stems[place:end]))
            if meaning and token.sentence == tokens[end - 1].sentence:
                found.append(_Found(place, (token.start, tokens[end - 1].end), meaning))
                own = {number: rest.pop(number) for number in range(place, end)}
                hinted |= own if meaning.fact and not meaning.fact.value else {}
                break
    said = {one.meaning.fact for one in found}
    for fact in hotel.facts:
        if fact in said or fact.attribute in (NAME, STARS):
            continue
        if places := _scattered(rest | hinted, _phrase(fact.value)):
            span = tokens[min(places)].start, tokens[max(places)].end
            found.append(_Found(min(places), span, _Meaning(fact)))
            rest = {number: word for number, word in rest.items() if number not in places}
    return sorted(found), rest


def _scattered(rest: Mapping[int, _Word], phrase: Iterable[str]) -> set[int]:
    """The first place where all words of a value stand near each other in one sentence."""
    wanted = {word for word in phrase if word not in LITTLE_WORDS}
    for first, word in sorted(rest.items()):
        if len(wanted) > 1 and word.stem in wanted:
            near = range(first + len(wanted) + _MOST_BETWEEN, first - 1, -1)
            own = [n for n in near if n in rest and rest[n].sentence == word.sentence]
            places = {rest[n].stem: n for n in own}
            if wanted <= places.keys():
                return {places[one] for one in wanted}
    return set()
