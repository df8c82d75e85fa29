"""Time and memory of the robustness analyses, on scores of the size of ToRR.

    python benchmarks/robustness.py

A made-up cube of 14 models, 10 data sets of 100 examples and 35 configurations, 1 in 100 answers
unscored; half of the data sets score 0 or 1, the others a share. Seconds are processor seconds
of one thread (set OMP_NUM_THREADS=1); those of the first analyses include scipy's import.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from tablemend.robustness import rankings, scores
from tablemend.robustness.scores import ScoreCube, count_unscored

MODELS, DATASETS, EXAMPLES = 14, 10, 100
SERIALISATIONS = ("html", "csv", "json", "markdown", "indexed", "data frame", "concatenation")
PERTURBATIONS = ("none", "row order", "column order", "transposed", "empty rows")
UNSCORED = 0.01
SAMPLE_EXAMPLES, SAMPLE_CONFIGURATIONS = (10, 25, 50, 100), (1, 2, 4, 8, 16, 35)


def make_cube(examples: int, seed: int) -> ScoreCube:
    """Scores from the skill of a model, the difficulty of an example, the format and chance."""
    generator = np.random.default_rng(seed)
    sizes = (MODELS, examples, len(SERIALISATIONS), len(PERTURBATIONS))
    skills = generator.normal(0, 0.5, size=(MODELS, 1, 1, 1))
    blocks = {}
    for d in range(DATASETS):
        difficulty = generator.normal(0, 1, size=(1, examples, 1, 1))
        formats = generator.normal(0, 0.2, size=(MODELS, 1, *sizes[2:]))
        share = 1 / (1 + np.exp(-skills - difficulty - formats - generator.normal(size=sizes)))
        block = (share > 0.5).astype(float) if d % 2 else share
        block[generator.random(sizes) < UNSCORED] = np.nan
        blocks[f"data set {d + 1}"] = block
    names = [f"model {m + 1}" for m in range(MODELS)]
    return ScoreCube(names, SERIALISATIONS, PERTURBATIONS, blocks)


def main() -> None:
    """Print the seconds of each analysis, their sum and the peak memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="of each data set")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cube = make_cube(options.examples, options.seed)
    estimates = scores.performance(cube)
    analyses: dict[str, Callable[[], object]] = {
        "unscored answers": lambda: count_unscored(cube),
        "P with intervals": lambda: report(scores.performance(cube)),
        "R with intervals": lambda: report(scores.robustness(cube)),
        "sorted scores (Figure 3)": lambda: scores.sorted_scores(cube),
        "win rates, serialisations": lambda: scores.win_rates(cube, "serialisation"),
        "win rates, perturbations": lambda: scores.win_rates(cube, "perturbation"),
        "scores by serialisation": lambda: scores.level_scores(cube, "serialisation"),
        "impact of perturbations": lambda: scores.perturbation_impact(cube, "none"),
        "W by configurations (Figure 4)": lambda: rankings.ranking_agreement(cube),
        "W by examples too (Figure 5)": lambda: rankings.ranking_agreement(
            cube, SAMPLE_CONFIGURATIONS, SAMPLE_EXAMPLES
        ),
        "separability": lambda: rankings.separability(estimates),
        "tests of pairs": lambda: rankings.compare_models(cube),
    }
    total = 0.0
    for name, analyse in analyses.items():
        start = time.process_time()
        analyse()
        seconds = time.process_time() - start
        total += seconds
        print(f"{name:<32} {seconds:8.2f} s", flush=True)
    unit = 1 if sys.platform == "darwin" else 2**10  # macOS counts bytes, others KiB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
    print(f"{'all':<32} {total:8.2f} s   (limit: 30)")
    print(f"{'peak memory':<32} {peak:8.2f} GiB (limit: 2)")


def report(estimates: scores.Estimates) -> object:
    """All intervals, overall and by data set."""
    return estimates.overall(), estimates.rates()


if __name__ == "__main__":
    main()
