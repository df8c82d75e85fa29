"""What is asked of a system's model, and whether that model can be held to what is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Request, stream_seed
from tablemend.errors import Stopped, TablemendError
from tablemend.evaluation.ready import why_untrained
from tablemend.evaluation.systems import ResolvedSystem
from tablemend.mitigations.mitigation import Constraint
from tablemend.recipe.experiment import Comparison
from tablemend.records import ContextKind
from tablemend.tasks.task import Sample

HELD = (
    "this mitigation needs transformers, vLLM, or a server that knows vLLM's structured_outputs (a "
    "vLLM server without a reasoning parser)"
)


def impossible_systems(
    systems: Sequence[ResolvedSystem], examples: Sequence[Sample], config: Comparison
) -> dict[str, str]:
    """Why systems cannot be run: what cannot be trained, and on a server what holds answers to a
    grammar, where one sample of each is asked.
    """
    found = {one.name: why for one in systems if (why := why_untrained(config, one))}
    for system in systems:
        if not isinstance(system.mitigation, Constraint) or system.model.engine != "openai":
            continue
        context = config.contexts[0]
        request = request_of(system, context, examples[0])
        try:
            with open_backend(system.model, system.options) as backend:
                (completion,) = backend.generate([request])
        except Stopped:
            raise
        except TablemendError as error:
            found[system.name] = str(error)
            continue
        if completion.finish_reason == "error" and completion.error.endswith("(1 try)"):
            found[system.name] = f"the server refuses the request, {completion.error}"
        elif completion.finish_reason == "stop" and not is_held(
            completion.text, system, context, examples[0]
        ):
            found[system.name] = f"an answer of {system.model} does not keep to its grammar; {HELD}"
    return found


def is_held(text: str, system: ResolvedSystem, context: ContextKind, sample: Sample) -> bool:
    """Whether a whole answer keeps to the grammar that it was asked for with, if any."""
    held, format = system.mitigation, system.task.format
    if not isinstance(held, Constraint):
        return True
    assert format is not None
    return held.is_kept(text, system.task.evidence(sample, context), format)


def request_of(system: ResolvedSystem, context: ContextKind, example: Sample) -> Request:
    """What a system is asked of one sample."""
    name = name_of(system.name, context, example.id)
    return Request(
        id=name,
        messages=system.task.messages(example, context, system.prompt),
        sampling=system.sampling,
        thinking=system.thinking != "off",
        grammar=grammar_of(system, context, example),
        seed=stream_seed(system.seed, name) if system.sampling.temperature else 0,
    )


def grammar_of(system: ResolvedSystem, context: ContextKind, sample: Sample) -> str | None:
    """What an answer is held to; nothing of the gold is used."""
    held, format = system.mitigation, system.task.format
    if not isinstance(held, Constraint):
        return None
    assert format is not None
    return held.grammar(system.task.evidence(sample, context), format)


def name_of(system: str, context: ContextKind, example_id: str) -> str:
    """Id of a request; :func:`.generating._stored` takes it apart."""
    return f"{system}.{context}.{example_id}"
