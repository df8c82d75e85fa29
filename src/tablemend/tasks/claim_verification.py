"""A claim and a table in, a verdict out: what fine-tunes a model to be a verifier (TabFaith 4.1).

The prompt is the one that the verifier ``llm:MODEL`` asks with, so a checkpoint serves as it is.
From a TabFaith set come its sentences: supported, contradicted where an error was injected, and
not in the source where the columns that a sentence is about are taken out of the table. From the
public sets come claims that people labelled, of their dev split alone: the test split stays unseen.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field

from tablemend.backends.requests import END_OF_THINKING
from tablemend.config import Section
from tablemend.config import Source as Examples
from tablemend.datasets.build import build_splits
from tablemend.datasets.labelled_texts import file_of, read_set
from tablemend.datasets.labelled_texts import split_of as half_of
from tablemend.datasets.splits import SPLITS, Shares, Split, split_of
from tablemend.errors import NoTarget, TablemendError
from tablemend.evidence.source import Source as Evidence
from tablemend.foreign import FromJson
from tablemend.prompting.replies import Unreadable
from tablemend.records import (
    ABSTENTION,
    UNSCORED,
    Finding,
    Judgement,
    Metric,
    SampleView,
    Share,
    VerdictName,
    total,
)
from tablemend.runs import hash_file, hash_text
from tablemend.tables.table import Table
from tablemend.tasks.sources import read_records
from tablemend.tasks.tabfaith.task import TabFaithExample
from tablemend.tasks.task import AnswerReward, AnswerScorer, Score, Task, after_thinking
from tablemend.thinking import behind_thinking
from tablemend.values.text import sentence_spans

VIEW = "table"
SCORER = "verdict against label 1"
ERRORS = (
    Metric("missed", "Missed error", "missed", "a wrong claim that is said to be supported"),
    Metric("false_alarm", "False alarm", "false alarm", "a supported claim said to be wrong"),
    Metric("mixed_up", "Mixed up", "mixed up", "contradicted for not in source, or the reverse"),
)
METRICS = (
    *ERRORS,
    total(ERRORS, "a verdict that is not the label"),
    Metric("accuracy", "Accuracy", "accuracy", "right verdicts; higher is better", "share"),
    ABSTENTION,
    UNSCORED,
)


@dataclass(frozen=True, slots=True)
class LabelledClaim(FromJson):
    """A claim about a table, and whether it is so.

    Attributes:
        claim: one sentence.
        table: the evidence.
        label: the verdict.
        domain: the data set that it comes from.
        reason: why it is wrong, in a line; may be empty.
        parts, programs: what the verifier ``program-by:MODEL`` asks about it, and a test for each;
            empty where no test is known.
    """

    claim: str
    table: Table
    label: VerdictName
    domain: str
    reason: str = ""
    parts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Hash of the content."""
        return hash_text(json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True))

    @property
    def source_hash(self) -> str:
        """Hash of the table."""
        return self.table.content_hash()

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        tests = {} if self.programs else dict.fromkeys(("parts", "programs"))
        fields = asdict(self) | {"table": self.table.to_json()}
        return {name: value for name, value in fields.items() if name not in tests}


