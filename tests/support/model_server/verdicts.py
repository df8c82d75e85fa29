"""Verifiers by program: they judge what the prompt shows, and say why."""

from __future__ import annotations

from collections.abc import Mapping

from tablemend.datasets.tablehallu.settings import Shape
from tablemend.datasets.tablehallu_llm.checks import check_kernel
from tablemend.datasets.tablehallu_llm.drafts import KernelDraft
from tablemend.datasets.tablehallu_llm.parsing import read_constraints
from tablemend.datasets.tablehallu_llm.preservation import check_adversarial
from tablemend.datasets.tablehallu_llm.queries import check_query
from tablemend.detector.query import sort_rule_from_query
from tablemend.tables.table import Table
from tests.support.model_server.perturbations import sentences_of

MISTAKES = ("wrong-verdict", "two-verdicts")
ANY_SHAPE = Shape(min_rows=2, max_rows=1 << 20, min_columns=3, max_columns=1 << 20)
"""Sizes are the program's own to check; a verifier is not told them."""


def judge_kernel(slots: Mapping[str, str], table: Table) -> list[str]:
    """What is wrong with a kernel (verifier 1)."""
    rule = sort_rule_from_query(slots["query"], table.columns)
    if rule is None:
        return ["The request does not say how to sort."]
    draft = KernelDraft(table, rule.column, rule.order, slots["context"])
    problems = (*check_kernel(draft, ANY_SHAPE), *check_query(slots["query"], draft))
    return [problem.text for problem in problems]


def judge_preserved(slots: Mapping[str, str]) -> list[str]:
    """What of the original is not in the long text (verifier 2, first step)."""
    text = slots["adversarial"]
    return [f"Lost: {said}" for said in sentences_of(slots["context"]) if said not in text]


def judge_distractors(slots: Mapping[str, str], table: Table) -> list[str]:
    """What in the long text makes another answer right (verifier 2, second step)."""
    constraints = read_constraints(slots["constraints"])
    draft = KernelDraft(table, constraints.sort_column, constraints.sort_order, slots["context"])
    problems = check_adversarial(draft, constraints, slots["adversarial"], 1.0)
    return [problem.text for problem in problems]


def say(problems: list[str], yes: str, no: str, mistake: str | None) -> tuple[str, bool]:
    """The verdict in the form asked for; whether it has the mistake."""
    right, wrong = (no, yes) if problems else (yes, no)
    findings = " ".join(problems) if problems else "Every point was checked; each one holds."
    if mistake == "wrong-verdict":
        findings = "One point fails." if wrong == no else "Every point was checked."
        return f"{findings}\n\nVERDICT: {wrong}", True
    if mistake == "two-verdicts":
        return f"VERDICT: {wrong}\n\nOn second thoughts: {findings}\n\nVERDICT: {right}", True
    return f"{findings}\n\nVERDICT: {right}", False
