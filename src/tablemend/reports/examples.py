"""Examples of a report: which are shown, and where their errors and facts are marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tablemend.backends.requests import END_OF_THINKING
from tablemend.records import Answer, Finding, Judgement, Metric, SampleView
from tablemend.tables.extract import extract_table
from tablemend.tables.read import Format
from tablemend.tables.table import Cell, Table

SHOWN_EXAMPLES = 12
SHOWN_CHARACTERS = 6000


@dataclass(frozen=True, slots=True)
class Shown:
    """One answer on the page."""

    answer: Answer
    judgement: Judgement


def choose_examples(
    judgements: Mapping[str, Mapping[str, Judgement]], most: int = SHOWN_EXAMPLES
) -> list[str]:
    """Examples that together show every kind of error of every system, few at a time.

    Greedy: each next example adds the most pairs of system and outcome not shown so far; an
    answer without errors is an outcome too. Ties go to the earlier example, so the choice is
    the same every time. It is made to be telling, not representative.

    Args:
        judgements: system -> example id -> judgement, on one context.
        most: how many to choose.
    """
    outcomes: dict[str, set[tuple[str, str]]] = {}
    for system, own in judgements.items():
        for example_id, judgement in own.items():
            kinds: set[str] = {kind for kind, count in judgement.counts.items() if count}
            kinds = kinds or {"none"}
            outcomes.setdefault(example_id, set()).update((system, kind) for kind in kinds)
    chosen: list[str] = []
    shown: set[tuple[str, str]] = set()
    while len(chosen) < min(most, len(outcomes)):
        rest = [example_id for example_id in outcomes if example_id not in chosen]
        best = max(rest, key=lambda example_id: len(outcomes[example_id] - shown))
        if not outcomes[best] - shown:
            shown = set()  # all have been seen: begin another round
            continue
        chosen.append(best)
        shown |= outcomes[best]
    return chosen


class Marked(NamedTuple):
    """Words or a cell, with the CSS class, tooltip and numbers of what is marked there."""

    text: Cell
    style: str = ""
    why: str = ""
    numbers: str = ""


def cut_at_marks(
    text: str, marks: Iterable[tuple[int, int, Marked]], begin: int = 0
) -> list[Marked]:
    """A text from ``begin`` on, cut at its marks; where two overlap, the first is marked."""
    parts: list[Marked] = []
    end = begin
    for start, stop, mark in sorted(marks, key=lambda one: one[:2]):
        if start >= end:
            parts += [Marked(text[end:start]), mark._replace(text=text[start:stop])]
            end = stop
    return [*parts, Marked(text[end:][:SHOWN_CHARACTERS])]


@dataclass(frozen=True, slots=True)
class Explained:
    """A finding as a reader sees it.

    Attributes:
        title, style: of its error type, and its CSS class.
        where: row and column, where it has them.
        values: what was expected and what came, where the two are values of one cell or header.
        evidence: what it follows from.
    """

    title: str
    style: str
    where: str
    values: list[tuple[str, str]]
    evidence: str

    @classmethod
    def of(cls, finding: Finding, errors: Sequence[Metric]) -> Explained:
        """Name a finding by the task's error types."""
        place = [error.name for error in errors].index(finding.type)
        row = None if finding.row is None else f"row {finding.row + 1}"
        pairs = (("expected", finding.expected), ("got", finding.got))
        values = [(word, value) for word, value in pairs if value is not None]
        if finding.type == "order_mismatch":
            values = []  # two rows are compared; the evidence names both
        where = ", ".join(part for part in (row, finding.column) if part)
        return cls(errors[place].title, error_style(place), where, values, finding.evidence)

    def line(self) -> str:
        """All of it in one line."""
        values = [f"{word} {value}" for word, value in self.values]
        return "; ".join([self.title, *values, self.evidence])


def error_style(place: int) -> str:
    """The CSS class of an error type: its colour, by its place in the task's list."""
    return f"error-{place}"


