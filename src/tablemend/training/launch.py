"""How a training was launched, what it computes in on this device, and what is refused there."""

from __future__ import annotations

import ctypes
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx
import psutil
import torch
from accelerate import PartialState
from accelerate.utils import DistributedType, parse_flag_from_env
from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    PreTrainedModel,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.masking_utils import sdpa_mask

from tablemend.backends import decoding
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import emulation, has_bfloat16, loaded_dtype, read_window
from tablemend.config.section import Precision
from tablemend.errors import TablemendError, install
from tablemend.recipe.experiment import DrawingExperiment, TrainingRecipe
from tablemend.recipe.training import Train
from tablemend.runs import read_object, write_json

T = TypeVar("T")
C = TypeVar("C", bound=TrainingRecipe)
SHARDED = ("zero3", "fsdp2")
"""Strategies under which no process holds a whole weight."""
NOTE = "launch.json"
"""File of a checkpoint that says which launch wrote it."""
SUPPORTED = ("single", "ddp", "zero1", "zero2", *SHARDED)
PATIENCE = timedelta(days=30)
"""How long processes wait for the main one to prepare the data: its end ends them too."""


@dataclass(frozen=True)
class Launch:
    """How a training is spread.

    Attributes:
        strategy: single, ddp, zero1, zero2, zero3 or fsdp2.
        processes: over all machines.
    """

    strategy: str
    processes: int

    def __str__(self) -> str:
        return f"{self.strategy} on {self.processes} process{'es' * (self.processes > 1)}"


def init_distributed() -> None:
    """Join the other processes; must come before anything else of accelerate.

    Raises:
        TablemendError: a launch that could not be trained or saved.
    """
    launch = from_environment(os.environ)
    _refuse_unsupported(launch, os.environ)
    on_cpu = not torch.accelerator.is_available() or parse_flag_from_env("ACCELERATE_USE_CPU")
    if on_cpu:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
        if launch.strategy.startswith("zero"):
            # DeepSpeed's own shared-memory operator is compiled on first use, for minutes on a busy
            # machine, and serves single machines alone (0.19;
            # https://github.com/deepspeedai/DeepSpeed/issues/7108): torch's gloo reduces. Remove
            # when an option chooses torch's operators, which issue 7625 there asks for.
            from deepspeed.ops import __compatible_ops__ as compatible

            compatible["deepspeed_shm_comm"] = False
    # or a checkpoint of ZeRO-3 would hold no weights
    os.environ["ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"] = "true"
    state = PartialState(cpu=on_cpu)  # the first call decides for the whole process
    if on_cpu and launch.strategy == "fsdp2":
        # accelerate 1.15 turns to FSDP from the types of accelerators alone, and trains on CPUs
        # with DDP without a word; no issue found. Remove when AcceleratorState takes MULTI_CPU.
        state.distributed_type = DistributedType.MULTI_GPU


def reuses_state() -> bool:
    """Whether TrainingArguments must take the state of :func:`init_distributed`."""
    return from_environment(os.environ).strategy == "fsdp2"


def from_environment(environment: Mapping[str, str]) -> Launch:
    """What the launcher asked for."""

    def says(name: str) -> bool:
        return environment.get(name, "").lower() in ("true", "1")

    processes = int(environment.get("WORLD_SIZE", "1"))
    if says("ACCELERATE_USE_DEEPSPEED"):
        return Launch(f"zero{environment.get('ACCELERATE_DEEPSPEED_ZERO_STAGE', '2')}", processes)
    if says("ACCELERATE_USE_FSDP"):
        return Launch(f"fsdp{environment.get('FSDP_VERSION', '1')}", processes)
    return Launch("ddp" if processes > 1 else "single", processes)


