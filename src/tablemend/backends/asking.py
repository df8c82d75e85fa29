"""Asking a model many things: every request is answered, counted, or the run stops."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing

from tablemend.backends.backend import Backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Completion, Request
from tablemend.errors import MOST_FAILURES, Stopped


def ask(backend: Backend, requests: Sequence[Request]) -> dict[str, Completion]:
    """Answer all requests.

    Returns:
        Completions by the ids of their requests; one that failed for good, or that does not fit
        into the model's window, says why.

    Raises:
        Stopped: :data:`MOST_FAILURES` requests in a row failed, so that a server must be gone.
        BudgetSpent: a cap is reached.
        TablemendError: a model that cannot be used.
    """
    if not requests:
        return {}
    too_long = backend.too_long(requests)
    found = {name: Completion.failed(name, why) for name, why in too_long.items()}
    fitting = [request for request in requests if request.id not in too_long]
    in_a_row = 0
    completions = backend.generate(fitting)
    assert isinstance(completions, Generator)
    with closing(completions):  # what is in flight at a stop is cancelled
        for completion in completions:
            found[completion.id] = completion
            in_a_row = in_a_row + 1 if completion.finish_reason == "error" else 0
            if in_a_row == MOST_FAILURES:
                raise Stopped(
                    f"{backend.name}: {in_a_row} requests in a row failed for good, the last "
                    f"because {completion.error}: mend that and run the command again"
                )
    return found


def short_name(backend: Backend) -> str:
    """A model as it is recorded: without the address of its server."""
    name = ModelName.parse(backend.name)
    return f"{name.engine}:{name.model}"
