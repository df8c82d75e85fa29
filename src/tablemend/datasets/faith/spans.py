"""Numbers in a report's sentences that can be masked: money, percentages, counts and quantities
(FAITH, 4.1, "Numerical Span Identification").

By a program, or by spaCy's entities where a model of it is installed; both are expanded over
currency signs, scales and units. Dates, durations and references are no spans.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

from tablemend.errors import TablemendError
from tablemend.tasks.faith.values import unit_words
from tablemend.values.dates import MONTHS
from tablemend.values.numbers import Quantity, find_quantities, find_spelled
from tablemend.values.text import Span, align
from tablemend.values.units import MEASURES

Recogniser = Literal["program", "spacy"]
SPACY_MODEL = "en_core_web_sm"
_ENTITIES = ("MONEY", "PERCENT", "CARDINAL", "QUANTITY")

_MONTH = "|".join(name[:3] for name in MONTHS)
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBERED = (  # things that have a number for a name, in a report
    r"(?:notes?|footnotes?|items?|parts?|(?:sub)?(?:sections?|topics?|paragraphs?|parts?|clauses?)"
    r"|pages?|levels?|scopes?|tiers?|phases?|stages?|steps?|grades?|zones?|exhibits?|appendix"
    r"|appendices|annex|volumes?|rules?|forms?|tables?|figures?|charts?|schedules?|chapters?"
    r"|articles?|titles?|lines?|columns?|rows?|proposals?|questions?|criteri(?:on|a)|principles?"
    r"|pillars?|tranches?|rounds?|versions?|releases?|interpretations?|bulletins?|opinions?"
    r"|statements?|regulations?|asc|asu|asus|sfas|fas|fasb|fin|ifric|ifrs|ias|sab|eitf|apb|isos?"
    r"|units?|plant|building|lot|block|suite|flight|model|option|type|category|group|area|region"
    r"|quarter|month|weeks?|days?|no|nos|numbers?)"
)
_BEFORE = re.compile(  # what makes a number the name of something
    rf"(?:\b(?:{_NUMBERED}|fiscal(?: years?)?|fy|years? ended|q|basel|act of|class|series|covid"
    rf"|ebitda|s&p|nasdaq|moody's|(?:{_MONTH})[a-z]*) ?\.?[\"')\]]{{0,2}} ?[#(]? ?"
    rf"|pages? \d+ of |\d\.|[a-z]\d?[-\u2013./]|\d[/:]|#|(?:{_MONTH})[a-z]*\.? \d{{1,2}},? )$",
    re.I,
)
_REFERENCE = re.compile(r"\b(?:forms?|items?|notes?|asu|asc) $|\d-$", re.I)
_RANGE = re.compile(
    r"(?: ?(?:-|,|to\b|and\b|or\b|, (?:and|or)\b) *\d[\d.,]{0,12}){1,4} ?"
    r"(?:thousand|million|billion|trillion|%|percent|basis|bps)|-[$\d]"
)
"""A number that leaves the scale to the next one: "$1.2 and $1.5 million"."""
_LISTED = re.compile(
    rf"\b{_NUMBERED} (?:\. )?(?:\d[\da-z()]*(?:\.\d+)* ?"
    r"(?:, ?(?:and |or )?|and |or |to |through |[-\u2013&] ?)){1,9}$"
)
_BEHIND = re.compile(
    rf"(?:st|nd|rd|th)\b|-[kq]\b|[/:]\d|-for-|\([a-z]\)| ?(?:{_MONTH})[a-z]*\b(?! be)"
    r"|\)?(?: ?(?:to|or|and|-|\u2013) ?\d+)?"
    r"[ -](?:(?:fiscal|calendar|business|trading|consecutive|full|additional|first|last) ){0,2}"
    r"(?:years?|months?|weeks?|days?|hours?|quarters?|minutes?)(?:\b|-)|-\d{2,4}\b",
    re.I,
)
_ITEM = re.compile(r"(?:^|[;:.\u2022*]) ?\d{1,2}\. ?[a-z]")
"""The mark of a list's item, as far as the letter behind it."""
_NAME = re.compile(r"(?<=[\w,;:)] )[A-Z][\w'\u2019&-]*[\"\u201d)]{0,2} $")
"""A word that is written like a name within a sentence: "Iron Man 3", "Boeing 777"."""
_AMOUNT = r"(?:[$\u20ac\u00a3] ?)?[(-]? ?\d(?:[\d.,]*\d)?(?: ?[)%])*"
_ROW = re.compile(rf"(?<![\w.,/-]){_AMOUNT}(?: (?:[-\u2013\u2014]+ )*{_AMOUNT}(?![\w/-]))+")
"""Amounts side by side, as only the cells of a row stand."""
_LABELLED = re.compile(r"[a-z)] [($\u20ac\u00a3]*\d[\d,.]*\)? (?=[A-Z][a-z])")
"""An amount between two labels."""
_VERB = re.compile(
    r"\b(?:was|were|is|are|be|been|had|has|have|will|would|could|can|may|rose|fell|grew|due|used|held"
    r"|made|to [a-z]+|\w{3,}ed)\b",
    re.I,
)
_LEADERS = re.compile(r"(?:\. ){3}|\.{4}|-{4}|_{4}|={4}|(?:\|[^|]*){3}")
_TORN = re.compile(r" (?:mil|bil|tril|thou)- ")
_UNIT = re.compile(r"[ -]?(?:[A-Z]{2,6}[a-z]?\b|(?:basis|percentage) points?\b)")
_PER = re.compile(
    r" ?(?:per|a|/) ?(?:[a-z]+ ){0,2}(?:share|unit|barrel|ounce|ton|boe|bbl|mcf|mmbtu)\b", re.I
)
_SIGN = re.compile(r"(?:[$\u20ac\u00a3\u00a5] ?|\(|-)$")
_MONEY_BRACKET = re.compile(r"[$\u20ac\u00a3\u00a5] ?\($")
_WORD = re.compile(r"\w")
_FAR = 300
"""Characters around a number in which its aside, its list's item, and its range stand."""
_ALIAS = re.compile(r' \("[a-z]+"\)', re.I)


