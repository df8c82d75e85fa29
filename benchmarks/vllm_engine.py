"""vLLM: what prefix caching saves, how it compares with transformers.

    .venv-vllm/bin/python benchmarks/vllm_engine.py [rounds=3 contexts=40 prompts=200]

Small world, adversarial contexts, greedy. Every round has contexts of its own, and both sides of
a comparison answer the same prompts turn about, so that other work on the machine meets both;
the medians of the rounds and of their ratios are printed as a table, then everything as JSON.
On a GPU, two engines share its memory: give vllm.memory=0.4.

- contexts: the five systems that ask one model (four prompting strategies, and thinking) over the
  same contexts, with prefix caching against without.
- engines: vLLM against the transformers backend.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from tablemend.config import DType, Section, load
from tablemend.config.section import BackendOptions, Vllm
from tablemend.script import run_script
from tablemend.tasks.tablehallu import prompts, small_world

Part = Literal["contexts", "engines"]
FIRST_SEED = 5000  # of contexts that the tiny base was not trained on
COLUMNS = ("part", "side", "prompt tokens computed", "share cached", "seconds", "against the first")


class Benchmark(Section):
    """What to measure."""

    model: str = "checkpoints/tiny-base"
    """Folder or Hub name."""
    parts: tuple[Part, ...] = ("contexts", "engines")
    """What to compare."""
    rounds: int = Field(default=3, ge=1)
    """Times that each side answers, on prompts that are new every time."""
    contexts: int = Field(default=40, ge=1)
    """Contexts a round, each asked by five systems."""
    prompts: int = Field(default=200, ge=1)
    """Prompts a round of the other parts."""
    max_new_tokens: int = Field(default=256, ge=1)
    """Longest answer."""
    batch_size: int = Field(default=50, ge=1)
    """Prompts that transformers decodes together."""
    dtype: DType = "auto"
    """Type of the weights; auto: as stored."""
    vllm: Vllm = Vllm()
    """Options of vLLM."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One side in one round.

    Attributes:
        seconds: wall time.
        prompt_tokens: of all prompts together.
        cached_tokens: of these, not computed again.
        completion_tokens: generated.
        texts: the answers, by id.
    """

    seconds: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    texts: dict[str, str]

    @property
    def computed(self) -> int:
        """Prompt tokens that went through the model."""
        return self.prompt_tokens - self.cached_tokens


def systems_of(settings: Benchmark, number: int) -> list[Any]:
    """The requests of five systems, those of one context side by side, as a comparison asks."""
    systems = [(strategy, False) for strategy in prompts.STRATEGIES] + [("base", True)]
    examples = list(small_world.examples(seed=FIRST_SEED + number, n=settings.contexts))
    return [
        _request(settings, f"{strategy}.{thinking}.{place}", example, strategy, thinking)
        for place, example in enumerate(examples)
        for strategy, thinking in systems
    ]


def prompts_of(settings: Benchmark, number: int) -> list[Any]:
    """The requests of one system."""
    examples = small_world.examples(seed=FIRST_SEED + 500 + number, n=settings.prompts)
    return [
        _request(settings, str(place), example, "base", False)
        for place, example in enumerate(examples)
    ]


def _request(settings: Benchmark, name: str, example: Any, strategy: Any, thinking: bool) -> Any:
    from tablemend.backends.requests import Request, Sampling

    messages = prompts.messages(example, "adversarial", strategy)
    return Request(name, messages, Sampling(settings.max_new_tokens), thinking)


def measure(engine: Any, requests: Sequence[Any]) -> Measured:
    """Let an engine answer.

    Raises:
        AssertionError: a request that failed; its time would mean nothing.
    """
    begun = time.perf_counter()
    done = list(engine.generate(requests))
    seconds = time.perf_counter() - begun
    assert not [completion.error for completion in done if completion.error]
    return Measured(
        seconds,
        sum(completion.prompt_tokens for completion in done),
        sum(completion.cached_tokens for completion in done),
        sum(completion.completion_tokens for completion in done),
        {completion.id: completion.text for completion in done},
    )


def compare(sides: dict[str, Any], rounds: Sequence[Sequence[Any]]) -> dict[str, list[Measured]]:
    """Measure every side in every round, the first to go changing from round to round.

    The first round's first prompt warms every engine up beforehand.
    """
    names = list(sides)
    for engine in sides.values():
        engine.load()
        list(engine.generate(rounds[0][:1]))
    measured: dict[str, list[Measured]] = {name: [] for name in names}
    for number, requests in enumerate(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            measured[name].append(measure(sides[name], requests))
    for engine in sides.values():
        engine.close()
    return measured


def summarise(part: str, measured: dict[str, list[Measured]]) -> Iterator[dict[str, Any]]:
    """One entry a side; ratios are of pairs, the first side's over this one's."""
    first = next(iter(measured.values()))
    for side, own in measured.items():
        pairs = list(zip(first, own, strict=True))
        same = sum(a.texts[key] == b.texts[key] for a, b in pairs for key in a.texts)
        yield {
            "part": part,
            "side": side,
            "prompt_tokens": statistics.median(one.prompt_tokens for one in own),
            "computed": statistics.median(one.computed for one in own),
            "completion_tokens": statistics.median(one.completion_tokens for one in own),
            "seconds": statistics.median(one.seconds for one in own),
            "all_seconds": [round(one.seconds, 3) for one in own],
            "times_fewer_computed": statistics.median(a.computed / b.computed for a, b in pairs),
            "times_as_fast": statistics.median(a.seconds / b.seconds for a, b in pairs),
            "equal_answers": same / sum(len(one.texts) for one in own),
        }


def table(entries: Sequence[dict[str, Any]]) -> str:
    """The entries as Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for entry in entries:
        cached = 1 - entry["computed"] / entry["prompt_tokens"]
        against = (
            f"{entry['times_fewer_computed']:.2f} times fewer computed, "
            f"{entry['times_as_fast']:.2f} times as fast, {entry['equal_answers']:.1%} equal"
        )
        cells = (entry["part"], entry["side"], f"{entry['computed']:.0f}", f"{cached:.0%}")
        lines.append(f"| {' | '.join(cells)} | {entry['seconds']:.2f} | {against} |")
    return "\n".join(lines)


def sides_of(part: Part, settings: Benchmark) -> dict[str, Any]:
    """The engines that a part compares."""
    from tablemend.backends.backend import open_backend

    def opened(engine: str, **vllm: object) -> Any:
        options = BackendOptions(
            dtype=settings.dtype,
            batch_size=settings.batch_size,
            cache=None,
            vllm=settings.vllm.model_copy(update=vllm),
        )
        return open_backend(f"{engine}:{settings.model}", options)

    if part == "contexts":
        return {"no caching": opened("vllm", prefix_caching=False), "caching": opened("vllm")}
    return {"transformers": opened("hf"), "vLLM": opened("vllm")}


def main() -> None:
    """Measure, part by part, and print a table and JSON."""
    settings = load(Benchmark)
    entries: list[dict[str, Any]] = []
    before = os.getloadavg()[0]
    for part in settings.parts:
        requests_of = systems_of if part == "contexts" else prompts_of
        rounds = [requests_of(settings, number) for number in range(settings.rounds)]
        entries += summarise(part, compare(sides_of(part, settings), rounds))
    print(table(entries))
    machine = {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load_before": before,
        "load_after": os.getloadavg()[0],
    }
    print(json.dumps({"settings": settings.model_dump(), "machine": machine, "results": entries}))


if __name__ == "__main__":
    run_script(main)
