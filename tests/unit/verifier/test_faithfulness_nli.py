"""Sequence-pair classifiers as verifiers: labels, windows, batches, table models."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from huggingface_hub import constants  # noqa: E402

from tablemend.errors import TablemendError  # noqa: E402
from tablemend.evidence.source import Source  # noqa: E402
from tablemend.records import Claim, Document  # noqa: E402
from tablemend.tables.table import Table  # noqa: E402
from tablemend.verifier.nli import (  # noqa: E402
    TOO_LONG,
    NLIVerifier,
    read_labels,
)
from tests.support.tiny_encoders import tiny_bert_config  # noqa: E402

WINDOW = 96
TABLE = Table.of(["Team", "Points"], [["Alba", "41"], ["Sella", "37"], ["Vey", "12"]])
SOURCE = Source((TABLE,))


def document(*texts: str) -> Document:
    claims = tuple(Claim(text, 0, len(text), "numeric", text) for text in texts)
    return Document(" ".join(texts), claims)


def save_bert(folder: Path, labels: list[str], winner: int) -> Path:
    """A BERT of characters whose output ``winner`` always wins."""
    names = dict(enumerate(labels))
    config = tiny_bert_config(folder, WINDOW, num_labels=len(labels), id2label=names)
    return save(transformers.BertForSequenceClassification(config), winner, folder)


def save(model: object, winner: int, folder: Path) -> Path:
    head = next(
        module
        for name, module in reversed(list(model.named_modules()))  # type: ignore[attr-defined]
        if isinstance(module, torch.nn.Linear) and name.startswith("classif")
    )
    with torch.no_grad():
        head.bias.zero_()
        head.bias[winner] = 20.0
    model.save_pretrained(folder)  # type: ignore[attr-defined]
    return folder


def test_labels_say_what_they_mean_or_are_refused() -> None:
    names = {0: "CONTRADICTION", 1: "entailment", 2: "Neutral"}
    assert read_labels("m", names) == ("contradicted", "supported", "not_in_source")
    assert read_labels("m", {0: "Refused", 1: "Entailed"}) == ("contradicted", "supported")
    assert read_labels("m", {0: "entailment", 1: "not_entailment"})[1] == "not_in_source"
    unnamed = {0: "LABEL_0", 1: "LABEL_1"}
    assert read_labels("m", unnamed, ["refuted", "entailed"]) == ("contradicted", "supported")
    for wrong, given in (
        (unnamed, []),
        ({0: "positive", 1: "negative"}, []),
        ({0: "neutral", 1: "contradiction"}, []),
        ({0: "entailment", 1: "supports"}, []),
        ({0: "entailment"}, []),
        (names, ["refuted", "entailed"]),
    ):
        with pytest.raises(TablemendError, match="--labels") as refused:
            read_labels("m", wrong, given)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("winner", "verdict"), [(0, "contradicted"), (1, "supported"), (2, "not_in_source")]
)
def test_the_label_that_wins_is_the_verdict(tmp_path: Path, winner: int, verdict: str) -> None:
    labels = ["contradiction", "entailment", "neutral"]
    verifier = NLIVerifier(str(save_bert(tmp_path / "m", labels, winner)))
    ((verdicts, usage),) = verifier.verify([(document("Alba has 41.", "Vey 12."), SOURCE)])
    assert [one.verdict for one in verdicts] == [verdict, verdict]
    assert [one.error_type is None for one in verdicts] == [winner == 1] * 2
    assert usage.calls == 2 and usage.completion_tokens == 0
    assert verdicts[0].verifier == f"nli:{tmp_path / 'm'}"


def test_a_batch_gives_what_each_claim_gives_alone(tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "m", ["entailment", "neutral"], 0)
    verifier = NLIVerifier(str(folder))
    texts = ["Alba has 41.", "Alba has many more points: 41 in all.", "Vey 12."]
    items = [(document(*texts[:2]), SOURCE), (document(texts[2]), SOURCE)]
    together = [one.reason for verdicts, _ in verifier.verify(items) for one in verdicts]
    alone = [verifier.verify([(document(text), SOURCE)])[0][0][0].reason for text in texts]
    assert together == alone


def test_what_does_not_fit_is_shown_with_fewer_cells_or_not_at_all(tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "m", ["entailment", "neutral"], 0)
    verifier = NLIVerifier(str(folder))
    ((short, _),) = verifier.verify([(document("Alba 41."), SOURCE)])
    assert short[0].verdict == "supported" and len(short[0].evidence) < 3
    assert "Alba" in short[0].evidence[0].text
    long = "Alba has 41 points " + "and more " * 30
    ((verdicts, usage),) = verifier.verify([(document(long), SOURCE)])
    assert verdicts[0].verdict == "unscored" and verdicts[0].reason == TOO_LONG
    assert usage.calls == 0
    ((other, _),) = verifier.verify([(document("Zzz."), SOURCE)])
    assert other[0].verdict == "unscored" and "no cell" in other[0].reason


def test_a_base_model_without_a_classifier_is_refused(tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "m", ["entailment", "neutral"], 0)
    config = transformers.AutoConfig.from_pretrained(folder)
    transformers.BertModel(config).save_pretrained(folder)
    with pytest.raises(TablemendError, match=r"lacks 2 weights .*first classifier"):
        NLIVerifier(str(folder))
    with pytest.raises(TablemendError, match="no checkpoint folder"):
        NLIVerifier(str(tmp_path / "nothing" / "here"))


def test_a_model_of_the_hub_without_a_network_fails_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(TablemendError, match=r"cannot load some/model: .* cannot be reached"):
        NLIVerifier("some/model")