def find_spans(sentence: str, recogniser: Recogniser = "program") -> list[Span]:
    """The spans of a sentence that can be masked, left to right."""
    text = align(sentence)
    if recogniser == "spacy":
        places = [
            (one.start_char, one.end_char)
            for one in _spacy()(sentence).ents
            if one.label_ in _ENTITIES and any(map(str.isalnum, one.text))
        ]
        found = [
            one for one in _numbers(text) if any(a < one.end and one.start < b for a, b in places)
        ]
    else:
        found = _numbers(text)
    spans: list[Span] = []
    for one in found:
        if _names_something(one, text, sentence) or _is_bare_word(one, text):
            continue
        span = _expanded(one, text, sentence)
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def is_table(sentence: str) -> bool:
    """Whether a "sentence" is a table that lost its cells, wholly or in part."""
    if _LEADERS.search(sentence):
        return True
    rows = [re.findall(r"\d[\d.,]*", match[0]) for match in _ROW.finditer(sentence)]
    amounts = [sum(not _YEAR.fullmatch(one) for one in row) for row in rows]  # "5% 2035 Notes"
    if max(amounts, default=0) > 2 or sum(n > 1 for n in amounts) > 1:
        return True
    words = sentence.split()
    numbers = sum(any(map(str.isdigit, word)) for word in words)
    is_dense = 3 * numbers > len(words) > 8 or 2 * numbers >= len(words)
    is_dense = is_dense or len(_LABELLED.findall(sentence)) > 1
    return (is_dense or max(amounts, default=0) > 1) and not _VERB.search(sentence)


