"""What an audit reads: answers in the files that people and tracing tools have, record by record.

JSON lines, JSON, CSV and Parquet of any field names; exports of Langfuse (from its pages, its API
and its blob storage), spans of Phoenix and of OpenInference over OTLP, logs of inspect_ai.
"""

from __future__ import annotations

import csv
import json
import zipfile
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, date, datetime
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast

from tablemend.errors import TablemendError
from tablemend.evidence.files import given_source
from tablemend.evidence.source import Source
from tablemend.foreign import load_json, read_whole, whole_characters
from tablemend.runs.files import hash_text, to_line
from tablemend.tables.extract import extract_table

LINES = (".jsonl", ".ndjson")
PROMPT = "input prompt messages attributes.input.value input.value".split()
"""Where a prompt stands: the table may be in it."""
USUAL = {
    "answer": "answer text response completion prediction generated_text output_text output.answer"
    " output.text output.completion output.choices attributes.output.value"
    " attributes.llm.output_messages.0.message.content output",
    "table": "table source source_table input.table input.source metadata.table metadata.source"
    " inputs.table attributes.metadata.table data input.data metadata.data",
    "gold": "gold gold_table expected_table reference_table metadata.gold metadata.gold_table"
    " attributes.metadata.gold",
    "context": "context article document passage input.context metadata.context"
    " attributes.metadata.context",
    "query": "query question input.query input.question metadata.query metadata.question"
    " attributes.metadata.query",
    "model": "model model_name provided_model_name providedModelName attributes.llm.model_name"
    " llm.model_name eval.model output.model metadata.model system",
    "time": "time timestamp start_time startTime created_at createdAt created startTimeUnixNano"
    " date eval.created",
    "id": "id example_id sample_id trace_id traceId context.span_id span_id spanId uid",
    "table_id": "table_id table_name input.table_id metadata.table_id metadata.table_name"
    " attributes.metadata.table_id",
}
"""Of each field of ours, where it usually stands; the first that is there counts."""
KINDS = ("type", "span_kind", "attributes.openinference.span.kind")
OTHER_KINDS = set("SPAN EVENT TOOL RETRIEVER EMBEDDING RERANKER GUARDRAIL EVALUATOR PROMPT".split())
"""Steps of a trace that are no answer of a model, in Langfuse and OpenInference."""
CONTENT = "content text completion output answer response message choices generated_text".split()
BESIDE = (
    "type id index model metadata usage time finish_reason stop_reason logprobs annotations refusal"
    " tool_calls function_call error object created system_fingerprint"
).split()
"""Keys of a message, and those that stand beside them."""
PAGE = {"data", "meta", "next_cursor"}
"""Keys of a page of an API."""
_CSV_LIMIT = 1 << 24


class Record(NamedTuple):
    """A record of a file: its line or row, and what it holds or why it cannot be read."""

    place: str
    data: dict[str, Any] | None
    problem: str = ""


class Block(NamedTuple):
    """Some lines of a file of JSON lines: the byte at which they begin, the number of the first
    from 1, how many they are, and their hash; ``name`` is the file's in messages.
    """

    path: str
    name: str
    start: int
    first: int
    lines: int
    digest: str


class Answer(NamedTuple):
    """A raw answer and what it is scored by, as it stands ``found_in`` its record."""

    text: str
    table: Any
    gold: Any
    context: str | None
    query: str
    model: str
    time: str
    id: str
    table_id: str
    found_in: dict[str, str]


