"""The folder that publishes a checkpoint, and the merge of an adapter into its base."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import GenerationConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.backends.checkpoints import ADAPTER, local_folder
from tablemend.config import to_yaml
from tablemend.errors import TablemendError
from tablemend.evaluation.command import run_folder
from tablemend.publishing.card import write_card
from tablemend.publishing.hub import BEHIND, MergeCommand, PublishCommand, PublishedFolder
from tablemend.publishing.recorded import (
    KINDS,
    TrainingRecord,
    missing,
    placed_chain,
    read_recorded,
    read_scores,
    recipe_of,
)
from tablemend.renderer import prompt_ids
from tablemend.runs import (
    MOVE_AWAY,
    disk_errors,
    hash_text,
    read_jsonl,
    read_object,
    sole_writer,
    write_json,
    write_text,
)
from tablemend.training import adapters, checkpoints

WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "*.txt", "*.model")
"""Files of a checkpoint that others need; no pickle is among them."""
LEFT_OUT = (checkpoints.MARKER, "trainer_state.json")


def write_folder(command: PublishCommand) -> PublishedFolder:
    """Write the folder; nothing leaves this machine.

    Raises:
        TablemendError: a checkpoint that is not whole, whose template is not the one that it was
            trained on, or whose generation would not stop; a folder in the way.
    """
    recorded = read_recorded(run_folder(command))
    source = _source(recorded, command)
    out = Path(command.out).expanduser().resolve() if command.out else recorded.run.path / "publish"
    if out.exists() and not out.is_dir():
        raise TablemendError(f"{out} is a file: name a folder (out=FOLDER)")
    recipes = [out / BEHIND / f"{stage}.yaml" for stage in KINDS]
    folders = {path.name for path in out.iterdir() if path.is_dir()} if out.exists() else set()
    # a folder that happens to hold another one named tablemend (a clone, a run) is not ours
    is_ours = any(path.is_file() for path in recipes) and folders <= {BEHIND}
    if out.exists() and any(out.iterdir()) and not is_ours:
        raise TablemendError(f"{out} holds other files: name an empty folder (out=FOLDER)")
    there = recorded.config.model.model_copy(update={"path": str(source), "revision": None})
    tokenizer = checkpoints.load_tokenizer(there)
    trained_on, template = recorded.facts.get("template_hash"), str(tokenizer.chat_template)
    if trained_on is not None and trained_on != (found := hash_text(template)):
        raise TablemendError(
            f"the chat template in {source} ({found}) is not the one that was trained on "
            f"({trained_on}): put that back, or its users ask another prompt"
        )
    scores = read_scores(recorded, command)
    lacking = missing(recorded, scores, command)
    partial = out.with_name(f".{out.name}.partial")
    with sole_writer(recorded.run.path), disk_errors(recorded.run.path):
        shutil.rmtree(partial, ignore_errors=True)
        _copy_weights(recorded, source, partial, tokenizer)
        _copy_evidence(recorded, partial)
        write_card(recorded, scores, command, tokenizer, lacking).save(partial / "README.md")
        named = [path for path in (partial / BEHIND).rglob("*") if path.is_file()]
        # a tokenizer's words may look like paths
        own = (partial / name for name in ("README.md", "config.json", ADAPTER))
        leave_out_paths([*named, *(path for path in own if path.is_file())])
        checkpoints.put_in_place(out, partial)
    return PublishedFolder(out, lacking)


def _source(recorded: TrainingRecord, command: PublishCommand) -> Path:
    """The checkpoint that is published."""
    folder = recorded.merged if command.merged else recorded.run.model
    if command.merged and not recorded.is_adapter:
        raise TablemendError(f"{recorded.run.model} is no adapter: leave out merged=true")
    if not checkpoints.is_complete(folder):
        mend = (
            f"run python train/merge.py run={recorded.run.path} first"
            if command.merged
            else "finish the training first"
        )
        raise TablemendError(f"{folder} is not there or not whole: {mend}")
    noted = recorded.run.recorded("merge")
    there = {"adapter": recorded.run.model, "weights": folder}
    if command.merged and any(
        noted.get(name) != checkpoints.revision_of(str(path)) for name, path in there.items()
    ):
        raise TablemendError(
            f"{folder} was made of another adapter than {recorded.run.model} holds now, or changed "
            f"since: move it away and run python train/merge.py run={recorded.run.path}"
        )
    return folder


def _copy_weights(recorded: TrainingRecord, source: Path, out: Path, tokenizer: Tokenizer) -> None:
    """What a user loads; an adapter names its base's commit, and gets the end of its turn."""
    out.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        if path.name not in LEFT_OUT and any(path.match(pattern) for pattern in WEIGHTS):
            shutil.copy2(path, out / path.name)
    if not checkpoints.read_shapes(out):
        raise TablemendError(f"{source} has no weights in safetensors")
    adapter = out / ADAPTER
    if not adapter.is_file():
        checkpoints.check_generation(out, tokenizer)
        return
    settings = json.loads(adapter.read_text(encoding="utf-8"))
    revision = recorded.facts.get("model_revision")
    if local_folder(settings["base_model_name_or_path"]) is None and revision:
        write_json(adapter, {**settings, "revision": revision})
    GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    ).save_pretrained(out)


