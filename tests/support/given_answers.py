"""GRPO on given answers: a random model writes no table, and two processes draw others than one.

As a script: ``train/grpo.py`` with them.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tablemend.script import run_script
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts
from tablemend.training import grpo

Turn = Callable[..., tuple[list[list[int]], Any]]
_draw: Turn = grpo.Trainer._generate_single_turn


def _variants(gold: Table) -> list[str]:
    """A whole answer, one that lacks a row, one without a table, and the whole one again."""
    whole = prompts.answer(gold)
    return [whole, "\n".join(whole.splitlines()[:-1]), "No table.", whole]


def given(self: Any, prompts: Sequence[Sequence[int]], *options: Any, **named: Any) -> Any:
    """The model draws, as every strategy must let it, in one process longer than in the other;
    then the n-th answer of a group is given.
    """
    most = self.max_completion_length
    self.max_completion_length = most // (1 + self.accelerator.process_index)
    drawn, scores = _draw(self, prompts, *options, **named)
    self.max_completion_length = most
    assert len(drawn) == len(prompts) and all(drawn) and scores is None
    asked = {one.ids: one for one in self.asked}
    first = self.accelerator.process_index * len(prompts)
    answers = []
    for place, ids in enumerate(prompts, first):
        choice = _variants(asked[tuple(ids)].sample.gold_table)[place % self.num_generations]
        answers.append([*self.processing_class.encode(choice), self.processing_class.eos_token_id])
    return answers, None


if __name__ == "__main__":
    grpo.Trainer._generate_single_turn = given
    run_script(runpy.run_path(str(Path(__file__).parents[2] / "train" / "grpo.py"))["main"])
