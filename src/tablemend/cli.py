"""The ``tablemend`` command: one subcommand a job, each loaded only when it is named."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from tablemend import __version__
from tablemend.script import run_script

Command = tuple[
    Callable[[argparse.ArgumentParser], None],
    Callable[[argparse.Namespace], int],
]
"""What adds the options, and what runs: it returns the exit status."""


def _detect() -> Command:
    from tablemend.evaluation.detect import add_detect_options, detect

    return add_detect_options, detect


def _verify() -> Command:
    from tablemend.faithfulness.command import add_verify_options, verify

    return add_verify_options, verify


def _mend() -> Command:
    from tablemend.mitigations.command import add_mend_options, mend

    return add_mend_options, mend


def _annotate() -> Command:
    from tablemend.annotation.command import add_annotate_options, annotate

    return add_annotate_options, annotate


COMMANDS: dict[str, tuple[Callable[[], Command], str]] = {
    "detect": (_detect, "Score answer tables by their gold tables and contexts."),
    "verify": (_verify, "Score every claim of a text or an answer table by its source: STAF."),
    "mend": (_mend, "Mend a text or an answer table by its source, and list every edit."),
    "annotate": (_annotate, "Pages for annotators, and the report of what they say."),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``tablemend``: the exit status, 2 for input that is refused."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="tablemend", description="Find what language models make up in tables."
    )
    parser.add_argument("--version", action="version", version=f"tablemend {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (load, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name in arguments[:1]:
            add_options, run = load()
            add_options(command)
            command.set_defaults(run=run)
    options = parser.parse_args(arguments)

    def run_to_the_end() -> None:
        status = options.run(options)
        sys.stdout.flush()  # a full disk shows here and not at the interpreter's end
        raise SystemExit(status)

    try:
        run_script(run_to_the_end)
    except SystemExit as left:
        return int(left.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
