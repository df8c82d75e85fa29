"""The program engine: from source tables to verified examples, one number at a time.

Example ``i`` depends on the settings, the tables and ``i`` alone, never on the examples before
it: the same seed gives the same bytes with any number of workers, and after an interruption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Protocol

from tablemend.config import SMALL_WORLD
from tablemend.datasets.build import Skipped
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu.arithmetic import QUERIES, is_measure, with_computed_column
from tablemend.datasets.tablehallu.columns import Unusable, type_table
from tablemend.datasets.tablehallu.compose import StatedRow, compose
from tablemend.datasets.tablehallu.distractors import NO_NAMES, Rows, choose_distractors
from tablemend.datasets.tablehallu.donors import Donors, Usable
from tablemend.datasets.tablehallu.kernel import Kernel, Rejected, draw_kernel
from tablemend.datasets.tablehallu.query import subject_of, write_query
from tablemend.datasets.tablehallu.related_tables import RelatedTable
from tablemend.datasets.tablehallu.renaming import Renaming, read_words
from tablemend.datasets.tablehallu.scope import Scopes
from tablemend.datasets.tablehallu.sentences import Speaker, heading_of
from tablemend.datasets.tablehallu.settings import POOL, Difficulty, Synthesis
from tablemend.datasets.tablehallu.sources import (
    Place,
    Source,
    SourceTable,
    open_source,
    pool_place,
)
from tablemend.datasets.tablehallu.topics import related_number
from tablemend.datasets.tablehallu.verification import verify
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.tables.table import Table
from tablemend.values.qwen_tokens import count_tokens

ENGINE = "program/8"
EXPANSION: dict[Difficulty, int] = {"easy": 10, "medium": 20, "hard": 30}
LENGTHS: dict[Difficulty, int] = {"paper": 5, **EXPANSION}
TOO_LONG = "longer than max_tokens"
TOO_FEW = "too few rows and names of its kind for so long a context (distractors=real needs none)"
SHORT: dict[Difficulty, float] = {"paper": 0.5, **dict.fromkeys(EXPANSION, 0.1)}
"""Share of the distractors that may be missing where rows run out; the paper's contexts vary."""
FEW = 0.1
"""Share of the rows that may be missing beside it, before their lengths are known."""
PASSAGES_A_PARAGRAPH = (3, 5)
"""Of whole rows, and of parts of rows."""
HEADING = 80
"""Characters of the heading of a context, about."""
TRIES_A_TABLE = 8
TABLES_TRIED = 40
OPEN_TABLES = 512


class OpenTable:
    """Everything about one table that its examples share."""

    def __init__(
        self,
        read: SourceTable,
        settings: Synthesis,
        names: Iterator[str] = NO_NAMES,
        renaming: Renaming | None = None,
    ) -> None:
        shape = settings.shape
        typed = type_table(read.table, shape.min_columns, shape.min_rows + 1, read.key)
        if renaming is not None:
            read, names = renaming.table(read, typed), map(renaming.name, names)
            renamed = type_table(read.table, shape.min_columns, shape.min_rows + 1, read.key)
            # It stays in the split of the table that it was.
            typed = replace(renamed, source_hash=typed.source_hash)
        self.read, self.typed, self.renaming = read, typed, renaming
        self.scopes = Scopes(self.typed, shape.min_rows, shape.max_rows)
        if not self.scopes:
            raise Unusable(f"no scope with {shape.min_rows} to {shape.max_rows} rows")
        if settings.arithmetic and sum(map(is_measure, self.typed.columns)) < 2:
            raise Unusable("fewer than two columns to calculate with")
        self.rows = Rows(self.typed, settings.seed, names)
        self.speaker = Speaker(self.typed, self.rows.repeated)
        self.subject = subject_of(self.typed, read.subject, self.speaker)


class Maker(Protocol):
    """Makes the examples of a source by their number.

    Attributes:
        rejected: how many draws were rejected so far, by reason.
        rows: how many distractor and made-up rows the last example has.
    """

    rejected: Counter[str]
    rows: Counter[str]

    def make(self, number: int) -> Example | None:
        """Example ``number``; ``None`` where no valid one was drawn."""


