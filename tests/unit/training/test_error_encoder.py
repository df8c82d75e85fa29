"""The encoder of error types: its examples, its training, its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tablemend.config import parse
from tablemend.config.error_types import Encoder, ErrorTypesCommand, InjectedErrors
from tablemend.errors import TablemendError
from tablemend.records import CLAIM_ERRORS
from tablemend.runs import Run
from tablemend.training import error_encoder
from tablemend.training.error_claims import (
    TypedClaim,
    made_up_tables,
    measure,
    split,
    typed_claims,
)
from tablemend.verification.error_types import BY_KIND, name_error

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def examples() -> tuple[list[TypedClaim], list[TypedClaim]]:
    learn, held_out = split(made_up_tables(InjectedErrors(tables=8), seed=5), held_out=0.3)
    names = [{table.content_hash() for table in side} for side in (learn, held_out)]
    assert names[0] and names[1] and not names[0] & names[1]
    return list(typed_claims(learn, 1, 5)), list(typed_claims(held_out, 1, 5))


def test_examples_hold_the_error_and_weigh_one_together(
    examples: tuple[list[TypedClaim], list[TypedClaim]],
) -> None:
    weights: dict[str, float] = {}
    for one in examples[0]:
        weights[one.error] = weights.get(one.error, 0) + one.weight
    assert {one.type for one in examples[0]} == set(CLAIM_ERRORS)
    assert all(weight == pytest.approx(1) for weight in weights.values())


def test_the_rule_of_the_verifiers_beats_the_kind_of_the_claim_alone(
    examples: tuple[list[TypedClaim], list[TypedClaim]],
) -> None:
    claims = [*examples[0], *examples[1]]
    rule = measure(claims, [name_error(one.claim, one.source) for one in claims], 0)
    kind = measure(claims, [BY_KIND[one.claim.kind] for one in claims], 0)
    right = measure(claims, [one.type for one in claims], 0)
    assert rule["accuracy"]["rate"] > 0.55 > 0.5 > kind["accuracy"]["rate"]
    assert right["accuracy"]["rate"] == 1 and set(right["f1"].values()) == {1.0}
    total = sum(sum(row.values()) for row in rule["confusion"].values())
    assert total == pytest.approx(rule["errors"])


@pytest.fixture(scope="module")
def tiny_encoder(
    tmp_path_factory: pytest.TempPathFactory,
    examples: tuple[list[TypedClaim], list[TypedClaim]],
) -> Path:
    """A random BERT of two layers with a vocabulary of its own."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.normalizer = normalizers.Lowercase()
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    texts = [one.claim.statement for one in examples[0]]
    trainer = trainers.WordPieceTrainer(vocab_size=600, special_tokens=special)
    raw.train_from_iterator(texts, trainer)
    raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        model_max_length=256,
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")},
    )
    config = BertConfig(
        vocab_size=600,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=256,
    )
    folder = tmp_path_factory.mktemp("tiny-encoder")
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_an_encoder_is_trained_measured_and_gone_on_with(
    tiny_encoder: Path, tmp_path: Path, examples: tuple[list[TypedClaim], list[TypedClaim]]
) -> None:
    tokens = [
        f"recipe={ROOT}/recipes/error-types-encoder.yaml",
        f"run={tmp_path}/run",
        f"encoder.path={tiny_encoder}",
        "encoder.epochs=1",
        "data.tables=4",
        "data.summaries=1",
        "data.held_out=0.3",
    ]
    config = parse(ErrorTypesCommand, tokens)
    run = Run.of(config)
    results = error_encoder.train_and_measure(config, run)
    assert results["examples"]["learnt"] > 0
    assert results["encoder"]["errors"] == results["rule"]["errors"] > 0
    weights = run.model / "model.safetensors"
    trained = weights.stat().st_mtime_ns
    assert error_encoder.train_and_measure(config, run) == results
    assert weights.stat().st_mtime_ns == trained
    assert json.loads((run.path / "results.json").read_text()) == results
    with pytest.raises(TablemendError, match="seed"):
        error_encoder.train_and_measure(parse(ErrorTypesCommand, [*tokens, "seed=1"]), run)
    classifier = error_encoder.EncoderClassifier(run.model)
    one = examples[0][0]
    long = one.claim.__class__("", None, None, "numeric", "word " * 2000)
    classifier.classify([(long, one.evidence * 50), (one.claim, one.evidence * 50)])
    assert classifier.shortened == {"cut": 1, "fewer_cells": 1}


def test_an_encoder_of_something_else_is_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match="outputs are"):
        error_encoder.EncoderClassifier(tiny_encoder)
    with pytest.raises(TablemendError, match="no encoder"):
        error_encoder.EncoderClassifier(tmp_path)
    with pytest.raises(TablemendError, match=r"encoder\.path"):
        error_encoder.train([], Encoder(path=str(tmp_path)), 0, tmp_path, tmp_path)
