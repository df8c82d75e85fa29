"""What a cell says: blank, number, date or text; when two are the same, or one has the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import yaml

from tablemend.values.dates import (
    covers_date,
    parse_clean_date,
    parse_clean_time,
    same_date,
    split_dates,
)
from tablemend.values.numbers import (
    ORDINALS,
    Bound,
    Number,
    bound_at,
    decimals_for_fractions,
    find_quantities,
    find_spelled,
    parse_clean_number,
    parse_range,
    plain_digits,
    same_amount,
)
from tablemend.values.text import Tokens, clean, fold, tokens_of
from tablemend.values.units import PLAIN, Unit

_MARKS = re.compile(r"(?:[-_.?/\u2026\u2205'\"\s\u274c]|\{\s*\}|\[\s*\])*\Z")
_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("blanks.yaml").read_text("utf-8"))
_CODES = frozenset(_DATA["codes"].split())
_PHRASE = re.compile("|".join(_DATA["phrases"]).format(**_DATA["words"]), re.IGNORECASE)
# "N/A (not reported)", "N/A - not stated", "Not stated/unknown"; both halves must be blanks.
_TWICE = re.compile(r"(.+?)(?: ?[(\[](.+)[)\]]|(?: - |(?<![nN])/|; ?)(.+))")

# How any of these begins: most cells are told from a blank by their first letters.
_BEGINNING = re.compile(r"[\W_]|n|un|bl|em|mi|pe|tb|to|da|de|in|va|fi|re|ye", re.IGNORECASE)


def is_blank(cell: str | None) -> bool:
    """Whether a cell says only that there is no value.

    ``no`` and ``0`` are values. ``none`` is a blank, as in the paper's list.
    """
    if cell is None or not cell:
        return True
    if not _BEGINNING.match(cell):
        return False
    if len(cell) > 80:
        return not cell.strip()
    return _says_blank(clean(cell))


def _says_blank(text: str) -> bool:
    if _MARKS.match(text):
        return True
    text = (text.rstrip("^*\u2020\u2021\u00a7") or text).strip(" .\"'")
    if text[:1] + text[-1:] in ("()", "[]"):
        text = text[1:-1].strip()
    if text in _CODES or not text:
        return True
    if _PHRASE.fullmatch(text):
        return True
    said_twice = _TWICE.fullmatch(text)
    return said_twice is not None and all(_says_blank(part) for part in said_twice.groups("-"))


# ---- values

_CACHED_LENGTH = 256
_FOOTNOTE = re.compile(r"(?:(?<=[^\W\d_]{3})|(?<=\d{4})|(?<=\))) ?\^\w{1,2}$")

_TICKS = dict.fromkeys("✓✔☑✅", "yes") | dict.fromkeys("✗✘☒", "no")
_MARKED = re.compile(r"[.e]", re.IGNORECASE)
_DOTTED = re.compile(
    r"(?<![\d.,])\d{1,3}(?:\.\d{3})(?:(?:\.\d{3})+(?![.\d])|(?:\.\d{3})*,\d{1,2}(?!\d))"
)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![.,\d])")
_IN_BRACKETS = re.compile(r"^\(([^()]+)\)$")


@dataclass(frozen=True, slots=True)
class Value:
    """A cell, read.

    Attributes:
        text: the standard form (TableHallu, C.1): a date in ISO (an ambiguous ``03/04/2021`` as
            it is written), a number as plain digits with its currency and unit, else NFKC and
            case-folded with one kind of space, quote and dash; empty for a blank.
        number: set where the whole cell is a number.
        dates: every ISO reading where the whole cell is a date.
        times: every reading where it is a clock time, with or without a date, or a quarter of
            no year.
    """

    text: str
    number: Number | None = None
    dates: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether the cell is empty or says that there is no value."""
        return not self.text

    def forms(self) -> tuple[object, ...]:
        """Hashable forms: two cells with equal forms are candidates for being the same."""
        if self.number is not None:
            return (self.number.value,)
        return (*self.dates, self.text) if self.dates else (self.text,)


BLANK = Value("")


def read_value(cell: str | None) -> Value:
    """Read a cell; results are kept in a bounded cache (short cells only)."""
    if cell is None:
        return BLANK
    return _read_cached(cell) if len(cell) <= _CACHED_LENGTH else _read(cell)


