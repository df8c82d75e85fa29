"""Architectures that a plan is made for: known here, in a folder, or in the Hub's local cache."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tablemend.backends.checkpoints import CONFIG, local_folder
from tablemend.config import RECIPES
from tablemend.errors import TablemendError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from tablemend.recipe.experiment import Model


@cache
def known() -> dict[str, dict[str, Any]]:
    """What ``architectures.yaml`` says, by name on the Hub."""
    text = Path(__file__).with_name("architectures.yaml").read_text(encoding="utf-8")
    return {name: values for name, values in yaml.safe_load(text).items() if name[0] != "."}


def start_of(path: str) -> str:
    """The checkpoint that stands for ``runs/NAME/model`` as long as that is not trained: what its
    recipe starts from. Any other path is its own.
    """
    seen: set[str] = set()
    while path not in seen and not Path(path).exists() and Path(path).name == "model":
        seen.add(path)
        recipe = RECIPES / f"{Path(path).parent.name}.yaml"
        if not recipe.is_file():
            break
        path = str(yaml.safe_load(recipe.read_text(encoding="utf-8"))["model"]["path"])
    return path


LONGER = (
    "take a model with a longer one (recipe=smollm2-135m), or make the examples shorter "
    "(docs/own-data.md)"
)
"""What is left where a model's window is too short."""


def window_of(architecture: PretrainedConfig) -> int:
    """Most tokens of prompt and answer together."""
    return int(getattr(architecture.get_text_config(), "max_position_embeddings", None) or 2**31)


def check_window(config: Model, architecture: PretrainedConfig) -> None:
    """Refuse a ``context_length`` that is longer than the model's window."""
    window = window_of(architecture)
    if config.context_length is not None and config.context_length > window:
        raise TablemendError(
            f"model.context_length={config.context_length} is longer than the window of "
            f"{config.path}: set at most {window}; where examples need more, {LONGER}"
        )


def to_fit(config: Model, needed: int) -> str:
    """How examples of so many tokens can be trained on: what to set, or what else to take."""
    window = needed
    with suppress(TablemendError):  # of an architecture that is not here
        window = window_of(config_of(start_of(config.path)))
    if needed > window:
        return f"the window of {config.path} is {window} tokens: {LONGER}"
    return f"set model.context_length={needed} or more, and train.max_length likewise or null"


def config_of(path: str) -> PretrainedConfig:
    """The architecture of ``model.path``; of one that transformers does not know, its bare values.

    Raises:
        TablemendError: it is nowhere on this machine, or needs code of its own; nothing is fetched.
    """
    from huggingface_hub.errors import StrictDataclassError
    from transformers import CONFIG_MAPPING, AutoConfig, PretrainedConfig

    folder = local_folder(path)
    if folder is None and path in known():
        values = {name: value for name, value in known()[path].items() if name != "parameters"}
        return AutoConfig.for_model(values.pop("model_type"), dtype="bfloat16", **values)
    if folder is not None and not (folder / CONFIG).is_file():
        raise TablemendError(f"{folder} has no {CONFIG}: no architecture to plan with")
    try:
        found: dict[str, Any] = PretrainedConfig.get_config_dict(path, local_files_only=True)[0]
        if found.get("model_type", "gpt2") not in CONFIG_MAPPING and "auto_map" not in found:
            values = found.pop("text_config", {})
            return PretrainedConfig.from_dict({**values, **found, **values})
        return AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, StrictDataclassError) as error:
        raise TablemendError(
            f"the architecture of {path} is not known here: fetch its {CONFIG} "
            f"(hf download {path} {CONFIG}), or give its folder as model.path"
        ) from error
