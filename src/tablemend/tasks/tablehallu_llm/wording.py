"""Contexts that a program draws, in a model's words, and their queries, drawn by program too.

``order=query-last``: the program engine draws the rows of all groups and what is asked of them; a
model is asked for a passage on each row, some rows of whatever groups at a time. ``wording``: the
program engine says the rows itself, and a model rewords one passage at a time; the first rewording
that says all that the passage says, and no more, takes its place. Either way the model sees no
query and no group, so what it writes cannot tell which rows are gold, and a program checks every
passage and lays them out.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from tablemend.backends.backend import Backend, ask, open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Request, Sampling, stream_seed
from tablemend.datasets.build import COUNTS
from tablemend.datasets.source_tables.columns import words_of
from tablemend.datasets.source_tables.sources import open_source
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Problem, Unreadable, prose, why_no_answer
from tablemend.records import Call, Example
from tablemend.runs import hash_text
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import engine as program_engine
from tablemend.tasks.tablehallu.borrowed_names import Usable
from tablemend.tasks.tablehallu.compose import Context, Sentence, StatedRow, ValueSpan
from tablemend.tasks.tablehallu.dataset import REFUSED, make_dataset
from tablemend.tasks.tablehallu.engine import TOO_LONG, DrawnContext, Engine, find_tables
from tablemend.tasks.tablehallu.labels import EVENTS, SAYS
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.verification import verify
from tablemend.tasks.tablehallu_llm.checks import EXTRA, NOT_STATED, check_numbers, check_prose
from tablemend.tasks.tablehallu_llm.settings import LlmSynthesis, Topics
from tablemend.tasks.tablehallu_llm.stages import (
    GivenUp,
    Rejection,
    Row,
    RowMaker,
    Talk,
    read_texts,
    render,
)
from tablemend.tasks.tablehallu_llm.statements import Statements, overlap, whole
from tablemend.values.places import Places
from tablemend.values.text import (
    Span,
    akin,
    content_words,
    count_tokens,
    sentence_spans,
    singular,
    tokens_of,
)

ENGINE = f"llm-query-last/1+{program_engine.ENGINE}"
NUMBER = "another number of passages"
NOT_NAMED = "row not named in the first sentence"
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
    of_a_query = len(drawn.examples) // len(drawn.asked)
    told = [context.ask(*drawn.asked[n // of_a_query]) for n in range(len(drawn.examples))]
    return [
        replace(
            example,
            id="",
            gold_context=own.clean,
            adversarial_context=own.adversarial,
            facts=own.facts,
            groups=own.groups,
            engine=engine,
            calls=tuple(calls),
        )
        for example, own in zip(drawn.examples, told, strict=True)
    ]


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
    """Where a model's text states the cells of a passage, and what is wrong with it."""
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
        problems.append(Problem("kind of the row not said", f"Say {passage.kind!r} of {entity!r}."))
    problems += _check_rest(passage, text, entity, taken)
    problems += _check_words(passage, text, stated)
    first = next(iter(passage.cells))
    recorded = (one for one in stated if passage.first or one.column != first)
    return Sentence(text, tuple(recorded), passage.theme), problems


def _check_rest(
    passage: Passage, text: str, entity: str, taken: Sequence[Span]
) -> Iterator[Problem]:
    """Nothing is said beside the cells: they are put out of sight, and the readers see the rest."""
    names = [NAME if text[slice(*span)] == entity else VALUE for span in taken]
    rest = _with_words(text, zip(taken, names, strict=True))
    columns = [*passage.cells, *passage.blanks]
    row = [NAME, *(VALUE for _ in [*passage.cells][1:]), *(None for _ in passage.blanks)]
    read = Statements(Table.of(columns, [row]), rest)
    yield from check_numbers(read)
    for problem in read.find_omissions():
        yield problem._replace(text=problem.text.replace(repr(NAME), repr(entity)))
    own = words_of(entity.replace("-", " "))  # "Escassi" of "Muñoz-Escassi"
    for word in (word for sentence in read.sentences for word in read.foreign(sentence)):
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
            yield Problem("value repeated in its sentence", f"State {cell!r} once.")
    for column in passage.blanks:
        blank, said = words_of(column), words_of(text.replace(entity, " | "))
        for label in labels:  # "capacity in 2010" is not the blank "capacity"
            said = said.replace(label, " | ") if blank in label else said
        if blank.strip() and blank in said:
            reason = f"Leave out {column!r}, of which nothing is known."
            yield Problem("blank attribute named beside its entity", reason)


