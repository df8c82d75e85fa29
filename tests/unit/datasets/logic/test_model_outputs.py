"""What models write for inputs: pairs without labels, and reasons where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tablemend.backends.requests import Sampling
from tablemend.config.backend import BackendOptions
from tablemend.datasets.logic.entailment import compare
from tablemend.datasets.logic.model_outputs import PROMPTS, STAGES, Unwritten, write_outputs
from tablemend.datasets.logic.pair import Domain, Pair

HOTEL = "Name: Alba Court\nStar rating: 4\nCity: Oslo\nSport: Diving"


def _model(path: Path, *lines: dict[str, str]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return f"scripted:{path}"


@pytest.mark.parametrize(
    ("domain", "input"), [("hotel", HOTEL), ("logic", "∃x (Cube(x) ∧ Large(x))")]
)
def test_a_model_is_shown_the_input_and_no_more(domain: Domain, input: str) -> None:
    _, turn = PROMPTS.render(STAGES[domain], input=input)
    assert turn["role"] == "user" and input in turn["content"]


def test_outputs_are_pairs_without_labels_and_failures_say_why(tmp_path: Path) -> None:
    other = HOTEL.replace("Alba Court", "Yllana Mill")
    good = "Alba Court is a charming 4-star place in Oslo with diving."
    models = {
        "first": _model(
            tmp_path / "first.jsonl",
            {"contains": "Alba Court", "text": f"Here is the description:\n\n{good}\n"},
            {"contains": "Yllana Mill", "text": "cut sho", "finish_reason": "length"},
        ),
        "second": _model(tmp_path / "second.jsonl", {"text": "I'm sorry, I cannot do that."}),
    }
    options = BackendOptions(cache=None)
    found = list(write_outputs("hotel", [HOTEL, other], models, options, Sampling(400, 0.7)))
    assert found[0] == Pair("hotel", HOTEL, good, "first")
    kinds = [(one.system, one.problem.kind) for one in found if isinstance(one, Unwritten)]
    assert kinds == [
        ("first", "cut by the token limit"),
        ("second", "refusal"),
        ("second", "refusal"),
    ]
    assert compare(found[0].input, good).relation == "well_matched_harmless"
