"""The query: scope, columns in order, sort rule; no cell of the table (TableHallu, A.1.3).

The patterns are in ``queries.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.tablehallu.columns import TypedTable, words_of, write_day
from tablemend.datasets.tablehallu.kernel import Kernel
from tablemend.datasets.tablehallu.labels import (
    DEEDS,
    EVENTS,
    ORDINALS,
    PARTICIPLES,
    PLACES,
    STATES,
    Label,
    articled,
)
from tablemend.datasets.tablehallu.labels import WORDS as SENTENCE_WORDS
from tablemend.datasets.tablehallu.letter_case import with_capital
from tablemend.datasets.tablehallu.scope import Bound, cost_of_number
from tablemend.datasets.tablehallu.sentences import Speaker
from tablemend.programs.nouns import is_plural_label, noun_of, plural_of
from tablemend.records import Condition, Constraints, SortOrder
from tablemend.values.places import singular

WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("queries.yaml").read_text("utf-8"))
_SCOPES: dict[str, Any] = WORDS["scopes"]
_CATEGORIES, _ORDINALS, _SIZES = (
    {label: said for labels, said in WORDS[name].items() for label in labels.split("|")}
    for name in ("categories", "ordinals", "sizes")
)
_PERIODS, _TIMES, _PAST = (frozenset(WORDS[name]) for name in ("periods", "times", "past"))
_PERSONAL = frozenset(SENTENCE_WORDS["personal"])
NUMBERS: dict[int, str] = WORDS["numbers"]
"""Numbers of rows that a superlative can ask for."""
_NO_TITLES = frozenset(WORDS["no_titles"].split())
_EVENTS = frozenset(WORDS["events"].split())
_TITLE = re.compile(r"(?=(?:\W*\w){3})[\w '\u2019.,:&()+\u2013-]{3,90}")
_FILE = re.compile(r"\.\w{2,5}$|^[\d\W_]+$")
_DATED = re.compile(r"(?:\d{4}(?: ?[-\u2013] ?\d\d(?:\d\d)?)?|\d+(?:st|nd|rd|th)) ")
_DONE = re.compile(r" (?:by|\w+ed|run|made|led|selling) ")
_OPENERS = {"that": 1, "who": 1, "with": 2, "whose": 3}
_MOST = "the {n} {rows} with the {end} {c}"
TITLED = 0.85
"""Share of the queries that say what the text is about, where there is a title."""


_PLAIN = ("entries", "people")
_BEHIND_HEAD = re.compile(r" (?:in|of|by|at|on|with|for|from) ")
_NO_ROWS = frozenset(("singles", "doubles", "statistics", "records", "results", "seasons", "by"))


class Subject(NamedTuple):
    """What a query calls the rows, a plural, and the text; an empty title is none."""

    rows: str
    title: str = ""


def subject_of(typed: TypedTable, rows: str, speaker: Speaker) -> Subject:
    """How queries speak of a table.

    Args:
        typed: the table; a title that is the name of a file, a cell or a header is not used.
        rows: what the rows are called; empty if the title or the header must say it.
        speaker: of the table.
    """
    if rows:
        return Subject(rows)
    title = typed.table.title
    cells = {*typed.table.columns, *(cell for row in typed.table.rows for cell in row if cell)}
    folded, called = title.casefold(), speaker.rows
    if called in _PLAIN:
        called = _kind_of(typed) or called
    if title == folded:
        title = with_capital(title)
    if (
        not _TITLE.fullmatch(title)
        or _FILE.search(title)
        or _NO_TITLES.issuperset(folded.split())
        or folded in map(str.casefold, cells)
    ):
        return Subject(called)
    if folded.startswith(WORDS["list_of"]):
        title = title[len(WORDS["list_of"]) :]
        head = _BEHIND_HEAD.split(title.lower())[0]
        is_of_all = speaker.rows in _PLAIN and head.isascii() and is_plural_label(head)
        if (is_of_all and head.split()[-1] not in _NO_ROWS) or called.split()[
            -1
        ] in title.lower().split():
            return Subject(title)
    if _DATED.match(title) and not _EVENTS.isdisjoint(folded.split()):
        title = f"the {title}"
    return Subject(called, title)


def _kind_of(typed: TypedTable) -> str:
    """What the rows are by the title and the headers together; empty where these do not say."""
    last = re.split(r"[ /]+", typed.columns[typed.key].name.lower().split(" (")[0])[-1]
    if (not last.endswith("ed") and noun_of(last)) or (
        last.isalpha() and is_plural_label(last) and last not in _NO_ROWS
    ):
        return plural_of(last) if noun_of(last) else last
    known = {*map(str.lower, typed.table.columns), *words_of(typed.table.title).split()}
    kinds = WORDS["kinds"].items()
    fit = (kind for kind, signs in kinds for sign in signs if known.issuperset(sign.split(" + ")))
    return next(fit, "")


def write_query(
    typed: TypedTable, kernel: Kernel, subject: Subject, speaker: Speaker, rng: Random
) -> tuple[str, Subject, Constraints]:
    """The query of a kernel, what it calls the rows and the text, and its constraints (A.2.1).

    A subject that contains a cell of the gold table is replaced by a plain one.
    """
    names = typed.table.columns
    if _names_a_cell(typed, kernel, subject.rows):
        subject = Subject(speaker.rows)
    if rng.random() >= TITLED or _names_a_cell(typed, kernel, subject.title):
        subject = Subject(subject.rows)
    text = rng.choice(WORDS["texts"])
    if subject.title:
        text = rng.choice(WORDS["about"]).format(text=text, title=subject.title)
    columns = [names[index] for index in kernel.columns]
    slots = {
        "rows": _phrase_scope(kernel, typed, subject.rows, speaker, rng),
        "text": text,
        "columns": list_columns(columns),
        "sort": f'"{names[kernel.sort]}"',
        "order": kernel.order,
    }
    query = re.sub(r"\.\.(?= )", ".", rng.choice(WORDS["wholes"]).format(**slots))  # "Jr.."
    conditions = [bound.condition for bound in kernel.scope.bounds]
    return query, subject, constraints_of(conditions, subject, names[kernel.sort], kernel.order)


def list_columns(columns: Sequence[str]) -> str:
    """Quoted names with *and* before the last one."""
    quoted = [f'"{column}"' for column in columns]
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def constraints_of(
    conditions: Sequence[Condition], subject: Subject, sort: str, order: SortOrder
) -> Constraints:
    """The four fields of the paper and the machine-checkable conditions."""
    ranges = [condition for condition in conditions if condition.low or condition.high]
    named = (value for condition in conditions for value in condition.values)
    return Constraints(
        entity_scope=(*filter(None, subject), *named),
        numerical_range="; ".join(map(_range_text, ranges)) or None,
        sort_column=sort,
        sort_order=order,
        conditions=tuple(conditions),
    )


def _range_text(condition: Condition) -> str:
    low, high = condition.low, condition.high
    if low == high:
        return str(low)
    if low is None:
        return f"up to {high}"
    return f"from {low}" if high is None else f"{low} to {high}"


def _names_a_cell(typed: TypedTable, kernel: Kernel, subject: str) -> bool:
    spoken = words_of(subject)
    return any(
        cell is not None and words_of(cell) in spoken
        for row in kernel.rows
        for cell in (typed.table.rows[row][column] for column in kernel.columns)
    )


def _phrase_scope(
    kernel: Kernel, typed: TypedTable, rows: str, speaker: Speaker, rng: Random
) -> str:
    """The rows that are asked for, in words."""
    said, phrases = f"the {rows}", list[str]()
    for bound in kernel.scope.bounds:
        label, condition = _in_small(speaker.labels[bound.column]), bound.condition
        header = f'"{typed.table.columns[bound.column]}"'
        if condition.top:
            ends = ("lowest", "highest") if bound.kind == "number" else ("earliest", "latest")
            ends = ("fewest", "most") if label.is_counted else _SIZES.get(label.name, ends)
            pattern = rng.choice(WORDS["superlatives"].get(end := ends[condition.top > 0], [_MOST]))
            name = label.name if label.is_plain else header
            said = pattern.format(n=NUMBERS[abs(condition.top)], rows=rows, c=name, end=end)
        elif bound.column == typed.key:
            names = _listing(bound, " and ")
            if speaker.before_names:
                said = f"the {speaker.rows} {speaker.before_names} {names}"
            else:
                said += f" {names}" if len(rows.split()) == 1 else f" named {names}"
        else:
            phrases.append(phrase_bound(bound, typed, label, rows, speaker.is_of_persons, rng))
    # "from Chile" before "with 3 wins" before "whose age is 20"
    phrases.sort(key=lambda phrase: _OPENERS.get(phrase.split()[0], 0))
    before = ""
    for phrase in phrases:
        opener = phrase.split()[0]
        joint = " and " if before in _OPENERS else " "
        if opener == "with" and before in ("that", "who"):
            phrase = f"have {phrase[5:]}"
        elif opener == before == "with" and not said[-1].isdigit():
            phrase = phrase[5:]
        said, before = said + joint + phrase, opener
    return said


def _in_small(label: Label) -> Label:
    """The label in small letters where it is a usual word: "Lane"."""
    first, *others = label.name.split()
    is_usual = label.is_plain and first.istitle() and all(map(str.islower, others))
    return label._replace(name=label.name.lower()) if is_usual else label


def _listing(bound: Bound, joint: str) -> str:
    values = sorted(bound.condition.values or bound.condition.excluded)
    return "".join(values) if len(values) < 2 else f"{', '.join(values[:-1])}{joint}{values[-1]}"


def phrase_bound(
    bound: Bound, typed: TypedTable, label: Label, rows: str, persons: bool, rng: Random
) -> str:
    """A condition in words, which go behind what the rows are called.

    Args:
        bound: the condition.
        typed: the table.
        label: of its column; the header stands in quotation marks if that is not plain.
        rows: what the rows are called.
        persons: the rows are of persons.
        rng: what draws.
    """
    folded, is_plain = label.name.lower(), label.is_plain
    name = label.name if is_plain else f'"{typed.table.columns[bound.column]}"'
    # Behind "lines operated by X", "opened in 1990" would be said of X.
    is_said = _DONE.search(rows) is not None
    verb = ("who " if persons else "that ") if is_said else ""
    slots = {
        "c": name,
        "a": articled(name) if is_plain else name,
        "be": "are" if label.is_plural else "is",
        "p": plural_of(name),
        "v": _listing(bound, " or "),
        "is": f"{verb}are " if verb else "",
        "was": f"{verb}were " if verb else "",
        "that": "who" if persons else "that",
    }
    if bound.values:
        manner = "excluded" if bound.condition.excluded else "values"
        patterns = _SCOPES[manner]
        if is_plain and manner == "values":
            deed = DEEDS.get(folded, "")
            if deed and (not persons or deed.split()[0] in _PERSONAL):
                patterns = [("{is}" if folded in STATES else "{was}") + deed]
            elif folded in PLACES and " " not in rows:
                patterns = [f"{PLACES[folded]} {{v}}"]
            patterns = _CATEGORIES.get(folded, patterns)
        return str(rng.choice(patterns)).format(**slots)
    if bound.kind in ("year", "date") or _is_a_year(bound, folded):
        form, slots["low"], slots["high"] = _time_ends(bound)
        if is_plain and (folded in EVENTS or folded.split()[-1] in PARTICIPLES):
            manner, slots["c"] = "event", EVENTS.get(folded, folded).replace("broadcast", "aired")
        elif not is_plain or folded.split()[0] not in _PAST:
            manner = "row" if folded in _TIMES else "time"
        else:
            manner = "past"
        if folded in _PERIODS:
            return str(rng.choice(_SCOPES["period"][form])).format(**slots)
        slots["t"] = str(rng.choice(_SCOPES["times"][form])).format(**slots)
        return str(rng.choice(_SCOPES[manner])).format(**slots)
    form, slots["low"], slots["high"] = _number_ends(bound, typed, label)
    has_unit = any(typed.columns[bound.column].unit)
    if not is_plain:
        manner = "quoted"
    elif folded in _ORDINALS and form in _ORDINALS[folded]:
        return str(_ORDINALS[folded][form]).format(**slots)
    elif folded.split()[-1] in ORDINALS and not has_unit:
        manner = "ordinal"
    else:
        manner = "count" if label.is_counted and not has_unit else "amount"
    if manner == "count" and slots["low" if form in ("low", "one") else "high"] == "1":
        *words, last = name.split()
        slots["c"] = " ".join([*words, singular(last)])
    return str(rng.choice(_SCOPES[manner][form])).format(**slots)


def _is_a_year(bound: Bound, label: str) -> bool:
    """Whether a number is a year all the same: another cell of its column was none."""
    ends = [end for end in (bound.low, bound.high) if end is not None]
    return "year" in label and all(1500 <= end <= 2100 for end in ends)


def _time_ends(bound: Bound) -> tuple[str, str, str]:
    """The form of a range of time, and its ends in words: years or months where they are whole."""
    first, after = (
        None
        if end is None
        else date.fromordinal(int(end) + up)
        if bound.kind == "date"
        else date(int(end) + up, 1, 1)
        for up, end in enumerate((bound.low, bound.high))
    )
    step = max(2 if day.day > 1 else int(day.month > 1) for day in (first, after) if day)

    def write(day: date | None) -> str:
        return write_day(day).split(" ", 2 - step)[-1] if day else ""

    last = after and after - timedelta(1)
    low, high = write(first), write(last)
    if first and last:
        is_decade = not step and first.year % 10 == 0 and last.year == first.year + 9
        form = "decade" if is_decade else "both" if low != high else "in" if step < 2 else "on"
    elif first:
        is_after = not step and first.year % 5 == 1
        form, low = ("after", str(first.year - 1)) if is_after else ("low", low)
    else:
        is_before = after and (after.year % 5 == 0 or bound.kind == "date") and step < 2
        form, high = ("before", write(after)) if is_before else ("high", high)
    return form, low, high


def _number_ends(bound: Bound, typed: TypedTable, label: Label) -> tuple[str, str, str]:
    """The form of a range of numbers, and its ends in words with their unit.

    An end of whole numbers is left out ("more than 50") where that is the rounder number.
    """
    low, high, forms = bound.low, bound.high, ("low", "high")
    if all(not value or value % 1 == 0 for value in typed.orders[bound.column]):
        if high is None and low and cost_of_number(low - 1) < cost_of_number(low):
            low, forms = low - 1, ("over", "")
        if low is None and high and cost_of_number(high + 1) < cost_of_number(high):
            high, forms = high + 1, ("", "under")
    form = forms[low is None] if low is None or high is None else "one" if low == high else "both"
    said = ["" if e is None else _spoken_number(e, bound.column, typed, label) for e in (low, high)]
    if form == "both":  # "600 to 1200 USD"
        said[0] = said[0].removesuffix(label.after or typed.columns[bound.column].unit[1]).rstrip()
    return form, said[0], said[1]


def _spoken_number(end: float, column: int, typed: TypedTable, label: Label) -> str:
    prefix, suffix = typed.columns[column].unit
    prefix, suffix = ("", "") if label.is_plain and prefix == "#" else (prefix, suffix.strip("."))
    digits = f"{end:,.15g}" if abs(end) >= 10_000 else f"{end:.15g}"
    joint = "" if suffix in ("", "%") else " "
    sign = "-" if end < 0 else ""
    said = f"{sign}{prefix}{digits.removeprefix('-')}{joint}{suffix}"
    return f"{label.before}{said}{label.after}"
