"""``tablemend mend``: a text or an answer table, mended, and every edit listed."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablemend.errors import TablemendError
from tablemend.faithfulness.command import asked
from tablemend.values.text import on_one_line

if TYPE_CHECKING:
    from tablemend.faithfulness.inputs import Input
    from tablemend.mitigations.edits import Edit, Mended

NO_TABLE = 1
"""Exit status where an answer holds no table."""
_LONGEST = 120


def add_mend_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tablemend mend``."""
    from tablemend.faithfulness.inputs import add_batch_option, add_input_options, add_model_options

    add_input_options(parser)
    add_batch_option(parser, "one JSON object a line")
    parser.add_argument(
        "--method",
        choices=("repair", "cave"),
        help="repair: by program, what is contradicted and clear (default); cave: a model rewrites"
        " what is flagged (default with --model)",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="what rewrites for cave, such as openai:MODEL@URL"
    )
    parser.add_argument(
        "--verifier",
        default="program",
        metavar="NAME",
        help="what flags claims, as of tablemend verify (default: program)",
    )
    parser.add_argument(
        "--extractor", default="program", metavar="NAME", help="what takes a text apart"
    )
    parser.add_argument(
        "--passes",
        type=int,
        metavar="N",
        help="most rewrites of the same words by cave (default: 2)",
    )
    add_model_options(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the result there, the edits to the output"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object with the text and the edits"
    )


def mend(options: argparse.Namespace) -> int:
    """Mend a text or an answer table by its source, and list every edit."""
    from tablemend.faithfulness.inputs import NoTable, read_batch, read_input
    from tablemend.runs import write_text

    _check(options)
    if options.batch is not None:
        return mend_batch(options, list(read_batch(options.batch)))
    try:
        given = read_input(options)
    except NoTable as error:
        print(f"error: {error}", file=sys.stderr)
        return NO_TABLE
    (found,) = _mend(options, [given])
    if options.out is not None:
        write_text(options.out, found.text)
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    elif options.out is not None:
        print(describe(found))
    else:
        sys.stdout.write(found.text)
        sys.stdout.flush()
        print(describe(found), file=sys.stderr)
    return 0


def mend_batch(options: argparse.Namespace, lines: Sequence[tuple[int, Input | str]]) -> int:
    """Mend a file of documents; one JSON object each, and the totals on stderr."""
    from tablemend.runs import write_text

    if not lines:
        raise TablemendError(f"the batch file {options.batch} holds no document")
    given = [one for _, one in lines if not isinstance(one, str)]
    mended = iter(_mend(options, given))
    written = []
    totals: Counter[str] = Counter()
    for number, one in lines:
        said: dict[str, Any] = {"error": one}
        if not isinstance(one, str):
            found = next(mended)
            said = found.to_json()
            totals["edits"] += len(found.edits)
            totals["undone"] += len(found.undone)
            totals["calls"] += found.usage.calls
        written.append(json.dumps({"line": number} | said, ensure_ascii=False) + "\n")
    if options.out is not None:
        write_text(options.out, "".join(written))
    else:
        sys.stdout.write("".join(written))
    print(
        f"{len(lines)} documents, {len(lines) - len(given)} without a table to mend;"
        f" {totals['edits']} edits, {totals['undone']} undone, {totals['calls']} calls",
        file=sys.stderr,
    )
    return 0


def _check(options: argparse.Namespace) -> None:
    from tablemend.faithfulness.inputs import refuse_unread

    if options.method is None:
        options.method = "repair" if options.model is None else "cave"
    if options.method == "cave" and options.model is None:
        raise TablemendError("cave needs --model, such as openai:MODEL@http://localhost:8000/v1")
    if options.method == "repair" and options.model is not None:
        raise TablemendError("repair asks no model: leave --model out, or say --method cave")
    if options.passes is not None and options.method == "repair":
        raise TablemendError("--passes is for cave: repair makes one")
    if options.passes is not None and options.passes < 1:
        raise TablemendError(f"--passes {options.passes}: a number from 1")
    if options.method == "repair" and options.answer is not None and options.verifier != "program":
        raise TablemendError("an answer table is repaired by the program: leave --verifier out")
    refuse_unread(options, options.model)
    read = [options.text, options.answer, options.context, options.query_file, options.batch]
    if options.out is not None and any(
        path is not None and path.exists() and options.out.exists() and path.samefile(options.out)
        for path in (*read, *options.source)
    ):
        raise TablemendError(f"--out {options.out} is one of the files that are read: name another")


def _mend(options: argparse.Namespace, given: Sequence[Input]) -> list[Mended]:
    """Texts and answers in the order given; every model is opened once."""
    from contextlib import ExitStack

    from tablemend.backends.backend import open_backend
    from tablemend.faithfulness import inputs, staf
    from tablemend.mitigations.answers import AnswerItem
    from tablemend.mitigations.cave import PASSES
    from tablemend.mitigations.mend import mend_answers, mend_texts

    texts = [(place, one) for place, one in enumerate(given) if one.table is None]
    answers = [(place, one) for place, one in enumerate(given) if one.table is not None]
    if any(one.source.tables for _, one in answers):
        raise TablemendError("an answer is mended by its context: leave the source out")
    asked, manner = inputs.backend_options(options), inputs.manner(options)
    found: dict[int, Mended] = {}
    with ExitStack() as stack:
        verifier = staf.open_verifier(options.verifier, asked, **manner)
        stack.callback(verifier.close)
        model = None
        if options.model is not None:
            model = stack.enter_context(open_backend(options.model, asked))
        how: dict[str, Any] = {"verifier": verifier, "passes": options.passes or PASSES, **manner}
        if answers:
            items = [
                AnswerItem(one.text, one.source.text, one.query, one.format) for _, one in answers
            ]
            mended = mend_answers(items, options.method, model, **how)
            found |= dict(zip((place for place, _ in answers), mended, strict=True))
        if texts:
            extractor = staf.open_extractor(options.extractor, asked, **manner)
            stack.callback(extractor.close)
            pairs = [(one.text, one.source) for _, one in texts]
            mended = mend_texts(pairs, options.method, model, extractor=extractor, **how)
            found |= dict(zip((place for place, _ in texts), mended, strict=True))
    return [found[place] for place in range(len(given))]


def describe(found: Mended) -> str:
    """The edits for a person, what was undone, and STAF before and after."""
    lines = [_describe_edit(edit) for edit in found.edits] or ["Nothing was changed."]
    lines += [f"undone: {_describe_edit(edit)}" for edit in found.undone]
    if found.before is not None and found.after is not None:
        scores = [
            "-" if one.staf is None else f"{one.staf:.3f}" for one in (found.before, found.after)
        ]
        lines += ["", f"{'STAF':<16}{scores[0]} before, {scores[1]} after"]
    usage = found.usage
    lines += asked(usage.calls, usage.prompt_tokens, usage.completion_tokens)
    return "\n".join(lines)


def _describe_edit(edit: Edit) -> str:
    if edit.start is not None:
        where = f"{edit.start}-{edit.end}"
    elif edit.row is None:
        where = "table"
    else:
        where = f"row {edit.row + 1}" + (f", {edit.column!r}" if edit.column is not None else "")
    fault = f"{edit.error_type}: " if edit.error_type else ""
    change = f"{on_one_line(edit.old, _LONGEST)!r} -> " + (
        "nothing" if edit.new is None else repr(on_one_line(edit.new, _LONGEST))
    )
    return f"{fault}{where}: {change} ({on_one_line(edit.reason, _LONGEST)})"
