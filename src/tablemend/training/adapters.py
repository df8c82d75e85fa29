"""An adapter into the base that it was trained on: the same logits after as before."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate.utils.memory import clear_device_cache
from peft import PeftModel
from peft.tuners.lora import LoraLayer, ParamWrapper
from transformers import PreTrainedModel
from transformers.trainer_utils import align_special_tokens

from tablemend.backends.checkpoints import local_folder
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Model, TrainingRecipe
from tablemend.runs import Run
from tablemend.training import checkpoints
from tablemend.training.models import refuse_start

PROMPTS = 8
"""Prompts on which the logits are compared, unless a command says otherwise."""
KEPT = 8
"""Positions at the end of each prompt whose logits are compared."""
ROUNDINGS = 4
"""Largest difference of a logit that is accepted, in what it makes to round every weight of the
merged model once more: honest merges measured 0.7 to 1.5."""
MISSED = 0.01
"""Share of its adapter that a merged weight may hold too little or too much of."""
LEFT_OUT = ("adapter_*", checkpoints.MARKER, "README.md")
"""Files of an adapter's folder that are not those of whole weights."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far merged weights are from base and adapter.

    Attributes:
        max_logit_difference: the largest.
        tolerance: what is accepted. Where it is kept, tokens change places only if their logits
            are within twice of it.
        same_next_token: share of the positions whose most likely token is the same.
        prompts: how many were compared.
        missed: share of its adapter that a merged weight lacks or has twice, at most, beside what
            its type rounds away.
    """

    max_logit_difference: float
    tolerance: float
    same_next_token: float
    prompts: int
    missed: float

    @property
    def accepted(self) -> bool:
        """Whether the merged weights answer as base and adapter do; a NaN does not."""
        return self.max_logit_difference <= self.tolerance and self.missed <= MISSED

    def __str__(self) -> str:
        return (
            f"logits differ by {self.max_logit_difference:.2g} at most (tolerance "
            f"{self.tolerance:.2g}) on {self.prompts} prompts, {self.same_next_token:.1%} of the "
            f"next tokens are the same; a weight misses {self.missed:.1%} of its adapter at most"
        )


def merge(
    adapter: Path,
    out: Path,
    base: Model,
    revision: str,
    prompts: Sequence[Sequence[int]],
    tolerance: float | None = None,
) -> Difference:
    """Write the whole weights that an adapter makes of its base, and compare the logits.

    The merge is in place, and what was saved is loaded only after: one copy of the weights is in
    memory at a time.

    Args:
        adapter: its folder, with the tokenizer.
        out: folder for the whole weights; what is there is deleted.
        base: what it was trained on.
        revision: of the base, as the training recorded it.
        prompts: ids, whose logits are compared; of the first alone where the GPU is too small.
        tolerance: largest difference that is accepted; ``None``: by what rounding
            makes. Whatever is given, a weight that does not hold its adapter is refused.

    Raises:
        TablemendError: the base is gone, quantised or another one, or what was saved is not whole.
    """
    base = _at_revision(base, revision)
    tokenizer = checkpoints.load_tokenizer(base.model_copy(update={"path": str(adapter)}))
    plain = checkpoints.load_model(base)
    shapes = checkpoints.saved_shapes(plain)
    if torch.cuda.is_available() and checkpoints.device_for(plain).type == "cpu":
        prompts = prompts[:1]  # a model that no GPU holds takes minutes a prompt
    both = PeftModel.from_pretrained(plain, str(adapter))
    before, wanted = final_logits(both, prompts), _shares(both, add=True)
    merged = both.merge_and_unload()
    align_special_tokens(merged, tokenizer)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(adapter, out, ignore=shutil.ignore_patterns(*LEFT_OUT))
    merged.save_pretrained(out)
    del plain, both, merged
    clear_device_cache(garbage_collection=True)
    checkpoints.check_weights(out, shapes)
    checkpoints.check_generation(out, tokenizer)
    saved = checkpoints.load_model(base.model_copy(update={"path": str(out)}))
    after = final_logits(saved, prompts)
    again = PeftModel.from_pretrained(saved, str(adapter))
    held = _shares(again, add=False)
    if tolerance is None:
        _round_again(again.unload())
        tolerance = ROUNDINGS * _largest_difference(after, final_logits(saved, prompts))
    del saved, again
    clear_device_cache(garbage_collection=True)
    same = [one.argmax(-1) == other.argmax(-1) for one, other in zip(before, after, strict=True)]
    return Difference(
        _largest_difference(before, after),
        tolerance,
        float(torch.cat(same).float().mean()),
        len(same),
        _largest_difference(wanted, held),
    )


@torch.no_grad()
def _shares(both: PeftModel, add: bool) -> list[torch.Tensor]:
    """How far each adapted weight points along its adapter: (weight . delta) / (delta . delta).

    Rounding has no direction, so this shows a part that is missing where logits do not: of 16-bit
    weights each is rounded by as much as a small adapter adds to it. ``add``: they lack it yet.
    """
    found = []
    for layer in both.modules():
        if not isinstance(layer, LoraLayer):
            continue
        inner = layer.get_base_layer()
        weight = layer.get_param() if isinstance(layer, ParamWrapper) else inner.weight
        delta = layer.get_delta_weight(both.active_adapter).float()
        size = delta.square().sum(dtype=torch.float64)
        whole = (weight.float() + delta).to(weight.dtype) if add else weight
        along = (whole.float() * delta).sum(dtype=torch.float64)
        found.append((along / size if size else size).cpu())  # an expert may have seen no token
    return found


@torch.no_grad()
def _round_again(model: PreTrainedModel) -> None:
    """Move each weight by at most one unit in its last place, at random: in place."""
    for weight in model.parameters():
        draws = torch.Generator(weight.device).manual_seed(0)
        unit = torch.rand(weight.shape, generator=draws, device=weight.device) - 0.5
        weight.add_(weight * torch.finfo(weight.dtype).eps * unit)


def _largest_difference(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> float:
    """Of two lists of tensors; NaN where one holds a NaN."""
    pairs = zip(some, others, strict=True)
    return float(torch.stack([(one - other).abs().max() for one, other in pairs]).max())


def _at_revision(base: Model, revision: str) -> Model:
    """The base as the adapter was trained on it.

    Raises:
        TablemendError: it is gone, quantised, or holds other weights now.
    """
    is_folder = local_folder(base.path) is not None
    if not is_folder:
        base = base.model_copy(update={"revision": revision})
    refuse_start(base)
    if is_folder and checkpoints.revision_of(base.path) != revision:
        raise TablemendError(
            f"{base.path} holds other weights than those that the adapter was trained on "
            f"({revision}): put those back"
        )
    return base


@torch.no_grad()
def final_logits(
    model: PreTrainedModel | PeftModel, prompts: Sequence[Sequence[int]]
) -> list[torch.Tensor]:
    """Logits at the last :data:`KEPT` positions of each prompt, float32 on the CPU."""
    device = checkpoints.device_for(model)
    model.to(device).eval()
    found = []
    for ids in prompts:
        batch = torch.tensor([list(ids)], device=device)
        logits = model(input_ids=batch, logits_to_keep=KEPT).logits
        found.append(logits[0].float().cpu())
    return found


def merge_in_place(
    folder: Path,
    config: TrainingRecipe,
    run: Run,
    prompts: Sequence[Sequence[int]],
    revision: str,
) -> Difference:
    """Replace the adapter in a folder by whole weights, unless these would answer otherwise.

    A training is not thrown away for that: the adapter stays, and a line says so.
    """
    whole = run.path / ".merged.partial"
    found = merge(folder, whole, config.model, revision, prompts)
    print(f"merged: {found}")
    if found.accepted:
        checkpoints.put_in_place(folder, whole)
    else:
        shutil.rmtree(whole)
        print(
            f"warning: merged weights would answer otherwise, so {run.model} holds the adapter: "
            f"use it as it is, merge it all the same (python train/merge.py run={run.path} "
            "tolerance=...), or train with model.dtype=float32"
        )
    return found
