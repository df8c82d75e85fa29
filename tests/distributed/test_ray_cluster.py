"""The same work on a Ray cluster of two nodes of this machine, one of them killed in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablemend.audit.command import audit

pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = pytest.mark.slow
TEAMS = "Alba Brea Cora Dorn Elva Fenn Gora Hald".split()
PATIENCE = 400
"""Seconds: nodes start slowly on a busy machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    os.environ |= {"RAY_worker_niceness": "0"}  # else a busy machine starves them
    small = {"num_cpus": 1, "object_store_memory": 100 << 20}
    found = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    found.add_node(**small)
    yield found
    found.shutdown()


def _run(cluster: Any, *arguments: str) -> subprocess.Popen[str]:
    environment = os.environ | {
        "RAY_ADDRESS": cluster.address,
        "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    }
    command = [sys.executable, "-m", "tablemend", *arguments]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_data_set_has_the_same_bytes(cluster: Any, tmp_path: Path) -> None:
    for engine in ("ray", "local"):
        settings = ["source=small-world", "n=12", f"out={tmp_path / engine}", f"runs_on={engine}"]
        process = _run(cluster, "data", "tablehallu", *settings)
        assert process.communicate(timeout=PATIENCE) and process.returncode == 0
    for name in ("train.jsonl", "test.jsonl"):
        made = [(tmp_path / engine / name).read_bytes() for engine in ("ray", "local")]
        assert made[0] == made[1] and made[0]


def test_an_audit_has_the_same_bytes_though_a_node_dies(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablemend.audit.command.LINES", {"local": 64})
    lines = [
        {
            "id": f"{team}-{number}",
            "answer": f"{team} won {40 + number % 2} points.",
            "table": [{"Team": team, "Points": "41"}, {"Team": "Zed", "Points": "3"}],
        }
        for number in range(512)
        for team in TEAMS
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    audit([str(path)], tmp_path / "local")
    blocks = tmp_path / "ray" / "blocks.jsonl"
    process = _run(cluster, "audit", str(path), "--engine", "ray", "--out", str(tmp_path / "ray"))
    until = time.monotonic() + PATIENCE
    while not (blocks.exists() and blocks.stat().st_size) and time.monotonic() < until:
        time.sleep(0.02)
    done = blocks.read_bytes().count(b"\n") - 1
    cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)  # SIGKILL
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert 0 < done < len(lines) / 512
    for name in ("audit.json", "scores.jsonl"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
