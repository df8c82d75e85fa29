"""Train the embedded tiny base from nothing but the small world.

python train/pretrain.py recipe=tiny-base [schedule.tokens=1000000 ...]
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from tablemend.config import load
from tablemend.config.pretrain import Pretraining
from tablemend.runs import Run, append_jsonl
from tablemend.script import run_script


def main() -> None:
    """Tokenizer, model, steps, checkpoint; the same command continues where it stopped."""
    config = load(Pretraining)
    import torch  # only once the recipe is valid

    from tablemend.training.pretrain import Trainer, build_tokenizer

    run = Run.of(config)
    run.begin("pretrain", config, ["seed", "vocab_size", "shape", "world", "skills", "schedule"])
    trainer = Trainer(config, build_tokenizer(config))
    state = run.path / "state.pt"
    if state.exists():
        trainer.load_state(torch.load(state))
        print(f"continuing {run.path} at step {trainer.step}")

    losses: list[float] = []
    for loss in trainer.steps():
        losses.append(loss)
        if trainer.step % config.log_every == 0:
            append_jsonl(run.path / "log.jsonl", [line := asdict(trainer.test(losses))])
            print(line, flush=True)
            losses.clear()
        if trainer.step % config.save_every == 0:
            torch.save(trainer.state(), state.with_suffix(".tmp"))
            state.with_suffix(".tmp").replace(state)

    final = asdict(trainer.test(losses))
    append_jsonl(run.path / "log.jsonl", [final])
    trainer.save(Path(config.out))
    run.record("pretrain", {"final": final, "out": config.out})
    print(f"{final}\nsaved {config.out}")


if __name__ == "__main__":
    run_script(main)
