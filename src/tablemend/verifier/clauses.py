"""Sentences divided into the parts that each state something, with the subject they share.

There is no grammar behind it. A sentence is divided where a connector ("and", "while", ", who",
";") is surely followed by a verb; a list of nouns stays in one part. What a part leaves out,
its subject or the name behind a pronoun, is put into its statement where it is clear, else the
whole sentence is the statement.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import yaml

from tablemend.values.numbers import ONES, TENS
from tablemend.values.text import Span, pieces, sentence_spans

# ---- sentences and list items

_BULLET = re.compile(r"\s*(?:[-*•●▪◦‣·+>|]+|#{1,6}|\(?\d{1,2}[.)](?!\d)|\(?[a-z]\))(?=[\s*])\s*")
_SPLIT_DECIMAL = re.compile(r"\d \.$")
_LINE = re.compile(r"\n")


def sentences(text: str) -> list[Span]:
    """The sentences and list items of a text, without bullets and heading marks.

    Of one without an end, its :func:`~tablemend.values.text.pieces`.
    """
    spans: list[Span] = []
    for span in sentence_spans(text):
        before = text[spans[-1].start : spans[-1].end] if spans else ""
        # "73 . 95 %" of tokenised texts is one number.
        if text[span.start].isdigit() and _SPLIT_DECIMAL.search(before[-4:]):
            spans[-1] = Span(spans[-1].start, span.end)
        else:
            spans += _lines(text, span)
    return spans


def _lines(text: str, span: Span) -> Iterator[Span]:
    """A sentence at its line breaks that end a list item or a heading, without the bullets."""
    start = span.start
    ends = [match.start() for match in _LINE.finditer(text, span.start, span.end)]
    for end in [*ends, span.end]:
        if end < span.end:
            following = text[end : end + 12].lstrip()
            ended = text[start:end].rstrip().endswith((":", ".", "|"))
            if not (ended or _BULLET.match(following) or text[end : end + 2].isspace()):
                continue
        before = text[text.rfind("\n", max(0, start - 12), start) + 1 : start]
        bullet = _BULLET.match(text, start, end) if not before.strip() or start == 0 else None
        if bullet:
            start = bullet.end()
        for piece in pieces(text, Span(start, end)):
            line = text[piece.start : piece.end]
            first = piece.start + len(line) - len(line.lstrip())
            if any(character.isalnum() for character in line):
                yield Span(first, piece.start + len(line.rstrip()))
        start = end


# ---- words and names

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*(?:[^\W_]+)?"
    r"|(?<=[\w\s])['\u2019](?:s|re|ve|ll)\b"
    r"|[^\W\d_][^\W_]*(?:[.&/+'\u2019-](?!['\u2019]?s\b)[^\W_]+)*|[^\w\s]|_"
)
_CONNECTORS = frozenset(
    "of de da do del della di du la le el y e van von der den and& the am im ter".split()
)
_FUNCTION = frozenset(
    "a an the this that these those his her its their our my your he she it they we you i "
    "one in on at by with from for of to during after before since until under over among "
    "between according despite within throughout as and or but while whereas although "
    "though however yet because so if when where which who both all each every some any "
    "no none most many few several only also then there here overall finally additionally "
    "moreover furthermore meanwhile later next last first second third not is are was "
    "were be has have had did do".split()
)
_INSIDE = frozenset({".", "'", "-", "&", "/"})


class Token(NamedTuple):
    """A word or a mark.

    Attributes:
        word: in small letters, with a plain apostrophe.
        start, end: its place in the text.
        capital: whether it is written with a capital, or with digits and letters ("iPhone").
    """

    word: str
    start: int
    end: int
    capital: bool


def tokens_of_sentence(text: str, start: int, end: int) -> list[Token]:
    """The words and marks between two places, in order.

    A function word has no capital, wherever it stands.
    """
    tokens = []
    for match in _TOKEN.finditer(text, start, end):
        said, word = match[0], match[0].lower().replace("\u2019", "'")
        capital = said[0].isupper() or (said[0].isalpha() and said[1:] != said[1:].lower())
        if word in _FUNCTION and (len(word) > 1 or text[match.end() : match.end() + 1] != "."):
            capital = False  # no initial of a name
        tokens.append(Token(word, *match.span(), capital))
    return tokens


def name_spans(tokens: list[Token]) -> list[Span]:
    """Runs of capitalised words: "Al Horford", "University of Oslo", "J. Rodríguez".

    The first word of a sentence has a capital without being a name: whoever asks decides.
    """
    found: list[Span] = []
    place = 0
    while place < len(tokens):
        if not tokens[place].capital:
            place += 1
            continue
        last, ahead = place, place + 1
        while ahead < len(tokens):
            token = tokens[ahead]
            if token.capital:
                last = ahead
            elif (token.word not in _CONNECTORS and not _joins(tokens, ahead)) or (
                token.word in ("and", "the") and tokens[ahead - 1].word not in ("of", "&")
            ):
                break
            ahead += 1
            if ahead - last > 3:
                break
        found.append(Span(tokens[place].start, tokens[last].end))
        place = last + 1
    return found


def _joins(tokens: list[Token], place: int) -> bool:
    """Whether a mark stands inside a name: the dot of an initial, a dash without spaces."""
    mark, before = tokens[place], tokens[place - 1]
    if mark.word == ".":
        return before.end - before.start <= 2 and before.capital
    follows = place + 1 < len(tokens) and tokens[place + 1].start == mark.end
    return mark.word in _INSIDE and before.end == mark.start and follows


# ---- verbs

_WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in yaml.load(
        Path(__file__).with_name("verbs.yaml").read_text(encoding="utf-8"), yaml.CBaseLoader
    ).items()
}
ADVERBS = _WORDS["adverbs"]
_DETERMINERS = _WORDS["determiners"].union(ONES[1:], TENS)


def is_verb(tokens: list[Token], place: int) -> bool:
    """Whether a token is surely a finite verb of its clause."""
    token = tokens[place]
    word = token.word
    after_pronoun = place > 0 and tokens[place - 1].word in _WORDS["pronouns"]
    if word in _WORDS["auxiliaries"]:
        return True
    if word == "'s":
        return after_pronoun
    if token.capital or not word.isalpha():
        return False
    if word in _WORDS["past"]:
        return True
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    takes_object = following is not None and (
        following.capital or following.word[0].isdigit() or following.word in _DETERMINERS
    )
    if word.endswith("ed") and len(word) > 4 and word not in _WORDS["not_past"]:
        return following is None or following.word in _WORDS["function"] or takes_object
    if after_pronoun and (word in _WORDS["doubtful"] or word[-1] == "s"):
        return True
    if word in _WORDS["with_preposition"]:
        return takes_object or (following is not None and following.word in _WORDS["linking"])
    stems = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    if not _WORDS["doubtful"].isdisjoint(stems):
        return takes_object
    return not _WORDS["sure"].isdisjoint(stems)


def is_participle(word: str) -> bool:
    """Whether a word after a comma can go on with a clause: "making it two in a row"."""
    return word.endswith("ing") and len(word) > 5 and word not in _WORDS["not_participle"]


# ---- parts

MAX_PART = 600
"""Characters; what is longer (a text without any mark) is cut at spaces."""

_SPACED_MARK = re.compile(r"\w [.,](?:\s|$)")
_SUBORDINATE = frozenset("while whereas although though but however yet because whilst so".split())
_RELATIVE = frozenset({"which", "who", "whose", "where"})
_CONJUNCTIONS = frozenset({"and", "or", "but", "then", "plus"})
_DASHES = frozenset("-\u2013\u2014")
_OPENINGS = _SUBORDINATE | _CONJUNCTIONS | _DASHES | frozenset({",", ";"})
_CLOSINGS = frozenset(",.;:!?\u3002|*") | _DASHES | _CONJUNCTIONS
_PREPOSITIONS = frozenset(
    "in on at by with from for of during after before since until to as under over among between "
    "according despite within throughout through per like".split()
)
_PERSONAL = frozenset({"he", "she"})
_POSSESSIVE = {"his": "person", "her": "person", "its": "thing", "their": "thing"}
_PRONOUNS = _PERSONAL | frozenset({"it", "they", "this", "these", "those", "both"})
_DESCRIPTION = re.compile(
    r"the (?:company|firm|business|organi[sz]ation|team|club|player|device|phone|smartphone|handset"
    r"|model|product|tablet|film|album|band|bank|school|university|city|country)\Z"
)
_LOOK_AHEAD = 9
_CLAUSE_ENDS = frozenset({",", ";", "and", "or", "but", "with", ":", "(", ")"})


@dataclass(frozen=True, slots=True)
class Part:
    """The smallest part of a sentence that states something by itself.

    Attributes:
        start, end: its place, without the connector before it and the mark behind it.
        statement: it in words that stand alone.
        sentence: the place of the whole sentence.
        subject: the place of its own subject; empty where it has none.
        verb: where its first finite verb begins; ``None`` without one.
        tokens: its words and marks.
    """

    start: int
    end: int
    statement: str
    sentence: Span
    subject: Span
    verb: int | None
    tokens: list[Token] = field(repr=False)


class _Draft(NamedTuple):
    """A part in the making: how it was cut off, and its tokens."""

    how: str
    tokens: list[Token]


class Clauses:
    """A text, divided into parts.

    Args:
        text: any text.
        held: places that are never divided (amounts, dates), sorted.

    Attributes:
        names: words, in small letters, that have a capital inside a sentence: at the start of one
            they are names too.
    """

    def __init__(self, text: str, held: Sequence[Span]) -> None:
        self.text = text
        self._held = held
        self._held_starts = [span.start for span in held]
        self._subject = ""  # of the sentence before, where it is a name
        self._named = ""  # last name that was a subject
        self._person = ""  # last subject that can be a person
        self._heading = ""
        # There a dash with spaces is a hyphen: "double - double".
        self._tokenised = _SPACED_MARK.search(text) is not None
        words = tokens_of_sentence(text, 0, len(text))
        self.names = frozenset(
            token.word
            for before, token in pairwise(words)
            if token.capital and (before.word.isalnum() or before.word in (",", "("))
        )

    def parts(self) -> Iterator[Part]:
        """The parts of every sentence, in order."""
        for sentence in sentences(self.text):
            yield from self._divide(sentence)

    def _divide(self, sentence: Span) -> list[Part]:
        tokens = tokens_of_sentence(self.text, sentence.start, sentence.end)
        found = self._drafts(tokens)
        drafts = [d for d in found if any(c.isalnum() for t in d.tokens for c in t.word)]
        built: list[Part] = []
        subject, main = "", ""
        for draft in drafts:
            before = built[-1] if built else None
            part, subject, main = self._part(draft, sentence, subject, main, before)
            built.append(part)
        if drafts:
            self._remember(drafts[0].tokens, sentence)
        return built

    # ---- where a sentence is divided

    def _drafts(self, tokens: list[Token]) -> list[_Draft]:
        drafts = [_Draft("first", [])]
        depth, seen, place = 0, False, 0
        while place < len(tokens):
            token = tokens[place]
            current = drafts[-1].tokens
            depth = max(0, depth + (token.word in "([") - (token.word in ")]"))
            index = bisect_right(self._held_starts, token.start) - 1
            held = self._held[index] if index >= 0 else Span(0, 0)
            if depth == 0 and current and not held.start < token.start < held.end:
                how, skip = self._cut(tokens, place, seen)
                if how:
                    drafts.append(_Draft(how, []))
                    # A bracket that is never closed must not swallow the text.
                    place, seen = place + skip, False
                    continue
            if len(current) and token.end - current[0].start > MAX_PART:
                drafts.append(_Draft("cut", []))
                current, seen, depth = drafts[-1].tokens, False, 0
            current.append(token)
            if token.word == "that" and seen and is_verb(tokens, place - 1):
                seen = False  # "the results show that ..." begins anew
            seen = seen or is_verb(tokens, place)
            place += 1
        return drafts

    def _cut(self, tokens: list[Token], place: int, seen: bool) -> tuple[str, int]:
        """How the sentence is divided before a token, and how many tokens the connector has."""
        word = tokens[place].word
        if word in (";", "\u2014") or (word in _DASHES and self._is_dash(tokens, place, seen)):
            return "clause", 1
        comma = word == ","
        ahead = place + comma
        if ahead >= len(tokens):
            return "", 0
        following = tokens[ahead].word
        if not seen:
            return "", 0
        if comma and following in (*_RELATIVE, "with"):
            return "with" if following == "with" else "relative", 1
        if comma and is_participle(following) and not tokens[ahead].capital:
            return "participle", 1
        joined = following in _CONJUNCTIONS
        if following == "and" and not comma:
            before = [token.word for token in tokens[max(0, place - _LOOK_AHEAD) : place]]
            if "between" in before and "and" not in before[before.index("between") :]:
                return "", 0  # it closes the "between"
        if (
            following in _SUBORDINATE
            and following not in ("so", "but")
            and self._clause(tokens, ahead + 1, apposition=following in ("while", "whereas"))
        ):
            return "clause", 1 + comma
        near = tokens[ahead + 1 : ahead + 3]
        if following == "while" and any(is_participle(token.word) for token in near):
            return "participle", 1 + comma
        if not (comma or joined):
            return "", 0
        skip = comma + joined
        start = place + skip
        while start < len(tokens) and tokens[start].word in ADVERBS:
            start += 1
        if start >= len(tokens):
            return "", 0
        if is_verb(tokens, start) and joined and not tokens[start].capital:
            return "verb", skip
        if joined and is_participle(tokens[start].word) and comma:
            return "participle", skip
        if self._clause(tokens, place + skip):
            return "clause", skip
        return "", 0

    def _is_dash(self, tokens: list[Token], place: int, seen: bool) -> bool:
        """A dash between clauses, not in a score and not the hyphen of a tokenised text."""
        if not 0 < place < len(tokens) - 1:
            return False
        before, token, after = tokens[place - 1 : place + 2]
        if not before.end < token.start < token.end < after.start or after.word[0].isdigit():
            return False
        return token.word != "-" or (
            seen and not self._tokenised and self._clause(tokens, place + 1)
        )

    def _clause(self, tokens: list[Token], start: int, apposition: bool = False) -> bool:
        """Whether a subject with a verb of its own begins at a token.

        With ``apposition`` a comma may stand in the subject: "while the guests, Lahti, scored".
        """
        if start >= len(tokens) or tokens[start].word in _PREPOSITIONS:
            return False
        for place in range(start, min(start + _LOOK_AHEAD, len(tokens))):
            if place > start and is_verb(tokens, place):
                return True
            word = tokens[place].word
            if apposition and word == ",":
                continue
            if word in _CLAUSE_ENDS or word in _RELATIVE or word in ("that", "to"):
                return False
        return False

    # ---- what a part says

    def _part(
        self, draft: _Draft, sentence: Span, subject: str, main: str, before: Part | None
    ) -> tuple[Part, str, str]:
        """A part with its statement, and the subject and the clause for those after it."""
        text, tokens, first = self.text, draft.tokens, before is None
        while tokens[0].word in _OPENINGS and len(tokens) > 1 and tokens[0].end < tokens[1].start:
            tokens = tokens[1:]
        while tokens[-1].word in _CLOSINGS and tokens[1:]:
            tokens = tokens[:-1]
        start, end = tokens[0].start, tokens[-1].end
        said = text[start:end]
        verb = next((i for i in range(len(tokens)) if is_verb(tokens, i)), None)
        own = Span(start, start)
        whole = text[sentence.start : sentence.end]
        if len(whole) > MAX_PART:
            whole = said
        if draft.how in ("first", "clause"):
            opening = _subject_start(tokens, verb)
            if verb is not None and (last := _subject_end(tokens, opening, verb)):
                own = Span(tokens[opening].start, tokens[last - 1].end)
            resolved, known = self._resolve(text[own.start : own.end], first)
            statement = whole
            if known:
                statement = text[start : own.start] + resolved + text[own.end : end]
                subject = resolved
            else:
                subject = ""
            if verb is None:
                statement = said
                if self._heading and first:
                    statement = f"{self._heading} {said}"
            main = statement
        elif draft.how == "verb" and subject:
            statement = f"{subject} {said}"
        elif draft.how in ("participle", "with") and main not in ("", whole):
            statement = f"{main}, {said}"
        elif draft.how == "relative":
            statement = (before and self._relative(tokens, before)) or whole
        else:
            statement = whole
        if first:
            lead = whole.rstrip()
            if lead.endswith(":"):
                self._heading = lead if len(lead) < 120 else self._heading
            elif verb is not None:
                self._heading = ""
        place = None if verb is None else tokens[verb].start
        return Part(start, end, statement, sentence, own, place, tokens), subject, main

    def _resolve(self, subject: str, first: bool) -> tuple[str, bool]:
        """A subject with the name that a pronoun stands for; whether it is known."""
        words = subject.casefold().split()
        if not words:
            return subject, True
        if len(words) == 1 and words[0] in _PRONOUNS:
            name = self._person if words[0] in _PERSONAL else self._subject
            known = first and bool(name) and words[0] in ("he", "she", "it", "they")
            return name if known else subject, known
        if words[0] in _POSSESSIVE:
            name = self._person if _POSSESSIVE[words[0]] == "person" else self._subject
            if not (first and name):
                return subject, False
            return f"{name}'s{subject[len(words[0]) :]}", True
        if _DESCRIPTION.match(" ".join(words)) and self._named:
            return self._named, True
        return subject, True

    def _relative(self, tokens: list[Token], before: Part) -> str:
        """The part after "who" with the name that stands before it; empty where there is none."""
        names = name_spans(before.tokens)
        if not names or names[-1].end != before.end or len(tokens) < 2:
            return ""
        name, word = self.text[names[-1].start : names[-1].end], tokens[0].word
        rest = self.text[tokens[1].start : tokens[-1].end]
        if word == "whose":
            return f"{name}'s {rest}"
        return f"{name} {rest}" if word == "who" and is_verb(tokens, 1) else ""

    def _remember(self, tokens: list[Token], sentence: Span) -> None:
        """What a pronoun of the next sentence can stand for."""
        while tokens[0].word in _OPENINGS and len(tokens) > 1:
            tokens = tokens[1:]
        verb = next((place for place in range(len(tokens)) if is_verb(tokens, place)), None)
        opening = _subject_start(tokens, verb)
        last = 0 if verb is None else _subject_end(tokens, opening, verb)
        subject = tokens[opening:last]
        subject = subject[: next((i for i, t in enumerate(subject) if t.word in "(,"), None)]
        said = self.text[subject[0].start : subject[-1].end] if subject else ""
        resolved, known = self._resolve(said, True)
        if said and resolved != said and subject[0].word not in _POSSESSIVE:
            return  # it still goes on about the same
        capitals = [token for token in subject if token.capital]
        named = [token for token in capitals if token.word in self.names] or capitals[1:]
        self._subject = ""
        if named and known and len(subject) <= 9 and not any(t.word == "'s" for t in subject):
            self._subject = self._named = said
            if len(capitals) == len([t for t in subject if t.word != "."]) <= 4:
                self._person = said
            return
        names = name_spans(tokens)
        led = [n for n in names if self.text[max(0, n.start - 3) : n.start].casefold() == "by "]
        if len(led) == 1:
            self._person = self.text[slice(*led[0])]


def _subject_start(tokens: list[Token], verb: int | None) -> int:
    """Where the subject begins: behind "In 2020 ," and "However ,"."""
    if verb is None:
        return 0
    opening, commas = tokens[0].word, [p for p in range(verb) if tokens[p].word == ","]
    if not commas:
        # "In 2020 revenue rose": where the time ends is not sure.
        return verb if opening in _PREPOSITIONS else 0
    leads = opening in _PREPOSITIONS or commas[0] <= 2 or opening.endswith(("ed", "ing"))
    return commas[-1] + 1 if leads else 0


def _subject_end(tokens: list[Token], start: int, verb: int) -> int:
    """Where the subject ends: before "also has"; 0 without one: "Launched in May and sold"."""
    while verb > start and tokens[verb - 1].word in ADVERBS:
        verb -= 1
    if verb <= start or tokens[start].word.endswith(("ed", "ing")):
        return 0
    return verb