def _read(cell: str) -> Value:
    if is_blank(cell):
        return BLANK
    if answer := _TICKS.get(cell.strip()[:1] if len(cell.strip()) < 3 else ""):
        return Value(answer)
    text = clean(cell)
    if (number := parse_clean_number(text)) is not None:
        return Value(number.canonical(), number)
    text = _IN_BRACKETS.sub(r"\1", _FOOTNOTE.sub("", text))
    if dates := parse_clean_date(text):
        return Value(dates[0] if len(dates) == 1 else text.casefold(), None, dates)
    return Value(text.casefold(), times=parse_clean_time(text))


def read_under(cell: str | None, unit: Unit) -> Value:
    """Read a cell as the header or the column says: codes, and thousands behind a dot."""
    if unit.dots and cell:
        cell = undotted(cell)
    value = read_value(cell)
    if unit.codes and cell and value.number is not None and _MARKED.search(cell):
        return Value(fold(cell))
    return value


def writes_dots(cells: Iterable[str | None]) -> bool:
    """Whether a column writes thousands with a dot: one of its cells can be read no other way."""
    return any(cell and _DOTTED.search(cell) for cell in cells)


def undotted(cell: str) -> str:
    """``987.000`` as ``987,000``, of a column that :func:`writes_dots`."""
    return _THOUSANDS.sub(lambda match: match[0].replace(".", ","), cell)


_read_cached = lru_cache(maxsize=1 << 16)(_read)


def same_value(one: str | None, other: str | None, header: Unit = PLAIN) -> bool:
    """Whether two cells are equal once standardised; no inclusion, no similarity.

    Args:
        one: a cell as written.
        other: another one; two blanks are the same, a blank and a value are not.
        header: the unit that the column header states, from
            :func:`~tablemend.values.units.header_unit`.
    """
    return one == other or equal_values(read_value(one), read_value(other), header)


def equal_values(one: Value, other: Value, header: Unit = PLAIN) -> bool:
    """:func:`same_value` of two cells already read."""
    if one.number is not None and other.number is not None:
        return same_amount(one.number, other.number, header)
    if one.dates and other.dates:
        return same_date(one.dates, other.dates)
    if one.text == other.text or same_date(one.times, other.times):
        return True
    first, second = parse_range(one.text), parse_range(other.text)
    return first is not None and second is not None and same_amount(first, second, header)


def year_of(value: Value) -> str | None:
    """The year that a bare four-digit number can be, or ``None``."""
    number = value.number
    if number is None or number.unit != PLAIN or number.decimals:
        return None
    return plain_digits(number.value) if 1000 <= number.value <= 2999 else None


# ---- inclusion

_WORDS: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("inclusion.yaml").read_text("utf-8")
)
NEGATIONS, MODIFIERS, BOUND_WORDS = (
    frozenset(_WORDS[kind].split()) for kind in ("negations", "modifiers", "bounds")
)
_HAS_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_ORDINAL = re.compile(rf"\b(?:(\d+)(?:st|nd|rd|th)|{'|'.join(ORDINALS)})\b")
_ROMANS = {
    ten + one: value
    for value, (ten, one) in enumerate(
        product(("", "x", "xx", "xxx", "xl"), ("", *"i ii iii iv v vi vii viii ix".split()))
    )
}
# "Rocky V", but not "John V. Smith"
_ROMAN = re.compile(
    r"(?<=\w )(?:(?:x{1,3}|xl(?=[iv]))(?:ix|iv|v?i{0,3})|ix|iv|v?i{1,3}|v)\b"
    r"(?:(?<=[ivx]{2})|(?!\.))"
)
_ALONE = re.compile(r"[ivx]+")
_LISTED = re.compile(r"/| (?:and|&|or) ")
_WORDING = 500  # a number or date with wording around it is no longer than this


def negations(tokens: Tokens) -> frozenset[str]:
    """The negations of a text; contractions ("isn't") count as ``not``."""
    found = NEGATIONS.intersection(tokens.words)
    return found | {"not"} if any(word.endswith("n't") for word in tokens.words) else found


def modifiers(tokens: Tokens) -> frozenset[str]:
    """The modifiers of a text; where nothing else is said they modify nothing ("North")."""
    found = MODIFIERS.intersection(tokens.words)
    return found if len(found) < len(tokens.words) else frozenset()


