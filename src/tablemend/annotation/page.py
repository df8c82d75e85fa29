"""What annotators see: a sample of the data set, three questions, and one HTML page that asks them.

The page keeps the answers and gives them back (TableHallu, Appendix B).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tablemend.config import EXAMPLE_FILES, HUB, SMALL_WORLD, Source
from tablemend.errors import TablemendError
from tablemend.records import ContextKind, Example
from tablemend.reports.rendering import inline_hash, render, resource
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
    lines = []  # stored ids alone would not show that a text was edited
    for example in read_examples(place):
        if examples.setdefault(example.id, example) != example:
            raise TablemendError(
                f"{source}: two different examples have the id {example.id}: make the data again"
            )
    for name, example in examples.items():
        try:
            lines.append(f"{name} {replace(example, id='').id}\n")
        except UnicodeEncodeError as error:
            raise TablemendError(
                f"{source}: example {name} holds half a character ({error.reason}): make it again"
            ) from error
    return Data(source, split, examples, hash_text("".join(sorted(lines))))


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


VERSION = 1
"""Of the questions and of the answer files: answers to other questions are not mixed in."""

Step = Literal["query", "table", "context"]
STEPS: tuple[Step, ...] = get_args(Step)
Choice = Literal["yes", "no", "unsure"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


class Guide(NamedTuple):
    """What stands on the page at one step.

    Attributes:
        title: what is looked at.
        question: answered by yes, no or unsure.
        points: what must hold for a yes, all of it.
    """

    title: str
    question: str
    points: tuple[str, ...]


GUIDES: dict[Step, Guide] = {
    "query": Guide(
        "Query",
        "Is the query clear and complete?",
        (
            "It can be read in one way only.",
            "It says which things are asked for: a category or a scope.",
            "It names every column of the table.",
            "It says by which column the rows are sorted, and in which direction.",
        ),
    ),
    "table": Guide(
        "Gold table",
        "Is the gold table what the query asks for, by the gold context?",
        (
            "Every value of the table is stated in the gold context, for that row and column.",
            "No row that the gold context has and the query asks for is missing.",
            "Columns and format are those that the query asks for.",
            "The rows are sorted as the query says.",
            "Where a cell is empty, the gold context says nothing about it.",
        ),
    ),
    "context": Guide(
        "Adversarial context",
        "Does the adversarial context leave the gold table the only right answer?",
        (
            "It says everything that the gold context says.",
            "Nothing in the added text meets the query: there is no further row for the table.",
            "Nothing in the added text fills an empty cell of the table or contradicts a value.",
        ),
    ),
}


ANSWERS = "tablemend-annotation"
"""What an answer file says that it is."""


def write_page(data: Data, chosen: Sequence[Example], marks: bool = True) -> str:
    """The whole page. It loads nothing and sends nothing, and a content policy holds it to that.

    Args:
        data: where the examples come from; named in the answers, by its hash too.
        chosen: the examples, in the order of the page.
        marks: whether facts and distractors can be marked in the contexts.
    """
    content = {
        "format": ANSWERS,
        "version": VERSION,
        "data": data.hash,
        "source": data.source,
        "split": data.split,
        "sample": hash_text("\n".join(example.id for example in chosen)),
        "choices": list(CHOICES),
        "steps": [{"name": name, **guide._asdict()} for name, guide in GUIDES.items()],
        "examples": [show(example, marks) for example in chosen],
    }
    style = resource("tablemend.reports", "style.css") + resource(
        "tablemend.annotation", "page.css"
    )
    script = resource("tablemend.annotation", "page.js")
    policy = (
        f"default-src 'none'; script-src '{inline_hash(script)}'; "
        f"style-src '{inline_hash(style)}'; base-uri 'none'; form-action 'none'"
    )
    return render(
        "tablemend.annotation",
        "page.html.j2",
        title="Verification of a data set",
        policy=policy,
        style=style,
        script=script,
        content=content,
    )


Segment = tuple[str] | tuple[str, int, str, str, str | None]
"""Plain text, or the text of a fact with its row, entity, column, and the column it violates."""


def show(example: Example, marks: bool) -> dict[str, Any]:
    """An example as the page's script reads it.

    Contexts are cut into segments here: places in an example count characters, and a script
    counts UTF-16 units.

    Args:
        example: what to show.
        marks: whether the script may know where the facts stand.
    """
    return {
        "id": example.id,
        "topic": example.topic,
        "about": ", ".join(
            dict.fromkeys(
                part for part in (example.category, example.domain, example.difficulty) if part
            )
        ),
        "query": example.query,
        "constraints": constraints(example),
        "columns": list(example.gold_table.columns),
        "rows": [list(row) for row in example.gold_table.rows],
        "sort": [example.constraints.sort_column, example.constraints.sort_order],
        "gold": segments(example, "clean", marks),
        "adversarial": segments(example, "adversarial", marks),
        "distractors": distractors(example) if marks else [],
    }


def segments(example: Example, context: ContextKind, marks: bool) -> list[Segment]:
    """A context cut at its facts; joined, the texts are the context again."""
    whole = example.context(context)
    places = []
    for fact in example.facts if marks else ():
        place = fact.clean if context == "clean" else fact.adversarial
        if place is not None and 0 <= place.start < place.end <= len(whole):
            places.append((place.start, place.end, fact))
    parts: list[Segment] = []
    end = 0
    for start, stop, fact in sorted(places, key=lambda place: place[:2]):
        if start < end:
            continue  # two facts in one place: the first is marked
        if start > end:
            parts.append((whole[end:start],))
        parts.append((whole[start:stop], fact.row, fact.entity, fact.column, fact.violates))
        end = stop
    if end < len(whole):
        parts.append((whole[end:],))
    return parts


def distractors(example: Example) -> list[tuple[int, str, str, str]]:
    """Row, entity, and the column and value by which each distractor row is out of scope."""
    rows: dict[int, tuple[int, str, str, str]] = {}
    for fact in example.facts:
        if fact.violates is not None:
            value = fact.value if fact.column == fact.violates else ""
            if value or fact.row not in rows:
                rows[fact.row] = (fact.row, fact.entity, fact.violates, value)
    return list(rows.values())


def constraints(example: Example) -> list[tuple[str, str]]:
    """The constraint fields as names and texts (TableHallu, A.2.1)."""
    found = example.constraints
    pairs = [
        ("Entity scope", "; ".join(found.entity_scope)),
        ("Numerical range", found.numerical_range or ""),
    ]
    for one in found.conditions:  # ends of a range are included
        bounds = ((f"at least {one.low}", one.low), (f"at most {one.high}", one.high))
        words = ", ".join(words for words, bound in bounds if bound is not None)
        pairs.append((f"Condition on {one.column}", " or ".join(one.values) or words))
    pairs.append(("Sorted by", f"{found.sort_column}, {found.sort_order}"))
    return [(name, text) for name, text in pairs if text]
