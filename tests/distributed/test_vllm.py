"""vLLM on the tiny checkpoint, and servers that are not ours.

They run in .venv-vllm: make test-vllm.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="runs in .venv-vllm: make test-vllm")

import torch

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config import parse
from tablemend.config.section import BackendOptions, Vllm
from tablemend.errors import TablemendError
from tablemend.mitigations.constrained import answer_grammar, keeps_header
from tablemend.recipe.experiment import GrpoCommand
from tablemend.records import Example
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.training.launch import check_server

pytestmark = pytest.mark.vllm

TINY = Path(__file__).parents[2] / "checkpoints" / "tiny-base"
GREEDY = Sampling(200)
SHORT = Sampling(40)
SCHEMA = {
    "type": "object",
    "properties": {"rows": {"type": "integer"}, "sorted": {"type": "boolean"}},
    "required": ["rows", "sorted"],
    "additionalProperties": False,
}
SMALL = Vllm(engine={"kv_cache_memory_bytes": 1 << 28}, max_num_seqs=64)
SERVER = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    "VLLM_SERVER_DEV_MODE": "1",  # says what it was started with
}
START = 240.0  # seconds that a server may take on a busy machine


def options(**vllm: object) -> BackendOptions:
    return BackendOptions(
        dtype="float32", batch_size=64, cache=None, vllm=SMALL.model_copy(update=vllm)
    )


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(small_world.examples(seed=77, n=60))


@pytest.fixture(scope="module")
def requests(examples: list[Example]) -> list[Request]:
    return [
        Request(f"r{number}", prompts.messages(example, "adversarial"), GREEDY, False)
        for number, example in enumerate(examples)
    ]


def answer_all(engine: Backend, requests: Sequence[Request]) -> dict[str, Completion]:
    completions = {completion.id: completion for completion in engine.generate(requests)}
    assert set(completions) == {request.id for request in requests}
    return completions


def agreement(one: dict[str, Completion], other: dict[str, Completion]) -> float:
    """Share of equal answers; equal texts must also be counted and ended alike."""
    same = [id for id in one if one[id].text == other[id].text]
    for id in same:
        a, b = one[id], other[id]
        assert (a.completion_tokens, a.finish_reason) == (b.completion_tokens, b.finish_reason)
    assert all(one[id].prompt_tokens == other[id].prompt_tokens for id in one)
    return len(same) / len(one)


def opened(kind: str, model: Path = TINY, **vllm: object) -> Backend:
    return open_backend(f"{kind}:{model}", options(**vllm))


@pytest.fixture(scope="class")
def vllm() -> Iterator[Backend]:
    with opened("vllm") as engine:
        yield engine


@pytest.fixture(scope="module")
def by_transformers(requests: list[Request]) -> dict[str, Completion]:
    with opened("hf") as engine:
        return answer_all(engine, requests)


class TestOneEngine:
    def test_answers_are_those_of_transformers(
        self, vllm: Backend, requests: list[Request], by_transformers: dict[str, Completion]
    ) -> None:
        assert vllm.too_long(requests) == {}
        assert agreement(answer_all(vllm, requests), by_transformers) >= 0.95  # measured: 1.0

    def test_prompts_of_one_context_are_read_once(
        self, vllm: Backend, examples: list[Example]
    ) -> None:
        fresh = list(small_world.examples(seed=78, n=6))
        requests = [
            Request(f"{strategy}.{number}", prompts.messages(example, "clean", strategy), SHORT)
            for strategy in prompts.STRATEGIES  # as systems come: one after the other
            for number, example in enumerate(fresh)
        ]
        completions = list(vllm.generate(requests))
        read = sum(c.prompt_tokens - c.cached_tokens for c in completions)
        assert read * 2 < sum(c.prompt_tokens for c in completions)
        assert all(0 <= c.cached_tokens < c.prompt_tokens for c in completions)

    def test_an_answer_cut_by_length_says_so(self, vllm: Backend, requests: list[Request]) -> None:
        (cut,) = vllm.generate([replace(requests[0], sampling=Sampling(5))])
        assert (cut.finish_reason, cut.completion_tokens) == ("length", 5)
        (whole,) = vllm.generate(requests[:1])
        assert whole.finish_reason == "stop" and whole.text.startswith(cut.text)
        assert "<|im_end|>" not in whole.text

    def test_an_answer_that_repeats_itself_is_cut_as_by_transformers(self, vllm: Backend) -> None:
        chat = ({"role": "user", "content": "Rin Rin Rin Rin"},)
        loop = Request("loop", chat, Sampling(300, max_repeats=3))
        (cut,) = vllm.generate([loop])
        with opened("hf") as engine:
            (expected,) = engine.generate([loop])
        assert (cut.text, cut.finish_reason) == (expected.text, "length")
        assert cut.completion_tokens == expected.completion_tokens < 100

    def test_a_schema_holds(self, vllm: Backend, requests: list[Request]) -> None:
        asked = [replace(request, schema=SCHEMA) for request in requests[:5]]
        for completion in vllm.generate([*asked, *requests[5:8]]):
            if completion.id in {request.id for request in asked}:
                value = json.loads(completion.text)
                assert isinstance(value["rows"], int) and isinstance(value["sorted"], bool)
            else:
                assert completion.text.startswith(prompts.MARKER)

    def test_a_grammar_holds(
        self, vllm: Backend, examples: list[Example], requests: list[Request]
    ) -> None:
        """With a header that the model has never seen, and cells from the context alone."""
        columns = ("Zug", "Quax", "Ort")
        asked = [
            replace(request, grammar=answer_grammar(columns, "markdown", example.gold_context))
            for request, example in zip(requests[:5], examples, strict=False)
        ]
        for completion in vllm.generate([*asked, requests[5]]):
            held = keeps_header(completion.text, columns, "markdown")
            assert held == (completion.id != requests[5].id)

    def test_a_schema_that_cannot_be_followed_fails_alone(
        self, vllm: Backend, requests: list[Request]
    ) -> None:
        wrong = replace(requests[0], id="wrong", schema={"type": "no such type"})
        completions = {c.id: c for c in vllm.generate([wrong, requests[1]])}
        assert completions["wrong"].finish_reason == "error" and completions["wrong"].error
        assert completions[requests[1].id].finish_reason == "stop"

    def test_every_request_draws_from_its_own_stream(
        self, vllm: Backend, requests: list[Request]
    ) -> None:
        warm = [
            replace(request, sampling=Sampling(30, temperature=1.5), seed=number)
            for number, request in enumerate(requests[:8])
        ]
        first, again = answer_all(vllm, warm), answer_all(vllm, warm[::-1])
        assert agreement(first, again) >= 0.75  # other batches round otherwise
        other = answer_all(vllm, [replace(request, seed=request.seed + 100) for request in warm])
        assert agreement(first, other) < 0.5

    def test_whoever_stops_reading_leaves_a_working_engine(
        self, vllm: Backend, requests: list[Request]
    ) -> None:
        stream = vllm.generate(requests)
        next(stream)
        stream.close()
        (later,) = vllm.generate([replace(requests[3], sampling=SHORT)])
        assert later.id == requests[3].id and later.finish_reason in ("stop", "length")

    def test_prompts_that_do_not_fit_are_refused_or_fail_alone(
        self, vllm: Backend, requests: list[Request]
    ) -> None:
        long = replace(requests[0], id="long", sampling=Sampling(1000))
        assert list(vllm.too_long([*requests, long])) == ["long"]
        completions = {c.id: c for c in vllm.generate([long, replace(requests[1], sampling=SHORT)])}
        assert completions["long"].finish_reason == "error"
        assert "do not fit" in completions["long"].error
        assert len(completions) == 2


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter that changes answers: random, and small enough to leave tables."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(3)
    base = AutoModelForCausalLM.from_pretrained(TINY, dtype=torch.float32)
    config = LoraConfig(r=4, lora_alpha=1, target_modules="all-linear", init_lora_weights=False)
    folder = tmp_path_factory.mktemp("adapter")
    get_peft_model(base, config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def adapted(adapter: Path, requests: list[Request]) -> dict[str, Completion]:
    """What transformers answers with the adapter."""
    with opened("hf", adapter) as engine:
        return answer_all(engine, requests)


def test_an_adapter_answers_as_with_transformers(
    adapter: Path,
    requests: list[Request],
    adapted: dict[str, Completion],
    by_transformers: dict[str, Completion],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert agreement(adapted, by_transformers) < 0.9  # else the test would show nothing
    with tempfile.TemporaryDirectory() as folder:  # vLLM's sockets need a short path
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with opened("vllm", adapter) as engine:
            assert agreement(answer_all(engine, requests), adapted) >= 0.95
        assert not list(Path(folder).glob("tablemend-merged-*"))
        monkeypatch.undo()


def test_what_vllm_cannot_start_is_one_line(requests: list[Request]) -> None:
    with (
        opened("vllm", engine={"kv_cache_memory_bytes": 1 << 17}) as engine,
        pytest.raises(TablemendError, match=r"^vLLM does not start with .*tiny-base: "),
    ):
        list(engine.generate(requests))


KILLED = """
import multiprocessing, sys, time
from tablemend.backends.backend import open_backend
from tablemend.config.section import BackendOptions

