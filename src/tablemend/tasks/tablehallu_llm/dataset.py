"""A data set by language models: estimated, made row by row, joined when all rows are there.

The folder holds ``rows.jsonl``, to which every row is appended as it ends, and in the end
``train``, ``validation`` and ``test``, ``counts.json``, ``rejected.jsonl`` (every rejection with
its reason) and a card. Rows are kept: they were paid for, and with a larger n the data set is
joined anew from them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, get_args

from tqdm import tqdm

from tablemend.backends.names import ModelName
from tablemend.datasets.build import (
    COUNTS,
    SETTINGS,
    no_empty_folder,
    ranked,
    refuse_other_files,
    split_files,
)
from tablemend.datasets.card import CARD_PART, FILE, command_of, draw_statistics, table_of
from tablemend.datasets.splits import SPLITS, split_of
from tablemend.errors import MOST_FAILURES, Stopped, TablemendError
from tablemend.records import CallVerdict, Example
from tablemend.runs import Store, to_line, write_json, write_jsonl, write_text
from tablemend.tasks.tablehallu.dataset import (
    MEANS,
    examples_card,
    say_distractors,
    say_made_up,
    sizes_of,
)
from tablemend.tasks.tablehallu_llm.settings import (
    FREE,
    LlmSynthesis,
    Topics,
    open_topics,
    split_key,
)
from tablemend.tasks.tablehallu_llm.stages import ENGINE, PROMPTS, STAGES, Rejection, Row, RowMaker
from tablemend.tasks.tablehallu_llm.wording import ENGINE as QUERY_LAST
from tablemend.tasks.tablehallu_llm.wording import ContextMaker
from tablemend.values.text import fold

MAKERS = {"kernel-first": (ENGINE, RowMaker), "query-last": (QUERY_LAST, ContextMaker)}
ROWS = "rows.jsonl"
REJECTED = "rejected.jsonl"


def make_llm_dataset(
    settings: LlmSynthesis,
    open_maker: Callable[[LlmSynthesis, Topics, ExitStack], RowMaker] | None = None,
) -> None:
    """Make a data set, or go on with it, or find it finished; say what came.

    Rows whose requests failed for good are asked for again.

    Raises:
        BudgetSpent: a cap is reached; what was made is kept.
        Stopped: the requests of many rows in a row failed for good; likewise.
        TablemendError: the folder holds something else or is being written, a model cannot be
            had, or no row could be made.
    """
    topics = open_topics(settings.topics, settings.seed)
    engine, made_by = MAKERS[settings.order]
    out = Path(settings.out)
    refuse_other_files(out, ROWS)
    with ExitStack() as stack:
        maker = (open_maker or made_by)(settings, topics, stack)
        noted = {
            "engine_version": engine,
            "topics": topics.digest,
            "prompts": PROMPTS.hash,
            **settings.model_dump(mode="json", exclude=set(FREE)),
            **maker.identity,
        }
        store = Store(out / ROWS, "number", noted)
        made = Counts()
        for number in (number for number in store if number < settings.n):
            made.add(store[number])
        failed = {n for n in range(settings.n) if n in store and has_failed(store[n])}
        missing = [n for n in range(settings.n) if n not in store or n in failed]
        if missing and settings.n > topics.count and settings.order == "kernel-first":
            print(f"note: there are {topics.count:,} topics; later rows take them again")
        if missing:
            print(estimate(settings, len(missing), made))
        if settings.estimate_only:
            return
        stack.enter_context(no_empty_folder(out))
        stack.enter_context(store)
        if missing:
            _make_missing(settings, maker, store, missing, failed)
        print(report(_join(settings, store), out))


def _make_missing(
    settings: LlmSynthesis,
    maker: RowMaker,
    store: Store,
    missing: Sequence[int],
    failed_before: set[int],
) -> None:
    """Make what is missing, ``concurrency`` rows at a time; append each row as it ends.

    After the first error no row is begun; those in the making end and are stored. Rows that an
    earlier command has seen fail do not stop this one: what no server will ever answer must not
    keep a data set from its end.
    """
    counts, waiting = Counts(), iter(missing)
    errors: list[Exception] = []
    in_a_row = 0

    def done(row: Row) -> None:
        nonlocal in_a_row
        record = row.to_json()
        store.put(record)
        counts.add(record)
        spent = cost_of(counts.usage, settings)
        cost = {} if spent is None else {"cost": f"{sum(spent.values()):,.2f}"}
        tokens = sum(used.total() - used["calls"] for used in counts.usage.values())
        shown = {"given_up": counts.examples["given_up"], "tokens": f"{tokens:,}"}
        bar.set_postfix(shown | cost, refresh=False)
        bar.update()
        failed = has_failed(record)
        in_a_row = in_a_row + (row.number not in failed_before) if failed else 0
        if failed and in_a_row == MOST_FAILURES:
            raise Stopped(
                f"requests of {in_a_row} rows in a row failed for good, the last because "
                f"{row.rejections[-1].text}: mend that; the same command makes these rows "
                "anew and goes on"
            )

    async def work() -> None:
        while not errors and (number := next(waiting, None)) is not None:
            try:
                done(await maker.make(number))
            except Exception as error:
                errors.append(error)

    async def make_all() -> None:
        try:
            await asyncio.gather(*(work() for _ in range(settings.concurrency)))
        finally:
            await maker.leave()

    with tqdm(total=len(missing), unit="row", disable=None) as bar:
        asyncio.run(make_all())
    if errors:
        raise errors[0]


def _join(settings: LlmSynthesis, store: Store) -> dict[str, Any]:
    """Write the files from the rows, in order of number: the same bytes whatever order they had.

    Returns the counts, as in ``counts.json``; it is an error that no row has an example.
    """
    out = Path(settings.out)
    for name in (COUNTS, FILE):  # from here to its return the data set is unfinished
        (out / name).unlink(missing_ok=True)
    counts = Counts()
    tables: dict[frozenset[frozenset[str]], int] = {}
    rejected: list[dict[str, Any]] = []
    with split_files(out) as write:
        for number in range(settings.n):
            row = store[number]
            counts.sizes.update(row["counts"])
            for record in row["examples"]:
                example = Example.from_json(record)
                first, key = number, example.source_hash
                if settings.order == "kernel-first":
                    key = split_key(example.topic)
                    # the same but for the order of rows and columns, or for headers
                    rows = example.gold_table.rows
                    content = frozenset(frozenset(map(fold, filter(None, row))) for row in rows)
                    if content:
                        first = tables.setdefault(content, number)
                if first == number:
                    split = split_of(key, settings.shares)
                    write(to_line(record), split)
                    counts.examples["made"] += 1
                    counts.splits[split] += 1
                    counts.sizes.update(sizes_of(example))
                else:
                    found = Rejection("join", "repeated table", f"as in row {first}", 0)
                    row["rejections"].append(found._asdict())
                    counts.examples["repeated"] += 1
            counts.add(row)
            rejected += ({"row": number, **rejection} for rejection in row["rejections"])
    write_jsonl(out / REJECTED, rejected)
    joined = counts.to_json(settings)
    if not joined["examples"]["made"]:
        kinds = (kinds for kinds in joined["rejected"].values())
        reasons = "; ".join(f"{n} x {kind}" for own in kinds for kind, n in own.items())
        why = f"{out / REJECTED} says why of each ({reasons})"
        raise TablemendError(f"none of {settings.n} rows could be made: {why}")
    write_text(out / "README.md", examples_card(_card_parts(settings, joined), joined))
    draw_statistics(out, joined["sizes"])
    write_json(out / SETTINGS, store.settings)
    write_json(out / COUNTS, joined)
    return joined


def report(counts: dict[str, Any], out: Path) -> str:
    """What came of a data set, in lines for a person."""
    examples = counts["examples"]
    splits = ", ".join(f"{count} {split}" for split, count in counts["splits"].items())
    lines = [f"{examples['asked']} rows gave {examples['made']} examples in {out} ({splits})"]
    kinds = [kind for kind in ("given_up", "repeated") if examples[kind]]
    lines += [f"{kind.replace('_', ' ')}: {examples[kind]}" for kind in kinds]
    if examples["requests_failed"]:
        failed = f"{examples['requests_failed']} of them because a request failed for good"
        lines.append(f"note: {failed}; the same command asks for them again")
    rejected = sum(n for kinds in counts["rejected"].values() for n in kinds.values())
    return "\n".join([*lines, f"rejections: {rejected}; README.md has them by stage and reason"])


VERDICTS: tuple[CallVerdict, ...] = get_args(CallVerdict)
MILLION = 1_000_000
USAGE = ("calls", "prompt_tokens", "completion_tokens")
ENOUGH = 3  # rows from which on their means are taken for an estimate


def role_of(stage: str) -> str:
    """Which model a stage asks."""
    return "verifier" if stage.startswith("verify") else "generator"


class Counts:
    """What came of the rows so far; usage, rejections and verdicts by stage."""

    def __init__(self) -> None:
        self.rows = 0
        self.examples, self.splits, self.sizes = Counter[str](), Counter[str](), Counter[str]()
        self.usage: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.rejected: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.models: defaultdict[str, set[str]] = defaultdict(set)
        self.prompts: set[str] = set()

    def add(self, row: Mapping[str, Any]) -> None:
        """Count what a stored row cost and what was rejected."""
        self.rows += 1
        for rejection in row["rejections"]:
            self.rejected[rejection["stage"]][rejection["kind"]] += 1
        for call in row["calls"]:
            stage = call["stage"]
            self.usage[stage].update({"calls": 1, **{name: call[name] for name in USAGE[1:]}})
            self.verdicts[stage][call["verdict"]] += 1
            self.prompts.add(call["prompt"])
            self.models[role_of(stage)].add(call["model"])
        self.examples["given_up"] += not row["examples"]
        self.examples["requests_failed"] += has_failed(row)

    def to_json(self, settings: LlmSynthesis) -> dict[str, Any]:
        """The counts as in ``counts.json``; the same rows give the same bytes."""
        cost = cost_of(self.usage, settings)
        kinds = ("made", "given_up", "requests_failed", "repeated")
        # in the order of the chain, whatever came first; joining and drawing are no stages of it
        stages = [stage for stage in STAGES if stage in self.usage]
        rejected = [stage for stage in ("join", "draw", *STAGES) if stage in self.rejected]
        return {
            "examples": {"asked": settings.n} | {kind: self.examples[kind] for kind in kinds},
            "splits": {split: self.splits[split] for split in SPLITS if self.splits[split]},
            "rejected": {stage: ranked(self.rejected[stage]) for stage in rejected},
            "verdicts": {stage: {v: self.verdicts[stage][v] for v in VERDICTS} for stage in stages},
            "calls": {stage: dict(self.usage[stage]) for stage in stages},
            "models": {role: sorted(names) for role, names in sorted(self.models.items())},
            "prompts": sorted(self.prompts),
            "cost": cost and {role: round(amount, 4) for role, amount in cost.items()},
            "sizes": dict(sorted(self.sizes.items())),
        }


def has_failed(row: Mapping[str, Any]) -> bool:
    """Given up because a request failed for good: nothing speaks against the row."""
    calls = row["calls"]
    return not row["examples"] and bool(calls) and calls[-1]["finish_reason"] == "error"


def cost_of(usage: Mapping[str, Counter[str]], settings: LlmSynthesis) -> dict[str, float] | None:
    """Cost by model in the currency of the prices; ``None`` where a price is not known."""
    found = {}
    asked = {"generator": settings.generator_options, "verifier": settings.verifying[1]}
    for role, options in asked.items():
        if options.price_in is None or options.price_out is None:
            return None
        own = [spent for stage, spent in usage.items() if role_of(stage) == role]
        tokens_in, tokens_out = (sum(spent[name] for spent in own) for name in USAGE[1:])
        found[role] = (tokens_in * options.price_in + tokens_out * options.price_out) / MILLION
    return found


def estimate(settings: LlmSynthesis, rows: int, made: Counts) -> str:
    """What ``rows`` more rows take in tokens and money by those that are there, for a person."""
    if made.rows < ENOUGH:
        return f"no estimate for {rows:,} rows yet: it is made from {ENOUGH} rows or more (n=5)"
    usage = {
        stage: Counter({name: round(n * rows / made.rows) for name, n in spent.items()})
        for stage, spent in made.usage.items()
    }
    table = say_usage({**usage, "all": sum(usage.values(), Counter())})
    cost = cost_of(usage, settings)
    price = "not known without generator_options.price_in and price_out (and the verifier's)"
    return (
        f"estimate for {rows:,} rows from the means of {made.rows:,}:\n"
        + table_of("stage | calls | tokens in | tokens out", table)
        + f"\ncost: {price if cost is None else say_cost(cost)}"
    )


def say_usage(usage: Mapping[str, Mapping[str, int]]) -> dict[str, tuple[str, ...]]:
    """Calls, tokens in and tokens out by stage, for a table."""
    return {stage: tuple(f"{spent[name]:,}" for name in USAGE) for stage, spent in usage.items()}


def say_cost(cost: Mapping[str, float]) -> str:
    """The sum, and what each model costs."""
    roles = ", ".join(f"{role} {amount:,.2f}" for role, amount in cost.items())
    return f"{sum(cost.values()):,.2f} ({roles})"


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


def _card_parts(settings: LlmSynthesis, counts: dict[str, Any]) -> Iterator[str]:
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
    stages = {}
    for stage, used in say_usage(counts["calls"]).items():
        found = counts["verdicts"][stage]
        scored = found["accepted"] + found["rejected"]  # not what nobody scored or could read
        rate = f"{found['accepted'] / scored:.1%}" if scored else "-"
        stages[stage] = (*used, *(found[verdict] for verdict in VERDICTS), rate)
    titles = ("stage", "calls", "tokens in", "tokens out", *VERDICTS, "accepted of those scored")
    yield table_of(" | ".join(titles), stages)
    if counts["cost"] is None:
        yield "No prices were given, so the cost is not known."
    else:
        yield (
            f"At the prices given: {say_cost(counts['cost'])}. Answers that came a second time "
            f"from the cache are counted once; prices are per {MILLION:,} tokens."
        )
    yield "## Rejections"
    yield "`rejected.jsonl` has every one with its row, stage, attempt and reason."
    rejected = counts["rejected"].items()
    kinds = {f"{stage}: {kind}": n for stage, own in rejected for kind, n in own.items()}
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
