"""The query: scope, columns in order, sort rule; no cell of the table (TableHallu, A.1.3).

In the arithmetic subset (D.3) it asks for one more column, worked out of two others: an example
without blanks becomes five, as it is and with each operation on the same two columns, so that what
the calculation costs is measured on the same rows and the same context (Figure 7).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.datasets.source_tables.columns import (
    Column,
    TypedTable,
    is_whole,
    type_columns,
    words_of,
    write_day,
)
from tablemend.datasets.source_tables.names import with_capital
from tablemend.programs.nouns import is_plural_label, plural_of
from tablemend.programs.program import Aggregate, Difference, Program, Ratio, Rows, Value
from tablemend.programs.program import Condition as RowCondition
from tablemend.records import Computed, Condition, Constraints, Example, SortOrder
from tablemend.tables.table import Cell, Table
from tablemend.tasks.tablehallu import labels
from tablemend.tasks.tablehallu.contexts import Question
from tablemend.tasks.tablehallu.groups import Bound, RejectedDraw, cost_of_number, decimal_of
from tablemend.tasks.tablehallu.labels import EVENTS, Label
from tablemend.tasks.tablehallu.sentences import RowVerbaliser
from tablemend.values.text import singular
from tablemend.values.units import ONE, header_unit

WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("queries.yaml").read_text("utf-8"))
_SCOPES: dict[str, Any] = WORDS["scopes"]
_CATEGORIES, _ORDINALS = (
    {label: said for names, said in WORDS[section].items() for label in names.split("|")}
    for section in ("categories", "ordinals")
)
_TITLE = re.compile(r"(?=(?:\W*\w){3})[\w '\u2019.,:&()+\u2013-]{3,90}")
_FILE = re.compile(r"\.\w{2,5}$|^[\d\W_]+$")
_DONE = re.compile(r" (?:by|\w+ed|run|made|led|selling) ")
_DEED = re.compile(r"\w+ed$|built|led|first")
_OPENERS = {"that": 1, "who": 1, "with": 2, "whose": 3}
TITLED = 0.85
"""Share of the queries that say what the text is about, where there is a title."""
_LEFT, _RIGHT = (Value(Rows((RowCondition(0, "=", name),)), 1) for name in ("left", "right"))
PROGRAMS: dict[str, Program] = {
    "addition": Aggregate("sum", Rows(), 1),
    "subtraction": Difference(_LEFT, _RIGHT),
    "multiplication": Aggregate("product", Rows(), 1),
    "division": Ratio(_LEFT, _RIGHT),
}
"""By operation, over a table of two rows: the numbers that it is worked out of."""
MOST_DECIMALS = 2
_LARGEST = 10**9
_TIE = 1e-6
_ARITHMETIC = WORDS["arithmetic"]
_NO_MEASURES = frozenset(_ARITHMETIC["no_measures"])


class Subject(NamedTuple):
    """What a query calls the rows, a plural, and the text; an empty title is none."""

    rows: str
    title: str = ""


def subject_of(typed: TypedTable, rows: str, speaker: RowVerbaliser) -> Subject:
    """How queries speak of a table, by what its rows are called; else by its title and header.

    A title that is the name of a file, a cell or a header is not used.
    """
    if rows:
        return Subject(rows)
    title = typed.table.title
    cells = {*typed.table.columns, *(cell for row in typed.table.rows for cell in row if cell)}
    folded, called = title.casefold(), speaker.rows
    if title == folded:
        title = with_capital(title)
    is_idle = {*folded.split()} <= {*WORDS["no_titles"]} or folded in map(str.casefold, cells)
    if is_idle or not _TITLE.fullmatch(title) or _FILE.search(title):
        return Subject(called)
    if folded.startswith(WORDS["list_of"]):
        head = re.split(r" (?:in|of|by|at|on|with|for|from) ", folded)[0]
        if called in ("entries", "people") and is_plural_label(head):
            last = head.split()[-1]
            called = called if last in labels.NO_ROWS else last
    return Subject(called, title)


def choose_subject(
    typed: TypedTable, columns: Sequence[int], subject: Subject, speaker: RowVerbaliser, rng: Random
) -> Subject:
    """What queries and heading of a context call its rows and its text.

    A subject that contains a cell of the context is replaced by a plain one.
    """
    if _names_a_cell(typed, columns, subject.rows):
        subject = Subject(speaker.rows)
    if rng.random() >= TITLED or _names_a_cell(typed, columns, subject.title):
        subject = Subject(subject.rows)
    return subject


def write_query(
    typed: TypedTable, question: Question, subject: Subject, speaker: RowVerbaliser, rng: Random
) -> tuple[str, Constraints]:
    """The query of a question about a context, and its constraints (A.2.1)."""
    names = typed.table.columns
    text, about = rng.choice(WORDS["texts"]), rng.choice(WORDS["about"])
    query = rng.choice(WORDS["wholes"]).format(
        rows=_phrase_scope(question, typed, subject.rows, speaker, rng),
        text=about.format(text=text, title=subject.title) if subject.title else text,
        columns=list_columns([names[index] for index in question.columns]),
        sort=f'"{names[question.sort]}"',
        order=question.order,
    )
    query = re.sub(r"\.(?=\. )|\bthe (?=the )", "", query)  # "Jr..", "the the Netherlands"
    conditions = [bound.condition for bound in question.bounds]
    return query, constraints_of(conditions, subject, names[question.sort], question.order)


def list_columns(columns: Sequence[str]) -> str:
    """Quoted names with *and* before the last one."""
    quoted = [f'"{column}"' for column in columns]
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def constraints_of(
    conditions: Sequence[Condition], subject: Subject, sort: str, order: SortOrder
) -> Constraints:
    """The four fields of the paper and the machine-checkable conditions."""
    named = (value for condition in conditions for value in condition.values)
    return Constraints(
        entity_scope=(*filter(None, subject), *named),
        numerical_range="; ".join(_range_text(c) for c in conditions if c.low or c.high) or None,
        sort_column=sort,
        sort_order=order,
        conditions=tuple(conditions),
    )


def _range_text(condition: Condition) -> str:
    low, high = condition.low, condition.high
    if low is None or high is None:
        return f"up to {high}" if low is None else f"from {low}"
    return low if low == high else f"{low} to {high}"


def _names_a_cell(typed: TypedTable, columns: Sequence[int], subject: str) -> bool:
    spoken = words_of(subject)
    cells = (row[column] for row in typed.table.rows for column in columns)
    return any(cell is not None and words_of(cell) in spoken for cell in cells)


def _phrase_scope(
    question: Question, typed: TypedTable, rows: str, speaker: RowVerbaliser, rng: Random
) -> str:
    """The rows that are asked for, in words."""
    said, before = f"the {rows}", ""
    phrases = [
        _phrase_bound(bound, typed, speaker.labels[bound.column], rows, speaker, rng)
        for bound in question.bounds
    ]
    # "from Chile" before "with 3 wins" before "whose age is 20"
    for phrase in sorted(phrases, key=lambda phrase: _OPENERS.get(phrase.split()[0], 0)):
        opener = phrase.split()[0]
        joint = (
            " and " if before in _OPENERS or (_DEED.match(before) and _DEED.match(opener)) else " "
        )
        if opener == "with" and before in ("that", "who"):
            phrase = f"have {phrase[5:]}"
        elif opener == before == "with" and not said[-1].isdigit():
            phrase = phrase[5:]
        said, before = said + joint + phrase, opener
    return said


def _phrase_bound(
    bound: Bound, typed: TypedTable, label: Label, rows: str, speaker: RowVerbaliser, rng: Random
) -> str:
    """A condition in words, which go behind what the rows are called."""
    folded, is_plain = label.name.lower(), label.is_plain
    persons, is_event = speaker.is_of_persons, speaker.is_event
    name = label.name if is_plain else f'"{typed.table.columns[bound.column]}"'
    who = "who " if persons else "that "
    # Behind "lines operated by X", "opened in 1990" would be said of X.
    verb = who if _DONE.search(rows) else ""
    slots = {
        "c": name,
        "a": labels.articled(name) if is_plain else name,
        "be": "are" if label.is_plural else "is",
        "p": name if name.endswith("series") else plural_of(name),
        "v": "".join(bound.values),
        "is": f"{verb}are " if verb else "",
        "was": f"{verb}were " if verb else "",
    }
    # A number is a year all the same where another cell of its column was none.
    ends = [end for end in (bound.low, bound.high) if end is not None]
    is_year = "year" in folded and all(1500 <= end <= 2100 for end in ends)
    has_unit, last = any(typed.columns[bound.column].unit), folded.split()[-1]
    if bound.values:
        patterns = _SCOPES["values"]
        if is_plain:
            deed = labels.DEEDS.get(folded, "")
            if deed.endswith("in {v}") and " in " in rows:
                deed = ""  # no "plants in Etawah located in Lunel"
            if deed and (not persons or deed.split()[0] in labels.WORDS["personal"]):
                patterns = [("{is}" if folded in labels.STATES else "{was}") + deed]
            elif folded in EVENTS and not persons:
                patterns = [f"{{was}}{EVENTS[folded]} in {{v}}"]
            elif folded in labels.PLACES and " " not in rows:
                patterns = [f"{labels.PLACES[folded]} {{v}}"]
        patterns = _CATEGORIES.get(folded, patterns) if is_plain else _SCOPES["marked"]
        if folded in WORDS["times"] and labels.YEAR.fullmatch(slots["v"]):
            patterns = _SCOPES["row"]["in"]
            slots["low"] = slots["v"]
    elif bound.kind in ("year", "date") or is_year:
        form, slots["low"], slots["high"] = _time_ends(bound)
        event, lead = EVENTS.get(folded, folded) if is_plain else "", "whose {c} {be} "
        if folded in (*WORDS["times"], *WORDS["periods"]) or (event and event[:5] in rows):
            lead = ""  # "the launches of X in 1990"
        elif persons and folded in EVENTS and event.split()[0] not in labels.WORDS["personal"]:
            pass  # nobody premieres
        elif folded in EVENTS or (is_plain and last in labels.PARTICIPLES):
            lead = "{was}" + event.replace("broadcast", "aired") + " "
        elif is_plain and folded.split()[0] in WORDS["past"]:
            lead = f"{who}{event} "
        if not lead and bound.kind == "date" and not is_event:
            lead = "whose {c} {be} "  # no "arenas since 19 November"
        scopes = _SCOPES["row"] if not lead else _SCOPES["moment"] if lead[:5] == "whose" else {}
        if folded in WORDS["periods"]:
            scopes = _SCOPES["period"]  # which has none of single days
        patterns = [lead + time for time in scopes.get(form, _SCOPES["times"][form])]
    else:
        form, slots["low"], slots["high"] = _number_ends(bound, typed, label)
        is_ordinal = last in labels.ORDINALS and not has_unit and " in " not in folded
        manner = "amount" if has_unit or last in labels.QUANTITIES else "figure"
        manner = "count" if label.is_counted and not has_unit else manner
        manner = "quoted" if not is_plain else "ordinal" if is_ordinal else manner
        patterns = _ORDINALS.get(folded, {}).get(form) or _SCOPES[manner][form]
        if manner == "count" and slots["high"] == "0":
            patterns = _SCOPES["none"]
        elif manner == "count" and form != "both" and "1" in (slots["low"], slots["high"]):
            slots["c"] = name.removesuffix(last) + singular(last)
            patterns = patterns[:1]
        if form == "both" and is_whole(typed, bound.column) and bound.high == (bound.low or 0) + 1:
            patterns = [text.replace("{low} to", "{low} or") for text in patterns if " to " in text]
            patterns = [text.replace(" from ", " ") for text in patterns]
    pattern = str(rng.choice(patterns))
    if "{c} {v}" not in pattern:
        slots["v"] = labels.named(slots["v"])
    return pattern.format(**slots)


def _time_ends(bound: Bound) -> tuple[str, str, str]:
    """The form of a range of time, and its ends in words: years or months where they are whole."""

    def day(end: float | None, *of_year: int) -> date | None:
        if end is None or bound.kind != "date":
            return None if end is None else date(int(end), *of_year)
        return date.fromordinal(int(end))

    first, last = day(bound.low, 1, 1), day(bound.high, 12, 31)
    after = last and last + timedelta(1)
    step = max(2 if day.day > 1 else int(day.month > 1) for day in (first, after) if day)

    def write(day: date | None) -> str:
        return write_day(day).split(" ", 2 - step)[-1] if day else ""

    low, high = write(first), write(last)
    if first and last:
        is_decade = not step and first.year % 10 == 0 and last.year == first.year + 9
        form = "decade" if is_decade else "both" if low != high else "in" if step < 2 else "on"
    elif first:
        is_after = not step and first.year % 5 == 1
        form, low = ("after", str(first.year - 1)) if is_after else ("low", low)
    else:
        is_before = after and (after.year % 5 == 0 or bound.kind == "date") and step < 2
        closed = "high day" if step == 2 else "high"
        form, high = ("before", write(after)) if is_before else (closed, high)
    return form, low, high


def _number_ends(bound: Bound, typed: TypedTable, label: Label) -> tuple[str, str, str]:
    """The form of a range of numbers, and its ends in words with their unit.

    An end of whole numbers is left out ("more than 50") where that is the rounder number.
    """
    low, high, forms = bound.low, bound.high, ("low", "high")
    if is_whole(typed, bound.column):
        if high is None and low and cost_of_number(low - 1) < cost_of_number(low):
            low, forms = low - 1, ("over", "")
        if low is None and high and cost_of_number(high + 1) < cost_of_number(high):
            high, forms = high + 1, ("", "under")
    form = forms[low is None] if low is None or high is None else "one" if low == high else "both"
    prefix, suffix = typed.columns[bound.column].unit
    unit = label.after or (suffix if suffix == "%" else f" {suffix.strip('.')}".rstrip())

    def write(end: float | None, unit: str) -> str:
        if end is None:
            return ""
        digits = f"{abs(decimal_of(end)):{',' if abs(end) >= 10_000 else ''}f}"
        return f"{label.before}{'-' if end < 0 else ''}{prefix}{digits}{unit}"

    return form, write(low, "" if form == "both" else unit), write(high, unit)  # "600 to 1200 USD"


def with_computed_column(example: Example, rng: Random) -> list[Example]:
    """The example, and the same with each operation on two of its columns.

    The larger column comes first. No result is zero, above a billion, or exactly between two
    numbers of the decimals that the query states.

    Returns:
        In the order of :data:`PROGRAMS`.

    Raises:
        RejectedDraw: no two columns allow all operations.
    """
    table = example.gold_table
    columns, values = type_columns(table.columns, table.rows)
    measures = [p for p, own in enumerate(columns) if is_measure(own) and None not in values[p]]
    measures.sort(key=lambda place: -sum(abs(value or 0) for value in values[place]))
    units = {place: header_unit(table.columns[place]) for place in measures}
    pairs = [
        (one, other)
        for one, other in combinations(measures, 2)
        # "5" of (USD million) and "7" (km): is it 7 million?
        if units[one] == units[other] or units[one].scale == units[other].scale == ONE
    ]
    rng.shuffle(pairs)
    for pair in sorted(pairs, key=lambda pair: units[pair[0]] != units[pair[1]]):
        found = [_compute(example, operation, *pair, rng) for operation in PROGRAMS]
        if None not in found:
            return [example, *(one for one in found if one)]
    raise RejectedDraw("no two columns to calculate with")


def is_measure(column: Column) -> bool:
    """Whether one may calculate with a column: numbers that do not rank, and are no percent."""
    plain = column.kind == "number" and column.unit == ("", "") and not column.serial
    plain = plain and header_unit(column.name).symbol != "%"
    return plain and _NO_MEASURES.isdisjoint(words_of(column.name).split())


def _compute(
    example: Example, operation: str, left: int, right: int, rng: Random
) -> Example | None:
    """The example with one operation; ``None`` where it is not allowed."""
    gold, name = example.gold_table, _ARITHMETIC["column"]
    cells = [row[place] or "" for row in gold.rows for place in (left, right)]
    most = max(len(cell.partition(".")[2]) for cell in cells)
    needed = {"multiplication": 2 * most, "division": MOST_DECIMALS}.get(operation, most)
    computed = Computed(
        name, operation, gold.columns[left], gold.columns[right], min(MOST_DECIMALS, needed)
    )
    form = f"{',' * any(',' in cell for cell in cells)}.{computed.decimals}f"
    results = [_run(computed, row[left], row[right], form) for row in gold.rows]
    if None in results:
        return None
    how = rng.choice(_ARITHMETIC["operations"][operation])
    how = how.format(left=computed.left, right=computed.right)
    precision = _ARITHMETIC["precisions"][computed.decimals]
    sentence = rng.choice(_ARITHMETIC["sentences"]).format(
        column=name, how=how, precision=precision
    )
    rows = [(*row, result) for row, result in zip(gold.rows, results, strict=True)]
    listed = r'"[^"]{1,20}"'.join(map(re.escape, gold.columns))
    query = re.sub(
        f'"{listed}"', lambda _: list_columns([*gold.columns, name]), example.query, count=1
    )
    return replace(
        example,
        query=f"{query} {sentence}",
        constraints=replace(example.constraints, computed=computed),
        gold_table=Table.of((*gold.columns, name), rows, gold.title),
        id="",
    )


def _run(computed: Computed, left: Cell, right: Cell, form: str) -> str | None:
    """What the table program makes of two cells, as it is written; ``None``: not allowed."""
    from tablemend.programs.execute import execute  # with the verifier's reader of tables
    from tablemend.programs.table import TypedTable

    table = TypedTable.of(Table.of(("Name", "Value"), [("left", left), ("right", right)]))
    value = execute(PROGRAMS[computed.operation], table).value
    if not isinstance(value, float) or abs(value) > _LARGEST:
        return None
    is_tie = abs(abs(value) * 10**computed.decimals % 1 - 0.5) < _TIE
    text = f"{value:{form}}"
    return None if is_tie or not text.strip("-0.,") else text
