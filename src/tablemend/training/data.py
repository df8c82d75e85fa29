"""From examples to training rows: ids, labels, and what was dropped and why."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tablemend.config import HUB
from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import Trained
from tablemend.renderer import Tokenizer, prompt_ids, target_ids
from tablemend.tasks.chats import Chat
from tablemend.tasks.sources import mixed
from tablemend.tasks.task import Sample
from tablemend.thinking import continued, opened_thought
from tablemend.training.architectures import to_fit
from tablemend.training.row_checks import check_end_of_turn as check_end_of_turn
from tablemend.training.row_checks import check_prompt as check_prompt
from tablemend.training.row_checks import check_row as check_row
from tablemend.training.row_checks import check_templates
from tablemend.training.row_checks import show as show

IGNORED = -100
"""Label of a token that bears no loss."""

CHECKED = 32
"""Rows, pairs or prompts that are verified before every training."""


@dataclass(frozen=True, slots=True)
class Row:
    """One training sequence: the evaluation prompt, then the target and its end of turn."""

    prompt: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def input_ids(self) -> list[int]:
        """Prompt and target, in this order."""
        return [*self.prompt, *self.target]

    @property
    def labels(self) -> list[int]:
        """The target's ids; :data:`IGNORED` for each id of the prompt."""
        return [*[IGNORED] * len(self.prompt), *self.target]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.target)


@dataclass
class Rows:
    """All rows of a source, or of a mixture.

    Attributes:
        rows: in the order of the examples.
        dropped: how many were left out, by reason.
        shortest: tokens of the shortest, left out or not.
        longest_answer: tokens of the longest target of an example that is kept.
    """

    rows: list[Row]
    dropped: Counter[str] = field(default_factory=Counter)
    shortest: int = 0
    longest_answer: int = 0

    def add(self, row: Row, limit: int) -> bool:
        """Take a row, or count why it is left out; nothing is ever cut."""
        self.shortest = min(self.shortest or len(row), len(row))
        if reason := why_dropped(row, limit):
            self.dropped[reason] += 1
            return False
        self.rows.append(row)
        return True


def why_dropped(row: Row, limit: int) -> str:
    """Why a row cannot be trained on; empty where it can."""
    if len(row) > limit:
        return f"longer than {limit} tokens"
    if row.target.count(row.target[-1]) > 1:
        return "an end of turn within the answer"
    return ""


