"""A context in prose, read once: which sentences speak of whom, and which values they give.

The reading is of English attribution in general: names of entities and of attributes part a
sentence into segments, and the words between an attribute and its value (*is*, *of*, *as the*,
*in*, a colon, nothing at all) say on which side of it the value stands.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from tablemend.records import Evidence
from tablemend.values.cells import MODIFIERS
from tablemend.values.dates import MONTHS, WEEKDAYS
from tablemend.values.places import Places
from tablemend.values.text import (
    FUNCTION_WORDS,
    PlacedToken,
    Span,
    akin,
    content_words,
    paragraph_spans,
    sentence_spans,
    singular,
    tokens_of,
)
from tablemend.values.units import Unit, header_unit
from tablemend.verifier.indexing import OPENERS
from tablemend.verifier.lexicon import LITTLE_WORDS, any_of, called, words_of

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
        whole = sorted(span for span, _ in found)
        ends = {one.end + 1 for one, last in found if last}
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
        short = (one for one in self._known if 1 < len(one) <= _LONGEST)
        cells = (one for one in short if re.search(r"[^\W\d]", one))
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

    def tokens(self, span: Span) -> Sequence[PlacedToken]:
        """The words and numbers that begin within a place."""
        tokens = self.places.tokens
        return tokens[slice(*(bisect_left(tokens, at, key=lambda one: one.start) for at in span))]

    @cached_property
    def _amounts(self) -> list[Span]:
        return self.places.amounts(0, len(self.text))

    def amounts(self, span: Span) -> Sequence[Span]:
        """The numbers and dates that begin within a place."""
        all_ = self._amounts
        return all_[slice(*(bisect_left(all_, at, key=lambda one: one.start) for at in span))]

    def has_word(self, word: str) -> bool:
        """Whether the text has a word, in some form."""
        word = singular(word)
        return any(akin(word, other) for other in self._words.get(word[:4], ()))

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        words: dict[str, set[str]] = defaultdict(set)
        for token in self.places.tokens:
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
            starts = ((at, size) for size in sizes if size < len(words) for at in range(len(words)))
            if not names.isdisjoint(words[at : at + size] for at, size in starts):
                found += self.places.find(text)
        return sorted(found)

    def _is_modified(self, span: Span) -> bool:
        """Whether the word before makes another thing of a name: "South Melbourne"."""
        before = self.tokens(Span(max(0, span.start - 24), span.start))
        beside = bool(before) and self.text[before[-1].end : span.start] in (" ", "-")
        return beside and before[-1].word in _MODIFIERS

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
            places = [(span, self._capital_before(span)) for span in self.places.find(last)]
            own = all(self.text[s.start].isupper() and b in ("", *words) for s, b in places)
            alone = (span for span, before in places if own and not before)
            found[name] = [span for span in alone if self.text[span.start - 1 : span.start] != "-"]
        return found

    def _capital_before(self, span: Span) -> str:
        """The word with a capital directly before a place; empty where there is none."""
        before = self.tokens(Span(max(0, span.start - 40), span.start))
        word, start, end = before[-1] if before else PlacedToken("", 0, 0)
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
            for name in named:
                partly = name in self.partly_named
                found[name].append(About(number, "loose" if partly else "named"))
            if named:
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
        is_name = bool(words) and words[0] not in OPENERS | _TIME_NAMES
        return is_name and f" {' '.join(words)} " not in self._runs

    @cached_property
    def _runs(self) -> str:
        return " | ".join(["", *(" ".join(tokens_of(text).words) for text in self._known), ""])

    def has_foreign(self, span: Span) -> bool:
        """Whether words with a capital stand in a place that the answer and query do not have."""
        for match in _CAPITALS.finditer(self.text, *span):
            goes_on = re.match(r" [A-Z][a-z]", self.text[match.end() : match.end() + 3])
            if match.start() == span.start and not goes_on:
                continue  # any word has a capital there, but "Feadeas Works" is a name
            known = self._vocabulary.issuperset(tokens_of(match[0]).words)
            if match.start() not in self._values and not known:
                return True
        return False


# ---- values

_FUNCTION_WORDS = FUNCTION_WORDS - {"no", "number", "total"}
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_THE = r"(?:the|its|his|her|their|an?)"
# "LABEL is V", "LABEL of V", "LABEL: V"
_VALUE_AFTER = re.compile(
    rf"\s*:\s*|\s+(?:{any_of('figure')}\s+)?{any_of('value_link')}\b\s*:?\s*", re.I
)
# "V as the LABEL", "V in LABEL"; "V is the LABEL of E"
_VALUE_BEFORE = re.compile(rf"(?:^|[\s,;])(?:as|in|for|under)\s+(?:{_THE}\s+)?$", re.I)
_NAMED_AS = re.compile(
    r"\s(?:is|was|are|were)\s+(?:(?:given|listed|named)\s+)?(?:as\s+)?the\s+$", re.I
)
_HEAD = re.compile(r"[\W_]*(?:as|under|by|in|for|as for)\s+(?:the\s+)?$", re.I)
# "of E", "of the match against E"
_OF_ENTITY = re.compile(
    rf"\s+(?:{any_of('figure')}\s+)?(?:of|for)\s+(?:the\s+(?:[a-z]+\s+){{0,3}})?$"
)
_PREPOSITION = re.compile(rf"\s{any_of('after_amount')}\s")
_AS = re.compile(rf"\s+as\s+{_THE}\s+", re.I)
_OF = re.compile(r"\s+(?:\w+\s+)?(?:of|for)\b")
_NEXT_DIGIT = re.compile(r"\s+[$\u20ac\u00a3]?\d")
_JOINT = re.compile(r",\s+(?:and\s+)?|\s+and\s+|;\s+")
_EDGE_WORDS = words_of("edges")
_PART = re.compile(r"[^\W_]+|[^\s,;:.!?]")  # a word, or a mark that does not part words


class Label(NamedTuple):
    """An attribute as a text may name it.

    Attributes:
        name: the column's name, or the query's word for it.
        forms: runs of words that name it, with and without what stands in brackets.
        unit: what the name states.
    """

    name: str
    forms: tuple[tuple[str, ...], ...]
    unit: Unit

    @classmethod
    def of(cls, name: str) -> Label:
        """The label of a column."""
        texts = (name, _BRACKETS.sub(" ", name))
        forms = [tuple(map(singular, tokens_of(text).words)) for text in texts]
        forms.append(tuple(content_words(name)))
        forms = [form for form in forms if form and not _FUNCTION_WORDS.issuperset(form)]
        return cls(name, tuple(dict.fromkeys(forms)), header_unit(name))


class Piece(NamedTuple):
    """An attribute or an entity in a sentence; ``label`` is empty for an entity."""

    start: int
    end: int
    label: str


class StatedValue(NamedTuple):
    """A value that a sentence gives to an attribute.

    Attributes:
        label: the attribute's name.
        span: where the value stands.
        sure: whether its extent and its attribute are plain from the wording.
    """

    label: str
    span: Span
    sure: bool


Found = tuple[Span, bool] | None
"""A value and whether it is plain."""


def read_sentence(
    reader: ContextReader, sentence: int, labels: Sequence[Label]
) -> Iterator[StatedValue]:
    """Everything that a sentence states of these attributes."""
    span, text = reader.sentences[sentence], reader.text
    names = [place for place, _ in reader.names_in(sentence)]
    pieces = sorted(
        [*(Piece(*place, "") for place in names), *_find_labels(reader, span, labels, names)]
    )
    pieces = [
        piece
        for piece, after in zip(pieces, [*pieces[1:], Piece(0, 0, "")], strict=False)
        if not (piece.label and after.label and _AS.fullmatch(text, piece.end, after.start))
    ]  # "+ 1 lap as the time" speaks of no laps
    taken = span.start  # values never overlap
    for number, piece in enumerate(pieces):
        if piece.label:
            segment = _Segment(reader, span, pieces, number, taken)
            found = segment.before() or segment.after()
            if found is not None:
                taken = max(taken, found[0].end)
                yield StatedValue(piece.label, *found)


def _find_labels(
    reader: ContextReader, sentence: Span, labels: Sequence[Label], names: Sequence[Span]
) -> Iterator[Piece]:
    """Where attributes are named: as they are spelled, in the same words, in forms of them.

    A word belongs to one of them, the longest first.
    """
    tokens, text = reader.tokens(sentence), reader.text
    free = [not any(name.start <= token.start < name.end for name in names) for token in tokens]
    forms = [(form, label.name) for label in labels for form in label.forms]
    forms.sort(key=lambda one: -len(one[0]))
    found: set[str] = set()
    for step in ("spelled", "same", "akin"):
        same: Callable[[str, str], bool] = akin if step == "akin" else str.__eq__
        for form, label in forms:
            if step == "akin" and label in found:
                continue
            for place in range(len(tokens) - len(form) + 1):
                run = range(place, place + len(form))
                if not all(free[i] and same(tokens[i].word, form[i - place]) for i in run):
                    continue
                start, end = tokens[place].start, tokens[run[-1]].end
                whole = start + len(label)
                spelled = text[start:whole].lower() == label.lower()
                if spelled and not text[whole : whole + 1].isalnum():
                    end = max(end, whole)  # "completion %", "Length (m)"
                elif step == "spelled":
                    continue
                free[run.start : run.stop] = [False] * len(form)
                found.add(label)
                yield Piece(start, end, label)


class _Segment:
    """An attribute in its sentence (``pieces[number]``), with what stands beside it.

    Behind ``taken``, where the last value ends.
    """

    def __init__(
        self,
        reader: ContextReader,
        sentence: Span,
        pieces: Sequence[Piece],
        number: int,
        taken: int,
    ) -> None:
        self._reader, self._text = reader, reader.text
        self._place = pieces[number]
        before = pieces[number - 1] if number else None
        self._start = max(before.end if before else sentence.start, taken)
        self._named = before if before and not before.label and before.end == self._start else None
        self._following = [*pieces[number + 1 :], Piece(sentence.end, sentence.end, "")]
        self._left = self._text[self._start : self._place.start]
        self._right = self._text[self._place.end : self._following[0].start]
        at_start = self._start == sentence.start and _HEAD.match(self._left)
        self._leads = bool(at_start) and self._right.startswith(",")
        self._alone = sum(bool(piece.label) for piece in pieces) == 1

    def before(self) -> Found:
        """The value that stands before its attribute."""
        if self._leads:
            return None
        match = _VALUE_BEFORE.search(self._left)
        if match is None and _OF.match(self._right):
            match = _NAMED_AS.search(self._left)
        if match is not None and not (self._named and _NEXT_DIGIT.match(self._right)):
            span = self._trim(self._start, self._start + match.start())
            if span is not None:
                return self._last_part(span)
            if self._named and not self._left[: match.start()].strip():
                return Span(self._named.start, self._named.end), True  # "E has F as the LABEL"
            return None
        amounts = self._reader.amounts(Span(self._start, self._place.start))
        between = self._text[amounts[-1].end : self._place.start].strip() if amounts else None
        if between in ("", "-"):  # "a 13-point victory" is no number of points
            return amounts[-1], not between
        return None

    def after(self) -> Found:
        """The value that stands behind its attribute."""
        start, (following, *others) = self._place.end, self._following
        is_entity = bool(others) and not following.label
        if self._leads:  # "As LABEL, E has V", "In LABEL, V is given for E"
            span = self._trim(start, following.start)
            if span is not None or not is_entity:
                return (span, True) if span else None
        skips = self._leads or (is_entity and _OF_ENTITY.match(self._right))
        if skips:  # "The LABEL of E is V"
            start, (following, *others) = following.end, others
        link = _VALUE_AFTER.match(self._text, start, following.start)
        if link is None and not self._leads:
            return None
        start = link.end() if link else start
        if others and not following.label and not self._text[start : following.start].strip():
            return Span(following.start, following.end), True  # "The LABEL of E is another entity"
        return self._first_part(Span(start, following.start), bool(others))

    def _last_part(self, span: Span) -> Found:
        """What stands last in a listing; unsure where more than one thing stands there."""
        amounts = self._reader.amounts(span)
        cuts = list(_JOINT.finditer(self._text, *span))
        if not cuts:
            return span, True
        cut = cuts[-1]
        if any(one.start < cut.start() < one.end for one in amounts):  # "october 16 , 1983"
            return span, len(amounts) == 1
        first, last = self._trim(span.start, cut.start()), self._trim(cut.end(), span.end)
        return (span, False) if first and last else (last or first or span, True)

    def _first_part(self, span: Span, followed: bool) -> Found:
        """What stands first behind an attribute; up to the next joint where another one follows."""
        trimmed = self._trim(*span)
        if trimmed is None:
            return None
        amounts = self._reader.amounts(trimmed)
        if amounts and amounts[0].start == trimmed.start:  # "12.2 million in the first quarter"
            rest = _PREPOSITION.search(self._text, amounts[0].end, trimmed.end)
            trimmed = Span(trimmed.start, rest.start() if rest else trimmed.end)
        joints = [
            match.start()
            for match in _JOINT.finditer(self._text, *trimmed)
            if not any(one.start < match.start() < one.end for one in amounts)
        ]
        if not joints:
            return trimmed, True
        if not followed and self._alone:
            return trimmed, not any(map(str.isdigit, self._text[slice(*trimmed)]))
        first = self._trim(trimmed.start, joints[0])
        return (first, followed and len(joints) == 1) if first else None

    def _trim(self, start: int, end: int) -> Span | None:
        """A place without the little words, verbs and marks at its ends; ``None`` of nothing."""
        parts = deque(_PART.finditer(self._text, start, end))
        while parts and parts[0][0] in _EDGE_WORDS:
            parts.popleft()
        while parts and parts[-1][0] in _EDGE_WORDS:
            parts.pop()
        if not any(part[0].isalnum() for part in parts):
            return None
        return Span(parts[0].start(), parts[-1].end())
