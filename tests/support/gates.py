"""A recipe's training in seconds: its method and its settings, on the embedded base."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import yaml
from transformers.trainer_utils import SaveStrategy

from tablemend.recipe.experiment import STAGES, TrainingRecipe
from tablemend.runs import write_jsonl
from tablemend.tasks.claim_verification import LabelledClaim
from tablemend.tasks.faith.sample import MASK, MaskedSpan
from tablemend.tasks.tabfaith.task import TabFaithExample
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.torr.task import TableQuestion
from tests.support.short_trainings import RECIPES, ROOT, injected_pairs
from tests.support.trainings_in_process import begin

KINDS: dict[str, type[TrainingRecipe]] = {
    get_args(kind.model_fields["kind"].annotation)[0]: kind for kind in RECIPES
}
SMALL_WORLD = {
    "train": {
        "source": "small-world",
        "n": 16,
        "seed": 7,
    },  # all three steps of GRPO earn something
    "test": {"source": "small-world", "n": 2, "seed": 3},
}


def recipes() -> list[str]:
    """The names of all recipes that train."""
    return [
        path.stem
        for path in sorted((ROOT / "recipes").glob("*.yaml"))
        if yaml.safe_load(path.read_text("utf-8"))["kind"] in STAGES
    ]


def write_data(folder: Path) -> None:
    """Summaries, claims, masked values, questions, chats, pairs of errors: of the small world."""
    for split, world in SMALL_WORLD.items():
        names = ("table_summary", "claim_verification", "faith", "torr", "chats")
        records: dict[str, list[Any]] = {name: [] for name in names}
        rows = small_world.Size(none=0.0)
        stream = small_world.examples(seed=world["seed"], n=world["n"], size=rows)
        for number, example in enumerate(stream):
            table = example.gold_table
            said = [f"{row[0]} has {table.columns[1]} {row[1]}." for row in table.rows]
            summary = TabFaithExample(
                "general",
                table,
                " ".join(said),
                (),
                "faithful",
                (),
                "construction",
                "small-world",
                table.content_hash(),
                0,
                "none",
            )
            label = ("supported", "contradicted", "not_in_source")[number % 3]
            turns = (("user", example.query), ("assistant", said[0]))
            records["table_summary"].append(summary.to_json())
            records["claim_verification"].append(
                LabelledClaim(said[0], table, label, "general").to_json()
            )
            masked = said[0].replace(str(table.rows[0][1]), MASK)
            records["faith"].append(
                MaskedSpan(
                    f"{split} {number}", "10-K", (table,), "", masked, "", "$5", "A"
                ).to_json()
            )
            fields = {"question": f"What is {table.columns[1]} of {table.rows[0][0]}?"}
            question = TableQuestion(
                "lookup", table, fields, (str(table.rows[0][1]),), source_hash=table.content_hash()
            )
            records["torr"].append(question.to_json())
            records["chats"].append(
                {"messages": [{"role": role, "content": text} for role, text in turns]}
            )
        for task, found in records.items():
            (folder / task).mkdir(exist_ok=True)
            write_jsonl(folder / task / f"{split}.jsonl", found)
    data = yaml.safe_dump(SMALL_WORLD, default_flow_style=True, width=1000).strip()
    injected_pairs(folder / "pairs", f"data={data[:-1]}, validation: null}}")


def run_gate(config: TrainingRecipe) -> list[dict[str, float]]:
    """Train it without saving anything; the log."""
    _, trainer, _, _ = begin(config)
    trainer.args.save_strategy = SaveStrategy.NO
    trainer.train()
    log: list[dict[str, float]] = trainer.state.log_history
    return log


def tiny(name: str, folder: Path, steps: int, changes: dict[str, Any]) -> TrainingRecipe:
    """The recipe of that name with a small model, short rows and few of them.

    What converges otherwise when it changes stays: method, rates, schedule, loss, targets.

    Args:
        name: of a file in recipes/.
        folder: that :func:`write_data` wrote into; the run goes there too.
        steps: of the optimizer.
        changes: to its section ``train``.
    """
    recipe = yaml.safe_load((ROOT / "recipes" / f"{name}.yaml").read_text("utf-8"))
    kind, task = recipe["kind"], recipe.get("task", "table_generation")
    if task == "claim_programs":  # whose prompt is longer than the embedded base's window
        task = recipe["task"] = "claim_verification"

    def source(task: str, split: str) -> dict[str, Any]:
        if task == "table_generation":
            return SMALL_WORLD[split]
        return {"source": str(folder / task), "split": split}

    train = source(task, "train")
    if "source" not in recipe["data"]["train"]:
        train = {
            part: source("chats" if given.get("content") == "messages" else task, "train")
            | {key: given[key] for key in ("share", "content") if key in given}
            for part, given in recipe["data"]["train"].items()
        }
    values = {
        key: recipe[key]
        for key in ("kind", "task", "seed", "format", "thinking", kind)
        if key in recipe
    } | {
        "name": "gate",
        "run": str(folder / "run"),
        "model": {
            "path": str(ROOT / "checkpoints/tiny-base"),
            "dtype": "float32",
            "context_length": 1024,
        },
        "data": {"train": train, "test": source(task, "test")},
        "evaluation": {"max_new_tokens": 64, "systems": {"base": {}}},
        "train": recipe["train"]
        | {
            "method": "full" if recipe["train"]["method"] == "full" else "lora",
            "max_length": None,
            "epochs": None,
            "max_steps": steps,
            "evaluate": None,
            "global_batch": 8 if kind == "grpo" else 4,
            "micro_batch": 4,
            "precision": "float32",
            "gradient_checkpointing": False,
            "compile": False,
            "save_every": 1000,
            "log_every": 1,
            "trl": {
                key: value
                for key, value in recipe["train"].get("trl", {}).items()
                if not key.startswith("vllm")
            },
        }
        | changes,
    }
    if kind == "dpo":
        values["dpo"] |= {"pairs": {"path": str(folder / "pairs"), "sampled": 0}}
    elif kind in values:  # answers are drawn
        small = {"max_new_tokens": 160, "engine": "transformers"}
        values[kind] |= small
    if kind == "grpo":
        values["grpo"]["group"] = 4
    return KINDS[kind].model_validate(values)
