"""What narrows rows down: names, bounds on amounts, results, and places in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tablemend.verifier.amounts import bounds, zeros
from tablemend.verifier.frame import Frame
from tablemend.verifier.lexicon import comes_from
from tablemend.verifier.mentions import ColumnMention, Phrase
from tablemend.verifier.row_filter import RowFilter, range_set
from tablemend.verifier.times import days, months, years
from tablemend.verifier.vocabulary import RESULTS, THINGS
from tablemend.verifier.worded_bounds import worded_bounds

_NEGATED = frozenset("not n't never without except excluding outside".split())
_LACKING = frozenset("lack lacks lacked lacking without no".split())
_HAVING = frozenset(
    "support supports supported has have had with offer offers include includes "
    "feature features provide provides is are was were come comes".split()
)
_AT = frozenset("and on in at of the".split())
_LISTING = frozenset({"and", "or", "both", "the", "nor"})
_PRONOUNS = frozenset("also same it its he his she her they their".split())
_BEING = frozenset("be is was are were as".split())
_PREDICATING = _BEING | frozenset("the a an play plays played list listed serve served".split())


def conditions(frame: Frame) -> list[RowFilter]:
    """Every condition that the statement states, in order; the longest at each place."""
    all_rows = frozenset(frame.view.rows)
    found: list[RowFilter] = [*days(frame), *months(frame)]
    found += years(frame, frozenset[int]().union(*(condition.used for condition in found)))
    timed = frozenset[int]().union(*(condition.used for condition in found))
    worded = list(worded_bounds(frame))
    timed |= frozenset[int]().union(*(condition.used for condition in worded))
    found += [*worded, *bounds(frame, timed), *zeros(frame), *_results(frame), *_flagged(frame)]
    taken = {place for condition in found for place in condition.used}
    for phrase in frame.phrases:
        tokens = range(phrase.first, phrase.last)
        if not taken.isdisjoint(tokens):
            continue
        fit = 0.5 + 0.5 * phrase.share
        used = frozenset(tokens)
        for heading in frame.headings:
            if heading.column == phrase.mentions[0].column and (
                0 <= phrase.first - heading.last <= 1 or 0 <= heading.first - phrase.last <= 1
            ):
                used |= frozenset(range(heading.first, heading.last))
        taken |= used
        column, rows = phrase.mentions[0].column, phrase.rows
        said = _predicated(frame, phrase)
        if said is not None and all(m.column != said.column for m in phrase.mentions):
            column, rows = said.column, frozenset()  # named as something that it is not
            used |= range_set(said.first, said.last)
        found.append(RowFilter(phrase.first, phrase.last, rows, used, fit, column))
    headed = {place for h in frame.headings for place in range(h.first, h.last)}
    found += _origins(frame, frozenset(taken | headed))
    found += _carried(frame, found)
    found.sort(key=lambda condition: condition.first)
    return [_negate(frame, condition, all_rows) for condition in _listed(frame, found)]


def _carried(frame: Frame, found: list[RowFilter]) -> Iterator[RowFilter]:
    """As in "It also had ...": whom the sentence before spoke of."""
    subject = frozenset(frame.links.subject) & frame.rows
    if frame.view.turned or not subject or any(c.column == frame.view.key for c in found):
        return
    for place, word in enumerate(frame.words):
        if word in _PRONOUNS and not frame.text(place, place + 1).isupper():  # "it", not "IT"
            yield RowFilter(place, place + 1, subject, frozenset({place}), 0.9, frame.view.key)
            return


def _predicated(frame: Frame, phrase: Phrase) -> ColumnMention | None:
    """The column that a name is said to stand in: "the home team was A", "A as the winner"."""
    for heading in frame.headings:
        column = frame.view.columns[heading.column]
        if heading.share < 0.99 or column.temporal or column.counter:
            continue
        if column.index == frame.view.key and phrase.share == 1:
            continue  # "the flight to Athens was cancelled"
        if heading.first and frame.words[heading.first - 1] == "same":
            continue  # "from the same college as A"
        if column.kind != "text" and not any(
            word[0].isdigit() for word in frame.words[phrase.first : phrase.last]
        ):
            continue  # "the most points were A"
        if len(column.terms) == 1 and frame.words[heading.first] in THINGS:
            continue
        if heading.last <= phrase.first:
            between = frame.words[heading.last : phrase.first]
            if not between and len(column.terms) > 1:
                return heading
            if _is_subject(frame, heading, phrase):
                return heading
        elif phrase.last <= heading.first:
            between = frame.words[phrase.last : heading.first]
        else:
            continue
        if set(between) <= _PREDICATING and _BEING & set(between):
            return heading
    return None


def _is_subject(frame: Frame, heading: ColumnMention, phrase: Phrase) -> bool:
    """As in "the classification in stage 13 was A": the clause's subject, and what it was."""
    start = frame.clause(heading.first)[0]
    while start < heading.first and frame.words[start] in ("the", "a", "his", "their", "its"):
        start += 1
    place = phrase.first - 1
    while place > heading.last and frame.words[place] in ("the", "a", "an"):
        place -= 1
    verb = next((verb for verb in frame.verbs if verb >= heading.last), None)
    return start == heading.first and verb == place and frame.words[place] in _BEING


