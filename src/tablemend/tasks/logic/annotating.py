"""Who annotates: models, the solver, and people by a CSV sheet.

A model is trained and checked once a domain, then led through every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field

from tablemend.backends.backend import Backend, ask, open_backend
from tablemend.backends.names import ModelString
from tablemend.backends.requests import Completion, Message, Request, Sampling, stream_seed
from tablemend.config import BackendOptions, Section, Source
from tablemend.config.section import RunFolder
from tablemend.errors import Stopped, TablemendError
from tablemend.prompting.replies import Unreadable, why_no_answer
from tablemend.records import RELATIONS
from tablemend.runs import Run, Store, folder_of, read_jsonl, sole_writer, write_jsonl, write_text
from tablemend.tables.csvtable import write_csv
from tablemend.tables.read import load_table
from tablemend.tables.table import Table
from tablemend.tasks.logic import protocol
from tablemend.tasks.logic.pair import (
    AMBIGUOUS,
    DOMAINS,
    MAKES,
    RELATION_WORDS,
    Annotation,
    Domain,
    Pair,
    follow,
    leaves,
    path_to,
)
from tablemend.tasks.logic.protocol import Script, Turn
from tablemend.tasks.logic.solver import SOLVER, Theory, annotate_by_solver
from tablemend.tasks.sources import read_records

ANNOTATES = "python eval/annotate.py"
TOGETHER = 64
"""Conversations that go on at once; what ends a run early takes these, the request cache aside."""
ANNOTATIONS, PAIRS = "annotations.jsonl", "pairs.jsonl"
SHEET, GUIDELINES = "pairs.csv", "guidelines.md"
ASKED = ("relation", "ambiguities", *protocol.MARKS, "slider", "comment")
"""Columns that an annotator fills; all but the relation may stay empty."""
T = TypeVar("T")
AnnotatorName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class PairsCommand(Section):
    """Which pairs are annotated, and where."""

    data: str = "data/logic"
    """The pairs: a folder with one file a split, or a file."""
    split: Literal["train", "validation", "test"] = "test"
    """Split of a folder."""
    n: int | None = Field(default=None, ge=1)
    """Most pairs to take, from the front; null: all."""
    added: bool = True
    """Ask what the paper's tree lacks as well: well-formedness and tautology."""
    run: RunFolder = "annotation"
    """Run folder: a name below runs/, or a path where it contains a slash."""

    @property
    def source(self) -> Source:
        """Where all the pairs are."""
        return Source(source=self.data, split=None if Path(self.data).suffix else self.split)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return folder_of(self.run)


