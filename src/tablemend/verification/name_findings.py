"""NameFindings: those that no table has, and those that belong to another row."""

from __future__ import annotations

import re

from tablemend.records import Evidence
from tablemend.values.cells import equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.values.sentences import Span
from tablemend.verification.binding import Binder
from tablemend.verification.candidates import named_rows
from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import stem
from tablemend.verification.linking import CellLink, ColumnLink, Linking, Links

_PLACE_OR_FRAME = re.compile(
    r"\b(?:christmas|easter|valentine|new year|cent(?:er|re)|arena|garden|stadium|forum|"
    r"fieldhouse|coliseum|park|dome|hall|league|"
    r"conference|division|association|nba|nfl|nhl|mlb|fifa|uefa|cup|championship|university|games|olympics?)\b",
    re.I,
)
_QUOTES = {'"', "\u201c", "\u2018", "'"}
_AS = re.compile(
    r"\s*(?:as|was|is|were|are|being|for|under|in)? ?(?:the|its|his|her|their|a|an)?\s*"
)
_COPULA = re.compile(
    r"^[^,;.()]*(?:\b(?:was|were|is|are|as|being|had|became)|:)\s*(?:the |a |an )?$"
)
_OF = re.compile(r"\s*,?\s*\(?\s*(?:of|from|also for|representing) (?:the )?|\s*\(\s*")
_OWN = re.compile(r"\s*(?:'s|\u2019s?|')\s+")
_PLACE = re.compile(r"([^\W\d_]+), $")
_NEAR = 40  # characters between an attribute and its value


