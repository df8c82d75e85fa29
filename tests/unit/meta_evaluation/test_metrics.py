"""BLEU and PARENT: the official scores, and what the papers define."""

from __future__ import annotations

import json

import pytest

from tablemend.meta_evaluation.metrics import bleu, parent
from tests.support.files import SHARED_DATA

CELLS = ["Alba Vey", "5 May 1931", "Oslo"]
TEXT = "Alba Vey was born in Oslo on 5 May 1931 ."


@pytest.mark.parametrize(("name", "count"), [("official.json", 3), ("open.extra.jsonl", 100)])
def test_parents_official_scores_are_reproduced(name: str, count: int) -> None:
    path = SHARED_DATA / "parent_vectors" / name
    if not path.is_file():
        pytest.skip(f"no {path}: real data is not part of the repository")
    text = path.read_text("utf-8")
    lines = text.splitlines()
    vectors = json.loads(text) if path.suffix == ".json" else list(map(json.loads, lines))
    vectors = [one for one in vectors if all(len(entry) == 2 for entry in one["table"])]
    assert len(vectors) >= count
    for vector in vectors:
        cells = [value for _, value in vector["table"] if value.strip()]
        found = parent(vector["prediction"], vector["references"], cells)
        assert found == pytest.approx(vector["computed"]["None"]["f"], abs=1e-4)


def test_what_parent_sees_and_what_it_does_not() -> None:
    """An entailed word counts though no reference has it; a wrong number still scores.

    The latter is proposition 1 of TabFaith: the reason why STAF is needed.
    """

    def f(text: str, *references: str) -> float:
        return parent(text, references, CELLS)

    reference = "Alba Vey was born on 5 May 1931 ."
    assert f(TEXT, reference) > f(TEXT.replace("Oslo", "Rome"), reference)
    assert 0.5 < f(TEXT.replace("1931", "1937"), TEXT) < f(TEXT, TEXT)
    assert f(TEXT, "Nothing of the kind", TEXT) == f(TEXT, TEXT)
    assert f("", TEXT) == 0.0


def test_bleu_is_sacrebleus() -> None:
    pytest.importorskip("sacrebleu")
    texts = (TEXT, TEXT.replace("1931", "1937"), "Rain.")
    scores = [bleu(text, [TEXT]) for text in texts]
    assert scores[0] == pytest.approx(100) and scores[2] < scores[1] < 95
