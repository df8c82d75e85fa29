"""Classifiers of error types: what they see, what is learnt, and the command that trains them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.config import ConfigError, parse
from tablemend.config.error_types import Encoder, ErrorTypesCommand, InjectedErrors, Linear
from tablemend.datasets.tabfaith.error_types import (
    TypedClaim,
    fit,
    made_up_tables,
    measure,
    split,
    typed_claims,
)
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source, retrieve_cells
from tablemend.meta_evaluation import error_classifier
from tablemend.records import CLAIM_ERRORS, Claim, ClaimError, Evidence
from tablemend.runs import Run
from tablemend.tables.table import Table
from tablemend.verification.error_features import features_of
from tablemend.verification.error_types import (
    BY_KIND,
    SHIPPED,
    LinearClassifier,
    classify,
    read_classifier,
    shipped,
)

ROOT = Path(__file__).parents[3]
TABLE = Table.of(
    ("Company", "Revenue", "Employees", "Founded"),
    [
        ("Acme", "512", "40", "1991"),
        ("Bolt", "734", "77", "2004"),
        ("Cora", "96", "12", "2013"),
    ],
)
SOURCE = Source((TABLE,))


def asked(text: str, words: str) -> tuple[Claim, tuple[Evidence, ...]]:
    """The claim of a text that turns on some words, and its evidence."""
    for claim in extract_claims(text).claims:
        if claim.focus and text[claim.focus.start : claim.focus.end] == words:
            return claim, retrieve_cells(claim.statement, SOURCE)
    raise AssertionError(f"no claim turns on {words}")


@pytest.fixture(scope="module")
def examples() -> tuple[list[TypedClaim], list[TypedClaim]]:
    learn, held_out = split(made_up_tables(InjectedErrors(tables=30), seed=5), held_out=0.3)
    return list(typed_claims(learn, 2, 5)), list(typed_claims(held_out, 2, 5))


@pytest.mark.parametrize(
    ("text", "words", "type"),
    [
        ("The revenue of Acme was 598.", "598", "NUM"),
        ("Cora had the highest revenue.", "highest", "CMP"),
        ("Acme had a higher revenue than Bolt.", "higher", "CMP"),
    ],
)
def test_the_shipped_classifier_on_plain_cases(text: str, words: str, type: str) -> None:
    claim, evidence = asked(text, words)
    assert classify(claim, evidence, SOURCE) == type
    assert sum(shipped().shares(claim, evidence).values()) == pytest.approx(1)


def test_the_shipped_weights_are_small_and_hold_no_words() -> None:
    assert SHIPPED.stat().st_size < 300_000
    data = json.loads(SHIPPED.read_text())
    assert all(place.isdigit() for place in data["weights"])
    assert set(data) == {"features", "types", "columns", "weights"}


def test_a_row_that_does_not_belong_is_relational() -> None:
    claim = Claim("Acme is one of the rows.", None, None, "presence", "Acme is one of the rows.")
    assert classify(claim, ()) == "REL"


def test_a_claim_without_evidence_gets_some_type() -> None:
    claim, _ = asked("The revenue of Acme was 598.", "598")
    assert classify(claim, ()) in CLAIM_ERRORS
    assert classify(replace(claim, statement="", focus=None), ()) in CLAIM_ERRORS


def test_features_say_nothing_of_the_content() -> None:
    """Another company, another measure, other numbers in the same relations: the same features."""
    other = Table.of(
        ("Rower", "Weight", "Medals", "Born"),
        [
            ("Dina", "823", "31", "1972"),
            ("Erik", "947", "55", "1983"),
            ("Finn", "86", "22", "1999"),
        ],
    )
    text, told = "The revenue of Acme was 598.", "The weight of Dina was 598."
    (one,), (two,) = extract_claims(text).claims, extract_claims(told).claims
    source = Source((other,))
    assert features_of(one, retrieve_cells(text, SOURCE), SOURCE) == features_of(
        two, retrieve_cells(told, source), source
    )


def test_a_number_of_another_row_is_told_from_one_of_no_row() -> None:
    swapped, evidence = asked("The revenue of Acme was 734.", "734")
    invented, others = asked("The revenue of Acme was 598.", "598")
    assert "number column" in features_of(swapped, evidence, SOURCE)
    assert "number nowhere" in features_of(invented, others, SOURCE)


def test_tables_stand_on_one_side_only() -> None:
    tables = made_up_tables(InjectedErrors(tables=10), seed=1)
    learn, held_out = split(tables, 0.4)
    names = [{table.content_hash() for table in side} for side in (learn, held_out)]
    assert names[0] and names[1] and not names[0] & names[1]
    assert len(learn) + len(held_out) == len(tables)


def test_examples_hold_the_error_and_weigh_one_together(
    examples: tuple[list[TypedClaim], list[TypedClaim]],
) -> None:
    learn, _ = examples
    weights: dict[str, float] = {}
    for one in learn:
        weights[one.error] = weights.get(one.error, 0) + one.weight
    assert {one.type for one in learn} == set(CLAIM_ERRORS)
    assert all(weight == pytest.approx(1) for weight in weights.values())
    assert 0 < sum(one.focused for one in learn) < len(learn)


def test_what_is_learnt_beats_the_kind_alone_on_other_tables(
    examples: tuple[list[TypedClaim], list[TypedClaim]],
) -> None:
    learn, held_out = examples
    classifier = fit(learn, Linear(columns=1024), seed=0)
    said = [classifier.classify(one.claim, one.evidence, one.source) for one in held_out]
    by_kind = [BY_KIND[one.claim.kind] for one in held_out]
    learnt, alone = measure(held_out, said, 0), measure(held_out, by_kind, 0)
    assert learnt["accuracy"]["rate"] > 0.6 > 0.5 > alone["accuracy"]["rate"]
    total = sum(sum(row.values()) for row in learnt["confusion"].values())
    assert total == pytest.approx(learnt["errors"])
    again = LinearClassifier.from_json(json.loads(json.dumps(classifier.to_json())), "again")
    assert again == classifier


def test_measuring_right_and_wrong(
    examples: tuple[list[TypedClaim], list[TypedClaim]],
) -> None:
    _, held_out = examples
    perfect = measure(held_out, [one.type for one in held_out], 0)
    assert perfect["accuracy"]["rate"] == perfect["macro_f1"] == 1
    flat = measure(held_out, ["NUM"] * len(held_out), 0)
    assert flat["f1"]["CMP"] == 0 and flat["accuracy"]["rate"] < 0.5


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"features": "features-0"}', '{"features": "features-1", "types": []}'],
)
def test_damaged_weights_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "weights.json"
    path.write_text(text)
    with pytest.raises(TablemendError, match=r"weights\.json"):
        read_classifier(path)
    data = shipped().to_json()
    path.write_text(json.dumps({**data, "weights": {"3": [1.0]}}))
    with pytest.raises(TablemendError, match="another shape"):
        read_classifier(path)


@pytest.mark.parametrize("name", ["error-types", "error-types-encoder"])
def test_every_recipe_of_the_kind_loads(name: str) -> None:
    path = ROOT / "recipes" / f"{name}.yaml"
    config = parse(ErrorTypesCommand, [f"recipe={path}"])
    assert f"train/error_types.py recipe={name}" in path.read_text().split("kind:")[0]
    assert (config.linear is None) != (config.encoder is None)


def test_both_classifiers_or_none_are_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "none.yaml"
    recipe.write_text("kind: error-types\nname: none\n")
    with pytest.raises(ConfigError, match="either linear or encoder"):
        parse(ErrorTypesCommand, [f"recipe={recipe}"])


def train(*tokens: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "train/error_types.py", *tokens]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_trains_measures_and_writes_a_page(tmp_path: Path) -> None:
    tokens = [
        "recipe=error-types",
        f"run={tmp_path}/run",
        "data.tables=8",
        "data.summaries=1",
        f"page={tmp_path}/page.md",
        f"out={tmp_path}/weights.json",
    ]
    done = train(*tokens)
    assert done.returncode == 0, done.stderr
    assert "| made-up tables | classifier |" in done.stdout
    page = (tmp_path / "page.md").read_text()
    assert "## Confusion on made-up tables" in page and "**NUM**" in page
    assert read_classifier(tmp_path / "weights.json").weights
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["error_types"]["weights"]
    refused = train(*tokens, "seed=3")
    assert refused.returncode == 2 and "seed was 0, is 3" in refused.stderr
    missing = train(*tokens, "data.real=nowhere")
    assert missing.returncode == 2 and "no folder nowhere" in missing.stderr
    assert "Traceback" not in refused.stderr + missing.stderr


def test_check_prints_the_resolved_configuration() -> None:
    done = train("recipe=error-types-encoder", "--check")
    assert done.returncode == 0 and "max_length: 384" in done.stdout


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


def test_an_encoder_is_fine_tuned_and_read_again(
    tiny_encoder: Path, tmp_path: Path, examples: tuple[list[TypedClaim], list[TypedClaim]]
) -> None:
    from tablemend.training import error_encoder

    learn = examples[0][:64]
    options = Encoder(
        path=str(tiny_encoder), epochs=2, batch=16, learning_rate=1e-3, max_length=256
    )
    folder, out = tmp_path / "checkpoints", tmp_path / "model"
    counts = error_encoder.train(learn, options, 0, folder, out)
    assert counts["learnt"] + counts["too_long"] == 64 and counts["learnt"] > 32
    classifier = error_encoder.EncoderClassifier(out)
    pairs = [(one.claim, one.evidence) for one in learn[:20]]
    said = classifier.classify(pairs)
    assert set(said) <= set(CLAIM_ERRORS) and said == classifier.classify(pairs)
    long = replace(learn[0].claim, statement="word " * 2000)
    assert not +classifier.shortened
    assert classifier.classify([(long, learn[0].evidence * 50)])[0] in CLAIM_ERRORS
    classifier.classify([(learn[0].claim, learn[0].evidence * 50)])
    assert classifier.shortened == {"cut": 1, "fewer_cells": 1}
    # What an interruption left is gone on from, not started anew.
    error_encoder.train(learn, options.model_copy(update={"epochs": 3.0}), 0, folder, out)
    assert json.loads((folder / "checkpoint-12" / "trainer_state.json").read_text())["epoch"] == 3


def test_what_an_encoder_does_not_read_whole_is_counted_and_said(
    tmp_path: Path, examples: tuple[list[TypedClaim], list[TypedClaim]]
) -> None:
    config = parse(
        ErrorTypesCommand,
        [f"recipe={ROOT}/recipes/error-types-encoder.yaml", f"run={tmp_path}/run"],
    )
    run, shortened = Run.of(config), Counter[str]()
    run.record("error_types", {"learnt": 5, "too_long": 2})

    def judge(claims: Sequence[TypedClaim]) -> list[ClaimError]:
        shortened.update(fewer_cells=len(claims), cut=0)
        return ["NUM" for _ in claims]

    held_out = {"made-up tables": examples[1][:30], "real tables: x": examples[1][:20]}
    given = error_classifier.Examples(examples[0][:7], held_out)
    results = error_classifier.evaluate(config, run, given, {"classifier": judge}, shortened)
    assert (results["learnt"]["claims"], results["learnt"]["too_long"]) == (5, 2)
    assert results["shortened"]["real tables: x"] == {"fewer_cells": 20}
    for text in (error_classifier.summary(results), (run.path / "figures.md").read_text()):
        assert "too long for the encoder: 2 claims." in text
        assert "Not read whole, real tables: x: 20 claims with fewer cells" in text
        assert "Not read whole, made-up tables: 30 claims with fewer cells" in text


def test_an_encoder_of_something_else_is_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    from tablemend.training import error_encoder

    with pytest.raises(TablemendError, match="outputs are"):
        error_encoder.EncoderClassifier(tiny_encoder)
    with pytest.raises(TablemendError, match="no encoder"):
        error_encoder.EncoderClassifier(tmp_path)
    with pytest.raises(TablemendError, match=r"encoder\.path"):
        error_encoder.train([], Encoder(path=str(tmp_path)), 0, tmp_path, tmp_path)
