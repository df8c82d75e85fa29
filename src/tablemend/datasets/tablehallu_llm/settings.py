"""What the language-model engine can be asked for, and which engine a command line means."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from tablemend.backends.names import ModelString
from tablemend.config import SMALL_WORLD, load
from tablemend.config.backend import BackendOptions
from tablemend.config.describe import keys_text, usage_text
from tablemend.config.load import ConfigError, kind_named, recipes_of
from tablemend.config.nearest import nearest
from tablemend.config.section import Count, OnOff
from tablemend.datasets.splits import Shares
from tablemend.tasks.tablehallu.settings import ContextSettings, Shape, Synthesis

Thinks = Annotated[Literal["on", "off"] | None, OnOff]
ENGINES = ("program", "llm")
FREE = frozenset(
    "kind n out concurrency estimate_only topics "
    "generator verifier generator_options verifier_options".split()
)
"""Settings that change no row, or that are noted in another form."""
OF_ORDER = {
    "kernel-first": "verifier verifier_options verifier_thinking topics min_expansion".split(),
    "query-last": [*ContextSettings.model_fields, "batch"],
}
"""Settings that one of the orders alone reads."""


class LlmSynthesis(ContextSettings):
    """A data set of adversarial examples, written and verified by language models."""

    kind: Literal["llm-synthesis"] = "llm-synthesis"
    """What a recipe is for."""
    engine: Literal["llm"] = "llm"
    """How examples are made; `llm` follows the three stages of the paper (section 3.2)."""
    order: Literal["kernel-first", "query-last"] = "kernel-first"
    """kernel-first: a model writes the gold table and its query, then distractors around it, as in
    the paper; query-last: a program draws a context of groups of rows from the tables of `source`,
    any of which a query can ask for, and a model words it."""
    generator: ModelString
    """The model that writes: `openai:MODEL@URL`, `vllm:MODEL`, `hf:MODEL` or
    `scripted:FILE`."""
    verifier: ModelString | None = None
    """The model that verifies; null: the one that writes."""
    generator_options: BackendOptions = BackendOptions()
    """How the generator is asked."""
    verifier_options: BackendOptions | None = None
    """How the verifier is asked; null: as the generator where it is the same model, else by the
    defaults."""
    n: Count = Field(default=1000, ge=1)
    """Number of rows (contexts with query-last), over all splits; one that is given up is counted,
    not replaced. With a larger n the same folder is continued."""
    out: str = "data/tablehallu-llm"
    """Folder to write into; an interrupted run in it is continued."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    difficulty: Literal["paper", "easy", "medium", "hard", "mixed"] = "easy"
    """Length of the adversarial context over the gold one that is asked for, with query-last groups
    of rows in it: 10, 20 or 30 times; mixed: a third each; paper (query-last alone): 5."""
    min_expansion: float = Field(default=0.4, gt=0, le=1)
    """Least share of that length that is taken; models write less than they are asked for."""
    shape: Shape = Shape(max_rows=8, min_columns=5)
    """Size of the gold table; both ends are included (TableHallu, E)."""
    shares: Shares = Shares()
    """Split of the rows, by their topic; with query-last by their table."""
    temperature: float = Field(default=0.6, ge=0, le=2)
    """Temperature of both models; the paper's."""
    max_new_tokens: int = Field(default=30_000, ge=16)
    """Longest answer in tokens, thinking included; the paper's."""
    generator_thinking: Thinks = None
    """Whether the generator thinks first; null asks for nothing."""
    verifier_thinking: Thinks = None
    """Whether the verifier thinks first; null asks for nothing."""
    retries: int = Field(default=2, ge=0, le=20)
    """Times that a stage is asked again with the reasons for its rejection, verifiers' included."""
    topics: str | None = None
    """File with topics of your own, one a line; null: the built-in ones."""
    batch: int = Field(default=8, ge=1)
    """Passages of a context that one request asks for, with query-last."""
    concurrency: int = Field(default=32, ge=1, le=4096)
    """Rows in the making at the same time."""
    estimate_only: bool = False
    """Print the estimate of tokens and cost from the rows that are there, and stop."""

    @property
    def verifier_model(self) -> str:
        """The model string of the verifier."""
        return self.verifier or self.generator

    @property
    def asked_of_verifier(self) -> BackendOptions:
        """How the verifier is asked."""
        same = self.generator_options if self.verifier_model == self.generator else None
        return self.verifier_options or same or BackendOptions()

    @property
    def drawing(self) -> Synthesis:
        """What the program engine draws contexts by; n is fixed, so that none depends on it."""
        names = "seed", "difficulty", "shape", "shares", *ContextSettings.model_fields
        return Synthesis(n=1_000_000, **{name: getattr(self, name) for name in names})

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Settings that the order does not read."""
        (other,) = OF_ORDER.keys() - {self.order}
        for name in OF_ORDER[other]:
            if name in self.model_fields_set and getattr(self, name) is not None:
                yield name, f"order={self.order} has no such setting, only order={other}"
        if self.order == "kernel-first":
            if self.difficulty == "paper":
                yield "difficulty", "only order=query-last has 'paper'"
        elif self.source == SMALL_WORLD:
            yield "source", "the small world has words of its own: give tables, or `pool`"
        else:
            yield from self.unread(self.source)


def read_settings(argv: Sequence[str] | None = None) -> Synthesis | LlmSynthesis:
    """The settings of data_gen/tablehallu.py: ``engine=``, or the recipe's kind, says whose.

    ``--help`` and ``--check`` print and exit with status 0.

    Raises:
        ConfigError: with every problem found.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    if {"--help", "-h"} & set(tokens):  # both engines on one page
        recipes = [*recipes_of(Synthesis), *recipes_of(LlmSynthesis)]
        print(usage_text("[engine=program|llm | recipe=NAME] [key.sub=value ...]", recipes))
        for engine, settings in (("program", Synthesis), ("llm", LlmSynthesis)):
            print(f"\nengine={engine}\n\n{keys_text(settings)}")
        raise SystemExit(0)
    named = [token.partition("=")[2] for token in tokens if token.startswith("engine=")]
    for name in named:
        if name not in ENGINES:
            known, hint = " or ".join(map(repr, ENGINES)), nearest(name, ENGINES)
            raise ConfigError([f"engine: {known}, not {name!r}{hint} (command line)"])
    kind = kind_named(tokens)
    llm = kind == "llm-synthesis" or (kind is None and named[-1:] == ["llm"])
    return load(LlmSynthesis, tokens) if llm else load(Synthesis, tokens)
