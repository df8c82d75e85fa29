"""A FAITH set: what it can be asked for, which numbers follow from the tables of their
reports by votes of models and of the program (FAITH, 3.2 (3), 3.5, Table 1), and its writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from pydantic import Field

from tablemend.backends.backend import Backend, ask, open_backend, short_name
from tablemend.backends.names import ModelString
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config import Count, Section
from tablemend.config.section import BackendOptions
from tablemend.datasets import build
from tablemend.datasets.build import Record
from tablemend.datasets.card import LICENCE, command_of, table_of, write_card
from tablemend.datasets.splits import Shares, split_of
from tablemend.errors import Stopped
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Unreadable, one_object, why_no_answer
from tablemend.runs import hash_text, to_line
from tablemend.tables.table import Table
from tablemend.tasks.faith.derivations import Derivation, Evidence
from tablemend.tasks.faith.reports import (
    INVENTED,
    Place,
    Report,
    Unusable,
    list_places,
    open_report,
)
from tablemend.tasks.faith.sample import DERIVATIONS, MASK, SCENARIOS, MaskedSpan, write_tables
from tablemend.tasks.faith.sentences import Recogniser, find_spans, is_table
from tablemend.values.text import Span
from tablemend.workers import map_in_workers

PROGRAM = "program"


class FaithSet(Section):
    """A set of masked numbers from reports."""

    kind: Literal["faith"] = "faith"
    """What a recipe is for."""
    reports: tuple[str, ...] = (INVENTED,)
    """Where reports come from: folders of 10-K filings (HTML, inline XBRL, text; files are named
    COMPANY_anything), files of FAITH, FinQA or TAT-QA records (JSON or JSONL), or `invented`."""
    n: Count | None = Field(default=None, ge=1)
    """Most reports of each source; of `invented` 100 where it is null."""
    sentences: int = Field(default=10, ge=1)
    """Most sentences of a report, drawn at random (FAITH, 4.1: 10)."""
    tables: int = Field(default=1, ge=1)
    """Tables of an invented report."""
    spans: Recogniser = "program"
    """What finds numbers: `program`, or `spacy`."""
    annotators: tuple[Literal["program"] | ModelString, ...] = (PROGRAM,)
    """What says whether a number follows from the tables: `program`, or model strings; FAITH asks
    three models."""
    annotator_options: BackendOptions = BackendOptions()
    """How models are asked."""
    quorum: int | None = Field(default=None, ge=1)
    """Annotators that must agree that a number is answerable; null: all of them."""
    nearest_tables: int | None = Field(default=None, ge=1)
    """For models with short windows: each number comes with so many tables of its report alone,
    those that fit the masked sentence best; null: with all, as in FAITH."""
    most_characters: int = Field(default=40_000, ge=200)
    """Numbers whose tables have more are left out, and counted: nothing is cut."""
    shares: Shares = Shares()
    """Split of the companies."""
    seed: int = Field(default=0, ge=0)
    """Seed of what is drawn."""
    workers: int = Field(default=2, ge=1, le=64)
    """Processes."""
    out: str = "data/faith"
    """Folder to write into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        for source in self.reports:
            if source != INVENTED and not Path(source).exists():
                yield "reports", f"no folder or file {source}"
        names = [name.partition("@")[0] for name in self.annotators]
        if not names or len(set(names)) < len(names):
            yield "annotators", "name one or more, each once: program, or model strings"
        if not self.reports:
            yield "reports", "name a folder, a file or invented"
        if self.quorum is not None and self.quorum > len(self.annotators):
            yield "quorum", f"there are {len(self.annotators)} annotators"

    @property
    def models(self) -> tuple[str, ...]:
        """The annotators that are models."""
        return tuple(name for name in self.annotators if name != PROGRAM)


ENGINE = f"faith-2+{DERIVATIONS}"
FREE = {"kind", "workers", "out", "annotator_options"}
"""Settings that change nothing in the files."""
VOTES = "votes.jsonl"
_SEVERAL = "derivations with an equally likely other"


