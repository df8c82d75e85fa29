"""Stored answers: one file a system and context, appended to while a model generates.

An answer is kept for one example and one hash of everything it depends on (model, prompt,
sampling). Answers made under other settings are set aside under their hash, never mixed in,
and taken back when those settings return.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.exact_match import Opinion
from tablemend.records import Answer, ContextKind, Judgement
from tablemend.runs import append_jsonl, hash_text, read_jsonl, read_object, write_json

SETTINGS = "settings.json"
DAMAGED = "move the folder away to generate again"
SYNC_SECONDS = 2.0
"""A power cut loses at most what was answered in so many seconds; a kill loses nothing."""


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
        opinions: one of each second scorer, in the same order everywhere.
    """

    stored: Stored
    judgement: Judgement
    opinions: tuple[Opinion, ...] = ()


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

    def take_up(self, system: str, context: ContextKind, settings: dict[str, Any]) -> str:
        """Make the system's file hold answers of these settings alone, and note the settings.

        Returns:
            What was set aside or taken back, in one line; empty where the file fits.
        """
        key = settings_hash(settings)
        self._note(key, settings)
        path = self.path(system, context)
        found = self.settings_key(system, context)
        if found == key:
            return ""
        notes = []
        if found is not None:
            aside = self._aside(path, found)
            path.replace(aside)
            notes.append(f"{path} is of other settings: kept as {aside.name}")
        earlier = self._aside(path, key)
        if earlier.exists():
            earlier.replace(path)
            notes.append(f"{earlier} is of these settings: taken back as {path.name}")
        return "; ".join(notes)

    def any(self) -> bool:
        """Whether an answer is stored."""
        return next(iter(self.folder.glob("*.*.jsonl")), None) is not None

    def append(self, settings_key: str, stored: Sequence[Stored], *, sync: bool = True) -> None:
        """Store answers of one system and context; whole lines or none."""
        if stored:
            answer = stored[0].answer
            lines = [_line(settings_key, one) for one in stored]
            append_jsonl(self.path(answer.system, answer.context), lines, sync=sync)

    def read(self, system: str, context: ContextKind) -> dict[str, Stored]:
        """Answers by example id, the last one of each; empty where there are none.

        Raises:
            TablemendError: a line that is no answer.
        """
        path = self.path(system, context)
        answers = {}
        for number, line in enumerate(read_jsonl(path), 1):
            try:
                own = {name: line.pop(name) for name in OWN if name in line}
                del line["settings"]
                if "arm" in line:  # as systems were called before
                    line["system"] = line.pop("arm")
                answer = Answer(**line)
                answers[answer.example_id] = Stored(answer, **own)
            except (AttributeError, KeyError, TypeError) as error:
                raise TablemendError(
                    f"{path}:{number} is no stored answer ({error}): move the file away to "
                    "generate again"
                ) from error
        return answers

    def settings_key(self, system: str, context: ContextKind) -> str | None:
        """Hash of the settings under which the file was made; ``None`` without a whole line."""
        first = next(iter(read_jsonl(self.path(system, context))), None)
        return None if first is None else str(first["settings"])

    def settings(self, key: str) -> dict[str, Any]:
        """What a hash stands for.

        Raises:
            TablemendError: it was never noted, or the file is gone.
        """
        known = self._read_settings()
        if key not in known:
            raise TablemendError(
                f"{self.folder / SETTINGS} does not know the settings {key} of stored answers: "
                f"{DAMAGED}"
            )
        return known[key]

    def made_with(self, system: str, context: ContextKind) -> dict[str, Any]:
        """The settings of a system's stored answers; there must be some."""
        key = self.settings_key(system, context)
        assert key is not None
        return self.settings(key)

    def _note(self, key: str, settings: dict[str, Any]) -> None:
        known = self._read_settings()
        if key not in known:
            write_json(self.folder / SETTINGS, {**known, key: settings})

    def _read_settings(self) -> dict[str, dict[str, Any]]:
        path = self.folder / SETTINGS
        return read_object(path, DAMAGED) if path.exists() else {}

    @staticmethod
    def _aside(path: Path, key: str) -> Path:
        return path.with_suffix(f".{key}.jsonl")


def settings_hash(settings: dict[str, Any]) -> str:
    """Hash of everything that a system's answers depend on, beside the example."""
    return hash_text(json.dumps(settings, sort_keys=True))


OWN = ("seconds", "cached_tokens", "estimated", "calls", "edits", "passes")
"""What a line holds beside the answer and the hash of its settings."""


def _line(settings_key: str, one: Stored) -> dict[str, Any]:
    line = {"settings": settings_key, "seconds": round(one.seconds, 4)} | one.answer.to_json()
    if one.cached_tokens:
        line["cached_tokens"] = one.cached_tokens
    if one.estimated:
        line["estimated"] = True
    if one.calls != 1:
        line["calls"] = one.calls
    if one.edits:
        line["edits"] = one.edits
    if one.passes:
        line["passes"] = one.passes
    return line


def write_out(
    generations: Generations, keys: Mapping[str, str], stream: Iterable[Stored]
) -> Iterator[Stored]:
    """Pass a stream of answers on, storing each as it comes: a kill loses those in the making.

    Args:
        generations: where they go.
        keys: hash of the settings, by system.
        stream: answers of any systems and contexts.
    """
    synced = time.monotonic()
    for one in stream:
        now = time.monotonic()
        due = now - synced >= SYNC_SECONDS
        generations.append(keys[one.answer.system], [one], sync=due)
        if due:
            synced = now
        yield one
