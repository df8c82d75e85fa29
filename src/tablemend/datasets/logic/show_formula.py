"""Formulas as text that :mod:`parse_formula` reads back: Unicode, LaTeX, indented over lines."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tablemend.datasets.logic.formula import EQUAL, NOTATION, Atom, Binary, Formula, Not, Quantified

UNICODE, LATEX = ({name: both[n] for name, both in NOTATION.items()} for n in (0, 1))


def show(formula: Formula, symbols: Mapping[str, str] = UNICODE) -> str:
    """A formula on one line; brackets stand wherever two connectives meet."""
    return _joined(_lines(formula, symbols))


def show_latex(formula: Formula) -> str:
    """A formula in LaTeX, to stand between dollar signs."""
    return show(formula, LATEX)


def show_indented(formula: Formula, width: int = 40) -> str:
    """A formula whose parts of more than ``width`` characters are broken into lines (Table 2)."""
    return "\n".join(_lines(formula, UNICODE, width))


def _joined(lines: list[str]) -> str:
    return re.sub(r"(?<=\() | (?=\))", "", " ".join(line.strip() for line in lines))


def _lines(formula: Formula, symbols: Mapping[str, str], width: int = 0) -> list[str]:
    """A formula, broken into lines where it is longer than ``width``."""

    def opened(part: Formula, bracketed: bool) -> list[str]:
        lines = _lines(part, symbols, width)
        if bracketed and len(lines) > 1:
            return ["(", *(f"  {line}" for line in lines), ")"]
        return [f"({lines[0]})"] if bracketed else lines

    match formula:
        case Atom(predicate, (left, right)) if predicate == EQUAL:
            return [f"{left.name} {symbols[EQUAL]} {right.name}"]
        case Atom(predicate, terms):
            inner = ", ".join(term.name for term in terms)
            return [f"{predicate}({inner})" if terms else predicate]
        case Not(Atom(predicate, (left, right))) if predicate == EQUAL:
            return [f"{left.name} {symbols['unequal']} {right.name}"]
        case Not(body) | Quantified(_, _, body):
            head = symbols["not"]
            if isinstance(formula, Quantified):
                head = f"{symbols[formula.quantifier]}{formula.variable.name} "
            lines = opened(body, isinstance(body, Binary))
            lines[0] = head + lines[0]
        case Binary(connective, left, right):  # no brackets where the parser groups so by itself
            to_the_right = connective in ("implies", "iff")
            first, second = (
                opened(p, isinstance(p, Binary) and (p.connective != connective or against))
                for p, against in ((left, to_the_right), (right, not to_the_right))
            )
            lines = [*first[:-1], f"{first[-1]} {symbols[connective]}", *second]
    text = _joined(lines)
    return [text] if len(text) <= width else lines
