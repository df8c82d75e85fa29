"""A task: one family of benchmarks, and all that the rest of tablemend knows of it.

Training, evaluation, mitigations and reports ask the same object. A new benchmark is a subclass of
:class:`Task` with ``name``, ``errors``, ``messages``, ``target`` and ``score`` (docs/own-task.md);
all else has a default.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

from tablemend.config import BackendOptions, Format, Source
from tablemend.config.section import Serialisation
from tablemend.errors import NoTarget, TablemendError
from tablemend.records import (
    ABSTENTION,
    UNSCORED,
    Judgement,
    Metric,
    Relation,
    SampleView,
    is_flawless,
    total,
)
from tablemend.runs import hash_text
from tablemend.tables.table import Table
from tablemend.tasks.sources import read_records
from tablemend.thinking import behind_thinking

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence
    from tablemend.tasks.trace_errors import Trace


class Sample(Protocol):
    """One exercise: what the model is shown, the gold, and the places of its facts."""

    @property
    def id(self) -> str:
        """Hash of the content."""
        ...

    @property
    def source_hash(self) -> str:
        """Hash of the table that it was made from: splits keep tables apart by it."""
        ...

    @property
    def domain(self) -> str:
        """What it is about; reports break rates down by it."""
        ...

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`Task.sample` reads back."""
        ...


class Record:
    """A sample as the JSON object that it was read from: its fields are attributes.

    ``domain`` and ``source_hash`` may be among them; without a ``source_hash`` no two samples are
    of the same table.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = dict(fields)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Record:
        """The inverse of :meth:`to_json`."""
        return cls(fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(f"the record has no field {name!r}") from None

    @property
    def id(self) -> str:
        """Hash of the content."""
        return hash_text(json.dumps(self.fields, ensure_ascii=False, sort_keys=True))

    @property
    def source_hash(self) -> str:
        """Its own field, else the id."""
        return str(self.fields.get("source_hash") or self.id)

    @property
    def domain(self) -> str:
        """Its own field, else nothing."""
        return str(self.fields.get("domain", ""))

    def to_json(self) -> dict[str, Any]:
        """The fields."""
        return self.fields


class _Slots(Record):
    """A record of which every field is ``{its name}``: what is asked for, in order."""

    def __init__(self) -> None:
        super().__init__({})

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return str(self.fields.setdefault(name, f"{{{name}}}"))


S = TypeVar("S", bound=Sample)
S_co = TypeVar("S_co", bound=Sample, covariant=True)
S_contra = TypeVar("S_contra", bound=Sample, contravariant=True)


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What a recipe says to its task.

    Attributes:
        format: serialisation of the tables that a model is to write, or is shown.
        similarity: what decides whether two cells in other words are the same.
        verifier, extractor: what checks a text, and what takes it apart into claims.
        backend: how models among these are asked.
        serialisation: how tables that a model is shown are written; ``None`` for the task's way.
    """

    format: Format = "markdown"
    similarity: str = "lexical"
    verifier: str = "program"
    extractor: str = "program"
    backend: BackendOptions = field(default_factory=BackendOptions)
    serialisation: Serialisation | None = None


DEFAULTS = TaskOptions()


class Submission(NamedTuple, Generic[S_co]):
    """One answer to be scored.

    Attributes:
        sample, view: what was shown.
        text: the raw answer.
        unscored: why there is none (a failed request); it is then unscored.
    """

    sample: S_co
    view: str
    text: str
    unscored: str = ""


class Scorer(Protocol[S_contra]):
    """What scores answers; opened once, before anything is generated."""

    name: str
    """With its version, as reports print it."""

    def score(self, answers: Iterable[Submission[S_contra]]) -> Iterator[Judgement]:
        """One judgement an answer, in order, in bounded memory."""
        ...


@dataclass(frozen=True, slots=True)
class Score:
    """What one answer earns in training on rewards.

    Attributes:
        parts: by name, each 0 to 1; those that a sample cannot have are missing.
        reward: 0 to 1; exactly 1 for the gold answer.
    """

    parts: Mapping[str, float]
    reward: float


class Reward(Protocol[S_contra]):
    """What pays answers in training on rewards; stricter than a scorer, as a policy finds every
    leniency.
    """

    name: str
    """With its version."""

    def score(self, sample: S_contra, view: str, text: str) -> Score:
        """What an answer earns; ``text`` without its end of turn, empty where it was cut."""
        ...

    def gold(self, sample: S_contra, view: str) -> str:
        """The answer that earns 1."""
        ...


class Corruption(NamedTuple):
    """A gold answer with one error put into it.

    Attributes:
        name: of the edit.
        type: the error type that the scorer must find in it.
        text: the whole answer, thinking included.
    """

    name: str
    type: str
    text: str


class AnswerScorer(Generic[S]):
    """Scores each answer alone; its name has a version."""

    def __init__(self, name: str, judge: Callable[[S, str], Judgement]) -> None:
        self.name, self._judge = name, judge

    def score(self, answers: Iterable[Submission[S]]) -> Iterator[Judgement]:
        """One judgement an answer; a failed request is unscored."""
        for one in answers:
            if one.unscored:
                yield Judgement(unscored=f"no answer: {one.unscored}", scorer=self.name)
            else:
                yield replace(self._judge(one.sample, one.text), scorer=self.name)


