"""Two cells compared: "outscored", "ahead of", "more in 2022 than in 2018", "twice as many as"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from tablemend.records import ClaimError
from tablemend.values.numbers import plain_digits
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.logic.words import opposite
from tablemend.verification.negation import denial
from tablemend.verification.phrases.measures import default_measure, is_inverse, is_place
from tablemend.verification.phrases.repeated import repetitions
from tablemend.verification.phrases.shape import LINKED, Cell, Part, Shape

_MORE = (
    r"more|higher|larger|greater|bigger|better|heavier|taller|longer|warmer|hotter|wetter|older"
    r"|pricier|busier|stronger|wider|faster"
)
_LESS = (
    r"less|fewer|lower|smaller|worse|lighter|shorter|colder|cooler|drier|younger|cheaper|weaker"
    r"|narrower|slower"
)
_THAN = re.compile(
    rf"\b(?P<word>(?P<up>{_MORE})|{_LESS})\b(?P<between>(?:(?!than\b)[^.;(),]|\([^()]*\)){{0,60}})\bthan\b"
    r"(?P<after> (?:(?:in|on|at|for|with|during|that|those|of|the|its|his|her|their|it|they|did"
    r"|was) )*)"
    rf"(?P<other>{LINKED})"
)
_UP = (
    r"out(?:scor|pac|perform|s[oe]ld?|number|rank|rebound|grow|gross|earn)\w*|exceed(?:s|ed|ing)?"
    r"|surpass(?:es|ed|ing)?|topped|beat(?:s|ing)?|edg(?:ed|ing|es)(?: out| past)?|overtook"
    r"|(?:came in |finish\w* |stayed |was |were |is |are )?(?:well |just |narrowly )?"
    r"(?:ahead of|above|over|clear of)"
)
_DOWN = (
    r"trail(?:s|ed|ing)?|lagg?(?:s|ed|ing)?(?: behind)?|underperform(?:s|ed|ing)?"
    r"|(?:fell|fall\w*|came) short of|miss(?:ed|es|ing)"
    r"|(?:came in |finish\w* |stayed |was |were |is |are )?(?:well |just |narrowly )?"
    r"(?:behind|below|under)"
)
_VERB = re.compile(
    rf"\b(?P<word>(?P<up>{_UP})|{_DOWN})(?P<after> (?:(?:the|its|their|his|her|that|of) )*)"
    rf"(?P<other>{LINKED})"
)
_MULTIPLE = re.compile(
    r"\b(?:(?P<bound>more than|over|at least|well over|less than|under|nearly|almost) )?"
    r"(?P<word>(?P<times>twice|double|half|three times|four times|five times|N\d+ times)"
    r"(?: as (?:many|much|high|large|big|heavy|long|expensive))?)\b(?P<between>[^.;,]{0,40}?)"
    r"\b(?:as|of)(?P<after> (?:(?:in|on|at|for|that|those|of|the|its|did|was) )*)"
    rf"(?P<other>{LINKED})"
)
_TIMES = {
    "twice": Decimal(2),
    "double": Decimal(2),
    "half": Decimal("0.5"),
    "three times": Decimal(3),
    "four times": Decimal(4),
    "five times": Decimal(5),
}
_DENIED = denial("only", "cannot")
_JOINT = re.compile(
    r";|, and (?=R\d)|, (?:while|whereas|but|although|though)\b| (?:while|whereas|but|although) "
)
_ANY = re.compile(r"\s*(?:any|all|every|each)\b")
_BY = re.compile(r"\bby (?:about |around |roughly |only |just |a |nearly |over )*(N\d+)")
_BEFORE = re.compile(r"(N\d+)(?: \w+| [RC]\d+){0,3} ?$")
_OWN = re.compile(
    r"(?:'s?)?(?: [RCP]\d+)*(?: of|,? (?:who|which) (?:had|scored)|:| ?\() ?"
    r"[$\u20ac\u00a3]?(N\d+)"
)
_SPOTS = re.compile(r"\b(?:spots?|places?|positions?|ranks?)\b")
_COUNTED = re.compile(r"N\d+ (?P<column>C\d+), (?:just |only )?N\d+ $")
# "won more matches": of what is played the verb says which
_VERB_COUNTED = re.compile(r"(?P<column>C\d+) (?:N\d+ )?$")
_GENERIC = re.compile(r" (?:games|matches|fixtures|fights|races|bouts|sets|contests) ")
_HAS = re.compile(
    rf"(?P<one>R\d+) (?:also )?(?:has|had|have|offers?|reach(?:es|ed)|posts?|posted) (?:an? |the )?"
    rf"(?:much |far |slightly )?(?P<word>(?P<up>{_MORE})|{_LESS}) (?P<column>C\d+)(?=[.,;]|$)"
)
_OFF = Decimal("0.1")  # of a difference that nothing calls rounded
_WITHIN = Decimal("0.05")  # of a multiple as a person says it


def compare_two(shape: Shape) -> Iterator[Finding]:
    """Findings on what a sentence compares; none where two cells cannot be told."""
    for start, end in clauses(shape.text):
        for pattern in (_THAN, _VERB, _MULTIPLE):
            for match in pattern.finditer(shape.text, start, end):
                yield from _compare(shape, match, start, end)
    yield from _compare_with_other(shape)


def _compare_with_other(shape: Shape) -> Iterator[Finding]:
    """As in "A has the best accuracy, but B has a higher BLEU": higher than the only other one."""
    for match in _HAS.finditer(shape.text):
        one, measure = shape.part(match["one"]), shape.part(match["column"])
        named = {part.rows for part in shape.parts if part.mark == "R"} - {one.rows}
        before = [part for part in shape.parts_in(0, match.start()) if part.rows in named]
        if len(named) != 1 or not before or _DENIED.search(shape.text):
            continue
        first, second = shape.only([one, measure]), shape.only([before[0], measure])
        if first is None or second is None:
            continue
        inverse = is_inverse(shape, first, match["word"])
        if inverse is None:
            continue
        up = bool(match["up"]) != inverse
        truth = first.value > second.value if up else first.value < second.value
        reason = f"{_said(shape, first)}, {_said(shape, second)}"
        turned = opposite(match["word"])
        where = shape.span(*match.span("word"))
        expected = (turned,) if turned else ()
        yield shape.finding(where, truth, "CMP", reason, (first, second), expected=expected)


def clauses(text: str) -> Iterator[tuple[int, int]]:
    """The clauses of a shape that contrast."""
    start = 0
    for match in _JOINT.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _compare(shape: Shape, match: re.Match[str], start: int, end: int) -> Iterator[Finding]:
    text = shape.text
    if _DENIED.search(text, start, match.end()) or _ANY.match(match["after"]):
        return
    other = shape.part(match["other"])
    parts = [
        part for part in shape.parts_in(start, end) if part.mark in "RCP" and part is not other
    ]
    if match.re is _THAN and (told := _COUNTED.search(text, start, match.start())):
        own = shape.part(told["column"])
        parts = [part for part in parts if part.mark != "C" or part is own]
    if (verb := _VERB_COUNTED.search(text, start, match.start())) and _GENERIC.fullmatch(
        match.groupdict().get("between") or ""
    ):
        own = shape.part(verb["column"])
        parts = [part for part in parts if part.mark != "C" or part is own]
    each, times = repetitions(shape, start, end)
    if each is not None and match.re is not _MULTIPLE:
        inside = shape.parts_in(*each.span())
        rest = [part for part in parts if part not in inside]
        yield from _each_time(shape, match, other, rest, each, times)
        return
    said = f"{match['word']} {text[start : match.start()]}"
    sides = _cells(shape, other, parts, shape.span(match.start(), match.end()).start, said)
    if sides is None or (match.re is _THAN and _counts_else(match)):
        return
    one, two, compared = sides
    if _SPOTS.search(text, max(start, match.start() - 24), match.end()) and not is_place(
        shape, one
    ):
        return
    where = shape.span(match.start("word"), match.end("word"))
    if match.re is _MULTIPLE:
        yield from _multiple(shape, match, one, two, where)
        return
    inverse = is_inverse(shape, one, match["word"])
    if inverse is None:
        return
    up = bool(match["up"]) != inverse
    truth = one.value > two.value if up else one.value < two.value
    reason = f"{_said(shape, one)}, {_said(shape, two)}"
    turned = opposite(match["word"])
    yield shape.finding(
        where, truth, "CMP", reason, (one, two), expected=(turned,) if turned else ()
    )
    if truth and match.re is _VERB and other.mark == "R":
        at = Span(other.start, other.end)
        yield shape.finding(at, True, "CMP", reason, (one, two))
    for part in parts if truth else ():
        if part.mark == "C" and part.columns == frozenset({one.column}) == frozenset({two.column}):
            at = Span(part.start, part.end)
            yield shape.finding(at, True, "REL", reason, (one, two))
    yield from _difference(shape, match, one, two, start, end)
    yield from _stated(shape, match, compared, one, two, start)


def _each_time(
    shape: Shape,
    match: re.Match[str],
    other: Part,
    parts: list[Part],
    each: re.Match[str],
    times: list[Part],
) -> Iterator[Finding]:
    """What is said to hold in every period, or for all rows."""
    place = shape.span(*match.span()).start
    compared = []
    for part in times:
        sides = _cells(shape, other, [*parts, part], place, match["word"])
        if sides is None:
            return
        compared.append(sides[:2])
    inverse = is_inverse(shape, compared[0][0], match["word"])
    if inverse is None:
        return
    up = bool(match["up"]) != inverse
    wrong = [(a, b) for a, b in compared if not (a.value > b.value if up else a.value < b.value)]
    one, two = (wrong or compared)[0]
    reason = f"{_said(shape, one)}, {_said(shape, two)}"
    for words in (match, each):
        where = shape.span(*words.span("word"))
        yield shape.finding(where, not wrong, "CMP", reason, (one, two))
    if not wrong and other.mark == "R":
        at = Span(other.start, other.end)
        yield shape.finding(at, True, "CMP", reason, (one, two))


def _counts_else(match: re.Match[str]) -> bool:
    """Whether "more goals" counts what no column is called, whatever else is named."""
    noun = match["word"] in ("more", "fewer", "less") and match["between"].strip()
    if _VERB_COUNTED.search(match.string, 0, match.start()) and _GENERIC.fullmatch(
        match["between"]
    ):
        return False
    return bool(noun) and not re.search(rf"{LINKED}|N\d", match["between"])


def _cells(
    shape: Shape, other: Part, parts: list[Part], place: int, word: str
) -> tuple[Cell, Cell, Part] | None:
    """The compared cells, and the words that name the first: what stands on the other's axis."""
    alike = [
        part
        for part in parts
        if (part.by_row and other.by_row) or (part.by_column and other.by_column)
    ]
    alike = [part for part in alike if part.rows != other.rows or part.columns != other.columns]
    if other.mark != "C" and any(part.mark == other.mark for part in alike):
        alike = [part for part in alike if part.mark == other.mark]
    if not alike and other.mark == "C":
        alike = _partner(shape, other, parts, word)
    before = [part for part in alike if part.start < place]
    for compared in (before[::-1] or alike)[:3]:
        # A period beside two rows that are compared holds for both, and the other way round.
        shared = [p for p in parts if p is not compared and not _rivals(p, compared)]
        for extra in ([], default_measure(shape, [compared, *shared], word)):
            one = shape.only([compared, *shared, *extra])
            two = shape.only([other, *shared, *extra])
            if one and two and (one.row, one.column) != (two.row, two.column):
                return one, two, compared
    return None


