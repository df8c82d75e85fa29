"""TabFaith: a text about a table, whose claims are verified one by one (sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from tablemend.backends.requests import END_OF_THINKING
from tablemend.config import Source
from tablemend.errors import NoTarget, TablemendError
from tablemend.records import (
    CLAIM_ERRORS,
    Finding,
    Judgement,
    Metric,
    SampleView,
    Share,
    Verdict,
    Verification,
)
from tablemend.tabfaith.examples import TabFaithExample
from tablemend.tabfaith.prompting import PROMPTS, STAGES, ask_for
from tablemend.tasks.metrics import ABSTENTION, UNJUDGED, total
from tablemend.tasks.sources import read_records
from tablemend.tasks.tablehallu import EMPHASES
from tablemend.tasks.task import Corruption, Score, Submission, Task

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence
    from tablemend.faithfulness.verifier import Extractor, Verifier

SENTENCES = (2, 5)
"""Fewest and most that are asked for."""
CHUNK = 64
"""Summaries that are verified together."""
ASKED = f"{SENTENCES[0]} to {SENTENCES[1]}"
VIEW = "table"

ERRORS = (
    Metric("NUM", "Numerical error", "number", "a number that the table does not bear out"),
    Metric("REL", "Relational error", "relation", "a value given to the wrong entity or attribute"),
    Metric("CMP", "Comparative error", "comparison", "a wrong comparison, rank or extreme"),
    Metric("TMP", "Temporal error", "time", "a wrong date, period or order of events"),
    Metric(
        "ATT", "Attributional error", "attribution", "an attribute that the table does not give"
    ),
)
"""TabFaith, 3.1."""
METRICS = (
    *ERRORS,
    total(ERRORS, "at least one claim found wrong"),
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
        "share of the claims that the verifier could judge; higher is better",
        "share",
    ),
    ABSTENTION,
    UNJUDGED,
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
    prompts = ("base", "careful", "follow")
    metrics = METRICS

    def samples(self, source: Source) -> list[TabFaithExample]:
        """Examples that data_gen/tabfaith.py wrote."""
        return read_records(source, self.sample, self.makes)

    def sample(self, record: Mapping[str, Any]) -> TabFaithExample:
        """An example, read back."""
        return TabFaithExample.from_json(dict(record))

    def messages(
        self, sample: TabFaithExample, view: str, prompt: str
    ) -> Sequence[Mapping[str, str]]:
        """The domain's prompt over the table."""
        return self._emphasised(ask_for(sample.domain, sample.table, SENTENCES), prompt)

    @staticmethod
    def _emphasised(chat: Sequence[Mapping[str, str]], prompt: str) -> Sequence[Mapping[str, str]]:
        *before, user = chat
        return [*before, {**user, "content": user["content"] + EMPHASES[prompt]}]

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        """The chat over tables of any topic, with ``{table}``."""
        return self._emphasised(
            PROMPTS.render(STAGES["general"], table="{table}", sentences=ASKED), prompt
        )

    def target(self, sample: TabFaithExample, view: str, thinking: str) -> str:
        """The faithful summary.

        Raises:
            NoTarget: the sample's summary has an error, or may have one.
            TablemendError: thinking that no summary comes with.
        """
        if sample.label != "faithful":
            raise NoTarget(f"its summary is {sample.label}")
        if thinking not in ("off", "empty"):
            raise TablemendError(
                f"thinking={thinking} has no target in table_summary: use off or empty"
            )
        return sample.summary if thinking == "off" else f"<think>\n\n</think>\n\n{sample.summary}"

    def versions(self) -> dict[str, str]:
        """Of the prompts."""
        return {"prompt_hash": ", ".join(map(PROMPTS.version, STAGES.values()))}

    def evidence(self, sample: TabFaithExample, view: str) -> Evidence:
        """The table."""
        from tablemend.evidence.source import Source as Evidence  # only who verifies pays for it

        return Evidence((sample.table,))

    def show(self, sample: TabFaithExample, view: str) -> SampleView:
        """The table, and the summary where it is faithful."""
        return SampleView(
            sample.id,
            view,
            sample.table.title or sample.domain,
            f"{sample.domain}, id {sample.id}",
            sample.domain,
            tables=(sample.table,),
            gold=sample.summary if sample.label == "faithful" else None,
        )

    @contextmanager
    def scorer(self) -> Iterator[SummaryScorer]:
        """STAF."""
        from tablemend.faithfulness.staf import open_extractor, open_verifier, opened

        options = self.options
        with (
            opened(options.verifier, lambda name: open_verifier(name, options.backend)) as verifier,
            opened(options.extractor, lambda name: open_extractor(name, options.backend)) as taking,
        ):
            yield SummaryScorer(verifier, taking)

    def reward(self, weights: Mapping[str, float], thinking: str, prompt: str) -> SummaryReward:
        """What is said and supported; there is nothing to weigh."""
        return SummaryReward(self, thinking)

    def corruptions(
        self, sample: TabFaithExample, view: str, gold: str, types: Sequence[str], rng: Random
    ) -> Iterator[Corruption]:
        """The faithful summary with one error that the program put into it."""
        from tablemend.tabfaith.injection import Injector
        from tablemend.tabfaith.summary import Summary
        from tablemend.tabfaith.verbaliser import Verbaliser

        if not sample.facts:  # a model's summary: where its claims stand is not known
            return
        verbaliser = Verbaliser(sample.table)
        summary = Summary(sample.summary, sample.facts)
        injector = Injector(summary, verbaliser.sheet, verbaliser.recomputation)
        for type in CLAIM_ERRORS:
            made = injector.plant((type,), rng) if type in types else None
            if made is not None:
                yield Corruption(type, type, gold.removesuffix(sample.summary) + made.text)


