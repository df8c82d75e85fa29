"""The steps of a study: our own commands, one after another. Each continues by itself, so a study
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tablemend.errors import TablemendError
from tablemend.generations import Generations
from tablemend.recipe.experiment import Comparison, Experiment
from tablemend.runs import Run, write_text

COUNTED = 400
"""Rows that a mean length is taken from."""
LAUNCH = ("launch", "--quiet", "--config_file", "accelerate_configs/cpu.yaml")


def train(script: str, overrides: Iterable[str]) -> None:
    """A training in one process on the CPU; a finished one is left as it is."""
    step(str(Path(sys.executable).with_name("accelerate")), *LAUNCH, script, *overrides)


def script(path: str, overrides: Iterable[str]) -> None:
    """Any other of our scripts."""
    step(sys.executable, path, *overrides)


def step(*command: str) -> None:
    """One command, its output passed through.

    Raises:
        TablemendError: it failed.
    """
    if subprocess.run(command, check=False).returncode:
        raise TablemendError(f"this step failed: {' '.join(command)}")


def row_tokens(config: Experiment) -> float:
    """Mean tokens of a row of ``data.train``, prompt and target, over its first rows."""
    from tablemend.tasks.sources import read_examples
    from tablemend.training.checkpoints import load_tokenizer
    from tablemend.training.data import build_rows

    (source,) = config.data.training_sources
    examples = read_examples(source.model_copy(update={"n": COUNTED}))
    lengths = [len(row) for row in build_rows(load_tokenizer(config.model), examples, config).rows]
    return sum(lengths) / len(lengths)


def steps_within(tokens: int, batch: int, mean: float) -> int:
    """Whole steps of ``batch`` sequences with ``mean`` tokens that a budget pays for.

    Raises:
        TablemendError: not even one.
    """
    steps = int(tokens / mean / batch)
    if not steps:
        raise TablemendError(
            f"tokens={tokens} pay for no step of {batch} rows with {mean:.0f} tokens each: raise "
            "tokens"
        )
    return steps


def share_answers(config: Comparison, systems: Iterable[str], source: Run, target: Run) -> None:
    """Copy the answers of some systems into a run that has none of them.

    The comparison takes up only answers to the same settings, weights and example ids.
    """
    ours, theirs = (Generations(run.path / "generations") for run in (source, target))
    for name in systems:
        for context in config.contexts:
            made, wanted = (each.path(name, context) for each in (ours, theirs))
            if made != wanted and made.exists() and not wanted.exists():
                write_text(wanted, made.read_text(encoding="utf-8"))
