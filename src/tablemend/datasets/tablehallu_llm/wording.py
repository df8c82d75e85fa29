"""Contexts in a model's words whose query is drawn by program (``order=query-last``).

The program engine draws the rows of all groups and what is asked of them. A model is asked for a
passage on each row, some rows of whatever groups at a time: it sees no query and no group, so what
it writes cannot tell which rows are gold. A program checks every passage, and lays them out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, NamedTuple

from tablemend.datasets.source_tables.columns import words_of
from tablemend.datasets.source_tables.sources import open_source
from tablemend.datasets.tablehallu_llm.asking import GivenUp, Rejection, Row, Talk
from tablemend.datasets.tablehallu_llm.checks import NOT_STATED, check_numbers, check_prose
from tablemend.datasets.tablehallu_llm.omissions import Omissions
from tablemend.datasets.tablehallu_llm.parsing import read_texts
from tablemend.datasets.tablehallu_llm.prompting import render
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import RowMaker
from tablemend.datasets.tablehallu_llm.statements import Statements, overlap, whole
from tablemend.datasets.tablehallu_llm.topics import Topics
from tablemend.prompting.replies import Problem
from tablemend.records import Call, Example
from tablemend.runs import hash_text
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import engine
from tablemend.tasks.tablehallu.compose import Context, Sentence, StatedRow, ValueSpan
from tablemend.tasks.tablehallu.engine import DrawnContext, Engine, find_tables
from tablemend.tasks.tablehallu.verification import verify
from tablemend.values.sentences import Span, sentence_spans

ENGINE = f"llm-query-last/1+{engine.ENGINE}"
NUMBER = "another number of passages"
NOT_NAMED = "row not named in the first sentence"
NO_KIND = "kind of the row not said"
FOREIGN = "name that the row does not have"
REPEATED = "value repeated in its sentence"
BLANK_NAMED = "blank attribute named beside its entity"
NAME, VALUE = "Item", "xxxx"
"""Stand for the name and the cells of a row where what is said beside them is read."""


class Passage(NamedTuple):
    """What is to be said of a row in one piece.

    Attributes:
        row: its number in the context.
        theme: which of the pieces it is.
        kind: what is to be said of the row besides, where there are rows of two tables.
        cells: what it states by column, the name first.
        blanks: columns of which nothing may be said.
        first: the name is recorded in this one.
    """

    row: int
    theme: int
    kind: str
    cells: dict[str, str]
    blanks: tuple[str, ...]
    first: bool


class ContextMaker(RowMaker):
    """Makes the row of a number: a context with its queries.

    Raises:
        TablemendError: a model cannot be had, or the source has no usable table.
    """

    def __init__(self, settings: LlmSynthesis, topics: Topics, stack: ExitStack) -> None:
        drawing = settings.drawing
        source = open_source(drawing.source, drawing, drawing.seed)
        tables, _ = find_tables(source, drawing)
        self._engine = Engine(drawing, source, tables)
        self._tables = hash_text("".join(table.source_hash for table in tables))
        super().__init__(settings, topics, stack)

    @property
    def identity(self) -> dict[str, Any]:
        """The models, and the tables of the source."""
        return {**super().identity, "tables": self._tables}

    async def make(self, number: int) -> Row:
        """The context of a number in the model's words, or why there is none."""
        self._engine.rejected.clear()
        if (drawn := self._engine.draw(number)) is None:
            reasons = self._engine.rejected.most_common()
            return Row(number, (), tuple(Rejection("draw", why, f"{n} x", 0) for why, n in reasons))
        counts = {"contexts": 1, **self._engine.rows}
        talk = Talk(number, self._settings.seed, self._settings.retries)
        examples = list[Example]()
        with suppress(GivenUp):
            context = await self._word(drawn, talk)
            examples = ask_of(drawn, context, ENGINE, talk.calls)
        if invalid := next(filter(None, map(verify, examples)), None):
            talk.rejections.append(Rejection("word", invalid, "found in the whole context", 0))
            examples = []
        noted = tuple(talk.rejections), tuple(talk.calls), counts if examples else {}
        return Row(number, tuple(examples), *noted)

    async def _word(self, drawn: DrawnContext, talk: Talk) -> Context:
        """The context in a model's words, asked for in an order without regard to groups.

        Raises:
            GivenUp: some passage never passed.
        """
        rng = Random(f"{ENGINE}:{self._settings.seed}:{talk.number}")
        passages, size = passages_of(drawn), self._settings.batch
        rng.shuffle(passages)
        said: list[list[Sentence]] = [[] for _ in drawn.keys]
        subject = drawn.context.heading or " and ".join(dict.fromkeys(drawn.keys))
        for batch in (passages[start : start + size] for start in range(0, len(passages), size)):
            done: dict[int, Sentence] = {}
            check = partial(_check_batch, batch, done)
            shown = [
                f"{n}. {f'({p.kind}) ' if p.kind else ''}{json.dumps(p.cells, ensure_ascii=False)}"
                for n, p in enumerate(batch, 1)
            ]
            messages = render("word", subject=subject, rows="\n".join(shown))
            await talk.draft(self._models.generator, "word", messages, read_texts, check)
            for place, passage in enumerate(batch):
                said[passage.row].append(done[place])
        rows = [
            StatedRow(row.entity, tuple(sorted(own, key=lambda sentence: sentence.theme)))
            for row, own in zip(drawn.context.rows, said, strict=True)
        ]
        return drawn.context.reword(rows, rng)


