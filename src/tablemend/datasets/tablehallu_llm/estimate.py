"""What more rows will take in tokens and money, before the first request."""

from __future__ import annotations

from tablemend.datasets.tablehallu_llm.counts import Usage
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis

ENOUGH = 3
"""Rows from which on their means are taken."""


def estimate(settings: LlmSynthesis, rows: int, usage: Usage, made: int) -> str:
    """What ``rows`` more rows take, in lines for a person.

    Args:
        settings: what is made.
        rows: how many are to be made.
        usage: of rows with the same settings that are made already.
        made: their number.
    """
    if made < ENOUGH:
        return f"no estimate for {rows:,} rows yet: it is made from {ENOUGH} rows or more (n=5)"
    total = usage.times(rows / made)
    lines = [f"  {'stage':<20}{'calls':>12}{'tokens in':>16}{'tokens out':>16}"]
    for stage, (calls, asked, answered) in [*total.items(), ("all", total.total())]:
        lines.append(f"  {stage:<20}{calls:>12,}{asked:>16,}{answered:>16,}")
    head = f"estimate for {rows:,} rows from the means of {made:,}:"
    return "\n".join([head, *lines, f"  cost: {_money(total, settings)}"])


def _money(usage: Usage, settings: LlmSynthesis) -> str:
    cost = usage.cost(settings)
    if cost is None:
        return "not known without generator_options.price_in and price_out (and the verifier's)"
    parts = ", ".join(f"{role} {amount:,.2f}" for role, amount in cost.items())
    return f"{sum(cost.values()):,.2f} ({parts})"
