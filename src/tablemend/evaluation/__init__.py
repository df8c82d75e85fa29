"""The comparison: every arm answers the same examples, and one detector judges all of them.

``eval/compare.py`` tells the phases in their order.
"""

from tablemend.evaluation.arms import Arm, begin, plan_arms, read_test
from tablemend.evaluation.command import CompareCommand, ReportCommand, run_folder
from tablemend.evaluation.generating import generate
from tablemend.evaluation.judging import Judged, JudgedArms, judge
from tablemend.evaluation.llm_judge import ask_judge
from tablemend.evaluation.mending import mend
from tablemend.evaluation.results import write_results

__all__ = [
    "Arm",
    "CompareCommand",
    "Judged",
    "JudgedArms",
    "ReportCommand",
    "ask_judge",
    "begin",
    "generate",
    "judge",
    "mend",
    "plan_arms",
    "read_test",
    "run_folder",
    "write_results",
]
