"""Annual reports: the tables and sentences of Item 7 (FAITH, 4.1).

HTML and inline XBRL, and the plain text of older filings with their ``<TABLE>`` blocks. Nothing is
fetched or executed, and no entity outside the document is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import lxml.etree
import lxml.html

from tablemend.errors import TablemendError
from tablemend.tables.filings import read_ascii, tidy
from tablemend.tables.html import read_html
from tablemend.tables.table import Table, TableError
from tablemend.values.blanks import is_blank
from tablemend.values.numbers import parse_number
from tablemend.values.sentences import LONGEST_SENTENCE, sentence_spans

SUFFIXES = (".htm", ".html", ".xhtml", ".txt")
LARGEST = 40 * 2**20
"""Bytes of a filing that is read."""
_SHORTEST = 400
"""Characters of text that an Item 7 has at least; a table of contents has fewer."""
_HEADING = 240
_LONG_LINE = 120
"""Characters of a line that no filing was wrapped at."""

_BLOCKS = frozenset(
    "address article blockquote body center dd div dl dt form h1 h2 h3 h4 h5 h6 hr li ol p pre "
    "section tr ul".split()
)
_SILENT = frozenset(("script", "style", "head", "noscript", "template", "ix:header", "header"))
_ITEM_7 = re.compile(
    r"(?:part\s+ii\W+)?items?\s*7\s*[.:\u2013\u2014-]*\s*(?!a\b|\(a\)|\d)(?:and\s*7a\W*)?"
    r"(?=management|$|\s*md&a)",
    re.I,
)
_TITLE = re.compile(
    r"management['\u2019`]?s?['\u2019`]?\s+discussion\s+and\s+analysis(?:\s+of\s+financial)?", re.I
)
_AFTER = re.compile(
    r"(?:part\s+ii\W+)?item\s*(?:7\s*\(?a\)?|8)\s*[.:\u2013\u2014-]*\s*(?=quantitative|financial"
    r"|consolidated|$|not applicable)",
    re.I,
)
_SPACE = re.compile(r"[\s\xa0\u200b]+")
_ASCII_TABLE = re.compile(r"<TABLE>.*?</TABLE>", re.I | re.S)
_TAG = re.compile(r"</?[A-Z][A-Z0-9-]{0,20}[^<>]{0,200}>", re.I)
_IS_HTML = re.compile(rb"<(?:html|body|div|p|table|xbrl|!doctype html)[\s>]", re.I)
_HEX = re.compile(r"^-?\d{1,3}-?$|^(?:page|table of contents)\b.{0,20}$", re.I)
_END = re.compile(r"[.!?:;][\"'\u201d\u2019)\]]*$")
_OLE = (b"%PDF", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b")


class Report(NamedTuple):
    """What the masked sentences of one filing are asked about.

    Attributes:
        company: what splits keep apart: the part of the file's name before the first ``_``.
        name: of the file.
        tables: their titles are their pre-texts.
        sentences: the rest of the text in its order.
    """

    company: str
    name: str
    tables: tuple[Table, ...]
    sentences: tuple[str, ...]


class Unusable(TablemendError):
    """A filing that cannot be used; the message says why."""


def read_report(path: Path) -> Report:
    """Item 7 of a filing.

    Raises:
        Unusable: no filing, or one without Item 7 or without a table in it.
    """
    if path.stat().st_size > LARGEST:
        raise Unusable(f"it has more than {LARGEST >> 20} MB")
    data = path.read_bytes()
    if data.startswith(_OLE) or b"\x00" in data[:4096].replace(b"\xff\xfe", b""):
        raise Unusable("it is no text: a PDF, an archive or another binary file")
    if not data.strip():
        raise Unusable("it is empty")
    html = _IS_HTML.search(data[:100_000]) is not None
    blocks = list(_html_blocks(data)) if html else list(_text_blocks(_decoded(data)))
    return make_report(path.stem, item_7(blocks))


def make_report(name: str, blocks: Sequence[str | Table]) -> Report:
    """A report of texts and tables in their order.

    Raises:
        Unusable: there is no table, or no sentence.
    """
    tables, texts = [], [""]
    for block in blocks:
        if isinstance(block, str):
            texts[-1] += f"{block}\n\n"
            continue
        before, pre = _cut_last(texts[-1])
        texts[-1] = before
        title = "\n".join(part for part in (pre, block.title) if part)
        tables.append(Table(block.columns, block.rows, title))
        texts.append("")
    if not tables:
        raise Unusable("its Item 7 has no table of numbers")
    sentences = [one for text in texts for one in _sentences(text)]
    if not sentences:
        raise Unusable("its Item 7 has no sentence beside the tables")
    return Report(name.partition("_")[0], name, tuple(tables), tuple(sentences))


def item_7(blocks: Sequence[str | Table]) -> list[str | Table]:
    """The blocks from the heading of Item 7 to that of the next item.

    Headings are also in the table of contents and in running titles: the longest stretch counts.

    Raises:
        Unusable: no heading with text behind it.
    """
    starts, ends = [], []
    for place, block in enumerate(blocks):
        if not isinstance(block, str) or len(block) > _HEADING:
            continue
        following = next((b for b in blocks[place + 1 : place + 3] if isinstance(b, str)), "")
        if match := _ITEM_7.match(block):
            title = block[match.end() :].strip() or following
            if _TITLE.match(title):
                starts.append(place)
        elif _AFTER.match(block):
            ends.append(place)
        elif block.isupper() and _TITLE.match(block):
            starts.append(place)
    best: list[str | Table] = []
    size = 0
    for start in starts:
        end = next((end for end in ends if end > start), len(blocks))
        length = sum(len(one) for one in blocks[start:end] if isinstance(one, str))
        if length > size:
            best, size = list(blocks[start + 1 : end]), length
    if size < _SHORTEST:
        raise Unusable("no Item 7 (Management's Discussion and Analysis) with text is found in it")
    return best


def _cut_last(text: str) -> tuple[str, str]:
    """A text without its last sentence, and this, which says what the next table shows."""
    text = text.rstrip()
    spans = sentence_spans(text)
    if not spans:
        return text, ""
    start = spans[-1].start
    return text[:start], " ".join(text[start:].split())


def _sentences(text: str) -> Iterator[str]:
    """Sentences; a fragment that a conversion has torn off is joined to what it goes on."""
    held = ""
    for start, end in sentence_spans(text):
        part = " ".join(text[start:end].split())
        if not part or _HEX.match(part):
            continue
        if held and not _END.search(held) and (part[0].islower() or part[0] in "$(%,"):
            held = f"{held} {part}"
            continue
        if held:
            yield held[:LONGEST_SENTENCE]
        held = part
    if held:
        yield held[:LONGEST_SENTENCE]


def _html_blocks(data: bytes) -> Iterator[str | Table]:
    """Paragraphs and tables of numbers in their order.

    Raises:
        Unusable: lxml cannot read it.
    """
    parser = lxml.html.HTMLParser(
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        no_network=True,
        encoding=_encoding(data),
    )
    try:
        root = lxml.html.document_fromstring(data, parser=parser)
    except (lxml.etree.LxmlError, ValueError, AssertionError) as error:
        raise Unusable(f"its HTML cannot be read: {error}") from error
    pieces: list[str] = []
    skip: lxml.html.HtmlElement | None = None

    def flush() -> Iterator[str]:
        text = _SPACE.sub(" ", "".join(pieces)).strip()
        pieces.clear()
        if text:
            yield text

    for event, node in lxml.etree.iterwalk(root, events=("start", "end")):
        if skip is not None:
            if event == "end" and node is skip:
                skip = None
                pieces.append(node.tail or "")
            continue
        tag = node.tag if isinstance(node.tag, str) else ""
        if event == "start" and (tag in _SILENT or _is_hidden(node)):
            skip = node
            continue
        if event == "start" and tag == "table" and (table := _table_of(node)) is not None:
            yield from flush()
            yield table
            skip = node
            continue
        if tag in _BLOCKS or tag in ("table", "br"):
            yield from flush()
        elif tag in ("td", "th"):
            pieces.append(" ")
        pieces.append((node.text if event == "start" else node.tail) or "")
    yield from flush()


def _is_hidden(node: lxml.html.HtmlElement) -> bool:
    style = node.get("style") or ""
    return "display:none" in style.replace(" ", "").lower()


def _table_of(node: lxml.html.HtmlElement) -> Table | None:
    """A table of numbers; ``None`` for one that lays out text, or holds others."""
    if node.find(".//table") is not None:
        return None
    return table_of_html(lxml.html.tostring(node, encoding="unicode", with_tail=False))


def table_of_html(text: str) -> Table | None:
    """One ``<table>``, without spacers; ``None`` where it holds fewer than two numbers."""
    try:
        table = tidy(read_html(text))
    except TableError:
        return None
    return table if _has_numbers(table) else None


def _has_numbers(table: Table) -> bool:
    if len(table.columns) < 2:
        return False
    cells = [cell for row in table.rows for cell in row[1:] if not is_blank(cell)]
    return sum(parse_number(cell or "") is not None for cell in cells) >= 2


def _text_blocks(text: str) -> Iterator[str | Table]:
    """Paragraphs and the tables marked in plain text."""
    position = 0
    for match in _ASCII_TABLE.finditer(text):
        yield from _paragraphs(text[position : match.start()])
        try:
            table = read_ascii(match[0])
        except TableError:
            yield from _paragraphs(match[0])
        else:
            if _has_numbers(table):
                yield table
            else:
                yield from _paragraphs(match[0])
        position = match.end()
    yield from _paragraphs(text[position:])


def _paragraphs(text: str) -> Iterator[str]:
    """Parts between blank lines, or lines where they are whole paragraphs; a heading is its own."""
    text = _TAG.sub(" ", text)
    lines = text.splitlines()
    long = sum(len(line) > _LONG_LINE for line in lines)
    single = 5 * long > len(lines) or not re.search(r"\n\s*\n", text)
    border = r"\n" if single else r"\n\s*\n|\n(?=\s*(?:part\s+ii\W+)?item\s+\d)"
    for part in re.split(border, text, flags=re.I):
        if plain := _SPACE.sub(" ", part).strip():
            yield plain


def _encoding(data: bytes) -> str | None:
    """What decodes the bytes without loss; what a document declares is often wrong."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _decoded(data: bytes) -> str:
    return data.decode(_encoding(data) or "utf-8", errors="replace")
