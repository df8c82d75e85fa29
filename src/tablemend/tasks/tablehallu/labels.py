"""What a sentence and a query call the columns and rows of a table.

The lists of words are in ``sentences.yaml``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.source_tables.columns import Column, TypedTable, words_of
from tablemend.datasets.source_tables.names import GIVEN
from tablemend.programs.nouns import WORDS as NOUNS
from tablemend.programs.nouns import (
    is_plural_label,
    noun_of,
    plural_of,
    spoken,
    takes_article,
    with_article,
)

WORDS: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("sentences.yaml").read_text("utf-8")
)


def _by_label(section: str) -> dict[str, Any]:
    """Every label of a section whose keys list several."""
    return {label: said for labels, said in WORDS[section].items() for label in labels.split("|")}


EVENTS: dict[str, str] = _by_label("events")
"""Label of a column of years or dates -> what happened then."""
SUBJECTS: dict[str, list[str]] = _by_label("subjects")
SAYS: dict[tuple[str, str, str], list[str]] = {
    (kind, cells, label): said.split(" / ")
    for kind, of in WORDS["says"].items()
    for cells, phrases in of.items()
    for labels, said in phrases.items()
    for label in labels.split("|")
}
"""Kind of rows, kind of cells and label -> phrases for the values."""
_LIKE = [
    (kind, cells, re.compile(label.replace("*", "((?!total ).+)"), re.I), said)
    for (kind, cells, label), said in SAYS.items()
    if "*" in label
]
_ARTICLED = re.compile("|".join(WORDS["the"]))
GENERAL: dict[str, list[str]] = {what: said.split(" / ") for what, said in WORDS["general"].items()}
"""Phrases for values of which that has none, by what they are."""
_DEED = re.compile(r"(is|was) (\w+ (?:by|in|near) \{v\})")
_DEEDS = {
    label: deed.groups()
    for (kind, cells, label), said in SAYS.items()
    if kind in ("any", "things") and cells == "words" and (deed := _DEED.fullmatch(said[0]))
}
DEEDS = {label: deed for label, (_, deed) in _DEEDS.items()}
"""Label of words -> what was done: "built by {v}"."""
STATES = frozenset(label for label, (be, _) in _DEEDS.items() if be == "is")
"""Those of what lasts: "is" stands before it."""
_SAID = frozenset(label for _, _, label in SAYS)
NO_VALUE = re.compile(f"(?:{'|'.join(WORDS['entries'])})$", re.I)
"""Cells that say that there is no value: "Did not enter"."""
ORDINALS = frozenset(WORDS["ordinals"].split())
"""Last words of labels of numbers that say which one, not how much."""
QUANTITIES = frozenset(WORDS["quantities"].split())
"""Last words of labels of what one has so much of, even if it is no number."""
SCALES = frozenset(WORDS["scales"].values())
"""What is said of a header's unit that only scales."""
PLACES = {label: how for how, said in WORDS["places"].items() for label in said.split()}
"""Labels of places -> the preposition before their values."""
_COMMON = frozenset(WORDS["common"].split()).union(
    NOUNS["common"], NOUNS["also_common"], NOUNS["joining"]
)
PASSIVE = re.compile(r"[a-z]+(?:ed|en|wn|lt|de|id|ld|ng) (?:by|in|at|on|from|as|for)")
YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
PERIOD = re.compile(rf"{YEAR.pattern}(?: ?[-/\u2013] ?\d\d(?:\d\d)?)?")
_RAW = re.compile(r"[a-z]{1,3}|[A-Z][a-z]{2}")
"""Cells that are codes: "Arg", "tko"."""
_BRACKETS = re.compile(r"(.*\S)\s+\(([^()]+)\)")
_SPACED = re.compile(r" (?=['\u2019]s\b)|(?<=\w) (?=- \w)|(?<=\w -) (?=\w)")
_PERCENT = re.compile(r"%(?! of)|%")
_PLAIN = re.compile(r"[^\W\d_][\w' -]*")
_SLASH = re.compile(r"(?<=[A-Za-z]{3}) ?/ ?(?=[A-Za-z]{3})")
_REWRITTEN = [(re.compile(pattern, re.I), said) for pattern, said in WORDS["rewritten"]]
_TALLY = re.compile(r"(?:total )?(?:number|no|nr|num|count) (?:of )?(.+)")
AGENTS: dict[str, str] = {verb: verb for verb in WORDS["agents"].split()} | WORDS["irregular"]
"""Participle behind what is counted -> what who has the number did: "lost" of "games lost"."""
PARTICIPLES = NOUNS["participles"] | NOUNS["events"] | set(AGENTS)
NO_ROWS = frozenset(WORDS["no_rows"])
"""Last words of headers and lists that do not say what the rows are."""
PERSONS = (0.12, 0.4)
"""Share of names with a known given name (of a few hundred) from which on they are persons: without
and with a header that says something else."""
ONE_LEAGUE = frozenset(WORDS["one_league"].split())
"""Headers of keys whose names are those of one league."""
_GIVEN = frozenset(GIVEN)
PERSONAL = NOUNS["persons"].union(WORDS["persons"].split()) - {"name"}
_NO_NOUNS = NOUNS["no_nouns"] | frozenset(WORDS["no_nouns"])
JOINING = (NOUNS["joining"] | {"with"}) - {"the"}
"""Words that a label neither begins nor ends with inside a sentence."""


