"""Preference training, phase by phase; ``train/dpo.py`` tells them in order."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, List, Value, disable_progress_bars
from transformers import PreTrainedTokenizerBase as Tokenizer
from trl import DPOConfig, DPOTrainer

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoCommand, DpoExperiment
from tablemend.runs import Run, hash_file, hash_text, say, sync_all, write_json
from tablemend.training import checkpoints, launch
from tablemend.training.adapters import PROMPTS
from tablemend.training.architectures import to_fit
from tablemend.training.data import (
    CHECKED,
    PAIRS_FILE,
    PairRows,
    Split,
    check_prompt,
    check_row,
    check_template,
    content_hash,
    read_pairs,
    read_validation,
    render_pair,
    show,
    why_dropped,
)
from tablemend.training.models import make_config, options_of, trainer_parts
from tablemend.training.pair_generation import STAGE as PAIRS_STAGE
from tablemend.training.pair_generation import start_of
from tablemend.training.stage import Method, PreparedData, checkpoints_of, refusals
from tablemend.training.trainer import LengthGrouped, TrainerMixin

COLUMNS = ("prompt_ids", "chosen_ids", "rejected_ids")
"""What DPOTrainer's collator reads."""
DRIFT = -10.0
"""Nats that the chosen answers may lose against the start before there is a warning."""


Rows = dict[Split, list[PairRows]]
"""Pairs as ids by split, in the order of the pairs."""


def build_rows(config: DpoExperiment, tokenizer: Tokenizer) -> tuple[Rows, dict[str, Any]]:
    """Read the pairs, render them, verify the first; nothing is cut.

    Returns:
        The rows, and what the manifest says of them.

    Raises:
        TablemendError: no pairs, pairs of other examples, shared tables, or no pair that fits.
    """
    check_template(tokenizer, config.thinking != "off")
    folder = Path(config.dpo.pairs.path)
    say(f"reading {folder} and its examples")
    pairs = read_pairs(folder)
    train = config.task_of().samples(config.data.train)
    examples = {one.id: one for one in (*train, *read_validation(config, train))}
    built: Rows = {"train": [], "validation": []}
    dropped: Counter[str] = Counter()
    longest = checked = 0
    say(f"tokenising {len(pairs):,} pairs")
    for pair in pairs:
        example = examples.get(pair.example_id)
        if example is None:
            raise TablemendError(
                f"{folder / PAIRS_FILE} holds pair {pair.id} of example {pair.example_id}, which "
                "data.train and data.validation do not hold: make the pairs again "
                "(data_gen/preference.py, overwrite=true)"
            )
        rows = chosen, rejected = render_pair(tokenizer, example, pair, config)
        longest = max(longest, *map(len, rows))
        reason = next(filter(None, (why_dropped(row, config.longest_row) for row in rows)), "")
        if reason or chosen == rejected:
            dropped[reason or "the two answers are the same ids"] += 1
            continue
        if checked < CHECKED:
            for row, answer in zip(rows, (pair.chosen, pair.rejected), strict=True):
                check_row(tokenizer, row, answer)
            check_prompt(tokenizer, example, pair.context, chosen.prompt, config)
            checked += 1
        built[pair.split].append(rows)
    count, step = len(built["train"]), config.train.global_batch
    if count < step:
        too_long = longest > config.longest_row
        mend = to_fit(config.model, longest) if too_long else "lower train.global_batch"
        raise TablemendError(
            f"{count} pairs of {folder / PAIRS_FILE} can be trained on, one step takes {step}: "
            f"make more, or {mend} (dropped: {dict(dropped)}; the longest has {longest} tokens)"
        )
    made = Run(folder).recorded(PAIRS_STAGE)
    facts = {
        "pairs": len(pairs),
        "rows": count,
        "left_out_of_each_pass": count % step,  # others each time, see PreferenceTrainer
        "validation_rows": len(built["validation"]),
        "dropped": dict(dropped),
        "rows_hash": content_hash(chain.from_iterable(chain(built["train"], built["validation"]))),
        "pairs_hash": hash_file(folder / PAIRS_FILE),
        "pairs_made": {key: value for key, value in made.items() if key != "log"},
        "template_hash": hash_text(str(tokenizer.chat_template)),
        **config.task_of().versions(),
    }
    return built, facts


def prepare(config: DpoExperiment, run: Run, tokenizer: Tokenizer) -> PreparedData:
    """Render the pairs into the run folder, where all processes read them.

    They lie on the disk because TRL keeps the reference's scores beside them: a training that goes
    on after an interruption, and every process, has the same.

    Raises:
        TablemendError: see :func:`build_rows`; a checkpoint that waits to be continued saw other
            pairs.
    """
    disable_progress_bars()
    built, facts = build_rows(config, tokenizer)
    drawn = facts["pairs_made"].get("model")
    if checkpoints.last_complete(checkpoints_of(run, config.stage)) is not None:
        run.refuse_changes(config.stage, {"rows_hash": facts["rows_hash"]})
    elif drawn is not None and drawn != start_of(config):
        print(
            "warning: the answers in the pairs were drawn from other weights than model.path: "
            "make the pairs again (data_gen/preference.py, overwrite=true)"
        )
    folder = checkpoints_of(run, config.stage) / "pairs"
    last = folder / "facts.json"  # is written last
    if not last.is_file() or json.loads(last.read_text("utf-8")) != facts:
        shutil.rmtree(folder, ignore_errors=True)
        with refusals(config.train, run):
            for split, pairs in built.items():
                if pairs:
                    as_dataset(pairs).save_to_disk(str(folder / split))
            sync_all(folder)
        write_json(last, facts)
    validation = str(folder / "validation") if built["validation"] else None
    prompts = [chosen.prompt for chosen, _ in built["train"][:PROMPTS]]
    return PreparedData(str(folder / "train"), validation, prompts, facts)