def make_dataset(settings: FaithSet, progress: Callable[[int], object]) -> dict[str, Any]:
    """Make a set: :func:`~tablemend.datasets.build.build_resumable`, a number a report.

    Args:
        settings: what to make and where.
        progress: called with the number of reports that are newly done.

    Raises:
        TablemendError: there is no such model, or no report that can be used.
        Stopped: a model's server is gone; the same command goes on.
    """
    noted = settings.model_dump(mode="json", exclude=FREE)
    noted["annotators"] = [name.partition("@")[0] for name in settings.annotators]
    if settings.models:
        noted["prompt"] = PROMPTS.version(PROMPT)
    drawn, out = (settings.seed, settings.tables), Path(settings.out)
    places = list_places(settings.reports, settings.n, drawn, out)
    return build.build_resumable(
        out,
        {"engine_version": ENGINE, **noted},
        len(places),
        lambda: build.OpenedSource(places, [place.hash for place in places], ()),
        lambda opened, numbers: _make(settings, opened, numbers),
        lambda counts: write_card(
            _parts(settings, counts),
            categories=["question-answering"],
            tags=["tables", "hallucination", "finance"],
            files={split: f"{split}.jsonl" for split in counts["splits"]},
            record=MaskedSpan,
        ),
        progress,
    )


def _make(settings: FaithSet, places: Sequence[Place], numbers: Sequence[int]) -> Iterator[Record]:
    """The records of these reports; models are asked report by report, in this process."""
    if not settings.models:
        yield from map_in_workers(_Maker, (settings, places), numbers, settings.workers)
        return
    with ExitStack() as stack:
        opened = [
            stack.enter_context(open_backend(name, settings.annotator_options))
            for name in settings.models
        ]
        maker = _Maker(settings, places)
        for backend in opened:
            backend.load()
        maker.voters = [partial(vote, backend=backend) for backend in opened]
        yield from map(maker, numbers)


class _Maker:
    """Makes the record of a report by its number."""

    def __init__(self, settings: FaithSet, places: Sequence[Place]) -> None:
        self._settings, self._places = settings, places
        self.voters: list[Voter] = []

    def __call__(self, number: int) -> Record:
        """All masked spans of one report, or why there are none."""
        settings, place = self._settings, self._places[number]
        try:
            report = open_report(place)
            labelled = bool(report.labels)
            drawn, votes = (report.labels, []) if labelled else self._annotated(report)
        except Unusable as error:
            return {"number": number, "skipped": (place.name, str(error)), "notes": {}}
        counts, notes, spans = Counter[str](), Counter[str](), []
        counts.update(f"votes {pattern_of(one['votes'])}" for one in votes)
        evidence = Evidence(report.tables)
        for one in drawn:
            made, way = _explained(one, evidence, settings.nearest_tables)
            if labelled or settings.models:  # who voted says how, or nobody (3.4)
                made = replace(made, scenario=one.scenario)
            size = len(write_tables(made.tables))
            if size > settings.most_characters:
                notes["a number whose tables have more than most_characters"] += 1
            elif way is None and not labelled and not settings.models:
                notes["a number that the nearest tables do not give"] += 1
            else:
                spans.append(made)
                counts["characters"] += size
                counts["tables"] += len(made.tables)
                counts[f"scenario {SCENARIOS[made.scenario]}"] += 1
                counts["derived by the program"] += way is not None
                counts[_SEVERAL] += way is not None and way.alternatives > 0
        kept: Record = {"number": number, "notes": notes}
        if votes:
            kept["beside"] = {VOTES: [to_line(one) for one in votes]}
        if not spans:
            why = "none of its numbers follows from its tables" if not notes else next(iter(notes))
            return {**kept, "skipped": (place.name, why)}
        counts["sentences"] = len(
            {(one.before, one.sentence.replace(MASK, one.answer)) for one in spans}
        )
        counts["spans"] = len(spans)
        counts[f"company {report.company}"] = 1
        return {
            **kept,
            "split": split_of(hash_text(report.company), settings.shares),
            "counts": counts,
            "line": "".join(to_line(one.to_json()) for one in spans),
        }

    def _annotated(self, report: Report) -> tuple[list[MaskedSpan], list[dict[str, Any]]]:
        """The spans that the annotators call answerable, and all of their votes."""
        asked = self._questions(report)
        masked = [
            MaskedSpan(
                company=report.company,
                report=report.name,
                tables=tuple(report.tables),
                before=one.before,
                sentence=f"{one.sentence[:start]}{MASK}{one.sentence[end:]}",
                after=one.after,
                answer=one.sentence[start:end],
                source="annotators",
            )
            for one in asked
            for start, end in one.spans
        ]
        votes: list[dict[str, bool | None]] = [{} for _ in masked]
        if PROGRAM in self._settings.annotators:
            evidence = Evidence(report.tables)
            for one, ballot in zip(masked, votes, strict=True):
                way = evidence.derive(one.sentence, one.answer, one.around)
                ballot[PROGRAM] = way is not None
        for voter in self.voters:
            name, found = voter(asked)
            for ballot, label in zip(votes, chain.from_iterable(found), strict=True):
                ballot[name] = label
        cast = [
            {"report": report.name, "sentence": one.sentence, "span": one.answer, "votes": ballot}
            for one, ballot in zip(masked, votes, strict=True)
        ]
        quorum = self._settings.quorum
        kept = [one for one, own in zip(masked, votes, strict=True) if decide(own, quorum)]
        return kept, cast

    def _questions(self, report: Report) -> list[Question]:
        settings = self._settings
        found = []
        for place, sentence in enumerate(report.sentences):
            before = report.sentences[place - 1] if place else ""
            spans = find_spans(sentence, settings.spans)
            if before and is_table(before):  # what begins the sentence may be its last cell
                spans = [one for one in spans if one.start]
            if spans and not is_table(sentence):
                after = "".join(report.sentences[place + 1 : place + 2])
                name = f"{report.name}.{place}"
                found.append(Question(name, report.tables, before, sentence, after, spans))
        rng = Random(f"faith:{settings.seed}:{report.name}")
        drawn = rng.sample(range(len(found)), min(settings.sentences, len(found)))
        return [found[place] for place in sorted(drawn)]


