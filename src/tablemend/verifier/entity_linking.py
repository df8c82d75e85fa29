"""What a sentence names of a table: columns, rows, cells, amounts and periods, with their places.

Every sentence is linked once, against all tables of the source together; a claim sees the part
that it covers. Who is spoken of is carried over: from the sentence before to one that begins with
a pronoun or names nobody.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from tablemend.evidence.grid import Grid
from tablemend.evidence.source import Source
from tablemend.values.text import PlacedToken, Span, tokens_of
from tablemend.verifier.indexing import Heading, Index, Place, UnknownNames, index_grids
from tablemend.verifier.lexicon import LITTLE_WORDS, stem, terms
from tablemend.verifier.oriented_table import moment
from tablemend.verifier.reading import Amount, Moment, Reading, ScopedPhrase, find_scoped_phrases

# ---- records


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
        column: the column in which the name stands; -1 where terms of an attribute's name are said.
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
        start, end: place of the words.
        moment: what the text says.
        columns: columns whose header states the same or a part of it.
        places: row and column of the cells that do.
    """

    start: int
    end: int
    moment: Moment
    columns: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Links:
    """What a part of the text names of one table.

    Attributes:
        grid: number of the table.
        span: the part of the text.
        columns, rows, cells, moments: in the order of the text.
        amounts: numbers that are no part of a name or header.
        unknown_names: names that stand in no cell, header or caption.
        subject: rows carried over from earlier sentences, for one that names none.
        scoped_phrases: comparisons and exceptions, whose periods and names are theirs alone.
    """

    grid: int
    span: Span
    columns: tuple[ColumnLink, ...] = ()
    rows: tuple[RowLink, ...] = ()
    cells: tuple[CellLink, ...] = ()
    moments: tuple[MomentLink, ...] = ()
    amounts: tuple[Amount, ...] = ()
    unknown_names: tuple[Span, ...] = ()
    subject: tuple[int, ...] = ()
    scoped_phrases: tuple[ScopedPhrase, ...] = ()

    def within(self, start: int, end: int) -> Links:
        """The part of them that stands between two places."""
        return replace(
            self,
            span=Span(start, end),
            columns=tuple(one for one in self.columns if start <= one.start and one.end <= end),
            rows=tuple(one for one in self.rows if start <= one.start and one.end <= end),
            cells=tuple(one for one in self.cells if start <= one.start and one.end <= end),
            moments=tuple(one for one in self.moments if start <= one.start and one.end <= end),
            amounts=tuple(one for one in self.amounts if start <= one.start < end),
            unknown_names=tuple(
                one for one in self.unknown_names if start <= one.start and one.end <= end
            ),
        )


# ---- columns

_BORDER = re.compile(r"[,;:()\[\]\d]|\b(?:and|or|but|while|with|more|less|fewer|most|fewest)\b")
_JOINT = re.compile(r"\s*[(\[,]?\s*(?:of|in|for)?\s*(?:the )?\s*$")
_CONCEDED = re.compile(r"\b(?:conced\w+|shipped|let in|allowed)\b[^,.;]*$")
_DIFFERENCE = re.compile(r"[ -]differen\w+")
_PERCENT = re.compile("%")
_PARTED = 3  # words between two parts of one header


class WordTerms(NamedTuple):
    """A word and the terms that it stands for."""

    start: int
    end: int
    terms: tuple[str, ...]


