"""Which masked numbers follow from the tables: the votes of models and of the program, and how
they agree (FAITH, 3.2 (3), 3.5 and Table 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.backends.backend import Backend, ask, short_name
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.datasets.faith.reports import Unusable
from tablemend.errors import Stopped
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Unreadable, one_object, why_no_answer
from tablemend.tables.table import Table
from tablemend.tasks.faith.sample import write_tables
from tablemend.values.sentences import Span

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
PROMPT = "answerable"
MAX_NEW_TOKENS = 2048
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "spans": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["reasoning", "spans"],
}


class Question(NamedTuple):
    """A sentence whose numbers are in question.

    Attributes:
        name: of its own.
        tables: of its report.
        before, sentence, after: the text.
        spans: the numbers.
    """

    name: str
    tables: Sequence[Table]
    before: str
    sentence: str
    after: str
    spans: Sequence[Span]

    @property
    def marked(self) -> str:
        """The text with its numbers marked."""
        text = self.sentence
        for start, end in reversed(self.spans):
            text = f"{text[:start]}<SPAN>{text[start:end]}</SPAN>{text[end:]}"
        return " ".join(filter(None, (self.before, text, self.after)))


def vote(questions: Sequence[Question], backend: Backend) -> tuple[str, list[list[bool | None]]]:
    """What a model says of each number: answerable or not; ``None`` where it does not say.

    Returns:
        The model's name, and the votes of each question.

    Raises:
        Stopped: a request failed for good: a report is labelled by all or not at all.
        Unusable: the tables do not fit into the model's window.
    """
    requests = [
        Request(
            one.name,
            PROMPTS.render(PROMPT, tables=write_tables(one.tables), text=one.marked),
            Sampling(MAX_NEW_TOKENS),
            schema=SCHEMA,
        )
        for one in questions
    ]
    if too_long := backend.too_long(requests):
        raise Unusable(f"{backend.name}: {next(iter(too_long.values()))}")
    answers = ask(backend, requests)
    if failed := next((one for one in answers.values() if one.finish_reason == "error"), None):
        raise Stopped(f"{backend.name}: {failed.error}: the same command goes on with this report")
    return short_name(backend), [_read(answers[one.name], one) for one in questions]


def _read(completion: Completion, question: Question) -> list[bool | None]:
    if why_no_answer(completion):
        return [None] * len(question.spans)
    try:
        found = one_object(completion.answer, ("spans",))["spans"]
    except Unreadable:
        return [None] * len(question.spans)
    if not isinstance(found, dict):
        return [None] * len(question.spans)
    said = {_plain(name): str(label).strip().lower() for name, label in found.items()}
    labels = {"answerable": True, "unanswerable": False}
    return [labels.get(said.get(_plain(question.sentence[a:b]), "")) for a, b in question.spans]


def _plain(span: str) -> str:
    return " ".join(span.replace("<SPAN>", "").replace("</SPAN>", "").split()).casefold()


def decide(votes: Mapping[str, bool | None], quorum: int | None) -> bool:
    """Whether enough annotators call a number answerable; a vote that is missing is none."""
    return sum(one is True for one in votes.values()) >= (quorum or len(votes))


def pattern_of(votes: Mapping[str, bool | None]) -> str:
    """How a number's votes fall, as Table 1 counts them: ``2 yes, 1 no``."""
    counted = Counter(votes.values())
    silent = f", {counted[None]} silent" if counted[None] else ""
    return f"{counted[True]} yes, {counted[False]} no{silent}"
