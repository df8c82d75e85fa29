"""``tablemend annotate``: pages for annotators, and the report of what they say."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tablemend.errors import TablemendError

if TYPE_CHECKING:
    from tablemend.annotation.sample import Data


def add_annotate_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tablemend annotate``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser(
        "export",
        help="write a page that leads an annotator through a sample",
        description="Write a sample of a data set as one page for annotators.",
    )
    _add_data_options(export)
    export.add_argument(
        "--n", type=int, default=100, help="examples in the sample (default: %(default)s)"
    )
    export.add_argument(
        "--seed", type=int, default=0, help="seed of the sample (default: %(default)s)"
    )
    export.add_argument(
        "--skip",
        type=int,
        default=0,
        metavar="K",
        help="leave out the first K of the seed's order: after a pilot with --n 50, --skip 50",
    )
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help="new file to write")
    export.add_argument(
        "--no-marks",
        action="store_true",
        help="a page that cannot mark where the generator says that facts stand",
    )
    report = actions.add_parser(
        "report",
        help="accuracy and agreement from annotators' answers; mark or drop what failed",
        description="Report accuracy and agreement from the answer files of annotators.",
    )
    _add_data_options(report)
    report.add_argument(
        "answers", type=Path, nargs="+", metavar="ANSWERS", help="answer files, of any annotators"
    )
    report.add_argument("--json", type=Path, metavar="OUT", help="also write the report as JSON")
    verified = report.add_mutually_exclusive_group()
    verified.add_argument(
        "--mark", type=Path, metavar="OUT", help="new folder: the data set with the verdicts"
    )
    verified.add_argument(
        "--drop", type=Path, metavar="OUT", help="new folder: the data set without what failed"
    )


def _add_data_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a folder, a .jsonl or .parquet file, or hub:owner/name",
    )
    parser.add_argument(
        "--split",
        choices=("train", "validation", "test"),
        help="split of a folder or of a Hub data set (default: test)",
    )
    parser.add_argument("--revision", help="commit of a Hub data set")


def annotate(options: argparse.Namespace) -> int:
    """Let people verify a data set: pages for annotators, and a report of their answers."""
    return export(options) if options.action == "export" else report(options)


def export(options: argparse.Namespace) -> int:
    """Write the page."""
    from tablemend.annotation.page import write_page
    from tablemend.annotation.sample import choose
    from tablemend.runs import write_text

    if options.out.is_symlink() or options.out.exists():
        raise TablemendError(f"{options.out} exists: it may hold answers, name a new file")
    data = _read(options)
    chosen = choose(data, options.n, options.seed, options.skip)
    write_text(options.out, write_page(data, chosen, not options.no_marks))
    print(f"{options.out}: {len(chosen)} of {len(data.examples)} examples, data set {data.hash}")
    return 0


def report(options: argparse.Namespace) -> int:
    """Report on the answers; write the verified copy if one is asked for."""
    from tablemend.annotation.answers import gather, read_answers
    from tablemend.annotation.outcome import check_out, write_verified
    from tablemend.annotation.report import describe, make_report
    from tablemend.runs import write_json

    for out in (options.mark, options.drop):
        if out is not None:
            check_out(out, options.data)
    if options.json is not None:
        _check_json(options.json)
    files = [read_answers(path) for path in options.answers]
    data = _read(options)
    found = make_report(gather(files, data), data)
    print(describe(found))
    if options.json is not None:
        write_json(options.json, found)
    if options.mark is not None:
        write_verified(options.mark, data, found, drop=False)
        print(f"\n{options.mark}: the data set with the verdicts in verification.jsonl")
    if options.drop is not None:
        dropped = write_verified(options.drop, data, found, drop=True)
        print(f"\n{options.drop}: {len(data.examples) - dropped} examples, {dropped} dropped")
    return 0


def _read(options: argparse.Namespace) -> Data:
    from tablemend.annotation.sample import read_data

    return read_data(options.data, options.split, options.revision)


def _check_json(path: Path) -> None:
    """A report may be written again; anything else is not overwritten."""
    from tablemend.annotation.report import REPORT

    if not path.exists():
        return
    try:
        old = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        old = None
    if not isinstance(old, dict) or old.get("format") != REPORT:
        raise TablemendError(f"{path} exists and is no report of ours: name another --json")