class Headings:
    """Finds the headings that a text names."""

    def __init__(self, reading: Reading, index: Index) -> None:
        self._reading = reading
        self._plain = reading.plain
        self._index = index

    def link(
        self, sentence: Span, tokens: Sequence[PlacedToken]
    ) -> tuple[dict[int, list[ColumnLink | RowLink]], list[Span]]:
        """The headings of a sentence by the grid's number, in the order of the text.

        Whole headers first, then runs of their terms; neighbours that name one column together
        ("index (violent crime)") are one link.

        Returns:
            The links, and the places of whole headers that hold digits, which are no amounts.
        """
        linked: dict[int, list[ColumnLink | RowLink]] = defaultdict(list)
        whole = self._whole(tokens)
        for span, headings in whole:
            for grid in {heading.grid for heading in headings}:
                own = [heading for heading in headings if heading.grid == grid]
                _add(linked, grid, span, own, 1.0, len(self._plain[slice(*span)].split()))
        covered = [span for span, _ in whole]
        for run in self._runs(sentence, tokens, covered):
            for grid, link in self._name(run):
                linked[grid].append(link)
        labels = [s for s in covered if any(c.isdigit() for c in self._plain[s.start : s.end])]
        for grid, links in linked.items():
            links.sort(key=lambda link: link.start)
            linked[grid] = list(map(self._closed, self._joined(links, grid)))
        return linked, labels

    def _whole(self, tokens: Sequence[PlacedToken]) -> list[tuple[Span, list[Heading]]]:
        """Whole headers of several words, or with digits, word by word."""
        words = tuple(stem(token.word) for token in tokens)
        found, at = [], 0
        while at < len(words):
            longest = min(self._index.longest_header.get(words[at], 0), len(words) - at)
            known = self._index.header_phrases
            size = next((n for n in range(longest, 0, -1) if known.get(words[at : at + n])), 0)
            if size:
                span = Span(tokens[at].start, tokens[at + size - 1].end)
                found.append((span, known[words[at : at + size]]))
            at += size or 1
        return found

    def _runs(
        self, sentence: Span, tokens: Sequence[PlacedToken], covered: Sequence[Span]
    ) -> list[list[WordTerms]]:
        """Words that stand in headers, as far as little stands between them."""
        plain = self._plain
        words = (token for token in tokens if token.word not in LITTLE_WORDS)
        said = [WordTerms(token.start, token.end, self._terms(token)) for token in words]
        signs = _PERCENT.finditer(plain, *sentence)
        said = sorted([*said, *(WordTerms(*sign.span(), ("percent",)) for sign in signs)])
        runs: list[list[WordTerms]] = []
        for word in said:
            if not any(term in self._index.headings for term in word.terms):
                continue
            if any(span.start <= word.start < span.end for span in covered):
                continue
            bare = plain[word.start : word.end]
            counts = bare.isdigit() and len(bare) < 4
            if runs:
                between = plain[runs[-1][-1].end : word.start]
                if counts and between not in (" ", "-", ""):
                    continue
                if not _BORDER.search(between) and len(between.split()) <= _PARTED:
                    runs[-1].append(word)
                    continue
            if not counts:
                runs.append([word])
        return runs

    def _terms(self, token: PlacedToken) -> tuple[str, ...]:
        """The terms of a word; the goals that a side concedes are those against it."""
        found = terms(token.word)
        if found == ("scor",) and _DIFFERENCE.match(self._plain, token.end):
            return ("difference",)
        before = self._plain[max(0, token.start - _PARTED * 10) : token.start]
        return (*found, "against") if found == ("scor",) and _CONCEDED.search(before) else found

    def _name(self, run: list[WordTerms]) -> list[tuple[int, ColumnLink | RowLink]]:
        """The headings that a run of words fits best, for each grid.

        What is left over of the run ("home team score" of two columns) is linked again.
        """
        hits: dict[Heading, dict[str, tuple[int, int]]] = defaultdict(dict)
        for word in run:
            for term in word.terms:
                for heading in self._index.headings.get(term, ()):
                    hits[heading].setdefault(term, (word.start, word.end))
        linked: dict[int, list[ColumnLink | RowLink]] = defaultdict(list)
        for grid in sorted({heading.grid for heading in hits}):
            own = {heading: said for heading, said in hits.items() if heading.grid == grid}
            own = _scored(own)
            while own:
                score = {
                    heading: (len(said), len(said) / len(self._index.terms[heading]))
                    for heading, said in own.items()
                }
                best = max(score.values())
                places = set(next(own[name].values() for name in own if score[name] == best))
                fitting = [
                    heading
                    for heading in own
                    if score[heading] == best and set(own[heading].values()) == places
                ]
                named = any(not term.isdigit() for heading in fitting for term in own[heading])
                if named or best[1] == 1:
                    span = Span(min(p[0] for p in places), max(p[1] for p in places))
                    _add(linked, grid, span, fitting, best[1], best[0])
                own = {
                    heading: left
                    for heading, said in own.items()
                    if heading not in fitting
                    and (left := {t: place for t, place in said.items() if place not in places})
                }
        return [(grid, link) for grid, links in linked.items() for link in links]

    def _joined(self, links: list[ColumnLink | RowLink], grid: int) -> list[ColumnLink | RowLink]:
        """Neighbours that each name a part of one header, as one link."""
        joined: list[ColumnLink | RowLink] = []
        for link in links:
            last = joined[-1] if joined else None
            if (
                isinstance(link, ColumnLink)
                and isinstance(last, ColumnLink)
                and link.start >= last.end
                and _JOINT.match(self._plain[last.end : link.start])
            ):
                both = tuple(column for column in last.columns if column in link.columns)
                if not both:
                    said = self._all_of(last, grid), self._all_of(link, grid)
                    both = tuple(column for column in said[0] if column in said[1])
                if both and not set(both) == set(last.columns) == set(link.columns):
                    coverage = min(1.0, last.coverage + link.coverage)
                    terms_said = last.terms + link.terms
                    joined[-1] = ColumnLink(last.start, link.end, both, coverage, terms_said)
                    continue
            joined.append(link)
        return joined

    def _all_of(self, link: ColumnLink, grid: int) -> list[int]:
        """The columns whose header has what is said, also where another's says little more."""
        found: list[set[int]] = [
            {
                heading.column
                for term in self._terms(token)
                for heading in self._index.headings.get(term, ())
                if heading.grid == grid and heading.column >= 0
            }
            for token in self._reading.tokens_within(link.start, link.end)
            if token.word not in LITTLE_WORDS
        ]
        return sorted(set.intersection(*found)) if found else []

    def _closed(self, link: ColumnLink | RowLink) -> ColumnLink | RowLink:
        """With the bracket that closes behind "yards (rushing)": it is no border."""
        said = self._plain[link.start : link.end]
        if said.count("(") == said.count(")") or self._plain[link.end : link.end + 1] != ")":
            return link
        return replace(link, end=link.end + 1)


