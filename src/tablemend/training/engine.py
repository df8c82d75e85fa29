"""What draws the answers of GRPO: refused where it cannot, before anything is loaded."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from http.client import HTTPException
from importlib.util import find_spec
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import torch
from accelerate import PartialState

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import read_window
from tablemend.errors import TablemendError, install
from tablemend.recipe.experiment import GrpoExperiment

PATIENCE = 10.0
"""Seconds that a server may take to say that it is there."""
DESCRIBING = 120.0
"""Seconds that it may take to describe itself: asked for the first time, vLLM looks up all that is
installed on its machine (6 s on one busy core)."""
READING = {"max_tokens": 1, "prompt_logprobs": 0, "temperature": 0}
"""What vLLM is asked for where it is to score a prompt; it always draws one token too."""
PAUSE = 2.0
"""Seconds between two tries to reach a server that is still starting."""


def refuse_engine(config: GrpoExperiment) -> None:
    """Refuse what is to draw the answers where it is not there.

    Raises:
        TablemendError: layers that transformers' batches cannot hold; no vLLM, no GPU in this
            process, or no server that can take our weights.
    """
    grpo = config.grpo
    if grpo.engine == "transformers":
        read_window(Checkpoint.parse(config.model.path, config.model.revision))
        return
    if find_spec("vllm") is None:
        raise TablemendError(
            f"grpo.engine={grpo.engine} needs vllm, which is not installed: "
            f"{install('train', 'vllm')}, or set grpo.engine=transformers"
        )
    if not torch.cuda.is_available():
        raise TablemendError(
            f"grpo.engine={grpo.engine} needs a CUDA GPU in the training process, and there is "
            "none: set grpo.engine=transformers"
        )
    if grpo.server is not None and PartialState().is_main_process:
        check_server(grpo.server, config)


def server_command(config: GrpoExperiment) -> str:
    """How to start a server that the recipe can use (TRL: ``trl/scripts/vllm_serve.py``)."""
    return (
        f"VLLM_SERVER_DEV_MODE=1 vllm serve {config.model.path} --max-model-len "
        f"{config.longest_row} --logprobs-mode processed_logprobs "
        """--weight-transfer-config '{"backend": "nccl"}'"""
    )


def check_server(server: str, config: GrpoExperiment) -> None:
    """Ask a server whether it can answer our prompts and take our weights.

    TRL itself waits without end for a URL that answers anything but 200.

    Raises:
        TablemendError: it does not answer, is no vLLM server, was started otherwise than
            :func:`server_command` says, or has no GPU.
    """
    deadline = time.monotonic() + float(config.train.trl.get("vllm_server_timeout", 0.0))
    start = f"start it with `{server_command(config)}`"
    while True:
        try:
            _get(server, "/health", PATIENCE)
            break
        except HTTPError as error:
            raise TablemendError(
                f"grpo.server={server} answers {error.code} to /health, so it is no vLLM server, "
                f"or the URL has another path: {start}"
            ) from error
        except (OSError, HTTPException) as error:  # URLError is an OSError
            if time.monotonic() >= deadline:
                reason = error.reason if isinstance(error, URLError) else error
                raise TablemendError(
                    f"grpo.server={server} cannot be reached ({reason}): {start}, or set "
                    "train.trl.vllm_server_timeout to the seconds to wait for it"
                ) from error
            time.sleep(PAUSE)
    try:
        window = _json(server, "/v1/models")["data"][0]["max_model_len"]
        settings = _json(server, "/server_info?config_format=json")["vllm_config"]
        logprobs = settings["model_config"]["logprobs_mode"]
        transfer = settings["weight_transfer_config"]
        device = dict(settings.get("device_config") or {}).get("device")
    except HTTPError as error:
        raise TablemendError(
            f"grpo.server={server} answers {error.code} to {error.url.removeprefix(server)}, "
            f"which weights are handed over by: {start}"
        ) from error
    except (OSError, HTTPException, ValueError, KeyError, IndexError, TypeError) as error:
        raise TablemendError(
            f"grpo.server={server} does not answer as a vLLM server does: {start}"
        ) from error
    if not transfer or transfer["backend"] != "nccl":
        raise TablemendError(f"grpo.server={server} takes no weights over NCCL: {start}")
    if window < config.longest_row:
        raise TablemendError(
            f"grpo.server={server} holds {window} tokens, prompt and answer need up to "
            f"{config.longest_row}: {start}"
        )
    corrects = config.train.trl.get("vllm_importance_sampling_correction", True)
    if corrects and logprobs != "processed_logprobs":
        raise TablemendError(
            f"grpo.server={server} gives {logprobs}, which leave the temperature out and would "
            f"bias the importance-sampling correction: {start}"
        )
    if device == "cpu":
        raise TablemendError(
            f"grpo.server={server} computes on a CPU, and NCCL hands weights from GPU to GPU: on a "
            f"machine with GPUs {start}"
        )


class Agreement:
    """Whether vLLM scores a fixed answer as the model that trains does, step after step.

    Measured (docs/dpo-grpo.md): rounding differs by 0.0006 to 0.0043 nats a token in bfloat16; a
    server that never gets the weights is off by 0.16 after two steps and by 0.48 after three.
    """

    def __init__(self) -> None:
        self.first: float | None = None
        self.before = 0.0

    def check(self, difference: float) -> None:
        """Take the next difference: mean, without sign, in nats a token.

        Raises:
            TablemendError: this one and the one before are ten times the first, which counts as
                0.005 at the least and as 0.02 at the most.
        """
        if self.first is None:
            self.first = difference
        most = 10 * min(max(self.first, 0.005), 0.02)
        if not (difference <= most or self.before <= most):
            raise TablemendError(
                f"vLLM scores a fixed answer by {difference:.3f} nats a token otherwise than the "
                f"model that trains ({self.first:.4f} at first): it does not get the new weights, "
                "and its answers are another model's. Set grpo.engine=transformers, or "
                "start vLLM's server anew where there is one (docs/dpo-grpo.md)"
            )
        self.before = difference


def scored_by_vllm(vllm: Any, prompt: Sequence[int], answer: Sequence[int]) -> list[float]:
    """Log-probabilities of an answer's tokens, before any temperature.

    Args:
        vllm: TRL's ``VLLMGeneration``.
        prompt: ids.
        answer: ids.

    Raises:
        TablemendError: the server does not answer.
    """
    ids = [*prompt, *answer]
    found: Sequence[Any]
    if vllm.mode == "server":
        client = vllm.vllm_client
        asked = {"model": client.model, "prompt": ids, **READING}
        request = Request(
            f"{client.base_url}/v1/completions",
            json.dumps(asked).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=DESCRIBING) as response:
                found = json.loads(response.read())["choices"][0]["prompt_logprobs"]
            return [found[at][str(ids[at])]["logprob"] for at in range(len(prompt), len(ids))]
        except (OSError, HTTPException, ValueError, KeyError, IndexError, TypeError) as error:
            raise TablemendError(
                f"grpo.server={client.base_url} does not score a prompt (/v1/completions with "
                f"prompt_logprobs: {error!r}): start it as docs/dpo-grpo.md says"
            ) from error
    from vllm import SamplingParams

    if vllm.enable_sleep_mode:
        vllm.llm.wake_up(tags=["kv_cache"])
    params = SamplingParams(**READING)
    (output,) = vllm.llm.generate([{"prompt_token_ids": ids}], params, use_tqdm=False)
    found = output.prompt_logprobs
    return [found[at][ids[at]].logprob for at in range(len(prompt), len(ids))]


def _get(server: str, path: str, patience: float) -> bytes:
    with urlopen(server + path, timeout=patience) as response:
        body: bytes = response.read()
    return body


def _json(server: str, path: str) -> Any:
    return json.loads(_get(server, path, DESCRIBING))