REWORDED = f"reworded/1+{program_engine.ENGINE}"
PROMPTS = PromptFolder(Path(__file__).with_name("rewording_prompts"))
_WORDS = yaml.safe_load(Path(__file__).with_name("rewording.yaml").read_bytes())
_PATTERNS = {name: re.compile(pattern) for name, pattern in _WORDS["patterns"].items()}
_FREE, _LIGHT, _STRICT = (
    frozenset(map(singular, _WORDS[kind].split())) for kind in ("free", "light", "strict")
)
_LINES = [[*map(singular, line.split())] for line in _WORDS["same"]]


class Reading:
    """A passage, or a rewording of it, as they are compared.

    Attributes:
        text, stated, problems: as :func:`read_passage`.
        rest: the text, its name as @ and its other cells as |.
        numbers, near: outside cells, with signs; words of weight, and the columns nearest to each.
    """

    def __init__(self, passage: Passage, text: str) -> None:
        found, problems = read_passage(passage._replace(first=True), text)
        self.text, self.stated = text, found.stated
        self.problems = {one.kind: one for one in problems}
        entity, self.rest = next(iter(passage.cells.values())), text
        for one in self.stated:
            self._hide(one.start, one.end, "@" if one.value == entity else "|")
        cells, own = [one for one in self.stated if one.value != entity], tokens_of(entity).words
        places, self.near = Places(self.rest), defaultdict[str, set[str]](set)
        amounts = (self.rest[slice(*span)] for span in places.amounts(0, len(text)))
        self.numbers = Counter([*amounts, *_PATTERNS["sign"].findall(self.rest)])
        for word, start, end in places.tokens:
            if word in map(singular, own) and text[start].isupper():
                self._hide(start, end, "@")
            elif word not in _FREE:
                gaps = [self.rest[end : one.start] or self.rest[one.end : start] for one in cells]
                far = [len(gap.split()) + 3 * len(_PATTERNS["part"].findall(gap)) for gap in gaps]
                nearest = (
                    one.column for one, gap in zip(cells, far, strict=True) if gap == min(far)
                )
                self.near[word].update(nearest)

    def _hide(self, start: int, end: int, mark: str) -> None:
        self.rest = self.rest[:start] + mark * (end - start) + self.rest[end:]


@cache
def _words_for(column: str) -> frozenset[str]:
    """The words of a header, and those by which the program says its values."""
    label = re.sub(r"\s*[(\[].*", "", column).lower()
    said = [EVENTS.get(label, ""), *(" ".join(SAYS[key]) for key in SAYS if key[2] == label)]
    found = content_words(re.sub(r"\{.\}", "", " ".join([column, *said])))
    return frozenset(found) - _FREE - _STRICT


def _alike(word: str, others: Iterable[str], lines: Sequence[Iterable[str]]) -> set[str]:
    """Those of some words that are forms of one, else that share a line with it."""
    line = [one for line in lines if any(akin(word, one) for one in line) for one in line]
    found = {other for other in others if akin(word, other)}
    return found or {other for other in others if any(akin(other, one) for one in line)}


def read_rewording(passage: Passage, said: str, text: str) -> Sentence:
    """Where a model's text states the cells of a passage that the program has said otherwise.

    A cell in another spelling ("May 3, 1961", "sunk") gets its own again.

    Raises:
        Unreadable: it does not say the same.
    """
    for cell in passage.cells.values():
        spans = () if cell in text else Places(text).find(cell)
        digits = {any(map(str.isdigit, one)) for one in (cell, *(text[slice(*s)] for s in spans))}
        if len(spans) == len(digits) == 1 and cell[0] not in "-\u2212(":  # no "first", no "fell by"
            text = text[: spans[0].start] + cell + text[spans[0].end :]
    old, new, name = Reading(passage, said), Reading(passage, text), next(iter(passage.cells))
    if why := next(_reasons(passage, old, new), ""):
        raise Unreadable(why, text)
    stated = (one for one in new.stated if passage.first or one.column != name)
    return Sentence(text, tuple(stated), passage.theme)


