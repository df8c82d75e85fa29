"""Fine-tuning speed: non-padding tokens a second, tablemend against a plain TRL script.

    python benchmarks/sft_throughput.py recipe=tiny [rows=256 rounds=3]
    python benchmarks/sft_throughput.py recipe=qwen2.5-coder-0.5b  # adapters: TRL with PEFT

All sides train one epoch on the same rows with the same model (or adapters on it), batch, precision
and optimizer, turn about, each time in a process of its own, and are timed after the first quarter
of the steps, where layers are compiled. The plain sides are SFTTrainer as TRL's documentation uses
it, with its own collation and loss: in a random order, grouped by length, and packed into rows of
as many tokens as a batch has; where the recipe compiles layers, also with transformers'
torch_compile. Ours is compared with the best of them. On a CPU, where TRL's fused head scores the
prompt too, the ratio says nothing of GPUs.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

from pydantic import Field

from tablemend.config import load
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment
from tablemend.script import run_script

OURS = "tablemend"
COMPILED = "TRL, grouped by length, compiled"


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
    if config.train.method == "qlora":
        raise TablemendError("train.method=qlora: only full and lora are compared")
    apart = multiprocessing.get_context("spawn")  # ours changes how its process keeps memory
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, apart, max_tasks_per_child=1) as process,
    ):
        tokenizer = checkpoints.load_tokenizer(config.model)
        rows = rows_of(config, tokenizer)
        lengths = sorted(map(len, rows))
        print(
            f"{len(rows)} rows of {lengths[0]} to {lengths[-1]} tokens, median "
            f"{statistics.median(lengths):.0f}; {config.train.micro_batch} a batch, "
            f"{config.train.precision}, {torch.get_num_threads()} threads, {platform.machine()}"
        )
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(config.rounds):
            for side, (settings, order) in sides_of(config, lengths).items():
                compiled = side == COMPILED
                given = (settings, order, tokenizer, rows, folder, compiled)
                rates = process.submit(epoch, *given).result()
                found.setdefault(side, []).append(rates)
                print("{}: {:.0f} tokens/s, {:.0f} a CPU second".format(side, *rates))
    for index, unit in enumerate(("second", "CPU second")):  # the latter where others compute too
        best = {side: max(each[index] for each in rates) for side, rates in found.items()}
        ours = best.pop(OURS)
        theirs = max(best, key=lambda side: best[side])
        print(
            f"best: {ours:.0f} tokens a {unit}, {theirs}: {best[theirs]:.0f}, "
            f"{ours / best[theirs]:.2f} times"
        )


def sides_of(config: Benchmark, lengths: list[int]) -> dict[str, tuple[Benchmark, str | None]]:
    """The recipe of each side, and the order of rows by transformers' name; ours has its own.

    Packed rows hold the tokens of a batch, so that a step has as many of them on every side.
    """
    train = config.train
    width = max(lengths[-1], math.ceil(train.micro_batch * statistics.fmean(lengths)))
    row = {"packing": True, "max_length": width, "micro_batch": 1}
    row["global_batch"] = train.global_batch // train.micro_batch
    packed = config.model_copy(update={"train": train.model_copy(update=row)})
    sides: dict[str, tuple[Benchmark, str | None]] = {
        "TRL": (config, "random"),
        "TRL, grouped by length": (config, "group_by_length"),
        "TRL, packed": (packed, "random"),
    }
    if train.compile:
        sides[COMPILED] = (config, "group_by_length")
    return {**sides, OURS: (config, None)}


def rows_of(config: Benchmark, tokenizer: object) -> list:
    """The first rows of data.train; a mixture's hold its sources in their shares."""
    from tablemend.tasks.sources import read_training
    from tablemend.tasks.tablehallu.task import read_examples
    from tablemend.training.data import build_mixture

    sources = read_training(config.data.train, read_examples)
    return build_mixture(tokenizer, sources, config)[0].rows[: config.rows]


def epoch(
    config: Benchmark,
    order: str | None,
    tokenizer: object,
    rows: list,
    folder: str,
    compiled: bool = False,
) -> tuple[float, float]:
    """Tokens a second and a CPU second of one epoch in an order of TRL's, or by our trainer.

    Raises:
        TablemendError: it trained other tokens than those of the rows.
    """
    from transformers import PrinterCallback, TrainerCallback
    from trl import SFTTrainer

    from tablemend.training import checkpoints, sft, stage
    from tablemend.training.models import lora_config, trainer_parts
    from tablemend.training.sft import Trainer, sft_arguments

    config = stage.set_up(config)
    arguments = sft_arguments(config, folder, validate=False)
    arguments.num_train_epochs, arguments.max_steps = 1, -1
    arguments.torch_compile = compiled
    arguments.save_strategy, arguments.logging_strategy, arguments.disable_tqdm = "no", "no", True
    dataset = sft.as_dataset(rows)
    if order is None:
        parts = trainer_parts(config, tokenizer, arguments)
        trainer = Trainer(train_dataset=dataset, **parts)
    else:
        arguments.train_sampling_strategy = order
        model, lora = checkpoints.load_model(config.model), config.train.lora
        trainer = SFTTrainer(
            model=model,
            args=arguments,
            train_dataset=dataset,
            processing_class=tokenizer,
            peft_config=lora_config(lora, model) if lora else None,
        )
    trainer.remove_callback(PrinterCallback)
    begun: list[float] = []

    class Clock(TrainerCallback):
        """Starts after the first quarter of the steps."""

        def on_step_end(self, _: object, state: object, *__: object, **___: object) -> None:
            if state.global_step == max(1, state.max_steps // 4):
                begun[:] = state.num_input_tokens_seen, time.perf_counter(), time.process_time()

    trainer.add_callback(Clock())
    trainer.train()
    now = trainer.state.num_input_tokens_seen, time.perf_counter(), time.process_time()
    if now[0] != sum(map(len, rows)):
        raise TablemendError(
            f"{now[0]} tokens were trained, and the rows have {sum(map(len, rows))}"
        )
    tokens, wall, cpu = (end - start for start, end in zip(begun, now, strict=True))
    return tokens / wall, tokens / cpu


if __name__ == "__main__":
    run_script(main)
