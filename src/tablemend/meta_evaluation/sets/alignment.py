"""Where the words of one spelling of a text stand in another."""

from __future__ import annotations

from difflib import SequenceMatcher

from tablemend.values.sentences import Span

ENOUGH = 0.5
"""Share of a quoted text that must stand in the text in one piece."""


def move_places(one: str, other: str) -> list[int]:
    """For each character of a text its place in another that differs in spaces alone.

    A space gets the place of what follows it.
    """
    visible = [place for place, character in enumerate(other) if not character.isspace()]
    places, count = [], 0
    for character in one:
        places.append(visible[min(count, len(visible) - 1)])
        count += not character.isspace()
    return places


def find_quote(quote: str, text: str, start: int = 0) -> Span | None:
    """Where a text is quoted, perhaps with a slip; the first place at or after ``start``.

    Where the whole is nowhere, its longest part that is, if that is half of it at least.
    """
    quote = quote.strip()
    for begin in (start, 0):
        place = text.find(quote, begin)
        if quote and place >= 0:
            return Span(place, place + len(quote))
    match = SequenceMatcher(None, text, quote, autojunk=False).find_longest_match()
    if match.size < ENOUGH * len(quote) or not match.size:
        return None
    return Span(match.a, match.a + match.size)
