"""What print adds to a cell (emphasis, footnotes, markup, deviations), told from what it says."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from tablemend.values.cells import Value, read_value
from tablemend.values.numbers import Number
from tablemend.values.units import Unit

_MARKED = re.compile(r"[\[<&]")
# As arXiv tables (SciGen, SciTab) and HTML leave them; other words in brackets are content.
_TAGS = re.compile(
    r"\[/?(?:bold|italic|underline|empty|continue)\]"
    r"|</?(?:bold|italic|underline|[biupsqa]|em|strong|su[bp]|span|small|big|font|div|code|abbr"
    r"|t[dhrt]|table|tbody|thead|tfoot|caption|h[1-6]|dl|dt|dd|label|time|data|var|kbd|samp|pre"
    r"|center|cite|strike|del|ins|mark|nobr|li|ul|ol|img|ref)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\w{1,7}|[a-zA-Z]{2,8}\d?);")
_SPACES = re.compile(r" {2,}")
_FOOTNOTE = re.compile(r"(?:\s?\[(?:note )?\w{1,2}\]|\s?[†‡§¶])+$", re.IGNORECASE)
_INDENT = re.compile(
    r"(?:[\s\xa0\u2000-\u200a\u3000]|[.\u2022\u00b7\u2013\u2014-](?=[\s.\u00b7-]))+(?=\S)"
)
_SIGN = re.compile(r"^([-+\u2212\u2013]) (?=[\d.$€£])")
_DEVIATION = re.compile(
    r"(?P<value>[-\u2212]?\d[\d,]*(?:\.\d+)?%?)\s*"
    r"(?:(?:±|\+/-|\\pm)\s*\d[\d.,]*%?|\(\s?±?\s?\d*\.\d+%?\s?\))\s*[*†‡]*"
)
# "143 mg/dL", "5.1 x10^9/L": a unit that the table of measures does not have.
_RATE = re.compile(
    r"(?P<value>[-<>\u2264\u2265]?=? ?\d[\d.,]*) ?(?:x ?10\^?\d+ ?)?"
    r"[^\W\d_%]{0,12}\d?/ ?[^\W\d_]{1,8}\d?"
)
_COUNTED = re.compile(r"(?P<value>[-+]?\d[\d.,]*) [^\W\d_]{1,12}\.?")
_SUM = re.compile(r"[\d.]+(?: ?[-+\u2013\u2212] ?[\d.]+)+ ?= ?(?P<value>[-+]? ?\d[\d.,]*)")
_TWO = re.compile(
    r"(?P<first>[^()\[\]]*\d[^()\[\]]*?) ?[(\[](?P<second>[^()\[\]]*\d[^()\[\]]*)[)\]]"
)
_OF = re.compile(
    r"(?P<part>\d{1,9}) ?/ ?(?P<whole>\d{1,9})(?: ?\((?P<percent>\d+(?:\.\d+)?) ?%?\))?"
)
_SHARE = re.compile(r"[(\[,/] ?(?:%|per ?cent)")
_PERCENT = Unit(symbol="%")
_CACHED_LENGTH = 256


def plain_cell(cell: str | None) -> str:
    """A cell as written, less marks of print: ``[BOLD]``, tags, entities, footnote marks.

    Empty for an empty cell and for one that holds marks only.
    """
    if not cell:
        return ""
    if _MARKED.search(cell):
        cell = _BREAK.sub("\n", cell)
        cell = _SPACES.sub(" ", _TAGS.sub("", cell)).strip()
        if "&" in cell:
            cell = _ENTITY.sub(lambda match: html.unescape(match[0]), cell)
    if not cell.isascii() or cell.endswith("]"):
        cell = _FOOTNOTE.sub("", cell) or cell
        cell = _SPACES.sub(" ", cell.replace("\xa0", " "))
    return cell.strip()


def indentation(cell: str | None) -> int:
    """How far a row heading is set in: blanks, dots or dashes before its first word."""
    return len(match[0]) if cell and (match := _INDENT.match(cell)) else 0


def plain_header(name: str) -> str:
    """A header as :func:`plain_cell`, on one line."""
    return " ".join(plain_cell(name).split())


def read_cell(cell: str) -> Value:
    """A plain cell, read as statistics are printed.

    Beyond :func:`~tablemend.values.cells.read_value`: a sign apart from its digits (``- 2``), a
    mean with its deviation (``29.3±0.5``, ``12.3 (0.4)``), a number in any unit with a slash
    (``143 mg/dL``) and a sum with its result (``71 + 64 = 135``) are the number that they state
    first, or last.
    """
    return _read_cached(cell) if len(cell) <= _CACHED_LENGTH else read_value(cell)


def second_number(cell: str, header: str) -> Number | None:
    """The other number of a cell that states two: 24 % of ``12 (24.0)`` under "n (%)".

    Under "n/N" that is the first as a share of the second; of a mean its deviation.
    """
    if share := _OF.fullmatch(cell):
        whole = Decimal(share["whole"])
        if share["percent"] or not whole:
            return Number(Decimal(share["percent"]), _PERCENT) if share["percent"] else None
        return Number(100 * Decimal(share["part"]) / whole, _PERCENT, 1)
    match = _TWO.fullmatch(cell)
    number = read_value(match["second"]).number if match else None
    if number is None or number.percent or not _SHARE.search(header):
        return number
    return replace(number, unit=_PERCENT)


def counts_in_words(cells: Sequence[str]) -> bool:
    """Whether most cells of a column are numbers, some with a word that is no known unit."""
    if not any(map(_COUNTED.fullmatch, cells)):
        return False
    values = [value for cell in cells if not (value := read_counted(cell)).blank]
    return 5 * sum(value.number is not None for value in values) >= 4 * len(values)


def read_counted(cell: str) -> Value:
    """A cell of a column that counts in a word of its own ("94 fL"): the number before it."""
    value = read_cell(cell)
    if value.number is None and not value.dates and (match := _COUNTED.fullmatch(cell)):
        counted = read_cell(match["value"])
        return counted if counted.number is not None else value
    return value


@lru_cache(maxsize=1 << 16)
def _read_cached(cell: str) -> Value:
    value = read_value(cell)
    if value.number is not None or value.dates or value.blank:
        return value
    if match := _SIGN.match(cell):
        signed = read_value(match[1].replace("+", "") + cell[match.end() :])
        return signed if signed.number is not None else value
    for pattern in (_DEVIATION, _SUM, _RATE):
        if match := pattern.fullmatch(cell):
            return read_value(match["value"].replace("+", "").replace(" ", ""))
    return value
