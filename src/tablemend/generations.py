"""Stored answers: one file an arm and context, appended to while a model generates.

An answer is kept for one example and one hash of everything it depends on (model, prompt,
sampling). Answers made under other settings are set aside under their hash, never mixed in,
and taken back when those settings return.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.records import Answer, ContextKind
from tablemend.runs import append_jsonl, hash_text, read_jsonl, write_json

SETTINGS = "settings.json"


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer and what generating it took.

    Attributes:
        answer: the generation.
        seconds: time since the answer before it (answers of a batch are made together: only
            the sum over an arm means something).
    """

    answer: Answer
    seconds: float


@dataclass(frozen=True, slots=True)
class Generations:
    """The stored answers of a run.

    Attributes:
        folder: ``runs/<name>/generations``.
    """

    folder: Path

    def path(self, arm: str, context: ContextKind) -> Path:
        """File with the answers of one arm on one context."""
        return self.folder / f"{arm}.{context}.jsonl"

    def take_up(self, arm: str, context: ContextKind, settings: dict[str, Any]) -> str:
        """Make the arm's file hold answers of these settings alone, and note the settings.

        Returns:
            What was set aside or taken back, in one line; empty where the file fits.
        """
        key = settings_hash(settings)
        self._note(key, settings)
        path = self.path(arm, context)
        found = self.settings_key(arm, context)
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

    def append(self, settings_key: str, stored: Sequence[Stored]) -> None:
        """Store answers of one arm and context; whole lines or none."""
        if stored:
            answer = stored[0].answer
            append_jsonl(
                self.path(answer.arm, answer.context),
                [
                    {"settings": settings_key, "seconds": round(one.seconds, 4)}
                    | one.answer.to_json()
                    for one in stored
                ],
            )

    def read(self, arm: str, context: ContextKind) -> dict[str, Stored]:
        """Answers by example id; empty where there are none.

        Raises:
            TablemendError: a line that is no answer.
        """
        path = self.path(arm, context)
        answers = {}
        for number, line in enumerate(read_jsonl(path), 1):
            try:
                fields = {k: v for k, v in line.items() if k not in ("settings", "seconds")}
                answer = Answer(**fields)
                answers[answer.example_id] = Stored(answer, line["seconds"])
            except (AttributeError, KeyError, TypeError) as error:
                raise TablemendError(
                    f"{path}:{number} is no stored answer ({error}): move the file away to "
                    "generate again"
                ) from error
        return answers

    def settings_key(self, arm: str, context: ContextKind) -> str | None:
        """Hash of the settings under which the file was made; ``None`` without a whole line."""
        first = next(iter(read_jsonl(self.path(arm, context))), None)
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
                "move the folder away to generate again"
            )
        return known[key]

    def _note(self, key: str, settings: dict[str, Any]) -> None:
        known = self._read_settings()
        if key not in known:
            write_json(self.folder / SETTINGS, {**known, key: settings})

    def _read_settings(self) -> dict[str, dict[str, Any]]:
        path = self.folder / SETTINGS
        known: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
        return known

    @staticmethod
    def _aside(path: Path, key: str) -> Path:
        return path.with_suffix(f".{key}.jsonl")


def settings_hash(settings: dict[str, Any]) -> str:
    """Hash of everything that an arm's answers depend on, beside the example."""
    return hash_text(json.dumps(settings, sort_keys=True))


def write_out(
    generations: Generations, settings_key: str, stream: Iterable[Stored], at_once: int
) -> Iterator[Stored]:
    """Pass a stream of answers on, storing them ``at_once`` at a time.

    What has been generated is stored also where the stream ends in an exception or Ctrl-C; a
    kill loses fewer than ``at_once`` answers beside those in the making.
    """
    waiting: list[Stored] = []
    try:
        for one in stream:
            waiting.append(one)
            if len(waiting) >= at_once:
                generations.append(settings_key, waiting)
                waiting = []
            yield one
    finally:
        generations.append(settings_key, waiting)
