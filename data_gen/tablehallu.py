"""Make adversarial table-generation examples.

python data_gen/tablehallu.py source=PATH|hub:owner/name|pool|small-world n=1000 out=data/tablehallu
python data_gen/tablehallu.py source=PATH n=1000 wording.model=openai:MODEL@URL out=data/reworded
python data_gen/tablehallu.py engine=llm generator=openai:MODEL@URL verifier=openai:MODEL@URL n=3000
python data_gen/tablehallu.py engine=llm generator=openai:MODEL@URL order=query-last n=3000

engine=program cuts them from tables, with ground truth by construction; with wording.model= a model
rewords them (docs/data.md). engine=llm has a language model write them and another verify them, or
with order=query-last word what the program has drawn (docs/data.md).
"""

from __future__ import annotations

from tqdm import tqdm

from tablemend.datasets.build import describe
from tablemend.script import run_script
from tablemend.tasks.tablehallu.dataset import make_dataset
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu_llm.settings import LlmSynthesis, read_settings


def main() -> None:
    """Read the settings and make the data set with the engine that they name."""
    settings = read_settings()
    if isinstance(settings, LlmSynthesis):
        from tablemend.tasks.tablehallu_llm.dataset import make_llm_dataset

        make_llm_dataset(settings)
    else:
        make_with_program(settings)


def make_with_program(settings: Synthesis) -> None:
    """Make the data set, print what came of it."""
    make = make_dataset
    if settings.wording is not None:
        from tablemend.tasks.tablehallu_llm.wording import make_reworded as make
    with tqdm(total=settings.n, unit="example", disable=None) as bar:
        counts = make(settings, bar.update)
    for line in describe(counts, settings.out, settings.shares):
        print(line)


if __name__ == "__main__":
    run_script(main)
