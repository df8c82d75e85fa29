"""FAITH: a masked number of a financial report is recovered from its tables (sections 3 and 5)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tablemend.backends.requests import END_OF_THINKING
from tablemend.errors import NoTarget
from tablemend.prompting.files import PromptFolder, after_rejection
from tablemend.prompting.replies import Unreadable, one_object
from tablemend.records import (
    ABSTENTION,
    UNSCORED,
    Finding,
    Judgement,
    Metric,
    SampleView,
    Share,
    total,
)
from tablemend.runs import hash_text
from tablemend.tasks.faith.sample import (
    DERIVATIONS,
    SCENARIOS,
    MaskedSpan,
    Match,
    compare,
    read_values,
    write_tables,
)
from tablemend.tasks.task import AnswerReward, AnswerScorer, Corruption, Score, Task, after_thinking
from tablemend.thinking import behind_thinking

if TYPE_CHECKING:
    from tablemend.evidence.source import Source as Evidence

VIEW = "report"
SCORER = "faith-1 (Algorithm 1)"
PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
FILES = {"base": "base", "cot": "cot", "assisted": "base"}
"""The prompt file of each strategy; ``assisted`` adds what a program has found."""
SHOWN = 8
"""Rows of candidates that the assisted prompt shows."""
ERRORS = (
    Metric("value", "Wrong value", "value", "another number than the masked one"),
    Metric("scale", "Wrong scale", "scale", "the digits of the masked number, at another scale"),
    Metric("unit", "Missing unit", "unit", "the right number without all units of the masked one"),
)
METRICS = (
    *ERRORS,
    total(ERRORS, "an answer that does not match the masked value"),
    Metric("accuracy", "Accuracy", "accuracy", "value and unit match; higher is better", "share"),
    Metric("value_accuracy", "Value accuracy", "value acc.", "the value matches", "share"),
    Metric("unit_accuracy", "Unit accuracy", "unit acc.", "the units match", "share"),
    Metric(
        "without_scale_errors",
        "Value accuracy without scale errors",
        "value acc., any scale",
        "the value matches, at whatever scale it is written",
        "share",
    ),
    Metric(
        "within_2_percent",
        "Value accuracy within 2 %",
        "value acc., 2 %",
        "as the code published with the paper: half a step of rounding, or 2 % of the value",
        "share",
    ),
    ABSTENTION,
    UNSCORED,
)
_NOTHING_SAID = re.compile(
    r"\W*(?:n/?a\b|unknown|unanswerable|not (?:available|given|found|provided|stated)"
    r"|cannot be (?:determined|derived|found)).*|\W*",
    re.IGNORECASE,
)
_SCENARIO = re.compile(r"\W*(?:scenario\W*)?([a-d]\b|direct|compar|bivar|multi)", re.IGNORECASE)
_NAMED = {"DIRECT": "A", "COMPAR": "B", "BIVAR": "C", "MULTI": "D"}
_SCALE = re.compile(r"(thousand|million|billion)", re.IGNORECASE)
_OTHER = {"thousand": "million", "million": "billion", "billion": "million"}
_UNIT = re.compile(r"[$\u20ac\u00a3\u00a5]|%| ?(?:percent|basis points?|bps)\b")


class Reply(NamedTuple):
    """What an answer says.

    Attributes:
        answer: the value, as written.
        scenario: how it says that it came by it; empty where it does not.
    """

    answer: str
    scenario: str


def read_reply(text: str) -> Reply:
    """The JSON object of an answer, without what was thought before.

    Raises:
        Unreadable: there is none, or it has no answer.
    """
    found = one_object(behind_thinking(text), ("answer",))
    said = _SCENARIO.match(str(found.get("scenario", "")))
    scenario = "" if said is None else _NAMED.get(said[1].upper(), said[1].upper())
    answer = found["answer"]
    return Reply("" if answer is None else str(answer).strip(), scenario)


class Faith(Task[MaskedSpan]):
    """A sentence with a masked number and the tables of its report in, the number out."""

    name = "faith"
    description = (
        "A model reads the tables of a financial report and a sentence of it in which one number "
        "is masked, and recovers the number. Counted are values, scales and units that do not "
        "match, at the coarser precision of the two."
    )
    views: ClassVar[Mapping[str, str]] = {VIEW: "reports"}
    length_unit = "cells of the tables"
    makes = "python data_gen/faith.py"
    slots = ("tables", "text", "hint", "candidates")
    begins = END_OF_THINKING
    prompts = tuple(FILES)
    metrics = METRICS
    sample_type = MaskedSpan
    mendable = False
    tries = 3

    def messages(self, sample: MaskedSpan, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        candidates = ""
        if prompt == "assisted":
            from tablemend.tasks.faith.derivations import Evidence as Cells

            lines = Cells(sample.tables).candidates(sample.sentence, sample.around, SHOWN)
            listed = "\n".join(f"- {line}" for line in lines)
            candidates = f"\nA program found these cells and results:\n{listed}\n" if lines else ""
        return PROMPTS.render(
            FILES[prompt],
            tables=write_tables(sample.tables, self.options.serialisation),
            text=sample.text,
            hint=sample.hint,
            candidates=candidates,
        )

    def template(self, prompt: str) -> Sequence[Mapping[str, str]]:
        return PROMPTS.render(FILES[prompt], **{slot: f"{{{slot}}}" for slot in self.slots})

    def ask_again(
        self, chat: Sequence[Mapping[str, str]], text: str
    ) -> Sequence[Mapping[str, str]] | None:
        """The chat that asks for an answer that can be read (FAITH, 5.1: up to three tries)."""
        try:
            read_reply(text)
        except Unreadable as error:
            reasons = [error.problem.text]
            return after_rejection(chat, text, reasons, PROMPTS.prompt("retry"))
        return None

    def target(self, sample: MaskedSpan, view: str, thinking: str) -> str:
        """The JSON object, behind the derivation where ``thinking`` is ``rationale``.

        Raises:
            NoTarget: there is no derivation to think aloud.
            TablemendError: thinking that no target comes with.
        """
        results = {"answer": sample.answer, "scenario": sample.scenario}
        if not sample.scenario:
            del results["scenario"]
        if thinking == "rationale" and not sample.derivation:
            raise NoTarget("its derivation is not known")
        answer = json.dumps({"results": results}, ensure_ascii=False)
        return after_thinking(self.name, thinking, answer, sample.derivation)

    def versions(self) -> dict[str, str]:
        asked = [PROMPTS.hash, SHOWN, DERIVATIONS]
        return {"prompt_hash": hash_text(json.dumps(asked))}

    def evidence(self, sample: MaskedSpan, view: str) -> Evidence:
        from tablemend.evidence.source import Source as Evidence  # only who verifies pays for it

        return Evidence(sample.tables, query=sample.sentence)

    def show(self, sample: MaskedSpan, view: str) -> SampleView:
        return SampleView(
            sample.id,
            view,
            sample.report,
            f"{sample.domain}, labelled by {sample.source or 'nobody'}, id {sample.id}",
            sample.domain,
            query=sample.text,
            tables=sample.tables,
            gold=sample.answer,
        )

    def domain(self, sample: MaskedSpan, answers: Iterable[tuple[str, Judgement]]) -> str:
        """The scenario: as labelled, else what most of the right answers say (FAITH, 3.4)."""
        if sample.scenario:
            return sample.domain
        right = (read_reply(text) for text, found in answers if found.share("accuracy") == 1.0)
        said = Counter(one.scenario for one in right if one.scenario)
        best = max(sorted(said), key=said.__getitem__, default="")
        return SCENARIOS[best]

    def scorer(self) -> AbstractContextManager[AnswerScorer[MaskedSpan]]:
        return nullcontext(AnswerScorer(SCORER, judge))

    def reward(
        self, weights: Mapping[str, float], thinking: str, prompt: str
    ) -> AnswerReward[MaskedSpan]:
        """One for value and unit, half for the value alone."""
        return AnswerReward(SCORER, self, "off" if thinking == "on" else thinking, _earn)

    def corruptions(
        self, sample: MaskedSpan, view: str, gold: str, types: Sequence[str], rng: Random
    ) -> Iterator[Corruption]:
        """The masked value with another digit or scale, or without its unit."""
        for type in types:
            wrong = _corrupt(sample.answer, type, rng)
            if wrong and judge(sample, _json(wrong)).counts[type]:
                head, _, _ = gold.rpartition('{"results"')
                yield Corruption(type, type, head + _json(wrong))


def _json(answer: str) -> str:
    return json.dumps({"results": {"answer": answer}}, ensure_ascii=False)


def _corrupt(answer: str, type: str, rng: Random) -> str:
    """Another value, or the answer at another scale or without its unit; empty if it has none."""
    if type == "unit":
        return _UNIT.sub("", answer).strip()
    if type == "scale":
        match = _SCALE.search(answer)
        return answer.replace(match[0], _OTHER[match[0].casefold()]) if match else ""
    digit = next((one for one in answer if one.isdigit()), "0")
    return answer.replace(digit, rng.choice([d for d in "123456789" if d != digit]), 1)


def judge(sample: MaskedSpan, text: str) -> Judgement:
    """Whether an answer is the masked value; unscored where it holds no JSON object with one."""
    try:
        said = read_reply(text).answer
    except Unreadable as error:
        return Judgement(unscored=f"no answer: {error}", scorer=SCORER)
    if _NOTHING_SAID.fullmatch(said) and not read_values(said):
        return Judgement(abstained=True, shares=_shares(Match(False, False)), scorer=SCORER)
    found = compare(sample.answer, said)
    type = "scale" if found.scale else "unit" if found.value else "value"
    findings: tuple[Finding, ...] = ()
    if not found.right:
        findings = (Finding(type, None, None, sample.answer, said, f"masked: {sample.answer}"),)
    return Judgement(findings, _shares(found), scorer=SCORER)


def _shares(found: Match) -> dict[str, Share]:
    counted = {
        "accuracy": found.right,
        "value_accuracy": found.value,
        "unit_accuracy": found.unit,
        "without_scale_errors": found.value or found.scale,
        "within_2_percent": found.tolerant,
    }
    return {name: Share(int(is_so), 1) for name, is_so in counted.items()}


def _earn(sample: MaskedSpan, text: str) -> Score:
    judged = judge(sample, text)
    value, unit = (judged.share(f"{part}_accuracy") or 0.0 for part in ("value", "unit"))
    if value:  # only where it is as precise as the truth, and adds no unit
        answer = read_reply(text).answer
        pairs = zip(read_values(sample.answer), read_values(answer), strict=False)
        exact = all(own.step <= one.step and own.units <= one.units for one, own in pairs)
        value = value if exact else 0.0
    return Score({"value": value, "unit": unit}, value * (1 + unit) / 2)
