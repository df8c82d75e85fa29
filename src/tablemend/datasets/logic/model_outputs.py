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

    Args:
        domain: whose prompt is used (Figures 2 and 3, in other words).
        inputs: as they are shown.
        models: by the name that is recorded as the pair's system.
        options: how they are asked.
        sampling: of the answers.
        seed: of their random streams.

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
            problem = why_no_answer(completion)
            if problem is None:
                try:
                    yield Pair(domain, text, prose(completion.answer).strip(), name)
                    continue
                except Unreadable as error:
                    problem = error.problem
            yield Unwritten(name, text, problem)
