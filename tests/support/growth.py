"""How the time of a call grows with its input, on a machine where others work too."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

TRIES = 3


def growth(prepare: Callable[[int], Callable[[], object]], small: int, large: int) -> float:
    """CPU seconds for the large input over those for the small one, each the least of several.

    The garbage collector is off: it walks over what every earlier test of the process left.
    """

    def seconds(call: Callable[[], object]) -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    enabled = gc.isenabled()
    gc.disable()
    try:
        few, many = (min(seconds(prepare(size)) for _ in range(TRIES)) for size in (small, large))
    finally:
        if enabled:
            gc.enable()
    return many / few
