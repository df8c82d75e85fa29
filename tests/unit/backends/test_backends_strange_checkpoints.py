"""Checkpoints of strangers: their code is not run, their pickles are not read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tablemend.backends import hf, loading
from tablemend.backends.checkpoints import Checkpoint
from tablemend.errors import TablemendError
from tablemend.training.architectures import config_of

CODE = "raise SystemExit('a stranger's code ran')\n"


@pytest.fixture
def strange(tiny_model: Path, tmp_path: Path) -> Path:
    """The random model as one that brings its own code."""
    folder = shutil.copytree(tiny_model, tmp_path / "strange")
    for name in ("config.json", "tokenizer_config.json"):
        values = json.loads((folder / name).read_text("utf-8"))
        values["auto_map"] = {"AutoConfig": "own.Own", "AutoTokenizer": ["own.Own", None]}
        if name == "config.json":
            values["model_type"] = "strange"
        (folder / name).write_text(json.dumps(values), encoding="utf-8")
    (folder / "own.py").write_text(CODE, encoding="utf-8")
    return folder


READERS: dict[str, Callable[[str], Any]] = {
    "configuration": lambda path: loading.read_config(Checkpoint(path)),
    "model": lambda path: hf.load_model(Checkpoint(path)),
    "plan": config_of,
}


@pytest.mark.parametrize("kind", READERS)
def test_code_of_a_checkpoint_is_not_run_nor_asked_about(
    kind: str, strange: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked on the terminal"))
    with pytest.raises(TablemendError) as refused:
        READERS[kind](str(strange))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "consolidated.00.pth"])
def test_pickled_weights_are_refused(tiny_model: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "pickled")
    for path in folder.glob("*.safetensors"):
        path.unlink()
    torch.save({"a": torch.zeros(1)}, folder / name)
    with pytest.raises(TablemendError, match=r"pickled weights alone.*safetensors"):
        hf.load_model(Checkpoint(str(folder)))