def ask_of(
    drawn: DrawnContext, context: Context, engine: str, calls: Iterable[Call] = ()
) -> list[Example]:
    """The examples of a draw, asked of its context in other words."""
    of_a_query, found = len(drawn.examples) // len(drawn.asked), list[Example]()
    for number, example in enumerate(drawn.examples):
        told = context.ask(*drawn.asked[number // of_a_query])
        worded = replace(
            example,
            id="",
            gold_context=told.clean,
            adversarial_context=told.adversarial,
            facts=told.facts,
            groups=told.groups,
            engine=engine,
            calls=tuple(calls),
        )
        found.append(worded)
    return found


def passages_of(drawn: DrawnContext) -> list[Passage]:
    """What is to be said of all rows, cut as the program has cut it."""
    rows, columns = [*zip(drawn.keys, drawn.context.rows, strict=True)], dict[str, dict[str, str]]()
    stated = [{one[0]: one[1] for said in row.sentences for one in said.stated} for _, row in rows]
    for key, cells in zip(drawn.keys, stated, strict=True):
        columns.setdefault(key, {}).update(cells)
    found = []
    for number, ((key, row), own) in enumerate(zip(rows, stated, strict=True)):
        words = words_of(" | ".join(own.values()))  # "Voice role" says the blank column "Role"
        blanks = [one for one in columns[key] if one not in own and words_of(one) not in words]
        for said in row.sentences:
            cells = {key: row.entity} | {one.column: one.value for one in said.stated}
            is_first, kind = said is row.sentences[0], key if len(columns) > 1 else ""
            found.append(Passage(number, said.theme, kind, cells, tuple(blanks), is_first))
    return found


def _check_batch(
    batch: Sequence[Passage], done: dict[int, Sentence], texts: Sequence[str]
) -> list[Problem]:
    """What is wrong with the passages of an answer; one that has passed before is kept."""
    if len(texts) != len(batch):
        return [Problem(NUMBER, f"Write {len(batch)} passages, not {len(texts)}.")]
    problems = []
    for place, (passage, text) in enumerate(zip(batch, texts, strict=True)):
        if place not in done:
            sentence, found = read_passage(passage, text)
            problems += [Problem(p.kind, f"Row {place + 1}: {p.text}") for p in found]
            if not found:
                done[place] = sentence
    return problems


def read_passage(passage: Passage, text: str) -> tuple[Sentence, list[Problem]]:
    """Where a passage states its cells, and what is wrong with it.

    Args:
        passage: what is to be said.
        text: what a model said.
    """
    entity, taken, stated = next(iter(passage.cells.values())), list[Span](), list[ValueSpan]()
    problems = list(check_prose(text))
    for cell in sorted({*passage.cells.values()}, key=lambda cell: (-len(cell), cell)):
        columns = [name for name, own in passage.cells.items() if own == cell]
        found = [Span(*match.span()) for match in whole(cell, text)]
        found = [span for span in found if not overlap(span, taken)]
        if len(found) < len(columns):
            reason = f"State {cell!r} ({', '.join(columns)}), letter by letter."
            problems.append(Problem(NOT_STATED, reason))
        elif cell == entity and found[0].start >= sentence_spans(text)[0].end:
            problems.append(Problem(NOT_NAMED, f"Name {entity!r} in the first sentence."))
        places = zip(columns, found, strict=False)  # a value may be said more often than meant
        stated += [ValueSpan(column, cell, *span) for column, span in places]
        taken += found
    if passage.kind and words_of(passage.kind) not in words_of(text):
        problems.append(Problem(NO_KIND, f"Say {passage.kind!r} of {entity!r}."))
    problems += _check_rest(passage, text, entity, taken)
    problems += _check_words(passage, text, stated)
    first = next(iter(passage.cells))
    recorded = [one for one in stated if passage.first or one.column != first]
    sentence = Sentence(text, tuple(recorded), passage.theme)
    return sentence, problems


def _check_rest(
    passage: Passage, text: str, entity: str, taken: Sequence[Span]
) -> Iterator[Problem]:
    """Nothing is said beside the cells: they are put out of sight, and the readers see the rest."""
    names = [NAME if text[slice(*span)] == entity else VALUE for span in taken]
    rest = _with_words(text, zip(taken, names, strict=True))
    columns = [*passage.cells, *passage.blanks]
    row = [NAME, *(VALUE for _ in [*passage.cells][1:]), *(None for _ in passage.blanks)]
    read = Statements(Table.of(columns, [row]), rest)
    omissions = Omissions(read)
    yield from check_numbers(read)
    for problem in omissions.find():
        yield problem._replace(text=problem.text.replace(repr(NAME), repr(entity)))
    own = words_of(entity.replace("-", " "))  # "Escassi" of "Muñoz-Escassi"
    for word in (word for sentence in read.sentences for word in omissions.foreign(sentence)):
        # A sentence begins behind "26.8 km." too.
        if f". {word.capitalize()}" not in text and words_of(word) not in own:
            yield Problem(FOREIGN, f"Leave out {word!r}, which the row does not have.")


def _with_words(text: str, words: Iterable[tuple[tuple[int, int], str]]) -> str:
    """A text with other words at some places."""
    rest, position = "", 0
    for (start, end), word in sorted(words):
        rest, position = rest + text[position:start] + word, end
    return rest + text[position:]


def _check_words(passage: Passage, text: str, stated: Sequence[ValueSpan]) -> Iterator[Problem]:
    """No value is said twice, and no blank column is named."""
    entity, *values = passage.cells.values()
    rest = _with_words(text, (((one.start, one.end), " | ") for one in stated))
    labels, spoken = [*map(words_of, passage.cells)], words_of(rest.replace(entity, " | "))
    for cell in values:
        is_specific = any(map(str.isdigit, cell)) or sum(map(str.isalpha, cell)) > 2
        value = words_of(cell)
        if is_specific and value in spoken and not any(value in label for label in labels):
            yield Problem(REPEATED, f"State {cell!r} once.")
    for column in passage.blanks:
        blank, said = words_of(column), words_of(text.replace(entity, " | "))
        for label in labels:  # "capacity in 2010" is not the blank "capacity"
            said = said.replace(label, " | ") if blank in label else said
        if blank.strip() and blank in said:
            yield Problem(BLANK_NAMED, f"Leave out {column!r}, of which nothing is known.")