def phrases_for(label: str, rows: Sequence[str], cells: str) -> list[str]:
    """What can be said of the values of a column; of labels with a "*" that word for word.

    The most special kind of rows stands first.
    """
    for row in rows:
        for group in (cells, *["codes"] * (cells == "ranks"), "all"):
            if found := SAYS.get((row, group, label.lower())):
                return found
        for kind, group, pattern, said in _LIKE:
            if kind == row and group in (cells, "all") and (match := pattern.fullmatch(label)):
                return [text.replace("{*}", match[1]) for text in said]
    return []


def named(value: str) -> str:
    """The value with its article, where it takes one: "the United States"."""
    is_bare = _ARTICLED.match(value) and not value.lower().startswith("the ")
    return f"the {value}" if is_bare else value


class Label(NamedTuple):
    """What a sentence calls a column, and what it says around its values.

    Attributes:
        name: of the column, without its unit.
        before, after: the unit of the header; empty where the values have their own.
        is_plain: letters alone, so that it can be used as a noun.
    """

    name: str
    before: str
    after: str
    is_plain: bool

    @property
    def is_counted(self) -> bool:
        """Whether a number stands before it: "12 wins", "3 gold medals", "5 lost"."""
        words = self.name.lower().split()
        counted = self.is_plural or words[-1] in PARTICIPLES
        counted &= NOUNS["amounts"].isdisjoint(words)
        counted |= _is_a_tally(self.name)
        return counted and self.is_plain and not self.before and self.after in ("", *SCALES)

    @property
    def is_plural(self) -> bool:
        """Whether "are" follows."""
        noun, _, last = self.name.rpartition(" ")
        return self.is_plain and is_plural_label(noun if noun and last in AGENTS else self.name)


def labels_of(columns: Sequence[Column]) -> list[Label]:
    """What the columns of a table are called, each otherwise.

    An abbreviation is written out if that is clear. Columns that would be called the same say
    their unit ("area in km²"), or are called as the header has it.
    """
    taken = frozenset(column.name.lower() for column in columns)
    labels = [
        _label(column.name, any(column.unit), column.kind == "number", taken) for column in columns
    ]
    for rename in (_with_unit, lambda header, _: Label(header, "", "", False)):
        counts = Counter(label.name.lower() for label in labels)
        labels = [
            label if counts[label.name.lower()] == 1 else rename(column.name, label)
            for column, label in zip(columns, labels, strict=True)
        ]
    return labels


