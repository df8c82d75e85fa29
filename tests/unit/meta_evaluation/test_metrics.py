"""BLEU and PARENT: the official scores, what the papers define, and bad input."""

from __future__ import annotations

import json
from itertools import product

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


def test_triples_count_head_and_tail() -> None:
    triple = [["Oslo", "capital of", "Norway"]]
    found = parent.parent(["Oslo Norway Oslo Norway"], [["It rains."]], [triple])[0]
    assert found.precision == pytest.approx(1)
    assert parent.overlap(["capital of"], [()], [triple]) == [0.0]


def _longest(one: str, other: str) -> int:
    """The length of the longest common subsequence, by trying everything."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + _longest(one[1:], other[1:])
    return max(_longest(one[1:], other), _longest(one, other[1:]))


def test_common_subsequences_are_the_longest() -> None:
    words = ["".join(letters) for size in (1, 3, 4) for letters in product("abc", repeat=size)]
    for text in words[::7]:
        for value in words[::5]:
            share = parent._mentioned(tuple(text), [tuple(value)])
            assert share * len(value) == pytest.approx(_longest(value, text))


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
