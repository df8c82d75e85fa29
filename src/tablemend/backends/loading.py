"""Checkpoints read with transformers: configuration, tokenizer, weights, the type of numbers."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, NamedTuple

import torch
from httpx import TransportError
from huggingface_hub import constants, get_session, try_to_load_from_cache
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import Engine
from tablemend.backends.requests import Completion, Prompt, Request
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError
from tablemend.records import FinishReason
from tablemend.renderer import prompt_ids
from tablemend.thinking import opened_thought

ATTENTION_LAYERS = {"full_attention", "sliding_attention", "chunked_attention"}


def loading_device() -> str:
    """Type of the device that models are loaded onto."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _reach(checkpoint: Checkpoint) -> None:
    """Fail at once where the Hub is not there: its library tries for half a minute.

    Raises:
        OSError: no connection, and the model is not on this machine.
    """
    base = checkpoint.base
    if base.folder or try_to_load_from_cache(base.path, "config.json", revision=base.revision):
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=10)
    except TransportError as error:
        reason = f"it is not on this machine, and {constants.ENDPOINT} cannot be reached ({error})"
        raise OSError(reason) from error


@contextmanager
def named_failures(checkpoint: Checkpoint) -> Iterator[None]:
    """Turn what transformers raises for an unusable checkpoint into one line."""
    try:
        _reach(checkpoint)
        yield
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        if "custom code" in str(error) or "trust_remote_code" in str(error):
            raise TablemendError(
                f"{checkpoint.path} brings code of its own, which is never run here: name a "
                "checkpoint of an architecture that transformers has"
            ) from error
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise TablemendError(f"cannot load {checkpoint.path}: {lines[0]}") from error


def read_config(checkpoint: Checkpoint) -> Any:
    """The configuration of a checkpoint, of an adapter's base.

    Raises:
        TablemendError: no such checkpoint.
    """
    checkpoint.check()
    base = checkpoint.base
    with named_failures(checkpoint):
        return AutoConfig.from_pretrained(
            base.path, revision=base.revision, trust_remote_code=False
        )


def load_weights(checkpoint: Checkpoint, kind: Any, **options: Any) -> Any:
    """A model of one of transformers' Auto classes; what a checkpoint lacks it makes up at random.

    Args:
        checkpoint: not an adapter.
        kind: ``AutoModel...``.
        options: of ``from_pretrained``.

    Raises:
        TablemendError: no such checkpoint, or one whose weights are of another kind.
    """
    with named_failures(checkpoint):
        model, info = kind.from_pretrained(
            checkpoint.path,
            revision=checkpoint.revision,
            output_loading_info=True,
            trust_remote_code=False,
            use_safetensors=True,  # a pickle can run anything
            **options,
        )
    lacking = sorted(info["missing_keys"]) + sorted(map(str, info["mismatched_keys"]))
    if lacking:
        raise TablemendError(
            f"{checkpoint.path} lacks {len(lacking)} weights of its architecture, first "
            f"{lacking[0]}: copy the whole checkpoint, or name one that was trained for this"
        )
    return model


