"""What a statement demands of rows: names, times, bounds, two columns compared, restrictions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tablemend.values.dates import parse_date
from tablemend.verifier.lexicon import DISTINCT, EMPTY, LIMITING, RESULTS, THINGS, Cue, comes_from
from tablemend.verifier.number_agreement import (
    bounds,
    counts_rows,
    fits,
    heading_beside,
    preposition,
    size_of,
    sizes,
    zeros,
)
from tablemend.verifier.oriented_table import ColumnIndex, date_order, moment
from tablemend.verifier.sentence_links import (
    ColumnMention,
    Phrase,
    RowFilter,
    SentenceLinks,
    range_set,
)

_NEGATED = frozenset("not n't never without except excluding outside".split())
_PASSED = frozenset("be is are was were from the in of play played have at a by win score".split())
"""Words between a "not" and what it denies."""
_LACKING = frozenset("lack lacks lacked lacking without no".split())
_HAVING = frozenset(
    "support supports supported has have had with offer offers include includes "
    "feature features provide provides is are was were come comes".split()
)
_AT = frozenset("and on in at of the".split())
_LISTING = frozenset({"and", "or", "both", "the", "nor"})
_PRONOUNS = frozenset("also same it its he his she her they their".split())
_COPULAS = frozenset("be is was are were as".split())
_PREDICATING = _COPULAS | frozenset("the a an play plays played list listed serve served".split())


def conditions(frame: SentenceLinks) -> list[RowFilter]:
    """Every condition that the statement states, in order; the longest at each place."""
    all_rows = frozenset(frame.view.rows)
    found: list[RowFilter] = [*days(frame), *months(frame)]
    found += years(frame, frozenset[int]().union(*(condition.used for condition in found)))
    timed = frozenset[int]().union(*(condition.used for condition in found))
    worded = [*_ranges(frame), *_signed(frame), *_flagged(frame)]
    timed |= frozenset[int]().union(*(condition.used for condition in worded))
    found += [*worded, *bounds(frame, timed), *zeros(frame), *_results(frame), *_named_flags(frame)]
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
                used |= heading.tokens
        taken |= used
        column, rows = phrase.mentions[0].column, phrase.rows
        said = _predicated(frame, phrase)
        if said is not None and all(m.column != said.column for m in phrase.mentions):
            column, rows = said.column, frozenset()  # named as something that it is not
            used |= said.tokens
        found.append(RowFilter(phrase.first, phrase.last, rows, used, fit, column))
    headed = {p for h in frame.headings for p in h.tokens}
    found += _origins(frame, frozenset(taken | headed))
    found += _carried(frame, found)
    found.sort(key=lambda condition: condition.first)
    return [_negate(frame, condition, all_rows) for condition in _listed(frame, found)]


def _carried(frame: SentenceLinks, found: list[RowFilter]) -> Iterator[RowFilter]:
    """As in "It also had ...": whom the sentence before spoke of."""
    subject = frozenset(frame.links.subject) & frame.rows
    if frame.view.turned or not subject or any(c.column == frame.view.key for c in found):
        return
    for place, word in enumerate(frame.words):
        if word in _PRONOUNS and not frame.text(place, place + 1).isupper():  # "it", not "IT"
            yield RowFilter(place, place + 1, subject, frozenset({place}), 0.9, frame.view.key)
            return


def _predicated(frame: SentenceLinks, phrase: Phrase) -> ColumnMention | None:
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
        if set(between) <= _PREDICATING and _COPULAS & set(between):
            return heading
    return None


def _is_subject(frame: SentenceLinks, heading: ColumnMention, phrase: Phrase) -> bool:
    """As in "the classification in stage 13 was A": the clause's subject, and what it was."""
    start = frame.clause(heading.first)[0]
    while start < heading.first and frame.words[start] in ("the", "a", "his", "their", "its"):
        start += 1
    place = phrase.first - 1
    while place > heading.last and frame.words[place] in ("the", "a", "an"):
        place -= 1
    verb = next((verb for verb in frame.verbs if verb >= heading.last), None)
    return start == heading.first and verb == place and frame.words[place] in _COPULAS


