"""A context in prose, read once: its sentences, and which of them speak of which entity."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from tablemend.records import Evidence
from tablemend.values.dates import MONTHS, WEEKDAYS
from tablemend.values.inclusion import MODIFIERS
from tablemend.values.places import Places, singular
from tablemend.values.sentences import Span, paragraph_spans, sentence_spans
from tablemend.values.text import tokens_of
from tablemend.values.units import header_unit
from tablemend.values.words import akin
from tablemend.verifier.lexicon import LITTLE_WORDS
from tablemend.verifier.unknown_names import OPENERS
from tablemend.verifier.wordings import called

Bond = Literal["named", "carried", "loose", "unclear"]
"""How a sentence speaks of an entity: it names it; it begins with a pronoun after a sentence about
it alone; it may carry on from one, which can support a claim and never contradict it; or it may as
well name another one ("South had ..."), which decides nothing."""

_LONGEST = 200  # characters of a cell that is looked for whole
_CAPITALS = re.compile(r"(?<![\w'\u2019])[A-Z][\w'\u2019-]+")
_TIME_NAMES = frozenset([*MONTHS, *WEEKDAYS, "i"])
_PRONOUNS = "it|its|he|his|she|her|they|their|the (?:former|latter|same)"
_PERSONAL = re.compile(r"\b(?:it|its|he|his|she|her|hers)\b", re.I)
_FULL_STOP = re.compile(  # tried once in a run of letters or marks, not at each of them
    r"(?:(?<![\w'])(?=[\w'])|(?<![\w')\"%\u201d]))([\w']*+)[)\"%\u201d]*+\.\s+"
)
_MODIFIERS = MODIFIERS - {"former", "formerly", "previously", "past", "acting", "post"}
_FIRST_WORD = re.compile(r"([A-Z][a-z]+)(?='s\b|\u2019s\b|,? [a-z])")
NAME = r"[^\W\d_a-z][\w'\u2019.-]*"
"""A word with a capital, for a pattern."""
_LAST_NAME = re.compile(rf"(?:(?<= )(?:{NAME}|&) ?)+, $")
_SUBJECT = re.compile(
    rf"(?:The (?:[a-z]+ ){{0,3}})?({NAME}(?: (?:of |for |to |the |& )*(?:{NAME}|\d[\w-]*))+)"
    r",? [a-z]"
)
_LITTLE = frozenset("the a an for with in as while when".split())


class Token(NamedTuple):
    """A word or number of the text in its compared form, and its place."""

    word: str
    start: int
    end: int


class About(NamedTuple):
    """A sentence that speaks of an entity: its number, and how."""

    sentence: int
    bond: Bond

    @property
    def sure(self) -> bool:
        """Whether nobody else can be meant."""
        return self.bond in ("named", "carried")


class ContextReader:
    """A context, indexed for the entities of one answer; the index takes linear time.

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
        self._unit = header_unit(header)
        nouns = "|".join(map(re.escape, [header, *called(header)])) if header else ""
        called_so = rf"|the (?:{nouns})(?! (?-i:[^\W\d_a-z]))" if header else ""
        self._goes_on = re.compile(rf"([^,;:]{{1,80}}, )?(?:{_PRONOUNS}{called_so})\b", re.I)
        self._values: set[int] = set()
        self._known = list(dict.fromkeys((*self.entities, *known)))

    # sentences, words, amounts

    @cached_property
    def sentences(self) -> list[Span]:
        """All sentences, in order; none begins inside a name or cell ("Help! II is ...")."""
        marked = [one for one in self._known if not {".", "!", "?"}.isdisjoint(one[:_LONGEST])]
        found = [(span, text[-1] in ".!?") for text in marked for span in self.places.find(text)]
        whole, ends = (
            sorted(span for span, _ in found),
            {one.end + 1 for one, last in found if last},
        )
        spans: list[Span] = []
        for span in (part for one in sentence_spans(self.text) for part in self._divide(one)):
            place = bisect_left(whole, Span(span.start, 0)) - 1
            inside = place >= 0 and span.start < whole[place].end
            goes_on = self.text[span.start].islower() and spans and spans[-1].end in ends
            if spans and (inside or goes_on):
                spans[-1] = Span(spans[-1].start, span.end)
            else:
                spans.append(span)
        return spans

    def _divide(self, sentence: Span) -> Iterator[Span]:
        """A sentence, cut before a name in small letters ("12 points. essendon is ...").

        Behind a cell too, though it looks like an abbreviation ("in Grade F. Next").
        """
        start = sentence.start
        for stop in _FULL_STOP.finditer(self.text, *sentence):
            small = self.text[stop.end()].islower()
            is_word = len(stop[1]) > 4 or stop[1][-1:].isdigit()
            if (
                stop.end() in self._starts_of_names
                or (stop.end(1) in self._ends_of_cells and not (small and self._is_capitalised))
                or (small and is_word and not self._is_capitalised)
            ):
                yield Span(start, self.text.index(".", stop.end(1)) + 1)
                start = stop.end()
        yield Span(start, sentence.end)

    @cached_property
    def _starts_of_names(self) -> set[int]:
        return {span.start for name in self.entities for span in self.places.find(name, self._unit)}

    @cached_property
    def _ends_of_cells(self) -> set[int]:
        """Where cells of the answer end, but for single letters, which may be initials."""
        cells = [
            one for one in self._known if 1 < len(one) <= _LONGEST and re.search(r"[^\W\d]", one)
        ]
        return {span.end for cell in cells for span in self.places.find(cell)}

    @cached_property
    def starts(self) -> list[int]:
        """Where sentences begin."""
        return [span.start for span in self.sentences]

    def evidence(self, sentence: int) -> Evidence:
        """A sentence as evidence."""
        start, end = self.sentences[sentence]
        return Evidence(self.text[start:end], start=start, end=end)

    def sentence_at(self, place: int) -> int:
        """Number of the sentence at a place."""
        return max(0, bisect_right(self.starts, place) - 1)

    @cached_property
    def _tokens(self) -> list[Token]:
        return [Token(*token) for token in self.places.tokens]

    def tokens(self, span: Span) -> Sequence[Token]:
        """The words and numbers that begin within a place."""
        return self._tokens[slice(*(bisect_left(self._tokens, at, key=_start) for at in span))]

    @cached_property
    def _amounts(self) -> list[Span]:
        return self.places.amounts(0, len(self.text))

    def amounts(self, span: Span) -> Sequence[Span]:
        """The numbers and dates that begin within a place."""
        return self._amounts[slice(*(bisect_left(self._amounts, at, key=_start) for at in span))]

    def has_word(self, word: str) -> bool:
        """Whether the text has a word, in some form."""
        word = singular(word)
        return any(akin(word, other) for other in self._words.get(word[:4], ()))

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        words: dict[str, set[str]] = defaultdict(set)
        for token in self._tokens:
            words[token.word[:4]].add(token.word)
        return dict(words)

    # names

    @cached_property
    def name_spans(self) -> dict[str, list[Span]]:
        """Where each entity is named: in full, or by a last name that is its own.

        What stands inside a longer name or cell does not name the shorter one. Of one that is
        never named in full (:attr:`partly_named`) the last name alone counts from the beginning.
        """
        spans = {
            name: [
                span
                for span in self.places.find(name, self._unit)
                if not self._is_inside(span) and not self._is_modified(span)
            ]
            for name in self.entities
        }
        taken = sorted(span for own in spans.values() for span in own)
        for name, own in self._last_names.items():
            first = spans[name][0].start if spans[name] else -1
            for span in own:
                place = bisect_right(taken, Span(span.start, len(self.text))) - 1
                inside = place >= 0 and span.end <= taken[place].end
                if span.start > first and not inside:
                    spans[name].append(span)
            spans[name].sort()
        for name, span in list(self._repeated(spans)):
            spans[name] = sorted((*spans[name], span))
        return spans

    def _repeated(self, spans: dict[str, list[Span]]) -> Iterator[tuple[str, Span]]:
        """Last names that others share, where a sentence begins with the one before's only one.

        "Dewey Burke is a guard. Burke has ..."
        """
        named: dict[int, set[str]] = defaultdict(set)
        for name, own in spans.items():
            for span in own:
                named[self.sentence_at(span.start)].add(name)
        name, end = "", 0
        for number, sentence in enumerate(self.sentences):
            words = name.split() if "\n" not in self.text[end : sentence.start] else []
            last = rf"(?:[^,;:]{{1,80}}, )?({re.escape(words[-1])})\b(?! [A-Z])" if words else ""
            if named[number]:
                name = next(iter(named[number])) if len(named[number]) == 1 else ""
            elif len(words) > 1 and all(word[0].isupper() for word in words):
                if match := re.compile(last).match(self.text, *sentence):
                    yield name, Span(*match.span(1))
                elif self._goes_on.match(self.text, *sentence) is None:
                    name = ""
            else:
                name = ""
            end = sentence.end

    def _is_inside(self, name: Span) -> bool:
        """Whether a place is only a part of a longer cell: "Ann Fay (R) 51%, Bo Lund (D) 49%"."""
        place = bisect_right(self._longer, Span(name.start, len(self.text))) - 1
        return place >= 0 and name.end <= self._longer[place].end and name != self._longer[place]

    @cached_property
    def _longer(self) -> list[Span]:
        """Places of cells that hold a name and more."""
        names = {tokens_of(name).words for name in self.entities} - {()}
        sizes = {len(name) for name in names}
        found: list[Span] = []
        for text in self._known:
            words = tokens_of(text).words if len(text) <= _LONGEST else ()
            runs = (
                words[start : start + size]
                for size in sizes
                if size < len(words)
                for start in range(len(words) - size + 1)
            )
            if not names.isdisjoint(runs):
                found += self.places.find(text)
        return sorted(found)

    def _is_modified(self, span: Span) -> bool:
        """Whether the word before makes another thing of a name: "South Melbourne"."""
        before = self.tokens(Span(max(0, span.start - 24), span.start))
        if not before or self.text[before[-1].end : span.start] not in (" ", "-"):
            return False
        return before[-1].word in _MODIFIERS

    @cached_property
    def partly_named(self) -> frozenset[str]:
        """Entities of which only the last name stands in the text: "Harden"."""
        return frozenset(
            name
            for name, spans in self.name_spans.items()
            if spans and not self.places.find(name, self._unit)
        )

    @cached_property
    def _last_names(self) -> dict[str, list[Span]]:
        """Places of the last word of a name alone, where it can be nobody else's.

        It must be written with a capital, belong to one entity, and never stand behind another
        capital: "Benedek" once Karl Benedek is known, unless there is an Anna Benedek.
        """
        counts = Counter(word for name in self.entities for word in set(tokens_of(name).words))
        found: dict[str, list[Span]] = {}
        for name in self.entities:
            words = tokens_of(name).words
            last = words[-1] if words else ""
            if not 2 <= len(words) <= 4 or counts[last] > 1 or len(last) < 3 or not last.isalpha():
                continue
            if not all(word[:1].isupper() for word in name.split()):
                continue  # "Stade de France" is not called "France"
            alone: list[Span] = []
            for span in self.places.find(last):
                before = self._capital_before(span)
                if not self.text[span.start].isupper() or (before and before not in words):
                    alone = []
                    break
                if not before and self.text[span.start - 1 : span.start] != "-":
                    alone.append(span)
            found[name] = alone
        return found

    def _capital_before(self, span: Span) -> str:
        """The word with a capital directly before a place; empty where there is none."""
        before = self.tokens(Span(max(0, span.start - 40), span.start))
        word, start, end = before[-1] if before else Token("", 0, 0)
        gap = self.text[end : span.start]
        beside = gap == " " or (gap == ". " and len(word) == 1)  # "J. Smith"
        return word if beside and self.text[start].isupper() and word not in _LITTLE else ""

    # which sentences speak of which entity

    @cached_property
    def about(self) -> dict[str, list[About]]:
        """For each entity the sentences that speak of it, in order."""
        found: dict[str, list[About]] = {name: [] for name in self.entities}
        paragraphs = [span.start for span in paragraph_spans(self.text)]
        current: tuple[str, ...] = ()
        paragraph, unclear, doubtful = -1, False, False
        for number, span in enumerate(self.sentences):
            named = tuple(dict.fromkeys(name for _, name in self.names_in(number)))
            here = bisect_right(paragraphs, span.start)
            if here != paragraph:
                current, paragraph, unclear = (), here, False
            unclear = not named and (unclear or self._may_begin_with_name(span))
            bond: Bond = "unclear" if unclear else "loose"
            if named:
                for name in named:
                    partly = name in self.partly_named
                    found[name].append(About(number, "loose" if partly else "named"))
                # "Like the Alba she is based at Corran" is about her too.
                first = self.names_in(number)[0][0].start
                carries_on = _PERSONAL.search(self.text, span.start, first) is not None
            elif self._carries_on(span):
                carries_on = True
                bond = "carried" if len(current) == 1 and not (unclear or doubtful) else bond
            else:
                carries_on = doubtful = not self.names_foreign(number)
            for name in current if carries_on else ():
                if name not in named:
                    found[name].append(About(number, bond))
            if named or not carries_on:
                current, doubtful = named, False
        return found

    def _carries_on(self, sentence: Span) -> bool:
        """Whether a sentence speaks of the one before's subject: "It has", "Led by F, it has"."""
        match = self._goes_on.match(self.text, *sentence)
        if match is None or not match[1]:
            return match is not None
        name = _LAST_NAME.search(match[1])
        end = match.start(1) + name.start() if name else match.end(1)
        return not self.has_foreign(Span(sentence.start, end))

    def give(self, values: Iterable[Span]) -> None:
        """Take names for values that are said of an entity, and for no subjects of their own."""
        self._values = {m.start() for one in values for m in _CAPITALS.finditer(self.text, *one)}
        self.__dict__.pop("about", None)
        self.__dict__.pop("carriers", None)

    def _may_begin_with_name(self, sentence: Span) -> bool:
        """Whether the first word can be a name of one word that the answer does not have."""
        first = _FIRST_WORD.match(self.text, sentence.start)
        if first is None or not self._is_capitalised:
            return False
        word = first[1].lower()
        is_common = word in OPENERS or word.endswith(("ly", "ing"))
        return not (is_common or word in self._small_words or word in self._vocabulary)

    @cached_property
    def _small_words(self) -> frozenset[str]:
        """Words that the text writes without a capital somewhere."""
        return frozenset(re.findall(r"(?<![\w'\u2019-])[a-z][\w'\u2019-]+", self.text))

    @cached_property
    def carriers(self) -> dict[int, str]:
        """For each sentence that names no entity the only one that it carries on from."""
        found: dict[int, set[str]] = defaultdict(set)
        for name, sentences in self.about.items():
            for about in sentences:
                if about.bond != "named":
                    found[about.sentence].add(name)
        return {number: names.pop() for number, names in found.items() if len(names) == 1}

    def names_in(self, sentence: int) -> list[tuple[Span, str]]:
        """The places in a sentence that name entities, in order."""
        return self._names_by_sentence.get(sentence, [])

    @cached_property
    def _names_by_sentence(self) -> dict[int, list[tuple[Span, str]]]:
        found: dict[int, list[tuple[Span, str]]] = defaultdict(list)
        for span, name in sorted(
            (span, name) for name, spans in self.name_spans.items() for span in spans
        ):
            found[self.sentence_at(span.start)].append((span, name))
        return dict(found)

    # names that the answer does not have

    @cached_property
    def _is_capitalised(self) -> bool:
        """Whether names can be seen by their capitals; not in a text of small letters."""
        letters = [name[0] for name in self.entities if name[:1].isalpha() and name in self.text]
        if letters:
            return 2 * sum(map(str.isupper, letters)) > len(letters)
        return 4 * len(_CAPITALS.findall(self.text)) >= 6 * self.text.count(". ")

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        words = {word for text in self._known for word in tokens_of(text).words}
        return frozenset(words) | _TIME_NAMES | LITTLE_WORDS

    def names_foreign(self, sentence: int) -> bool:
        """Whether a sentence has a name that the answer does not have, so a subject of its own.

        True also where that cannot be seen.
        """
        span = self.sentences[sentence]
        if not self._is_capitalised or self.has_foreign(span):
            return True
        # "Alba Wetlands", where the answer has "Alba Reserve" and "Sella Wetlands"
        subject = _SUBJECT.match(self.text, *span)
        words = tokens_of(subject[1]).words if subject else ()
        return (
            bool(words)
            and words[0] not in OPENERS | _TIME_NAMES
            and f" {' '.join(words)} " not in self._runs
        )

    @cached_property
    def _runs(self) -> str:
        return " | ".join(["", *(" ".join(tokens_of(text).words) for text in self._known), ""])

    def has_foreign(self, span: Span) -> bool:
        """Whether words with a capital stand in a place that the answer and query do not have."""
        for match in _CAPITALS.finditer(self.text, *span):
            if match.start() == span.start and not re.match(
                r" [A-Z][a-z]", self.text[match.end() :][:3]
            ):
                continue  # any word has a capital there, but "Feadeas Works" is a name
            if match.start() not in self._values and not self._vocabulary.issuperset(
                tokens_of(match[0]).words
            ):
                return True
        return False


def _start(one: Span | Token) -> int:
    return one.start
