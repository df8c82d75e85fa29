"""The phases of a training, from a valid recipe to a verified checkpoint; read this first.

What differs between methods is a :class:`Method`: :mod:`.sft`, :mod:`.preference`, :mod:`.grpo`
and :mod:`.distillation` have one each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.recipe.experiment import Trained
from tablemend.runs import Run
from tablemend.training import checkpoints, launch, rates, requirements, run_folder, saving, stage
from tablemend.training.adapters import PROMPTS

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of a training as ids, verified.

    Attributes:
        train, validation: what the method's trainer is built with; ``validation`` is ``None``
            where the recipe has none.
        prompts: ids of prompts: logits are compared on them where an adapter is merged.
        facts: what the manifest says of the data.
    """

    train: Any
    validation: Any
    prompts: Sequence[Sequence[int]]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Method:
    """What a training does that others do not.

    Attributes:
        prepare: reads, renders and verifies the data, in the main process alone.
        build_trainer: puts the model, the data and the schedule into a trainer.
        show: the first rows as coloured text.
        check: refuses what cannot be trained here, before anything is written.
        summarise: facts of the finished training that only this method has.
        report: its last lines on the screen.
        start: refuses a loaded model that there is no use in training.
    """

    prepare: Callable[[Any, Run, Tokenizer], Prepared]
    build_trainer: Callable[[Any, Run, Tokenizer, Prepared], Any]
    show: Callable[[Any, Tokenizer], Iterator[str]]
    check: Callable[[Any], None] = lambda config: None
    summarise: Callable[[Facts], Mapping[str, Any]] = lambda facts: {}
    report: Callable[[Facts], Iterator[str]] = lambda facts: iter(())
    start: Callable[[Any], None] = lambda trainer: None


def train(config: Any, method: Method) -> None:
    """Data, model, steps, checkpoint; the same call continues where an earlier one stopped.

    Args:
        config: a command that trains: a recipe with ``show`` and ``overwrite``.
        method: SFT, DPO, GRPO or self-distillation.

    Raises:
        TablemendError: see each phase.
    """
    config = stage.set_up(config)
    requirements.check_method(config)
    if config.show:
        for row in method.show(config, checkpoints.load_tokenizer(config.model)):
            print(row)
        return
    method.check(config)
    run = Run.of(config)
    with run_folder.alone(run):
        if run_folder.begin(config, run, config.overwrite):
            _train(config, method, run)


def _train(config: Trained, method: Method, run: Run) -> None:
    pinned = run_folder.pinned(config, run)
    tokenizer = checkpoints.load_tokenizer(pinned.model)
    prepared = launch.once(lambda: method.prepare(config, run, tokenizer))
    rated = launch.once(lambda: rates.read(config, tokenizer))
    trainer = method.build_trainer(pinned, run, tokenizer, prepared)
    method.start(trainer)
    model = pinned.model
    revision = launch.once(lambda: checkpoints.revision_of(model.path, model.revision))
    facts = {**prepared.facts, "model_revision": revision}
    if rated is not None:
        facts |= rated.attach(trainer)
    run_folder.record(run, config.stage, facts)
    facts |= stage.train(trainer, config, run)
    facts |= method.summarise(facts)
    saving.save(trainer, pinned, run, tokenizer, prepared.prompts[:PROMPTS], facts)
    stage.report(run, facts, method.report(facts))
