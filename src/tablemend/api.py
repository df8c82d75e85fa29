"""``import tablemend``: detect, verify and mend in one call each.

A table is a path, the text of a CSV, Markdown, JSON, LaTeX or HTML table, a list of dicts, a pandas
DataFrame, or a :class:`~tablemend.tables.table.Table`. A text is a string, never the name of a
file, which a model's answer might be: give a ``Path`` to have a file read. Results are frozen
(:mod:`tablemend.results`); rows count from 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from tablemend import records
from tablemend.detector.algorithm import (
    AnswerFormat,
    align,
    detect_in_answer,
    why_no_table,
)
from tablemend.detector.errors import ERROR_TYPES, METRICS, NEEDS_CONTEXT
from tablemend.detector.keys import Gold, filled_rows, prepare_gold
from tablemend.detector.query import decimals_from_query, sort_rule_from_query
from tablemend.detector.similarity import Similarity, load_similarity
from tablemend.errors import TablemendError, defect, missing_extra
from tablemend.evidence.files import load_source, read_source
from tablemend.evidence.source import Source
from tablemend.foreign import whole_characters
from tablemend.mitigations import edits
from tablemend.mitigations.edits import Draft
from tablemend.mitigations.mend import mend as mend_drafts
from tablemend.records import CLAIM_ERROR_NAMES
from tablemend.results import (
    Claim,
    Coverage,
    Detection,
    Error,
    Evidence,
    Mended,
    TableContent,
    Unscored,
    Verification,
)
from tablemend.tables.extract import extract_table
from tablemend.tables.jsontable import is_table, table_of
from tablemend.tables.read import guarded, load_table, load_text, read_table, write_table
from tablemend.tables.table import Table
from tablemend.verifier.staf import verify_documents

Text: TypeAlias = str | os.PathLike[str]
"""A text itself, or the path of a file that holds it."""
AnyTable: TypeAlias = str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Table | Any
"""A path, a table as text, a list of dicts, a dict, a pandas DataFrame or a Table."""

_TITLES = {metric.name: metric.title.lower() for metric in METRICS}
T = TypeVar("T")
R = TypeVar("R", Detection, Verification, Mended)
P = ParamSpec("P")


def _one_error(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose defects, whatever they raise, are a :class:`TablemendError` too."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except ModuleNotFoundError as error:
            if why := missing_extra(error):
                raise TablemendError(why) from error
            raise
        except (TablemendError, OSError, ImportError, MemoryError):
            raise
        except Exception as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is None:
                raise  # of the call itself: a parameter that there is not
            raise TablemendError(defect(error)) from error

    return call


@_one_error
def detect(
    answer: Text | AnyTable,
    gold: AnyTable,
    context: Text | None = None,
    query: str | None = None,
    *,
    similarity: str = "lexical",
) -> Detection:
    """What a model's answer table makes up, beside the table that it should be (TableHallu).

    Args:
        answer: the raw answer, prose and code fences included, or its table.
        gold: the table that it should be.
        context: the text that the model was shown; without it a row that gold lacks is called an
            entity fabrication whether or not the text has it, and coverage says so.
        query: the question; its sort rule and its rounding are checked.
        similarity: ``lexical``, or a sentence-transformers model (extra ``embed``).

    Raises:
        TablemendError: input that cannot be read, or a gold table that nothing can be scored by.
    """
    found = _gold("gold", gold)
    prose = None if context is None else _text("context", context)
    alike = load_similarity(_name("similarity", similarity))
    scored = detection(_answer("answer", answer), found, prose, _query(query), alike)
    if not scored.coverage.scored:
        raise TablemendError(f"gold: {scored.unscored[0].reason}; no answer can be scored by it")
    return _with_note(scored, answer)


@_one_error
def verify(
    text: Text | AnyTable,
    table: AnyTable | None = None,
    *,
    context: Text | None = None,
    query: str | None = None,
    verifier: str = "program",
) -> Verification:
    """Verify every claim of a text by its table, or every cell of an answer table by its context.

    Args:
        text: the text about a table; with ``context``, a raw answer that holds a table, or a table.
        table: the table that the text is about.
        context: the text that the answer table was made from, in place of ``table``.
        query: the question of an answer table, which says what rows belong.
        verifier: ``program``, ``nli:MODEL``, ``llm:MODEL``, ``program+llm:MODEL``.

    Raises:
        TablemendError: input that cannot be read, or a model that cannot go on.
    """
    if (table is None) == (context is None):
        raise TablemendError("verify: give either table (of a text) or context (of an answer)")
    said = _text("text", text) if context is None else _answer("text", text)
    query = _query(query)
    if context is None and query:
        raise TablemendError("verify: query belongs to an answer table: give its context")
    if context is None:
        draft = Draft(said, _source("table", table))
    else:
        draft = _answer_draft(said, Source(text=_text("context", context), query=query))
    document = draft.read().table or draft.text
    (found,) = verify_documents([(document, draft.evidence)], _name("verifier", verifier))
    return _with_note(verification(found, draft), text)


@_one_error
def mend(
    text_or_table: Text | AnyTable,
    table_or_context: AnyTable | Text,
    query: str | None = None,
    model: str | None = None,
    *,
    verifier: str = "program",
) -> Mended:
    """Mend a text by its table, or an answer table by the context that it was made from.

    With a ``query``, or where the first argument is a table and no text, an answer table is
    mended: the second argument is then the context. What is not wrong stays byte for byte.

    Args:
        text_or_table: the text, or the raw answer with its table.
        table_or_context: the table that the text is about, or the answer's context.
        query: the question of an answer table, which says rows, columns and order.
        model: ``openai:MODEL@URL``, ``hf:NAME``: it rewrites what is flagged (CAVE). Without one
            a program mends what has one correction.
        verifier: what flags, in texts and with a model; see :func:`verify`.

    Raises:
        TablemendError: input that cannot be read, or a model that cannot go on.
    """
    is_answer = query is not None or not isinstance(text_or_table, str | os.PathLike)
    said = _answer("text_or_table", text_or_table)
    if is_answer:
        if not isinstance(table_or_context, str | os.PathLike):
            raise TablemendError("mend: an answer table is mended by its context, which is a text")
        source = Source(text=_text("table_or_context", table_or_context), query=_query(query))
        draft = _answer_draft(said, source)
    else:
        try:
            draft = Draft(said, _source("table_or_context", table_or_context))
        except TablemendError as error:
            hint = "an answer table is mended by its context, and a query, which may be ''"
            raise TablemendError(f"{error} ({hint})") from error
    method = "repair" if model is None else "cave"
    model = None if model is None else _name("model", model)
    (found,) = mend_drafts([draft], method, model, verifier=_name("verifier", verifier))
    return _with_note(mended(found, draft), text_or_table)


def detection(
    answer: str,
    gold: Table,
    context: str | None,
    query: str = "",
    similarity: Similarity | None = None,
    format: AnswerFormat = "auto",
    name: str = "",
    found: records.Judgement | None = None,
) -> Detection:
    """:func:`detect` of what has been read; unscored, and says why, where gold cannot be used.

    ``found`` is what the detector said of it, where it has been asked already.
    """
    similarity = similarity or load_similarity("lexical")
    order = sort_rule_from_query(query, gold.columns)
    if found is None:
        decimals = decimals_from_query(query, gold.columns)
        found = detect_in_answer(answer, gold, context or "", order, format, similarity, decimals)
    known = {cell for row in gold.rows for cell in row}
    table = extract_table(answer, format, gold.columns, known).table
    skipped = {}
    if found.unscored:
        skipped = dict.fromkeys(ERROR_TYPES, found.unscored)
    elif found.counts["format_error"]:
        skipped = dict.fromkeys(ERROR_TYPES[1:], "the checks end at a format error")
    else:
        if order is None:
            skipped["order_mismatch"] = (
                "no sort rule in the query" if query else "no query was given"
            )
        elif found.abstained:
            skipped["order_mismatch"] = "the answer has no row"
        if context is None:
            skipped[NEEDS_CONTEXT] = "no context was given: such a row counts as entity fabrication"
    rows: dict[int, int] = {}  # of gold, by those of the answer
    if found.findings and table and not found.unscored and not found.counts["format_error"]:
        prepared = prepare_gold(gold)
        assert isinstance(prepared, Gold)  # else the answer is unscored
        if (aligned := align(table, prepared, similarity)) is not None:
            filled = filled_rows(gold)
            rows = {aligned.body[row]: filled[own] for row, own in aligned.matched.items()}
    return Detection(
        name=name,
        text=answer,
        table=_content(table),
        score=found.share("cell_recall"),
        coverage=Coverage(
            scored=len(ERROR_TYPES) - len(skipped), total=len(ERROR_TYPES), of="error types"
        ),
        errors=tuple(_of_finding(one, table, gold, rows) for one in found.findings),
        unscored=tuple(Unscored(text=_TITLES[one], reason=why) for one, why in skipped.items()),
        notes=tuple(filter(None, (why_no_table(found),))),
        scorer=found.scorer,
        row_recall=found.share("row_recall"),
        counts={one: found.counts[one] for one in ERROR_TYPES},
        abstained=found.abstained,
    )


def verification(found: records.Verification, draft: Draft) -> Verification:
    """What a verifier found, as a result."""
    claims = tuple(
        Claim(
            text=one.claim.text,
            kind=one.claim.kind,
            statement=one.claim.statement,
            verdict=one.verdict,
            type=one.error_type,
            reason=one.reason,
            evidence=_evidence(one, draft.evidence),
            **_place(one.claim),
        )
        for one in found.verdicts
    )
    return Verification(claims=claims, **_scores(found, draft, draft.text))


def mended(found: edits.Mended, draft: Draft) -> Mended:
    """What a mitigation did, as a result."""
    after = found.after or found.before or records.Verification((), "")
    notes = (*found.notes, *(found.before.notes if found.before else ()))
    return Mended(
        **_scores(after, draft, found.text) | {"notes": notes, "usage": found.usage},
        original=draft.text,
        original_table=_content(draft.read().table),
        score_before=None if found.before is None else found.before.staf,
        edits=found.edits,
        undone=found.undone,
    )


def _scores(found: records.Verification, draft: Draft, text: str) -> dict[str, Any]:
    """What verifications and mended texts have in common; ``text`` is the draft's as it is now."""
    left = [one for one in found.verdicts if one.verdict == "unscored"]
    total, table = len(found.verdicts), draft.read(text).table
    wrong = (one for one in found.verdicts if one.wrong)
    return {
        "name": draft.name,
        "text": text,
        "table": _content(table),
        "score": found.staf,
        "coverage": Coverage(scored=total - len(left), total=total, of="claims"),
        "errors": tuple(_of_wrong(one, text, draft.evidence, table) for one in wrong),
        "unscored": tuple(
            Unscored(text=one.claim.text, reason=one.reason, **_place(one.claim)) for one in left
        ),
        "notes": found.notes,
        "scorer": found.verifier,
        "usage": found.usage,
    }


