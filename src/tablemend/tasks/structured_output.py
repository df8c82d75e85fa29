"""Structured output: a text in, a JSON record that fits a schema out (task ``records``).

Errors are found by value, wherever an object is in its list: lists of objects are matched as the
detector matches rows. Beside them are three figures of the Structured Output Benchmark (arXiv
2604.25359, ``evaluate.py``), which compare places and types exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tablemend.detector.algorithm import align
from tablemend.detector.keys import Gold, filled_rows, prepare_gold
from tablemend.errors import NoTarget, TablemendError
from tablemend.foreign import load_json
from tablemend.records import ABSTENTION, UNSCORED, Finding, Judgement, Metric, Share, total
from tablemend.tables.table import Table
from tablemend.tasks.task import Record, Task, after_thinking
from tablemend.values.cells import same_value
from tablemend.values.text import on_one_line

ERRORS = (
    Metric("schema_error", "Not the schema", "schema", "no JSON object, or not of the schema"),
    Metric("left_out", "Left out", "left out", "a value or object that the answer lacks"),
    Metric("wrong_value", "Wrong value", "wrong", "another value in place of the right one"),
    Metric("made_up", "Made up", "made up", "a value or object that gold, or the text, lacks"),
)
SHARES = (
    Metric("schema", "JSON pass rate", "schema kept", "records that fit the schema", "share"),
    Metric("values", "Value accuracy", "values right", "values of gold at their places; 0 where "
           "the schema is not kept, or other places are filled", "share"),
    Metric("record", "Perfect response", "record right", "records equal to gold", "share"),
)  # fmt: skip
COVERED = 0.95
"""F1 of the places of values below which no value counts (the benchmark's gate for texts)."""
INSTRUCTION = (
    "{text}\n\nWrite all that this says as one JSON object that fits the JSON schema, and nothing "
    "else. Use null for what is not said.\n\nJSON schema:\n{schema}"
)
_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


class RecordSample(Record):
    """``text``, JSON ``schema``; ``record``, the gold: without it values are looked up in the
    text; ``columns``, keys of answers and what gold calls them.
    """

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> RecordSample:
        for name, kind in (("text", str), ("schema", dict)):
            if not isinstance(fields.get(name), kind):
                raise TablemendError(f"needs {name}, a {kind.__name__}")
        if (problem := misfit(fields.get("record"), fields["schema"])) and "record" in fields:
            raise TablemendError(f"its record does not fit its schema: {problem}")
        return cls(fields)


class StructuredOutput(Task[Any]):
    """A model reads a text and writes a JSON record that fits a schema. Counted are values that
    the text does not bear out, those left out, and records that do not fit.
    """

    name = "records"
    errors = ERRORS
    metrics = (*ERRORS, total(ERRORS, "any error"), *SHARES, ABSTENTION, UNSCORED)
    views: ClassVar[Mapping[str, str]] = {"text": "texts"}
    makes = "python data_gen/records.py"
    mendable = False
    packages = ("jsonschema",)
    sample_type = RecordSample

    def messages(self, sample: Any, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        schema = sample.schema if isinstance(sample.schema, str) else json.dumps(sample.schema)
        content = INSTRUCTION.replace("{schema}", schema).replace("{text}", sample.text)
        return [{"role": "user", "content": content}]

    def target(self, sample: Any, view: str, thinking: str) -> str:
        if "record" not in sample.fields:
            raise NoTarget("it has no record")
        return after_thinking(self.name, thinking, json.dumps(sample.record, ensure_ascii=False))

    def score(self, sample: Any, answer: str) -> Judgement:
        given = {name: sample.fields.get(name) for name in ("schema", "columns")}
        return detect_records(answer, sample.fields.get("record"), sample.text, **given)


def detect_records(
    answer: str,
    gold: Any = None,
    source: str = "",
    schema: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Judgement:
    """The errors of a JSON record, nested or not, beside its gold or its source.

    Args:
        answer: the answer without thinking: JSON alone, or in its last code block.
        gold: the record that it should be; ``None``: every value must be in the source.
        source: the text that it was made from.
        schema: the JSON schema that it has to fit.
        columns: keys of the answer, at any depth, and what they are called in gold and schema.

    Returns:
        Findings whose ``column`` is the path in gold (``teams[0].points``), and :data:`SHARES`.
    """
    try:
        got = _renamed(load_json((_BLOCK.findall(answer) or [answer])[-1].strip()), columns or {})
    except ValueError as error:
        got, problem = None, f"no JSON: {error}"
    else:
        got, problem = (got, "") if isinstance(got, dict | list) else (None, "no JSON object")
        problem = problem or misfit(got, schema or {})
    findings = [Finding("schema_error", None, None, None, None, problem)] if problem else []
    wanted, said = dict(_leaves(gold, "")), {} if got is None else dict(_leaves(got, ""))
    if gold is None:
        wanted = said
        lost = [path for path, value in wanted.items() if not _is_said(value, source)]
        for path in lost:
            findings += _alone(None, wanted[path], path)
        right = len(wanted) - len(lost)
    else:
        findings += [] if got is None else _compare(gold, got, "")
        right = sum(path in said and _is_equal(own, said[path]) for path, own in wanted.items())
        shared = len(wanted.keys() & said.keys())
        right *= 2 * shared >= COVERED * (len(wanted) + len(said))
    whole = not findings if gold is None else _is_equal(gold, got)
    values = Share(0 if problem else right, len(wanted))
    shares = {"schema": Share(not problem, 1), "values": values, "record": Share(whole, 1)}
    return Judgement(tuple(findings), shares)


def misfit(value: Any, schema: Mapping[str, Any]) -> str:
    """Why a value does not fit a schema, in one line; empty where it does.

    Raises:
        TablemendError: the schema is none.
    """
    from jsonschema import SchemaError
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        raise TablemendError(f"schema: {on_one_line(error.message, 200)}") from error
    found = best_match(validator_for(schema)(schema).iter_errors(value))
    return "" if found is None else on_one_line(f"{found.json_path}: {found.message}", 200)


def _is_equal(one: Any, other: Any) -> bool:
    """The same JSON, the order of keys aside: 1 is not 1.0, nor true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _renamed(value: Any, columns: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {columns.get(key, key): _renamed(one, columns) for key, one in value.items()}
    return [_renamed(one, columns) for one in value] if isinstance(value, list) else value


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values that hold no others, by their paths."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(one, _path(path, key))
    else:
        yield path, value


def _path(path: str, key: str | int) -> str:
    return f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key


def _is_said(value: Any, source: str) -> bool:
    """Whether a text has a value: its words, or a number that is the same."""
    words = re.escape(str(value).strip())
    return (
        value is None
        or isinstance(value, bool)
        or re.search(rf"(?<!\w){words}(?!\w|[.,]\d)", source, re.IGNORECASE) is not None
        or any(same_value(str(value), one) for one in re.findall(r"\d[\d.,]*\d|\d", source))
    )


def _compare(gold: Any, got: Any, path: str) -> Iterator[Finding]:
    """What differs, by value; lists in any order."""
    pairs: dict[str | int, tuple[Any, Any]] = {}
    if isinstance(gold, dict) and isinstance(got, dict):
        pairs = {key: (gold.get(key), got.get(key)) for key in (*gold, *got)}
    elif isinstance(gold, list) and isinstance(got, list):
        pairs = dict(enumerate(_pairs(gold, got)))
    elif gold is None or got is None:
        yield from _alone(gold, got, path)
    elif isinstance(gold, dict | list) or not same_value(str(gold), str(got)):
        yield Finding("wrong_value", None, path, str(gold), str(got), f"{got}, not {gold}")
    for key, (own, one) in pairs.items():
        yield from _compare(own, one, _path(path, key))


def _alone(gold: Any, got: Any, path: str) -> Iterator[Finding]:
    """What only one of the two has; a null is nothing."""
    if gold is not None:
        yield Finding("left_out", None, path, str(gold), None, f"{path} is left out")
    elif got is not None:
        yield Finding("made_up", None, path, None, str(got), f"nothing has {path}: {got}")


def _pairs(gold: list[Any], got: list[Any]) -> Iterator[tuple[Any, Any]]:
    """What belongs together: objects as the detector matches rows, then whatever is equal, then
    objects that nothing names by their places.
    """
    matched: dict[int, int] = {}
    aligned = None
    are_objects = bool(gold and got) and all(isinstance(one, dict) for one in (*gold, *got))
    if are_objects:
        table = _table(gold)
        prepared = prepare_gold(table)
        aligned = align(_table(got), prepared) if isinstance(prepared, Gold) else None
        if aligned is not None:
            filled = filled_rows(table)
            matched = {filled[row]: aligned.body[at] for at, row in aligned.matched.items()}
    for number, own in enumerate(gold):
        if number not in matched:
            left = (at for at in range(len(got)) if at not in matched.values())
            at = next((at for at in left if not any(_compare(own, got[at], ""))), None)
            matched |= {} if at is None else {number: at}
    rest = [at for at in range(len(got)) if at not in matched.values()]
    for number, own in enumerate(gold):
        by_place = are_objects and aligned is None and rest and number not in matched
        at = rest.pop(0) if by_place else matched.get(number)
        yield own, None if at is None else got[at]
    yield from ((None, got[at]) for at in rest)


def _table(objects: Sequence[Mapping[str, Any]]) -> Table:
    """Objects as rows of their values, and of those in objects within them."""
    rows = [{path: own for path, own in _leaves(one, "") if "[" not in path} for one in objects]
    names = list(dict.fromkeys(path for row in rows for path in row)) or ["value"]
    return Table.of(names, [[_cell(row.get(name)) for name in names] for row in rows])


def _cell(value: Any) -> str | None:
    return None if value is None else str(value)
