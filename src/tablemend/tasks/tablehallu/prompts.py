"""TableHallu: query-driven table generation (prompts and targets).

Four of the prompt strategies and the three output formats follow the rules of the paper's prompts
(TableHallu, Appendix E) in words of our own; few-shot is ours. The context stands first, so that
prompts over the same context share a prefix.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml

from tablemend.errors import NoTarget, TablemendError
from tablemend.records import Condition, ContextKind, Example, Fact
from tablemend.tables.read import write_table
from tablemend.tables.table import Table

PROMPT_VERSION = "1"

Strategy = Literal["base", "careful", "follow", "cot", "few-shot"]
OutputFormat = Literal["markdown", "json", "latex"]
Thinking = Literal["off", "empty", "on", "quote", "quote-then-sort", "list"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

MARKER = "####"
BLANK = "-"
NAME = "table"
"""Of a table that has none, where the format asks for one (JSON)."""
NOTHING = "none"
"""In place of rows where the query asks for what no row of the context meets."""
_MARK = re.compile(r"[\n|]|</?think>")
DEMONSTRATIONS = Path(__file__).with_name("demonstrations.yaml")

FORMATS: dict[OutputFormat, str] = {
    "markdown": (
        "Answer with a Markdown table and nothing else: cells between `|`, a line of `---` "
        f"under the header. Put the final table after `{MARKER}`."
    ),
    "json": (
        "Answer with a table in JSON and nothing else: one object whose only key is the name of "
        'the table and whose value is the list of its rows, {"name": [{"column": "value", ...}, '
        f"...]}}, every row with all columns in order. Put the final table after `{MARKER}`."
    ),
    "latex": (
        "Answer with a LaTeX tabular and nothing else: \\begin{tabular}{...}, the header as first "
        "row, cells between &, rows ended by \\\\, \\end{tabular}. "
        f"Put the final table after `{MARKER}`."
    ),
}

EMPHASES: dict[str, str] = {
    "base": "",
    "careful": (
        " Before you give the table, check each of its values once more against the context "
        "and correct what does not agree."
    ),
    "follow": (
        " IMPORTANT: keep strictly to the query and to the context; "
        "use only what the context states explicitly."
    ),
    "cot": " Let us think step by step.",
    "few-shot": "",
}


def prompt(
    context: str, query: str, strategy: str = "base", output: OutputFormat = "markdown"
) -> str:
    """The text of the user turn."""
    return f"Context:\n{context}\n\nQuery:\n{query}\n\n{FORMATS[output]}{EMPHASES[strategy]}"


def messages(
    example: Example,
    context: ContextKind,
    strategy: str = "base",
    output: OutputFormat = "markdown",
) -> list[dict[str, str]]:
    """The chat that is shown to the model: one user turn, behind solved exercises in few-shot."""
    return chat(example.context(context), example.query, strategy, output)


def chat(
    context: str, query: str, strategy: str = "base", output: OutputFormat = "markdown"
) -> list[dict[str, str]]:
    """The chat over a context and a query; see :func:`messages`."""
    shown = demonstrations(output) if strategy == "few-shot" else ()
    asked = {"role": "user", "content": prompt(context, query, strategy, output)}
    return [*map(dict, shown), asked]


@cache
def demonstrations(output: OutputFormat) -> tuple[dict[str, str], ...]:
    """Two solved exercises as turns, their answers in the format that is asked for."""
    turns = []
    for one in yaml.safe_load(DEMONSTRATIONS.read_text("utf-8")):
        asked = prompt(one["context"], one["query"], output=output)
        solved = answer(Table.of(one["columns"], one["rows"]), output)
        turns += [{"role": "user", "content": asked}, {"role": "assistant", "content": solved}]
    return tuple(turns)


def prompt_hash() -> str:
    """Hash of everything in this module that a generation depends on."""
    shown = [chat("{context}", "{query}", strategy) for strategy in ("base", "few-shot")]
    content = json.dumps([PROMPT_VERSION, FORMATS, EMPHASES, shown])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def quotation(example: Example, context: ContextKind) -> str:
    """The sentences of a context that state the gold rows, in their order, one a line.

    True by construction: the places come from the example's facts.
    """
    text = example.context(context)
    mentions = (
        fact.clean if context == "clean" else fact.adversarial
        for fact in example.facts
        if fact.violates is None
    )
    spans = {(m.sentence_start, m.sentence_end) for m in mentions if m is not None}
    return "\n".join(text[start:end] for start, end in sorted(spans))


def sorted_rows(example: Example) -> str:
    """The gold rows in their order, in one line: of each what it is sorted by, and its name."""
    column, order = example.constraints.sort_column, example.constraints.sort_order
    names = (row[0] for row in example.gold_table.rows)
    cells = zip(example.gold_table.column(column), names, strict=True)
    rows = (" ".join(dict.fromkeys(filter(None, one))) for one in cells)
    return f"{column}, {order}: {' | '.join(rows)}"


def answer(table: Table, output: OutputFormat = "markdown") -> str:
    """The text of a faithful answer: the marker, then the table.

    A blank cell is written as a dash (``null`` in JSON), so that leaving a value out is
    something a model writes and not something it skips.
    """
    if output == "json":
        table = replace(table, title=table.title or NAME)
    else:
        table = replace(table, title="").filled(BLANK)
    return f"{MARKER}\n{write_table(table, output).rstrip()}"


def target(
    example: Example,
    context: ContextKind,
    thinking: str = "off",
    output: OutputFormat = "markdown",
) -> str:
    """What the model is trained to write after the prompt, without the end of turn.

    With ``thinking="off"`` the empty thinking block belongs to the prompt (Qwen3's format), with
    ``"empty"`` to the target.

    Raises:
        NoListing: ``thinking="list"``, and the rows cannot be listed.
        TablemendError: ``thinking="on"`` or another for which no true thought is known, or a
            thought about sentences where the context is a table.
    """
    if thinking == "on" or thinking not in get_args(Thinking):
        raise TablemendError(
            f"thinking={thinking} has no training target: use thinking=quote (the facts in scope), "
            "quote-then-sort, list, empty or off (the table alone)"
        )
    table = answer(example.gold_table, output)
    if thinking == "off":
        return table
    return f"<think>\n{_thought(example, context, thinking)}\n</think>\n\n{table}"


def _thought(example: Example, context: ContextKind, thinking: str) -> str:
    if thinking == "empty":
        return ""
    if "+" in context:
        raise TablemendError(
            f"thinking={thinking} goes by sentences, and the context {context} is a table: "
            "use thinking=off or empty"
        )
    if thinking == "list":
        return listing(example, context)
    quoted, gold = quotation(example, context), example.gold_table
    if thinking == "quote" or not gold.rows or example.constraints.sort_column not in gold.columns:
        return quoted
    return f"{quoted}\n{sorted_rows(example)}"


class NoListing(NoTarget):
    """An example whose rows cannot be listed; the message is the reason."""

    kind = "no list"


def listing(example: Example, context: ContextKind = "adversarial") -> str:
    """Lists of rows, each by its values and its name, one list a line.

    Those about the subject that say what is asked for, in the order of the context; those that
    meet it; these with what they are to be sorted by, where that is something else; and these in
    order.

    Raises:
        NoListing: a value has a mark of the lists, or a column is to be worked out.
    """
    if example.constraints.computed:
        raise NoListing("a computed column")
    if any(map(_MARK.search, (text for f in example.facts for text in (f.value, f.entity)))):
        raise NoListing("a value with a line break, a thinking tag or a |")
    from tablemend.tasks.tablehallu.verification import rows_of  # only this thinking needs it

    asked = [condition.column for condition in example.constraints.conditions]
    gold = rows_of(example, True)
    others = [] if context == "clean" else rows_of(example, False).values()
    rows = sorted(
        (*gold.values(), *others),
        key=lambda facts: min(
            (context == "clean" and fact.clean) or fact.adversarial for fact in facts
        ),
    )
    stated = [row for row in rows if row[0].violates in (None, *asked)]
    kept = [row for row in rows if row[0].violates is None]
    lines = [f"{', '.join(asked)}: {_listed(stated, asked)}"]
    scope = "; ".join(map(_scope, example.constraints.conditions))
    lines.append(f"{scope}: {_listed(kept, asked)}")
    column = example.constraints.sort_column
    is_name = all(
        fact.value == fact.entity for row in kept for fact in row if fact.column == column
    )
    if column not in asked and not is_name:
        lines.append(f"{column}: {_listed(kept, [column])}")
    ordered = [gold[row] for row in range(len(kept))]
    lines.append(f"{column}, {example.constraints.sort_order}: {_listed(ordered, [column])}")
    return "\n".join(lines)


def _listed(rows: Iterable[Sequence[Fact]], columns: Iterable[str]) -> str:
    listed = []
    for facts in rows:
        values = {fact.column: fact.value for fact in facts}
        said = [values[column] for column in columns if column in values]
        name = facts[0].entity
        listed.append(" ".join(said if name in said else [*said, name]))
    return " | ".join(listed) or NOTHING


def _scope(condition: Condition) -> str:
    """A condition without its column, as the exercises have it; dates as in the record."""
    low, high = condition.low, condition.high
    if condition.values:
        return " or ".join(condition.values)
    if low is not None and high is not None:
        return low if low == high else f"{low} to {high}"
    return f"up to {high}" if low is None else f"from {low}"
