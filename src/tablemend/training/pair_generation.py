"""Preference pairs: the model's answers are drawn, scored, and set beside gold ones."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.backends.checkpoints import Checkpoint
from tablemend.errors import NoTarget, TablemendError
from tablemend.evaluation.generating import generate
from tablemend.evaluation.scoring import score
from tablemend.evaluation.systems import IN_PROCESS, hash_examples, model_of, plan_systems
from tablemend.generations import Scored, ScoredSystems
from tablemend.recipe.evaluation import System
from tablemend.recipe.experiment import DpoExperiment, PairsCommand
from tablemend.records import ContextKind, Judgement
from tablemend.runs import Run, hash_file, say, sole_writer, write_jsonl
from tablemend.tasks.task import Sample, Scorer, Submission
from tablemend.training.pairs import FILE, Pair, Split

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
            generator = PairGenerator(config, scorer)
            say(f"pairing the answers to {inputs['examples']:,} examples")
            pairs = generator.pairs_of(_prompts(examples, config, answers))
        if not pairs:
            reasons = ", ".join(f"{n} x {reason}" for reason, n in generator.dropped.most_common())
            raise TablemendError(f"no pair came of {inputs['examples']} examples: {reasons}")
        write_jsonl(path, [pair.to_json() for pair in pairs])
        facts = {
            **inputs,
            **_counts(pairs),
            "asked": len(asked),
            "dropped": dict(generator.dropped),
            "passed_over": dict(generator.passed_over),
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


class Prompt(NamedTuple):
    """One prompt, and the model's own answers to it; ``None`` where it gets an injected error."""

    example: Sample
    context: ContextKind
    split: Split
    answers: Sequence[Scored] | None = None


@dataclass
class PairGenerator:
    """Sets two answers to each prompt beside each other, and counts what is left out.

    Attributes:
        config: the recipe.
        scorer: of the task.
        dropped: prompts without a pair, by reason.
        passed_over: answers and edits that make no pair, by reason; the prompt may have another.
    """

    config: DpoExperiment
    scorer: Scorer[Any]
    dropped: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)

    def pairs_of(self, prompts: Iterable[Prompt]) -> list[Pair]:
        """The pairs, in the order of the prompts."""
        return [pair for prompt in prompts if (pair := self._pair_of(prompt)) is not None]

    def _pair_of(self, prompt: Prompt) -> Pair | None:
        example, context, config = prompt.example, prompt.context, self.config
        try:
            gold = config.task_of().target(example, context, config.thinking)
        except NoTarget as error:
            self.dropped[f"{error.kind}: {error}"] += 1
            return None
        judgement = self._score(gold, prompt)
        if judgement.unscored:
            self.dropped[f"the chosen answer cannot be scored: {judgement.unscored}"] += 1
            return None
        if judgement.findings:
            self.dropped[f"the chosen answer has a finding: {judgement.findings[0].type}"] += 1
            return None
        sides = (
            self._injected(gold, prompt) if prompt.answers is None else self._sampled(gold, prompt)
        )
        if sides is None:
            kind = "edit" if prompt.answers is None else "answer of the model"
            self.dropped[f"no {kind} with a finding"] += 1
            return None
        return Pair(example.id, context, prompt.split, **sides)

    def _sampled(self, gold: str, prompt: Prompt) -> dict[str, Any] | None:
        """Of the model's answers the first with a finding, beside gold or its best."""
        rejected: list[Scored] = []
        flawless: list[str] = []
        for one in prompt.answers or ():
            if reason := why_no_rejected(one):
                self.passed_over[f"sampled: {reason}"] += 1
            else:
                rejected.append(one)
            if _is_flawless(one):
                flawless.append(one.stored.answer.text)
        if not rejected:
            return None
        own = flawless[:1] if self.config.dpo.pairs.chosen == "best" else []
        return {
            "chosen": own[0] if own else gold,
            "chosen_source": "sampled" if own else "gold",
            "rejected": rejected[0].stored.answer.text,
            "rejected_source": "sampled",
            "edit": None,
            "findings": rejected[0].judgement.findings,
        }

    def _injected(self, gold: str, prompt: Prompt) -> dict[str, Any] | None:
        """Gold beside itself with one error, which the scorer finds and calls by its type."""
        sample, view, task = prompt.example, prompt.context, self.config.task_of()
        rng = random.Random(f"{self.config.seed}/plant/{sample.id}/{view}")
        errors = [metric.name for metric in task.metrics if metric.kind == "error"]
        types = list(self.config.dpo.pairs.errors or errors)  # each gets the same share
        rng.shuffle(types)
        for one in task.corruptions(sample, view, gold, types, rng):
            findings = self._score(one.text, prompt).findings
            if one.type in {finding.type for finding in findings}:
                return {
                    "chosen": gold,
                    "chosen_source": "gold",
                    "rejected": one.text,
                    "rejected_source": "injected",
                    "edit": one.name,
                    "findings": findings,
                }
            self.passed_over[f"injected: {one.name} is no finding"] += 1
        return None

    def _score(self, text: str, prompt: Prompt) -> Judgement:
        (found,) = self.scorer.score([Submission(prompt.example, prompt.context, text)])
        return found


def why_no_rejected(one: Scored) -> str:
    """Why a sampled answer cannot be a rejected one; empty where it can."""
    if one.stored.failed:
        return "the request failed"
    # with an end of turn an answer that was cut would be another
    unfit = {"length": "cut at the token limit", "refusal": "the model declined"}
    if reason := unfit.get(one.stored.answer.finish_reason):
        return reason
    if one.judgement.unscored:
        return "unscored"
    return "" if one.judgement.findings else "without a finding"


def _is_flawless(one: Scored) -> bool:
    """Whether an answer states all that it should, and nothing else."""
    whole = all(share.value == 1.0 for share in one.judgement.shares.values())
    return why_no_rejected(one) == "without a finding" and whole
