"""What a sentence names of a table: columns, rows, cells, amounts and periods, with their places.

Every sentence is linked once, against all tables of the source together; a claim sees the part
that it covers. Who is spoken of is carried over: from the sentence before to one that begins with
a pronoun or names nobody.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tablemend.evidence.source import Source
from tablemend.values.sentences import Span
from tablemend.verification.indexing import Index, Place, index_grids
from tablemend.verification.lexicon import LITTLE_WORDS, phrase_terms, stem, terms
from tablemend.verification.reading import Amount, Moment, Reading, Token

_BORDER = re.compile(r"[,;:()\[\]]|\b(?:and|or|but|while|with)\b")
_PARTED = 3  # words between two parts of one header


@dataclass(frozen=True, slots=True)
class ColumnLink:
    """Words that name columns.

    Attributes:
        start, end: place of the words.
        columns: the columns that they fit equally well.
        coverage: share of the header's terms that are said; 1 where all are.
        terms: how many terms were said.
    """

    start: int
    end: int
    columns: tuple[int, ...]
    coverage: float
    terms: int


@dataclass(frozen=True, slots=True)
class RowLink:
    """Words that name rows, by a cell of a column that tells rows apart.

    Attributes:
        start, end: place of the words.
        rows: the rows; several where a surname or a name fits several.
        column: the column in which the name stands.
        full: whether the whole name is said, and not a part of it.
    """

    start: int
    end: int
    rows: tuple[int, ...]
    column: int
    full: bool


@dataclass(frozen=True, slots=True)
class CellLink:
    """Words that stand in text cells.

    Attributes:
        start, end: place of the words.
        places: row and column of each cell.
        full: whether the whole cell is said (without its brackets).
    """

    start: int
    end: int
    places: tuple[tuple[int, int], ...]
    full: bool


@dataclass(frozen=True, slots=True)
class MomentLink:
    """A period of the text that headers or cells state.

    Attributes:
        moment: what the text says, with its place.
        columns: columns whose header states the same or a part of it.
        places: row and column of the cells that do.
    """

    moment: Moment
    columns: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.moment.start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.moment.end


@dataclass(frozen=True, slots=True)
class Links:
    """What a part of the text names of one table.

    Attributes:
        grid: number of the table.
        span: the part of the text.
        columns, rows, cells, moments: in the order of the text.
        amounts: numbers that are no part of a name or header.
        subject: rows carried over from earlier sentences, for one that names none.
    """

    grid: int
    span: Span
    columns: tuple[ColumnLink, ...] = ()
    rows: tuple[RowLink, ...] = ()
    cells: tuple[CellLink, ...] = ()
    moments: tuple[MomentLink, ...] = ()
    amounts: tuple[Amount, ...] = ()
    subject: tuple[int, ...] = ()

    def within(self, start: int, end: int) -> Links:
        """The part of them that stands between two places."""
        return Links(
            self.grid,
            Span(start, end),
            tuple(link for link in self.columns if start <= link.start and link.end <= end),
            tuple(link for link in self.rows if start <= link.start and link.end <= end),
            tuple(link for link in self.cells if start <= link.start and link.end <= end),
            tuple(link for link in self.moments if start <= link.start and link.end <= end),
            tuple(amount for amount in self.amounts if start <= amount.start < end),
            self.subject,
        )


class Linking:
    """A text linked to a source.

    Args:
        reading: the text.
        source: the tables.
    """

    def __init__(self, reading: Reading, source: Source) -> None:
        self.reading = reading
        self.source = source
        self.index: Index = index_grids(source.grids)
        self._cased = any(character.isupper() for character in reading.text)

    def links(self, span: Span, grid: int) -> Links:
        """What a part of the text names of one table.

        The subject is the carried one of the sentence in which the part begins.
        """
        sentence = self._sentence_number(span.start)
        start, end = self.reading.sentences[sentence] if self.reading.sentences else span
        found = self.sentence_links[sentence].get(grid) if self.sentence_links else None
        if found is None:
            return Links(grid, span)
        return found if (start, end) == span else found.within(span.start, span.end)

    @cached_property
    def sentence_links(self) -> tuple[dict[int, Links], ...]:
        """For every sentence its links by the grid's number."""
        linked = []
        carried: dict[int, tuple[int, ...]] = {}
        for sentence in self.reading.sentences:
            by_grid = self._link_sentence(sentence, carried)
            for number, links in by_grid.items():
                if rows := _subject(links):
                    carried[number] = rows
            linked.append(by_grid)
        return tuple(linked)

    def _sentence_number(self, place: int) -> int:
        starts = [sentence.start for sentence in self.reading.sentences]
        return max(bisect_left(starts, place + 1) - 1, 0)

    def _link_sentence(
        self, sentence: Span, carried: dict[int, tuple[int, ...]]
    ) -> dict[int, Links]:
        tokens = self.reading.tokens_within(*sentence)
        names = self._names(tokens)
        headers = self._headers(sentence, tokens)
        moments = [m for m in self.reading.moments if sentence.start <= m.start < sentence.end]
        amounts = [a for a in self.reading.amounts if sentence.start <= a.start < sentence.end]
        amounts = [amount for amount in amounts if not self._is_label(amount, names)]
        found = {}
        for grid in self.source.grids:
            number = grid.number
            cells, rows = self._rows(number, names)
            found[number] = Links(
                number,
                sentence,
                tuple(headers.get(number, ())),
                rows,
                cells,
                tuple(self._moment(number, moment) for moment in moments),
                tuple(amounts),
                carried.get(number, ()),
            )
        return found

    def _names(self, tokens: Sequence[Token]) -> list[tuple[int, int, list[Place], bool]]:
        """Runs of words that stand in text cells, longest first from left to right."""
        words = tuple(stem(token.word) for token in tokens)
        found, at = [], 0
        while at < len(tokens):
            size, places, full = self.index.names(words, at)
            token = tokens[at]
            written = self.reading.text[token.start : token.end]
            if not size and written.isupper() and 2 <= len(written) <= 6:
                places = self.index.acronyms.get(token.word, [])
                size, full = (1, True) if places else (0, False)
            if size and not self._can_name(tokens[at : at + size], full):
                size = 0
            if size:
                found.append((token.start, tokens[at + size - 1].end, places, full))
            at += size or 1
        return found

    def _can_name(self, tokens: Sequence[Token], full: bool) -> bool:
        """Whether words of a cell are said as a name: a part of one needs a capital."""
        if all(token.word in LITTLE_WORDS for token in tokens):
            return False
        if full or len(tokens) > 1:
            return True
        token = tokens[0]
        if token.word.isdigit():
            return False
        return not self._cased or not self.reading.text[token.start].islower()

    def _is_label(self, amount: Amount, names: list[tuple[int, int, list[Place], bool]]) -> bool:
        """Whether a number is a part of a name: "Falcon 9", "Liiga 23/24"."""
        return any(
            start <= amount.start < end and end - start > amount.digits_end - amount.start
            for start, end, _, _ in names
        )

    def _rows(
        self, grid: int, names: list[tuple[int, int, list[Place], bool]]
    ) -> tuple[tuple[CellLink, ...], tuple[RowLink, ...]]:
        """Cell and row links of one grid; neighbours that name one row together are one name."""
        naming = self.index.naming[grid]
        cells: list[CellLink] = []
        rows: list[RowLink] = []
        for start, end, places, full in names:
            own = [place for place in places if place.grid == grid]
            if not own:
                continue
            cells.append(CellLink(start, end, tuple((p.row, p.column) for p in own), full))
            named = [place for place in own if place.column in naming]
            if not named:
                continue
            column = min(place.column for place in named)
            link = RowLink(start, end, tuple(sorted({place.row for place in named})), column, full)
            if rows and not self.reading.text[rows[-1].end : start].strip(" ,'"):
                both = sorted(set(rows[-1].rows) & set(link.rows))
                if both:
                    rows[-1] = RowLink(rows[-1].start, end, tuple(both), column, True)
                    continue
            rows.append(link)
        return tuple(cells), tuple(rows)

    def _headers(self, sentence: Span, tokens: Sequence[Token]) -> dict[int, list[ColumnLink]]:
        """Runs of words that stand in headers."""
        said: list[tuple[int, int, tuple[str, ...]]] = []
        plain = self.reading.plain
        idioms = phrase_terms(plain[sentence.start : sentence.end])
        idioms = [(start + sentence.start, end + sentence.start, t) for start, end, t in idioms]
        covered = -1
        for token in tokens:
            while idioms and idioms[0][0] <= token.start:
                start, end, found = idioms.pop(0)
                if start >= covered:
                    said.append((start, end, found))
                    covered = end
            if token.start >= covered and token.word not in LITTLE_WORDS:
                said.append((token.start, token.end, terms(token.word)))
        if "%" in plain[sentence.start : sentence.end]:
            said += [
                (match.start(), match.end(), ("percent",))
                for match in re.compile("%").finditer(plain, *sentence)
            ]
            said.sort()
        runs: list[list[tuple[int, int, tuple[str, ...]]]] = []
        for word in said:
            if not any(term in self.index.columns for term in word[2]):
                continue
            if runs:
                between = plain[runs[-1][-1][1] : word[0]]
                if not _BORDER.search(between) and len(between.split()) <= _PARTED:
                    runs[-1].append(word)
                    continue
            runs.append([word])
        linked: dict[int, list[ColumnLink]] = defaultdict(list)
        for run in runs:
            for number, link in self._name_columns(run):
                linked[number].append(link)
        for links in linked.values():
            links.sort(key=lambda link: link.start)
        return linked

    def _name_columns(
        self, run: list[tuple[int, int, tuple[str, ...]]]
    ) -> list[tuple[int, ColumnLink]]:
        """The columns that a run of header words fits best, for each grid.

        What is left over of the run ("home team score" of two columns) is linked again.
        """
        hits: dict[tuple[int, int], dict[str, tuple[int, int]]] = defaultdict(dict)
        for start, end, found in run:
            for term in found:
                for column in self.index.columns.get(term, ()):
                    hits[column].setdefault(term, (start, end))
        result = []
        for grid in sorted({number for number, _ in hits}):
            own = {column: said for (number, column), said in hits.items() if number == grid}
            while own:
                score = {
                    column: (len(said), len(said) / len(self.index.terms[grid, column]))
                    for column, said in own.items()
                }
                best = max(score.values())
                places = set(next(own[column].values() for column in own if score[column] == best))
                columns = tuple(
                    column
                    for column in own
                    if score[column] == best and set(own[column].values()) == places
                )
                named = any(not term.isdigit() for column in columns for term in own[column])
                if named or best[1] == 1:
                    start, end = min(p[0] for p in places), max(p[1] for p in places)
                    result.append((grid, ColumnLink(start, end, columns, best[1], best[0])))
                own = {
                    column: left
                    for column, said in own.items()
                    if column not in columns
                    and (left := {t: place for t, place in said.items() if place not in places})
                }
        return result

    def _moment(self, grid: int, moment: Moment) -> MomentLink:
        columns: set[int] = set()
        places: set[tuple[int, int]] = set()
        for reading in moment.readings:
            columns.update(c for g, c in self.index.header_dates.get(reading, ()) if g == grid)
            places.update(
                (p.row, p.column) for p in self.index.dates.get(reading, ()) if p.grid == grid
            )
        return MomentLink(moment, tuple(sorted(columns)), tuple(sorted(places)))


def _subject(links: Links) -> tuple[int, ...]:
    """Who a sentence speaks of: the first rows that it names."""
    return links.rows[0].rows if links.rows else ()
