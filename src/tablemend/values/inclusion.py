"""Mutual inclusion at token borders (TableHallu, C.1), with the words that must not vanish.

The paper accepts a cell that contains the other one, so that extra wording is no error. Read
letter by letter that accepts "male" for "female" and 7 for 17; read token by token it still
accepts "permitted" for "not permitted". Here the extra words decide.
"""

from __future__ import annotations

import re

from tablemend.values.cells import Value, year_of
from tablemend.values.dates import covers_date
from tablemend.values.numbers import quantities, same_number
from tablemend.values.text import Tokens, tokens_of
from tablemend.values.units import PLAIN, Unit

# Words that turn what they stand beside into something else.
TURNING_WORDS = frozenset(
    "no not non never neither nor none without except excluding cannot un anti counter pseudo "
    "ex former formerly previously past pre post half semi quarter sub vice deputy assistant "
    "associate acting co step runner partly partially unless against denied rejected failed "
    "false north south east west northern southern eastern western northeast northwest "
    "southeast southwest new upper lower inner outer democratic".split()
)
# Words that turn a number or a date into a bound of it.
BOUND_WORDS = frozenset("before after until since under below less fewer minus within".split())
_HAS_DIGIT = re.compile(r"\d")
_WORDING = 500  # a number with wording around it is no longer than this
_BOUND_MARK = re.compile(r"[<≤]")


def turning_words(tokens: Tokens) -> frozenset[str]:
    """The turning words of a text; contractions ("isn't") count as ``not``."""
    found = TURNING_WORDS.intersection(tokens.words)
    if any(word.endswith("n't") for word in tokens.words):
        found |= {"not"}
    return found


def digit_words(tokens: Tokens) -> tuple[str, ...]:
    """The runs of digits of a text, in order; numbers as :func:`tokens_of` writes them."""
    return tuple(
        run for word in tokens.words for run in re.findall(r"-?\d+(?:\.\d+)?", word) if run
    )


def includes(one: Value, other: Value, header: Unit = PLAIN) -> bool:
    """Whether one cell stands whole inside the other and the rest changes nothing.

    Two numbers never include each other. A number is included in a text that holds exactly
    one number, equal to it ("7" in "7 cities", not in "7 of 17"). A coarser date or a year is
    included in a finer date of it ("2021" in "4 March 2021", not in "2019-2021"). Text is
    included token by token; the words left over may not be :data:`TURNING_WORDS`, and a number
    left over must be set off by a bracket or comma ("Falcon 9" in "Falcon 9 (2010)", "Apollo"
    not in "Apollo 11").
    """
    if one.blank or other.blank or (one.number is not None and other.number is not None):
        return False
    if one.dates and other.dates:
        return covers_date(one.dates, other.dates)
    for number, beside in ((one, other), (other, one)):
        if number.number is not None:
            if beside.dates:
                year = year_of(number)
                return year is not None and covers_date((year,), beside.dates)
            return _states_number(beside, number, header)
    first, second = tokens_of(one.text), tokens_of(other.text)
    if len(first.words) > len(second.words):
        return _holds(first, second, bool(other.dates))
    return _holds(second, first, bool(one.dates))


def _states_number(text: Value, number: Value, header: Unit) -> bool:
    if number.number is None or len(text.text) > _WORDING:
        return False
    stated = quantities(text.text)
    if len(stated) != 1 or not same_number(stated[0], number.number, header):
        return False
    tokens = tokens_of(text.text)
    bound = BOUND_WORDS.intersection(tokens.words) or _BOUND_MARK.search(text.text)
    return not bound and not turning_words(tokens)


def _holds(whole: Tokens, piece: Tokens, dated: bool) -> bool:
    words, wanted = whole.words, piece.words
    size = len(wanted)
    if not size:
        return False
    if size == len(words):
        return words == wanted
    if size == 1 and len(wanted[0]) == 1:  # "C" is not in "C minor"
        return False
    starts = (
        start
        for start in range(len(words) - size + 1)
        if words[start] == wanted[0] and words[start : start + size] == wanted
    )
    return any(_rest_is_print(whole, start, start + size, dated) for start in starts)


def _rest_is_print(whole: Tokens, start: int, end: int, dated: bool) -> bool:
    """Whether the tokens outside ``start:end`` leave the meaning of those inside."""
    outside = [*range(start), *range(end, len(whole.words))]
    rest = Tokens(tuple(whole.words[i] for i in outside), tuple(whole.parts[i] for i in outside))
    if turning_words(rest) or (dated and BOUND_WORDS.intersection(rest.words)):
        return False
    inside = whole.words[start:end]
    numbered = any(_HAS_DIGIT.search(word) for word in inside)
    named = any(not _HAS_DIGIT.search(word) for word in inside)
    own_parts = set(whole.parts[start:end])
    for word, part in zip(rest.words, rest.parts, strict=True):
        if _HAS_DIGIT.search(word) and (part in own_parts or dated or (numbered and not named)):
            return False
    return True
