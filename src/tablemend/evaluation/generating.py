"""Answering what is not stored yet: every model is opened once, for all systems that share it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

from tqdm import tqdm

from tablemend.backends.backend import Backend, Spent, open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Completion, Request, stream_seed
from tablemend.errors import MOST_FAILURES, Stopped, TablemendError
from tablemend.evaluation.systems import IN_PROCESS, STAGE, ResolvedSystem, why_untrained
from tablemend.generations import Generations, Stored, write_out
from tablemend.mitigations.mitigation import Constraint
from tablemend.recipe.experiment import Comparison
from tablemend.records import Answer, ContextKind
from tablemend.runs import Run
from tablemend.tasks.task import Sample

NOTED_AFTER = 32
"""Answers after which the manifest says what is spent: a kill loses no more of it."""
TRIED_TOGETHER = 128
"""Requests of a task that asks again, which are in flight together."""
IMPOSSIBLE = "not_possible"
"""In the manifest: what :func:`generate` returns."""
Part = tuple[ResolvedSystem, ContextKind, list[Sample]]
"""What one system has not answered on one context."""


def generate(
    systems: Sequence[ResolvedSystem], examples: Sequence[Sample], config: Comparison, run: Run
) -> dict[str, str]:
    """Answer what is not stored yet, and ask again what failed.

    Returns:
        The systems that cannot be run here, and why: what their model cannot do is asked first.

    Raises:
        Stopped: so many requests failed in a row that a server must be gone; what is answered
            is stored.
        TablemendError: a prompt that does not fit into its model's window, before any model is
            loaded; a cap that is reached, or a model that cannot be loaded: likewise.
    """
    generations = Generations(run.path / "generations")
    impossible = impossible_systems(systems, examples, config)
    with ExitStack() as stack:
        models = []
        possible = [one for one in systems if one.after is None and one.name not in impossible]
        for own in _by_model(possible):
            first = own[0]
            opened = open_backend(first.model, first.options, attn=config.model.attn)
            backend = stack.enter_context(opened)
            noted = run.recorded(STAGE).get("spent", {}).get(backend.name, {})
            backend.go_on(Spent(**noted))
            models.append(_Queue(backend, own, examples, config.contexts, generations, impossible))
        for model in models:
            model.check()
        total = sum(len(missing) for model in models for _, _, missing in model.parts)
        with tqdm(total=total, unit="answer", disable=total == 0, file=sys.stderr) as progress:
            for model in models:
                try:
                    model.answer(generations, progress, run)
                finally:
                    model.record(run)
                    model.backend.close()
    for system in systems:
        if system.after in impossible:
            impossible[system.name] = f"it edits the answers of {system.after}"
    run.record(STAGE, {**run.recorded(STAGE), IMPOSSIBLE: impossible})
    return impossible


def too_long(
    systems: Sequence[ResolvedSystem], samples: Sequence[Sample], config: Comparison
) -> set[str]:
    """Ids of the samples of which a prompt does not fit its model's window; nothing is loaded."""
    found = set()
    for own in _by_model([one for one in systems if one.after is None]):
        with open_backend(own[0].model, own[0].options, attn=config.model.attn) as backend:
            for system in own:
                for context in config.contexts:
                    asked = {one.id: request_of(system, context, one) for one in samples}
                    misfits = backend.too_long(list(asked.values()))
                    found |= {name for name, request in asked.items() if request.id in misfits}
    return found


def _by_model(systems: Sequence[ResolvedSystem]) -> list[list[ResolvedSystem]]:
    """Systems that one backend answers, in the recipe's order."""
    groups: dict[tuple[ModelName, str], list[ResolvedSystem]] = {}
    for system in systems:
        key = system.model, system.options.model_dump_json()
        groups.setdefault(key, []).append(system)
    return list(groups.values())