class ClaimVerification(Task[LabelledClaim]):
    """A claim and a table in, a verdict out."""

    name = "claim_verification"
    description = (
        "A model reads a table and a claim and says whether the table supports the claim, "
        "contradicts it or says nothing of it. Counted are verdicts that are not the label."
    )
    views: ClassVar[Mapping[str, str]] = {VIEW: "tables"}
    length_unit = "cells of the table"
    makes = "python data_gen/claims.py"
    slots: tuple[str, ...] = ("about", "evidence", "statement", "parts")
    asks: ClassVar[str] = "verify"
    """The verifier's prompt."""
    begins = END_OF_THINKING
    prompts = ("base",)
    mendable = False
    metrics = METRICS
    sample_type = LabelledClaim

    def messages(
        self, sample: LabelledClaim, view: str, prompt: str
    ) -> Sequence[Mapping[str, str]]:
        from tablemend.verifier.llm import PROMPTS, WHOLE, slots_of
        from tablemend.verifier.verifiers import Premise, gather, whole_tables

        source = self.evidence(sample, view)
        tables = whole_tables(source)
        shown = Premise((), tables=tables) if tables else gather(sample.claim, source)
        return PROMPTS.render(self.asks, **slots_of(sample.claim, [WHOLE], shown, source))

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        from tablemend.verifier.llm import PROMPTS

        return PROMPTS.render(self.asks, **{slot: f"{{{slot}}}" for slot in self.slots})

    def target(self, sample: LabelledClaim, view: str, thinking: str) -> str:
        if sample.label == "unscored":
            raise NoTarget("its claim is unscored")
        verdict = {"1": {"reason": sample.reason, "verdict": sample.label}}
        answer = json.dumps(verdict, ensure_ascii=False)
        return after_thinking(self.name, thinking, answer)

    def versions(self) -> dict[str, str]:
        from tablemend.verifier.llm import PROMPTS

        return {"prompt_hash": hash_text(PROMPTS.version(self.asks))}

    def show(self, sample: LabelledClaim, view: str) -> SampleView:
        return replace(super().show(sample, view), query=sample.claim, gold=sample.label)

    def scorer(self) -> AbstractContextManager[AnswerScorer[LabelledClaim]]:
        return nullcontext(AnswerScorer(SCORER, self.judge))

    def judge(self, sample: LabelledClaim, text: str) -> Judgement:
        """Whether an answer comes to the label."""
        return judge(sample, text)

    def reward(
        self, weights: Mapping[str, float], thinking: str, prompt: str
    ) -> AnswerReward[LabelledClaim]:

        def earn(sample: LabelledClaim, text: str) -> Score:
            right = self.judge(sample, text).share("accuracy") or 0.0
            return Score({"verdict": right}, right)

        return AnswerReward(SCORER, self, "empty" if thinking == "on" else thinking, earn)


def judge(sample: LabelledClaim, text: str) -> Judgement:
    """Whether the verdict of an answer is the label; unscored where it holds no verdict."""
    from tablemend.verifier.llm import read_verdicts

    try:
        said, reason = read_verdicts(behind_thinking(text).strip())[1]
    except Unreadable as error:
        return Judgement(unscored=f"no verdict: {error}", scorer=SCORER)
    shares = {"accuracy": Share(int(said == sample.label), 1)}
    if said == sample.label:
        return Judgement(shares=shares, scorer=SCORER)
    type = "mixed_up"
    if "supported" in (said, sample.label):
        type = "missed" if said == "supported" else "false_alarm"
    finding = Finding(type, None, None, sample.label, said, reason)
    return Judgement((finding,), shares, scorer=SCORER)


class ClaimPrograms(ClaimVerification):
    """A statement and a table in, tests out, in the language of table programs: they decide it."""

    name = "claim_programs"
    makes = "python data_gen/claims.py target=program"
    slots = ("table", "statement", "parts")
    asks = "write_program"

    def messages(
        self, sample: LabelledClaim, view: str, prompt: str
    ) -> Sequence[Mapping[str, str]]:
        from tablemend.verifier.llm import PROMPTS, WHOLE
        from tablemend.verifier.program_by import slots_of

        parts, source = sample.parts or (WHOLE,), self.evidence(sample, view)
        return PROMPTS.render(self.asks, **slots_of(sample.claim, parts, source))

    def target(self, sample: LabelledClaim, view: str, thinking: str) -> str:
        if not sample.programs:
            raise NoTarget("no program is known for its claim")
        lines = (f"{number}: {program}" for number, program in enumerate(sample.programs, 1))
        return after_thinking(self.name, thinking, "\n".join(lines))

    def judge(self, sample: LabelledClaim, text: str) -> Judgement:
        """Whether the tests of an answer decide for the label: one that fails makes it wrong."""
        from tablemend.verifier.extraction import extract_claims
        from tablemend.verifier.llm import WHOLE
        from tablemend.verifier.program_by import Group, groups, trials

        document, source = extract_claims(sample.claim), Evidence((sample.table,))
        whole = [WHOLE] * (len(sample.parts) or 1)
        asked = [Group(sample.claim, whole, [[0]] * len(whole))]
        asked += [
            one for one in groups(document, source, "sentence") if tuple(one.parts) == sample.parts
        ]
        found = trials(behind_thinking(text).strip(), asked[-1], document, source)
        held = {trial.holds for trial in found}
        if False not in held and None in held:
            problem = next(trial.problem for trial in found if trial.problem)
            return Judgement(unscored=f"no verdict: {problem}", scorer=SCORER)
        return judge(sample, "contradicted" if False in held else "supported")


