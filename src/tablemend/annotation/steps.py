"""The three questions that an annotator answers about every example (TableHallu, Appendix B)."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

VERSION = 1
"""Of the questions and of the answer files: answers to other questions are not mixed in."""

Step = Literal["query", "table", "context"]
STEPS: tuple[Step, ...] = get_args(Step)
Choice = Literal["yes", "no", "unsure"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


class Guide(NamedTuple):
    """What stands on the page at one step.

    Attributes:
        title: what is looked at.
        question: answered by yes, no or unsure.
        points: what must hold for a yes, all of it.
    """

    title: str
    question: str
    points: tuple[str, ...]


GUIDES: dict[Step, Guide] = {
    "query": Guide(
        "Query",
        "Is the query clear and complete?",
        (
            "It can be read in one way only.",
            "It says which things are asked for: a category or a scope.",
            "It names every column of the table.",
            "It says by which column the rows are sorted, and in which direction.",
        ),
    ),
    "table": Guide(
        "Gold table",
        "Is the gold table what the query asks for, by the gold context?",
        (
            "Every value of the table is stated in the gold context, for that row and column.",
            "No row that the gold context has and the query asks for is missing.",
            "Columns and format are those that the query asks for.",
            "The rows are sorted as the query says.",
            "Where a cell is empty, the gold context says nothing about it.",
        ),
    ),
    "context": Guide(
        "Adversarial context",
        "Does the adversarial context leave the gold table the only right answer?",
        (
            "It says everything that the gold context says.",
            "Nothing in the added text meets the query: there is no further row for the table.",
            "Nothing in the added text fills an empty cell of the table or contradicts a value.",
        ),
    ),
}
