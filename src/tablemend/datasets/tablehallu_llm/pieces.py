"""Running text as the pieces of it that can be moved.

A context that a model wrote leans on itself: "It sold 4,200 in the same year." Such a sentence
stays behind the one that it leans on. In doubt two sentences are one piece: that disperses a
little less, and never tears a fact from its entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import words_of
from tablemend.values.sentences import sentence_spans

# Words that point at another sentence: at the beginning, or wherever they stand.
_POINTING_FIRST = re.compile(
    r"\W*(?:(?:by|in|for|at|on|during|after|before|since|despite|from|with|of|over) )?"
    r"(?:it|its|he|she|his|her|they|their|them|this|that|these|those|such|both|each|neither|either"
    r"|another|others?|then|next|later|earlier|also|too|likewise|similarly|meanwhile|however"
    r"|moreover|furthermore|additionally|consequently|therefore|thus|instead|nevertheless"
    r"|nonetheless|and|but|yet|so|contrast|comparison|addition|turn|again|here|there"
    r"|a (?:year|month|week|day|decade|few)|(?:one|two|three|four|five) (?:years?|months?|days?))\b"
)
_POINTING = re.compile(
    r"\b(?:the (?:same|latter|former|following|previous|preceding|next|other|two|three|pair|trio)"
    r"|that (?:same )?(?:year|season|month|day|quarter|period)|as well|likewise|similarly"
    r"|followed|respectively|compared with that|by contrast|in turn)\b"
)
_NAME = re.compile(r"\b[^\W\d_a-z][^\W\d_]{3,}\b")
# Words of names that begin sentences about other things, too.
_USUAL = frozenset(
    """
    about across after along among another around because before behind below beside between beyond
    both central company during each early east eastern every final first five four great group
    high however into last late later many meanwhile more most much near next north northern once
    only other over overall second several since some south southern such than that their then
    there these third this those though three through throughout thus total toward under until
    west western what when where whereas which while with within without year years
    """.split()
)
_ANNOUNCES = re.compile(r"\s*#|.*[:\u2014]\s*$", re.DOTALL)


class Piece(NamedTuple):
    """Sentences that stay together.

    Attributes:
        start, end: half-open character span in the text.
        names: the entities that its sentences name.
    """

    start: int
    end: int
    names: frozenset[str]


def split_pieces(text: str, distinguishing: Mapping[str, Sequence[str]]) -> list[Piece]:
    """The pieces of a context, in order.

    A sentence begins a piece if it names an entity (a word that no other name has will do), tells
    which row of the entity it is about, and points at no other sentence; any other one stays with
    the sentence before it.

    Args:
        text: the context.
        distinguishing: for each entity what distinguishes its rows (its years, say); empty for an
            entity with one row.
    """
    wanted = {
        entity: (words_of(entity), [words_of(value) for value in values])
        for entity, values in distinguishing.items()
    }
    short = _short_names(distinguishing)
    pieces: list[Piece] = []
    announced = False
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        spoken = words_of(sentence)
        names = {entity for entity, (words, _) in wanted.items() if words in spoken}
        names.update(short[word] for word in _NAME.findall(sentence) if word in short)
        is_clear = any(
            not wanted[name][1] or any(value in spoken for value in wanted[name][1])
            for name in names
        )
        alone = is_clear and not announced and not _points_elsewhere(sentence, names)
        announced = bool(_ANNOUNCES.match(sentence))
        if pieces and not alone and not (announced and not names):
            last = pieces[-1]
            pieces[-1] = Piece(last.start, end, last.names | names)
        else:
            pieces.append(Piece(start, end, frozenset(names)))
    return pieces


def _short_names(entities: Iterable[str]) -> dict[str, str]:
    """Words by which a text may call an entity: those of one name alone that are no usual ones."""
    owners: dict[str, set[str]] = {}
    for entity in entities:
        for word in _NAME.findall(entity):
            owners.setdefault(word, set()).add(entity)
    return {
        word: min(names)
        for word, names in owners.items()
        if len(names) == 1 and word.casefold() not in _USUAL
    }


def _points_elsewhere(sentence: str, names: set[str]) -> bool:
    # "This Is Us" and "The Others" are names and point at nothing.
    for name in sorted(names, key=len, reverse=True):
        sentence = sentence.replace(name, "\u25a0")
    lowered = sentence.casefold()
    return bool(_POINTING_FIRST.match(lowered) or _POINTING.search(lowered))
