"""Train the embedded base from nothing but the small world; the recipe is recipe.yaml beside this.

python checkpoints/tiny-base/build/pretrain.py [schedule.tokens=1000000 ...]
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path

from tablemend.config import load
from tablemend.runs import Run, read_jsonl, say, sole_writer, write_jsonl
from tablemend.script import run_script
from tiny_base.config import PretrainCommand

RECIPE = Path(__file__).with_name("recipe.yaml")
STAGE = "pretrain"
FIXED = ("seed", "context_length", "vocab_size", "shape", "world", "skills", "schedule")


def main() -> None:
    """Refuse what cannot be saved, then train, alone in the run folder."""
    given = sys.argv[1:]
    named = any(token.startswith("recipe=") for token in given)
    config = load(PretrainCommand, given if named else [f"recipe={RECIPE}", *given])
    say("starting torch and transformers")
    from transformers.utils import logging  # torch, only once the recipe is valid

    from tiny_base.training import check_out

    logging.disable_progress_bar()  # or a refusal stands on the same line
    run, out = Run.of(config), Path(config.out).expanduser()
    check_out(out)
    if not out.exists():
        out.resolve().mkdir(parents=True)  # where it cannot, now and not in an hour
        out.resolve().rmdir()
    with sole_writer(run.path):
        pretrain(config, run, out)


def pretrain(config: PretrainCommand, run: Run, out: Path) -> None:
    """Tokenizer, model, steps, checkpoint; the same command continues where it stopped."""
    import torch

    from tablemend.backends.loading import emulation
    from tablemend.tasks.tablehallu.small_world import ENGINE
    from tablemend.training import checkpoints
    from tablemend.training.launch import choose_precision
    from tiny_base.training import Trainer, build_tokenizer

    state, log = run.path / "state.pt", run.path / "log.jsonl"
    if config.overwrite:
        for path in (state, log, run.path / f"{STAGE}.yaml"):
            path.unlink(missing_ok=True)
    run.begin(STAGE, config, FIXED)
    weights = run.recorded(STAGE).get("weights")  # noted last
    is_whole = not config.overwrite and checkpoints.is_complete(out)
    if is_whole and weights == checkpoints.revision_of(str(out)):
        print(f"finished: {out} (overwrite=true starts anew)")
        return
    precision = choose_precision(config.precision, "cpu")
    facts = {"engine": ENGINE, "out": config.out, "precision": precision}
    run.record(STAGE, facts)

    if config.threads is not None:
        torch.set_num_threads(config.threads)
    say("training the tokenizer on the first exercises")
    trainer = Trainer(config, build_tokenizer(config))
    if state.exists():
        trainer.load_state(torch.load(state))
        print(f"continuing {run.path} at step {trainer.step}")
    lines = [line for line in read_jsonl(log) if line["step"] <= trainer.step]
    write_jsonl(log, lines)
    final = lines[-1] if lines else None

    if warning := emulation("precision", config.precision, "cpu"):
        say(warning)
    say(
        f"training: {config.schedule.tokens:,} tokens in {precision}, a line every "
        f"{config.log_every} steps"
    )
    losses: list[float] = []
    for loss in trainer.steps():
        losses.append(loss)
        if trainer.step % config.log_every == 0:
            lines.append(final := asdict(trainer.test(losses)))
            write_jsonl(log, lines)
            print(final, flush=True)
            losses.clear()
        if trainer.step % config.save_every == 0:
            trainer.save_state(state)

    if final is None or final["step"] != trainer.step:  # else the last step is logged already
        lines.append(final := asdict(trainer.test(losses)))
        write_jsonl(log, lines)
    trainer.save(out)
    shutil.copy(log, out / "pretrain_log.jsonl")  # a checkpoint tells how it came to be
    run.record(STAGE, {**facts, "final": final, "weights": checkpoints.revision_of(str(out))})
    print(f"{final}\nsaved {out}")


if __name__ == "__main__":
    run_script(main)
