"""Reports of several origins: annual reports, records of public data sets, and invented ones.

Of annual reports the tables and sentences of Item 7 are read (FAITH, 4.1): of HTML and inline XBRL,
and of the plain text of older filings with their ``<TABLE>`` blocks. Nothing is fetched or
executed, and entities that a document declares are not expanded.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import lxml.etree
import lxml.html

from tablemend.errors import TablemendError
from tablemend.foreign import load_json, read_whole
from tablemend.programs.speaker import Unsayable
from tablemend.runs import hash_file, hash_text
from tablemend.tables.html import locate_html, read_ascii, read_html, tidy, without_copies
from tablemend.tables.table import Table, TableError
from tablemend.tasks.faith.sample import MASK, MaskedSpan
from tablemend.tasks.tabfaith.domains import financial_table
from tablemend.tasks.tabfaith.summaries import Verbaliser
from tablemend.values.cells import is_blank
from tablemend.values.numbers import parse_number
from tablemend.values.text import LONGEST_SENTENCE, sentence_spans

_TWICE = re.compile(r"(-?[\d.,]+ ?%?) \( ?[\d.,]+ ?%? \)")
"""FinQA writes percentages and negative numbers twice: "-32 ( 32 )"."""
SUFFIXES = (".htm", ".html", ".xhtml", ".txt")
_RECORDS = (".json", ".jsonl")
LARGEST = 40 * 2**20
"""Bytes of a filing that is read."""
INVENTED = "invented"
MANY = 100
"""Invented reports, where no number is given."""
_ON_PAGE = frozenset("pre_text post_text table tables paragraphs instances".split())


class Report(NamedTuple):
    """What the masked sentences of one filing are asked about.

    Attributes:
        company: what splits keep apart: the file's name up to its first ``_`` or ``-``.
        name: of the file.
        tables: their titles are their pre-texts.
        sentences: the rest of the text in its order.
        labels: the numbers in it that people or models have masked; mostly none.
    """

    company: str
    name: str
    tables: tuple[Table, ...]
    sentences: tuple[str, ...]
    labels: tuple[MaskedSpan, ...] = ()


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


def list_places(
    sources: Sequence[str], n: int | None, drawn: tuple[int, int], out: Path
) -> list[Place]:
    """All reports, in their order.

    Args:
        sources: folders, files, or ``invented``.
        n: most reports of each.
        drawn: seed and tables of invented reports.
        out: a folder whose files are no reports.

    Raises:
        TablemendError: a folder without files, or a file of something else.
    """
    found = [place for source in sources for place in _places(source, n, drawn, out.resolve())]
    first = {place.hash: place.name for place in reversed(found)}
    return [
        one._replace(twin=first[one.hash] if first[one.hash] != one.name else "") for one in found
    ]


def _places(source: str, n: int | None, drawn: tuple[int, int], out: Path) -> list[Place]:
    if source == INVENTED:
        return [
            Place(source, number, f"invented {number}", hash_text(f"{drawn} {number}"), drawn)
            for number in range(n or MANY)
        ]
    path = Path(source)
    if not path.is_dir():
        return _of_file(path)[:n]
    files = sorted(
        one
        for one in path.rglob("*")
        if one.is_file()
        and not any(part.startswith(".") for part in one.relative_to(path).parts)
        and out not in one.resolve().parents
    )
    if not files:
        raise TablemendError(f"reports: {path} has no file: filings end in {', '.join(SUFFIXES)}")
    return [place for file in files[:n] for place in _of_file(file)][:n]


def _of_file(path: Path) -> list[Place]:
    """A filing, or the records of a file; one that cannot be read is a place too, to be skipped."""
    name = path.name.encode("utf-8", "replace").decode()
    try:
        records = _records(str(path)) if path.suffix.lower() in _RECORDS else []
    except Unusable:
        records = []
    if not records:
        return [Place(str(path), 0, name, hash_file(path))]
    found = []
    for n, record in enumerate(records):
        page = record  # without the question that is asked about it
        if isinstance(record, dict):
            page = {key: record[key] for key in sorted(_ON_PAGE & record.keys())} or record
        digest = hash_text(json.dumps(page, ensure_ascii=False, sort_keys=True))
        found.append(Place(str(path), n, f"{name}:{n + 1}", digest))
    return found


def open_report(place: Place) -> Report:
    """Read a report.

    Raises:
        Unusable: it cannot be used, with the reason.
    """
    if place.source == INVENTED:
        return invented(*place.settings, place.number)
    if place.twin:
        raise Unusable("the same page stands before it")
    path = Path(place.source)
    if path.name.encode("utf-8", "replace").decode() != path.name:
        raise Unusable("its name is not UTF-8")
    if path.suffix.lower() in SUFFIXES:
        return read_report(path.stem, _read_text(path))
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


def read_record(record: Mapping[str, Any]) -> Report:
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


def _faith(record: Mapping[str, Any]) -> Report:
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
    return Report(company, name, tables, tuple(sentences), tuple(labels))


def _finqa(record: Mapping[str, Any]) -> Report:
    """A page of FinQA: text, one table, text; the company is the first part of its name."""
    name = str(record.get("document") or record["id"])
    before, after = (
        _TWICE.sub(r"\1", " ".join(record[part])) for part in ("pre_text", "post_text")
    )
    cells = [[_TWICE.sub(r"\1", cell) for cell in row] for row in record["table"]]
    blocks: list[str | Table] = [before, _table(cells), after]
    return make_report(name.replace("/", "_"), blocks)


def _tatqa(record: Mapping[str, Any]) -> Report:
    """A page of TAT-QA: one table and paragraphs; every page is its own company."""
    paragraphs = sorted(record["paragraphs"], key=lambda one: int(one["order"]))
    texts = [str(one["text"]) for one in paragraphs]
    blocks: list[str | Table] = [_table(record["table"]["table"]), *texts]
    return make_report(str(record["table"]["uid"]), blocks)


_FORMS: dict[tuple[str, ...], Callable[[Mapping[str, Any]], Report]] = {
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
        table = financial_table(seed, number * tables + part)
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


_SHORTEST = 400  # characters of an Item 7 at least; a table of contents has fewer
_LONG_LINE = 120  # characters; no filing was wrapped there, and no running title is longer

_BLOCKS = frozenset(
    "address article blockquote body br center dd div dl dt form h1 h2 h3 h4 h5 h6 hr li ol p pre "
    "section table tr ul".split()
)
_SILENT = frozenset(("script", "style", "head", "noscript", "template", "ix:header"))
# The first six see letters and digits alone: "I TEM 7 . M ANAGEMENT ' S" is item7managements.
_ITEM_7 = re.compile(r"(?:part[iv]+)?items?7(?:and)?(?:items?7a|7a)?(?:management.{,45}?analy|mda)")
_OTHER = re.compile(r"(?:part[iv]+)?items?(?!7(?!a))(\d\d?)")
_WORDS = re.compile(
    "(?:of|the|and|results|operations?|financial|conditions?|position|liquidity|mda|continued)*"
)
_TITLE = re.compile(f"managements?discussion(?:and)?analysis{_WORDS.pattern}")
_NEXT_TITLE = re.compile("quantitativeandqual.*|reportofindependent.*|financialstatementsandsupp.*")
_NUMBER = re.compile(r"(?:[\W\d]|(?:i\s?t\s?e\s?m\s?s?|and|part|[iv]+|[abc])(?![a-z]))*", re.I)
_TITLE_ENDS = re.compile(r"\.|\s(?=(?:The|This|Our|We|In|For|See|Not|As|You|Information)\s)")
_REFERENCE = re.compile(
    r"(?i)[\"\u201d](?!\))|\b(?:(?:of|in) (?:this|our)|is|are|has|have|which|see|herein|contains?"
    r"|includ\w+|describ\w+|discuss(?:es|ed))\b"
)
_SPACE = re.compile(r"[\s\xa0\u200b\ufeff]+")
_C1 = {n: bytes([n]).decode("cp1252", errors="replace") for n in range(0x80, 0xA0)}
_TAG = re.compile(r"</?[A-Z][A-Z0-9-]{0,20}[^<>]{0,200}>", re.I)
_IS_HTML = re.compile(r"<(?:html|body|div|t[dr]|!doctype html)[\s>]", re.I)
_SUBMITTED = re.compile(r"<DOCUMENT>\s*<TYPE>10-K.*?(?:</DOCUMENT>|\Z)", re.I | re.S)
_PAGE = re.compile(r"(?i)(?:page )?[-\u2013]? ?(?:f-)?\d{1,3} ?[-\u2013]?|table of contents")
_PAGE_LINE = re.compile(r"^[ \t]*(?:<PAGE>.*|-?[ \t]?\d{1,3}[ \t]?-?)[ \t]*$", re.I | re.M)
_NUMBERED = re.compile(r"^\d{1,3}(?![\d.,%])|\b\d{1,3}$")
_UNIT = re.compile(
    r"(?i)\([^()]{1,150}\)\W*|\W*(?:\w+ ){,4}in (?:thousands|millions|billions)\b.{,80}"
)
_END = re.compile(r"[.!?:;][\"'\u201d\u2019)\]]*$")
_OPEN = re.compile(
    r"(?:[,$]|\b(?:an?|and|as|at|by|for|from|in|of|on|or|our|see|than|that|the|to|under|was|were"
    r"|with|within|January|February|March|April|June|July|August|\w{3,6}ber))$"
)
_BULLETS = tuple("\u2022\u00b7\u25cf\u25aa\u25e6*o-\u2013\u2014")
_GOES_ON = re.compile(r"[a-z$%,]|\((?!\w{1,3}\))")


class Unusable(TablemendError):
    """A filing that cannot be used; the message says why."""


def read_report(name: str, text: str) -> Report:
    """Item 7 of a filing; of a whole submission that of the annual report alone.

    Raises:
        Unusable: no filing, or one without Item 7 or without a table in it.
    """
    if submitted := _SUBMITTED.search(text):
        text = submitted[0]
    blocks = _html_blocks(text) if _IS_HTML.search(text[:100_000]) else _text_blocks(text)
    return make_report(name, _without_running(item_7(list(blocks))))


def make_report(name: str, blocks: Sequence[str | Table]) -> Report:
    """A report of texts and tables in their order.

    Raises:
        Unusable: there is no table, or no sentence.
    """
    tables, sentences, paragraphs = list[Table](), list[str](), list[str]()
    for block in blocks:
        if isinstance(block, str):
            paragraphs.append(block)
            continue
        said, before = list(_sentences(paragraphs)), list[str]()
        while said and all(map(_UNIT.fullmatch, before)):
            before.insert(0, said.pop())
        title = "\n".join(filter(None, (" ".join(before), block.title)))
        tables.append(Table(block.columns, block.rows, title))
        sentences += said
        paragraphs = []
    sentences += _sentences(paragraphs)
    if not tables:
        raise Unusable("its Item 7 has no table of numbers")
    if not sentences:
        raise Unusable("its Item 7 has no sentence beside the tables")
    return Report(re.split("[_-]", name)[0], name, tuple(tables), tuple(sentences))


def item_7(blocks: Sequence[str | Table]) -> list[str | Table]:
    """The blocks from the heading of Item 7 to that of the next item.

    Headings are also in the table of contents, in references and on every page: what counts is the
    longest part, if possible one in which the items before do not begin.

    Raises:
        Unusable: no heading with text behind it.
    """
    found: dict[str, list[int]] = {"start": [], "before": [], "after": [], "title": [], "": []}
    for place in range(len(blocks)):
        found[_heading(blocks, place)].append(place)
    sizes = [0, *accumulate(len(one) if isinstance(one, str) else 0 for one in blocks)]
    parts = []
    for start in found["start"]:
        later = [(one, bisect(one, start)) for one in (found["after"], found["title"])]
        ends = [*(places[n] for places, n in later if n < len(places)), len(blocks)]
        end = min(ends) if _TITLE.fullmatch(_key(blocks[start])) else ends[0]
        others = bisect(found["before"], end) - bisect(found["before"], start)
        parts.append((others > 2, sizes[start] - sizes[end], start, end))
    least = max([_SHORTEST, *(-size // 20 for _, size, *_ in parts)])
    parts = [one for one in parts if -one[1] >= least]
    if not parts:
        raise Unusable("no Item 7 (Management's Discussion and Analysis) with text is found in it")
    *_, place, end = min(parts)
    key = _key(blocks[place])
    while not (_ITEM_7.match(key) or _TITLE.match(key)):  # the heading has several blocks
        place += 1
        key += _key(blocks[place])
    rest = _cut_title(str(blocks[place]))[1]
    while place + 1 < end and (key := _key(blocks[place + 1])) and _WORDS.fullmatch(key):
        place += 1
    return [*filter(None, [rest]), *blocks[place + 1 : end]]


def _heading(blocks: Sequence[str | Table], place: int) -> str:
    """What a block begins: ``start`` of Item 7, an item ``before`` or ``after`` it, or a part with
    the ``title`` of one after it; empty where it is no heading.
    """
    block, previous = blocks[place], blocks[place - 1] if place else ""
    key = _key(block)
    if not isinstance(block, str) or not block[0].isalpha():
        return ""
    if _TITLE.fullmatch(key):
        return "start"
    if _NEXT_TITLE.fullmatch(key):
        return "title"
    title = _cut_title(block)[0]
    if _REFERENCE.search(title) or (isinstance(previous, str) and _OPEN.search(previous)):
        return ""
    if len(key) < 20:
        key += "".join(map(_key, blocks[place + 1 : place + 3]))
    if _ITEM_7.match(key):
        return "start"
    other = _OTHER.match(key) if not title[:1].islower() else None
    return "" if other is None else "before" if int(other[1]) < 7 else "after"


def _key(block: str | Table) -> str:
    return re.sub("[^a-z0-9]+", "", block[:300].lower()) if isinstance(block, str) else ""


def _cut_title(block: str) -> tuple[str, str]:
    """The title of a heading behind its number, and the text that follows in the same block."""
    title = _NUMBER.sub("", block, count=1)
    end = _TITLE_ENDS.search(title)
    return (title[: end.start()], title[end.end() :].strip()) if end else (title, "")


def _without_running(blocks: Sequence[str | Table]) -> list[str | Table]:
    """Without page numbers, and the titles that recur beside them on every page."""
    texts = [one if isinstance(one, str) and len(one) <= _LONG_LINE else "" for one in blocks]
    forms = ["" if _END.search(one) else re.sub(r"\d+", "#", one) for one in texts]
    seen = Counter(filter(None, forms))
    out = [
        bool(_PAGE.fullmatch(one) or (seen[form] > 2 and _NUMBERED.search(one)))
        for one, form in zip(texts, forms, strict=True)
    ]
    for step, order in ((-1, range(1, len(out))), (1, range(len(out) - 2, -1, -1))):
        for place in order:
            out[place] = out[place] or (seen[forms[place]] > 2 and out[place + step])
    return [one for one, leave in zip(blocks, out, strict=True) if not leave]


def _sentences(paragraphs: Sequence[str]) -> Iterator[str]:
    """Sentences, also those that a conversion has torn; without what is too long to be one."""
    held = ""
    for paragraph in paragraphs:
        for start, end in sentence_spans(paragraph):
            part = " ".join(paragraph[start:end].split())
            if part in _BULLETS:
                continue
            if _is_torn(held, part):
                part = f"{held} {part}"
            elif held:
                yield held
            held = part if len(part) <= LONGEST_SENTENCE else ""
    if held:
        yield held


def _is_torn(held: str, part: str) -> bool:
    """Whether a sentence goes on in the next part."""
    if not held or _END.search(held) or len(held) + len(part) >= LONGEST_SENTENCE:
        return False
    return bool(_OPEN.search(held) or (held.count(" ") > 2 and _GOES_ON.match(part)))


def _html_blocks(text: str) -> Iterator[str | Table]:
    """Paragraphs and tables of numbers in their order.

    Raises:
        Unusable: lxml cannot read it.
    """
    parser = lxml.html.HTMLParser(
        huge_tree=True, remove_comments=True, remove_pis=True, no_network=True, encoding="utf-8"
    )
    try:
        root = lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (lxml.etree.LxmlError, ValueError, AssertionError) as error:
        raise Unusable(f"its HTML cannot be read: {error}") from error
    if cut := parser.error_log.filter_from_fatals():
        raise Unusable(f"its HTML cannot be read: {cut[0].message.strip()}, line {cut[0].line}")
    pieces: list[str] = []

    def flush() -> Iterator[str]:
        joined = _SPACE.sub(" ", "".join(pieces).translate(_C1)).strip()
        pieces.clear()
        if joined:
            yield joined

    walker = lxml.etree.iterwalk(root, events=("start", "end"))
    for event, node in walker:
        if node.tag in _BLOCKS:
            yield from flush()
        elif node.tag in ("td", "th"):
            pieces.append(" ")
        if event == "end":
            pieces.append(node.tail or "")
        elif node.tag in _SILENT or "display:none" in node.get("style", "").replace(" ", ""):
            walker.skip_subtree()
        elif node.tag == "table" and (table := _table_of(node)):
            yield table
            walker.skip_subtree()
        else:
            pieces.append(node.text or "")
    yield from flush()


def _table_of(node: lxml.html.HtmlElement) -> Table | None:
    """A table of numbers, without spacers; ``None`` for one of text, or that holds others."""
    if node.find(".//table") is not None:
        return None
    html = lxml.html.tostring(node, encoding="unicode", with_tail=False)
    return _of_numbers(lambda text: tidy(without_copies(read_html(text))), html)


def _of_numbers(read: Callable[[str], Table], text: str) -> Table | None:
    try:
        table = read(text)
    except TableError:
        return None
    cells = [cell for row in table.rows for cell in row[1:] if not is_blank(cell)]
    return table if sum(parse_number(cell or "") is not None for cell in cells) > 1 else None


def _text_blocks(text: str) -> Iterator[str | Table]:
    """Paragraphs and the tables marked in plain text."""
    position = 0
    for start, end in [*locate_html(text), (len(text), len(text))]:
        yield from _paragraphs(text[position:start])
        if table := _of_numbers(read_ascii, text[start:end]):
            yield table
        else:
            yield from _paragraphs(text[start:end])
        position = end


def _paragraphs(text: str) -> Iterator[str]:
    """Parts between blank lines, or lines where they are whole paragraphs; a heading is its own."""
    lines = text.splitlines()
    long = sum(len(line) > _LONG_LINE for line in lines)
    single = 5 * long > len(lines) or not re.search(r"\n\s*\n", text)
    border = r"\n" if single else r"\n\s*\n|\n(?=\s*(?:part\s+ii\W+)?item\s+\d)"
    text = _TAG.sub(" ", _PAGE_LINE.sub(r"\n\n\g<0>\n\n", text))
    parts = (_SPACE.sub(" ", part).strip() for part in re.split(border, text, flags=re.I))
    yield from filter(None, parts)
