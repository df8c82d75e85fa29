"""The program engine: from source tables to verified examples, one number at a time.

The examples of context ``i`` depend on the settings, the tables and ``i`` alone, never on those
before it: the same seed gives the same bytes with any number of workers, and after an interruption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice, product
from random import Random
from typing import NamedTuple, Protocol

from tablemend.config import SMALL_WORLD
from tablemend.datasets.build import SkippedTable
from tablemend.datasets.source_tables.columns import Unusable, type_table
from tablemend.datasets.source_tables.renaming import Renaming, read_words
from tablemend.datasets.source_tables.sources import (
    Place,
    Source,
    SourceTable,
    open_source,
    pool_place,
    related_number,
)
from tablemend.datasets.splits import POOL
from tablemend.errors import TablemendError
from tablemend.records import Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.borrowed_names import NamePool, Usable
from tablemend.tasks.tablehallu.compose import Context
from tablemend.tasks.tablehallu.contexts import Part, refuse_alike
from tablemend.tasks.tablehallu.groups import NO_GROUPS, GroupMaker, RejectedDraw
from tablemend.tasks.tablehallu.labels import without_odd_labels
from tablemend.tasks.tablehallu.query import (
    Subject,
    choose_subject,
    is_measure,
    subject_of,
    with_computed_column,
    write_query,
)
from tablemend.tasks.tablehallu.rows import RowMaker
from tablemend.tasks.tablehallu.sentences import RowVerbaliser, capital
from tablemend.tasks.tablehallu.settings import Difficulty, Shape, Synthesis
from tablemend.tasks.tablehallu.verification import verify
from tablemend.values.text import count_tokens

ENGINE = "program/10"
EXPANSION: dict[Difficulty, int] = {"easy": 10, "medium": 20, "hard": 30}
GROUPS: dict[Difficulty, int] = {"paper": 5, **EXPANSION}
TOO_LONG = "longer than max_tokens"
INVALID = "an error of the engine"
"""Before the reason of a verification that fails."""
PASSAGES_A_PARAGRAPH = (3, 5)
"""Of whole rows, and of parts of rows."""
FEWEST_ROWS = 5
"""Of a table, or of two of its groups where these are smaller."""
SAME_KINDS = ({"team", "club", "side", "squad"}, {"country", "nation", "state", "territory"})
"""What no reader tells apart: a club is a team. Neither are persons by what they do."""
NAMES_A_ROW = 2
"""Names of other tables that one table is given, for each row of the longest context: more than
needed, as many contexts are of one table. Those of the pool are used once."""
TRIES_A_TABLE = 8
TABLES_TRIED = 40
OPEN_TABLES = 512


class OpenTable:
    """Everything about one table that its contexts share."""

    def __init__(
        self,
        read: SourceTable,
        settings: Synthesis,
        names: Iterable[str] = (),
        renaming: Renaming | None = None,
    ) -> None:
        fewest, rows = settings.shape.min_columns, min(FEWEST_ROWS, 2 * settings.shape.min_rows)
        typed = type_table(read.table, fewest, rows, read.key)
        if renaming is not None:
            read, names = renaming.table(read, typed), map(renaming.name, names)
            renamed = type_table(read.table, fewest, rows, read.key)
            # It stays in the split of the table that it was.
            typed = replace(renamed, source_hash=typed.source_hash)
        typed = without_odd_labels(typed, fewest)
        self.read, self.typed, self.renaming = read, typed, renaming
        invent = settings.distractors == "extended"
        most = GROUPS["hard" if settings.difficulty == "mixed" else settings.difficulty]
        most *= settings.shape.max_rows + 1
        most *= 1 if settings.source == POOL else NAMES_A_ROW
        self.rows = RowMaker(typed, islice(names, most))
        self.groups = GroupMaker(self.rows, invent)
        enough = GROUPS[_easiest(settings)] * settings.shape.min_rows
        if invent and len(self.rows.free) < fewest and len(self.rows.rows) < enough:
            raise Unusable("too few rows, and too few columns that do not follow from others")
        if not any(self.groups.columns.values()):
            raise Unusable("no column of categories, numbers or dates to tell groups by")
        if settings.arithmetic and sum(map(is_measure, typed.columns)) < 2:
            raise Unusable("fewer than two columns to calculate with")
        repeated = (
            {row[typed.key] or "" for row in typed.table.rows} if typed.distinguishing else ()
        )
        self.speaker = RowVerbaliser(typed, repeated)
        self.subject = subject_of(typed, read.subject, self.speaker)

    @property
    def kind(self) -> str:
        """What its rows are, where the header of their names says it; else empty."""
        header = self.typed.columns[self.typed.key].name
        return header if self.speaker.noun == header.lower() else ""


class Maker(Protocol):
    """Makes the examples of a source by the number of their context.

    Attributes:
        rejected: how many draws were rejected so far, by reason.
        shortest: tokens of the shortest context that was longer than the settings say, if any.
        rows: how many rows the last context has, and how many of them are made up.
    """

    rejected: Counter[str]
    shortest: int
    rows: Counter[str]

    def make(self, number: int) -> list[Example]:
        """The examples of context ``number``; none where no valid one was drawn."""


class SmallWorld:
    """Examples of the small world, verified like any other."""

    def __init__(self, settings: Synthesis) -> None:
        self._settings = settings
        self.rejected: Counter[str] = Counter()
        self.shortest = 0
        self.rows: Counter[str] = Counter()

    def make(self, number: int) -> list[Example]:
        """See :class:`Maker`."""
        seed, most = self._settings.seed, self._settings.queries or 2
        found = small_world.context(seed, number, most)
        found = found[: self._settings.queries_of(found[0].source_hash)]
        if (invalid := next(filter(None, map(verify, found)), None)) is None:
            return found
        self.rejected[invalid] += 1
        return []


class DrawnContext(NamedTuple):
    """A context, and what is asked of it.

    Attributes:
        context: in the program's words.
        keys: the header of the names, for each row.
        examples: one for each query, or several with a calculation.
        asked: for each query what :meth:`Context.ask` takes.
    """

    context: Context
    keys: list[str]
    examples: list[Example]
    asked: list[tuple[list[int], list[str | None]]]


class Engine:
    """Examples cut from the tables of a source; those unfit give names alone."""

    def __init__(self, settings: Synthesis, source: Source, usable: list[Usable]) -> None:
        self._settings = settings
        self._usable = [table for table in usable if not table.unfit]
        self._source = source
        self._open = lru_cache(maxsize=OPEN_TABLES)(self._read)
        self._epoch = lru_cache(maxsize=2)(self._order)
        self._donors = NamePool(settings, usable)
        self._vocabulary = read_words(settings.rename) if settings.rename else None
        self.rejected: Counter[str] = Counter()
        self.shortest = 0
        self.rows: Counter[str] = Counter()

    def make(self, number: int) -> list[Example]:
        """See :class:`Maker`."""
        drawn = self.draw(number)
        return drawn.examples if drawn else []

    def draw(self, number: int) -> DrawnContext | None:
        """Context ``number``; ``None`` where no valid one was drawn.

        A table that gives none in :data:`TRIES_A_TABLE` draws is replaced by another.
        """
        rng = Random(f"{ENGINE}:{self._settings.seed}:{number}")
        # Drawn once: draws that are too long must not turn hard examples into easy ones.
        wanted = self._settings.difficulty
        difficulty = rng.choice(tuple(EXPANSION)) if wanted == "mixed" else wanted
        few = not self._settings.arithmetic and rng.random() < self._settings.few
        for attempt in range(TABLES_TRIED):
            try:
                place = self._place(number, attempt, rng)
                if self._vocabulary is None:
                    table = self._open(place)
                else:  # under names of its own
                    seed = f"rename:{self._settings.seed}:{number}:{attempt}"
                    words = self._donors.words_for(place)
                    table = self._read(place, Renaming(self._vocabulary, words, Random(seed)))
            except TablemendError as error:
                self.rejected[str(error)] += 1
                continue
            for _ in range(TRIES_A_TABLE):
                try:
                    drawn = self._draw(table, place, difficulty, few, rng)
                except RejectedDraw as reason:
                    self.rejected[str(reason)] += 1
                    continue
                # Never the case: who refuses after the draw prefers some groups to others.
                if invalid := next(filter(None, map(verify, drawn.examples)), None):
                    self.rejected[f"{INVALID}: {invalid}"] += 1
                    continue
                return drawn
        return None

    def _read(self, place: Place, renaming: Renaming | None = None) -> OpenTable:
        names = self._donors.names_for(place)
        return OpenTable(self._source.read(place), self._settings, names, renaming)

    def _beside(self, table: OpenTable, place: Place) -> OpenTable | None:
        """A table about another kind of subject, where there is one."""
        is_pool = self._settings.source == POOL
        other = pool_place(related_number(place.offset)) if is_pool else self._donors.related(place)
        try:
            if other is None or not table.kind:
                return None
            found = self._read(other, table.renaming) if table.renaming else self._open(other)
        except TablemendError:
            return None
        persons = table.speaker.is_of_persons and found.speaker.is_of_persons
        kinds = {table.kind.lower(), found.kind.lower()}
        alike = persons or any(kinds <= same for same in SAME_KINDS)
        return found if found.kind and not alike else None

    def _place(self, number: int, attempt: int, rng: Random) -> Place:
        """Tables take turns in an order that is shuffled anew for every round."""
        if self._settings.source == POOL:
            return pool_place(number + attempt * self._settings.n)
        if attempt:
            return rng.choice(self._usable).place
        epoch, position = divmod(number, len(self._usable))
        return self._usable[self._epoch(epoch)[position]].place

    def _order(self, epoch: int) -> list[int]:
        order = list(range(len(self._usable)))
        Random(f"order:{self._settings.seed}:{epoch}").shuffle(order)
        return order

    def _draw(
        self, table: OpenTable, at: Place, difficulty: Difficulty, few: bool, rng: Random
    ) -> DrawnContext:
        settings = self._settings
        weights = settings.distractor_types.model_dump()
        beside, share = None, weights.pop("entity")
        if not settings.arithmetic and rng.random() * (share + sum(weights.values())) < 2 * share:
            beside = self._beside(table, at)
        tables = [table] if beside is None else [table, beside]
        parts = self._parts(tables, GROUPS[difficulty], few, rng)
        refuse_alike(parts)
        context, subjects = self._tell(tables, parts, rng)
        most = settings.max_tokens
        if most is not None and (tokens := count_tokens(context.text)) > most:
            self.shortest = min(tokens, self.shortest or tokens)
            raise RejectedDraw(TOO_LONG)
        # What is asked for is drawn last, so nothing in the context can say what it is.
        groups = [(n, group) for n, part in enumerate(parts) for group in range(part.count)]
        queries = min(len(groups), settings.queries_of(table.typed.source_hash))
        keys = [one.typed.columns[one.typed.key].name for one in parts for _ in one.rows]
        drawn, counts = DrawnContext(context, keys, [], []), Counter[str]()
        # Where one calculates, each group must allow it: a group with a zero would never be gold.
        order = rng.sample(groups, len(groups) if settings.arithmetic else queries)
        for number, (place, group) in enumerate(order):
            part, read = parts[place], tables[place].read
            question = part.ask(group, rng)
            before = sum(len(one.rows) for one in parts[:place])
            gold = [before + row for row in question.rows]
            violated = [
                broken
                for one in parts
                for broken in (
                    part.violated(group)
                    if one is part
                    else [one.typed.columns[one.typed.key].name] * len(one.rows)
                )
            ]
            query, constraints = write_query(
                part.typed, question, subjects[place], part.speaker, rng
            )
            composition = context.ask(gold, violated)
            cells, header = part.typed.table.rows, part.typed.table.columns
            gold_table = Table(
                tuple(header[column] for column in question.columns),
                tuple(tuple(cells[n][c] for c in question.columns) for n in question.rows),
                read.topic,
            )
            example = Example(
                topic=read.topic,
                category=read.category,
                domain=read.domain,
                query=query,
                constraints=constraints,
                gold_table=gold_table,
                gold_context=composition.clean,
                adversarial_context=composition.adversarial,
                difficulty=difficulty,
                facts=composition.facts,
                groups=composition.groups,
                source=table.read.source,
                source_hash=table.typed.source_hash,
                engine=ENGINE,
                seed=settings.seed,
            )
            found = with_computed_column(example, rng) if settings.arithmetic else [example]
            if number >= queries:
                continue
            drawn.asked.append((gold, violated))
            drawn.examples.extend(found)
            made_up = [row.made_up for one in parts for row in one.rows]
            counts["gold rows"] += len(gold)
            counts["made-up gold rows"] += sum(made_up[row] for row in gold)
            counts["distractor rows"] += len(made_up) - len(gold)
            counts["made-up rows"] += sum(made_up) - sum(made_up[row] for row in gold)
        self.rows = counts
        return drawn

    def _parts(self, tables: Sequence[OpenTable], count: int, few: bool, rng: Random) -> list[Part]:
        """The rows of a context, in about so many groups."""
        settings, shape = self._settings, self._settings.shape
        rows = rng.randint(shape.min_rows, max(shape.min_rows, shape.max_rows - 1))
        most, invent = min(rows + 1, shape.max_rows), settings.distractors == "extended"
        if not invent:  # as many groups as there are rows for
            count = min(count, sum(len(table.rows.rows) for table in tables) // most)
        return [
            Part(
                table.rows,
                table.groups,
                table.speaker if len(tables) == 1 else table.speaker.with_kinds(),
                max(2, (count + n) // len(tables)),
                (rows, most),
                few,
                shape,
                settings.distractor_types.model_dump(exclude={"entity"}),
                invent,
                not settings.arithmetic,
                rng,
            )
            for n, table in enumerate(tables)
        ]

    def unfit(self, place: Place) -> str:
        """Why the table at a place gives no context of the easiest difficulty; empty: it does."""
        count = GROUPS[_easiest(self._settings)]
        rng = Random(f"trial:{self._settings.seed}:{place.where}")
        reasons, found = Counter[str](), dict[str, str]()
        table = self._read(place)
        for _ in range(TRIES_A_TABLE):
            try:
                self._parts([table], count, False, rng)
            except RejectedDraw as rejected:
                reasons[str(rejected)] += 1
                found[str(rejected)] = rejected.found
            else:
                return ""
        reason, _ = reasons.most_common(1)[0]
        if reason.startswith(NO_GROUPS):
            found[reason] = table.groups.say_most(count, self._settings.shape.min_rows, rng)
        return f"{reason}: {found[reason]}" if found[reason] else reason

    def _tell(
        self, tables: Sequence[OpenTable], parts: Sequence[Part], rng: Random
    ) -> tuple[Context, list[Subject]]:
        """The text of all rows, and what queries call those of each table."""
        themes = [part.speaker.themes(part.stated, rng) for part in parts]
        size = min(map(len, themes))  # rows of two tables are cut alike
        themes = [own if len(own) == size else [[*chain(*own)]] for own in themes]
        subjects = [
            choose_subject(part.typed, part.stated, table.subject, part.speaker, rng)
            for table, part in zip(tables, parts, strict=True)
        ]
        offsets = [sum(one.count for one in parts[:n]) for n in range(len(parts))]
        groups = [off + g for off, part in zip(offsets, parts, strict=True) for g in part.groups]
        stated = [
            row for part, own in zip(parts, themes, strict=True) for row in part.state(own, rng)
        ]
        rows, title = subjects[0]
        # Only the heading says of the text what a title or "films of ..." does.
        heading = capital(title or (rows if " " in rows else "")) if len(parts) == 1 else ""
        paragraph = PASSAGES_A_PARAGRAPH[size > 1]
        return Context(stated, groups, rng, paragraph, heading), subjects


def _easiest(settings: Synthesis) -> Difficulty:
    return "easy" if settings.difficulty == "mixed" else settings.difficulty


def find_tables(source: Source, settings: Synthesis) -> tuple[list[Usable], list[SkippedTable]]:
    """Look at every table of a source once; the pool has no end and needs no look.

    A table that was there before is skipped.

    Raises:
        TablemendError: none is usable.
    """
    usable: dict[str, Usable] = {}
    skipped: list[SkippedTable] = []
    if settings.source == POOL:
        return [], []
    for place in source.places():
        try:
            table = OpenTable(source.read(place), settings)
        except TablemendError as error:
            skipped.append(SkippedTable(place.where, str(error)))
            continue
        source_hash = table.typed.source_hash
        if source_hash in usable:
            skipped.append(SkippedTable(place.where, "the same table as an earlier one"))
        else:
            usable[source_hash] = Usable.of(place, table.read, table.typed)
    tables = list(usable.values())
    if tables and settings.rename is None:
        trial = Engine(settings, source, tables)
        tables = [table._replace(unfit=trial.unfit(table.place)) for table in tables]
    if all(table.unfit for table in tables):
        said = [*(entry.reason for entry in skipped), *(one.unfit for one in tables)]
        if len(said) > 1:
            said = [reason.partition(": ")[0] for reason in said]
        reasons = Counter(said)
        listing = "; ".join(f"{count}x {reason}" for reason, count in reasons.most_common(3))
        raise TablemendError(
            f"source={settings.source}: none of {reasons.total()} tables is usable ({listing})"
            + _advice(settings, source, tables)
        )
    return tables, skipped


def _advice(settings: Synthesis, source: Source, tables: Sequence[Usable]) -> str:
    """The first of some smaller settings by which one of the tables would do."""
    shape = settings.shape
    for distractors, rows, columns in product(
        dict.fromkeys((settings.distractors, "real")),
        sorted({shape.min_rows, *(n for n in (3, 2, 1) if n < shape.min_rows)}, reverse=True),
        sorted({shape.min_columns, 3}, reverse=True),
    ):
        most = rows + shape.max_rows - shape.min_rows
        smaller = Shape(
            min_rows=rows, max_rows=most, min_columns=columns, max_columns=shape.max_columns
        )
        trial = settings.model_copy(
            update={"shape": smaller, "difficulty": "paper", "distractors": distractors}
        )
        engine = Engine(trial, source, [*tables])
        if any(not engine.unfit(table.place) for table in tables[:TABLES_TRIED]):
            said = f"shape.min_rows={rows} shape.max_rows={most} shape.min_columns={columns}"
            said += " difficulty=paper" * (settings.difficulty != "paper")
            said += f" distractors={distractors}" * (settings.distractors != distractors)
            return f"; some are by {said}"
    wider = ", or set shape.min_columns=3" if shape.min_columns > 3 else ""
    return f": give larger tables, or more of one subject{wider}"


def open_maker(settings: Synthesis, usable: list[Usable] | None = None) -> Maker:
    """What makes the examples of the settings; ``usable`` are tables that were looked for already.


    Raises:
        TablemendError: the source has no usable table.
    """
    if settings.source == SMALL_WORLD:
        return SmallWorld(settings)
    source = open_source(settings.source, settings, settings.seed)
    found = find_tables(source, settings)[0] if usable is None else usable
    return Engine(settings, source, found)


def examples(settings: Synthesis) -> Iterator[Example]:
    """Stream the examples of the settings in order, without writing anything.

    Raises:
        TablemendError: the source has no usable table.
    """
    maker = open_maker(settings)
    return (example for number in range(settings.n) for example in maker.make(number))
