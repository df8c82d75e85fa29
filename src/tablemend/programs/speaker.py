"""What can be said of a table beyond doubt, and in which templates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tablemend.errors import TablemendError
from tablemend.evidence.labels import is_unit_label
from tablemend.programs.nouns import (
    WORDS,
    is_counted_label,
    is_name,
    is_plural,
    is_plural_label,
    is_said,
    measure_label,
    noun_of,
    plural_of,
    spoken,
    with_article,
)
from tablemend.programs.program import Condition, Rows
from tablemend.programs.table import Cell, Kind, TypedTable, states_units
from tablemend.values.dates import Period, read_period
from tablemend.values.text import tokens_of
from tablemend.values.units import ONE

_FLAGS = ("flag", "flag status")
_FLAGGED = frozenset("high low normal abnormal critical h l n a hh ll".split())
MAX_ROWS, MAX_COLUMNS = 400, 60

_NO_AMOUNT = re.compile(rf"(?:#|{'|'.join(WORDS['no_amounts'])})\.?", re.I)
_RANKED = re.compile(r"\b(?:rank|position)", re.I)
_RATE = re.compile(rf"%|per |/|{'|'.join(WORDS['rates'])}", re.I)
_LIMITS = re.compile(r"(?:reference|normal|ref\.?)[ _](?:range|interval)", re.I)
_PERSONS = re.compile(rf"(?:{'|'.join(WORDS['persons'])})s?", re.I)
_TITLED = re.compile(r"[A-Z][a-z]+(?: [A-Za-z][a-z]+)*")
_METRICS = frozenset(("metric", "measure", "indicator"))
_THINGS = _METRICS | {"test", "category", "item", "product", "segment", "department"}
_NO_ENTITY = re.compile(
    r"(?:[\w-]+ )?(?:majority|plurality|turnout|swing|quota|electorate|abstentions?)"
    r"(?: ?[/(].*| of .+)?"
    r"|(?:total |all |in)?(?:valid|rejected|spoil\w*|blank|null|void|informal|formal|unreturned"
    r"|unmarked|wild|wasted|exhausted|disputed|tendered|issued|counted)\b.*"
    r"\b(?:votes?|ballots?|papers?)"
    r"|(?:votes?|ballots?)(?: cast| counted| polled| total)?|margin(?: of victory)?"
    r"|(?:registered|eligible|enrolled|total) (?:electors?|voters?)\b.*"
    r"|(?!the )(?:[\w'&.-]+ ){1,4}(?:hold|gain from .+|win \(?new (?:seat|constituency)\)?"
    r"|retains?(?: seat)?)"
    r"|constituency (?:created|abolished|re-?created|established|dissolved)\b.*"
    r"|(?:all )?others?|write-?ins?\b.*|scattering|none(?: of the above)?|unknown|vacant|bye"
    r"|rest day|tb[acd]|n/?a|no (?:award|race|contest|result|election)|not (?:awarded|held)"
    r"|cancell?ed"
    r"|(?:sources?|(?:foot)?notes?|references?|remarks?|legend|key|see also)(?: ?[:.-].*)?",
    re.I,
)
"""What rows are called that say something of the whole table, or nothing, and of no entity."""
QUOTES = '"\u201c\u201d '


class Unsayable(TablemendError):
    """A table of which nothing can be said; the message is the reason, to be counted."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A column that says something of rows.

    Attributes:
        column: its place.
        label: what a sentence calls it; "figure" where its header is a period.
        kind: what its cells are.
        comparable: its numbers can be ranked and set against each other.
        summable: they can be added up.
        counted: it is called by a plural and its cells are whole numbers: "41 points".
        period: its header.
        is_name: its label is a name, that of an entity: "the" does not stand before it.
        flags: it says high, low or normal of each row.
    """

    column: int
    label: str
    kind: Kind
    comparable: bool = False
    summable: bool = False
    counted: bool = False
    period: Period | None = None
    is_name: bool = False
    flags: bool = False


class TableDescriber:
    """The words for one table, or one turned.

    Args:
        table: the table.

    Attributes:
        who, when: the columns of names and of periods that tell rows apart; ``None`` for none.
        rows: those that are named beyond doubt, without totals and what spans the table.
        whole: all rows but totals are among them, so that they may be ranked and counted.
        measures: the columns to speak of.
        limits: the column of reference ranges.
        noun: what a row is called ("team"), where the header says it in one common word.

    Raises:
        Unsayable: nothing can be said of it.
    """

    def __init__(self, table: TypedTable) -> None:
        self.table = table
        if len(table.rows) > MAX_ROWS:
            raise Unsayable(f"more than {MAX_ROWS} rows")
        if len(table.columns) > MAX_COLUMNS and not table.is_turned:
            raise Unsayable(f"more than {MAX_COLUMNS} columns")
        if len(table.columns) < 2:
            raise Unsayable("only one column")
        self.who, self.when = _find_axes(table)
        when = self.when
        keys = {
            row: (tokens_of(self.name(row)).words, "" if when is None else self.cell(row, when).key)
            for row in table.body
        }
        counts = Counter(keys.values())
        self.rows = tuple(
            row
            for row, key in keys.items()
            if counts[key] == 1
            and (when is None or self.cell(row, when).kind == "date")
            and (self.who is None or (is_name(self.name(row)) and not self._is_spanning(row)))
        )
        if len(self.rows) < 2:
            raise Unsayable("fewer than two rows with a name of their own")
        self.whole = len(self.rows) == len(table.body)
        self.has_totals = len(table.body) < len(table.rows)
        header = "" if self.who is None else table.columns[self.who].header
        self.noun = noun_of(header)
        self.names_persons = bool(_PERSONS.fullmatch(header.strip()))
        labels = self._labels()
        headers = {column: table.columns[column].header for column in labels}
        self.limits = next((c for c, text in headers.items() if _LIMITS.fullmatch(text)), None)
        self.measures = {
            column: measure
            for column, label in labels.items()
            if column != self.limits
            and not states_units(headers[column])
            and (measure := self._measure(column, label)) is not None
        }
        if not self.measures:
            raise Unsayable("no column to speak of")

    def _is_spanning(self, row: int) -> bool:
        """Whether a row is of no entity: its name says so, or stands across three cells."""
        name = self.name(row)
        across = sum(cell.text.strip(QUOTES) == name for cell in self.table.cells[row])
        return across > 2 or _NO_ENTITY.fullmatch(name) is not None

    def _labels(self) -> dict[int, str]:
        """The columns that can be named, each by a label of its own."""
        columns, labels = self.table.columns, dict[int, str]()
        for place, column in enumerate(columns):
            if place in (self.who, self.when) or place == self.table.key:
                continue
            if self.table.is_turned:
                name = column.path[-1].strip(QUOTES)
                labels[place] = name if is_name(name) and not column.total else ""
            elif place in self.table.period_headers and len(column.path) == 1:
                labels[place] = f"figure {self.table.period_headers[place].iso}"
            else:
                named = [level for level in column.path if not is_unit_label(level)]
                labels[place] = measure_label(named or column.path)
        counts = Counter(label.casefold() for label in labels.values())
        return {c: label for c, label in labels.items() if label and counts[label.casefold()] == 1}

    def _measure(self, column: int, label: str) -> Measure | None:
        """A column that most rows fill with things of one sort."""
        cells = [self.cell(row, column) for row in self.rows]
        filled = [cell for cell in cells if cell.kind != "blank"]
        texts = [cell.text for cell in filled]
        if label in _FLAGS and texts and {text.casefold() for text in texts} <= _FLAGGED:
            return Measure(column, label, "text", flags=True)  # what is normal may have none
        if 2 * len(filled) < len(cells) or not filled:
            return None
        kinds = {cell.kind for cell in filled}
        if kinds == {"date"}:
            grains = {cell.measure for cell in filled}
            return Measure(column, label, "date") if len(grains) == 1 else None
        if kinds == {"number"}:
            return self._number_measure(column, label, filled)
        if kinds != {"text"} or not all(map(is_said, texts)) or len(set(texts)) == 1:
            return None
        measured = sum(text[0].isdigit() for text in texts)
        return None if 2 * measured > len(texts) else Measure(column, label, "text")

    def _number_measure(self, column: int, label: str, cells: list[Cell]) -> Measure | None:
        header = self.table.columns[column].header
        values = [cell.value for cell in cells]
        if any(len(cell.text) > 24 for cell in cells):
            return None
        units = {(cell.unit.symbol, cell.unit.currency, cell.measure) for cell in cells}
        alike = len(units) == 1 and len(set(values)) > 1 and len(cells) == len(self.rows)
        if self.table.is_turned:
            noun = noun_of(self.table.columns[0].header)
            label = spoken(label) if noun in _METRICS else label
            return Measure(column, label, "number", alike, is_name=True)
        if period := self.table.period_headers.get(column):
            comparable = alike and bool(self.noun) and self.noun not in _METRICS
            comparable = comparable and not cells[0].measure
            return Measure(column, "figure", "number", comparable, period=period)
        ends = {*(word for word in label.split()[:: max(1, len(label.split()) - 1)])}
        ends |= set(re.findall(r"[^\W_]+|#", header)[-1:])
        if _RANKED.search(header) or any(map(_NO_AMOUNT.fullmatch, ends)):
            return None
        if _is_numbering(values):
            return None
        comparable = alike and self.limits is None
        plain = units == {("", "", "")} and all(cell.unit.scale == ONE for cell in cells)
        whole = plain and all(
            v == int(v) and not c.decimals for v, c in zip(values, cells, strict=True)
        )
        if whole and is_counted_label(label.lower()) and _TITLED.fullmatch(label):
            label = label.lower()  # "Abstentions"
        summable = comparable and "%" not in {u for unit in units for u in unit}
        return Measure(
            column,
            label,
            "number",
            comparable,
            summable and not _RATE.search(header),
            whole and label.islower() and is_counted_label(label),
        )

    def cell(self, row: int, column: int) -> Cell:
        """A cell by its places in the typed table."""
        return self.table.cells[row][column]

    def name(self, row: int) -> str:
        """The entity of a row; empty where rows are periods."""
        return "" if self.who is None else self.cell(row, self.who).text.strip(QUOTES)

    def period(self, row: int) -> Period | None:
        """The period of a row."""
        return None if self.when is None else read_period(self.cell(row, self.when).text)

    def only(self, *rows: int) -> Rows:
        """The row set that holds one row, by its name, its period or both."""
        (row,) = rows
        axes = (axis for axis in (self.who, self.when) if axis is not None)
        return Rows(tuple(Condition(axis, "=", self.cell(row, axis).key) for axis in axes))

    @property
    def names_measures(self) -> bool:
        """Whether the columns of a turned table are quantities: "revenue was $5 million"."""
        return noun_of(self.table.columns[0].header) in _METRICS | {"test"}

    def is_plural_name(self, name: str) -> bool:
        """Whether an entity is several things: "Platelets", but no club or person."""
        return (self.noun in _THINGS or self.table.is_turned) and is_plural(name)

    def row_word(self, plural: bool = False) -> str:
        """What a row is called, or all rows together."""
        noun = self.noun
        if self.who is None and (period := self.period(self.rows[0])):
            noun = period.grain
        noun = noun or "entry"
        return plural_of(noun) if plural else noun

    def spoken_name(self, name: str) -> str:
        """An entity within a sentence: "net income" of a table of metrics, other names as is."""
        return spoken(name) if self.noun in _METRICS else name


def speakers(table: TypedTable) -> list[TableDescriber]:
    """Those of a table and, where columns are periods, of the table turned.

    Raises:
        Unsayable: there is none.
    """
    found: list[TableDescriber] = []
    views = [table, *([table.turned] if len(table.period_headers) > 1 else [])]
    reason = Unsayable("no column to speak of")
    for view in views:
        try:
            found.append(TableDescriber(view))
        except Unsayable as error:
            reason = error
    if not found:
        raise reason
    return found


def _find_axes(table: TypedTable) -> tuple[int | None, int | None]:
    """The column of names and the column of periods that tell the body rows apart."""
    key, cells = table.key, [table.cells[row] for row in table.body]
    dated = [c for c in table.periods if all(row[c].kind == "date" for row in cells)]

    def distinct(*columns: int) -> bool:
        return len({tuple(row[c].key for c in columns) for row in cells}) == len(cells)

    if key in dated:
        return None, key
    if distinct(key):
        return key, None
    if 0 in dated and distinct(0):
        return None, 0
    for column in dated:
        if distinct(key, column):
            return key, column
    for column in range(len(table.columns)):
        if distinct(column) and all(is_name(row[column].text) for row in cells):
            return column, None
    return key, None


def _is_numbering(values: list[float]) -> bool:
    """Whether numbers only count the rows: each one more than another, or small ones in order."""
    if len(values) < 3:
        return False
    if {after - before for before, after in pairwise(sorted(values))} == {1.0}:
        return True
    small = all(value == int(value) and 0 <= value <= 2 * len(values) for value in values)
    return small and values == sorted(values)


_DATA: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("templates.yaml").read_text("utf-8")
)
TEMPLATES: dict[str, list[str]] = _DATA["sentences"]
PAIRS: dict[str, tuple[list[str], list[str]]] = _DATA["pairs"]
ORDINALS: list[str] = _DATA["ordinals"]
EXPECTED: list[str] = _DATA["expected"]
"""Last words of headers against which other columns are set."""
QUANTIFIERS: dict[str, list[str]] = _DATA["quantifiers"]
EVERY: list[str] = _DATA["every"]


@dataclass(frozen=True, slots=True)
class Degrees:
    """Pairs of words for more and less of a quantity, and for most and least of it."""

    compare: tuple[list[str], list[str]]
    most: tuple[list[str], list[str]]


_BY_LABEL = [
    (
        re.compile(rf"\b(?:{entry['words']})\b", re.I),
        Degrees(PAIRS[entry["compare"]], PAIRS[entry["most"]]),
    )
    for entry in _DATA["degrees"]
]


def degrees_of(measure: Measure) -> Degrees:
    """The adjectives that go with a measure."""
    if measure.counted:
        return Degrees(PAIRS["more"], PAIRS["most"])
    usual = Degrees(PAIRS["higher"], PAIRS["highest"])
    if measure.is_name or measure.period is not None:
        return usual
    return next((degrees for words, degrees in _BY_LABEL if words.search(measure.label)), usual)


def fill_marks(
    template: str,
    words: Mapping[str, str],
    measure: Measure | None,
    speaker: TableDescriber,
    random: Random,
) -> str:
    """The template without its ``<marks>``; the period goes to the front or the end.

    Args:
        template: of templates.yaml, which says what its marks mean.
        words: what will fill its slots.
        measure: the column that it speaks of.
        speaker: the table.
        random: what draws one of several wordings.
    """
    if "{x}" in template and measure is not None:
        name = "quantity_by_name" if speaker.names_measures else "quantity_by_entity"
        if not measure.is_name:
            name = "quantity_counted" if measure.counted else "quantity"
            name += "" if "e" in words else "_of_period"
        quantity = random.choice(TEMPLATES[name])
        if "{e}'s" in quantity and words["e"].endswith(("s", ".", ")")):
            quantity = TEMPLATES[name][0]
        template = template.replace("{x}", quantity)
    for mark, tails in (("<tail>", "tails"), ("<at>", "tails_at")):
        if mark in template:
            pool = [tail for tail in TEMPLATES[tails] if "v" in words or not tail]
            template = template.replace(mark, random.choice(pool))
    if measure is not None and measure.is_name:
        template = re.sub(r"\bthe \{m\}", "{m}", template, flags=re.I)
    things = "e" in words and speaker.is_plural_name(words["e"])
    plural = (
        measure is not None
        and is_plural_label(measure.label)
        and not re.search(r"(?:number of|figure for) \{m\}", template)
    )
    article = with_article(words["m"]).split()[0] if "m" in words else ""
    for mark, text in (
        ("<rows>", speaker.row_word(plural=True)),
        ("<row>", speaker.row_word()),
        ("<a>", article),
        ("<A>", article.capitalize()),
        ("<was>", "were" if plural else "was"),
        ("<were>", "were" if things else "was"),
        ("<that>", "those" if plural else "that"),
    ):
        template = template.replace(mark, text)
    if "p" in words and "{p}" not in template:
        period = _preposition(words["p"])
        opened = template.startswith(("At ", "For "))  # one thing in front is enough
        if "<when>" in template and (opened or random.random() < 0.5):
            template = template.replace("<when>", f" {period} {{p}}", 1)
        else:
            rest = template.replace("<when>", "")
            first = rest[0] if rest.startswith("{") else rest[0].lower()  # a slot keeps its case
            template = f"{period} {{p}}, {first}{rest[1:]}"
    template = template.replace("<when>", "")
    for slot in ("p", "q", "v"):
        mark = f"{{in}} {{{slot}}}"
        if mark in template:
            template = template.replace(mark, f"{_preposition(words[slot])} {{{slot}}}")
    return template


def _preposition(words: str) -> str:
    period = read_period(words)
    return "on" if period is not None and period.grain in ("day", "date") else "in"