class ShownTable(NamedTuple):
    """A table, its wrong cells marked."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Marked]]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One system's answer with its errors marked.

    Attributes:
        system: whose.
        answer, judgement: of it.
        findings: why it is wrong, numbered from 1 in the marks.
        table: that was read from it.
        words: of a text.
        unreadable: why no table could be read.
    """

    system: str
    answer: Answer
    judgement: Judgement
    findings: list[Explained]
    table: ShownTable | None = None
    words: Sequence[Marked] = ()
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class ShownExample:
    """One sample: what was read, the gold, and every system's answer.

    Attributes:
        view: the sample.
        words, tables: what was read, with the facts marked.
        gold: the right table, where it is one.
        answers: of every system.
    """

    view: SampleView
    words: Sequence[Marked]
    tables: Sequence[ShownTable]
    gold: ShownTable | None
    answers: Sequence[ShownAnswer]


def show_example(view: SampleView, answers: Sequence[ShownAnswer]) -> ShownExample:
    """Mark the facts in what was read."""
    marks = ((mark.start, mark.end, Marked("", mark.kind, mark.why)) for mark in view.marks)
    words = cut_at_marks(view.text, marks)
    gold = mark_cells(view.gold) if isinstance(view.gold, Table) else None
    return ShownExample(view, words, [mark_cells(one) for one in view.tables], gold, answers)


def show_answer(
    system: str,
    shown: Shown,
    format: Format | None,
    errors: Sequence[Metric],
    gold: Table | str | None,
) -> ShownAnswer:
    """Mark what is wrong with an answer.

    Args:
        system: that answered.
        shown: the answer and its judgement.
        format: of the table asked for; ``None`` for texts.
        errors: the task's error types.
        gold: the right answer, where there is one.
    """
    text, findings = shown.answer.text, shown.judgement.findings
    explained = [Explained.of(finding, errors) for finding in findings]
    answer = ShownAnswer(system, shown.answer, shown.judgement, explained)
    if format is None:
        return replace(answer, words=_mark_claims(text, findings, explained))
    columns = gold.columns if isinstance(gold, Table) else ()
    read = extract_table(text, format, columns)
    if read.table is None:
        return replace(answer, unreadable=str(read.reason))
    return replace(answer, table=mark_cells(read.table, findings, explained))


def _mark_claims(
    text: str, findings: Sequence[Finding], explained: Sequence[Explained]
) -> list[Marked]:
    """A text without the thinking before it, its wrong claims numbered."""
    begin = text.rfind(END_OF_THINKING)
    marks = (
        (finding.start, finding.end, Marked("", f"error {one.style}", one.line(), str(number)))
        for number, (finding, one) in enumerate(zip(findings, explained, strict=True), 1)
        if finding.start is not None and finding.end is not None
    )
    return cut_at_marks(text, marks, 0 if begin < 0 else begin + len(END_OF_THINKING))


def mark_cells(
    table: Table, findings: Sequence[Finding] = (), explained: Sequence[Explained] = ()
) -> ShownTable:
    """A table with its findings; one of a whole row is on all its cells."""
    places: dict[tuple[int, int], list[int]] = {}
    for index, finding in enumerate(findings):
        if finding.row is not None:
            named = [i for i, column in enumerate(table.columns) if column == finding.column]
            for column in named[:1] or range(len(table.columns)):
                places.setdefault((finding.row, column), []).append(index)

    def mark(cell: Cell, found: Sequence[int]) -> Marked:
        if not found:
            return Marked(cell)
        why = "\n".join(explained[index].line() for index in found)
        numbers = ", ".join(str(index + 1) for index in found)
        return Marked(cell, f"error {explained[found[0]].style}", why, numbers)

    return ShownTable(
        table.columns,
        [
            [mark(cell, places.get((row, column), ())) for column, cell in enumerate(cells)]
            for row, cells in enumerate(table.rows)
        ],
    )