class _Queue:
    """One model, and what its systems have not answered.

    Attributes:
        backend: the model, opened and not loaded.
        settings: what answers depend on, by system.
        parts: what is missing.
        failed: ids of the requests that failed in an earlier command.
        impossible: systems that cannot be run, and why.
        noted: what of this command's spending the manifest holds.
    """

    def __init__(
        self,
        backend: Backend,
        systems: Sequence[ResolvedSystem],
        examples: Sequence[Sample],
        contexts: Sequence[ContextKind],
        generations: Generations,
        impossible: dict[str, str],
    ) -> None:
        """Take up what is stored under the same settings, and list what is missing."""
        self.backend, self.impossible = backend, impossible
        self.engine = systems[0].model.engine
        self.settings: dict[str, dict[str, Any]] = {}
        self.parts: list[Part] = []
        self.failed: set[str] = set()
        self.noted: dict[str, float] = {}
        for system in systems:
            # a server's address is left out: the same model may answer from another one
            known = {key: value for key, value in backend.identity.items() if key != "server"}
            assert not known.keys() & system.settings.keys(), (known, system.settings)
            prompts = {"prompts": system.task.versions()["prompt_hash"]}
            settings = self.settings[system.name] = {**known, **prompts, **system.settings}
            for context in contexts:
                if note := generations.take_up(system.name, context, settings):
                    print(note, file=sys.stderr)
                stored = generations.read(system.name, context)
                missing = [e for e in examples if e.id not in stored or stored[e.id].failed]
                self.failed |= {
                    name_of(system.name, context, e.id) for e in missing if e.id in stored
                }
                if missing:
                    self.parts.append((system, context, missing))
        self._systems = {system.name: system for system, _, _ in self.parts}
        self._examples = {one.id: one for _, _, missing in self.parts for one in missing}

    def check(self) -> None:
        """Refuse prompts that do not fit."""
        for system, context, missing in self.parts:
            asked = [request_of(system, context, one) for one in missing]
            if too_long := self.backend.too_long(asked):
                name, why = next(iter(too_long.items()))
                raise TablemendError(
                    f"{name}: {why} ({len(too_long)} of {len(asked)} prompts do not fit): raise "
                    "model.context_length as far as the model allows, lower "
                    "evaluation.max_new_tokens, or use examples with shorter contexts"
                )

    def answer(self, generations: Generations, progress: tqdm[Any], run: Run) -> None:
        """Ask, and store every answer as it ends.

        Raises:
            Stopped: the :data:`MOST_FAILURES` latest requests have failed. Those that an earlier
                command has seen fail do not count: what no server will ever answer must not keep
                a comparison from its end.
        """
        if not self.parts:
            return
        if self.engine in IN_PROCESS:
            progress.set_description(f"loading {self.backend.name}")
        self.backend.load()
        failures: Counter[str] = Counter()
        in_a_row = 0
        # An engine that keeps what it has read of a context gets all systems at once, so that those
        # of one context stand side by side; transformers keeps nothing, and system by system the
        # seconds are each system's own.
        rounds = [[part] for part in self.parts] if self.engine == "hf" else [self.parts]
        for parts in rounds:
            progress.set_description(self.backend.name)
            answers = self._answers(parts)
            stream = write_out(generations, self.settings, answers)
            # what is in flight at a stop is cancelled
            with closing(answers), closing(stream):
                for number, one in enumerate(stream, 1):
                    progress.update()
                    if number % NOTED_AFTER == 0:
                        self.record(run)
                    answer = one.answer
                    if not one.failed:
                        in_a_row = 0
                        system = self._systems[answer.system]
                        sample = self._examples[answer.example_id]
                        is_whole = answer.finish_reason == "stop"
                        if is_whole and not is_held(answer.text, system, answer.context, sample):
                            self.impossible[system.name] = (
                                f"an answer of {self.backend.name} does not keep to its grammar; "
                                f"{HELD}"
                            )
                        continue
                    failures[answer.error] += 1
                    name = name_of(answer.system, answer.context, answer.example_id)
                    in_a_row += name not in self.failed
                    if in_a_row == MOST_FAILURES:
                        raise Stopped(
                            f"{self.backend.name}: {in_a_row} requests in a row failed for good, "
                            f"the last because {answer.error}: mend that, and the same command "
                            "goes on and asks these again; what is answered is stored"
                        )
        if failures:
            (reason, _), *_ = failures.most_common(1)
            print(
                f"{self.backend.name}: {failures.total()} requests failed, most often: {reason}. "
                "They count as unscored; the same command asks them again",
                file=sys.stderr,
            )

    def _answers(self, parts: Sequence[Part]) -> Generator[Stored]:
        """Answers as they end; one that its task cannot read is asked for again, as often as the
        task says, and the last one counts.
        """
        tries = max(system.task.tries for system, _, _ in parts)
        requests = self._requests(parts)
        if tries == 1:
            completions = self.backend.generate(requests)
            assert isinstance(completions, Generator)
            with closing(completions):
                yield from map(_stored, completions)
            return
        while chunk := list(islice(requests, TRIED_TOGETHER)):  # a kill loses no more
            yield from self._tried(chunk, tries)

    def _tried(self, asked: Sequence[Request], tries: int) -> Iterator[Stored]:
        """Answers to some requests, unreadable ones asked for again."""
        before: dict[str, Stored] = {}
        for number in range(1, tries + 1):
            known = {request.id: request for request in asked}
            again: list[Request] = []
            completions = self.backend.generate(list(asked))
            assert isinstance(completions, Generator)
            with closing(completions):
                for completion in completions:
                    one = _stored(completion, before.get(completion.id))
                    chat = None
                    if number < tries and completion.finish_reason == "stop":
                        task = self._systems[one.answer.system].task
                        chat = task.ask_again(known[completion.id].messages, completion.text)
                    if chat is not None:
                        anew = replace(known[completion.id], messages=chat)
                        if not self.backend.too_long([anew]):
                            before[anew.id] = one
                            again.append(anew)
                            continue
                    yield one
            if not again:
                return
            asked = again

    def record(self, run: Run) -> None:
        """Note in the manifest what was spent, by this command and those before it."""
        before = run.recorded(STAGE)
        spent = before.get("spent", {})
        total = dict(spent.get(self.backend.name, {}))
        for name, value in asdict(self.backend.spent).items():
            if value is not None:  # no prices, no cost
                total[name] = total.get(name, 0) + value - self.noted.get(name, 0)
                self.noted[name] = value
        run.record(STAGE, {**before, "spent": {**spent, self.backend.name: total}})

    def _requests(self, parts: Sequence[Part]) -> Iterator[Request]:
        """Requests that share what they show one after the other, then those of one example."""
        first: dict[str, int] = {}
        order: dict[str, tuple[int, int]] = {}
        for place, example in enumerate(self._examples.values()):
            shared = first.setdefault(parts[0][0].task.context_id(example), place)
            order[example.id] = shared, place
        wanted = [(system, context, one) for system, context, missing in parts for one in missing]
        # stable: systems stay in the recipe's order
        wanted.sort(key=lambda asked: (order[asked[2].id][0], asked[1], order[asked[2].id][1]))
        for system, context, example in wanted:
            if system.name not in self.impossible:
                yield request_of(system, context, example)