if __name__ == "__main__":
    options = BackendOptions(cache=None, vllm={"engine": {"kv_cache_memory_bytes": 1 << 28}})
    backend = open_backend(f"vllm:{sys.argv[1]}", options)
    backend.load()
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    time.sleep(600)
"""


def test_vllm_does_not_outlive_a_killed_process(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    process = subprocess.Popen([sys.executable, script, TINY], stdout=subprocess.PIPE)
    assert process.stdout is not None
    own = {int(pid) for pid in process.stdout.readline().split()}
    assert own
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while left := {pid for pid in own if is_running(pid)}:
        assert time.monotonic() < deadline, f"vLLM's processes {left} are still there"
        time.sleep(0.1)


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_copies_share_the_requests(
    requests: list[Request], by_transformers: dict[str, Completion]
) -> None:
    with opened("vllm", data_parallel=2) as engine:
        assert agreement(answer_all(engine, requests), by_transformers) >= 0.95


@contextmanager
def served(command: Sequence[str], port: int, log: Path) -> Iterator[str]:
    """A server's base URL, once it is healthy; it is ended afterwards."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command, "--port", str(port)],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | SERVER,
        )
    try:
        deadline = time.monotonic() + START
        while not healthy(f"http://127.0.0.1:{port}/health"):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"no server: {log.read_text()[-3000:]}")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def ask_server(name: str, requests: Sequence[Request], **given: object) -> dict[str, Completion]:
    with open_backend(name, options().model_copy(update=given)) as backend:
        return {completion.id: completion for completion in backend.generate(requests)}


