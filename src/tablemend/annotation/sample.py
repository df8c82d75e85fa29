"""The data set that is verified, and the examples of it that annotators see."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from tablemend.config import EXAMPLE_FILES, HUB, SMALL_WORLD, Source
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.runs import hash_text
from tablemend.tasks.tablehallu.task import read_examples

SplitName = Literal["train", "validation", "test"]
DEFAULT_SPLIT: SplitName = "test"


class Data(NamedTuple):
    """One split of a stored data set.

    Attributes:
        source: where it was read from, as the user wrote it.
        split: ``None`` where the source is one file.
        examples: by id, in the order of the file.
        hash: of ids and contents, whatever the order and the file format.
    """

    source: str
    split: SplitName | None
    examples: dict[str, Example]
    hash: str


def read_data(source: str, split: SplitName | None = None, revision: str | None = None) -> Data:
    """Read a folder, a JSONL or Parquet file, or ``hub:owner/name``.

    Raises:
        TablemendError: it cannot be read, options do not fit, or an id stands for two examples.
    """
    if source == SMALL_WORLD:
        raise TablemendError(
            f"{SMALL_WORLD} is generated anew each time: verify a stored data set "
            "(python data_gen/tablehallu.py source=small-world out=FOLDER makes one)"
        )
    hub = source.startswith(HUB)
    one_file = not hub and Path(source).suffix in EXAMPLE_FILES and not Path(source).is_dir()
    if one_file and split is not None:
        raise TablemendError(f"{source} is one file: leave --split out, or give its folder")
    if revision is not None and not hub:
        raise TablemendError(f"--revision is for data sets on the Hub; {source} is none")
    split = None if one_file else split or DEFAULT_SPLIT
    # Taken apart above: the checks of a recipe word their messages for recipes.
    place = Source.model_construct(source=source, split=split, n=None, seed=0, revision=revision)
    examples: dict[str, Example] = {}
    for example in read_examples(place):
        if examples.setdefault(example.id, example) != example:
            raise TablemendError(
                f"{source}: two different examples have the id {example.id}: make the data again"
            )
    return Data(source, split, examples, _hash(source, examples))


def _hash(source: str, examples: dict[str, Example]) -> str:
    """Stored ids alone would not show that a text was edited."""
    lines = []
    for name, example in examples.items():
        try:
            lines.append(f"{name} {replace(example, id='').id}\n")
        except UnicodeEncodeError as error:
            raise TablemendError(
                f"{source}: example {name} holds half a character ({error.reason}): make it again"
            ) from error
    return hash_text("".join(sorted(lines)))


def choose(data: Data, n: int, seed: int, skip: int = 0) -> list[Example]:
    """A seeded random sample, in random order.

    Examples are ranked by a hash of seed and id. So the sample does not depend on the file's
    format or order, a larger ``n`` keeps what a smaller one held, and samples of the same seed
    that skip each other's examples share none.

    Args:
        data: what to draw from.
        n: how many.
        seed: of the ranking.
        skip: examples at the front of the ranking to leave out.

    Raises:
        TablemendError: there are fewer.
    """
    if n < 1 or skip < 0:
        raise TablemendError("--n must be at least 1, --skip at least 0")
    if skip + n > len(data.examples):
        left = f" after --skip {skip}" if skip else ""
        raise TablemendError(
            f"{data.source} holds {len(data.examples)} examples"
            f"{f' in its split {data.split}' if data.split else ''}; --n {n}{left} asks for more"
        )
    ranked = sorted(
        data.examples, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest()
    )
    return [data.examples[name] for name in ranked[skip : skip + n]]
