"""TabFaith: a text about a table, whose claims are verified one by one (sections 3 and 4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from tablemend.backends.requests import END_OF_THINKING
from tablemend.config.section import Serialisation
from tablemend.errors import NoTarget, TablemendError
from tablemend.foreign import FromJson
from tablemend.prompting.files import PromptFolder
from tablemend.records import (
    ABSTENTION,
    CLAIM_ERROR_NAMES,
    NO_CLAIMS,
    UNSCORED,
    Claim,
    ClaimError,
    Finding,
    Judgement,
    Metric,
    Relation,
    Share,
    Verdict,
    Verification,
    relation,
    total,
)
from tablemend.runs import hash_text
from tablemend.tables.read import write_table
from tablemend.tables.serialisations import serialise
from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.domains import Domain
from tablemend.tasks.tabfaith.summaries import Fact, InjectedError, Summary, Verbaliser, inject
from tablemend.tasks.task import Corruption, Score, Submission, Task, after_thinking
from tablemend.thinking import behind_thinking, open_thought

if TYPE_CHECKING:
    from tablemend.verifier.verifiers import Extractor, Verifier

Label = Literal["faithful", "unfaithful", "unscored"]


@dataclass(frozen=True, slots=True)
class TabFaithExample(FromJson):
    """One (table, summary, annotation) triple (TabFaith, 3.2).

    Attributes:
        domain: ``general`` or one of the three enterprise domains.
        table: what is summarised.
        summary: the text.
        facts: its claims; those of an unfaithful summary at their places, the false ones
            included.
        label: ``unscored`` of summaries of others alone, where nobody could say.
        errors: what is wrong, in the order of the text; empty unless unfaithful.
        labelled_by: ``construction``, or the verifier that labelled a summary of others.
        source: where the table stands; synthetic tables name their generator and number.
        source_hash: content hash of the table: splits are made by it.
        seed: of the data set.
        engine: what wrote summary and errors, with versions.
        id: hash of all this.
    """

    domain: Domain
    table: Table
    summary: str
    facts: tuple[Fact, ...]
    label: Label
    errors: tuple[InjectedError, ...]
    labelled_by: str
    source: str
    source_hash: str
    seed: int
    engine: str
    id: str = field(default="")

    def __post_init__(self) -> None:
        if not self.id:
            content = {name: value for name, value in self.to_json().items() if name != "id"}
            text = json.dumps(content, ensure_ascii=False, sort_keys=True)
            object.__setattr__(self, "id", hash_text(text))

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["facts"] = [fact.to_json() for fact in self.facts]
        data["errors"] = [asdict(error) for error in self.errors]
        return {"id": self.id, **data, "table": self.table.to_json()}


STAGE = "summarise"
TASKS: dict[Domain, str] = {
    "general": "Describe this table: the values that matter, how its entries compare, and what is "
    "highest or lowest.",
    "financial": "Tell an investor the key trends in this earnings table: how the figures moved "
    "from period to period, and how they stand to what was expected, where the table says so.",
    "clinical": "Tell a clinician what these laboratory results show: which values lie outside "
    "their reference range and in which direction, and which of the others are worth a word. Give "
    "no diagnosis and no advice.",
    "operations": "Tell the manager who owns this dashboard how things stand: who or what leads, "
    "who lags, and how large the gaps or changes are.",
}
PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
FINANCIAL_SENTENCES = (2, 3)
"""Of an earnings table, in the paper's prompt."""