def has_tokenizer(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint's tokenizer is on this machine: in a folder or the Hub's local cache."""
    base = checkpoint.base
    file = "tokenizer_config.json"
    return base.folder is not None or isinstance(
        try_to_load_from_cache(base.path, file, revision=base.revision), str
    )


def load_tokenizer(checkpoint: Checkpoint, **options: Any) -> Any:
    """The tokenizer of a checkpoint that chats; an adapter without its own has its base's.

    Args:
        checkpoint: folder or Hub name.
        options: of ``from_pretrained``.

    Raises:
        TablemendError: no such checkpoint, or no chat template.
    """
    checkpoint.check()
    folder = checkpoint.folder
    own = folder is not None and (folder / "tokenizer_config.json").is_file()
    source = checkpoint if own else checkpoint.base
    with named_failures(checkpoint):
        tokenizer = AutoTokenizer.from_pretrained(
            source.path, revision=source.revision, trust_remote_code=False, **options
        )
    if not tokenizer.chat_template:
        raise TablemendError(
            f"{source.path} has no chat template: use the instruction-tuned model, or put a "
            "chat_template.jinja beside its tokenizer"
        )
    return tokenizer


def read_window(checkpoint: Checkpoint, context_length: int | None = None) -> int:
    """Most tokens of prompt and answer together: the model's, or less where asked for.

    Raises:
        TablemendError: an architecture that keeps more than keys and values; its rows could
            not be right-aligned after the fact.
    """
    config = read_config(checkpoint)
    text = config.get_text_config().to_dict()
    kinds = set(text.get("layer_types") or ()) - ATTENTION_LAYERS
    if kinds or "max_position_embeddings" not in text:
        raise TablemendError(
            f"{checkpoint.path} ({config.model_type}) has layers other than attention"
            f"{': ' + ', '.join(sorted(kinds)) if kinds else ''}; "
            "the transformers backend does not support them yet: take vLLM"
        )
    most = int(text["max_position_embeddings"])
    return min(most, context_length or most)


def stop_ids(
    named: int | list[int] | None, tokenizer: Any, checkpoint: Checkpoint
) -> frozenset[int]:
    """Tokens that end an answer: those of the generation configuration and the tokenizer's own.

    Raises:
        TablemendError: there are none.
    """
    several = named if isinstance(named, list) else [named]
    ids = frozenset(one for one in (*several, tokenizer.eos_token_id) if one is not None)
    if not ids:
        raise TablemendError(
            f"{checkpoint.path} names no end of turn, so no answer could end: set eos_token in "
            "tokenizer_config.json"
        )
    return ids


def completion_of(
    tokenizer: Any, prompt: Prompt, ids: Sequence[int], finish: FinishReason, cached: int = 0
) -> Completion:
    """An answer in tokens as text: the one that ends it is left out, all others are in it."""
    text_ids = ids[:-1] if finish == "stop" else ids
    text = str(tokenizer.decode(text_ids, skip_special_tokens=False))
    return Completion(
        prompt.id,
        opened_thought(tokenizer, prompt.ids) + text,
        len(prompt.ids),
        len(ids),
        finish,
        cached_tokens=cached,
    )


class TextModel(NamedTuple):
    """A classifier that is ready, with what reads its texts.

    Attributes:
        window: most tokens that it reads.
    """

    model: Any
    tokenizer: Any
    window: int
    device: str


def load(checkpoint: Checkpoint, kind: Any) -> TextModel:
    """A model that reads texts, on the GPU if there is one.

    Args:
        checkpoint: folder or Hub name.
        kind: ``AutoModel...``.

    Raises:
        TablemendError: no such checkpoint, or one whose weights are of another kind.
    """
    config = read_config(checkpoint)
    with named_failures(checkpoint):
        tokenizer = AutoTokenizer.from_pretrained(
            checkpoint.path, revision=checkpoint.revision, trust_remote_code=False
        )
    model = load_weights(checkpoint, kind)
    device = loading_device()
    return TextModel(model.eval().to(device), tokenizer, text_window(config, tokenizer), device)


def text_window(config: Any, tokenizer: Any) -> int:
    """Most tokens that a model reads."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    window = min(int(tokenizer.model_max_length), int(positions))
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):
        window = min(window, int(positions) - config.pad_token_id - 1)  # counted behind the padding
    return window


def device_type() -> str:
    """Type of the accelerator that is here, else ``cpu``."""
    found = torch.accelerator.current_accelerator()
    return found.type if found is not None and torch.accelerator.is_available() else "cpu"


@cache
def has_bfloat16(device: str) -> bool:
    """Whether a type of device has instructions for bfloat16 (CPUs: AMX, AVX512-BF16, Arm's).

    Other CPUs emulate it, 50 to 150 times slower than float32.
    """
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device != "cpu":
        return True
    # oneDNN's own answer heeds ONEDNN_MAX_CPU_ISA, but takes AVX512 without BF16 as enough
    has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not has_onednn or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return not is_x86 or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def loaded_dtype(dtype: str, device: str | None = None) -> str:
    """What weights are loaded as: ``auto``, which is as stored, where the device can compute in it.

    Args:
        dtype: ``float32``, ``bfloat16`` or ``auto``.
        device: type of the device that computes; the accelerator where there is one.
    """
    if dtype == "auto" and not has_bfloat16(device or device_type()):
        return "float32"
    return dtype


def emulation(setting: str, dtype: str, device: str) -> str | None:
    """A warning where bfloat16 was asked for and the device emulates it.

    Args:
        setting: the key that asks, such as ``train.precision``.
        dtype: its value.
        device: type of the device that computes.
    """
    if dtype != "bfloat16" or has_bfloat16(device):
        return None
    return (
        f"warning: {setting}=bfloat16, which this device emulates, 50 to 150 times "
        f"slower than float32: set {setting}=auto"
    )


class LocalEngine(Engine):
    """A checkpoint, and requests as its token ids.

    Args:
        checkpoint: folder, adapter's folder or Hub name.
        options: how it is loaded and asked.

    Attributes:
        ahead: requests that are taken at once: the longest prompts of a batch go first, and vLLM
            always has some to put beside the others.
    """

    ahead = 4096

    def __init__(self, checkpoint: Checkpoint, options: BackendOptions) -> None:
        self.checkpoint = checkpoint
        self.options = options

    def too_long(self, requests: Sequence[Request]) -> dict[str, str]:
        found = {request.id: self._misfit(self._render(request), request) for request in requests}
        return {name: why for name, why in found.items() if why}

    def _misfit(self, prompt: Prompt, request: Request) -> str:
        """Why a prompt leaves no room for a whole answer; empty where it leaves some."""
        longest = request.sampling.max_new_tokens
        if len(prompt.ids) + longest <= self._window:
            return ""
        return (
            f"a prompt of {len(prompt.ids)} tokens and an answer of up to {longest} do not fit "
            f"into a window of {self._window} tokens"
        )

    def _render(self, request: Request) -> Prompt:
        ids = prompt_ids(self._tokenizer, request.messages, request.thinking)
        return Prompt(request.id, tuple(ids), request.seed, request.grammar)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.checkpoint)

    @cached_property
    def _window(self) -> int:
        """Most tokens of prompt and answer together."""
        return read_window(self.checkpoint, self.options.context_length)
