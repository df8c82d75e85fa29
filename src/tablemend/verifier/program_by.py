"""A language model reads, the program computes: the model writes a test, which is executed.

Nothing that the model says of the truth counts: its text is parsed into a table program, and what
comes out is compared with what the statement says, as strictly as it says it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from tablemend.backends.backend import Backend, ask
from tablemend.backends.requests import Completion, Request, Sampling, stream_seed
from tablemend.evidence.source import Source
from tablemend.programs.decide import Leaf, decide
from tablemend.programs.execute import Result
from tablemend.programs.table import TypedTable, key_of
from tablemend.programs.written import BadProgram, Constant, column_names, name_key, parse
from tablemend.prompting.files import after_rejection
from tablemend.prompting.replies import why_no_answer
from tablemend.records import Claim, Document, Evidence, Usage, Verdict, VerdictName
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.numbers import Number, plain_digits
from tablemend.values.text import Span
from tablemend.values.units import PLAIN
from tablemend.verifier.llm import (
    PROMPTS,
    WHOLE,
    Asker,
    PerRequest,
    groups_of,
    statement_of,
    usage_of,
)
from tablemend.verifier.number_agreement import compare
from tablemend.verifier.reading import Amount, Reading
from tablemend.verifier.verifiers import SHORT, about, scored

WRITE, MEND = "write_program", "mend_program"
TEMPERATURE = 0.8
"""Of all samples but the first, which is greedy."""
_LINE = re.compile(r"[^\w(]{0,6}(?:part )?(\d{1,2})[:.)]\W{0,3}?\s*(?=\S)(.+)", re.I)


# ---- what is asked and answered; a model is fine-tuned on the same


def slots_of(statement: str, parts: Sequence[str], source: Source) -> dict[str, str]:
    """What fills the prompt :data:`WRITE`.

    The tables come first, for an engine that keeps what it has read. Of a long one the first rows
    are shown, and behind them those that the statement may be about: programs see them all.
    """
    shown = [about(source)]
    for number, table in enumerate(source.tables):
        shown += [f"Table {number + 1}:"] if len(source.tables) > 1 else []
        shown += _shown(table, SHORT // len(source.tables))
    near = {cell.row for cell in source.find_cells(statement)} if len(source.tables) == 1 else set()
    hidden = [_line(row) for row in _typed(source.tables[0]).cells if row and row[0].row in near]
    hidden = [line for line in hidden if line not in shown]
    numbered = "\n".join(f"{number}. {part}" for number, part in enumerate(parts, 1))
    statement = " ".join(statement.split())
    if hidden:
        statement = "\n".join([statement, "Rows that it may be about:", *hidden])
    return {"table": "\n".join(shown), "statement": statement, "parts": numbered}


@lru_cache(maxsize=64)
def _typed(table: Table) -> TypedTable:
    return TypedTable.of(table)


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(getattr(c, "text", str(c)).replace("|", "/") for c in cells) + " |"


def _shown(table: Table, room: int) -> list[str]:
    typed = _typed(table)
    lines = [_line(column_names(typed))]
    for place, row in enumerate(typed.cells):
        room -= len(line := _line(row))
        if room < 0 and place > 2:
            return [*lines, f"({len(typed.cells)} rows in all)"]
        lines.append(line)
    return lines


def read_programs(answer: str, count: int) -> dict[int, str]:
    """The test for each part, by its number; of one part its line need not be numbered."""
    lines = [line.strip() for line in answer.splitlines() if line.strip(" `")]
    found: dict[int, str] = {}
    for match in filter(None, map(_LINE.fullmatch, lines)):
        if 1 <= int(match[1]) <= count:
            found.setdefault(int(match[1]), match[2])
    calls = [line for line in lines if "(" in line]
    return {1: calls[0]} if not found and count == 1 and calls else found


# ---- what comes out


class Trial(NamedTuple):
    """One test of one part, run.

    Attributes:
        text: the test.
        holds: whether the part is so; ``None`` where the test cannot be run or decides nothing.
        leaves: what comes out.
        table: the number of the table that it is over.
        problem: why it decides nothing.
    """

    text: str = ""
    holds: bool | None = None
    leaves: tuple[Leaf, ...] = ()
    table: int = 0
    problem: str = ""


def run_test(
    text: str,
    tables: Sequence[Table],
    statement: str,
    words: str = "",
    amount: Amount | None = None,
) -> Trial:
    """Parse and execute a test over the first table that has its columns and rows.

    A number of the test that the statement says is compared as the statement says it: with its
    bound, scale, unit and precision. Where the test has another in its place, or none, what comes
    out is compared with the words in question.

    Args:
        text: the test.
        tables: to look in.
        statement: that it is a test of.
        words: those in question; empty for the whole statement.
        amount: that these words state.
    """
    amounts, problem = Reading(statement).amounts, ""

    def same(said: Constant, result: Result) -> bool | None:
        number = read_value(said.text).number or Number(Decimal(said.text))
        stated = [one for one in (*filter(None, [amount]), *amounts) if _is_stated(one, number)]
        return agrees((*stated, Amount(0, 0, 0, number))[0], result)

    def by_words(leaf: Leaf) -> bool | None:
        """Whether what comes out is what the words in question say."""
        said, result = leaf.said, leaf.result
        if result.undefined or isinstance(result.value, bool) or (said and not leaf.exact):
            return leaf.holds
        if said and isinstance(said.value, str) and name_key(said.text) in name_key(statement):
            return leaf.holds
        if said and isinstance(said.value, float):
            number = Number(Decimal(repr(said.value)))
            if amount is None or _is_stated(amount, number):
                return leaf.holds
            if any(_is_stated(one, number) for one in amounts):
                return None  # a test of another part
        if isinstance(result.value, float) and not result.key:
            return agrees(amount, result) if amount else None
        own = map(name_key, (result.text, result.key, str(result.value)))
        return key_of(words) == result.key or name_key(words) in own

    for number, table in enumerate(tables):
        try:
            holds, leaves = decide(parse(text, _typed(table)), _typed(table), same)
        except BadProgram as error:
            problem = problem or str(error)
            continue
        if words and len(leaves) == 1:
            holds = by_words(leaves[0])
            leaves = (leaves[0]._replace(holds=holds, exact=leaves[0].exact or not leaves[0].said),)
        undefined = [leaf.result.undefined for leaf in leaves if leaf.result.undefined]
        open_ = (*undefined, f"{_spelled(leaves[0])} cannot be compared with what is said")[0]
        return Trial(text, holds, leaves, number, open_ if holds is None else "")
    return Trial(text, problem=problem)


def _is_stated(amount: Amount, number: Number) -> bool:
    value = amount.number.value
    return number.value in (value, value / amount.number.unit.scale)


def agrees(amount: Amount, result: Result) -> bool | None:
    """Whether a text's amount is a program's result; ``None`` where that is open."""
    assert isinstance(result.value, float)
    cell = Number(Decimal(repr(result.value)) / result.unit.scale, PLAIN, result.decimals)
    grade = compare(amount, cell, result.unit)
    is_bound = amount.hedge not in ("", "about")
    return {"same": True, "near": True if is_bound else None, "apart": None}.get(grade, False)


# ---- the verifier


class Group(NamedTuple):
    """What one request asks: a statement, its parts, and the claims that each part is of."""

    statement: str
    parts: Sequence[str]
    claims: Sequence[Sequence[int]]


def groups(document: Document, source: Source, per_request: PerRequest) -> list[Group]:
    """What is asked about a text; nothing about an answer table, or without a table."""
    if document.table is not None or not any(table.rows for table in source.tables):
        return []
    if per_request != "claim":
        return [
            Group(statement, parts, [(place,) for place in group])
            for group in groups_of(document, per_request)
            for statement, parts in [statement_of(document, group, per_request)]
        ]
    alike: dict[str, list[int]] = {}
    for place, claim in enumerate(document.claims):
        alike.setdefault(claim.statement, []).append(place)
    return [Group(text, [WHOLE], [own]) for text, own in alike.items()]


def trials(answer: str, group: Group, document: Document, source: Source) -> list[Trial]:
    """A trial for each part of a group; one that has no test says why."""
    lines, found = read_programs(answer, len(group.parts)), []
    amounts = Reading(document.text).amounts
    for number, (part, places) in enumerate(zip(group.parts, group.claims, strict=True), 1):
        focus = None if part == WHOLE else document.claims[places[0]].focus
        if (line := lines.get(number)) is None:
            found.append(Trial(problem="the model's answer has no test for it"))
        elif focus is None:
            found.append(run_test(line, source.tables, group.statement))
        else:
            inside = (a for a in amounts if a.start < focus.end and focus.start < a.end)
            words = document.text[slice(*focus)]
            amount = next(inside, None)
            found.append(run_test(line, source.tables, group.statement, words, amount))
    return found


class ProgramByVerifier(Asker):
    """Any backend's model, which writes a test for every claim, by the sentence.

    Args:
        backend, thinking, max_new_tokens: see :class:`.llm.Asker`.
        per_request: what a request asks about; ``claim``: each clause as a whole.
        samples: how many programs are asked for; their verdicts vote, and of as many the first
            counts.
    """

    prompt = WRITE
    longest = 512

    def __init__(
        self,
        backend: Backend,
        thinking: bool | None = None,
        max_new_tokens: int | None = None,
        per_request: PerRequest = "sentence",
        samples: int = 1,
    ) -> None:
        super().__init__(backend, thinking, max_new_tokens)
        self.name = self.name.replace("llm:", "program-by:", 1)
        self.name += f", {samples} samples" if samples > 1 else ""
        self._per_request, self._samples = per_request, samples

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`.verifiers.Verifier`.

        Raises:
            Stopped: the server is gone.
        """
        asked: dict[str, tuple[int, Group, Request]] = {}
        for number, (document, source) in enumerate(items):
            for place, group in enumerate(groups(document, source, self._per_request)):
                slots = slots_of(group.statement, group.parts, source)
                for sample in range(self._samples):
                    id = f"{number}.{place}.{sample}"
                    request = self._request(id, None, **slots)
                    hot = Sampling(self._sampling.max_new_tokens, TEMPERATURE)
                    if sample:
                        request = replace(request, sampling=hot, seed=stream_seed(sample, id))
                    asked[request.id] = number, group, request
        answers = ask(self._backend, [request for *_, request in asked.values()])
        tried: dict[str, list[Trial]] = {}
        again: list[Request] = []
        for id, (number, group, request) in asked.items():
            completion = answers[id]
            tried[id] = _tried(completion, group, *items[number])
            reasons = [
                f"{place}: {one.text or '(no line)'} - {one.problem}"
                for place, one in enumerate(tried[id], 1)
                if one.problem
            ]
            if reasons and why_no_answer(completion) is None:
                messages = after_rejection(
                    request.messages, completion.answer, reasons, PROMPTS.prompt(MEND)
                )
                again.append(replace(request, messages=messages))
        mended = ask(self._backend, again)
        usages = [usage_of([])] * len(items)
        for id, (number, group, _) in asked.items():
            completions = [own[id] for own in (answers, mended) if id in own]
            usages[number] += usage_of(completions)
            if id in mended:
                second = _tried(mended[id], group, *items[number])
                pairs = zip(tried[id], second, strict=True)
                tried[id] = [b if a.problem and not b.problem else a for a, b in pairs]
        votes: list[dict[int, list[Trial]]] = [{} for _ in items]
        for id, (number, group, _) in asked.items():
            for places, trial in zip(group.claims, tried[id], strict=True):
                for place in places:
                    votes[number].setdefault(place, []).append(trial)
        return [
            (
                tuple(
                    self._verdict(claim, own.get(place, []), source)
                    for place, claim in enumerate(document.claims)
                ),
                usage,
            )
            for (document, source), own, usage in zip(items, votes, usages, strict=True)
        ]

    def _verdict(self, claim: Claim, votes: Sequence[Trial], source: Source) -> Verdict:
        counts = Counter(one.holds for one in votes if one.holds is not None)
        if not counts:
            first = votes[0] if votes else Trial(problem="there is no table with rows")
            reason = f"{first.text}: {first.problem}" if first.text else first.problem
            return Verdict(claim, "unscored", reason=reason, verifier=self.name)
        holds = max(counts, key=lambda one: counts[one])  # of as many the first
        trial = next(one for one in votes if one.holds is holds)
        leaf = next((one for one in trial.leaves if one.holds is holds), trial.leaves[0])
        said = f"{trial.text}: {_spelled(leaf)}"
        cells = (cell for cell in leaf.result.cells[:3] if min(cell) >= 0)
        found = (source.grids[trial.table].evidence(*cell) for cell in cells)
        evidence = (Evidence(said, table=trial.table), *found)
        reason = f"{said} ({counts[holds]} of {len(votes)} samples)" if len(votes) > 1 else said
        verdict: VerdictName = "supported" if holds else "contradicted"
        one = scored(claim, verdict, evidence, source, reason, self.name)
        if holds or claim.start is None or claim.end is None:
            return one
        is_value = leaf.exact and leaf.holds is False and not isinstance(leaf.result.value, bool)
        spans = (claim.focus or Span(claim.start, claim.end),)
        return replace(one, spans=spans, expected=(_spelled(leaf),) if is_value else ())


def _tried(completion: Completion, group: Group, document: Document, source: Source) -> list[Trial]:
    if problem := why_no_answer(completion):
        return [Trial(problem=f"{problem.kind}: {problem.text}")] * len(group.parts)
    return trials(completion.answer, group, document, source)


def _spelled(leaf: Leaf) -> str:
    """What came out, in words: a cell as written, a computed number to the digits said."""
    result = leaf.result
    if result.text or not isinstance(result.value, float):
        return result.text or result.undefined or str(result.value)
    said = leaf.said.text if leaf.said else ""
    decimals = max(len(said.partition(".")[2]), min(result.decimals, 2))
    return plain_digits(round(Decimal(repr(result.value)) / result.unit.scale, decimals))
