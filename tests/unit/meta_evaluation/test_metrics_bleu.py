"""BLEU: sacrebleu's figures for one text and for all, and bad input."""

from __future__ import annotations

import json
import sys

import pytest

from tablemend.errors import TablemendError
from tablemend.script import EXTRAS, run_script
from tests.support.files import SHARED_DATA

pytest.importorskip("sacrebleu")

from tablemend.meta_evaluation.metrics import bleu

TEXT = "Alba scored 41 points in the final against Sella."


def test_the_same_words_score_100_and_others_less() -> None:
    scores = bleu.score([TEXT, TEXT.replace("41", "37"), "Rain."], [[TEXT]] * 3)
    assert scores[0] == pytest.approx(100)
    assert scores[2] < scores[1] < 90


def test_tottos_sample_gets_its_official_corpus_score() -> None:
    folder = SHARED_DATA / "totto_sample"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: real data is not part of the repository")
    records = list(map(json.loads, (folder / "dev_sample.jsonl").read_text("utf-8").splitlines()))
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    score = bleu.corpus_score(
        [record["_sample_prediction"] for record in records],
        [[one["final_sentence"] for one in r["sentence_annotations"]] for r in records],
        lowercase=True,
    )
    assert round(score, 1) == expected["corpus_bleu_rounded_1"]


def test_texts_may_have_different_numbers_of_references() -> None:
    more = bleu.corpus_score([TEXT, "It rained."], [[TEXT], ["Snow fell.", "It rained."]])
    assert more == pytest.approx(100)


def test_texts_without_a_reference_are_refused() -> None:
    with pytest.raises(TablemendError, match="text 2 has no reference"):
        bleu.score([TEXT, TEXT], [[TEXT], []])
    with pytest.raises(TablemendError, match="no text"):
        bleu.corpus_score([], [])


def test_a_missing_extra_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Missing:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "sacrebleu":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [name for name in sys.modules if name.partition(".")[0] == "sacrebleu"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing, *sys.meta_path])
    with pytest.raises(SystemExit):
        run_script(lambda: print(bleu.score([TEXT], [[TEXT]])))
    assert capsys.readouterr().err == (
        "error: sacrebleu is not installed: pip install -e '.[metrics]' -c constraints.txt\n"
    )
    assert EXTRAS["sacrebleu"] == "metrics"