def _reasons(passage: Passage, old: Reading, new: Reading) -> Iterator[str]:
    if NOT_STATED in new.problems:
        there = {one[:2] for one in new.stated}
        gone = "".join(one.value for one in old.stated if one[:2] not in there)
        yield "number not there" if any(map(str.isdigit, gone)) else "name not there"
    if old.numbers != new.numbers or EXTRA in new.problems:
        yield "number not there" if old.numbers - new.numbers else "number added"
    if FOREIGN in new.problems:
        yield "name added"
    columns = {column: _words_for(column) for column in passage.cells}
    again = {*map(singular, re.findall(r"\bThe (\w+)", old.rest))}  # "The device was ..."
    kind = {*again, *next(iter(columns.values())), *words_of(passage.kind).split()}
    for word, near in old.near.items():
        lines = [*_LINES, *map(columns.__getitem__, near)]
        if word not in _LIGHT | again and not _alike(word, new.near, lines):
            yield "word not there"
    for word, near in new.near.items():
        lines = [*_LINES, *map(columns.__getitem__, near)]
        before = [old.near[one] for one in _alike(word, old.near, lines)]
        before += ({column} for column, own in columns.items() if word in own)
        if not before and word not in kind:
            yield "word added"
        if near and word not in kind and near.isdisjoint(set[str]().union(*before)):
            yield "values exchanged"
    if NOT_NAMED in new.problems or _PATTERNS["others"].search(new.rest):
        yield "subject lost"
    verbs = {word for found in _PATTERNS["verb"].findall(old.rest) for word in found.split()}
    for sentence in re.split(r"(?<=[.!?]) ", new.rest):
        words = {*re.findall(r"(?<!, )\b[a-z]+", sentence)}
        if _PATTERNS["aside"].search(sentence) or not (
            words & verbs or _PATTERNS["acts"].search(sentence)
        ):
            yield "sentence without a verb"
    yield from new.problems
    if not 0.5 <= len(new.text.split()) / len(old.text.split()) <= 2:
        yield "too short or too long"
    if words_of(old.text) == words_of(new.text):
        yield "the same words"


class RewordingEngine(Engine):
    """The program engine, its passages in a model's words where these are good."""

    def __init__(self, settings: Synthesis, backend: Backend, usable: list[Usable]) -> None:
        super().__init__(settings, open_source(settings.source, settings, settings.seed), usable)
        self._backend = backend

    def make(self, number: int) -> list[Example]:
        """See :class:`~tablemend.tasks.tablehallu.engine.Maker`."""
        settings, asked, drawn = self._settings, self._settings.wording, self.draw(number)
        if drawn is None or asked is None:
            return []
        said = [sentence for row in drawn.context.rows for sentence in row.sentences]
        passages, done = passages_of(drawn), dict[int, Sentence]()
        sampling = Sampling(asked.max_new_tokens, asked.temperature)
        for sample in range(asked.samples):
            left = {f"{number}.{n}.{sample}": n for n in range(len(said)) if n not in done}
            requests = [
                Request(
                    id=id,
                    messages=PROMPTS.render("reword", passage=said[n].text),
                    sampling=sampling,
                    thinking=asked.thinking,
                    seed=stream_seed(settings.seed, id),
                )
                for id, n in left.items()
            ]
            for id, completion in ask(self._backend, requests).items():
                n = left[id]
                try:
                    if problem := why_no_answer(completion):
                        raise Unreadable(*problem)
                    text = " ".join(prose(completion.answer).split())
                    done[n] = read_rewording(passages[n], said[n].text, text)
                except Unreadable as error:
                    self.rows[REFUSED + error.problem.kind] += 1
        words = iter([done.get(n, sentence) for n, sentence in enumerate(said)])
        rows = [
            StatedRow(row.entity, tuple(islice(words, len(row.sentences))))
            for row in drawn.context.rows
        ]
        # Laid out by lot, so the same whatever is asked.
        context = drawn.context.reword(rows, Random(f"{REWORDED}:{settings.seed}:{number}"))
        examples = ask_of(drawn, context, REWORDED)
        too_long = settings.max_tokens and count_tokens(context.text) > settings.max_tokens
        if too_long or any(map(verify, examples)):
            done, examples = {}, ask_of(drawn, drawn.context, REWORDED)
            self.rows[f"{REFUSED}context {TOO_LONG}"] += 1
        self.rows.update({"passages": len(said), "passages reworded": len(done)})
        return examples


def make_reworded(settings: Synthesis, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a data set as :func:`make_dataset` does, its passages reworded by ``wording.model``.

    Raises:
        TablemendError: as there; there is no such model, or its server does not answer.
        Stopped: many requests in a row failed; the same command goes on.
    """
    asked = settings.wording
    assert asked is not None
    name = ModelName.parse(asked.model)
    if not (Path(settings.out) / COUNTS).exists():
        name.refuse_unreachable()
    with open_backend(name, asked.options) as backend:
        identity = {key: one for key, one in backend.identity.items() if key != "server"}
        noted = asked.model_dump(mode="json", exclude={"options"})
        noted |= {"model": identity, "prompt": PROMPTS.hash}
        noted = {"engine_version": REWORDED, "wording": noted}
        return make_dataset(settings, progress, partial(RewordingEngine, settings, backend), noted)
