"""Numbers in the sentences of a report: which can be masked (FAITH, 4.1), and what a sentence says
of the one that is.

Spans are found by a program, or by spaCy where a model of it is installed; both are expanded over
currency signs, scales and units. Dates, durations and references are no spans. A formula is a
derivation only where the sentence words it: "rose [MASK]" is a change, "rose to [MASK]" none;
"[MASK] of total assets" is a share of what is named behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from tablemend.errors import TablemendError
from tablemend.tasks.faith.sample import MASK, unit_words
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
        closes = text[end : end + 1] == ")" and text[end + 1 : end + 3].lstrip().startswith("%")
        if match[0] == "(" and not closes:
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


_SAID_YEAR = re.compile(r"\b(19|20)(\d\d)(?:[/\u2013-](\d\d))?\b")
_QUARTER = re.compile(
    r"\b(?:q(?P<digit>[1-4])|(?P<word>first|second|third|fourth)[- ]quarter)(?: of)?(?: fiscal)?"
    r"(?: year)? (?P<year>(?:19|20)\d\d)\b|\b(?P<before>(?:19|20)\d\d) ?q(?P<behind>[1-4])\b",
    re.I,
)
_ORDER = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_DIRECTION = re.compile(
    r"\b(?:(?P<up>increas\w*|gr[eo]w\w*|r[io]se|rising|up|higher|greater|improv\w*|expand\w*|gained"
    r"|climb\w*|jump\w*|surg\w*|soar\w*|advanc\w*)"
    r"|(?P<down>decreas\w*|declin\w*|f[ae]ll|falling|drop\w*|down|lower|reduc\w*"
    r"|slid|slip\w*|sank|plung\w*|plummet\w*|shr[aiu]nk\w*|contract(?:ed|ion))"
    r"|chang\w*|difference|variance)\b",
    re.I,
)
_NOUN = re.compile(r"\s*(?:(?:rate|percentage|amount) )?(?:in|of|from|between|over|was|is)\b", re.I)
_ABOUT = r"(?:(?:by|approximately|about|nearly|almost|over|roughly|around|only|an?|another) )*"
_LEVEL = re.compile(rf"\b(?:to|at|was|were|is|are) {_ABOUT}\(?$|\bfrom\b", re.I)
"""What stands between a direction and a number that is no change, unless "the increase was"."""
_ELSE = re.compile(
    r"\b(?:than|versus|vs\.?|compared|comparable|against|includ\w+|due|driven|result\w*|reflect\w*"
    r"|attribut\w*|reaching|represent\w*|compris\w*|total(?:s|l?ed|l?ing)|primarily|because|offset|which|that"
    r"|while|(?:at|with) an?)\b",
    re.I,
)
"""What stands between a direction and the number of something else."""
_JOINED = re.compile(  # behind another number: "$3 million in 2019, or", "$3 million in loans and"
    rf"[^a-z]*(?:million|billion|thousand|percent|basis points)?(?: in [^,.]{{1,40}})?[ ,(]*"
    rf"(?:and|or)?[ (]*{_ABOUT}\(?$",
    re.I,
)
_CHANGE_BEHIND = re.compile(
    rf" ?(?:\([^()]*\) )?(?:(?:net|overall|annual|total|organic|average|further|sequential|point"
    rf"|points|percentage|or|year[- ](?:over|on)[- ]year|unfavou?rable|favou?rable) )*"
    rf"(?={_DIRECTION.pattern})",
    re.I,
)
_STOP = (
    r"(?=[.;:($\[]|,(?! (?:[\w-]+, )*and )| (?:\d+|during|compared|due|as (?:a|compared)|over"
    r"|versus|was|were|is|which|that"
    r"|(?:in|from|for|to|between) (?:the|fiscal|\d+|each|all|both))\b|$)"
)
_OBJECT = re.compile(
    r"\w+ (?:in|of) (?!the (?:prior|same|year|first|second|third|fourth|current|period|quarter)|20)"
    rf"(.+?){_STOP}",
    re.I,
)
_BEHIND_OF = re.compile(rf" ?(?:in|of) (?!the (?:prior|same|year)|fiscal|\d)(.+?){_STOP}", re.I)
_WHOLE = re.compile(
    r" ?(?:\([^()]*\) )?of (.+?)(?=[;:.]| ?, | (?:in|at|as of|compared|came|was|were|is|are)\b|$)",
    re.I,
)
_OF_WHOLE = re.compile(
    r"(?:percent(?:age)?|proportion|portion|share|ratio|%) (?:of|to) ([^,;:]{3,80}?)"
    r" (?:was|were|is|are|of|at|to|an|increased|decreased)\b[^;:]*$",
    re.I,
)
_SUPPOSED = re.compile(r"\b(?:would|could|if|hypothetical|assum\w+)\b", re.I)
_LIST_AMOUNT = (
    rf"(?:{re.escape(MASK)}|[($\u20ac\u00a3-]? ?[($\u20ac\u00a3-]? ?\d(?:[\d.,]*\d)?"
    r"(?: ?\))?(?: ?(?:%|percent|million|billion|thousand))?)"
)
_LIST = re.compile(rf"(?:{_LIST_AMOUNT} ?, )*{_LIST_AMOUNT} ?,? and {_LIST_AMOUNT}", re.I)
_YEARS = re.compile(r"(?:(?:19|20)\d\d ?, ?)*(?:19|20)\d\d ?,? and (?:[a-z]+ ){0,2}(?:19|20)\d\d")
_ITS_YEAR = re.compile(
    r"(?:[^,;:\d]|\bq\d){0,60}?\b(?:in|for|at|as of|ended|during|end of) (?:q\d |[a-z]+ )*"
    r"(?:\d\d? ?, )?(?:19|20)\d\d(?: q\d)?\b",
    re.I,
)


def read_periods(text: str) -> tuple[set[str], set[str]]:
    """The years of a text, of "2017/18" the later, and its quarters: "2022Q3"."""
    years = {century + (last or first) for century, first, last in _SAID_YEAR.findall(text)}
    quarters = {
        f"{one['year'] or one['before']}Q"
        f"{one['digit'] or one['behind'] or _ORDER[one['word'].lower()]}"
        for one in _QUARTER.finditer(text)
    }
    return years, quarters


class Wording(NamedTuple):
    """How a sentence words its masked number.

    Attributes:
        is_change: as what something rose or fell by.
        direction: ``up`` or ``down``, of a change where it is said.
        metric: the words that name what the number is of; the sentence where it has no others.
        whole: the words behind "of", that a share may be of.
        when: the year, or quarter, that the number is of, where its place says it.
        is_supposed: of a case that is only thought of: "a 10 % decrease would".
    """

    is_change: bool
    direction: str
    metric: str
    whole: str
    when: frozenset[str]
    is_supposed: bool


def read_wording(masked: str) -> Wording:
    """How a sentence with :data:`MASK` words that number."""
    before, _, behind = masked.partition(MASK)
    clause = re.split(r"[.;:] ", before)[-1]
    change = _change_behind(behind) or _change_before(clause, behind)
    direction, metric = change or ("", masked)
    whole = _WHOLE.match(behind) or _OF_WHOLE.search(before)
    return Wording(
        change is not None,
        direction,
        metric or masked,
        whole[1] if whole else "",
        _when(masked, behind),
        _SUPPOSED.search(masked) is not None,
    )


def _change_behind(behind: str) -> tuple[str, str] | None:
    """Direction and metric of "[MASK] decrease in net sales"."""
    if not (lead := _CHANGE_BEHIND.match(behind)):
        return None
    said = _DIRECTION.match(behind, lead.end())
    assert said is not None
    named = _OBJECT.match(behind, said.start())
    return said.lastgroup or "", named[1] if named else ""


def _change_before(clause: str, behind: str) -> tuple[str, str] | None:
    """Direction and metric of "net sales fell by [MASK]", "a decrease in net sales of [MASK]", "a
    decrease of [MASK] in net sales".
    """
    said = list(_DIRECTION.finditer(clause))
    if not said:
        return None
    between = clause[said[-1].end() :]
    is_verb = re.fullmatch(r"\w+ed|grew|rose|fell|sank|slid|shrank", said[-1][0], re.I)
    is_noun = not is_verb and _NOUN.match(between)
    is_stated = is_noun and re.search(r"\b(?:was|were|is|of)\s*$", between)
    numbers = [one for one in re.finditer(r"\d[\d.,]*%?", between) if not _SAID_YEAR.match(one[0])]
    if len(between) > 120 or (numbers and not _JOINED.match(between[numbers[-1].end() :])):
        return None
    if not re.search(rf"\bby {_ABOUT}$", between) and (
        _ELSE.search(between) or (_LEVEL.search(between) and not is_stated)
    ):
        return None
    named = _OBJECT.match(clause, said[-1].start())
    if is_noun and (not named or numbers):
        named = _BEHIND_OF.match(behind) or named
    return said[-1].lastgroup or "", named[1] if named else clause


def _when(masked: str, behind: str) -> frozenset[str]:
    """The period of the masked number: that at its place in a list of years, or right behind it."""
    years = [re.findall(r"(?:19|20)\d\d", one[0]) for one in _YEARS.finditer(masked)]
    for one in _LIST.finditer(masked):
        places = [MASK in amount for amount in re.findall(_LIST_AMOUNT, one[0])]
        if any(places) and (fit := [own for own in years if len(own) == len(places)]):
            return frozenset({fit[0][places.index(True)]})
    own = _ITS_YEAR.match(behind)
    return frozenset().union(*read_periods(own[0])) if own else frozenset()
