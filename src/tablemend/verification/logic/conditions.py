"""What narrows rows down: names, bounds on amounts, results, and places in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tablemend.values.dates import parse_date
from tablemend.verification.lexicon import LITTLE_WORDS
from tablemend.verification.logic.frame import Frame, Heading, Phrase, Stated
from tablemend.verification.logic.index import ColumnIndex, Ordered
from tablemend.verification.logic.measures import date_order
from tablemend.verification.logic.words import THINGS

RESULTS = {
    word: result
    for result, words in {
        "w": "win wins won winning victory victories victorious beat beats defeat defeats defeated",
        "l": "lose loses lost losing loss losses",
        "d": "draw draws drew drawn tie ties tied",
    }.items()
    for word in words.split()
}
_NEGATED = frozenset("not n't never without except excluding outside".split())
_LISTING = frozenset({"and", "or", "both", "the", "nor"})
_ORIGIN = ("an", "ish", "ese", "ch", "ss", "sh", "ek", "qi", "li", "ni")
_COUNTRIES = {
    adjective: tuple(names.split("|"))
    for adjective, names in {
        "american": "united states|usa|u.s.",
        "british": "great britain|united kingdom|england|scotland|wales",
        "english": "england",
        "scottish": "scotland",
        "welsh": "wales",
        "irish": "ireland",
        "french": "france",
        "spanish": "spain",
        "dutch": "netherlands|holland",
        "danish": "denmark",
        "swiss": "switzerland",
        "greek": "greece",
        "turkish": "turkey",
        "polish": "poland",
        "finnish": "finland",
        "czech": "czech",
        "norwegian": "norway",
        "filipino": "philippines",
        "chinese": "china",
        "portuguese": "portugal",
        "korean": "korea",
        "german": "germany",
    }.items()
}
_SENSES = {
    "above": "over",
    "below": "under",
    "at_least": "at least",
    "at_most": "at most",
    "about": "about",
    "almost": "about",
}
_BEHIND = {"above": "at least", "below": "at most"}  # "5 or more", "5 or less"
_BEING = frozenset("be is was are were as".split())
_PREDICATING = _BEING | frozenset("the a an play plays played list listed serve served".split())
_REACH = 6
_CAME = frozenset("came stood amounted reached equal equals equalled recorded totaled".split())
_BEFORE = frozenset("before until till prior".split())
_AFTER = frozenset("after since following".split())


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that holds of some rows.

    Attributes:
        first, last: the tokens that say it, half open.
        rows: the rows of which it holds.
        used: the tokens that the reading accounts for.
        fit: how surely it is meant so.
        column: the column that it speaks of.
        bound: whether an amount is compared, and not only found.
        members: the rows of each name of a list ("A, B and C"); empty for one name.
    """

    first: int
    last: int
    rows: frozenset[int]
    used: frozenset[int]
    fit: float
    column: int
    bound: bool = False
    members: tuple[frozenset[int], ...] = ()

    def share_of(self, heading: Heading) -> int:
        """How many tokens it shares with a heading."""
        return max(0, min(self.last, heading.last) - max(self.first, heading.first))


def conditions(frame: Frame) -> list[Condition]:
    """Every condition that the statement states, in order; the longest at each place."""
    all_rows = frozenset(frame.view.rows)
    found: list[Condition] = [*_days(frame), *_months(frame)]
    found += _times(frame, frozenset[int]().union(*(condition.used for condition in found)))
    timed = frozenset[int]().union(*(condition.used for condition in found))
    found += [*_bounds(frame, timed), *_zeros(frame), *_results(frame)]
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
        found.append(Condition(phrase.first, phrase.last, rows, used, fit, column))
    headed = {place for h in frame.headings for place in range(h.first, h.last)}
    found += _origins(frame, frozenset(taken | headed))
    found.sort(key=lambda condition: condition.first)
    return [_negate(frame, condition, all_rows) for condition in _listed(frame, found)]


