"""Writing a data set of the program engine, and its card."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tablemend.config import SMALL_WORLD
from tablemend.datasets.build import (
    OpenedSource,
    Record,
    SkippedTable,
    build_resumable,
    refuse_empty_splits,
)
from tablemend.datasets.card import (
    CARD_PART,
    command_of,
    counted_parts,
    distributions_of,
    draw_statistics,
    table_of,
    write_card,
)
from tablemend.datasets.shortcut_probe import say_shortcuts
from tablemend.datasets.source_tables.renaming import read_words
from tablemend.datasets.source_tables.sources import open_source
from tablemend.datasets.splits import POOL, split_of
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.runs import to_line
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.borrowed_names import Usable
from tablemend.tasks.tablehallu.engine import (
    ENGINE,
    Maker,
    find_tables,
    open_maker,
)
from tablemend.tasks.tablehallu.settings import TYPES, Synthesis, types_of
from tablemend.workers import map_in_workers

MEANS = {
    "gold_characters": "gold context, characters",
    "adversarial_characters": "adversarial context, characters",
    "rows": "rows",
    "columns": "columns",
    "facts": "facts with their places",
}
"""What is averaged over the examples of a data set."""
ARITHMETIC = (
    "No gold table has a blank, and each query is asked five times in turn: as it is, and with the "
    "sum, difference, product and quotient of the same two columns as a last column, rounded as "
    "the query says."
)
RENAMED = (
    "The tables' names are exchanged for others and their cells have changed places, anew in every "
    "example: no row is a fact. Headers stay, and of titles what no cell says."
)
WHERE = ("kind", "workers", "runs_on", "out", "wording")
"""Settings that the examples do not depend on."""
REFUSED = "rewording refused: "
"""Before the reason, in the counts of a data set."""
_URL = re.compile(r"@https?://.*")
_IN_VAIN = "no draw gave a valid example"


def make_dataset(
    settings: Synthesis,
    progress: Callable[[int], object],
    reword: Callable[[list[Usable]], Maker] | None = None,
    identity: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make a data set: :func:`~tablemend.datasets.build.build_resumable`.

    With ``wording``, ``reword`` opens what makes its contexts, in this process alone, and
    ``identity`` has all that they depend on, the engine's version among it.
    """
    if (reword is None) != (settings.wording is None):
        raise TablemendError("wording: only data_gen/tablehallu.py rewords: make the data with it")
    engine = small_world.ENGINE if settings.source == SMALL_WORLD else ENGINE
    noted = settings.model_dump(mode="json", exclude={*WHERE})
    noted = {"engine_version": engine, **noted, **(identity or {})}
    if settings.rename is not None:
        read_words(settings.rename)  # before anything is written

    def open_tables() -> OpenedSource:
        if settings.source == SMALL_WORLD:
            return OpenedSource([], (), ())
        tables, skipped = find_tables(
            open_source(settings.source, settings, settings.seed), settings
        )
        unfit = [SkippedTable(table.place.where, table.unfit) for table in tables if table.unfit]
        hashes = [table.source_hash for table in tables if not table.unfit]
        opened = OpenedSource(tables, hashes, [*skipped, *unfit], len(unfit))
        if settings.source != POOL:
            refuse_empty_splits(f"source={settings.source}", opened, settings.shares)
        return opened

    def make(usable: list[Usable], numbers: Sequence[int]) -> Iterator[Record]:
        if reword is not None:
            return map(RecordMaker(settings, usable, reword(usable)), numbers)
        own = (settings, usable)
        return map_in_workers(RecordMaker, own, numbers, settings.workers, settings.runs_on)

    counts = build_resumable(
        Path(settings.out),
        noted,
        settings.n,
        open_tables,
        make,
        lambda counts: _card(settings, noted["engine_version"], counts),
        progress,
    )
    draw_statistics(Path(settings.out), counts["counts"])
    return counts


class RecordMaker:
    """Makes the record of a number: the examples of its context, and what came of the draws."""

    def __init__(
        self, settings: Synthesis, usable: list[Usable], maker: Maker | None = None
    ) -> None:
        self._maker = maker or open_maker(settings, usable)
        self._settings = settings
        self._has_made = False

    def __call__(self, number: int) -> Record:
        """The record of a number.

        Raises:
            TablemendError: no draw of this number gave an example, nor did any before it.
        """
        self._maker.rejected.clear()
        gc.disable()  # few examples hold cycles; looking for some costs an eighth of the time
        try:
            found = self._maker.make(number)
        finally:
            gc.enable()
        record: Record = {"number": number, "notes": dict(self._maker.rejected)}
        if not found:
            if not self._has_made and self._settings.source != SMALL_WORLD:
                raise TablemendError(self._why_nothing())
            return {**record, "dropped": _IN_VAIN}
        self._has_made = True
        counts = Counter(contexts=1)
        for example in found:
            counts.update(sizes_of(example))
        return {
            **record,
            "examples": len(found),
            "split": split_of(found[0].source_hash, self._settings.shares),
            "counts": {**counts, **self._maker.rows},
            "line": "".join(to_line(example.to_json()) for example in found),
        }

    def _why_nothing(self) -> str:
        rejected, settings = self._maker.rejected, self._settings
        advice = "a smaller shape.max_rows"
        advice += " or an easier difficulty" * (settings.difficulty != "paper")
        if shortest := self._maker.shortest:
            advice = f"max_tokens={shortest} (the shortest context of these), {advice}"
        reasons = "; ".join(f"{n} x {reason}" for reason, n in rejected.most_common(3))
        draws = f"source={settings.source}: {rejected.total()} draws gave no example"
        return f"{draws} ({reasons}): set {advice}"


