"""Passages of the program engine in a model's words (``wording``).

The program draws a context and its queries. A model is shown one passage at a time, and neither
the rest of the context nor groups nor queries, and rewords it: what it writes cannot tell which
rows are gold. The first rewording that says all that the passage says, and no more, takes its
place; where there is none, the program's words stay.
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
from tablemend.datasets.tablehallu import program_engine
from tablemend.datasets.tablehallu.compose import Sentence, StatedRow
from tablemend.datasets.tablehallu.dataset import REFUSED, make_dataset
from tablemend.datasets.tablehallu.donors import Usable
from tablemend.datasets.tablehallu.labels import EVENTS, SAYS
from tablemend.datasets.tablehallu.program_engine import TOO_LONG, Engine
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.datasets.tablehallu.verification import verify
from tablemend.datasets.tablehallu_llm.checks import EXTRA, NOT_STATED
from tablemend.datasets.tablehallu_llm.wording import (
    FOREIGN,
    NOT_NAMED,
    Passage,
    ask_of,
    passages_of,
    read_passage,
)
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Unreadable, prose, why_no_answer
from tablemend.records import Example
from tablemend.runs import hash_text
from tablemend.values.places import Places, singular
from tablemend.values.qwen_tokens import count_tokens
from tablemend.values.text import tokens_of
from tablemend.values.words import akin, content_words

ENGINE = f"reworded/1+{program_engine.ENGINE}"
NUMBER_LOST, NUMBER_ADDED = "number not there", "number added"
NAME_LOST, NAME_ADDED = "name not there", "name added"
WORD_LOST, WORD_ADDED = "word not there", "word added"
SUBJECT, EXCHANGED = "subject lost", "values exchanged"
NO_SENTENCE = "sentence without a verb"
LENGTH, UNCHANGED = "too short or too long", "the same words"
LENGTHS = 0.5, 2.0
"""Least and most words of a rewording, in times those of its passage."""
PROMPTS = PromptFolder(Path(__file__).with_name("rewording_prompts"))
LEXICON = Path(__file__).with_suffix(".yaml")
_WORDS = yaml.safe_load(LEXICON.read_bytes())
_FREE, _LIGHT, _STRICT = (
    frozenset(map(singular, _WORDS[kind].split())) for kind in ("free", "light", "strict")
)
_SIGN, _BREAK, _ASIDE, _OTHERS, _VERB = (
    re.compile(_WORDS[kind]) for kind in ("sign", "break", "aside", "others", "verb")
)
_AGAIN = re.compile(r"\bThe (\w+)")
_SUBJECT = r"(?:@|\b[Ii]t|\b[Tt]hey|\bThe \w+)(?: \(\|+\))? "
_FINITE = re.compile(rf"{_SUBJECT}([a-z]+)|(?:and|,) ([a-z]+(?:s\b| (?=\|)))")
_ACTS = re.compile(rf"{_SUBJECT}(?!(?:of|from|by|with|in|at|on)\b)(?:[a-z]+(?<!ed)\b|[a-z]+ \|)")


class Reading:
    """A passage, or a rewording of it, as they are compared.

    Attributes:
        stated, problems: as :func:`read_passage` has them.
        rest: the text, with its name as @ and its other cells as |.
        amounts: the numbers outside cells, and signs of them.
        near: words of weight outside cells, each with the columns of the nearest cells.
    """

    def __init__(self, passage: Passage, text: str) -> None:
        found, problems = read_passage(passage._replace(first=True), text)
        self.text, self.stated, self.problems = text, found.stated, {one.kind: one for one in problems}
        entity, rest = next(iter(passage.cells.values())), text
        own = {*map(singular, tokens_of(entity).words)}
        for one in self.stated:
            mask = "@" if one.value == entity else "|"
            rest = rest[: one.start] + mask * len(one.value) + rest[one.end :]
        places, self.near = Places(rest), defaultdict[str, set[str]](set)
        numbers = places.amounts(0, len(rest))
        self.amounts = Counter(words_of(rest[slice(*span)]) for span in numbers)
        self.amounts.update(_SIGN.findall(rest))
        cells = [one for one in self.stated if one.value != entity]
        for word, start, end in places.tokens:
            if word in own and rest[start].isupper():
                rest = rest[:start] + "@" * (end - start) + rest[end:]
            elif word not in _FREE:
                gaps = (rest[end : one.start] or rest[one.end : start] for one in cells)
                far = [len(gap.split()) + 3 * len(_BREAK.findall(gap)) for gap in gaps]
                near = zip(cells, far, strict=True)
                self.near[word] |= {one.column for one, gap in near if gap == min(far)}
        self.rest = rest


@cache
def _words_for(column: str) -> frozenset[str]:
    """The words of a header, and those by which the program says its values."""
    label = re.sub(r"\s*[(\[].*", "", column).lower()
    said = [" ".join(SAYS[key]) for key in SAYS if key[2] == label]
    said = re.sub(r"\{.\}", "", " ".join([column, EVENTS.get(label, ""), *said]))
    return frozenset(content_words(said)) - _FREE - _STRICT


def _alike(word: str, others: Iterable[str], lines: Sequence[Iterable[str]]) -> set[str]:
    """Those of some words that are forms of one, else that share a line with it."""
    own = [other for line in lines if any(akin(word, one) for one in line) for other in line]
    found = {other for other in others if akin(word, other)}
    return found or {other for other in others if any(akin(other, one) for one in own)}


def read_rewording(passage: Passage, said: str, text: str) -> tuple[Sentence, str]:
    """Where a rewording states the cells of its passage, and why it is refused; empty: it is not.

    Args:
        passage: what is said.
        said: the program's words for it.
        text: a model's.
    """
    old, new, name = Reading(passage, said), Reading(passage, text), next(iter(passage.cells))
    stated = [one for one in new.stated if passage.first or one.column != name]
    why = next(_problems(passage, old, new), "")
    return Sentence(text, tuple(stated), passage.theme), why


def _problems(passage: Passage, old: Reading, new: Reading) -> Iterator[str]:
    if NOT_STATED in new.problems:
        there = {one[:2] for one in new.stated}
        gone = "".join(one.value for one in old.stated if one[:2] not in there)
        yield NUMBER_LOST if any(map(str.isdigit, gone)) else NAME_LOST
    if old.amounts != new.amounts or EXTRA in new.problems:
        yield NUMBER_LOST if old.amounts - new.amounts else NUMBER_ADDED
    if FOREIGN in new.problems:
        yield NAME_ADDED
    of_column = {column: _words_for(column) for column in passage.cells}
    lines = [*_WORDS["same"], *of_column.values()]
    again = {singular(word) for word in _AGAIN.findall(old.rest)}  # "The device was ..."
    kind = {*again, *next(iter(of_column.values())), *words_of(passage.kind).split()}
    if not all(_alike(word, new.near, lines) for word in old.near.keys() - _LIGHT - again):
        yield WORD_LOST
    for word, near in new.near.items():
        before = [old.near[one] for one in _alike(word, old.near, lines)]
        before += [{column} for column, own in of_column.items() if word in own]
        if not before and word not in kind:
            yield WORD_ADDED
        if near and word not in kind and near.isdisjoint(set[str]().union(*before)):
            yield EXCHANGED
    if NOT_NAMED in new.problems or _OTHERS.search(new.rest):
        yield SUBJECT
    finite = {word for found in _FINITE.findall(old.rest) for word in map(str.strip, found)}
    for sentence in re.split(r"(?<=[.!?]) ", new.rest):
        words = {*re.findall(r"(?<!, )\b[a-z]+", sentence)}
        if not (words & finite or _VERB.search(sentence) or _ACTS.search(sentence)) or _ASIDE.search(sentence):
            yield NO_SENTENCE
    yield from new.problems
    least, most = (len(old.text.split()) * times for times in LENGTHS)
    if not least <= len(new.text.split()) <= most:
        yield LENGTH
    if words_of(old.text) == words_of(new.text):
        yield UNCHANGED


class RewordingEngine(Engine):
    """The program engine, its passages in a model's words where these are good."""

    def __init__(self, settings: Synthesis, usable: list[Usable], backend: Backend) -> None:
        source = open_source(settings.source, settings, settings.seed)
        super().__init__(settings, source, usable)
        self._backend = backend

    def make(self, number: int) -> list[Example]:
        """See :class:`~tablemend.datasets.tablehallu.program_engine.Maker`."""
        if (drawn := self.draw(number)) is None:
            return []
        said = [sentence for row in drawn.context.rows for sentence in row.sentences]
        done, counts = self._reword(number, passages_of(drawn), [one.text for one in said])
        words = iter([done.get(place, one) for place, one in enumerate(said)])
        rows = [
            StatedRow(row.entity, tuple(islice(words, len(row.sentences))))
            for row in drawn.context.rows
        ]
        # Laid out by lot, so the same whatever is asked.
        context = drawn.context.reword(rows, Random(f"{ENGINE}:{self._settings.seed}:{number}"))
        examples = ask_of(drawn, context, ENGINE)
        invalid = next(filter(None, map(verify, examples)), None)
        if (most := self._settings.max_tokens) and count_tokens(context.text) > most:
            invalid = TOO_LONG
        if invalid:
            done, examples = {}, ask_of(drawn, drawn.context, ENGINE)
            counts[f"{REFUSED}whole context: {invalid}"] += 1
        self.rows.update({"passages": len(said), "passages reworded": len(done), **counts})
        return examples

    def _reword(
        self, number: int, passages: Sequence[Passage], said: Sequence[str]
    ) -> tuple[dict[int, Sentence], Counter[str]]:
        """The passages that were reworded well, by place, and how often one was not, and why."""
        done, counts, wording = dict[int, Sentence](), Counter[str](), self._settings.wording
        assert wording is not None
        for sample in range(wording.samples):
            left = {f"{number}.{n}.{sample}": n for n in range(len(said)) if n not in done}
            requests = [
                Request(
                    id=id,
                    messages=PROMPTS.render("reword", passage=said[n]),
                    sampling=Sampling(wording.max_new_tokens, wording.temperature),
                    thinking=None if wording.thinking is None else wording.thinking == "on",
                    seed=stream_seed(self._settings.seed, id),
                )
                for id, n in left.items()
            ]
            answers = ask(self._backend, requests)
            for id, n in left.items():
                try:
                    if problem := why_no_answer(answers[id]):
                        raise Unreadable(*problem)
                    text = " ".join(prose(answers[id].answer).split())
                    sentence, why = read_rewording(passages[n], said[n], text)
                except Unreadable as error:
                    why = error.problem.kind
                if why:
                    counts[REFUSED + why] += 1
                else:
                    done[n] = sentence
        return done, counts


def make_reworded(settings: Synthesis, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a data set as :func:`make_dataset` does, its passages reworded by ``wording.model``.

    Raises:
        TablemendError: as there; there is no such model, or its server does not answer.
        Stopped: many requests in a row failed; the same command goes on.
    """
    wording = settings.wording
    assert wording is not None
    name = ModelName.parse(wording.model)
    if not (Path(settings.out) / COUNTS).exists():
        name.refuse_unreachable()
    with open_backend(name, wording.options) as backend:
        asked = wording.model_dump(mode="json", exclude={"options"})
        asked["model"] = {key: one for key, one in backend.identity.items() if key != "server"}
        asked |= {"prompt": PROMPTS.hash, "words": hash_text(LEXICON.read_text("utf-8"))}
        maker = partial(RewordingEngine, settings, backend=backend)
        return make_dataset(settings, progress, maker, ENGINE, {"wording": asked})