def _predicated(frame: Frame, phrase: Phrase) -> Heading | None:
    """The column that a name is said to stand in: "the home team was A", "A as the winner"."""
    for heading in frame.headings:
        column = frame.view.columns[heading.column]
        if heading.share < 0.99 or column.temporal or column.counter:
            continue
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


def _is_subject(frame: Frame, heading: Heading, phrase: Phrase) -> bool:
    """As in "the classification in stage 13 was A": the clause's subject, and what it was."""
    start = frame.clause(heading.first)[0]
    while start < heading.first and frame.words[start] in ("the", "a", "his", "their", "its"):
        start += 1
    place = phrase.first - 1
    while place > heading.last and frame.words[place] in ("the", "a", "an"):
        place -= 1
    verb = next((verb for verb in frame.verbs if verb >= heading.last), None)
    return start == heading.first and verb == place and frame.words[place] in _BEING


def _listed(frame: Frame, found: list[Condition]) -> Iterator[Condition]:
    """As in "A, B and C" of one column as one condition: any of them."""
    held: Condition | None = None
    for condition in found:
        if held is not None:
            gap = frame.words[held.last : condition.first]
            listed = condition.column == held.column and not condition.bound and not held.bound
            if listed and held.last <= condition.first and set(gap) <= _LISTING:
                members = (*(held.members or (held.rows,)), condition.rows)
                used = held.used | condition.used
                rows = held.rows | condition.rows
                fit = min(held.fit, condition.fit)
                held = Condition(
                    held.first, condition.last, rows, used, fit, held.column, False, members
                )
                continue
            yield held
        held = condition
    if held is not None:
        yield held


def _negate(frame: Frame, condition: Condition, rows: frozenset[int]) -> Condition:
    """As in "not from Spain" is everyone else."""
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
    used = condition.used | {place}
    return Condition(
        condition.first,
        condition.last,
        rows - condition.rows,
        used,
        condition.fit,
        condition.column,
        condition.bound,
        condition.members,
    )


def within(conditions: Iterable[Condition], rows: Iterable[int]) -> frozenset[int]:
    """The rows of which all hold."""
    kept = frozenset(rows)
    for condition in conditions:
        kept &= condition.rows
    return kept


def holds(value: float, stated: Stated, hedge: str | None = None) -> bool:
    """Whether a value is within what is stated with its hedge."""
    from_hedge = stated.amount.hedge if hedge is None else hedge
    number = stated.amount.number
    slack = 0.5 * 10.0**-number.decimals if number.decimals else 1e-9 * max(1.0, abs(value))
    match from_hedge:
        case "over":
            return value > stated.value + 1e-9
        case "under":
            return value < stated.value - 1e-9
        case "at least":
            return value >= stated.value - 1e-9
        case "at most":
            return value <= stated.value + 1e-9
        case "about":
            return abs(value - stated.value) <= max(0.05 * abs(stated.value), slack)
        case _:
            return abs(value - stated.value) <= slack


def states(column: ColumnIndex, ordered: Ordered, row: int, stated: Stated) -> bool:
    """Whether a cell is a number, as precisely as it is stated, or says it beside another."""
    value = ordered.of.get(row)
    if value is not None and (holds(value, stated) or holds(value * column.scale, stated)):
        return True
    return not stated.amount.hedge and any(
        abs(said - stated.value) <= 1e-9 * max(1.0, abs(said)) for said in column.said.get(row, ())
    )


def hedge_of(frame: Frame, stated: Stated) -> str:
    """How an amount is bounded: by the words before it, or by "or more" behind it."""
    if stated.amount.hedge:
        return stated.amount.hedge
    for cue in frame.cues:
        if cue.kind == "hedge" and cue.sense in _SENSES:
            first, last = frame.token_range(cue.start, cue.end)
            if 0 <= stated.first - last <= 1 and first < last:
                return _SENSES[cue.sense]
            if first == stated.last and cue.sense in _BEHIND:
                return _BEHIND[cue.sense]
    return ""


