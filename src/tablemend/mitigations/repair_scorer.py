"""The rule repair as a judge of answers: wrong is what it would edit. No gold is read.

It cannot see what neither query nor context gives away: a row that is left out without a trace, a
scope that the query's reader does not understand, a wrong value that the context states too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tablemend.backends.requests import END_OF_THINKING
from tablemend.detector.keys import filled_rows
from tablemend.detector.query import columns_from_query, sort_rule_from_query
from tablemend.errors import NoTarget, TablemendError
from tablemend.faithfulness.verifiers import ProgramExtractor, ProgramVerifier
from tablemend.mitigations.edits import Draft, Edit, Mended, Tools
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.records import Finding, Judgement
from tablemend.tables.extract import extract_table
from tablemend.tables.table import Table
from tablemend.tasks.table_reward import Quote, TableReward, score_answer
from tablemend.tasks.task import Reward, Score, Submission, Task
from tablemend.values.text import header_key


def mend_answers(
    answers: Sequence[Submission[Any]], task: Task[Any], edit: PostEdit, tools: Tools
) -> list[Mended]:
    """Answers to samples, mended; what a model thought before stays, as does all beside a table.

    Args:
        answers: whole ones.
        task: shows what they were made from.
        edit: the mitigation.
        tools: it works with.
    """
    thoughts, drafts = [], []
    for one in answers:
        thought, end, text = one.text.rpartition(END_OF_THINKING)
        if task.format is not None:  # a table is edited in its place
            thought, end, text = "", "", one.text
        thoughts.append(thought + end)
        drafts.append(Draft(text, task.evidence(one.sample, one.view), task.format, one.sample.id))
    mended = edit.edit(drafts, tools)
    return [replace(one, text=t + one.text) for t, one in zip(thoughts, mended, strict=True)]


class RepairScorer:
    """Finds fault with what the rule repair edits, and with a table that lacks what is asked for.

    Where the verifier finds something wrong and the repair does not dare to edit it, an answer is
    unscored.

    Args:
        task: whose answers these are.
    """

    def __init__(self, task: Task[Any]) -> None:
        edit = MITIGATIONS["repair"]
        assert isinstance(edit, PostEdit)
        self._task, self._edit = task, edit
        self._tools = Tools(ProgramVerifier(), ProgramExtractor())
        self.name = edit.text if task.format is None else edit.table

    def mend(self, answers: Sequence[Submission[Any]]) -> list[Mended]:
        """The answers as the repair makes them."""
        return mend_answers(answers, self._task, self._edit, self._tools)

    def score(self, answers: Iterable[Submission[Any]]) -> Iterator[Judgement]:
        """One judgement an answer: a finding for each edit."""
        for one in answers:
            (mended,) = self.mend([one])
            yield replace(self._judge(one, mended), scorer=self.name)

    def _judge(self, answer: Submission[Any], mended: Mended) -> Judgement:
        if answer.unscored:
            return Judgement(unscored=f"no answer: {answer.unscored}")
        skipped = len(answer.text) - len(answer.text.rpartition(END_OF_THINKING)[2])
        abstained = False
        if self._task.format is not None:
            query = self._task.evidence(answer.sample, answer.view).query
            asked = columns_from_query(query) or ()
            found = extract_table(answer.text, self._task.format, asked)
            if found.table is None:
                return Judgement(() if found.empty else (_format(found.reason),), {}, found.empty)
            named = set(map(header_key, found.table.columns))
            if missing := [name for name in asked if header_key(name) not in named]:
                return Judgement((_format(f"columns missing: {', '.join(missing)}"),))
            abstained = not filled_rows(found.table)
        findings = tuple(_finding(edit, skipped) for edit in mended.edits)
        before = mended.before
        if before is not None and not findings:
            if not (before.verdicts or abstained) and before.notes:
                return Judgement(unscored=before.notes[0])
            if before.wrong:
                return Judgement(unscored="something is wrong that the repair does not edit")
        return Judgement(findings, {}, abstained)


class RepairReward:
    """What an answer earns beside itself as the rule repair mends it, as beside gold.

    Columns that the query lists and the answer lacks count as left blank.

    Args:
        task: whose answers these are.
        reward: against gold; its rules are kept, but for the sentences to quote: any of the
            context's may be quoted.
    """

    def __init__(self, task: Task[Any], reward: Reward[Any]) -> None:
        if not isinstance(reward, TableReward):
            raise TablemendError(f"grpo.scorer: repair: the reward of {task.name} is its own")
        self._scorer, self._task, self._rules = RepairScorer(task), task, reward.rules
        self.name = f"{reward.name}, against {self._scorer.name}"

    def gold(self, sample: Any, view: str) -> str:
        """Not read."""
        raise NoTarget("gold is not read with grpo.scorer: repair")

    def score(self, sample: Any, view: str, text: str) -> Score:
        """What an answer earns; nothing where no table is left of it."""
        evidence = self._task.evidence(sample, view)
        (mended,) = self._scorer.mend([Submission(sample, view, text)])
        asked = columns_from_query(evidence.query) or ()
        table = extract_table(mended.text, self._rules.format, asked).table
        if table is None or table.duplicate_columns() or not filled_rows(table):
            return Score({}, 0.0)
        named = set(map(header_key, table.columns))
        lacking = [name for name in asked if header_key(name) not in named]
        rows = [[*row, *[None] * len(lacking)] for row in table.rows]
        gold = Table.of([*table.columns, *lacking], rows, table.title)
        order = sort_rule_from_query(evidence.query, gold.columns)
        quote = Quote(evidence.text, ()) if self._rules.quotes else None
        return score_answer(text, gold, order, self._rules, quote)


def _format(reason: str) -> Finding:
    return Finding("format_error", None, None, None, None, reason)


def _finding(edit: Edit, skipped: int) -> Finding:
    """An edit by the claim that was wrong; of the order of rows or columns, by the table's error.

    A place in a text counts from the raw answer.
    """
    type: str = edit.error_type or "ATT"  # a blank is filled
    start = end = None
    if edit.start is not None and edit.end is not None:
        start, end = edit.start + skipped, edit.end + skipped
    elif edit.row is None:
        type = "format_error" if edit.column else "order_mismatch"
    found = edit.new, edit.old, edit.reason, start, end
    return Finding(type, edit.row, edit.column, *found)