def share_cores() -> int | None:
    """Share this machine's cores among its processes, unless the user has set OMP_NUM_THREADS.

    Launchers set it to 1 where it is not set: their own environment tells.

    Returns:
        threads a process that the user has set; ``None`` where the cores were shared.
    """
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said == "1" and {"ACCELERATE_MIXED_PRECISION", "WORLD_SIZE"} & set(os.environ):
        said = ""
        with suppress(psutil.Error):  # of a scheduler that is another user's
            parent = psutil.Process().parent()
            said = parent.environ().get("OMP_NUM_THREADS", "") if parent is not None else ""
    if said.isdigit():
        return int(said)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    torch.set_num_threads(max(1, (cores or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    return None


def _refuse_unsupported(launch: Launch, environment: Mapping[str, str]) -> None:
    if launch.strategy not in SUPPORTED:
        raise TablemendError(
            f"the accelerate config asks for {launch.strategy}; there are {', '.join(SUPPORTED)}: "
            "see accelerate_configs/"
        )
    if "ACCELERATE_DEEPSPEED_CONFIG_FILE" in environment:
        raise TablemendError(
            "the accelerate config names a deepspeed_config_file: write its settings into the "
            "config itself (accelerate_configs/zero3.yaml), where the launch can be checked"
        )
    if environment.get("ACCELERATE_USE_PARALLELISM_CONFIG", "").lower() == "true":
        raise TablemendError(
            "the accelerate config has a parallelism_config: under context, sequence or tensor "
            "parallelism processes share rows, and a step would take fewer than "
            "train.global_batch. Leave it out; for long rows take accelerate_configs/fsdp2.yaml "
            "and train.gradient_checkpointing=true"
        )


def record_launch(folder: Path) -> None:
    """Write into a checkpoint how the training that made it was spread."""
    write_json(folder / NOTE, asdict(from_environment(os.environ)))


def check_checkpoint(folder: Path) -> None:
    """Say that a training goes on with another number of processes, or refuse it.

    Raises:
        TablemendError: this launch cannot read the optimizer's state in the checkpoint: it is of
            another strategy, or ZeRO's, which is cut into a share for each process.
    """
    saved = Launch(**read_object(folder / NOTE, "delete the checkpoint"))
    here = from_environment(os.environ)
    if saved == here:
        return
    whole = {saved.strategy, here.strategy} <= {"single", "ddp"}
    if not whole and not saved.strategy == here.strategy == "fsdp2":
        raise TablemendError(
            f"{folder} was saved by {saved} and cannot be continued by {here}: launch it as "
            "before, or give overwrite=true to start anew"
        )
    if PartialState().is_main_process:
        print(f"{folder} was saved by {saved}, {here} go on with other rounding")


def whole_weights(trainer: Any) -> dict[str, torch.Tensor] | None:
    """The weights of a sharded model, gathered; all processes call it.

    Returns:
        by name, a tied one once, on the CPU of the main process; ``None`` where every process
        holds whole weights, of which ``save_pretrained`` knows best.
    """
    if from_environment(os.environ).strategy not in SHARDED:
        return None
    whole: dict[str, torch.Tensor] = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    named = {name for name, _ in trainer.model.named_parameters()}
    named |= {name for name, _ in trainer.model.named_buffers()}
    return {name: weight for name, weight in (whole or {}).items() if name in named}


def on_main_process(make: Callable[[], T]) -> T:
    """What ``make`` returns: the main process calls it, the others get it, however long it takes.

    Data is so read and tokenised once. Over gloo, since NCCL would take it through the GPU and end
    the others after ten minutes. Where the main process fails, the launcher ends the others.
    """
    state = PartialState()
    if state.num_processes == 1:
        return make()
    group = torch.distributed.new_group(backend="gloo", timeout=PATIENCE)
    made: list[Any] = [make() if state.is_main_process else None]
    torch.distributed.broadcast_object_list(made, src=0, group=group)
    torch.distributed.destroy_process_group(group)
    found: T = made[0]
    return found


def refuse_launch(train: Train) -> None:
    """Refuse a recipe that cannot be trained as it was launched.

    Raises:
        TablemendError: GPUs that no process was launched for, or a batch that does not divide
            over the processes.
    """
    launch = from_environment(os.environ)
    seen = torch.cuda.device_count()
    if launch.strategy == "single" and seen > 1 and not parse_flag_from_env("ACCELERATE_USE_CPU"):
        # the Trainer would use torch's DataParallel: a step would take seen times global_batch
        raise TablemendError(
            f"one process sees {seen} GPUs: launch one process for each (accelerate launch "
            f"--config_file accelerate_configs/ddp.yaml --num_processes {seen}), or take one GPU "
            "(accelerate_configs/single-gpu.yaml, or CUDA_VISIBLE_DEVICES=0)"
        )
    train.accumulation(launch.processes)


def choose_precision(precision: Precision, device: str) -> Literal["float32", "bfloat16"]:
    """The type for a type of device: bfloat16 where it has instructions for it, else float32."""
    if precision != "auto":
        return precision
    return "bfloat16" if has_bfloat16(device) else "float32"


def settle_precision(config: C, device: str) -> C:
    """The recipe with the types that a type of device leads to.

    It is what the run folder notes: a training does not go on in another type elsewhere.
    """
    kind = choose_precision(config.train.precision, device)
    if config.train.method == "qlora":  # computes in it on every GPU
        kind = "bfloat16"
    dtype = loaded_dtype(config.weights_dtype, device)
    train = config.train.model_copy(update={"precision": kind})
    model = config.model.model_copy(update={"dtype": dtype})
    return config.model_copy(update={"train": train, "model": model})


def describe_precision(
    config: TrainingRecipe, settled: TrainingRecipe, device: str, threads: int | None
) -> Iterator[str]:
    """What the log says of it: type, why, and threads."""
    why = "train.precision"
    if config.train.precision == "auto":
        has = "has" if has_bfloat16(device) else "has no"
        why = f"train.precision=auto, and this {device.upper()} {has} instructions for bfloat16"
    used = ""
    if device == "cpu":
        of = "OMP_NUM_THREADS" if threads else "OMP_NUM_THREADS sets another number"
        used = f"; threads a process: {torch.get_num_threads()} ({of})"
    yield f"computing in {settled.train.precision} ({why}){used}"
    for setting, dtype in (
        ("train.precision", config.train.precision),
        ("model.dtype", config.model.dtype),
    ):
        if warning := emulation(setting, dtype, device):
            yield warning


CPU_ATTENTION = "blocks_of_queries"
BLOCK = 256
"""Queries that attend at a time; scores of later keys are never computed."""
LONGEST = 2048
"""Tokens of a row; longer ones take torch's kernel: what is kept for the backward pass grows with
their square."""
TRIMMED = 20
"""Forward and backward passes after which free memory goes back to the system: rows of many
lengths leave gaps in it."""
_MMAP_MAX, _TRIM_THRESHOLD, _TOP_PAD = -4, -1, -2
"""Parameters of glibc's ``mallopt`` (malloc.h)."""


def speed_up_cpu(model: PreTrainedModel, precision: str) -> None:
    """Make training on a CPU faster; no effect where it is on another device.

    glibc keeps what is freed, unless the user has set ``MALLOC_...``: given back, each large tensor
    costs page faults anew. A model that attends by ``sdpa`` does so by :func:`attend` in bfloat16:
    torch 2.13's fused attention for CPUs computes it at the speed of float32. Either can go when
    benchmarks/sft_throughput.py is as fast without it. New tokens: ``backends/decoding.py``.
    """
    if libc := _glibc():
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, -1)
        libc.mallopt(_TOP_PAD, 2**28)
    if PartialState().device.type != "cpu":
        return
    decoding.use_cpu_attention()
    if precision == "bfloat16" and model.config._attn_implementation == "sdpa":
        AttentionInterface.register(CPU_ATTENTION, attend)
        AttentionMaskInterface.register(CPU_ATTENTION, sdpa_mask)
        model.set_attn_implementation(CPU_ATTENTION)


def _glibc() -> ctypes.CDLL | None:
    """The C library whose memory is kept; ``None`` on other devices, systems and by wish."""
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    if PartialState().device.type != "cpu" or sys.platform != "linux" or chosen:
        return None
    found = ctypes.CDLL(None)
    return found if hasattr(found, "mallopt") else None


class Trim(TrainerCallback):  # type: ignore[misc]
    """Gives free memory back every :data:`TRIMMED` passes: the gaps in it would add up."""

    passes = 0

    def on_substep_end(
        self, _: TrainingArguments, state: TrainerState, control: TrainerControl, **__: Any
    ) -> None:
        self.passes += 1
        if self.passes % TRIMMED == 0 and (libc := _glibc()):
            libc.malloc_trim(0)

    on_step_end = on_substep_end


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """As :func:`~tablemend.backends.decoding.attend`; a row without a mask by :func:`products`.

    Args:
        module: the attention layer.
        query: (batch, heads, tokens, head width).
        key: (batch, key heads, tokens, head width).
        value: (batch, key heads, tokens, value width).
        attention_mask: ``None`` where every token attends to all before it.
        **options: of ``sdpa``.

    Returns:
        (batch, tokens, heads, value width), and no attention weights.
    """
    causal = options.get("is_causal")
    if causal is None:  # sdpa_attention_forward decides it so
        causal = getattr(module, "is_causal", True)
    alone = attention_mask is None and options.get("position_bias") is None
    more = not alone or options.get("dropout")
    whole = query.shape[2] == key.shape[2] <= LONGEST
    if more or not causal or not whole or query.device.type != "cpu":
        return decoding.attend(module, query, key, value, attention_mask, **options)
    scaling = options.get("scaling") or query.shape[-1] ** -0.5
    return products(query, key, value, scaling), None


# a compiled loop would be made anew for each number of blocks
@torch.compiler.disable  # type: ignore[untyped-decorator]
def products(query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
    """Causal attention, block of queries by block; see :func:`attend`."""
    batch, heads, tokens, width = query.shape
    groups = heads // key.shape[1]
    keys, query = key.transpose(2, 3), query * scaling
    blocks = []
    for start in range(0, tokens, BLOCK):
        end = min(tokens, start + BLOCK)
        # the heads that share a key head are rows of one product
        asked = query[:, :, start:end].reshape(batch, -1, groups * (end - start), width)
        scores = asked @ keys[..., :end]
        future = torch.ones(end - start, end - start, dtype=torch.bool).triu_(1)
        last = scores.view(batch, -1, groups, end - start, end)[..., start:]
        last.masked_fill_(future, -torch.inf)
        mixed = scores.softmax(-1) @ value[:, :, :end]
        blocks.append(mixed.view(batch, heads, end - start, value.shape[-1]))
    return torch.cat(blocks, dim=2).transpose(1, 2).contiguous()


SERVER_PATIENCE = 120.0
"""Seconds that a server may take to answer: asked for the first time, vLLM looks up all that is
installed on its machine (6 s on one busy core)."""
SERVER_PAUSE = 2.0
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
            time.sleep(SERVER_PAUSE)
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
        return httpx.get(server + path, timeout=SERVER_PATIENCE).raise_for_status().json()

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


SILENCED: tuple[tuple[type[Warning], str, str], ...] = (
    # PEFT 0.21 looks for the ranks of fused experts among modules; parameters have them. Since
    # https://github.com/huggingface/peft/pull/3588; remove when that knows target_parameters.
    (RuntimeWarning, r"The following (rank|alpha)_pattern keys did not match", "peft"),
    # DeepSpeed 0.19 calls names that torch 2.13 calls old, every step; remove with 0.20
    (FutureWarning, "", "torch.distributed"),
)
"""Kind, beginning of the message, and module that it is said of."""


def filter_warnings() -> None:
    """Say them no more in this process; every other warning is shown."""
    for category, message, module in SILENCED:
        warnings.filterwarnings("ignore", message, category, module)