def _copy_evidence(recorded: TrainingRecord, out: Path) -> None:
    """Recipes, manifests, results; no example, no answer: those are the data set's to publish."""
    for place, one in placed_chain(recorded):
        recipe = out / recipe_of(one, place)
        write_text(recipe, to_yaml(one.config))  # without what only a command takes
        if one.run.manifest.is_file():
            manifest = read_object(one.run.manifest, MOVE_AWAY)
            write_json(recipe.with_name("manifest.json"), _without_answers(manifest))
    for name in ("compare.yaml", "results.json", "report.md"):
        path = recorded.run.path / name
        if path.is_file():
            shutil.copy2(path, out / BEHIND / name)


_PART = r"[^\s/\\'\"`,;:(){}\[\]<>|*?=]+"
_WORDS = r"[^/\\'\"`,;:*?<>|\n]+"  # Windows' names have spaces
_HOMES = re.compile(rf"(/home/|/Users/|\b[A-Za-z]:\\{{1,2}}Users\\{{1,2}}){_PART}")
_FOLDERS = re.compile(
    rf"(?:file:/+|(?<![\w./<~-])(?:/{_PART}/|~[\w.-]*/|(?:\.\./)+))(?:{_PART}/)*(?=[^\s/'\"`])"
    rf"|\b(?:[A-Za-z]:\\{{1,2}}|[A-Z]:/(?=\w))(?:{_WORDS}[\\/]+)*(?=[\w.~])"
    # A share, whose backslashes JSON doubles; `\\n`, in a text within JSON, is none.
    rf"|(?<![\\\w])(?:\\{{4}}(?=[\w.$-]+\\\\)|\\\\(?=[\w.$-]+\\(?!\\)))(?:{_WORDS}\\+)+"
)
_PRIVATE = (
    r"(?:127|10)(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}"
)
_INSIDE = rf"(?:localhost|0\.0\.0\.0|{_PRIVATE}|(?:[\w-]+\.)+(?:local|internal|lan|intranet|corp))"
_SERVERS = re.compile(
    rf"(?<=//)(?:{_INSIDE}|\[[\da-f:]+\]|[\w-]+)(?::\d+)?(?![\w.:@-])"
    rf"|(?<![\w.:/-])(?:[\w.-]+@{_INSIDE}|{_INSIDE}(?=:\d)|(?:{_PRIVATE})(?!\.?\w))(?::\d+)?",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?<=//)[^\s/@'\"`]+@")
SERVER = "server.example"
"""In the place of a server that others cannot reach; a recipe with it can still be read."""


def leave_out_paths(files: Iterable[Path]) -> None:
    """Rewrite files: of paths the last name stays, and what is in the working directory is named
    from there; internal servers become :data:`SERVER`; users and homes have no name.
    """
    for path in files:
        text = path.read_text(encoding="utf-8").replace(f"{Path.cwd()}/", "")
        text = _FOLDERS.sub(".../", _HOMES.sub(r"\1~", _LOGIN.sub("", text)))
        write_text(path, _SERVERS.sub(SERVER, text))


def _without_answers(noted: Any) -> Any:
    """A manifest without the first answer of each training; one holds that of its start too."""
    if not isinstance(noted, dict):
        return noted
    return {k: _without_answers(v) for k, v in noted.items() if k != "first_answer"}


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
    run = recorded.run
    if not checkpoints.is_complete(run.model):
        raise TablemendError(f"{run.model} is not there or not whole: finish the training first")
    if not recorded.is_adapter:
        raise TablemendError(
            f"{run.model} holds whole weights already: there is no adapter to merge"
        )
    with sole_writer(run.path):
        noted = run.recorded("merge")
        if (  # what the run noted of its merge: a whole one may be anybody's
            checkpoints.is_complete(out)
            and noted.get("adapter") == checkpoints.revision_of(str(run.model))
            and noted.get("weights") == checkpoints.revision_of(str(out))
        ):
            return None
        if out.exists():
            raise TablemendError(
                f"{out} is there and no whole checkpoint that the adapter in {recorded.run.model} "
                "was merged into: move it away, or name another folder (out=FOLDER)"
            )
        return _merge(recorded, command, out)


def _merge(recorded: TrainingRecord, command: MergeCommand, out: Path) -> adapters.Difference:
    config, run = recorded.config, recorded.run
    revision = recorded.facts.get("model_revision")
    if not revision or revision == "unknown":
        raise TablemendError(
            f"{run.manifest} does not say which weights of {config.model.path} were trained on: an "
            "adapter fits no others"
        )
    there = config.model.model_copy(update={"path": str(run.model), "revision": None})
    tokenizer, task = checkpoints.load_tokenizer(there), config.task_of()
    # as the checkpoint's system gets them: of compared examples, else of the test set
    lines = list(read_jsonl(run.path / "examples.jsonl"))[: command.prompts]
    samples = [task.sample(line) for line in lines]
    prompts = [
        prompt_ids(
            tokenizer,
            task.messages(sample, config.shown[-1], config.train.prompt),
            config.thinking != "off",
        )
        for sample in samples or task.samples(config.data.test)[: command.prompts]
    ]
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
