"""What the words beside a table's cells state: units, scales, totals."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from tablemend.values.numbers import parse_number
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
_PER_UNIT = re.compile(
    r"\bper\b|\beps\b|\bratio\b|\bmargin\b|\brates?\b|\baverage\b|\bshares?\b(?! ?holders)"
    r"|\bnumber of\b|\bemployees\b|\bheadcount\b|%|\bpercent",
    re.I,
)
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
_SHARES = re.compile(r"^(?!.*\b(?:per|price|value|earnings|loss|income)\b).*\bshares\b", re.I)
_CAPTION_MONEY = re.compile(
    r"\b(?:dollars?|us\$|usd|euros?|eur|pounds sterling|gbp|yen|rupees?|yuan|rmb|cny|chf)\b"
    r"|[$€£¥₹]",
    re.I,
)
_CAPTION_PERCENT = re.compile(r"\bin (?:%|percent(?:ages?)?\b|per cent\b)", re.I)
_ADDED = (
    r"(?:(?:grand|sub|career|season|combined|overall|net|league|club|international|national"
    r"|ncaa|nfl|nba|cumulative|column|world|team) ?-? ?)*"
)
_TOTAL = re.compile(
    rf"{_ADDED}(?:totals?|sum|overall|career(?: (?:stat(?:istic)?s|summary))?|average|avg\.?|mean"
    rf"|median|all(?: ?- ?time)?)(?: ?\([^()]*\))?:?"
    r"|(?:sub-?)?totals?(?:\b.*)|all (?:[a-z&' -]+ )?[a-z]+s(?: overall)?|.+ (?:overall|totals?)"
    r"|(?:averages?|mean|median)(?: of| over| across| \(|:| for)\b.*|overall (?:totals?|averages?)",
    re.I,
)
_TOTAL_COLUMN = re.compile(
    rf"{_ADDED}(?:totals?|sum|overall|average|avg\.?|mean|all)(?: ?\([^()]*\))?", re.I
)
_US = re.compile(r"\bu\.s\.?", re.I)
_PLURAL = re.compile(r" ?\((?:e?s|ies)\)")
_AVERAGE = re.compile(r"(?:overall |macro[- ])?(?:average|avg\.?|mean|ave\.?)", re.I)


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
def counts_shares(label: str) -> bool:
    """Whether a row or column counts shares, and nothing per share."""
    return _SHARES.search(label) is not None


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


@lru_cache(maxsize=1 << 12)
def counts_by_itself(label: str) -> bool:
    """Whether a caption's scale leaves this row or column out: per-share figures, rates, heads."""
    return _PER_UNIT.search(label) is not None


@lru_cache(maxsize=1 << 12)
def names_total(label: str) -> bool:
    """Whether a row's name is that of a sum or an average of other rows."""
    return _TOTAL.fullmatch(label.strip()) is not None


@lru_cache(maxsize=1 << 12)
def names_total_column(label: str) -> bool:
    """Whether a column's name is that of a sum or an average of other columns."""
    return _TOTAL_COLUMN.fullmatch(label.strip()) is not None


@lru_cache(maxsize=1 << 12)
def names_average(label: str) -> bool:
    """Whether a column's name is that of an average and nothing else."""
    return _AVERAGE.fullmatch(label.strip()) is not None


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
