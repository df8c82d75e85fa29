"""Checkpoints that can be trusted: whole before they are used, whole after they are saved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import resolve_revision
from huggingface_hub.errors import RevisionResolutionError
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import AutoModelForCausalLM, Mxfp4Config, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.core_model_loading import revert_weight_conversion

from tablemend.backends import loading
from tablemend.backends.checkpoints import Checkpoint, local_folder
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Model
from tablemend.runs import hash_file, moved_beside, sync, sync_all, write_json, written_to
from tablemend.training.architectures import check_window

Shapes = dict[str, tuple[int, ...]]
"""Tensors by name."""
MARKER = "complete.json"
"""Written last into a finished folder: the size of every file in it, by name."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "auto": "auto"}
MXFP4 = "mxfp4"
"""The one quantisation that a training can begin with: its weights are unpacked when read."""
ROOM = 1.2
"""GPU memory that a saved model takes to be tried, in that of its weights."""
LORA_B = ".lora_B."
"""In the names of an adapter's second matrices, which are zero until they are trained."""


def mark_complete(folder: Path) -> None:
    """Write down that a folder is whole, as the last thing that is written into it.

    The disk has everything else by then: a power cut cannot spare the mark alone.
    """
    sync_all(folder)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MARKER]
    write_json(
        folder / MARKER, {str(path.relative_to(folder)): path.stat().st_size for path in files}
    )


def is_complete(folder: Path) -> bool:
    """Whether a folder was marked and every file still has the size it had then."""
    try:
        sizes: dict[str, int] = json.loads((folder / MARKER).read_text("utf-8"))
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def last_complete(folder: Path) -> Path | None:
    """The newest whole ``checkpoint-<step>`` below a folder; ``None`` where there is none."""
    return next((path for path in reversed(_checkpoints(folder)) if is_complete(path)), None)


def remove_partial(folder: Path) -> list[Path]:
    """Delete checkpoints that an interruption left half-written; return what was deleted."""
    partial = [path for path in _checkpoints(folder) if not is_complete(path)]
    for path in partial:
        shutil.rmtree(path)
    return partial


