"""How a row is put into words: each cell once, verbatim, in passages that name their entity.

A passage is one to four sentences; the first names the entity, the others refer back to it. What
is said of a value depends on its column's label, its kind and what the rows are: predicates
("sells for 5 USD"), participles ("built by X"), what one has ("a price of 5 USD") and what is so
("its price is 5 USD"). The patterns that join them and the words are in ``sentences.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from functools import lru_cache, reduce
from itertools import takewhile
from random import Random
from typing import NamedTuple

from tablemend.datasets.source_tables.columns import Column, TypedTable
from tablemend.datasets.source_tables.letter_case import MONTH
from tablemend.datasets.tablehallu.compose import Sentence, Stated, StatedRow
from tablemend.datasets.tablehallu.labels import (
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
from tablemend.datasets.tablehallu.rows import Row
from tablemend.programs.nouns import plural_of
from tablemend.tables.table import Cell
from tablemend.values.places import singular

_DATE = re.compile(rf"{MONTH.pattern}|\d{{4}}-\d\d-\d\d", re.I)
_DAY = re.compile(r"(?<!\d)\d\d?(?!\d)")
_OF_NAMES = re.compile(r"\{e\}(?:,| \()|of \{e\}")
"""Patterns that a pronoun does not fit."""
_SLOT = re.compile(r"\{(\w+)\}")
_CODE = re.compile(r".*\d")
_DONE = re.compile(r"\w{2,}[^e]ed")
_NO_NUMBER = re.compile(rf"(?!.*\d|{MONTH.pattern})", re.I)
_NAMED = re.compile(r"\D*[^\W\d_]{3}")
_SIDE = re.compile(r"(?:home|away|neutral)$", re.I)
_RANK = re.compile(r"\d+(?:st|nd|rd|th)$")
_FULL_NAME = re.compile(
    r"[^\W\d_][^\d()\[\],/&]* (?P<family>[^\W\d_][^\s\d()\[\],/&]*[^\W\d_])(?: (?:Jr|Sr)\.?| I+)?"
)
_PLANS: dict[int, tuple[tuple[int, ...], ...]] = {
    0: ((0,),),
    1: ((1,),),
    2: ((2,), (2,), (1, 1)),
    3: ((3,), (3,), (2, 1), (1, 2)),
    4: ((2, 2), (4,), (3, 1), (1, 3)),
    5: ((3, 2), (2, 3), (4, 1), (2, 2, 1)),
    6: ((3, 3), (2, 2, 2), (4, 2), (2, 4)),
    7: ((3, 2, 2), (2, 3, 2), (3, 4), (2, 2, 3)),
}
"""Number of facts of a passage -> how many each of its sentences may join."""
APART = 0.4
"""Share of passages that say with the name what an entity is, where not all are of one kind."""
BEHIND = 0.8
"""Share of what may stand behind the name that does."""
_WORDS = ("words", "codes", "letters", "times", "sides", "ranks")
_CARRIERS = frozenset(WORDS["carriers"].split())
_HAPPENED = frozenset(WORDS["happened"].split())
_LEADS = ("its", "Its", "its2", "whose")
_WHERE = ("at ", "@", "vs")
new = tuple.__new__  # skips the keyword handling of named tuples


class Clause(NamedTuple):
    """Literal text around one value."""

    before: str
    after: str


Phrase = tuple[int, Clause, tuple[tuple[int, Clause], ...]]
"""A column, what is said around its value, and the same of the columns said right behind it."""
Way = tuple[str, Clause, Clause]
"""One way to say a value: part of a sentence ("d" participle, "v" predicate, "n" what one has, "s"
what is so, "p" what follows a predicate, "h" what follows the name), the words, and for "d" the
same as a predicate."""


class Wording(NamedTuple):
    """All ways to speak of one column's value.

    Attributes:
        is_number: the values have digits, or are dates.
        ways, one, entry: any of them, those for the value 1, those for what is no such value.
        whole, verb: what is so, in two pieces: "of" and the name stand between them.
        noted: "price: 5 USD".
        follows: it can stand behind a predicate or the name.
    """

    is_number: bool
    ways: Sequence[Way]
    one: Sequence[Way]
    entry: Sequence[Way]
    whole: str
    verb: Clause
    noted: Clause
    follows: bool


@lru_cache(maxsize=1 << 13)
def _wording(
    label: Label,
    kind: str,
    cells: str,
    rows: tuple[str, ...],
    past: bool,
) -> Wording:
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
    said = [
        text
        for text in said
        if (has_unit or "{u}" not in text)
        and (of == cells or last not in text)
        and (after[:4] != " in " or text[-1] == "}")
    ]
    if {folded.split()[0], last} & JOINING:  # it would not stand apart: 5 under "Starting from"
        name = f'"{name}"'
    whole, called, one, is_one = name, name, "", not label.is_plural
    if PERIOD.fullmatch(name):
        what, whole = "period", f"entry for {name}"
    elif not label.is_plain or (is_deed and of != "numbers"):
        what = "odd"
    elif label.is_plural and after[:4] == " in ":
        what, value, called = "counted", f"{before}{{v}}", f"{name}{after}"
        whole, is_one = f"number of {name}", True
    elif label.is_counted and (kind == "number" or of == "codes"):
        what, one, is_one = "counted", _singular(name), True
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
        what = of if of in ("times", "words") else "codes"

    def spoken(texts: Sequence[str], value: str, called: str) -> list[Way]:
        slots = (
            ("{u}", "{v}"),
            ("{on}", on),
            ("{c}", called),
            ("{a}", articled(called)),
            ("{v}", value),
        )
        return [
            _way(reduce(lambda done, slot: done.replace(*slot), slots, text), past)
            for text in texts
        ]

    be = ("was" if past else "is") if is_one else ("were" if past else "are")
    so = _clause(f"{whole} {be} {full}")
    own, ways = spoken(said, full, name), spoken(GENERAL[what], value, called)
    if all(part in "ph" for part, *_ in own):
        own += ways if what not in (*_WORDS, "which") else [*ways * 2, ("s", so, so)]
    return Wording(
        of in ("numbers", "times") or "time" in folded.split(),
        own,
        spoken(said or GENERAL[what], value, one) if one else own,
        spoken(
            phrases_for(name, ("any",), "entries") or GENERAL["clause"],
            "{v}",
            f"the {whole}" if label.is_plain else whole,
        ),
        whole,
        _clause(f"{be} {full}"),
        _clause(f"{name}: {full}"),
        any(part in "ph" for part, *_ in own),
    )


@lru_cache(maxsize=1 << 16)
def _is_entry(value: str, is_number: bool) -> bool:
    """Whether it says that there is no value: "Did not enter", "DSQ" among numbers."""
    return bool(NO_VALUE.match(value) or (is_number and _NO_NUMBER.match(value)))


def _way(phrase: str, past: bool) -> Way:
    """A phrase of ``sentences.yaml``, in the tense."""
    verb, _, rest = phrase.partition(" ")
    clause = _clause(rest)
    if verb in ("with", "has/had"):
        return "n", clause, clause
    if part := {"+": "p", "~": "h"}.get(verb):
        clause = _clause(f" {rest}")
        return part, clause, clause
    part = "d" if verb in ("is", "was") else "v"
    present, _, ago = ("is/was" if verb == "is" else verb).partition("/")
    whole = _clause(f"{ago if past and ago else present} {rest}")
    if verb == "so":
        return "s", clause, clause
    return part, clause if part == "d" else whole, whole


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


Frame = tuple[tuple[str, str], ...]
"""A pattern of a sentence, cut into pairs of literal text and the slot behind it."""


@lru_cache(maxsize=512)
def _frames(which: str, has: str, later: bool, timed: bool) -> Mapping[str, tuple[Frame, ...]]:
    """The patterns of sentences, by what they join, with some words in their slots.

    Args:
        which: the word for the subject in a clause.
        has: the form of "has".
        later: the subject is a pronoun.
        timed: a time stands before the sentence.
    """

    def cut(text: str) -> Frame:
        known = {"has": has, "which": which}
        parts = _SLOT.split(_SLOT.sub(lambda slot: known.get(slot[1], slot[0]), text))
        return tuple(zip(parts[::2], [*parts[1::2], ""], strict=True))

    def fits(text: str) -> bool:
        if later:
            return _OF_NAMES.search(text) is None
        return not timed or text.startswith(("{e}", "the"))

    texts = WORDS["frames"] | (WORDS["later"] if later else {})
    return {
        parts: tuple(map(cut, [text for text in own if fits(text)] or own))
        for parts, own in texts.items()
    }


_Random = Callable[[], float]
_Manner = tuple[Sequence[Wording], Mapping[str, tuple[Frame, ...]]]


class Speaker:
    """Puts the rows of one table into words.

    Args:
        typed: the table.
        repeated: entities with several rows.

    Attributes:
        rows: what a query calls the rows: a plural.
        noun: what an entity is; may be empty.
        is_of_persons: the entities are persons.
        labels: what the columns are called.
    """

    def __init__(self, typed: TypedTable, repeated: Container[str]) -> None:
        columns, key = typed.columns, typed.key
        self._names = typed.table.columns
        self._key = key
        self._is_panel = any((row[key] or "") in repeated for row in typed.table.rows)
        header = columns[key].name
        headers = [header.lower(), *(column.name.lower() for column in columns)]
        for keys, signs, subject in WORDS["subjects_by_columns"]:
            if headers[0] in keys and not {*headers}.isdisjoint(signs):
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
        self.noun = noun
        self._says_kind = False
        self._before, self._after = phrase.split("{e}")
        self.labels = labels_of(columns)
        self._is_number = [column.kind == "number" for column in columns]
        is_event = noun.rpartition(" ")[2] in _HAPPENED
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
        self._pronouns = [f"the {noun}"] if self._is_apart else []
        if not self.is_of_persons:
            self._pronouns += ["it", "it"]
        past = bool(is_event or self._time or YEAR.search(typed.table.title))
        past |= not {*headers}.isdisjoint(WORDS["past"].split())
        which, has = "who" if self.is_of_persons else "which", "had" if past else "has"
        self._wordings = [
            _wording(label, *of, kinds, past) for label, of in zip(self.labels, read, strict=True)
        ]
        self._follows = [wording.follows for wording in self._wordings]
        self._is_inner = [all(way[0] != "h" for way in w.ways) for w in self._wordings]
        self._first, self._timed = (_frames(which, has, False, timed) for timed in (False, True))
        self._later = _frames(which, has, True, False)

    def with_kinds(self) -> Speaker:
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
        """Passages that state every given cell of a row once, one a theme.

        The key itself is recorded in the first one.

        Args:
            row: the cells.
            themes: the columns to state; blank cells are passed over.
            rng: what draws.
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
        stated: list[Stated] = []
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
        frames = self._timed if time else self._first
        if self._says_kind and self.noun not in entity.lower():
            is_later = self._is_apart and len(plan) > 1 and random() >= APART
            before = "" if is_later else f"the {self.noun} "
        elif before and entity.startswith(_WHERE):
            before = before.removesuffix("against ")
        text, position, subject = "", 0, ""
        for size in plan:
            parts, home = self._draw(row, facts[position : position + size], not position, random)
            what = "".join(part for part, phrases in parts.items() if phrases)
            if what in ("v", "n", "s", "vs") and len(parts[what[-1]]) > 1:
                what += what[-1]
            start, is_name = len(text), False
            if time and not position:
                text = f"{self._say(text, row, [(*time, ())], stated, '')}, "
                is_name = True
            among = frames[what]
            frame = among[int(random() * len(among))]
            if home or any("(" in (row[index] or "") for index, *_ in parts["s"]):
                frame = among[-1]  # no brackets within others
            for literal, slot in frame:
                text += literal
                if slot == "e" and position:
                    text += subject
                elif slot == "e":
                    is_name |= not before and len(text) == start and named(entity) == entity
                    text += before
                    if before == self._before and not before.endswith("the "):
                        text += named(entity)[: -len(entity)]
                    if with_key:
                        begin = len(text)
                        key = (self._names[self._key], entity, begin, begin + len(entity))
                        stated.append(new(Stated, key))
                    text += entity + self._after
                    if home:
                        text = self._say(text, row, home, stated, "")
                elif slot in _LEADS:
                    lead = "whose" if slot == "whose" else "the" if self.is_of_persons else "its"
                    is_start = len(text) == start or slot == "Its"
                    own = subject or self._pronoun(entity, random)
                    own = capital("its" if own == "it" else f"{own}'s")
                    text += f"{own if is_start else lead} "
                    phrases = parts["s"][1:] if slot == "its2" else parts["s"]
                    joint = " and " if slot == "whose" else f" and {lead} "
                    text = self._say(text, row, phrases, stated, joint)
                elif slot == "note":
                    noted = [(index, self._wordings[index].noted, ()) for index, *_ in parts["s"]]
                    text = self._say(text, row, noted, stated, "; ")
                elif slot == "c":
                    text += self._wordings[parts["s"][0][0]].whole
                elif slot == "be":
                    index = parts["s"][0][0]
                    verb = self._wordings[index].verb
                    text = self._say(text, row, [(index, verb, ())], stated, "")
                elif slot == "vv":
                    text = self._say(text, row, parts["v"], stated, ", ")
                elif slot:
                    phrases = parts[slot[0]]
                    if len(slot) > 1:
                        phrases = phrases[:1] if slot[1] == "1" else phrases[1:]
                    text = self._say(text, row, phrases, stated, " and ")
            if not is_name:
                text = text[:start] + capital(text[start:])
            # "Inc." ends its sentence
            text = f"{text[:-1] if text.endswith('..') else text} "
            frames = self._later
            subject = f"the {self.noun}" if is_later else self._pronoun(entity, random)
            position, is_later = position + size, False
        return Sentence(text[:-1], tuple(stated), theme)

    def _pronoun(self, entity: str, random: _Random) -> str:
        """What a later sentence calls an entity: "it", what it is, or the family name."""
        found = self.is_of_persons and _FULL_NAME.fullmatch(entity)
        names = [*self._pronouns, *([found["family"]] if found else [])] or [entity]
        return names[int(random() * len(names))]

    def _draw(
        self, row: Row, facts: list[int], first: bool, random: _Random
    ) -> tuple[dict[str, list[Phrase]], list[Phrase]]:
        """A way to say each fact, by the part of a sentence that it is; what follows the name."""
        parts: dict[str, list[Phrase]] = {"d": [], "v": [], "n": [], "s": []}
        home: list[Phrase] = []
        behind: list[tuple[int, Clause]] = []
        predicate: Phrase | None = None
        for index in sorted(facts, key=self._follows.__getitem__):
            wording, value = self._wordings[index], row[index] or ""
            ways = wording.one if value == "1" else wording.ways
            if _is_entry(value, wording.is_number):
                ways = wording.entry
            if wording.follows:
                out = "h" if home or not first or len(facts) < 2 or "(" in value else ""
                out += "" if any(map(_carries, (*parts["v"], *parts["d"]))) else "p"
                ways = [way for way in ways if way[0] not in out]
                before = [way for way in ways if way[0] == "h"]
                ways = before if before and random() < BEHIND else ways
            part, clause, other = ways[int(random() * len(ways))]
            if part == "d":
                if predicate or random() < 0.4:
                    part, clause = "v", other
                else:
                    predicate = index, other, ()
            if part == "h":
                home.append((index, clause, ()))
            elif part == "p":
                behind.append((index, clause))
            else:
                parts[part].append((index, clause, ()))
        if predicate and not (parts["v"] or parts["n"]):
            parts["v"], parts["d"] = [predicate], []
        if behind:  # the last but for that which carries it
            hosts = parts["v"] if any(map(_carries, parts["v"])) else parts["d"]
            hosts.sort(key=_carries)
            hosts[-1] = (*hosts[-1][:2], tuple(behind))
        return parts, home

    def _say(
        self, text: str, row: Row, phrases: Sequence[Phrase], stated: list[Stated], joint: str
    ) -> str:
        """The text with the values of some columns behind it."""
        last, shared = len(phrases) - 1, ""
        if last:  # "was built by X and owned by Y", but "was built by X and has Y as its owner"
            words = zip(*(before.split(" ")[:-1] for _, (before, _), _ in phrases), strict=False)
            same = [one for one, *others in takewhile(lambda w: len({*w}) == 1, words)]
            is_verb = same and same != ["took"] and same[0] not in ("a", "an", "the")
            shared = " ".join([*same, ""]) if is_verb else ""
        for place, (index, (before, after), behind) in enumerate(phrases):
            if place:
                text += joint if place == last or joint == "; " else f", {joint[5:]}"
                before = before[len(shared) :]
            for column, (lead, end) in ((index, (before, after)), *behind):
                value = row[column] or ""
                text += lead
                if lead.endswith(" a ") and value[0] in "AEIOUaeiou":
                    text = f"{text[:-1]}n "
                elif lead[-2:] not in (" (", ": ", ' "', "s ") and lead[:4] != "the ":
                    text += named(value)[: -len(value)]
                start = len(text)
                text = f"{text}{value}{end}"
                stated.append(new(Stated, (self._names[column], value, start, start + len(value))))
        return text


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


def heading_of(rows: str, title: str) -> str:
    """The heading of a context: only it says of the text what a title or "films of ..." does.

    Args:
        rows: what the query calls the rows.
        title: what the text is about; may be empty.
    """
    return capital(title or (rows if " " in rows else ""))


def capital(text: str) -> str:
    """The text with a capital at its start."""
    return text[:1].upper() + text[1:]
