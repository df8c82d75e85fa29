"""A few rows shown before money is spent on many."""

from __future__ import annotations

from contextlib import ExitStack

from tablemend.datasets.tablehallu_llm.counts import Usage
from tablemend.datasets.tablehallu_llm.estimate import estimate
from tablemend.datasets.tablehallu_llm.model_rows import OpenMaker, make_rows
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.topics import Topics
from tablemend.errors import TablemendError
from tablemend.tables.write import write_table

EXCERPT = 600
"""Characters of a context that are shown."""


def preview_rows(settings: LlmSynthesis, topics: Topics, open_maker: OpenMaker) -> None:
    """Make the first rows, show them, write nothing but the request cache; then the estimate.

    Raises:
        TablemendError: a model cannot be had, a cap is reached, or no row could be made.
    """
    numbers = range(min(settings.preview or 0, settings.n))
    made: dict[int, Row] = {}

    def done(row: Row) -> None:
        made[row.number] = row

    usage = Usage()
    with ExitStack() as stack:
        # says what is wrong with a model before the estimate
        maker = open_maker(settings, topics, stack)
        print(estimate(settings, len(numbers), usage, 0))
        try:
            make_rows(maker, numbers, done, settings.concurrency)
        finally:
            for number in sorted(made):
                usage.add(made[number].calls)
                print(f"\n{show_row(made[number])}")
    print(f"\n{estimate(settings, settings.n, usage, len(made))}")
    if settings.generator_options.cache is None or settings.asked_of_verifier.cache is None:
        print("note: without a request cache these rows are paid for again")
    if all(row.example is None for row in made.values()):
        raise TablemendError(
            f"none of {len(made)} rows could be made: the reasons stand above; another model, more "
            "retries= or a smaller shape may help"
        )


def show_row(row: Row) -> str:
    """A row for a person: what was made of it, what was rejected, what it took."""
    lines = [f"--- row {row.number}"]
    if (example := row.example) is None:
        lines.append("given up")
    else:
        constraints = example.constraints
        lines += [
            f"topic: {example.topic} ({example.category} / {example.domain}), {example.difficulty}",
            f"query: {example.query}",
            "",
            write_table(example.gold_table, "markdown").rstrip(),
            "",
            f"constraints: scope {', '.join(constraints.entity_scope)}; range "
            f"{constraints.numerical_range or 'none'}; sorted by {constraints.sort_column}, "
            f"{constraints.sort_order}",
            f"gold context: {_excerpt(example.gold_context)}",
            f"adversarial context: {_excerpt(example.adversarial_context)}",
        ]
    for rejection in row.rejections:
        lines.append(f"rejected: {rejection.stage} {rejection.attempt}: {rejection.text}")
    for call in row.calls:
        lines.append(
            f"call: {call.prompt} {call.attempt} by {call.model}: {call.verdict}, "
            f"{call.finish_reason}, {call.prompt_tokens:,} + {call.completion_tokens:,} tokens"
        )
    return "\n".join(lines)


def _excerpt(text: str) -> str:
    if len(text) <= EXCERPT:
        return text
    return f"{text[:EXCERPT]} [... {len(text):,} characters]"