def ask_for(
    domain: Domain,
    table: Table,
    sentences: tuple[int, int],
    serialisation: Serialisation | None = None,
) -> tuple[dict[str, str], ...]:
    """The chat that asks for a summary.

    Args:
        domain: of the table.
        table: what is to be summarised.
        sentences: fewest and most; of an earnings table at most the paper's.
        serialisation: how the table is written; ``None`` for Markdown, aligned.

    Raises:
        TableError: the table holds what Markdown cannot carry.
    """
    low, high = sentences
    if domain == "financial":
        low, high = max(low, FINANCIAL_SENTENCES[0]), min(high, FINANCIAL_SENTENCES[1])
        low, high = min(low, high), max(low, high)
    title = f"{table.title}\n\n" if table.title else ""
    written = serialise(table, serialisation) if serialisation else write_table(table, "markdown")
    return PROMPTS.render(
        STAGE,
        task=TASKS[domain],
        table=title + written,
        sentences=str(low) if low == high else f"{low} to {high}",
    )


SENTENCES = (2, 5)
"""Fewest and most that are asked for."""
EMPHASES = {
    "base": "",
    "careful": (
        " Before you answer, check each number, name and comparison once more against the table "
        "and correct what does not agree."
    ),
    "follow": " IMPORTANT: keep strictly to the table; say only what it states explicitly.",
}
"""By prompting strategy; as TableHallu's (Appendix E), in the words of this task."""
CHUNK = 64
"""Summaries that are verified together."""
VIEW = "table"

ERRORS = tuple(Metric(type, *names) for type, names in CLAIM_ERROR_NAMES.items())
METRICS = (
    *ERRORS,
    total(ERRORS, "at least one claim found wrong; claims without a verdict are not counted"),
    Metric(
        "staf",
        "STAF",
        "STAF",
        "share of the supported claims among those with a verdict; higher is better",
        "share",
    ),
    Metric(
        "coverage",
        "Claims with a verdict",
        "coverage",
        "share of the claims that the verifier could score; higher is better",
        "share",
    ),
    ABSTENTION,
    UNSCORED,
)


