"""``tablemend mend``: a text or an answer table, mended, and every edit listed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from tablemend.errors import TablemendError
from tablemend.faithfulness import inputs
from tablemend.faithfulness.command import asked
from tablemend.faithfulness.options import (
    add_batch_option,
    add_input_options,
    add_verifier_options,
    backend_options,
    manner,
    open_scorers,
    refuse_unread,
)
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.records import Usage
from tablemend.values.text import on_one_line

if TYPE_CHECKING:
    from tablemend.mitigations.edits import Edit, Mended
    from tablemend.records import Verification

_LONGEST = 120


def add_mend_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tablemend mend``."""
    add_input_options(parser)
    add_batch_option(parser, "one JSON object a line")
    parser.add_argument(
        "--method",
        choices=[name for name, one in MITIGATIONS.items() if isinstance(one, PostEdit)],
        help="repair: by program, what is contradicted and clear (default); cave: a model rewrites"
        " what is flagged (default with --model)",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="what rewrites for cave, such as openai:MODEL@URL"
    )
    add_verifier_options(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object with the text and the edits"
    )


def mend(options: argparse.Namespace) -> int:
    """Mend a text or an answer table by its source, and list every edit."""
    _check(options)
    if options.batch is not None:
        return mend_batch(options)
    given = inputs.read_input(options)
    (found,) = _mend(options, [given])
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        sys.stdout.write(found.text)
        sys.stdout.flush()
        print(describe(found), file=sys.stderr)
    reason = found.before and inputs.why_nothing(given, found.before, options.verifier)
    if reason := reason or _why_failed(given.name, [found]):
        print(reason, file=sys.stderr)
        return inputs.NOTHING
    return 0


def mend_batch(options: argparse.Namespace) -> int:
    """Mend a file of documents; one JSON object each, and the totals on stderr."""
    mended, count, status = inputs.run_batch(
        options.batch, partial(_mend, options), print_json=True
    )
    print(
        f"{count} documents, {count - len(mended)} without a table to mend;"
        f" {sum(len(one.edits) for one in mended)} edits,"
        f" {sum(len(one.undone) for one in mended)} undone,"
        f" {sum(one.usage.calls for one in mended)} calls",
        file=sys.stderr,
    )
    if why := _why_failed(str(options.batch), mended):
        print(why, file=sys.stderr)
        status = inputs.NOTHING
    return status


def _why_failed(name: str, found: Sequence[Mended]) -> str:
    """Why every request failed, to verify or to rewrite; empty where one did not, or none was."""
    if why := inputs.why_failed([one.before for one in found if one.before is not None]):
        return f"{name}: {why}"
    usage = sum((one.usage for one in found), Usage())
    if not usage.calls or usage.failed < usage.calls:
        return ""
    why = next((edit.reason for one in found for edit in one.undone), "")
    return f"{name}: every request to a model failed ({usage.calls} in all): {why}"


def _check(options: argparse.Namespace) -> None:
    from tablemend.mitigations.mend import named

    if options.method is None:
        options.method = "repair" if options.model is None else "cave"
    named(options.method, options.model)
    if options.method == "repair" and options.answer is not None and options.verifier != "program":
        raise TablemendError("an answer table is repaired by the program: leave --verifier out")
    refuse_unread(options, options.model)


def _mend(options: argparse.Namespace, given: Sequence[inputs.Input]) -> list[Mended]:
    """Texts and answers in the order given; every model is opened once."""
    from tablemend.backends.backend import open_backend
    from tablemend.mitigations.edits import Draft
    from tablemend.mitigations.mend import mend as mend_drafts

    if any(one.table is not None and one.source.tables for one in given):
        raise TablemendError("an answer is mended by its context: leave the source out")
    drafts = [
        Draft(one.text, one.source, None if one.table is None else one.format) for one in given
    ]
    with ExitStack() as stack:
        verifier, extractor = stack.enter_context(open_scorers(options))
        model = None
        if options.model is not None:
            model = stack.enter_context(open_backend(options.model, backend_options(options)))
        return mend_drafts(
            drafts,
            options.method,
            model,
            verifier=verifier,
            extractor=extractor,
            **manner(options),
        )


def describe(found: Mended) -> str:
    """The edits for a person, what was undone, and STAF before and after."""
    lines = [_describe_edit(edit) for edit in found.edits] or ["Nothing was changed."]
    lines += [f"undone: {_describe_edit(edit)}" for edit in found.undone]
    lines += found.notes
    lines += [f"note: {note}" for note in (found.before.notes if found.before else ())]
    if found.before is not None and found.after is not None:
        lines += ["", f"{'STAF':<16}{_staf(found.before)} before, {_staf(found.after)} after"]
        shares = f"{found.before.unscored:.3f} before, {found.after.unscored:.3f} after"
        lines.append(f"{'unscored':<16}{shares}")
    lines += asked(found.usage)
    return "\n".join(lines)


def _staf(found: Verification) -> str:
    return "none" if found.staf is None else f"{found.staf:.3f}"


def _describe_edit(edit: Edit) -> str:
    old, new = (on_one_line(said or "", _LONGEST) for said in (edit.old, edit.new))
    reason = on_one_line(edit.reason, _LONGEST)
    fault = f"{edit.error_type}: " if edit.error_type else ""
    row = "" if edit.row is None else f"row {edit.row + 1}"
    change = f"{old!r} -> " + ("nothing" if edit.new is None else repr(new))
    if edit.start is not None:
        return f"{fault}{edit.start}-{edit.end}: {change} ({reason})"
    if edit.column is not None and row:
        return f"{fault}{row}, {edit.column!r}: {change} ({reason})"
    if edit.column is not None:
        done = "dropped" if edit.new is None else f"now {new!r}"
        return f"{fault}column {edit.column!r}: {done} ({reason})"
    if row:
        return f"{fault}{row}: dropped, {old!r} ({reason})"
    return f"{fault}order: {old.replace(' | ', ', ')} -> {new.replace(' | ', ', ')} ({reason})"
