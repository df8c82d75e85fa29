"""Join finished comparisons: systems by rows, and which of them differ.

python eval/leaderboard.py runs=[a,b]
python eval/leaderboard.py runs=[a,b,c] systems=[base] context=clean out=runs/mine

Writes leaderboard.md and .json. Runs on other samples or of other scorers are refused
(docs/reproduce.md).
"""

from __future__ import annotations

from pathlib import Path

from tablemend.config import load
from tablemend.reproduction.command import LeaderboardCommand
from tablemend.runs import write_json, write_text
from tablemend.script import run_script


def main() -> None:
    """Read the runs, compare them, write the table."""
    command = load(LeaderboardCommand)
    from tablemend.reproduction.writing import make_leaderboard

    text, found = make_leaderboard(command)
    out = Path(command.out)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "leaderboard.md", text)
    write_json(out / "leaderboard.json", found)
    print(text)


if __name__ == "__main__":
    run_script(main)