class SummaryReward:
    """Supported claims of all claims, times how much of the gold summary's number there is.

    A claim without a verdict pays nothing, so that a policy gains nothing by writing what cannot
    be checked; nor does it by writing one safe sentence.

    Args:
        task: verifies.
        thinking: as the recipe says.
    """

    name = "tablemend summary reward 1"

    def __init__(self, task: TableSummary, thinking: str) -> None:
        self._task, self._thinking = task, thinking
        self._claims: dict[str, int] = {}

    def score(self, sample: TabFaithExample, view: str, text: str) -> Score:
        """What a summary earns."""
        supported, claims = self._count(sample, text)
        if sample.id not in self._claims:
            self._claims[sample.id] = self._count(sample, sample.summary)[1]
        parts = {
            "supported": supported / claims if claims else 0.0,
            "claims": min(1.0, claims / max(1, self._claims[sample.id])),
        }
        return Score(parts, parts["supported"] * parts["claims"])

    def gold(self, sample: TabFaithExample, view: str) -> str:
        """The faithful summary.

        Raises:
            NoTarget: the verifier does not support all of it.
        """
        gold = self._task.target(sample, view, self._thinking)
        if self.score(sample, view, gold).reward != 1.0:
            raise NoTarget("the verifier does not support all of its summary")
        return gold

    def _count(self, sample: TabFaithExample, text: str) -> tuple[int, int]:
        """Supported claims, and all."""
        with self._task.scorer() as scorer:
            (found,) = scorer.score([Submission(sample, VIEW, text)])
        judged, claims = found.shares["coverage"] if found.shares else (0, 1)
        return (found.shares["staf"].part if judged else 0), claims


class SummaryScorer:
    """A verifier of claims, and what takes a text apart into them."""

    def __init__(self, verifier: Verifier, extractor: Extractor) -> None:
        self.name = f"{verifier.name}; claims: {extractor.name}"
        self._verifier, self._extractor = verifier, extractor

    def score(self, answers: Iterable[Submission[TabFaithExample]]) -> Iterator[Judgement]:
        """One judgement an answer; each finding is a claim that is wrong."""
        from tablemend.evidence.source import Source as Evidence
        from tablemend.faithfulness.staf import verify_texts

        stream = iter(answers)
        while chunk := list(islice(stream, CHUNK)):
            asked = [
                (one.text.rpartition(END_OF_THINKING)[2], Evidence((one.sample.table,)))
                for one in chunk
                if not one.unjudged
            ]
            found = iter(verify_texts(asked, self._verifier, self._extractor))
            for one in chunk:
                if one.unjudged:
                    yield Judgement(unjudged=f"no answer: {one.unjudged}", judge=self.name)
                else:
                    skipped = len(one.text) - len(one.text.rpartition(END_OF_THINKING)[2])
                    yield self._judge(next(found), skipped)

    def _judge(self, found: Verification, skipped: int) -> Judgement:
        counts, claims = found.counts, len(found.verdicts)
        judged = claims - counts["unjudged"]
        if claims and not judged:
            return Judgement(unjudged="none of its claims could be judged", judge=self.name)
        return Judgement(
            tuple(_finding(one, skipped) for one in found.verdicts if one.wrong),
            {"staf": Share(counts["supported"], judged), "coverage": Share(judged, claims)},
            not claims,
            judge=self.name,
        )


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