def _place(claim: records.Claim) -> dict[str, Any]:
    span = None if claim.start is None else (claim.start, claim.end)
    return {"span": span, "row": claim.row, "column": claim.column}


def _of_wrong(found: records.Verdict, text: str, source: Source, table: Table | None) -> Error:
    """A claim that is wrong: the words at fault, where no verifier says which its focus."""
    assert found.error_type is not None  # of everything that is wrong
    claim = found.claim
    place, word = _place(claim), _cell(table, claim.row, claim.column)
    if claim.start is not None:
        place["span"] = (found.spans or (claim.focus or (claim.start, claim.end),))[0]
        word = text[slice(*place["span"])]
    return Error(
        type=found.error_type,
        name=CLAIM_ERROR_NAMES[found.error_type][1],
        word=word,
        claim=claim.text,
        expected=found.expected,
        reason=found.reason,
        evidence=_evidence(found, source),
        **place,
    )


def _evidence(found: records.Verdict, source: Source) -> tuple[Evidence, ...]:
    """What decided, with the name and the content of a cell in place of its number."""
    shown = []
    for one in found.evidence:
        cell: dict[str, Any] = {}
        if one.table is not None and one.row is not None and one.column is not None:
            table = source.tables[one.table]
            column, value = table.columns[one.column], table.rows[one.row][one.column]
            cell = {"table": one.table, "row": one.row, "column": column, "value": value}
        shown.append(Evidence(text=one.text, **cell))
    return tuple(shown)


