"""The prompts that ask a model for summaries, one a domain."""

from __future__ import annotations

from pathlib import Path

from tablemend.datasets.tabfaith.domains import Domain
from tablemend.prompting.files import PromptFolder
from tablemend.tables.table import Table
from tablemend.tables.write import write_table

STAGES: dict[Domain, str] = {
    "general": "summarise",
    "financial": "summarise_financial",
    "clinical": "summarise_clinical",
    "operations": "summarise_operations",
}
PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
FINANCIAL_SENTENCES = (2, 3)
"""Of an earnings table, in the paper's prompt."""


def ask_for(domain: Domain, table: Table, sentences: tuple[int, int]) -> tuple[dict[str, str], ...]:
    """The chat that asks for a summary.

    Args:
        domain: of the table.
        table: what is to be summarised.
        sentences: fewest and most; of an earnings table at most the paper's.

    Raises:
        TableError: the table holds what Markdown cannot carry.
    """
    low, high = sentences
    if domain == "financial":
        low, high = max(low, FINANCIAL_SENTENCES[0]), min(high, FINANCIAL_SENTENCES[1])
        low, high = min(low, high), max(low, high)
    shown = write_table(Table(table.columns, table.rows), "markdown")
    title = f"{table.title}\n\n" if table.title else ""
    wanted = str(low) if low == high else f"{low} to {high}"
    return PROMPTS.render(STAGES[domain], table=f"{title}{shown}", sentences=wanted)