def sizes_of(example: Example) -> dict[str, int]:
    """What is added up over the examples of a data set."""
    return {
        "gold_characters": len(example.gold_context),
        "adversarial_characters": len(example.adversarial_context),
        "rows": len(example.gold_table.rows),
        "columns": len(example.gold_table.columns),
        "facts": len(example.facts),
        f"difficulty {example.difficulty}": 1,
        **Counter(f"distractors {type}" for type in types_of(example).values()),
        **distributions_of(example),
    }


def examples_card(parts: Iterable[str], counts: Mapping[str, Any]) -> str:
    """The card of a data set of examples, its head as the Hub reads it."""
    return write_card(
        parts,
        categories=("text-generation",),
        tags=("table-generation", "hallucination", "synthetic"),
        files={split: f"{split}.jsonl" for split in counts["splits"]},
        record=Example,
    )


def _card(settings: Synthesis, engine: str, counts: dict[str, Any]) -> str:
    is_pool = settings.source == POOL
    tables = "fictional tables of the built-in topics" if is_pool else f"`{settings.source}`"
    named = {"source": settings.source, "n": settings.n, "seed": settings.seed}
    if wording := settings.wording:  # where the model is served is left out
        given = wording.model_dump(mode="json", exclude_defaults=True, exclude={"options"})
        named |= {f"wording.{name}": _URL.sub("@URL", str(value)) for name, value in given.items()}
    parts = [
        "# Query-driven table generation among distractors",
        f"{counts['examples']['made']} examples of {counts['counts'].get('contexts', 0)} contexts, "
        f"made by `{engine}` from {tables}. Each asks for a table of the rows in a scope; the "
        "adversarial context holds them among rows out of scope. It was made first, of groups of "
        "rows that any query could ask for, and the query was drawn last: nothing in it says which "
        "rows are gold. The gold table is right by construction, and a program has checked every "
        "example.",
        command_of("tablehallu.py", settings, named, WHERE),
        "Every fact has its character span in both contexts. A budget in tokens is estimated as "
        "Qwen's tokenizer counts, rather too many than too few.",
        ARITHMETIC * settings.arithmetic,
        RENAMED * (settings.rename is not None),
        say_made_up(settings, counts["counts"]),
        *say_wording(settings, counts["counts"]),
        *say_distractors(Path(settings.out), counts["counts"]),
        CARD_PART,
        *counted_parts(counts, MEANS),
    ]
    return examples_card(parts, counts)


def say_distractors(out: Path, counts: Mapping[str, int]) -> Iterator[str]:
    """The shares of the types of distractors, and whether gold is told without the query."""
    types = {type: counts.get(f"distractors {type}", 0) for type in TYPES}
    whole = max(1, sum(types.values()))
    shares = {type: f"{100 * count / whole:.0f} %" for type, count in types.items()}
    yield table_of("type of distractor (TableHallu, A.2.2) | rows", shares)
    yield say_shortcuts(out)


def say_wording(settings: Synthesis, counts: Mapping[str, int]) -> Iterator[str]:
    """Which model has reworded how much, and why the rest is the program's."""
    if settings.wording is None:
        return
    kept, passages = (counts.get(name, 0) for name in ("passages reworded", "passages"))
    yield (
        f"**Reworded by a model.** {kept} of {passages} passages ({kept / max(1, passages):.0%}) "
        f"are by `{_URL.sub('', settings.wording.model)}`, the others by the program. It saw one "
        "passage at a time, no group and no query. A program has checked that every value is there "
        "as its cell is written, and no number, name or other word of weight lost, added or moved "
        "to another value; no person has. What its terms say of generated text applies."
    )
    refused = {name[len(REFUSED) :]: n for name, n in counts.items() if name.startswith(REFUSED)}
    yield table_of("rewording refused because | times", refused)


def say_made_up(settings: Synthesis, counts: Mapping[str, int]) -> str:
    """The shares of made-up rows, in gold and outside of it."""
    if settings.source == SMALL_WORLD:
        return "Everything is invented."
    if settings.distractors == "real":
        return "All rows are rows of the source tables."
    gold, others = (
        100 * counts.get(f"made-up {kind}rows", 0) / max(1, counts.get(f"{whole} rows", 0))
        for kind, whole in (("gold ", "gold"), ("", "distractor"))
    )
    return (
        "Where a table has too few rows, made-up rows stand beside them, in all groups alike (its "
        "entities at other times, or names of the same kind in other tables; numbers, years and "
        "dates within the range of their columns). These are no facts about the world: "
        f"{gold:.0f} % of the gold rows, {others:.0f} % of the others."
    )
