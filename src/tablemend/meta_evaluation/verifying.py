"""Every item through a verifier: the program in several processes, models in batches, stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tablemend.config import BackendOptions
from tablemend.evidence.source import Source
from tablemend.faithfulness.names import PROGRAM
from tablemend.faithfulness.staf import open_verifier, verify_texts
from tablemend.meta_evaluation.items import Item
from tablemend.records import Claim, Verdict, Verification
from tablemend.runs import Store, hash_text
from tablemend.values.sentences import Span
from tablemend.workers import map_in

BATCH = 64
"""Texts that a model verifies before their verdicts are stored."""


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


def verify_by_program(items: Sequence[Item], workers: int = 1) -> Scored:
    """Take the texts apart and verify every claim, without a model."""
    # one table's texts together: it is read once, and sent to a process once
    groups = [list(group) for _, group in groupby(items, key=lambda item: id(item.source))]
    tasks = [([item.text for item in group], group[0].source) for group in groups]
    if workers == 1 or len(tasks) < 2 * workers:
        done = [_verify_texts(*task) for task in tasks]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
            done = list(map_in(pool, _verify_texts, *zip(*tasks, strict=True), chunksize=8))
    verifications = tuple(one for found, _ in done for one in found)
    name = verifications[0].verifier if verifications else PROGRAM
    return Scored(name, verifications, sum(seconds for _, seconds in done))


def _verify_texts(texts: Sequence[str], source: Source) -> tuple[list[Verification], float]:
    start = time.process_time()
    found = verify_texts([(text, source) for text in texts], PROGRAM)
    return found, time.process_time() - start


def verify_by_model(
    items: Sequence[Item], name: str, options: BackendOptions, path: Path
) -> Scored:
    """The same with a model; what it said is stored as it goes, and not asked again.

    Args:
        items: the texts.
        name: ``nli:MODEL``, ``llm:MODEL`` or ``program+...`` (:func:`open_verifier`).
        options: how a model is asked.
        path: file of the store with the verdicts of this verifier.

    Raises:
        TablemendError: a model that cannot be opened or cannot go on.
    """
    keys = [hash_text(repr((name, item.text, item.source))) for item in items]
    store = Store(path, "key")
    known = {key: _read(record) for key, record in store.items()}
    missing = list({k: item for k, item in zip(keys, items, strict=True) if k not in known}.items())
    if missing:
        with store, closing(open_verifier(name, options)) as verifier:
            for start in range(0, len(missing), BATCH):
                batch = missing[start : start + BATCH]
                found = verify_texts([(item.text, item.source) for _, item in batch], verifier)
                for (key, _), one in zip(batch, found, strict=True):
                    known[key] = one
                    store.put(_record(key, one))
    verifications = tuple(known[key] for key in keys)
    return Scored(verifications[0].verifier if verifications else name, verifications)


def _record(key: str, verification: Verification) -> dict[str, Any]:
    claims = [
        one.to_json() | {"focus": one.claim.focus and list(one.claim.focus)}
        for one in verification.verdicts
    ]
    return {"key": key, **verification.to_json(), "claims": claims}


def _read(record: dict[str, Any]) -> Verification:
    verdicts = tuple(
        Verdict(
            Claim(
                one["text"],
                one["start"],
                one["end"],
                one["kind"],
                one["statement"],
                Span(*one["focus"]) if one["focus"] else None,
            ),
            one["verdict"],
            one["error_type"],
            reason=one["reason"],
            spans=tuple(Span(*span) for span in one["spans"]),
            verifier=one["verifier"],
        )
        for one in record["claims"]
    )
    usage = (record[name] for name in ("calls", "prompt_tokens", "completion_tokens"))
    return Verification(verdicts, record["verifier"], *usage)