class SmallWorld:
    """Examples of the small world, verified like any other."""

    def __init__(self, settings: Synthesis) -> None:
        self._seed = settings.seed
        self.rejected: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()

    def make(self, number: int) -> Example | None:
        """See :class:`Maker`."""
        example = small_world.example(self._seed, number)
        if (invalid := verify(example)) is None:
            return example
        self.rejected[invalid] += 1
        return None


class Engine:
    """Examples cut from the tables of a source.

    Args:
        settings: what to make.
        source: where the tables are.
        usable: the tables found by :func:`find_tables`.
    """

    def __init__(self, settings: Synthesis, source: Source, usable: list[Usable]) -> None:
        self._settings = settings
        self._usable = usable
        self._source = source
        self._open = lru_cache(maxsize=OPEN_TABLES)(self._read)
        self._epoch = lru_cache(maxsize=2)(self._order)
        self._related = lru_cache(maxsize=OPEN_TABLES)(self._read_related)
        self._donors = Donors(settings, usable)
        self._vocabulary = read_words(settings.rename) if settings.rename else None
        self.rejected: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()

    def make(self, number: int) -> Example | None:
        """See :class:`Maker`.

        A table that gives none in :data:`TRIES_A_TABLE` draws is replaced by another.
        """
        arithmetic = self._settings.arithmetic
        number, query = divmod(number, QUERIES) if arithmetic else (number, 0)
        rng = Random(f"{ENGINE}:{self._settings.seed}:{number}")
        # Drawn once: draws that are too long must not turn hard examples into easy ones.
        difficulty = _draw_difficulty(self._settings, rng)
        fewest = 1 - SHORT[difficulty] - FEW
        needed = fewest * LENGTHS[difficulty] * self._settings.shape.min_rows
        for attempt in range(TABLES_TRIED):
            try:
                place = self._place(number, attempt, rng)
                table = self._table(place, f"rename:{self._settings.seed}:{number}:{attempt}")
                if self._settings.distractors == "extended" and not table.rows.reach(needed):
                    raise Unusable(TOO_FEW)
            except TablemendError as error:
                self.rejected[str(error)] += 1
                continue
            for _ in range(TRIES_A_TABLE):
                try:
                    example = self._draw(table, place, difficulty, rng)
                    found = with_computed_column(example, rng) if arithmetic else [example]
                except Rejected as reason:
                    self.rejected[str(reason)] += 1
                    continue
                # All or none: what a calculation costs is measured on the same rows.
                if invalid := next(filter(None, map(verify, found)), None):
                    self.rejected[invalid] += 1
                    continue
                return found[query]
        return None

    def _table(self, place: Place, seed: str) -> OpenTable:
        """The table at a place, under names of its own where tables are renamed."""
        if self._vocabulary is None:
            return self._open(place)
        renaming = Renaming(self._vocabulary, self._donors.words_for(place), Random(seed))
        return self._read(place, renaming)

    def _read(self, place: Place, renaming: Renaming | None = None) -> OpenTable:
        names = self._donors.names_for(place)
        return OpenTable(self._source.read(place), self._settings, names, renaming)

    def _read_related(self, place: Place, renaming: Renaming | None = None) -> RelatedTable | None:
        """The table beside that of a place, where there is one."""
        is_pool = self._settings.source == POOL
        other = pool_place(related_number(place.offset)) if is_pool else self._donors.related(place)
        try:
            if other is None:
                return None
            read = self._source.read(other)
            if renaming is not None:
                read = renaming.table(read, type_table(read.table, key=read.key))
            return RelatedTable(read)
        except TablemendError:
            return None

    def _place(self, number: int, attempt: int, rng: Random) -> Place:
        """Tables take turns in an order that is shuffled anew for every round."""
        if self._settings.source == POOL:
            index = number + attempt * self._settings.n
            return pool_place(index)
        if attempt:
            return rng.choice(self._usable).place
        epoch, position = divmod(number, len(self._usable))
        return self._usable[self._epoch(epoch)[position]].place

    def _order(self, epoch: int) -> list[int]:
        order = list(range(len(self._usable)))
        Random(f"order:{self._settings.seed}:{epoch}").shuffle(order)
        return order

    def _draw(self, table: OpenTable, place: Place, difficulty: Difficulty, rng: Random) -> Example:
        settings, read, typed = self._settings, table.read, table.typed
        kernel = draw_kernel(typed, table.scopes, settings.shape, rng, not settings.arithmetic)
        themes = table.speaker.themes(kernel.stated(), rng)
        shares = settings.distractor_types.model_dump()
        beside, speaker, share = None, table.speaker, shares["entity"] / sum(shares.values())
        if table.speaker.noun and not settings.arithmetic and rng.random() < 2 * share:
            renaming = table.renaming
            beside = self._read_related(place, renaming) if renaming else self._related(place)
        if beside is not None:  # what is asked for and what is not are named alike
            speaker = table.speaker.with_kinds()
        gold = _state_gold(table, speaker, kernel, themes, rng)
        most, invent = settings.max_tokens, settings.distractors == "extended"
        # In vain, as made-up rows always fill the length; real ones may run out before it.
        if most is not None and invent and _count_rows(gold) * LENGTHS[difficulty] > most:
            raise Rejected(TOO_LONG)
        room = (HEADING + sum(map(_length, gold))) * (LENGTHS[difficulty] - 1)
        distractors, self.rows = _state_distractors(
            table, speaker, kernel, themes, room, SHORT[difficulty], settings, beside, rng
        )
        if not distractors:
            raise Rejected("no row out of scope")
        query, subject, constraints = write_query(typed, kernel, table.subject, table.speaker, rng)
        composition = compose(
            gold,
            distractors,
            rng,
            paragraph=PASSAGES_A_PARAGRAPH[len(themes) > 1],
            apart=settings.distractor_paragraphs == "own",
            heading=heading_of(*subject),
        )
        if most is not None and count_tokens(composition.adversarial) > most:
            raise Rejected(TOO_LONG)
        return Example(
            topic=read.topic,
            category=read.category,
            domain=read.domain,
            query=query,
            constraints=constraints,
            gold_table=_gold_table(table, kernel),
            gold_context=composition.clean,
            adversarial_context=composition.adversarial,
            difficulty=difficulty,
            facts=composition.facts,
            source=read.source,
            source_hash=typed.source_hash,
            engine=ENGINE,
            seed=settings.seed,
        )


