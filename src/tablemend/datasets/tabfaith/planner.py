"""What to say of a table: one true sentence at a time, drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tablemend.datasets.tabfaith.cells import say_attribute, say_more, say_several, say_value
from tablemend.datasets.tabfaith.comparing import (
    say_against,
    say_compared,
    say_order,
    say_range,
    say_rank,
    say_superlative,
)
from tablemend.datasets.tabfaith.counting import say_count, say_quantified, say_total
from tablemend.datasets.tabfaith.over_time import say_change, say_peak, say_trend
from tablemend.datasets.tabfaith.sentences import Plan
from tablemend.datasets.tabfaith.speech import Speech
from tablemend.datasets.tabfaith.summary import Part

KINDS: dict[Callable[[Speech], Plan | None], int] = {
    say_value: 3,
    say_attribute: 2,
    say_several: 3,
    say_compared: 4,
    say_against: 3,
    say_superlative: 5,
    say_rank: 2,
    say_order: 2,
    say_range: 5,
    say_change: 6,
    say_trend: 2,
    say_peak: 3,
    say_count: 3,
    say_quantified: 2,
    say_total: 2,
}
"""What can be said, and how often it is tried. What a table has no place for is drawn anew."""
_TRIES = 4


def draw(speech: Speech, rng: Random, carried: Part | None = None) -> Plan | None:
    """A sentence, or ``None`` where what was drawn cannot be said of this table.

    Args:
        speech: the table.
        rng: what draws.
        carried: the only entity of the sentence before, which another word can stand for.
    """
    if carried is not None and rng.random() < (0.35 if speech.sheet.noun else 0.1):
        plan = say_more(speech, carried)
        if plan is not None:
            return plan
    say = rng.choices(list(KINDS), list(KINDS.values()))[0]
    for _ in range(_TRIES):  # rarer kinds would be too rare otherwise
        if (plan := say(speech)) is not None:
            return plan
    return None
