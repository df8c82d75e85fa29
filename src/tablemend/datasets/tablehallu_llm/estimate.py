"""What a run will take: tokens, cost and time, before the first request.

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
SPEED = 40.0
"""Guess: tokens a second in one answer."""
LATENCY = 1.0
"""Guess: seconds until an answer begins."""


def estimate(settings: LlmSynthesis, rows: int, usage: Usage, seconds: float, made: int) -> str:
    """What ``rows`` more rows take, in lines for a person.

    Args:
        settings: what is made.
        rows: how many are to be made.
        usage: of rows with the same settings that are made already.
        seconds: the time that those took, added up.
        made: their number.
    """
    if made >= ENOUGH:
        total, each = usage.times(rows / made), seconds / made
        source = f"from the means of {made:,} rows that are there"
    else:
        guess = _guess(settings)
        total, whole = guess.times(rows), guess.total()
        each = whole.calls * LATENCY + whole.completion_tokens / SPEED
        source = (
            f"guessed: {AGAIN} calls a stage, {SPEED:.0f} tokens a second; after preview=5 or "
            f"{ENOUGH} rows their means are taken"
        )
    lines = [f"  {'stage':<20}{'calls':>12}{'tokens in':>16}{'tokens out':>16}"]
    for stage, spent in [*total.items(), ("all", total.total())]:
        calls, asked, answered = spent
        lines.append(f"  {stage:<20}{calls:>12,}{asked:>16,}{answered:>16,}")
    at_once = min(settings.concurrency, rows)
    time = _duration(rows * each / max(1, at_once))
    return "\n".join(
        [
            f"estimate for {rows:,} rows:",
            *lines,
            f"  cost: {_money(total, settings)}",
            f"  time: about {time} with {at_once} rows at a time, where no rate limit slows them",
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


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