def content_hash(rows: Iterable[Row]) -> str:
    """SHA-256 (16 hex digits) of every id and of where the loss begins."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(f"{row.prompt}{row.target}".encode())
    return digest.hexdigest()[:16]


def render(tokenizer: Tokenizer, sample: Sample, view: str, config: Trained) -> Row:
    """One sample as ids; the prompt is that of evaluation, through the same function.

    Raises:
        NoTarget: nothing can be taught from it.
    """
    task = config.task_of()
    target = task.target(sample, view, config.thinking)
    messages = task.messages(sample, view, config.train.prompt)
    return row_of(tokenizer, prompt_ids(tokenizer, messages, config.thinking != "off"), target)


def row_of(tokenizer: Tokenizer, prompt: Sequence[int], answer: str) -> Row:
    """A prompt and an answer to it, which goes on where the prompt opens its thought."""
    rest = continued(opened_thought(tokenizer, prompt), answer)
    return Row(tuple(prompt), tuple(target_ids(tokenizer, rest)))


def render_chat(tokenizer: Tokenizer, chat: Chat) -> Row:
    """Ordinary instruction data as ids: loss on the last answer alone.

    Only an answer that thinks is prompted with room for it, so that such data does not teach to
    skip thinking where it is asked for.
    """
    return row_of(tokenizer, prompt_ids(tokenizer, chat.messages, chat.thinks), chat.answer)


def build_rows(
    tokenizer: Tokenizer, items: Iterable[Sample | Chat], config: Trained, name: str = "train"
) -> Rows:
    """Render every sample; what does not fit, or has no target, is dropped and counted.

    Raises:
        TablemendError: nothing is left of the source called ``name``, or the chat template
            writes such answers in another way.
    """
    built, items = Rows([]), list(items)
    check_templates(tokenizer, items, config)
    for item in items:
        add_item(built, tokenizer, item, config)
    return refuse_nothing(built, config, name)


def build_mixture(
    tokenizer: Tokenizer, sources: Mapping[str, Sequence[Sample | Chat]], config: Trained
) -> tuple[Rows, dict[str, Any]]:
    """The rows of all sources in the order of training, and what the manifest says of each source.

    Raises:
        TablemendError: nothing is left of a source, or the chat template writes its answers in
            another way.
    """
    train = config.data.train
    check_templates(tokenizer, chain.from_iterable(sources.values()), config)
    whole, built = Rows([]), {name: Rows([]) for name in sources}
    used: Counter[str] = Counter()
    for name, item in mixed(sources, train):
        part = built[name]
        known = len(part.rows)
        add_item(part, tokenizer, item, config)
        whole.rows += part.rows[known:]
        used[name] += 1
    facts = {}
    for name, part in built.items():
        refuse_nothing(part, config, f"train.{name}" if isinstance(train, dict) else name)
        whole.dropped += part.dropped
        whole.longest_answer = max(whole.longest_answer, part.longest_answer)
        facts[name] = {
            "share": train[name].share if isinstance(train, dict) else 1.0,
            "available": len(sources[name]),
            "used": used[name],
            "rows": len(part.rows),
            "tokens": sum(map(len, part.rows)),
            "dropped": dict(part.dropped),
        }
    return whole, facts


def add_item(built: Rows, tokenizer: Tokenizer, item: Sample | Chat, config: Trained) -> None:
    """Render an item in every view that training shows; count what is left out."""
    if isinstance(item, Chat):
        built.add(render_chat(tokenizer, item), config.longest_row)
        return
    for view in config.shown_to(item.id):
        try:
            row = render(tokenizer, item, view, config)
        except NoTarget as reason:
            built.dropped[f"{reason.kind}: {reason}"] += 1
            continue
        if built.add(row, config.longest_row):
            built.longest_answer = max(built.longest_answer, len(row.target))


def refuse_nothing(built: Rows, config: Trained, name: str) -> Rows:
    """Refuse a source of which no row is left."""
    if built.rows:
        return built
    if not any(reason.startswith("longer") for reason in built.dropped):
        reasons = ", ".join(f"{count} x {reason}" for reason, count in built.dropped.items())
        raise TablemendError(f"data.{name}: no training example is left ({reasons})")
    raise TablemendError(
        f"data.{name}: no training example fits {config.longest_row} tokens, the shortest has "
        f"{built.shortest}: {to_fit(config.model, built.shortest)}"
    )


def refuse_shared_tables(
    seen: Iterable[Sample | Chat], held_out: Iterable[Sample], name: str, other: str = "train"
) -> None:
    """Refuse held-out examples of a table that is also trained on, or in ``data.<other>``."""
    shared = sorted({one.source_hash for one in held_out} & {one.source_hash for one in seen})
    if shared:
        raise TablemendError(
            f"data.{name} and data.{other} share {len(shared)} tables (first: {shared[0]}): "
            "split by table (the scripts in data_gen/ do)"
        )


def read_validation(config: Trained, train: Sequence[Sample | Chat]) -> list[Any]:
    """The samples of data.validation, none without it.

    Raises:
        TablemendError: two of training, validation and test share a table.
    """
    read, data = config.task_of().samples, config.data
    validation = read(data.validation) if data.validation else []
    refuse_shared_tables(train, validation, "validation")
    if not data.test.source.startswith(HUB):
        test = read(data.test)
        refuse_shared_tables(train, test, "test")
        refuse_shared_tables(validation, test, "test", "validation")
    return validation
