"""Whether a reading leaves words of its clause unread: what no reading explains is no condition."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.claims.cues import Cue
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.vocabulary import DISTINCT, EMPTY, THINGS

_EMPTY_VERBS = frozenset(
    "be is are was were been have has had do does did make made get got take took hold held come "
    "came go went give gave become became see saw show shows showed post posted record recorded "
    "register registered achieve achieved reach reached report reported obtain obtained produce "
    "produced list listed appear appeared remain remained remains stand stood stands belong "
    "belonged belongs receive received contain contains contained include includes included "
    "feature features featured exist exists existed there represent represents represented occur "
    "occurs occurred happen happens happened take takes place name names named call called".split()
)
"""Verbs that say nothing that a cell could hold, and the nouns in their idioms."""
_TABLES = frozenset("leaderboard standings chart listing roster squad field league".split())
"""What a table can call itself."""


_TYING = frozenset("in at from for by on with to the a an of as".split())
_ARTICLES = frozenset("a an the no any".split())
_BEING = frozenset("be is are was were been".split())


def is_unread(
    frame: Frame, used: frozenset[int], kept: Sequence[RowFilter], clause: tuple[int, int]
) -> bool:
    """Whether a clause says something that a reading passes over.

    "Two candidates were women" is no count of all candidates. A word counts as read where it is
    used, names a column of texts or a row, or is one of the empty nouns and verbs.

    Args:
        frame: the statement.
        used: the tokens that the reading accounts for.
        kept: its conditions; beside one, a verb of the table ("won", "scored") is its verb.
        clause: the tokens of the clause, half open.
    """
    known = used | frame.headed
    if kept:
        known |= frozenset(frame.verbs) | _relations(frame, kept)
    left = (frame.content & range_set(*clause)) - known
    known_words = EMPTY | DISTINCT | _EMPTY_VERBS | _TABLES
    words = (frame.words[place] for place in left)
    return any(word not in THINGS and word not in known_words for word in words)


def _relations(frame: Frame, kept: Sequence[RowFilter]) -> frozenset[int]:
    """The words that tie conditions to their rows: "based" of "based in Oslo", "born before 1990".

    A noun with a verb or an article before it is none: "have a helipad in Oslo".
    """
    found = {
        place
        for heading in frame.headings
        if heading.share > 0.99 and any(c.column == heading.column for c in kept)
        for place in range(heading.first, heading.last)
    }
    for condition in kept:
        place = min(condition.used) - 1
        while place >= 0 and frame.words[place] in _TYING:
            place -= 1
        before = frame.words[place - 1] if place > 0 else ""
        if before in _BEING or (place - 1 not in frame.verbs and before not in _ARTICLES):
            found.add(place)
    return frozenset(found)


def all_rows(frame: Frame, cue: Cue) -> tuple[int, int] | None:
    """The tokens of "in all four quarters", "in all games"; ``None`` for the sum "in all"."""
    first, last = frame.token_range(cue.start, cue.end)
    if cue.kind != "aggregate" or frame.words[first:last] != ("in", "all"):
        return None
    last = next((stated.last for stated in frame.amounts if stated.first == last), last)
    named = any(heading.first == last for heading in frame.headings)
    noun = frame.words[last : last + 1]
    return (first, last) if named or (noun and noun[0] in THINGS) else None


def is_one_row(frame: Frame, kept: Sequence[RowFilter]) -> bool:
    """Whether rows are narrowed down to one by its name: nothing in it is a number of rows."""
    key = frame.view.key
    names = [c for c in kept if c.column == key and not c.members and not c.bound]
    return len(within(names, frame.rows)) == 1 if names else False
