"""Contexts in a model's words whose query is drawn by program (``order=query-last``).

The program engine draws the rows of all groups and what is asked of them. A model is asked for a
passage on each row, some rows of whatever groups at a time: it sees no query and no group, so what
it writes cannot tell which rows are gold. A program checks every passage, and lays them out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from tablemend.datasets.tablehallu import program_engine
from tablemend.datasets.tablehallu.columns import words_of
from tablemend.datasets.tablehallu.compose import Context, Sentence, Stated, StatedRow
from tablemend.datasets.tablehallu.program_engine import Draft, Engine, find_tables
from tablemend.datasets.tablehallu.sources import open_source
from tablemend.datasets.tablehallu.verification import (
    Evidence,
    check_blanks,
    check_repetition,
    verify,
)
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
from tablemend.records import Example
from tablemend.runs import hash_text
from tablemend.tables.table import Table
from tablemend.values.sentences import Span, sentence_spans

ENGINE = f"llm-query-last/1+{program_engine.ENGINE}"
NUMBER = "another number of passages"
NOT_NAMED = "row not named in the first sentence"
NO_KIND = "kind of the row not said"
FOREIGN = "name that the row does not have"
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
        source = open_source(drawing)
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
        rng = Random(f"{ENGINE}:{self._settings.seed}:{number}")
        examples: list[Example] = []
        try:
            stated = await self._word(drawn.draft, drawn.examples[0], talk, rng)
        except GivenUp:
            return Row(number, (), tuple(talk.rejections), tuple(talk.calls))
        context = drawn.draft.lay_out(stated, rng)
        for example, asked in zip(drawn.examples, drawn.asked, strict=True):
            told = context.ask(*asked)
            examples.append(
                replace(
                    example,
                    id="",
                    gold_context=told.clean,
                    adversarial_context=told.adversarial,
                    facts=told.facts,
                    groups=told.groups,
                    engine=ENGINE,
                    calls=tuple(talk.calls),
                )
            )
        if invalid := next(filter(None, map(verify, examples)), None):
            talk.rejections.append(Rejection("word", invalid, "found in the whole context", 0))
            examples, counts = [], {}
        return Row(number, tuple(examples), tuple(talk.rejections), tuple(talk.calls), counts)

    async def _word(
        self, draft: Draft, example: Example, talk: Talk, rng: Random
    ) -> list[StatedRow]:
        """All rows, asked for in an order that has nothing to do with their groups.

        Raises:
            GivenUp: some passage never passed.
        """
        passages, size = list(passages_of(draft)), self._settings.batch
        subject = " and ".join(one.title or one.rows for one in draft.subjects)
        said: dict[int, list[Sentence]] = {passage.row: [] for passage in passages}
        order = rng.sample(passages, len(passages))
        for batch in (order[start : start + size] for start in range(0, len(order), size)):
            done: dict[int, Sentence] = {}  # a passage that has passed once is kept

            def check(
                texts: list[str],
                batch: Sequence[Passage] = batch,
                done: dict[int, Sentence] = done,
            ) -> list[Problem]:
                if len(texts) != len(batch):
                    return [Problem(NUMBER, f"Write {len(batch)} passages, not {len(texts)}.")]
                problems = []
                for place, (passage, text) in enumerate(zip(batch, texts, strict=True)):
                    if place not in done:
                        sentence, found = read_passage(passage, text, example)
                        problems += [Problem(p.kind, f"Row {place + 1}: {p.text}") for p in found]
                        done.update({} if found else {place: sentence})
                return problems

            shown = [
                f"{n}. {f'({p.kind}) ' if p.kind else ''}{json.dumps(p.cells, ensure_ascii=False)}"
                for n, p in enumerate(batch, 1)
            ]
            messages = render("word", subject=subject, rows="\n".join(shown))
            await talk.draft(self._models.generator, "word", messages, read_texts, check)
            for place, passage in enumerate(batch):
                said[passage.row].append(done[place])
        names = {passage.row: next(iter(passage.cells.values())) for passage in passages}
        return [
            StatedRow(names[row], tuple(sorted(own, key=lambda one: one.theme)))
            for row, own in said.items()
        ]


def passages_of(draft: Draft) -> Iterator[Passage]:
    """What is to be said of all rows, cut as the program engine cuts it."""
    row = 0
    for part, themes in zip(draft.parts, draft.themes, strict=True):
        names, key = part.typed.table.columns, part.typed.key
        kind = names[key] if len(draft.parts) > 1 else ""
        for cells in part.typed.table.rows:
            own = words_of(" | ".join(cells[column] or "" for column in part.stated))
            blanks = tuple(  # but for words that a cell has: "Voice role"
                names[column]
                for column in part.stated
                if cells[column] is None and words_of(names[column]) not in own
            )
            first = True
            for theme, columns in enumerate(themes):
                given = {names[c]: cell for c in (key, *columns) if (cell := cells[c]) is not None}
                if len(given) > 1:
                    yield Passage(row, theme, kind, given, blanks, first)
                    first = False
            row += 1


def read_passage(passage: Passage, text: str, example: Example) -> tuple[Sentence, list[Problem]]:
    """Where a passage states its cells, and what is wrong with it.

    Args:
        passage: what is to be said.
        text: what a model said.
        example: any of the context; the rules of its verification are asked of this row alone.
    """
    entity, taken, stated = next(iter(passage.cells.values())), list[Span](), list[Stated]()
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
        stated += [Stated(column, cell, *span) for column, span in places]
        taken += found
    if passage.kind and words_of(passage.kind) not in words_of(text):
        problems.append(Problem(NO_KIND, f"Say {passage.kind!r} of {entity!r}."))
    problems += _check_rest(passage, text, entity, taken)
    first, *others = passage.cells
    recorded = [one for one in stated if passage.first or one.column != first]
    sentence = Sentence(text, tuple(recorded), passage.theme)
    if not problems:
        alone = Context([StatedRow(entity, (sentence,))], [0], Random(0)).ask([0], [None])
        columns = [first, *others, *passage.blanks]
        table = Table.of(columns, [[passage.cells.get(column) for column in columns]])
        evidence = Evidence(
            replace(example, gold_table=table, adversarial_context=text, facts=alone.facts)
        )
        how = "state each value once, and leave out " + (", ".join(passage.blanks) or "all else")
        found_in = (check(evidence) for check in (check_repetition, check_blanks))
        problems += [Problem(why, f"{why}: {how}.") for why in found_in if why]
    return sentence, problems


def _check_rest(
    passage: Passage, text: str, entity: str, taken: Sequence[Span]
) -> Iterator[Problem]:
    """Nothing is said beside the cells: they are put out of sight, and the readers see the rest."""
    rest, position = "", 0
    for span in sorted(taken):
        name = NAME if text[slice(*span)] == entity else VALUE
        rest, position = rest + text[position : span.start] + name, span.end
    columns = [*passage.cells, *passage.blanks]
    row = [NAME, *(VALUE for _ in [*passage.cells][1:]), *(None for _ in passage.blanks)]
    read = Statements(Table.of(columns, [row]), rest + text[position:])
    omissions = Omissions(read)
    yield from check_numbers(read)
    for problem in omissions.find():
        yield problem._replace(text=problem.text.replace(repr(NAME), repr(entity)))
    for word in (word for sentence in read.sentences for word in omissions.foreign(sentence)):
        if f". {word.capitalize()}" not in text:  # a sentence begins behind "26.8 km." too
            yield Problem(FOREIGN, f"Leave out {word!r}, which the row does not have.")