def _numbers(text: str) -> list[Quantity]:
    """Numbers in digits and in words; words within others belong to them."""
    found = {(one.start, one.end): one for one in (*find_quantities(text), *find_spelled(text))}
    kept: list[Quantity] = []
    for one in sorted(found.values(), key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _names_something(one: Quantity, text: str, sentence: str) -> bool:
    """A date, a duration, a reference, a name, the number of a page or of a list's item."""
    before, behind = text[max(0, one.start - 24) : one.start], text[one.end : one.end + 40]
    unit = one.number.unit
    if _REFERENCE.search(before) or _LISTED.search(text[max(0, one.start - 60) : one.start]):
        return True
    further = text[one.end : one.end + _FAR]
    further = re.sub(r"[$\u20ac\u00a3]", " ", further) if unit.currency else further
    if unit.scale == 1 and unit.symbol == "" and _RANGE.match(further):
        return True
    if unit.symbol and MEASURES[unit.symbol][0] in ("time", "months"):
        return True
    if unit.symbol or unit.scale != 1:
        return False
    if unit.currency:
        return _TORN.match(behind) is not None
    digits = text[one.start : one.end]
    if not digits[0].isdigit():
        return bool(_BEFORE.search(before) or _BEHIND.match(behind))
    far = max(0, one.start - _FAR)
    is_aside = text.rfind("(", far, one.start) > text.rfind(")", far, one.start)
    closes = len(digits) < 3 and behind.lstrip().startswith((")", "]"))
    return bool(
        _YEAR.fullmatch(digits)
        or _BEFORE.search(before)
        or _BEHIND.match(behind)
        or (closes and (not is_aside or before.rstrip().endswith(("(", "["))))
        or any(
            one.start < item.end()
            for item in _ITEM.finditer(text, far, min(one.end + 3, len(text)))
        )
        or (not _WORD.search(text, 0, one.start) and not _counted(text, one.end))
        or _NAME.search(sentence, far, one.start)
    )


def _is_bare_word(one: Quantity, text: str) -> bool:
    """A number word or a small number without a unit counts only before what is counted."""
    words, unit = text[one.start : one.end], one.number.unit
    if unit.symbol or unit.currency or unit.scale != 1:
        return False
    small = abs(one.number.value) < 20 and not any(map(str.isdigit, words))
    return small and not _counted(text, one.end)


def _counted(text: str, end: int) -> bool:
    words = text[end : end + 40].replace("-", " ").casefold().split()[:2]
    return not unit_words().isdisjoint(word.strip(",.;") for word in words)


def _expanded(one: Quantity, text: str, sentence: str) -> Span:
    """With the signs before it and the units behind it."""
    start, end = one.start, one.end
    if (match := _MONEY_BRACKET.search(text, max(0, start - 3), start)) and text[
        end : end + 1
    ] == ")":
        closed = re.match(r"\) ?(?:million|billion|thousand)?", text[end : end + _FAR])
        return Span(match.start(), end + (closed.end() if closed else 0))
    while match := _SIGN.search(text, max(0, start - 2), start):
        if match[0] == "(" and not _closes(text, end):
            break
        if match[0] == "-" and match.start() and text[match.start() - 1].isalnum():
            break
        start = match.start()
    if text[start] == "(" and (match := re.match(r"\) ?(?:%|percent\b)?", text[end : end + _FAR])):
        end += match.end()
    for form, within in ((_PER, text), (_UNIT, sentence), (_ALIAS, text)):
        if match := form.match(within, end):
            end = match.end()
    return Span(start, end)


def _closes(text: str, end: int) -> bool:
    return text[end : end + 1] == ")" and text[end + 1 : end + 3].lstrip().startswith("%")


@cache
def _spacy() -> Callable[[str], Any]:
    """SpaCy's pipeline.

    Raises:
        TablemendError: it, or its model, is not installed.
    """
    for package in ("spacy", SPACY_MODEL):
        if find_spec(package) is None:
            raise TablemendError(
                f"spans=spacy needs {package}: pip install spacy && python -m spacy download "
                f"{SPACY_MODEL}; spans=program needs neither"
            )
    import spacy

    return spacy.load(SPACY_MODEL, disable=["parser", "lemmatizer"])  # type: ignore[no-any-return]
