"""Annual reports: the tables and sentences of Item 7 (FAITH, 4.1).

HTML and inline XBRL, and the plain text of older filings with their ``<TABLE>`` blocks. Nothing is
fetched or executed, and entities that a document declares are not expanded.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import lxml.etree
import lxml.html

from tablemend.errors import TablemendError
from tablemend.tables.filings import read_ascii, tidy
from tablemend.tables.html import locate_html, read_html
from tablemend.tables.table import Table, TableError
from tablemend.values.blanks import is_blank
from tablemend.values.numbers import parse_number
from tablemend.values.sentences import LONGEST_SENTENCE, sentence_spans

SUFFIXES = (".htm", ".html", ".xhtml", ".txt")
"""In small letters."""
LARGEST = 40 * 2**20
"""Bytes of a filing that is read."""
_SHORTEST = 400
"""Characters of text that an Item 7 has at least; a table of contents has fewer."""
_LONG_LINE = 120
"""Characters of a line that no filing was wrapped at."""
_RUNNING = 120
"""Most characters of a running title."""

_BLOCKS = frozenset(
    "address article blockquote body br center dd div dl dt form h1 h2 h3 h4 h5 h6 hr li ol p pre "
    "section table tr ul".split()
)
_SILENT = frozenset(("script", "style", "head", "noscript", "template", "ix:header"))

# Headings are compared by their letters and digits alone: "I TEM 7 . M ANAGEMENT ' S D ISCUSSION".
_ITEM_7 = re.compile(
    r"(?:part[iv]+)?items?7(?:(?:and)?(?:items?)?7a)?(?:managements?.{0,40}?analy|mda)"
)
_OTHER = re.compile(
    r"(?:part[iv]+)?items?(\d\d?)(?:[abc]t?)?(?=business|risk|unresolved|cyber|propert|descr|legal"
    r"|mine|submi|executive|market|registr|select|consol|reserved|removed|quanti|quali|disclos"
    r"|financ|suppl|index|change|control|other|direct|certain|security|princip|exhibit|form10k"
    r"|summary|report|notapplic|notreq|none)"
)
_WORDS = re.compile(
    "(?:of|the|and|consolidated|results|operations?|financial|conditions?|position|liquidity"
    "|capitalresources|cashflows?|mda|continued)*"
)
_TITLE = re.compile(f"managements?discussion(?:and)?analysis{_WORDS.pattern}")
_NEXT_TITLE = re.compile(
    r"quantitativeandqualitativedisclosures?aboutmarketrisks?|reportofindependent.{0,50}"
    r"|(?:consolidated)?financialstatements(?:andsupplementarydata)?"
)
_NUMBER = re.compile(r"(?:[\W\d]|(?:and|part|[iv]+|i\s?t\s?e\s?m\s?s?|[abc])(?![a-z]))*", re.I)
_TITLE_ENDS = re.compile(r"\.|\s(?=(?:The|This|Our|We|In|For|See|Not|As|You|Information)\s)")
_REFERENCE = re.compile(
    r"[\"\u201d](?!\))|\b(?:of|in) (?:this|our) |\b(?:is|are|has|have|should|which|see|herein"
    r"|contains?|includ\w+|describ\w+|discuss(?:es|ed))\b",
    re.I,
)

_SPACE = re.compile(r"[\s\xa0\u200b\ufeff]+")
_C1 = {n: bytes([n]).decode("cp1252", errors="replace") for n in range(0x80, 0xA0)}
_TAG = re.compile(r"</?[A-Z][A-Z0-9-]{0,20}[^<>]{0,200}>", re.I)
_IS_HTML = re.compile(r"<(?:html|body|div|t[dr]|!doctype html)[\s>]", re.I)
_SUBMITTED = re.compile(r"<DOCUMENT>\s*<TYPE>10-K.*?(?:</DOCUMENT>|\Z)", re.I | re.S)
_PAGE = re.compile(
    r"(?:page\s*)?[-\u2013]?\s?(?:f-)?\d{1,3}\s?[-\u2013]?|(?:back to )?table of contents", re.I
)
_PAGE_LINE = re.compile(r"^[ \t]*(?:<PAGE>.*|-?[ \t]?\d{1,3}[ \t]?-?)[ \t]*$", re.I | re.M)
_NUMBERED = re.compile(r"^\d{1,3}\b|\b\d{1,3}$")
_CAPTION = re.compile(
    r"\([^()]{1,150}\)\W*|\W*(?:\w+ ){0,4}in (?:thousands|millions|billions)\b.{0,80}", re.I
)
_END = re.compile(r"[.!?:;][\"'\u201d\u2019)\]]*$")
_OPEN = re.compile(
    r"(?:[,$]|\b(?:an?|and|as|at|by|for|from|in|of|on|or|our|see|than|that|the|to|under|was|were|with"
    r"|within|January|February|March|April|June|July|August|September|October|November|December))$"
)
_GOES_ON = re.compile(r"[a-z$%,]|\((?!\w{1,3}\))")


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
    if not data.strip():
        raise Unusable("it is empty")
    text = _decoded(data)
    if b"%PDF" in data[:1024] or "\0" in text:
        raise Unusable("it is no text: a PDF, an archive or another binary file")
    if submitted := _SUBMITTED.search(text):
        text = submitted[0]
    blocks = _html_blocks(text) if _IS_HTML.search(text[:100_000]) else _text_blocks(text)
    return make_report(path.stem, _without_running(item_7(list(blocks))))


def make_report(name: str, blocks: Sequence[str | Table]) -> Report:
    """A report of texts and tables in their order.

    Raises:
        Unusable: there is no table, or no sentence.
    """
    tables: list[Table] = []
    sentences: list[str] = []
    paragraphs: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            paragraphs.append(block)
            continue
        said = list(_sentences(paragraphs))
        title = "\n".join(filter(None, (_take_last(said), block.title)))
        tables.append(Table(block.columns, block.rows, title))
        sentences += said
        paragraphs = []
    if not tables:
        raise Unusable("its Item 7 has no table of numbers")
    sentences += _sentences(paragraphs)
    if not sentences:
        raise Unusable("its Item 7 has no sentence beside the tables")
    return Report(name.partition("_")[0], name, tuple(tables), tuple(sentences))


def item_7(blocks: Sequence[str | Table]) -> list[str | Table]:
    """The blocks from the heading of Item 7 to that of the next item.

    Headings are also in the table of contents, in references and on every page: what counts is the
    longest part, if possible without headings of the items before.

    Raises:
        Unusable: no heading with text behind it.
    """
    found: dict[str, list[int]] = {"start": [], "before": [], "after": [], "title": [], "": []}
    for place in range(len(blocks)):
        found[_heading(blocks, place)].append(place)
    sizes = [0, *accumulate(len(one) if isinstance(one, str) else 0 for one in blocks)]
    parts = []
    for start in found["start"]:
        later = [ends[bisect(ends, start) :][:1] for ends in (found["after"], found["title"])]
        end = next((one[0] for one in later if one), len(blocks))
        others = bisect(found["before"], end) - bisect(found["before"], start)
        parts.append((others, sizes[start] - sizes[end], start, end))
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
    while _key(blocks[place + 1]) and _WORDS.fullmatch(_key(blocks[place + 1])):
        place += 1
    return [*filter(None, [rest]), *blocks[place + 1 : end]]


def _heading(blocks: Sequence[str | Table], place: int) -> str:
    """What a block begins: ``start`` of Item 7, an item ``before`` or ``after`` it, or a part with
    the ``title`` of one after it; empty where it is no heading.
    """
    block, previous = blocks[place], blocks[place - 1] if place else ""
    key = _key(block)
    if not isinstance(block, str) or key[:1] not in ("i", "p", "m", "q", "r", "f", "c"):
        return ""
    if _TITLE.fullmatch(key):
        return "start"
    if _NEXT_TITLE.fullmatch(key):
        return "title"
    if len(key) < 20:
        key += "".join(map(_key, blocks[place + 1 : place + 3]))
    if not block[0].isalpha() or _REFERENCE.search(_cut_title(block)[0]):
        return ""
    if isinstance(previous, str) and _OPEN.search(previous):
        return ""
    if _ITEM_7.match(key):
        return "start"
    other = _OTHER.match(key)
    return "" if other is None else "before" if int(other[1]) < 7 else "after"


def _key(block: str | Table) -> str:
    return re.sub("[^a-z0-9]+", "", block[:300].lower()) if isinstance(block, str) else ""


def _cut_title(block: str) -> tuple[str, str]:
    """The title of a heading behind its number, and the text that follows in the same block."""
    title = block[_NUMBER.match(block).end() :]
    end = _TITLE_ENDS.search(title)
    return (title[: end.start()], title[end.end() :].strip()) if end else (title, "")


def _without_running(blocks: Sequence[str | Table]) -> list[str | Table]:
    """Without page numbers, and the titles that recur beside them on every page."""
    texts = [one if isinstance(one, str) and len(one) <= _RUNNING else "" for one in blocks]
    forms = ["" if _END.search(one) else re.sub(r"\d+", "#", one) for one in texts]
    seen = Counter(filter(None, forms))
    recurs = [seen[form] > 2 for form in forms]
    out = [
        bool(_PAGE.fullmatch(one) or (again and _NUMBERED.search(one)))
        for one, again in zip(texts, recurs, strict=True)
    ]
    for step, order in ((-1, range(1, len(out))), (1, range(len(out) - 2, -1, -1))):
        for place in order:
            out[place] = out[place] or (recurs[place] and out[place + step])
    return [one for one, leave in zip(blocks, out, strict=True) if not leave]


def _take_last(sentences: list[str]) -> str:
    """Take off the last sentence, which says what the next table shows, and its unit behind it."""
    taken: list[str] = []
    while sentences and all(map(_CAPTION.fullmatch, taken)):
        taken.insert(0, sentences.pop())
    return " ".join(taken)


def _sentences(paragraphs: Sequence[str]) -> Iterator[str]:
    """Sentences, also those that a conversion has torn; without what is too long to be one."""
    held = ""
    for paragraph in paragraphs:
        for start, end in sentence_spans(paragraph):
            part = " ".join(paragraph[start:end].split())
            if held and _is_torn(held, part):
                held = f"{held} {part}"
                continue
            if 0 < len(held) <= LONGEST_SENTENCE:
                yield held
            held = part
    if 0 < len(held) <= LONGEST_SENTENCE:
        yield held


def _is_torn(held: str, part: str) -> bool:
    """Whether a sentence goes on in the next part."""
    if _END.search(held) or len(held) + len(part) >= LONGEST_SENTENCE:
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
        tag = node.tag if isinstance(node.tag, str) else ""
        if tag in _BLOCKS:
            yield from flush()
        elif tag in ("td", "th"):
            pieces.append(" ")
        if event == "end":
            pieces.append(node.tail or "")
        elif tag in _SILENT or "display:none" in node.get("style", "").replace(" ", "").lower():
            walker.skip_subtree()
        elif tag == "table" and (table := _table_of(node)) is not None:
            yield table
            walker.skip_subtree()
        else:
            pieces.append(node.text or "")
    yield from flush()


def _table_of(node: lxml.html.HtmlElement) -> Table | None:
    """A table of numbers; ``None`` for one that lays out text, or holds others."""
    if node.find(".//table") is not None:
        return None
    return table_of_html(lxml.html.tostring(node, encoding="unicode", with_tail=False))


def table_of_html(text: str) -> Table | None:
    """One ``<table>``, without spacers; ``None`` where it holds fewer than two numbers."""
    try:
        table = tidy(_without_copies(read_html(text)))
    except TableError:
        return None
    return table if _has_numbers(table) else None


def _without_copies(table: Table) -> Table:
    """Neighbouring columns as one where most cells span both, as the labels of filings do."""
    kept: list[list[str]] = []
    spanned = {row for row, cells in enumerate(table.rows) if len(set(cells)) == 1}
    for column in zip(table.columns, *table.rows, strict=True):
        cells = [cell or "" for cell in column]
        pairs = [] if not kept else list(zip(kept[-1], cells, strict=True))
        body = [pair for row, pair in enumerate(pairs[1:]) if row not in spanned and any(pair)]
        same = sum(a == b for a, b in body)
        if 2 * same > len(body) and all(a == b or not (a and b) for a, b in pairs):
            kept[-1] = [a or b for a, b in pairs]
        else:
            kept.append(cells)
    columns, *rows = zip(*kept, strict=True)
    return Table.of(columns, rows, table.title)


def _has_numbers(table: Table) -> bool:
    if len(table.columns) < 2:
        return False
    cells = [cell for row in table.rows for cell in row[1:] if not is_blank(cell)]
    return sum(parse_number(cell or "") is not None for cell in cells) >= 2


def _text_blocks(text: str) -> Iterator[str | Table]:
    """Paragraphs and the tables marked in plain text."""
    position = 0
    for start, end in locate_html(text):
        yield from _paragraphs(text[position:start])
        try:
            table = read_ascii(text[start:end])
        except TableError:
            table = None
        if table is not None and _has_numbers(table):
            yield table
        else:
            yield from _paragraphs(text[start:end])
        position = end
    yield from _paragraphs(text[position:])


def _paragraphs(text: str) -> Iterator[str]:
    """Parts between blank lines, or lines where they are whole paragraphs; a heading is its own."""
    lines = text.splitlines()
    long = sum(len(line) > _LONG_LINE for line in lines)
    single = 5 * long > len(lines) or not re.search(r"\n\s*\n", text)
    border = r"\n" if single else r"\n\s*\n|\n(?=\s*(?:part\s+ii\W+)?item\s+\d)"
    text = _TAG.sub(" ", _PAGE_LINE.sub(r"\n\n\g<0>\n\n", text))
    for part in re.split(border, text, flags=re.I):
        if plain := _SPACE.sub(" ", part).strip():
            yield plain


def _decoded(data: bytes) -> str:
    """The text; what a document declares of its encoding is often wrong."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    text = data.decode("utf-8-sig", errors="replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    if 2 * text.count("\ufffd") > others:  # a single wrong byte leaves it UTF-8
        return data.decode("windows-1252", errors="replace")
    return text
