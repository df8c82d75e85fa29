"""A preference pair: two answers to one prompt, and the findings that stand between them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tablemend.errors import TablemendError
from tablemend.from_json import FromJson
from tablemend.recipe.experiment import DpoExperiment, Trained
from tablemend.records import ContextKind, Finding
from tablemend.renderer import Tokenizer, prompt_ids
from tablemend.runs import hash_text, read_jsonl
from tablemend.tasks.task import Sample
from tablemend.training.data import Row, row_of

FILE = "pairs.jsonl"
TARGETS = "targets.jsonl"
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

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return asdict(self)


def read_pairs(folder: Path) -> list[Pair]:
    """The pairs that data_gen/preference.py wrote.

    Raises:
        TablemendError: there are none, or a line that is no pair.
    """
    path = folder / FILE
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
    path = Path(config.dpo.pairs.path) / FILE
    if not path.is_file():
        raise TablemendError(
            f"no pairs in {path}: make them first, python data_gen/preference.py "
            f"recipe={config.name}"
        )


PairRows = tuple[Row, Row]
"""A pair as ids: the rows of the chosen and of the rejected answer, with one prompt."""


def render_pair(tokenizer: Tokenizer, sample: Sample, pair: Pair, config: Trained) -> PairRows:
    """One pair as ids; the prompt is that of evaluation, through the same function."""
    messages = config.task_of().messages(sample, pair.context, config.train.prompt)
    prompt = prompt_ids(tokenizer, messages, config.thinking != "off")
    return row_of(tokenizer, prompt, pair.chosen), row_of(tokenizer, prompt, pair.rejected)
