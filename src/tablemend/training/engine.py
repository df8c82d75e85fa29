"""What draws answers in training: refused where it cannot, before anything is loaded."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import httpx
import torch
from accelerate import PartialState

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import read_window
from tablemend.errors import TablemendError, install
from tablemend.recipe.experiment import DrawingExperiment

PATIENCE = 120.0
"""Seconds that a server may take to answer: asked for the first time, vLLM looks up all that is
installed on its machine (6 s on one busy core)."""
PAUSE = 2.0
"""Seconds between two tries to reach a server that is still starting."""


def refuse_engine(config: DrawingExperiment) -> None:
    """Refuse what is to draw the answers where it is not there.

    Raises:
        TablemendError: layers that transformers' batches cannot hold; no vLLM, no GPU in this
            process, or no server that can take our weights.
    """
    drawing, name = config.drawing, config.kind
    if drawing.engine == "transformers":
        read_window(Checkpoint.parse(config.model.path, config.model.revision))
        return
    if find_spec("vllm") is None:
        raise TablemendError(
            f"{name}.engine={drawing.engine} needs vllm, which is not installed: "
            f"{install('train', 'vllm')}, or set {name}.engine=transformers"
        )
    if not torch.cuda.is_available():
        raise TablemendError(
            f"{name}.engine={drawing.engine} needs a CUDA GPU in the training process, and there "
            f"is none: set {name}.engine=transformers"
        )
    if drawing.server is not None and PartialState().is_main_process:
        check_server(drawing.server, config)


def check_server(server: str, config: DrawingExperiment) -> None:
    """Ask a server whether it can answer our prompts and take our weights.

    TRL itself (1.16, ``trl/scripts/vllm_serve.py``) waits without end for a URL that answers
    anything but 200.

    Raises:
        TablemendError: it cannot be reached, or was not started as a training needs it.
    """
    deadline = time.monotonic() + float(config.train.trl.get("vllm_server_timeout", 0.0))
    while True:
        try:
            wrong = _unfit(server, config)
            break
        except httpx.TransportError as error:
            if time.monotonic() >= deadline:
                wrong = f"cannot be reached ({error}; train.trl.vllm_server_timeout waits for it)"
                break
            time.sleep(PAUSE)
        except (httpx.HTTPError, ValueError, KeyError, IndexError, TypeError) as error:
            wrong = f"does not describe itself as a vLLM server does ({error!r})"
            break
    if wrong:
        raise TablemendError(
            f"{config.kind}.server={server} {wrong}: start it with `VLLM_SERVER_DEV_MODE=1 "
            f"vllm serve {config.model.path} --max-model-len {config.longest_row} --logprobs-mode "
            """processed_logprobs --weight-transfer-config '{"backend": "nccl"}'`"""
        )


def _unfit(server: str, config: DrawingExperiment) -> str:
    """What keeps a server from drawing the answers; empty where nothing does."""

    def described(path: str) -> Any:
        return httpx.get(server + path, timeout=PATIENCE).raise_for_status().json()

    window = described("/v1/models")["data"][0]["max_model_len"]
    settings = described("/server_info?config_format=json")["vllm_config"]
    logprobs = settings["model_config"]["logprobs_mode"]
    corrects = config.train.trl.get("vllm_importance_sampling_correction", True)
    if (settings["weight_transfer_config"] or {}).get("backend") != "nccl":
        return "takes no weights over NCCL"
    if window < config.longest_row:
        return f"holds {window} tokens, prompt and answer need up to {config.longest_row}"
    if corrects and logprobs != "processed_logprobs":
        return f"gives {logprobs}, which would bias the importance-sampling correction"
    if dict(settings.get("device_config") or {}).get("device") == "cpu":
        return "computes on a CPU, and NCCL hands weights from GPU to GPU"
    return ""
