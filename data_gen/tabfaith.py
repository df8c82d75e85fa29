"""Make tables with faithful and unfaithful summaries, every error marked (TabFaith, section 3).

python data_gen/tabfaith.py recipe=tabfaith
python data_gen/tabfaith.py sources.general=totto_train_data.jsonl sources.clinical=mimic:FOLDER
python data_gen/tabfaith.py generator=openai:MODEL@URL verifier=program out=data/tabfaith-model

By default a program writes the summaries and injects the errors, with ground truth by construction;
generator= asks a model instead, whose summaries a verifier labels (docs/data.md).
"""

from __future__ import annotations

from tqdm import tqdm

from tablemend.datasets.tabfaith.dataset import make_dataset
from tablemend.datasets.tabfaith.settings import read_settings
from tablemend.script import run_script


def main() -> None:
    """Read the settings, make the set, print what came of it."""
    settings = read_settings()
    with tqdm(total=settings.sizes.total, unit="example", disable=None) as bar:
        counts = make_dataset(settings, bar.update)
    examples, found = counts["examples"], counts["counts"]
    print(f"{examples['made']} of {examples['asked']} examples in {settings.out}")
    for name in ("split", "label", "type"):
        parts = {key: n for key, n in found.items() if key.startswith(f"{name} ")}
        if parts:
            said = ", ".join(f"{key.partition(' ')[2]} {n}" for key, n in sorted(parts.items()))
            print(f"{name}: {said}")
    for title in ("dropped", "notes"):
        for reason, count in counts[title].items():
            print(f"  {title}: {count} x {reason}")
    for domain, reasons in counts["skipped"].items():
        for reason, count in reasons.items():
            print(f"  {domain}, tables left out: {count} x {reason}")


if __name__ == "__main__":
    run_script(main)
