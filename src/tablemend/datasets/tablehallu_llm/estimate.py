"""What a run will take: tokens, cost and time, before the first request and beside the truth.

Until rows of the same settings are there, sizes are guessed from the prompts, the shape and the
difficulty; from then on their means count. An estimate is for planning, never for a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu.engine import EXPANSION
from tablemend.datasets.tablehallu.tokens import count_tokens
from tablemend.datasets.tablehallu_llm.counts import ROLES, Role, Spent, Usage, cost_of, role_of
from tablemend.datasets.tablehallu_llm.prompting import prompt
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis

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


@dataclass(frozen=True)
class Estimate:
    """What a number of rows takes.

    Attributes:
        rows: to be made.
        usage: calls and tokens by stage.
        seconds: time, with the given concurrency and limits.
        measured: rows whose means it rests on; 0 for guesses.
    """

    rows: int
    usage: Usage
    seconds: float
    measured: int


def estimate(
    settings: LlmSynthesis, rows: int, usage: Usage, seconds: float, measured: int
) -> Estimate:
    """Estimate what ``rows`` more rows take.

    Args:
        settings: what is made.
        rows: how many are to be made.
        usage: of rows with the same settings that are made already.
        seconds: the time that those took, added up.
        measured: their number.
    """
    if measured >= ENOUGH:
        each = _scaled(usage, 1 / measured)
        row_seconds = seconds / measured
    else:
        measured = 0
        each = _guess(settings)
        row_seconds = sum(calls * LATENCY + answer / SPEED for calls, _, answer in each.values())
    total = Usage()
    for stage, (calls, asked, answered) in each.items():
        total.note(stage, round(calls * rows), round(asked * rows), round(answered * rows))
    return Estimate(rows, total, _seconds(settings, total, rows, row_seconds), measured)


def _scaled(usage: Usage, factor: float) -> dict[str, tuple[float, float, float]]:
    return {
        stage: (
            spent.calls * factor,
            spent.prompt_tokens * factor,
            spent.completion_tokens * factor,
        )
        for stage, spent in usage.stages.items()
    }


def _guess(settings: LlmSynthesis) -> dict[str, tuple[float, float, float]]:
    """Calls, prompt tokens and tokens of answers of each stage, for one row."""
    guess = {}
    for stage, filled, answer in _stages(settings):
        asked = count_tokens(prompt(stage).system) + count_tokens(prompt(stage).user) + filled
        thinks = settings.generator_thinking, settings.verifier_thinking
        thinking = THINKING_TOKENS if thinks[ROLES.index(role_of(stage))] == "on" else 0
        calls = AGAIN * _bundles(settings) if stage == "paraphrase" else AGAIN
        guess[stage] = (calls, calls * asked, calls * (answer + thinking))
    return guess


def _stages(settings: LlmSynthesis) -> Iterator[tuple[str, float, float]]:
    """The stages of a row, with the tokens that fill the prompt and those of the answer."""
    table, context, adversarial = _sizes(settings)
    if settings.kernel == "llm":
        yield "kernel", 40, context + table * (CELL_TOKENS + 2) / CELL_TOKENS
        yield "query", table + context, QUERY_TOKENS
        yield "constraints", table + QUERY_TOKENS, CONSTRAINT_TOKENS
    else:
        told = context if settings.perturbation == "llm" else adversarial
        share = told / _bundles(settings)
        yield "paraphrase", share, share
    yield "verify_kernel", table + context + QUERY_TOKENS, VERDICT_TOKENS
    shown = context + table + QUERY_TOKENS + CONSTRAINT_TOKENS
    if settings.perturbation == "llm":
        yield "perturb", shown, adversarial
        yield "verify_preserved", context + adversarial, VERDICT_TOKENS
    if settings.perturbation == "llm" or settings.kernel == "llm":
        yield "verify_distractors", shown + adversarial, VERDICT_TOKENS


def _sizes(settings: LlmSynthesis) -> tuple[float, float, float]:
    """Tokens of the table, of the gold context and of the adversarial one."""
    shape = settings.shape
    rows = (shape.min_rows + shape.max_rows) / 2
    columns = (shape.min_columns + shape.max_columns) / 2
    context = rows * columns * VALUE_TOKENS
    factors = (
        EXPANSION.values() if settings.difficulty == "mixed" else [EXPANSION[settings.difficulty]]
    )
    return (rows + 2) * columns * CELL_TOKENS, context, context * sum(factors) / len(factors)


def _bundles(settings: LlmSynthesis) -> float:
    """Requests in which the sentences of a row are paraphrased; two values stand in each."""
    _, context, adversarial = _sizes(settings)
    told = context if settings.perturbation == "llm" else adversarial
    return max(1.0, told / VALUE_TOKENS / 2 / settings.paraphrase.sentences)


def _seconds(settings: LlmSynthesis, usage: Usage, rows: int, row_seconds: float) -> float:
    """The slowest of: rows one after the other in so many lines, and each model's limits."""
    generator, verifier = settings.generator_options, settings.asked_of_verifier
    requests = generator.concurrency + (0 if settings.one_model else verifier.concurrency)
    lines = max(1, min(settings.concurrency, rows, requests))
    bounds = [rows * row_seconds / lines]
    if settings.one_model:
        bounds += _limits(usage.total(), generator)
    else:
        for role, options in zip(ROLES, (generator, verifier), strict=True):
            bounds += _limits(usage.total(role), options)
    return max(bounds)


