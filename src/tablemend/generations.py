"""Stored answers: one file a system and context, appended to while a model generates.

A file's first line holds all that its answers depend on (model, prompt, sampling). Answers made
under other settings are set aside under the hash of theirs, never mixed in, and taken back when
those settings return.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.records import Answer, ContextKind, Finding, Judgement
from tablemend.runs import Store, hash_settings, settings_of


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer and what generating it took.

    Attributes:
        answer: the generation.
        seconds: time since the answer before it (answers of a batch are made together: only
            the sum over a system means something).
        cached_tokens: tokens of the prompt that the engine had read before.
        estimated: the token counts are estimates, as the server gave none that can be.
        calls: requests to models that it took; more than one where an answer was mended by a model.
        edits: changes that a mitigation made to it.
        passes: how often the mitigation went over it.
    """

    answer: Answer
    seconds: float
    cached_tokens: int = 0
    estimated: bool = False
    calls: int = 1
    edits: int = 0
    passes: int = 0

    @property
    def computed_tokens(self) -> int:
        """Tokens of the prompt that were not known before, and of the answer."""
        answer = self.answer
        return max(0, answer.prompt_tokens - self.cached_tokens) + answer.completion_tokens

    @property
    def failed(self) -> bool:
        """The request failed for good, and may be asked again."""
        return self.answer.finish_reason == "error"


@dataclass(frozen=True, slots=True)
class Scored:
    """One stored answer and its judgement.

    Attributes:
        stored: the answer.
        judgement: the detector's.
        second: the second scorer's; ``None`` where there is none.
        wrong_references: of its thought.
    """

    stored: Stored
    judgement: Judgement
    second: Judgement | None = None
    wrong_references: tuple[Finding, ...] = ()


ScoredSystems = Mapping[str, Mapping[ContextKind, Mapping[str, Scored]]]
"""system -> context -> example id -> answer and judgement; systems in the recipe's order."""


@dataclass(frozen=True, slots=True)
class Generations:
    """The stored answers of a run.

    Attributes:
        folder: ``runs/<name>/generations``.
    """

    folder: Path

    def path(self, system: str, context: ContextKind) -> Path:
        """File with the answers of one system on one context."""
        return self.folder / f"{system}.{context}.jsonl"

    def take_up(self, system: str, context: ContextKind, settings: Mapping[str, Any]) -> str:
        """Make the system's file hold answers of these settings alone.

        Returns:
            What was set aside or taken back, in one line; empty where the file fits.
        """
        path, key = self.path(system, context), hash_settings(settings)
        found = self.settings_key(system, context)
        if found == key:
            return ""
        notes = []
        if found is not None:
            aside = path.with_suffix(f".{found}.jsonl")
            path.replace(aside)
            notes.append(f"{path} is of other settings: kept as {aside.name}")
        earlier = path.with_suffix(f".{key}.jsonl")
        if earlier.exists():
            earlier.replace(path)
            notes.append(f"{earlier} is of these settings: taken back as {path.name}")
        return "; ".join(notes)

    def any(self) -> bool:
        """Whether an answer is stored."""
        return next(iter(self.folder.glob("*.*.jsonl")), None) is not None

    def store(
        self, system: str, context: ContextKind, settings: Mapping[str, Any] | None = None
    ) -> Store:
        """The file of a system and context."""
        return Store(self.path(system, context), "example_id", settings)

    def read(self, system: str, context: ContextKind) -> dict[str, Stored]:
        """Answers by example id; empty where there are none.

        Raises:
            TablemendError: a record that is no answer.
        """
        store = self.store(system, context)
        answers = {}
        for example_id, record in store.items():
            try:
                own = {name: record.pop(name) for name in OWN if name in record}
                answers[example_id] = Stored(Answer(**record), **own)
            except (KeyError, TypeError) as error:
                raise TablemendError(
                    f"{store.path}: {example_id!r} is no stored answer ({error}): move the file "
                    "away to generate again"
                ) from error
        return answers

    def settings(self, system: str, context: ContextKind) -> dict[str, Any] | None:
        """What a system's stored answers were made with; ``None`` where there are none."""
        return settings_of(self.path(system, context))

    def settings_key(self, system: str, context: ContextKind) -> str | None:
        """Hash of :meth:`settings`."""
        settings = self.settings(system, context)
        return None if settings is None else hash_settings(settings)


OWN = ("seconds", "cached_tokens", "estimated", "calls", "edits", "passes")
"""What a record holds beside the answer."""


def write_out(
    generations: Generations, settings: Mapping[str, Mapping[str, Any]], stream: Iterable[Stored]
) -> Generator[Stored]:
    """Pass a stream of answers on, storing each as it comes: a kill loses those in the making.

    Args:
        generations: where they go.
        settings: what the answers of each system depend on.
        stream: answers of any systems and contexts.
    """
    with ExitStack() as stack:
        stores: dict[tuple[str, ContextKind], Store] = {}
        for one in stream:
            system, context = one.answer.system, one.answer.context
            if (system, context) not in stores:
                store = generations.store(system, context, settings[system])
                stores[system, context] = stack.enter_context(store)
            took = {name: getattr(one, name) for name in OWN} | {"seconds": round(one.seconds, 4)}
            stores[system, context].put(took | one.answer.to_json())
            yield one
