"""The stages of one row (TableHallu, 3.2 and Appendix A), and how its models are asked.

A row is a chain: kernel, query, constraints, verifier 1, perturbation, verifier 2 in two steps.
What a program can check it checks first; a model verifies what is left. A rejected stage is asked
again with the reasons in the prompt, a bounded number of times, and every rejection is noted.

The two steps of verifier 2 share their system text and begin with the same long text, so that an
engine with prefix caching reads it once; everywhere else the system text alone names the stage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from tablemend.backends.backend import Backend, open_backend, short_name
from tablemend.backends.requests import Completion, Message, Request, Sampling, stream_seed
from tablemend.detector.keys import primary_key
from tablemend.prompting.files import PromptFolder, after_rejection
from tablemend.prompting.replies import (
    EMPTY,
    WRONG_FIELD,
    Problem,
    Unreadable,
    one_object,
    prose,
    read_verdict,
    why_no_answer,
)
from tablemend.records import Call, CallVerdict, Condition, Constraints, Example, Fact
from tablemend.tables.read import write_table
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.engine import EXPANSION
from tablemend.tasks.tablehallu_llm.checks import (
    check_adversarial,
    check_constraints,
    check_kernel,
    check_query,
    locate_facts,
)
from tablemend.tasks.tablehallu_llm.settings import LlmSynthesis, Topic, Topics
from tablemend.tasks.tablehallu_llm.statements import KernelDraft

ENGINE = "llm/3"
"""Version of the chain; the prompts have versions of their own."""
THINKS = {None: None, "on": True, "off": False}


class Models(NamedTuple):
    """The two models (the paper: GPT-4.1 writes, Qwen3-235B verifies)."""

    generator: ChatModel
    verifier: ChatModel


class Kernel(NamedTuple):
    """The ground truth of a row: table and context, query, constraints."""

    draft: KernelDraft
    query: str
    constraints: Constraints


class RowMaker:
    """Makes the row of a number with the models of the settings, which the stack closes.

    Raises:
        TablemendError: a model cannot be had; weights are loaded with the first request.
    """

    def __init__(self, settings: LlmSynthesis, topics: Topics, stack: ExitStack) -> None:
        self._settings, self._topics = settings, topics
        sampling = Sampling(settings.max_new_tokens, settings.temperature)
        writes = settings.generator, settings.generator_options
        verifies = settings.verifying
        generator = verifier = stack.enter_context(open_backend(*writes))
        if verifies != writes:
            verifier = stack.enter_context(open_backend(*verifies))
        self._models = Models(
            ChatModel(
                short_name(generator), generator, sampling, THINKS[settings.generator_thinking]
            ),
            ChatModel(short_name(verifier), verifier, sampling, THINKS[settings.verifier_thinking]),
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What answers depend on beside the request; the address of a server is left out."""
        return {
            role: {name: value for name, value in asked.model.identity.items() if name != "server"}
            for role, asked in self._models._asdict().items()
        }

    async def make(self, number: int) -> Row:
        """The row of a number."""
        return await make_row(number, self._topics.topic(number), self._settings, self._models)

    async def leave(self) -> None:
        """Take the models out of the event loop, at its end."""
        for backend in {asked.model for asked in self._models}:
            await backend.leave()


async def make_row(number: int, topic: Topic, settings: LlmSynthesis, models: Models) -> Row:
    """Make row ``number`` with a kernel that a model writes, or give it up.

    The row depends on the settings, the topic, the number and the models' answers alone, never
    on other rows; it says what it took and what was rejected.
    """
    talk = Talk(number, settings.seed, settings.retries)
    stages = Stages(settings, models, talk)
    try:
        kernel = await stages.kernel(topic)
        adversarial, facts = await stages.perturb(kernel)
    except GivenUp:
        return Row(number, (), tuple(talk.rejections), tuple(talk.calls))
    example = Example(
        topic=topic.text,
        category=topic.category,
        domain=topic.domain,
        query=kernel.query,
        constraints=kernel.constraints,
        gold_table=kernel.draft.table,
        gold_context=kernel.draft.context,
        adversarial_context=adversarial,
        difficulty=stages.difficulty,
        facts=facts,
        source=models.generator.name,
        source_hash=kernel.draft.table.content_hash(),
        engine=ENGINE,
        seed=settings.seed,
        calls=tuple(talk.calls),
    )
    return Row(number, (example,), tuple(talk.rejections), tuple(talk.calls))


