"""Names in a query that no word gives to a column: "athletes from China", "ferries of Lunel".

Directly behind the rows' noun, a name behind a preposition is a value of the one column that such
a preposition asks for. Any other name may be what the whole text is about, or a condition: who
reads the text must decide (:attr:`QueryScope.topics`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.sentences import Span
from tablemend.values.text import header_key
from tablemend.values.words import content_words
from tablemend.verifier.scope_conditions import ScopeCondition
from tablemend.verifier.scope_values import GONE, QUOTED, QueryMention

_NAME_WORD = r"[^\W\d_a-z][\w'\u2019&-]*(?:\.(?=\s[A-Z]))?"
NAME = re.compile(
    rf"(?<![\w\"\u201c'/-]){_NAME_WORD}(?:\s+(?:(?:of|the|de|da|del|van|von|and"
    rf"|&)\s+){{0,2}}{_NAME_WORD})*"
)
AREAS = frozenset(
    "country nation nationality state city town region province county continent location place "
    "district territory area island hometown birthplace origin".split()
)
"""Nouns of columns that hold places."""
_GROUP = frozenset(
    "team club school college university company organisation organization league party "
    "department manufacturer maker employer affiliation institution brand nation country".split()
)
_MAKER = frozenset(
    "author artist director composer manufacturer maker developer designer engineer architect "
    "producer publisher company brand operator".split()
)
_ASKED: dict[str, frozenset[str]] = {
    "from": AREAS | _GROUP,
    "in": AREAS - {"birthplace", "origin", "nationality", "hometown"},
    "by": _MAKER,
}
"""The nouns of columns that a preposition behind the rows' noun can ask for."""
_HEAD = re.compile(
    r"(?:\b(?:table|list|overview|summary)\s+(?:of|covering|with|for|about)|\b(?:lists?|shows?"
    r"|tabulate"
    r"|compile|summari[sz]e|compare|give me|put|extract|find|include|only))\s+(?:(?:all|only|the"
    r"|every|each)\s+)*"
    r"(?P<noun>[a-z][a-z-]*(?:\s+[a-z][a-z-]*){0,3}?)\s+(?P<no>(?:not|except(?: for)?|excluding"
    r"|other than|but not|outside)\s+"
    r"(?:(?:those|the ones|any|ones)\s+)?)?(?P<how>from|in|by)\s+(?:the\s+)?$",
    re.I,
)
_PREPOSITION = re.compile(
    r"\b(?:of|from|in|for|by|at|on|with|to|and|or|not|who|that|which)\b", re.I
)
_MORE = re.compile(r"\s*(?:,\s*(?:or|and)?|\bor\b|\band\b)\s+(?:from\s+|in\s+)?(?:the\s+)?")
# "the 2014 Polar Games", "the 2018-19 season", "elections, 2020"
_TITLE = re.compile(
    r"(?<![\w.,-])(?:1[5-9]|20)\d\d(?:\s?[-\u2013/]\s?\d\d(?:\d\d)?)?\b"
    r"(?:(?:\s(?!(?:whose|where|with|that|which|who|from|into|sorted|based|and|or|but|by|for|as|on|is|are"
    r"|were|was|only|using|drawn|have|has|had|to)\b)[^\W\d_](?:[\w'\u2019-]|\.(?=\w))*){1,6}"
    r"|(?<=\w, \d{4})|(?<=\w , \d{4}))"
)
_IDLE = frozenset(
    "markdown json latex csv html i please columns column header headers table use sort order make "
    "the a an row rows note context text answer query question ascending descending usd eur gbp "
    "id na n/a none".split()
)


def read_names(
    query: str, masked: str, table: Table, key: int, mentions: Sequence[QueryMention]
) -> Iterator[tuple[ScopeCondition | None, Span]]:
    """Names without a column, each with its place; with the condition where it is plain.

    It is plain where the answer has one of the names in the one column that the preposition asks
    for: "from China" and a column Country with a row of China.
    """
    columns = table.columns
    closed = [(mention.start, mention.end) for mention in mentions]
    closed += [match.span() for match in QUOTED.finditer(masked)]
    for title in _TITLE.finditer(masked):
        if not any(start < title.end() and title.start() < end for start, end in closed):
            yield None, Span(*title.span())
            masked = masked[: title.start()] + GONE * len(title[0]) + masked[title.end() :]
    position = 0
    for match in find_names(masked, columns, mentions):
        if match.start < position:
            continue
        place, names = match, [query[slice(*match)]]
        while more := _MORE.match(masked, place.end):
            following = NAME.match(masked, more.end())
            if following is None:
                break
            names.append(following[0])
            place = Span(match.start, following.end())
        position = place.end
        head = _HEAD.search(masked[: match.start])
        label = None
        if head is not None and GONE not in head[0] and not _PREPOSITION.search(head["noun"]):
            label = _only_column(head["how"].lower(), table, key, names)
        if label is None or head is None:
            yield None, place
            continue
        said = query[head.start("how") : place.end]
        yield ScopeCondition(label, said, values=tuple(names), excluded=bool(head["no"])), place


def find_names(
    masked: str, columns: Sequence[str], mentions: Sequence[QueryMention]
) -> Iterator[Span]:
    """Runs of words with a capital letter; no columns, nothing quoted, no sentence's first word."""
    closed = [(mention.start, mention.end) for mention in mentions]
    closed += [match.span() for match in QUOTED.finditer(masked)]
    known = {header_key(name) for name in columns}
    for match in NAME.finditer(masked):
        start, end = match.span()
        if _begins_a_sentence(masked, start):  # its first word says nothing
            rest = re.match(r"\S+\s+(?=[^\W\d_a-z])", match[0])
            if rest is None:
                continue
            start += rest.end()
        said = masked[start:end]
        if any(one < end and start < other for one, other in closed) or GONE in said:
            continue
        if header_key(said) in known or said.lower() in _IDLE or read_value(said).dates:
            continue
        if _IDLE.issuperset(said.lower().split()):
            continue
        yield Span(start, end)


def _begins_a_sentence(text: str, place: int) -> bool:
    before = text[:place].rstrip()
    return not before or before[-1] in ".!?:;\n"


def _only_column(how: str, table: Table, key: int, names: Sequence[str]) -> str | None:
    """The one column that a preposition asks for and that has one of the names; else ``None``."""
    wanted = {header_key(name) for name in names}
    found = [
        name
        for index, name in enumerate(table.columns)
        if index != key
        and (words := content_words(name))
        and words[-1] in _ASKED[how]
        and any(header_key(row[index] or "") in wanted for row in table.rows)
    ]
    return found[0] if len(found) == 1 else None
