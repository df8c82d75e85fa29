"""Make adversarial table-generation examples with ground truth by construction.

python data_gen/tablehallu.py source=PATH|hub:owner/name|pool|small-world n=1000 out=data/tablehallu
"""

from __future__ import annotations

import sys

from tqdm import tqdm

from tablemend.config import load
from tablemend.script import run_script
from tablemend.synthesis.dataset import make_dataset
from tablemend.synthesis.settings import Synthesis, SynthesisRecipe


def main() -> None:
    """Read the settings, make the data set, print what came of it."""
    with_recipe = any(token.startswith("recipe=") for token in sys.argv)
    settings = load(SynthesisRecipe if with_recipe else Synthesis)
    with tqdm(total=settings.n, unit="example", disable=None) as bar:
        counts = make_dataset(settings, bar.update)
    examples, tables = counts["examples"], counts["tables"]
    splits = ", ".join(f"{count} {split}" for split, count in counts["splits"].items())
    print(f"{examples['made']} of {examples['asked']} examples in {settings.out} ({splits})")
    for split, share in settings.shares.model_dump().items():
        if share and split not in counts["splits"]:
            print(f"note: no table fell into {split}: give more tables, or other shares")
    if tables["usable"]:
        print(f"source tables: {tables['usable']} usable, {tables['skipped']} skipped")
    for title in ("skipped", "rejected"):
        for reason, count in counts[title].items():
            print(f"  {title}: {count} x {reason}")


if __name__ == "__main__":
    run_script(main)
