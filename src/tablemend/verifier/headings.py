"""Words of a text that name columns, or rows where rows are attributes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tablemend.values.sentences import Span
from tablemend.verifier.indexing import Heading, Index
from tablemend.verifier.lexicon import LITTLE_WORDS, stem, terms
from tablemend.verifier.links import ColumnLink, RowLink
from tablemend.verifier.reading import Reading, Token

_BORDER = re.compile(r"[,;:()\[\]\d]|\b(?:and|or|but|while|with|more|less|fewer|most|fewest)\b")
_JOINT = re.compile(r"\s*[(\[,]?\s*(?:of|in|for)?\s*(?:the )?\s*$")
_CONCEDED = re.compile(r"\b(?:conced\w+|shipped|let in|allowed)\b[^,.;]*$")
_DIFFERENCE = re.compile(r"[ -]differen\w+")
_PERCENT = re.compile("%")
_PARTED = 3  # words between two parts of one header


class Said(NamedTuple):
    """A word and the terms that it stands for."""

    start: int
    end: int
    terms: tuple[str, ...]


class Headings:
    """Finds the headings that a text names.

    Args:
        reading: the text.
        index: the tables.
    """

    def __init__(self, reading: Reading, index: Index) -> None:
        self._reading = reading
        self._plain = reading.plain
        self._index = index

    def link(
        self, sentence: Span, tokens: Sequence[Token]
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

    def _whole(self, tokens: Sequence[Token]) -> list[tuple[Span, list[Heading]]]:
        """Whole headers of several words, or with digits, word by word."""
        words = tuple(stem(token.word) for token in tokens)
        found, at = [], 0
        while at < len(words):
            longest = self._index.longest_header.get(words[at], 0)
            for size in range(min(longest, len(words) - at), 0, -1):
                headings = self._index.header_phrases.get(words[at : at + size])
                if headings:
                    span = Span(tokens[at].start, tokens[at + size - 1].end)
                    found.append((span, headings))
                    at += size
                    break
            else:
                at += 1
        return found

    def _runs(
        self,
        sentence: Span,
        tokens: Sequence[Token],
        covered: Sequence[Span],
    ) -> list[list[Said]]:
        """Words that stand in headers, as far as little stands between them."""
        plain = self._plain
        said: list[Said] = []
        for token in tokens:
            if token.word not in LITTLE_WORDS:
                said.append(Said(token.start, token.end, self._terms(token)))
        if "%" in plain[sentence.start : sentence.end]:
            said += [
                Said(match.start(), match.end(), ("percent",))
                for match in _PERCENT.finditer(plain, *sentence)
            ]
            said.sort()
        runs: list[list[Said]] = []
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

    def _terms(self, token: Token) -> tuple[str, ...]:
        """The terms of a word; the goals that a side concedes are those against it."""
        found = terms(token.word)
        if found == ("scor",) and _DIFFERENCE.match(self._plain, token.end):
            return ("difference",)
        before = self._plain[max(0, token.start - _PARTED * 10) : token.start]
        return (*found, "against") if found == ("scor",) and _CONCEDED.search(before) else found

    def _name(self, run: list[Said]) -> list[tuple[int, ColumnLink | RowLink]]:
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
