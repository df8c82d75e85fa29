"""How a row is put into words: each cell once, verbatim, in passages that name their entity.

A passage is one to three sentences; the first names the entity, the others refer back to it. What
is said of a value depends on its column's label, its kind and what the rows are: a predicate
("sells for 5 USD", "was built by X", "has a price of 5 USD"), or what stands behind one ("in heat
3") or behind the name ("(1972)"). Predicates that begin alike share their verb: "was built by X and
owned by Y". The words are in ``sentences.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from copy import copy
from functools import lru_cache, reduce
from itertools import groupby, takewhile
from random import Random
from typing import NamedTuple

from tablemend.datasets.source_tables.columns import Column, TypedTable, words_of
from tablemend.datasets.source_tables.names import MONTH
from tablemend.programs.nouns import plural_of
from tablemend.tables.table import Cell
from tablemend.tasks.tablehallu.compose import Sentence, StatedRow, ValueSpan
from tablemend.tasks.tablehallu.labels import (
    AGENTS,
    EVENTS,
    GENERAL,
    JOINING,
    NO_VALUE,
    ORDINALS,
    PARTICIPLES,
    PASSIVE,
    PERIOD,
    PERSONAL,
    PERSONS,
    QUANTITIES,
    SUBJECTS,
    WORDS,
    YEAR,
    Label,
    are_persons,
    articled,
    kind_of,
    labels_of,
    named,
    phrases_for,
    row_noun,
)
from tablemend.tasks.tablehallu.rows import Row
from tablemend.values.text import singular

_DATE = re.compile(rf"{MONTH.pattern}|\d{{4}}-\d\d-\d\d", re.I)
_DAY = re.compile(r"(?<!\d)\d\d?(?!\d)")
_AFTER = re.compile(r"(?<=\{v\} )[a-z]+s\b")
_CODE = re.compile(r".*\d")
_DONE = re.compile(r"\w{2,}[^e]ed")
_NO_NUMBER = re.compile(rf"(?!.*\d|{MONTH.pattern})", re.I)
_NAMED = re.compile(r"\D*[^\W\d_]{3}")
_SIDE = re.compile(r"(?:home|away|neutral)$", re.I)
_RANK = re.compile(r"\d+(?:st|nd|rd|th)$")
_PARTICIPLE = re.compile(r"(?:first )?(?!against)\w+(?:ed|[eow]n|rn|lt|ld|id|de|un|st) ")
_FULL_NAME = re.compile(
    r"[^\W\d_][^\d()\[\],/&]* (?P<family>[^\W\d_][^\s\d()\[\],/&]*[^\W\d_])"
    r"(?: (?i:jr|sr|jnr)\.?| I+)?"
)
_PLANS: dict[int, tuple[tuple[int, ...], ...]] = {
    0: ((0,),),
    1: ((1,),),
    2: ((2,), (2,), (2,), (1, 1)),
    3: ((3,), (2, 1), (1, 2)),
    4: ((2, 2), (3, 1), (1, 3)),
    5: ((3, 2), (2, 3)),
    6: ((3, 3), (2, 2, 2)),
    7: ((3, 2, 2), (2, 3, 2), (2, 2, 3)),
}
"""Number of facts of a passage -> how many each of its sentences may join."""
APART = 0.4
"""Share of passages that say with the name what an entity is, where not all are of one kind."""
BEHIND = 0.9
"""Share of what may stand behind the name that does."""
_CARRIERS = frozenset(WORDS["carriers"].split())
_HAPPENED = frozenset(WORDS["happened"].split())
_WHERE = ("at ", "@", "vs")
new = tuple.__new__  # skips the keyword handling of named tuples


class Clause(NamedTuple):
    """Literal text around one value."""

    before: str
    after: str


Phrase = tuple[int, Clause, tuple[tuple[int, Clause], ...]]
"""A column, what is said around its value, and the same of the columns said right behind it."""
Way = tuple[str, Clause]
"""One way to say a value: part of a sentence ("v" predicate, "p" what follows one, "h" what follows
the name) and the words."""


class Wording(NamedTuple):
    """All ways to speak of one column's value.

    Attributes:
        is_number: the values have digits, or are dates.
        ways, one, entry: any of them, those for the value 1, those for what is no such value.
        follows: it can stand behind a predicate or the name.
    """

    is_number: bool
    ways: Sequence[Way]
    one: Sequence[Way]
    entry: Sequence[Way]
    follows: bool


@lru_cache(maxsize=1 << 13)
def _wording(label: Label, kind: str, cells: str, rows: tuple[str, ...], past: bool) -> Wording:
    """All ways to speak of a column.

    Args:
        label: what it is called.
        kind: of the column; "measure" of numbers with a unit, which count nothing.
        cells: what they are, as in ``sentences.yaml``; followed by "!" if they repeat the label.
        rows: what they are, from a noun to "any", as there.
        past: tense of the verbs.
    """
    name, before, after = label.name, label.before, label.after
    full = value = f"{before}{{v}}{after}"
    folded, of = name.lower(), cells.removesuffix("!")
    noun, _, last = folded.rpartition(" ")
    is_of_persons = "persons" in rows
    has_unit, on = kind == "measure" or bool(before or after), "in" if kind == "year" else "on"
    is_deed = last in PARTICIPLES or _DONE.fullmatch(last) is not None
    said = phrases_for(name, rows, of)
    if of == "times" and folded in EVENTS:
        said = [f"was {EVENTS[folded]} {on} {{v}}"]
        if is_of_persons and said[0].split()[1] not in WORDS["personal"]:
            said = []
    elif not said and of == "codes" and folded in EVENTS:
        said = [f"was {EVENTS[folded]} in {{v}}"]
    elif not said and of != "numbers" and PASSIVE.fullmatch(folded):
        said = [f"was {folded} {{v}}"]
    elif not said and of == "times" and is_deed and not noun:
        said = [f"{'' if folded in WORDS['intransitive'] else 'was '}{folded} {on} {{v}}"]
    if of != cells:  # beside the value the word is left out where the value has it
        echo = re.compile(rf"{re.escape(last)} (?={{v}})|(?<={{v}}) {re.escape(last)}")
        said = [text for text in said if last not in echo.sub("", text)]
    said = [
        text
        for text in said
        if (has_unit or "{u}" not in text) and (after[:4] != " in " or text[-1] == "}")
    ]
    if {folded.split()[0], last} & JOINING:  # it would not stand apart: 5 under "Starting from"
        name = f'"{name}"'
    whole, called, one = name, name, ""
    if PERIOD.fullmatch(name):
        what, whole = "period", f"entry for {name}"
    elif not label.is_plain or (is_deed and of != "numbers"):
        what, called = "odd", name if name[0] == '"' else f'"{name}"'
    elif label.is_plural and after[:4] == " in ":
        what, value, called = "counted", f"{before}{{v}}", f"{name}{after}"
        whole = f"number of {name}"
    elif label.is_counted and (kind == "number" or of == "codes"):
        what, one = "counted", _singular(name)
        whole = f"number {'of ' if noun or last not in PARTICIPLES else ''}{name}"
        if folded.startswith("total "):
            what, called, one, whole = "total", name[6:], one[6:], f"total number of {name[6:]}"
        elif not said and last in AGENTS:
            said = [f"{AGENTS[last]} {{v}} {noun}".rstrip()]
    elif of == "numbers":
        what = "quantity" if has_unit or last in QUANTITIES else "figure"
        what = "which" if last in ORDINALS and not has_unit else what
    elif last in QUANTITIES and of != "words":
        what = "quantity"
    else:
        what = of if of in ("times", "words") else "words" if label.is_plural else "codes"

    def spoken(texts: Sequence[str], value: str, called: str) -> list[Way]:
        slots = [("{u}", "{v}"), ("{on}", on), ("{c}", called), ("{a}", articled(called))]
        slots.append(("{v}", value))
        return [
            _way(reduce(lambda done, slot: done.replace(*slot), slots, text), past)
            for text in texts
        ]

    ones = [_AFTER.sub(lambda counted: _singular(counted[0]), text) for text in said]
    own, single = spoken(said, full, name), spoken(ones, full, one or name)
    for ways, count in ((own, called), (single, one or called)):
        if all(part in "ph" for part, _ in ways):
            ways += spoken(GENERAL[what], value, count)
    return Wording(
        of in ("numbers", "times") or "time" in folded.split(),
        own,
        single,
        spoken(
            phrases_for(name, ("any",), "entries") or GENERAL["clause"],
            "{v}",
            f"the {whole}" if label.is_plain else whole,
        ),
        any(part in "ph" for part, _ in own),
    )


@lru_cache(maxsize=1 << 16)
def _is_entry(value: str, is_number: bool) -> bool:
    """Whether it says that there is no value: "Did not enter", "DSQ" among numbers."""
    return bool(NO_VALUE.match(value) or (is_number and _NO_NUMBER.match(value)))


def _way(phrase: str, past: bool) -> Way:
    """A phrase of ``sentences.yaml``, in the tense."""
    verb, _, rest = phrase.partition(" ")
    if part := {"+": "p", "~": "h"}.get(verb):
        return part, _clause(f" {rest}")
    present, _, ago = {"with": "has/had", "is": "is/was"}.get(verb, verb).partition("/")
    return "v", _clause(f"{ago if past and ago else present} {rest}")


def _clause(text: str) -> Clause:
    return Clause(*text.split("{v}"))


def _singular(label: str) -> str:
    """``final appearance`` of ``final appearances``."""
    words = label.split()
    place = next((n for n in range(len(words) - 1, -1, -1) if words[n].endswith("s")), -1)
    word = words[place]
    stem = word[:-2] if word.endswith(("shes", "ches", "xes", "sses")) else singular(word)
    words[place] = f"{word[:-3]}y" if word.endswith("ies") and len(word) > 4 else stem
    return " ".join(words)


_Random = Callable[[], float]


class RowVerbaliser:
    """Puts the rows of one table into words; ``repeated`` entities have several rows.


    Attributes:
        rows: what a query calls the rows: a plural.
        noun: what an entity is; may be empty.
        is_of_persons: the entities are persons.
        is_event: they are what happened.
        labels: what the columns are called.
    """

    def __init__(self, typed: TypedTable, repeated: Container[str]) -> None:
        columns, key = typed.columns, typed.key
        self._names = typed.table.columns
        self._key = key
        self._is_panel = any((row[key] or "") in repeated for row in typed.table.rows)
        header = columns[key].name
        headers = [header.lower(), *(column.name.lower() for column in columns)]
        for keys, others, subject in WORDS["subjects_by_columns"]:
            if headers[0] in keys and not {*headers}.isdisjoint(others):
                header = subject
        names = [row[key] or "" for row in typed.table.rows]
        phrase, noun, self.rows = SUBJECTS.get(header.lower()) or ("{e}", row_noun(header), "")
        if not noun and (kind := kind_of(typed)):
            self.rows, noun = kind, singular(kind) if kind in WORDS["kinds"] else ""
        is_a_person = noun.rpartition(" ")[2] in PERSONAL
        is_a_person |= are_persons(headers, names, PERSONS[bool(noun)])
        self.is_of_persons = phrase == "{e}" and is_a_person  # a match against X is none
        if not self.rows:
            plural = noun if noun in WORDS["same"] else plural_of(noun)
            self.rows = plural if noun else ("entries", "people")[self.is_of_persons]
        signs = {*headers, *words_of(typed.table.title).split()}
        if noun == "match" and not signs.isdisjoint(WORDS["games"]):
            phrase, self.rows = (text.replace("match", "game") for text in (phrase, self.rows))
        self.noun = "game" if "game against" in phrase else noun
        self._says_kind = False
        self._before, self._after = phrase.split("{e}")
        self.labels = labels_of(columns)
        self._is_number = [column.kind == "number" for column in columns]
        self.is_event = is_event = noun.rpartition(" ")[2] in _HAPPENED
        things = ("events", "things") if is_event else ("things",)
        kinds = (noun, *(("persons",) if self.is_of_persons else things), "any")
        cells_of = zip(*typed.table.rows, strict=True)
        read = [_kinds(*each) for each in zip(columns, self.labels, cells_of, strict=True)]
        tellers = (*typed.distinguishing, *range(len(columns)))
        is_dated = is_event or self._is_panel or self.is_of_persons
        found = (self._time_of(typed, index, is_dated) for index in tellers)
        self._time = next(filter(None, found), None)
        # "The line" would name one of several if "Upper Line" is another.
        self._is_apart = bool(noun) and not any(noun in name.lower() for name in names)
        self._pronouns = [f"the {self.noun}"] if self._is_apart else []
        if not self.is_of_persons and noun not in ("team", "club"):  # "the Bengals", "it"
            self._pronouns += ["it", "it"]
        past = bool(is_event or self._time or YEAR.search(typed.table.title))
        past |= not {*headers}.isdisjoint(WORDS["past"].split())
        self._wordings = [
            _wording(label, *of, kinds, past) for label, of in zip(self.labels, read, strict=True)
        ]
        self._follows = [wording.follows for wording in self._wordings]
        self._is_inner = [all(way[0] != "h" for way in w.ways) for w in self._wordings]

    def with_kinds(self) -> RowVerbaliser:
        """One that says what an entity is where its name does not: "the ship Mary"."""
        speaker = copy(self)
        speaker._says_kind = not self._before
        return speaker

    def _time_of(self, typed: TypedTable, index: int, is_dated: bool) -> tuple[int, Clause] | None:
        """The column whose value opens a sentence, and what is said around it."""
        column, label = typed.columns[index], self.labels[index].name
        is_year = column.kind == "year" and label.endswith(" year") and label not in EVENTS
        said = WORDS["times"].get(label.lower(), WORDS["times"]["* year"] if is_year else None)
        if said is None or index == self._key or not column.usable:
            return None
        if not is_dated and not said.startswith("On "):  # of works: "Solaris (1972)"
            return None
        cells = [row[index] or "" for row in typed.table.rows]
        pattern = _DATE if said.startswith("On ") else YEAR
        if not all(pattern.search(cell) for cell in cells if cell):
            return None
        if not all(_DAY.search(cell) for cell in cells if cell):
            said = said.replace("On ", "In ")
        return index, _clause(said.replace("{c}", label))

    def themes(self, columns: Sequence[int], rng: Random) -> list[list[int]]:
        """The columns that one passage states: all, or words before numbers.

        The rows of an entity with several ones are one passage each, with their time.
        """
        shown = [index for index in columns if index != self._key]
        numbers = [index for index in shown if self._is_number[index]]
        others = [index for index in shown if not self._is_number[index]]
        if self._is_panel or min(len(numbers), len(others)) < 2 or rng.random() < 0.5:
            return [shown]
        return [others, numbers]

    def state(self, row: Row, themes: Sequence[Sequence[int]], rng: Random) -> StatedRow:
        """Passages that state every cell of a row that is not blank once, one a theme.

        The key itself is recorded in the first one.
        """
        random, passages = rng.random, list[Sentence]()
        for theme, columns in enumerate(themes):
            given = [index for index in columns if row[index] is not None]
            if given:
                passages.append(self._passage(row, given, theme, not passages, random))
        return StatedRow(row[self._key] or "", tuple(passages))

    def _passage(
        self, row: Row, facts: list[int], theme: int, with_key: bool, random: _Random
    ) -> Sentence:
        entity = row[self._key] or ""
        stated: list[ValueSpan] = []
        time = self._time if self._time and self._time[0] in facts else None
        if time is not None and len(facts) > 1:
            facts.remove(time[0])
        else:
            time = None
        # Fisher-Yates without the checks of Random.shuffle, which would cost the most here.
        for last in range(len(facts) - 1, 0, -1):
            other = int(random() * (last + 1))
            facts[last], facts[other] = facts[other], facts[last]
        facts.sort(key=self._is_inner.__getitem__)
        plans = _PLANS.get(len(facts)) or ((3,) * -(-len(facts) // 3),)
        plan = plans[int(random() * len(plans))]
        before, is_later = self._before, False
        if self._says_kind and self.noun not in entity.lower():
            is_later = self._is_apart and len(plan) > 1 and random() >= APART
            before = "" if is_later else f"the {self.noun} "
        elif before and entity.startswith(_WHERE):
            before = before.removesuffix("against ")
        text, position = "", 0
        for size in plan:
            said, home = self._draw(row, facts[position : position + size], not position, random)
            if position:
                subject = f"the {self.noun}" if is_later else self._pronoun(entity, random)
                text += f" {capital(subject)}"
                is_later = False
            else:
                if time:
                    text = f"{self._say('', row, [(*time, ())], stated)}, "
                article = named(entity)[: -len(entity)] if before == self._before else ""
                lead = before if before.endswith("the ") else before + article
                text += lead if time else capital(lead)
                if with_key:
                    key = (self._names[self._key], entity, len(text), len(text) + len(entity))
                    stated.append(new(ValueSpan, key))
                is_said = self._after.strip() in entity.lower().split()
                after = "" if is_said else self._after  # no "UK Championship championship"
                text = self._say(text + entity + after, row, home, stated)
            if said:
                text = self._say(f"{text} ", row, said, stated)
            text += "" if text.endswith(".") else "."  # "Inc." ends its sentence
            position += size
        return Sentence(text, tuple(stated), theme)

    def _pronoun(self, entity: str, random: _Random) -> str:
        """What a later sentence calls an entity: the family name, what it is, or "it"."""
        found = self.is_of_persons and _FULL_NAME.fullmatch(entity)
        names = [found["family"]] if found else self._pronouns or [entity]
        return names[int(random() * len(names))]

    def _draw(
        self, row: Row, facts: list[int], first: bool, random: _Random
    ) -> tuple[list[Phrase], list[Phrase]]:
        """A way to say each fact: predicates, by their verbs, and what follows the name."""
        said: list[Phrase] = []
        home: list[Phrase] = []
        behind: list[tuple[int, Clause]] = []
        for index in sorted(facts, key=self._follows.__getitem__):
            wording, value = self._wordings[index], row[index] or ""
            ways = wording.one if value == "1" else wording.ways
            if _is_entry(value, wording.is_number):
                ways = wording.entry
            if wording.follows:
                out = "h" if home or not first or len(facts) < 2 or "(" in value else ""
                out += "" if any(map(_carries, said)) else "p"
                ways = [way for way in ways if way[0] not in out]
                before = [way for way in ways if way[0] != "v"]
                ways = before if before and random() < BEHIND else ways
            part, clause = ways[int(random() * len(ways))]
            if part == "h":
                home.append((index, clause, ()))
            elif part == "p":
                behind.append((index, clause))
            else:
                said.append((index, clause, ()))
        if behind:
            host = max(range(len(said)), key=lambda place: _carries(said[place]))
            said.append((*said.pop(host)[:2], tuple(behind)))
        verbs = [clause.before.split(" ")[0] for _, clause, _ in said]
        return sorted(said, key=lambda phrase: verbs.index(phrase[1].before.split(" ")[0])), home

    def _say(self, text: str, row: Row, phrases: Sequence[Phrase], stated: list[ValueSpan]) -> str:
        """The text with the values of some columns behind it."""
        groups = list[list[Phrase]]()
        shares = list[str]()
        for _, alike in groupby(phrases, lambda phrase: phrase[1].before.split(" ")[0]):
            group = [*alike]
            shared = _shared([clause.before for _, clause, _ in group])
            parts = [group] if shared else [[phrase] for phrase in group]
            groups += parts
            shares += [shared] * len(parts)
        is_long = max(map(len, groups), default=1) > 1
        for number, (group, shared) in enumerate(zip(groups, shares, strict=True)):
            if number:
                is_last = number == len(groups) - 1
                text += (", and " if is_long else " and ") if is_last else ", "
            for place, (index, clause, behind) in enumerate(group):
                before, after = clause
                if place:
                    text += " and " if place == len(group) - 1 else ", "
                    before = before[len(shared) :]
                for column, (lead, end) in ((index, (before, after)), *behind):
                    value = row[column] or ""
                    text = self._value(f"{text}{lead}", column, value, stated)
                    if not end or not value.casefold().endswith(end.casefold()):
                        text += end  # no "Labor Party party"
        return text

    def _value(self, text: str, column: int, value: str, stated: list[ValueSpan]) -> str:
        """The text with a value behind it; a word that the value repeats is not said twice."""
        word = text[:-1].rpartition(" ")[2]
        if text.endswith(" a ") and value.lower().split()[-1] in WORDS["no_article"]:
            text = text[:-2]
        elif text.endswith(" a ") and value[0] in "AEIOUaeiou":
            text = f"{text[:-1]}n "
        elif text.endswith(" at ") and value.lower() == "away":
            text = text[:-3]
        elif text.endswith(" ") and value.casefold().startswith(f"{word.casefold()} "):
            text = text[: -len(word) - 1]
        elif not text.endswith((" (", ' "', "'s ", " the ")):
            text += named(value)[: -len(value)]
        stated.append(
            new(ValueSpan, (self._names[column], value, len(text), len(text) + len(value)))
        )
        return text + value


def _shared(clauses: Sequence[str]) -> str:
    """The words that clauses begin with alike, so that one says them once: "was "."""
    words = zip(*(clause.split(" ")[:-1] for clause in clauses), strict=False)
    same = [one for one, *others in takewhile(lambda alike: len({*alike}) == 1, words)]
    if same and same[-1] in ("a", "an", "the"):
        same.pop()
    shared = " ".join([*same, ""])
    if len(clauses) < 2 or not same or same == ["took"]:
        return ""
    if same[0] in ("is", "was") and len(same) == 1:
        return shared if all(_PARTICIPLE.match(c[len(shared) :]) for c in clauses) else ""
    return shared


def _carries(phrase: Phrase) -> bool:
    """Whether something can stand behind it: "finished 3rd in the marathon"."""
    return not _CARRIERS.isdisjoint(phrase[1][0].split()[:2])


def _kinds(column: Column, label: Label, cells: Sequence[Cell]) -> tuple[str, str]:
    """The kind of a column and what its cells are, as :func:`_wording` takes them."""
    filled = [cell for cell in cells if cell]
    if column.kind == "number":
        return "measure" if any(unit.strip(".") for unit in column.unit) else "number", "numbers"
    if column.kind in ("year", "date"):
        days = column.kind == "date" and 5 * sum(map(bool, map(_DAY.search, filled))) > 4 * len(
            filled
        )
        return "date" if days else "year", "times"
    last = label.name.rpartition(" ")[2].lower()
    echoes = "!" if any(last in cell.lower() for cell in filled[:20]) else ""
    for of, looks in (("sides", _SIDE), ("ranks", _RANK), ("words", _NAMED), ("codes", _CODE)):
        if sum(map(bool, map(looks.match, filled))) >= 0.8 * len(filled):
            return "text", of + echoes
    return "text", "letters"


def capital(text: str) -> str:
    """The text with a capital at its start."""
    return text[:1].upper() + text[1:]
