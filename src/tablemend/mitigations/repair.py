"""Repair without a model: what is contradicted and clear is replaced."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.mitigations.edits import Draft, Mended, Tools
from tablemend.mitigations.repair_table import repair_answer
from tablemend.mitigations.repair_text import repair_text
from tablemend.records import Verification


def repair(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    """Texts by any verifier, tables by the program."""

    def verify(text: str, source: Source) -> Verification:
        return verify_text(text, source, tools.verifier, tools.extractor)

    return [
        repair_text(one.text, one.evidence, verify)
        if one.format is None
        else repair_answer(one.text, one.evidence.text, one.evidence.query, one.format)
        for one in drafts
    ]
