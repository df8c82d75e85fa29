"""Do two texts mean the same, and does a text name something?

Pluggable: lexical by default, sentence embeddings by choice.

The paper embeds both cells with ``all-mpnet-base-v2`` and accepts a cosine over 0.8
(TableHallu, C.1). The detector asks only for pairs that standardisation and inclusion left open and
that no number or negation has already decided.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any, Protocol

import yaml

from tablemend.errors import TablemendError, install
from tablemend.values.cells import digit_words, in_figures, modifiers, negations, read_value
from tablemend.values.dates import covers_date, same_date, split_dates
from tablemend.values.numbers import Number, quantities, same_amount
from tablemend.values.text import Tokens, fold, split_tokens, tokens_of

THRESHOLD = 0.8
BATCH = 256
"""Texts that an embedding model encodes at a time."""
CACHED_TEXTS = 50_000
"""Vectors that are kept between calls; of 768 float32 they take 150 MB."""
PAPER_MODEL = "sentence-transformers/all-mpnet-base-v2"
MOST_PAIRS = 40_000
"""Of words without an equal; where there are more, none is taken for an initial or a slip of the
pen, as that would take minutes."""
Pair = tuple[str, str]


class Similarity(Protocol):
    """Scores pairs of standardised texts; deterministic and symmetric.

    Attributes:
        name: stands in every report, behind the detector's version.
    """

    name: str

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """One similarity a pair, at most 1; :data:`THRESHOLD` and more is a match."""
        ...


_WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_LITTLE = frozenset(_WORDS["little"].split())
_IN_FULL: dict[str, str] = {
    short: str(full)
    for kind in ("abbreviations", "teams", "given_names")
    for full, shorts in _WORDS[kind].items()
    for short in shorts.split()
}
_SAME_NAMES = {own: name for name, names in _WORDS["names"].items() for own in names.split()}
TITLES = frozenset(_WORDS["titles"].split())
_HONOURS = frozenset(_WORDS["honours"].split())
_REGIONS = {own: name for name, owns in _WORDS["regions"].items() for own in owns.split()}
_SPELLINGS = {british: american for american, british in _WORDS["spellings"].items()}
_BRITISH = re.compile("|".join(_SPELLINGS))
_REGION = re.compile(r"(?:^|(?<=,)|(?<=, ))[a-z.]{2,6}(?=,|$)")
_GIVEN_NAMES = {*_WORDS["given_names"], *_WORDS["further_names"].split()}
_NUMERAL = re.compile(r"\d+|[ivx]+")
_DOUBLED = re.compile(r"(\D)\1")
_ROMAN = re.compile("[ivxlc]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\n+")
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_ARTICLES = frozenset("the a an of and in".split())
_CAPITALS = re.compile(r"\b[A-Z]{3,6}\d?\b")
# "United States of America"
_NAME = re.compile(r"[A-Z]\w*(?:[ -](?:(?:of|the|and|for) ){0,2}[A-Z0-9]\w*){1,6}")


class LexicalSimilarity:
    """Word overlap that knows spelling variants and does not guess at meaning.

    Words count as equal when their stems are, when one is the other's initial, a usual
    abbreviation or an English short name, or when two long words differ by one letter. A word
    replaced by another costs twice its share of the text, a word added costs half its share:
    short names must agree in every word ("North Korea" is not "South Korea") but for one middle
    name (all of a person's, where the first is a usual given name), long phrases may differ in
    one of ten.

    It accepts word order, plurals, hyphens, accents, abbreviation dots and initialisms; it
    cannot accept synonyms.
    """

    name = "lexical-6"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """See :class:`Similarity`; between 0 and 1."""
        return [lexical_similarity(one, other) for one, other in pairs]


def lexical_similarity(one: str, other: str) -> float:
    """The score of :class:`LexicalSimilarity` for one pair."""
    plain = tokens_of(one).words, tokens_of(other).words
    first, second = sorted((standard_tokens(one), standard_tokens(other)))
    figures = first.words, second.words
    for letters, name in (plain, plain[::-1], figures, figures[::-1]):
        if len(letters) == 1 and letters[0] in initialisms(name):
            return 0.9
    if digit_words(first) != digit_words(second):
        return 0.0
    if negations(first) != negations(second) or modifiers(first) != modifiers(second):
        return 0.0
    if not first.words or not second.words:
        return 0.0
    left, right = _content(first.words), _content(second.words)
    joined = "".join(left), "".join(right)
    if joined[0] == joined[1] or _SAME_NAMES.get(joined[0], joined[0]) == _SAME_NAMES.get(
        joined[1], joined[1]
    ):
        return 1.0
    if sorted(left) == sorted(right):
        return 1.0  # "Garcia, Randall J." is "Randall J. Garcia"; no last letter is a class then
    if len(left) == len(right) == 1 and min(map(len, joined)) == 1:
        long = max(joined, key=len)
        if long != "yes" and (len(long) < 4 or long.endswith("minus")):
            return 0.0  # a class: "A" is neither "AB" nor "AAA" nor "A-"; "M" is "Male"
    if (left[0] in TITLES) != (right[0] in TITLES):
        left, right = (words[len(words) > 2 and words[0] in TITLES :] for words in (left, right))
    if (left[-1] in _HONOURS) != (right[-1] in _HONOURS):
        left, right = (w[:-1] if len(w) > 2 and w[-1] in _HONOURS else w for w in (left, right))
    sizes = len(left), len(right)
    is_person = left[0] == right[0] in _GIVEN_NAMES and left[-1] == right[-1]
    if left[1:] == right[1:] != [] and _is_misspelled(left[0], right[0]):
        return 0.9
    for words in (left, right):
        if len(words) > 1 and len(words[-1]) == 1:  # a class ("Group A"), not an initial
            words[-1] += "."
    left, right = _without_equals(left, right)
    stems = {_stem(word) for word in left}, {_stem(word) for word in right}
    if any(a in stems[0] and b in stems[1] for a, b in _OPPOSED_STEMS):
        return 0.0
    replaced = min(len(left), len(right))
    longer = left if len(left) > len(right) else right
    added = float(len(longer) - replaced)
    if not replaced:
        added = sum(0.5 if len(word) == 1 else 1.0 for word in longer)  # a middle initial
        if is_person:  # "Jim Bagby, Jr.", "James Charles Jacob Bagby, Jr."
            added = min(added, 1.0)
    return max(0.0, 1.0 - 2.0 * replaced / max(sizes) - added / sum(sizes))


def regions_in_full(text: str, other: str) -> str:
    """``dallas, texas`` for a folded ``dallas, tx``, where the other text has the full name."""

    def full(match: re.Match[str]) -> str:
        name = _REGIONS.get(match[0].replace(".", ""))
        return name if name and name in other else match[0]

    return _REGION.sub(full, text)


def _content(words: tuple[str, ...]) -> list[str]:
    """Words without the little ones; the last word always counts ("Group A")."""
    return [word for word in words[:-1] if word not in _LITTLE] + [words[-1]]


@lru_cache(maxsize=1 << 14)
def standard_tokens(text: str) -> Tokens:
    """The words of a folded text: numbers in figures, abbreviations in full, no apostrophes."""
    words, parts = tokens_of(in_figures(text))
    return Tokens(tuple(in_full(word).replace("'", "") for word in words), parts)


def in_full(word: str) -> str:
    """``saint`` for ``st``, ``robert`` for ``bob``, ``color`` for ``colour``."""
    if british := _BRITISH.match(word):
        word = _SPELLINGS[british[0]] + word[british.end() :]
    return _IN_FULL.get(word, word)


def _without_equals(left: list[str], right: list[str]) -> tuple[list[str], list[str]]:
    """What remains of both lists once equal, then akin words are paired off."""
    for key in (str, _stem):
        places: dict[str, deque[int]] = defaultdict(deque)
        for place, word in enumerate(right):
            places[key(word)].append(place)
        alone = []
        for word in left:
            if same := places.get(key(word)):
                same.popleft()
            else:
                alone.append(word)
        left, right = alone, [right[place] for place in sorted(chain(*places.values()))]
    if len(left) * len(right) > MOST_PAIRS:
        return left, right
    alone = []
    for word in left:
        partner = next((other for other in right if _akin(word, other)), None)
        if partner is None:
            alone.append(word)
        else:
            right.remove(partner)
    return alone, right


def _stem(word: str) -> str:
    """English plural and verb endings off; words of up to three letters stay."""
    if len(word) <= 3:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            stem = word[: -len(ending)]
            return stem[:-1] if stem[-1] == stem[-2] else stem.rstrip("e")
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.rstrip("e")


_OPPOSED_STEMS = frozenset(
    (_stem(a), _stem(b))
    for pair in _WORDS["opposites"].split()
    for a, b in (pair.split("/"), reversed(pair.split("/")))
)


def _akin(one: str, other: str) -> bool:
    """An initial, a letter doubled, or one slip of the pen in a long word that begins alike."""
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and _DOUBLED.sub(r"\1", short) == _DOUBLED.sub(r"\1", long):
        return True
    if len(short) == 1:
        return long.startswith(short) and (short + long).isalpha() and not _ROMAN.fullmatch(long)
    return len(short) >= 7 and short[:2] == long[:2] and _one_edit_apart(short, long)


def _is_misspelled(one: str, other: str) -> bool:
    """Whether one of two given names is a slip of the pen: "Jahlik", but not "Mario", "Maria"."""
    short, long = sorted((one, other), key=len)
    if {one, other} <= _GIVEN_NAMES or len(short) < 5 or short[:2] != long[:2]:
        return False
    if short[:-1] == long[: len(short) - 1] and long[-1] in "aeo":
        return False
    return sorted(short) == sorted(long) or _one_edit_apart(short, long)


def _one_edit_apart(short: str, long: str) -> bool:
    if len(long) - len(short) > 1:
        return False
    prefix = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    if len(short) == len(long):
        return short[prefix + 1 :] == long[prefix + 1 :]
    return short[prefix:] == long[prefix + 1 :]


def initialisms(words: Sequence[str]) -> set[str]:
    """``uae`` of ``united arab emirates``, with and without the little words; ``wwii``, ``ww2``."""
    content = [word for word in words if word not in _LITTLE]
    return {
        "".join(word if _NUMERAL.fullmatch(word) else word[0] for word in some)
        for some in (words, content)
        if len(some) > 1
    }


class EmbeddingSimilarity:
    """Cosine of sentence embeddings (TableHallu, C.1); needs the extra ``embed``.

    Texts are de-duplicated and encoded in batches, once a call. Vectors are kept, as the same gold
    cells come back answer after answer.


    Raises:
        TablemendError: the package is missing, or the model cannot be loaded.
    """

    def __init__(self, model: str = PAPER_MODEL) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise TablemendError(
                f"similarity {model!r} needs sentence-transformers: {install('embed')} (or use the "
                "embedded 'lexical')"
            ) from error
        try:
            self._model: Any = SentenceTransformer(
                model, trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
            raise TablemendError(f"cannot load similarity model {model!r}: {reason}") from error
        self._vectors: dict[str, Any] = {}
        self.name = model

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Cosines between -1 and 1."""
        texts = dict.fromkeys(text for pair in pairs for text in pair)
        new = [text for text in texts if text not in self._vectors]
        if len(self._vectors) + len(new) > CACHED_TEXTS:
            self._vectors = {text: self._vectors[text] for text in texts if text in self._vectors}
        if new:
            encoded = self._model.encode(
                new, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
            )
            # Copies: a row that is a view would keep its whole batch in memory.
            self._vectors |= {text: row.copy() for text, row in zip(new, encoded, strict=True)}
        return [float(self._vectors[one] @ self._vectors[other]) for one, other in pairs]


def load_similarity(name: str) -> Similarity:
    """``lexical``, or the name or folder of a sentence-transformers model."""
    return LexicalSimilarity() if name == "lexical" else EmbeddingSimilarity(name)


class Context:
    """A source text, which was shown to the model, indexed only as far as questions require."""

    def __init__(self, text: str) -> None:
        self.text = text

    def mentions(self, key: str) -> bool:
        """Whether the context names this key, in this or another spelling.

        Text: its words in sequence, at word borders, numbers and usual abbreviations in any
        spelling; else without a bracketed addition ("South Korea (ROK)") or title ("Dr."); else
        all its words close together in one sentence ("Merkel, Angela"); else its initialism, or
        the name that it is one of. A number or a date is found in any spelling of the same value.
        """
        value = read_value(key)
        words = tokens_of(value.text).words
        if not words:
            return False
        if number := value.number:
            stated = any(same_amount(number, one) for one in self._numbers)
            return stated or self._has_sequence(words)
        if any(same_date(value.dates, d) or covers_date(value.dates, d) for d in self._dates):
            return True
        content = [word for word in words if word not in _ARTICLES]
        return (
            self._has_sequence(words)
            or self._has_sequence(tokens_of(_BRACKETS.sub("", value.text)).words)
            or self._has_sequence(standard_tokens(value.text).words[in_full(words[0]) in TITLES :])
            or (
                len(content) > 1
                and self._vocabulary.issuperset(content)
                and any(_close_together(content, sentence) for sentence in self._sentences)
            )
            or (key.isupper() and words[0] in self._initials)
            or not self._capitals.isdisjoint(initialisms(words))
        )

    def _has_sequence(self, words: tuple[str, ...]) -> bool:
        sought = f" {' '.join(words)} "
        return bool(words) and (sought in self._plain or sought in self._spelled)

    @cached_property
    def _plain(self) -> str:
        return f" {' '.join(split_tokens(self.text).words)} "

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(self._plain.split())

    @cached_property
    def _spelled(self) -> str:
        return f" {' '.join(standard_tokens(fold(self.text)).words)} "

    @cached_property
    def _sentences(self) -> list[tuple[str, ...]]:
        return [split_tokens(sentence).words for sentence in _SENTENCE.split(self.text)]

    @cached_property
    def _numbers(self) -> list[Number]:
        return quantities(self.text)

    @cached_property
    def _dates(self) -> set[tuple[str, ...]]:
        return set(split_dates(self.text)[0])

    @cached_property
    def _capitals(self) -> set[str]:
        return {word.casefold() for word in _CAPITALS.findall(self.text)}

    @cached_property
    def _initials(self) -> set[str]:
        """Of every run of words in a name: "the New Democratic Party and the Greens"."""
        found = _NAME.findall(self.text)
        names = [split_tokens(name).words for name in found]
        names += [standard_tokens(fold(name)).words for name in found]
        runs = (name[a:b] for name in names for a, b in combinations(range(len(name) + 1), 2))
        return {letters for run in runs for letters in initialisms(run) if len(letters) > 2}


def _close_together(words: list[str], sentence: tuple[str, ...]) -> bool:
    """All words, in any order, within a window two words wider than they are."""
    wanted = set(words)
    if not wanted.issubset(sentence):
        return False
    width = len(words) + 2
    return any(
        wanted.issubset(sentence[start : start + width])
        for start, word in enumerate(sentence)
        if word in wanted
    )


@lru_cache(maxsize=32)
def index_context(text: str) -> Context:
    """A :class:`Context`; the systems of one example share it."""
    return Context(text)
