"""Which column and which row of a table an amount is said of."""

from __future__ import annotations

import re
from functools import cached_property

from tablemend.claims.cues import Cue, find_cues
from tablemend.evidence.grid import Grid
from tablemend.verification.candidates import (
    Binding,
    Candidate,
    is_in,
    meet,
    moment_rows,
    named_rows,
    narrowed,
)
from tablemend.verification.distances import FAR, Distances
from tablemend.verification.lexicon import LITTLE_WORDS, header_terms, terms
from tablemend.verification.linking import Linking, Links, MomentLink
from tablemend.verification.list_alignment import align_lists
from tablemend.verification.period_alignment import align_periods
from tablemend.verification.reading import Amount

_ADVERBS = frozenset("overall respectively apiece each more less higher lower total".split())
_PRONOUN = re.compile(
    r"(?:(?:in|on|at|for|with|during|also|additionally|overall|however|but|and)\b[^,]{0,40},? )?"
    r"(?!it (?:was|is|were) [^,.]{1,40} (?:that|who|which)\b)"
    r"(?:he|she|it|they|his|her|its|their|this|the (?:company|team|player|city|country|firm))\b"
)
_FROM = re.compile(r"(?:\s*-?\s*[a-z]+){0,3}? (?:from|by) (?:the )?")
_THE_SAME = re.compile(r"(?:the|this|that)(?: same)? (\w+) (?:also )?\w+")
_ANYONE = frozenset("entry row one record item former latter same".split())
_STOP = re.compile(r"[.,;:()\[\]/]|\b(?:and|or|but|while)\b")
_PLURAL = re.compile(r"[a-z]{2}[^s]s$|^(?:people|men|women|children|persons)$")


