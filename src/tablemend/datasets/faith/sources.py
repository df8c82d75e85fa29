"""Reports of several origins: filings, records of public data sets, and invented ones."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tablemend.datasets.faith.reports import Report, Unusable, make_report, read_report
from tablemend.datasets.faith.settings import INVENTED, FaithSet
from tablemend.datasets.tabfaith import financial
from tablemend.datasets.tabfaith.verbaliser import Verbaliser
from tablemend.errors import TablemendError
from tablemend.foreign import load_json, read_whole
from tablemend.programs.speaker import Unsayable
from tablemend.runs import hash_file, hash_text
from tablemend.tables.table import Table, TableError
from tablemend.tasks.faith.sample import MASK, MaskedSpan

_TWICE = re.compile(r"(-?[\d.,]+ ?%?) \( ?[\d.,]+ ?%? \)")
"""FinQA writes percentages and negative numbers twice: "-32 ( 32 )"."""
SUFFIXES = (".htm", ".html", ".xhtml", ".txt")
_RECORDS = (".json", ".jsonl")
LARGEST = 40 * 2**20
"""Bytes of a filing that is read."""
MANY = 100
"""Invented reports, where no number is given."""
_ON_PAGE = frozenset("pre_text post_text table tables paragraphs instances".split())


class Place(NamedTuple):
    """Where a report is.

    Attributes:
        source: a file, or ``invented``.
        number: of the record in it; of invented reports the running number.
        name: for messages.
        hash: of what is read of it: pages that come with several questions have one.
        twin: name of the report before it that is the same; empty for none.
        settings: of invented reports: seed and tables.
    """

    source: str
    number: int
    name: str
    hash: str
    settings: tuple[int, int] = (0, 1)
    twin: str = ""


class Labelled(NamedTuple):
    """A report, and the numbers in it that people or models have masked; mostly none."""

    report: Report
    labels: tuple[MaskedSpan, ...] = ()


def list_places(settings: FaithSet) -> list[Place]:
    """All reports, in their order.

    Raises:
        TablemendError: a folder without files, or a file of something else.
    """
    found = [place for source in settings.reports for place in _places(source, settings)]
    first = {place.hash: place.name for place in reversed(found)}
    return [
        one._replace(twin=first[one.hash] if first[one.hash] != one.name else "") for one in found
    ]


def _places(source: str, settings: FaithSet) -> list[Place]:
    if source == INVENTED:
        drawn = (settings.seed, settings.tables)
        return [
            Place(source, n, f"invented {n}", hash_text(f"{drawn} {n}"), drawn)
            for n in range(settings.n or MANY)
        ]
    path = Path(source)
    if not path.is_dir():
        return _of_file(path)[: settings.n]
    out = Path(settings.out).resolve()
    files = sorted(
        one
        for one in path.rglob("*")
        if one.is_file()
        and not any(part.startswith(".") for part in one.relative_to(path).parts)
        and out not in one.resolve().parents
    )
    if not files:
        raise TablemendError(f"reports: {path} has no file: filings end in {', '.join(SUFFIXES)}")
    return [place for file in files[: settings.n] for place in _of_file(file)][: settings.n]


def _of_file(path: Path) -> list[Place]:
    """A filing, or the records of a file; one that cannot be read is a place too, to be skipped."""
    name = path.name.encode("utf-8", "replace").decode()
    try:
        records = _records(str(path)) if path.suffix.lower() in _RECORDS else []
    except Unusable:
        records = []
    if not records:
        return [Place(str(path), 0, name, hash_file(path))]
    return [
        Place(str(path), n, f"{name}:{n + 1}", _hash_page(one)) for n, one in enumerate(records)
    ]


def _hash_page(record: Any) -> str:
    """Of a record what is on the page, without the question that is asked about it."""
    page = record
    if isinstance(record, dict):
        page = {key: record[key] for key in sorted(_ON_PAGE & record.keys())} or record
    return hash_text(json.dumps(page, ensure_ascii=False, sort_keys=True))


def open_report(place: Place) -> Labelled:
    """Read a report.

    Raises:
        Unusable: it cannot be used, with the reason.
    """
    if place.source == INVENTED:
        return Labelled(invented(*place.settings, place.number))
    if place.twin:
        raise Unusable("the same page stands before it")
    path = Path(place.source)
    if path.name.encode("utf-8", "replace").decode() != path.name:
        raise Unusable("its name is not UTF-8")
    if path.suffix.lower() in SUFFIXES:
        return Labelled(read_report(path.stem, _read_text(path)))
    if path.suffix.lower() not in _RECORDS:
        raise Unusable(f"its name ends in none of {', '.join(SUFFIXES)}, .json and .jsonl")
    return read_record(_records(place.source)[place.number])


def _read_text(path: Path) -> str:
    """The text of a filing; what it declares of its encoding is often wrong.

    Raises:
        Unusable: it has none, or is too large.
    """
    try:
        data = read_whole(path, LARGEST)
    except ValueError as error:
        raise Unusable(f"it holds {error}") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.decode("utf-8-sig", errors="replace")
        others = len(text) - len(text.encode("ascii", "ignore"))
        if 2 * text.count("\ufffd") > others:  # a single wrong byte leaves it UTF-8
            text = data.decode("windows-1252", errors="replace")
    if not text.strip():
        raise Unusable("it is empty")
    if b"%PDF" in data[:1024] or "\0" in text:
        raise Unusable("it is no text: a PDF, an archive or another binary file")
    return text


def read_record(record: Mapping[str, Any]) -> Labelled:
    """A record of FAITH, FinQA or TAT-QA.

    Raises:
        Unusable: it is none.
    """
    if not isinstance(record, dict):
        raise Unusable("the record is no JSON object")
    try:
        return next(read(record) for fields, read in _FORMS.items() if record.keys() >= set(fields))
    except StopIteration:
        raise Unusable("the record is neither of FAITH nor of FinQA nor of TAT-QA") from None
    except (KeyError, TypeError, ValueError, TableError) as error:
        raise Unusable(f"the record cannot be read: {error}") from error


@lru_cache(maxsize=4)
def _records(source: str) -> list[Any]:
    """The records of a file.

    Raises:
        Unusable: it is not JSON, or has none.
    """
    try:
        text = Path(source).read_text("utf-8")
        if source.endswith(".jsonl"):
            found = [load_json(line) for line in text.splitlines() if line.strip()]
        else:
            found = load_json(text)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"it is no JSON: {error}") from error
    records = list(found.values()) if isinstance(found, dict) else found
    if not isinstance(records, list) or not records:
        raise Unusable("it has no records")
    return records


def _faith(record: Mapping[str, Any]) -> Labelled:
    """A record of FAITH's own files: tables with pre-texts, and instances."""
    meta = record["metadata"]
    company, name = str(meta["cik"]), f"{meta['cik']}_{meta['filing_date']}"
    ordered = sorted(record["tables"], key=lambda one: int(one["table_index"]))
    tables = tuple(_table(one["cells"], _text(one["pre_text"])) for one in ordered)
    sentences = dict.fromkeys(one["sentence"] for one in record["instances"])
    labels = []
    for one in record["instances"]:
        start, end = one["mask_span"]
        sentence = one["sentence"]
        labels.append(
            MaskedSpan(
                company,
                name,
                tables,
                _text(one["pre_sentence"]),
                f"{sentence[:start]}{MASK}{sentence[end:]}",
                _text(one["post_sentence"]),
                sentence[start:end],
                str(one.get("mask_type") or ""),
                source="people" if one.get("mask_type") else "models",
                exact=str(one.get("ground_truth") or ""),
            )
        )
    return Labelled(Report(company, name, tables, tuple(sentences)), tuple(labels))