def as_dataset(pairs: Sequence[PairRows]) -> Dataset:
    """The columns that DPOTrainer's collator reads."""
    rows = [(chosen.prompt, chosen.target, rejected.target) for chosen, rejected in pairs]
    columns = [[list(ids) for ids in column] for column in zip(*rows, strict=True)]
    return Dataset.from_dict(
        dict(zip(COLUMNS, columns, strict=True)),
        features=Features(dict.fromkeys(COLUMNS, List(Value("int32")))),
    )


class PreferenceTrainer(TrainerMixin, DPOTrainer):  # type: ignore[misc]
    """DPOTrainer on pairs that are ids already (:data:`COLUMNS`).

    Differs from its parent in the order of rows (each pass leaves out those that fill no step: TRL
    would let them count for more) and in two more numbers of its log:
    ``drift/chosen`` and ``drift/rejected``, the mean log ratio of the model to the reference, in
    nats an answer. Both are 0 at the start; what the chosen answers lose there, answers that stand
    in no pair have gained.
    """

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        """The ids as they are: TRL would render and tokenise texts, and add an end of turn."""
        assert set(COLUMNS) <= set(dataset.column_names)
        return dataset

    def _get_train_sampler(self, *_: Any) -> LengthGrouped:
        lengths = [
            len(prompt) + max(len(one), len(other))
            for prompt, one, other in zip(
                *(self.train_dataset[name] for name in COLUMNS), strict=True
            )
        ]
        return LengthGrouped(lengths, self.recipe.global_batch, self.args.seed, whole=True)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Rewards are drifts times beta."""
        metrics = self._metrics["train" if self.model.training else "eval"]
        for name in ("chosen", "rejected"):
            if rewards := metrics.get(f"rewards/{name}"):
                metrics[f"drift/{name}"] = [reward / self.beta for reward in rewards]
        super().log(logs, start_time)


def dpo_arguments(config: DpoExperiment, folder: str, validate: bool) -> DPOConfig:
    """The recipe as the arguments of preference training.

    Raises:
        TablemendError: the batch does not divide over the devices, or TRL refuses a value.
    """
    dpo = config.dpo
    losses = {dpo.loss: 1.0} | ({"sft": dpo.sft_weight} if dpo.sft_weight else {})
    options = options_of(config, folder, validate) | {
        "beta": dpo.beta,
        "loss_type": list(losses),
        "loss_weights": list(losses.values()),
        "precompute_ref_log_probs": dpo.precompute_reference,
        "max_length": None,  # every pair fits, see build_rows; TRL's 1024 would cut
        "padding_free": False,
    }
    return make_config(DPOConfig, options)


def build_trainer(
    config: DpoExperiment, run: Run, tokenizer: Tokenizer, prepared: PreparedData
) -> PreferenceTrainer:
    """Load the start, put it and the pairs into a trainer, and score them with the reference.

    The reference is the start: with adapters the same weights without them, else, with
    ``precompute_reference``, the model before its first step, else a second copy.
    """
    validation = Dataset.load_from_disk(prepared.validation) if prepared.validation else None
    folder = str(checkpoints_of(run, config.stage))
    arguments = dpo_arguments(config, folder, validate=validation is not None)
    parts = trainer_parts(config, tokenizer, arguments)
    reference, precomputed = None, config.dpo.precompute_reference
    if config.train.lora is None and (not precomputed or launch.reuses_state()):
        reference = checkpoints.load_model(config.model)  # TRL would load it without its revision
    if precomputed:
        say("the reference scores the pairs, once")
    with refusals(config.train, run):
        return PreferenceTrainer(
            ref_model=reference,
            train_dataset=Dataset.load_from_disk(prepared.train),
            eval_dataset=validation,
            **parts,
        )


def summary(facts: Mapping[str, Any]) -> Iterator[str]:
    """How far the model went from its start, in lines for a person."""
    logged = [entry for entry in facts["log"] if "rewards/accuracies" in entry]
    if not logged:
        return
    last = logged[-1]
    yield (
        f"last log: {100 * last['rewards/accuracies']:.0f} % of the pairs the right way round, "
        f"margin {last['rewards/margins']:.3f}, drift {last['drift/chosen']:+.2f} nats for chosen "
        f"and {last['drift/rejected']:+.2f} for rejected answers"
    )
    if last["drift/chosen"] < DRIFT:
        yield (
            "warning: the chosen answers have become less likely than they were at the start: "
            "raise dpo.sft_weight or dpo.beta, or lower train.learning_rate"
        )


def _show(config: DpoCommand, tokenizer: Tokenizer) -> Iterator[str]:
    built, _ = build_rows(config, tokenizer)
    for pair in built["train"][: config.show]:
        for row in pair:
            yield show(tokenizer, row)


METHOD = Method(prepare, build_trainer, _show, report=summary)
