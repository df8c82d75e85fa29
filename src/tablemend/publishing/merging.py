"""An adapter into the unquantised base that it was trained on: same logits after as before."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.errors import TablemendError
from tablemend.evaluation.command import run_folder
from tablemend.publishing.command import MergeCommand
from tablemend.publishing.recorded import Recorded, read_recorded
from tablemend.renderer import prompt_ids
from tablemend.runs import disk_errors, read_jsonl, sole_writer
from tablemend.training import adapters, checkpoints


def merge_run(command: MergeCommand) -> adapters.Difference | None:
    """Merge, compare, verify; only then does the folder appear, ``merged`` in the run's or ``out``.

    Returns:
        What was measured; ``None`` where the folder holds this adapter's merge already, whole.

    Raises:
        TablemendError: no adapter, a base that is gone, quantised or another one than it was
            trained on, logits that differ, or a folder in the way.
    """
    recorded = read_recorded(run_folder(command))
    out = Path(command.out).expanduser() if command.out else recorded.merged
    _check_adapter(recorded)
    with sole_writer(recorded.run.path):
        if _is_finished(recorded, out):
            return None
        if out.exists():
            raise TablemendError(
                f"{out} is there and no whole checkpoint that the adapter in {recorded.run.model} "
                "was merged into: move it away, or name another folder (out=FOLDER)"
            )
        return _merge(recorded, command, out)


def _is_finished(recorded: Recorded, out: Path) -> bool:
    """Whether a folder is what the run noted of its merge: a whole one may be anybody's."""
    noted = recorded.run.recorded("merge")
    return (
        checkpoints.is_complete(out)
        and noted.get("adapter") == checkpoints.revision_of(str(recorded.run.model))
        and noted.get("weights") == checkpoints.revision_of(str(out))
    )


def _check_adapter(recorded: Recorded) -> None:
    run = recorded.run
    if not checkpoints.is_complete(run.model):
        raise TablemendError(f"{run.model} is not there or not whole: finish the training first")
    if not recorded.is_adapter:
        raise TablemendError(
            f"{run.model} holds whole weights already: there is no adapter to merge"
        )


def _merge(recorded: Recorded, command: MergeCommand, out: Path) -> adapters.Difference:
    config, run = recorded.config, recorded.run
    revision = recorded.facts.get("model_revision")
    if not revision or revision == "unknown":
        raise TablemendError(
            f"{run.manifest} does not say which weights of {config.model.path} were trained on: an "
            "adapter fits no others"
        )
    there = config.model.model_copy(update={"path": str(run.model), "revision": None})
    prompts = _prompts(recorded, checkpoints.load_tokenizer(there), command.prompts)
    partial = out.with_name(f".{out.name}.partial")
    with disk_errors(out.parent):
        found = adapters.merge(
            run.model, partial, config.model, revision, prompts, command.tolerance
        )
    if not found.accepted:
        raise TablemendError(
            f"{partial}: {found}: the merged weights would answer otherwise. Publish the adapter, "
            "or set model.dtype=float32 and train again"
        )
    checkpoints.generate_once(partial, config.model, prompts[0])
    checkpoints.mark_complete(partial)
    run.record(  # before the folder appears, which is the sign that nothing is left to be done
        "merge",
        {
            "base": config.model.path,
            "base_revision": revision,
            "adapter": checkpoints.revision_of(str(run.model)),
            "weights": checkpoints.revision_of(str(partial)),
            # what was found says neither: fewer prompts may be compared, a default is filled in
            "asked": command.model_dump(include={"prompts", "tolerance"}, exclude_defaults=True),
            **asdict(found),
        },
    )
    checkpoints.put_in_place(out, partial)
    return found


def _prompts(recorded: Recorded, tokenizer: Tokenizer, n: int) -> list[list[int]]:
    """Prompts as the checkpoint's system gets them: of compared examples, else of the test set."""
    config = recorded.config
    lines = list(read_jsonl(recorded.run.path / "examples.jsonl"))[:n]
    task = config.task_of()
    samples = [task.sample(line) for line in lines] or task.samples(config.data.test)[:n]
    thinking = config.thinking != "off"
    return [
        prompt_ids(
            tokenizer,
            task.messages(sample, config.shown[-1], config.train.prompt),
            thinking,
        )
        for sample in samples
    ]
