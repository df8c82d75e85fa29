"""Rewards for other trainers: the detector and the verifier as functions of TRL's convention.

``GRPOTrainer(reward_funcs=table_reward, ...)`` calls them with the columns of its data set by name;
a ``verifiers`` task and verl call the same functions (docs/rewards.md). They load no torch. Tables
are texts (Markdown, CSV, JSON), or objects that :func:`~tablemend.tables.jsontable.table_of` reads;
never the name of a file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
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
    partial: bool = False,
    verifier: str = "program",
    **_: Any,
) -> list[float | None]:
    """1 for an answer table without an error, else 0.

    Args:
        completions: the answers; what was thought before them does not count.
        gold: the tables that they should be: columns, rows, cells and the query's order.
        context: the texts that they were made from. Where there is no gold table, every cell and
            row must be supported by it and the query; omitted rows are then not seen.
        query: the questions, whose sort rule and rounding are checked.
        partial: partial credit, 0 to 1: the reward of ``train/grpo.py`` (docs/training.md) at its
            default weights, the marker ``####`` aside; without gold the share of supported claims.
        verifier: of rows without gold, as ``tablemend verify --verifier``.
        _: what else a trainer gives.

    Returns:
        Of each completion its reward, or ``None``, with a warning, where it could not be scored: a
        gold table that cannot be used, or claims without a verdict.

    Raises:
        TablemendError: no such columns, columns of another length, or no texts.
    """
    if gold is None and context is None:
        raise TablemendError(
            "table_reward: the data set needs a column gold (the right table), or context (the "
            "text, to verify by): see Dataset.rename_column"
        )

    def grade(found: Verification) -> float | None:
        counts, total = found.counts, len(found.verdicts)
        right, open_ = counts["supported"], counts["unscored"]
        if partial:
            return None if open_ == total else right / total
        return 0.0 if right + open_ < total else None if open_ or not total else 1.0

    def score(text: str, gold: Any, context: Any, query: Any) -> float | Pending:
        from tablemend.evidence.source import Source
        from tablemend.mitigations.edits import Draft

        if gold is not None:
            return _beside_gold(text, _table("gold", gold), query or "", partial)
        if not context:
            raise TablemendError("neither a gold table nor a context")
        draft = Draft(text, Source(text=context, query=query or ""), "auto")
        table = draft.read().table
        return 0.0 if table is None else Pending(table, draft.evidence, grade)

    columns = {"gold": gold, "context": context, "query": query}
    return _score("table_reward", completions, score, verifier, **columns)


def table_reward_partial(completions: Sequence[Completion], **columns: Any) -> list[float | None]:
    """:func:`table_reward` with partial credit, under a name of its own in a trainer's log."""
    return table_reward(completions, **{**columns, "partial": True})


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
        TablemendError: as in :func:`table_reward`.
    """
    from tablemend.evidence.source import Source
    from tablemend.tasks.tabfaith.task import count_claims, why_no_summary

    if table is None:
        raise TablemendError("summary_reward: the data set needs a column table")

    def score(text: str, table: Any, claims: Any) -> float | Pending:
        source = Source((_table("table", table),))

        def grade(found: Verification) -> float | None:
            supported, total = count_claims(found)
            if total and found.counts["unscored"] == total:
                return None
            return supported / max(1, total) * min(1.0, supported / max(1, claims or 1))

        return 0.0 if why_no_summary(text) else Pending(text, source, grade)

    return _score("summary_reward", completions, score, verifier, table=table, claims=claims)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **options: Any,
) -> float:
    """:func:`table_reward` of one answer by verl's convention (``reward.custom_reward_function``).

    Args:
        data_source: for messages.
        solution_str: the answer.
        ground_truth: the gold table; empty: the context decides.
        extra_info: ``query`` and ``context``.
        options: ``partial`` and ``verifier`` (``reward_kwargs``), and what else verl gives.

    Raises:
        TablemendError: it could not be scored; verl has no reward for that.
    """
    extra = extra_info or {}
    context, query = [extra.get("context")], [extra.get("query")]
    gold = None if ground_truth is None or ground_truth == "" else [ground_truth]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        (found,) = table_reward([solution_str], gold, context, query, **options)
    if found is None:
        raise TablemendError(f"{data_source}: {said[-1].message}")
    return found


class Pending(NamedTuple):
    """An answer that is still to be verified, and what it then earns."""

    document: str | Table
    source: Source
    grade: Callable[[Verification], float | None]


def _beside_gold(text: str, gold: Table, query: str, partial: bool) -> float:
    from tablemend.detector.query import decimals_from_query, sort_rule_from_query
    from tablemend.recipe.training import Reward
    from tablemend.tables.extract import extract_table
    from tablemend.tasks.tablehallu.prompts import FORMATS, MARKER, OutputFormat, answer
    from tablemend.tasks.tablehallu.scoring import Rules, is_right, score_answer

    order = sort_rule_from_query(query, gold.columns)
    decimals = decimals_from_query(query, gold.columns)
    if not partial:
        return float(is_right(text, gold, order, "auto", decimals))
    text = text.removeprefix(MARKER).strip()
    found = extract_table(text, "auto", gold.columns)
    format: OutputFormat = next((one for one in FORMATS if one == found.format), "markdown")
    if format == "json" and found.table and (found.start, found.end) == (0, len(text)):
        text = answer(found.table, format)  # records of any shape are as good as ours
    text = text if MARKER in text else f"{MARKER}\n{text}"
    rules = Rules(Reward().model_dump(), format)
    return score_answer(text, gold, order, rules, decimals=decimals).reward


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
    given = {column: values for column, values in columns.items() if values is not None}
    for column, values in given.items():
        if len(values) != len(completions):
            raise TablemendError(
                f"{name}: {column} has {len(values)} values for {len(completions)} completions"
            )

    def attempt(number: int, call: Callable[..., Any], *own: Any, **named: Any) -> Any:
        try:
            if (found := call(*own, **named)) is not None:
                return found
            reason = "no verdict on what it says"
        except (OSError, MemoryError, ImportError):
            raise
        except TablemendError as error:
            reason = str(error)
        except Exception as error:  # whatever it is, it must not become a number
            reason = defect(error)
        why = f"{name}: row {number} could not be scored (None): {reason}"
        warnings.warn(why, stacklevel=4)
        return None

    texts = [_text(name, one) for one in completions]
    found = [
        attempt(n, score, text, **{one: given[one][n] if one in given else None for one in columns})
        for n, text in enumerate(texts)
    ]
    if pending := {n: one for n, one in enumerate(found) if isinstance(one, Pending)}:
        from tablemend.verifier.staf import verify_documents

        documents = [(one.document, one.source) for one in pending.values()]
        verified = verify_documents(documents, _verifier(verifier))
        for (number, one), result in zip(pending.items(), verified, strict=True):
            found[number] = attempt(number, one.grade, result)
    return found


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
