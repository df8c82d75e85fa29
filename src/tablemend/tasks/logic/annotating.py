"""Models as annotators: each is trained and checked once a domain, then led through every pair.

A solver can annotate the same pairs, by formulas that a model writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from tablemend.backends.asking import ask
from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Completion, Message, Request, Sampling, stream_seed
from tablemend.datasets.logic.pair import Annotation, Domain, Pair
from tablemend.datasets.logic.solver import Theory
from tablemend.errors import Stopped
from tablemend.prompting.replies import Unreadable, why_no_answer
from tablemend.runs import Run, Store, sole_writer, write_jsonl
from tablemend.tasks.logic import protocol
from tablemend.tasks.logic.by_solver import annotate_by_solver
from tablemend.tasks.logic.command import MAKES, SOLVER, AnnotateCommand
from tablemend.tasks.logic.protocol import Script, Turn
from tablemend.tasks.logic.tree import DOMAINS
from tablemend.tasks.sources import read_records

T = TypeVar("T")
NOTHING_SAID = "(no answer)"
TOGETHER = 64
"""Conversations that go on at once; what ends a run early takes these, the request cache aside."""
ANNOTATIONS, PAIRS = "annotations.jsonl", "pairs.jsonl"


def annotate(command: AnnotateCommand, done: Callable[[int], Any] = lambda _: None) -> Path:
    """Let every model, and the solver, annotate every pair; a model is not asked anything twice.

    ``done`` is told how many pairs are done. The run folder, which is returned, has
    ``annotations.jsonl``, ``pairs.jsonl`` and, by annotator, all conversations.

    Raises:
        Stopped: a server is gone: the same command goes on.
        TablemendError: data or a model that cannot be used, or annotations of other settings.
    """
    source = command.source.model_copy(update={"n": command.n})
    read = read_records(source, Pair.from_json, MAKES)
    pairs = list({one.id: one for one in read}.values())
    run = Run(command.folder)
    with sole_writer(run.path):
        run.begin("annotate", command, parts=())
        write_jsonl(run.path / PAIRS, [one.to_json() for one in pairs])
        found: list[Annotation] = []
        facts: dict[str, Any] = {}
        if command.formaliser:
            theory = Theory(symmetric=command.symmetric)
            with open_backend(command.formaliser, command.options) as formaliser:
                for one in annotate_by_solver(pairs, formaliser, command.added, theory):
                    found.append(one)
                    done(1)
                facts[SOLVER] = {"formaliser": formaliser.identity}
            write_jsonl(run.path / ANNOTATIONS, [one.to_json() for one in found])
        for name, model in command.models.items():
            with open_backend(model, command.options) as backend:
                own = _Annotator(name, backend, command, run.path / "annotators" / f"{name}.jsonl")
                found += own.annotate(pairs, done)
                facts[name] = own.settings
            write_jsonl(run.path / ANNOTATIONS, [one.to_json() for one in found])
        run.record("annotate", {"annotators": facts, "pairs": len(pairs)})
    return run.path


class _Annotator:
    def __init__(self, name: str, backend: Backend, command: AnnotateCommand, path: Path) -> None:
        self._name, self._backend, self._command, self._path = name, backend, command, path
        asked = ("added", "thinking", "max_new_tokens", "temperature")
        self.settings: dict[str, Any] = {one: getattr(command, one) for one in asked}
        self.settings |= {"model": backend.identity, "protocol": protocol.PROTOCOL_HASH}
        seed = stream_seed(0, name)  # one model under two names is two annotators
        sampling = Sampling(command.max_new_tokens, command.temperature)
        self._how = sampling, command.thinking, seed

    def annotate(self, pairs: Sequence[Pair], done: Callable[[int], Any]) -> list[Annotation]:
        """Annotations of all pairs, in their order."""
        with Store(self._path, "id", self.settings) as store:
            had = (store[one.id]["annotation"] for one in pairs if one.id in store)
            found = {one.pair: one for one in map(Annotation.from_json, had)}
            done(len(found))
            for domain in DOMAINS:
                own = [one for one in pairs if one.domain == domain and one.id not in store]
                for start in range(0, len(own), TOGETHER):
                    begun = self._begin(domain, store)
                    for annotation in self._annotate(own[start : start + TOGETHER], begun, store):
                        found[annotation.pair] = annotation
                        done(1)
        return [found[one.id] for one in pairs]

    def _annotate(
        self, batch: Sequence[Pair], begun: dict[str, Any], store: Store
    ) -> Iterator[Annotation]:
        before, passed, added = begun["before"], begun["passed"], self._command.added
        scripts = {p.id: protocol.annotate(self._name, p, before, passed, added) for p in batch}
        for id, talk in hold(self._backend, scripts, begun["messages"], *self._how):
            if talk.result is None:  # a request failed for good, and is asked again next time
                why = f"request failed: {talk.failed}"
                yield Annotation(self._name, id, unscored=why, passed_check=passed)
                continue
            annotation = replace(talk.result, **talk.spent)
            own = talk.messages[len(begun["messages"]) :]
            store.put({"id": id, "annotation": annotation.to_json(), "messages": own})
            yield annotation

    def _begin(self, domain: Domain, store: Store) -> dict[str, Any]:
        """Training and, in the hotel domain, the check: the turns that every pair comes after."""
        key = f"training {domain}"
        if key in store:
            return store[key]
        added = self._command.added
        lessons = protocol.train(domain, added)
        (before, right), talk = self._one(key, lessons, protocol.opening(domain))
        messages = talk.messages
        record = {
            "id": key,
            "right": right,
            "exercises": len(protocol.lessons(domain, added)),
            "training": talk.spent,
            "passed": None,
        }
        if domain == "hotel":
            script = protocol.annotate(self._name, protocol.CHECK, before, added=added)
            check, after = self._one("check", script, messages)
            record["passed"] = protocol.passes(check)
            record["check"] = replace(check, **after.spent).to_json()
            before, messages = "", after.messages
        store.put(record | {"before": before, "messages": messages})
        return store[key]

    def _one(
        self, name: str, script: Script[T], before: Sequence[Message]
    ) -> tuple[T, Conversation[T]]:
        ((_, talk),) = hold(self._backend, {name: script}, before, *self._how)
        if talk.result is None:
            raise Stopped(f"{self._backend.name}: {name}: {talk.failed}: mend that and run again")
        return talk.result, talk


# ---- conversations ----


class Conversation(Generic[T]):
    """One conversation.

    Attributes:
        messages: the turns so far, those before it included; thoughts are left out.
        result: what the script made of it; ``None`` before its end, or where it broke off.
        failed: why it broke off, as a request failed for good; empty otherwise.
        spent: seconds and tokens of all its turns.
    """

    def __init__(self, script: Script[T], opening: Sequence[Message]) -> None:
        self.messages = list(opening)
        self.result: T | None = None
        self.failed = ""
        self.spent: dict[str, Any] = {"seconds": 0.0, "prompt_tokens": 0, "completion_tokens": 0}
        self._script = script
        self._say(next(script))

    def _say(self, turn: Turn, text: str = "") -> None:
        """A turn, or why its answer could not be read."""
        self._turn, self._retried = turn, bool(text)
        self.messages.append({"role": "user", "content": f"{text or turn.text}\n{turn.form}"})

    def hear(self, completion: Completion) -> bool:
        """Take an answer; whether the conversation is at its end."""
        for name in self.spent:
            self.spent[name] += getattr(completion, name)
        if completion.finish_reason == "error":
            self.failed = completion.error
            return True
        self.messages.append({"role": "assistant", "content": completion.answer or NOTHING_SAID})
        try:
            try:
                if problem := why_no_answer(completion):
                    raise Unreadable(*problem)
                value = self._turn.read(completion.answer)
            except Unreadable as error:
                if self._retried:
                    self._say(self._script.throw(error))
                else:
                    self._say(self._turn, error.problem.text)
            else:
                self._say(self._script.send(value))
        except StopIteration as end:
            self.result = end.value
            return True
        return False


def hold(
    backend: Backend,
    scripts: Mapping[str, Script[T]],
    opening: Sequence[Message],
    sampling: Sampling,
    thinking: bool | None = None,
    seed: int = 0,
) -> Iterator[tuple[str, Conversation[T]]]:
    """Hold conversations that begin alike, all of them a turn at a time.

    ``opening`` are the turns before each of ``scripts``, whose names are for messages; yields each
    with its name as soon as it is at its end.

    Raises:
        Stopped: the server is gone.
        TablemendError: a model that cannot be used.
    """
    talks = {name: Conversation(script, opening) for name, script in scripts.items()}
    while talks:
        requests = [
            Request(name, tuple(one.messages), sampling, thinking, seed=stream_seed(seed, name))
            for name, one in talks.items()
        ]
        for name, completion in ask(backend, requests).items():
            if talks[name].hear(completion):
                yield name, talks.pop(name)
