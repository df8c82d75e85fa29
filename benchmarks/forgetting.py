"""What does fine-tuning cost elsewhere? Loss on text and chats that it was not about.

    python benchmarks/forgetting.py models='[BASE, runs/NAME/model]' chats='[FILE.jsonl]' \
        texts='[FILE.txt]' [n=200 window=512]

Chats are lines {"messages": [...]}; the loss is that of the last answer. Of a text, consecutive
windows of ``window`` tokens are read. The loss is in nats a token, its mean over answers or
windows; differences are to the first model, on the same ones, with a 95 % interval (paired
bootstrap). Above 0, the model predicts them worse than the first one. Clean contexts and other
table formats are systems of a comparison (eval/compare.py).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import torch
from pydantic import Field
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import load_model
from tablemend.config import Section, load
from tablemend.config.section import Source
from tablemend.errors import TablemendError
from tablemend.script import run_script
from tablemend.statistics import compare_shares
from tablemend.tasks.sources import read_chats
from tablemend.training.data import Row, render_chat


class Benchmark(Section):
    """What to measure."""

    models: list[str] = Field(min_length=1)
    """Folders or Hub names; the first is what the others are compared with."""
    chats: tuple[str, ...] = ()
    """Files of chats."""
    texts: tuple[str, ...] = ()
    """Files of plain text."""
    n: int = Field(default=200, ge=2)
    """Most chats or windows of a file, from its front."""
    window: int = Field(default=512, ge=16)
    """Tokens of a window of text; a longer chat is left out and counted."""


def rows_of(settings: Benchmark, path: str, tokenizer: Tokenizer) -> list[Row]:
    """The chats or windows of a file that fit.

    Raises:
        TablemendError: there are fewer than two.
    """
    if path in settings.chats:
        chats = read_chats(Source(source=path, n=None))[: settings.n]
        rendered = [render_chat(tokenizer, chat) for chat in chats]
        rows = [row for row in rendered if len(row) <= settings.window]
        left = len(rendered) - len(rows)
    else:
        ids = tokenizer(Path(path).read_text(encoding="utf-8"), verbose=False)["input_ids"]
        step = settings.window
        windows = [ids[start : start + step] for start in range(0, len(ids) - step + 1, step)]
        rows = [Row(tuple(window[:1]), tuple(window[1:])) for window in windows[: settings.n]]
        left = 0
    if len(rows) < 2:
        raise TablemendError(
            f"{path}: {len(rows)} that fit into {settings.window} tokens, and 2 are the least: "
            "set another window, or give a longer file"
        )
    if left:
        print(
            f"{path}: {left} of {len(rows) + left} chats are longer than {settings.window} tokens"
        )
    return rows


def losses(model: PreTrainedModel, rows: list[Row]) -> Iterator[float]:
    """Mean loss of each row's target, in nats a token."""
    for row in rows:
        ids = torch.tensor([[*row.prompt, *row.target]], device=model.device)
        keep = len(row.target) + 1
        with torch.inference_mode():
            logits = model(input_ids=ids, logits_to_keep=keep).logits[0, :-1]
        yield float(cross_entropy(logits.float(), ids[0, -len(row.target) :]))


def main() -> None:
    """Print one line a file and model."""
    settings = load(Benchmark)
    files = list(dict.fromkeys([*settings.chats, *settings.texts]))
    if not files:
        raise TablemendError("chats, texts: give one file at least")
    for path in files:
        if not Path(path).is_file():
            raise TablemendError(f"{path}: no such file")
    first: dict[str, tuple[list[Row], list[float]]] = {}
    for name in settings.models:
        loaded = load_model(Checkpoint(name))
        for path in files:
            rows = rows_of(settings, path, loaded.tokenizer)
            found = list(losses(loaded.model, rows))
            line = f"{path}: {name}: {statistics.fmean(found):.3f} nats a token, n = {len(found)}"
            if path in first:
                same, before = first[path]
                if same != rows:
                    raise TablemendError(
                        f"{name}: its tokens of {path} are not those of {settings.models[0]}: "
                        "compare models of one tokenizer and chat template"
                    )
                gap = compare_shares(list(zip(before, found, strict=True)))
                line += "; {difference:+.3f} ({low:+.3f} to {high:+.3f})".format(**gap)
            else:
                first[path] = rows, found
            print(line, flush=True)


if __name__ == "__main__":
    run_script(main)
