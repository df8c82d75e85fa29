"""Constrained decoding: a grammar for one answer, its header fixed and its cells free or quoted.

Grammars are GBNF, which vLLM's structured outputs (xgrammar and guidance) and llguidance read. The
fixed text is what :func:`tablemend.tasks.tablehallu.prompts.answer` writes, so that a fine-tuned
model is not forced off what it was trained on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from tablemend.config import Format
from tablemend.detector.query import columns_from_query
from tablemend.evidence.source import Source
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.prompts import BLANK, answer
from tablemend.values.text import sentence_spans

WIDTHS = range(1, 13)
"""Columns that an answer may have where the query does not name them."""

_NAME, _CELL = "\N{BALLOT BOX}", "\N{BALLOT BOX WITH CHECK}"
"""Stand for a column's name and a cell while the writers write a table."""
_SLOTS = re.compile(rf'({_NAME}\d+|"?{_CELL}"?)')
_FREE: dict[Format, str] = {
    "markdown": r'([^ |\\\n] | "\\" [^ a-zA-Z0-9\n]) ([^|\\\n] | "\\" [^ a-zA-Z0-9\n])*',
    "latex": r"([^ &%$#_{}~^\\\n] | escape) ([^&%$#_{}~^\\\n] | escape)*",
    "json": r'([^"\\\n] | "\\" ["\\/bfnrt])+',
}
_EDGES = re.compile(
    r"(?P<lead>[^\w$€£¥<>~+-]*)(?P<core>.*?)(?P<tail>(?:['\u2019]s)?[^\w%°+]*)\Z", re.DOTALL
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def header(evidence: Source, output: Format) -> str:
    """A grammar that fixes the columns which the query names."""
    return answer_grammar(columns_from_query(evidence.query), output, None)


def spans(evidence: Source, output: Format) -> str:
    """A grammar that also limits cells to the words of the context."""
    return answer_grammar(columns_from_query(evidence.query), output, evidence.text)


def keeps_query(said: str, evidence: Source, output: Format) -> bool:
    """Whether an answer has the columns which the query names."""
    columns = columns_from_query(evidence.query)
    return columns is None or keeps_header(said, columns, output)


def answer_grammar(columns: Sequence[str] | None, output: Format, context: str | None) -> str:
    """The grammar of an answer, in GBNF; rows may be of any number, none too.

    Args:
        columns: the header, left to right; ``None`` leaves it to the model.
        output: the table format that was asked for.
        context: cells are the blank or a run of this text's words within one sentence; a number
            may leave its unit out. ``None`` leaves cells to the model.
    """
    text = "free" if context is None else "span"
    cell = f'"null" | "\\"" {text} "\\""' if output == "json" else f"{_literal(BLANK)} | {text}"
    rules = [f"free ::= {_FREE[output]}", f"cell ::= {cell}"]
    if output == "latex":
        rules.append(r'escape ::= "\\" ([&%$#_{}] | [a-z]+ "{}")')
    if context is not None:
        rules += _spans(context, output)
    if columns is not None:
        return "\n".join([_table("root", columns, output), *rules])
    names = [f"columns{width}" for width in WIDTHS]
    tables = (
        _table(name, [f"{_NAME}{place}" for place in range(width)], output)
        for name, width in zip(names, WIDTHS, strict=True)
    )
    return "\n".join([f"root ::= {' | '.join(names)}", *tables, *rules])


def keeps_header(text: str, columns: Sequence[str], output: Format) -> bool:
    """Whether a whole answer begins as :func:`answer_grammar` demands for these columns."""
    if text == answer(Table.of(columns, ()), output):
        return True
    before, row, _, _ = _around_rows(columns, output)
    return text.startswith(before + row.partition(_CELL)[0].rstrip('"'))


def _table(name: str, columns: Sequence[str], output: Format) -> str:
    """A rule for the tables of these columns; names that are slots are left to the model."""
    before, row, between, after = map(_rule, _around_rows(columns, output))
    empty = _rule(answer(Table.of(columns, ()), output))
    # A line is a rule of its own: a lexer that takes the longest match, as llguidance's does, would
    # read the space before the next bar into a cell.
    line, head = f"{name}line", f"{name}head"
    return "\n".join(
        (
            f"{name} ::= {name}empty | {head} {line} ({between} {line})* {after}".rstrip(),
            f"{name}empty ::= {empty}",
            f"{head} ::= {before}",
            f"{line} ::= {row}",
        )
    )


def _around_rows(columns: Sequence[str], output: Format) -> tuple[str, str, str, str]:
    """The text before the rows, one row, the text between two, and after them."""
    rows = [[_CELL] * len(columns)] * 2
    one, two = answer(Table.of(columns, rows[:1]), output), answer(Table.of(columns, rows), output)
    begin = one.rindex("\n", 0, one.index(_CELL)) + 1
    end = one.find("\n", begin)
    end = len(one) if end < 0 else end
    before, row, after = one[:begin], one[begin:end], one[end:]
    between = two[len(before + row) : len(two) - len(row + after)]
    assert two == before + row + between + row + after
    return before, row, between, after


def _rule(text: str) -> str:
    """A text as a sequence of literals and of the rules of its slots."""
    parts = [part for part in _SLOTS.split(text) if part]
    return " ".join(
        "cell" if _CELL in part else "free" if part[0] == _NAME else _literal(part)
        for part in parts
    )


def _spans(context: str, output: Format) -> Iterator[str]:
    """Rules for every run of words of a sentence; as many as the text has words.

    ``w7`` is the seventh word and whatever follows it; a run begins at a word's own characters
    and ends there too: marks around it belong to the text between two words.
    """
    starts: list[str] = []
    numbers: dict[str, None] = {}
    count = 0
    for sentence in sentence_spans(context):
        words = [_EDGES.match(word) for word in context[sentence.start : sentence.end].split()]
        found = [word for word in words if word is not None and word["core"]]
        for place, word in enumerate(found):
            rule = f"w{count}"
            core = _literal(_written(word["core"], output))
            endings = []
            if word["tail"][:1] in (")", "]"):  # "Falcon (2010)"
                endings.append(_literal(word["tail"][0]))
            if place + 1 < len(found):
                joint = _written(f"{word['tail']} {found[place + 1]['lead']}", output)
                endings.append(f"{_literal(joint)} w{count + 1}")
            more = f" ({' | '.join(endings)})?" if endings else ""
            starts.append(rule)
            count += 1
            if (number := _NUMBER.search(word["core"])) and number[0] != word["core"]:
                numbers[_literal(_written(number[0], output))] = None
            yield f"{rule} ::= {core}{more}"
    yield f"span ::= {' | '.join([*starts, *numbers]) or _literal(BLANK)}"


def _written(text: str, output: Format) -> str:
    """A piece of a cell as the format writes it."""
    if output == "json":
        return json.dumps(text, ensure_ascii=False)[1:-1]
    # between two letters, so that nothing is escaped for standing at an edge
    line = _around_rows([f"x{text}x"], output)[0].split("\n")
    header = next(part for part in line if "x" in part)
    return header[header.index("x") + 1 : header.rindex("x")]


def _literal(text: str) -> str:
    """A text in GBNF."""
    return json.dumps(text, ensure_ascii=False) if text else '""'
