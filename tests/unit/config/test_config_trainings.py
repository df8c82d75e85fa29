"""Trainings that cannot be, of every method: refused at the path of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablemend.config import ConfigError, parse
from tablemend.config.section import Section
from tablemend.recipe.experiment import DistilCommand, DpoCommand, GrpoCommand, SftCommand

RECIPES: dict[type[Section], str] = {
    SftCommand: "tiny",
    DpoCommand: "tiny-dpo",
    GrpoCommand: "tiny-grpo",
    DistilCommand: "tiny-distil",
}
LORA = ["train.method=lora", "train.lora={r: 4, dropout: 0.1}"]
QLORA = ["train.method=qlora", "train.precision=bfloat16", "train.lora={r: 8}"]
SERVER = "grpo.server=http://localhost:8000"
VLLM = "grpo.engine=vllm-colocate"
EVERY = "train.evaluate={every: 200}"
VERDICTS = "task=claim_verification"


@pytest.mark.parametrize(
    ("cls", "given", "path", "words"),
    [
        (
            SftCommand,
            ["train.evaluate={every: 3}", "train.save_every=2"],
            "every",
            "multiple of save_",
        ),
        (
            SftCommand,
            ["train.evaluate={every: 200, metric: staf}"],
            "metric",
            "has no metric 'staf'",
        ),
        (SftCommand, [EVERY, "data.validation=null"], "data.validation", "missing"),
        (
            SftCommand,
            [EVERY, "train.trl.greater_is_better=true"],
            "trl.greater_is_better",
            "is set by train.evaluate",
        ),
        (SftCommand, ["train.trl.eval_steps=3"], "trl.eval_steps", "is set by train.evaluate"),
        (DpoCommand, ["train.packing=true"], "train.packing", "rows of their own"),
        (DpoCommand, ["dpo.pairs.path=x/pairs.jsonl"], "dpo.pairs.path", "names the folder"),
        (DpoCommand, ["dpo.pairs.scorer=repair"], "dpo.pairs.chosen", "gold is not read"),
        (
            DpoCommand,
            ["dpo.pairs={path: x, scorer: repair, chosen: best}"],
            "dpo.pairs.sampled",
            "set 1",
        ),
        (DpoCommand, LORA, "train.lora.dropout", "switches dropout off"),
        (DpoCommand, ["train.trl.max_length=64"], "trl.max_length", "train.max_length"),
        (
            DpoCommand,
            [VERDICTS, "dpo.pairs={path: x, scorer: repair, chosen: best, sampled: 1}"],
            "dpo.pairs.scorer",
            "claim_verification",
        ),
        (
            DpoCommand,
            [VERDICTS, "dpo.pairs={path: x, chosen: repair}"],
            "dpo.pairs.chosen",
            "claim_verification",
        ),
        (
            GrpoCommand,
            ["grpo.group=7"],
            "train.global_batch",
            "7 does not divide 64; the nearest that it and train.micro_batch divide: 112",
        ),
        (
            GrpoCommand,
            ["grpo.iterations=3"],
            "train.save_every",
            "no multiple of grpo.iterations: 3",
        ),
        (GrpoCommand, ["grpo.max_new_tokens=1024"], "grpo.max_new_tokens", "a prompt in 1024"),
        (
            GrpoCommand,
            ["data.validation={source: small-world, n: 9, seed: 8}"],
            "data.validation",
            "no loss",
        ),
        (
            GrpoCommand,
            ["grpo.reward={cells: 0, coverage: 0}"],
            "grpo.reward.coverage",
            "one row would pay",
        ),
        (
            GrpoCommand,
            ["train.trl.num_generations=4"],
            "trl.num_generations",
            "set by grpo.group",
        ),
        (GrpoCommand, ["train.trl.top_p=0.9"], "trl.top_p", "by grpo.temperature and"),
        (GrpoCommand, [f"{SERVER}/"], "grpo.server", "without /v1 or a slash"),
        (GrpoCommand, [f"{SERVER}/v1"], "grpo.server", "without /v1 or a slash"),
        (GrpoCommand, [SERVER], "grpo.server", "goes with engine"),
        (GrpoCommand, [VLLM, *QLORA], "grpo.engine", "without their new scales"),
        (
            GrpoCommand,
            [VLLM, "train.trl.generation_kwargs={seed: 1}"],
            "trl.generation_kwargs.seed",
            "would be equal",
        ),
        (GrpoCommand, ["thinking=list"], "thinking", "the reward does not read list: set quote or"),
        (
            GrpoCommand,
            ["thinking=quote-then-sort"],
            "thinking",
            "does not read quote-then-sort: set",
        ),
        (DistilCommand, ["train.context=clean"], "train.context", "what the teacher reads: clean"),
        (
            DistilCommand,
            ["distil.max_new_tokens=1024"],
            "distil.max_new_tokens",
            "room for a prompt",
        ),
        (DistilCommand, ["distil.beta=2"], "distil.beta", "less than or equal to 1"),
        (
            DistilCommand,
            ["distil.teacher=ema", "train.method=lora", "train.lora={r: 8}"],
            "distil.teacher",
            "needs train.method: full",
        ),
        (
            DistilCommand,
            ["train.trl.distillation_alpha=1.0"],
            "trl.distillation_alpha",
            "distil.beta",
        ),
        (
            DistilCommand,
            ["train.trl.distillation_topk=9"],
            "trl.distillation_topk",
            "distil.beta",
        ),
        (
            DistilCommand,
            ["train.trl.distillation_is_clip=2.0"],
            "trl.distillation_is_clip",
            "distil.clip",
        ),
        (
            DistilCommand,
            ["train.trl.teacher_update_rate=0.1"],
            "trl.teacher_update_rate",
            "needs distil.teacher: ema",
        ),
        (
            DistilCommand,
            ["train.trl.temperature=2.0"],
            "trl.temperature",
            "or distil.temperature",
        ),
        (DistilCommand, ["train.trl.epsilon=2.0"], "trl.epsilon", "no field of trl.SDFTConfig"),
        (DistilCommand, ["distil=null"], "distil", "valid dictionary"),
    ],
)
def test_a_training_that_cannot_be_is_refused_at_its_path(
    cls: type[Section], given: list[str], path: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    with pytest.raises(ConfigError) as caught:
        parse(cls, [f"recipe={RECIPES[cls]}", *given])
    found = caught.value.problems
    assert any(path in one.partition(": ")[0] and words in one for one in found), found
