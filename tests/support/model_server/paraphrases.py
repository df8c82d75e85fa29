"""Sentences in other words by rule: every name, number and date stays as it is."""

from __future__ import annotations

import re
from random import Random

MISTAKES = ("lost-sentence", "changed-value")

_ENDINGS = (
    ", according to the record",
    ", as listed",
    ", going by the entry",
    ", as set down in the file",
    ", by all accounts",
    ", to go by the file",
)
_SWAPS = (
    (" is listed with ", " is entered with "),
    (" appears with ", " turns up with "),
    (" comes with ", " stands with "),
    (" stands at ", " is put at "),
    (" amounts to ", " comes to "),
    (" is credited with ", " is credited, on paper, with "),
    (" is reported as ", " is given as "),
    (" is recorded for ", " is noted for "),
)
_ITEM = re.compile(r"\s*(?:\d+[.):]|[-*])\s+(.*\S)")
_NUMBER = re.compile(r"\d(?=[^\d]*$)")


def read_items(text: str, count: int) -> list[str]:
    """The sentences that a prompt lists, one a line, numbered or with a dash or plain."""
    lines = [line for line in text.splitlines() if line.strip()]
    items = [match[1] for line in lines if (match := _ITEM.fullmatch(line))]
    return items if len(items) == count else [line.strip() for line in lines]


def reword(sentences: list[str], mistake: str | None, rng: Random) -> tuple[list[str], bool]:
    """Each sentence in other words; whether the mistake was made."""
    found = [_reword(sentence, rng) for sentence in sentences]
    if mistake == "lost-sentence" and len(found) > 1:
        found.pop(rng.randrange(len(found)))
        return found, True
    if mistake == "changed-value":
        numbered = [place for place, text in enumerate(found) if _NUMBER.search(text)]
        if numbered:
            place = rng.choice(numbered)
            found[place] = _NUMBER.sub(lambda m: str((int(m[0]) + 1) % 10), found[place], count=1)
            return found, True
    return found, False


def _reword(sentence: str, rng: Random) -> str:
    """Another verb where one is known, and an ending that adds nothing."""
    for before, after in _SWAPS:
        if before in sentence:
            sentence = sentence.replace(before, after, 1)
            break
    return f"{sentence.removesuffix('.')}{rng.choice(_ENDINGS)}."