def _draw_difficulty(settings: Synthesis, rng: Random) -> Difficulty:
    if settings.difficulty != "mixed":
        return settings.difficulty
    return rng.choice(tuple(EXPANSION))


def _gold_table(table: OpenTable, kernel: Kernel) -> Table:
    typed = table.typed
    columns = tuple(typed.table.columns[index] for index in kernel.columns)
    rows = tuple(
        tuple(
            None if (row, column) in kernel.blanks else typed.table.rows[row][column]
            for column in kernel.columns
        )
        for row in kernel.rows
    )
    return Table(columns, rows, table.read.topic)


def _state_gold(
    table: OpenTable, speaker: Speaker, kernel: Kernel, themes: list[list[int]], rng: Random
) -> list[StatedRow]:
    return [
        speaker.state(
            table.typed.table.rows[row],
            [
                [column for column in theme if (row, column) not in kernel.blanks]
                for theme in themes
            ],
            None,
            rng,
        )
        for row in kernel.rows
    ]


def _count_rows(rows: Iterable[StatedRow]) -> int:
    """Tokens of rows; one more a sentence for what joins it to the next."""
    return sum(count_tokens(s.text) + 1 for row in rows for s in row.sentences)


def _length(row: StatedRow) -> int:
    """Characters of a row, with what joins its sentences to the next."""
    return sum(len(sentence.text) + 1 for sentence in row.sentences)