class Stages:
    """The stages of one row, each asked until it passes or is given up."""

    def __init__(self, settings: LlmSynthesis, models: Models, talk: Talk) -> None:
        self._settings, self._models, self._talk = settings, models, talk
        drawn = Random(f"{ENGINE}:{settings.seed}:{talk.number}").choice(tuple(EXPANSION))
        self.difficulty = drawn if settings.difficulty == "mixed" else settings.difficulty

    async def kernel(self, topic: Topic) -> Kernel:
        """Stage 1 and the constraints of its query, passed by verifier 1 (A.3.1).

        Raises:
            GivenUp: no kernel passed, or its query or constraints could not be had.
        """
        shape = self._settings.shape
        made: list[Kernel] = []

        async def verify(draft: KernelDraft) -> Sequence[Problem]:
            """Verifier 1, of the request for the table and its constraints too."""
            table, column, order = show_table(draft.table), draft.sort_column, draft.sort_order
            shown = {"table": table, "context": draft.context}
            query = await self._talk.draft(
                self._models.generator,
                "query",
                render("query", sort_column=column, sort_order=order, **shown),
                read_query,
                lambda query: check_query(query, draft),
            )
            constraints = await self._talk.draft(
                self._models.generator,
                "constraints",
                render("constraints", query=query, table=table),
                read_constraints,
                lambda constraints: check_constraints(constraints, draft, query),
            )
            # the query says the kernel's sort rule: that was checked
            ruled = replace(constraints, sort_column=column, sort_order=order)
            made.append(Kernel(draft, query, ruled))
            asked = render("verify_kernel", query=query, **shown)
            return await self._talk.verify(
                self._models.verifier, "verify_kernel", asked, "CORRECT", "INCORRECT"
            )

        await self._talk.draft(
            self._models.generator,
            "kernel",
            render(
                "kernel",
                topic=topic.text,
                category=topic.category,
                columns=f"{shape.min_columns} to {shape.max_columns}",
                rows=f"{shape.min_rows} to {shape.max_rows}",
            ),
            read_kernel,
            lambda draft: check_kernel(draft, shape),
            verify,
        )
        return made[-1]

    async def perturb(self, kernel: Kernel) -> tuple[str, tuple[Fact, ...]]:
        """Stage 2, passed by verifier 2: the adversarial context, the gold facts' places in both.

        Raises:
            GivenUp: nothing passed.
        """
        draft, factor = kernel.draft, EXPANSION[self.difficulty]
        shown = {
            "context": draft.context,
            "query": kernel.query,
            "constraints": json.dumps(asdict(kernel.constraints), ensure_ascii=False),
            "table": show_table(draft.table),
        }
        words = str(round(len(draft.context.split()) * factor, -2))
        nulls = [
            f"- {name} of {row[primary_key(draft.table)]}"
            for row in draft.table.rows
            for name, cell in zip(draft.table.columns, row, strict=True)
            if not cell
        ]

        async def verify(text: str) -> Sequence[Problem]:
            """Verifier 2 (A.3.2): first what was there, then what came in."""
            preserved = render("verify_preserved", adversarial=text, context=draft.context)
            added = render("verify_distractors", adversarial=text, **shown)
            if problems := await self._talk.verify(
                self._models.verifier, "verify_preserved", preserved, "YES", "NO"
            ):
                return problems
            return await self._talk.verify(
                self._models.verifier, "verify_distractors", added, "VALID", "INVALID"
            )

        text = await self._talk.draft(
            self._models.generator,
            "perturb",
            render(
                "perturb",
                nulls="\n".join(nulls) or "none",
                factor=str(factor),
                words=words,
                **shown,
            ),
            read_context,
            lambda text: check_adversarial(draft, text, self._settings.min_expansion * factor),
            verify,
        )
        return text, locate_facts(draft, text)


T = TypeVar("T")


class Rejection(NamedTuple):
    """An answer to a stage that was not taken: words to count by, the reason, which attempt."""

    stage: str
    kind: str
    text: str
    attempt: int


class Row(NamedTuple):
    """What came of one number, and everything that was paid for on its way.

    Topic, seeds and split follow from the number alone; there is no example where the row was
    given up; calls are every answer of a model, in order, also to what was thrown away; ``counts``
    are of the rows of a context.
    """

    number: int
    examples: tuple[Example, ...]
    rejections: tuple[Rejection, ...] = ()
    calls: tuple[Call, ...] = ()
    counts: Mapping[str, int] = {}

    def to_json(self) -> dict[str, Any]:
        """The row as it is stored."""
        return {
            "number": self.number,
            "rejections": [one._asdict() for one in self.rejections],
            "calls": [one._asdict() for one in self.calls],
            "counts": {**self.counts},
            "examples": [one.to_json() for one in self.examples],
        }


