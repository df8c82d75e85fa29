"""How a row is put into words: each cell once, verbatim, in passages that name their entity.

A passage is one to four sentences; the first names the entity, the others refer back to it. The
patterns and the lists of words are in ``sentences.yaml``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from functools import lru_cache
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import Column, TypedTable
from tablemend.datasets.tablehallu.compose import Sentence, Stated, StatedRow
from tablemend.datasets.tablehallu.invented_names import GIVEN
from tablemend.datasets.tablehallu.labels import (
    DEEDS,
    EVENTS,
    ORDINALS,
    PARTICIPLES,
    PASSIVE,
    STATES,
    SUBJECTS,
    WORDS,
    YEAR,
    Label,
    articled,
    labels_of,
    row_noun,
)
from tablemend.datasets.tablehallu.letter_case import MONTH
from tablemend.datasets.tablehallu.scope import Row
from tablemend.programs.nouns import WORDS as NOUNS
from tablemend.programs.nouns import (
    plural_of,
)
from tablemend.tables.table import Cell
from tablemend.values.places import singular

_DATE = re.compile(rf"{MONTH.pattern}|\d{{4}}-\d\d-\d\d", re.I)
_DAY = re.compile(r"(?<!\d)\d\d?(?!\d)")
_SLOT = re.compile(r"\{(\w+)\}")
_PLANS: dict[int, tuple[tuple[int, ...], ...]] = {
    0: ((0,),),
    1: ((1,),),
    2: ((2,), (2,), (1, 1)),
    3: ((3,), (2, 1), (1, 2)),
    4: ((2, 2), (3, 1), (4,), (2, 2)),
    5: ((3, 2), (2, 3), (2, 2, 1)),
    6: ((3, 3), (2, 2, 2), (4, 2), (2, 4)),
    7: ((3, 2, 2), (2, 3, 2), (3, 4), (2, 2, 3)),
}
"""Number of facts of a passage -> how many each of its sentences may join."""
PERSONS = (0.12, 0.4)
"""Share of names with a known given name (of a few hundred) from which on they are persons: without
and with a header that says something else."""
LEADS_OF = 3
"""Paragraphs without a lead for every one with."""
_LEADS: dict[str, list[str]] = WORDS["leads"]
_OF_MATCHES = {"score", "record"}
_GIVEN = frozenset(GIVEN)
_WHERE = ("at ", "@", "vs")
_WORDS_KINDS = ("category", "name", "text")
new = tuple.__new__  # skips the keyword handling of named tuples


class Clause(NamedTuple):
    """Literal text around one value."""

    before: str
    after: str


Told = tuple[int, Clause]
"""A column and what is said around its value."""


class Wording(NamedTuple):
    """All ways to speak of one column's value.

    Attributes:
        nouns: after "has".
        one: the same for the value 1.
        deeds: after "was"; often none.
        lasts: "is" stands before the deed.
        always: the deed is all that can be said.
        homes: right behind the name; often none.
        part: after "its", in the present and in the past tense.
        whole, verb: the same in two pieces: "of" and the name stand between them.
    """

    nouns: tuple[Clause, ...]
    one: tuple[Clause, ...]
    deeds: tuple[Clause, ...]
    lasts: bool
    always: bool
    homes: tuple[Clause, ...]
    part: tuple[Clause, Clause]
    whole: str
    verb: tuple[Clause, Clause]


@lru_cache(maxsize=1 << 12)
def _wording(label: Label, kind: str, its: str, echoes: bool) -> Wording:
    name, before, after = label.name, label.before, label.after
    folded, has_unit = name.lower(), bool(label.before or label.after)
    whole, are, one, homes = name, label.is_plural, None, list[str]()
    deeds = [DEEDS[folded]] if kind in _WORDS_KINDS and folded in DEEDS else []
    if kind in ("year", "date") and folded in EVENTS:
        deeds = [f"{EVENTS[folded]} {'in' if kind == 'year' else 'on'} {{v}}"]
    elif not deeds and kind in _WORDS_KINDS and PASSIVE.fullmatch(folded):
        deeds = [f"{folded} {{v}}"]
    if its == "their":
        deeds = [deed for deed in deeds if deed.split()[0] in WORDS["personal"]]
    if its == "their" and folded in WORDS["homes"]:
        homes = [" of {v}", " ({v})"]
    is_number = kind in ("number", "measure")
    if not is_number and label.is_plain:
        nouns = [f"{before}{{v}}{after} as {its} {name}"] * 2
        nouns += [] if echoes or deeds else [f"the {name} {{v}}"]
    elif YEAR.fullmatch(name):
        nouns, whole = [f"{before}{{v}}{after} in {name}"], f"entry for {name}"
    elif not label.is_plain:
        nouns = [f"{before}{{v}}{after} {'for' if is_number else 'under'} {name}"]
        whole = f"{'figure for' if is_number else 'entry under'} {name}"
    elif folded.split()[-1] in ORDINALS and kind == "number" and not has_unit:
        nouns = [f"{name} {{v}}"]
    elif label.is_counted and kind == "number":
        nouns, one = [f"{{v}}{after} {name}"], [f"{{v}}{after} {_singular(name)}"]
        whole, are = f"number of {name}", False
    else:
        nouns = [f"{articled(name)} of {before}{{v}}{after}"]
    verb = [f" {is_} {before}{{v}}{after}" for is_ in (("are", "were") if are else ("is", "was"))]
    present, past = _clauses([whole + said for said in verb])
    return Wording(
        nouns=_clauses(nouns),
        one=_clauses(one or nouns),
        deeds=_clauses(deeds),
        lasts=folded in STATES,
        always=folded.split()[0] in PARTICIPLES or bool(PASSIVE.fullmatch(folded)),
        homes=_clauses(homes),
        part=(present, past),
        whole=whole,
        verb=_clauses([said.removeprefix(" ") for said in verb]),  # type: ignore[arg-type]
    )


def _singular(label: str) -> str:
    """``final appearance`` of ``final appearances``."""
    words = label.split()
    place = next((n for n in range(len(words) - 1, -1, -1) if words[n].endswith("s")), -1)
    word = words[place]
    words[place] = f"{word[:-3]}y" if word.endswith("ies") else singular(word)
    return " ".join(words)


def _clauses(texts: Sequence[str]) -> tuple[Clause, ...]:
    return tuple(Clause(*text.split("{v}")) for text in texts)


Frame = tuple[tuple[str, str], ...]
"""A pattern of a sentence, cut into pairs of literal text and the slot behind it."""


@lru_cache(maxsize=512)
def _frames(section: str, words: tuple[tuple[str, str], ...]) -> Mapping[str, tuple[Frame, ...]]:
    """The patterns of a section, by what they tell, with some words in their slots."""
    known = dict(words)

    def cut(text: str) -> Frame:
        parts = _SLOT.split(_SLOT.sub(lambda match: known.get(match[1], match[0]), text))
        return tuple(zip(parts[::2], [*parts[1::2], ""], strict=True))

    return {key: tuple(map(cut, texts)) for key, texts in WORDS[section].items()}


def _words(
    past: bool, lasts: bool, several: bool = False, **others: str
) -> tuple[tuple[str, str], ...]:
    """Verbs that fit the subject and the tense, and other words of a pattern."""
    is_ = ("were" if several else "was") if past else ("are" if several else "is")
    was = is_ if lasts else "were" if several else "was"
    has = "had" if past else "have" if several else "has"
    return (("has", has), ("is", is_), ("was", was), *others.items())


class Speaker:
    """Puts the rows of one table into words.

    Args:
        typed: the table.
        repeated: entities with several rows.

    Attributes:
        rows: what a query calls the rows: a plural.
        before_names: what joins names to that, "against" of matches; mostly empty.
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
        if header.lower() == "team" and {column.name.lower() for column in columns} >= _OF_MATCHES:
            header = "opponent"
        names = [row[key] or "" for row in typed.table.rows]
        phrase, noun, self.rows = SUBJECTS.get(header.lower()) or ("{e}", row_noun(header), "")
        is_a_person = noun.rpartition(" ")[2] in NOUNS["persons"]
        self.is_of_persons = is_a_person or _are_persons(names, PERSONS[bool(noun)])
        if not self.rows:
            plural = noun if noun in WORDS["same"] else plural_of(noun)
            self.rows = plural if noun else ("entries", "people")[self.is_of_persons]
        self.noun = noun
        self._says_kind = False
        self._before, self._after = phrase.split("{e}")
        self.before_names = self._before.partition(f"{noun} ")[2].removesuffix("the ").strip()
        self.labels = labels_of(columns)
        self._its = its = "their" if self.is_of_persons else "its"
        self._and_its = f" and {its} "
        self._is_number = [column.kind == "number" for column in columns]
        self._wordings = [
            _wording(label, _kind(column), its, _echoes(label.name, cells))
            for label, column, cells in zip(
                self.labels, columns, zip(*typed.table.rows, strict=True), strict=True
            )
        ]
        tellers = (*typed.distinguishing, *range(len(columns)))
        found = (self._time_of(typed, index) for index in tellers)
        self._choice = [not wording.always for wording in self._wordings].__getitem__
        self._time = next(filter(None, found), None)
        # "The line" would name one of several if "Upper Line" is another.
        is_apart = noun and not any(noun in name.lower() for name in names)
        pronouns = [f"the {noun}"] if is_apart else []
        pronouns += ["they"] if self.is_of_persons and not is_apart else []
        pronouns += [] if self.is_of_persons else ["it", "it"]
        # By tense (present, past), then by the verb before deeds ("was built", "is owned").
        self._first: list[list[Mapping[str, tuple[Frame, ...]]]] = []
        self._later: list[list[Mapping[str, tuple[Frame, ...]]]] = []
        for past in (False, True):
            self._first.append([_frames("first", _words(past, lasts)) for lasts in (False, True)])
            self._later.append([self._frames_of(pronouns, past, lasts) for lasts in (False, True)])

    def with_kinds(self) -> Speaker:
        """One that says what an entity is where its name does not: "the ship Mary"."""
        speaker = copy(self)
        speaker._says_kind = not self._before
        return speaker

    def _frames_of(
        self, pronouns: Sequence[str], past: bool, lasts: bool
    ) -> Mapping[str, tuple[Frame, ...]]:
        found: dict[str, tuple[Frame, ...]] = {}
        for pronoun in pronouns:
            its = capital(self._its)
            words = _words(past, lasts, pronoun == "they", It=capital(pronoun), it=pronoun, Its=its)
            for what, frames in _frames("later", words).items():
                found[what] = found.get(what, ()) + frames
        return found

    def _time_of(self, typed: TypedTable, index: int) -> Told | None:
        """The column whose value opens a sentence, and what is said around it."""
        column, label = typed.columns[index], self.labels[index].name
        is_year = column.kind == "year" and label.endswith(" year") and label not in EVENTS
        said = WORDS["times"].get(label.lower(), WORDS["times"]["* year"] if is_year else None)
        if said is None or index == self._key or not column.usable:
            return None
        cells = [row[index] or "" for row in typed.table.rows]
        told = _DATE if said.startswith("On ") else YEAR
        if not all(told.search(cell) for cell in cells if cell):
            return None
        if not all(_DAY.search(cell) for cell in cells if cell):
            said = said.replace("On ", "In ")
        return index, _clauses([said.replace("{c}", label)])[0]

    def themes(self, columns: Sequence[int], rng: Random) -> list[list[int]]:
        """The columns that are told together: all, or words before numbers.

        The rows of an entity with several ones are told in one passage each, with their time.
        """
        told = [index for index in columns if index != self._key]
        numbers = [index for index in told if self._is_number[index]]
        others = [index for index in told if not self._is_number[index]]
        if self._is_panel or min(len(numbers), len(others)) < 2 or rng.random() < 0.5:
            return [told]
        return [others, numbers]

    def state(
        self, row: Row, themes: Sequence[Sequence[int]], violates: str | None, rng: Random
    ) -> StatedRow:
        """Passages that state every given cell of a row once, one a theme.

        The key itself is recorded in the first one.

        Args:
            row: the cells.
            themes: the columns to state; blank cells are passed over.
            violates: as in :class:`~tablemend.datasets.tablehallu.compose.StatedRow`.
            rng: what draws.
        """
        random, passages = rng.random, list[Sentence]()
        for theme, columns in enumerate(themes):
            given = [index for index in columns if row[index] is not None]
            if given:
                passages.append(self._passage(row, given, theme, not passages, random))
        return StatedRow(row[self._key] or "", tuple(passages), violates)

    def _passage(
        self, row: Row, facts: list[int], theme: int, with_key: bool, random: Callable[[], float]
    ) -> Sentence:
        entity, wordings = row[self._key] or "", self._wordings
        stated: list[Stated] = []
        time = self._time if self._time and self._time[0] in facts else None
        if time is not None:
            facts.remove(time[0])
        # Fisher-Yates without the checks of Random.shuffle, which would cost the most here.
        for last in range(len(facts) - 1, 0, -1):
            other = int(random() * (last + 1))
            facts[last], facts[other] = facts[other], facts[last]
        count = len(facts)
        plans = _PLANS.get(count) or ((3,) * -(-count // 3),)
        is_past = time is not None
        frames_of, text, position = self._first[is_past], "", 0
        for size in plans[int(random() * len(plans))]:
            home: Told | None = None
            deeds: list[Told] = []
            nouns: list[Told] = []
            lasts = False
            # What can be said in one way alone first: "opened in 2000", then what goes with it.
            for index in sorted(facts[position : position + size], key=self._choice):
                wording = wordings[index]
                if not position and size > 1 and wording.homes and not home and random() < 0.7:
                    home = index, wording.homes[int(random() * len(wording.homes))]
                elif wording.deeds and (
                    wording.always or ((not deeds or lasts == wording.lasts) and random() < 0.8)
                ):
                    lasts = wording.lasts and (lasts or not deeds)
                    deeds.append((index, wording.deeds[0]))
                else:
                    clauses = wording.one if row[index] == "1" else wording.nouns
                    nouns.append((index, clauses[int(random() * len(clauses))]))
            what = ("b" if deeds else "") + ("n" if nouns else "")
            if not deeds and len(nouns) > 1:
                what = "nn"
            if not position:
                what = f"t{what}" if time else "one" if size == 1 and nouns else what
            frames = frames_of[lasts][what]
            for literal, slot in frames[int(random() * len(frames))]:
                text += literal
                if slot == "n":
                    text = self._tell(text, row, nouns, stated, " and ")
                elif slot == "n1":
                    text = self._tell(text, row, nouns[:1], stated, "")
                elif slot == "n2":
                    text = self._tell(text, row, nouns[1:], stated, " and ")
                elif slot == "b":
                    text = self._tell(text, row, deeds, stated, " and ")
                elif slot in ("p", "p1"):
                    told = nouns if slot == "p" else nouns[:1]
                    parts = [(index, wordings[index].part[is_past]) for index, _ in told]
                    text = self._tell(text, row, parts, stated, self._and_its)
                elif slot == "t" and time:
                    text = self._tell(text, row, [time], stated, "")
                elif slot in ("E", "e"):
                    before = self._before
                    if self._says_kind and self.noun not in entity.lower():
                        before = f"the {self.noun} "
                    if before and entity.startswith(_WHERE):
                        before = before.removesuffix("against ")
                    text += capital(before) if slot == "E" else before
                    if with_key:
                        start = len(text)
                        named = (self._names[self._key], entity, start, start + len(entity))
                        stated.append(new(Stated, named))
                    text += entity + self._after
                    if home:
                        text = self._tell(text, row, [home], stated, "")
                elif slot == "c":
                    text += wordings[nouns[0][0]].whole
                elif slot == "be":
                    part = nouns[0][0], wordings[nouns[0][0]].verb[is_past]
                    text = self._tell(text, row, [part], stated, "")
            if text.endswith(".."):
                text = text[:-1]  # "Inc." ends its sentence
            text += " "
            frames_of = self._later[is_past]
            position += size
        return Sentence(text[:-1], tuple(stated), theme)

    def _tell(
        self, text: str, row: Row, told: Sequence[Told], stated: list[Stated], joint: str
    ) -> str:
        """The text with the values of some columns behind it."""
        last = len(told) - 1
        for place, (index, (before, after)) in enumerate(told):
            if place:
                text += joint if place == last else f",{joint[4:]}"
            value = row[index] or ""
            start = len(text) + len(before)
            text = f"{text}{before}{value}{after}"
            stated.append(new(Stated, (self._names[index], value, start, start + len(value))))
        return text


def _are_persons(names: Sequence[str], share: float) -> bool:
    """Whether enough begin with a given name, and few end alike: "... High School"."""
    given = sum(name.partition(" ")[0] in _GIVEN for name in names)
    (_, alike), *_ = Counter(name.rpartition(" ")[2] for name in names).most_common(1)
    return given >= share * len(names) and (alike < 3 or 4 * alike <= len(names))


def _kind(column: Column) -> str:
    """The kind of a column; "measure" of numbers with a unit, which count nothing."""
    return "measure" if column.kind == "number" and any(column.unit) else column.kind


def _echoes(label: str, cells: Sequence[Cell]) -> bool:
    """Whether cells repeat the label: "the lake Lake Huron"."""
    last = label.rpartition(" ")[2].lower()
    return any(cell is not None and last in cell.lower() for cell in cells[:20])


def draw_leads(rows: str, title: str, rng: Random) -> tuple[str, Sequence[str]]:
    """The sentence that opens a context, and those that may lead over to other paragraphs.

    Args:
        rows: what the query calls the rows.
        title: what the text is about; may be empty.
        rng: what draws.
    """
    pattern = rng.choice(_LEADS["titled" if title else "opening"])
    later = _LEADS["later"]
    silent = [""] * (LEADS_OF * len(later))
    return pattern.format(rows=rows, title=title), rng.sample(later + silent, len(later + silent))


def capital(text: str) -> str:
    """The text with a capital at its start."""
    return text[:1].upper() + text[1:]
