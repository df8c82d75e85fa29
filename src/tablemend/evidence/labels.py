"""What the words beside cells state (units, scales, totals), and what print adds to a cell."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from tablemend.values.cells import Value, read_value
from tablemend.values.numbers import Number, parse_number
from tablemend.values.units import (
    CURRENCIES,
    MEASURES,
    ONE,
    PLAIN,
    SCALES,
    Unit,
    header_unit,
    scaled_money,
    spelled_scales,
)

_WORD = re.compile(r"[%€£¥₹₩₽₺$]|[^\W\d_]+(?:/[^\W\d_]+)?[23]?")
# Alone over a column, "w", "hr" and "year" are wins, home runs and the calendar's.
_AMBIGUOUS = frozenset(
    "in a$ min mins hr hrs sec second seconds minute hour day week month year yr foot ton degree "
    "mn try bn tn pp mio".split()
)
_SHORT = frozenset("% mm cm km kg ha m2 m3 gb mb tb kw mw gw km2 usd eur gbp".split())
_UNIT_WORDS = {
    word
    for word in (
        *(word for word, scale in SCALES.items() if scale >= 1000),
        *CURRENCIES,
        *(word for symbol, (_, _, names) in MEASURES.items() for word in (symbol, *names.split())),
        *("us", "hpa", "mmol/l", "g/dl", "mg/dl", "number", "count", "persons", "people"),
    )
    if (len(word) > 2 and word not in _AMBIGUOUS) or word in _SHORT or not word.isalnum()
} | {"us"}
_FILLING = frozenset(
    "in of the per amount amounts figures data expressed stated otherwise unless noted except "
    "share shares and or distribution total u s cent all".split()
)
_STATED = re.compile(r"[(\[%€£¥₹₩₽₺$]|\bper ?cent", re.I)
_TAIL = re.compile(r"(?:\bin |, ?)([^(),]{1,24})$", re.I)
_SCALED = r"(?:thousand|million|billion|trillion|lakh|crore)"
_CAPTION = re.compile(
    rf"\b(?:in|\$|us\$|usd|eur)\s?(?:u\.?s\.? ?)?(?:\$|€|£|¥|dollars? )?\s?(?:in )?({_SCALED})s?\b"
    rf"|\(\s?(?:[$€£¥] ?|usd |us\$ ?|eur |gbp )?({_SCALED})s?\b"
    rf"|({_SCALED})s of\b",
    re.I,
)
_SHARES_IN = re.compile(
    r"\bshares?(?: outstanding| data| amounts)?(?: are| is)?(?: stated| shown| presented)?"
    rf" in ({_SCALED})s?|\b({_SCALED})s of shares"
)
_CAPTION_MONEY = re.compile(
    r"\b(?:dollars?|us\$|usd|euros?|eur|pounds sterling|gbp|yen|rupees?|yuan|rmb|cny|chf)\b"
    r"|[$€£¥₹]",
    re.I,
)
_CAPTION_PERCENT = re.compile(r"\bin (?:%|percent(?:ages?)?\b|per cent\b)", re.I)
_US = re.compile(r"\bu\.s\.?", re.I)
_PLURAL = re.compile(r" ?\((?:e?s|ies)\)")


@lru_cache(maxsize=1 << 12)
def label_unit(label: str) -> Unit:
    """The unit that a column's or row's label states: ``Revenue ($ millions)``, ``2019 €m``.

    As :func:`~tablemend.values.units.header_unit`, and where the label is a unit and nothing else.
    """
    label = _PLURAL.sub("", _US.sub("US", label))
    return header_unit(f"({label})") if is_unit_label(label) else header_unit(label)


@lru_cache(maxsize=1 << 12)
def row_unit(label: str) -> Unit:
    """The unit that a row's name states; single letters are names there ("Brown, S")."""
    tail = _TAIL.search(label)
    if not _STATED.search(label) and not (tail and is_unit_label(tail[1])):
        return PLAIN
    unit = label_unit(label)
    if len(unit.symbol) == 1 and unit.symbol.isalpha():
        return Unit(unit.scale, "", unit.currency)
    return unit


@lru_cache(maxsize=1 << 10)
def caption_unit(caption: str) -> Unit:
    """What a caption states for all cells: ``(in thousands, except per share data)``.

    Scales and currencies, and percent where it is said of the cells ("in percent"); a measure in
    a caption tells what the table is about, not what its cells count in.
    """
    plain = _SHARES_IN.sub(" ", spelled_scales(caption))
    scale, (_, written) = ONE, scaled_money(plain) or (None, PLAIN)
    if match := _CAPTION.search(plain):
        scale = SCALES[next(group for group in match.groups() if group)]
    elif written.scale != ONE:
        return written
    money = _CAPTION_MONEY.search(caption) if scale != ONE or len(caption) < 200 else None
    currency = header_unit(f"({money[0]})").currency if money else ""
    percent = "%" if scale == ONE and not currency and _CAPTION_PERCENT.search(caption) else ""
    return Unit(scale, percent, currency)


