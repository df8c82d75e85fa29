"""A task: one family of benchmarks, and all that the rest of tablemend knows of it.

Training, evaluation, mitigations and reports ask the same object. A new benchmark is a class with
these methods in a folder of its own, and one line in :data:`tablemend.tasks.TASKS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from tablemend.config import BackendOptions, Format, Source
from tablemend.config.section import Serialisation
from tablemend.records import Judgement, Metric, Relation, SampleView, is_flawless

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence


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


class Task(ABC, Generic[S]):
    """One family of benchmarks, as a recipe has set it up.

    Attributes:
        name: as a recipe gives it.
        description: what a model does and what is counted, for the head of a report.
        views: how a sample can be shown, and what reports call it.
        more_views: further ones, which a recipe has to name.
        length_unit: what :attr:`SampleView.length` counts.
        prompts: prompting strategies, the plain one first.
        metrics: columns of a report, in their order; error types among them.
        makes: the command that makes its data, for messages.
        slots: what :meth:`template` leaves open, in the order in which they are filled.
        begins: what comes before the answer itself, where a model may have thought aloud.
        second_scorer: name of a scorer that shares no code with the first; ``None``
            for none.
        mendable: whether answers are texts or tables that the rule repair can judge.
        tries: how often an answer that :meth:`ask_again` refuses is asked for.
        format: serialisation of the answers; ``None`` where they are no tables.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    views: ClassVar[Mapping[str, str]]
    more_views: ClassVar[Mapping[str, str]] = {}
    length_unit: ClassVar[str]
    prompts: ClassVar[tuple[str, ...]]
    metrics: ClassVar[tuple[Metric, ...]]
    makes: ClassVar[str]
    slots: ClassVar[tuple[str, ...]]
    begins: ClassVar[str]
    second_scorer: ClassVar[str | None] = None
    mendable: ClassVar[bool] = True
    tries: ClassVar[int] = 1
    format: Format | None = None

    def __init__(self, options: TaskOptions = DEFAULTS) -> None:
        self.options = options

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

    @abstractmethod
    def samples(self, source: Source) -> list[S]:
        """The samples of a source, at most ``source.n``, from the front.

        Raises:
            TablemendError: no such source, or a record that is no sample.
        """

    @abstractmethod
    def sample(self, record: Mapping[str, Any]) -> S:
        """The inverse of :meth:`Sample.to_json`."""

    @abstractmethod
    def messages(self, sample: S, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat that is shown to the model, in training and evaluation alike."""

    @abstractmethod
    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat with ``{slot}`` for what differs between samples, for a model card."""

    @abstractmethod
    def target(self, sample: S, view: str, thinking: str) -> str:
        """What supervised fine-tuning teaches, without the end of turn.

        Raises:
            NoTarget: nothing can be taught from this sample.
        """

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """``prompt_hash``, and of what else targets depend on; a manifest records them."""

    @abstractmethod
    def evidence(self, sample: S, view: str) -> Evidence:
        """All that a mitigation may see: never the gold."""

    @abstractmethod
    def show(self, sample: S, view: str) -> SampleView:
        """The sample for a report's reader."""

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

    @abstractmethod
    def scorer(self) -> AbstractContextManager[Scorer[S]]:
        """Load what scores answers.

        Raises:
            TablemendError: a model that cannot be loaded.
        """

    @abstractmethod
    def reward(self, weights: Mapping[str, float], thinking: str, prompt: str) -> Reward[S]:
        """What pays answers to a prompt.

        Args:
            weights: of the parts, by name.
            thinking: as the recipe says.
            prompt: the prompting strategy.
        """

    def is_flawless(self, judgement: Judgement) -> bool:
        """Whether an answer states all that it should, and nothing else."""
        return is_flawless(judgement, self.metrics)

    def relation(self, judgement: Judgement) -> Relation | None:
        """How what an answer says relates to what it should say, by logical consequence.

        ``None`` where that cannot be said, or the task has no such notion.
        """
        return None

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