def _scored(
    hits: dict[Heading, dict[str, tuple[int, int]]],
) -> dict[Heading, dict[str, tuple[int, int]]]:
    """Without the points that "scored" can mean, where a table counts goals."""
    goals = {said["scor"] for heading, said in hits.items() if "scor" in said}
    kept = {
        heading: {
            term: place for term, place in said.items() if term != "point" or place not in goals
        }
        for heading, said in hits.items()
    }
    return {heading: said for heading, said in kept.items() if said}


def _add(
    linked: dict[int, list[ColumnLink | RowLink]],
    grid: int,
    span: Span,
    headings: Sequence[Heading],
    coverage: float,
    said: int,
) -> None:
    columns = tuple(heading.column for heading in headings if heading.column >= 0)
    rows = tuple(heading.row for heading in headings if heading.row >= 0)
    if columns:
        linked[grid].append(ColumnLink(span.start, span.end, columns, coverage, said))
    if rows:
        linked[grid].append(RowLink(span.start, span.end, rows, -1, coverage == 1))


# ---- links of sentences

_COUNTING = re.compile(r"\s*(?:of|:|was|were|is|at)\s*(?:about |around )?")


class Linking:
    """A text linked to a source."""

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
        number = self.sentence_at(span.start)
        found = self.sentence_links[number].get(grid) if self.sentence_links else None
        found = found or Links(grid, span)
        return found if found.span == span else found.within(span.start, span.end)

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
        amounts = [a for a in self.reading.amounts if sentence.start <= a.start < sentence.end]
        moments = [
            m
            for m in self.reading.moments
            if sentence.start <= m.start < sentence.end
            and not any(s <= m.start < e and e - s > m.end - m.start for s, e in labels)
        ]
        amounts = [
            amount
            for amount in amounts
            if not _inside(amount.start, labels)
            and not any(  # a part of a name: "Falcon 9", "Liiga 23/24"
                start < amount.end
                and amount.start < end
                and end - start > amount.digits_end - amount.start
                for start, end, _, _ in names
            )
            # the name of a column: "a 1931 (population) of 9,908"
            and not self._is_year(amount, self.index.header_dates)
        ]
        amounts, moments = self._tell_years(amounts, moments, headings)
        taken = [(start, end) for start, end, _, _ in names]
        taken += [(moment.start, moment.end) for moment in moments]
        taken += [(link.start, link.end) for links in headings.values() for link in links]
        unknown_names = self._unknown_names.find(sentence, tokens, taken)
        scoped_phrases = self._scoped_phrases(sentence, moments, amounts, headings, names)
        amounts = [  # both years of "except 2020 and 2021"
            replace(a, role="year")
            if _inside(a.start, scoped_phrases) and self._is_year(a, self.index.dates)
            else a
            for a in amounts
        ]
        found = {}
        for grid in self.source.grids:
            number = grid.number
            cells, rows = self._rows(number, names)
            said = [
                link
                for link in headings.get(number, [])
                if not any(_is_part(link, cell) for cell in cells)
            ]
            rows = _without_totals(grid, rows, said)
            columns = [link for link in said if isinstance(link, ColumnLink)]
            lines = tuple(link for link in said if isinstance(link, RowLink))
            rows += tuple(  # those named by terms of their attribute elsewhere
                line
                for line in _without_totals(grid, lines, columns)
                if not any(row.start < line.end and line.start < row.end for row in rows)
            )
            said_rows = tuple(sorted(rows, key=lambda link: link.start))
            dated = tuple(self._moment(number, moment) for moment in moments)
            rest = unknown_names, carried.get(number, ()), scoped_phrases
            found[number] = Links(
                number, sentence, tuple(columns), said_rows, cells, dated, tuple(amounts), *rest
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
            Span(a.start, a.digits_end)
            for a in amounts
            if a.role == "year" or self._is_year(a, self.index.dates)
        }
        dated |= {span for span in said if moment(plain[span.start : span.end]) is not None}
        said |= {Span(start, end) for start, end, _, _ in names}
        return find_scoped_phrases(plain, sentence, tuple(dated), tuple(said))

    def _is_year(self, amount: Amount, known: Mapping[str, object]) -> bool:
        """Whether a bare number is a year of cells, or of headers."""
        written = self.reading.plain[amount.start : amount.end]
        return len(written) == 4 and written.isdigit() and written in known

    def _tell_years(
        self,
        amounts: list[Amount],
        moments: list[Moment],
        headings: dict[int, list[ColumnLink | RowLink]],
    ) -> tuple[list[Amount], list[Moment]]:
        """Read "1817 completions" and "an attendance of 1990" as amounts, not as years."""
        counted = set()
        years = [amount for amount in amounts if amount.role == "year"]
        for number, links in headings.items() if years else ():
            columns = self.source.grids[number].columns
            for link in links:
                if not isinstance(link, ColumnLink) or columns[link.columns[0]].kind != "number":
                    continue
                for amount in years:
                    after = self.reading.plain[amount.end : link.start]
                    before = self.reading.plain[link.end : amount.start]
                    follows = 0 <= link.start - amount.end <= 1 and not after.strip()
                    if follows or (link.end <= amount.start and _COUNTING.fullmatch(before)):
                        counted.add(amount.start)
        amounts = [replace(a, role="value") if a.start in counted else a for a in amounts]
        return amounts, [moment for moment in moments if moment.start not in counted]

    def _names(self, tokens: Sequence[PlacedToken]) -> list[tuple[int, int, list[Place], bool]]:
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

    def _can_name(self, tokens: Sequence[PlacedToken], full: bool, places: Sequence[Place]) -> bool:
        """Whether words of a cell are said as a name: a part of one needs a capital.

        Numbers alone are none, but a range is that names rows: "5 to 11".
        """
        token = tokens[0]
        word = self.reading.text[token.start : token.end]
        around = self.reading.text[token.end : token.end + 40]
        if full and len(tokens) == 1 < len(word) and word.isupper() and not around.isupper():
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
        if self._cased and self.index.cased and self.reading.text[token.start].islower():
            return False
        # a part stands as in the cell: "posted" is no "post office"
        grids = self.source.grids
        return any(
            token.word in tokens_of(grids[p.grid].cell(p.row, p.column)).words for p in places
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

    def _moment(self, grid: int, moment: Moment) -> MomentLink:
        headed = (self.index.header_dates.get(reading, ()) for reading in moment.readings)
        dated = (self.index.dates.get(reading, ()) for reading in moment.readings)
        columns = {column for known in headed for number, column in known if number == grid}
        places = {(p.row, p.column) for known in dated for p in known if p.grid == grid}
        found = tuple(sorted(columns)), tuple(sorted(places))
        return MomentLink(moment.start, moment.end, moment, *found)


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


def _inside(place: int, spans: Sequence[tuple[int, int] | ScopedPhrase]) -> bool:
    return any(span[0] <= place < span[1] for span in spans)


def _is_part(one: ColumnLink | RowLink, other: ColumnLink | CellLink) -> bool:
    """Whether words stand in longer ones."""
    inside = other.start <= one.start and one.end <= other.end
    return inside and one.end - one.start < other.end - other.start


def _without_totals(
    grid: Grid, rows: tuple[RowLink, ...], said: Sequence[ColumnLink | RowLink]
) -> tuple[RowLink, ...]:
    """Leave out what names a column as well: "total", and a part of a name in a whole header.

    A whole name in a longer header goes where another row is named: "Peru had a population of
    Chile of 12" under such a header tells of Peru.
    """
    totals = {line.index for line in grid.lines if line.total}
    whole = [link for link in said if isinstance(link, ColumnLink) and link.coverage == 1]

    apart = [row for row in rows if not any(_is_part(row, link) for link in whole)]
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