def describe(counts: Mapping[str, Any], settings: FaithSet) -> Iterator[str]:
    """What came of a set, in lines for a person."""
    companies = len(_counted(counts, "company "))
    yield f"{counts['counts']['spans']} masked numbers of {companies} companies"
    for name in ("scenario ", "votes "):
        yield from (f"  {name}{key}: {n}" for key, n in _counted(counts, name).items())
    yield from build.describe(counts, settings.out, settings.shares, "report")


def _counted(counts: Mapping[str, Any], start: str) -> dict[str, int]:
    """The counts whose names begin so, without their beginning."""
    found = counts["counts"]
    kept = (name for name in sorted(found) if name.startswith(start))
    return {name.removeprefix(start): found[name] for name in kept}


def _explained(
    one: MaskedSpan, evidence: Evidence, most: int | None
) -> tuple[MaskedSpan, Derivation | None]:
    """The span with the tables that fit its sentence best, its derivation from them, and the
    scenario where nobody has said it.
    """
    if most is not None:
        kept = evidence.nearest(one.sentence, one.around, most)
        one = replace(one, tables=tuple(one.tables[place] for place in kept))
        evidence = Evidence(one.tables)
    way = evidence.derive(one.sentence, one.answer, one.around)
    if way is None:
        return one, None
    scenario = one.scenario or way.scenario
    return replace(one, scenario=scenario, derivation=way.explanation), way


def _parts(settings: FaithSet, counts: Mapping[str, Any]) -> Iterator[str]:
    found, made = counts["counts"], counts["examples"]["made"]
    yield "# Masked numbers in reports"
    yield f"{found['spans']} numbers in {made} reports, by `{ENGINE}` (FAITH, section 4)."
    yield command_of("faith.py", settings, {"seed": settings.seed}, FREE)
    spans = found["spans"]
    yield table_of(
        "| this set | published: pilot | published: main",  # FAITH, Table 2
        {
            "companies": (len(_counted(counts, "company ")), 9, 453),
            "characters of the tables, mean": (round(found["characters"] / spans), 14_148, 12_843),
            "tables, mean": (round(found["tables"] / spans, 1), 14.9, 19.2),
            "sentences": (found["sentences"], 164, 1_122),
            "answerable numbers": (spans, 300, 2_406),
        },
    )
    yield table_of("scenario | numbers", _counted(counts, "scenario "))
    yield table_of("votes | numbers", _counted(counts, "votes "))
    yield f"{_SEVERAL}: {found.get(_SEVERAL, 0)}."
    yield table_of("split | reports", counts["splits"])
    yield "No company is in two splits, as far as names tell: TAT-QA's pages name none."
    yield table_of("reason for skipping a report | reports", counts["skipped"])
    yield LICENCE


PROMPTS = PromptFolder(Path(__file__).parent / "annotator_prompts")
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


Voter = Callable[[Sequence[Question]], tuple[str, list[list[bool | None]]]]


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
    found: object = None
    if not why_no_answer(completion):
        with suppress(Unreadable):
            found = one_object(completion.answer, ("spans",))["spans"]
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
