"""The protocol that an annotator is led through: training, check, then the tree (section 4).

It is the one for people; a model is asked turn by turn, and everything stays in its conversation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import yaml

from tablemend.backends.requests import Message
from tablemend.foreign import FromJson
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Unreadable
from tablemend.runs import hash_text
from tablemend.tasks.logic.pair import (
    AMBIGUITIES,
    AMBIGUITY_WORDS,
    AMBIGUOUS,
    DOMAINS,
    QUESTIONS,
    TREES,
    WORDING,
    Ambiguity,
    Annotation,
    Domain,
    Pair,
    Question,
    Span,
    follow,
)

T = TypeVar("T")
PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
MARKS: dict[str, str] = WORDING["marks"]
FAITHFUL: str = WORDING["faithful"]
YES_OR_NO, MARK, SLIDER = (WORDING[form] for form in ("yes_or_no", "mark", "slider"))
KINDS = WORDING["kinds"].format(", ".join(AMBIGUITIES))
NOTHING = "NONE"
_YES_OR_NO = re.compile(r"\W*(yes|no)\W*", re.IGNORECASE)
_SLIDER = re.compile(r"\W*([1-7])\W*")
_QUOTED = re.compile(r"\s*(?:[-*\u2022]\s+)?[\"'\u201c\u2018`]?(.*?)[\"'\u201d\u2019`]?[.,;]?\s*")


class Turn(NamedTuple):
    """What is said to a model.

    Attributes:
        text: the user's turn.
        form: how to answer; said again where the answer could not be read.
        read: makes a value of the answer, or refuses it as :class:`Unreadable`.
    """

    text: str
    form: str
    read: Callable[[str], Any]


Script = Generator[Turn, Any, T]
"""One side of a conversation: it is sent the value of each answer. One that could not be read, nor
when it was asked for again, is thrown into it as :class:`Unreadable`."""


@dataclass(frozen=True, slots=True)
class Lesson(FromJson):
    """One exercise of the training.

    Attributes:
        ask: a question of the tree, or what is to be marked.
        answer: the right one; what has to be marked at least.
        feedback: by what was answered; of marking by whether all of it was marked.
    """

    input: str
    output: str
    ask: str
    answer: bool | tuple[str, ...]
    feedback: Mapping[bool, str]

    @property
    def wanted(self) -> list[Span]:
        """Where what has to be marked stands; nothing of a question."""
        quotes = () if isinstance(self.answer, bool) else self.answer
        return [_find(side(self, self.ask), quote) for quote in quotes]


def side(pair: Pair | Lesson, mark: str) -> str:
    """The text in which something is marked."""
    return pair.input if mark == "divergent_input" else pair.output


def _find(text: str, quote: str) -> Span:
    start = text.index(quote)
    return start, start + len(quote)


_TRAINING = Path(__file__).with_name("training.yaml").read_text("utf-8")
_DATA: dict[str, Any] = yaml.safe_load(_TRAINING)
LESSONS: dict[Domain, list[Lesson]] = {
    domain: [Lesson.from_json(one) for one in _DATA[domain]] for domain in DOMAINS
}
_TREE = hash_text(repr((TREES, AMBIGUITY_WORDS, MARKS, KINDS, MARK, SLIDER, YES_OR_NO, FAITHFUL)))
PROTOCOL_HASH = hash_text(f"{PROMPTS.hash} {hash_text(_TRAINING)} {_TREE}")
"""Of all that an annotator is told and asked."""


_CHECK: dict[str, str] = _DATA["check"]
_HARMLESS, _WRONG = (_find(_CHECK["output"], _CHECK[kind]) for kind in ("harmless", "wrong"))
CHECK = Pair(
    "hotel",
    _CHECK["input"],
    _CHECK["output"],
    "rule-based",
    ("too_strong",),
    divergent_output=(_HARMLESS, _WRONG),
    wrong=(_WRONG,),
)
"""The comprehension check of the hotel domain, in the form of Table 10."""


def passes(found: Annotation) -> bool:
    """Whether the check is passed: the relation, which one path alone leads to, and the highlights.

    The harmless addition and the wrong one are marked as divergent, the wrong one alone as wrong.
    """
    divergent, wrong = found.divergent_output or (), found.wrong or ()
    return (
        found.relation in CHECK.labels
        and _covers(divergent, _HARMLESS)
        and _covers(divergent, _WRONG)
        and _covers(wrong, _WRONG)
        and not any(a < _HARMLESS[1] and _HARMLESS[0] < b for a, b in wrong)
    )


def _covers(spans: Sequence[Span], wanted: Span) -> bool:
    return any(start <= wanted[0] and wanted[1] <= end for start, end in spans)


def opening(domain: Domain) -> tuple[Message, ...]:
    """The guidelines, which begin every conversation."""
    return ({"role": "system", "content": PROMPTS.prompt(domain).system},)


def show(input: str, output: str) -> str:
    """A pair, as it is shown."""
    return f"Input:\n{input}\n\nOutput:\n{output}\n"


def lessons(domain: Domain, added: bool = True) -> list[Lesson]:
    """The exercises; without ``added`` none on questions that the paper's tree lacks."""
    asked = QUESTIONS[domain]
    own = [name for name, one in asked.items() if added or one.unless is None]
    return [one for one in LESSONS[domain] if one.ask in (*own, *MARKS)]


