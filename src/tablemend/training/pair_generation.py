"""Preference pairs: the model's answers are drawn, scored, and set beside gold ones."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.backends.checkpoints import Checkpoint
from tablemend.errors import NoTarget, TablemendError
from tablemend.evaluation.generating import generate
from tablemend.evaluation.scoring import score
from tablemend.evaluation.systems import (
    IN_PROCESS,
    hash_examples,
    model_of,
    problems,
    refuse,
    resolve,
)
from tablemend.generations import Scored, ScoredSystems
from tablemend.mitigations.repair_scorer import RepairScorer
from tablemend.recipe.evaluation import SystemConfig
from tablemend.recipe.experiment import DpoExperiment, PairsCommand
from tablemend.records import ContextKind, Judgement
from tablemend.runs import Run, hash_file, say, sole_writer, write_jsonl
from tablemend.tasks.sources import Chat
from tablemend.tasks.task import Sample, Scorer, Submission
from tablemend.training.data import PAIRS_FILE, TARGETS_FILE, Pair, Split, read_validation

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
    settings = run.path / f"{STAGE}.yaml"
    if run.path.is_dir() and not settings.is_file() and any(run.path.glob("[!.]*")):
        # overwrite=true would delete a manifest and answers there
        raise TablemendError(
            f"{run.path} holds other files than pairs: give dpo.pairs.path=FOLDER, a new one"
        )
    with sole_writer(run.path):
        if config.overwrite:
            for path in (run.path / PAIRS_FILE, run.path / TARGETS_FILE, run.manifest):
                path.unlink(missing_ok=True)
            shutil.rmtree(run.path / "generations", ignore_errors=True)
            settings.unlink(missing_ok=True)  # last: it says whose folder this is
        run.begin(STAGE, config, FIXED, MEND)
        say(f"reading {config.data.train.source}")
        task = config.task_of()
        train = task.samples(config.data.train)
        examples: Examples = {"train": train, "validation": read_validation(config, train)}
        files = {"pairs_hash": run.path / PAIRS_FILE, "targets_hash": run.path / TARGETS_FILE}
        reads_gold = config.dpo.pairs.scorer == "detector"
        with task.scorer() if reads_gold else nullcontext(RepairScorer(task)) as scorer:
            repair = RepairScorer.name if config.dpo.pairs.chosen == "repair" else None
            everything = [example for own in examples.values() for example in own]
            inputs = {  # what the pairs depend on beside the recipe
                "examples": len(everything),
                "examples_hash": hash_examples(everything),
                "prompt_hash": task.versions()["prompt_hash"],
                "model": start,
                "scorer": scorer.name,
                "repair": repair,
            }
            run.refuse_changes(STAGE, inputs, MEND)
            noted = run.recorded(STAGE)
            if all(p.is_file() and noted.get(name) == hash_file(p) for name, p in files.items()):
                return noted
            run.record(STAGE, inputs)
            asked = [example for example in everything if _is_asked(example, config)]
            answers: ScoredSystems = {}
            if asked:
                sampling = sampling_config(config)
                systems = resolve(sampling, run)
                refuse(problems(sampling, systems))
                generate(systems, asked, sampling, run)
                answers = score(systems, asked, sampling, run, {task.format: scorer})

            def drawn_for(example: Sample, context: ContextKind) -> list[Scored] | None:
                if not _is_asked(example, config):
                    return None
                return [system[context][example.id] for system in answers.values()]

            generator = PairGenerator(config, scorer)
            say(f"pairing the answers to {inputs['examples']:,} examples")
            prompts = [
                Prompt(example, context, split, drawn_for(example, context))
                for split, members in examples.items()
                for example in members
                for context in config.shown
            ]
            pairs = generator.pairs_of(prompts)
        if not (pairs or generator.targets):
            reasons = ", ".join(f"{n} x {reason}" for reason, n in generator.dropped.most_common())
            raise TablemendError(f"no pair came of {inputs['examples']} examples: {reasons}")
        write_jsonl(files["targets_hash"], generator.targets)
        write_jsonl(files["pairs_hash"], [pair.to_json() for pair in pairs])
        kinds = Counter(pair.edit or "the model's own" for pair in pairs)
        types = Counter(finding.type for pair in pairs for finding in pair.findings)
        facts = {
            **inputs,
            "pairs": len(pairs),
            "splits": dict(Counter(pair.split for pair in pairs)),
            "rejected": dict(kinds.most_common()),
            "chosen": dict(Counter(pair.chosen_source for pair in pairs)),
            "findings": dict(types.most_common()),
            "asked": len(asked),
            "dropped": dict(generator.dropped),
            "passed_over": dict(generator.passed_over),
            "targets": len(generator.targets),
            **{name: hash_file(path) for name, path in files.items()},
        }
        run.record(STAGE, facts)
        return facts


def start_of(config: DpoExperiment) -> str:
    """What draws the answers: a fingerprint of weights that are loaded here, else the model string.

    Raises:
        TablemendError: no such checkpoint.
    """
    sampling = sampling_config(config)
    _, model = model_of(sampling, sampling.evaluation.systems["sample-0"])
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
    system = SystemConfig(model=pairs.model, prompt=config.train.prompt)
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


def describe(facts: dict[str, Any], config: DpoExperiment) -> Iterator[str]:
    """What came of it, in lines for a person."""
    path = Path(config.dpo.pairs.path) / PAIRS_FILE
    splits = ", ".join(f"{n} {split}" for split, n in facts["splits"].items())
    yield f"{facts['pairs']} pairs in {path} ({splits})"
    if facts["asked"]:
        yield f"{facts['targets']} own answers to fine-tune on in {path.with_name(TARGETS_FILE)}"
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
        targets: records of a chat for each prompt with an answer to train on (:class:`Chat`).
    """

    config: DpoExperiment
    scorer: Scorer[Any]
    dropped: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    targets: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._task = self.config.task_of()
        self._made_with = self.config.prompt_settings

    def pairs_of(self, prompts: Iterable[Prompt]) -> list[Pair]:
        """The pairs, in the order of the prompts."""
        pairs = []
        for prompt in prompts:
            gold = self._gold(prompt) if self.config.dpo.pairs.scorer == "detector" else ""
            make = self._injected if prompt.answers is None else self._sampled
            sides = None if gold is None else make(gold, prompt)
            if sides is not None:
                pairs.append(Pair(prompt.example.id, prompt.context, prompt.split, *sides))
        return pairs

    def _gold(self, prompt: Prompt) -> str | None:
        """The target of gold, where the scorer finds nothing in it."""
        try:
            gold = self._task.target(prompt.example, prompt.context, self.config.thinking)
        except NoTarget as error:
            self.dropped[f"{error.kind}: {error}"] += 1
            return None
        found = self._score(gold, prompt)
        if reason := found.unscored or ", ".join(one.type for one in found.findings):
            self.dropped[f"the gold answer is not to be chosen: {reason}"] += 1
            return None
        return gold

    def _sampled(self, gold: str, prompt: Prompt) -> tuple[Any, ...] | None:
        """Of the model's answers the first with a finding, beside gold, its best or its repair."""
        rejected: list[Scored] = []
        flawless: list[str] = []
        for one in prompt.answers or ():
            if reason := why_no_rejected(one):
                self.passed_over[f"sampled: {reason}"] += 1
            else:
                rejected.append(one)
            if reason == "without a finding" and self._task.is_flawless(one.judgement):
                flawless.append(one.stored.answer.text)
        sides = [(one, gold, "gold") for one in rejected if gold]
        if self.config.dpo.pairs.chosen == "best" and flawless:
            sides = [(one, flawless[0], "sampled") for one in rejected]
        elif self.config.dpo.pairs.chosen == "repair":
            sides = self._mended(rejected, prompt)
        # where repair dropped a row, what is left may lack the one that it stood for
        mended = [
            own
            for one, own, how in sides
            if how == "mended"
            and not any(f.row is not None and f.column is None for f in one.judgement.findings)
        ]
        self._keep_target([*flawless, *mended], prompt)
        if not sides:
            lacking = "with one to choose beside it" if rejected else "with a finding"
            self.dropped[f"no answer of the model {lacking}"] += 1
            return None
        (one, chosen, source), *_ = sides
        return chosen, one.stored.answer.text, source, "sampled", None, one.judgement.findings

    def _mended(self, answers: Sequence[Scored], prompt: Prompt) -> list[tuple[Scored, str, str]]:
        """The first answer that the rule repair makes flawless, and what it makes of it."""
        for one in answers:
            answer = Submission(prompt.example, prompt.context, one.stored.answer.text)
            mended = RepairScorer(self._task).mend(answer)
            if mended.edits and self._task.is_flawless(self._score(mended.text, prompt)):
                return [(one, mended.text, "mended")]
            self.passed_over["sampled: repair leaves something wrong"] += 1
        return []

    def _keep_target(self, answers: Iterable[str], prompt: Prompt) -> None:
        """The first answer that is rendered as the recipe's targets are, for fine-tuning."""
        if prompt.split != "train":
            return
        thinks = self.config.thinking != "off"
        answer = next((one for one in answers if Chat((), one).thinks == thinks), None)
        if answer is None:
            self.passed_over["sampled: no answer to fine-tune on"] += 1
            return
        chat = self._task.messages(prompt.example, prompt.context, self.config.train.prompt)
        made = {"source_hash": prompt.example.source_hash, "made_with": self._made_with}
        self.targets.append({"messages": [*chat, {"role": "assistant", "content": answer}], **made})

    def _injected(self, gold: str, prompt: Prompt) -> tuple[Any, ...] | None:
        """Gold beside itself with one error, which the scorer finds and calls by its type."""
        sample, view, task = prompt.example, prompt.context, self._task
        rng = random.Random(f"{self.config.seed}/plant/{sample.id}/{view}")
        errors = [metric.name for metric in task.metrics if metric.kind == "error"]
        types = list(self.config.dpo.pairs.errors or errors)  # each gets the same share
        rng.shuffle(types)
        for one in task.corruptions(sample, view, gold, types, rng):
            findings = self._score(one.text, prompt).findings
            if one.type in {finding.type for finding in findings}:
                return gold, one.text, "gold", "injected", one.name, findings
            self.passed_over[f"injected: {one.name} is no finding"] += 1
        self.dropped["no edit with a finding"] += 1
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
