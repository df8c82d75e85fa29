"""An adapter into the base that it was trained on: the same logits after as before."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate.utils.memory import clear_device_cache
from peft import PeftModel
from transformers import PreTrainedModel
from transformers.trainer_utils import align_special_tokens

from tablemend.backends.checkpoints import local_folder
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Model, Trained
from tablemend.runs import Run
from tablemend.training import checkpoints
from tablemend.training.models import refuse_start

PROMPTS = 8
"""Prompts on which the logits are compared, unless a command says otherwise."""
KEPT = 8
"""Positions at the end of each prompt whose logits are compared."""
TOLERANCES = {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.5}
"""16-bit weights are rounded once more when the adapter is added to them."""
LEFT_OUT = ("adapter_*", checkpoints.MARKER, "README.md")
"""Files of an adapter's folder that are not those of whole weights."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far merged weights are from base and adapter.

    Attributes:
        max_logit_difference: the largest.
        tolerance: what is accepted.
        same_next_token: share of the positions whose most likely token is the same.
        prompts: how many were compared.
    """

    max_logit_difference: float
    tolerance: float
    same_next_token: float
    prompts: int

    @property
    def accepted(self) -> bool:
        """Whether the merged weights answer as base and adapter do; a NaN does not."""
        return self.max_logit_difference <= self.tolerance

    def __str__(self) -> str:
        return (
            f"logits differ by {self.max_logit_difference:.2g} at most (tolerance "
            f"{self.tolerance:g}) on {self.prompts} prompts, {self.same_next_token:.1%} of the "
            "next tokens are the same"
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
        tolerance: largest difference that is accepted; ``None``: by the type of the weights.

    Raises:
        TablemendError: the base is gone, quantised or another one, or what was saved is not whole.
    """
    base = _at_revision(base, revision)
    tokenizer = checkpoints.load_tokenizer(base.model_copy(update={"path": str(adapter)}))
    plain = checkpoints.load_model(base)
    shapes, dtype = checkpoints.saved_shapes(plain), plain.dtype
    if torch.cuda.is_available() and checkpoints.device_for(plain).type == "cpu":
        prompts = prompts[:1]  # a model that no GPU holds takes minutes a prompt
    both = PeftModel.from_pretrained(plain, str(adapter))
    before = final_logits(both, prompts)
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
    del saved
    clear_device_cache(garbage_collection=True)
    pairs = list(zip(before, after, strict=True))
    same = torch.cat([one.argmax(-1) == other.argmax(-1) for one, other in pairs])
    return Difference(
        max(float((one - other).abs().max()) for one, other in pairs),
        tolerance or TOLERANCES[dtype],
        float(same.float().mean()),
        len(pairs),
    )


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
    config: Trained,
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
