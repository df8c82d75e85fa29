"""Similarity: what the embedded one accepts at 0.8, and how an embedding model is used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablemend.detector.similarity import (
    PAPER_MODEL,
    THRESHOLD,
    EmbeddingSimilarity,
    LexicalSimilarity,
    lexical_similarity,
    load_similarity,
)
from tablemend.errors import TablemendError
from tablemend.values.cells import read_value
from tests.support.growth import assert_growth


def score(one: str, other: str) -> float:
    return LexicalSimilarity().score([(read_value(one).text, read_value(other).text)])[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("software companies", "software company"),
        ("J.K. Rowling", "J. K. Rowling"),
        ("Garcia, Randall J.", "Randall J. Garcia"),
        ("M", "Male"),
        ("Y", "Yes"),
        ("George Walker Bush", "George Bush"),
        ("USA", "United States"),
        ("U.K.", "United Kingdom"),
        ("Sammy Davis Jr.", "Sammy Davis Junior"),
        ("Mike Mansell", "Michael R. Mansell"),
        ("Democrat", "Democratic"),
        ("Valanciunas, Jonas", "Jonas Valnciunas"),
        ("asymmetric synthesis of enamines", "enamine catalysis for asymmetric synthesis"),
    ],
)
def test_spelling_variants_are_similar(one: str, other: str) -> None:
    assert score(one, other) >= THRESHOLD


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("increased", "decreased"),
        ("World Cup", "World Junior Alpine Cup"),
        ("A", "AB"),
        ("A", "AAA"),
        ("B", "B-"),
        ("G", "GK"),
        ("Vitamin A", "Vitamin"),
        ("3 wins, 1 loss", "1 wins, 3 loss"),
        ("hyperthermia", "hypothermia"),
        ("Gambia", "Zambia"),
        ("University of California, Berkeley", "University of California, Los Angeles"),
        ("president of sales operations", "vice president of sales operations"),
        ("approved by the board", "not approved by the board"),
        ("yes", "robust"),
        ("", "anything"),
    ],
)
def test_other_things_are_not_similar(one: str, other: str) -> None:
    assert score(one, other) < THRESHOLD


@given(st.text(max_size=30), st.text(max_size=30))
def test_lexical_similarity_is_symmetric_and_bounded(one: str, other: str) -> None:
    forth = lexical_similarity(one, other)
    assert forth == lexical_similarity(other, one)
    assert 0.0 <= forth <= 1.0


class FakeModel:
    """Embeds a text as its letter counts."""

    encoded: ClassVar[list[list[str]]] = []

    def __init__(self, name: str, *, trust_remote_code: bool, **_settings: object) -> None:
        assert not trust_remote_code
        if "missing" in name:
            raise OSError(f"{name} is no folder\nsecond line")

    def encode(self, texts: list[str], **options: Any) -> Any:
        assert options["normalize_embeddings"] and options["batch_size"] == 256
        self.encoded.append(texts)
        counts = np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], float)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.fixture
def fake_package(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = FakeModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    FakeModel.encoded = []


def test_embeddings_are_made_once_a_text(fake_package: None) -> None:
    embedding = load_similarity(PAPER_MODEL)
    scores = embedding.score([("abc", "cab"), ("abc", "xyz"), ("cab", "abc")])
    assert scores == pytest.approx([1.0, 0.0, 1.0])
    assert FakeModel.encoded == [["abc", "cab", "xyz"]]
    assert embedding.score([]) == []
    assert embedding.name == PAPER_MODEL


def test_a_model_that_cannot_be_loaded_is_one_clear_line(fake_package: None) -> None:
    with pytest.raises(TablemendError, match=r"cannot load similarity model 'missing': .*folder$"):
        EmbeddingSimilarity("missing")


@pytest.mark.parametrize("stem", ["{}", "{}s", "a{}"])
def test_two_long_cells_take_linear_time(stem: str) -> None:
    def comparing(count: int) -> Callable[[], object]:
        words = ["".join(chr(97 + place // 26**i % 26) for i in range(4)) for place in range(count)]
        one, other = " ".join(words), " ".join(stem.format(f"{word}x") for word in words)
        return lambda: lexical_similarity(one, f"zz {other}")

    assert_growth(comparing, 1000, 6000, below=18)  # linear is 6, squared 36
