"""How the weights of the program verifier's readings are fitted."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from scipy.optimize import check_grad

from tablemend.datasets.labelled_texts import Mark
from tablemend.records import Claim
from tablemend.values.text import Span
from verifier_weights import (
    Example,
    Problem,
    examples_of,
    fit,
    held_out,
    holds,
    labelled_claims,
    text_of,
)

FULL, PART = {"bias": 1.0, "covered": 1.0}, {"bias": 1.0, "covered": 0.2}


def examples(count: int) -> list[Example]:
    """Of two stated things the readings that cover everything are right, the others are not."""
    return [
        Example(
            "claims",
            f"table {number}",
            label,
            (((FULL, label), (PART, not label)), ((FULL, True), (PART, None))),
        )
        for number in range(count)
        for label in (True, False)
    ]


def test_the_reading_that_predicts_the_labels_wins() -> None:
    weights = fit(examples(40))
    assert weights["true", "covered"] > 0.5 and weights["false", "covered"] > 0.5
    problem = Problem(examples(1), {name: place for place, name in enumerate(weights)})
    true, false = problem.likely(np.array(list(weights.values())))
    assert true > 0.7 and false < 0.3


def test_the_gradient_is_that_of_the_loss() -> None:
    problem = Problem(examples(3))
    at = np.random.default_rng(0).normal(size=len(problem.features))
    assert check_grad(lambda w: problem.loss(w)[0], lambda w: problem.loss(w)[1], at) < 1e-5


def test_tables_are_held_out_and_what_has_no_reading_is_not_scored() -> None:
    unread = Example("claims", "table 0", True, ())
    coverage, accuracy = held_out([*examples(40), unread])["claims"]
    assert (coverage, accuracy) == (80 / 81, 1)


def test_the_file_can_be_read_back() -> None:
    weights = {("true", "covered"): 2.5, ("false", "fit"): 0.001, ("unclear", "bias"): -1.0}
    written = yaml.safe_load(text_of(weights))  # type: ignore[arg-type]
    assert written == {"true": {"covered": 2.5}, "false": {}, "unclear": {"bias": -1.0}}


@pytest.mark.parametrize(
    ("mark", "label"),
    [
        (Mark(5, 7, "wrong"), False),
        (Mark(0, 3, "wrong"), None),
        (Mark(5, 7, "incoherent", error=False), None),
        (Mark(30, 32, "wrong"), True),
    ],
)
def test_a_claim_is_wrong_where_a_mark_touches_its_focus(mark: Mark, label: bool | None) -> None:
    claim = Claim("Ann had 7 points.", 0, 17, "numeric", "Ann had 7 points", Span(4, 9))
    assert holds(claim, [mark]) is label


def testlabelled_claims_have_readings() -> None:
    found = [own for item in list(labelled_claims())[:3] for own in examples_of(item)]
    assert len(found) == 3 and any(units for _, units in found)
