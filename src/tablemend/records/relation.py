"""How the content of an output relates to that of its input, by logical consequence.

Source: *Annotating Hallucinations in Data-to-Text NLG*, Table 3 (van Deemter's cases), Figure 1
(harmless variants), section 6 (not well-formed).
"""

from __future__ import annotations

from typing import Literal, get_args

Relation = Literal[
    "well_matched",
    "well_matched_harmless",
    "too_weak",
    "too_weak_harmless",
    "tautologous",
    "too_strong",
    "output_contradictory",
    "independent",
    "contradictory",
    "not_well_formed",
]
UNDECIDED = "undecided"
"""Beside the relations: unscored, or not known."""
RELATIONS: tuple[Relation, ...] = get_args(Relation)


def relation(
    follows: bool, implies: bool, *, contradicts: bool = False, consistent: bool = True
) -> Relation:
    """The case of Table 3, harmless variants aside.

    Args:
        follows: the output follows from the input.
        implies: the input follows from the output.
        contradicts: input and output cannot both be true.
        consistent: the output can be true.
    """
    if not consistent:
        return "output_contradictory"
    if contradicts:
        return "contradictory"
    if follows:
        return "well_matched" if implies else "too_weak"
    return "too_strong" if implies else "independent"
