"""``tablemend mend``: a text or an answer table, mended, and every edit listed."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tablemend.errors import TablemendError

if TYPE_CHECKING:
    from tablemend.faithfulness.inputs import Input
    from tablemend.mitigations.edits import Edit, Mended

NO_TABLE = 1
"""Exit status where an answer holds no table."""
_LONGEST = 120


def add_mend_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tablemend mend``."""
    from tablemend.faithfulness.inputs import add_input_options, add_model_options

    add_input_options(parser)
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
        default=2,
        metavar="N",
        help="most rewrites of the same words by cave (default: %(default)s)",
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
    from tablemend.faithfulness.inputs import NoTable, read_input
    from tablemend.runs import write_text

    _check(options)
    try:
        given = read_input(options)
    except NoTable as error:
        print(f"error: {error}", file=sys.stderr)
        return NO_TABLE
    found = _mend(options, given)
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


def _check(options: argparse.Namespace) -> None:
    if options.method is None:
        options.method = "repair" if options.model is None else "cave"
    if options.method == "cave" and options.model is None:
        raise TablemendError("cave needs --model, such as openai:MODEL@http://localhost:8000/v1")
    if options.method == "repair" and options.model is not None:
        raise TablemendError("repair asks no model: leave --model out, or say --method cave")
    if options.passes < 1:
        raise TablemendError(f"--passes {options.passes}: a number from 1")
    read = [options.text, options.answer, options.context, options.query_file, *options.source]
    if options.out is not None and any(
        path is not None and path.exists() and options.out.exists() and path.samefile(options.out)
        for path in read
    ):
        raise TablemendError(f"--out {options.out} is one of the files that are read: name another")


def _mend(options: argparse.Namespace, given: Input) -> Mended:
    from contextlib import ExitStack

    from tablemend.backends.backend import open_backend
    from tablemend.faithfulness import inputs, staf
    from tablemend.mitigations.mend import mend_answer, mend_text
    from tablemend.tables.read import answer_format

    asked, manner = inputs.backend_options(options), inputs.manner(options)
    with ExitStack() as stack:
        verifier = staf.open_verifier(options.verifier, asked, **manner)
        stack.callback(verifier.close)
        model = None
        if options.model is not None:
            model = stack.enter_context(open_backend(options.model, asked))
        if given.table is not None:
            if given.source.tables:
                raise TablemendError("an answer is mended by its --context: leave --source out")
            return mend_answer(
                given.text,
                given.source.text,
                given.query,
                options.method,
                model,
                format=answer_format(options.answer, options.format),
                verifier=verifier,
                passes=options.passes,
                **manner,
            )
        extractor = staf.open_extractor(options.extractor, asked, **manner)
        stack.callback(extractor.close)
        return mend_text(
            given.text,
            given.source,
            options.method,
            model,
            verifier=verifier,
            extractor=extractor,
            passes=options.passes,
            **manner,
        )


def describe(found: Mended) -> str:
    """The edits for a person, what was undone, and STAF before and after."""
    lines = [_describe_edit(edit) for edit in found.edits] or ["Nothing was changed."]
    lines += [f"undone: {_describe_edit(edit)}" for edit in found.undone]
    if found.before is not None and found.after is not None:
        scores = [
            "-" if one.staf is None else f"{one.staf:.3f}" for one in (found.before, found.after)
        ]
        lines += ["", f"{'STAF':<16}{scores[0]} before, {scores[1]} after"]
    if found.usage.calls:
        usage = found.usage
        lines.append(
            f"{'asked':<16}{usage.calls} calls, {usage.prompt_tokens} tokens in, "
            f"{usage.completion_tokens} tokens out"
        )
    return "\n".join(lines)


def _describe_edit(edit: Edit) -> str:
    if edit.start is not None:
        where = f"{edit.start}-{edit.end}"
    elif edit.row is None:
        where = "table"
    else:
        where = f"row {edit.row + 1}" + (f", {edit.column!r}" if edit.column is not None else "")
    fault = f"{edit.error_type}: " if edit.error_type else ""
    change = f"{_short(edit.old)!r} -> " + (
        "nothing" if edit.new is None else repr(_short(edit.new))
    )
    return f"{fault}{where}: {change} ({_short(edit.reason)})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
