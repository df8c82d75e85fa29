"""The comparison: every system answers the same samples, and one scorer reads all of them."""

from __future__ import annotations

from typing import Any

from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.generating import IMPOSSIBLE, generate
from tablemend.evaluation.mending import mend
from tablemend.evaluation.ready import problems, refuse
from tablemend.evaluation.results import write_results
from tablemend.evaluation.scoring import score, scorers
from tablemend.evaluation.systems import STAGE, begin, read_test, resolve
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
    systems = resolve(config, run)
    refuse(problems(config, () if config.rescore else systems))
    samples = read_test(config)
    with scorers(systems) as scoring, sole_writer(run.path):  # or hours end in a refusal
        if not config.rescore:
            begin(config, run, samples)
            generate(systems, samples, config, run)
            mend(systems, samples, config, run)
        impossible = run.recorded(STAGE).get(IMPOSSIBLE, {})
        possible = [one for one in systems if one.name not in impossible]
        for name, why in impossible.items():
            say(f"system {name} is not possible here: {why}")
        if not possible:
            raise TablemendError(
                "no system of the comparison is possible here: "
                + "; ".join(f"{name}: {why}" for name, why in impossible.items())
            )
        say(f"scoring the answers to {len(samples):,} samples")
        scored = score(possible, samples, config, run, scoring)
        return write_results(scored, possible, samples, config, run, impossible)