class ChatModel(NamedTuple):
    """A model and how it is asked; its name, as it is recorded, has no address."""

    name: str
    model: Backend
    sampling: Sampling
    thinking: bool | None = None


class GivenUp(Exception):
    """A stage that was asked often enough; the rejections say why."""


class Talk:
    """The calls and rejections of one row.

    Args:
        number, seed: the row's and the data set's; the seed of every request follows from both and
            from how many came before it in this row.
        retries: times that a rejected answer is asked for again.

    Attributes:
        failed: whether a request failed for good; then there is no verdict on the row.
    """

    def __init__(self, number: int, seed: int, retries: int) -> None:
        self.number, self._seed, self._retries = number, seed, retries
        self.calls: list[Call] = []
        self.rejections: list[Rejection] = []
        self.failed = False

    async def draft(
        self,
        asked: ChatModel,
        stage: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        check: Callable[[T], Sequence[Problem]],
        verify: Callable[[T], Awaitable[Sequence[Problem]]] | None = None,
    ) -> T:
        """Ask until an answer can be read and passes the program, then a model.

        Raises:
            GivenUp: none passed, a request failed for good, or ``verify`` gave up.
        """
        chat: Sequence[Message] = messages
        for attempt in range(self._retries + 1):
            completion = await self._call(asked, stage, chat, attempt)
            place = len(self.calls) - 1
            try:
                if problem := why_no_answer(completion):
                    # An answer that was cut or declined is no text to be mended: it is drawn anew.
                    problems, chat = [problem], messages
                else:
                    value = read(completion.answer)
                    self._note_verdict(place, "unverified")  # should the verifier give up
                    problems = list(check(value))
                    if verify is not None and not problems:
                        problems = list(await verify(value))
                    self._note_verdict(place, "rejected" if problems else "accepted")
                    if not problems:
                        return value
                    chat = with_problems(messages, completion.answer, problems)
            except Unreadable as error:
                problems = [error.problem]
                chat = with_problems(messages, completion.answer, problems)
            self.rejections += [Rejection(stage, *problem, attempt) for problem in problems]
            if self.failed:
                break
        raise GivenUp

    async def verify(
        self, asked: ChatModel, stage: str, messages: Sequence[Message], yes: str, no: str
    ) -> list[Problem]:
        """Ask until there is a verdict; one that cannot be read is neither yes nor no.

        Raises:
            GivenUp: there was none.
        """
        read = partial(read_verdict, yes=yes, no=no)
        verdict = await self.draft(asked, stage, messages, read, lambda _: ())
        if verdict.ok:
            return []
        self._note_verdict(len(self.calls) - 1, "rejected")
        return [Problem(f"{stage}: {no}", verdict.reason or f"A reader scored it {no}.")]

    async def _call(
        self, asked: ChatModel, stage: str, messages: Sequence[Message], attempt: int
    ) -> Completion:
        serial = f"{self.number}.{len(self.calls)}"
        completion = await asked.model.answer(
            Request(
                id=f"{serial}.{stage}",
                messages=messages,
                sampling=asked.sampling,
                thinking=asked.thinking,
                schema=SCHEMAS.get(stage),
                seed=stream_seed(self._seed, serial),
            )
        )
        used = completion.prompt_tokens, completion.completion_tokens, completion.finish_reason
        self.calls.append(Call(stage, attempt, version(stage), asked.name, *used, "unreadable"))
        self.failed = completion.finish_reason == "error"
        return completion

    def _note_verdict(self, place: int, verdict: CallVerdict) -> None:
        """Set the verdict of a call; verifiers may have been called since."""
        self.calls[place] = self.calls[place]._replace(verdict=verdict)


STAGES = (
    *("kernel", "query", "constraints", "perturb"),
    *("verify_kernel", "verify_preserved", "verify_distractors"),
    "word",
)

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
prompt, render, version = PROMPTS.prompt, PROMPTS.render, PROMPTS.version


def with_problems(
    messages: Sequence[Message], answer: str, problems: Iterable[Problem]
) -> tuple[dict[str, str], ...]:
    """The chat with a rejected answer and the reasons as two more turns."""
    reasons = (problem.text for problem in problems)
    return after_rejection(messages, answer, reasons, prompt("retry"))