def _partner(shape: Shape, other: Part, parts: list[Part], word: str) -> list[Part]:
    """The one other column in money: "earned $36 million more than its budget"."""
    if not re.match(r"more|less|over|above|below", word) or shape.grid.transposed:
        return []
    units = {c.index: c.unit for c in shape.grid.columns if c.index in shape.numeric}
    own = next(iter(other.columns or ()))
    if own not in units or not (units[own].currency or units[own].symbol):
        return []
    found = [index for index, unit in units.items() if index != own and unit == units[own]]
    return [Part("C", -1, -1, columns=frozenset(found))] if len(found) == 1 else []


def _rivals(part: Part, compared: Part) -> bool:
    """Whether two parts exclude each other: other rows by name, other periods."""
    if part.mark != compared.mark:
        return False
    if part.by_row and compared.by_row:
        return not (part.rows or frozenset()) & (compared.rows or frozenset())
    return part.by_column and compared.by_column and part.mark == "P"


def _multiple(
    shape: Shape, match: re.Match[str], one: Cell, two: Cell, where: Span
) -> Iterator[Finding]:
    said = match["times"]
    if said in _TIMES:
        times = _TIMES[said]
    else:
        amount = shape.part(said.split()[0]).amount
        if amount is None:
            return
        times = amount.value
    if not two.value or not times:
        return
    ratio = one.value / two.value
    truth = abs(ratio / times - 1) <= _WITHIN
    bound = match["bound"]
    if bound in ("more than", "over", "at least", "well over"):
        truth = ratio >= times if bound == "at least" else ratio > times
    elif bound in ("less than", "under"):
        truth = ratio < times
    elif bound:
        truth = 1 - 3 * _WITHIN <= ratio / times <= 1
    elif not truth and abs(ratio / times - 1) <= 3 * _WITHIN:
        return
    reason = f"{_said(shape, one)}, {_said(shape, two)}: {round(ratio, 2)} times"
    yield shape.finding(where, truth, "CMP", reason, (one, two))
    other = shape.part(match["other"])
    if truth and other.mark == "R":
        yield shape.finding(Span(other.start, other.end), True, "CMP", reason, (one, two))


