"""PARENT: the official scores, what the paper defines, and bad input."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tablemend.errors import TablemendError
from tablemend.meta_evaluation.metrics import parent
from tablemend.tables.table import Table
from tests.support.files import SHARED_DATA

TABLE = [["name", "Alba Vey"], ["born", "5 May 1931"], ["city", "Oslo"]]
TEXT = "Alba Vey was born in Oslo on 5 May 1931 ."


def f(text: str, reference: str, weight: float | None = None) -> float:
    return parent.score([text], [[reference]], [TABLE], weight)[0]


def _vectors(name: str) -> list[dict]:
    path = SHARED_DATA / "parent_vectors" / name
    if not path.is_file():
        pytest.skip(f"no {path}: real data is not part of the repository")
    text = path.read_text("utf-8")
    return json.loads(text) if path.suffix == ".json" else list(map(json.loads, text.splitlines()))


@pytest.mark.parametrize(("name", "count"), [("official.json", 3), ("open.extra.jsonl", 100)])
def test_official_scores_are_reproduced(name: str, count: int) -> None:
    vectors = _vectors(name)
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


def test_tottos_sample_gets_its_official_scores() -> None:
    """Precision over the whole table, recall over the highlighted cells."""
    tokenizer = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a()
    folder = SHARED_DATA / "totto_sample"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: real data is not part of the repository")
    records = list(map(json.loads, (folder / "dev_sample.jsonl").read_text("utf-8").splitlines()))
    expected = json.loads((folder / "expected.json").read_text("utf-8"))

    def entries(cells: list[dict], record: dict, section_text: bool) -> list[list[str]]:
        texts = [cell["value"] for cell in cells]
        texts += [record["table_page_title"], record["table_section_title"]]
        texts += [record["table_section_text"]] if section_text else []
        return [["cell", tokenizer(text.strip().lower())] for text in texts if text.strip()]

    found = parent.parent(
        [record["_sample_prediction"] for record in records],
        [[one["final_sentence"] for one in r["sentence_annotations"]] for r in records],
        [entries([c for row in r["table"] for c in row], r, True) for r in records],
        None,
        [entries([r["table"][i][j] for i, j in r["highlighted_cells"]], r, False) for r in records],
    )
    assert [round(100 * one.f, 1) for one in found] == expected["parent_all_f"]
    mean = 100 * sum(one.precision for one in found) / len(found)
    assert round(mean, 1) == expected["parent_precision"]


def test_an_entailed_word_counts_though_no_reference_has_it() -> None:
    reference = "Alba Vey was born on 5 May 1931 ."
    assert f(TEXT, reference) > f(TEXT.replace("Oslo", "Rome"), reference)


def test_a_wrong_number_that_shares_words_still_scores() -> None:
    """Proposition 1 of TabFaith: the reason why STAF is needed."""
    right, wrong = f(TEXT, TEXT), f(TEXT.replace("1931", "1937"), TEXT)
    assert 0.5 < wrong < right


def test_of_several_references_the_best_counts() -> None:
    alone = f(TEXT, TEXT)
    both = parent.score([TEXT], [["Nothing of the kind", TEXT]], [TABLE])[0]
    assert both == alone


def test_triples_count_head_and_tail() -> None:
    pair = [["capital of", "Norway"], ["name", "Oslo"]]
    triple = [["Oslo", "capital of", "Norway"]]
    for table in (pair, triple):
        found = parent.parent(["Oslo Norway Oslo Norway"], [["It rains."]], [table])[0]
        assert found.precision == pytest.approx(1)
    assert parent.overlap_precision("capital of", triple) == 0.0


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


def test_an_empty_text_scores_nothing() -> None:
    found = parent.parent([""], [[TEXT]], [TABLE])[0]
    assert found.precision == found.f == 0.0


def test_a_table_gives_its_filled_cells() -> None:
    table = Table.of(["Team", "Points"], [["Alba", "41"], ["Vey", None]])
    assert parent.table_entries(table) == [["Team", "Alba"], ["Points", "41"], ["Team", "Vey"]]


@pytest.mark.parametrize(
    ("references", "table", "message"),
    [
        ([[]], [TABLE], "text 1 has no reference"),
        ([[TEXT]], [[]], "text 1: its table has no value"),
        ([[TEXT]], [[["name", " "]]], "text 1: its table has no value"),
    ],
)
def test_what_parent_is_not_defined_for_is_refused(references, table, message) -> None:
    with pytest.raises(TablemendError, match=message):
        parent.score([TEXT], references, table)