def open_input(path: str, mode: Literal["rb", "wb"] = "rb") -> BinaryIO:
    """A file or, with ``://``, what fsspec opens.

    Raises:
        TablemendError: there is none, or fsspec lacks what it needs.
    """
    try:
        if "://" not in path:
            return Path(path).open(mode)
        import fsspec

        return cast(BinaryIO, fsspec.open(path, mode).open())
    except ModuleNotFoundError:
        raise
    except (OSError, ValueError, ImportError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise TablemendError(f"cannot open {path}: {why}") from error


def find_blocks(path: str, folder: Path, most: int) -> Iterator[Block]:
    """The lines of a file or URL, ``most`` together; what is no file of JSON lines becomes one in
    ``folder`` first.

    Raises:
        TablemendError: it cannot be read, or is of no kind that is known.
    """
    name, own = path.rpartition("/")[2], path
    if not path.lower().endswith(LINES):
        folder.mkdir(parents=True, exist_ok=True)
        own = str(folder / f"{hash_text(path)[:8]}-{name}.jsonl")
        with Path(own).open("w", encoding="utf-8") as file:
            file.writelines(to_line([*one]) for one in read_records(path))
    with open_input(own) as lines:
        start, first = 0, 1
        while held := list(islice(lines, most)):
            digest = hash_text(b"".join(held).decode("utf-8", "replace"))[:16]
            yield Block(own, name, start, first, len(held), digest)
            start, first = start + sum(map(len, held)), first + len(held)


def read_block(block: Block) -> Iterator[Record]:
    """The records of a block; a line that is none says why."""
    is_own = not block.name.lower().endswith(LINES)
    with open_input(block.path) as file:
        file.seek(block.start)
        for number in range(block.first, block.first + block.lines):
            line, place = file.readline(), f"{block.name}:{number}"
            if not line.strip():
                continue
            try:
                data = load_json(line)
            except ValueError as error:
                yield Record(place, None, f"no JSON ({error})")
                continue
            if is_own:
                yield Record(*data)
                continue
            found = list(unwrap(data))
            for count, one in enumerate(found, 1):
                yield _record(place if len(found) == 1 else f"{place}#{count}", one)


def read_records(path: str) -> Iterator[Record]:
    """The records of a file that is none of JSON lines: JSON, CSV, Parquet, a log of inspect_ai.

    Raises:
        TablemendError: it cannot be read, or is of no such kind.
    """
    name, kind = path.rpartition("/")[2], path.lower().rpartition(".")[2]
    if kind not in ("json", "csv", "tsv", "parquet", "eval"):
        raise TablemendError(
            f"{path}: no answers can be read from it: give .jsonl, .json, .csv, .parquet, or .eval"
        )
    with open_input(path) as file:
        try:
            if kind == "json":
                data = load_json(read_whole(file))
                yield from _numbered(name, unwrap(data))
            elif kind == "eval":
                yield from _numbered(name, _inspect_log(file))
            elif kind == "parquet":
                import pyarrow.parquet

                batches = pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=64)
                plain = (json.dumps(row, default=str) for own in batches for row in own.to_pylist())
                yield from _numbered(name, map(json.loads, plain))
            else:
                csv.field_size_limit(_CSV_LIMIT)
                lines = TextIOWrapper(file, "utf-8-sig", newline="")
                rows = csv.DictReader(lines, delimiter="\t" if kind == "tsv" else ",")
                for row in rows:
                    problem = "more cells than the header has" if None in row else ""
                    yield Record(f"{name}:{rows.line_num}", None if problem else row, problem)
        except ModuleNotFoundError:
            raise
        except (ValueError, OSError, csv.Error, zipfile.BadZipFile, LookupError) as error:
            raise TablemendError(f"{path} cannot be read: {error}") from error


def _numbered(name: str, found: Iterable[Any]) -> Iterator[Record]:
    for number, one in enumerate(found, 1):
        yield _record(f"{name}:{number}", one)


def _record(place: str, data: Any) -> Record:
    return Record(place, data) if isinstance(data, dict) else Record(place, None, "no object")


def _inspect_log(file: BinaryIO) -> Iterator[Any]:
    """The samples of a ``.eval``, one at a time."""
    with closing(zipfile.ZipFile(file)) as log:
        try:
            names = log.namelist()
            header = load_json(log.read("header.json")) if "header.json" in names else {}
            for name in (one for one in names if one.startswith("samples/")):
                sample = load_json(log.read(name))
                yield from unwrap({"eval": header.get("eval", {}), "samples": [sample]})
        except NotImplementedError as error:
            why = f"{error}: write it as JSON with `inspect log convert --to json`"
            raise ValueError(why) from error


def unwrap(data: Any) -> Iterator[Any]:
    """The records that one JSON value holds: itself, or what an export has around them."""
    if isinstance(data, list):
        for one in data:
            yield from unwrap(one)
    elif not isinstance(data, dict):
        yield data
    elif isinstance(resources := data.get("resourceSpans"), list):  # OTLP
        scopes = (scope for one in resources for scope in one.get("scopeSpans", []))
        for span in (span for scope in scopes for span in scope.get("spans", [])):
            pairs = ((one["key"], one["value"]) for one in span.get("attributes", []))
            yield {**span, "attributes": {k: next(iter(v.values()), "") for k, v in pairs}}
    elif isinstance(samples := data.get("samples"), list) and "eval" in data:  # inspect_ai
        for one in samples:
            kept = {k: v for k, v in one.items() if k not in ("events", "messages", "store")}
            yield {**_attached(kept, kept.pop("attachments", {})), "eval": data["eval"]}
    elif isinstance(steps := data.get("observations"), list) and any(map(_is_object, steps)):
        for one in filter(_is_object, steps):  # a trace of Langfuse
            yield {**one, "metadata": one.get("metadata") or data.get("metadata")}
    elif isinstance(page := data.get("data"), list) and data.keys() <= PAGE:
        yield from unwrap(page)
    else:
        yield data


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _attached(value: Any, texts: Mapping[str, str]) -> Any:
    """A sample of inspect_ai with the long texts that it keeps apart."""
    if isinstance(value, str) and value.startswith("attachment://"):
        return texts.get(value.removeprefix("attachment://"), value)
    if isinstance(value, dict):
        return {name: _attached(own, texts) for name, own in value.items()}
    return [_attached(own, texts) for own in value] if isinstance(value, list) else value