class TableSummary(Task[TabFaithExample]):
    """A table in, a text out.

    Args:
        options: ``verifier`` and ``extractor`` of the claims, and how their models are asked.
    """

    name = "table_summary"
    description = (
        "A model reads a table and describes it. Counted is what it says that the table does not "
        "bear out: every claim of its text is verified against the table."
    )
    views: ClassVar[Mapping[str, str]] = {VIEW: "tables"}
    length_unit = "cells of the table"
    makes = "python data_gen/tabfaith.py"
    slots = ("table",)
    begins = END_OF_THINKING
    prompts = tuple(EMPHASES)
    metrics = METRICS
    sample_type = TabFaithExample

    def messages(
        self, sample: TabFaithExample, view: str, prompt: str
    ) -> Sequence[Mapping[str, str]]:
        """The domain's prompt over the table."""
        chat = ask_for(sample.domain, sample.table, SENTENCES, self.options.serialisation)
        return _emphasise(chat, prompt)

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat over tables of any topic, with ``{table}``."""
        sentences = f"{SENTENCES[0]} to {SENTENCES[1]}"
        chat = PROMPTS.render(STAGE, task=TASKS["general"], table="{table}", sentences=sentences)
        return _emphasise(chat, prompt)

    def target(self, sample: TabFaithExample, view: str, thinking: str) -> str:
        """The faithful summary.

        Raises:
            NoTarget: the sample's summary has an error, or may have one.
            TablemendError: thinking that no summary comes with.
        """
        if sample.label != "faithful":
            raise NoTarget(f"its summary is {sample.label}")
        return after_thinking(self.name, thinking, sample.summary)

    def versions(self) -> dict[str, str]:
        """Of the prompts."""
        asked = [PROMPTS.version(STAGE), TASKS, EMPHASES, SENTENCES]
        return {"prompt_hash": hash_text(json.dumps(asked))}

    @property
    def packages(self) -> Sequence[str]:
        """Of a classifier that verifies."""
        is_nli = self.options.verifier.removeprefix("program+").startswith("nli")
        return ("torch", "transformers") if is_nli else ()

    @property
    def scoring_models(self) -> Sequence[str]:
        """Of the verifier and the extractor."""
        named = (self.options.verifier, self.options.extractor)
        return [model for one in named if (model := one.partition("llm:")[2])]

    @contextmanager
    def scorer(self) -> Iterator[SummaryScorer]:
        """STAF."""
        from tablemend.verifier.staf import open_extractor, open_verifier, opened

        options = self.options
        with (
            opened(options.verifier, lambda name: open_verifier(name, options.backend)) as verifier,
            opened(options.extractor, lambda name: open_extractor(name, options.backend)) as taking,
        ):
            yield SummaryScorer(verifier, taking)

    def relation(self, judgement: Judgement) -> Relation | None:
        """Of the summary's claims to the table, of which it is expected to say a part.

        Undecided where nothing contradicts the table, but a claim could not be scored.
        """
        if judgement.unscored:
            return None
        if judgement.abstained:
            return "tautologous"
        counts = judgement.counts
        differs = any(type != "ATT" for type in counts)
        if not differs and judgement.share("coverage") != 1.0:
            return None
        return relation(not counts, False, contradicts=differs)

    def reward(self, weights: Mapping[str, float], thinking: str, prompt: str) -> SummaryReward:
        """What is said and supported; there is nothing to weigh."""
        return SummaryReward(self, thinking)

    def corruptions(
        self, sample: TabFaithExample, view: str, gold: str, types: Sequence[str], rng: Random
    ) -> Iterator[Corruption]:
        """The faithful summary with one error that the program put into it."""
        if not sample.facts:  # a model's summary: where its claims stand is not known
            return
        verbaliser = Verbaliser(sample.table)
        summary = Summary(sample.summary, sample.facts)
        for type in types:
            made = inject(summary, verbaliser, [{cast(ClaimError, type): 1.0}], rng)
            if made is not None:
                yield Corruption(type, type, gold.removesuffix(sample.summary) + made.text)


def _emphasise(chat: Sequence[Mapping[str, str]], prompt: str) -> Sequence[Mapping[str, str]]:
    *before, user = chat
    return [*before, {**user, "content": user["content"] + EMPHASES[prompt]}]


class SummaryReward:
    """Supported claims of all claims, times how many of the gold summary's number there are.

    A claim without a verdict pays nothing, so that a policy gains nothing by writing what cannot
    be checked; one that is said again counts among all claims and among nothing else, and one safe
    sentence earns no more than its part of the gold summary's claims.

    Args:
        task: verifies.
        thinking: as the recipe says.
    """

    def __init__(self, task: TableSummary, thinking: str) -> None:
        self._task = task
        self._thinking = "empty" if thinking == "on" else thinking
        self._claims: dict[str, int] = {}
        options = task.options
        self.name = f"tablemend summary reward 1, {options.verifier}; claims: {options.extractor}"

    @cached_property
    def _verify(self) -> Callable[[str, TabFaithExample], Verification]:
        """Opened once, for all answers of a training."""
        from tablemend.evidence.source import Source as Evidence
        from tablemend.verifier.staf import open_extractor, open_verifier, verify_text

        options = self._task.options
        verifier = open_verifier(options.verifier, options.backend)
        extractor = open_extractor(options.extractor, options.backend)
        return lambda text, sample: verify_text(
            behind_thinking(text), Evidence((sample.table,)), verifier, extractor
        )

    def score(self, sample: TabFaithExample, view: str, text: str) -> Score:
        """What a summary earns.

        Raises:
            TablemendError: it could not be taken apart: that is no reward of 0.
        """
        supported, claims = self._count(sample, text)
        if sample.id not in self._claims:
            self._claims[sample.id] = self._count(sample, sample.summary)[0]
        parts = {
            "supported": supported / claims if claims else 0.0,
            "claims": min(1.0, supported / max(1, self._claims[sample.id])),
        }
        return Score(parts, parts["supported"] * parts["claims"])

    def gold(self, sample: TabFaithExample, view: str) -> str:
        """The faithful summary.

        Raises:
            NoTarget: the verifier does not support all of it, or it is not faithful.
        """
        gold = self._task.target(sample, view, self._thinking)
        if self.score(sample, view, gold).reward != 1.0:
            raise NoTarget("the verifier does not support all of its summary")
        return gold

    def _count(self, sample: TabFaithExample, text: str) -> tuple[int, int]:
        """Different supported claims, and all claims."""
        if why_no_summary(text):
            return 0, 0
        return count_claims(self._verify(text, sample))


def count_claims(found: Verification) -> tuple[int, int]:
    """Different supported claims, and all claims.

    Raises:
        TablemendError: the text could not be taken apart.
    """
    if not found.verdicts and any(note.startswith(NO_CLAIMS) for note in found.notes):
        raise TablemendError(found.notes[0])
    supported = {_said(one.claim) for one in found.verdicts if one.verdict == "supported"}
    return len(supported), len(found.verdicts)


def _said(claim: Claim) -> tuple[str, str]:
    """What a claim says, and which of its words it turns on: the same wherever it stands."""
    words = " ".join(claim.text.casefold().split())
    if claim.focus is None or claim.start is None:
        return words, ""
    start = claim.focus.start - claim.start
    return words, claim.text[start : start + claim.focus.end - claim.focus.start]


READING = "answers/2"
"""Version of what is taken for a summary."""


class SummaryScorer:
    """A verifier of claims, and what takes a text apart into them."""

    def __init__(self, verifier: Verifier, extractor: Extractor) -> None:
        self.name = f"{verifier.name}; claims: {extractor.name}; {READING}"
        self._verifier, self._extractor = verifier, extractor

    def score(self, answers: Iterable[Submission[TabFaithExample]]) -> Iterator[Judgement]:
        """One judgement an answer; each finding is a claim that is wrong."""
        from tablemend.evidence.source import Source as Evidence
        from tablemend.verifier.staf import verify_documents

        stream = iter(answers)
        while chunk := list(islice(stream, CHUNK)):
            why = [one.unscored or why_no_summary(one.text) for one in chunk]
            asked = [
                (behind_thinking(one.text), Evidence((one.sample.table,)))
                for one, reason in zip(chunk, why, strict=True)
                if not reason
            ]
            found = iter(verify_documents(asked, self._verifier, self._extractor))
            for one, reason in zip(chunk, why, strict=True):
                if reason:
                    yield Judgement(unscored=f"no answer: {reason}", scorer=self.name)
                else:
                    skipped = len(one.text) - len(behind_thinking(one.text))
                    yield self._judgement(next(found), skipped)

    def _judgement(self, found: Verification, skipped: int) -> Judgement:
        counts, claims = found.counts, len(found.verdicts)
        if not claims and (why := next((n for n in found.notes if n.startswith(NO_CLAIMS)), "")):
            return Judgement(unscored=why, scorer=self.name)
        scored = claims - counts["unscored"]
        if claims and not scored:
            return Judgement(unscored="none of its claims could be scored", scorer=self.name)
        return Judgement(
            tuple(_finding(one, skipped) for one in found.verdicts if one.wrong),
            {"staf": Share(counts["supported"], scored), "coverage": Share(scored, claims)},
            not claims,
            scorer=self.name,
        )


def why_no_summary(text: str) -> str:
    """Why an answer is no summary; empty where it may be one."""
    said = behind_thinking(text)
    if not said and open_thought(text) >= 0:
        return "its thinking never ends"
    if said.strip() and all(line.lstrip().startswith("|") for line in said.strip().splitlines()):
        return "a table, no text"
    return ""


def _finding(verdict: Verdict, skipped: int) -> Finding:
    """A wrong claim; its place counts from the beginning of the raw answer."""
    claim = verdict.claim
    assert verdict.error_type is not None and claim.start is not None and claim.end is not None
    expected = verdict.expected[0] if len(verdict.expected) == 1 else None
    return Finding(
        verdict.error_type,
        None,
        None,
        expected,
        claim.text,
        verdict.reason,
        claim.start + skipped,
        claim.end + skipped,
    )