def _listed(frame: Frame, found: list[RowFilter]) -> Iterator[RowFilter]:
    """As in "A, B and C" of one column as one condition: any of them."""
    held: RowFilter | None = None
    for condition in found:
        if held is not None:
            gap = frame.words[held.last : condition.first]
            listed = condition.column == held.column and not condition.bound and not held.bound
            joined = set(gap) <= _LISTING or (gap[:1] == ("and",) and set(gap) <= _AT)
            if listed and held.last <= condition.first and joined:
                members = (*(held.members or (held.rows,)), condition.rows)
                used = held.used | condition.used
                rows = held.rows | condition.rows
                fit = min(held.fit, condition.fit)
                held = RowFilter(
                    held.first, condition.last, rows, used, fit, held.column, False, members
                )
                continue
            yield held
        held = condition
    if held is not None:
        yield held


def _negate(frame: Frame, condition: RowFilter, rows: frozenset[int]) -> RowFilter:
    """As in "not from Spain" is everyone else."""
    if (taken := frame.exception(condition.first)) is not None:
        return replace(condition, rows=rows - condition.rows, used=condition.used | taken)
    place = condition.first - 1
    steps = 0
    while place >= 0 and steps < 3 and frame.words[place] not in _NEGATED:
        if frame.words[place] not in (
            "be",
            "is",
            "are",
            "was",
            "were",
            "from",
            "the",
            "in",
            "of",
            "play",
            "played",
            "have",
            "at",
            "a",
            "by",
            "win",
            "score",
        ):
            return condition
        place, steps = place - 1, steps + 1
    if place < 0 or frame.words[place] not in _NEGATED:
        return condition
    return replace(condition, rows=rows - condition.rows, used=condition.used | {place})


def _results(frame: Frame) -> Iterator[RowFilter]:
    """As in "won", "lost" and "drew" where the table says who won."""
    columns = [column for column in frame.view.columns if column.has_results]
    for place, word in enumerate(frame.words if columns else ()):
        result = RESULTS.get(word)
        if result is None or any(p.share == 1 and p.first <= place < p.last for p in frame.phrases):
            continue
        for column in columns[:1]:
            rows = frozenset(
                row
                for row, measure in column.measures.items()
                if measure.result == result and row in frame.rows
            )
            yield RowFilter(place, place + 1, rows, frozenset({place}), 0.8, column.index)


def _flagged(frame: Frame) -> Iterator[RowFilter]:
    """As in "supports 5G", "lacks 5G", of a column of yes and no."""
    for heading in frame.headings:
        flags = frame.view.columns[heading.column].flags
        first = heading.first
        while first and frame.words[first - 1] in ("a", "an", "the", "any"):
            first -= 1
        word = frame.words[first - 1] if first else ""
        if flags and heading.share >= 0.5 and word in _LACKING | _HAVING:
            wanted = word not in _LACKING
            rows = frozenset(r for r in frame.rows if flags.get(r) is wanted)
            used = range_set(first - 1, heading.last)
            yield RowFilter(first - 1, heading.last, rows, used, 0.9, heading.column, True)


def _origins(frame: Frame, taken: frozenset[int]) -> Iterator[RowFilter]:
    """As in "Australian" of rows that say "Australia"."""
    for place, word in enumerate(frame.words):
        for column in frame.view.columns if place not in taken else ():
            if column.kind != "text":
                continue
            rows = frozenset(
                row
                for name, group in column.groups.items()
                if comes_from(word, name)
                for row in group
            )
            if rows:
                yield RowFilter(place, place + 1, rows, frozenset({place}), 0.8, column.index)
                break
