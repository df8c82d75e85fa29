"""How a row is put into words: each cell once, verbatim, every sentence naming its entity.

A pattern is written with ``{e}`` for the entity, ``{c}`` for the column's label, ``{a}`` for
the label with its article, and ``{v}`` for the value, or ``{l}`` for a listing of clauses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from random import Random
from typing import Literal, NamedTuple

from tablemend.datasets.tablehallu.columns import Column, TypedTable
from tablemend.datasets.tablehallu.compose import Sentence, Stated, StatedRow
from tablemend.datasets.tablehallu.scope import Row

Style = Literal[
    "year",
    "date",
    "event",
    "amount",
    "amounts",
    "count",
    "unit",
    "period",
    "category",
    "name",
    "text",
    "many",
]

# One fact a sentence. "count" is a plain whole number under a plural header ("Wins"), "unit" a
# number with a currency, unit or percent sign, "amounts" any other number under a plural header,
# "period" a number under a header that is a time, "many" words under a plural header, "event" a
# year or date under a participle ("Founded").
SINGLE: dict[Style, tuple[str, ...]] = {
    "year": (
        "The {c} of {e} is {v}.",
        "The {c} given for {e} is {v}.",
        "{v} is the {c} recorded for {e}.",
        "For {e}, the {c} is {v}.",
        "{e} is listed under the {c} {v}.",
        "The entry for {e} carries the {c} {v}.",
        "Records place {e} under the {c} {v}.",
        "{e} belongs to the {c} {v}.",
    ),
    "date": (
        "The {c} of {e} is {v}.",
        "{v} is the {c} given for {e}.",
        "For {e}, the {c} falls on {v}.",
        "The entry for {e} gives {v} as the {c}.",
        "{e} has {v} down as the {c}.",
        "As {c}, {v} is set against {e}.",
    ),
    "event": (
        "{e} was {c} {p} {v}.",
        "It was {p} {v} that {e} was {c}.",
        "{v} saw {e} {c}.",
        "{e}, according to the entry, was {c} {p} {v}.",
    ),
    "amount": (
        "{e} has {a} of {v}.",
        "The {c} of {e} is {v}.",
        "The {c} for {e} stands at {v}.",
        "{e} shows {a} of {v}.",
        "The {c} figure for {e} is {v}.",
        "{e} comes in at {v} for {c}.",
        "{v} is the {c} for {e}.",
        "For {e}, the {c} comes to {v}.",
        "With {a} of {v}, {e} takes its place in the list.",
    ),
    "count": (
        "{e} has {v} {c}.",
        "{e} is credited with {v} {c}.",
        "The tally of {c} for {e} is {v}.",
        "{e} counts {v} {c}.",
        "In {c}, {e} stands at {v}.",
        "The count of {c} for {e} comes to {v}.",
        "There are {v} {c} listed for {e}.",
        "With {v} {c}, {e} takes its place in the list.",
    ),
    "amounts": (
        "{e} stands at {v} in {c}.",
        "{e} reaches {v} in {c}.",
        "For {e}, {v} is given under {c}.",
        "In {c}, {e} comes to {v}.",
        "The figure of {e} for {c} is {v}.",
    ),
    "many": (
        "Under {c}, {e} has {v}.",
        "{e} has {v} listed under {c}.",
        "The {c} of {e} are given as {v}.",
        "For {e}, the {c} are {v}.",
        "{v} stands under {c} for {e}.",
    ),
    "unit": (
        "The {c} of {e} amounts to {v}.",
        "For {e}, the {c} comes to {v}.",
        "{e} is put at {v} for {c}.",
        "The {c} reported for {e} is {v}.",
        "{e} stands at {v} in {c}.",
        "{v} is reported as the {c} of {e}.",
        "{e} reaches {v} in {c}.",
    ),
    "period": (
        "For {c}, {e} is reported at {v}.",
        "{e} came to {v} for {c}.",
        "The {c} figure for {e} was {v}.",
        "{e} was put at {v} for {c}.",
        "The figure of {e} for {c} was {v}.",
    ),
    "category": (
        "{e} has {v} as the {c}.",
        "By {c}, {e} falls under {v}.",
        "The {c} of {e} is {v}.",
        "As for {c}, {e} is listed under {v}.",
        "{e} is grouped under {v} for {c}.",
        "For {e}, the {c} reads {v}.",
        "{v} is the {c} of {e}.",
    ),
    "name": (
        "{v} is the {c} of {e}.",
        "{e} lists {v} as the {c}.",
        "The {c} for {e} is {v}.",
        "The entry for {e} names {v} as the {c}.",
        "{e} has {v} as the {c}.",
        "As {c}, {e} has {v}.",
        "For {e}, {v} is given as the {c}.",
    ),
    "text": (
        "The {c} noted for {e} reads: {v}.",
        "Under {c}, the entry for {e} says: {v}.",
        "{e} carries this {c}: {v}.",
        "For {e}, the {c} is {v}.",
    ),
}

# The part of a sentence about one fact among several.
CLAUSES: dict[Style, tuple[str, ...]] = {
    "year": ("the {c} {v}", "{v} as the {c}"),
    "date": ("{v} as the {c}", "the {c} {v}", "{a} of {v}"),
    "amount": ("{a} of {v}", "{v} for {c}"),
    "count": ("{v} {c}",),
    "amounts": ("{v} in {c}", "{v} under {c}"),
    "many": ("{v} under {c}", "{v} for {c}"),
    "unit": ("{v} in {c}", "{v} as the {c}"),
    "period": ("{v} for {c}",),
    "event": ("{v} under {c}",),
    "category": ("{v} as the {c}", "the {c} {v}"),
    "name": ("{v} as the {c}",),
    "text": ("{v} as the {c}",),
}

FRAMES_OF_TWO = (
    "{e} has {l}.",
    "{e} is listed with {l}.",
    "The entry for {e} shows {l}.",
    "On record for {e} are {l}.",
    "Records give {e} {l}.",
    "For {e}, the list has {l}.",
    "{e} appears with {l}.",
    "Set against {e} are {l}.",
)
FRAMES_OF_THREE = (
    "{e} has {l}.",
    "{e} is listed with {l}.",
    "The entry for {e} shows {l}.",
    "On record for {e} are {l}.",
    "For {e}, the list gives {l}.",
    "{e} comes with {l}.",
)
# All facts of a row at once, for an entity that the table has more than once.
FRAMES_OF_RECORD = (
    "One entry for {e} has {l}.",
    "One record of {e} shows {l}.",
    "{e} has one entry with {l}.",
    "An entry for {e} gives {l}.",
    "{e} appears in one line with {l}.",
)

# Header words that are written small inside a sentence; any other word may be a name.
_COMMON = frozenset(
    """
    account address age album amount appearances area artist assists attendance author average
    award band base birth bronze capacity capital captain caps career cases category cause change
    channel commissioned
    chassis circuit city class club coach code college colour company competition constructor cost
    country county course cup currency date day days death deaths debut density depth description
    designer destination development director distance district division draws driver duration
    earnings elected election elevation employees engine entrant episode episodes event events
    festival field final finish first flag floors format founded founder frequency game games
    gender genre goals gold grid ground group head headquarters height high home host hull income
    incumbent industry instrument island issue joined kills label language laps last launch launched
    league length level licence license lines local location loss losses low lowest main
    manager manufacturer margin market material matches medal member members method minister
    mission model money month name names nation nationality network nickname notes number office
    official opened opening operator opponent opponents order origin original outcome owner parent
    partner party passengers path period picks place played player players points pole
    population position power premiere president previous price principal prize producer
    production profession profit province purse quantity race races rank ranking rate rating
    reach reason record region registration release released reserve result results retired revenue
    rider river role rounds round route runner runs sales school score scored scorer season
    seasons seat seats second section sector series service share ship shipped show silver site
    size source speed sponsor sport staff stadium stage start state station status storey street
    students style subject successor surface team teams tenure term terms third time times title
    top total tournament town tracks transfer tribe type types unit units university upset value
    venue version vessel viewers village visitor voltage volume votes week weight width winner
    winners winning wins year years
    """.split()
)
JOINING = frozenset("of per in by and for to at from the on no &".split())
_NOT_PLURAL = frozenset("series news species gross status basis".split())
_SPOKEN_VOWEL = frozenset("AEFHILMNORSX")
_PERIOD = re.compile(r"\b(?:19|20)\d\d\b")
EVENTS = frozenset(
    "founded established opened commissioned released built completed published launched created "
    "introduced discovered signed enacted formed constructed inaugurated premiered".split()
)
_SPOKEN_CONSONANT = ("uni", "use", "eu", "one")
_COUNT = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")


def label_of(header: str) -> str:
    """The header as it reads inside a sentence: small if all its words are common ones."""
    words = header.split()
    common = all(word.lower() in _COMMON or word.lower() in JOINING for word in words)
    return header.lower() if common else header


def with_article(label: str) -> str:
    """The label with *a* or *an*, as its first word is spoken."""
    first = label.split()[0]
    if first.lower().startswith(_SPOKEN_CONSONANT):
        return f"a {label}"
    spelled_out = first.isupper() and len(first) > 1
    vowel = first[0] in _SPOKEN_VOWEL if spelled_out else first[0].lower() in "aeiou"
    return f"{'an' if vowel else 'a'} {label}"


def is_plural(label: str) -> bool:
    """Whether the last word of a label is a plural."""
    last = label.split()[-1].casefold()
    return (
        len(last) > 3
        and last.isalpha()
        and last.endswith("s")
        and not last.endswith(("ss", "us", "is"))
        and last not in _NOT_PLURAL
    )


class Pattern(NamedTuple):
    """Literal text around the entity and around the item (value or listing), in order."""

    before: str
    between: str
    after: str
    entity_first: bool


class Clause(NamedTuple):
    """Literal text around one value."""

    before: str
    after: str


class Wording(NamedTuple):
    """All ways to speak of one column's value."""

    single: tuple[Pattern, ...]
    clauses: tuple[Clause, ...]


