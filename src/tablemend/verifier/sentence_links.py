"""A statement laid over a table: which of its words name columns, rows, cells and amounts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product

from tablemend.values.text import PlacedToken, tokens_of
from tablemend.verifier.entity_linking import Linking, Links
from tablemend.verifier.indexing import Place
from tablemend.verifier.lexicon import LITTLE_WORDS, Cue, find_cues, stem, terms
from tablemend.verifier.oriented_table import ColumnIndex, OrientedTable
from tablemend.verifier.reading import Amount, Reading, ScopedPhrase

# ---- records


@dataclass(frozen=True, slots=True)
class Words:
    """Some tokens of the statement: ``first`` to ``last``, half open."""

    first: int
    last: int

    @property
    def span(self) -> tuple[int, int]:
        """Both ends."""
        return self.first, self.last

    @property
    def tokens(self) -> frozenset[int]:
        """Each of them."""
        return frozenset(range(self.first, self.last))

    def encloses(self, first: int, last: int) -> bool:
        """Whether other tokens are a part of them, and not all."""
        return self.first <= first and last <= self.last and last - first < self.last - self.first


@dataclass(frozen=True, slots=True)
class CellMention(Words):
    """Words that name cells of one column.

    Attributes:
        column: the column whose cells have the words.
        rows: the rows whose cell has them; where cells consist of them, only those.
        share: how much of the cells' words they are, 1 where they are the whole cell.
    """

    column: int
    rows: frozenset[int]
    share: float


@dataclass(frozen=True, slots=True)
class ColumnMention(Words):
    """Words that name a column; ``share`` is how much of the header they are."""

    column: int
    share: float


@dataclass(frozen=True, slots=True)
class StatedNumber(Words):
    """A number of the statement, with what is stated and its value."""

    amount: Amount
    value: float


@dataclass(frozen=True, slots=True)
class Phrase(Words):
    """Words that select rows; a mention for every column in which they can, likeliest first."""

    mentions: tuple[CellMention, ...]

    @property
    def rows(self) -> frozenset[int]:
        """Rows that any of its readings selects."""
        return frozenset().union(*(mention.rows for mention in self.mentions))

    @property
    def share(self) -> float:
        """How much of a cell it names."""
        return self.mentions[0].share


@dataclass(frozen=True, slots=True)
class RowFilter(Words):
    """A condition: something that the statement says and that holds of some rows.

    Attributes:
        rows: the rows of which it holds.
        used: the tokens that the reading accounts for.
        fit: how surely it is meant so.
        column: the column that it speaks of.
        bound: whether an amount is compared, and not only found.
        members: the rows of each name of a list ("A, B and C"); empty for one name.
    """

    rows: frozenset[int]
    used: frozenset[int]
    fit: float
    column: int
    bound: bool = False
    members: tuple[frozenset[int], ...] = ()


def within(conditions: Iterable[RowFilter], rows: Iterable[int]) -> frozenset[int]:
    """The rows of which all hold."""
    kept = frozenset(rows)
    for condition in conditions:
        kept &= condition.rows
    return kept


def range_set(first: int, last: int) -> frozenset[int]:
    """Tokens as a set."""
    return frozenset(range(first, last))


# ---- the statement over the table

_VERBS = frozenset(
    "be is are was were been have has had do does did score scored win won lose lost play played "
    "receive received make made get got finish finished earn earned record recorded draw drew "
    "take took hold held come came post posted show shows showed achieve achieved reach reached "
    "go went host hosted give gave become became see saw complete completed attend attended "
    "contribute contributed produce produced report reported gain gained rank ranked sell sold "
    "appear appeared obtain obtains obtained perform performs performed belong belonged belongs "
    "stand stood stands reaches reaching amount amounted amounts register registered hit hits "
    "remain remained remains lead leads led saw seen list listed average averaged own owned".split()
)
_AUXILIARIES = frozenset("be is are was were been have has had do does did".split())
# "the win", "most wins", "number of goals scored": a noun there.
_NO_VERB_AFTER = frozenset(
    "the a an of most more least less fewest fewer few highest lowest number total first last best "
    "and in for final no any each every".split()
)
_PARTING = frozenset("and or , but while than vs versus be is was".split())
_CONTRAST = frozenset("while whereas but although though".split())
TIME_UNITS = frozenset("day week month year h min s".split())
"""Units whose words also name rows: "7 months" are counted."""
_OVER = re.compile(r"[\w.,]+? ?- ?(?:day|week|month|year|hour|minute)s?\b")
_PER = re.compile(r"\bper \Z")
_KINDS_OF = frozenset("gross net operating adjusted pretax comprehensive".split())
_VALUE = frozenset({"value", "year"})
_LEADS = frozenset("and while whereas but or".split())
_ARTICLES = frozenset({"the", "a", "an"})


class SentenceLinks:
    """A statement over a view of a table."""

    def __init__(self, linking: Linking, links: Links, view: OrientedTable) -> None:
        self.linking = linking
        self.reading: Reading = linking.reading
        self.links = links
        self.view = view
        self.index = linking.index
        self.tokens: tuple[PlacedToken, ...] = self.reading.tokens_within(*links.span)
        self.words = tuple(token.word for token in self.tokens)
        self.rows = frozenset(view.rows)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The tokens as the cells' index has them."""
        return tuple(stem(word) for word in self.words)

    @cached_property
    def cues(self) -> tuple[Cue, ...]:
        """The words that announce an operation."""
        start, end = self.links.span
        found = (
            cue._replace(start=cue.start + start, end=cue.end + start)
            for cue in find_cues(self.reading.text[start:end])
        )
        return tuple(cue for cue in found if not self._of_header(cue))

    def _of_header(self, cue: Cue) -> bool:
        """Whether a cue is a part of a name: of the column "All firms", of a row."""
        first, last = self.token_range(cue.start, cue.end)
        if any(p.first <= first < last <= p.last and p.last - p.first > 2 for p in self.phrases):
            return True  # "No harm was intended" as the name of a row
        if first == last:
            return False
        around = (h for h in self.headings if h.share > 0.99 and h.encloses(first, last))
        headers = (self.view.columns[heading.column].header for heading in around)
        return any(self.words[first] in tokens_of(header).words for header in headers)

    def token_range(self, start: int, end: int) -> tuple[int, int]:
        """The tokens of characters ``start:end``, half open."""
        inside = [i for i, t in enumerate(self.tokens) if t.start < end and start < t.end]
        return (inside[0], inside[-1] + 1) if inside else (len(self.tokens), len(self.tokens))

    def text(self, first: int, last: int) -> str:
        """The words of some tokens as written."""
        return self.reading.text[self.tokens[first].start : self.tokens[last - 1].end]

    def is_aside(self, place: int) -> bool:
        """Whether a token is of a comparison or an exception: "above its 2021 level"."""
        return any(phrase.holds(self.tokens[place].start) for phrase in self.links.scoped_phrases)

    def comparison(self, place: int) -> ScopedPhrase | None:
        """The comparison that a token is of: "compared with 120 in 2021"."""
        start = self.tokens[place].start
        return next((p for p in self.links.scoped_phrases if p.beside and p.holds(start)), None)

    def exception(self, place: int) -> frozenset[int] | None:
        """The words of the exception that a token is of: "except", "all but"; else ``None``."""
        for phrase in self.links.scoped_phrases:
            if phrase.exception and phrase.holds(self.tokens[place].start):
                first, last = self.token_range(phrase.start, phrase.end)
                return frozenset(range(first, last))
        return None

    @cached_property
    def content(self) -> frozenset[int]:
        """Tokens that say something, which a full reading uses up."""
        return frozenset(
            place
            for place, word in enumerate(self.words)
            if word not in LITTLE_WORDS and self.stems[place] not in self._caption
        )

    @cached_property
    def _caption(self) -> frozenset[str]:
        title = self.view.grid.table.title
        return frozenset(stem(word) for word in tokens_of(title).words) if title else frozenset()

    @cached_property
    def headed(self) -> frozenset[int]:
        """Tokens that name a column whole, or one of texts."""
        named = (h for h in self.headings if not self.view.columns[h.column].measured)
        return frozenset(place for heading in named for place in heading.tokens)

    # ---- rows

    @cached_property
    def mentions(self) -> tuple[CellMention, ...]:
        """What names cells: one mention for every column."""
        found: list[CellMention] = []
        links, row = self.links, self.view.header_row
        named = [(link.start, link.end, link.places) for link in links.cells]
        named += [(link.start, link.end, link.places) for link in links.moments]
        if self.view.turned:
            headed = [(link.start, link.end, link.columns) for link in links.columns]
            headed += [(link.start, link.end, link.columns) for link in links.moments]
            named = [(a, b, tuple((row, c) for c in columns)) for a, b, columns in headed]
        for start, end, places in dict.fromkeys(named):
            first, last = self.token_range(start, end)
            shares: dict[int, dict[int, float]] = defaultdict(dict)
            for row, column in places:
                if (place := self.view.place(row, column)) is None or first == last:
                    continue
                size = len(self.index.sequence(Place(links.grid, row, column)))
                share = min(1.0, (last - first) / size) if size else 1.0
                shares[place[1]][place[0]] = share
            for column, of in shares.items():
                best = max(of.values())
                rows = frozenset(row for row, share in of.items() if best < 1 or share == 1)
                found.append(CellMention(first, last, column, rows, best))
        return tuple(sorted(found, key=lambda mention: mention.first))

    @cached_property
    def phrases(self) -> tuple[Phrase, ...]:
        """The mentions, alternatives together: a word of a longer cell is no name by itself."""
        grouped: dict[tuple[int, int], list[CellMention]] = defaultdict(list)
        for mention in self.mentions:
            grouped[mention.first, mention.last].append(mention)
        found = []
        for (first, last), mentions in grouped.items():
            best = max(mention.share for mention in mentions)
            kept = [
                mention
                for mention in mentions
                if mention.share >= 0.9 * best and self._is_name(mention)
            ]
            kept.sort(key=lambda m: (self._distance(m), m.column != self.view.key, m.column))
            if kept and self._distance(kept[0]) <= 1:
                kept = [m for m in kept if self._distance(m) <= 1]
            if len(kept) > 1:  # "played away at Essendon": of "Home team" and "Away team"
                said = {m.column: self.context(self.view.columns[m.column]) for m in kept}
                kept = [m for m in kept if said[m.column] > max(said.values()) - 0.3]
            if kept:
                found.append(Phrase(first, last, tuple(kept)))
        whole = {p.mentions[0].column for p in found if p.share == 1}
        kept_phrases = []
        for phrase in found:  # a word behind an article is a noun where a name stands beside it
            article = phrase.first > 0 and self.words[phrase.first - 1] in _ARTICLES
            part = phrase.last - phrase.first == 1 and phrase.share <= 0.5
            if not (article and part and phrase.mentions[0].column in whole):
                kept_phrases.append(phrase)
        return tuple(self._joined(kept_phrases))

    def _joined(self, phrases: list[Phrase]) -> list[Phrase]:
        """Parts of one name made one: "aa da palmeiras" of "aa das palmeiras"."""
        joined: list[Phrase] = []
        for phrase in phrases:
            before = joined[-1] if joined else None
            gap = self.words[before.last : phrase.first] if before else ()
            if before and len(gap) <= 2 and not _PARTING & set(gap):
                parts = [  # as parts of the same cells
                    CellMention(before.first, phrase.last, left.column, rows, share)
                    for left, right in product(before.mentions, phrase.mentions)
                    if left.column == right.column and left.share < 1 and right.share < 1
                    if (rows := left.rows & right.rows)
                    if (share := min(1.0, left.share + right.share))
                ]
                if parts and "," not in self.between(before.last - 1, phrase.first):
                    joined[-1] = Phrase(before.first, phrase.last, tuple(parts))
                    continue
            joined.append(phrase)
        return joined

    def _is_name(self, mention: CellMention) -> bool:
        if any(h.share > 0.99 and h.encloses(*mention.span) for h in self.headings):
            return False  # "transfer" of the column "Transfer window"
        said = self.stems[mention.first : mention.last]
        if mention.share < 1 and all(word in self._caption for word in said):
            return False
        temporal = self.view.columns[mention.column].temporal
        return mention.share >= 0.3 or mention.last - mention.first > 1 or temporal

    def _distance(self, mention: CellMention) -> int:
        """Words between a mention and the name of its column; 9 where it is not named."""
        gaps = []
        for heading in self.headings:
            if heading.column == mention.column and heading.share >= 0.5:
                left, right = sorted((heading.span, mention.span))
                between = self.words[left[1] : right[0]]
                said = sum(word not in LITTLE_WORDS for word in between)
                gaps.append(9 if left[1] > right[0] else said)
        return min(gaps, default=9)

    # ---- columns

    @cached_property
    def headings(self) -> tuple[ColumnMention, ...]:
        """What names columns; words that also name cells are kept in both."""
        found: list[ColumnMention] = []
        named = [(link.start, link.end, link.columns, link.coverage) for link in self.links.columns]
        if self.view.turned:
            turned = ((one, self.view.turned_columns(one.rows)) for one in self.links.rows)
            named = [(r.start, r.end, columns, 1.0 if r.full else 0.6) for r, columns in turned]
        for start, end, columns, coverage in named:
            first, last = self.token_range(start, end)
            before = self.words[first - 1] if 0 < first < len(self.words) else ""
            # "gross profit" is no net income, "total costs" are no cost of sales
            if before in _KINDS_OF or (before == "total" and coverage < 1):
                columns = tuple(c for c in columns if before in self.view.columns[c].terms)
            if first == last or not columns:
                continue
            ends = {column: self._through_unit(last, column) for column in columns}
            furthest = max(ends.values())
            said = {column: self.context(self.view.columns[column]) for column in columns}
            most = max(said.values()) - 0.05
            found += [
                ColumnMention(first, end, column, coverage)
                for column, end in ends.items()
                if end == furthest and said[column] >= most
            ]
        named_once = {h.column for h in found if h.share > 0.99}
        for place, word in enumerate(self.words):
            for column in named_once:
                wanted = self.view.columns[column].terms
                again = len(wanted) == 1 and wanted[0] in terms(word)
                if again and not any(h.column == column and place in h.tokens for h in found):
                    found.append(ColumnMention(place, place + 1, column, 1.0))
        return tuple(map(self._of_period, found))

    def _of_period(self, named: ColumnMention) -> ColumnMention:
        """The "Q1 points" of "points in the first quarter", in a sentence with one number."""
        wanted = set(self.view.columns[named.column].terms)
        columns = {c for link in self.links.moments for c in link.columns}
        values = sum(amount.role == "value" for amount in self.links.amounts)
        if self.view.turned or values != 1 or not wanted or named.column in columns:
            return named
        found = [c for c in columns if wanted < set(self.view.columns[c].terms)]
        return replace(named, column=found[0]) if len(found) == 1 else named

    @cached_property
    def terms(self) -> frozenset[str]:
        """All terms of the statement."""
        return frozenset(term for word in self.words for term in terms(word))

    def context(self, column: ColumnIndex) -> float:
        """How much of a column's header the statement says anywhere."""
        return len(self.terms.intersection(column.terms)) / max(1, len(column.terms))

    def _through_unit(self, last: int, column: int) -> int:
        """The end of a header's words where its unit follows as in the header: "(km 3 / year)"."""
        words = tokens_of(self.view.columns[column].header).words
        end = last
        while end < len(self.words) and self.words[end] in words and end - last < 6:
            end += 1
        opened = "(" in self.between(last - 1, last) if last < end else False
        return end if opened else last

    def headings_in(self, first: int, last: int) -> list[ColumnMention]:
        """Headings within some tokens: those that say most of the header and are longest first."""
        inside = [h for h in self.headings if first <= h.first and h.last <= last]
        return sorted(inside, key=lambda h: (-(h.last - h.first), -h.share))

    # ---- amounts

    @cached_property
    def amounts(self) -> tuple[StatedNumber, ...]:
        """The numbers of the statement; no ordinals, and not the 7 of "a 7-day mean"."""
        found = []
        for amount in self.links.amounts:
            over = _OVER.match(self.reading.plain, amount.start)
            per = _PER.search(self.reading.plain, max(0, amount.start - 5), amount.start)
            if amount.role in _VALUE and not over and not per:
                timed = amount.number.unit.symbol in TIME_UNITS  # "7 months" are counted
                end = amount.digits_end if timed else amount.end
                first, last = self.token_range(amount.start, end)
                if first < last:
                    # costs of -300.1 as 300.1 where the table has them in parentheses
                    size, number, grid = abs(amount.value), amount.number, self.view.grid
                    if grid.deducts(size) or grid.deducts(size / number.unit.scale):
                        amount = replace(amount, number=replace(number, value=size))
                    found.append(StatedNumber(first, last, amount, float(amount.value)))
        return tuple(found)

    # ---- syntax

    @cached_property
    def clauses(self) -> tuple[tuple[int, int], ...]:
        """The clauses, as tokens: parted at "while", "but", ";" and at ", and" before a verb."""
        cuts = [0]
        for place in range(1, len(self.words) - 1):
            word, gap = self.words[place], self.between(place - 1, place)
            strong = word in _CONTRAST or ";" in gap
            weak = word in ("and", "with") and "," in gap
            if not (strong or weak):
                continue
            if any(cuts[-1] <= v < place for v in self.verbs) and any(
                place < v < place + 8 for v in self.verbs
            ):
                cuts.append(place)
        return tuple(pairwise([*cuts, len(self.words)]))

    def clause(self, place: int) -> tuple[int, int]:
        """The clause of a token."""
        return next(
            (clause for clause in self.clauses if clause[0] <= place < clause[1]),
            (0, len(self.words)),
        )

    @cached_property
    def verbs(self) -> tuple[int, ...]:
        """Tokens that can be the verb of a clause."""
        before = ("", *self.words)
        return tuple(
            place
            for place, word in enumerate(self.words)
            if word in _VERBS and (word in _AUXILIARIES or before[place] not in _NO_VERB_AFTER)
        )

    @cached_property
    def own_clauses(self) -> tuple[tuple[int, int], ...]:
        """Clauses that say the same sort of thing of a row each, from its name on, or none.

        As in "A is in B and C in D", "A and B won 5 and 7".
        """
        key = self.view.key
        single = (p for p in self.phrases if len(p.mentions[0].rows) == 1)
        names = [p for p in single if p.mentions[0].column == key]
        cells = [p for p in self.phrases if all(m.column != key for m in p.mentions)]

        def columns(first: int, last: int) -> set[int]:
            """Of what is said behind a name; a mere list of names says nothing."""
            inside = [p for p in cells if first <= p.first and p.last <= last]
            said = [p for p in inside if not _LEADS.issuperset(self.words[first : p.first])]
            return {m.column for p in said for m in p.mentions}

        def leads(place: int) -> bool:
            """Whether a new clause can begin at a name."""
            while place > 0 and self.words[place - 1] in _ARTICLES:
                place -= 1
            before = self.between(place - 1, place) if place else ""
            return place > 0 and (self.words[place - 1] in _LEADS or "," in before or ";" in before)

        ends = [*(p.first for p in names[1:]), len(self.words)]
        cuts: list[int] = []
        for (one, other), end in zip(pairwise(names), ends[1:], strict=True):
            said = columns(one.last, other.first)
            if said & columns(other.last, end) and leads(other.first):
                cuts += [other.first] if cuts else [one.first, other.first]
        return tuple(pairwise([*cuts, len(self.words)])) if cuts else ()

    def between(self, first: int, last: int) -> str:
        """The characters between the end of one token and the beginning of another."""
        return self.reading.plain[self.tokens[first].end : self.tokens[last].start]


def in_brackets(frame: SentenceLinks, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether one of two opens a bracket right behind the other: "East (1,780 units)"."""
    low, high = sorted((one, other))
    return low[1] == high[0] and "(" in frame.between(high[0] - 1, high[0])
