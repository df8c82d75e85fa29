"""The card of a data set that language models wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tablemend.backends.names import ModelName
from tablemend.datasets.card import CARD_PART, command_of, table_of
from tablemend.datasets.tablehallu_llm.counts import MILLION, VERDICTS, say_cost, say_usage
from tablemend.datasets.tablehallu_llm.settings import FREE, LlmSynthesis
from tablemend.tasks.tablehallu.dataset import (
    MEANS,
    examples_card,
    say_distractors,
    say_made_up,
)

_OPTIONS: dict[str, Any] = {
    **dict.fromkeys("thinking_switch body revision dtype context_length".split(), True),
    "vllm": {"engine": True},
}
"""Options of a backend that the command names: the rest is how fast and how dear answers come."""
_MADE = {
    "kernel-first": "{made} examples (`order=kernel-first`). {writer} wrote table, contexts and "
    "query, {reader} verified. The tables are what the first holds for facts; they were not looked "
    "up. Each asks for a table of what is in the scope of a query; the adversarial context holds "
    "that among distractors that break a constraint of the query. A program has checked every "
    "example, then a model verified it; neither is a person: see `tablemend annotate` for human "
    "verification.",
    "query-last": "{made} examples of {contexts} contexts (`order=query-last`). A program drew "
    "groups of rows from `{source}`, any of which a query could ask for, and the queries; {writer} "
    "put the rows into words and saw neither: nothing in a context says which rows are gold. Each "
    "query asks for a table of the rows in a scope. A program has checked that every passage "
    "states the cells of its row and no other value; that it says nothing false in plain words, no "
    "one has read: see `tablemend annotate`.",
}
_SPLIT = {
    "kernel-first": "topic, its years left out: no topic is in two splits, and of two equal tables "
    "only the first is kept",
    "query-last": "source table: no table is in two splits. The examples of one context have the "
    "same calls",
}


def card_of(settings: LlmSynthesis, counts: dict[str, Any]) -> str:
    """The card of a finished data set; the same rows and prices give the same text."""
    return examples_card(_parts(settings, counts), counts)


def _parts(settings: LlmSynthesis, counts: dict[str, Any]) -> Iterator[str]:
    examples, sizes = counts["examples"], counts["sizes"]
    models = {role: " and ".join(names) for role, names in counts["models"].items()}
    writer, reader = (models.get(role, "no model") for role in ("generator", "verifier"))
    yield "# Query-driven table generation among distractors"
    yield _MADE[settings.order].format(
        made=examples["made"],
        contexts=sizes.get("contexts"),
        source=settings.source,
        writer=writer,
        reader=reader,
    )
    if settings.order == "query-last":
        yield say_made_up(settings.drawing, sizes)
    yield _command(settings)
    yield table_of("split | examples", counts["splits"])
    means = {name: f"{sizes[key] / examples['made']:.1f}" for key, name in MEANS.items()}
    yield table_of("per example | mean", means)
    yield (
        f"Splits are made by the hash of the {_SPLIT[settings.order]}. Every gold value has its "
        "character span in both contexts. `calls` of an example names every answer of a model on "
        "its way: stage, attempt, prompt and version, model, tokens, finish reason and verdict."
    )
    yield from say_distractors(Path(settings.out), sizes)
    yield CARD_PART
    yield "## Rows"
    yield table_of("rows | number", {name.replace("_", " "): n for name, n in examples.items()})
    yield "## Models and prompts"
    yield table_of("role | model", models)
    yield f"Prompts and versions: {', '.join(f'`{name}`' for name in counts['prompts'])}."
    yield _stages(counts)
    yield _cost(counts["cost"])
    yield "## Rejections"
    yield "`rejected.jsonl` has every one with its row, stage, attempt and reason."
    found = counts["rejected"].items()
    kinds = {f"{stage}: {kind}": n for stage, own in found for kind, n in own.items()}
    yield table_of("stage: reason | times", kinds)
    cells = " Cells come from the source tables, so their licence applies."
    yield (
        f"## Licence\n\nThe texts are synthetic.{cells * (settings.order == 'query-last')} What "
        "their models' terms say of generated text applies. Whoever publishes this data set has to "
        "state it here."
    )


def _command(settings: LlmSynthesis) -> str:
    """The command again; where the models are served is left out."""
    first: dict[str, Any] = {"engine": "llm"}
    for role, model in (("generator", settings.generator), ("verifier", settings.verifier)):
        if model is not None:
            name = ModelName.parse(model)
            first[role] = f"{name.engine}:{name.model}" + ("@URL" if name.url else "")
    first.update(n=settings.n, seed=settings.seed)
    for options in ("generator_options", "verifier_options"):
        if (given := getattr(settings, options)) is not None:
            changed = given.model_dump(mode="json", exclude_defaults=True, include=_OPTIONS)
            first.update({f"{options}.{key}": value for key, value in changed.items()})
    left_out = set(FREE) - {"topics"} | {"engine", "seed", "kind"}
    return command_of("tablehallu.py", settings, first, left_out)


def _stages(counts: dict[str, Any]) -> str:
    """What each stage took; what nobody scored or could read has columns of its own."""
    rows = {}
    for stage, used in say_usage(counts["calls"]).items():
        found = counts["verdicts"][stage]
        scored = found["accepted"] + found["rejected"]
        rate = f"{found['accepted'] / scored:.1%}" if scored else "-"
        rows[stage] = (*used, *(found[verdict] for verdict in VERDICTS), rate)
    titles = ("stage", "calls", "tokens in", "tokens out", *VERDICTS, "accepted of those scored")
    return table_of(" | ".join(titles), rows)


def _cost(cost: dict[str, float] | None) -> str:
    if cost is None:
        return "No prices were given, so the cost is not known."
    return (
        f"At the prices given: {say_cost(cost)}. Answers that came a second time from the cache "
        f"are counted once; prices are per {MILLION:,} tokens."
    )