def _state_distractors(
    table: OpenTable,
    speaker: Speaker,
    kernel: Kernel,
    themes: list[list[int]],
    room: int,
    short: float,
    settings: Synthesis,
    beside: RelatedTable | None,
    rng: Random,
) -> tuple[list[StatedRow], Counter[str]]:
    """The rows around the gold rows, and how many of them are made up.

    Every second one is of the table beside, if there is one and as long as it has rows.
    """
    typed, rows = table.typed, table.rows
    others = beside.state(typed, kernel, len(themes) > 1, rng) if beside else iter(())
    gold = [typed.table.rows[row] for row in kernel.rows]
    # What is blank for an entity in scope is left out in its other rows too.
    hidden: dict[str | None, set[int]] = {}
    # Distractors leave out as much: nobody can tell gold rows by their holes.
    holes: list[set[int]] = []
    for row, cells in zip(kernel.rows, gold, strict=True):
        blanks = {column for blank, column in kernel.blanks if blank == row}
        hidden.setdefault(cells[typed.key], set()).update(blanks)
        holes.append({column for column in blanks if cells[column] is not None})
    found, counts, whole = [], Counter[str](), room
    invent, shares = settings.distractors == "extended", settings.distractor_types.model_dump()
    for number, violates in choose_distractors(rows, kernel, typed.key, invent, shares, rng):
        if room > 0 and (other := next(others, None)):
            room -= _length(other)
            found.append(other)
            counts["distractor rows"] += 1
        cells = rows.cells[number]
        is_made_up = number >= rows.real
        if is_made_up and beside is not None and cells[typed.key] in beside.names:
            continue
        name = cells[typed.key]
        secret = hidden[name] if name in hidden else rng.choice(holes)
        shown = [[c for c in theme if c not in secret] for theme in themes]
        # The row that no room is left for is stated all the same: what is drawn then stays.
        row_in_words = speaker.state(cells, shown, violates, rng)
        if room <= 0:
            break
        room -= _length(row_in_words)
        found.append(row_in_words)
        counts["distractor rows"] += 1
        counts["made-up rows"] += is_made_up
    if invent and room > short * whole:
        raise Rejected(TOO_FEW)
    return found, counts


def find_tables(source: Source, settings: Synthesis) -> tuple[list[Usable], list[Skipped]]:
    """Look at every table of a source once; the pool has no end and needs no look.

    A table that was there before is skipped.

    Raises:
        TablemendError: none is usable.
    """
    usable: dict[str, Usable] = {}
    skipped: list[Skipped] = []
    if settings.source == POOL:
        return [], []
    for place in source.places():
        try:
            table = OpenTable(source.read(place), settings)
        except TablemendError as error:
            skipped.append(Skipped(place.where, str(error)))
            continue
        source_hash = table.typed.source_hash
        if source_hash in usable:
            skipped.append(Skipped(place.where, "the same table as an earlier one"))
        else:
            usable[source_hash] = Usable.of(place, table.read, table.typed)
    if not usable:
        reasons = Counter(entry.reason for entry in skipped).most_common(3)
        listing = "; ".join(f"{count}x {reason}" for reason, count in reasons)
        raise TablemendError(
            f"source={settings.source}: none of {len(skipped)} tables is usable ({listing}); "
            "smaller shape.min_columns or shape.min_rows may help"
        )
    return list(usable.values()), skipped


def open_maker(settings: Synthesis, usable: list[Usable] | None = None) -> Maker:
    """What makes the examples of the settings.

    Args:
        settings: what to make.
        usable: the tables, where they were looked for already.

    Raises:
        TablemendError: the source has no usable table.
    """
    if settings.source == SMALL_WORLD:
        return SmallWorld(settings)
    source = open_source(settings)
    found = find_tables(source, settings)[0] if usable is None else usable
    return Engine(settings, source, found)


def examples(settings: Synthesis) -> Iterator[Example]:
    """Stream the examples of the settings in order, without writing anything.

    Raises:
        TablemendError: the source has no usable table.
    """
    maker = open_maker(settings)
    return (example for number in range(settings.n) if (example := maker.make(number)) is not None)
