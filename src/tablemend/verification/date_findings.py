"""Stated dates, periods, weekdays and times of day against those of the tables."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from tablemend.records import Evidence
from tablemend.values.cells import Value, year_of
from tablemend.values.dates import covers_date, same_date
from tablemend.values.sentences import Span
from tablemend.verification.binding import Binder
from tablemend.verification.findings import Finding
from tablemend.verification.indexing import Heading, Place
from tablemend.verification.lexicon import stem, terms
from tablemend.verification.linking import Linking, MomentLink
from tablemend.verification.reading import Moment

_FUTURE = re.compile(
    r"\b(?:will|next|upcoming|head(?:s|ed|ing)?|tomorrow|await\w*|travel\w*|looks? to|return\w*"
    r"|remains?|take on|plays?|hosts?|hosting|visits?|faces?|on tap|continue\w*|stays?|again"
    r"|showdown|matchup)\b"
)
_PAST = re.compile(r"\b(?:last|previous|earlier|prior|came in(?:to)?|checked in|coming off)\b")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CALLED = re.compile(
    r" (?!(?:fiscal|financial|calendar|year|season|campaign|edition)\b)([a-z]{4,})\b"
)
_ARTICLE = re.compile(r"\b(?:the|a|an|his|her|its|their|this|that)\s+$")
_LIFE = re.compile(r"\b(born|died|killed|married|buried|baptised|retired|graduated)\b[^.;]*$")
_LIVES = {
    "born": ("born", "birth", "life", "lived"),
    "died": ("died", "death", "life", "lived"),
    "killed": ("died", "death", "killed"),
    "married": ("married", "marriage", "wedding"),
    "buried": ("buried", "burial", "death"),
    "baptised": ("baptised", "baptism"),
    "retired": ("retired", "retirement", "end"),
    "graduated": ("graduated", "graduation"),
}
_FULL = 10  # characters of an ISO date


class DateFindings:
    """Verifies the periods of a linked text.

    Args:
        linking: the text and its tables.
    """

    def __init__(self, linking: Linking) -> None:
        self.linking = linking
        self.index = linking.index
        self.grids = linking.source.grids
        known = {*self.index.dates, *self.index.header_dates}
        self._days = sorted(reading for reading in known if _is_day(reading))
        self._kinds = {_shape(reading) for reading in known}
        self._caption = "\n".join(grid.caption for grid in self.grids)

    def verify(self, number: int) -> list[Finding]:
        """Findings on the periods of a sentence, in their order."""
        binder = Binder(self.linking, number)
        first = next(iter(binder.by_grid.values()), None)
        findings = []
        for place in range(len(first.moments) if first else 0):
            links = {grid: binder.by_grid[grid].moments[place] for grid in binder.by_grid}
            found = self._verify(binder, links)
            findings += [found] if found else []
        return findings

    def _verify(self, binder: Binder, links: dict[int, MomentLink]) -> Finding | None:
        moment = next(iter(links.values())).moment
        if moment.kind == "weekday" and not any(
            link.places or link.columns for link in links.values()
        ):
            return self._verify_weekday(binder, moment)
        columns = [
            link
            for by in binder.by_grid.values()
            for link in by.columns
            if link.start < moment.end and moment.start < link.end
        ]
        stated = [link for link in links.values() if link.columns or link.places]
        if columns and not stated and moment.readings[0].startswith("q"):
            return None  # "points in the third quarter" names a column
        if stated:
            wrong = self._stands_elsewhere(binder, links)
            if wrong is None:
                found = self._supported(binder, moment, links)
                if self._is_title(moment) or self._is_of_life(moment, links):
                    reason = "the table does not say what was in that year"
                    return replace(found, verdict="unscored", reason=reason, final=True)
                return replace(found, firm=self._meets(binder, links))
            return wrong
        own = self._own_date(binder, moment)
        if own is not None:
            return self._contradicted(moment, own)
        text = self.linking.reading.text[moment.start : moment.end]
        if moment.kind == "month name" or text.casefold() in self._caption.casefold():
            return self._plain(moment, "unscored", "the period is named without its year")
        if _shape(moment.readings[0]) not in self._kinds:
            if any(self._finer(reading) for reading in moment.readings):
                return self._plain(moment, "unscored", "the tables state the period less finely")
            if moment.kind in ("quarter", "span", "clock"):
                return self._plain(moment, "unscored", "the tables state no such period")
            return self._plain(moment, "not_in_source", "the tables state no date")
        return self._plain(moment, "not_in_source", "no header and no cell states this period")

    def _meets(self, binder: Binder, links: dict[int, MomentLink]) -> bool:
        """Whether the row that the sentence names has the period."""
        for number, link in links.items():
            own = self._subject(binder, number)
            if own is not None and own in {row for row, _ in link.places}:
                return True
        return False

    def _verify_weekday(self, binder: Binder, moment: Moment) -> Finding:
        """A weekday holds where a date of the tables falls on it; none else can state one."""
        days = {_DAYS[date.fromisoformat(day).weekday()].casefold(): day for day in self._days}
        name = moment.readings[0]
        if name in days:
            places = self.index.dates.get(days[name], [])
            evidence = self._evidence(places)
            return Finding(
                moment.start,
                moment.end,
                "moment",
                "supported",
                evidence=evidence,
                reason=f"{days[name]} is a {name.title()}",
                firm=True,
            )
        plain = self.linking.reading.plain[binder.sentence.start : binder.sentence.end]
        if len(self._days) == 1 and not _FUTURE.search(plain) and not _PAST.search(plain):
            day = self._days[0]
            weekday = _DAYS[date.fromisoformat(day).weekday()]
            return Finding(
                moment.start,
                moment.end,
                "moment",
                "contradicted",
                "TMP",
                self._evidence(self.index.dates.get(day, [])),
                f"{day} is a {weekday}",
                Span(moment.start, moment.end),
                (weekday,),
                firm=True,
            )
        if len(self._days) > 1:
            return self._plain(moment, "unscored", "which date is meant is not clear")
        return self._plain(moment, "not_in_source", "no date of the tables is that weekday")

    def _stands_elsewhere(self, binder: Binder, links: dict[int, MomentLink]) -> Finding | None:
        """A date that is another row's than the one the sentence is about."""
        if any(link.columns for link in links.values()):
            return None
        moment = next(iter(links.values())).moment
        for number, link in links.items():
            if not link.places or self.grids[number].transposed:
                continue
            place = self._own_date(binder, moment)
            if place is None or place.grid != number:
                return None
            if any((place.row, place.column) == own for own in link.places):
                return None
            return self._contradicted(moment, place)
        return None

    def _own_date(self, binder: Binder, moment: Moment) -> Place | None:
        """The one date of the row that the sentence is about, where the text states another.

        It stands in the column of dates that the sentence names, or in the only one.
        """
        if moment.kind not in ("date", "month", "year"):
            return None
        found = []
        for grid in self.grids:
            own = self._subject(binder, grid.number)
            if own is None or grid.transposed:
                continue
            years = {column for number, column in self.index.years if number == grid.number}
            dated = [
                c.index
                for c in grid.columns
                if c.index != grid.key
                and (c.kind == "date" or c.index in years)
                and self._differs(grid.value(own, c.index), moment)
            ]
            named = {
                column
                for link in binder.by_grid[grid.number].columns
                if link.coverage == 1
                for column in link.columns
            }
            only = [
                c.index
                for c in grid.columns
                if c.index != grid.key and (c.kind == "date" or c.index in years)
            ]
            here = [c for c in dated if c in named] or [c for c in dated if [c] == only]
            found += [Place(grid.number, own, column) for column in here]
        moments = next(iter(binder.by_grid.values())).moments
        return found[0] if len(found) == 1 and len(moments) == 1 else None

    def _differs(self, value: Value, moment: Moment) -> bool:
        """Whether a cell is a date or a year, and another one."""
        readings = value.dates or ((year,) if (year := year_of(value)) else ())
        if not readings:
            return False
        return not same_date(readings, moment.readings) and not covers_date(
            readings, moment.readings
        )

    def _subject(self, binder: Binder, number: int) -> int | None:
        """The one row that the sentence names, or that it goes on about."""
        links = binder.by_grid[number]
        named = {link.rows for link in links.rows if link.full or link.column >= 0}
        if not named and links.subject and binder.continues(self.grids[number]):
            named = {links.subject}
        rows = {row for group in named for row in group}
        return next(iter(rows)) if len(rows) == 1 else None

    def _rows_about(self, binder: Binder, number: int) -> set[int]:
        """The rows that the names of the sentence, or of an earlier one, leave."""
        links = binder.by_grid[number]
        rows = {row for link in links.rows for row in link.rows}
        return rows or set(links.subject)

    def _finer(self, reading: str) -> bool:
        """Whether the tables state a longer period that holds this one."""
        known = self.index.dates
        return any(
            reading[:length] in known or reading[:length] in self.index.header_dates
            for length in (4, 7)
            if len(reading) > length
        )

    def _is_title(self, moment: Moment) -> bool:
        """Whether a year is a part of what something is called: "the 2001 championship".

        That the row has the year says nothing of a thing that no header and no cell names.
        """
        if moment.kind != "year":
            return False
        plain, after = (
            self.linking.reading.plain,
            _CALLED.match(self.linking.reading.plain, moment.end),
        )
        if after is None or not _ARTICLE.search(plain, 0, moment.start):
            return False
        word = after[1]
        return not (
            stem(word) in self.index.words
            or stem(word) in self.index.caption
            or any(term in self.index.header_terms for term in terms(word))
        )

    def _is_of_life(self, moment: Moment, links: dict[int, MomentLink]) -> bool:
        """Whether somebody's birth or death is told, of which the column of the date is not."""
        plain = self.linking.reading.plain
        told = _LIFE.search(plain, max(0, moment.start - 40), moment.start)
        if told is None:
            return False
        wanted = {term for word in _LIVES[told[1]] for term in terms(word)}
        named = {
            term
            for number, link in links.items()
            for row, column in link.places
            for place in (Heading(number, -1, column), Heading(number, row, -1))
            for term in self.index.terms.get(place, ())
        }
        return wanted.isdisjoint(named)

    def _supported(self, binder: Binder, moment: Moment, links: dict[int, MomentLink]) -> Finding:
        """What has the period: first the cells of the row that the sentence is about."""
        places = [
            Place(number, row, column)
            for number, link in links.items()
            for row, column in link.places
        ]
        about = {number: self._rows_about(binder, number) for number in links}
        places = [p for p in places if p.row in about[p.grid]] or places
        return Finding(
            moment.start,
            moment.end,
            "moment",
            "supported",
            evidence=self._evidence(places),
            reason="a header or a cell states the period",
        )

    def _contradicted(self, moment: Moment, place: Place) -> Finding:
        cell = self.grids[place.grid].cell(place.row, place.column)
        return Finding(
            moment.start,
            moment.end,
            "moment",
            "contradicted",
            "TMP",
            self._evidence([place]),
            f"the table has {cell}",
            Span(moment.start, moment.end),
            (cell,),
            firm=True,
        )

    def _plain(self, moment: Moment, verdict: str, reason: str) -> Finding:
        if verdict == "unscored":
            return Finding(moment.start, moment.end, "moment", "unscored", reason=reason)
        span = Span(moment.start, moment.end)
        return Finding(
            moment.start,
            moment.end,
            "moment",
            "not_in_source",
            "TMP",
            reason=reason,
            span=span,
        )

    def _evidence(self, places: list[Place]) -> tuple[Evidence, ...]:
        return tuple(self.grids[p.grid].evidence(p.row, p.column) for p in places[:3])


def _is_day(reading: str) -> bool:
    if len(reading) != _FULL or not reading[0].isdigit():
        return False
    try:
        date.fromisoformat(reading)
    except ValueError:
        return False
    return True


def _shape(reading: str) -> str:
    """What sort of period an ISO reading is: its digits are all alike."""
    return re.sub(r"\d+", "0", reading)
