"""A context in prose, divided: its sentences, words and amounts."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from tablemend.values.dates import MONTHS, WEEKDAYS, StatedDate
from tablemend.values.numbers import Stated
from tablemend.values.places import Places, singular
from tablemend.values.sentences import Span, sentence_spans
from tablemend.values.units import header_unit
from tablemend.values.words import akin

CAPITALS = re.compile(r"(?<![\w'\u2019])[A-Z][\w'\u2019-]+")
TIME_NAMES = frozenset([*MONTHS, *WEEKDAYS, "i"])
_NO_SPACE = re.compile(r"\S*")
_FULL_STOP = re.compile(  # tried once in a run of letters or marks, not at each of them
    r"(?:(?<![\w'])(?=[\w'])|(?<![\w')\"%\u201d]))([\w']*+)[)\"%\u201d]*+\.\s+"
)
_STOP = re.compile(r"[.!?]")
LONGEST = 200  # characters of a name or cell that is looked for whole
_STEM = 4
_ISO_APART = re.compile(r"(?<![\w.-])(\d{4}) - (\d\d) - (\d\d)(?![\w-])")
_YEAR_APART = re.compile(r" , (\d{4})(?!\d)")


class Token(NamedTuple):
    """A word or number of the text in its compared form, and its place."""

    word: str
    start: int
    end: int


class ContextText:
    """A context, divided so that no name or cell of one answer is cut.

    All work but that of single questions is linear in the context's length.

    Args:
        text: the context.
        entities: the names that its sentences may be about.
        header: of the column of these names.
        known: further words (of headers and cells) that are no foreign names.
    """

    def __init__(
        self, text: str, entities: Iterable[str], header: str = "", known: Iterable[str] = ()
    ) -> None:
        self.text = text
        self.places = Places(text)
        self.entities = tuple(dict.fromkeys(entities))
        self._header = header_unit(header)
        self._known = tuple(known)

    @cached_property
    def sentences(self) -> list[Span]:
        """All sentences, in order.

        None ends inside a name or cell of the answer ("Help! II"); one ends behind a cell though
        it looks like an abbreviation ("in Grade F. Next"), and before a name in small letters.
        """
        spans: list[Span] = []
        place = 0
        for whole in sentence_spans(self.text):
            for span in self._divide(whole):
                while place < len(self._whole) and self._whole[place].end <= span.start:
                    place += 1
                inside = place < len(self._whole) and self._whole[place].start < span.start
                if spans and (inside or self._is_cut(spans[-1].end, span.start)):
                    spans[-1] = Span(spans[-1].start, span.end)
                else:
                    spans.append(span)
        return spans

    def _is_cut(self, end: int, start: int) -> bool:
        """Whether a sentence seemed to end at a mark that a name ends with: "Help! is ..."."""
        return end in self._marks and self.text[start].islower()

    @cached_property
    def _marks(self) -> frozenset[int]:
        """Where names and cells of the answer end with a mark."""
        return frozenset(
            place
            for span in self._whole
            for place in (span.end, span.end - 1)
            if self.text[place - 1] in "!?"
        )

    @cached_property
    def _whole(self) -> list[Span]:
        """Places of names and cells with a full stop inside, to the end of their last word."""
        texts = dict.fromkeys(t for t in (*self.entities, *self._known) if _STOP.search(t))
        found = [
            Span(span.start, _NO_SPACE.match(self.text, span.end).end())  # type: ignore[union-attr]
            for text in texts
            if len(text) <= LONGEST
            for span in self.places.find(text)
        ]
        return sorted(found)

    def _divide(self, sentence: Span) -> Iterator[Span]:
        """A sentence, cut where it is surely two."""
        start = sentence.start
        for match in _FULL_STOP.finditer(self.text, sentence.start, sentence.end):
            if self._is_end(match):
                yield Span(start, self.text.index(".", match.end(1)) + 1)
                start = match.end()
        yield Span(start, sentence.end)

    def _is_end(self, stop: re.Match[str]) -> bool:
        if stop.end() in self._starts_of_names:
            return True
        is_small = self.text[stop.end()].islower()
        if not is_small and not self._is_capitalised and self.text[stop.end()].isalpha():
            return True
        if stop.end(1) in self._ends_of_cells:
            return not is_small or not self._is_capitalised
        word = stop[1]
        return is_small and not self._is_capitalised and (len(word) > 4 or word[-1:].isdigit())

    @cached_property
    def _starts_of_names(self) -> frozenset[int]:
        return frozenset(
            span.start for name in self.entities for span in self.places.find(name, self._header)
        )

    @cached_property
    def _ends_of_cells(self) -> frozenset[int]:
        """Where cells of the answer end, but for single letters, which may be initials."""
        return frozenset(
            span.end
            for text in dict.fromkeys(self._known)
            if 1 < len(text) <= LONGEST and any(map(str.isalpha, text))
            for span in self.places.find(text)
        )

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [span.start for span in self.sentences]

    def sentence_at(self, place: int) -> int:
        """Number of the sentence at a place."""
        return max(0, bisect_right(self._sentence_starts, place) - 1)

    @cached_property
    def starts_of_sentences(self) -> frozenset[int]:
        """Where sentences begin."""
        return frozenset(self._sentence_starts)

    @cached_property
    def _tokens(self) -> list[Token]:
        return [Token(*token) for token in self.places.tokens]

    @cached_property
    def _token_starts(self) -> list[int]:
        return [token.start for token in self._tokens]

    def tokens(self, span: Span) -> Sequence[Token]:
        """The words and numbers that begin within a place."""
        low = bisect_left(self._token_starts, span.start)
        return self._tokens[low : bisect_left(self._token_starts, span.end)]

    @cached_property
    def _amount_spans(self) -> list[Span]:
        years = {span.start: span.end for span in map(_span, self.places.numbers)}
        spans = set(map(_span, self.places.numbers))
        for span in map(_span, self.places.dates):
            apart = _YEAR_APART.match(self.text, span.end)  # "july 29 , 2005"
            if apart and years.pop(apart.start(1), None):
                spans.discard(Span(*apart.span(1)))
                span = Span(span.start, apart.end())
            spans.add(span)
        for match in _ISO_APART.finditer(self.text):  # "1984 - 12 - 08"
            spans.difference_update(Span(*match.span(part)) for part in (1, 2, 3))
            spans.add(Span(*match.span()))
        return sorted(spans)

    @cached_property
    def _amount_starts(self) -> list[int]:
        return [span.start for span in self._amount_spans]

    def amounts(self, span: Span) -> Sequence[Span]:
        """The numbers and dates that begin within a place."""
        low = bisect_left(self._amount_starts, span.start)
        return self._amount_spans[low : bisect_left(self._amount_starts, span.end)]

    @cached_property
    def _is_capitalised(self) -> bool:
        """Whether names can be told by their capitals; not in a text of small letters."""
        letters = [name[0] for name in self.entities if name[:1].isalpha() and name in self.text]
        if letters:
            return 2 * sum(map(str.isupper, letters)) > len(letters)
        inside = sum(
            self.text[max(0, match.start() - 2)] not in ".!?\n"
            and match[0].lower() not in TIME_NAMES
            for match in CAPITALS.finditer(self.text, 2)
        )
        return 4 * inside >= self.text.count(". ") + 1

    def has_word(self, word: str) -> bool:
        """Whether the text has a word, in some form."""
        if singular(word) in self._words:
            return True
        stem = word[:_STEM]
        return len(stem) == _STEM and any(akin(word, other) for other in self._stems.get(stem, ()))

    def has_letters(self, cell: str) -> bool:
        """Whether a cell's letters and digits stand in the text with other spaces: "were8,082"."""
        wanted = _squeeze(cell)
        digits = r"(?<!\d)" + re.escape(wanted) + r"(?!\d)"
        return bool(wanted) and re.search(digits, self._squeezed) is not None

    @cached_property
    def _squeezed(self) -> str:
        return _squeeze(self.text)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(token.word for token in self._tokens)

    @cached_property
    def _stems(self) -> dict[str, list[str]]:
        stems: dict[str, list[str]] = defaultdict(list)
        for word in self._words:
            stems[word[:_STEM]].append(word)
        return dict(stems)


def _squeeze(text: str) -> str:
    return "".join(text.casefold().split())


def _span(stated: Stated | StatedDate) -> Span:
    return Span(stated.start, stated.end)