def hedge_tokens(frame: Frame, stated: Stated) -> frozenset[int]:
    """The tokens of "more than" or "at least" before an amount, and of "or more" behind it."""
    for cue in frame.cues:
        if cue.kind == "hedge":
            first, last = frame.token_range(cue.start, cue.end)
            if 0 <= stated.first - last <= 1 or first == stated.last:
                return range_set(first, last)
    return range_set(max(0, stated.first - 2), stated.first)


def _bounds(frame: Frame, timed: frozenset[int]) -> Iterator[Condition]:
    """As in "less than 10 points", "a score of 20", "more than 5 at the fa cup"."""
    for stated in frame.amounts:
        heading = heading_beside(frame, stated)
        if heading is None or not timed.isdisjoint(range(stated.first, stated.last)):
            continue
        if heading.first <= stated.first < heading.last:
            continue
        column = frame.view.columns[heading.column]
        hedge = hedge_of(frame, stated)
        rows = frozenset(
            row
            for row, value in column.ordered.of.items()
            if row in frame.rows
            and (
                holds(value, stated, hedge)
                if hedge
                else states(column, column.ordered, row, stated)
            )
        )
        used = frozenset(range(stated.first, stated.last)) | frozenset(
            range(heading.first, heading.last)
        )
        if hedge:
            used |= hedge_tokens(frame, stated)
        yield Condition(
            stated.first,
            stated.last,
            rows,
            used,
            0.5 + 0.5 * heading.share,
            column.index,
            bool(hedge),
        )


def heading_beside(frame: Frame, stated: Stated) -> Heading | None:
    """The measured column that an amount counts in: "20 points", "a score of 20"."""
    best: tuple[float, Heading] | None = None
    for heading in frame.headings:
        if any(
            p.first <= heading.first and heading.last <= p.last and p.last - p.first > 1
            for p in frame.phrases
        ):
            continue
        column = frame.view.columns[heading.column]
        if stated.amount.role == "year" and not column.temporal:
            continue
        if not column.measured or column.kind in ("score", "date"):
            continue
        if column.index == frame.view.key and heading.first >= stated.last:
            continue  # "6 regions" are counted
        if column.counter and heading.last != stated.first:
            continue  # "week 8", and not "8 weeks"
        if heading.first >= stated.last:
            between = frame.words[stated.last : heading.first]
            cost = 0.0
        elif heading.last <= stated.first:
            between = frame.words[heading.last : stated.first]
            cost = 0.5
        else:
            continue
        if any(word in ("and", "but", "while", "with") for word in between):
            continue
        hedged = hedge_tokens(frame, stated) if cost and stated.amount.hedge else frozenset()
        said = sum(
            word not in LITTLE_WORDS and word not in _CAME and place not in hedged
            for place, word in enumerate(between, heading.last if cost else stated.last)
        )
        if said > 1 or len(between) > _REACH:
            continue
        cost += said + 0.1 * len(between)
        cost -= heading.share
        if best is None or cost < best[0]:
            best = (cost, heading)
    return best[1] if best else None


def _zeros(frame: Frame) -> Iterator[Condition]:
    """As in "without a single gold", "no wins": the column is 0 there."""
    for heading in frame.headings:
        column = frame.view.columns[heading.column]
        place = heading.first - 1
        while place >= 0 and frame.words[place] in ("a", "single", "any"):
            place -= 1
        if place < 0 or frame.words[place] not in ("without", "no", "zero") or not column.adds_up:
            continue
        rows = frozenset(row for row in frame.rows if column.ordered.of.get(row) == 0)
        used = frozenset(range(place, heading.last))
        yield Condition(heading.first, heading.last, rows, used, heading.share, column.index, True)


