"""Who is first, last or in between: "led all players", "topped the table", "the warmest day"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import terms
from tablemend.verification.negation import denial
from tablemend.verification.phrases.comparing import clauses
from tablemend.verification.phrases.measures import default_measure, heading_terms, is_inverse
from tablemend.verification.phrases.repeated import periods, repetitions, series
from tablemend.verification.phrases.shape import Cell, Part, Shape

_MOST = (
    r"most|highest|largest|biggest|greatest|heaviest|longest|tallest|warmest|hottest|wettest"
    r"|windiest|busiest|best|strongest|most expensive|priciest|most populous|top"
)
_LEAST = (
    r"fewest|least|lowest|smallest|lightest|shortest|coldest|coolest|driest|cheapest|worst|weakest"
    r"|least expensive|least populous"
)
_SUPERLATIVE = re.compile(
    rf"\b(?:the|its|their|a) (?P<word>(?P<up>(?:{_MOST})(?: expensive| populous)?)"
    rf"|(?:{_LEAST})(?: expensive| populous)?)\b(?!-(?!C\d))"
)
_RANKED = re.compile(r"\b(?:second|third|fourth|fifth|2nd|3rd|4th|5th|one of|among|next)[ -]")
_OTHER = re.compile(r"\b(?:than|that|those|to|from|as|over|between)\b")
_RATE = re.compile(r"[^.,;]{0,24}\b(?:per|ratio|rate|average|percentage)\b")
_RIVALS = re.compile(r",? (?:(?:just |narrowly )?ahead of|followed by|with R\d+|above) ")
_LED = re.compile(r"\b(?P<word>(?:led|leads|paced|paces) (?:all|both|every|the \w+) ?)")
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACE = re.compile(
    r"\b(?:sits?|stands?|finish\w*|ranks?|ranked|placed?|came(?: in)?|is|are|was|were|stays?)"
    rf" (?P<word>(?P<place>{'|'.join(_ORDINALS)}|last|bottom|top)"
    r"(?: (?:of|in|on) the (?:table|standings|league|ranking|list|medal table))?)"
    r"(?=[ ,.]*(?:$|with|at|on|in |behind|ahead|,|\.))"
)
_TABLE = re.compile(
    r"\b(?P<word>top(?:s|ped|ping)?|lead(?:s|ing)?|led|head(?:s|ed)?) the"
    r" (?:\w+ )?(?:table|standings|league|rankings?|list|medals? (?:table|count)|charts?)\b"
)
_SHARE_OF = re.compile(
    rf"(?P<column>C\d+) (?:\w+ ){{1,3}}the (?P<word>(?P<up>{_MOST})|{_LEAST}) [a-z ]{{3,30}}"
    r"(?:in|for|of) (?:the )?(?P<row>R\d+)"
)
_NOUN = re.compile(r" C\d+ (?:share|rate|count|level|figure|value|score)\b")
_EACH = re.compile(r"\b(?P<word>every|each|both|all)\b(?: of)?(?: the)? (?:\w+|[RCP]\d+)")
_DENIED = denial("if", "would")
_MAIN = frozenset(term for word in ("total", "points", "votes", "gold") for term in terms(word))
_PLACES = frozenset(term for word in ("rank", "pos", "position", "place") for term in terms(word))


def judge_leaders(shape: Shape) -> Iterator[Finding]:
    """Findings on who is said to be first, last or at a place."""
    for start, end in clauses(shape.text):
        if _DENIED.search(shape.text, start, end):
            continue
        yield from _superlatives(shape, start, end)
        yield from _leaders(shape, start, end)
        yield from _across(shape, start, end)
        yield from _places(shape, start, end)


def _superlatives(shape: Shape, start: int, end: int) -> Iterator[Finding]:
    for match in _SUPERLATIVE.finditer(shape.text, start, end):
        if _RANKED.search(shape.text, max(start, match.start() - 16), match.end() + 8):
            continue
        subject = _subject(shape, start, match.start())
        if subject is None or _OTHER.search(shape.text, start, match.start()):
            continue  # "lower than the one with the highest"
        stop = _RIVALS.search(shape.text, match.end(), end)
        parts = shape.parts_in(match.end(), stop.start() if stop else end)
        up = bool(match["up"])
        where = shape.span(*match.span("word"))
        told = _measure(shape, subject, parts, match) if parts else []
        timed = {column for part in periods(shape) for column in part.columns or ()}
        apart = len(told) == 1 and bool(told[0].columns) and not (told[0].columns or set()) & timed
        if shape.grid.transposed and subject.by_row and not apart:
            yield from _in_series(shape, subject, match, start, end)
            continue
        measure = _measure(shape, subject, parts, match)
        if not measure:
            continue
        scope = [p for p in shape.parts_in(start, end) if p.mark == "P"]
        for found in _rank(shape, subject, [*measure, *scope], 1, match["word"], up=up):
            firm = stop is not None or found.verdict == "supported"
            noun = _NOUN.match(shape.text, match.end()) if firm and not stop else None
            end_of = shape.span(*noun.span()).end if noun else where.end
            yield replace(found, start=where.start, end=end_of, firm=firm)


def _in_series(
    shape: Shape, subject: Part, match: re.Match[str], start: int, end: int
) -> Iterator[Finding]:
    """As "the most visitors in 2023", "the smallest city in every year": one thing by period."""
    each, times = repetitions(shape, start, end)
    if each is None:
        times = [part for part in shape.parts_in(start, end) if part.mark == "P"]
    if not times and re.search(
        r"\b(?:total|overall)\b", shape.linking.reading.plain[shape.start :]
    ):
        sums = [c.index for c in shape.grid.columns if c.total and c.index in shape.numeric]
        times = [Part("P", -1, -1, columns=frozenset(sums))] if len(sums) == 1 else []
        summed = bool(times)
    else:
        summed = False
    if not times or (each is None and len(times) != 1):
        return
    up = bool(match["up"])
    told = [f for t in times for f in _rank(shape, subject, [t], 1, match["word"], up=up)]
    if len(told) != len(times):
        return
    finding = ([f for f in told if f.verdict == "contradicted"] or told)[0]
    for words in (match, each):
        if words is not None:
            where = shape.span(*words.span("word"))
            yield replace(finding, start=where.start, end=where.end, firm=summed)


def _across(shape: Shape, start: int, end: int) -> Iterator[Finding]:
    """As "wind is the largest source in Germany": the columns of one row, which count alike."""
    for match in _SHARE_OF.finditer(shape.text, start, end):
        one, row = shape.part(match["column"]), shape.part(match["row"])
        units = {shape.grid.columns[column].unit for column in shape.numeric}
        alike = len(units) == 1 and any(unit.symbol or unit.currency for unit in units)
        cell = shape.only([one, row])
        if not alike or cell is None or shape.grid.transposed:
            continue
        field = shape.numbers([row])
        best = (
            max(field, key=lambda c: c.value) if match["up"] else min(field, key=lambda c: c.value)
        )
        reason = f"{shape.grid.columns[best.column].header}: {_text(shape, best)}"
        where = shape.span(*match.span("word"))
        yield shape.finding(
            where, cell.value == best.value, "CMP", reason, (cell, best), firm=False
        )


def _subject(shape: Shape, start: int, end: int) -> Part | None:
    """The one row, or product, that is spoken of before a place of the shape."""
    named = [part for part in shape.parts_in(start, end) if part.mark in "RC"]
    if shape.grid.transposed and series(shape):
        subjects = [p for p in named if p.by_row and p.places and (p.rows or set()) <= shape.rows]
    elif shape.grid.transposed:
        subjects = [part for part in named if part.by_column and len(part.columns or ()) == 1]
    else:
        subjects = [part for part in named if part.by_row and part.places]
    return subjects[0] if len(subjects) == 1 else None


def _measure(shape: Shape, subject: Part, parts: list[Part], match: re.Match[str]) -> list[Part]:
    """What is ordered: the column behind the superlative, or what the adjective is about."""
    across = [
        part
        for part in parts
        if (part.by_column and subject.by_row) or (part.by_row and subject.by_column)
    ]
    near = [part for part in across if part.mark in "RC"]
    begins = shape.text[match.end() : match.end() + 24]
    if re.match(r" (?:games|matches|fixtures|fights|races|bouts)\b", begins):
        verb = re.search(r"(C\d+) $", shape.text[: match.start()])
        columns = (shape.part(verb[1]).columns or frozenset()) if verb else frozenset()
        return [shape.part(verb[1])] if verb and columns <= shape.numeric else []
    if re.match(r",? of (?:all|the|any)\b", begins):
        told = re.search(r"N\d+ (C\d+), $", shape.text[: match.start()])
        columns = (shape.part(told[1]).columns or frozenset()) if told else frozenset()
        if told and len(columns) == 1 and columns <= shape.numeric:
            return [shape.part(told[1])]
    column = (near[0].columns or frozenset()) if near else frozenset()
    if len(column) == 1 and column <= shape.numeric and re.match(rf" {near[0].mark}\d", begins):
        return [near[0]]
    words = match["word"].split()
    if words[-1] in ("most", "fewest", "highest", "lowest", "best", "worst", "greatest", "least"):
        if _RATE.match(shape.text, match.end()) and not near:
            return []
        if noun := re.match(r" ([a-z]{3,})\b", begins):
            said = frozenset(terms(noun[1]))
            found = [c for c in sorted(shape.numeric) if heading_terms(shape, c) & said]
            if len(found) == 1 and subject.by_row and not _RATE.match(shape.text, match.end()):
                return [Part("C", -1, -1, columns=frozenset(found))]
        if not near or not re.match(rf"(?:(?: \w+)? |-){near[0].mark}\d", begins):
            return []
        cells = near[0].columns or near[0].rows or frozenset()
        numeric = near[0].by_row or cells <= shape.numeric
        return [near[0]] if len(cells) == 1 and numeric else []
    return default_measure(shape, [], match["word"])


def _leaders(shape: Shape, start: int, end: int) -> Iterator[Finding]:
    for match in _LED.finditer(shape.text, start, end):
        subject = _subject(shape, start, match.start())
        after = shape.parts_in(match.end(), end)
        measured = [
            part
            for part in after
            if part.mark == "C"
            and len(part.columns or ()) == 1
            and shape.numeric.issuperset(part.columns or ())
        ]
        told = re.match(r"[^.;]{0,30}?\b(?:in|with)\b", shape.text[match.end() : end])
        if subject is None or not subject.by_row or len(measured) != 1 or told is None:
            continue
        where = shape.span(*match.span("word"))
        scope = [part for part in shape.parts_in(start, end) if part.mark == "P"]
        for found in _rank(shape, subject, [measured[0], *scope], 1, "led", up=True):
            yield replace(found, start=where.start, end=where.end, firm=False)


def _places(shape: Shape, start: int, end: int) -> Iterator[Finding]:
    """Places: "sit third", "topped the table in both years"; by the column of places, or points."""
    for pattern in (_PLACE, _TABLE):
        for match in pattern.finditer(shape.text, start, end):
            subject = _subject(shape, start, match.start())
            if subject is None or not subject.by_row:
                continue
            said = match["place"] if pattern is _PLACE else "top"
            last = said in ("last", "bottom")
            place = _ORDINALS.index(said) + 1 if said in _ORDINALS else 1
            where = shape.span(*match.span("word"))
            findings = []
            for column in _main(shape, start, end):
                measure = Part("C", -1, -1, columns=frozenset({column}))
                periods = list(_periods(shape, start, end))
                if not periods:
                    return
                told = [
                    found
                    for period in periods
                    for found in _rank(shape, subject, [measure, *period], place, said, up=not last)
                ]
                if len(told) == len(periods):
                    wrong = [f for f in told if f.verdict == "contradicted"]
                    findings.append((wrong or told)[0])
            if not findings or len({found.verdict for found in findings}) != 1:
                continue
            yield replace(findings[0], start=where.start, end=where.end)
            each = _EACH.search(shape.text, match.end(), end)
            if each is not None:
                span = shape.span(*each.span("word"))
                yield replace(findings[0], start=span.start, end=span.end)


def _main(shape: Shape, start: int, end: int) -> list[int]:
    """The columns that a table is ranked by: that of places, what is counted, else the totals."""
    places = [c.index for c in shape.grid.columns if heading_terms(shape, c.index) & _PLACES]
    if places:
        return places
    named = re.search(r"\b(?:with|at|on) (?:\w+ )?N\d+ (C\d+)", shape.text[start:end])
    if named:
        columns = shape.part(named[1]).columns or frozenset()
        return sorted(columns & shape.numeric)[:1]
    return [c for c in sorted(shape.numeric) if heading_terms(shape, c) & _MAIN]


def _periods(shape: Shape, start: int, end: int) -> Iterator[list[Part]]:
    """The periods that are asked: each of the table where the sentence says every, or those said.

    A table of several periods without one in the sentence leaves it open: no list.
    """
    told = [part for part in shape.parts_in(start, end) if part.mark == "P" and part.by_row]
    if told:
        for part in told:
            yield [part]
        return
    repeated = periods(shape)
    if not repeated:
        yield []
    elif _EACH.search(shape.text, start, end):
        for part in repeated:
            yield [part]


def _rank(
    shape: Shape, subject: Part, others: list[Part], place: int, word: str, *, up: bool
) -> Iterator[Finding]:
    """The finding on a subject that is said to be at a place; none where it has no one value.

    A table without a column of places ranks by values; equal ones share a place.
    """
    own = shape.only([subject, *others])
    field = [
        cell
        for cell in shape.numbers(others)
        if cell.row in shape.rows and (own is None or _beside(subject, own, cell))
    ]
    if own is None or len(field) < 2:
        return
    inverse = is_inverse(shape, own, word)
    if inverse is None:
        return
    if shape.terms(own) & _PLACES:
        best = max(field, key=lambda cell: cell.value) if not up else None
        truth = own.value == (best.value if best else place)
        right = [c for c in field if c.value == (best.value if best else place)]
    else:
        high = up != inverse
        ordered = sorted(field, key=lambda cell: cell.value, reverse=high)
        right = [c for c in ordered if c.value == ordered[min(place, len(ordered)) - 1].value]
        truth = own.value == right[0].value
    header = shape.grid.columns[own.column].header
    shown = right[0] if right else own
    reason = f"{header}: {_name(shape, own)} {_text(shape, own)}"
    if not truth and right:
        reason += f", {_name(shape, shown)} {_text(shape, shown)}"
    span = shape.span(0, 0)
    yield shape.finding(span, truth, "CMP", reason, (own, shown))


def _beside(subject: Part, own: Cell, cell: Cell) -> bool:
    return cell.column == own.column if subject.by_row else cell.row == own.row


def _name(shape: Shape, cell: Cell) -> str:
    return next(line.name for line in shape.grid.lines if line.index == cell.row)


def _text(shape: Shape, cell: Cell) -> str:
    return shape.grid.cell(cell.row, cell.column)
