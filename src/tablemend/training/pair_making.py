"""Making the pairs: the model's answers are drawn, scored, and set beside gold ones."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tablemend.backends.checkpoints import Checkpoint
from tablemend.errors import TablemendError
from tablemend.evaluation.generating import generate
from tablemend.evaluation.scoring import score
from tablemend.evaluation.systems import IN_PROCESS, hash_examples, model_of, plan_systems
from tablemend.generations import ScoredSystems
from tablemend.recipe.evaluation import System
from tablemend.recipe.experiment import DpoExperiment, PairsCommand
from tablemend.runs import Run, hash_file, say, sole_writer, write_jsonl
from tablemend.tasks.task import Sample
from tablemend.training.pairs import FILE, Pair, PairMaker, Prompt, Split

STAGE = "preference"
FIXED = (
    *("seed", "task", "model", "data.train", "data.validation", "format", "thinking"),
    *("train.prompt", "train.context", "dpo.pairs"),
    *("evaluation.max_new_tokens", "evaluation.similarity"),
    *("evaluation.verifier", "evaluation.extractor"),
)
"""What the pairs depend on, beside the weights and the examples themselves."""
MEND = "give dpo.pairs.path=FOLDER for new ones, or overwrite=true to make these anew"

Examples = dict[Split, list[Sample]]


def make_pairs(config: PairsCommand) -> dict[str, Any]:
    """Make what is not made yet, and write it whole.

    Returns:
        What the manifest says of the pairs.

    Raises:
        TablemendError: the folder holds pairs of other settings, weights or examples; a model or
            examples that are not there; no pair.
    """
    start = start_of(config) if config.dpo.pairs.sampled else None  # before anything is written
    run = Run(Path(config.dpo.pairs.path))
    _refuse_others(run)
    with sole_writer(run.path):
        if config.overwrite:
            _clear(run)
        run.begin(STAGE, config, FIXED, MEND)
        say(f"reading {config.data.train.source}")
        task, validation = config.task_of(), config.data.validation
        examples: Examples = {"train": task.samples(config.data.train)}
        if validation is not None:
            examples["validation"] = task.samples(validation)
        inputs = _inputs(examples, task.versions(), start)
        run.refuse_changes(STAGE, inputs, MEND)
        noted = run.recorded(STAGE)
        path = run.path / FILE
        if path.is_file() and noted.get("pairs_hash") == hash_file(path):
            return noted
        run.record(STAGE, inputs)
        asked = [e for own in examples.values() for e in own if _is_asked(e, config)]
        sampling = sampling_config(config)
        systems = plan_systems(sampling, run) if asked else []
        with task.scorer() as scorer:
            answers: ScoredSystems = {}
            if asked:
                generate(systems, asked, sampling, run)
                answers = score(asked, sampling, run, {task.format: scorer})
            maker = PairMaker(config, scorer)
            say(f"making the pairs of {inputs['examples']:,} examples")
            pairs = maker.make(_prompts(examples, config, answers))
        if not pairs:
            reasons = ", ".join(f"{n} x {reason}" for reason, n in maker.dropped.most_common())
            raise TablemendError(f"no pair came of {inputs['examples']} examples: {reasons}")
        write_jsonl(path, [pair.to_json() for pair in pairs])
        facts = {
            **inputs,
            **_counts(pairs),
            "asked": len(asked),
            "dropped": dict(maker.dropped),
            "passed_over": dict(maker.passed_over),
            "scorer": scorer.name,
            "pairs_hash": hash_file(path),
        }
        run.record(STAGE, facts)
        return facts


def _refuse_others(run: Run) -> None:
    """Pairs get a folder of their own: ``overwrite`` deletes a manifest and answers there.

    Raises:
        TablemendError: the folder holds something else, such as a run.
    """
    noted = run.path / f"{STAGE}.yaml"
    if run.path.is_dir() and not noted.is_file() and any(run.path.glob("[!.]*")):
        raise TablemendError(
            f"{run.path} holds other files than pairs: give dpo.pairs.path=FOLDER, a new one"
        )


def _clear(run: Run) -> None:
    for path in (run.path / FILE, run.manifest):
        path.unlink(missing_ok=True)
    shutil.rmtree(run.path / "generations", ignore_errors=True)
    (run.path / f"{STAGE}.yaml").unlink(missing_ok=True)  # last: it says whose folder this is


def _inputs(examples: Examples, versions: Mapping[str, str], start: str | None) -> dict[str, Any]:
    """What the pairs depend on beside the recipe."""
    everything = [example for own in examples.values() for example in own]
    return {
        "examples": len(everything),
        "examples_hash": hash_examples(everything),
        "prompt_hash": versions["prompt_hash"],
        "model": start,
    }


def start_of(config: DpoExperiment) -> str:
    """What draws the answers: a fingerprint of weights that are loaded here, else the model string.

    Raises:
        TablemendError: no such checkpoint.
    """
    model = model_of(sampling_config(config), "sample-0")
    if model.engine not in IN_PROCESS:
        return f"{model.engine}:{model.model}"
    own = config.dpo.pairs.model == "base"
    checkpoint = Checkpoint.parse(model.model, config.model.revision if own else None)
    try:
        checkpoint.check()
    except TablemendError as error:
        key = "model.path" if own else "dpo.pairs.model"
        raise TablemendError(f"{key}: {error}; train the start first, or name another") from error
    return checkpoint.fingerprint()


def _is_asked(example: Sample, config: DpoExperiment) -> bool:
    """Whether the model is to answer; drawn by the example alone, so that n changes no draw."""
    draw = random.Random(f"{config.seed}/asked/{example.id}").random()
    return draw < config.dpo.pairs.sampled


def sampling_config(config: DpoExperiment) -> DpoExperiment:
    """The recipe with one system for each answer that is drawn, in place of its own systems."""
    pairs = config.dpo.pairs
    system = System(model=pairs.model, prompt=config.train.prompt)
    evaluation = config.evaluation.model_copy(
        update={
            "n": None,
            "contexts": config.shown,
            "temperature": pairs.temperature,
            "seed": config.seed,
            "cut": "unscored",
            "second_scorer": "none",
            "systems": {f"sample-{number}": system for number in range(pairs.samples)},
        }
    )
    return config.model_copy(update={"evaluation": evaluation})


def _prompts(examples: Examples, config: DpoExperiment, answers: ScoredSystems) -> Iterator[Prompt]:
    """Every prompt, with what was drawn for it."""
    for split, members in examples.items():
        for example in members:
            for context in config.shown:
                own = None
                if _is_asked(example, config):
                    own = [system[context][example.id] for system in answers.values()]
                yield Prompt(example, context, split, own)


def _counts(pairs: Sequence[Pair]) -> dict[str, Any]:
    """How many pairs there are, of which kind, and what stands between the two answers."""
    kinds = Counter(pair.edit or "the model's own" for pair in pairs)
    types = Counter(finding.type for pair in pairs for finding in pair.findings)
    return {
        "pairs": len(pairs),
        "splits": dict(Counter(pair.split for pair in pairs)),
        "rejected": dict(kinds.most_common()),
        "chosen": dict(Counter(pair.chosen_source for pair in pairs)),
        "findings": dict(types.most_common()),
    }


def describe(facts: dict[str, Any], config: DpoExperiment) -> Iterator[str]:
    """What came of it, in lines for a person."""
    path = Path(config.dpo.pairs.path) / FILE
    splits = ", ".join(f"{n} {split}" for split, n in facts["splits"].items())
    yield f"{facts['pairs']} pairs in {path} ({splits})"
    for title in ("rejected", "findings"):
        said = ", ".join(f"{name} {n}" for name, n in facts[title].items())
        yield f"{title}: {said}"
    own = facts["rejected"].get("the model's own", 0)
    if facts["asked"] and not own:
        yield (
            f"note: none of the {facts['asked']} prompts that the model answered got an answer "
            "with a finding; raise dpo.pairs.temperature or samples, or take other examples"
        )
    for title in ("dropped", "passed_over"):
        for reason, count in facts[title].items():
            yield f"  {title.replace('_', ' ')}: {count} x {reason}"
