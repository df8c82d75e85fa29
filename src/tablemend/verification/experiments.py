"""Claims about the tables of experiments: which method is better, in which measure.

Rows are methods, columns are measures, which say by their names whether more is better. A method
that is better in all measures that are named, or in all there are, outperforms the other; where it
is better in some, the claim is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from tablemend.evidence.grid import Grid
from tablemend.records import Claim, Verdict
from tablemend.values.sentences import Span
from tablemend.values.text import align
from tablemend.verification.linking import Linking

_MEASURE = re.compile(
    r"\b(?:f1|f-?score|bleu|rouge|meteor|accuracy|acc|precision|prec|recall|rec|wer|ter|cer|map|mrr"
    r"|ndcg|auc|perplexity|ppl|rmse|mae|em|las|uas|spearman|pearson|cider|bertscore|chrf|error)\b"
)
_EXPERIMENT = re.compile(
    r"\b(?:performance of|ablations?|baselines?|metrics?|datasets?|corpora|embeddings?|lstm|neural"
    r"|classifiers?|test sets?)\b"
)
_LESS = re.compile(
    r"\b(?:wer|ter|cer|perplexity|ppl|rmse|mae|mse|error|loss|time|latency|dce|rank)\b|↓"
)
_OUTPERFORMS = re.compile(
    r"\b(?P<not>(?:does|do|did|is|are|was|were)(?: not|n't) )?(?:\w+ly )?"
    r"(?:outperform(?:s|ed|ing)?|beats?|surpass(?:es|ed)?|(?:works?|worked|performs?|performed|is|are)"
    r" (?:\w+ly )?(?:better than|superior to))\b"
)
_BESIDE = re.compile(
    r"\b(?P<way>lower|higher|smaller|larger|greater)(?: [\w-]+){0,3} (?:than|compared to)\b"
)
_GAINS = r"(?:improve\w*|gains?|increas\w+|decreas\w+|drop\w*|boost\w*|reduc\w+|margin|differen\w+)"
_GAIN_BEHIND = re.compile(rf"(?: [\w-]+){{0,3}} {_GAINS}\b")
_GAIN_BEFORE = re.compile(
    rf"\b{_GAINS}(?: [\w-]+){{0,3}} (?:by|of|than) (?:about |over |around )?$"
)
_BRACKETED = re.compile(r"\((\d+(?:\.\d+)?) ?%?\)")
_DENIED = re.compile(r"\bnot\b|n't\b|\bno\b|\bnever\b")
_CLAUSE = re.compile(r"[,;:]|\b(?:while|whereas|but|although|and (?:it|the|we))\b")
_LONGEST = 600
_TOLD = 5  # rows that tell in what the columns count


class Experiments:
    """Judges the claims of a text against one table of results.

    Args:
        linking: the text and its tables.
    """

    def __init__(self, linking: Linking) -> None:
        self.linking = linking
        grids = linking.source.grids
        self.grid = grids[0] if len(grids) == 1 and _is_of_results(grids[0]) else None
        self._found: dict[int, tuple[int, int, bool, str] | None] = {}

    def judge(self, claim: Claim, looked_up: Verdict) -> Verdict:
        """The verdict on a claim.

        Args:
            claim: the claim.
            looked_up: what is found of its words in the cells; it stays where no two methods are
                compared. A name that stands in no cell is left open: papers write out what their
                tables abbreviate, and speak of what they do not show.
        """
        if self.grid is None or claim.start is None or claim.end is None:
            return looked_up
        number = self.linking.sentence_at(claim.start)
        if number not in self._found:
            self._found[number] = self._compare(number)
        found = self._found[number]
        if found is not None:
            start, end, truth, reason = found
            focus = claim.focus or Span(claim.start, claim.end)
            compares = claim.kind == "comparative" and claim.start <= start < claim.end
            alone = truth and self._is_said_alone(number, focus)
            if compares or alone or (focus.start < end and start < focus.end):
                if not truth:
                    spans = (Span(start, end),)
                    return Verdict(claim, "contradicted", "CMP", (), reason, spans)
                if looked_up.verdict == "unscored":
                    return Verdict(claim, "supported", reason=reason)
        if looked_up.verdict == "not_in_source" and looked_up.error_type == "ATT":
            return _left_open(looked_up, "a name that the table of results may abbreviate")
        if looked_up.error_type == "NUM" and self._is_gain(claim):
            return _left_open(looked_up, "a difference of two results, which are not both named")
        return looked_up

    def _is_said_alone(self, number: int, focus: Span) -> bool:
        """Whether a sentence says nothing but one comparison, so that its names are right too."""
        start, end = self.linking.reading.sentences[number]
        plain = self.linking.reading.plain
        return not _CLAUSE.search(plain, start, end) and not any(
            character.isdigit() for character in plain[focus.start : focus.end]
        )

    def _is_gain(self, claim: Claim) -> bool:
        """Whether the number that a claim turns on says how much better something is."""
        if claim.focus is None:
            return False
        said = self.linking.reading.plain
        start, end = claim.focus
        return bool(
            _GAIN_BEHIND.match(said, end) or _GAIN_BEFORE.search(said, max(0, start - 40), start)
        )

    def _compare(self, number: int) -> tuple[int, int, bool, str] | None:
        """Place of the comparing words, whether it is so, and why; ``None`` without a clear one."""
        assert self.grid is not None
        start, end = self.linking.reading.sentences[number]
        if end - start > _LONGEST:
            return None
        said = self.linking.reading.plain
        for match in _OUTPERFORMS.finditer(said, start, end):
            left, right = self._sides(said, start, end, match)
            better = self._outperforms(left, right, self._measures(said, start, end))
            if better is not None:
                truth = better != bool(match["not"])
                return *match.span(), truth, self._reason(left, right)
        for match in _BESIDE.finditer(said, start, end):
            if _DENIED.search(said, start, match.end()):
                continue
            higher = match["way"] in ("higher", "larger", "greater")
            if (stated := _stated(said, start, end, match, higher)) is False:
                return *match.span(), False, "the numbers beside the names say the opposite"
            left, right = self._sides(said, start, end, match)
            named = self._measures(said, match.start(), match.end())
            if len(named) == 1 and stated is None and not self._names_another(number, named[0]):
                more = self._more(left, right, named)
                if more is not None:
                    return *match.span(), more == higher, self._reason(left, right)
        return None

    # ---- methods and measures

    @cached_property
    def _methods(self) -> dict[str, int]:
        """Names of rows in small letters, without brackets; of one name only the single row."""
        assert self.grid is not None
        found: dict[str, list[int]] = {}
        for line in self.grid.lines:
            name = align(re.sub(r"\([^()]*\)", "", line.name)).strip(" +*†")
            if len(name) > 1 and not name.isdigit():
                found.setdefault(name, []).append(line.index)
        return {name: rows[0] for name, rows in found.items() if len(rows) == 1}

    def _sides(
        self, said: str, start: int, end: int, match: re.Match[str]
    ) -> tuple[list[int], list[int]]:
        """The methods that stand before the comparing words, and behind them."""
        before = said[start : match.start()]
        behind = said[match.end() : end]
        if cut := list(_CLAUSE.finditer(before)):
            before = before[cut[-1].end() :]
        if close := re.search(r"[;:]|\b(?:while|whereas|but|although|in terms)\b", behind):
            behind = behind[: close.start()]
        return self._named(before), self._named(behind)

    def _named(self, text: str) -> list[int]:
        """The methods that a part of a sentence names; longer names hide those within them."""
        found: list[tuple[int, int, int]] = []
        for name in sorted(self._methods, key=len, reverse=True):
            for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
                if not any(s < match.end() and match.start() < e for s, e, _ in found):
                    found.append((*match.span(), self._methods[name]))
        return [row for _, _, row in sorted(found)]

    @cached_property
    def _columns(self) -> dict[int, str]:
        assert self.grid is not None
        columns = {c.index: align(c.header) for c in self.grid.columns if c.kind == "number"}
        measured = {index: name for index, name in columns.items() if _MEASURE.search(name)}
        return measured or columns

    def _measures(self, said: str, start: int, end: int) -> list[int]:
        """Columns whose name a part of the text says whole; all where it says none."""
        part = said[start:end]
        named = [
            index
            for index, name in self._columns.items()
            if (words := re.findall(r"[a-z][\w-]*", name))
            and all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", part) for word in words)
        ]
        return named or list(self._columns)

    def _names_another(self, number: int, column: int) -> bool:
        """Whether a sentence says the whole header of another column, and not of this one."""
        assert self.grid is not None
        links = self.linking.sentence_links[number][self.grid.number].columns
        whole = {index for link in links if link.coverage == 1 for index in link.columns}
        return bool(whole) and column not in whole

    def _pairs(
        self, left: list[int], right: list[int], columns: list[int]
    ) -> Iterator[tuple[int, float, float]]:
        assert self.grid is not None
        for one in left:
            for other in right:
                for column in columns:
                    own = self.grid.value(one, column).number
                    its = self.grid.value(other, column).number
                    if own is not None and its is not None and own.value != its.value:
                        yield column, float(own.value), float(its.value)

    def _outperforms(self, left: list[int], right: list[int], columns: list[int]) -> bool | None:
        """Whether each left method is better than each right one in all measures, or in none."""
        found = {
            (own > its) != bool(_LESS.search(self._columns[column]))
            for column, own, its in self._pairs(left, right, columns)
        }
        return found.pop() if len(found) == 1 and not set(left) & set(right) else None

    def _more(self, left: list[int], right: list[int], columns: list[int]) -> bool | None:
        found = {own > its for _, own, its in self._pairs(left, right, columns)}
        return found.pop() if len(found) == 1 and not set(left) & set(right) else None

    def _reason(self, left: list[int], right: list[int]) -> str:
        assert self.grid is not None
        rows = []
        names = {line.index: line.name for line in self.grid.lines}
        for row in dict.fromkeys((*left, *right)):
            cells = ", ".join(self.grid.cell(row, column) for column in list(self._columns)[:4])
            rows.append(f"{names[row]}: {cells}")
        return "; ".join(rows)


def _left_open(verdict: Verdict, reason: str) -> Verdict:
    return replace(
        verdict, verdict="unscored", error_type=None, spans=(), expected=(), reason=reason
    )


def _stated(said: str, start: int, end: int, match: re.Match[str], higher: bool) -> bool | None:
    """Whether numbers in brackets behind the names agree: "A (3.1) shows a lower loss than B (4)".

    ``None`` where a side has none, or where they overlap.
    """
    left = [float(m[1]) for m in _BRACKETED.finditer(said, start, match.start())]
    right = [float(m[1]) for m in _BRACKETED.finditer(said, match.end(), end)]
    if not left or not right:
        return None
    if min(left) > max(right):
        return higher
    return not higher if max(left) < min(right) else None


def _is_of_results(grid: Grid) -> bool:
    """Whether a table gives the figures of experiments: measures over methods."""
    numbers = [column for column in grid.columns if column.kind == "number"]
    rows = [line.index for line in grid.lines[:_TOLD]]
    # "MRR ($)" is money, no reciprocal rank
    money = {
        column.index
        for column in numbers
        if any(_is_money(grid, row, column.index) for row in rows)
    }
    headers = " ".join(align(c.header) for c in grid.columns if c.index not in money)
    told = f"{headers} {align(grid.table.title or '')}"
    known = _MEASURE.search(told) or _EXPERIMENT.search(told)
    return len(grid.lines) >= 2 and bool(numbers) and known is not None


def _is_money(grid: Grid, row: int, column: int) -> bool:
    number = grid.value(row, column).number
    return bool(grid.unit(row, column).currency or (number and number.unit.currency))
