"""The words in which a context states each column's values, learned from the answer itself.

A context says alike of all rows what is alike: "employs 140 people", "employs 87 people". Words
that stand beside the cells of one column, row after row, are that column's wording, and what else
stands there is given to the column, too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tablemend.values.places import singular
from tablemend.values.sentences import Span
from tablemend.values.words import akin, content_words
from tablemend.verifier.context_text import NAME, ContextReader
from tablemend.verifier.context_values import StatedValue
from tablemend.verifier.lexicon import LITTLE_WORDS

_SHARE = 0.75  # of the names beside whose sentences a wording stands, those whose cell it has
_SENTENCES = 40  # of a name that are looked at
_WORDS = 3  # of a wording, on one side of its value
_REACH = 60  # characters before a value
_NAMES = re.compile(rf"(?<![\w'\u2019-]){NAME}(?:(?: | (?:of|de|da|van|von|the|&) ){NAME})*(?<!\.)")
_JOINT = r"(?!(?:and|or|but|with|which|that|while) )"
_BEFORE = re.compile(rf"(?<![\w'\u2019-])(?:{_JOINT}[\w'\u2019-]+ ){{1,{_WORDS}}}$", re.I)
_BEHIND = re.compile(
    rf" ?[^\s\w,.;:()]|(?: {_JOINT}[\w'\u2019/\u00b2\u00b3-]+){{1,{_WORDS}}}", re.I
)
_SMALL = re.compile(r"(?<![\w'\u2019-])[a-z]+(?:-[a-z]+)*(?![\w'\u2019-])")

Wording = tuple[str, str]
"""The words before a value and those behind it; one of them may be empty."""


class Slot(NamedTuple):
    """A value in a sentence, whatever it is said of, with the wordings that it stands in."""

    span: Span
    wordings: tuple[Wording, ...]


class Learned:
    """The wordings of each column.

    Args:
        reader: the context.
        cells: places of cells with text, whose extent is known.
        header: of the column of names: "the company" is who is spoken of.
    """

    def __init__(self, reader: ContextReader, cells: Iterable[Span], header: str) -> None:
        self._reader, self._little = reader, LITTLE_WORDS.union(header.lower().split())
        self._cells: dict[int, list[Span]] = defaultdict(list)
        for span in set(cells):
            self._cells[reader.sentence_at(span.start)].append(span)
        self._slots: dict[int, list[Slot]] = {}
        self._wordings: dict[Wording, tuple[str, bool]] = {}
        self._own: dict[Wording, set[int]] = {}  # where one stands that one name has
        self._small: set[str] = set()  # columns whose values are words in small letters

    def learn(
        self,
        columns: Sequence[str],
        asked: Sequence[str],
        fits: Callable[[str, str, Span], bool | None],
    ) -> None:
        """Learn the wordings of columns.

        Args:
            columns: their names.
            asked: others that the query has conditions on; they have what is no cell.
            fits: whether a name's cell of a column stands at a place, or a value that is in the
                query's scope; ``None`` where it cannot.
        """
        names: dict[tuple[Wording, str, str], set[str]] = defaultdict(set)
        own: dict[Wording, set[int]] = defaultdict(set)
        self._small.clear()
        for name in self._reader.entities:
            for about in self._reader.about[name][:_SENTENCES]:
                if about.sure and {one for _, one in self._reader.names_in(about.sentence)} <= {
                    name
                }:
                    for slot in self.slots(about.sentence):
                        found = {one: fits(name, one, slot.span) for one in (*asked, *columns)}
                        if any(found[column] for column in columns):
                            found |= dict.fromkeys(asked, False)
                        if (matches := list(found.values()).count(True)) > 1:
                            continue  # of which column it is cannot be told
                        for column, same in found.items():
                            is_wrong = "wrong" if same is False else ""
                            verdict = "right" if same else "another's" if matches else is_wrong
                            for wording in self._told(slot, column) if same else slot.wordings:
                                names[wording, column, verdict].add(name)
                                if same:
                                    own[wording].add(about.sentence)
                                    if _SMALL.fullmatch(self._reader.text, *slot.span):
                                        self._small.add(column)
                                    if self._is_telling(slot.span):
                                        names[wording, column, "telling"].add(name)
        self._wordings, self._own = {}, {}
        for (wording, column, verdict), right in list(names.items()):
            wrong = names[wording, column, "another's"] | (names[wording, column, "wrong"] - right)
            if verdict == "right" and len(right) >= _SHARE * (len(right) + len(wrong)):
                once = names[wording, column, "telling"] and not wrong
                self._wordings[wording] = (column, len(right) > 1 or bool(once))
                if len(right) == 1:  # it tells nothing of the cell that it is learned from
                    self._own[wording] = own[wording]

    def _told(self, slot: Slot, column: str) -> Iterable[Wording]:
        """The wordings of a value of a column: those that name the column, where there are any."""
        words = content_words(column)
        named = [
            one
            for one in slot.wordings
            if any(akin(word, singular(part)) for part in " ".join(one).split() for word in words)
        ]
        return named or slot.wordings

    def _is_telling(self, place: Span) -> bool:
        """Whether a value stands beside a column's words by no chance: "460.9", not "2"."""
        return sum(map(str.isdigit, self._reader.text[slice(*place)])) != 1

    def slots(self, sentence: int) -> list[Slot]:
        """The values of a sentence: numbers, dates, names that are no entity's, known cells."""
        if sentence not in self._slots:
            reader, span, known = (
                self._reader,
                self._reader.sentences[sentence],
                self._cells[sentence],
            )
            names = [place for place, _ in reader.names_in(sentence)]
            runs = (
                Span(*match.span())
                for match in _NAMES.finditer(reader.text, span.start + 1, span.end)
            )
            free = [one for one in (*reader.amounts(span), *runs) if not overlap(one, known)]
            places = dict.fromkeys(sorted([*free, *known], key=lambda one: (one.start, -one.end)))
            self._slots[sentence] = [
                Slot(one, tuple(self._find(span, one, names)))
                for one in places
                if not overlap(one, names)
            ]
        return self._slots[sentence]

    def _words(self, sentence: int) -> Iterator[Slot]:
        """Words that are no known value and can be one of a column of such: "a yellow flag"."""
        span, text = self._reader.sentences[sentence], self._reader.text
        known = [one.span for one in self.slots(sentence)]
        known += [place for place, _ in self._reader.names_in(sentence)]
        for match in _SMALL.finditer(text, *span) if self._small else ():
            place = Span(*match.span())
            if match[0] in self._little or overlap(place, known):
                continue
            wordings = tuple(
                one
                for one in self._find(span, place, known)
                if self._wordings.get(one, ("", False))[0] in self._small
                and (one[0] or self._ends(text[span.start : place.start].split()[-1:]))
                and (one[1] or self._ends(text[place.end : span.end].split()[:1]))
            )
            if wordings:
                yield Slot(place, wordings)

    def _ends(self, word: Sequence[str]) -> bool:
        """Whether a value does not go on with the word beside it."""
        return not word or word[0].strip(".,;:") in ("", *self._little)

    def _find(self, sentence: Span, place: Span, names: Sequence[Span]) -> Iterator[Wording]:
        """The wordings that a value stands in, those of most words first on either side."""
        start = max([sentence.start, *(one.end for one in names if one.end <= place.start)])
        end = min([sentence.end, *(one.start for one in names if one.start >= place.end)])
        if self._reader.text[start : place.start] == " (" and self._reader.text.startswith(
            ")", place.end
        ):
            is_number = self._reader.text[place.start].isdigit()
            yield "(", "number)" if is_number else ")"  # right behind the name
        match = _BEFORE.search(self._reader.text, max(start, place.start - _REACH), place.start)
        before = match[0].lower().split() if match else []
        match = _BEHIND.match(self._reader.text, place.end, end)
        behind = match[0].lower().split() if match else []
        for n in range(len(before), 0, -1):
            # "first runner-up was" is another wording than "second runner-up was"
            whole = n == len(before) or before[-n - 1] in self._little
            if whole and not self._little.issuperset(before[-n:]):
                yield " ".join(before[-n:]), ""
        if before and behind:
            yield before[-1], behind[0]
        for n in range(len(behind), 0, -1):
            if not self._little.issuperset(behind[:n]):
                yield "", " ".join(behind[:n])

    def read(self, sentence: int, can_be: Callable[[str, Span], bool]) -> Iterator[StatedValue]:
        """What a sentence states of the columns by their wordings.

        Args:
            sentence: its number.
            can_be: whether a column can have the value at a place.
        """
        taken = -1
        for slot in sorted([*self.slots(sentence), *self._words(sentence)]):
            found = [
                (known[1], len(" ".join(one).split()), known[0])
                for one in slot.wordings
                if (known := self._wordings.get(one))
                and can_be(known[0], slot.span)
                and sentence not in self._own.get(one, ())
            ]
            labels = {label for *rank, label in found if tuple(rank) == max(found)[:2]}
            if len(labels) == 1 and slot.span.start >= taken:
                taken = slot.span.end
                yield StatedValue(labels.pop(), slot.span, max(found)[0])


def overlap(place: Span, others: Iterable[Span]) -> bool:
    """Whether a place has a character in common with one of others."""
    return any(one.start < place.end and place.start < one.end for one in others)
