"""BLEU and PARENT: the official scores, what the papers define, and bad input."""

from __future__ import annotations

import json

import pytest

from tablemend.errors import TablemendError
from tablemend.meta_evaluation.metrics import bleu, parent
from tests.support.files import SHARED_DATA

TABLE = [["name", "Alba Vey"], ["born", "5 May 1931"], ["city", "Oslo"]]
TEXT = "Alba Vey was born in Oslo on 5 May 1931 ."


def f(text: str, reference: str) -> float:
    return parent.score([text], [[reference]], [TABLE])[0]


@pytest.mark.parametrize(("name", "count"), [("official.json", 3), ("open.extra.jsonl", 100)])
def test_parents_official_scores_are_reproduced(name: str, count: int) -> None:
    path = SHARED_DATA / "parent_vectors" / name
    if not path.is_file():
        pytest.skip(f"no {path}: real data is not part of the repository")
    text = path.read_text("utf-8")
    lines = text.splitlines()
    vectors = json.loads(text) if path.suffix == ".json" else list(map(json.loads, lines))
    assert len(vectors) >= count
    for vector in vectors:
        for weight, expected in vector["computed"].items():
            found = parent.parent(
                [vector["prediction"]],
                [vector["references"]],
                [vector["table"]],
                None if weight == "None" else float(weight),
            )[0]
            got = (found.precision, found.recall, found.f)
            wanted = (expected["precision"], expected["recall"], expected["f"])
            assert got == pytest.approx(wanted, abs=1e-4)


def test_what_parent_sees_and_what_it_does_not() -> None:
    """An entailed word counts though no reference has it; a wrong number still scores.

    The latter is proposition 1 of TabFaith: the reason why STAF is needed.
    """
    reference = "Alba Vey was born on 5 May 1931 ."
    assert f(TEXT, reference) > f(TEXT.replace("Oslo", "Rome"), reference)
    assert 0.5 < f(TEXT.replace("1931", "1937"), TEXT) < f(TEXT, TEXT)
    assert parent.score([TEXT], [["Nothing of the kind", TEXT]], [TABLE])[0] == f(TEXT, TEXT)
    assert f("", TEXT) == 0.0


@pytest.mark.parametrize(
    ("references", "table", "message"),
    [
        ([[]], [TABLE], "text 1 has no reference"),
        ([[TEXT]], [[["name", " "]]], "text 1: its table has no value"),
    ],
)
def test_what_parent_is_not_defined_for_is_refused(references, table, message) -> None:
    with pytest.raises(TablemendError, match=message):
        parent.score([TEXT], references, table)


def test_bleu_is_sacrebleus() -> None:
    pytest.importorskip("sacrebleu")
    scores = bleu.score([TEXT, TEXT.replace("1931", "1937"), "Rain."], [[TEXT]] * 3)
    assert scores[0] == pytest.approx(100) and scores[2] < scores[1] < 95
    with pytest.raises(TablemendError, match="text 2 has no reference"):
        bleu.score([TEXT, TEXT], [[TEXT], []])
