"""An encoder as classifier of error types: claim and evidence as a pair of sequences."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

from tablemend.config.error_types import Encoder, ErrorTypesCommand
from tablemend.errors import TablemendError
from tablemend.records import CLAIM_ERRORS, Claim, ClaimError, Evidence
from tablemend.runs import Run, disk_errors, write_json
from tablemend.training.error_claims import (
    TypedClaim,
    made_up_tables,
    measure,
    split,
    typed_claims,
)
from tablemend.verification.error_types import name_error

STAGE = "error_types"
FIXED = ("seed", "data.tables", "data.summaries", "data.held_out", "encoder")
_BATCH = 64


def train_and_measure(config: ErrorTypesCommand, run: Run) -> dict[str, Any]:
    """Inject errors, fine-tune on some of the tables, measure on the others.

    What is trained already is only measured; with ``overwrite`` it is trained anew.

    Returns:
        What is written as results.json: figures of the encoder and of the rule that the verifiers
        use, and the claims that the encoder could not read whole.

    Raises:
        TablemendError: another training in the run folder, no such encoder.
    """
    if config.overwrite:
        for folder in (run.model, run.path / "checkpoints"):
            shutil.rmtree(folder, ignore_errors=True)
        (run.path / f"{STAGE}.yaml").unlink(missing_ok=True)
    run.begin(STAGE, config, FIXED)
    data, seed = config.data, config.seed
    learn_from, measure_on = split(made_up_tables(data, seed), data.held_out)
    held_out = list(typed_claims(measure_on, data.summaries, seed))
    if not (run.model / "config.json").exists():
        examples = list(typed_claims(learn_from, data.summaries, seed))
        counts = train(examples, config.encoder, seed, run.path / "checkpoints", run.model)
        run.record(STAGE, counts)
    encoder = EncoderClassifier(run.model)
    by_encoder = encoder.classify([(one.claim, one.evidence) for one in held_out])
    by_rule = [name_error(one.claim, one.source) for one in held_out]
    results = {
        "examples": {name: run.recorded(STAGE)[name] for name in ("learnt", "too_long")},
        "encoder": measure(held_out, by_encoder, seed),
        "rule": measure(held_out, by_rule, seed),
        "shortened": dict(encoder.shortened),
    }
    write_json(run.path / "results.json", results)
    return results


def pair_of(claim: Claim, evidence: Sequence[Evidence]) -> tuple[str, str]:
    """What the encoder reads: the evidence, and the statement with the words it turns on."""
    focus = ""
    if claim.focus is not None and claim.start is not None:
        focus = claim.text[claim.focus.start - claim.start : claim.focus.end - claim.start]
    turns_on = f"{claim.kind}: {focus}. " if focus else ""
    return ". ".join(one.text for one in evidence), f"{turns_on}{claim.statement}"


class EncoderClassifier:
    """A trained encoder.

    Args:
        folder: what ``train/error_types.py recipe=error-types-encoder`` has written.

    Attributes:
        shortened: claims so far that the window did not hold whole: ``fewer_cells``, read with the
            best cells of their evidence alone, and ``cut``, which lost words of their own.

    Raises:
        TablemendError: no classifier of the five types there.
    """

    def __init__(self, folder: Path) -> None:
        self.shortened: Counter[str] = Counter()
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
            self._model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        except (OSError, ValueError) as error:
            first = str(error).partition("\n")[0]
            raise TablemendError(f"{folder} is no encoder of error types: {first}") from error
        self._window = _window(self._tokenizer, self._model.config)
        names = [self._model.config.id2label.get(place) for place in range(len(CLAIM_ERRORS))]
        if names != list(CLAIM_ERRORS):
            raise TablemendError(f"{folder}: its outputs are {names}, not {list(CLAIM_ERRORS)}")

    @torch.inference_mode()
    def classify(self, claims: Sequence[tuple[Claim, Sequence[Evidence]]]) -> list[ClaimError]:
        """The likeliest type of each claim, by what the model was shown of its evidence."""
        found: list[ClaimError] = []
        for start in range(0, len(claims), _BATCH):
            pairs = [self._fitted(*one) for one in claims[start : start + _BATCH]]
            inputs = self._tokenizer(
                *map(list, zip(*pairs, strict=True)),
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=self._window,
            )
            logits = self._model(**inputs.to(self._model.device)).logits
            found += [CLAIM_ERRORS[place] for place in logits.argmax(-1).tolist()]
        return found

    def _fitted(self, claim: Claim, evidence: Sequence[Evidence]) -> tuple[str, str]:
        """The pair with as many cells, the best first, as the window holds."""
        for kept in range(len(evidence), -1, -1):
            pair = pair_of(claim, evidence[:kept])
            if len(self._tokenizer(*pair, verbose=False)["input_ids"]) <= self._window:
                self.shortened["fewer_cells"] += kept < len(evidence)
                return pair
        self.shortened["cut"] += 1
        return pair


def train(
    examples: Sequence[TypedClaim], options: Encoder, seed: int, folder: Path, out: Path
) -> dict[str, int]:
    """Fine-tune an encoder; an interrupted training goes on from its last epoch.

    Args:
        examples: what to learn from.
        options: the encoder and its training.
        seed: of the new layer, the order and the dropout.
        folder: where checkpoints are kept meanwhile.
        out: folder of the finished model and tokenizer.

    Returns:
        How many examples were learnt and how many were too long for ``max_length``.

    Raises:
        TablemendError: no such encoder, or no example that fits.
    """
    set_seed(seed)
    labels = dict(enumerate(CLAIM_ERRORS))
    try:
        tokenizer = AutoTokenizer.from_pretrained(options.path, revision=options.revision)
        model = AutoModelForSequenceClassification.from_pretrained(
            options.path,
            revision=options.revision,
            id2label=labels,
            label2id={name: place for place, name in labels.items()},
        )
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise TablemendError(f"encoder.path {options.path}: {first}") from error
    longest = min(options.max_length, _window(tokenizer, model.config))
    rows = []
    for one in examples:
        row = tokenizer(*pair_of(one.claim, one.evidence))
        if len(row["input_ids"]) <= longest:
            rows.append({**row, "labels": CLAIM_ERRORS.index(one.type)})
    if not rows:
        raise TablemendError(f"no example fits into {longest} tokens: raise encoder.max_length")
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=options.epochs,
        learning_rate=options.learning_rate,
        warmup_steps=options.warmup,
        per_device_train_batch_size=options.batch,
        save_strategy="epoch",
        save_total_limit=1,
        seed=seed,
        report_to=[],
        logging_strategy="epoch",
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    with disk_errors(folder):
        last = get_last_checkpoint(str(folder)) if folder.is_dir() else None
        trainer.train(resume_from_checkpoint=last)
    with disk_errors(out):
        trainer.save_model(str(out))
        tokenizer.save_pretrained(out)
    return {"learnt": len(rows), "too_long": len(examples) - len(rows)}


def _window(tokenizer: Any, config: Any) -> int:
    """Most tokens that the encoder reads."""
    places = getattr(config, "max_position_embeddings", None) or 512
    return int(min(tokenizer.model_max_length, places))
