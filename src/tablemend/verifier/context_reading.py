"""A context in prose, read once: its sentences, and which of them speak of which entity."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from functools import cached_property
from typing import Literal, NamedTuple

from tablemend.values.inclusion import MODIFIERS
from tablemend.values.sentences import Span, paragraph_spans
from tablemend.values.text import tokens_of
from tablemend.verifier.context_text import CAPITALS, LONGEST, TIME_NAMES, ContextText

Bond = Literal["named", "carried", "loose"]
"""How a sentence speaks of an entity: it names it; it begins with a pronoun after a sentence about
it alone; or it may carry on from one, which can support a claim and never contradict it."""

_PRONOUN = re.compile(r"(?:it|its|he|his|she|her|they|their|the (?:former|latter|same))\b", re.I)
_PERSONAL = re.compile(r"\b(?:it|its|he|his|she|her|hers)\b", re.I)
_CAPITAL = re.compile(r" [A-Z][a-z]")
_MODIFIERS = MODIFIERS - {"former", "formerly", "previously", "past", "acting", "post"}
_SHORT_NAME = 3
_PEOPLE = 4  # words of the longest name of which the last one is used alone


class About(NamedTuple):
    """A sentence that speaks of an entity.

    Attributes:
        sentence: its number.
        bond: how.
    """

    sentence: int
    bond: Bond


class ContextReader(ContextText):
    """A context, indexed for the entities of one answer."""

    @cached_property
    def name_spans(self) -> dict[str, list[Span]]:
        """Where each entity is named: in full, or by a word that is its own.

        What stands inside the longer name of another entity does not name the shorter one. Of one
        that is never named in full (:attr:`partly_named`) the word alone counts from the beginning.
        """
        full = sorted(
            (span.start, -self._with_bracket(span), name)
            for name in self.entities
            for span in self.places.find(name, self._header)
            if not self._is_modified(span)
        )
        spans: dict[str, list[Span]] = {name: [] for name in self.entities}
        taken: list[Span] = []
        for start, minus_end, name in full:
            span = Span(start, -minus_end)
            if taken and span != taken[-1] and span.end <= taken[-1].end:
                continue
            if self._is_inside(span):
                continue
            spans[name].append(span)
            if not taken or span != taken[-1]:
                taken.append(span)
        starts = [span.start for span in taken]
        for name, own in self._own_words.items():
            first = spans[name][0].start if spans[name] else -1
            for span in own:
                before = bisect_right(starts, span.start) - 1
                if span.start > first and not (before >= 0 and span.end <= taken[before].end):
                    spans[name].append(span)
            spans[name].sort()
        return spans

    def _is_inside(self, name: Span) -> bool:
        """Whether a place is only a part of a longer cell: "Ann Fay (R) 51%, Bo Lund (D) 49%"."""
        place = bisect_right(self._longer, Span(name.start, len(self.text))) - 1
        return place >= 0 and name.end <= self._longer[place].end

    @cached_property
    def _longer(self) -> list[Span]:
        """Places of cells that hold a name and more, none inside another."""
        names = {tokens_of(name).words for name in self.entities}
        sizes = {len(name) for name in names if name}
        found: list[Span] = []
        for text in dict.fromkeys(self._known):
            words = tokens_of(text).words if len(text) <= LONGEST else ()
            if any(
                words[place : place + size] in names
                for size in sizes
                if size < len(words)
                for place in range(len(words) - size + 1)
            ):
                found += self.places.find(text)
        kept: list[Span] = []
        for span in sorted(found, key=lambda one: (one.start, -one.end)):
            if not kept or span.end > kept[-1].end:
                kept.append(span)
        return kept

    @cached_property
    def partly_named(self) -> frozenset[str]:
        """Entities of which only a word of the name stands in the text: "Harden"."""
        return frozenset(
            name
            for name, spans in self.name_spans.items()
            if spans and not self.places.find(name, self._header)
        )

    def _with_bracket(self, span: Span) -> int:
        """The end of a name, with the bracket that closes it: "Hungary (HUN)"."""
        said = self.text[span.start : span.end]
        if "(" in said and ")" not in said and self.text[span.end : span.end + 1] == ")":
            return span.end + 1
        return span.end

    def _is_modified(self, span: Span) -> bool:
        """Whether the word before makes another thing of a name: "South Melbourne"."""
        before = self.tokens(Span(max(0, span.start - 24), span.start))
        if not before or self.text[before[-1].end : span.start] not in (" ", "-"):
            return False
        return before[-1].word in _MODIFIERS

    @cached_property
    def _own_words(self) -> dict[str, list[Span]]:
        """Places of the last word of a name, where it can be nobody else's.

        It must be written with a capital, belong to one entity, and never stand beside another
        capital: "Benedek" once Karl Benedek is known, unless there is an Anna Benedek.
        """
        counts = Counter(word for name in self.entities for word in set(tokens_of(name).words))
        found: dict[str, list[Span]] = {}
        for name in self.entities:
            words = tokens_of(name).words
            last = words[-1] if words else ""
            if not 2 <= len(words) <= _PEOPLE or counts[last] > 1 or not last.isalpha():
                continue
            if len(last) < _SHORT_NAME or not all(w[:1].isupper() for w in name.split()):
                continue  # "Stade de France" is not called "France"
            alone: list[Span] = []
            for span in self.places.find(last):
                if not self.text[span.start].isupper():
                    alone = []
                    break
                if self.text[span.start - 1 : span.start] == "-":
                    continue
                if self._after_capital(span.start):
                    before = self.tokens(Span(max(0, span.start - 40), span.start))
                    if not before or before[-1].word not in words:
                        alone = []
                        break
                else:
                    alone.append(span)
            found[name] = alone
        return found

    def _after_capital(self, start: int) -> bool:
        """Whether a word with a capital stands directly before a place, in the same sentence."""
        match = re.search(r"([A-Z]\.|[A-Z][\w'\u2019-]*) $", self.text[max(0, start - 40) : start])
        if match is None:
            return False
        word = start - len(match[0])
        return word not in self.starts_of_sentences or tokens_of(match[1]).words[:1] not in (
            ("the",), ("a",), ("an",), ("for",), ("with",), ("in",), ("as",), ("while",), ("when",),
        )  # fmt: skip

    @cached_property
    def about(self) -> dict[str, list[About]]:
        """For each entity the sentences that speak of it, in order."""
        found: dict[str, list[About]] = {name: [] for name in self.entities}
        paragraphs = [span.start for span in paragraph_spans(self.text)]
        current: tuple[str, ...] = ()
        bond: Bond
        paragraph = -1
        for number, span in enumerate(self.sentences):
            named = self.named_in(number)
            here = bisect_right(paragraphs, span.start)
            if here != paragraph:
                current, paragraph = (), here
            if named:
                for name in named:
                    bond = "loose" if name in self.partly_named else "named"
                    found[name].append(About(number, bond))
                # "Like the Alba she is based at Corran" is about her too.
                first = self.names_in(number)[0][0].start
                if _PERSONAL.search(self.text, span.start, first):
                    for name in current:
                        if name not in named:
                            found[name].append(About(number, "loose"))
                current = named
            elif _PRONOUN.match(self.text, span.start):
                bond = "carried" if len(current) == 1 else "loose"
                for name in current:
                    found[name].append(About(number, bond))
            elif current and (self._goes_on(span) or not self.names_foreign(number)):
                for name in current:
                    found[name].append(About(number, "loose"))
            else:
                current = ()
        return found

    def _goes_on(self, sentence: Span) -> bool:
        """Whether a pronoun stands in a sentence before any other name."""
        pronoun = _PERSONAL.search(self.text, sentence.start, sentence.end)
        if pronoun is None or not self._is_capitalised:
            return False
        return not self.has_foreign(Span(sentence.start, pronoun.start()))

    @cached_property
    def carriers(self) -> dict[int, str]:
        """For each sentence that names no entity the only one that it carries on from."""
        found: dict[int, str] = {}
        shared: set[int] = set()
        for name, sentences in self.about.items():
            for about in sentences:
                if about.bond != "named":
                    if about.sentence in found:
                        shared.add(about.sentence)
                    found[about.sentence] = name
        return {number: name for number, name in found.items() if number not in shared}

    def named_in(self, sentence: int) -> tuple[str, ...]:
        """The entities that a sentence names, in the order of the text."""
        return tuple(dict.fromkeys(name for _, name in self.names_in(sentence)))

    def names_in(self, sentence: int) -> list[tuple[Span, str]]:
        """The places in a sentence that name entities."""
        return self._names_by_sentence.get(sentence, [])

    @cached_property
    def _names_by_sentence(self) -> dict[int, list[tuple[Span, str]]]:
        found: dict[int, list[tuple[Span, str]]] = defaultdict(list)
        for name, spans in self.name_spans.items():
            for span in spans:
                found[self.sentence_at(span.start)].append((span, name))
        for names in found.values():
            names.sort()
        return dict(found)

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        words = {word for text in (*self.entities, *self._known) for word in tokens_of(text).words}
        return frozenset(words) | TIME_NAMES

    def names_foreign(self, sentence: int) -> bool:
        """Whether a sentence has a name that the answer does not have, so a subject of its own.

        True also where that cannot be seen.
        """
        return not self._is_capitalised or self.has_foreign(self.sentences[sentence])

    def has_foreign(self, span: Span) -> bool:
        """Whether words with a capital stand in a place that the answer and query do not have."""
        for match in CAPITALS.finditer(self.text, span.start, span.end):
            if match.start() == span.start and not _CAPITAL.match(self.text, match.end()):
                continue  # any word has a capital there, but "Feadeas Works" is a name
            words = tokens_of(match[0]).words
            if any(word not in self._vocabulary for word in words):
                return True
        return False
