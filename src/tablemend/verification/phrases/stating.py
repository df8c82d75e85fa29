"""What is said of one row in words of its own: "plays for", "directed by", "was born in"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.cells import equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import header_terms, terms
from tablemend.verification.negation import DENIED
from tablemend.verification.phrases.shape import Part, Shape

_FOR = re.compile(
    r"\b(?:plays?|played|playing|drives?|drove|driving|rides?|runs?|ran|running|works?|worked"
    r"|scored|grabbed|C\d+|N\d+ \w+) for (?:the )?(?P<value>[RV]\d+)"
)
_PAIRED = re.compile(r"\b(?P<number>N\d+)(?: C\d+)? (?:for|with|in|at) (?:the )?(?P<other>R\d+)")
_COMPARED = re.compile(
    r"\b(?:compared (?:with|to)|versus|vs\.?|against|and) (?:just |only )?(?P<number>N\d+)"
    r" (?:for|in|with|at) (?:the )?(?P<other>[RP]\d+)"
)
_OFFERED = re.compile(
    r"(?P<other>[RC]\d+) (?P<word>(?:is|are|was|were)(?P<no> not|n't)? (?:included|available"
    r"|offered|provided|supported))(?P<lacks>) (?:at|in|with|on|for) (?:the )?(?P<one>[RC]\d+)"
)
_AT = re.compile(r"(?P<other>C\d+) (?:at|in|with|on|for) (?:the )?(?P<one>R\d+)(?=[.,]|$)")
_ATTRIBUTE = re.compile(
    r"\b(?P<verb>[a-z]{5,}|[RC]\d+) (?:in|at|by|as|on) (?:the )?(?P<value>[RVP]\d+)"
)
_STEM = 6  # letters that "headquartered" shares with "Headquarters"
_COUNTED = re.compile(
    r"(?P<number>N\d+) (?:of (?:the|all) N\d+ )?(?:[RC]\d+|\w+)(?: (?:include|have|has|had|offer"
    r"|support|provide)s?(?: an?)?)? (?P<column>C\d+)"
)
_BY = re.compile(r"\b(?P<column>C\d+) by (?:the )?(?P<value>[RV]\d+)")
_WHEN = re.compile(r"(?P<attribute>[RC]\d+) (?:in|on) (?P<value>P\d+)")
_OFFICE = re.compile(
    r"\b(?:was|is|were|are|became|an|a) (?:an? )?(?:\w+ly |\w+an |\w+ish )?"
    r"(?P<noun>[a-z]{3,}(?:ist|er|or|ian|man|woman|ess|ect|ant|eon|cian))\b"
)
_OFFICES = frozenset(t for word in ("occupation", "profession", "job", "role") for t in terms(word))
# Who is called one of these is often something narrower in the table.
_BROAD = frozenset(
    "musician entertainer performer author leader player master creator professor partner other "
    "member winner number former longer daughter sister brother mother father sometimes "
    "singer woman man human christian american senior junior major minor".split()
)
_ON = re.compile(r"(?P<value>V\d+) (?:on|in) (?P<rows>[RP]\d+(?:(?:,|,? and) [RP]\d+)*)")
_OF = re.compile(r"\b(?:an?|its|the) (?P<column>C\d+) of (?P<number>N\d+)")
_NONE = re.compile(
    r"^(?P<number>N\d+) (?P<column>C\d+) (?P<word>fell|was recorded|was seen) (?:on|in) "
)
_HAS = re.compile(
    r"(?P<one>[RC]\d+) (?P<word>(?:is|are|was|were|has|have|had|supports?|includes?|offers?"
    r"|comes? with)(?P<no> not| no|n't)?(?: a| an| the)?|(?P<lacks>lacks?|lacked))"
    r" (?P<other>[RC]\d+)"
)
_TRUTHS = {
    "yes": True,
    "true": True,
    "\u2713": True,
    "\u2714": True,
    "no": False,
    "false": False,
    "\u2717": False,
}
_OWN_OF = re.compile(r"N\d+ (?:out )?of (?:its|their|his|her) (?P<number>N\d+) (?P<noun>\w+)")
_PLAYED = frozenset(t for word in ("played", "games", "matches", "gp") for t in terms(word))


def judge_statements(shape: Shape) -> Iterator[Finding]:
    """Findings on what the sentence says of its one row in a phrase that names the column."""
    yield from _features(shape)
    if DENIED.search(shape.text):
        return
    yield from _values(shape)
    yield from _dates(shape)
    yield from _attributes(shape)
    yield from _offices(shape)
    if shape.grid.transposed:
        return
    for match in _FOR.finditer(shape.text):
        value = shape.part(match["value"])
        columns = {column for _, column in value.places}
        if len(columns) == 1 and (row := _row(shape, value, match.start())) is not None:
            yield from _compare(shape, value, row, next(iter(columns)))
    for match in _BY.finditer(shape.text):
        value, column = shape.part(match["value"]), shape.part(match["column"])
        row = _row(shape, value, match.start())
        if row is not None and len(column.columns or ()) == 1:
            yield from _compare(shape, value, row, next(iter(column.columns or ())))


def _values(shape: Shape) -> Iterator[Finding]:
    """Values that a preposition joins with their row: "sunny on Monday", "a high of 23"."""
    text = shape.text
    if not shape.grid.transposed:
        for match in _ON.finditer(text):
            value = shape.part(match["value"])
            columns = {column for _, column in value.places}
            days = [shape.part(mark) for mark in re.findall(r"[RP]\d+", match["rows"])]
            if len(columns) != 1 or not all(len(day.rows or ()) == 1 for day in days):
                continue
            for day in days:
                yield from _compare(shape, value, next(iter(day.rows or ())), next(iter(columns)))
    named = [part for part in shape.parts if part.mark in "RP"]
    for pattern in (_OF, _NONE):
        for match in pattern.finditer(text):
            column, amount = shape.part(match["column"]), shape.part(match["number"]).amount
            cell = shape.only([column, *named])
            if (
                cell is None
                or amount is None
                or shape.agreement(amount, cell.value, cell) != "same"
            ):
                continue
            where = shape.span(*match.span("word" if pattern is _NONE else "column"))
            reason = shape.grid.evidence(cell.row, cell.column).text
            yield shape.finding(where, True, "REL", reason, (cell,))
    measured = [part for part in shape.parts if part.mark == "C"]
    paired = list(_PAIRED.finditer(text))
    for match in (*_COMPARED.finditer(text), *(paired if len(paired) > 1 else ())):
        other, part = shape.part(match["other"]), shape.part(match["number"])
        shared = [p for p in named if p.mark != other.mark]
        cell = shape.only([other, *shared, *measured]) if len(measured) == 1 else None
        if cell is None or part.amount is None:
            continue
        agreement = shape.agreement(part.amount, cell.value, cell)
        if agreement in ("same", "different"):
            where = shape.span(*match.span("number"))
            right = shape.grid.cell(cell.row, cell.column)
            reason = shape.grid.evidence(cell.row, cell.column).text
            yield shape.finding(
                where, agreement == "same", "NUM", reason, (cell,), kind="number", expected=(right,)
            )
    for match in _OWN_OF.finditer(text):
        part = shape.part(match["number"])
        played = [
            Part("C", -1, -1, columns=frozenset({column.index}))
            for column in shape.grid.columns
            if frozenset(header_terms(column.header)) & _PLAYED and column.index in shape.numeric
        ]
        if len(played) != 1 or part.amount is None or not _PLAYED & frozenset(terms(match["noun"])):
            continue
        cell = shape.only([*named, *played])
        if cell is None:
            continue
        agreement = shape.agreement(part.amount, cell.value, cell)
        if agreement in ("same", "different"):
            where = shape.span(*match.span("number"))
            right = shape.grid.cell(cell.row, cell.column)
            reason = shape.grid.evidence(cell.row, cell.column).text
            yield shape.finding(
                where, agreement == "same", "NUM", reason, (cell,), kind="number", expected=(right,)
            )


def _features(shape: Shape) -> Iterator[Finding]:
    """What a thing has or is, in cells of yes and no: "is not waterproof"."""
    for match in _COUNTED.finditer(shape.text):
        part, columns = shape.part(match["number"]), shape.part(match["column"]).columns
        if part.amount is None or part.amount.hedge or len(columns or ()) != 1:
            continue
        column = next(iter(columns or ()))
        kept = [_TRUTHS.get(shape.grid.cell(row, column).casefold()) for row in shape.rows]
        if None in kept:
            continue
        count = sum(map(bool, kept))
        yield shape.finding(
            shape.span(*match.span("number")),
            part.amount.value == count,
            "NUM",
            f"{count} rows with {shape.grid.columns[column].header}",
            kind="number",
            expected=(str(count),),
        )
    for match in _AT.finditer(shape.text):
        said = shape.name(shape.part(match["other"])).casefold()
        if re.search(r"\b(?:is|are|was|were)\b(?! not)", said):
            part = shape.part(match["one"])
            columns = shape.part(match["other"]).columns or frozenset()
            cells = [(r, c) for r in part.rows or () for c in columns]
            told = _TRUTHS.get(shape.grid.cell(*cells[0]).casefold()) if len(cells) == 1 else None
            if told is not None:
                reason = shape.grid.evidence(*cells[0]).text
                for mark in ("one", "other"):
                    where = shape.span(*match.span(mark))
                    yield shape.finding(where, told, "ATT", reason)
    for match in (*_HAS.finditer(shape.text), *_OFFERED.finditer(shape.text)):
        rows, columns = shape.meet([shape.part(match["one"]), shape.part(match["other"])])
        if len(rows) != 1 or len(columns) != 1:
            continue
        row, column = next(iter(rows)), next(iter(columns))
        told = _TRUTHS.get(shape.grid.cell(row, column).strip().casefold())
        if told is None:
            continue
        denied = bool(match["no"] or match["lacks"])
        reason = shape.grid.evidence(row, column).text
        for span in (shape.span(*match.span("word")), shape.span(*match.span("other"))):
            yield shape.finding(span, told != denied, "ATT", reason)
        one = shape.span(*match.span("one"))
        yield shape.finding(one, told != denied, "ATT", reason)


def _row(shape: Shape, value: Part, end: int) -> int | None:
    """The one row that is named before, other than by the value itself."""
    named = {part.rows for part in shape.parts_in(0, end) if part.mark == "R" and part != value}
    if len(named) != 1:
        return None
    rows = next(iter(named)) or frozenset()
    return next(iter(rows)) if len(rows) == 1 else None


def _compare(shape: Shape, value: Part, row: int, column: int) -> Iterator[Finding]:
    """A value against the cell of its row and column."""
    grid = shape.grid
    if column == grid.key or grid.columns[column].kind == "number":
        return
    own = grid.value(row, column)
    after = shape.linking.reading.text[value.end : value.end + 2]
    if own.blank or (after[:1] == " " and after[1:].isupper()):
        return  # "Jimmy" of "Jimmy Black"
    said = read_value(shape.name(value))
    truth = (row, column) in value.places or equal_values(said, own) or includes(said, own)
    right = grid.cell(row, column)
    name = next(line.name for line in grid.lines if line.index == row)
    span = shape.linking.reading.text[value.start : value.end]
    reason = f"{grid.columns[column].header} of {name}: {right}"
    yield Finding(
        value.start,
        value.end,
        "name",
        "supported" if truth else "contradicted",
        None if truth else "ATT",
        (grid.evidence(row, column),),
        reason if truth else f"{reason}, not {span}",
        None if truth else shape.span(*_marked(shape, value)),
        () if truth else (right,),
        firm=True,
    )


def _marked(shape: Shape, part: Part) -> tuple[int, int]:
    mark = f"{part.mark}{shape.parts.index(part)}"
    match = re.search(rf"\b{mark}\b", shape.text)
    assert match is not None
    return match.span()


def _attributes(shape: Shape) -> Iterator[Finding]:
    """As "headquartered in Oslo" in a list of attributes: the verb says which."""
    grid = shape.grid
    if not grid.key_value:
        return
    for match in _ATTRIBUTE.finditer(shape.text):
        value, verb = shape.part(match["value"]), match["verb"]
        if verb[0] in "RC":
            rows = set(shape.part(verb).rows or ())
        else:
            rows = {n.index for n in grid.lines if n.name.casefold().startswith(verb[:_STEM])}
        if len(rows) != 1 or not value.places:
            continue
        row = next(iter(rows))
        if any(place == row for place, _ in value.places):
            where = shape.span(*match.span("value"))
            reason = grid.evidence(row, value.places[0][1]).text
            yield shape.finding(where, True, "ATT", reason)


def _dates(shape: Shape) -> Iterator[Finding]:
    """As "born in 1852" in a list of attributes, where 1852 is that of another one."""
    grid = shape.grid
    if not grid.key_value and len(grid.lines) != 1:
        return
    for match in _WHEN.finditer(shape.text):
        attribute, value = shape.part(match["attribute"]), shape.part(match["value"])
        rows, columns = attribute.rows, attribute.columns
        if grid.key_value:
            columns = frozenset({column.index for column in grid.columns} - {grid.key})
        else:
            rows = frozenset(line.index for line in grid.lines)
        cells = [(row, column) for row in sorted(rows or ()) for column in sorted(columns or ())]
        dated = [cell for cell in cells if grid.value(*cell).dates]
        if not value.places or len(dated) != 1 or any(cell in value.places for cell in cells):
            continue
        cell = grid.cell(*dated[0])
        span = shape.span(*match.span("value"))
        yield Finding(
            value.start,
            value.end,
            "moment",
            "contradicted",
            "TMP",
            (grid.evidence(*dated[0]),),
            f"{shape.name(attribute)}: {cell}",
            span,
            (cell,),
            firm=True,
        )


def _offices(shape: Shape) -> Iterator[Finding]:
    """As "was a physicist" where the occupation is another one: the table does not say so."""
    grid = shape.grid
    if not grid.key_value and len(grid.lines) != 1:
        return
    places = [
        (line.index, column.index)
        for line in grid.lines
        for column in grid.columns
        if column.index != grid.key
        and _OFFICES & frozenset(header_terms(line.name if grid.key_value else column.header))
    ]
    if len(places) != 1:
        return
    known = shape.linking.index.known | shape.linking.index.caption
    for match in _OFFICE.finditer(shape.text):
        noun = match["noun"]
        if noun in _BROAD:
            continue
        if any(word.startswith(noun[:5]) or noun.startswith(word[:5]) for word in known):
            continue
        span = shape.span(*match.span("noun"))
        right = grid.cell(*places[0])
        yield Finding(
            span.start,
            span.end,
            "name",
            "not_in_source",
            "ATT",
            (grid.evidence(*places[0]),),
            f"the table has {right}, and nowhere {noun}",
            span,
            firm=True,
        )
