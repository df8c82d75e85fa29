"""Every item through a verifier."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from tablemend.config import BackendOptions
from tablemend.meta_evaluation.items import Item
from tablemend.records import Verification
from tablemend.verifier.staf import open_verifier, verify_documents
from tablemend.verifier.verifiers import PROGRAM


@dataclass(frozen=True)
class Scored:
    """What a verifier said of all items.

    Attributes:
        verifications: one an item.
        seconds: processor seconds of the program; ``None`` for models.
    """

    verifications: tuple[Verification, ...]
    seconds: float | None = None

    @property
    def verifier(self) -> str:
        """Verifier and extractor with their versions."""
        return self.verifications[0].verifier if self.verifications else ""


def verify_items(items: Sequence[Item], name: str, options: BackendOptions) -> Scored:
    """Take the texts apart and verify every claim.

    Args:
        items: the texts.
        name: see :func:`open_verifier`.
        options: how a model is asked; its answers come from the request cache where they can.

    Raises:
        TablemendError: a model that cannot be opened or cannot go on.
    """
    with closing(open_verifier(name, options)) as verifier:
        start = time.process_time()
        found = verify_documents([(item.text, item.source) for item in items], verifier)
        seconds = time.process_time() - start
    return Scored(tuple(found), seconds if name == PROGRAM else None)
