"""The items of a list as statements of their own: "24 points, 8 rebounds and 11 assists"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from tablemend.claims.clauses import Part
from tablemend.claims.tokens import name_spans
from tablemend.values.sentences import Span

_BORDER = re.compile(
    r"\s*(?:[,;](?!(?<=\d.)\d))\s*(?:(?:and|as well as)\s+)?|\s+(?:and|as well as)\s+"
)
_GROUP = re.compile(r"[(\[][^()\[\]]*[)\]]")
_ADDITION = re.compile(r"\s*[(\[][^()\[\]]*\d[^()\[\]]*[)\]]")
_ARTICLE = re.compile(r"an?\s+[a-z]")
_ARTICLE_BEFORE = re.compile(r"\ban?\s+\Z")
_BEFORE_AMOUNT = re.compile(
    r"(?:(?:also|only|just|about|over|nearly|around|at|a|an|the|season|career|game|team|high|-)\s*)*\Z"
)
# What a verb or preposition takes as one pair, and lists whose order means something.
_WHOLE = re.compile(
    r"\b(?:between|from|combin\w+|total\w*|sum\w*|averag\w+|difference|both|either|ratio|rang\w+)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\b(?:between|from)\s+(?:(?:the|about|around)\s+)?\Z", re.IGNORECASE)
# "6 hours and 20 minutes" is one amount.
_UNITS = re.compile(
    r"\b(?:hours?|hrs?|feet|foot|ft|years?|pounds?|lbs?|minutes?|days?)\s+and\s+\S+\s+"
    r"(?:minutes?|mins?|seconds?|inch(?:es)?|months?|days?|hours?|ounces?)\b"
)
_OF = re.compile(r"\b(?:of|at|to|by)\s+\Z")
_NO_ITEM = re.compile(
    r"\b(?:than|more|less|fewer|which|who|that|while|respectively|to|but|or|versus|vs)\b"
)
_PREPOSITION = re.compile(r"\b(?:in|on|to|for|of|with|from|by|at|as)\b")
_MAX_WORDS = 8
_MAX_NOUNS = 5
_GUARD = 30  # characters before a list


def noun_items(text: str, part: Part) -> list[Span]:
    """The items of a list of three or more nouns: "Wi-Fi, a compass and NFC"."""
    found = [
        item
        for item in _segments(text, predicate(part))
        if item.start < item.end and len(text[item.start : item.end].split()) <= _MAX_NOUNS
    ]
    return found if len(found) >= 3 else []


def predicate(part: Part) -> Span:
    """What is said of the subject; the whole part where that is not clear."""
    behind = [token for token in part.tokens if part.verb is not None and token.start > part.verb]
    if not behind or not any(token.word[0].isalnum() for token in behind):
        return Span(part.start, part.end)
    return Span(behind[0].start, part.end)


class Items:
    """The lists of a part.

    Args:
        text: the document's text.
        part: a part of one of its sentences.
        amounts: the amounts and dates of the part, in order.
        nouns: what :func:`noun_items` finds in it.
    """

    def __init__(
        self, text: str, part: Part, amounts: Sequence[Span], nouns: Sequence[Span]
    ) -> None:
        self._text = text
        self._part = part
        self._amounts = amounts
        listed = self._listed(amounts)
        self._is_nouns = not listed
        self._items = listed or self._nouns(nouns)
        rest = text[self._items[0].start : part.end] if self._items else ""
        whole = part.statement.rstrip(" .!")
        self._head = whole.removesuffix(rest) if rest and whole.endswith(rest) else ""
        if not self._head:
            self._items = []

    @property
    def single(self) -> list[Span]:
        """The items that state one thing by their article alone: "a steal" among amounts."""
        return [
            item
            for item in self._items[1:]
            if not self._is_nouns
            and _ARTICLE.match(self._text, item.start, item.end)
            and not any(item.start <= amount.start < item.end for amount in self._amounts)
        ]

    def statement(self, focus: Span) -> str:
        """The part's statement with only the item that a focus stands in.

        Bracketed amounts are left out where the focus is not among them; behind a name, they
        are a statement about it alone.
        """
        text, part = self._text, self._part
        statement = part.statement
        if self._items and focus.start < self._items[-1].end:
            item = next(
                (item for item in reversed(self._items) if item.start <= focus.start),
                self._items[0],
            )
            statement = self._head + text[item.start : item.end]
        group = next(
            (
                Span(*match.span())
                for match in _GROUP.finditer(text, part.start, part.end)
                if match.start() < focus.start and focus.end < match.end()
            ),
            None,
        )
        if group is None:
            return _ADDITION.sub("", statement).strip() or statement
        own = text[group.start : group.end]
        for name in name_spans(part.tokens):
            if 0 <= group.start - name.end <= 1:
                return f"{text[name.start : name.end]} {own}"
        return _ADDITION.sub(lambda match: match[0] if match[0].strip() == own else "", statement)

    def _listed(self, amounts: Sequence[Span]) -> list[Span]:
        """The items of a list of amounts: every item has one and no verb."""
        part = self._part
        segments = _segments(self._text, Span(part.start, part.end))
        groups = [match.span() for match in _GROUP.finditer(self._text, part.start, part.end)]
        amounts = [
            amount
            for amount in amounts
            if not any(start < amount.start < end for start, end in groups)
        ]
        for place, segment in enumerate(segments[:-1]):
            inside = [
                amount
                for amount in amounts
                if segment.start <= amount.start < segment.end
                and (part.verb is None or amount.start > part.verb)
            ]
            if not inside:
                continue
            first = inside[0]
            following = list(
                takewhile(lambda item: self._is_item(item, amounts), segments[place + 1 :])
            )
            head = self._text[max(part.start, first.start - _GUARD) : first.start]
            said = self._text[first.start : segment.end]
            if not following or _WHOLE.search(head) or _NO_ITEM.search(said):
                return []
            before = [self._text[max(0, one.start - _GUARD) : one.start] for one in inside]
            listed = self._text[segment.start : following[-1].end]
            if any(map(_OPEN.search, before)) or _UNITS.search(listed):
                return []  # "between June and July" is one time
            if _OF.search(head) and not all(self._is_bare(item, amounts) for item in following):
                return []  # "a resolution of 480 and a camera": not both are the resolution
            article = _ARTICLE_BEFORE.search(head)
            start = first.start - len(article[0]) if article else first.start
            return [Span(start, segment.end), *following]
        return []

    def _is_bare(self, item: Span, amounts: Sequence[Span]) -> bool:
        """Whether an item is an amount and nothing else."""
        return any(amount.start == item.start and amount.end >= item.end - 1 for amount in amounts)

    def _is_item(self, item: Span, amounts: Sequence[Span]) -> bool:
        said = self._text[item.start : item.end]
        bare = _GROUP.sub("", said)
        if len(bare.split()) > _MAX_WORDS or _NO_ITEM.search(bare):
            return False
        first = next((a.start for a in amounts if item.start <= a.start < item.end), None)
        if first is None:
            return _ARTICLE.match(said) is not None and len(bare.split()) <= 3
        return _BEFORE_AMOUNT.match(self._text[item.start : first]) is not None

    def _nouns(self, nouns: Sequence[Span]) -> list[Span]:
        """Nouns that the verb takes each alone; "flies to Rome, Oslo and Bern" is not divided."""
        said = [self._text[item.start : item.end] for item in nouns]
        return [] if any(_PREPOSITION.search(words) for words in said[:-1]) else list(nouns)


def _segments(text: str, span: Span) -> list[Span]:
    """A text between two places, divided at commas and "and" outside brackets."""
    plain = _GROUP.sub(lambda match: "_" * len(match[0]), text[span.start : span.end])
    edges = [span.start]
    for match in _BORDER.finditer(plain):
        edges += [span.start + match.start(), span.start + match.end()]
    edges.append(span.end)
    return [Span(*edge) for edge in zip(edges[::2], edges[1::2], strict=True)]
