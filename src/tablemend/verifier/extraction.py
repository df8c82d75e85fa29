"""The program extractor: sentences, clauses, coordinations and lists become atomic claims.

Every amount, comparison, point in time and name that a sentence states is the focus of one claim
(TabFaith 4.1); what is left, a part that states something without any of them, is one claim. Of an
answer table every filled cell is a claim, and that each row belongs there.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from tablemend.detector.keys import filled_rows, primary_key
from tablemend.detector.query import decimals_from_query
from tablemend.records import Claim, ClaimKind, Document
from tablemend.tables.table import Table
from tablemend.values.cells import is_blank, read_value
from tablemend.values.dates import MONTHS
from tablemend.values.numbers import ONE_TO_TEN
from tablemend.values.places import Places
from tablemend.values.text import Span, align, clean
from tablemend.verifier.clauses import Clauses, Part, name_spans
from tablemend.verifier.lexicon import Cue, find_cues

# ---- lists

_BORDER = re.compile(
    r"\s*(?:[,;](?!(?<=\d.)\d))\s*(?:(?:and|as well as)\s+)?|\s+(?:and|as well as)\s+"
)
_GROUP = re.compile(r"[(\[][^()\[\]]*[)\]]")
_ADDITION = re.compile(r"\s*[(\[][^()\[\]]*\d[^()\[\]]*[)\]]")
_ARTICLE = re.compile(r"an?\s+[a-z]")
_ARTICLE_BEFORE = re.compile(r"\ban?\s+\Z")
_BEFORE_AMOUNT = re.compile(
    r"(?:(?:also|only|just|about|over|nearly|around|at|a|an|the|season|career|game|team|high|-)\s*)*\Z"
)
# What a verb or preposition takes as one pair, and lists whose order means something.
_WHOLE = re.compile(
    r"\b(?:between|from|combin\w+|total\w*|sum\w*|averag\w+|difference|both|either|ratio|rang\w+)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\b(?:between|from)\s+(?:(?:the|about|around)\s+)?\Z", re.IGNORECASE)
# "6 hours and 20 minutes" is one amount.
_UNITS = re.compile(
    r"\b(?:hours?|hrs?|feet|foot|ft|years?|pounds?|lbs?|minutes?|days?)\s+and\s+\S+\s+"
    r"(?:minutes?|mins?|seconds?|inch(?:es)?|months?|days?|hours?|ounces?)\b"
)
_OF = re.compile(r"\b(?:of|at|to|by)\s+\Z")
_NO_ITEM = re.compile(
    r"\b(?:than|more|less|fewer|which|who|that|while|respectively|to|but|or|versus|vs)\b"
)
_PREPOSITION = re.compile(r"\b(?:in|on|to|for|of|with|from|by|at|as)\b")
_MAX_WORDS = 8
_MAX_NOUNS = 5
_GUARD = 30  # characters before a list


def noun_items(text: str, part: Part) -> list[Span]:
    """The items of a list of three or more nouns: "Wi-Fi, a compass and NFC"."""
    items = [item for item in _segments(text, predicate(part)) if item.start < item.end]
    found = [item for item in items if len(text[slice(*item)].split()) <= _MAX_NOUNS]
    return found if len(found) >= 3 else []


def predicate(part: Part) -> Span:
    """What is said of the subject; the whole part where that is not clear."""
    behind = [token for token in part.tokens if part.verb is not None and token.start > part.verb]
    if not behind or not any(token.word[0].isalnum() for token in behind):
        return Span(part.start, part.end)
    return Span(behind[0].start, part.end)


class Items:
    """The lists of a part."""

    def __init__(
        self, text: str, part: Part, amounts: Sequence[Span], nouns: Sequence[Span]
    ) -> None:
        self._text = text
        self._part = part
        self._amounts = amounts
        listed = self._listed(amounts)
        self._is_nouns = not listed
        self._items = listed or self._nouns(nouns)
        rest = text[self._items[0].start : part.end] if self._items else ""
        whole = part.statement.rstrip(" .!")
        self._head = whole.removesuffix(rest) if rest and whole.endswith(rest) else ""
        if not self._head:
            self._items = []

    @property
    def single(self) -> list[Span]:
        """The items that state one thing by their article alone: "a steal" among amounts."""
        items = () if self._is_nouns else self._items[1:]
        starts = [amount.start for amount in self._amounts]
        led = (item for item in items if _ARTICLE.match(self._text, *item))
        return [item for item in led if not any(item.start <= s < item.end for s in starts)]

    def statement(self, focus: Span) -> str:
        """The part's statement with only the item that a focus stands in.

        Bracketed amounts are left out where the focus is not among them; behind a name, they
        are a statement about it alone.
        """
        text, part = self._text, self._part
        statement = part.statement
        if self._items and focus.start < self._items[-1].end:
            before = (item for item in reversed(self._items) if item.start <= focus.start)
            item = next(before, self._items[0])
            statement = self._head + text[item.start : item.end]
        groups = (Span(*match.span()) for match in _GROUP.finditer(text, part.start, part.end))
        around = (one for one in groups if one.start < focus.start and focus.end < one.end)
        group = next(around, None)
        if group is None:
            return _ADDITION.sub("", statement).strip() or statement
        own = text[slice(*group)]
        for name in name_spans(part.tokens):
            if 0 <= group.start - name.end <= 1:
                return f"{text[name.start : name.end]} {own}"
        return _ADDITION.sub(lambda match: match[0] if match[0].strip() == own else "", statement)

    def _listed(self, amounts: Sequence[Span]) -> list[Span]:
        """The items of a list of amounts: every item has one and no verb."""
        part = self._part
        segments = _segments(self._text, Span(part.start, part.end))
        groups = [match.span() for match in _GROUP.finditer(self._text, part.start, part.end)]
        amounts = [a for a in amounts if not any(start < a.start < end for start, end in groups)]
        said = [a for a in amounts if part.verb is None or a.start > part.verb]
        for place, segment in enumerate(segments[:-1]):
            inside = [amount for amount in said if segment.start <= amount.start < segment.end]
            if not inside:
                continue
            first, rest = inside[0], segments[place + 1 :]
            following = list(takewhile(lambda item: self._is_item(item, amounts), rest))
            head = self._text[max(part.start, first.start - _GUARD) : first.start]
            words = self._text[first.start : segment.end]
            if not following or _WHOLE.search(head) or _NO_ITEM.search(words):
                return []
            before = [self._text[max(0, one.start - _GUARD) : one.start] for one in inside]
            listed = self._text[segment.start : following[-1].end]
            if any(map(_OPEN.search, before)) or _UNITS.search(listed):
                return []  # "between June and July" is one time
            if _OF.search(head) and not all(
                any(one.start == item.start and one.end >= item.end - 1 for one in amounts)
                for item in following
            ):
                return []  # "a resolution of 480 and a camera": not both are the resolution
            article = _ARTICLE_BEFORE.search(head)
            start = first.start - len(article[0]) if article else first.start
            return [Span(start, segment.end), *following]
        return []

    def _is_item(self, item: Span, amounts: Sequence[Span]) -> bool:
        said = self._text[item.start : item.end]
        bare = _GROUP.sub("", said)
        if len(bare.split()) > _MAX_WORDS or _NO_ITEM.search(bare):
            return False
        first = next((a.start for a in amounts if item.start <= a.start < item.end), None)
        if first is None:
            return _ARTICLE.match(said) is not None and len(bare.split()) <= 3
        return _BEFORE_AMOUNT.match(self._text[item.start : first]) is not None

    def _nouns(self, nouns: Sequence[Span]) -> list[Span]:
        """Nouns that the verb takes each alone; "flies to Rome, Oslo and Bern" is not divided."""
        said = [self._text[item.start : item.end] for item in nouns]
        return [] if any(_PREPOSITION.search(words) for words in said[:-1]) else list(nouns)


def _segments(text: str, span: Span) -> list[Span]:
    """A text between two places, divided at commas and "and" outside brackets."""
    plain = _GROUP.sub(lambda match: "_" * len(match[0]), text[span.start : span.end])
    edges = [span.start]
    for match in _BORDER.finditer(plain):
        edges += [span.start + match.start(), span.start + match.end()]
    edges.append(span.end)
    return [Span(*edge) for edge in zip(edges[::2], edges[1::2], strict=True)]


# ---- claims of a text

VERSION = "program/4"

_TIMES = frozenset(
    "weekday month season clock quarter half period fiscal decade century before after first last "
    "early late".split()
)
_COMPARED = frozenset({"superlative", "rank", "comparative", "change"})
_ALONE = frozenset({"all", "both", "none", "neither", "only", "most", "half"})
_RANKING = frozenset({"superlative", "rank", "comparative"})
_OF_ALL = re.compile(r"\b(?:of|among|amongst|than|across)\s+(?:the\s+)?\Z")
_SENTENCE_END = re.compile(r"[.!?;]\s")
_COUNTED = frozenset({"times", "only", "multi_double"})
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d\Z")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|until|till|from|to|of|by|during|before|after|between|and|year|season|fiscal"
    r"|fy|q\d|early|late|mid|ended|ending|for|through|the|be|is|was|on|at)|[(\-/,'&]|^)\s*$"
)
_GLUED = re.compile(
    r"(?<![\w.,-])(?:(?P<amount>\d+[x\u00d7]\d+|\d+(?:[.,]\d+)?(?!(?:st|nd|rd|th|s)\b)[^\W\d_]{1,4}\d?)"
    r"|[A-Z][A-Za-z]*-\d+(?:\.\d+)?)(?![\w-])"
)
_GENERATION = re.compile(r"[2-6]G")  # of mobile networks
_PERIOD = re.compile(
    rf"(?:q[1-4]|quarter|half|fiscal|spring|summer|autumn|fall|winter|{'|'.join(MONTHS)}|h[12])$"
)
_YEAR_OF = re.compile(r"\s*,?\s*(?:(?:of|in|fiscal|fy)\s+)?(?:1[5-9]|20)\d\d")
_COUNTED_AFTER = re.compile(
    r"\s+(?!(?:in|to|and|of|the|with|was|is|has|as)\b|season|year|olympics|census|championships"
    r"|games|playoffs|elections)(?:[a-z]+s|people|men|women|children)\b|\s*[%\u00b0]"
)
_TIMES_SIGN = re.compile(r"\s?[x*]\s?\d")
_META = re.compile(
    r"(?:sure|certainly|of course|here (?:is|are|'s)|here's|please|thank|hello|hi|i hope|i'm|i am|"
    r"let me|let us|we hope|feel free|as an ai)\b|"
    r"(?:overall\s*,\s*)?(?:this|that|it) (?:is|was) (?:an?|the) (?:table|summary|report|list|chart"
    r"|overview)\b|"
    r"(?:overall\s*,\s*)?(?:this|the|these)\s+(?:following\s+|above\s+|given\s+|provided\s+)?"
    r"(?:table|data|summary|report|text|information|figures?|dataset|chart)\s+"
    r"(?:is|are|shows?|provides?|presents?|contains?|describes?|summari[sz]es?|lists?|gives?|below)\b"
)
_LONG = 300
_HAVING = frozenset(
    "is are was were be has have had features feature includes include offers offer supports "
    "support comes come contains contain boasts boast 's provides provide".split()
)
_BARE_ONLY = re.compile(rf"\s+(?:[$\u20ac\u00a3]?\d|[a-z]+ly\b|an?\b|(?:{ONE_TO_TEN})\b)")
_REFERENCE = re.compile(
    r"\b(?:tables?|fig(?:ure)?s?\.?|sections?|sec\.|appendix|eq(?:uation)?s?\.?)\s*\(?\d+(?:\.\d+)*\)?"
    r"(?:\s*(?:,|and|&|to|-)\s*\d+\b(?!\s*[.%]))?"
)
_REFERRING = re.compile(
    r"(?:shown|shows?|presented|reported|listed|given|summari[sz]ed|see|seen|found|mentioned|described"
    r"|according)\b.{0,40}\Z"
)
_WRITTEN_DATE = re.compile(
    r"(?<![\d-])(?:1[5-9]|20)\d\d\s?-\s?\d\d\s?-\s?\d\d(?![\d-])|\b\d{1,4} (?:bce?|ad|ce)\b"
)
_UNIT = 4  # characters: "8-14 FG", "2GB RAM"


class _Focus(NamedTuple):
    """The words that a claim turns on."""

    start: int
    end: int
    kind: ClaimKind


def extract_claims(text: str) -> Document:
    """Take a text apart into atomic claims (TabFaith 4.1, step 1).

    Every amount that :class:`~tablemend.values.places.Places` finds lies in the focus of a claim;
    only what counts the items of a list and what points to another table or figure ("Table 3")
    states nothing and is left out. The time is linear in the text.
    """
    places = Places(text)
    dates = [Span(date.start, date.end) for date in places.dates]
    numbers = [Span(stated.start, stated.end) for stated in places.numbers]
    foci = _with_glued(text, _foci(align(text), dates, numbers, find_cues(text)))
    clauses = Clauses(text, sorted([*dates, *numbers]))
    parts = list(clauses.parts())
    claims: list[Claim] = []
    for part, inside in zip(parts, _by_part(parts, foci), strict=True):
        nouns = noun_items(text, part)
        amounts = [Span(focus.start, focus.end) for focus in inside if focus.kind != "comparative"]
        items = Items(text, part, amounts, nouns)
        inside += [_Focus(*item, "numeric") for item in items.single]
        for focus in sorted(_claimed(text, part, inside, nouns, clauses.names)):
            start, end = min(part.start, focus.start), max(part.end, focus.end)
            turns_on = Span(focus.start, focus.end)
            statement = items.statement(turns_on)
            sentence = Span(min(part.sentence.start, start), max(part.sentence.end, end))
            said = text[start:end]
            claims.append(Claim(said, start, end, focus.kind, statement, turns_on, sentence))
    return Document(text, tuple(claims))


# ---- what a claim can turn on


def _foci(plain: str, dates: list[Span], numbers: list[Span], cues: Sequence[Cue]) -> list[_Focus]:
    """Amounts, dates and cue words, in order; what overlaps is one."""
    dates = [*dates, *(Span(*match.span()) for match in _WRITTEN_DATE.finditer(plain))]
    found = [(_Focus(*date, "temporal"), 0) for date in dates]
    found += [
        (_Focus(*cue[3:5], kind), 1)
        for place, cue in enumerate(cues)
        if (kind := _cue_kind(plain, cue)) and not _is_compared_with(plain, cues, place)
    ]
    found += [(_Focus(*number, _number_kind(plain, *number)), 2) for number in numbers]
    joined: list[tuple[_Focus, int]] = []
    for focus, rank in sorted(found, key=lambda one: (one[0].start, one[1])):
        if joined and _belong(plain, joined[-1][0], focus):
            before, first = joined[-1]
            kind = before.kind if first <= rank else focus.kind
            kind = "temporal" if _is_season(plain, before, focus) else kind
            joined[-1] = (_Focus(before.start, max(before.end, focus.end), kind), min(first, rank))
        else:
            joined.append((focus, rank))
    references = [Span(*match.span()) for match in _REFERENCE.finditer(plain)]
    ends = [span.end for span in references]
    return [
        focus
        for focus, _ in joined
        if (index := bisect_left(ends, focus.end)) == len(ends)
        or references[index].start > focus.start
    ]


def _belong(plain: str, one: _Focus, other: _Focus) -> bool:
    """Whether two foci overlap, or are a period and its year ("Q3 2023", "March of 2020")."""
    if other.start < one.end or _is_season(plain, one, other):
        return True
    if plain[one.end : other.start] == " . ":  # "73 . 95 %" of tokenised texts
        return plain[one.start : one.end].isdecimal() and plain[other.start].isdecimal()
    period = _PERIOD.search(plain, max(0, one.end - 12), one.end)
    year = _YEAR_OF.fullmatch(plain, one.end, other.end)
    return one.kind == "temporal" and period is not None and year is not None


def _is_season(plain: str, one: _Focus, other: _Focus) -> bool:
    """``23/24``: two years that follow each other."""
    first, second = plain[one.start : one.end], plain[other.start : other.end]
    return (
        (mark := plain[one.end : other.start].strip()) in ("/", "-")
        and first.isdecimal()
        and second.isdecimal()
        and len(second) in (2, len(first))
        and (int(first) + 1) % 10 ** len(second) == int(second)
        and (mark == "/" or len(first) == 4 or plain.startswith(" season", other.end))
    )


def _with_glued(text: str, foci: list[_Focus]) -> list[_Focus]:
    """Numbers glued to letters: "5MP" is an amount, the 19 of "COVID-19" part of a name."""
    starts = [focus.start for focus in foci]
    found = {focus.start: focus for focus in foci}
    for match in _GLUED.finditer(text):
        start, end = match.span()
        place = bisect_left(starts, start)
        inside = foci[place : bisect_left(starts, end)]
        if (place and foci[place - 1].end > start) or (match["amount"] and inside):
            continue
        is_amount = match["amount"] and not _GENERATION.fullmatch(match[0])
        kind: ClaimKind = "numeric" if is_amount else "attribute"
        if match["amount"] or (inside and inside[-1].end <= end):
            for focus in inside:
                del found[focus.start]
            found[start] = _Focus(start, end, kind)
    return [found[start] for start in sorted(found)]


def _cue_kind(plain: str, cue: Cue) -> ClaimKind | None:
    """The kind of the claim that a cue alone makes; ``None`` where it only colours another."""
    if cue.kind in _COMPARED:
        return None if cue.sense in ("compare", "difference") else "comparative"
    if cue.kind == "quantifier":
        if cue.sense == "only" and _BARE_ONLY.match(plain, cue.end):
            return None  # "only 12", "only slightly"
        return "comparative" if cue.sense in _ALONE else None
    if cue.kind == "count":
        is_group = cue.sense == "number" and cue.number is not None  # "a pair of"
        return "numeric" if cue.sense in _COUNTED or is_group else None
    return "temporal" if cue.kind == "temporal" and cue.sense in _TIMES else None


def _is_compared_with(plain: str, cues: Sequence[Cue], place: int) -> bool:
    """Whether a quantifier only says with whom is compared: "of all regions", "no other region"."""
    cue = cues[place]
    if cue.kind != "quantifier" or cue.sense not in ("all", "none"):
        return False
    near = [
        other
        for other in cues[max(0, place - 2) : place + 3]
        if not _SENTENCE_END.search(plain, min(cue.end, other.end), max(cue.start, other.start))
    ]
    if cue.sense == "all":
        after = _OF_ALL.search(plain, max(0, cue.start - 8), cue.start)
        return bool(after) and any(other.kind in _RANKING for other in near)
    following = [(other.kind, other.sense) for other in near if other.start > cue.start]
    return following[:1] == [("comparative", "equal")] or (
        len(following) > 1
        and following[0][0] == "comparative"
        and following[1] == ("comparative", "compare")
    )


def _number_kind(plain: str, start: int, end: int) -> ClaimKind:
    if not _YEAR.match(plain[start:end]):
        return "numeric"
    if _COUNTED_AFTER.match(plain, end) or _TIMES_SIGN.match(plain, end):
        return "numeric"
    return "temporal" if _YEAR_BEFORE.search(plain[max(0, start - 12) : start]) else "numeric"


def _by_part(parts: Sequence[Part], foci: Sequence[_Focus]) -> list[list[_Focus]]:
    """The foci of each part: a focus belongs where its last character stands."""
    starts = [part.start for part in parts]
    shared: list[list[_Focus]] = [[] for _ in parts]
    for focus in foci:
        index = max(bisect_right(starts, focus.end - 1) - 1, 0)
        if parts and parts[index].sentence.start < focus.end <= parts[index].sentence.end + 1:
            shared[index].append(focus)
    return shared


# ---- the claims of a part


def _claimed(
    text: str, part: Part, foci: list[_Focus], nouns: list[Span], names: frozenset[str]
) -> list[_Focus]:
    """What the claims of a part turn on."""
    if not foci and _asserts_nothing(text, part):
        return []
    taken = list(foci)
    for span in nouns:
        if not _overlaps(taken, span):
            taken.append(_Focus(*span, "attribute"))
    verb = next((token.word for token in part.tokens if token.start == part.verb), "")
    kind: ClaimKind = "attribute" if verb in _HAVING else "relational"
    for span in name_spans(part.tokens):
        word = text[span.start : span.end].casefold()
        opening = span.start == part.sentence.start and " " not in word and word not in names
        unit = len(word) <= _UNIT and any(0 <= span.start - focus.end <= 1 for focus in foci)
        mark = text[span.start - 1 : span.start] == "[" and text[span.end : span.end + 1] == "]"
        if not (opening or unit or mark) and not _overlaps(
            [*taken, _Focus(*part.subject, kind)], span
        ):
            taken.append(_Focus(*span, kind))
    return taken or [_Focus(*predicate(part), "attribute")]


def _asserts_nothing(text: str, part: Part) -> bool:
    """Greetings, questions, and sentences about the summary itself."""
    start, end = part.sentence
    if end - start > _LONG:
        return text[end - 1] == "?"
    sentence = align(text[start:end])
    reference = _REFERENCE.search(sentence)
    refers = reference and _REFERRING.search(sentence, 0, reference.start())
    return sentence.endswith("?") or bool(refers or _META.match(sentence))


def _overlaps(foci: Sequence[_Focus], span: Span) -> bool:
    return any(focus.start < span.end and span.start < focus.end for focus in foci)


# ---- claims of an answer table


def answer_claims(table: Table, query: str = "") -> Document:
    """Take an answer table apart into claims.

    Row by row: first that the row belongs into the table, then each cell that is no blank. Rows
    of blanks claim nothing, nor do columns that the query has rounded: no text states them. A row
    is named by the column that names the rows (:func:`~tablemend.detector.keys.primary_key`), or
    by its number where that cell is blank.

    Args:
        table: the answer.
        query: the question that it answers; kept for who verifies the rows' scope.
    """
    key, computed = primary_key(table), decimals_from_query(query, table.columns)
    claims: list[Claim] = []
    for index in filled_rows(table):
        row = table.rows[index]
        name = "" if is_blank(row[key]) else clean(row[key] or "")
        stands = f"{name} is one of the rows." if name else f"There is a row number {index + 1}."
        claims.append(Claim(stands, None, None, "presence", stands, row=index))
        for place, cell in enumerate(row):
            if cell is None or is_blank(cell) or table.columns[place] in computed:
                continue
            column = clean(table.columns[place])
            value = read_value(cell)
            kind: ClaimKind = "attribute" if value.number is None else "numeric"
            kind = "temporal" if value.dates else kind
            whose = "" if place == key else f" of {name or f'row {index + 1}'}"
            said = f"The {column}{whose} is {clean(cell)}."
            claims.append(
                Claim(said, None, None, kind, said, row=index, column=table.columns[place])
            )
    return Document("", tuple(claims), table, query)
