"""The card of a data set that language models wrote."""

from __future__ import annotations

from typing import Any

from tablemend.backends.names import ModelName
from tablemend.datasets.card import command_of, table_of
from tablemend.datasets.tablehallu.card import examples_card, size_tables
from tablemend.datasets.tablehallu_llm.counts import MILLION, VERDICTS
from tablemend.datasets.tablehallu_llm.settings import CONTENT_OPTIONS, FREE, LlmSynthesis


def write_card(settings: LlmSynthesis, counts: dict[str, Any]) -> str:
    """The card of a finished data set; the same rows and prices give the same text."""
    return examples_card(_body(settings, counts), counts)


def _body(settings: LlmSynthesis, counts: dict[str, Any]) -> list[str]:
    examples = counts["examples"]
    made = examples["made"]
    return [
        "# Query-driven table generation among distractors",
        f"{made} examples. {_who(counts)} Each asks for a table of what is in the scope "
        "of a query; the adversarial context holds that among distractors that break a "
        "constraint of the query. A program has checked every example, then a model verified "
        "it; neither is a person: see `tablemend annotate` for human verification.",
        _command(settings),
        *size_tables(counts),
        "Splits are made by the hash of the topic, its years left out: no topic is in two "
        "splits, and of two nearly equal kernels only the first is kept.",
        "Every gold value has its character span in both contexts. `calls` of an example names "
        "every answer of a model on its way: stage, attempt, prompt and version, model, tokens, "
        "finish reason and verdict.",
        "## Rows",
        table_of(
            "rows | number",
            {
                "asked for": examples["asked"],
                "made": made,
                "given up": examples["given_up"],
                "of these because a request failed for good": examples["requests_failed"],
                "dropped: nearly the kernel of an earlier row": examples["near_duplicates"],
            },
        ),
        "## Models and prompts",
        table_of("role | model", {r: ", ".join(m) for r, m in counts["models"].items()}),
        f"Prompts and versions: {', '.join(f'`{name}`' for name in counts['prompts'])}.",
        _calls(counts),
        _cost(counts),
        "## Verdicts",
        _verdicts(counts),
        "## Rejections",
        "`rejected.jsonl` has every one with its row, stage, attempt and reason.",
        table_of(
            "stage: reason | times",
            {
                f"{stage}: {kind}": count
                for stage, kinds in counts["rejected"].items()
                for kind, count in kinds.items()
            },
        ),
        "## Licence\n\nThe texts are synthetic. What their models' terms say of generated text "
        "applies. Whoever publishes this data set has to state it here.",
    ]


def _who(counts: dict[str, Any]) -> str:
    """Who wrote and who verified."""
    models = {role: " and ".join(names) for role, names in counts["models"].items()}
    writer, reader = (models.get(role, "no model") for role in ("generator", "verifier"))
    return (
        f"{writer} wrote table, contexts and query, {reader} verified. The tables are what the "
        "first holds for facts; they were not looked up."
    )


def _command(settings: LlmSynthesis) -> str:
    """The command again; where the models are served is left out."""
    first: dict[str, Any] = {"engine": "llm", "generator": _unplaced(settings.generator)}
    if settings.verifier is not None:
        first["verifier"] = _unplaced(settings.verifier)
    first.update(n=settings.n, seed=settings.seed)
    for name in ("generator_options", "verifier_options"):
        if (options := getattr(settings, name)) is not None:
            changed = options.model_dump(
                mode="json", exclude_defaults=True, include=CONTENT_OPTIONS
            )
            first.update({f"{name}.{key}": value for key, value in changed.items()})
    left_out = set(FREE) - {"topics"} | {"engine", "seed", "kind"}
    return command_of("tablehallu.py", settings, first, left_out)


def _unplaced(model: str) -> str:
    name = ModelName.parse(model)
    return f"{name.engine}:{name.model}" + ("@URL" if name.urls else "")


def _calls(counts: dict[str, Any]) -> str:
    names = ("calls", "prompt_tokens", "completion_tokens")
    figures = [[spent[name] for name in names] for spent in counts["calls"].values()]
    rows = dict(zip(counts["calls"], figures, strict=True))
    rows["all"] = [sum(column) for column in zip(*figures, strict=True)]
    return table_of(
        "stage | calls | prompt tokens | tokens of answers",
        {stage: tuple(f"{figure:,}" for figure in own) for stage, own in rows.items()},
    )


def _cost(counts: dict[str, Any]) -> str:
    cost = counts["cost"]
    if cost is None:
        return "No prices were given, so the cost is not known."
    roles = ", ".join(f"{role} {amount:,.2f}" for role, amount in cost.items())
    return (
        f"At the prices given: {sum(cost.values()):,.2f} ({roles}). Answers that came a second "
        f"time from the cache are counted once; prices are per {MILLION:,} tokens."
    )


def _verdicts(counts: dict[str, Any]) -> str:
    """Rates of each verdict; what nobody scored or could read has columns of its own."""
    rows = {}
    for stage, found in counts["verdicts"].items():
        scored = found["accepted"] + found["rejected"]
        rate = f"{found['accepted'] / scored:.1%}" if scored else "-"
        rows[stage] = (*(found[verdict] for verdict in VERDICTS), rate)
    return table_of(f"stage | {' | '.join(VERDICTS)} | accepted of those scored", rows)
