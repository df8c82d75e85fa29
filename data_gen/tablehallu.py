"""Make adversarial table-generation examples.

python data_gen/tablehallu.py source=PATH|hub:owner/name|pool|small-world n=1000 out=data/tablehallu
python data_gen/tablehallu.py engine=llm generator=openai:MODEL@URL verifier=openai:MODEL@URL n=3000

engine=program cuts them from tables, with ground truth by construction; engine=llm has a language
model write them and another verify them (docs/llm-data.md).
"""

from __future__ import annotations

from tqdm import tqdm

from tablemend.datasets.tablehallu.dataset import make_dataset
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis, read_settings
from tablemend.script import run_script


def main() -> None:
    """Read the settings and make the data set with the engine that they name."""
    settings = read_settings()
    if isinstance(settings, LlmSynthesis):
        from tablemend.datasets.tablehallu_llm.dataset import make_llm_dataset

        make_llm_dataset(settings)
    else:
        make_with_program(settings)


def make_with_program(settings: Synthesis) -> None:
    """Make the data set, print what came of it."""
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
