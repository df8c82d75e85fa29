"""Making a set of pairs, by the program or by models, and writing it: splits and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tablemend.backends.asking import ask
from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Request, Sampling, stream_seed
from tablemend.config.section import BackendOptions
from tablemend.datasets.build import build
from tablemend.datasets.logic.describe import hotel_pairs
from tablemend.datasets.logic.generate import make_pairs, to_pair
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.datasets.logic.settings import LogicSet
from tablemend.datasets.splits import SPLITS, Split, split_of
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Problem, Unreadable, prose, why_no_answer
from tablemend.runs import Store, write_jsonl

ENGINE = "logic-2"
PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
STAGES: dict[Domain, str] = {"hotel": "describe", "logic": "translate"}


class Unwritten(NamedTuple):
    """An input for which a model wrote nothing that can be used, and why."""

    system: str
    input: str
    problem: Problem


def write_outputs(
    domain: Domain,
    inputs: Sequence[str],
    models: Mapping[str, str],
    options: BackendOptions,
    sampling: Sampling,
    seed: int = 0,
) -> Iterator[Pair | Unwritten]:
    """What each model writes for each input, as a pair without labels (section 3.3).

    The prompts are those of Figures 2 and 3, in other words; names of models are recorded as the
    systems of pairs; ``seed`` is of their random streams.

    Raises:
        Stopped: a server is gone.
        TablemendError: a model that cannot be used.
    """
    for name, model in models.items():
        requests = [
            Request(
                id=f"{domain}.{number}",
                messages=PROMPTS.render(STAGES[domain], input=text),
                sampling=sampling,
                seed=stream_seed(seed, f"{name} {number}"),
            )
            for number, text in enumerate(inputs)
        ]
        with open_backend(model, options) as backend:
            answers = ask(backend, requests)
        for request, text in zip(requests, inputs, strict=True):
            completion = answers[request.id]
            try:
                if problem := why_no_answer(completion):
                    raise Unreadable(*problem)
                yield Pair(domain, text, prose(completion.answer).strip(), name)
            except Unreadable as error:
                yield Unwritten(name, text, error.problem)


def make_logic_pairs(settings: LogicSet) -> Iterator[Pair]:
    """Formulas of the blocks world, and what a program says of them."""
    for number, made in enumerate(make_pairs(settings.n, settings.of("logic"), settings.seed)):
        rng = Random(f"logic english:{settings.seed}:{number}")
        yield to_pair(made, rng, ambiguous=rng.random() < settings.ambiguous)


def make_all(settings: LogicSet, domain: Domain, counts: Counter[str]) -> Iterator[Pair]:
    """The pairs of a domain, by the program or by models; what a model did not write is counted.

    Raises:
        Stopped: the server of a model is gone.
        TablemendError: a model that cannot be used.
    """
    made = make_logic_pairs(settings)
    if domain == "hotel":
        made = hotel_pairs(settings.n, settings.seed, settings.of("hotel"))
    if not settings.models:
        yield from made
        return
    inputs = list(dict.fromkeys(pair.input for pair in made))
    sampling = Sampling(settings.max_new_tokens, settings.temperature)
    models, options = settings.models, settings.options
    for one in write_outputs(domain, inputs, models, options, sampling, settings.seed):
        if isinstance(one, Pair):
            counts[f"{domain} {one.system}"] += 1
            yield one
        else:
            counts[f"{domain} {one.system} dropped: {one.problem.kind}"] += 1


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
            for pair in make_all(settings, domain, counts):
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
