"""Rewards for other trainers: the detector and the verifier as functions of TRL's convention.

``GRPOTrainer(reward_funcs=table_reward, ...)`` calls them with the columns of its data set by name;
a ``verifiers`` task and verl call the same functions (docs/rewards.md). They are given texts and
tables alone, and load no torch. Tables are texts (Markdown, CSV, JSON), or objects that
:func:`~tablemend.tables.jsontable.table_of` reads; never the name of a file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tablemend.errors import TablemendError, defect

if TYPE_CHECKING:
    from tablemend.evidence.source import Source
    from tablemend.records import Verification
    from tablemend.tables.table import Table
    from tablemend.verifier.verifiers import Verifier

Completion: TypeAlias = str | Sequence[Mapping[str, Any]]
"""A text, or the messages of an answer, of which the last one counts."""
Column: TypeAlias = Sequence[Any] | None
"""A column of the data set: one value a completion."""


def table_reward(
    completions: Sequence[Completion],
    gold: Column = None,
    context: Column = None,
    query: Column = None,
    *,
    verifier: str = "program",
    **_: Any,
) -> list[float | None]:
    """1 for an answer table without an error, else 0.

    With ``gold``, if columns, rows, cells and the query's order are the gold table's. Without, if
    every cell and row is supported by the context and the query; omitted rows are then not seen.

    Args:
        completions: the answers; what was thought before them does not count.
        gold: the tables that they should be.
        context: the texts that they were made from; read where there is no gold table.
        query: the questions, whose sort rule and rounding are checked.
        verifier: of rows without gold, as ``tablemend verify --verifier``.
        _: what else a trainer gives.

    Returns:
        Of each completion its reward, or ``None`` where it could not be scored: a gold table that
        cannot be used, or claims without a verdict. A warning says why.

    Raises:
        TablemendError: no such columns, columns of another length, or no texts.
    """
    return _table_rewards(completions, gold, context, query, verifier, binary=True)


def table_reward_partial(
    completions: Sequence[Completion],
    gold: Column = None,
    context: Column = None,
    query: Column = None,
    *,
    verifier: str = "program",
    **_: Any,
) -> list[float | None]:
    """The same with partial credit, 0 to 1.

    With ``gold`` the reward of ``train/grpo.py`` (docs/training.md) at its default weights, the
    marker ``####`` aside; without, the supported cells and rows of all.
    """
    return _table_rewards(completions, gold, context, query, verifier, binary=False)


def summary_reward(
    completions: Sequence[Completion],
    table: Column = None,
    claims: Column = None,
    *,
    verifier: str = "program",
    **_: Any,
) -> list[float | None]:
    """The supported claims of a text, of all its claims: STAF times coverage. No gold is read.

    A claim without a verdict, or said again, pays nothing; nor does a text without a claim.

    Args:
        completions: the texts.
        table: the tables that they are about.
        claims: how many supported claims earn all of it; without, one true sentence does.
        verifier: as ``tablemend verify --verifier``.
        _: what else a trainer gives.

    Returns:
        Of each completion its reward; ``None`` where no claim has a verdict.

    Raises:
        TablemendError: see :func:`table_reward`.
    """
    from tablemend.evidence.source import Source
    from tablemend.tasks.tabfaith.task import count_claims, why_no_summary

    if table is None:
        raise TablemendError("summary_reward: the data set needs a column table")

    def grade(wanted: int | None, found: Verification) -> float | None:
        supported, total = count_claims(found)
        if total and found.counts["unscored"] == total:
            return None
        enough = 1.0 if wanted is None else min(1.0, supported / max(1, wanted))
        return enough * supported / max(1, total)

    def score(text: str, table: Any, claims: Any) -> float | Pending:
        source = Source((_table("table", table),))
        if why_no_summary(text):
            return 0.0
        return Pending(text, source, partial(grade, claims))

    return _score("summary_reward", completions, score, verifier, table=table, claims=claims)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    partial: bool = False,
    **_: Any,
) -> float:
    """One answer by verl's convention (``reward.custom_reward_function``).

    Args:
        data_source: not read.
        solution_str: the answer.
        ground_truth: the gold table; empty: verified by the context.
        extra_info: ``query`` and ``context``.
        partial: partial credit (``reward_kwargs``).
        _: what else verl gives.

    Raises:
        TablemendError: it could not be scored; verl has no reward for that.
    """
    extra = extra_info or {}
    reward = table_reward_partial if partial else table_reward
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        (found,) = reward(
            [solution_str],
            None if ground_truth is None or ground_truth == "" else [ground_truth],
            [extra.get("context")],
            [extra.get("query")],
        )
    if found is None:
        reason = str(said[-1].message) if said else "no claim has a verdict"
        raise TablemendError(f"{data_source}: {reason}")
    return found


class Pending(NamedTuple):
    """An answer that is still to be verified, and what it then earns."""

    document: str | Table
    source: Source
    grade: Callable[[Verification], float | None]


def _table_rewards(
    completions: Sequence[Completion],
    gold: Column,
    context: Column,
    query: Column,
    verifier: str,
    binary: bool,
) -> list[float | None]:
    from tablemend.detector.query import decimals_from_query, sort_rule_from_query
    from tablemend.evidence.source import Source
    from tablemend.mitigations.edits import Draft
    from tablemend.recipe.training import Reward
    from tablemend.tables.extract import extract_table
    from tablemend.tasks.tablehallu.prompts import FORMATS, MARKER, OutputFormat, answer
    from tablemend.tasks.tablehallu.scoring import Rules, is_right, score_answer

    if gold is None and context is None:
        raise TablemendError(
            "table_reward: the data set needs a column gold (the right table), or context (the "
            "text, to verify by): see Dataset.rename_column"
        )

    def grade(found: Verification) -> float | None:
        counts, total = found.counts, len(found.verdicts)
        if counts["unscored"] == total:
            return None
        if not binary:
            return counts["supported"] / total
        wrong = total - counts["supported"] - counts["unscored"]
        return 0.0 if wrong else None if counts["unscored"] else 1.0

    def score(text: str, gold: Any, context: Any, query: Any) -> float | Pending:
        query = query or ""
        if gold is None and not context:
            raise TablemendError("neither a gold table nor a context")
        if gold is None:
            draft = Draft(text, Source(text=context, query=query), "auto")
            table = draft.read().table
            return 0.0 if table is None else Pending(table, draft.evidence, grade)
        right = _table("gold", gold)
        order = sort_rule_from_query(query, right.columns)
        decimals = decimals_from_query(query, right.columns)
        if binary:
            return float(is_right(text, right, order, "auto", decimals))
        text = text.removeprefix(MARKER).strip()
        found = extract_table(text, "auto", right.columns)
        format: OutputFormat = next((one for one in FORMATS if one == found.format), "markdown")
        if format == "json" and found.table and (found.start, found.end) == (0, len(text)):
            text = answer(found.table, format)  # records of any shape are as good as ours
        text = text if MARKER in text else f"{MARKER}\n{text}"
        rules = Rules(Reward().model_dump(), format)
        return score_answer(text, right, order, rules, decimals=decimals).reward

    columns = {"gold": gold, "context": context, "query": query}
    return _score("table_reward", completions, score, verifier, **columns)


def _score(
    name: str,
    completions: Sequence[Completion],
    score: Callable[..., float | Pending],
    verifier: str,
    **columns: Column,
) -> list[float | None]:
    """The rewards of all completions; those that are to be verified are verified together."""
    if isinstance(completions, str | Mapping) or not isinstance(completions, Sequence):
        raise TablemendError(f"{name}: completions: wanted a list of texts or of message lists")
    for column, values in columns.items():
        if values is not None and len(values) != len(completions):
            raise TablemendError(
                f"{name}: {column} has {len(values)} values for {len(completions)} completions"
            )
    found: list[float | Pending | None] = []
    for number, completion in enumerate(completions):
        own = {one: None if values is None else values[number] for one, values in columns.items()}
        text = _text(name, completion)
        found.append(_or_none(name, number, lambda text=text, own=own: score(text, **own)))
    open_ = [(number, one) for number, one in enumerate(found) if isinstance(one, Pending)]
    if open_:
        from tablemend.verifier.staf import verify_documents

        documents = [(one.document, one.source) for _, one in open_]
        for (number, one), verified in zip(
            open_, verify_documents(documents, _verifier(verifier)), strict=True
        ):
            found[number] = _or_none(name, number, partial(one.grade, verified))
    return [None if isinstance(one, Pending) else one for one in found]


def _or_none(name: str, number: int, call: Callable[[], Any]) -> Any:
    """What a call gives; ``None``, with a warning, where the row cannot be scored."""
    try:
        if (found := call()) is not None:
            return found
        reason = "no verdict on what it says"
    except (OSError, MemoryError, ImportError):
        raise
    except TablemendError as error:
        reason = str(error)
    except Exception as error:  # whatever it is, it must not become a number
        reason = defect(error)
    warnings.warn(f"{name}: row {number} could not be scored (None): {reason}", stacklevel=4)
    return None


def _text(name: str, completion: Completion) -> str:
    """The last message's text, without what was thought before it."""
    from tablemend.thinking import behind_thinking

    text: Any = completion
    if not isinstance(completion, str):
        try:
            text = completion[-1]["content"] or ""  # none beside calls of tools
            if not isinstance(text, str):
                text = "".join(part.get("text", "") for part in text)
        except (LookupError, TypeError, AttributeError) as error:
            raise TablemendError(
                f"{name}: a completion is a text, or a list of messages with content, not "
                f"{str(completion)[:60]!r}"
            ) from error
    return behind_thinking(text).strip()


def _table(name: str, given: object) -> Table:
    """A table, as a text or an object."""
    from tablemend.tables.jsontable import is_table, table_of
    from tablemend.tables.read import guarded, read_table

    if isinstance(given, str):
        return read_table(given)
    if is_table(given):
        return guarded("Python", table_of, given)
    raise TablemendError(f"{name}: wanted a table as text, not {type(given).__name__}")


@cache
def _verifier(name: str) -> Verifier:
    """Opened once for a whole training."""
    from tablemend.verifier.staf import open_verifier

    return open_verifier(name)
