"""BERTScore and TRUE with random tiny models: what they measure, not how well."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tablemend.errors import TablemendError  # noqa: E402
from tablemend.meta_evaluation.metrics import bertscore, true_nli  # noqa: E402
from tests.support.tiny_encoders import SYMBOLS, tiny_bert_config  # noqa: E402

WINDOW = 80
TABLE = [["Team", "Alba"], ["Points", "41"]]
TEXTS = ("Alba won 41", "Sella lost", "41 points for Alba")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    config = tiny_bert_config(folder, WINDOW, layers=2, initializer_range=0.5)  # texts differ
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("t5")
    tokens = ["<pad>", "</s>", "<unk>", *SYMBOLS, " "]
    plain = Tokenizer(models.WordLevel({t: n for n, t in enumerate(tokens)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    plain.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=WINDOW,
    ).save_pretrained(folder)
    config = transformers.T5Config(
        vocab_size=len(tokens),
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    torch.manual_seed(0)
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)


def test_bertscore_of_the_same_text_is_one_and_of_another_less(encoder: str) -> None:
    same, other = bertscore.score(TEXTS[:2], [[TEXTS[0]]] * 2, model=encoder)
    assert same == pytest.approx(1, abs=1e-5) and other is not None and other < 0.99


def test_bertscore_takes_the_best_reference_and_knows_layers(encoder: str) -> None:
    (several,) = bertscore.score([TEXTS[0]], [[TEXTS[1], TEXTS[0]]], model=encoder)
    assert several == pytest.approx(1, abs=1e-5)
    first, last = (
        bertscore.score([TEXTS[1]], [[TEXTS[0]]], model=encoder, layer=layer)[0] for layer in (0, 2)
    )
    assert first != last
    with pytest.raises(TablemendError, match="has 2 layers, and no layer 3"):
        bertscore.score([TEXTS[1]], [[TEXTS[0]]], model=encoder, layer=3)


def test_bertscore_is_what_the_paper_defines(encoder: str) -> None:
    """Greedy matching of unit vectors, without special tokens, worked out again here."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    model = transformers.AutoModel.from_pretrained(encoder).eval()

    def vectors(text: str) -> object:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 1:-1]
        return states / states.norm(dim=-1, keepdim=True)

    one, other = vectors(TEXTS[2]), vectors(TEXTS[0])
    similar = [[float(a @ b) for b in other] for a in one]
    precision = sum(max(row) for row in similar) / len(similar)
    recall = sum(max(column) for column in zip(*similar, strict=True)) / len(similar[0])
    # together with a longer text, so that it is padded
    found = bertscore.score(
        [TEXTS[2], TEXTS[2] * 2], [[TEXTS[0]], [TEXTS[1]]], model=encoder, layer=2
    )
    assert found[0] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-4)


def test_what_does_not_fit_has_no_score(encoder: str, t5: str) -> None:
    long = "Alba " * 40
    assert bertscore.score([long, "", TEXTS[0]], [[TEXTS[0]]] * 3, model=encoder)[:2] == [None] * 2
    scores = true_nli.score([long, TEXTS[0]], [[], []], [TABLE, TABLE], model=t5)
    assert scores[0] is None and scores[1] is not None


def test_true_asks_a_t5_for_1_or_0(t5: str) -> None:
    scores = true_nli.score(TEXTS, [()] * 3, [TABLE] * 3, model=t5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    prompt = f"premise: Team: Alba; Points: 41 hypothesis: {TEXTS[0]}"
    with torch.no_grad():
        logits = model(
            **tokenizer(prompt, return_tensors="pt"), decoder_input_ids=torch.tensor([[0]])
        ).logits[0, 0]
    one, zero = (logits[tokenizer.convert_tokens_to_ids(answer)] for answer in "10")
    assert scores[0] == pytest.approx(float(torch.sigmoid(one - zero)), abs=1e-5)
    assert len(set(scores)) == 3


def test_true_takes_a_classifier_by_its_labels(tmp_path: Path) -> None:
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    config = tiny_bert_config(tmp_path, WINDOW, layers=2, id2label=labels)
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([0.0, 2.0, 0.0]))
    model.save_pretrained(tmp_path)
    (score,) = true_nli.score([TEXTS[0]], [[]], [TABLE], model=str(tmp_path))
    expected = torch.tensor([0.0, 2.0, 0.0]).softmax(0)[1]
    assert score == pytest.approx(float(expected), abs=1e-5)


def test_models_without_a_head_for_it_are_refused(encoder: str, tmp_path: Path) -> None:
    with pytest.raises(TablemendError):  # its labels are LABEL_0 and LABEL_1
        true_nli.score([TEXTS[0]], [[]], [TABLE], model=encoder)
    with pytest.raises(TablemendError, match="no checkpoint folder"):
        bertscore.score([TEXTS[0]], [[TEXTS[0]]], model=str(tmp_path / "none"))
    with pytest.raises(TablemendError, match="text 1 has no reference"):
        bertscore.score([TEXTS[0]], [[]], model=encoder)
