"""What a run will take: tokens and cost, before the first request.

Until rows of the same settings are there, sizes are guessed from the prompts, the shape and the
difficulty; from then on their means count. An estimate is for planning, never for a result.
"""

from __future__ import annotations

from collections.abc import Iterator

from tablemend.datasets.tablehallu.engine import EXPANSION
from tablemend.datasets.tablehallu_llm.counts import ROLES, Spent, Usage, role_of
from tablemend.datasets.tablehallu_llm.prompting import prompt
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.values.qwen_tokens import count_tokens

ENOUGH = 3
"""Rows from which on their means are taken."""
AGAIN = 1.3
"""Guess: calls of a stage a row, with those that are rejected and asked again."""
VALUE_TOKENS = 8
"""Guess: tokens of a value in a sentence of the gold context."""
CELL_TOKENS = 5
"""Guess: tokens of a cell in a Markdown table, its bar included; in JSON it takes two more."""
QUERY_TOKENS = 90
CONSTRAINT_TOKENS = 120
VERDICT_TOKENS = 250
"""Guess: tokens of a verdict with its reasons."""
THINKING_TOKENS = 3000
"""Guess: tokens of thinking in an answer, where it is asked for or cannot be switched off."""


def estimate(settings: LlmSynthesis, rows: int, usage: Usage, made: int) -> str:
    """What ``rows`` more rows take, in lines for a person.

    Args:
        settings: what is made.
        rows: how many are to be made.
        usage: of rows with the same settings that are made already.
        made: their number.
    """
    if made >= ENOUGH:
        total = usage.times(rows / made)
        source = f"from the means of {made:,} rows that are there"
    else:
        total = _guess(settings).times(rows)
        source = f"guessed: make {ENOUGH} rows or more (n=5), and their means are taken"
    lines = [f"  {'stage':<20}{'calls':>12}{'tokens in':>16}{'tokens out':>16}"]
    for stage, (calls, asked, answered) in [*total.items(), ("all", total.total())]:
        lines.append(f"  {stage:<20}{calls:>12,}{asked:>16,}{answered:>16,}")
    return "\n".join(
        [
            f"estimate for {rows:,} rows:",
            *lines,
            f"  cost: {_money(total, settings)}",
            f"  {source}",
        ]
    )


def _guess(settings: LlmSynthesis) -> Usage:
    """Calls and tokens of each stage, for one row."""
    guess = Usage()
    for stage, filled, answer in _stages(settings):
        asked = count_tokens(prompt(stage).system) + count_tokens(prompt(stage).user) + filled
        thinks = settings.generator_thinking, settings.verifier_thinking
        thinking = THINKING_TOKENS if thinks[ROLES.index(role_of(stage))] == "on" else 0
        guess[stage] = Spent(1, asked, answer + thinking).times(AGAIN)
    return guess


def _stages(settings: LlmSynthesis) -> Iterator[tuple[str, float, float]]:
    """The stages of a row, with the tokens that fill the prompt and those of the answer."""
    shape = settings.shape
    columns = (shape.min_columns + shape.max_columns) / 2
    rows = (shape.min_rows + shape.max_rows) / 2
    table = (rows + 2) * columns * CELL_TOKENS
    context = rows * columns * VALUE_TOKENS
    hard = settings.difficulty
    factors = EXPANSION.values() if hard == "mixed" else (EXPANSION[hard],)
    adversarial = context * sum(factors) / len(factors)
    shown = context + table + QUERY_TOKENS + CONSTRAINT_TOKENS
    yield "kernel", 40, context + table * (CELL_TOKENS + 2) / CELL_TOKENS
    yield "query", table + context, QUERY_TOKENS
    yield "constraints", table + QUERY_TOKENS, CONSTRAINT_TOKENS
    yield "verify_kernel", table + context + QUERY_TOKENS, VERDICT_TOKENS
    yield "perturb", shown, adversarial
    yield "verify_preserved", context + adversarial, VERDICT_TOKENS
    yield "verify_distractors", shown + adversarial, VERDICT_TOKENS


def _money(usage: Usage, settings: LlmSynthesis) -> str:
    cost = usage.cost(settings)
    if cost is None:
        return "not known without generator_options.price_in and price_out (and the verifier's)"
    parts = ", ".join(f"{role} {amount:,.2f}" for role, amount in cost.items())
    return f"{sum(cost.values()):,.2f} ({parts})"
