"""Train a classifier of the five error types on injected errors, and measure it on other tables.

python train/error_types.py recipe=error-types [data.real=../shared/data page=PAGE]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.config.error_types import ErrorTypesCommand
from tablemend.runs import Run, sole_writer
from tablemend.script import run_script


def main() -> None:
    """Examples, training, figures on held-out tables; the same command continues."""
    config = load(ErrorTypesCommand)
    from tablemend.meta_evaluation import error_classifier  # scikit-learn or torch: later

    run = Run.of(config)
    with sole_writer(run.path):
        error_classifier.begin(config, run)
        examples = error_classifier.read_examples(config)
        judges, shortened = error_classifier.train(config, run, examples.learn)
        results = error_classifier.evaluate(config, run, examples, judges, shortened)
    print(error_classifier.summary(results))


if __name__ == "__main__":
    run_script(main)