def _pattern(text: str, item: str) -> Pattern:
    entity_at, item_at = text.index("{e}"), text.index(item)
    first, second = sorted((entity_at, item_at))
    return Pattern(text[:first], text[first + 3 : second], text[second + 3 :], entity_at < item_at)


def _wording(style: Style, label: str, preposition: str = "in") -> Wording:
    def named(text: str) -> str:
        text = text.replace("{c}", label).replace("{a}", with_article(label))
        return text.replace("{p}", preposition)

    clauses = (named(text).split("{v}") for text in CLAUSES[style])
    return Wording(
        tuple(_pattern(named(text), "{v}") for text in SINGLE[style]),
        tuple(Clause(before, after) for before, after in clauses),
    )


_FRAMES = {
    2: tuple(_pattern(text, "{l}") for text in FRAMES_OF_TWO),
    3: tuple(_pattern(text, "{l}") for text in FRAMES_OF_THREE),
}
_SIZES = (1, 1, 2, 2, 2, 3, 3)  # facts a sentence
_RECORDS = tuple(_pattern(text, "{l}") for text in FRAMES_OF_RECORD)


class Speaker:
    """Puts the rows of one table into words."""

    def __init__(self, typed: TypedTable, repeated: Container[str]) -> None:
        self._names = typed.table.columns
        self._key = typed.key
        self._repeated = repeated
        self._wordings = [_wordings_of(column) for column in typed.columns]

    def state(
        self, row: Row, columns: Sequence[int], violates: str | None, rng: Random
    ) -> StatedRow:
        """Sentences that state every given cell of a row once, the entity in each.

        One to three facts a sentence; an entity that stands in the table more than once gets
        one sentence with all its facts, so that no sentence leaves open which row it is about.
        The key itself is recorded in the first sentence.
        """
        entity = row[self._key] or ""
        given = [index for index in columns if index != self._key and row[index] is not None]
        random = rng.random
        # Fisher-Yates without the checks of Random.shuffle, which would cost the most here.
        for last in range(len(given) - 1, 0, -1):
            other = int(random() * (last + 1))
            given[last], given[other] = given[other], given[last]
        is_record = entity in self._repeated
        sentences: list[Sentence] = []
        start, count = 0, len(given)
        while start < count:
            size = count if is_record else _SIZES[int(random() * len(_SIZES))]
            facts = given[start : start + size]
            sentences.append(self._sentence(row, entity, facts, is_record, start == 0, random))
            start += size
        return StatedRow(entity, tuple(sentences), violates)

    def _sentence(
        self,
        row: Row,
        entity: str,
        facts: list[int],
        is_record: bool,
        with_key: bool,
        random: Callable[[], float],
    ) -> Sentence:
        """One sentence about some cells; the key is recorded as stated where asked for."""
        single = len(facts) == 1 and not is_record
        if single:
            patterns = self._wording(facts[0], row[facts[0]] or "").single
        else:
            patterns = _RECORDS if is_record else _FRAMES[len(facts)]
        before, between, after, entity_first = patterns[int(random() * len(patterns))]
        text = f"{before}{entity}{between}" if entity_first else before
        entity_at = len(before)
        stated = []
        last = len(facts) - 1
        for position, index in enumerate(facts):
            value = row[index] or ""
            if single:
                left = right = ""
            else:
                clauses = self._wording(index, value).clauses
                left, right = clauses[int(random() * len(clauses))]
                if position:
                    text += " and " if position == last else ", "
            start = len(text) + len(left)
            text = f"{text}{left}{value}{right}"
            stated.append(Stated(self._names[index], value, start, start + len(value)))
        if not entity_first:
            entity_at = len(text) + len(between)
            text = f"{text}{between}{entity}"
        if with_key:
            name = self._names[self._key]
            stated.append(Stated(name, entity, entity_at, entity_at + len(entity)))
        if text.endswith(".") and after == ".":
            after = ""  # "Inc." ends its sentence
        return Sentence(text + after, tuple(stated))

    def _wording(self, index: int, value: str) -> Wording:
        usual, counted = self._wordings[index]
        return counted if counted and value != "1" and _COUNT.fullmatch(value) else usual


def _wordings_of(column: Column) -> tuple[Wording, Wording | None]:
    """The usual wording, and the one for plain counts where the header is a plural."""
    label = label_of(column.name)
    plural = is_plural(label)
    if column.kind in ("category", "name", "text"):
        return _wording("many" if plural else column.kind, label), None
    if column.kind in ("year", "date"):
        if label in EVENTS:
            return _wording("event", label, "in" if column.kind == "year" else "on"), None
        return _wording(column.kind, label), None
    if _PERIOD.search(label):
        return _wording("period", label), None
    if plural or "(" in label:
        counted = _wording("count", label) if plural and not any(column.unit) else None
        return _wording("amounts", label), counted
    return _wording("unit" if any(column.unit) else "amount", label), None