def _listed(frame: SentenceLinks, found: list[RowFilter]) -> Iterator[RowFilter]:
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


def _negate(frame: SentenceLinks, condition: RowFilter, rows: frozenset[int]) -> RowFilter:
    """As in "not from Spain" is everyone else."""
    if (taken := frame.exception(condition.first)) is not None:
        return replace(condition, rows=rows - condition.rows, used=condition.used | taken)
    place = condition.first - 1
    steps = 0
    while place >= 0 and steps < 3 and frame.words[place] not in _NEGATED:
        if frame.words[place] not in _PASSED:
            return condition
        place, steps = place - 1, steps + 1
    if place < 0 or frame.words[place] not in _NEGATED:
        return condition
    return replace(condition, rows=rows - condition.rows, used=condition.used | {place})


def _results(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "won", "lost" and "drew" where the table says who won."""
    columns = [column for column in frame.view.columns if column.has_results]
    named = {p for phrase in frame.phrases if phrase.share == 1 for p in phrase.tokens}
    for place, word in enumerate(frame.words if columns else ()):
        if (result := RESULTS.get(word)) is not None and place not in named:
            results = columns[0].measures
            rows = frozenset(r for r in frame.rows if r in results and results[r].result == result)
            yield RowFilter(place, place + 1, rows, frozenset({place}), 0.8, columns[0].index)


def _named_flags(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "supports 5G", "lacks 5G", of a column of yes and no."""
    for heading in frame.headings:
        flags = frame.view.columns[heading.column].flags
        first = heading.first
        while first and frame.words[first - 1] in ("a", "an", "the", "any"):
            first -= 1
        word = frame.words[first - 1] if first else ""
        if flags and heading.share >= 0.5 and word in _LACKING | _HAVING:
            rows = frozenset(r for r in frame.rows if flags.get(r) is (word not in _LACKING))
            used = range_set(first - 1, heading.last)
            yield RowFilter(first - 1, heading.last, rows, used, 0.9, heading.column, True)


def _origins(frame: SentenceLinks, taken: frozenset[int]) -> Iterator[RowFilter]:
    """As in "Australian" of rows that say "Australia"."""
    for place, word in enumerate(frame.words):
        for column in frame.view.columns if place not in taken else ():
            if column.kind != "text":
                continue
            groups = (rows for name, rows in column.groups.items() if comes_from(word, name))
            if rows := frozenset(row for group in groups for row in group):
                yield RowFilter(place, place + 1, rows, frozenset({place}), 0.8, column.index)
                break


# ---- times

_BEFORE = frozenset("before until till prior".split())
_AFTER = frozenset("after since following".split())


def years(frame: SentenceLinks, dated: frozenset[int]) -> Iterator[RowFilter]:
    """As in "in 2004", "before 2000", "after October 5", "between 2003 and 2009"."""
    columns = [column for column in frame.view.columns if column.temporal]
    if not columns:
        return
    skip = -1
    for number, stated in enumerate(frame.amounts):
        if stated.amount.role != "year" and not 1500 <= stated.value <= 2100:
            continue
        if number <= skip or stated.amount.number.decimals or stated.first in dated:
            continue
        first, last, low, high = stated.first, stated.last, stated.value, stated.value
        used = set(range(first, last))
        word = frame.words[first - 1] if first else ""
        following = frame.amounts[number + 1] if number + 1 < len(frame.amounts) else None
        if (
            following
            and 1500 <= following.value <= 2100
            and following.first - last <= 1
            and (word in ("between", "from") or following.first == last)
        ):
            high, last, skip = following.value, following.last, number + 1
            used |= set(range(first - (word in ("between", "from")), last))
        elif word in _BEFORE:
            low, high = float("-inf"), stated.value - 1
            used.add(first - 1)
        elif word in _AFTER:
            low, high = stated.value + (word == "after"), float("inf")
            used.add(first - 1)
        elif stated.amount.hedge in ("over", "under"):
            continue  # "over 2,000" is no year
        for column in columns:
            rows = frozenset(
                row
                for row in frame.rows
                if (years := years_of(column, row)) and years[0] <= high and low <= years[1]
            )
            if rows and (len(rows) < len(frame.rows) or len(columns) == 1):
                yield RowFilter(first, last, rows, frozenset(used), 0.8, column.index)
                break


def days(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "before May 20", "after October 5, 2004", "between May 20 and August 12"."""
    dates = [link.moment for link in frame.links.moments if link.moment.kind in ("date", "month")]
    skip = -1
    for number, stated in enumerate(dates):
        first, last = frame.token_range(stated.start, stated.end)
        day = date_order(stated.readings[0])
        if number <= skip or day is None or not first:
            continue
        word = frame.words[first - 1]
        low, high, end = float("-inf"), float("inf"), last
        if word in ("between", "from") and number + 1 < len(dates):
            other = dates[number + 1]
            until, end = frame.token_range(other.start, other.end)
            upper = date_order(other.readings[0])
            if upper is None or until - last > 1:
                continue
            low, high, skip = day, upper, number + 1
        elif word in _BEFORE:
            high = day - 0.5
        elif word in _AFTER:
            low = day + (word == "after") * 0.5
        else:
            continue
        yearless = stated.readings[0].startswith("--")
        for column in (c for c in frame.view.columns if c.kind == "date"):
            rows = frozenset(
                row
                for row in frame.rows
                if (value := _day_of(column, row, yearless)) is not None and low <= value <= high
            )
            if rows:
                used = range_set(first - 1, end)
                yield RowFilter(first, end, rows, used, 0.8, column.index, True)
                break


def months(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "in October" where nothing else dates it."""
    for cue in frame.cues:
        if cue.kind != "temporal" or cue.sense != "month":
            continue
        first, last = frame.token_range(cue.start, cue.end)
        dated = any(link.start < cue.end and cue.start < link.end for link in frame.links.moments)
        if dated or first == last or not parse_date(f"{frame.words[first]} 1"):
            continue
        month = parse_date(f"{frame.words[first]} 1")[0][1:4]
        for column in (c for c in frame.view.columns if c.kind == "date"):
            rows = frozenset(
                row
                for row, dates in column.dates.items()
                if any(month in (reading[4:7], reading[1:4]) for reading in dates)
            )
            if rows:
                yield RowFilter(first, last, rows, range_set(first, last), 0.9, column.index)
                break


def _day_of(column: ColumnIndex, row: int, yearless: bool) -> float | None:
    """The day of a cell; within its year where the statement names no year."""
    dates = column.dates.get(row)
    if not dates:
        return None
    reading = dates[0]
    if yearless and not reading.startswith("--"):
        return date_order(f"-{reading[4:]}") if len(reading) == 10 else None
    return date_order(reading) if yearless == reading.startswith("--") else None


def years_of(column: ColumnIndex, row: int) -> tuple[float, float] | None:
    """The first and last year of a cell."""
    measure = column.measures.get(row)
    if measure is None:
        return None
    if measure.kind == "span":
        return measure.value, measure.second if measure.second is not None else measure.value
    if measure.kind == "date":
        reading = column.dates.get(row, ("--",))[0]
        last = reading[5:9] if "/" in reading else reading[:4]
        return None if reading.startswith("--") else (float(reading[:4]), float(last))
    return (measure.value, measure.value) if column.years else None


# ---- bounds in words

_SIGNED = {"negative": (float("-inf"), -1e-9), "positive": (1e-9, float("inf"))}
_BEING = frozenset("be is are was were been has have had remained stayed turned".split())
_NORMS = frozenset("range ranges limit limits values interval".split())
_UNFLAGGED = frozenset({"normal", "n", "ok", "within range", "in range"})


def _ranges(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "between 10 and 20 points"; both ends count."""
    for one, other in zip(frame.amounts, frame.amounts[1:], strict=False):
        joined = frame.words[one.last : other.first] == ("and",)
        if not joined or preposition(frame, one) != "between":
            continue
        heading = heading_beside(frame, other) or heading_beside(frame, one)
        if heading is None:
            continue
        column = frame.view.columns[heading.column]
        of = column.ordered.of
        over = {row for row in frame.rows & of.keys() if fits(column, of[row], one, "at least")}
        rows = frozenset(row for row in over if fits(column, of[row], other, "at most"))
        used = range_set(one.first - 1, other.last) | heading.tokens
        yield RowFilter(one.first, other.last, rows, used, 0.9, column.index, True)


def _signed(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "negative growth", "a positive margin", "the margin was positive"."""
    for heading in frame.headings:
        column = frame.view.columns[heading.column]
        place, of = heading.last, column.ordered.of
        while frame.words[place : place + 1] and frame.words[place] in _BEING:
            place += 1
        before = heading.first - 1, heading.first - 1, heading.last, heading.last
        for word, start, end, last in (before, (place, heading.first, place + 1, place + 1)):
            inside = 0 <= word < len(frame.words) and word != heading.last
            sign = frame.words[word] if inside else ""
            if sign in _SIGNED and column.adds_up and heading.share > 0.5:
                low, high = _SIGNED[sign]
                rows = frozenset(r for r in frame.rows if r in of and low <= of[r] <= high)
                first = start if word < heading.first else word
                used = range_set(start, end)
                yield RowFilter(first, last, rows, used, 0.9, column.index, True)


def _flagged(frame: SentenceLinks) -> Iterator[RowFilter]:
    """As in "all results were abnormal": by the column of flags, where a normal one is blank."""
    columns = [c for c in frame.view.columns if c.terms[:1] == ("flag",)]
    for place, word in enumerate(frame.words if len(columns) == 1 else ()):
        behind = frame.words[place + 1 : place + 2]
        if word not in ("normal", "abnormal") or (behind and behind[0] in _NORMS):
            continue
        (column,) = columns
        flagged = {row for row in column.filled if column.cell(row).casefold() not in _UNFLAGGED}
        rows = frozenset(row for row in frame.rows if (row in flagged) == (word == "abnormal"))
        yield RowFilter(place, place + 1, rows, frozenset({place}), 0.9, column.index)


# ---- two columns of a row

_WITHIN = frozenset("in during for".split())
_COMPARING = frozenset("high low large small great good bad many few little exceed beat".split())


def column_pairs(frame: SentenceLinks) -> Iterator[RowFilter]:
    """The rows whose value in one named column is above, or below, that in another."""
    for cue in frame.cues:
        first, last = frame.token_range(cue.start, cue.end)
        if not cue.direction or first == last:
            continue
        pair = _pair(frame, cue, first, last)
        if pair is None:
            continue
        left, right = pair
        one, other = (frame.view.columns[h.column].ordered.of for h in pair)
        both = frame.rows & one.keys() & other.keys()
        rows = frozenset(row for row in both if (one[row] - other[row]) * cue.direction > 1e-9)
        used = range_set(first, last) | left.tokens | right.tokens
        used |= {p for p in range(last, len(frame.words)) if frame.words[p] == "than"}
        start, end = min(used), max(used) + 1
        yield RowFilter(start, end, rows, used, 1.0, right.column, True)


def _pair(
    frame: SentenceLinks, cue: Cue, first: int, last: int
) -> tuple[ColumnMention, ColumnMention] | None:
    """The column that is more, or less, and the one that it is compared with."""
    columns = frame.view.columns
    named = [h for h in frame.headings if columns[h.column].measured and h.share > 0.5]
    if cue.kind == "change" and cue.sense in ("rise", "fall"):
        times = {h: at for h in named if (at := moment(columns[h.column].header)) is not None}
        periods = sorted(times, key=times.__getitem__)
        stated = [s for s in frame.amounts if s.amount.role != "year"]
        if any(not counts_rows(frame, s) and not size_of(frame, s) for s in stated):
            return None  # "rose from 5 to 7"
        if len({h.column for h in periods}) == 1:
            side = [(at, c.index) for c in columns if (at := moment(c.header)) is not None]
            every = [column for _, column in sorted(side)]
            place = every.index(periods[0].column)
            if place and frame.words[max(0, periods[0].first - 1)] in _WITHIN:  # "rose in Q2"
                periods.insert(0, replace(periods[0], column=every[place - 1]))
        if len({h.column for h in periods}) != 2:
            return None
        pair = periods[-1], periods[0]  # filings have the later period first
    elif cue.kind == "comparative" and cue.sense in _COMPARING:
        than = next((p for p in range(first, len(frame.words)) if frame.words[p] == "than"), last)
        right = [h for h in named if 0 <= h.first - than <= 3]
        left = [h for h in named if h.last <= than and h not in right]
        if not right or not left:
            return None
        pair = left[-1], right[0]
    else:
        return None
    one, other = (columns[h.column] for h in pair)
    return pair if one.kind == other.kind and one.index != other.index else None


# ---- restrictions that are not read

_DETERMINERS = frozenset("the a an of all its their his her these those".split())
_LINKING = frozenset(
    "over across throughout per about just only together both size paid sold spent earned".split()
)
PLURAL = re.compile(r"[a-z]{2}[^s]s$|^(?:people|men|women|children|persons)$")
PHRASE_ENDS = frozenset(
    "in of for by during from at with to against on among between be is was are were have has had "
    "who which that when where and but than as while over under after before do did does".split()
)


def unread(frame: SentenceLinks, used: frozenset[int], clause: tuple[int, int]) -> frozenset[int]:
    """The words of a clause that say something and that a reading passes over."""
    left = (frame.content & range_set(*clause)) - used - frame.headed
    empty = EMPTY | THINGS | DISTINCT
    return frozenset(p for p in left if frame.words[p] not in empty and p not in frame.verbs)


def is_part_of_group(frame: SentenceLinks, used: frozenset[int], first: int) -> bool:
    """Whether the noun of a count, or a word before it, was not read: "both engineers"."""
    left = {p for p in unread(frame, used, frame.clause(first)) if _may_limit(frame, p)}
    for place in range(first, len(frame.words)):
        word = frame.words[place]
        if place in frame.verbs or word in PHRASE_ENDS or "," in frame.between(place - 1, place):
            return False
        if PLURAL.search(word):
            columns = (c for c in frame.view.columns if c.index != frame.view.key)
            if all(column.measured or column.flags for column in columns) or any(
                s.last == place and s.value == len(frame.rows) for s in frame.amounts
            ):
                left.discard(place)  # "the four phones" of four rows, or no groups of them
            return not left.isdisjoint(range(first, place + 1))
    return False


def is_part(frame: SentenceLinks, used: frozenset[int], fault: tuple[int, int]) -> bool:
    """Whether a word of the part of a sentence that is at fault may leave rows out."""
    first, last = frame.clause(fault[0])
    commas = [p for p in range(first + 1, last) if set(",(") & set(frame.between(p - 1, p))]
    first = max((p for p in commas if p <= min(used | {fault[0]})), default=first)
    last = min((p for p in commas if p > max(used | {fault[0]})), default=last)
    if any(frame.words[p] in LIMITING for p in range_set(first, last) - used):
        return True
    named = {p for h in frame.headings for p in h.tokens}
    left = unread(frame, used, (first, last)) - named
    for place in left:
        word, before = frame.words[place], frame.words[place - 1] if place else "the"
        verb = word.endswith("ly") or (word.endswith("ed") and before not in _DETERMINERS)
        if not verb and _may_limit(frame, place):
            return True
    return False


def _may_limit(frame: SentenceLinks, place: int) -> bool:
    """Whether a word can leave rows out: no word of change, no number unless it counts a part."""
    start = frame.tokens[place].start
    if frame.words[place] in _LINKING or any(
        cue.kind in ("change", "hedge", "aggregate") and cue.start <= start < cue.end
        for cue in frame.cues
    ):
        return False
    stated = next((s for s in frame.amounts if s.amount.start <= start < s.amount.end), None)
    if stated is None:
        return True
    value, number = stated.value, stated.amount.number  # "the two engineers"
    counts = not any(number.unit[1:]) and not number.decimals and value == int(value)
    return counts and 0 < value < len(frame.rows) and value not in sizes(frame, stated)
