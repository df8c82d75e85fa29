"""Words of opposite meaning that give an amount its sign: "a net loss of 98" is income of -98."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import yaml

T = TypeVar("T", float, Decimal)
_SIDES = {"plus": 1, "minus": -1, "either": 0}
_WORDS: dict[str, dict[int, re.Pattern[str]]] = {
    kind: {
        _SIDES[side]: re.compile(rf"(?<![\w-])(?:{words.replace(' |', '|')})(?![\w-])")
        for side, words in sides.items()
    }
    for kind, sides in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text("utf-8")
    ).items()
}
_TAX = re.compile(r"\bincome tax(?:es)?\b")
_BREAK = re.compile(
    r"[;,.]\s|\b(?:and|but|while|versus|than)\b|(?<![\d.,])(?!(?:19|20)\d\d(?!\d))\d"
)
_BEHIND = re.compile(r"(?: [a-z]+){0,2}")
_REACH = 60  # characters before an amount in which its word stands


@lru_cache(maxsize=1 << 12)
def label_signs(label: str) -> Mapping[str, int]:
    """What a positive amount under a label is, for each kind of opposites that it has a word of.

    1 under "Net income", -1 under "Net loss", 0 where the amount's own sign tells: under "Net
    income (loss)" or "Trade balance".
    """
    text = _TAX.sub("", label.casefold())
    found = {}
    for kind, sides in _WORDS.items():
        said = {side for side, words in sides.items() if words.search(text)}
        if said:
            found[kind] = said.pop() if len(said) == 1 else 0
    return found


def stated_signs(text: str, start: int, end: int) -> tuple[tuple[str, int], ...]:
    """The sign that the words around an amount give it, for each kind of opposites.

    The nearest word before it counts, in its clause and behind the number before; else one of the
    two words right behind it.

    Args:
        text: a text in small letters.
        start: where the amount begins.
        end: where it ends.
    """
    before = text[max(0, start - _REACH) : start]
    breaks = [match.end() for match in _BREAK.finditer(before)]
    before = before[breaks[-1] if breaks else 0 :]
    behind = _BEHIND.match(text, end)
    found = []
    for kind, sides in _WORDS.items():
        for part, nearest in ((before, max), (behind[0] if behind else "", min)):
            said = [
                (match.start(), side)
                for side, words in sides.items()
                if side
                for match in words.finditer(part)
            ]
            if said:
                found.append((kind, nearest(said)[1]))
                break
    return tuple(found)


def on_one_side(
    value: T, stated: T, label: Mapping[str, int], said: Iterable[tuple[str, int]]
) -> tuple[T, T] | None:
    """A cell's value and a stated one with the signs that their words give them.

    ``None`` where the words are of no common kind: then the numbers say all.
    """
    for kind, sign in said:
        if kind in label:
            own = -abs(value) if label[kind] < 0 else value
            return own, (sign * stated if stated > 0 else stated)
    return None
