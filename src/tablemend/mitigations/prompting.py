"""The rewriting prompts of CAVE, one for each strategy (TabFaith, section 5)."""

from __future__ import annotations

from pathlib import Path

from tablemend.prompting.files import PromptFolder
from tablemend.records import ClaimError

CELL = "rewrite_cell"
ROW = "rewrite_row"
COMPARISON = "rewrite_comparison"
STRATEGIES: dict[ClaimError, str] = {
    "NUM": "rewrite_value",
    "CMP": COMPARISON,
    "TMP": "rewrite_time",
    "REL": "rewrite_relation",
    "ATT": "rewrite_relation",
}
"""The prompt that an error type is rewritten with."""
KEEP, DROP = "KEEP", "DROP"
BLANK = "-"
RETRY = "retry"

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
