"""Repair without a model: what is contradicted and clear is replaced."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.evidence.source import Source
from tablemend.mitigations.edits import Draft, Mended, Tools
from tablemend.mitigations.repair_table import repair_answer
from tablemend.mitigations.repair_text import repair_text
from tablemend.records import Verification
from tablemend.verifier.staf import verify_text


def repair(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    """Texts by any verifier, tables by the program."""

    def verify(text: str, source: Source) -> Verification:
        return verify_text(text, source, tools.verifier, tools.extractor)

    def repair_one(draft: Draft) -> Mended:
        text, evidence = draft.text, draft.evidence
        if draft.format is not None:
            return repair_answer(text, evidence.text, evidence.query, draft.format)
        return repair_text(text, evidence, verify)

    return [repair_one(draft) for draft in drafts]
