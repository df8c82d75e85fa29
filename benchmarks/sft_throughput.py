"""Fine-tuning speed: non-padding tokens a second, tablemend against a plain TRL script.

    python benchmarks/sft_throughput.py recipe=tiny [rows=256 rounds=3]

Both sides train one epoch on the same rows with the same model, batch, precision and
optimizer, turn about in one process. The plain side is SFTTrainer as TRL's documentation uses
it: its own order, collation and loss. Where model.path is the tiny base and it has not been
trained yet, random weights of its shape, with its tokenizer, stand in for it.
"""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

from pydantic import Field

from tablemend.backends.checkpoints import local_folder
from tablemend.config import Experiment, Model, load, parse
from tablemend.config.pretrain import Pretraining
from tablemend.errors import TablemendError
from tablemend.script import run_script


class Benchmark(Experiment):
    """The recipe, and how much of it to measure."""

    rows: int = Field(default=256, ge=16)
    """Training rows of the one epoch."""
    rounds: int = Field(default=3, ge=1)
    """Epochs of each side; the best is reported."""


def main() -> None:
    """Measure and print one line a side, and the ratio."""
    config = load(Benchmark)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import torch

    from tablemend.training import checkpoints, stage

    config = stage.set_up(config)
    with tempfile.TemporaryDirectory() as folder:
        config = config.model_copy(update={"model": stand_in(config.model, Path(folder))})
        tokenizer = checkpoints.load_tokenizer(config.model)
        rows = rows_of(config, tokenizer)
        lengths = sorted(map(len, rows))
        print(
            f"{len(rows)} rows of {lengths[0]} to {lengths[-1]} tokens, median "
            f"{statistics.median(lengths):.0f}; {config.train.micro_batch} a batch, "
            f"{config.train.precision}, {torch.get_num_threads()} threads, {platform.machine()}"
        )
        tokens = sum(lengths)
        taken: dict[str, list[tuple[float, float]]] = {"plain TRL": [], "tablemend": []}
        for _ in range(config.rounds):
            for side, found in taken.items():
                found.append(epoch(config, side == "tablemend", tokenizer, rows, folder))
                wall, cpu = found[-1]
                print(f"{side}: {tokens / wall:.0f} tokens/s, {tokens / cpu:.0f} a CPU second")
    for index, unit in enumerate(("second", "CPU second")):  # the latter where others compute too
        plain, ours = (tokens / min(each[index] for each in found) for found in taken.values())
        print(f"best: {ours:.0f} against {plain:.0f} tokens a {unit}, {ours / plain:.2f} times")


def rows_of(config: Benchmark, tokenizer: object) -> list:
    """The first rows of data.train; a mixture's hold its sources in their shares."""
    from tablemend.tasks.sources import read_examples, read_training
    from tablemend.training.data import build_mixture, build_rows

    train = config.data.train
    if isinstance(train, dict):
        mixed, _ = build_mixture(tokenizer, read_training(train), config)
        return mixed.rows[: config.rows]
    return build_rows(tokenizer, read_examples(train)[: config.rows], config).rows


def stand_in(model: Model, folder: Path) -> Model:
    """The recipe's model, or a random one where it is the tiny base and not there.

    Raises:
        TablemendError: another checkpoint that is not there, or a name on the Hub.
    """
    if Path(model.path).is_dir():
        return model
    base = parse(Pretraining, ["recipe=tiny-base"])
    if Path(model.path) != Path(base.out):
        what = "is not there" if local_folder(model.path) else "is a name on the Hub"
        raise TablemendError(
            f"model.path={model.path} {what}: give the folder of a checkpoint, or recipe=tiny"
        )
    from tablemend.training.pretrain import build_tokenizer
    from tablemend.training.tiny_model import build_model

    print(f"no {model.path}: random weights of its shape")
    tokenizer = build_tokenizer(base)
    build_model(base.shape, tokenizer, base.context_length, base.seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model.model_copy(update={"path": str(folder)})


def epoch(
    config: Benchmark, ours: bool, tokenizer: object, rows: list, folder: str
) -> tuple[float, float]:
    """Seconds and CPU seconds of one epoch."""
    from trl import SFTTrainer

    from tablemend.training import checkpoints, sft
    from tablemend.training.arguments import sft_arguments
    from tablemend.training.budget import Budget
    from tablemend.training.trainer import Trainer

    arguments = sft_arguments(config, folder, 1, validate=False)
    arguments.num_train_epochs, arguments.max_steps = 1, -1
    arguments.save_strategy, arguments.logging_strategy, arguments.disable_tqdm = "no", "no", True
    options = {
        "model": checkpoints.load_model(config.model),
        "args": arguments,
        "train_dataset": sft.as_dataset(rows),
        "processing_class": tokenizer,
    }
    trainer = (
        Trainer(recipe=config.train, budget=Budget(), **options) if ours else SFTTrainer(**options)
    )
    wall, cpu = time.perf_counter(), time.process_time()
    trainer.train()
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    run_script(main)
