"""A set of pairs, made by the program or by models: its settings, splits and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

from pydantic import Field

from tablemend.backends.backend import ask, open_backend
from tablemend.backends.names import ModelString
from tablemend.backends.requests import Request, Sampling, stream_seed
from tablemend.config import Count, Section
from tablemend.config.section import BackendOptions
from tablemend.datasets.build import build
from tablemend.datasets.splits import SPLITS, Shares, Split, split_of
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Unreadable, prose, why_no_answer
from tablemend.records import RELATIONS, Relation
from tablemend.runs import Store, write_jsonl
from tablemend.tasks.logic.generate import CATEGORIES, make_pairs, to_pair
from tablemend.tasks.logic.hotel import hotel_pairs
from tablemend.tasks.logic.pair import Domain, Pair

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


ENGINE = "logic-3"
PROMPTS = PromptFolder(Path(__file__).parent / "data_prompts")
STAGES: dict[Domain, str] = {"hotel": "describe", "logic": "translate"}


def make_pairs_of(settings: LogicSet, domain: Domain, counts: Counter[str]) -> Iterator[Pair]:
    """The pairs of a domain by the program, or what models write for their inputs.

    Raises:
        Stopped: the server of a model is gone.
        TablemendError: a model that cannot be used.
    """
    n, seed, relations = settings.n, settings.seed, settings.of(domain)
    if domain == "hotel":
        made = hotel_pairs(n, seed, relations)
    else:
        words = (Random(f"logic english:{seed}:{number}") for number in count())
        made = (
            to_pair(one, rng, ambiguous=rng.random() < settings.ambiguous)
            for one, rng in zip(make_pairs(n, relations, seed), words, strict=False)
        )
    if settings.models:
        made = write_outputs(settings, domain, list(dict.fromkeys(p.input for p in made)), counts)
    return made


def write_outputs(
    settings: LogicSet, domain: Domain, inputs: Sequence[str], counts: Counter[str]
) -> Iterator[Pair]:
    """What each model writes for each input, as a pair without labels (section 3.3).

    The prompts are those of Figures 2 and 3, in other words; names of models are recorded as the
    systems of pairs. What a model wrote, or why nothing that can be used, is counted.
    """
    sampling = Sampling(settings.max_new_tokens, settings.temperature)
    for name, model in settings.models.items():
        requests = [
            Request(
                id=f"{domain}.{number}",
                messages=PROMPTS.render(STAGES[domain], input=text),
                sampling=sampling,
                seed=stream_seed(settings.seed, f"{name} {number}"),
            )
            for number, text in enumerate(inputs)
        ]
        with open_backend(model, settings.options) as backend:
            answers = ask(backend, requests)
        for request, text in zip(requests, inputs, strict=True):
            completion = answers[request.id]
            try:
                if problem := why_no_answer(completion):
                    raise Unreadable(*problem)
                yield Pair(domain, text, prose(completion.answer).strip(), name)
                counts[f"{domain} {name}"] += 1
            except Unreadable as error:
                counts[f"{domain} {name} dropped: {error.problem.kind}"] += 1


def make_dataset(settings: LogicSet) -> dict[str, Any]:
    """Write the splits, or find them written; the counts, as in ``counts.json``.

    Raises:
        TablemendError: a folder that holds something else.
    """
    out = Path(settings.out)
    noted = {"engine_version": ENGINE, **settings.model_dump(mode="json", exclude={"out", "kind"})}

    def write(store: Store) -> dict[str, Any]:
        counts = Counter[str]()
        found: dict[Split, list[Pair]] = {split: [] for split in SPLITS}
        for domain in settings.domains:
            for pair in make_pairs_of(settings, domain, counts):
                split = split_of(pair.source_hash, settings.shares)
                found[split].append(pair)
                counts[f"{split} {domain}"] += 1
                if pair.labels:
                    counts[f"{domain} {pair.labels[0]}"] += 1
                counts[f"{domain} ambiguous"] += bool(pair.ambiguous)
        for split, pairs in found.items():
            if pairs:
                write_jsonl(out / f"{split}.jsonl", [pair.to_json() for pair in pairs])
        return dict(sorted(counts.items()))

    return build(out, noted, write)


def describe(counts: Mapping[str, int], settings: LogicSet) -> Iterator[str]:
    """What came of a set, in lines for a person."""
    yield from (f"{name}: {count}" for name, count in counts.items())
    yield f"written to {settings.out}"
