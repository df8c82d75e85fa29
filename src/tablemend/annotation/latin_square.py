"""Who annotates which pair: annotators rotate through systems by inputs (section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tablemend.datasets.logic.pair import Pair
from tablemend.errors import TablemendError


def assign(pairs: Sequence[Pair], annotators: int, seed: int = 0) -> list[list[Pair]]:
    """The pairs of each annotator: every input once, systems alike often, in an own order.

    Of as many annotators in a row as there are systems, each pair has exactly one.

    Args:
        pairs: of one domain, each input with one output of every system.
        annotators: how many.
        seed: of the orders.

    Raises:
        TablemendError: an input lacks a system or has two outputs of one.
    """
    systems = sorted({pair.system for pair in pairs})
    by_input: dict[str, dict[str, Pair]] = {}
    for pair in pairs:
        if by_input.setdefault(pair.source_hash, {}).setdefault(pair.system, pair) != pair:
            raise TablemendError(
                f"two outputs of {pair.system} for one input ({_first_line(pair)}): leave one out"
            )
    for own in by_input.values():
        if missing := set(systems) - own.keys():
            first = _first_line(next(iter(own.values())))
            raise TablemendError(
                f"no output of {min(missing)} for the input {first}: a Latin square needs every "
                "system for every input"
            )
    inputs = list(by_input.values())
    Random(f"systems:{seed}").shuffle(inputs)
    square = []
    for row in range(annotators):
        drawn = [by[systems[(place + row) % len(systems)]] for place, by in enumerate(inputs)]
        Random(f"order:{seed}:{row}").shuffle(drawn)
        square.append(drawn)
    return square


def _first_line(pair: Pair) -> str:
    return repr(pair.input.partition("\n")[0])