class NameFindings:
    """Verifies the names of a linked text.

    Args:
        linking: the text and its tables.
    """

    def __init__(self, linking: Linking) -> None:
        self.linking = linking
        self.grids = linking.source.grids
        self.text = linking.reading.text

    def verify(self, number: int) -> list[Finding]:
        """Findings on the names of a sentence, in their order."""
        binder = Binder(self.linking, number)
        findings = []
        for grid, links in binder.by_grid.items():
            for cell in links.cells:
                found = self._verify_cell(binder, grid, cell)
                findings += [found] if found else []
        taken = [(f.start, f.end) for f in findings]
        findings += self._headers(binder, taken)
        unknown_names = next(iter(binder.by_grid.values())).unknown_names if binder.by_grid else ()
        for name in unknown_names:
            if not any(start < name.end and name.start < end for start, end in taken):
                findings.append(self._verify_unknown(binder, name))
        return sorted(findings, key=lambda finding: finding.start)

    def _verify_cell(self, binder: Binder, number: int, cell: CellLink) -> Finding | None:
        """A cell that the text says: of the row it speaks of, or of another one."""
        grid, links = self.grids[number], binder.by_grid[number]
        if grid.transposed and not grid.key_value:
            return self._found(number, cell, firm=False) if cell.full else None
        if any(
            link.coverage == 1
            and link.start <= cell.start < link.end
            and link.end - link.start > cell.end - cell.start
            for link in links.columns
        ):
            return None  # "the home / away was home"
        rows = {row for row, _ in cell.places}
        columns = {column for _, column in cell.places}
        about = self._about(binder, number, cell)
        told = [
            column
            for link in links.columns
            if link.coverage == 1 and self._is_of(link, cell)
            for column in link.columns
        ]
        named = columns <= {grid.key}
        if len(told) == 1 and about and told[0] != grid.key and cell.full and not named:
            return self._compare(number, cell, about, told[0])
        if wrong := self._joined_wrongly(number, links, cell):
            return wrong
        if not about:
            return self._found(number, cell, firm=False)
        here = tuple(place for place in cell.places if place[0] in about)
        if here:
            return self._found(number, CellLink(cell.start, cell.end, here, True), firm=True)
        alone = columns <= {grid.key} or not columns.isdisjoint(self.linking.index.naming[number])
        if alone and rows:
            return self._found(number, cell, firm=False)
        reason = "the table has the name, in rows that the sentence does not name"
        return Finding(cell.start, cell.end, "name", "unscored", reason=reason)

    def _about(self, binder: Binder, number: int, cell: CellLink) -> frozenset[int]:
        """The rows that the other words of the sentence name, as few as they leave together."""
        links = binder.by_grid[number]
        columns = {column for _, column in cell.places}
        own = {(link.start, link.end) for link in links.rows if link.column in columns}
        about: frozenset[int] = frozenset()
        for start, end, rows in named_rows(self.grids[number], links):
            if (start < cell.end and cell.start < end) or (start, end) in own:
                continue
            about = (about & set(rows)) or (about if about else frozenset(rows))
        if not about and links.subject and binder.continues(self.grids[number]):
            about = frozenset(links.subject)
        return about

    def _compare(
        self, number: int, cell: CellLink, about: frozenset[int], column: int
    ) -> Finding | None:
        """A value told of a column: "the club was Ajax", against the cells of the named rows."""
        grid = self.grids[number]
        said = self.text[cell.start : cell.end]
        value = read_value(said)
        own = {row: grid.value(row, column) for row in sorted(about)}
        for row, other in own.items():
            if (row, column) in cell.places or equal_values(value, other) or includes(value, other):
                place = CellLink(cell.start, cell.end, ((row, column),), True)
                return self._found(number, place, firm=True)
        if any(other.blank or other.number is not None or other.dates for other in own.values()):
            return None
        if len({other.text for other in own.values()}) != 1:
            return None
        row = next(iter(own))
        right = grid.cell(row, column)
        return Finding(
            cell.start,
            cell.end,
            "name",
            "contradicted",
            "ATT",
            (grid.evidence(row, column),),
            f'the text says "{said}", the table {right}',
            Span(cell.start, cell.end),
            (right,),
            firm=True,
        )

    def _headers(self, binder: Binder, taken: list[tuple[int, int]]) -> list[Finding]:
        """Whole headers that the text says where it says nothing else."""
        found = {}
        for number, links in binder.by_grid.items():
            for link in links.columns:
                free = not any(start < link.end and link.start < end for start, end in taken)
                if free and link.coverage == 1:
                    header = self.grids[number].columns[link.columns[0]].header
                    found[link.start] = Finding(
                        link.start,
                        link.end,
                        "name",
                        "supported",
                        evidence=(Evidence(f'Column "{header}"', number),),
                        reason="the table has the column",
                    )
        return list(found.values())

    def _is_of(self, attribute: ColumnLink, cell: CellLink) -> bool:
        """Whether a cell is told as an attribute: "the club was Ajax", "Ajax as the club"."""
        if attribute.end <= cell.start:
            between = self.text[attribute.end : cell.start]
            return len(between) < _NEAR and _COPULA.search(between) is not None
        return bool(_AS.fullmatch(self.text[cell.end : attribute.start]))

    def _joined_wrongly(self, number: int, links: Links, cell: CellLink) -> Finding | None:
        """A name told to be of what no row has it with: "Krimets of Surkhon", "Surkhon's Krimets".

        Both must be whole cells, and all rows that have the name must have one other thing.
        """
        grid = self.grids[number]
        columns = {column for _, column in cell.places}
        if not cell.full or len(columns) != 1 or not self._is_proper(cell):
            return None
        column = next(iter(columns))
        for other in links.cells:
            named = {c for _, c in other.places}
            if not other.full or column in named or len(named) != 1:
                continue
            if not self._is_proper(other):
                continue
            after = self.text[other.end : cell.start] if other.end <= cell.start else ""
            before = self.text[cell.end : other.start] if cell.end <= other.start else ""
            if not _OF.fullmatch(after) and not _OWN.fullmatch(before):
                continue
            if any(row == r for row, _ in cell.places for r, _ in other.places):
                return None
            own = {grid.cell(row, column) for row, _ in other.places}
            if len(own) != 1 or "" in own:
                return None
            said, right = self.text[cell.start : cell.end], next(iter(own))
            rows = [row for row, _ in other.places]
            return Finding(
                cell.start,
                cell.end,
                "name",
                "contradicted",
                "ATT",
                (grid.evidence(rows[0], column),),
                f'"{self.text[other.start : other.end]}" goes with {right}, not with {said}',
                Span(cell.start, cell.end),
                (right,),
                firm=True,
            )
        return None

    def _is_proper(self, cell: CellLink) -> bool:
        """Whether a name is written as one, in a text that has capitals."""
        return self.text[cell.start].isupper() or self.text.islower()

    def _found(self, number: int, cell: CellLink, *, firm: bool) -> Finding:
        evidence = tuple(self.grids[number].evidence(*place) for place in cell.places[:2])
        return Finding(
            cell.start,
            cell.end,
            "name",
            "supported",
            evidence=evidence,
            reason="the table has the name",
            firm=firm,
        )

    def _verify_unknown(self, binder: Binder, name: Span) -> Finding:
        """A name that stands in no cell, header or caption."""
        said = self.text[name.start : name.end]
        # "Hof, Germany": where the known place lies.
        before = _PLACE.search(self.text, max(0, name.start - 40), name.start)
        if before and stem(before[1].casefold()) in self.linking.index.known:
            return Finding(
                name.start, name.end, "name", "unscored", reason="the tables are silent about it"
            )
        around = said + self.text[name.end : name.end + 12]
        quoted = self.text[max(0, name.start - 2) : name.start].strip()[-1:] in _QUOTES
        if quoted or _PLACE_OR_FRAME.search(around) or self._touches_known(binder, name):
            return Finding(
                name.start, name.end, "name", "unscored", reason="the tables are silent about it"
            )
        evidence: tuple[Evidence, ...] = ()
        return Finding(
            name.start,
            name.end,
            "name",
            "not_in_source",
            "ATT",
            evidence,
            f'"{said}" stands in no cell, header or caption',
            Span(name.start, name.end),
        )

    def _touches_known(self, binder: Binder, name: Span) -> bool:
        """Whether it is a part of a longer name that the tables know: "Nene" of "Nene Hilario"."""
        for links in binder.by_grid.values():
            for cell in links.cells:
                low, high = sorted([(cell.start, cell.end), (name.start, name.end)])
                if not self.text[low[1] : high[0]].strip(" .'-"):
                    return True
        return False
