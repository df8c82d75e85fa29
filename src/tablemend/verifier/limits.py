"""Words that may narrow the rows down in a way that nobody read: "the coastal regions".

What is computed over rows that such a word may leave out proves nothing wrong.
"""

from __future__ import annotations

import re

from tablemend.verifier.frame import Frame
from tablemend.verifier.mentions import StatedNumber
from tablemend.verifier.row_filter import range_set
from tablemend.verifier.table_size import sizes
from tablemend.verifier.vocabulary import DISTINCT, EMPTY, LIMITING, THINGS

_DETERMINERS = frozenset("the a an of all its their his her these those".split())
_LINKING = frozenset(
    "over across throughout per about just only together both size paid sold spent earned".split()
)
PLURAL = re.compile(r"[a-z]{2}[^s]s$|^(?:people|men|women|children|persons)$")
PHRASE_ENDS = frozenset(
    "in of for by during from at with to against on among between be is was are were have has had "
    "who which that when where and but than as while over under after before do did does".split()
)


def unread(frame: Frame, used: frozenset[int], clause: tuple[int, int]) -> frozenset[int]:
    """The words of a clause that say something and that a reading passes over."""
    left = (frame.content & range_set(*clause)) - used - frame.headed
    empty = EMPTY | THINGS | DISTINCT
    return frozenset(p for p in left if frame.words[p] not in empty and p not in frame.verbs)


def is_part_of_group(frame: Frame, used: frozenset[int], first: int) -> bool:
    """Whether the noun of a count, or a word before it, was not read: "both engineers"."""
    left = {p for p in unread(frame, used, frame.clause(first)) if _may_limit(frame, p)}
    for place in range(first, len(frame.words)):
        word = frame.words[place]
        if place in frame.verbs or word in PHRASE_ENDS or "," in frame.between(place - 1, place):
            return False
        if PLURAL.search(word):
            if _names_rows(frame, place):
                left.discard(place)
            return not left.isdisjoint(range(first, place + 1))
    return False


def _names_rows(frame: Frame, place: int) -> bool:
    """Whether a noun is what the rows are: "the four phones" of four rows, or no groups of them."""
    if any(s.last == place and s.value == len(frame.rows) for s in frame.amounts):
        return True
    columns = (c for c in frame.view.columns if c.index != frame.view.key)
    return all(column.measured or column.flags for column in columns)


def is_part(frame: Frame, used: frozenset[int], fault: tuple[int, int]) -> bool:
    """Whether a word of the part of a sentence that is at fault may leave rows out."""
    first, last = frame.clause(fault[0])
    commas = [p for p in range(first + 1, last) if set(",(") & set(frame.between(p - 1, p))]
    first = max((p for p in commas if p <= min(used | {fault[0]})), default=first)
    last = min((p for p in commas if p > max(used | {fault[0]})), default=last)
    if any(frame.words[p] in LIMITING for p in range_set(first, last) - used):
        return True
    named = {p for h in frame.headings for p in range(h.first, h.last)}
    left = unread(frame, used, (first, last)) - named
    return any(_may_limit(frame, p) and not _is_verb(frame, p) for p in left)


def _may_limit(frame: Frame, place: int) -> bool:
    """Whether a word can leave rows out: no word of change, no number unless it counts a part."""
    start = frame.tokens[place].start
    if frame.words[place] in _LINKING or any(
        cue.kind in ("change", "hedge", "aggregate") and cue.start <= start < cue.end
        for cue in frame.cues
    ):
        return False
    stated = next((s for s in frame.amounts if s.amount.start <= start < s.amount.end), None)
    return stated is None or _counts_part(frame, stated)


def _counts_part(frame: Frame, stated: StatedNumber) -> bool:
    """Whether a number counts fewer things than there are rows: "the two engineers"."""
    value, number = stated.value, stated.amount.number
    counts = not any(number.unit[1:]) and not number.decimals and value == int(value)
    return counts and 0 < value < len(frame.rows) and value not in sizes(frame, stated)


def _is_verb(frame: Frame, place: int) -> bool:
    """Whether a word is a verb or an adverb by its ending: "generated", "jointly"."""
    word, before = frame.words[place], frame.words[place - 1] if place else "the"
    return word.endswith("ly") or (word.endswith("ed") and before not in _DETERMINERS)
