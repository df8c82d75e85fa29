"""CAVE: a model rewrites what a verifier flags (TabFaith, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.mitigations.cave_table import open_table
from tablemend.mitigations.cave_text import TextRewriting
from tablemend.mitigations.edits import Draft, Mended, Tools
from tablemend.mitigations.rewriting import rewrite


def cave(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    """Texts and answer tables, rewritten; an answer without its table stays as it is."""
    works = [TextRewriting(one) if one.format is None else open_table(one) for one in drafts]
    rewrite([work for work in works if work is not None], tools)
    return [
        Mended(draft.text) if work is None else work.mended()
        for draft, work in zip(drafts, works, strict=True)
    ]