def _of_finding(
    one: records.Finding, table: Table | None, gold: Table, rows: Mapping[int, int]
) -> Error:
    """A finding of the detector, with the gold cell that it was compared with."""
    evidence = Evidence(text=one.evidence)
    row = None if one.row is None else rows.get(one.row)
    if row is not None and one.column in gold.columns:
        value = gold.rows[row][gold.columns.index(one.column)]
        evidence = Evidence(text=one.evidence, table=0, row=row, column=one.column, value=value)
    return Error(
        type=one.type,
        name=_TITLES[one.type],
        row=one.row,
        column=None if one.type == "format_error" else one.column,
        word=one.got or _cell(table, one.row, one.column),
        claim=one.evidence,
        expected=() if one.expected is None else (one.expected,),
        reason=one.evidence,
        evidence=(evidence,),
    )


def _content(table: Table | None) -> TableContent | None:
    return None if table is None else TableContent(columns=table.columns, rows=table.rows)


def _cell(table: Table | None, row: int | None, column: str | None) -> str:
    """A cell, or the cells of a row; empty for the whole table."""
    if table is None or row is None:
        return ""
    cells = table.rows[row]
    if column in table.columns:
        return cells[table.columns.index(column)] or ""
    return " | ".join(cell or "" for cell in cells)


