"""A data set by models, scripted: examples of the program engine, given out stage by stage."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from random import Random

from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.tasks.tablehallu.engine import open_maker
from tablemend.tasks.tablehallu.settings import Shape, Synthesis
from tablemend.tasks.tablehallu_llm.checks import (
    check_adversarial,
    check_constraints,
    check_kernel,
    check_query,
)
from tablemend.tasks.tablehallu_llm.statements import KernelDraft
from tablemend.values.text import sentence_spans

SCRIPTS = 120
SHAPE = Shape(min_rows=5)
FLOOR = 4.0
"""Least expansion: what a row asks for that is easy, 10 times, at a floor of 0.4."""

_engine = cache(lambda: open_maker(Synthesis(shape=SHAPE)))


@cache
def script(place: int) -> Example:
    """What is given out under a number."""
    example, *_ = _engine().make(place)
    clean, adversarial = prose(example.gold_context), prose(example.adversarial_context)
    return replace(example, id="", gold_context=clean, adversarial_context=adversarial)


def prose(context: str) -> str:
    """A context without its heading: a model is asked for whole sentences."""
    heading, _, rest = context.partition("\n\n")
    return context if heading.endswith(".") else rest


@cache
def passes(place: int) -> bool:
    """Whether the checks of the data set take a script."""
    example = script(place)
    draft, rule = draft_of(example), example.constraints
    return not (
        check_kernel(draft, SHAPE)
        or check_query(example.query, draft)
        or check_constraints(rule, draft, example.query)
        or check_adversarial(draft, example.adversarial_context, FLOOR)
    )


def draft_of(example: Example) -> KernelDraft:
    """Table, order and context."""
    rule = example.constraints
    return KernelDraft(example.gold_table, rule.sort_column, rule.sort_order, example.gold_context)


def _script(field: str, shown: str) -> Example:
    """The script that a prompt shows a text of.

    Raises:
        TablemendError: none does.
    """
    for example in map(script, range(SCRIPTS)):
        if getattr(example, field) == shown:
            return example
    raise TablemendError(f"no script with this {field}")


def kernel(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """A table about the topic and its text; the mistake swaps two rows."""
    fewest, most = map(int, re.findall(r"\d+", slots["rows"]))
    for place in rng.sample(range(SCRIPTS), SCRIPTS):
        example = script(place)
        if fewest <= len(example.gold_table.rows) <= most and passes(place):
            break
    else:
        raise TablemendError(f"no script of {fewest} to {most} rows")
    rows = list(example.gold_table.rows)
    if mistake:
        rows[0], rows[-1] = rows[-1], rows[0]
    data = {
        "title": slots["topic"],
        "columns": example.gold_table.columns,
        "rows": rows,
        "sort_column": example.constraints.sort_column,
        "sort_order": example.constraints.sort_order,
        "context": example.gold_context,
    }
    return json.dumps(data, ensure_ascii=False)


def query(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """The query; the mistake is to say no sort rule."""
    text = _script("gold_context", slots["context"]).query
    if mistake:
        text = text[: sentence_spans(text)[-1].start].rstrip()
    return text


def constraints(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """The constraints; the mistake is to name no entity."""
    found = asdict(_script("query", slots["query"]).constraints)
    if mistake:
        found["entity_scope"] = []
    return json.dumps(found, ensure_ascii=False)


def perturb(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """The adversarial context; the mistake is to lose a sentence of the gold one."""
    example = _script("gold_context", slots["context"])
    text = example.adversarial_context
    if mistake:
        lost = example.gold_context[slice(*sentence_spans(example.gold_context)[0])]
        text = text.replace(lost, "", 1)
    return text


def verdict(yes: str, no: str, mistake: str | None) -> str:
    """What the program's checks took is right; the mistake is to deny it."""
    return f"Every point was checked.\n\nVERDICT: {no if mistake else yes}"