def train(domain: Domain, added: bool = True) -> Script[tuple[str, int]]:
    """Exercises, each with the feedback that its answer deserves.

    Returns:
        The feedback on the last, for the turn that follows, and how many answers were right.
    """
    feedback, right = "", 0
    for number, one in enumerate(lessons(domain, added), 1):
        shown = f"{feedback}Exercise {number}.\n\n{show(one.input, one.output)}\n"
        try:
            if isinstance(one.answer, bool):
                said = yield _turn(shown, QUESTIONS[domain][one.ask])
                found = said == one.answer
            else:
                read = partial(read_quotes, side(one, one.ask))
                spans = yield Turn(shown + MARKS[one.ask], MARK, read)
                said = found = all(any(a < y and x < b for a, b in spans) for x, y in one.wanted)
        except Unreadable:
            feedback = f"{WORDING['not_read']}\n\n"
        else:
            feedback = f"{one.feedback[said]}\n\n"
            right += found
    return feedback, right


def annotate(
    annotator: str, pair: Pair, before: str = "", passed: bool | None = None, added: bool = True
) -> Script[Annotation]:
    """One pair, step by step: highlights and slider in the hotel domain, kinds in the logic domain.

    ``before`` is said first; labels and spans of the pair are not shown; ``added`` asks questions
    that the paper's tree lacks as well.
    """
    marks: dict[str, Any] = {}
    comments: list[str] = []
    path: dict[str, bool] = {}
    kinds: tuple[Ambiguity, ...] = ()
    shown = f"{before}{show(pair.input, pair.output)}\n"
    relation, unscored, slider = None, "", None

    def mark(what: str, shown: str = "") -> Generator[Turn, Any, None]:
        """What is highlighted; nothing but a comment why where that cannot be read."""
        marks[what] = None
        try:
            read = partial(read_quotes, side(pair, what))
            marks[what] = yield Turn(shown + MARKS[what], MARK, read)
        except Unreadable as error:
            comments.append(f"{what}: {error}")

    try:
        if pair.domain == "hotel":
            yield from mark("divergent_input", shown)
            yield from mark("divergent_output")
            shown, marks["wrong"] = "", ()
        while isinstance(asked := follow(pair.domain, path, added)[1], Question):
            path[asked.id] = yield _turn(shown, asked)
            shown = ""
            if asked.id == AMBIGUOUS and path[AMBIGUOUS]:
                words = "\n".join(f"{name}: {what}" for name, what in AMBIGUITY_WORDS.items())
                kinds = yield Turn(f"What makes it ambiguous?\n{words}", KINDS, read_kinds)
            if asked.id == "wrong" and path["wrong"]:
                yield from mark("wrong")
        relation = asked
    except Unreadable as error:
        unscored = f"after {len(path)} answers: {error}"
    if pair.domain == "hotel" and relation:
        try:
            slider = yield Turn(FAITHFUL, SLIDER, read_slider)
        except Unreadable as error:
            comments.append(f"slider: {error}")
    comment = "; ".join(comments)
    return Annotation(
        annotator, pair.id, path, relation, unscored, kinds, **marks, slider=slider,
        comment=comment, passed_check=passed,
    )  # fmt: skip


def _turn(shown: str, question: Question) -> Turn:
    return Turn(f"{shown}{question.means}\n{question.ask}", YES_OR_NO, read_yes_no)


def _refuse(kind: str, said: str, why: str = "") -> NoReturn:
    line = " ".join(said.split())
    line = line if len(line) <= 80 else f"{line[:80]}..."
    raise Unreadable(kind, f"{why or f'That is {kind}'}: {line}")


def read_yes_no(said: str) -> bool:
    """Yes or no, marks around it aside; anything else, prose too, is :class:`Unreadable`."""
    match = _YES_OR_NO.fullmatch(said) or _refuse("neither yes nor no", said)
    return match[1].casefold() == "yes"


def read_kinds(said: str) -> tuple[Ambiguity, ...]:
    """Kinds of ambiguity in the order of all; none, or more than them, is :class:`Unreadable`."""
    named = {part.strip(" .*\"'`").replace(" ", "_") for part in said.casefold().split(",")}
    if not named <= set(AMBIGUITIES):
        _refuse("no kind of ambiguity", said, "That names no such kind")
    return tuple(kind for kind in AMBIGUITIES if kind in named)


def read_slider(said: str) -> int:
    """A number from 1 to 7; anything else is :class:`Unreadable`."""
    match = _SLIDER.fullmatch(said) or _refuse("no number from 1 to 7", said)
    return int(match[1])


def read_quotes(text: str, said: str) -> tuple[Span, ...]:
    """The places of the pieces that are quoted, one a line; of the same quote twice the next place.

    Raises:
        Unreadable: a line that is not in the text.
    """
    lines = map(_QUOTED.fullmatch, said.splitlines())
    quotes: Sequence[str] = [match[1] for match in lines if match and match[1]]
    if not quotes:
        raise Unreadable("nothing quoted", "Nothing is quoted.")
    if [quote.upper() for quote in quotes] == [NOTHING]:
        return ()
    found: set[Span] = set()
    for quote in quotes:
        places = [m.span() for m in re.finditer(re.escape(quote), text, re.IGNORECASE)]
        places = places or _refuse("not a quote", quote, "This is not in the text")
        found.add(next((place for place in places if place not in found), places[-1]))
    return tuple(sorted(found))
