"""Join finished comparisons: models by rows, their average, and which of them differ.

python eval/leaderboard.py runs=[a,b]
python eval/leaderboard.py runs=[a,b,c] systems=[base] context=clean out=runs/mine
python eval/leaderboard.py runs=[a,b] mixed=true

Writes leaderboard.md, .tex, .html and .json. Runs on other samples or of other scorers are refused,
unless mixed=true (docs/reproduce.md).
"""

from __future__ import annotations

from pathlib import Path

from tablemend.config import load
from tablemend.reproduction.command import LeaderboardCommand
from tablemend.runs import folder_of
from tablemend.script import run_script


def main() -> None:
    """Read the runs, compare them, write the table."""
    command = load(LeaderboardCommand)
    from tablemend.reproduction.leaderboard import (
        make_leaderboard,
        read_entries,
        write_leaderboard,
    )

    runs = [folder_of(run) for run in command.runs]
    entries, context = read_entries(runs, command.systems, command.context, command.mixed)
    out = Path(command.out)
    print(write_leaderboard(make_leaderboard(entries, context), out))
    print(f"\n{out / 'leaderboard.html'}")


if __name__ == "__main__":
    run_script(main)