def _results(frame: Frame) -> Iterator[Condition]:
    """As in "won", "lost" and "drew" where the table says who won."""
    columns = [column for column in frame.view.columns if column.has_results]
    for place, word in enumerate(frame.words if columns else ()):
        result = RESULTS.get(word)
        if result is None:
            continue
        for column in columns[:1]:
            rows = frozenset(
                row
                for row, measure in column.measures.items()
                if measure.result == result and row in frame.rows
            )
            yield Condition(place, place + 1, rows, frozenset({place}), 0.8, column.index)


def _times(frame: Frame, dated: frozenset[int]) -> Iterator[Condition]:
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
            continue
        for column in columns:
            rows = frozenset(
                row
                for row in frame.rows
                if (years := years_of(column, row)) and years[0] <= high and low <= years[1]
            )
            if (rows and len(rows) < len(frame.rows)) or (rows and len(columns) == 1):
                yield Condition(first, last, rows, frozenset(used), 0.8, column.index)
                break


def _days(frame: Frame) -> Iterator[Condition]:
    """As in "before May 20", "after October 5, 2004", "between May 20 and August 12"."""
    dates = [link.moment for link in frame.links.moments if link.moment.kind in ("date", "month")]
    skip = -1
    for number, moment in enumerate(dates):
        first, last = frame.token_range(moment.start, moment.end)
        day = date_order(moment.readings[0])
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
        yearless = moment.readings[0].startswith("--")
        for column in frame.view.columns:
            if column.kind != "date":
                continue
            rows = frozenset(
                row
                for row in frame.rows
                if (value := _day_of(column, row, yearless)) is not None and low <= value <= high
            )
            if rows:
                used = range_set(first - 1, end)
                yield Condition(first, end, rows, used, 0.8, column.index, True)
                break


def _origins(frame: Frame, taken: frozenset[int]) -> Iterator[Condition]:
    """As in "Australian" of rows that say "Australia"."""
    for place, word in enumerate(frame.words):
        if place in taken or len(word) < 5 or not word.endswith(_ORIGIN):
            continue
        names = _COUNTRIES.get(word, ())
        length = max(4, len(word) - 3)
        for column in frame.view.columns:
            if column.kind != "text":
                continue
            rows = frozenset(
                row
                for name, group in column.groups.items()
                if any(country in name for country in names)
                or (not names and any(part[:length] == word[:length] for part in name.split()))
                for row in group
            )
            if rows:
                yield Condition(place, place + 1, rows, frozenset({place}), 0.8, column.index)
                break


def _months(frame: Frame) -> Iterator[Condition]:
    """As in "in October" where nothing else dates it."""
    for cue in frame.cues:
        if cue.kind != "temporal" or cue.sense != "month":
            continue
        first, last = frame.token_range(cue.start, cue.end)
        dated = any(link.start < cue.end and cue.start < link.end for link in frame.links.moments)
        if dated or first == last or not parse_date(f"{frame.words[first]} 1"):
            continue
        month = parse_date(f"{frame.words[first]} 1")[0][1:4]
        for column in frame.view.columns:
            if column.kind != "date":
                continue
            rows = frozenset(
                row
                for row, dates in column.dates.items()
                if any(reading[4:7] == month or reading[1:4] == month for reading in dates)
            )
            if rows:
                yield Condition(first, last, rows, range_set(first, last), 0.9, column.index)
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


def range_set(first: int, last: int) -> frozenset[int]:
    """Tokens as a set."""
    return frozenset(range(first, last))


def years_of(column: ColumnIndex, row: int) -> tuple[float, float] | None:
    """The first and last year of a cell."""
    measure = column.measures.get(row)
    if measure is None:
        return None
    if measure.kind == "span":
        return measure.value, measure.second if measure.second is not None else measure.value
    if measure.kind == "date":
        dates = column.dates.get(row)
        if not dates or dates[0].startswith("--"):
            return None
        year = float(dates[0][:4])
        return year, float(dates[0][5:9]) if "/" in dates[0] else year
    return (measure.value, measure.value) if column.years else None
