"""Print the folder that lm-evaluation-harness takes as ``--include_path``."""

from pathlib import Path

print(Path(__file__).with_name("lm_eval_tasks"))
