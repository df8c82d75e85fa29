"""The rule repair as a scorer of answers: wrong is what it would edit. No gold is read.

It cannot see what neither query nor context gives away: a row that is left out without a trace, a
scope that the query's reader does not understand, a wrong value that the context states too,
a single cell left blank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tablemend.detector.keys import filled_rows, primary_key
from tablemend.detector.query import columns_from_query
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.records import Finding, Judgement
from tablemend.tables.extract import Extraction, extract_table
from tablemend.tasks.task import Submission, Task
from tablemend.thinking import end_of_thinking
from tablemend.values.cells import is_blank
from tablemend.values.text import header_key

if TYPE_CHECKING:
    from tablemend.mitigations.edits import Edit, Mended, Tools
    from tablemend.tables.table import Table

REPAIR = cast(PostEdit, MITIGATIONS["repair"])


def mend_answers(
    answers: Sequence[Submission[Any]], task: Task[Any], edit: PostEdit, tools: Tools
) -> list[Mended]:
    """Whole answers to samples, mended; what a model thought before stays."""
    from tablemend.mitigations.edits import Draft

    thoughts, drafts = [], []
    for one in answers:
        thoughts.append(one.text[: end_of_thinking(one.text)])
        if task.format is not None:  # a table is edited in its place
            thoughts[-1] = ""
        text, evidence = one.text[len(thoughts[-1]) :], task.evidence(one.sample, one.view)
        drafts.append(Draft(text, evidence, task.format, one.sample.id))
    mended = edit.edit(drafts, tools)
    return [replace(one, text=t + one.text) for t, one in zip(thoughts, mended, strict=True)]


class RepairScorer:
    """Finds fault with what the rule repair edits, and with a table that lacks what is asked for.

    Where something is wrong that it does not dare to edit, an answer is unscored.
    """

    name = f"{REPAIR.text}, {REPAIR.table}"

    def __init__(self, task: Task[Any]) -> None:
        self.task = task

    def mend(self, answer: Submission[Any]) -> Mended:
        """An answer as the repair makes it."""
        from tablemend.mitigations.edits import Tools
        from tablemend.verifier.verifiers import ProgramExtractor, ProgramVerifier

        tools = Tools(ProgramVerifier(), ProgramExtractor())
        return mend_answers([answer], self.task, REPAIR, tools)[0]

    def read(self, answer: Submission[Any], text: str) -> Extraction:
        """The answer's table, where it has all columns that the query lists."""
        evidence = self.task.evidence(answer.sample, answer.view)
        asked = columns_from_query(evidence.query) or ()
        found = extract_table(text, self.task.format or "auto", asked, evidence.text)
        named = set(map(header_key, found.table.columns if found.table else asked))
        missing = ", ".join(name for name in asked if header_key(name) not in named)
        return Extraction(None, f"columns missing: {missing}") if missing else found

    def score(self, answers: Iterable[Submission[Any]]) -> Iterator[Judgement]:
        """One judgement an answer: a finding for each edit."""
        return (replace(self._judge(one), scorer=self.name) for one in answers)

    def _judge(self, answer: Submission[Any]) -> Judgement:
        if answer.unscored:
            return Judgement(unscored=f"no answer: {answer.unscored}")
        if self.task.format is not None:
            found = self.read(answer, answer.text)
            if found.table is None and not found.empty:
                return Judgement((Finding("format_error", None, None, None, None, found.reason),))
            if found.table is None or not filled_rows(found.table):
                return Judgement(abstained=True)
        mended = self.mend(answer)
        skipped = end_of_thinking(answer.text)
        if mended.edits:
            return Judgement(tuple(_finding(edit, skipped) for edit in mended.edits))
        before = mended.before
        if self.task.format is not None and found.table is not None and too_blank(found.table):
            return Judgement(
                unscored="a row with nothing beside its key, or more blanks than cells"
            )
        if before is not None and (before.wrong or not before.verdicts):
            return Judgement(unscored="; ".join(before.notes) or "wrong, and not to be mended")
        if self.task.format is None and (before is None or before.staf is None):
            return Judgement(unscored="none of its claims could be scored")
        return Judgement()


def too_blank(table: Table) -> bool:
    """Whether a row says nothing beside its key, or most cells beside the keys are blank."""
    key = primary_key(table)
    rows = [[not is_blank(c) for c in (*row[:key], *row[key + 1 :])] for row in table.rows]
    filled = list(map(sum, rows))
    return len(table.columns) > 1 and (0 in filled or 2 * sum(filled) < sum(map(len, rows)))


def _finding(edit: Edit, skipped: int) -> Finding:
    """An edit by the claim that was wrong, or by the table's error; places are the raw answer's."""
    type: str = edit.type or "ATT"  # a blank is filled
    start = end = None
    if edit.span is not None:
        start, end = (place + skipped for place in edit.span)
    elif edit.row is None:
        type = "format_error" if edit.column else "order_mismatch"
    return Finding(type, edit.row, edit.column, edit.new, edit.old, edit.reason, start, end)
