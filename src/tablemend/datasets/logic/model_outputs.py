"""Outputs that models write for inputs of either domain: nobody knows their relation yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tablemend.backends.asking import ask
from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Request, Sampling, stream_seed
from tablemend.config.backend import BackendOptions
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import Problem, Unreadable, prose, why_no_answer

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
