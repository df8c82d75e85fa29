"""What a set of pairs can be asked for."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tablemend.config import Section
from tablemend.datasets.logic.generate import CATEGORIES, Category
from tablemend.datasets.logic.pair import Domain
from tablemend.datasets.splits import Shares


class LogicSet(Section):
    """Pairs of inputs and outputs with the relations that are known by construction."""

    kind: Literal["logic"] = "logic"
    """What a recipe is for."""
    domains: tuple[Domain, ...] = ("logic",)
    """Domains to make pairs of."""
    categories: tuple[Category, ...] = CATEGORIES
    """Relations to make, in equal numbers."""
    n: int = Field(default=1000, ge=1)
    """Pairs of a domain."""
    ambiguous: float = Field(default=0.1, ge=0, le=1)
    """Share of the logic outputs that are said ambiguously where there are words for that."""
    shares: Shares = Shares()
    """Split of the inputs; their content decides."""
    seed: int = Field(default=0, ge=0)
    """Seed of what is made."""
    out: str = "data/logic"
    """Folder to write into."""