def _with_unit(header: str, label: Label) -> Label:
    match = _BRACKETS.fullmatch(header)
    if match is None:
        return label
    if not label.is_plain or not (unit := "".join(_say_unit(match[2].strip()) or ()).strip()):
        return Label(header, "", "", False)
    joined = "" if unit.startswith(("in ", "per ")) else "in "
    return Label(f"{label.name} {joined}{unit}", "", "", True)


@lru_cache(maxsize=1 << 12)
def _label(header: str, has_unit: bool, is_number: bool, taken: frozenset[str]) -> Label:
    before = after = ""
    name = plain = header.removesuffix("(s)").rstrip()  # of a plural, no unit
    if match := _BRACKETS.fullmatch(plain):
        unit = _say_unit(match[2].strip())
        if unit is not None:
            before, after = ("", "") if has_unit else unit
        if unit is not None or match[1].lower() not in taken:
            name = match[1]
    name = _SLASH.sub(" or ", _SPACED.sub("", name))
    if "%" in name:
        name, after = _PERCENT.sub("percentage", name), "" if has_unit else "%"
    name = _written_out(name, is_number, taken)
    if PERIOD.fullmatch(name):
        return Label(name, before, after, False)
    is_plain = (
        _PLAIN.fullmatch(name)
        and len(name) > 2
        and (name.split()[-1].lower() not in JOINING or _is_a_tally(name))
        and name.split()[0].lower() not in JOINING
    )
    if is_plain:
        return Label(name, before, after, True)
    return Label(name if name in _SAID else header, "", "", False)


def _written_out(name: str, is_number: bool, taken: frozenset[str]) -> str:
    """A header in the words of a sentence: "train number" of "Train No.", "titles" of "# Titles".

    None becomes what another column is called already.
    """
    for pattern, said in _REWRITTEN:
        name = pattern.sub(said, name)
    folded = name.lower()
    if (whole := WORDS["labels"].get(folded)) and whole not in taken:
        return str(whole)
    if folded in WORDS["medals"]:
        return f"{folded} {'medals' if is_number else 'medallist'}"
    # "W" alone may be anything; beside "L" it is what was won.
    is_clear = len(folded) > 1 or taken >= {"w", "l"} or taken >= {"won", "lost"}
    if is_number and is_clear and (whole := WORDS["counts"].get(folded)) and whole not in taken:
        return str(whole)
    words = [WORDS["short"].get(word.lower(), word) for word in name.split()]
    header = " ".join(words).rstrip(".")
    said = spoken(header)
    if said == header and not header.islower():  # its common words in small letters
        said = " ".join(w.lower() if w.lower() in _COMMON else w for w in said.split())
    tally = _TALLY.fullmatch(said) if is_number else None
    if tally and is_plural_label(tally[1]) and tally[1].split()[0] not in JOINING:
        said = said if tally[1] in taken else tally[1]
    if said.lower() in taken - {folded}:
        return name
    return str(said.lower() if said.lower() in EVENTS or said.lower() in _SAID else said)


def _say_unit(text: str) -> tuple[str, str] | None:
    """What stands before and behind a value with the unit of a header; ``None`` if unknown."""
    if YEAR.fullmatch(text):
        return "", f" in {text}"
    folded = text.lower().removeprefix("in ").rstrip(".")
    if folded.startswith("per "):
        return "", " " + folded.replace("km2", "km²")
    if folded in WORDS["units"]:
        return "", WORDS["units"][folded]
    words = folded.split()
    scales = [WORDS["scales"][word] for word in words if word in WORDS["scales"]]
    money = [word for word in words if word in WORDS["currencies"]]
    if len(scales) + len(money) < len(words) or len(scales) > 1 or len(money) > 1:
        return None
    scale = "".join(scales)
    if not money:
        return "", scale
    return (
        (money[0].upper(), scale)
        if "$" in money[0] or len(money[0]) == 1
        else ("", f"{scale} {money[0].upper()}")
    )


def articled(label: str) -> str:
    """The label with its article, where it takes one; "income" takes none, "a net income" does."""
    without: bool = not takes_article(label) or label.split()[-1] in WORDS["no_article"]
    without &= not label.endswith(" income")
    return label if without else with_article(label)


