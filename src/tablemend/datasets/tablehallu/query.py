"""The query: scope, columns in order, sort rule; no cell of the table (TableHallu, A.1.3).

The patterns are in ``queries.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.tablehallu.columns import TypedTable, words_of, write_day
from tablemend.datasets.tablehallu.kernel import Kernel
from tablemend.datasets.tablehallu.labels import EVENTS, ORDINALS, PLACES, Label, articled
from tablemend.datasets.tablehallu.letter_case import with_capital
from tablemend.datasets.tablehallu.scope import Bound
from tablemend.datasets.tablehallu.sentences import Speaker
from tablemend.programs.nouns import is_plural_label
from tablemend.records import Condition, Constraints, SortOrder

WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("queries.yaml").read_text("utf-8"))
_SCOPES: dict[str, Any] = WORDS["scopes"]
NUMBERS: dict[int, str] = WORDS["numbers"]
"""Numbers of rows that a superlative can ask for."""
_NO_TITLES = frozenset(WORDS["no_titles"].split())
_EVENTS = frozenset(WORDS["events"].split())
_TITLE = re.compile(r"(?=(?:\W*\w){3})[\w '\u2019.,:&()+\u2013-]{3,90}")
_FILE = re.compile(r"\.\w{2,5}$|^[\d\W_]+$")
_DATED = re.compile(r"(?:\d{4}(?: ?[-\u2013] ?\d\d(?:\d\d)?)?|\d+(?:st|nd|rd|th)) ")
QUOTED = 0.2
"""Share of the conditions that give the header in quotation marks."""
TITLED = 0.85
"""Share of the queries that say what the text is about, where there is a title."""


_PLAIN = ("entries", "people")


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
    folded = title.casefold()
    if title == folded:
        title = with_capital(title)
    if (
        not _TITLE.fullmatch(title)
        or _FILE.search(title)
        or _NO_TITLES.issuperset(folded.split())
        or folded in map(str.casefold, cells)
    ):
        return Subject(speaker.rows)
    if folded.startswith(WORDS["list_of"]):
        title = title[len(WORDS["list_of"]) :]
        is_of_all = speaker.rows in _PLAIN and is_plural_label(title.lower().split()[0])
        if is_of_all or speaker.rows.split()[-1] in title.lower().split():
            return Subject(title)
    if _DATED.match(title) and not _EVENTS.isdisjoint(folded.split()):
        title = f"the {title}"
    return Subject(speaker.rows, title)


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
    query = rng.choice(WORDS["wholes"]).format(**slots)
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
    said = f"the {rows}"
    for number, bound in enumerate(kernel.scope.bounds):
        label, condition = speaker.labels[bound.column], bound.condition
        header = typed.table.columns[bound.column]
        is_header = label.is_plain and label.name.lower().startswith(header.lower().split(" (")[0])
        # A number that no column of the answer holds could be taken for that of another.
        is_header &= bound.kind != "number" or bound.column in kernel.columns
        if not is_header or rng.random() < QUOTED:  # "whose "#" is 5 or more"
            label = label._replace(is_plain=False)
        name = label.name if label.is_plain else f'"{header}"'
        if condition.top:
            ends = ("lowest", "highest") if bound.kind == "number" else ("earliest", "latest")
            ends = ("fewest", "most") if label.is_counted else ends
            pattern = rng.choice(WORDS["superlatives"][ends[condition.top > 0]])
            said = pattern.format(n=NUMBERS[abs(condition.top)], rows=rows, c=name)
        elif bound.column == typed.key:
            names = _listing(bound, " and ")
            if speaker.before_names:
                said = f"the {speaker.rows} {speaker.before_names} {names}"
            else:
                said = WORDS["entities"].format(v=names, rows=said)
        else:
            phrase = phrase_bound(bound, typed, label, name, rng)
            joined = " and " if number and phrase.startswith(("with ", "whose ")) else " "
            said += joined + phrase
    return said


def _listing(bound: Bound, joint: str) -> str:
    values = sorted(bound.condition.values or bound.condition.excluded)
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])}{joint}{values[-1]}"


def phrase_bound(bound: Bound, typed: TypedTable, label: Label, name: str, rng: Random) -> str:
    """A condition in words; all ends are included, and said to be where that is not plain."""
    folded, be = label.name.lower(), "are" if label.is_plural else "is"
    if bound.condition.excluded:
        return str(rng.choice(_SCOPES["excluded"])).format(c=name, be=be, v=_listing(bound, " or "))
    if bound.values:
        manner = PLACES.get(folded, "values") if label.is_plain else "values"
        return str(rng.choice(_SCOPES[manner])).format(c=name, be=be, v=_listing(bound, " or "))
    low, high = (_spoken_end(bound, end, typed, label) for end in (bound.low, bound.high))
    if low and high and low != high:  # "600 to 1200 USD"
        unit = label.after or typed.columns[bound.column].unit[1]
        low = low.removesuffix(unit).rstrip()
    ends = "one" if low == high else "low" if high is None else "high" if low is None else "both"
    said = name
    if not label.is_plain:
        manner = "quoted time" if bound.kind in ("year", "date") else "number"
    elif bound.kind in ("year", "date") and folded in EVENTS:
        manner, said = "event" if bound.kind == "year" else "event on a day", EVENTS[folded]
    elif bound.kind == "year" or _is_a_year(bound, folded):
        manner = "year" if folded in ("year", "season") else "time"
    elif bound.kind == "date":
        manner = "day" if folded == "date" else "time"
    elif folded.split()[-1] in ORDINALS:
        manner = "number"
    else:
        has_unit = any(typed.columns[bound.column].unit)
        manner = "count" if label.is_counted and not has_unit else "amount"
    article = articled(name) if label.is_plain else name
    slots = {"c": said, "a": article, "be": be, "low": low, "high": high}
    return str(rng.choice(_SCOPES[manner][ends])).format(**slots)


def _is_a_year(bound: Bound, label: str) -> bool:
    """Whether a number is a year all the same: another cell of its column was none."""
    ends = [end for end in (bound.low, bound.high) if end is not None]
    return "year" in label and all(1500 <= end <= 2100 for end in ends)


def _spoken_end(bound: Bound, end: float | None, typed: TypedTable, label: Label) -> str | None:
    if end is None:
        return None
    if bound.kind == "date":
        return write_day(date.fromordinal(int(end)))
    if bound.kind == "year" or _is_a_year(bound, label.name.lower()):
        return f"{end:.15g}"
    prefix, suffix = typed.columns[bound.column].unit
    digits = f"{end:,.15g}" if abs(end) >= 10_000 else f"{end:.15g}"
    joint = "" if suffix in ("", "%") else " "
    sign = "-" if end < 0 else ""
    said = f"{sign}{prefix}{digits.removeprefix('-')}{joint}{suffix}"
    return f"{label.before}{said}{label.after}"
