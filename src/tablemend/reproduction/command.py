"""What eval/reproduce.py and eval/leaderboard.py take on their command lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from pydantic import Field

from tablemend.config import Section, parse
from tablemend.config.load import keys_text, usage_text
from tablemend.config.section import RunFolder, nearest
from tablemend.reproduction.papers import PAPERS, PLACES, paper_of

USAGE = """{usage}  print the plan and stop

python eval/reproduce.py paper=tablehallu table=4 recipe=tiny --check
python eval/reproduce.py paper=tablehallu table=1 model.path=openai:MODEL@URL run=mine
python eval/reproduce.py paper=torr {small}
python eval/reproduce.py page=results/reproduced.md

papers, their tables and figures, and the smallest recipe:
{papers}

{keys}
Any other key is one of the recipe: evaluation.n=50, model.path=..."""


class ReproduceCommand(Section):
    """Which tables of which paper."""

    paper: str | None = None
    """The paper, by its short name."""
    table: str | None = None
    """Number of a table; without table, figure and section: all of the paper."""
    figure: str | None = None
    """Number of a figure."""
    section: str | None = None
    """Section with figures in its text."""
    recipe: str | None = None
    """Recipe that is run; null: the one that is made for the table."""
    run: RunFolder | None = None
    """Run folder: a name below runs/, or a path where it contains a slash; null: the recipe's."""
    page: str | None = None
    """In place of a paper: Markdown page that lists all tables, such as results/reproduced.md."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """No such paper or table, or two at once."""
        if (self.paper is None) == (self.page is None):
            yield "paper", f"name one: {', '.join(PAPERS)}; or page=FILE"
        elif self.paper is not None and self.paper not in PAPERS:
            hint = nearest(self.paper, PAPERS)
            yield "paper", f"no paper {self.paper!r}{hint}; there are {', '.join(PAPERS)}"
        elif self.paper is not None:
            named = [kind for kind in PLACES if getattr(self, kind) is not None]
            known = list(paper_of(self.paper).items)
            if len(named) > 1:
                yield named[1], f"name one of {', '.join(PLACES)}"
            elif named and f"{named[0]} {getattr(self, named[0])}" not in known:
                asked = f"{named[0]} {getattr(self, named[0])}"
                yield named[0], f"{self.paper} has no {asked} here; it has {', '.join(known)}"

    @property
    def places(self) -> list[str]:
        """The tables and figures that are asked for."""
        assert self.paper is not None
        named = [f"{k} {value}" for k in PLACES if (value := getattr(self, k)) is not None]
        return named or list(paper_of(self.paper).items)


class LeaderboardCommand(Section):
    """What eval/leaderboard.py takes."""

    runs: tuple[RunFolder, ...] = Field(min_length=1)
    """Run folders: names below runs/, or paths where they contain a slash."""
    systems: tuple[str, ...] = ()
    """Systems that get a row, such as [base]; empty: all that a run has."""
    context: str | None = None
    """How samples were shown; null: the last context of the first run (`adversarial`)."""
    out: str = "runs/leaderboard"
    """Folder to write leaderboard.md and .json into."""


def read_command(argv: Sequence[str] | None = None) -> tuple[ReproduceCommand, list[str], bool]:
    """The command, the settings of its recipe, and whether ``--check`` stands with them.

    ``--help`` prints and exits with status 0.

    Raises:
        ConfigError: with every problem of the command's own keys; those of the recipe are checked
            when it is read.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    if {"--help", "-h"} & set(tokens):
        print(help_page())
        raise SystemExit(0)
    rest = [token for token in tokens if token != "--check"]
    own = [one for one in rest if one.partition("=")[0] in ReproduceCommand.model_fields]
    flags = [one for one in rest if one.startswith("-") or "=" not in one]
    command = parse(ReproduceCommand, [*own, *flags])
    return command, [one for one in rest if one not in own], "--check" in tokens


def help_page() -> str:
    """The page that ``--help`` prints."""
    lines = [
        f"  {name:<17} {', '.join(paper_of(name).items)}\n{'':20}{paper_of(name).small}"
        for name in PAPERS
    ]
    usage = usage_text("paper=NAME [table=N|figure=N] [recipe=NAME] [key.sub=value ...]", None)
    return USAGE.format(
        usage=usage.rpartition("  ")[0],
        papers="\n".join(lines),
        small=paper_of("torr").small,
        keys=keys_text(ReproduceCommand),
    )
