"""The prompts of claim extraction and verification."""

from __future__ import annotations

from pathlib import Path

from tablemend.prompting.files import PromptFolder

EXTRACT = "extract"
VERIFY = "verify"
NO_CLAIM = "NONE"
"""What a model answers to :data:`EXTRACT` where a text states no fact."""

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