def _is_a_tally(label: str) -> bool:
    """Whether it is one of "goals for" and "goals against"."""
    words = label.lower().split()
    return len(words) > 1 and words[-1] in ("for", "against") and is_plural_label(words[0])


def row_noun(header: str) -> str:
    """What a row is called by the header of its key; empty where that is no noun."""
    header = header.removesuffix(" name").removesuffix(" Name")
    if noun := noun_of(header):
        return noun
    words = header.split()
    is_noun = all(word.isalpha() and word[1:].islower() for word in words) and len(words) < 3
    folded = header.lower()
    if (
        not is_noun
        or folded.endswith(("ed", " by"))
        or is_plural_label(folded)
        or _NO_NOUNS.intersection(folded.split())
    ):
        return ""
    return folded if _COMMON.issuperset(folded.split()) else folded.rpartition(" ")[2]


def kind_of(typed: TypedTable) -> str:
    """What the rows are by the title and the headers together; empty where these do not say."""
    last = re.split(r"[ /]+", typed.columns[typed.key].name.lower().split(" (")[0])[-1]
    if noun_of(last) and not last.endswith("ed"):
        return plural_of(last)
    if last.isalpha() and is_plural_label(last) and last not in NO_ROWS:
        return last
    known = {*map(str.lower, typed.table.columns), *words_of(typed.table.title).split()}
    kinds: dict[str, list[str]] = WORDS["kinds"]
    told = (kind for kind, signs in kinds.items() for s in signs if known >= {*s.split(" + ")})
    return next(told, "")


def are_persons(headers: Sequence[str], names: Sequence[str], share: float = PERSONS[0]) -> bool:
    """Whether names are those of persons, by the headers (that of the names first, all in small
    letters) or by the share with a known given name.

    Persons have two names at least, and few share one, as awards do.
    """
    share = share if ONE_LEAGUE.isdisjoint(headers[0].split()) else PERSONS[1]
    personal, impersonal = map({*headers}.intersection, WORDS["columns_of_persons"])
    words = [name.split() for name in names]
    ends = Counter(end for own in words for end in {own[0], own[-1]} if own)
    most = max(2, len(names) // 3)
    full = [own for own in words if len(own) > 1 and max(ends[own[0]], ends[own[-1]]) <= most]
    known = sum(own[0] in _GIVEN for own in full) >= share * len(names)
    known |= bool(personal) or not PERSONAL.isdisjoint(re.findall(r"[a-z]+", headers[0]))
    return known and not impersonal and len(full) >= 0.8 * len(names)


def without_odd_labels(typed: TypedTable, fewest: int) -> TypedTable:
    """The table without columns of which nothing reads well, where more than so few are left.

    Where even more are left, remarks, codes and words that have no phrase of their own go, too.
    """
    needed = {typed.key, *typed.distinguishing}
    odd, plain = set[int](), set[int]()
    for index, label in enumerate(labels_of(typed.columns)):
        kind, name = typed.columns[index].kind, label.name.lower()
        is_noun = label.is_plain and (kind != "text" or not name.endswith("ed"))
        if not is_noun and not phrases_for(name, ("any", "things", "persons", "events"), ""):
            odd.add(index)
        cells = [row[index] for row in typed.table.rows if row[index]]
        is_told = name in _SAID or name in EVENTS or PASSIVE.fullmatch(name)
        is_raw = name not in ("result", "outcome") and 2 * sum(
            _RAW.fullmatch(cell or "") is not None for cell in cells
        ) > len(cells)
        if kind in ("text", "category") and (not is_told or name in WORDS["remarks"] or is_raw):
            plain.add(index)
    usable = {index for index, column in enumerate(typed.columns) if column.usable}
    for left_out, least in ((odd | plain, fewest + 1), (odd, fewest)):
        kept = usable - (left_out - needed)
        if len(kept) > least:
            columns = (replace(c, usable=index in kept) for index, c in enumerate(typed.columns))
            return replace(typed, columns=tuple(columns))
    return typed
