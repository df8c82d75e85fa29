"""The examples of a report, packed for the viewer in the page (viewer.js): an index to list and
filter by, words to search, and blocks that are opened one by one.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tablemend.records import Answer, ContextKind, Judgement, SampleView
from tablemend.reports.wording import contexts_of, formats_of, metrics_of, total_of
from tablemend.tables.extract import extract_table
from tablemend.tables.read import Format
from tablemend.tables.table import Table
from tablemend.thinking import end_of_thinking

BLOCK = 1 << 18
"""Characters of a block before it is compressed: what is read to open one example."""
BETWEEN_WORDS = re.compile(r'[\s|"<>{}\[\]]+')
"""Where a text is cut for the search; viewer.js cuts what is searched for in the same way."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One answer on the page."""

    answer: Answer
    judgement: Judgement


ShownSystems = Mapping[str, Mapping[ContextKind, Mapping[str, Shown]]]
"""system -> context -> example id -> answer and judgement."""
Views = Mapping[ContextKind, Mapping[str, SampleView]]
"""context -> example id -> what was shown."""


def pack_examples(
    results: Mapping[str, Any], views: Views, shown: ShownSystems
) -> dict[str, Markup]:
    """Every example with every answer.

    Returns:
        ``index``, ``words``, ``block-0``, ``block-1``, ... -> JSON, deflated, in base64.
    """
    metrics, formats = metrics_of(results), formats_of(results)
    errors = [one.name for one in metrics if one.kind == "error"]
    numbers: dict[str, int] = {}  # of the words
    rows, words, entries, starts, size = [], [], list[str](), [0], 0
    for place, view in enumerate(_in_order(results, views)):
        answers = {
            system: kinds[view.view].get(view.id) for system, kinds in shown.items()
        }  # fmt: skip
        gold = view.gold.columns if isinstance(view.gold, Table) else ()
        packed = [
            one and _answer(one, formats[system], gold) for system, one in answers.items()
        ]  # fmt: skip
        entries.append(json.dumps(view.to_json() | {"marks": _marks(view), "answers": packed}))
        rows.append(_index_row(view, answers.values(), errors))
        found = {
            numbers.setdefault(word, len(numbers))
            for text in _texts(view, answers.values())
            for word in BETWEEN_WORDS.split(text.lower())
        }
        words.append(_steps(sorted(found)))
        if size > BLOCK:
            starts.append(place)
            size = 0
        size += len(entries[-1])
    index = {
        "systems": list(shown),
        "contexts": results["contexts"],
        "errors": [[one.name, one.title] for one in metrics if one.kind == "error"],
        "shares": [[one.name, one.title] for one in metrics if one.kind == "share"],
        "total": total_of(results).title,
        "blocks": starts,
        "rows": rows,
    }
    parts = {
        "index": json.dumps(index),
        "words": json.dumps({"words": list(numbers), "rows": words}, separators=(",", ":")),
    }
    for number, (start, end) in enumerate(pairwise([*starts, len(entries)])):
        parts[f"block-{number}"] = f"[{','.join(entries[start:end])}]"
    return {name: _compress(text) for name, text in parts.items()}


def _in_order(results: Mapping[str, Any], views: Views) -> Iterator[SampleView]:
    """Contexts of an example stand together: they are alike, and compress each other."""
    for example_id in dict.fromkeys(name for own in views.values() for name in own):
        for context in contexts_of(results):
            if example_id in views[context]:
                yield views[context][example_id]


def _index_row(
    view: SampleView, answers: Iterable[Shown | None], errors: Sequence[str]
) -> dict[str, Any]:
    labels = {"domain": [view.domain], **view.labels, "calculation": [view.calculation]}
    return {
        "id": view.id,
        "context": view.view,
        "title": view.title,
        "query": view.query[:160],
        "labels": labels,
        "outcomes": [one and _outcomes(one.judgement, errors) for one in answers],
    }


def _outcomes(judgement: Judgement, errors: Sequence[str]) -> list[str]:
    """What an answer can be found by: its types of error, or else the one thing that it is."""
    if judgement.unscored:
        return ["unscored"]
    found = [name for name in errors if judgement.counts[name]]
    return found or ["abstention" if judgement.abstained else "right"]


def _texts(view: SampleView, answers: Iterable[Shown | None]) -> Iterator[str]:
    """All that a search looks into."""
    yield from (view.id, view.title, view.note, view.query, view.text)
    gold = () if view.gold is None else (view.gold,)
    for one in (*view.tables, *gold):
        if isinstance(one, Table):
            yield from one.columns
            yield from (cell for row in one.rows for cell in row if cell is not None)
        else:
            yield one
    yield from (one.answer.text for one in answers if one)


def _marks(view: SampleView) -> list[Any]:
    """One list for each thing known of them, places from one to the next: so they compress."""
    starts, ends, kinds, reasons = zip(*view.marks, strict=True) if view.marks else ([],) * 4
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    return [_steps(starts), lengths, kinds, reasons]


def _answer(shown: Shown, format: Format | None, columns: tuple[str, ...]) -> dict[str, Any]:
    """An answer with its findings; ``table`` and ``unreadable`` where a table was asked for."""
    answer, judgement = shown.answer, shown.judgement
    packed = {
        "text": answer.text,
        "begin": end_of_thinking(answer.text),
        "tokens": answer.completion_tokens,
        "ending": answer.finish_reason,
        "error": answer.error,
        "unscored": judgement.unscored,
        "shares": judgement.shares,
        "findings": [asdict(finding) for finding in judgement.findings],
    }
    if format is not None:
        read = extract_table(answer.text, format, columns)
        packed["table"] = read.table and read.table.to_json()
        packed["unreadable"] = read.reason
    return packed


def _steps(numbers: Sequence[int]) -> list[int]:
    """Each number less the one before it: small ones compress."""
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]


def _compress(text: str) -> Markup:
    """For an inert ``<script>``: base64 has no character that ends it."""
    return Markup(base64.b64encode(zlib.compress(text.encode(), 9)).decode())
