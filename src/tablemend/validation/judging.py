"""Every item through a verifier: program verdicts in several processes, models in batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.records import Document, Verification
from tablemend.validation.items import Item
from tablemend.verification.program import VERSION, verify_document


@dataclass(frozen=True)
class Judged:
    """What a verifier said of all items.

    Attributes:
        verifier: its name with its version.
        verifications: one an item.
        seconds: processor seconds of claims and verdicts, all processes together.
    """

    verifier: str
    verifications: tuple[Verification, ...]
    seconds: float


def judge_items(items: Sequence[Item], workers: int = 1) -> Judged:
    """Take the texts apart and verify every claim against its source."""
    # one table's texts together: its grid is read once, and sent to a process once
    groups = [list(group) for _, group in groupby(items, key=lambda item: id(item.source))]
    tasks = [([item.text for item in group], group[0].source) for group in groups]
    if workers == 1 or len(tasks) < 2 * workers:
        done = [_judge_texts(*task) for task in tasks]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
            done = list(pool.map(_judge_texts, *zip(*tasks, strict=True), chunksize=8))
    verifications = tuple(one for found, _ in done for one in found)
    return Judged(VERSION, verifications, sum(seconds for _, seconds in done))


def _judge_texts(texts: Sequence[str], source: Source) -> tuple[list[Verification], float]:
    start = time.process_time()
    found = [_judge_text(extract_claims(text), source) for text in texts]
    return found, time.process_time() - start


def _judge_text(document: Document, source: Source) -> Verification:
    return Verification(verify_document(document, source), VERSION)
