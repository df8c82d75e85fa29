"""Every item through a verifier, the program in several processes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context

from tablemend.config import BackendOptions
from tablemend.evidence.source import Source
from tablemend.faithfulness.names import PROGRAM
from tablemend.faithfulness.staf import open_verifier, verify_documents
from tablemend.meta_evaluation.items import Item
from tablemend.records import Verification
from tablemend.workers import map_in


@dataclass(frozen=True)
class Scored:
    """What a verifier said of all items.

    Attributes:
        verifier: its name with its version.
        verifications: one an item.
        seconds: processor seconds of the program, of all processes together; ``None`` for models.
    """

    verifier: str
    verifications: tuple[Verification, ...]
    seconds: float | None = None


def verify_items(
    items: Sequence[Item], name: str, options: BackendOptions, workers: int = 1
) -> Scored:
    """Take the texts apart and verify every claim.

    Args:
        items: the texts.
        name: see :func:`open_verifier`.
        options: how a model is asked; its answers come from the request cache where they can.
        workers: processes of the program.

    Raises:
        TablemendError: a model that cannot be opened or cannot go on.
    """
    if name != PROGRAM:
        with closing(open_verifier(name, options)) as verifier:
            found = verify_documents([(item.text, item.source) for item in items], verifier)
        return Scored(verifier.name, tuple(found))
    # one table's texts together: it is read once, and sent to a process once
    groups = [list(group) for _, group in groupby(items, key=lambda item: id(item.source))]
    tasks = [([item.text for item in group], group[0].source) for group in groups]
    if workers == 1 or len(tasks) < 2 * workers:
        done = [_verify_texts(*task) for task in tasks]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
            done = list(map_in(pool, _verify_texts, *zip(*tasks, strict=True), chunksize=8))
    verifications = tuple(one for own, _ in done for one in own)
    named = verifications[0].verifier if verifications else PROGRAM
    return Scored(named, verifications, sum(seconds for _, seconds in done))


def _verify_texts(texts: Sequence[str], source: Source) -> tuple[list[Verification], float]:
    start = time.process_time()
    found = verify_documents([(text, source) for text in texts], PROGRAM)
    return found, time.process_time() - start
