"""What a model answered, read strictly but not pettily; what cannot be read says why.

Prose around one JSON object, code fences and a line of introduction are tolerated. Nothing is
completed, guessed or cut: an answer that needs that is unreadable, and is asked for again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from tablemend.pipeline.drafts import KernelDraft, Problem
from tablemend.records import Condition, Constraints, SortOrder
from tablemend.tables.table import Cell, Table

EMPTY = "empty answer"
REFUSED = "refusal"
NO_JSON = "no JSON object"
TRUNCATED = "truncated JSON"
INVALID = "invalid JSON"
SEVERAL = "several JSON objects"
WRONG_FIELD = "missing or wrong field"
NESTED = "nested value in a cell"
UNEVEN = "row of another length than the header"
BAD_CHARACTER = "character that no text may hold"
NO_VERDICT = "no verdict"
TWO_VERDICTS = "contradicting verdicts"
WRONG_COUNT = "wrong number of sentences"
NOT_PROSE = "not the text alone"

_MAX_TRIES = 64
_LONGEST_VERDICT = 80
_FENCE = "```"
_BRACE = re.compile(r'[{}]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A brace, or a string, whose braces do not count."""
_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_INTRODUCTION = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[^\n]{0,120}"
    r"|here(?: is|'s|\u2019s| are)\b[^\n]{0,120}|below is\b[^\n]{0,120}):[*_ ]*(?:\n+|\Z)"
    r"|[*#_ ]*(?:query|request|(?:expanded|final|long) (?:context|text))[*_ ]*:[*_ ]*\n*",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\W*(?:(?:i['\u2019]?m|i am) (?:(?:very|so|really) )?(?:sorry|afraid|unable|not able)"
    r"|(?:i['\u2019]?m|i am) (?:just )?an? (?:ai|language model)"
    r"|sorry\b|apologies\b|my apologies\b|as an? (?:ai|language model)\b"
    r"|i (?:cannot|can['\u2019]?t|can not|won['\u2019]?t|will not|must decline|decline)\b"
    r"|unfortunately,? (?:i|this|the)\b|this request (?:cannot|can['\u2019]?t|violates)\b)",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"[\W_]*verdict[\W_]*?[:=][\W_]*(\w+)[\W_]*", re.IGNORECASE)
_SORT_ORDERS: dict[str, SortOrder] = {
    "ascending": "ascending",
    "asc": "ascending",
    "descending": "descending",
    "desc": "descending",
}
_NONE = frozenset({"", "none", "null", "n/a"})


class Unreadable(Exception):
    """An answer that cannot be read.

    Attributes:
        problem: the kind to count by, and the reason as the model is told it.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.problem = Problem(kind, text)


class Verdict(NamedTuple):
    """What a verifier decided, and its findings in its own words."""

    ok: bool
    reason: str


def read_kernel(text: str) -> KernelDraft:
    """The table and its text; every cell is the text that the model wrote, ``1.50`` included.

    Raises:
        Unreadable: the answer is no such object.
    """
    data = _one_object(text, ("columns", "rows", "sort_column", "sort_order", "context"))
    columns = [_cell(name, "a column name") for name in _list(data, "columns")]
    if not columns or None in columns:
        raise Unreadable(WRONG_FIELD, '"columns" must be a list of names, none of them empty.')
    header = [name for name in columns if name]
    rows = []
    for number, row in enumerate(_list(data, "rows"), 1):
        if not isinstance(row, list):
            raise Unreadable(WRONG_FIELD, f'Row {number} of "rows" must be a list of cells.')
        if len(row) != len(header):
            raise Unreadable(
                UNEVEN, f"Row {number} has {len(row)} cells, but there are {len(header)} columns."
            )
        rows.append([_cell(cell, f"row {number}") for cell in row])
    title = data.get("title")
    return KernelDraft(
        Table.of(header, rows, " ".join(title.split()) if isinstance(title, str) else ""),
        _words(data, "sort_column"),
        _sort_order(data),
        _paragraphs(_string(data, "context")),
    )


def read_query(text: str) -> str:
    """The request, as one line.

    Raises:
        Unreadable: nothing, a refusal, or more than the request.
    """
    query = " ".join(_prose(text).split())
    for mark in ('"', "'", "`"):
        if query[:1] == query[-1:] == mark and query.count(mark) == 2 and len(query) > 2:
            query = query[1:-1].strip()
    if not query:
        raise Unreadable(EMPTY, "The answer was empty.")
    return query


def read_context(text: str) -> str:
    """A text in paragraphs.

    Raises:
        Unreadable: nothing, a refusal, or data instead of prose.
    """
    return _paragraphs(_prose(text))


def read_constraints(text: str) -> Constraints:
    """The four fields of the paper and the conditions; a ``constraints`` wrapper is opened.

    Raises:
        Unreadable: the answer is no such object.
    """
    data = _one_object(text, ("entity_scope", "sort_column", "sort_order", "conditions"))
    scope = data["entity_scope"]
    phrases = [scope] if isinstance(scope, str) else _list(data, "entity_scope")
    entity_scope = tuple(
        phrase for item in phrases if (phrase := _cell(item, '"entity_scope"')) is not None
    )
    span = _end(data.get("numerical_range"), '"numerical_range"')
    conditions = []
    for number, item in enumerate(_list(data, "conditions"), 1):
        if not isinstance(item, dict):
            raise Unreadable(WRONG_FIELD, f'Entry {number} of "conditions" must be an object.')
        conditions.append(_condition(item, f"condition {number}"))
    return Constraints(
        entity_scope, span, _words(data, "sort_column"), _sort_order(data), tuple(conditions)
    )


def read_verdict(text: str, yes: str, no: str) -> Verdict:
    """The verdict on the last line, ``VERDICT: yes`` or ``VERDICT: no``, and what precedes it.

    Behind it only marks may stand, such as the end of a code fence: whoever goes on writing may
    be taking the verdict back.

    Raises:
        Unreadable: no such line, two that contradict each other, or more text behind it.
    """
    words = {yes.casefold(): True, no.casefold(): False}
    said, reason = [], []
    ended = False
    for line in _checked(text).splitlines():
        match = _VERDICT.fullmatch(line) if len(line) <= _LONGEST_VERDICT else None
        if match and match[1].casefold() in words:
            said.append(words[match[1].casefold()])
            ended = True
        else:
            reason.append(line)
            ended = ended and not any(map(str.isalnum, line))
    if len(set(said)) > 1:
        raise Unreadable(TWO_VERDICTS, f"The answer says both {yes} and {no}.")
    if not ended:
        kind = REFUSED if _REFUSAL.match(text) else NO_VERDICT if text.strip() else EMPTY
        raise Unreadable(kind, f'The answer must end with "VERDICT: {yes}" or "VERDICT: {no}".')
    return Verdict(said[0], "\n".join(reason).strip())


def read_paraphrases(text: str, count: int) -> list[str]:
    """As many sentences as were given, each as one line.

    Raises:
        Unreadable: no list of that many texts.
    """
    data = _one_object(text, ("sentences",))
    sentences = []
    for number, item in enumerate(_list(data, "sentences"), 1):
        if not isinstance(item, str) or not item.strip():
            raise Unreadable(WRONG_FIELD, f'Item {number} of "sentences" must be a sentence.')
        sentences.append(" ".join(item.split()))
    if len(sentences) != count:
        raise Unreadable(
            WRONG_COUNT, f"{count} sentences were asked for, {len(sentences)} were given."
        )
    return sentences


def _condition(item: dict[str, Any], where: str) -> Condition:
    values = item.get("values")
    if values is None:
        values = []
    if not isinstance(values, list):
        values = [values]
    return Condition(
        _words(item, "column"),
        _end(item.get("low"), where),
        _end(item.get("high"), where),
        tuple(value for one in values if (value := _cell(one, where)) is not None),
    )


def _end(value: Any, where: str) -> str | None:
    """A range or an end of one; "None" is how many models write null."""
    text = _cell(value, where)
    return None if text is None or text.casefold() in _NONE else text


def _one_object(text: str, required: Iterable[str]) -> dict[str, Any]:
    """The one JSON object of an answer that has the required fields.

    Objects inside an object do not count, neither in one that can be read nor in one that cannot,
    so that half an answer is never taken for a whole.
    """
    required = tuple(required)
    _checked(text)
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique_pairs, parse_float=str, parse_int=str, parse_constant=_no_constant
    )
    found: list[dict[str, Any]] = []
    partial: list[str] = []
    failure: Unreadable | None = None
    position = text.find("{")
    for _ in range(_MAX_TRIES):
        if position < 0:
            break
        try:
            data, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            failure = failure or _failure(error, text)
            end = _end_of_object(text, position)
        except (ValueError, RecursionError) as error:
            failure = failure or Unreadable(INVALID, f"The JSON cannot be read: {error}.")
            end = _end_of_object(text, position)
        else:
            data = _unwrap(data, required)
            missing = [name for name in required if name not in data]
            if not missing:
                found.append(data)
            elif len(missing) < len(required) or len(required) == 1:
                partial = partial or missing
        position = text.find("{", end)
    if len(found) > 1 and any(one != found[0] for one in found):
        raise Unreadable(SEVERAL, "Give one JSON object only.")
    if found and (failure is None or failure.problem.kind != TRUNCATED):
        _check_strings(found[0])
        return found[0]
    if failure is not None:
        raise failure
    if partial:
        raise Unreadable(WRONG_FIELD, f"The JSON object lacks the field {_quoted(partial)}.")
    if not text.strip():
        raise Unreadable(EMPTY, "The answer was empty.")
    if _REFUSAL.match(text):
        raise Unreadable(REFUSED, "The answer was a refusal.")
    raise Unreadable(NO_JSON, "The answer must be one JSON object of the form asked for.")


def _end_of_object(text: str, start: int) -> int:
    """Behind the brace that closes what opens at ``start``; the end of the text without one."""
    depth = 0
    for mark in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return mark.end()
    return len(text)


def _unwrap(data: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    """``{"constraints": {...}}`` and the like as what is inside."""
    if len(data) == 1 and not any(name in data for name in required):
        inner = next(iter(data.values()))
        if isinstance(inner, dict):
            return inner
    return data


def _failure(error: json.JSONDecodeError, text: str) -> Unreadable:
    if error.msg.startswith("Unterminated string") or not text[error.pos :].strip(" \t\r\n`"):
        return Unreadable(TRUNCATED, "The JSON object breaks off before its end.")
    return Unreadable(INVALID, f"The JSON cannot be read: {error.msg} (line {error.lineno}).")


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _check_strings(value: Any) -> None:
    """Escapes can hold what no file can: half a surrogate pair, a zero byte."""
    if isinstance(value, str):
        _checked(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _checked(key)
            _check_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_strings(item)


def _checked(text: str) -> str:
    """The text, if it can be written to any file."""
    if match := _BAD.search(text):
        raise Unreadable(BAD_CHARACTER, f"The answer holds the character U+{ord(match[0]):04X}.")
    return text


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list):
        raise Unreadable(WRONG_FIELD, f'"{name}" must be a list.')
    return value


def _string(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Unreadable(WRONG_FIELD, f'"{name}" must be a text that is not empty.')
    return value


def _words(data: dict[str, Any], name: str) -> str:
    return " ".join(_string(data, name).split())


def _sort_order(data: dict[str, Any]) -> SortOrder:
    order = _SORT_ORDERS.get(_string(data, "sort_order").strip().casefold())
    if order is None:
        raise Unreadable(WRONG_FIELD, '"sort_order" must be "ascending" or "descending".')
    return order


def _cell(value: Any, where: str) -> Cell:
    """A single value as text with plain spaces; the decoder left numbers as they were written."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return " ".join(value.split()) or None
    raise Unreadable(NESTED, f"In {where} a value is a list or an object; it must be a single one.")


def _prose(text: str) -> str:
    """An answer that is asked for as plain text, without fence and introduction."""
    text = _unfenced(_checked(text))
    if match := _INTRODUCTION.match(text):
        text = _unfenced(text[match.end() :])
    if not text:
        raise Unreadable(EMPTY, "The answer was empty.")
    if _REFUSAL.match(text):
        raise Unreadable(REFUSED, "The answer was a refusal.")
    if text[0] in "{[" or _FENCE in text:
        raise Unreadable(NOT_PROSE, "Answer with the plain text alone, without JSON or code.")
    return text


def _unfenced(text: str) -> str:
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE) and text.count(_FENCE) == 2:
        first, _, rest = text[len(_FENCE) : -len(_FENCE)].partition("\n")
        return rest.strip() if len(first.split()) < 2 else text
    return text


def _paragraphs(text: str) -> str:
    """Paragraphs between empty lines, each on one line."""
    return "\n\n".join(
        " ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