class AnnotateCommand(PairsCommand):
    """Which models annotate which pairs, and whether the solver does."""

    models: dict[AnnotatorName, ModelString] = Field(default_factory=dict)
    """Annotators by name: model strings such as openai:MODEL@URL or hf:Qwen/Qwen3-8B."""
    formaliser: ModelString | None = None
    """One more annotator, `solver`: this model writes outputs as formulas, z3 decides them."""
    symmetric: bool = False
    """What adjoins a block is adjoined by it, to the solver."""
    options: BackendOptions = BackendOptions()
    """How they are asked."""
    thinking: bool | None = False
    """Whether a model thinks before each answer; null asks for nothing."""
    max_new_tokens: int = Field(default=512, ge=1)
    """Longest answer, thinking included."""
    temperature: float = Field(default=0, ge=0)
    """0 is greedy. Above, one model under two names is two annotators."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if not self.models and not self.formaliser:
            yield "models", "name one, or a formaliser"
        if self.formaliser and SOLVER in self.models:
            yield "models", f"{SOLVER} is the solver's own name"
        if self.symmetric and not self.formaliser:
            yield "symmetric", "only read with a formaliser"


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
        self.messages.append({"role": "assistant", "content": completion.answer or "(no answer)"})
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


class SheetCommand(PairsCommand):
    """A sheet for people who annotate pairs, and the import of what they fill in."""

    answers: Annotated[str, Field(min_length=1)] | None = None
    """Read these filled sheets instead, such as `answers='handed-in/*.csv'`; the name of a file
    is its annotator's."""
    run: RunFolder = "people"
    """Run folder: a name below runs/, or a path where it contains a slash."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if self.answers is not None and not self.files:
            yield "answers", f"no file {self.answers}"

    @property
    def files(self) -> list[Path]:
        """The filled sheets, in the order of their names."""
        pattern = Path(self.answers or "")
        return sorted(pattern.parent.glob(pattern.name)) if self.answers else []


def write_sheet(command: SheetCommand) -> Iterator[str]:
    """Write pairs.csv, guidelines.md and pairs.jsonl without labels shown; lines for a person.

    Raises:
        TablemendError: no pairs, or a run folder that has a sheet.
    """
    sheet = command.folder / SHEET
    if sheet.exists():
        raise TablemendError(f"{sheet} exists, and may be with people: give another run=")
    read = read_records(command.source, Pair.from_json, MAKES)
    pairs = list({one.id: one for one in read}.values())[: command.n]
    rows = []
    for one in pairs:  # no cell that a spreadsheet would calculate
        texts = (
            f"'{x}" if x.startswith(("=", "+", "-", "@")) else x for x in (one.input, one.output)
        )
        rows.append([one.id, *texts, *[""] * len(ASKED)])
    command.folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(command.folder / PAIRS, [one.to_json() for one in pairs])
    write_text(sheet, "\ufeff" + write_csv(Table.of(["pair", "input", "output", *ASKED], rows)))
    parts = []
    for domain in dict.fromkeys(one.domain for one in pairs):
        names = [f"- {one}: {RELATION_WORDS[one][1]}" for one in leaves(domain)]
        parts += [f"# {domain}", protocol.opening(domain)[0]["content"].strip(), "\n".join(names)]
    write_text(command.folder / GUIDELINES, "\n\n".join(parts) + "\n")
    yield f"{sheet}: {len(pairs)} pairs; each annotator fills a copy that bears the own name"


def read_answers(command: SheetCommand) -> Iterator[str]:
    """Write annotations.jsonl of all filled sheets; lines for a person.

    Raises:
        TablemendError: no sheet was written, or a file that is no filled copy of it; one line with
            file, row and column.
    """
    if not (command.folder / PAIRS).exists():
        raise TablemendError(f"{command.folder} has no sheet: give the run= that it is of")
    pairs = {one.id: one for one in map(Pair.from_json, read_jsonl(command.folder / PAIRS))}
    found: list[Annotation] = []
    for path in command.files:
        own = list(_read_sheet(path, pairs, command.added))
        found += own
        yield f"{path.stem}: {len(own)} of {len(pairs)} pairs"
    write_jsonl(command.folder / ANNOTATIONS, [one.to_json() for one in found])
    yield f"{command.folder / ANNOTATIONS}: {len(found)} annotations of {len(command.files)} sheets"


def _read_sheet(path: Path, pairs: dict[str, Pair], added: bool) -> Iterator[Annotation]:
    table = load_table(path)
    names = [(name or "").strip() for name in table.columns]
    if missing := [name for name in ("pair", "relation") if name not in names]:
        raise TablemendError(f"{path}: no column {missing[0]}: fill in a copy of {SHEET}")
    seen = set[str]()
    for number, cells in enumerate(table.rows, 2):
        row = {name: (cell or "").strip() for name, cell in zip(names, cells, strict=True)}
        where = f"{path}, row {number}"
        pair = pairs.get(row["pair"])
        if pair is None or pair.id in seen:
            why = "is no pair of this run" if pair is None else "stands there twice"
            raise TablemendError(f"{where}: {row['pair'] or 'an empty cell'} {why}")
        seen.add(pair.id)
        if row["relation"]:
            yield _annotation(path.stem, where, pair, row, added)


def _annotation(name: str, where: str, pair: Pair, row: dict[str, str], added: bool) -> Annotation:
    said = row["relation"].casefold().replace(" ", "_")
    relation = next((one for one in RELATIONS if one == said), None)
    values: dict[str, Any] = {}
    try:
        if kinds := row.get("ambiguities"):
            values["ambiguities"] = protocol.read_kinds(kinds)
        if slider := row.get("slider"):
            values["slider"] = protocol.read_slider(slider)
        for mark in protocol.MARKS:
            if quotes := row.get(mark):
                values[mark] = protocol.read_quotes(protocol.side(pair, mark), quotes)
    except Unreadable as error:
        raise TablemendError(f"{where}: {error.problem.text}") from error
    told = {AMBIGUOUS: "ambiguities" in values}
    if relation:
        told |= path_to(pair.domain, relation)
    path, leaf = follow(pair.domain, told, added)
    if relation is None or leaf != relation:
        known = ", ".join(leaves(pair.domain))
        raise TablemendError(f"{where}: no relation {row['relation']!r}: write one of {known}")
    return Annotation(name, pair.id, path, relation, **values, comment=row.get("comment", ""))
