"""The comparison: every system answers the same samples, and one scorer reads all of them."""

from __future__ import annotations

from typing import Any

from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.generating import generate
from tablemend.evaluation.mending import mend
from tablemend.evaluation.results import write_results
from tablemend.evaluation.scoring import score, scorers
from tablemend.evaluation.systems import begin, plan_systems, read_test
from tablemend.runs import Run, say, sole_writer


def compare(config: CompareCommand) -> dict[str, Any]:
    """Answer, edit, score and write the results; the same call continues where one stopped.

    Returns:
        What results.json holds.

    Raises:
        TablemendError: samples, a checkpoint or a model that is not there or cannot go on.
        Stopped: a server is gone; what is answered is stored.
    """
    run = Run.of(config)
    say(f"reading {config.data.test.source}")
    samples = read_test(config)
    systems = [] if config.rescore else plan_systems(config, run)
    with scorers(config) as scoring, sole_writer(run.path):  # or hours end in a refusal
        if not config.rescore:
            begin(config, run, samples)
            generate(systems, samples, config, run)
            mend(systems, samples, config, run)
        say(f"scoring the answers to {len(samples):,} samples")
        scored = score(samples, config, run, scoring)
        return write_results(scored, samples, config, run)