def _difference(
    shape: Shape, match: re.Match[str], one: Cell, two: Cell, start: int, end: int
) -> Iterator[Finding]:
    """By how much: "by 3 points", "two points ahead of", "$150 less than"."""
    told = _BY.search(shape.text, match.start(), end) or _BEFORE.search(
        shape.text, start, match.start()
    )
    if told is None and match.re is _VERB:
        told = _BY.search(shape.text, start, match.start())
    if told is None:
        return
    part = shape.part(told[1])
    amount = part.amount
    if amount is None:
        return
    apart = abs(one.value - two.value)
    agreement = shape.agreement(amount, apart, one)
    right = plain_digits(apart)
    if amount.number.percent:
        relative = apart / abs(two.value) * 100 if two.value else apart
        counted = one.unit.symbol == "%" or one.number.percent
        found = {shape.agreement(amount, relative, one)} if not counted else {agreement}
        if counted:
            found.add(shape.agreement(amount, relative, one))
        else:
            right = plain_digits(round(relative, 1))
        agreement = "same" if "same" in found else min(found)
    if agreement == "near" and not amount.hedge and apart:
        off = abs(amount.value / apart - 1)
        agreement = "different" if off > _OFF and not amount.number.percent else "near"
    if agreement not in ("same", "different"):
        return
    reason = f"{_said(shape, one)}, {_said(shape, two)}: a difference of {right}"
    span = Span(part.start, amount.digits_end)
    error: ClaimError = "NUM"
    yield shape.finding(
        span, agreement == "same", error, reason, (one, two), kind="number", expected=(right,)
    )


def _stated(
    shape: Shape, match: re.Match[str], compared: Part, one: Cell, two: Cell, start: int
) -> Iterator[Finding]:
    """Values that stand with the names: "ahead of Kelso (43)", "the target of 50,000"."""
    told = _OWN.match(shape.text, match.end("other"))
    if told is None:
        return
    part = shape.part(told[1])
    if part.amount is None:
        return
    agreement = shape.agreement(part.amount, two.value, two)
    if agreement in ("same", "different"):
        right = shape.grid.cell(two.row, two.column)
        yield shape.finding(
            Span(part.start, part.amount.digits_end),
            agreement == "same",
            "NUM",
            _said(shape, two),
            (two,),
            kind="number",
            expected=(right,),
        )


def _said(shape: Shape, cell: Cell) -> str:
    """A cell in words."""
    grid = shape.grid
    name = next(line.header for line in grid.lines if line.index == cell.row)
    header = grid.columns[cell.column].header
    return f"{header} of {name}: {grid.cell(cell.row, cell.column)}"