def digit_words(tokens: Tokens) -> tuple[str, ...]:
    """The runs of digits of a text, in order; numbers as :func:`tokens_of` writes them."""
    return tuple(run for word in tokens.words for run in _DIGITS.findall(word))


def _is_one_of_several(piece: str, whole: str) -> bool:
    """Whether a text is one of the things that another one lists: "II" of "II/III"."""
    parts = _LISTED.split(whole) if piece in whole else ()
    return len(parts) > 1 and piece in map(str.strip, parts)


@lru_cache(maxsize=1 << 14)
def stated_bounds(text: str) -> frozenset[Bound]:
    """What the numbers of a folded text are bounds of: "at least" of "at least 5 users"."""
    if not _HAS_DIGIT.search(text) or len(text) > _WORDING:
        return frozenset()
    found = (bound_at(text, one.start, one.end) for one in find_quantities(text))
    return frozenset(bound for bound in found if bound not in ("", "about"))


def includes(one: Value, other: Value, header: Unit = PLAIN) -> bool:
    """Whether one cell stands whole inside the other and the rest changes nothing.

    Two numbers never include each other. A number is included in a text that holds exactly
    one number outside brackets, equal to it ("7" in "7 cities", not in "7 of 17"), a date in a
    text that holds exactly one date; a year or month in a finer date of it ("2021" in "4 March
    2021", not in "2019-2021"). Text is included token by token, with or without its bracketed
    additions:

    - no word left over may be one of :data:`NEGATIONS`;
    - the neighbours of the included words may not be :data:`MODIFIERS`, in their own
      comma- or bracket-bounded part ("Timaru" is in "Timaru, New Zealand", "Korea" not in
      "North Korea");
    - numbers in names count the same in words, Roman and Arabic figures ("World War Two");
    - a number left over must be set off by a bracket or comma ("Falcon 9" in "Falcon 9
      (2010)", "Apollo" not in "Apollo 11").
    """
    if one.blank or other.blank or (one.number is not None and other.number is not None):
        return False
    if one.dates and other.dates:
        return covers_date(one.dates, other.dates)
    if covers_date(one.times or one.dates, other.times or other.dates):
        return True
    for value, beside in ((one, other), (other, one)):
        if value.number is not None:
            if stated := beside.times or beside.dates:
                year = year_of(value)
                return year is not None and covers_date((year,), stated)
            texts = {beside.text, in_figures(beside.text)}
            return any(_states_number(text, value.number, header) for text in texts)
        if value.dates and _states_date(beside.text, value.dates):
            return True
    if stated_bounds(one.text) != stated_bounds(other.text):
        return False
    if _is_one_of_several(one.text, other.text) or _is_one_of_several(other.text, one.text):
        return False
    first, second = tokens_of(one.text), tokens_of(other.text)
    dated = bool(one.dates or other.dates)
    if "".join(first.words) == "".join(second.words) != "":  # "non-profit" and "nonprofit"
        return digit_words(first) == digit_words(second)
    if _one_holds(first, second, dated) or _has_all_parts(first, second):
        return True
    figures = in_figures(one.text), in_figures(other.text)
    if figures != (one.text, other.text):
        return includes(Value(figures[0]), Value(figures[1]))
    bare = list(map(tokens_of, without_additions(one.text, other.text)))
    if bare == [first, second] or negations(first) != negations(second):
        return False
    return _one_holds(bare[0], bare[1], dated)


@lru_cache(maxsize=1 << 14)
def in_figures(text: str) -> str:
    """``rocky iv`` and ``rocky four`` as ``rocky 4``, ``third`` and ``3rd`` as ``3``.

    Args:
        text: folded.
    """
    if _ALONE.fullmatch(text):
        return str(_ROMANS.get(text, text))
    text = decimals_for_fractions(text)
    for stated in reversed(find_spelled(text)):
        text = text[: stated.start] + plain_digits(stated.number.value) + text[stated.end :]
    text = _ORDINAL.sub(lambda match: match[1] or str(ORDINALS.index(match[0]) + 1), text)
    return _ROMAN.sub(lambda match: str(_ROMANS[match[0]]), text)


