"""Reading checkpoints with transformers: configurations, tokenizers, whole weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from httpx import TransportError
from huggingface_hub import constants, get_session, try_to_load_from_cache
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer

from tablemend.backends.checkpoints import Checkpoint
from tablemend.errors import TablemendError

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


class Loaded(NamedTuple):
    """A classifier that is ready, with what reads its texts.

    Attributes:
        window: most tokens that it reads.
    """

    model: Any
    tokenizer: Any
    window: int
    device: str


def load(checkpoint: Checkpoint, kind: Any) -> Loaded:
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
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    window = min(int(tokenizer.model_max_length), int(positions))
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):
        window = min(window, int(positions) - config.pad_token_id - 1)  # counted behind the padding
    device = loading_device()
    return Loaded(model.eval().to(device), tokenizer, window, device)