def test_vllms_server_answers_as_transformers(
    requests: list[Request],
    by_transformers: dict[str, Completion],
    adapter: Path,
    adapted: dict[str, Completion],
    tmp_path: Path,
) -> None:
    server = "-m vllm.entrypoints.openai.api_server --dtype float32 --enforce-eager --block-size 32"
    names = ["--model", str(TINY), "--served-model-name", "tiny", "--max-model-len", "1024"]
    lora = ["--enable-lora", "--max-lora-rank", "8", "--lora-modules", f"mine={adapter}"]
    extras = ["--kv-cache-memory-bytes", "268435456", "--enable-prompt-tokens-details"]
    trained = ["--logprobs-mode", "processed_logprobs"]
    trained += ["--weight-transfer-config", '{"backend": "nccl"}']
    command = [*server.split(), *names, *lora, *extras, *trained]
    with served(command, free_port(), tmp_path / "log") as url:
        recipe = parse(GrpoCommand, ["recipe=tiny-grpo", f"model.path={TINY}"])
        with pytest.raises(TablemendError, match="computes on a CPU"):  # GRPO's only objection
            check_server(url.removesuffix("/v1"), recipe)
        answers = ask_server(f"openai:tiny@{url}", requests)
        assert agreement(answers, by_transformers) >= 0.95
        assert agreement(ask_server(f"openai:mine@{url}", requests), adapted) >= 0.95
        (held,) = ask_server(
            f"openai:tiny@{url}", [replace(requests[0], schema=SCHEMA, sampling=SHORT)]
        ).values()
        assert held.text.lstrip().startswith("{")
        grammar = answer_grammar(("Zug", "Quax"), "markdown", None)
        (held,) = ask_server(
            f"openai:tiny@{url}", [replace(requests[0], grammar=grammar, sampling=SHORT)]
        ).values()
        assert keeps_header(held.text, ("Zug", "Quax"), "markdown")
        assert sum(c.cached_tokens for c in ask_server(f"openai:tiny@{url}", requests).values())
