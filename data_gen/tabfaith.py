"""Make tables with faithful and unfaithful summaries, every error marked (TabFaith, section 3).

python data_gen/tabfaith.py recipe=tabfaith
python data_gen/tabfaith.py sources.general=totto_train_data.jsonl sources.clinical=FOLDER

A program writes the summaries and injects the errors, with ground truth by construction
(docs/data.md).
"""

from __future__ import annotations

from tqdm import tqdm

from tablemend.config import load
from tablemend.datasets.build import describe
from tablemend.script import run_script
from tablemend.tasks.tabfaith.data import TabFaith, make_dataset


def main() -> None:
    """Read the settings, make the set, print what came of it."""
    settings = load(TabFaith)
    with tqdm(total=settings.sizes.total, unit="example", disable=None) as bar:
        counts = make_dataset(settings, bar.update)
    for line in describe(counts, settings.out, settings.shares):
        print(line)
    for name in ("label", "type"):
        found = {key: n for key, n in counts["counts"].items() if key.startswith(f"{name} ")}
        print(", ".join(f"{key} {n}" for key, n in sorted(found.items())))


if __name__ == "__main__":
    run_script(main)