class AnswerReward(Generic[S]):
    """Pays each answer alone; gold is the task's target, behind the thinking."""

    def __init__(
        self, name: str, task: Task[S], thinking: str, earn: Callable[[S, str], Score]
    ) -> None:
        self.name, self._task, self._thinking, self._earn = name, task, thinking, earn

    def score(self, sample: S, view: str, text: str) -> Score:
        """What an answer earns."""
        return self._earn(sample, text)

    def gold(self, sample: S, view: str) -> str:
        """The target."""
        return self._task.target(sample, view, self._thinking)


class Task(ABC, Generic[S]):
    """One family of benchmarks, as a recipe has set it up.

    Attributes:
        name: as a recipe gives it.
        description: what a model does and what is counted, for the head of a report; by default
            the docstring's first paragraph.
        errors: the error types that answers are scored for.
        metrics: columns of a report, in their order; by default the errors, answers with any of
            them, abstentions and unscored answers.
        views: how a sample can be shown, and what reports call it.
        more_views: further ones, which a recipe has to name.
        length_unit: what :attr:`SampleView.length` counts.
        prompts: prompting strategies, the plain one first.
        makes: the command that makes its data, for messages.
        slots: what :meth:`template` leaves open, in the order in which they are filled; of records
            by default the fields that a prompt shows.
        begins: what comes before the answer itself, where a model may have thought aloud.
        second_scorer: name of a scorer that shares no code with the first; ``None``
            for none.
        mendable: whether answers are texts or tables that the rule repair can judge.
        tries: how often an answer that :meth:`ask_again` refuses is asked for.
        format: serialisation of the answers; ``None`` where they are no tables.
        sample_type: the class of its samples; ``from_json`` makes one of a JSON object.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    errors: ClassVar[tuple[Metric, ...]] = ()
    metrics: ClassVar[tuple[Metric, ...]]
    views: ClassVar[Mapping[str, str]] = {"prompt": "prompts"}
    more_views: ClassVar[Mapping[str, str]] = {}
    length_unit: ClassVar[str] = "characters"
    prompts: ClassVar[tuple[str, ...]] = ("base",)
    makes: ClassVar[str] = "the script of its task"
    begins: ClassVar[str] = ""
    second_scorer: ClassVar[str | None] = None
    mendable: ClassVar[bool] = True
    tries: ClassVar[int] = 1
    format: Format | None = None
    sample_type: ClassVar[Any] = Record

    def __init__(self, options: TaskOptions = DEFAULTS) -> None:
        self.options = options

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "description" not in cls.__dict__:
            cls.description = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
        if cls.errors and "metrics" not in cls.__dict__:
            cls.metrics = (*cls.errors, total(cls.errors, "any error"), ABSTENTION, UNSCORED)

    @property
    def packages(self) -> Sequence[str]:
        """What scoring imports beside the core, by the names that are imported."""
        return ()

    @property
    def scoring_models(self) -> Sequence[str]:
        """The model strings of what is asked to score."""
        return ()

    @property
    def default_view(self) -> str:
        """How training shows a sample where the recipe does not say: the last of :attr:`views`."""
        return tuple(self.views)[-1]

    def samples(self, source: Source) -> list[S]:
        """The samples of a source, at most ``source.n``, from the front.

        Raises:
            TablemendError: no such source, or a record that is no sample.
        """
        return read_records(source, self.sample, self.makes)

    def sample(self, record: Mapping[str, Any]) -> S:
        """The inverse of :meth:`Sample.to_json`."""
        return cast(S, self.sample_type.from_json(dict(record)))

    @abstractmethod
    def messages(self, sample: S, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat that is shown to the model, in training and evaluation alike."""

    @abstractmethod
    def target(self, sample: S, view: str, thinking: str) -> str:
        """What supervised fine-tuning teaches, without the end of turn.

        Raises:
            NoTarget: nothing can be taught from this sample.
        """

    def score(self, sample: S, answer: str) -> Judgement:
        """What is wrong with one answer; without what was thought before it.

        A task whose answers are scored together overrides :meth:`scorer`.
        """
        raise NotImplementedError(f"{self.name} scores by scorer()")

    def _open(self, prompt: str) -> tuple[Sequence[Mapping[str, str]], tuple[str, ...]]:
        sample = _Slots()
        messages = self.messages(cast(S, sample), self.default_view, prompt)
        return messages, tuple(sample.fields)

    @property
    def slots(self) -> Sequence[str]:
        """What :meth:`template` leaves open."""
        return self._open(self.prompts[0])[1]

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat with ``{slot}`` for what differs between samples, for a model card."""
        return self._open(prompt)[0]

    def versions(self) -> dict[str, str]:
        """``prompt_hash``, and of what else targets depend on; a manifest records them."""
        templates = [[dict(turn) for turn in self.template(one)] for one in self.prompts]
        return {"prompt_hash": hash_text(json.dumps(templates, ensure_ascii=False))}

    def evidence(self, sample: S, view: str) -> Evidence:
        """All that a mitigation may see: never the gold. By default the sample's table; the prompt
        of one without.
        """
        from tablemend.evidence.source import Source as Evidence  # only who verifies pays for it

        if tables := _tables_of(sample):
            return Evidence(tables)
        return Evidence(text=self.messages(sample, view, self.prompts[0])[-1]["content"])

    def show(self, sample: S, view: str) -> SampleView:
        """The sample for a report's reader. By default its table, or the prompt of one without,
        and the target as gold.
        """
        try:
            gold = self.target(sample, view, "off")
        except NoTarget:
            gold = None
        if tables := _tables_of(sample):
            title, note = tables[0].title or sample.domain, f"{sample.domain}, id {sample.id}"
            label = getattr(sample, "label", None)
            labels = {"label": (label,)} if isinstance(label, str) else {}
            return SampleView(
                sample.id, view, title, note, sample.domain, tables=tables, gold=gold, labels=labels
            )
        text = self.messages(sample, view, self.prompts[0])[-1]["content"]
        title = sample.domain or self.name
        return SampleView(sample.id, view, title, "", sample.domain, text=text, gold=gold)

    def context_id(self, sample: S) -> str:
        """Equal for samples that ask other things of the same context; reports compare these, and
        their prompts are asked side by side. By default no sample shares its context.
        """
        return sample.id

    def ask_again(
        self, chat: Sequence[Mapping[str, str]], text: str
    ) -> Sequence[Mapping[str, str]] | None:
        """The chat that asks anew for an answer that cannot be read; ``None`` where it can be."""
        return None

    def domain(self, sample: S, answers: Iterable[tuple[str, Judgement]]) -> str:
        """What reports break rates down by; ``answers`` are those of all systems."""
        return sample.domain

    def scorer(self) -> AbstractContextManager[Scorer[S]]:
        """Load what scores answers. By default :meth:`score`, answer by answer.

        Raises:
            TablemendError: a model that cannot be loaded.
        """
        judge = lambda sample, text: self.score(sample, behind_thinking(text).strip())  # noqa: E731
        return nullcontext(AnswerScorer(self.name, judge))

    def reward(self, weights: Mapping[str, float], thinking: str, prompt: str) -> Reward[S]:
        """What pays answers to a prompt. By default 1 for an answer without a fault.

        Args:
            weights: of the parts, by name.
            thinking: as the recipe says.
            prompt: the prompting strategy.
        """

        def earn(sample: S, text: str) -> Score:
            right = float(self.is_flawless(self.score(sample, behind_thinking(text).strip())))
            return Score({"flawless": right}, right)

        return AnswerReward(self.name, self, "empty" if thinking == "on" else thinking, earn)

    def is_flawless(self, judgement: Judgement) -> bool:
        """Whether an answer states all that it should, and nothing else."""
        return is_flawless(judgement, self.metrics)

    def relation(self, judgement: Judgement) -> Relation | None:
        """How what an answer says relates to what it should say, by logical consequence.

        ``None`` where that cannot be said, or the task has no such notion.
        """
        return None

    def trace_errors(self, sample: S, view: str, text: str) -> Trace | None:
        """What the thought of an answer cites, and what of it is wrong, against the sample's table.

        ``None`` where there is none: such answers count in no column.
        """
        from tablemend.tasks.trace_errors import read_trace  # only who thinks pays for it

        return read_trace(text, tables[0]) if (tables := _tables_of(sample)) else None

    def second_opinion(self, answer: Submission[S]) -> Judgement:
        """What the second scorer says of an answer that there is."""
        raise NotImplementedError(f"{self.name} has no second scorer")

    def corruptions(
        self, sample: S, view: str, gold: str, types: Sequence[str], rng: Random
    ) -> Iterator[Corruption]:
        """Gold answers with one error each: rejected answers for DPO. None by default.

        Args:
            sample: what the gold answers.
            view: how it is shown.
            gold: :meth:`target`.
            types: error types to choose from, in an order that was drawn; each is tried in turn.
            rng: draws places and values.
        """
        return iter(())


def _tables_of(sample: Sample) -> tuple[Table, ...]:
    """The table that a sample is about; none where it says so in no field of that name."""
    table = getattr(sample, "table", None)
    return (table,) if isinstance(table, Table) else ()


def after_thinking(task: str, thinking: str, answer: str, rationale: str = "") -> str:
    """A target behind the thoughts that it is taught with.

    Raises:
        TablemendError: thinking that no target of the task comes with.
    """
    thoughts = {"off": "", "empty": "<think>\n\n</think>\n\n"}
    if rationale:
        thoughts["rationale"] = f"<think>\n{rationale}\n</think>\n\n"
    if thinking not in thoughts:
        raise TablemendError(
            f"thinking={thinking} has no target in {task}: use {' or '.join(thoughts)}"
        )
    return thoughts[thinking] + answer