def _limits(spent: Spent, options: BackendOptions) -> Iterator[float]:
    """Seconds that a model's limits allow it at least."""
    if options.requests_per_minute is not None:
        yield 60 * spent.calls / options.requests_per_minute
    if options.tokens_per_minute is not None:
        tokens = spent.prompt_tokens + spent.completion_tokens
        yield 60 * tokens / options.tokens_per_minute


def show(estimate: Estimate, settings: LlmSynthesis) -> str:
    """The estimate in lines for a person."""
    lines = [f"estimate for {estimate.rows:,} rows:"]
    lines += _table(estimate.usage)
    lines.append(f"  cost: {_money(estimate.usage, settings)}")
    lines += _caps(estimate.usage, settings)
    at_once = min(settings.concurrency, estimate.rows)
    lines.append(f"  time: about {_duration(estimate.seconds)} with {at_once} rows at a time")
    if estimate.measured:
        lines.append(f"  from the means of {estimate.measured:,} rows that are there")
    else:
        lines.append(
            f"  guessed: {AGAIN} calls a stage, {SPEED:.0f} tokens a second; after preview=5 or "
            f"{ENOUGH} rows their means are taken"
        )
    return "\n".join(lines)


def compare(estimate: Estimate, usage: Usage, rows: int, settings: LlmSynthesis) -> str:
    """The true figures beside the estimate for as many rows."""
    share = rows / estimate.rows if estimate.rows else 0.0
    lines = [f"{rows:,} rows took (estimated for as many):"]
    lines.append(f"  {'stage':<20}{'calls':>20}{'tokens in':>28}{'tokens out':>28}")
    for stage in dict.fromkeys([*estimate.usage.stages, *usage.stages]):
        true, guess = usage.stages.get(stage, Spent()), estimate.usage.stages.get(stage, Spent())
        lines.append(_pair(stage, true, guess, share))
    lines.append(_pair("all", usage.total(), estimate.usage.total(), share))
    lines.append(f"  cost: {_money(usage, settings)}")
    return "\n".join(lines)


def _pair(stage: str, true: Spent, guess: Spent, share: float) -> str:
    cells = [
        f"{mine:,} ({round(theirs * share):,})"
        for mine, theirs in (
            (true.calls, guess.calls),
            (true.prompt_tokens, guess.prompt_tokens),
            (true.completion_tokens, guess.completion_tokens),
        )
    ]
    return f"  {stage:<20}{cells[0]:>20}{cells[1]:>28}{cells[2]:>28}"


def _table(usage: Usage) -> list[str]:
    lines = [f"  {'stage':<20}{'calls':>12}{'tokens in':>16}{'tokens out':>16}"]
    for stage, spent in [*usage.stages.items(), ("all", usage.total())]:
        lines.append(
            f"  {stage:<20}{spent.calls:>12,}{spent.prompt_tokens:>16,}"
            f"{spent.completion_tokens:>16,}"
        )
    return lines


def _money(usage: Usage, settings: LlmSynthesis) -> str:
    cost = usage.cost(settings)
    if cost is None:
        return "not known without generator_options.price_in and price_out (and the verifier's)"
    parts: list[str] = [f"{role} {cost[role]:,.2f}" for role in cost]
    return f"{sum(cost.values()):,.2f} ({', '.join(parts)})"


def _caps(usage: Usage, settings: LlmSynthesis) -> Iterator[str]:
    """Caps that the run is likely to reach."""
    asked: list[tuple[Role | None, BackendOptions]] = [
        ("generator", settings.generator_options),
        ("verifier", settings.asked_of_verifier),
    ]
    if settings.one_model:
        asked = [(None, settings.generator_options)]
    for role, options in asked:
        spent = usage.total(role)
        tokens, cost = spent.prompt_tokens + spent.completion_tokens, cost_of(spent, options)
        where = f"{role or 'generator'}_options"
        if options.max_tokens_total is not None and tokens > options.max_tokens_total:
            yield f"  note: that is more than {where}.max_tokens_total={options.max_tokens_total:,}"
        if options.max_cost is not None and cost is not None and cost > options.max_cost:
            yield f"  note: that is more than {where}.max_cost={options.max_cost:g}"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
