"""vLLM's engines on a Ray cluster of this machine, two of them.

They run in .venv-vllm: make test-vllm.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

pytest.importorskip("vllm", reason="runs in .venv-vllm: make test-vllm")
pytest.importorskip("ray", reason="runs in .venv-vllm: make test-vllm")

import ray

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf_engine import HFEngine
from tablemend.backends.ray_engine import RayEngine
from tablemend.backends.requests import Request, Sampling
from tablemend.config import parse
from tablemend.config.backend import BackendOptions, Vllm
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu_llm.dataset import make_llm_dataset
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.generating import generate
from tablemend.evaluation.systems import begin, plan_systems, read_test
from tablemend.prompting.replies import REQUEST_FAILED
from tablemend.runs import Run
from tablemend.tasks import tablehallu

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

ROOT = Path(__file__).parents[2]
TINY = ROOT / "checkpoints" / "tiny-base"
RAY = Vllm(kv_cache_gib=0.25, max_num_seqs=64, cluster="ray", data_parallel=2)
CPUS = 7
OPTIONS = BackendOptions(dtype="float32", cache=None, vllm=RAY)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One cluster for all tests; what finds one running joins it and leaves it running."""
    ray.init(num_cpus=CPUS, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(scope="class")
def backend(cluster: None) -> Iterator[Backend]:
    with open_backend(f"vllm:{TINY}", OPTIONS) as opened:
        yield opened


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    return [
        Request(
            f"r{number}", tablehallu.messages(example, "adversarial"), Sampling(200), thinking=False
        )
        for number, example in enumerate(small_world.examples(seed=77, n=24))
    ]


class TestEngines:
    """Two engines, started once."""

    def test_two_engines_answer_as_transformers_does(
        self, backend: Backend, requests: list[Request]
    ) -> None:
        given = {completion.id: completion for completion in backend.generate(requests)}
        assert sorted(given) == sorted(request.id for request in requests)
        assert ray.available_resources()["CPU"] <= CPUS - 2  # one is taken by each engine
        reference = HFEngine(Checkpoint(str(TINY)), OPTIONS)
        expected = {completion.id: completion for completion in reference.generate(requests)}
        same = [given[name].text == expected[name].text for name in expected]
        assert sum(same) >= 0.95 * len(same)
        for name, completion in given.items():
            assert completion.prompt_tokens == expected[name].prompt_tokens
            assert completion.finish_reason in ("stop", "length")

    def test_an_answer_does_not_wait_for_the_rest(
        self, backend: Backend, requests: list[Request]
    ) -> None:
        """A chain of requests, each built on the last answer, beside a row of others."""

        async def chain() -> list[str]:
            said: list[str] = []
            for number in range(3):
                chat = [*requests[0].messages, {"role": "assistant", "content": "".join(said)}]
                request = Request(f"chain{number}", chat, Sampling(8), thinking=False)
                said.append((await backend.answer(request)).text)
            return said

        async def run() -> tuple[list[str], int]:
            others = [backend.answer(request) for request in requests]
            said, *answered = await asyncio.gather(chain(), *others)
            return said, len({completion.id for completion in answered})

        said, count = asyncio.run(run())
        assert len(said) == 3 and all(said) and count == len(requests)

    def test_what_does_not_fit_fails_alone(self, backend: Backend, requests: list[Request]) -> None:
        long = Request("long", [{"role": "user", "content": "word " * 3000}], Sampling(20))
        done = {completion.id: completion for completion in backend.generate([long, requests[0]])}
        assert done["long"].finish_reason == "error" and "window" in done["long"].error
        assert done["r0"].finish_reason != "error"


def test_an_adapter_cannot_go_to_other_machines(tmp_path: Path) -> None:
    adapter = {"base_model_name_or_path": str(TINY), "peft_type": "LORA", "r": 4}
    (tmp_path / "adapter_config.json").write_text(json.dumps(adapter))
    away = OPTIONS.vllm.model_copy(update={"ray_address": "auto"})
    with pytest.raises(TablemendError, match="merge it into its base"):
        RayEngine(Checkpoint(str(tmp_path)), OPTIONS.model_copy(update={"vllm": away}))


def test_engines_that_do_not_fit_are_refused(cluster: None) -> None:
    many = OPTIONS.model_copy(update={"vllm": RAY.model_copy(update={"data_parallel": 99})})
    with (
        open_backend(f"vllm:{TINY}", many) as crowded,
        pytest.raises(TablemendError, match=r"free CPUs; vllm\.data_parallel=99"),
    ):
        crowded.load()


def test_a_comparison_runs_on_the_cluster(cluster: None, tmp_path: Path) -> None:
    recipe = {
        "kind": "evaluation",
        "name": "ray",
        "model": {"path": str(TINY), "dtype": "float32", "context_length": 1024},
        "data": {"test": {"source": "small-world", "n": 6, "seed": 3}},
        "evaluation": {
            "contexts": ["adversarial"],
            "max_new_tokens": 200,
            "options": {"vllm": {"data_parallel": 2, "kv_cache_gib": 0.25}},
            "systems": {"base": {"model": "base"}},
        },
    }
    (tmp_path / "ray.yaml").write_text(yaml.safe_dump(recipe))
    tokens = [f"recipe={tmp_path}/ray.yaml", f"run={tmp_path}/run"]
    config = parse(CompareCommand, [*tokens, "backend=vllm", "engine_cluster=ray"])
    run = Run.of(config)
    examples = read_test(config)
    systems = plan_systems(config, run)
    begin(config, run, examples)
    generate(systems, examples, config, run)
    lines = (run.path / "generations" / "base.adversarial.jsonl").read_text().splitlines()
    answers = [json.loads(line) for line in lines]
    assert {answer["example_id"] for answer in answers} == {example.id for example in examples}
    assert all(answer["text"] for answer in answers)


def test_a_data_set_is_made_on_the_cluster(cluster: None, tmp_path: Path) -> None:
    """The tiny base writes no kernel: every row is given up for what it says, none is lost."""
    folder = tmp_path / "model"
    shutil.copytree(TINY, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 8192}))
    settings = LlmSynthesis(
        generator=f"vllm:{folder}",
        engine_cluster="ray",
        generator_options=BackendOptions(cache=None, vllm=Vllm(kv_cache_gib=0.25, data_parallel=2)),
        n=4,
        out=str(tmp_path / "data"),
        max_new_tokens=16,
        retries=1,
        restarts=0,
    )
    with pytest.raises(TablemendError, match="none of 4"):
        make_llm_dataset(settings)
    (rows_file,) = (tmp_path / "data" / "rows").glob("*.jsonl")
    rows = [json.loads(line) for line in rows_file.read_text().splitlines()]
    made = {row["number"]: row for row in rows if "number" in row}
    assert sorted(made) == [0, 1, 2, 3]
    for row in made.values():
        assert [call["stage"] for call in row["calls"]] == ["kernel", "kernel"]
        assert all(call["completion_tokens"] > 0 for call in row["calls"])
        assert REQUEST_FAILED not in {rejection["kind"] for rejection in row["rejections"]}