class Binder:
    """Finds bindings in one sentence.

    Args:
        linking: the linked text.
        number: index of the sentence.
    """

    def __init__(self, linking: Linking, number: int) -> None:
        self.linking = linking
        self._distances = distances = Distances(linking, number)
        self.sentence = distances.sentence
        self.by_grid = distances.by_grid
        self.plain = distances.plain
        self.amounts = distances.amounts
        self.unknown_names = distances.unknown_names
        self._opens_with_unknown = linking.opens_with_unknown(number)

    @cached_property
    def cues(self) -> tuple[Cue, ...]:
        """The cue words of the sentence; their places count from its start."""
        return find_cues(self.linking.reading.text[self.sentence.start : self.sentence.end])

    @cached_property
    def _listed(self) -> dict[int, tuple[int, int]]:
        """Whom the amounts of a list are said of, by their order."""
        return align_lists(self.plain, *self.sentence, self.amounts, self._distances.persons)

    @cached_property
    def _periods(self) -> dict[int, int]:
        links = next(iter(self.by_grid.values()), None)
        moments = [link.moment for link in links.moments] if links else []
        return align_periods(self.plain, self.sentence.end, self.amounts, moments, self.cues)

    def _moment_candidate(
        self, amount: Amount, moment: MomentLink, number: int, count: int, indices: tuple[int, ...]
    ) -> Candidate | None:
        """The rows or columns of a period, as near as it is to the amount."""
        if amount.start in self._periods:
            if self._periods[amount.start] != number:
                return None
            return Candidate(indices, 0, True, moment.start, moment.end)
        if count == 1:
            return Candidate(indices, 0, True, moment.start, moment.end)
        distance = min(
            self._distances.of_attribute(amount, moment.start, moment.end),
            self._distances.of_entity(amount, moment.start, moment.end),
        )
        return Candidate(indices, distance, distance <= 1, moment.start, moment.end)

    def bind(self, amount: Amount) -> list[Binding]:
        """The bindings of an amount, one a table in which something is named."""
        bindings = []
        for grid in self.linking.source.grids:
            links = self.by_grid[grid.number].seen_from(amount.start)
            rows, columns = self._rows(amount, grid, links), self._columns(amount, grid, links)
            if grid.transposed:
                bindings.append(Binding(grid.number, rows, columns, True))
            else:
                bindings.append(Binding(grid.number, columns, rows, False))
        return bindings

    def _columns(self, amount: Amount, grid: Grid, links: Links) -> tuple[Candidate, ...]:
        value_columns = [c.index for c in grid.columns if c.index != grid.key]
        if len(value_columns) == 1:
            return (Candidate((value_columns[0],), 0, True),)
        found = []
        owned = bool(self.other_noun(amount))
        alone = len({link.columns for link in links.columns}) == 1
        for link in links.columns:
            if any(
                (moment.columns or moment.places)
                and moment.start <= link.start
                and link.end <= moment.end
                for moment in links.moments
            ):
                continue  # the "quarter" of "the first quarter of 2024"
            distance = self._distances.of_attribute(amount, link.start, link.end)
            if distance < FAR:
                penalty = 0 if link.coverage == 1 else 2
                clear = (distance <= 2 or alone) and (link.coverage == 1 or link.terms > 1)
                clear = clear and not (owned and distance)
                found.append(
                    Candidate(link.columns, distance + penalty, clear, link.start, link.end)
                )
        count = sum(bool(link.columns) for link in links.moments)
        said = {(c.start, c.end): c.indices for c in found}
        for number, moment in enumerate(links.moments):
            if moment.columns and not is_in(moment, said):
                candidate = self._moment_candidate(amount, moment, number, count, moment.columns)
                found += [narrowed(candidate, found)] if candidate else []
        if not found and len(grid.columns) == 1:
            found.append(Candidate((0,), 0, True))
        return tuple(sorted(found, key=lambda candidate: candidate.distance))

    def _rows(self, amount: Amount, grid: Grid, links: Links) -> tuple[Candidate, ...]:
        if len(grid.lines) == 1:
            return (Candidate((grid.lines[0].index,), 0, self._means_only_row(links)),)
        found: list[Candidate] = []
        if grid.transposed:
            return self._attribute_rows(amount, grid, links)
        named = [(link.start, link.end, link.rows) for link in links.rows]
        dated = [
            (number, link, rows)
            for number, link in enumerate(links.moments)
            if (rows := moment_rows(grid, link))
        ]
        for number, link, rows in dated:
            if not any(start < link.end and link.start < end for start, end, _ in named):
                candidate = self._moment_candidate(amount, link, number, len(dated), rows)
                found += [candidate] if candidate else []
        distinct = {rows for _, _, rows in named}
        listed = self._listed.get(amount.start)
        if listed and (own := [rows for *place, rows in named if tuple(place) == listed]):
            return (Candidate(own[0], 0, len(own[0]) == 1, *listed),)
        for start, end, rows in named:
            distance = self._distances.of_entity(amount, start, end)
            clear = len(distinct) == 1 or distance <= 2
            clear = clear and not self._unknown_between(end, amount)
            clear = clear and not self._told_of_another(grid.number, end, amount)
            if clear and self._distances.is_object(start, end) and distance:
                clear = not self._unknown_between(self.sentence.start, amount)
            found.append(Candidate(rows, distance, clear, start, end))
        found = meet(found)
        if links.subject and not links.rows:
            clear = len(links.subject) == 1 and not links.unknown_names and self.continues(grid)
            carried = Candidate(links.subject, 12, clear)
            found = meet([*found, carried]) if found else [carried]
        return tuple(sorted(found, key=lambda candidate: candidate.distance))

    def _means_only_row(self, links: Links) -> bool:
        """Whether a sentence speaks of a table's only row: by name, or by a column and no name."""
        if links.rows or links.cells or any(moment.places for moment in links.moments):
            return True
        if links.unknown_names or self._opens_with_unknown:
            return False
        columns = bool(links.columns) or any(moment.columns for moment in links.moments)
        return columns or bool(links.subject)

    def _attribute_rows(self, amount: Amount, grid: Grid, links: Links) -> tuple[Candidate, ...]:
        named = named_rows(grid, links)
        found = []
        full = {(link.start, link.end) for link in links.rows if link.full}
        alone = len({rows for _, _, rows in named}) == 1
        for start, end, rows in named:
            distance = self._distances.of_attribute(amount, start, end)
            if distance < FAR:
                said = (start, end) in full
                clear = said and (distance <= 3 or alone)
                found.append(Candidate(rows, distance + (0 if said else 2), clear, start, end))
        if not found and links.subject and not links.rows:
            clear = len(links.subject) == 1 and self.continues(grid)
            found.append(Candidate(links.subject, 12, clear))
        return tuple(sorted(found, key=lambda candidate: candidate.distance))

    def _told_of_another(self, number: int, end: int, amount: Amount) -> bool:
        """Whether a name of another table, or an unknown one, has the amount.

        It stands between ("Brann won, with Tufekcic contributing four goals"), or as its source
        behind ("two goals from Patterson").
        """
        own = {(link.start, link.end) for link in self.by_grid[number].rows}
        others = [place for place in self._distances.persons if place not in own]
        between = any(
            end <= start and stop <= amount.start and not self._distances.is_object(start, stop)
            for start, stop in others
        )
        source = _FROM.match(self.plain, amount.digits_end)
        return between or (
            source is not None and any(abs(start - source.end()) <= 1 for start, _ in others)
        )

    def _unknown_between(self, start: int, amount: Amount) -> bool:
        """Whether a name that no table knows can be whom the amount is said of."""
        return any(
            name.end <= amount.start
            and name.start >= start
            and not self._distances.is_object(*name)
            for name in self.unknown_names
        )

    def continues(self, grid: Grid) -> bool:
        """Whether the sentence goes on about somebody: "He also had ...", "The model showed"."""
        start = self.sentence.start
        if _PRONOUN.match(self.plain, start):
            return True
        match = _THE_SAME.match(self.plain, start)
        if match is None:
            return False
        if any(term in header_terms(grid.columns[grid.key].header) for term in terms(match[1])):
            return True
        key = {
            term
            for column in grid.columns
            for term in header_terms(column.header)
            if column.kind in ("name", "text", "date")
        }
        also = " also " in match[0] or " same " in match[0]
        return match[1] in _ANYONE or (also and any(term in key for term in terms(match[1])))

    def other_noun(self, amount: Amount) -> str:
        """The noun that no header has behind an amount, so that it counts that; else nothing.

        "six games", "three straight games"; a unit ("290 mmol/L") is none.
        """
        end = min(amount.end + 30, self.sentence.end)
        named: list[tuple[int, int]] = []
        for links in self.by_grid.values():
            columns = self.linking.source.grids[links.grid].columns
            named += [
                (link.start, link.end)
                for link in links.columns
                if any(columns[column].kind == "number" for column in link.columns)
            ]
            named += [(link.start, link.end) for link in links.rows]
        written = self.linking.reading.text
        place = amount.end
        for token in self.linking.reading.tokens_within(amount.end, end)[:2]:
            between = self.plain[place : token.start]
            if _STOP.search(between) or token.word in LITTLE_WORDS or not token.word.isalpha():
                return ""
            if any(start <= token.start < stop for start, stop in named):
                if not written[token.start].islower():
                    return ""
                place = token.end
                continue  # the "red" of "12 red cards", where a team is called Reds
            if self._counts(token.word):
                return ""
            if self.plain[token.end : token.end + 1] == "/" or token.word in _ADVERBS:
                return ""
            if _PLURAL.search(token.word):
                return token.word
            place = token.end
        return ""

    def _counts(self, word: str) -> bool:
        """Whether a word stands in the header of a column of numbers."""
        return any(
            heading.column >= 0
            and self.linking.source.grids[heading.grid].columns[heading.column].kind == "number"
            for term in terms(word)
            for heading in self.linking.index.headings.get(term, ())
        )