PublicSet = Literal["tabfact", "logicnlg", "infotabs", "scitab"]
ENGINE = "claims-1"
LABELS: tuple[str, ...] = ("supported", "contradicted", "not_in_source")
SAID = "tabfaith"
"""Domain of claims that a program has said."""


class Claims(Section):
    """A set of labelled claims."""

    tabfaith: str | None = "data/tabfaith"
    """Folder of a TabFaith set (data_gen/tabfaith.py); null: public claims alone."""
    data: str | None = None
    """Folder of the public sets, with <data>/tabfact/open.jsonl and so on; null: none."""
    sets: tuple[PublicSet, ...] = get_args(PublicSet)
    """The public sets to read."""
    target: Literal["verdict", "program"] = "verdict"
    """What a model is to learn: the verdict, or the programs that decide (task claim_programs)."""
    most_characters: int = Field(default=4000, ge=50)
    """Claims whose table and words have more are left out, and counted."""
    shares: Shares = Shares()
    """Split of the tables."""
    out: str = "data/claims"
    """Folder to write into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Nothing to read."""
        if self.data is not None and not Path(self.data).is_dir():
            yield "data", f"no folder {self.data}"
        if self.tabfaith is None and self.data is None:
            yield "data", "neither a TabFaith set nor a folder of public sets is given"


def make_claims(settings: Claims) -> dict[str, Any]:
    """Write the splits, or find them written; the counts, as in ``counts.json``.

    Raises:
        TablemendError: a set that is not there, or a folder that holds something else.
    """
    files = list[Path]()
    if settings.tabfaith is not None:
        files += (Path(settings.tabfaith) / f"{split}.jsonl" for split in SPLITS)
    if settings.data:
        files += (Path(settings.data) / file_of(name) for name in settings.sets)
    if missing := [path for path in files if not path.is_file()]:
        raise TablemendError(f"no file {missing[0]}: see tabfaith= and data=")
    same = ["target"] if settings.target == "verdict" else []  # sets made before it was there
    noted = {
        "engine_version": ENGINE,
        **settings.model_dump(mode="json", exclude={"out", "tabfaith", "data", *same}),
        "files": [hash_file(path) for path in files],
    }

    def find(counts: Counter[str]) -> dict[Split, list[LabelledClaim]]:
        found: dict[Split, dict[str, LabelledClaim]] = {split: {} for split in SPLITS}

        def fits(claim: LabelledClaim) -> bool:
            table = claim.table
            size = len(claim.claim) + len(table.title)
            size += sum(len(cell or "") + 3 for row in (table.columns, *table.rows) for cell in row)
            counts["left out: too long"] += size > settings.most_characters
            return size <= settings.most_characters

        home = dict[str, Split]()
        for split, claim in _claims(settings, fits):
            if home.setdefault(claim.source_hash, split) == split:
                found[split][claim.id] = claim
            else:
                counts["left out: less a column, the same as a table of another split"] += 1
        if empty := [split for split, claims in found.items() if not claims]:
            raise TablemendError(f"no claim for the {empty[0]} split: give more tables")
        for split, claims in found.items():
            counts.update(f"{split} {claim.domain} {claim.label}" for claim in claims.values())
        # in the order of their ids, so that the first n are a sample
        return {split: [own[id] for id in sorted(own)] for split, own in found.items()}

    return build_splits(Path(settings.out), noted, find)


def _claims(
    settings: Claims, fits: Callable[[LabelledClaim], bool]
) -> Iterator[tuple[Split, LabelledClaim]]:
    """Every claim with its split, which the content of its whole table decides."""
    if settings.tabfaith is not None:
        said, labels = said_claims, LABELS
        if settings.target == "program":
            said, labels = said_programs, LABELS[:2]
        yield from _balance(
            labels,
            (
                (split_of(example.source_hash, settings.shares), claim)
                for split in SPLITS
                for example in read_records(
                    Examples(source=settings.tabfaith, split=split),
                    TabFaithExample.from_json,
                    "python data_gen/tabfaith.py",
                )
                for claim in said(example)
                if fits(claim)
            ),
        )
    if settings.data is not None:
        for name in settings.sets:
            for item in read_set(name, Path(settings.data))[0]:
                if half_of(item.split_key) == "dev" and item.label is not None:
                    (table,) = item.source.tables
                    split = split_of(table.content_hash(), settings.shares)
                    claim = LabelledClaim(item.text, table, item.label, name)
                    if fits(claim):
                        yield split, claim


