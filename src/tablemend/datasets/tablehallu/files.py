"""The files of a data set of examples: whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tablemend.datasets.splits import SPLITS, Split
from tablemend.records import Example
from tablemend.runs import replace_file, to_line

EXAMPLE: dict[str, Any] = {
    **dict.fromkeys(("topic", "category", "domain", "query"), str),
    "constraints": {
        "entity_scope": [str],
        "numerical_range": str,
        "sort_column": str,
        "sort_order": str,
        "conditions": [{"column": str, "low": str, "high": str, "values": [str]}],
    },
    "gold_table": {"title": str, "columns": [str], "rows": [[str]]},
    **dict.fromkeys(("gold_context", "adversarial_context", "difficulty"), str),
    "facts": [
        {
            "row": int,
            **dict.fromkeys(("entity", "column", "value", "violates"), str),
            "clean": [int],
            "adversarial": [int],
        }
    ],
    **dict.fromkeys(("source", "source_hash", "engine"), str),
    "seed": int,
    "id": str,
    "calls": [
        {
            "stage": str,
            "attempt": int,
            **dict.fromkeys(("prompt", "model"), str),
            **dict.fromkeys(("prompt_tokens", "completion_tokens"), int),
            **dict.fromkeys(("finish_reason", "verdict"), str),
        }
    ],
}
"""Types of an example's fields (:data:`tablemend.datasets.card.Fields`)."""


def encode(example: Example) -> str:
    """The example as one line of JSON, its facts last."""
    data = example.to_json()
    facts = data.pop("facts")
    return to_line({**data, "facts": facts})


@contextmanager
def example_file(path: Path) -> Iterator[Callable[[str], object]]:
    """What writes examples, each a line of JSON, into a file that has its name when it is whole."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            yield file.write
        replace_file(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def split_files(out: Path) -> Iterator[Callable[[str, Split], None]]:
    """What writes lines into the file of their split, which comes with the first of them.

    Args:
        out: the folder; files of other splits there are removed.
    """
    found: dict[Split, Callable[[str], object]] = {}
    with ExitStack() as stack:

        def write(line: str, split: Split) -> None:
            if split not in found:
                found[split] = stack.enter_context(example_file(out / f"{split}.jsonl"))
            found[split](line)

        yield write
    for split in set(SPLITS) - found.keys():
        (out / f"{split}.jsonl").unlink(missing_ok=True)
