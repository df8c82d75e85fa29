"""Which word of an English clause is its finite verb, without a grammar.

A clause is only divided where this is sure, so a word that is a noun as often as a verb
("records", "wins") counts only where an object follows it.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from tablemend.claims.tokens import Token
from tablemend.values.number_words import ONES, TENS

_WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in yaml.load(
        Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CBaseLoader
    ).items()
}
ADVERBS = _WORDS["adverbs"]
_NUMBER_WORDS = frozenset((*ONES[1:], *TENS))


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
        following.word in _WORDS["determiners"] or _is_amount_or_name(following)
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


def _is_amount_or_name(token: Token) -> bool:
    return token.capital or token.word[0].isdigit() or token.word in _NUMBER_WORDS


def is_participle(word: str) -> bool:
    """Whether a word after a comma can go on with a clause: "making it two in a row"."""
    return word.endswith("ing") and len(word) > 5 and word not in _WORDS["not_participle"]
