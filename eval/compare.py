"""Compare the arms of a recipe on the same examples, with the same judges.

python eval/compare.py recipe=tiny [evaluation.n=50 ...] [backend=vllm] [rejudge=true]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.detector.similarity import load_similarity
from tablemend.evaluation.arms import begin, plan_arms, read_test
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.generating import generate
from tablemend.evaluation.judging import judge
from tablemend.evaluation.llm_judge import ask_judge
from tablemend.evaluation.mending import mend
from tablemend.evaluation.results import write_results
from tablemend.runs import Run, say, sole_writer
from tablemend.script import run_script


def main() -> None:
    """Examples, answers, judgements, results, reports; the same command continues."""
    config = load(CompareCommand)
    say("starting torch and transformers")
    from tablemend.reports.markdown import terminal_table
    from tablemend.reports.report import write_reports  # matplotlib, only for a valid recipe

    run = Run.of(config)
    say(f"reading {config.data.test.source}")
    examples = read_test(config)
    arms = [] if config.rejudge else plan_arms(config, run)
    similarity = load_similarity(config.evaluation.similarity)  # or hours end in a refusal
    with sole_writer(run.path):
        if not config.rejudge:
            begin(config, run, examples)
            generate(arms, examples, config, run)
            mend(arms, examples, config, run)
            ask_judge(examples, config, run)
        say(f"judging {len(examples):,} examples")
        judged = judge(examples, config, run, similarity)
        write_results(judged, examples, config, run)
        print(terminal_table(write_reports(run.path)))
    print(f"\n{run.path / 'report.html'}")


if __name__ == "__main__":
    run_script(main)
