"""From samples and pairs to rows of ids: rendered, checked, and what was dropped and why."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from tablemend.config import HUB
from tablemend.errors import NoTarget, TablemendError
from tablemend.foreign import FromJson
from tablemend.recipe.experiment import DpoExperiment, TrainingRecipe
from tablemend.records import ContextKind, Finding
from tablemend.renderer import ANSWER, PROBE, Tokenizer, prompt_ids, target_ids, whole_chat
from tablemend.runs import hash_text, read_jsonl
from tablemend.tasks.sources import Chat, mixed
from tablemend.tasks.task import Sample
from tablemend.thinking import continued, opened_thought
from tablemend.training.architectures import to_fit

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


def render(tokenizer: Tokenizer, sample: Sample, view: str, config: TrainingRecipe) -> Row:
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
    tokenizer: Tokenizer,
    items: Iterable[Sample | Chat],
    config: TrainingRecipe,
    name: str = "train",
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
    tokenizer: Tokenizer, sources: Mapping[str, Sequence[Sample | Chat]], config: TrainingRecipe
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


def add_item(
    built: Rows, tokenizer: Tokenizer, item: Sample | Chat, config: TrainingRecipe
) -> None:
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


def refuse_nothing(built: Rows, config: TrainingRecipe, name: str) -> Rows:
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


def read_validation(config: TrainingRecipe, train: Sequence[Sample | Chat]) -> list[Any]:
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


TRAINED, MASKED, PLAIN = "\033[32m", "\033[90m", "\033[0m"


def check_row(tokenizer: Tokenizer, row: Any, target: str) -> None:
    """Assert that the supervised ids are exactly the target and one end of turn.

    Raises:
        TablemendError: a tokenizer that does not give back the text it was given.
    """
    end, decoded = tokenizer.decode(row.target[-1:]), tokenizer.decode(row.target)
    target = continued(opened_thought(tokenizer, row.prompt), target)
    if decoded != target + end or row.target.count(row.target[-1]) != 1:
        raise TablemendError(
            f"the supervised ids decode to {decoded[-80:]!r}, not to the target and one end "
            f"of turn {end!r}: the tokenizer does not give back the text it is given"
        )


def check_prompt(
    tokenizer: Tokenizer, sample: Sample, view: str, prompt: Sequence[int], config: TrainingRecipe
) -> None:
    """Assert that a training prompt is that of every system that answers with its checkpoint."""
    for system in config.evaluation.systems.values():
        if system.model == config.stage and not system.after:
            chat = config.task_of(system).messages(sample, view, system.prompt)
            ids = prompt_ids(tokenizer, chat, config.thinking_of(system) != "off")
            assert tuple(ids) == tuple(prompt), "the training prompt is not the evaluation's"


def check_templates(
    tokenizer: Tokenizer, items: Iterable[Sample | Chat], config: TrainingRecipe
) -> None:
    """:func:`check_template` for every way of thinking in the data."""
    own = config.thinking != "off"
    for thinks in {one.thinks if isinstance(one, Chat) else own for one in items}:
        check_template(tokenizer, thinks)


def check_template(tokenizer: Tokenizer, thinks: bool) -> None:
    """Refuse a chat template that does not itself write prompt, answer (with its thought, where it
    ``thinks``) and end of turn so.
    """
    check_end_of_turn(tokenizer)
    answer = f"<think>\nb\n</think>\n\n{ANSWER}" if thinks else ANSWER
    prompt = prompt_ids(tokenizer, PROBE, thinks)
    target = target_ids(tokenizer, continued(opened_thought(tokenizer, prompt), answer))
    ours = tokenizer.decode([*prompt, *target])
    whole = whole_chat(tokenizer, PROBE, answer, thinks)
    if whole.startswith(ours):
        return
    theirs = whole.partition(PROBE[0]["content"])[2]
    ours = ours.partition(PROBE[0]["content"])[2]
    mend = (
        "set thinking=off, or give the tokenizer a chat template that keeps the thoughts of its "
        "answers (TRL ships some, *_training.jinja)"
        if thinks
        else "train with a thought (such as thinking=quote), or give the tokenizer a chat template "
        "that opens none"
        if "<think>" in ours
        else "give the tokenizer a chat template that continues its own generation prompt"
    )
    raise TablemendError(
        f"the chat template does not write an answer {'with' if thinks else 'without'} a thought "
        f"as it would be trained: {theirs[:80]!r}, not {ours[:80]!r}: {mend}"
    )


def check_drawing_template(tokenizer: Tokenizer, thinks: bool) -> None:
    """:func:`check_template` for answers that the model draws, with thoughts of its own."""
    if thinks:
        check_end_of_turn(tokenizer)
    else:
        check_template(tokenizer, False)


def check_end_of_turn(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer whose ``eos_token`` is not what its chat template ends a turn with.

    A model trained with the wrong one never stops, or writes what stands before it at each end.
    """
    text = whole_chat(tokenizer, PROBE, ANSWER, None)
    end = tokenizer.decode(target_ids(tokenizer, "")[-1:])
    behind = text.rpartition(ANSWER)[2]
    if not behind.startswith(end):
        raise TablemendError(
            f"eos_token {end!r} does not end the assistant's turn in the chat template "
            f"({text[-40:]!r}): set model.end_of_turn to the token that does"
        )