def _stored(completion: Completion, before: Stored | None = None) -> Stored:
    """An answer, and what it took; ``before`` is the try that was not taken."""
    system, context, example_id = completion.id.rsplit(".", 2)
    prompt, tokens = completion.prompt_tokens, completion.completion_tokens
    seconds, cached = completion.seconds, completion.cached_tokens
    if before is not None:
        prompt += before.answer.prompt_tokens
        tokens += before.answer.completion_tokens
        seconds, cached = seconds + before.seconds, cached + before.cached_tokens
    answer = Answer(
        example_id=example_id,
        system=system,
        context=context,
        text=completion.text,
        prompt_tokens=prompt,
        completion_tokens=tokens,
        finish_reason=completion.finish_reason,
        error=completion.error,
    )
    calls = 1 if before is None else before.calls + 1
    return Stored(answer, seconds, cached, completion.estimated, calls)


HELD = (
    "this mitigation needs transformers, vLLM, or a server that knows vLLM's structured_outputs (a "
    "vLLM server without a reasoning parser)"
)


def impossible_systems(
    systems: Sequence[ResolvedSystem], examples: Sequence[Sample], config: Comparison
) -> dict[str, str]:
    """Why systems cannot be run: what cannot be trained, and on a server what holds answers to a
    grammar, where one sample of each is asked.
    """
    found = {one.name: why for one in systems if (why := why_untrained(config, one))}
    for system in systems:
        if not isinstance(system.mitigation, Constraint) or system.model.engine != "openai":
            continue
        context = config.contexts[0]
        request = request_of(system, context, examples[0])
        try:
            with open_backend(system.model, system.options) as backend:
                (completion,) = backend.generate([request])
        except Stopped:
            raise
        except TablemendError as error:
            found[system.name] = str(error)
            continue
        if completion.finish_reason == "error" and completion.error.endswith("(1 try)"):
            found[system.name] = f"the server refuses the request, {completion.error}"
        elif completion.finish_reason == "stop" and not is_held(
            completion.text, system, context, examples[0]
        ):
            found[system.name] = f"an answer of {system.model} does not keep to its grammar; {HELD}"
    return found


def is_held(text: str, system: ResolvedSystem, context: ContextKind, sample: Sample) -> bool:
    """Whether a whole answer keeps to the grammar that it was asked for with, if any."""
    held, format = system.mitigation, system.task.format
    if not isinstance(held, Constraint):
        return True
    assert format is not None
    return held.is_kept(text, system.task.evidence(sample, context), format)


def request_of(system: ResolvedSystem, context: ContextKind, example: Sample) -> Request:
    """What a system is asked of one sample."""
    name, held = name_of(system.name, context, example.id), system.mitigation
    grammar = None
    if isinstance(held, Constraint):  # nothing of the gold is used
        assert system.task.format is not None
        grammar = held.grammar(system.task.evidence(example, context), system.task.format)
    return Request(
        id=name,
        messages=system.task.messages(example, context, system.prompt),
        sampling=system.sampling,
        thinking=system.thinking != "off",
        grammar=grammar,
        seed=stream_seed(system.seed, name) if system.sampling.temperature else 0,
    )


def name_of(system: str, context: ContextKind, example_id: str) -> str:
    """Id of a request; :func:`.generating._stored` takes it apart."""
    return f"{system}.{context}.{example_id}"
