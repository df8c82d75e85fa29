"""What a comparison is going to ask: prompts, tokens, cost and hours, as --check prints it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import fmean

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import MILLION, estimate_prompt
from tablemend.backends.requests import Request
from tablemend.config import HUB
from tablemend.errors import NoTarget, TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.generating import impossible_systems, request_of
from tablemend.evaluation.systems import (
    IN_PROCESS,
    ResolvedSystem,
    problems,
    read_test,
    refuse,
    resolve,
)
from tablemend.generations import Generations
from tablemend.recipe.experiment import Comparison
from tablemend.reports.rendering import align
from tablemend.runs import Run
from tablemend.tasks.task import Sample
from tablemend.values.text import count_tokens

LOOKED_AT = 50
"""Samples whose tokens are counted; the rest are taken to be as long."""
PROBE_SECONDS = 30
"""Longest wait for the one answer that shows whether a server knows grammars."""
HEAD = "system|prompts|tokens in|tokens out|cost|hours|note".split("|")
Count = Callable[[Request], int]


def plan_of(config: CompareCommand) -> Iterator[str]:
    """The lines that ``--check`` prints.

    Raises:
        TablemendError: what is missing, behind the plan.
    """
    run = Run.of(config)
    lacking = problems(config, [] if config.rescore else trained_systems(config, run))
    samples: Sequence[Sample] = ()
    try:
        if not config.rescore and not config.data.test.source.startswith(HUB):
            samples = read_test(config)
    except TablemendError as error:
        lacking.append(str(error))
    if samples:
        yield from lines(samples, config, run, reach=not lacking)
    refuse(lacking)


def trained_systems(config: Comparison, run: Run) -> list[ResolvedSystem]:
    """The systems without those of the recipe's own checkpoint, which may be trained later."""
    return [one for one in resolve(config, run) if one.base != config.stage]


def lines(samples: Sequence[Sample], config: Comparison, run: Run, *, reach: bool) -> Iterator[str]:
    """The plan, a line at a time.

    Args:
        samples: that the systems answer.
        config: the recipe.
        run: its folder, whose stored answers are not asked again.
        reach: whether a server that is to hold answers to a grammar may be asked for one.
    """
    systems = resolve(config, run)
    brief = {"timeout": PROBE_SECONDS, "retries": 0}
    probed = [
        replace(one, options=one.options.model_copy(update=brief))
        for one in systems
        if reach or one.model.engine != "openai"
    ]
    impossible = impossible_systems(probed, samples, config)
    counts: dict[bool, str] = {}
    rows = [HEAD]
    for system in systems:
        name, rest = system.name, [""] * (len(HEAD) - 2)
        if why := impossible.get(name) or (system.after in impossible and system.after):
            said = f"it edits the answers of {why}" if why == system.after else why
            rows.append([name, *rest, f"not possible here: {said}"])
        elif system.after is not None:
            asks = ""
            if getattr(system.mitigation, "asks_model", False):
                asks = f"; {system.model} is asked of what is flagged, not counted"
            rows.append([name, *rest, f"edits the answers of {system.after}{asks}"])
        else:
            row, counted = _row(system, samples, config, run)
            rows.append(row)
            counts[counted] = name
    yield f"plan: {len(samples):,} samples, shown as {', '.join(config.contexts)}"
    yield from align(rows).splitlines()
    looked = f"of {min(LOOKED_AT, len(samples))} samples a context"
    if True in counts:
        yield f"tokens: by the tokenizer of the model, {looked}"
    if False in counts:
        yield f"tokens with ~: estimated as Qwen's tokenizer counts, {looked}"
    most = config.evaluation.max_new_tokens
    yield f"tokens out: from gold answers without thinking, to evaluation.max_new_tokens={most}"
    if not any(system.options.price_in or system.options.price_out for system in systems):
        yield "cost: set evaluation.options.price_in and price_out, per million tokens"
    yield "hours: by the seconds of the run's stored answers; empty where there are none"


def _row(
    system: ResolvedSystem, samples: Sequence[Sample], config: Comparison, run: Run
) -> tuple[list[str], bool]:
    """The row of a system that answers, and whether its tokens are the model's own."""
    generations, asked = Generations(run.path / "generations"), system.settings
    read, wrote, prompts, seconds = 0.0, 0.0, 0, list[float]()
    tokenize = _tokenizer_of(system, config)
    count = tokenize or estimate_prompt
    for context in config.contexts:
        noted = generations.settings(system.name, context) or {}
        stored = generations.read(system.name, context) if asked.items() <= noted.items() else {}
        seconds += [one.seconds for one in stored.values() if not one.failed]
        missing = [one for one in samples if one.id not in stored or stored[one.id].failed]
        looked = missing[:LOOKED_AT]
        if looked:
            prompts += len(missing)
            requests = [request_of(system, context, one) for one in looked]
            read += len(missing) * fmean(map(count, requests))
            gold = [0] * len(looked)
            for place, one in enumerate(looked):
                with suppress(NoTarget):
                    gold[place] = count_tokens(system.task.target(one, context, "off"))
            wrote += len(missing) * fmean(gold)
    most = prompts * config.evaluation.max_new_tokens
    own = system.options
    priced = own.price_in is not None or own.price_out is not None
    low, high = (
        (read * (own.price_in or 0) + out * (own.price_out or 0)) / MILLION for out in (wrote, most)
    )
    about = "" if tokenize else "~"
    untrained = system.base == config.stage and not run.model.is_dir()
    row = [
        system.name,
        f"{prompts:,} of {len(samples) * len(config.contexts):,}",
        f"{about}{read:,.0f}",
        f"{wrote:,.0f} to {most:,}",
        f"{low:.2f} to {high:.2f}" if priced else "",
        f"{prompts * fmean(seconds) / 3600:.2f}" if seconds else "",
        f"to be trained first: train/{config.stage}.py" if untrained else "",
    ]
    return row, tokenize is not None


def _tokenizer_of(system: ResolvedSystem, config: Comparison) -> Count | None:
    """What counts a prompt's tokens where the model's tokenizer is on this machine."""
    if system.model.engine not in IN_PROCESS:
        return None
    path = system.model.model
    if system.base == config.stage:  # training keeps its base's
        path = config.model.path
    with suppress(TablemendError, ModuleNotFoundError):
        from tablemend.backends.loading import has_tokenizer, load_tokenizer
        from tablemend.renderer import prompt_ids

        checkpoint = Checkpoint.parse(path, system.options.revision)
        if has_tokenizer(checkpoint):
            tokenizer = load_tokenizer(checkpoint, local_files_only=True)
            return lambda asked: len(prompt_ids(tokenizer, asked.messages, asked.thinking))
    return None