def said_claims(example: TabFaithExample) -> Iterator[LabelledClaim]:
    """The sentences of a summary that can be understood alone, and what is so of them."""
    for sentence in sentence_spans(example.summary):
        facts = [fact for fact in example.facts if fact.sentence == sentence]
        if not facts or any(part.start < sentence.start for fact in facts for part in fact.parts):
            continue  # a pronoun, whose name is in the sentence before
        text = example.summary[sentence.start : sentence.end]
        wrong = [one for one in example.errors if sentence.start <= one.start < sentence.end]
        if wrong:
            reason = f"{wrong[0].text} should be {wrong[0].expected or wrong[0].original}"
            yield LabelledClaim(text, example.table, "contradicted", SAID, reason)
            continue
        yield LabelledClaim(text, example.table, "supported", SAID)
        table, used = example.table, {column for fact in facts for _, column in fact.cells}
        left = [n for n in range(len(table.columns)) if n == 0 or n not in used]  # 0 names the rows
        if 2 <= len(left) < len(table.columns):
            columns, *rows = ([row[n] for n in left] for row in (table.columns, *table.rows))
            less = Table.of([cell or "" for cell in columns], rows, table.title)
            yield LabelledClaim(text, less, "not_in_source", SAID)


def said_programs(example: TabFaithExample) -> Iterator[LabelledClaim]:
    """The sentences of a summary with their tests: one of the whole, and one of each part.

    A sentence whose test does not decide as the sentence was made is left out.
    """
    from tablemend.programs.table import TypedTable
    from tablemend.programs.written import write
    from tablemend.verifier.extraction import extract_claims
    from tablemend.verifier.llm import WHOLE
    from tablemend.verifier.program_by import groups

    table, source = TypedTable.of(example.table), Evidence((example.table,))
    for claim in said_claims(example):
        start = example.summary.index(claim.claim)
        facts = [fact for fact in example.facts if fact.sentence.start == start]
        if claim.label == "not_in_source" or not facts:
            continue
        tests = [write(fact.statement, table.turned if fact.turned else table) for fact in facts]
        whole = " and ".join(dict.fromkeys(tests))
        document = extract_claims(claim.claim)
        kinds: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((WHOLE,), (whole,))]
        asked = groups(document, source, "sentence")
        foci = [document.claims[own[0]].focus for group in asked for own in group.claims]
        found = [
            min(about, default=(9, 0, ""))[2]
            for focus in foci
            for about in [
                [
                    (number != fact.focus, place, test)
                    for place, (fact, test) in enumerate(zip(facts, tests, strict=True))
                    for number, part in enumerate(fact.parts)
                    if focus and part.start < focus.end + start and focus.start + start < part.end
                ]
            ]
        ]
        if len(asked) == 1 and all(found) and list(asked[0].parts) != [WHOLE]:
            kinds.append((tuple(asked[0].parts), tuple(found)))
        for parts, programs in kinds:
            one = replace(claim, parts=parts, programs=programs)
            lines = "\n".join(f"{n}: {program}" for n, program in enumerate(programs, 1))
            if ClaimPrograms().judge(one, lines).share("accuracy") == 1.0:
                yield one


def _balance(
    labels: Sequence[str],
    claims: Iterable[tuple[Split, LabelledClaim]],
) -> Iterator[tuple[Split, LabelledClaim]]:
    """As many of each label as there are of the rarest, in every split; drawn by hash."""
    found: dict[Split, dict[str, list[LabelledClaim]]] = defaultdict(lambda: defaultdict(list))
    for split, claim in claims:
        found[split][claim.label].append(claim)
    for split, by_label in found.items():
        n = min(len(by_label[label]) for label in labels)
        for own in by_label.values():
            yield from ((split, claim) for claim in sorted(own, key=lambda claim: claim.id)[:n])
