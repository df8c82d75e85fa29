"""Let models, or a solver, annotate pairs by the decision tree (docs/logic.md).

python eval/annotate.py models='{qwen: openai:MODEL@URL}' data=data/logic
python eval/annotate.py models='{small: hf:Qwen/Qwen3-0.6B}' data=data/hotel n=25
python eval/annotate.py formaliser=openai:MODEL@URL data=data/logic
python eval/annotation_report.py run=annotation

Models are trained and checked first. The same command continues. All conversations stay in the
run folder.
"""

from __future__ import annotations

from tqdm import tqdm

from tablemend.config import load
from tablemend.script import run_script
from tablemend.tasks.logic.annotating import AnnotateCommand, annotate
from tablemend.tasks.logic.report import write_annotation_report


def main() -> None:
    """Read the pairs, ask every model, print what came of it."""
    command = load(AnnotateCommand)
    with tqdm(unit="pair", disable=None) as bar:
        folder = annotate(command, bar.update)
    print(write_annotation_report(folder))
    print(f"\n{folder / 'annotations.md'}")


if __name__ == "__main__":
    run_script(main)