def show_table(table: Table) -> str:
    """A table as every prompt shows it: Markdown, an empty cell as ``-``."""
    return write_table(table.filled("-"), "markdown").strip()


UNEVEN = "row of another length than the header"


def _single(value: Any) -> Any:
    """A single value as text with plain spaces; the decoder left numbers as they were written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value.split()) or None if isinstance(value, str) else value


def _end(value: Any) -> Any:
    """An end of a range; many models write null as "None"."""
    text = _single(value)
    return None if str(text).casefold() in ("none", "null", "n/a") else text


def _direction(value: Any) -> Any:
    text = value.strip().casefold() if isinstance(value, str) else value
    return {"asc": "ascending", "desc": "descending"}.get(str(text), text)


Name = Annotated[str, BeforeValidator(_single)]
CellText = Annotated[str | None, BeforeValidator(_single)]
End = Annotated[str | None, BeforeValidator(_end)]
Direction = Annotated[Literal["ascending", "descending"], BeforeValidator(_direction)]
Cells = Annotated[
    list[CellText],
    BeforeValidator(lambda one: [] if one is None else one if isinstance(one, list) else [one]),
]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Kernel(BaseModel):
    title: CellText = None
    columns: Annotated[list[Name], Field(min_length=1)]
    rows: list[list[CellText]]
    sort_column: Name
    sort_order: Direction
    context: Prose


class _Condition(BaseModel):
    column: Name
    low: End = None
    high: End = None
    values: Cells = []


class _Constraints(BaseModel):
    entity_scope: Cells
    numerical_range: End = None
    sort_column: Name
    sort_order: Direction
    conditions: list[_Condition]


class _Texts(BaseModel):
    texts: list[Prose]


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an answer, in the form that strict servers demand."""
    schema = model.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part["additionalProperties"] = False
        part["required"] = list(part["properties"])
        for field in part["properties"].values():
            field.pop("default", None)
    return schema


# of the answer to a prompt, for engines with structured output
SCHEMAS = {
    "kernel": _schema(_Kernel),
    "constraints": _schema(_Constraints),
    "word": _schema(_Texts),
}
M = TypeVar("M", bound=BaseModel)


def _read(text: str, model: type[M]) -> M:
    """``Unreadable`` is an answer that is no such object."""
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    try:
        return model.model_validate(one_object(text, required))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Unreadable(WRONG_FIELD, f'"{place}" is wrong: {first["msg"].lower()}.') from error


def read_kernel(text: str) -> KernelDraft:
    """The table and its text; every cell is the text that the model wrote, ``1.50`` included."""
    found = _read(text, _Kernel)
    width = len(found.columns)
    for number, row in enumerate(found.rows, 1):
        if len(row) != width:
            reason = f"Row {number} has {len(row)} cells, but there are {width} columns."
            raise Unreadable(UNEVEN, reason)
    table = Table.of(found.columns, found.rows, found.title or "")
    return KernelDraft(table, found.sort_column, found.sort_order, _paragraphs(found.context))


def read_texts(text: str) -> list[str]:
    """The passages asked for, each on one line."""
    return [" ".join(one.split()) for one in _read(text, _Texts).texts]


def read_query(text: str) -> str:
    """The request, as one line; ``Unreadable`` is nothing, a refusal, or more than the request."""
    query = " ".join(prose(text).split())
    if len(query) > 2 and query[0] == query[-1] in "\"'`" and query.count(query[0]) == 2:
        query = query[1:-1].strip()
    if not query:
        raise Unreadable(EMPTY, "The answer was empty.")
    return query


def read_context(text: str) -> str:
    """A text in paragraphs; ``Unreadable`` is nothing, a refusal, or data instead of prose."""
    return _paragraphs(prose(text))


def read_constraints(text: str) -> Constraints:
    """The four fields of the paper and the conditions; a ``constraints`` wrapper is opened."""
    found = _read(text, _Constraints)
    conditions = [
        Condition(one.column, one.low, one.high, tuple(filter(None, one.values)))
        for one in found.conditions
    ]
    scope, rule = tuple(filter(None, found.entity_scope)), (found.sort_column, found.sort_order)
    return Constraints(scope, found.numerical_range, *rule, tuple(conditions))


def _paragraphs(text: str) -> str:
    """Paragraphs between empty lines, each on one line."""
    return "\n\n".join(
        " ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()
    )
