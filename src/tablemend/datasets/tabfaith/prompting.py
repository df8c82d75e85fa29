"""The prompt that asks a model for summaries, with the task of each domain."""

from __future__ import annotations

from pathlib import Path

from tablemend.config.section import Serialisation
from tablemend.datasets.tabfaith.domains import Domain
from tablemend.prompting.files import PromptFolder
from tablemend.tables.read import write_table
from tablemend.tables.serialisations import serialise
from tablemend.tables.table import Table

STAGE = "summarise"
TASKS: dict[Domain, str] = {
    "general": "Describe this table: the values that matter, how its entries compare, and what is "
    "highest or lowest.",
    "financial": "Tell an investor the key trends in this earnings table: how the figures moved "
    "from period to period, and how they stand to what was expected, where the table says so.",
    "clinical": "Tell a clinician what these laboratory results show: which values lie outside "
    "their reference range and in which direction, and which of the others are worth a word. Give "
    "no diagnosis and no advice.",
    "operations": "Tell the manager who owns this dashboard how things stand: who or what leads, "
    "who lags, and how large the gaps or changes are.",
}
PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
FINANCIAL_SENTENCES = (2, 3)
"""Of an earnings table, in the paper's prompt."""


def ask_for(
    domain: Domain,
    table: Table,
    sentences: tuple[int, int],
    serialisation: Serialisation | None = None,
) -> tuple[dict[str, str], ...]:
    """The chat that asks for a summary.

    Args:
        domain: of the table.
        table: what is to be summarised.
        sentences: fewest and most; of an earnings table at most the paper's.
        serialisation: how the table is written; ``None`` for Markdown, aligned.

    Raises:
        TableError: the table holds what Markdown cannot carry.
    """
    low, high = sentences
    if domain == "financial":
        low, high = max(low, FINANCIAL_SENTENCES[0]), min(high, FINANCIAL_SENTENCES[1])
        low, high = min(low, high), max(low, high)
    title = f"{table.title}\n\n" if table.title else ""
    written = serialise(table, serialisation) if serialisation else write_table(table, "markdown")
    return PROMPTS.render(
        STAGE,
        task=TASKS[domain],
        table=title + written,
        sentences=str(low) if low == high else f"{low} to {high}",
    )
