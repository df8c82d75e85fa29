"""What a set of pairs can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from tablemend.backends.names import ModelString
from tablemend.config import Count, Section
from tablemend.config.section import BackendOptions
from tablemend.datasets.logic.generate import CATEGORIES
from tablemend.datasets.logic.pair import Domain
from tablemend.datasets.splits import Shares
from tablemend.records import RELATIONS, Relation

HAVE: dict[Domain, tuple[Relation, ...]] = {"hotel": RELATIONS, "logic": CATEGORIES}
"""The relations that a program makes of each domain."""
SystemName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class LogicSet(Section):
    """Pairs of inputs and outputs: by a program, with their relations, or by models."""

    kind: Literal["logic"] = "logic"
    """What a recipe is for."""
    domains: tuple[Domain, ...] = ("logic",)
    """Domains to make pairs of."""
    categories: tuple[Relation, ...] = RELATIONS
    """Relations to make, in equal numbers: those of them that a domain has."""
    n: Count = Field(default=1000, ge=1)
    """Pairs of a domain; with models, inputs that each of them is given."""
    ambiguous: float = Field(default=0.1, ge=0, le=1)
    """Share of the logic outputs that are said ambiguously where there are words for that."""
    shares: Shares = Shares()
    """Split of the inputs; their content decides."""
    seed: int = Field(default=0, ge=0)
    """Seed of what is made."""
    out: str = "data/logic"
    """Folder to write into."""
    models: dict[SystemName, ModelString] = Field(default_factory=dict)
    """Models that write the outputs, by the name of their system, such as
    `models='{qwen: openai:MODEL@URL}'`; their pairs have no labels. None: the program."""
    options: BackendOptions = BackendOptions()
    """How the models are asked."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Temperature of the models."""
    max_new_tokens: int = Field(default=1024, ge=16)
    """Longest output of a model in tokens."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A domain without a relation to make, and settings that nobody would read."""
        for domain in self.domains:
            if not self.of(domain):
                yield "categories", f"{domain} has none of them: {', '.join(HAVE[domain])}"
        if not self.models:
            for name in ("options", "temperature", "max_new_tokens"):
                if name in self.model_fields_set:
                    yield name, "only read where models are set"
        elif "categories" in self.model_fields_set:
            yield "categories", "what a model writes has no relation by construction"

    def of(self, domain: Domain) -> tuple[Relation, ...]:
        """The relations to make of a domain."""
        return tuple(one for one in HAVE[domain] if one in self.categories)