def _finqa(record: Mapping[str, Any]) -> Labelled:
    """A page of FinQA: text, one table, text; the company is the first part of its name."""
    name = str(record.get("document") or record["id"])
    before, after = (
        _TWICE.sub(r"\1", " ".join(record[part])) for part in ("pre_text", "post_text")
    )
    cells = [[_TWICE.sub(r"\1", cell) for cell in row] for row in record["table"]]
    blocks: list[str | Table] = [before, _table(cells), after]
    return Labelled(make_report(name.replace("/", "_"), blocks))


def _tatqa(record: Mapping[str, Any]) -> Labelled:
    """A page of TAT-QA: one table and paragraphs; every page is its own company."""
    paragraphs = sorted(record["paragraphs"], key=lambda one: int(one["order"]))
    texts = [str(one["text"]) for one in paragraphs]
    blocks: list[str | Table] = [_table(record["table"]["table"]), *texts]
    return Labelled(make_report(str(record["table"]["uid"]), blocks))


_FORMS: dict[tuple[str, ...], Callable[[Mapping[str, Any]], Labelled]] = {
    ("metadata", "tables", "instances"): _faith,
    ("pre_text", "table", "post_text"): _finqa,
    ("table", "paragraphs"): _tatqa,
}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _table(cells: Sequence[Sequence[str]], title: str = "") -> Table:
    width = max(map(len, cells))
    rows = [[str(cell).strip() for cell in row] + [""] * (width - len(row)) for row in cells]
    return Table.of(rows[0], rows[1:], title)


def invented(seed: int, tables: int, number: int) -> Report:
    """A report of invented firms: earnings tables, and sentences about them that are true.

    Raises:
        Unusable: there is nothing to say of its tables.
    """
    rng = Random(f"faith invented:{seed}:{number}")
    found: list[Table] = []
    sentences: list[str] = []
    for part in range(tables):
        table = financial.make_table(seed, number * tables + part)
        if part:  # the report of one firm
            title = f"{found[0].title}, segment {part + 1}"
            table = Table(table.columns, table.rows, title)
        found.append(table)
        try:
            said = Verbaliser(table).summarise(rng, (3, 5)).text
        except Unsayable as error:
            raise Unusable(f"nothing can be said of its table: {error}") from error
        sentences.append(said)
    company = found[0].title.partition(":")[0]
    return make_report(f"{company}_{number}", [*found, *sentences])._replace(company=company)