@lru_cache(maxsize=1 << 10)
def share_scale(caption: str) -> Decimal:
    """What a caption multiplies numbers of shares by: "(shares in thousands)"."""
    match = _SHARES_IN.search(spelled_scales(caption))
    return SCALES[match[1] or match[2]] if match else ONE


@lru_cache(maxsize=1 << 12)
def is_unit_label(label: str) -> bool:
    """Whether a label names a unit and nothing else: ``percent``, ``(in millions)``, ``€m``."""
    label = spelled_scales(label)
    words = _WORD.findall(label)
    if not words or len(words) > 8 or any(character.isdigit() for character in label):
        return False
    return all(word in _UNIT_WORDS or word in _FILLING for word in words) and any(
        word in _UNIT_WORDS for word in words
    )


def _test(pattern: str, *, whole: bool) -> Callable[[str], bool]:
    """A test of labels, whose answers are kept: has, or is as a whole, what a pattern says."""
    known = re.compile(pattern, re.I)
    find = known.fullmatch if whole else known.search
    return lru_cache(maxsize=1 << 12)(lambda label: find(label.strip()) is not None)


_ADDED = (
    r"(?:(?:grand|sub|career|season|combined|overall|net|league|club|international|national"
    r"|ncaa|nfl|nba|cumulative|column|world|team) ?-? ?)*"
)
names_total = _test(
    rf"{_ADDED}(?:totals?|sum|overall|career(?: (?:stat(?:istic)?s|summary))?|average|avg\.?|mean"
    rf"|median|all(?: ?- ?time)?)(?: ?\([^()]*\))?:?"
    r"|(?:sub-?)?totals?(?:\b.*)|all (?:[a-z&' -]+ )?[a-z]+s(?: overall)?|.+ (?:overall|totals?)"
    r"|(?:averages?|mean|median)(?: of| over| across| \(|:| for)\b.*|overall (?:totals?|averages?)",
    whole=True,
)
"""Whether a row's name is that of a sum or an average of other rows."""
names_total_column = _test(
    rf"{_ADDED}(?:totals?|sum|overall|average|avg\.?|mean|all)(?: ?\([^()]*\))?", whole=True
)
"""Whether a column's name is that of a sum or an average of other columns."""
names_average = _test(r"(?:overall |macro[- ])?(?:average|avg\.?|mean|ave\.?)", whole=True)
"""Whether a column's name is that of an average and nothing else."""
counts_by_itself = _test(
    r"\bper\b|\beps\b|\bratio\b|\bmargin\b|\brates?\b|\baverage\b|\bshares?\b(?! ?holders)"
    r"|\bnumber of\b|\bemployees\b|\bheadcount\b|%|\bpercent",
    whole=False,
)
"""Whether a caption's scale leaves this row or column out: per-share figures, rates, heads."""
counts_shares = _test(
    r"^(?!.*\b(?:per|price|value|earnings|loss|income)\b).*\bshares\b", whole=False
)
"""Whether a row or column counts shares, and nothing per share."""


def merge_units(*units: Unit) -> Unit:
    """One unit of several statements, the nearest to the cell first."""
    symbol = next((unit.symbol for unit in units if unit.symbol), "")
    currency = next((unit.currency for unit in units if unit.currency), "")
    scale = next((unit.scale for unit in units if unit.scale != ONE), ONE)
    # "percent" in a row or column ends a scale that was stated farther away.
    if symbol and not any(unit.symbol == symbol and unit.scale == scale for unit in units):
        scale = ONE
        currency = ""
    return Unit(scale, symbol, currency)


def is_label(cell: str) -> bool:
    """Whether a cell can stand in a header: words, a year or a period, and no other number."""
    number = parse_number(cell) if any(character.isdigit() for character in cell) else None
    if number is None:
        return len(cell) <= 120
    return number.unit == PLAIN and not number.decimals and 1000 <= number.value <= 2999


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
        if share["percent"]:
            return Number(Decimal(share["percent"]), _PERCENT)
        whole = Decimal(share["whole"])
        return Number(100 * Decimal(share["part"]) / whole, _PERCENT, 1) if whole else None
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
