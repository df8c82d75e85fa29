"""What of a query reads like a condition and was not understood.

Clauses ("that have a roof", "without a coach"), amounts and superlatives that are left over when
columns, sort rule and conditions are taken out. Nouns and their adjectives ("electric buses") say
what the text is about; they are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.places import Places
from tablemend.verifier.scope_values import GONE, QUOTED

READ = "\1"
"""Stands in a masked query for a condition that was read."""
TITLE = "\2"
"""Stands there for a name; a clause around it may still be a condition."""

_SENTENCE = re.compile(r"(?:[^.;!?\n]|\.(?!\s|$))+")
_IDLE_SENTENCE = re.compile(
    r"\s*(?:(?:please|and|then|also|otherwise)\s*,?\s*)*(?:if\b|when(?:ever)? (?:a|the|no)\b"
    r"|where (?:a|no|the) "
    r"|leave\b|return\b|output\b|write\b|format\b|fill\b|mark\b|put (?:a|-|n/a)\b|round\b"
    r"|use (?:a|an|-|n/a|the "
    r"format)\b|do not (?:add|invent|guess|use|write|explain|make)|don't (?:add|invent|guess|use"
    r"|write)"
    r"|its (?:header|columns)|the (?:columns|header|table|rows)\b|columns?\b|ensure\b|make sure\b"
    r"|each row|one row|every row|any (?:missing|unknown))",
    re.I,
)
_COMPUTED = re.compile(
    r"\b(?:calculated|computed|derived|obtained|(?:sum|difference|product|ratio|quotient"
    r"|average) of"
    r"|divided by|multiplied by|subtracting|adding)\b",
    re.I,
)
_OPENER = re.compile(
    r"\b(?P<word>where|whose|who|that|which|having|with|without|except(?: for)?|excluding"
    r"|other than"
    r"|unless|not|never|older than|younger than)\b",
    re.I,
)
_IDLE_AFTER = re.compile(
    r"\s*(?:(?:is|are|should|must|may|can|has to|have to|will)\s+)?(?:(?:the|its|their|these"
    r"|this|those|following|all|only|exactly|just)\s+)*"
    r"(?:columns?\b|headers?\b|fields?\b|rows?\b|lists?\b|shows?\b|covers?\b|contains?\b"
    r"|includes?\b|summari[sz]es?\b"
    r"|presents?\b|compares?\b|details?\b|order\b|sequence\b|way\b|format\b|case\b|context\b"
    r"|text\b|entries\b|entry\b"
    r"|information\b|data\b|each\b|one row|a row|sort|order|mentioned\b|given\b|stated\b"
    r"|available\b|in the (?:context|text)"
    r"|described\b|based\b|provided\b|table\b|a header|an? heading|have the columns?|be\b|\0"
    r"|[,.:;]|$)",
    re.I,
)
_THAT = re.compile(r"\b(?:so|sure|ensure|in|table|list|one|after|with)\s*,?\s*$", re.I)
_CONDITION_AND = re.compile(
    r"(?P<word>\b(?:and|or|but)\b)(?=[^,.;\0\1]*\b(?:is|are|was|were|has|have|had|not|than|least"
    r"|most)\b)",
    re.I,
)
_SUPERLATIVE = re.compile(
    r"\b(?:the\s+)?(?:top|best(?!-)|worst|largest|biggest|smallest|highest|lowest|oldest"
    r"|youngest|newest|longest"
    r"|shortest|tallest|fastest|slowest|earliest|latest|richest|cheapest|heaviest|strongest|deepest"
    r"|most [a-z]+|least [a-z]+|leading)\b(?!\s*(?:first|to\b|of all|row|column|,|\0|\."
    r"|$))[^,.;:\0\1]{0,30}",
    re.I,
)
_LEAST = re.compile(r"\b(?:at)\s+$", re.I)
_STOP = re.compile(
    r"[,;:](?=\s|$)|[!?\0\n]|\.(?=\s|$)|\b(?:based on|drawn from|as described|from the|into a"
    r"|in a table|with the columns?"
    r"|sorted|please)\b",
    re.I,
)
_IDLE_AMOUNT = re.compile(
    r"\s*(?:rows?|columns?|tables?|decimals?|digits?|lines?|entr(?:y|ies)|fields?|places?"
    r"|markdown|header|following|of (?:the|these|them|which))\b",
    re.I,
)
_LEAD = re.compile(
    r"\b(?:of|from|in|for|by|at|on|with|to|aged|between|during|after|before|since|under|over"
    r"|excluding"
    r"|except)\b(?:\s+[^\s,.;:\0\1]+){0,3}\s+$",
    re.I,
)
_REACH = 200  # characters before an amount in which what leads to it begins
_BEHIND = re.compile(
    r"(?:\s+(?:to|and|-|\u2013)\s+[\d.,]*\d)?(?:[ -](?!(?:with|in|of|the|and|or|for|from|by"
    r"|based|sorted|as|on|at)\b)[^\W\d_][\w-]*){0,2}"
)


def find_unread(query: str, masked: str) -> Iterator[str]:
    """The pieces of a query that read like conditions, as the query has them.

    Args:
        query: its text.
        masked: the same at the same places; what is understood is :data:`GONE`, conditions
            that were read :data:`READ`.
    """
    taken = 0
    for sentence in _SENTENCE.finditer(masked):
        text = sentence[0]
        if _IDLE_SENTENCE.match(text) or _COMPUTED.search(text):
            continue
        for start, end in _pieces(text):
            start, end = sentence.start() + start, sentence.start() + end
            said = query[max(start, taken) : end].strip(" ,")
            if end > taken and said and start >= taken:
                yield " ".join(said.split())
            taken = max(taken, end)


def _pieces(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    openers = sorted(
        [match for pattern in (_OPENER, _CONDITION_AND) for match in pattern.finditer(text)],
        key=lambda match: match.start(),
    )
    for number, match in enumerate(openers):
        stop = _STOP.search(text, match.end("word"))
        end = stop.start() if stop else len(text)
        if number + 1 < len(openers):
            end = min(end, openers[number + 1].start())
        clause = text[match.end("word") : end]
        word = match["word"].lower()
        if READ in clause or not any(map(str.isalnum, clause)):
            continue
        if word in ("and", "or", "but") and READ not in text[: match.start()]:
            continue
        if _IDLE_AFTER.match(clause) or (word == "that" and _THAT.search(text[: match.start()])):
            continue
        if word == "with" and not _is_condition(clause):
            continue
        found.append((match.start(), end))
    quoted = [match.span() for match in QUOTED.finditer(text)]
    for match in _SUPERLATIVE.finditer(text):
        if any(start <= match.start() < end for start, end in quoted):
            continue
        near = text[max(0, match.start() - _REACH) : match.start()]
        if not _LEAST.search(near) and not match[0].lower().startswith("most of"):
            found.append(_without_clause(match))
    places = Places(text)
    amounts = {(one.start, one.end) for one in places.numbers}
    for start, end in amounts | {(one.start, one.end) for one in places.dates}:
        if any(one <= start < other for one, other in quoted):
            continue
        if _IDLE_AMOUNT.match(text, end) or text[start:end].lower() in (
            "one",
            "a",
            "an",
            "no",
            "none",
        ):
            continue
        low = max(0, start - _REACH)
        leads = [low + match.start() for match in _LEAD.finditer(text[low:start])]
        begin = leads[-1] if leads else start
        behind = _BEHIND.match(text, end)
        found.append((begin, behind.end() if behind else end))
    return sorted(one for one in found if GONE not in text[slice(*one)].strip(GONE))


def _is_condition(clause: str) -> bool:
    """Whether what one has is a condition: "with a roof"; not "with the highest first"."""
    return not re.match(
        r"\s*(?:(?:the|its|their)\s+)?(?:\w+\s+){0,3}(?:first|last|order|values?|units?|dates?"
        r"|names?)\b|\s*respect\b|\s*regard\b",
        clause,
        re.I,
    )


def _without_clause(match: re.Match[str]) -> tuple[int, int]:
    cut = re.search(
        r"\s+(?:of|from|in|for|by|at|on|with|that|who|whose|which|where|and|sorted|based)\b",
        match[0],
    )
    return match.start(), match.start() + (cut.start() if cut else len(match[0].rstrip()))
