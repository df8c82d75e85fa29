"""What this machine or the model lacks is refused in one line, before anything is read."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import SftCommand
from tablemend.training import distil, dpo, grpo, models, sft
from tablemend.training.sft import sft_arguments

ROOT = Path(__file__).parents[3]
QLORA = "train.method=qlora"


@pytest.mark.parametrize(
    ("given", "patched", "environment", "message"),
    [
        (QLORA, {"cuda": False}, {}, r"^train\.method=qlora needs a CUDA GPU.*method=lora"),
        (QLORA, {"cuda": True, "found": None}, {}, "needs bitsandbytes: pip install"),
        (
            QLORA,
            {"cuda": True, "found": object()},
            {"ACCELERATE_USE_FSDP": "true"},
            r"launch it with accelerate_configs/ddp\.yaml",
        ),
        (QLORA, {"cuda": True, "found": object()}, {}, None),
        ("train.trl.activation_offloading=true", {"gpu": False}, {}, "there is no GPU here"),
        ("train.compile=true", {"gpu": False}, {"CXX": "no-g++"}, r"there is no no-g\+\+ here"),
        ("seed=0", {"gpu": False, "cuda": False}, {}, None),
    ],
)
def test_what_the_method_needs_and_is_not_here_is_refused(
    given: str,
    patched: dict[str, Any],
    environment: dict[str, str],
    message: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: patched.get("cuda", False))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: patched.get("gpu", False))
    monkeypatch.setattr(models, "find_spec", lambda _: patched.get("found"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    config = parse(SftCommand, ["recipe=qwen3-8b", given])
    if message is None:
        models.check_method(config)
        return
    with pytest.raises(TablemendError, match=message):
        models.check_method(config)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("flash_attention_2", "is not installed.*set model.attn=sdpa"),
        ("flex_attention", "no backward pass on CPUs: set model.attn=sdpa"),
    ],
)
def test_a_kernel_that_cannot_train_here_is_refused_before_anything_is_read(
    name: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for installed in ("is_flash_attn_2_available", "is_kernels_available"):
        monkeypatch.setattr(models, installed, lambda: False)
    with pytest.raises(TablemendError, match=f"model.attn={name}.*{advice}"):
        models.refuse_kernel(name)
    models.refuse_kernel("sdpa")
    monkeypatch.setattr(models, "is_kernels_available", lambda: True)
    models.refuse_kernel("flash_attention_2")


def test_a_log_goes_nowhere_else_unless_a_recipe_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    for given, sent in (((), []), (("train.trl.report_to=trackio",), ["trackio"])):
        config = parse(SftCommand, ["recipe=tiny", "train.precision=float32", *given])
        arguments = sft_arguments(config, str(tmp_path / "run" / "sft"), validate=False)
        assert (arguments.report_to, arguments.run_name) == (sent, "run")


def test_nothing_is_set_that_trl_2_drops() -> None:
    """Its trainers and their configurations say what is deprecated."""
    folder = Path(str(files("trl")))
    said = "".join(path.read_text("utf-8") for path in sorted(folder.glob("trainer/*.py")))
    said = re.sub(r'["\']?\n\s*["\']?', " ", said)  # sentences over lines
    pattern = r"`(\w+)(?:=\w+)?`[^`.]{0,40}\bdeprecated[^`]{0,60}\bv2\.0"
    dropped = set(re.findall(pattern, said))
    assert {"use_liger_kernel", "pad_token"} <= dropped  # in TRL 1.16
    for recipe in sorted((ROOT / "recipes").glob("*.yaml")):
        given = (yaml.safe_load(recipe.read_text("utf-8")).get("train") or {}).get("trl", {})
        assert not dropped & set(given), recipe.name
    for module in (sft, dpo, grpo, distil, models):
        set_there = re.findall(r'"(\w+)":', Path(str(module.__file__)).read_text("utf-8"))
        assert not dropped & set(set_there), module.__name__
