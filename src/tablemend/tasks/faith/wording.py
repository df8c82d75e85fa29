"""What a sentence of a report says of the number that is masked in it.

A formula is a derivation only where the sentence words it: "rose [MASK]" is a change, "rose to
[MASK]" none; "[MASK] of total assets" is a share of what is named behind it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tablemend.tasks.faith.sample import MASK

_YEAR = re.compile(r"\b(19|20)(\d\d)(?:[/\u2013-](\d\d))?\b")
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
_BEHIND = re.compile(
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
_AMOUNT = (
    rf"(?:{re.escape(MASK)}|[($\u20ac\u00a3-]? ?[($\u20ac\u00a3-]? ?\d(?:[\d.,]*\d)?"
    r"(?: ?\))?(?: ?(?:%|percent|million|billion|thousand))?)"
)
_LIST = re.compile(rf"(?:{_AMOUNT} ?, )*{_AMOUNT} ?,? and {_AMOUNT}", re.I)
_YEARS = re.compile(r"(?:(?:19|20)\d\d ?, ?)*(?:19|20)\d\d ?,? and (?:[a-z]+ ){0,2}(?:19|20)\d\d")
_ITS_YEAR = re.compile(
    r"(?:[^,;:\d]|\bq\d){0,60}?\b(?:in|for|at|as of|ended|during|end of) (?:q\d |[a-z]+ )*"
    r"(?:\d\d? ?, )?(?:19|20)\d\d(?: q\d)?\b",
    re.I,
)


def read_periods(text: str) -> tuple[set[str], set[str]]:
    """The years of a text, of "2017/18" the later, and its quarters: "2022Q3"."""
    years = {century + (last or first) for century, first, last in _YEAR.findall(text)}
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
    if not (lead := _BEHIND.match(behind)):
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
    numbers = [one for one in re.finditer(r"\d[\d.,]*%?", between) if not _YEAR.match(one[0])]
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
        places = [MASK in amount for amount in re.findall(_AMOUNT, one[0])]
        if any(places) and (fit := [own for own in years if len(own) == len(places)]):
            return frozenset({fit[0][places.index(True)]})
    own = _ITS_YEAR.match(behind)
    return frozenset().union(*read_periods(own[0])) if own else frozenset()
