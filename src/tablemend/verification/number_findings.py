"""Stated numbers, grounded in the cells of the row and the column that the sentence names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tablemend.verification.attribution import find_wrong_names
from tablemend.verification.binding import Binder
from tablemend.verification.candidates import Binding
from tablemend.verification.computed import aggregates, is_computed, is_margin
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder, Grounding
from tablemend.verification.lexicon import is_opaque, terms
from tablemend.verification.pairs import verify_pair
from tablemend.verification.reading import Amount
from tablemend.verification.rowcounts import count_of_rows

_SCOPE = re.compile(
    r"\b(?:season|career|streak|straight|consecutive|averaging|averaged|all[ -]time|per game"
    r"|(?:before|after|then) (?:\w+ly |almost |more than )?[a-z]+ing"
    r"|and (?:then )?(?:recover|rebound|climb|ris|fall|declin|dropp|grow|increas|decreas|improv)"
    r"\w*ing"
    r"|this year|in a row|(?:next|last|past|previous|recent|final) (?:\w+ )?(?:games?|match(?:es)?"
    r"|seasons?|years?|months?|weeks?|outings?|contests?|meetings?|starts?|nights?|time"
    r"|\w+ (?:games|outings|contests)))\b(?! *- *(?:high|low|best))"
)
_LISTED = re.compile(r"\s*(?:[.,;)]|(?:and|in|on|to|while|as|across|off|during)\b|$)", re.MULTILINE)
_NUMBERED = re.compile(r" (?:periods|quarters|halves|sets|rounds|innings|frames)\b")
_IDENTIFIER = re.compile(
    r"\b(?:ids?|identifiers?|codes?|time ?stamps?|version|model|serial)\b[^.,;]{0,12}$|#\s*$"
)
_LIST = re.compile(r"(?:,|\b(?:and|with|had|has|plus|added|adding|including|recorded))\s*$")
_MEASURED = re.compile(r"[.\s]*\)?\s*(?:\([^)]*\))?\s*of\b")
_STATED = re.compile(r"\s*(?:of|was|is|were|are|at|:|=)\s*(?:[$€£]\s*)?")
_PLAYED = re.compile(r" (?:games|matches|fixtures|fights|races|bouts|times)\b")
# Kinds of what a column counts in all: "12 own goals" are no 12 goals.
_KINDS = re.compile(
    r"\b(own|away|home|headed|penalty|disallowed|career|consecutive|straight|domestic|foreign"
    r"|overseas|international|net|gross|male|female|winning|losing|expected|projected|planned"
    r"|estimated|unpaid|cancelled|average|median)\b"
)
# Nouns that many a header means without saying them: "Headcount", "Sold"; "" is none.
_ANY_NOUN = frozenset(
    ["", *"people persons men women employees workers members units items pieces copies".split()]
)
_BESIDE = 30  # characters
_RIVAL = 2  # a reading so little farther than the nearest one is as likely


class NumberFindings:
    """Verifies the numbers of a linked text.

    Args:
        grounder: of the text and its tables.
    """

    def __init__(self, grounder: Grounder) -> None:
        self.linking = grounder.linking
        self._grounder = grounder

    def verify(self, number: int) -> list[Finding]:
        """Findings on the amounts of a sentence, in their order."""
        binder = Binder(self.linking, number)
        start, end = binder.sentence
        plain = self.linking.reading.plain
        headers = [
            (link.start - start, link.end - start)
            for links in binder.by_grid.values()
            for link in links.columns
            if link.coverage == 1
        ]
        scoped = is_scoped(plain, start, end, headers)
        scoped = scoped or aggregates(plain[start:end], binder.cues, headers)
        findings: list[Finding] = []
        paired: set[int] = set()
        for amount in binder.amounts:
            if amount.start in paired or amount.role == "year":
                continue
            if _NUMBERED.match(plain, amount.digits_end):
                continue
            if amount.pair in ("score", "of", "versus"):
                mate = self.linking.reading.amounts[amount.mate]
                if mate in binder.amounts:
                    paired.add(mate.start)
                    findings += verify_pair(self._grounder, binder, amount, mate, scoped)
                    continue
            counted = count_of_rows(self._grounder, binder, amount)
            if counted is not None:
                findings.append(counted)
                continue
            if amount.role == "article":
                found = self._verify_article(amount, binder.bind(amount))
            else:
                named = [(start + first, start + last) for first, last in headers]
                doubtful = scoped or is_computed(plain, amount, end, named)
                if amount.number.unit.currency:  # "20 $5 tickets": the 20 are counted, at $5
                    doubtful |= any(one.end + 1 == amount.start for one in binder.amounts)
                found = self._verify_amount(binder, amount, binder.bind(amount), doubtful)
            findings += [found] if found else []
        return find_wrong_names(self._grounder, binder, findings)

    def _verify_amount(
        self, binder: Binder, amount: Amount, bindings: list[Binding], doubtful: bool
    ) -> Finding | None:
        """A number by its nearest reading; contradicted only where no other is as likely."""
        grounder = self._grounder
        if _is_ratio(self.linking.reading.plain, amount):
            return replace(grounder.weak(amount, "unscored", "a side of a ratio"), final=True)
        if is_margin(self.linking.reading.plain, amount):
            return grounder.weak(amount, "unscored", "a difference, not the value of a cell")
        groundings = grounder.ground(amount, bindings)
        if not groundings:
            return self._verify_unbound(binder, amount, bindings, doubtful)
        best = groundings[0]
        if best.torn:
            reason = "the table has rows of one name with different values"
            found = grounder.weak(amount, "unscored", reason, best.grid, best.cells)
            return replace(found, final=True)
        if other := self._narrower(best, amount):
            reason = f'the table does not say how many are "{other}"'
            found = grounder.weak(amount, "unscored", reason, best.grid, best.cells)
            return replace(found, final=True)
        if best.outcome == "same":
            if binder.other_noun(amount) and not self._is_said(best, amount):
                reason = "no column is named by what is counted"
                return grounder.weak(amount, "unscored", reason, best.grid, best.cells)
            return grounder.supported(amount, best)
        if best.outcome == "near":
            reason = "near the cell, neither equal nor clearly wrong"
            return grounder.weak(amount, "unscored", reason, best.grid, best.cells)
        rivals = [
            other
            for other in groundings[1:]
            if other.outcome == "same" and not _counts_another(binder, amount, best, other)
        ]
        near = [
            other
            for other in rivals
            if other.rank <= best.rank + _RIVAL
            or not best.clear
            or (other.grid != best.grid and other.entity.start >= 0)
        ]
        if near:
            if near[0].grid != best.grid or near[0].entity.indices == best.entity.indices:
                return grounder.supported(amount, near[0])
            reason = "the value is another row's; whose is meant is not clear"
            return grounder.weak(amount, "unscored", reason, best.grid, best.cells)
        if amount.pair == "range" or self._is_apposition(best, amount):
            reason = "a range or an age: not the value of the cell"
            return grounder.weak(amount, "unscored", reason, best.grid, best.cells)
        if self._may_be_another(binder, best, amount):
            reason = "another column of the row has the value, and may be meant"
            found = grounder.weak(amount, "unscored", reason, best.grid, best.cells)
            return replace(found, final=True)
        if doubtful or amount.role == "ordinal" or not best.clear:
            reason = "it is not clear that this cell is meant"
            return grounder.weak(amount, "unscored", reason, best.grid, best.cells)
        return grounder.contradicted(amount, best)

    def _is_said(self, grounding: Grounding, amount: Amount) -> bool:
        """Whether words beside an amount name its column: "a total of 27 medals"."""
        column = grounding.attribute
        if column.start >= amount.start:
            return column.start <= amount.end + _BESIDE
        plain = self.linking.reading.plain
        if plain[column.end : amount.start].isspace() and _PLAYED.match(plain, amount.digits_end):
            return True  # "won 13 matches"
        return _STATED.fullmatch(plain, column.end, amount.start) is not None

    def _may_be_another(self, binder: Binder, best: Grounding, amount: Amount) -> bool:
        """Whether the row has the value in another column, which may be what is meant.

        Its header is a short form that nobody can read ("F" of goals), or the words say more than
        the header that was found by them: "scored" is said of points and of goals.
        """
        plain = self.linking.reading.plain
        column = best.attribute
        if best.transposed or (
            column.start >= amount.end and not plain[amount.end : column.start].strip()
        ):
            return False  # "41 points"
        header = self._grounder.header_terms(best)
        said = [
            {term for word in plain[link.start : link.end].split() for term in terms(word)}
            for link in binder.by_grid[best.grid].columns
            if link.columns == column.indices
        ]
        loose = bool(said) and not any(words <= header for words in said)
        rows, columns = {row for row, _ in best.cells}, {column for _, column in best.cells}
        return any(
            place.grid == best.grid
            and place.row in rows
            and place.column not in columns
            and (
                loose
                or is_opaque(self.linking.source.grids[place.grid].columns[place.column].header)
            )
            for place in self._grounder.places(amount)
        )

    def _narrower(self, grounding: Grounding, amount: Amount) -> str:
        """The word by which an amount counts less than its column: "12 own goals"."""
        column = grounding.attribute
        if column.start < amount.end:
            return ""
        grid = self.linking.source.grids[grounding.grid]
        words = _KINDS.findall(self.linking.reading.plain, amount.end, column.start)
        if not words:
            return ""
        said = " ".join((grid.caption, *(c.header for c in grid.columns))).casefold()
        return next((word for word in words if word not in re.findall(r"\w+", said)), "")

    def _is_apposition(self, grounding: Grounding, amount: Amount) -> bool:
        """Whether a number stands alone behind a name, as an age does: "Ann Lee, 29, scored"."""
        plain = self.linking.reading.plain
        before = grounding.entity.end >= 0 and plain[grounding.entity.end : amount.start] == ", "
        return before and plain[amount.end : amount.end + 1] == ","

    def _verify_article(self, amount: Amount, bindings: list[Binding]) -> Finding | None:
        """One where steals are counted and the text has "a steal"; "a game" states nothing."""
        plain = self.linking.reading.plain
        for grounding in self._grounder.ground(amount, bindings):
            column = grounding.attribute
            if column.distance or not column.clear or column.start < amount.end - 1:
                continue
            if len(plain[amount.end : column.start].split()) > 1:
                continue  # the Monday of "a high of 4 on Monday"
            if not self._in_list(amount):
                continue
            if not _LISTED.match(plain, column.end) or _MEASURED.match(plain, column.end):
                continue
            if grounding.outcome == "same":
                return self._grounder.supported(amount, grounding)
            if grounding.outcome == "different" and grounding.clear:
                return self._grounder.contradicted(amount, grounding)
            return None
        return None

    def _identifies(self, amount: Amount) -> bool:
        """Whether a number is a name: an id, a code, a time stamp."""
        before = self.linking.reading.plain[max(0, amount.start - 24) : amount.start]
        return _IDENTIFIER.search(before) is not None

    def _in_list(self, amount: Amount) -> bool:
        """Whether an article goes on with a list: ", a steal and a block"."""
        before = self.linking.reading.plain[max(0, amount.start - 12) : amount.start]
        return _LIST.search(before) is not None

    def _verify_unbound(
        self, binder: Binder, amount: Amount, bindings: list[Binding], doubtful: bool
    ) -> Finding | None:
        """A number whose row or column is not named: found beside it, anywhere, or nowhere."""
        grounder = self._grounder
        places = list(grounder.places(amount))
        telling = grounder.is_telling(amount)
        for binding in bindings:
            rows = {index for candidate in binding.entities for index in candidate.indices}
            columns = {index for candidate in binding.attributes for index in candidate.indices}
            if binding.transposed:
                rows, columns = columns, rows
            here = [
                (place.row, place.column)
                for place in places
                if place.grid == binding.grid
                and (place.row in rows or (not rows and place.column in columns))
            ]
            if here and not telling and binder.other_noun(amount) not in _ANY_NOUN:
                # "12 red cards": that some column has 12 says nothing of cards
                reason = "no column is named by what is counted"
                return grounder.weak(amount, "unscored", reason, binding.grid, here)
            if here:
                return grounder.weak(
                    amount, "supported", "the row or column has the value", binding.grid, here
                )
        if amount.role == "ordinal":
            return None
        if places and telling:
            first = places[0]
            here = [(place.row, place.column) for place in places if place.grid == first.grid]
            return grounder.weak(amount, "supported", "the table has the value", first.grid, here)
        bound = amount.hedge not in ("", "about") or self._identifies(amount)
        if grounder.is_share(amount) and not grounder.has_shares:
            return grounder.weak(amount, "unscored", "a share, and no column gives shares")
        if not places and telling and not doubtful and not bound:
            return grounder.weak(amount, "not_in_source", "no cell has the value")
        return grounder.weak(amount, "unscored", "no row and column are named")


def _counts_another(binder: Binder, amount: Amount, best: Grounding, other: Grounding) -> bool:
    """Whether a rival's column is what another number of the list counts: "two steals, two blocks".

    The column that stands right behind the number is what it counts.
    """
    own, rival = best.attribute, other.attribute
    if not amount.end <= own.start <= rival.start or other.entity != best.entity:
        return False
    return any(own.end <= number.start < rival.start for number in binder.amounts)


def _is_ratio(plain: str, amount: Amount) -> bool:
    """Whether a number is a side of a ratio: "1/2"."""
    before = plain[max(0, amount.start - 2) : amount.start]
    return bool(re.match(r"/\d", plain[amount.end :][:2]) or re.fullmatch(r"\d/", before))


def is_scoped(plain: str, start: int, end: int, headers: Sequence[tuple[int, int]] = ()) -> bool:
    """Whether a sentence speaks of other times than a table of one event or period tells.

    Args:
        plain: the text in small letters.
        start: where the sentence begins.
        end: where it ends.
        headers: places of whole headers, from the start of the sentence; one of several words
            names a column and no time: "wins (regular season)".
    """
    said = plain[start:end]
    for first, last in headers:
        if " " in said[first:last]:
            said = said[:first] + "\0" * (last - first) + said[last:]
    return _SCOPE.search(said) is not None