def without_additions(one: str, other: str) -> tuple[str, str]:
    """Two texts, what stands in brackets left out where only one of them has any."""
    if ("(" in one or "[" in one) == ("(" in other or "[" in other):
        return one, other
    return _BRACKETS.sub(_drop_addition, one).strip(), _BRACKETS.sub(_drop_addition, other).strip()


def _drop_addition(bracket: re.Match[str]) -> str:
    """Nothing, but "Korea (South)" keeps its modifier."""
    said = bracket[0].strip()[1:-1].strip()
    return bracket[0] if said in MODIFIERS or _is_mark(said) else ""


def _is_mark(word: str) -> bool:
    """Whether a word is the letter or the Roman figure of a class."""
    return word.isalpha() and (len(word) == 1 or word in _ROMANS)


def _states_number(text: str, number: Number, header: Unit) -> bool:
    if len(text) > _WORDING:
        return False
    text = clean(_BRACKETS.sub(" ", text))
    stated = find_quantities(text)
    if len(stated) != 1:
        return False
    bound = bound_at(text, stated[0].start, stated[0].end)
    if not (bound or _is_plain_wording(text)) or negations(tokens_of(text)):
        return False
    return same_amount(replace(stated[0].number, bound=bound), number, header)


def _states_date(text: str, dates: tuple[str, ...]) -> bool:
    if len(text) > _WORDING:
        return False
    stated, rest = split_dates(_BRACKETS.sub(" ", text))
    return (
        len(stated) == 1
        and same_date(stated[0], dates)
        and not _HAS_DIGIT.search(rest)
        and _is_plain_wording(text)
    )


def _is_plain_wording(text: str) -> bool:
    tokens = tokens_of(text)
    return not BOUND_WORDS.intersection(tokens.words) and not negations(tokens)


def _one_holds(one: Tokens, other: Tokens, dated: bool) -> bool:
    whole, piece = (one, other) if len(one.words) >= len(other.words) else (other, one)
    words, wanted = whole.words, piece.words
    wanted = wanted[len(wanted) > 2 and wanted[0] == "the" :]
    size = len(wanted)
    if not size or size == len(words):
        return size > 0 and words == wanted
    if size == 1 and len(wanted[0]) == 1 and not wanted[0].isdigit():  # "C" is not in "C minor"
        return False
    return any(
        words[start : start + size] == wanted and _rest_is_print(whole, start, start + size, dated)
        for start in range(len(words) - size + 1)
        if words[start] == wanted[0]
    )


def _has_all_parts(one: Tokens, other: Tokens) -> bool:
    """Whether all comma-bounded parts stand in the other: ``Bonn, Germany`` and a county."""
    few, many = sorted((_split_parts(one), _split_parts(other)), key=len)
    if len(few) < 2 or few[0] != many[0] or negations(one) != negations(other):
        return False
    rest = iter(many)
    return all(part in rest for part in few)


def _split_parts(tokens: Tokens) -> list[list[str]]:
    return [
        [word for word, _ in group]
        for _, group in groupby(zip(*tokens, strict=True), key=itemgetter(1))
    ]


def _rest_is_print(whole: Tokens, start: int, end: int, dated: bool) -> bool:
    """Whether the tokens outside ``start:end`` leave the meaning of those inside."""
    words, parts = whole
    rest = Tokens(words[:start] + words[end:], parts[:start] + parts[end:])
    if negations(rest) or (dated and BOUND_WORDS.intersection(rest.words)):
        return False
    neighbours = [
        place
        for place, edge in ((start - 1, start), (end, end - 1))
        if 0 <= place < len(words) and parts[place] == parts[edge]
    ]
    if any(words[place] in MODIFIERS for place in neighbours):
        return False
    if any(
        (w in MODIFIERS or _is_mark(w)) and parts.count(p) == 1 for w, p in zip(*rest, strict=True)
    ):
        return False  # "Korea (South)", "Hard (i)"
    numbered = any(_HAS_DIGIT.search(word) for word in words[start:end])
    named = any(not _HAS_DIGIT.search(word) for word in words[start:end])
    own_parts = set(parts[start:end])
    return not any(
        _HAS_DIGIT.search(word) and (part in own_parts or dated or (numbered and not named))
        for word, part in zip(*rest, strict=True)
    )
