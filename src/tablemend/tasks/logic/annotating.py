"""Models as annotators: each is trained and checked once a domain, then led through every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Message, Sampling
from tablemend.datasets.logic.annotation import Annotation
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.errors import Stopped
from tablemend.runs import Run, Store, folder_of, sole_writer, write_jsonl
from tablemend.tasks.logic import protocol
from tablemend.tasks.logic.command import MAKES, AnnotateCommand
from tablemend.tasks.logic.conversation import Conversation, Script, hold
from tablemend.tasks.logic.tree import DOMAINS
from tablemend.tasks.sources import read_records

T = TypeVar("T")
TOGETHER = 64
"""Conversations that go on at once; what ends a run early takes these, the request cache aside."""
ANNOTATIONS, PAIRS = "annotations.jsonl", "pairs.jsonl"


def annotate(command: AnnotateCommand, done: Callable[[int], Any] = lambda _: None) -> Path:
    """Let every model annotate every pair; what is annotated already is not asked again.

    Args:
        command: the settings.
        done: told how many pairs are done.

    Returns:
        The run folder, with ``annotations.jsonl``, ``pairs.jsonl`` and, by annotator, all
        conversations.

    Raises:
        Stopped: a server is gone: the same command goes on.
        TablemendError: data or a model that cannot be used, or annotations of other settings.
    """
    pairs = list({one.id: one for one in read_pairs(command)}.values())
    run = Run(folder_of(command.run))
    with sole_writer(run.path):
        run.begin("annotate", command, parts=())
        write_jsonl(run.path / PAIRS, [one.to_json() for one in pairs])
        found: list[Annotation] = []
        facts = {}
        for name, model in command.models.items():
            with open_backend(model, command.options) as backend:
                own = _Annotator(name, backend, command, run.path / "annotators" / f"{name}.jsonl")
                found += own.annotate(pairs, done)
                facts[name] = own.settings
            write_jsonl(run.path / ANNOTATIONS, [one.to_json() for one in found])
        run.record("annotate", {"annotators": facts, "pairs": len(pairs)})
    return run.path


def read_pairs(command: AnnotateCommand) -> list[Pair]:
    """The pairs that a command names."""
    return read_records(command.source, Pair.from_json, MAKES)


class _Annotator:
    """One model.

    Args:
        name: of the annotator.
        backend: the model.
        command: the settings.
        path: file of its conversations.
    """

    def __init__(self, name: str, backend: Backend, command: AnnotateCommand, path: Path) -> None:
        self._name, self._backend, self._command, self._path = name, backend, command, path
        self._sampling = Sampling(command.max_new_tokens)
        self.settings = {
            "model": backend.identity,
            "protocol": protocol.PROTOCOL_HASH,
            "added": command.added,
            "thinking": command.thinking,
            "max_new_tokens": command.max_new_tokens,
        }

    def annotate(self, pairs: Sequence[Pair], done: Callable[[int], Any]) -> list[Annotation]:
        """Annotations of all pairs, in their order."""
        found: dict[str, Annotation] = {}
        with Store(self._path, "id", self.settings) as store:
            for domain in DOMAINS:
                own = [one for one in pairs if one.domain == domain]
                waiting = [one for one in own if one.id not in store]
                done(len(own) - len(waiting))
                if waiting:
                    begun = self._begin(domain, store)
                    for start in range(0, len(waiting), TOGETHER):
                        batch = waiting[start : start + TOGETHER]
                        for annotation in self._annotate(batch, begun, store):
                            found[annotation.pair] = annotation
                            done(1)
            for one in pairs:
                if one.id not in found:
                    found[one.id] = Annotation.from_json(store[one.id]["annotation"])
        return [found[one.id] for one in pairs]

    def _annotate(
        self, batch: Sequence[Pair], begun: dict[str, Any], store: Store
    ) -> list[Annotation]:
        passed = begun["passed"]
        scripts = {
            one.id: protocol.annotate(self._name, one, begun["before"], passed, self._command.added)
            for one in batch
        }
        found = []
        for id, talk in self._hold(scripts, begun["messages"]):
            if talk.result is None:  # a request failed for good, and is asked again next time
                why = f"request failed: {talk.failed}"
                found.append(Annotation(self._name, id, unscored=why, passed_check=passed))
                continue
            annotation = replace(talk.result, **_spent(talk))
            own = talk.messages[len(begun["messages"]) :]
            store.put({"id": id, "annotation": annotation.to_json(), "messages": own})
            found.append(annotation)
        return found

    def _begin(self, domain: Domain, store: Store) -> dict[str, Any]:
        """Training and, in the hotel domain, the check: the turns that every pair comes after."""
        key = f"training {domain}"
        if key in store:
            return store[key]
        talk = self._one(key, protocol.train(domain), protocol.opening(domain))
        assert talk.result is not None
        before, right = talk.result
        record = {
            "id": key,
            "right": right,
            "exercises": len(protocol.LESSONS[domain]),
            "before": before,
            "passed": None,
            "training": _spent(talk),
        }
        if domain == "hotel":
            script = protocol.annotate(
                self._name, protocol.CHECK, before, added=self._command.added
            )
            check = self._one("check", script, talk.messages)
            assert check.result is not None
            record |= {
                "before": "",
                "passed": protocol.passes(check.result),
                "check": replace(check.result, **_spent(check)).to_json(),
            }
            store.put(record | {"messages": check.messages})
        else:
            store.put(record | {"messages": talk.messages})
        return store[key]

    def _one(self, name: str, script: Script[T], before: Sequence[Message]) -> Conversation[T]:
        ((_, talk),) = self._hold({name: script}, before)
        if talk.failed:
            raise Stopped(f"{self._backend.name}: {name}: {talk.failed}: mend that and run again")
        return talk

    def _hold(
        self, scripts: dict[str, Script[T]], before: Sequence[Message]
    ) -> Iterator[tuple[str, Conversation[T]]]:
        return hold(self._backend, scripts, before, self._sampling, self._command.thinking)


def _spent(talk: Conversation[Any]) -> dict[str, Any]:
    names = ("seconds", "prompt_tokens", "completion_tokens")
    return {name: getattr(talk, name) for name in names}
