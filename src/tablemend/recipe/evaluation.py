"""The schema of a comparison's arms: models, how they are asked, and what mends their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from tablemend.config.backend import BackendOptions
from tablemend.config.nearest import nearest
from tablemend.config.section import Format, OnOff, Prompt, Section

Thinking = Annotated[Literal["off", "empty", "on", "quote", "rationale"], OnOff]
"""Two prompts and five targets. ``off``: the chat template switches thinking off (Qwen3's: the
empty thinking block ends the prompt); the target is the table. All others leave the turn to the
model, with the same prompt, and differ in the target alone. ``on``: what the model thinks is its
own, so there is no target. ``empty``: the target opens with the empty block, as Qwen3's samples
without thinking do: the model learns to skip it. ``quote``: the block quotes the sentences that
state the gold rows. ``rationale``: it walks from the query to the sorted rows, each step
verified."""

ArmName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""Arm names become file names."""


class Arm(Section):
    """One way of answering: a model and a mitigation."""

    model: str = "base"
    """`base` (model.path), this run's checkpoint (`sft`, or `dpo`, `grpo`), a folder, a Hub name,
    or a whole model string: `hf:NAME`, `vllm:NAME`, `openai:MODEL@URL[,URL]`."""
    prompt: Prompt = "base"
    """Instruction: the plain one, or one of the three prompting strategies."""
    thinking: Thinking | None = None
    """As the top-level `thinking`, which holds where this is null."""
    format: Format | None = None
    """As the top-level `format`, which holds where this is null."""
    constrain: Literal["header", "spans"] | None = None
    """Constrained decoding (transformers, vLLM, a vLLM server): `header` fixes format and header,
    as the query lists its columns; `spans` also limits each cell to the blank or a run of words of
    one sentence of the context."""
    after: ArmName | None = None
    """Name of another arm whose stored answers this one mends; nothing is generated anew. Prompt,
    thinking, format, constrain and, where it names no other, the model are that arm's."""
    mend: Literal["repair", "cave"] | None = None
    """How: `repair` is a program, `cave` has the model rewrite what the program finds unfaithful;
    both see the query and the context, never the gold table."""
    options: BackendOptions | None = None
    """How this arm's model is asked, in place of the whole of evaluation.options."""

    @property
    def own_model(self) -> bool:
        """Whether the model is not what an arm has that names none."""
        return bool(self.model != type(self).model_fields["model"].default)


class Evaluation(Section):
    """The comparison of the arms on the same examples."""

    n: int | None = Field(default=None, ge=1)
    """Test examples to answer; all where it is null."""
    contexts: tuple[Literal["clean", "adversarial"], ...] = ("clean", "adversarial")
    """Contexts to show."""
    backend: Literal["hf", "vllm"] = "hf"
    """Engine of models that name none: transformers or vLLM, in this process."""
    max_new_tokens: int = Field(ge=1)
    """Longest answer, thinking included."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """0 is greedy; above it, sampling is seeded."""
    seed: int = Field(default=0, ge=0)
    """Seed of the sampling."""
    cut: Literal["format_error", "unjudged"] = "format_error"
    """An answer cut at max_new_tokens: a format error, whatever stands before the cut; or never
    judged."""
    similarity: str = "lexical"
    """Judge of cells that differ in wording: `lexical`, or a sentence-transformers model."""
    second_judge: str = Field(default="exact", pattern=r"^(none|exact|exact\+llm:\S+)$")
    """Judge beside the detector, which shares no code with it: `exact` compares cell by cell;
    `exact+llm:MODEL` asks a model too (`exact+llm:openai:NAME@URL`); or `none`."""
    options: BackendOptions = BackendOptions()
    """How the models are asked; dtype and context_length are the model section's where they are
    not set here."""
    arms: dict[ArmName, Arm] = Field(min_length=1)
    """Name of each arm and what it does."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Contexts named twice or not at all; arms that cannot mend."""
        if not self.contexts or len(set(self.contexts)) < len(self.contexts):
            yield "contexts", "name each context once, and at least one"
        for name in self.arms:
            yield from self._mending_conflicts(name)

    def _mending_conflicts(self, name: str) -> Iterator[tuple[str, str]]:
        """What an arm that mends another's answers cannot have."""
        arms = self.arms
        arm, path = arms[name], f"arms.{name}"
        if (arm.after is None) != (arm.mend is None):
            given, lacking = ("mend", "after") if arm.after is None else ("after", "mend")
            yield f"{path}.{lacking}", f"missing: {given} needs it"
        if arm.after is None:
            return
        if arm.after not in arms:
            yield f"{path}.after", f"no arm {arm.after!r}{nearest(arm.after, arms)}"
        elif arms[arm.after].after is not None:
            yield f"{path}.after", f"{arm.after} itself mends: name the arm that answers"
        for field in ("prompt", "thinking", "format", "constrain"):
            if getattr(arm, field) != type(arm).model_fields[field].default:
                yield f"{path}.{field}", f"belongs to the arm that answers, {arm.after}"
        if arm.mend == "repair" and arm.own_model:
            yield f"{path}.model", "repair asks no model"

    @property
    def judging_model(self) -> str | None:
        """The model that judges beside the detector, in the recipe's words."""
        _, found, model = self.second_judge.partition("+llm:")
        return model if found else None

    def answering_arm(self, arm: Arm) -> Arm:
        """The arm whose model answers: itself, or the one whose answers it mends."""
        return arm if arm.after is None else self.arms.get(arm.after, arm)
