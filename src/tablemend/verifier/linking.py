"""What a sentence names of a table: columns, rows, cells, amounts and periods, with their places.

Every sentence is linked once, against all tables of the source together; a claim sees the part
that it covers. Who is spoken of is carried over: from the sentence before to one that begins with
a pronoun or names nobody.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from tablemend.evidence.grid import Grid
from tablemend.evidence.source import Source
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.verifier.headings import Headings
from tablemend.verifier.indexing import Index, Place, index_grids
from tablemend.verifier.lexicon import LITTLE_WORDS, stem
from tablemend.verifier.links import CellLink, ColumnLink, Links, MomentLink, RowLink
from tablemend.verifier.measures import moment
from tablemend.verifier.reading import Amount, Moment, Reading, Token
from tablemend.verifier.scoped_phrases import ScopedPhrase, find_scoped_phrases
from tablemend.verifier.unknown_names import UnknownNames

_COUNTING = re.compile(r"\s*(?:of|:|was|were|is|at)\s*(?:about |around )?")


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
        self._headings = Headings(reading, self.index)
        self._unknown_names = UnknownNames(reading, self.index)
        self._cased = any(character.isupper() for character in reading.text)

    def links(self, span: Span, grid: int) -> Links:
        """What a part of the text names of one table.

        The subject is the carried one of the sentence in which the part begins.
        """
        sentence = self.sentence_at(span.start)
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
                if links.rows:
                    carried[number] = _subject(links)
            linked.append(by_grid)
        return tuple(linked)

    def sentence_at(self, place: int) -> int:
        """Index of the sentence around a place."""
        return max(bisect_left(self._starts, place + 1) - 1, 0)

    @cached_property
    def _starts(self) -> list[int]:
        return [sentence.start for sentence in self.reading.sentences]

    def _link_sentence(
        self, sentence: Span, carried: dict[int, tuple[int, ...]]
    ) -> dict[int, Links]:
        tokens = self.reading.tokens_within(*sentence)
        names = self._names(tokens)
        headings, labels = self._headings.link(sentence, tokens)
        moments = [m for m in self.reading.moments if sentence.start <= m.start < sentence.end]
        amounts = [a for a in self.reading.amounts if sentence.start <= a.start < sentence.end]
        moments = [
            m
            for m in moments
            if not any(s <= m.start < e and e - s > m.end - m.start for s, e in labels)
        ]
        amounts = [
            amount
            for amount in amounts
            if not self._is_label(amount, names)
            and not _inside(amount.start, labels)
            and not self._heads(amount)
        ]
        amounts, moments = self._tell_years(amounts, moments, headings)
        taken = [(start, end) for start, end, _, _ in names]
        taken += [(moment.start, moment.end) for moment in moments]
        taken += [(link.start, link.end) for links in headings.values() for link in links]
        unknown_names = self._unknown_names.find(sentence, tokens, taken)
        scoped_phrases = self._scoped_phrases(sentence, moments, amounts, headings, names)
        amounts = [  # both years of "except 2020 and 2021"
            replace(a, role="year") if self._dates(a) and _inside(a.start, scoped_phrases) else a
            for a in amounts
        ]
        found = {}
        for grid in self.source.grids:
            number = grid.number
            cells, rows = self._rows(number, names)
            said = [
                link
                for link in headings.get(number, [])
                if not any(
                    start <= link.start and link.end <= end and end - start > link.end - link.start
                    for start, end in ((c.start, c.end) for c in cells)
                )
            ]
            rows = _without_totals(grid, rows, said)
            columns = [link for link in said if isinstance(link, ColumnLink)]
            lines = tuple(link for link in said if isinstance(link, RowLink))
            rows = _merge(rows, list(_without_totals(grid, lines, columns)))
            found[number] = Links(
                number,
                sentence,
                tuple(link for link in said if isinstance(link, ColumnLink)),
                rows,
                cells,
                tuple(self._moment(number, moment) for moment in moments),
                tuple(amounts),
                unknown_names,
                carried.get(number, ()),
                scoped_phrases,
            )
        return found

    def _scoped_phrases(
        self,
        sentence: Span,
        moments: Sequence[Moment],
        amounts: Sequence[Amount],
        headings: dict[int, list[ColumnLink | RowLink]],
        names: Sequence[tuple[int, int, list[Place], bool]],
    ) -> tuple[ScopedPhrase, ...]:
        """The comparisons and exceptions of a sentence."""
        plain = self.reading.plain
        said = {Span(link.start, link.end) for links in headings.values() for link in links}
        dated = {Span(moment.start, moment.end) for moment in moments}
        dated |= {
            Span(a.start, a.digits_end) for a in amounts if a.role == "year" or self._dates(a)
        }
        dated |= {span for span in said if moment(plain[span.start : span.end]) is not None}
        said |= {Span(start, end) for start, end, _, _ in names}
        return find_scoped_phrases(plain, sentence, tuple(dated), tuple(said))

    def _dates(self, amount: Amount) -> bool:
        """Whether a bare number is a year of the tables."""
        written = self.reading.plain[amount.start : amount.end]
        return len(written) == 4 and written in self.index.dates

    def _tell_years(
        self,
        amounts: list[Amount],
        moments: list[Moment],
        headings: dict[int, list[ColumnLink | RowLink]],
    ) -> tuple[list[Amount], list[Moment]]:
        """Read "1817 completions" and "an attendance of 1990" as amounts, not as years."""
        counted = set()
        for number, links in headings.items():
            columns = self.source.grids[number].columns
            for link in links:
                if not isinstance(link, ColumnLink) or columns[link.columns[0]].kind != "number":
                    continue
                for amount in amounts:
                    if amount.role != "year":
                        continue
                    after = self.reading.plain[amount.end : link.start]
                    before = self.reading.plain[link.end : amount.start]
                    follows = 0 <= link.start - amount.end <= 1 and not after.strip()
                    if follows or (link.end <= amount.start and _COUNTING.fullmatch(before)):
                        counted.add(amount.start)
        if not counted:
            return amounts, moments
        return (
            [replace(a, role="value") if a.start in counted else a for a in amounts],
            [moment for moment in moments if moment.start not in counted],
        )

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
            if size and not self._can_name(tokens[at : at + size], full, places):
                size = 0
            if size:
                found.append((token.start, tokens[at + size - 1].end, places, full))
            at += size or 1
        return found

    def _can_name(self, tokens: Sequence[Token], full: bool, places: Sequence[Place]) -> bool:
        """Whether words of a cell are said as a name: a part of one needs a capital.

        Numbers alone are none, but a range is that names rows: "5 to 11".
        """
        if full and self._in_capitals(tokens):
            return True  # "IT", beside "it"
        if all(token.word in LITTLE_WORDS or token.word.isdigit() for token in tokens):
            grids = self.source.grids
            written = self.reading.text[tokens[0].start : tokens[-1].end]
            named = [p for p in places if p.column == grids[p.grid].key]
            as_written = any(grids[p.grid].cell(p.row, p.column) == written for p in named)
            code = as_written and not written.isdigit()  # "A-4"
            return full and bool(named) and (code or len(tokens) > 2)
        if len(tokens[0].word) == 1 and self.reading.plain[: tokens[0].start].endswith("/"):
            return False  # the "L" of "mmol/L", beside a flag
        if full or len(tokens) > 1:
            return True
        token = tokens[0]
        if token.word.isdigit():
            return False
        if self._cased and self.index.cased and self.reading.text[token.start].islower():
            return False
        # a part stands as in the cell: "posted" is no "post office"
        grids = self.source.grids
        return any(
            token.word in tokens_of(grids[p.grid].cell(p.row, p.column)).words for p in places
        )

    def _in_capitals(self, tokens: Sequence[Token]) -> bool:
        """Whether one word of letters is written in capitals, in a text that is not."""
        token = tokens[0]
        written = self.reading.text[token.start : token.end]
        around = self.reading.text[token.end : token.end + 40]
        return len(tokens) == 1 < len(written) and written.isupper() and not around.isupper()

    def _is_label(self, amount: Amount, names: list[tuple[int, int, list[Place], bool]]) -> bool:
        """Whether a number is a part of a name: "Falcon 9", "Liiga 23/24"."""
        return any(
            start < amount.end
            and amount.start < end
            and end - start > amount.digits_end - amount.start
            for start, end, _, _ in names
        )

    def _heads(self, amount: Amount) -> bool:
        """Whether a bare year is the name of a column: "a 1931 (population) of 9,908"."""
        written = self.reading.plain[amount.start : amount.end]
        return len(written) == 4 and written.isdigit() and written in self.index.header_dates

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
    """Whom a sentence speaks of: the rows it names first, or none where it compares several.

    Rows that two names leave together ("EPS", "Q1 2023") are the subject.
    """
    names = [set(link.rows) for link in links.rows]
    names += [rows for link in links.moments if (rows := {row for row, _ in link.places})]
    first = set(links.rows[0].rows)
    for other in names:
        first = (first & other) or first
    return tuple(sorted(first)) if all(first <= set(link.rows) for link in links.rows) else ()


def _merge(names: tuple[RowLink, ...], attributes: list[RowLink]) -> tuple[RowLink, ...]:
    """Rows named by their names, and those named by terms of their attribute elsewhere."""
    free = [
        link
        for link in attributes
        if not any(name.start < link.end and link.start < name.end for name in names)
    ]
    return tuple(sorted((*names, *free), key=lambda link: link.start))


def _inside(place: int, spans: Sequence[tuple[int, int] | ScopedPhrase]) -> bool:
    return any(span[0] <= place < span[1] for span in spans)


def _without_totals(
    grid: Grid, rows: tuple[RowLink, ...], said: Sequence[ColumnLink | RowLink]
) -> tuple[RowLink, ...]:
    """Leave out what names a column as well: "total", and a part of a name in a whole header.

    A whole name in a longer header goes where another row is named: "Peru had a population of
    Chile of 12" under such a header tells of Peru.
    """
    totals = {line.index for line in grid.lines if line.total}
    whole = [link for link in said if isinstance(link, ColumnLink) and link.coverage == 1]

    def is_in(row: RowLink, link: ColumnLink) -> bool:
        inside = link.start <= row.start and row.end <= link.end
        return inside and row.end - row.start < link.end - link.start

    apart = [row for row in rows if not any(is_in(row, link) for link in whole)]
    return tuple(
        row
        for row in rows
        if not any(
            link.start < row.end
            and row.start < link.end
            and (totals.issuperset(row.rows) or (not row.full and link in whole))
            for link in said
        )
        and (not apart or row in apart)
    )