def _name(what: str, given: object) -> str:
    if isinstance(given, str):
        return given
    raise TablemendError(f"{what}: wanted a name as a text, not {_type(given)}")


def _with_note(found: R, given: object) -> R:
    """The result; it says so where a text is the name of a file."""
    if not isinstance(given, str) or "\n" in given:
        return found
    if not os.path.isfile(given):  # noqa: PTH113 (Path.is_file raises where a text is no name)
        return found
    note = f"{given!r} was taken as the text itself: give Path({given!r}) to have the file read"
    return found.model_copy(update={"notes": (*found.notes, note)})


def _text(what: str, given: object) -> str:
    if isinstance(given, os.PathLike):
        return load_text(Path(os.fsdecode(given)), may_be_empty=True)
    if not isinstance(given, str):
        raise TablemendError(f"{what}: wanted a text, or the path of a file, not {_type(given)}")
    if whole_characters(given) != given:
        raise TablemendError(f"{what}: the text holds half of a surrogate pair, which is none")
    return given


def _answer(what: str, given: object) -> str:
    """An answer; a table as Markdown."""
    if isinstance(given, str | os.PathLike):
        return _text(what, given)
    if isinstance(given, list) and not given:
        return "[]"
    return write_table(_gold(what, given), "markdown")


def _query(given: object) -> str:
    return "" if given is None else _text("query", given)


def _answer_draft(text: str, source: Source) -> Draft:
    """An answer that holds a table.

    Raises:
        TablemendError: it holds none.
    """
    draft = Draft(text, source, "auto")
    found = draft.read()
    if found.table is None:
        raise TablemendError(f"the answer holds no table ({found.reason or 'an empty one'})")
    return draft


def _source(what: str, given: object) -> Source:
    """What to verify by; a text may hold several tables."""
    if isinstance(given, Source):
        return given
    return _read(what, given, lambda table: Source((table,)), load_source, read_source)


def _gold(what: str, given: object) -> Table:
    return _read(what, given, lambda table: table, load_table, read_table)


def _read(
    what: str,
    given: object,
    wrap: Callable[[Table], T],
    load: Callable[[Path], T],
    read: Callable[[str], T],
) -> T:
    """A table in any form that :data:`AnyTable` names.

    Raises:
        TablemendError: starts with ``what``.
    """
    try:
        if is_table(given):
            return wrap(guarded("Python", table_of, given))
        if isinstance(given, os.PathLike):
            return load(Path(os.fsdecode(given)))
        if isinstance(given, str):
            is_name = len(given.strip().splitlines()) == 1 and given.lstrip()[0] not in "[{<|\\"
            return load(Path(given.strip())) if is_name else read(given)
    except TablemendError as error:
        raise TablemendError(f"{what}: {error}") from error
    raise TablemendError(
        f"{what}: wanted a path, a table as CSV, Markdown or JSON text, a dict, a list of dicts or"
        f" a pandas DataFrame, not {_type(given)}"
    )


def _type(given: object) -> str:
    return "an empty list" if isinstance(given, list) and not given else type(given).__name__
