"""The question that a command is given: as text, or in a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from tablemend.errors import TablemendError
from tablemend.tables.read import load_text


def add_query_options(group: argparse._ArgumentGroup, says: str) -> None:
    """``--query`` and ``--query-file``; ``says``: what the question is read for."""
    query = group.add_mutually_exclusive_group()
    query.add_argument("--query", metavar="TEXT", help=f"the question; {says}")
    query.add_argument("--query-file", type=Path, metavar="FILE", help="the question, in a file")


def read_query(options: argparse.Namespace) -> str:
    """The question without space around it; empty where none is given.

    Raises:
        TablemendError: a file that cannot be read, or ``--query`` with the name of a file.
    """
    if options.query_file:
        return load_text(options.query_file).strip()
    query = (options.query or "").strip()
    try:
        is_file = Path(query).is_file()
    except OSError:  # too long for a name
        is_file = False
    if is_file:
        raise TablemendError(f"--query {query}: this is a file; give it as --query-file {query}")
    return query