def look_up(data: Any, path: str) -> Any:
    """What stands at a dotted path; keys may hold dots, and texts JSON. ``None`` for nothing."""
    if not path or data is None:
        return data
    if isinstance(data, str):
        data = _parsed(data)
    if isinstance(data, list):
        head, _, rest = path.partition(".")
        return look_up(data[int(head)], rest) if head.isdigit() and int(head) < len(data) else None
    if not isinstance(data, dict):
        return None
    if path in data:
        return data[path]
    cuts = [place for place, letter in enumerate(path) if letter == "."]
    for cut in reversed(cuts):
        if path[:cut] in data and (found := look_up(data[path[:cut]], path[cut + 1 :])) is not None:
            return found
    return None


def _parsed(text: str) -> Any:
    """The JSON of a text that looks like an object, a list or a string, or what Python writes of
    one; else ``None``.
    """
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    for read in (json.loads, literal_eval):
        try:
            return read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def text_in(value: Any) -> str | None:
    """The text of an answer: of a message, of a list of messages (the last) or of their parts, as
    they are or as JSON; a table given as JSON stays JSON. ``None`` where there is none.
    """
    if isinstance(value, str):
        inner = _parsed(value)
        is_said = isinstance(inner, list) and inner and all(map(_is_message, inner))
        if isinstance(inner, str) or _is_message(inner) or is_said:
            return text_in(inner)
        return value
    if isinstance(value, dict) and _is_message(value):
        return text_in(next(value[name] for name in CONTENT if value.get(name) is not None))
    if isinstance(value, list) and value and all(map(_is_message, value)):
        if any("role" in one or "message" in one for one in value):
            said = [one for one in value if one.get("role", "assistant") == "assistant"]
            return text_in((said or value)[-1])
        return "".join(text_in(one) or "" for one in value)
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or not any(value.get(name) is not None for name in CONTENT):
        return False
    return "role" in value or value.keys() <= {*CONTENT, *BESIDE}


def read_answer(data: Mapping[str, Any], fields: Mapping[str, str]) -> Answer | str:
    """The answer of a record and what it is scored by, or why there is none.

    Args:
        data: the record.
        fields: where fields of ours stand; the others are looked for by :data:`USUAL`.
    """
    found_in: dict[str, str] = {}

    def find(name: str) -> Any:
        for path in [fields[name]] if name in fields else USUAL[name].split():
            value = look_up(data, path)
            if value is not None and value != "" and value != {} and value != []:
                found_in[name] = path
                return value
        return None

    kinds = {str(look_up(data, path)).upper() for path in KINDS}
    if "answer" not in fields and OTHER_KINDS & kinds:
        return "a step of a trace that is no answer of a model"
    text = text_in(find("answer"))
    if text is None:
        where = f" at {fields['answer']}" if "answer" in fields else ""
        return f"no answer{where}"
    table, gold, context = find("table"), find("gold"), text_in(find("context"))
    if table is None and gold is None and context is None and "table" not in fields:
        for path in PROMPT:
            prompt = text_in(look_up(data, path))
            if prompt and "\n" in prompt and extract_table(prompt, "auto").table is not None:
                table, found_in["table"] = prompt, f"in the prompt ({path})"
                break
        else:
            return "nothing to score it by: no table, gold table or context"
    texts = {name: whole_characters(str(find(name) or "")) for name in ("model", "id", "table_id")}
    return Answer(
        whole_characters(text),
        table,
        gold,
        context and whole_characters(context),
        whole_characters(text_in(find("query")) or ""),
        time=_day(find("time")),
        found_in=found_in,
        **texts,
    )


def source_in(value: Any) -> Source:
    """The tables that a record has: a table as text or JSON, or a prompt with one in it.

    Raises:
        TablemendError: there is none that can be read.
    """
    try:
        return given_source(value)
    except TablemendError:
        inner = _parsed(value) if isinstance(value, str) else None
        if isinstance(inner, dict | list) and not _is_message(inner):
            return given_source(inner)
        text = text_in(value)
        table = extract_table(text, "auto").table if text and "\n" in text else None
        if table is None:
            raise
        return Source((table,))


def _day(value: Any) -> str:
    """The day of a time, as ``2026-11-29``: ISO 8601, or seconds or parts of them since 1970."""
    text = str(value or "").strip()
    try:
        if text.replace(".", "", 1).isdigit():
            seconds = float(text)
            while seconds > 1e11:  # milliseconds, microseconds, nanoseconds
                seconds /= 1000
            return datetime.fromtimestamp(seconds, UTC).date().isoformat()
        return date.fromisoformat(text[:10]).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def read_fields(given: str) -> dict[str, str]:
    """``answer=output.text,table=input.table``, as a dict.

    Raises:
        TablemendError: a name that is no field of ours, or no path.
    """
    fields: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in given.split(","))):
        name, equals, path = part.partition("=")
        if name not in USUAL or not equals or not path:
            raise TablemendError(
                f"--fields {part}: wanted NAME=PATH with a NAME of {', '.join(USUAL)}"
            )
        fields[name] = path
    return fields
