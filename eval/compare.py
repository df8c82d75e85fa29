"""Compare the arms of a recipe on the same examples, with the same judges.

python eval/compare.py recipe=tiny [evaluation.n=50 ...] [backend=vllm] [rejudge=true]
"""

from __future__ import annotations

from tablemend import evaluation
from tablemend.config import load
from tablemend.detector.similarity import load_similarity
from tablemend.runs import Run, say, sole_writer
from tablemend.script import run_script


def main() -> None:
    """Examples, answers, judgements, results, reports; the same command continues."""
    config = load(evaluation.CompareCommand)
    say("starting torch and transformers")
    from tablemend.reports.markdown import terminal_table
    from tablemend.reports.report import write_reports  # matplotlib, only for a valid recipe

    run = Run.of(config)
    say(f"reading {config.data.test.source}")
    examples = evaluation.read_test(config)
    arms = [] if config.rejudge else evaluation.plan_arms(config, run)
    similarity = load_similarity(config.evaluation.similarity)  # or hours end in a refusal
    with sole_writer(run.path):
        if not config.rejudge:
            evaluation.begin(config, run, examples)
            evaluation.generate(arms, examples, config, run)
            evaluation.mend(arms, examples, config, run)
            evaluation.ask_judge(examples, config, run)
        say(f"judging {len(examples):,} examples")
        judged = evaluation.judge(examples, config, run, similarity)
        evaluation.write_results(judged, examples, config, run)
        print(terminal_table(write_reports(run.path)))
    print(f"\n{run.path / 'report.html'}")


if __name__ == "__main__":
    run_script(main)
