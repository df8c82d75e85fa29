"""BERTScore and TRUE with random tiny models: what they measure, not how well."""

from __future__ import annotations

import builtins
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tablemend.config import ConfigError, parse  # noqa: E402
from tablemend.errors import TablemendError  # noqa: E402
from tablemend.meta_evaluation import model_metrics  # noqa: E402
from tablemend.meta_evaluation.command import ValidateCommand  # noqa: E402
from tablemend.meta_evaluation.model_metrics import bertscore, true  # noqa: E402
from tablemend.meta_evaluation.validate import report, validate  # noqa: E402
from tablemend.tables.table import Table  # noqa: E402
from tests.support.made_up_sets import write_sets  # noqa: E402
from tests.support.tiny_encoders import tiny_bert_config  # noqa: E402

WINDOW = 512
TABLE = Table(("Team", "Points"), (("Alba", "41"),), "Final")
TEXTS = ("Alba won 41", "Sella lost", "41 points for Alba")


def save(folder: Path, kind: type, **more: object) -> str:
    torch.manual_seed(0)
    config = tiny_bert_config(folder, WINDOW, layers=2, initializer_range=0.5, **more)
    kind(config).save_pretrained(folder)  # texts differ, with weights of that size
    return str(folder)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(tmp_path_factory.mktemp("encoder"), transformers.BertModel)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> str:
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    kind = transformers.BertForSequenceClassification
    return save(tmp_path_factory.mktemp("nli"), kind, id2label=labels)


def test_bertscore_is_what_the_paper_defines(encoder: str) -> None:
    """Greedy matching of unit vectors, worked out again here.

    In the authors' package special tokens can be matched with, but are not counted.
    """
    pytest.importorskip("bert_score", reason="the extra bertscore is not installed")
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    model = transformers.AutoModel.from_pretrained(encoder).eval()

    def vectors(text: str) -> torch.Tensor:
        states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].detach()
        return states / states.norm(dim=-1, keepdim=True)

    similar = vectors(TEXTS[2]) @ vectors(TEXTS[0]).T
    precision, recall = (float(similar.max(axis).values[1:-1].mean()) for axis in (1, 0))
    long = "Alba " * WINDOW
    references = [[TEXTS[0]], [TEXTS[1], TEXTS[0]], [TEXTS[0]], [long]]
    other, same, *none = bertscore([TEXTS[2], TEXTS[0], long, TEXTS[0]], references, encoder)
    assert other == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-4)
    assert same == pytest.approx(1, abs=1e-4)  # the better reference
    assert none == [None, None]  # nothing is cut


def test_true_is_the_share_of_entailment_given_the_whole_table(classifier: str) -> None:
    scores = true([TEXTS[0], "Alba " * WINDOW], [[TABLE]] * 2, classifier)
    tokenizer = transformers.AutoTokenizer.from_pretrained(classifier)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    premise = "Final\ncol : Team | Points row 1 : Alba | 41"
    logits = model(**tokenizer(premise, TEXTS[0], return_tensors="pt")).logits
    assert scores[0] == pytest.approx(float(logits.softmax(-1)[0, 1]), abs=1e-5)
    assert scores[1] is None


def test_validate_has_both_in_its_tables(classifier: str, encoder: str, tmp_path: Path) -> None:
    data = write_sets(tmp_path / "data")
    metrics = [f"true:{classifier}"]
    if find_spec("bert_score"):
        metrics.append(f"bertscore:{encoder}")
    tokens = [f"data={data}", f"run={tmp_path / 'run'}", "sets=[d2t_human_ratings]", "split=all"]
    command = parse(ValidateCommand, [*tokens, "verifiers=[]", f"metrics=[{','.join(metrics)}]"])
    results, _ = validate(command)
    scorers = results["sets"]["d2t_human_ratings"]["scorers"]
    assert list(scorers) == [metric.partition(":")[0] for metric in metrics]
    assert scorers["true"]["model"] == classifier and "pearson" in scorers["true"]["correlation"]
    page = report(results)
    assert "TRUE |" in page and f"TRUE by {classifier}" in page


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("bertscor:x", "no metric 'bertscor:x'; did you mean bertscore?"),
        ("bertscore", "write bertscore:MODEL, and once, not 'bertscore'"),
        ("bleu:x", "write bleu, and once, not 'bleu:x'"),
        ("true:x,true:y", "write true:MODEL, and once"),
    ],
)
def test_metrics_that_cannot_be_are_one_problem(metric: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(ValidateCommand, [f"metrics=[{metric}]"])
    assert message in caught.value.problems[0]


def test_models_and_packages_that_are_missing_are_one_line(
    encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TablemendError, match="which of them is support"):  # LABEL_0 and LABEL_1
        true([TEXTS[0]], [[TABLE]], encoder)
    command = parse(ValidateCommand, [f"metrics=[true:{tmp_path / 'none'}]", f"run={tmp_path}"])
    with pytest.raises(TablemendError, match="no checkpoint folder"):
        validate(command)
    assert not list(tmp_path.iterdir())
    real = builtins.__import__

    def without(name: str, *more: object) -> object:
        if name.startswith("bert_score"):
            raise ModuleNotFoundError(name, name="bert_score")
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    model_metrics._load_bertscore.cache_clear()
    with pytest.raises(TablemendError, match=r"bert_score is not installed: pip install .*bertsc"):
        bertscore([TEXTS[0]], [[TEXTS[0]]], encoder)
