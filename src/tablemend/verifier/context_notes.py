"""Answer tables beside what they cannot show: info boxes, sums, and what a context only implies."""

from __future__ import annotations

import re

from tablemend.detector.keys import filled_rows
from tablemend.evidence.grid import Grid
from tablemend.tables.table import Table
from tablemend.values.text import clean
from tablemend.values.words import content_words
from tablemend.verifier.scope import read_scope
from tablemend.verifier.wordings import any_of, words_of

_SUMS = words_of("sums")
_WORKED_OUT = words_of("worked_out")
_SPANS = re.compile(r"(?:year|month|day|hour|season)s? (?:in|since|to|until|as|of|at|on)\b|.*%")
_RELATIVE = re.compile(rf"\b{any_of('relative')}\b", re.I)
_INITIALS = re.compile(r"(?:[A-Z]\.?){2,5}")
_INITIAL = re.compile(r"([A-Z])\.?\s+([A-Z][\w'\u2019-]+)")


def answer_notes(table: Table, query: str = "") -> tuple[str, ...]:
    """One line each: no rows, columns of one name, and what of the query was not read.

    Args:
        table: the answer.
        query: the question; may be empty.
    """
    notes = []
    if not filled_rows(table):
        notes.append("the answer has no filled row: there is nothing to verify")
    for name in table.duplicate_columns():
        notes.append(f"the answer has more than one column {name!r}: their cells are not scored")
    if not query.strip() or is_info_box(table):
        return tuple(notes)
    scope = read_scope(query, table)
    if not scope.columns:
        notes.append("no list of columns was read from the query: columns are taken as they are")
    if scope.note:
        notes.append(scope.note)
    return tuple(notes)


def is_info_box(table: Table) -> bool:
    """Whether a table lists one subject's attributes and their values."""
    return len(table.columns) == 2 and Grid(table).key_value


def is_sum_row(name: str) -> bool:
    """Whether a row's name says that it sums up the others: "Total", "All shops combined"."""
    words = name.lower().split()
    return bool(words) and (words[0] in _SUMS or words[-1] in _SUMS)


def is_worked_out(header: str) -> bool:
    """Whether a column holds what is computed from other values more often than stated."""
    plain = clean(header).lower()
    return bool(_WORKED_OUT.intersection(content_words(plain)) or _SPANS.match(plain))


def is_stated_relatively(text: str) -> bool:
    """Whether a text gives amounts or times by others: "two years later", "twice as many"."""
    return _RELATIVE.search(text) is not None


def is_short_for(name: str, text: str) -> bool:
    """Whether a name may be a short form of one in a text, or the long form of one.

    Initials ("UK", "U.S.") are never looked for in full; "United States" is short for itself
    where its initials stand in the text; "D. Holm" is the text's "Dag Holm".
    """
    if _INITIALS.fullmatch(name):
        return True
    if initial := _INITIAL.fullmatch(name):
        first, last = initial.groups()
        return re.search(rf"\b{first}\w*\.?\s+(?:\S+\s+)?{re.escape(last)}\b", text) is not None
    letters = [word[0] for word in name.split() if word[:1].isupper()]
    dotted = r"\.?\s?".join(map(re.escape, letters))
    return len(letters) > 1 and re.search(rf"(?<!\w){dotted}(?!\w)", text) is not None
