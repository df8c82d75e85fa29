"""Passages of the program engine in a model's words (``wording``).

The program draws a context and its queries. A model is shown one passage at a time, without the
rest of the context, groups or queries, and rewords it: what it writes cannot tell which rows are
gold. The first rewording that says all that the passage says, and no more, takes its place.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tablemend.backends.asking import ask
from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Request, Sampling, stream_seed
from tablemend.datasets.build import COUNTS
from tablemend.datasets.source_tables.columns import words_of
from tablemend.datasets.source_tables.sources import open_source
from tablemend.datasets.tablehallu_llm import checks, wording
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Unreadable, prose, why_no_answer
from tablemend.records import Example
from tablemend.tasks.tablehallu.borrowed_names import Usable
from tablemend.tasks.tablehallu.compose import Sentence, StatedRow
from tablemend.tasks.tablehallu.dataset import REFUSED, make_dataset
from tablemend.tasks.tablehallu.engine import ENGINE, TOO_LONG, Engine
from tablemend.tasks.tablehallu.labels import EVENTS, SAYS
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.verification import verify
from tablemend.values.places import Places, singular
from tablemend.values.qwen_tokens import count_tokens
from tablemend.values.text import tokens_of
from tablemend.values.words import akin, content_words

REWORDED = f"reworded/1+{ENGINE}"
PROMPTS = PromptFolder(Path(__file__).with_name("rewording_prompts"))
_WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_bytes())
_PATTERNS = {name: re.compile(pattern) for name, pattern in _WORDS["patterns"].items()}
_FREE, _LIGHT, _STRICT = (
    frozenset(map(singular, _WORDS[kind].split())) for kind in ("free", "light", "strict")
)
_LINES = [[*map(singular, line.split())] for line in _WORDS["same"]]


class Reading:
    """A passage, or a rewording of it, as they are compared.

    Attributes:
        text, stated, problems: as :func:`~tablemend.datasets.tablehallu_llm.wording.read_passage`.
        rest: the text, its name as @ and its other cells as |.
        numbers, near: outside cells, with signs; words of weight, and the columns nearest to each.
    """

    def __init__(self, passage: wording.Passage, text: str) -> None:
        found, problems = wording.read_passage(passage._replace(first=True), text)
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


def read_rewording(passage: wording.Passage, said: str, text: str) -> Sentence:
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


def _reasons(passage: wording.Passage, old: Reading, new: Reading) -> Iterator[str]:
    if checks.NOT_STATED in new.problems:
        there = {one[:2] for one in new.stated}
        gone = "".join(one.value for one in old.stated if one[:2] not in there)
        yield "number not there" if any(map(str.isdigit, gone)) else "name not there"
    if old.numbers != new.numbers or checks.EXTRA in new.problems:
        yield "number not there" if old.numbers - new.numbers else "number added"
    if wording.FOREIGN in new.problems:
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
    if wording.NOT_NAMED in new.problems or _PATTERNS["others"].search(new.rest):
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
        passages, done = wording.passages_of(drawn), dict[int, Sentence]()
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
        examples = wording.ask_of(drawn, context, REWORDED)
        too_long = settings.max_tokens and count_tokens(context.text) > settings.max_tokens
        if too_long or any(map(verify, examples)):
            done, examples = {}, wording.ask_of(drawn, drawn.context, REWORDED)
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
