"""An adapter into the unquantised base that it was trained on: same logits after as before."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from peft import PeftModel
from transformers import AutoConfig, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.backends.checkpoints import local_folder
from tablemend.config.experiment import Trained
from tablemend.errors import TablemendError
from tablemend.evaluation import run_folder
from tablemend.publishing.command import MergeCommand
from tablemend.publishing.recorded import Recorded, read_recorded
from tablemend.records import Example
from tablemend.renderer import prompt_ids
from tablemend.runs import disk_errors, read_jsonl, sole_writer
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import read_examples
from tablemend.training import checkpoints, saving

KEPT = 8
"""Positions at the end of each prompt whose logits are compared."""
TOLERANCES = {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.5}
"""16-bit weights are rounded once more when the adapter is added to them."""
LEFT_OUT = (checkpoints.MARKER, "README.md")


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of an adapter.

    Attributes:
        folder: the whole weights.
        difference: largest difference of a logit before and after.
        tolerance: what was accepted.
        same: share of the positions whose most likely token is the same.
        prompts: how many were compared.
    """

    folder: Path
    difference: float
    tolerance: float
    same: float
    prompts: int


def merge_run(command: MergeCommand) -> Merged | None:
    """Merge, compare, verify; only then does the folder appear.

    Returns:
        What was measured; ``None`` where the folder is there already, whole.

    Raises:
        TablemendError: no adapter, a base that is gone, quantised or another one than it was
            trained on, logits that differ, or a folder in the way.
    """
    recorded = read_recorded(run_folder(command))
    out = Path(command.out).expanduser() if command.out else recorded.merged
    _check_adapter(recorded)
    with sole_writer(recorded.run.path):
        if checkpoints.is_complete(out):
            return None
        if out.exists():
            raise TablemendError(f"{out} is there and no whole checkpoint: move it away")
        return _merge(recorded, command, out)


def _check_adapter(recorded: Recorded) -> None:
    run = recorded.run
    if not checkpoints.is_complete(run.model):
        raise TablemendError(f"{run.model} is not there or not whole: finish the training first")
    if not recorded.is_adapter:
        raise TablemendError(
            f"{run.model} holds whole weights already; only train.lora.save=adapter leaves an "
            "adapter to merge"
        )


def pinned_base(recorded: Recorded) -> Trained:
    """The recipe with the base at the revision that the training began with.

    Raises:
        TablemendError: the base is gone, quantised, or holds other weights now.
    """
    config, noted = recorded.config, recorded.facts.get("model_revision")
    path = config.model.path
    if not noted or noted == "unknown":
        raise TablemendError(
            f"{recorded.run.manifest} does not say which weights of {path} were trained on: an "
            "adapter fits no others"
        )
    checkpoints.check_model(path)
    if local_folder(path) is None:
        model = config.model.model_copy(update={"revision": noted})
    elif checkpoints.revision_of(path) != noted:
        raise TablemendError(
            f"{path} holds other weights than those that {recorded.run.path} was trained on "
            f"({noted}): put those back"
        )
    else:
        model = config.model
    try:
        settings = AutoConfig.from_pretrained(path, revision=model.revision).to_dict()
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise TablemendError(f"the base {path} cannot be loaded: {first}") from error
    if settings.get("quantization_config"):
        raise TablemendError(
            f"{path} is quantised: weights merged into it would be rounded away. Train on the "
            "unquantised base, or publish the adapter as it is"
        )
    return config.model_copy(update={"model": model})


def _merge(recorded: Recorded, command: MergeCommand, out: Path) -> Merged:
    config, run = pinned_base(recorded), recorded.run
    there = config.model.model_copy(update={"path": str(run.model), "revision": None})
    tokenizer = checkpoints.load_tokenizer(there)
    prompts = _prompts(recorded, tokenizer, command.prompts)
    base = checkpoints.load_model(config.model)
    found = checkpoints.revision_of(config.model.path, base)
    if found != recorded.facts["model_revision"]:
        raise TablemendError(f"{config.model.path} was loaded at {found}, not at its revision")
    names = {name for name, _ in base.named_parameters()}
    dtype = base.dtype
    before = final_logits(PeftModel.from_pretrained(base, str(run.model)), prompts)
    del base
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with disk_errors(out.parent):
        shutil.copytree(run.model, partial, ignore=shutil.ignore_patterns(*LEFT_OUT))
        saving.merge(partial, config, tokenizer)
    checkpoints.check_weights(partial, names)
    checkpoints.check_generation(partial, tokenizer)
    whole = config.model.model_copy(update={"path": str(partial), "revision": None})
    merged = checkpoints.load_model(whole)
    after = final_logits(merged, prompts)
    del merged
    tolerance = command.tolerance or TOLERANCES[dtype]
    result = _compare(before, after, out, tolerance)
    if not result.difference <= tolerance:  # also where it is no number
        raise TablemendError(
            f"{partial}: merging changes a logit by {result.difference:.3g}, more than "
            f"tolerance={tolerance:g}: the merged weights would answer otherwise. Publish the "
            "adapter, or set model.dtype=float32 and train again"
        )
    checkpoints.generate_once(partial, config.model, prompts[0])
    checkpoints.mark_complete(partial)
    run.record(  # before the folder appears, which is the sign that nothing is left to be done
        "merge",
        {
            "base": config.model.path,
            "base_revision": recorded.facts["model_revision"],
            "adapter": checkpoints.revision_of(str(run.model)),
            "weights": checkpoints.revision_of(str(partial)),
            "max_logit_difference": result.difference,
            "tolerance": tolerance,
            "same_next_token": result.same,
            "prompts": result.prompts,
        },
    )
    partial.replace(out)
    return result


def _compare(
    before: Sequence[torch.Tensor], after: Sequence[torch.Tensor], out: Path, tolerance: float
) -> Merged:
    pairs = list(zip(before, after, strict=True))
    difference = max(float((one - other).abs().max()) for one, other in pairs)
    same = torch.cat([one.argmax(-1) == other.argmax(-1) for one, other in pairs])
    return Merged(out, difference, tolerance, float(same.float().mean()), len(pairs))


def _prompts(recorded: Recorded, tokenizer: Tokenizer, n: int) -> list[list[int]]:
    """Prompts as the checkpoint's arm gets them: of the compared examples, else of the test set."""
    config = recorded.config
    lines = list(read_jsonl(recorded.run.path / "examples.jsonl"))[:n]
    examples = [Example.from_json(line) for line in lines]
    if not examples:
        examples = read_examples(config.data.test)[:n]
    thinking = config.thinking != "off"
    return [
        prompt_ids(
            tokenizer,
            tablehallu.messages(example, "adversarial", config.train.prompt, config.format),
            thinking,
        )
        for example in examples
    ]


@torch.no_grad()
def final_logits(
    model: PreTrainedModel | PeftModel, prompts: Sequence[Sequence[int]]
) -> list[torch.Tensor]:
    """Logits at the last :data:`KEPT` positions of each prompt, float32 on the CPU."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device).eval()
    found = []
    for ids in prompts:
        batch = torch.tensor([list(ids)], device=device)
        logits = model(input_ids=batch, logits_to_keep=KEPT).logits
        found.append(logits[0].float().cpu())
    return found
