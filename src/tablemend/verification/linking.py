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
from tablemend.verification.indexing import Heading, Index, Place, index_grids
from tablemend.verification.lexicon import LITTLE_WORDS, phrase_terms, stem, terms
from tablemend.verification.reading import Amount, Moment, Reading, Token

_BORDER = re.compile(r"[,;:()\[\]\d]|\b(?:and|or|but|while|with)\b")
_OPENERS = frozenset(
    "although however meanwhile despite after before during since both each all every many most "
    "some several one two three another other overall additionally moreover furthermore finally "
    "also first second third here there now then today yes no only even once because though unlike "
    "according among between following given like more over under until".split()
)
_UNIT_NAMES = frozenset(
    "celsius fahrenheit kelvin euro euros dollar dollars wi-fi bluetooth".split()
)
_ADJECTIVE = re.compile(r"(?:an|ese|ish|ic|ch|ek|ian|i|ss)$")
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
        strangers: names that stand in no cell, header or caption.
        subject: rows carried over from earlier sentences, for one that names none.
    """

    grid: int
    span: Span
    columns: tuple[ColumnLink, ...] = ()
    rows: tuple[RowLink, ...] = ()
    cells: tuple[CellLink, ...] = ()
    moments: tuple[MomentLink, ...] = ()
    amounts: tuple[Amount, ...] = ()
    strangers: tuple[Span, ...] = ()
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
            tuple(name for name in self.strangers if start <= name.start and name.end <= end),
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
                if rows := _subject(links):
                    carried[number] = rows
            linked.append(by_grid)
        return tuple(linked)

    def sentence_at(self, place: int) -> int:
        """Index of the sentence around a place."""
        starts = [sentence.start for sentence in self.reading.sentences]
        return max(bisect_left(starts, place + 1) - 1, 0)

    def _link_sentence(
        self, sentence: Span, carried: dict[int, tuple[int, ...]]
    ) -> dict[int, Links]:
        tokens = self.reading.tokens_within(*sentence)
        names = self._names(tokens)
        idioms = self._idioms(sentence)
        headings = self._headings(sentence, tokens, idioms)
        moments = [m for m in self.reading.moments if sentence.start <= m.start < sentence.end]
        amounts = [a for a in self.reading.amounts if sentence.start <= a.start < sentence.end]
        amounts = [
            amount
            for amount in amounts
            if not self._is_label(amount, names)
            and not any(start <= amount.start < end for start, end, _ in idioms)
        ]
        strangers = self._strangers(sentence, tokens, names, moments)
        found = {}
        for grid in self.source.grids:
            number = grid.number
            cells, rows = self._rows(number, names)
            said = headings.get(number, ())
            rows = _merge(rows, [link for link in said if isinstance(link, RowLink)])
            found[number] = Links(
                number,
                sentence,
                tuple(link for link in said if isinstance(link, ColumnLink)),
                rows,
                cells,
                tuple(self._moment(number, moment) for moment in moments),
                tuple(amounts),
                strangers,
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

    def _strangers(
        self,
        sentence: Span,
        tokens: Sequence[Token],
        names: list[tuple[int, int, list[Place], bool]],
        moments: Sequence[Moment],
    ) -> tuple[Span, ...]:
        """Runs of capitalised words, unknown to the tables, none of which begins the sentence.

        A run of two or more may begin it: "Bradley Beal led ...".
        """
        text = self.reading.text
        if not self._cased:
            return ()
        taken = sorted([(s, e) for s, e, _, _ in names] + [(m.start, m.end) for m in moments])
        runs: list[list[Token]] = []
        for token in tokens:
            written = text[token.start : token.end]
            known = any(start <= token.start < end for start, end in taken)
            if known or not written[:1].isupper() or not written[:1].isalpha():
                continue
            if runs and not text[runs[-1][-1].end : token.start].strip(" .'"):
                runs[-1].append(token)
            else:
                runs.append([token])
        found = []
        for run in runs:
            if run[0].word in LITTLE_WORDS or run[0].word in _OPENERS:
                run = run[1:]
            if not run:
                continue
            first = len(run) == 1 and run[0].start <= sentence.start + 1
            if first and run[0].word not in self._proper:
                continue
            if all(self._is_known(token) for token in run) or self._is_unit(run):
                continue
            found.append(Span(run[0].start, run[-1].end))
        return tuple(found)

    @cached_property
    def _proper(self) -> frozenset[str]:
        """Words that the text writes with a capital inside a sentence."""
        text = self.reading.text
        starts = {sentence.start for sentence in self.reading.sentences}
        return frozenset(
            token.word
            for token in self.reading.tokens
            if token.start not in starts and text[token.start].isupper()
        )

    def _is_unit(self, run: Sequence[Token]) -> bool:
        """Whether a capitalised word is no name: a unit, an abbreviation, an adjective.

        "20 EUR", "Celsius", "GPS", "UTC"; "a Greek player" says a country in another form.
        """
        if len(run) > 1:
            return False
        token, text = run[0], self.reading.text
        written = text[token.start : token.end]
        if any(character.isdigit() for character in written) or len(written) < 2:
            return True
        if (written.isupper() and len(written) <= 5) or written[1:] != written[1:].lower():
            return True
        if token.word in _UNIT_NAMES:
            return True
        return bool(_ADJECTIVE.search(token.word) and re.match(r" [a-z]", text[token.end :]))

    def _is_known(self, token: Token) -> bool:
        """Whether a word stands in a header, a caption or some cell."""
        word = stem(token.word)
        return (
            word in self.index.words
            or word in self.index.caption
            or any(term in self.index.headings for term in terms(token.word))
        )

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

    def _idioms(self, sentence: Span) -> list[tuple[int, int, tuple[str, ...]]]:
        """Idioms for headers ("from beyond the arc"); a number in one is no amount."""
        found: list[tuple[int, int, tuple[str, ...]]] = []
        for start, end, said in phrase_terms(self.reading.plain[sentence.start : sentence.end]):
            if all(term in self.index.headings for term in said) and (
                not found or start + sentence.start >= found[-1][1]
            ):
                found.append((start + sentence.start, end + sentence.start, said))
        return found

    def _headings(
        self,
        sentence: Span,
        tokens: Sequence[Token],
        idioms: Sequence[tuple[int, int, tuple[str, ...]]],
    ) -> dict[int, list[ColumnLink | RowLink]]:
        """Runs of words that stand in headers."""
        said: list[tuple[int, int, tuple[str, ...]]] = []
        plain = self.reading.plain
        idioms = list(idioms)
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
            if not any(term in self.index.headings for term in word[2]):
                continue
            bare = plain[word[0] : word[1]]
            counts = bare.isdigit() and len(bare) < 4
            if runs:
                between = plain[runs[-1][-1][1] : word[0]]
                if counts and between not in (" ", "-", ""):
                    continue
                if not _BORDER.search(between) and len(between.split()) <= _PARTED:
                    runs[-1].append(word)
                    continue
            if not counts:
                runs.append([word])
        linked: dict[int, list[ColumnLink | RowLink]] = defaultdict(list)
        for run in runs:
            for number, link in self._name_headings(run):
                linked[number].append(link)
        for links in linked.values():
            links.sort(key=lambda link: link.start)
        return linked

    def _name_headings(
        self, run: list[tuple[int, int, tuple[str, ...]]]
    ) -> list[tuple[int, ColumnLink | RowLink]]:
        """The headings that a run of words fits best, for each grid.

        What is left over of the run ("home team score" of two columns) is linked again.
        """
        hits: dict[Heading, dict[str, tuple[int, int]]] = defaultdict(dict)
        for start, end, found in run:
            for term in found:
                for heading in self.index.headings.get(term, ()):
                    hits[heading].setdefault(term, (start, end))
        result: list[tuple[int, ColumnLink | RowLink]] = []
        for grid in sorted({heading.grid for heading in hits}):
            own = {heading: said for heading, said in hits.items() if heading.grid == grid}
            while own:
                score = {
                    heading: (len(said), len(said) / len(self.index.terms[heading]))
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
                    start, end = min(p[0] for p in places), max(p[1] for p in places)
                    columns = tuple(heading.column for heading in fitting if heading.column >= 0)
                    rows = tuple(heading.row for heading in fitting if heading.row >= 0)
                    if columns:
                        result.append((grid, ColumnLink(start, end, columns, best[1], best[0])))
                    if rows:
                        result.append((grid, RowLink(start, end, rows, -1, best[1] == 1)))
                own = {
                    heading: left
                    for heading, said in own.items()
                    if heading not in fitting
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


def _merge(names: tuple[RowLink, ...], attributes: list[RowLink]) -> tuple[RowLink, ...]:
    """Rows named by their names, and those named by terms of their attribute elsewhere."""
    free = [
        link
        for link in attributes
        if not any(name.start < link.end and link.start < name.end for name in names)
    ]
    return tuple(sorted((*names, *free), key=lambda link: link.start))