def show(tokenizer: Tokenizer, row: Any) -> str:
    """The row as coloured text for a terminal: green bears loss, grey does not."""
    parts = []
    for ids, colour in ((row.prompt, MASKED), (row.target, TRAINED)):
        tokens = [tokenizer.decode([token]) for token in ids]
        parts.append(colour + f"{PLAIN}|{colour}".join(tokens) + PLAIN)
    return f"{''.join(parts)}\n{len(row.prompt)} masked + {len(row.target)} trained tokens"


PAIRS_FILE = "pairs.jsonl"
TARGETS_FILE = "targets.jsonl"
Split = Literal["train", "validation"]


@dataclass(frozen=True, slots=True)
class Pair(FromJson):
    """Two answers to the prompt of one example in one context.

    Attributes:
        example_id, context: the prompt; its text is the example's.
        split: whether it is trained on, or held out for the loss.
        chosen, rejected: what the model is to write rather, and rather not: thinking included,
            the end of turn left out.
        chosen_source: ``gold``, ``sampled`` where it is the model's own, or ``mended``: the
            rejected one after the rule repair.
        rejected_source: ``sampled``, or ``injected``.
        edit: name of the injected error; ``None`` for a sampled answer.
        findings: what the scorer says of the rejected answer. It says nothing of the chosen one,
            so these are the difference.
        id: hash of all the rest.
    """

    example_id: str
    context: ContextKind
    split: Split
    chosen: str
    rejected: str
    chosen_source: Literal["gold", "sampled", "mended"]
    rejected_source: Literal["sampled", "injected"]
    edit: str | None
    findings: tuple[Finding, ...]
    id: str = field(default="")

    def __post_init__(self) -> None:
        if not self.id:
            parts = (self.example_id, self.context, self.split, self.chosen, self.rejected)
            object.__setattr__(self, "id", hash_text("\n".join(parts)))


def read_pairs(folder: Path) -> list[Pair]:
    """The pairs that data_gen/preference.py wrote.

    Raises:
        TablemendError: there are none, or a line that is no pair.
    """
    path = folder / PAIRS_FILE
    pairs = []
    for number, line in enumerate(read_jsonl(path), 1):
        try:
            pairs.append(Pair.from_json(line))
        except ValueError as error:
            raise TablemendError(
                f"{path}:{number} is no preference pair ({error}): make the pairs again "
                "(data_gen/preference.py, overwrite=true)"
            ) from error
    if not pairs:
        raise TablemendError(f"{path} holds no pair: make the pairs first, data_gen/preference.py")
    return pairs


def check_pairs(config: DpoExperiment) -> None:
    """Refuse a recipe whose pairs were never made, before anything is loaded.

    Raises:
        TablemendError: naming the command that makes them.
    """
    path = Path(config.dpo.pairs.path) / PAIRS_FILE
    if not path.is_file():
        raise TablemendError(
            f"no pairs in {path}: make them first, python data_gen/preference.py "
            f"recipe={config.name}"
        )


PairRows = tuple[Row, Row]
"""A pair as ids: the rows of the chosen and of the rejected answer, with one prompt."""


def render_pair(
    tokenizer: Tokenizer, sample: Sample, pair: Pair, config: TrainingRecipe
) -> PairRows:
    """One pair as ids; the prompt is that of evaluation, through the same function."""
    messages = config.task_of().messages(sample, pair.context, config.train.prompt)
    prompt = prompt_ids(tokenizer, messages, config.thinking != "off")
    return row_of(tokenizer, prompt, pair.chosen), row_of(tokenizer, prompt, pair.rejected)