def put_in_place(folder: Path, new: Path) -> None:
    """Put a whole folder under its name; the old one is deleted last, or put back.

    A kill in between leaves no folder of that name, never half of one; nor does a power cut. A
    link to a folder stays one.
    """
    folder = written_to(folder)
    new = moved_beside(new, folder)
    sync_all(new)
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
    try:
        new.replace(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.replace(folder)
        raise
    sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _checkpoints(folder: Path) -> list[Path]:
    """The checkpoints below a folder, by their step."""
    found = [path for path in folder.glob("checkpoint-*") if path.name[11:].isdigit()]
    return sorted(found, key=lambda path: int(path.name[11:]))


def check_model(path: str) -> None:
    """Refuse a model folder that cannot be loaded, before anything expensive happens.

    Reads the headers of the weights alone. A Hub name is not checked here.

    Raises:
        TablemendError: no folder, no configuration, no weights, or weights that are cut short or
            empty.
    """
    Checkpoint(path).check()
    folder = local_folder(path)
    if folder is not None and not read_shapes(folder):
        raise TablemendError(f"{folder} has no weights in safetensors: save them as such")


def read_shapes(folder: Path) -> Shapes:
    """Name and shape of every tensor in a folder's safetensors files, from their headers.

    Raises:
        TablemendError: a file that is cut short, an empty tensor, or a file that the index
            names and the folder lacks.
    """
    index = folder / "model.safetensors.index.json"
    files = set(folder.glob("*.safetensors"))
    if index.is_file():
        named = {folder / name for name in json.loads(index.read_text())["weight_map"].values()}
        for missing in sorted(named - files):
            raise TablemendError(f"{folder} lacks {missing.name}, which its index names")
    shapes: Shapes = {}
    for file in sorted(files):
        try:
            with safe_open(file, "pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - not a dict
                    shapes[name] = tuple(tensors.get_slice(name).get_shape())
        except (SafetensorError, OSError) as error:
            raise TablemendError(f"{file} is not readable: {error}") from error
    for name, shape in shapes.items():
        if 0 in shape:
            raise TablemendError(f"{folder}: tensor {name} is empty, shape {shape}")
    return shapes


def load_tokenizer(config: Model, **options: Any) -> Tokenizer:
    """The model's tokenizer, with a chat template and a padding token of its own.

    Raises:
        TablemendError: it cannot be loaded, or lacks one of the two.
    """
    check_model(config.path)
    checkpoint = Checkpoint(config.path, config.revision)
    tokenizer: Tokenizer = loading.load_tokenizer(checkpoint, **options)
    for key, name, token in (
        ("end_of_turn", "eos_token", config.end_of_turn),
        ("pad_token", "pad_token", config.pad_token),
    ):
        if token is not None and token not in tokenizer.get_vocab():
            raise TablemendError(f"model.{key}={token} is no token of {config.path}")
        if token is not None:
            setattr(tokenizer, name, token)
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
        raise TablemendError(
            f"the tokenizer of {config.path} has no pad_token of its own: set model.pad_token to "
            "a token that is never written and not the end of turn"
        )
    return tokenizer


def quantisation_of(architecture: Any) -> str:
    """How the weights are stored, as transformers calls it; empty where they are whole."""
    config = getattr(architecture, "quantization_config", None) or {}
    return str(config.get("quant_method", "unknown")) if config else ""


def load_model(config: Model, **options: Any) -> PreTrainedModel:
    """The model's weights, on the CPU unless ``options`` of ``from_pretrained`` say otherwise.

    What is stored in MXFP4 (gpt-oss) is loaded, trained and saved unpacked.

    Raises:
        TablemendError: it cannot be loaded, weights are missing, or ``context_length`` is
            longer than the model's window.
    """
    check_model(config.path)
    checkpoint = Checkpoint(config.path, config.revision)
    packed = quantisation_of(loading.read_config(checkpoint)) == MXFP4
    if packed:
        options.setdefault("quantization_config", Mxfp4Config(dequantize=True))
    model: PreTrainedModel = loading.load_weights(
        checkpoint,
        AutoModelForCausalLM,
        dtype=DTYPES[config.dtype],
        attn_implementation=config.attn,
        **options,
    )
    check_window(config, model.config)
    if packed:
        # its weights are plain numbers now, of one type, and are saved under their own names
        model.to(model.dtype)
        model._weight_conversions = []
    # accelerate's FSDP refuses a name without a layer, of which Gemma 3's vision tower has two, as
    # Llama 4 (https://github.com/huggingface/transformers/issues/37672). Remove when fixed there.
    kinds = {type(module).__name__ for module in model.modules()}
    model._no_split_modules = kinds.intersection(model._no_split_modules or ())
    return model


def commit_of(config: Model) -> str:
    """The commit that a name on the Hub stands for now: from the Hub, else from the local cache.

    Raises:
        TablemendError: neither knows the name, or not this revision of it.
    """
    try:
        with loading.named_failures(Checkpoint(config.path)):
            return str(resolve_revision(config.path, revision=config.revision).resolved)
    except RevisionResolutionError as error:
        raise TablemendError(f"cannot load {config.path}: {error}") from error


def revision_of(path: str, commit: str | None = None) -> str:
    """Which weights these are: a hash of a folder's, or the commit of a name on the Hub."""
    folder = local_folder(path)
    if folder is None:
        return commit or "unknown"
    hashes = [hash_file(file) for file in sorted(folder.glob("*.safetensors"))]
    return "sha256:" + "+".join(hashes)


def saved_shapes(model: PreTrainedModel) -> Shapes:
    """What ``save_pretrained`` saves of the weights; a tied head has no name of its own.

    The names are those of the Hub's checkpoint, which in some architectures (Gemma 3) are not the
    model's own.
    """
    saved = revert_weight_conversion(model, without_values(model))
    return {name: tuple(weight.shape) for name, weight in saved.items()}


def without_values(model: nn.Module) -> dict[str, torch.Tensor]:
    """The parameters by name, in their whole shapes, which ZeRO-3's own tensors do not have."""
    return {
        name: torch.empty(tuple(getattr(weight, "ds_shape", weight.shape)), device="meta")
        for name, weight in model.named_parameters()
    }


@contextmanager
def own_names(model: PreTrainedModel) -> Iterator[None]:
    """Save a model under its own names: transformers' Trainer (5.17; no issue found) resumes by
    these, and passes over weights of other names with a warning. Remove when it converts them.
    """
    known = getattr(model, "_weight_conversions", None)
    model._weight_conversions = []
    try:
        yield
    finally:
        model._weight_conversions = known


def check_shapes(folder: Path, expected: Shapes) -> None:
    """Every expected tensor was saved, whole; reads the headers of the weights alone.

    Raises:
        TablemendError: naming the first tensor that is wrong.
    """
    found = read_shapes(folder)
    missing = sorted(set(expected) - set(found))
    if missing:
        raise TablemendError(f"{folder} lacks {len(missing)} saved tensors, first {missing[0]}")
    for name, shape in expected.items():
        if found[name] != shape:
            raise TablemendError(
                f"{folder}: tensor {name} was saved with shape {found[name]}, and is {shape}"
            )


def check_adapter(folder: Path) -> None:
    """Refuse an adapter that adds nothing to its base; in one tensor that is not zero it passes.

    An expert that has seen no token yet has a zero adapter by right.

    Raises:
        TablemendError: every matrix B is zero.
    """
    adding = [tensor.any() for name, tensor in _tensors(folder) if LORA_B in name]
    if adding and not any(adding):
        raise TablemendError(
            f"{folder}: the adapter is zero: it was never trained, or is not what was trained"
        )


def check_weights(folder: Path, expected: Shapes) -> None:
    """:func:`check_shapes`, :func:`check_adapter`, and no tensor holds a NaN.

    Raises:
        TablemendError: naming the first tensor that is wrong.
    """
    check_shapes(folder, expected)
    check_adapter(folder)
    for name, tensor in _tensors(folder):
        if not torch.isfinite(tensor).all():
            raise TablemendError(
                f"{folder}: tensor {name} is not finite: the training diverged; lower "
                "train.learning_rate"
            )


def _tensors(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a folder, one at a time."""
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - not a dict
                yield name, tensors.get_tensor(name)


def check_generation(folder: Path, tokenizer: Tokenizer) -> None:
    """Generation must stop at the end of turn, and padding must not be it.

    Raises:
        TablemendError: naming what generation_config.json says.
    """
    path = folder / "generation_config.json"
    settings: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    ends = settings.get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    if tokenizer.eos_token_id not in ends or settings.get("pad_token_id") in (None, ends[0]):
        raise TablemendError(
            f"{path} has eos {ends} and pad {settings.get('pad_token_id')}; the end of turn is "
            f"{tokenizer.eos_token_id}: generation would not stop"
        )


def device_for(model: nn.Module) -> torch.device:
    """The GPU, where there is one with room for these weights; else the CPU.

    A training that is divided over GPUs may be of a model that none of them holds (70B).
    """
    if torch.cuda.is_available():
        size = sum(weight.numel() * weight.element_size() for weight in model.parameters())
        if torch.cuda.mem_get_info()[0] > ROOM * size:
            return torch.device("cuda")
    return torch.device("cpu")


def generate_once(folder: Path, config: Model, prompt: Sequence[int], tokens: int = 32) -> str:
    """Load a saved checkpoint as any user would, and write one short answer, greedily.

    Raises:
        TablemendError: it does not load, or writes nothing.
    """
    saved = config.model_copy(update={"path": str(folder)})  # an adapter's base has the revision
    tokenizer = load_tokenizer(saved)
    model = load_model(saved)
    model.to(device_for(model)).eval()
    ids = torch.tensor([list(prompt)], device=model.device)
    written = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=tokens,
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
    )
    answer = written[0, ids.shape[1] :].tolist()
    if not answer:
        raise TablemendError(f"{folder} generates nothing")
    return str(tokenizer.decode(answer))
