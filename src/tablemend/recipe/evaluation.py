"""The schema of a comparison's systems: models, how they are asked, and mitigations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from tablemend.config.section import (
    BackendOptions,
    Format,
    OnOff,
    Prompt,
    Section,
    Serialisation,
    nearest,
)
from tablemend.mitigations.mitigation import MITIGATIONS, Constraint, PostEdit

Thinking = Annotated[
    Literal["off", "empty", "on", "quote", "quote-then-sort", "list", "rationale"], OnOff
]
"""Two prompts and seven targets. ``off``: the chat template switches thinking off (Qwen3's: the
empty thinking block ends the prompt); the target is the table. All others leave the turn to the
model, with the same prompt, and differ in the target alone. ``on``: what the model thinks is its
own, so there is no target. ``empty``: the target opens with the empty block, as Qwen3's samples
without thinking do: the model learns to skip it. ``quote``: the block quotes the sentences that
state the gold rows. ``quote-then-sort``: and lists these in order, each by what it is sorted by.
``list``: it lists the rows of the context by what is asked of them, filters and sorts the list.
``rationale``: the derivation of a masked number, the path to a relation (tasks faith and logic)."""

SystemName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""System names become file names."""


class SystemConfig(Section):
    """One way of answering: a model and a mitigation."""

    model: str = "base"
    """`base` (model.path), this run's checkpoint (`sft`, `dpo`, `grpo`, `distil`), a folder, a Hub
    name, or a whole model string: `hf:NAME`, `vllm:NAME`, `openai:MODEL@URL`."""
    prompt: Prompt = "base"
    """Instruction: the plain one, or one of the prompting strategies."""
    thinking: Thinking | None = None
    """As the top-level `thinking`, which holds where this is null."""
    format: Format | None = None
    """As the top-level `format`, which holds where this is null."""
    serialisation: Serialisation | None = None
    """As the top-level `serialisation`, which holds where this is null."""
    mitigation: str | None = None
    """What is done beside prompting. While the model answers (transformers, vLLM, a vLLM server):
    `header` fixes format and header of a table, as the query lists its columns; `spans` also limits
    each cell to the blank or a run of words of one sentence of the context. To the stored answers
    of another system (`after`): `repair` is a program, `cave` has the model rewrite what the
    program finds unfaithful; both see what the model was shown, never the gold."""
    after: SystemName | None = None
    """Name of another system whose stored answers this one edits; nothing is generated anew.
    Prompt, thinking, format and, where it names no other, the model are that system's."""
    options: BackendOptions | None = None
    """How this system's model is asked, in place of the whole of evaluation.options."""

    @property
    def own_model(self) -> bool:
        """Whether the model is not what a system has that names none."""
        return bool(self.model != type(self).model_fields["model"].default)

    @property
    def post_edit(self) -> PostEdit | None:
        """The mitigation that edits stored answers."""
        found = MITIGATIONS.get(self.mitigation or "")
        return found if isinstance(found, PostEdit) else None

    @property
    def constraint(self) -> Constraint | None:
        """The mitigation that holds the answer while it is generated."""
        found = MITIGATIONS.get(self.mitigation or "")
        return found if isinstance(found, Constraint) else None


class Evaluation(Section):
    """The comparison of the systems on the same examples."""

    n: int | None = Field(default=None, ge=1)
    """Test examples to answer; all where it is null."""
    contexts: tuple[str, ...] | None = None
    """How samples are shown (table_generation: `clean`, `adversarial`); every way where it is
    null."""
    backend: Literal["hf", "vllm"] = "hf"
    """Engine of models that name none: transformers or vLLM, in this process."""
    max_new_tokens: int = Field(ge=1)
    """Longest answer, thinking included."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """0 is greedy; above it, sampling is seeded."""
    max_repeats: int | None = Field(default=None, ge=2)
    """An answer that repeats its last 8 to 64 tokens so many times in a row is cut there, as at
    max_new_tokens: saves the time of endless loops. Servers are not told of it."""
    seed: int = Field(default=0, ge=0)
    """Seed of the sampling."""
    cut: Literal["format_error", "unscored"] = "format_error"
    """A table cut at max_new_tokens: a format error, whatever comes before the cut; or never
    scored, as a text that is cut."""
    similarity: str = "lexical"
    """Similarity of cells that differ in wording: `lexical`, or a sentence-transformers model."""
    verifier: str = "program"
    """What verifies the claims of a summary: `program`, `nli:MODEL`, `llm:` and a model string, or
    `program+` and one of these."""
    extractor: str = "program"
    """What takes a summary apart into claims: `program`, or `llm:` and a model string."""
    second_scorer: Literal["exact", "none"] = "exact"
    """Scorer beside the detector, which shares no code with it: `exact` compares cell by cell."""
    options: BackendOptions = BackendOptions()
    """How the models are asked; dtype and context_length are the model section's where they are
    not set here."""
    systems: dict[SystemName, SystemConfig] = Field(min_length=1)
    """Name of each system and what it does; `systems.NAME=null` leaves the recipe's NAME out."""

    @field_validator("systems", mode="before")
    @classmethod
    def _without_null(cls, systems: Any) -> Any:
        if not isinstance(systems, dict):
            return systems
        return {name: system for name, system in systems.items() if system is not None}

    def conflicts(self) -> Iterator[tuple[str, str]]:
        contexts = self.contexts
        if contexts is not None and (not contexts or len(set(contexts)) < len(contexts)):
            yield "contexts", "name each context once, and at least one"
        for name in self.systems:
            yield from self._mitigation_conflicts(name)

    def _mitigation_conflicts(self, name: str) -> Iterator[tuple[str, str]]:
        """An unknown mitigation, and what a system that edits another's answers cannot have."""
        systems = self.systems
        system, path = systems[name], f"systems.{name}"
        if system.mitigation is not None and system.mitigation not in MITIGATIONS:
            yield (
                f"{path}.mitigation",
                f"no mitigation {system.mitigation!r}{nearest(system.mitigation, MITIGATIONS)}; "
                f"there are {', '.join(MITIGATIONS)}",
            )
            return
        edit = system.post_edit
        if system.after is None:
            if edit is not None:
                yield (
                    f"{path}.after",
                    f"missing: {system.mitigation} edits another system's answers",
                )
            return
        if edit is None:
            editing = ", ".join(n for n, one in MITIGATIONS.items() if isinstance(one, PostEdit))
            yield f"{path}.mitigation", f"with after it is one that edits answers: {editing}"
        if system.after not in systems:
            yield f"{path}.after", f"no system {system.after!r}{nearest(system.after, systems)}"
        elif systems[system.after].after is not None:
            yield f"{path}.after", f"{system.after} itself edits: name the system that answers"
        for field in ("prompt", "thinking", "format"):
            if getattr(system, field) != type(system).model_fields[field].default:
                yield f"{path}.{field}", f"belongs to the system that answers, {system.after}"
        if edit is not None and not edit.asks_model and system.own_model:
            yield f"{path}.model", f"{system.mitigation} asks no model"

    def answering_system(self, system: SystemConfig) -> SystemConfig:
        """The system whose model answers: itself, or the one whose answers it edits."""
        return system if system.after is None else self.systems.get(system.after, system)
