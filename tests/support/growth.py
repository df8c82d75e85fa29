"""How the time of a call grows with its input, on a machine where others work too."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

TRIES = 3


def assert_growth(
    prepare: Callable[[int], Callable[[], object]], small: int, large: int, below: float
) -> None:
    """CPU seconds for the large input over those for the small one, each the least of several.

    The large one is not tried again once it was fast enough. The garbage collector is off: it walks
    over what every earlier test of the process left.
    """

    def seconds(size: int) -> float:
        call = prepare(size)
        start = time.process_time()
        call()
        return time.process_time() - start

    enabled = gc.isenabled()
    gc.disable()
    try:
        few = min(seconds(small) for _ in range(TRIES))
        found = []
        while len(found) < TRIES and min(found, default=below) >= below:
            found.append(seconds(large) / few)
    finally:
        if enabled:
            gc.enable()
    assert min(found) < below, found
