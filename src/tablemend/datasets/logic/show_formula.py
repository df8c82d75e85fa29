"""Formulas as text that :mod:`parse_formula` reads back: Unicode, LaTeX, indented over lines."""

from __future__ import annotations

from collections.abc import Mapping

from tablemend.datasets.logic.formula import EQUAL, NOTATION, Atom, Binary, Formula, Not, Quantified

UNICODE, LATEX = ({name: both[n] for name, both in NOTATION.items()} for n in (0, 1))


def show(formula: Formula, symbols: Mapping[str, str] = UNICODE) -> str:
    """A formula on one line; brackets stand wherever two connectives meet."""
    match formula:
        case Atom(predicate, (left, right)) if predicate == EQUAL:
            return f"{left.name} {symbols[EQUAL]} {right.name}"
        case Atom(predicate, terms):
            inner = ", ".join(term.name for term in terms)
            return f"{predicate}({inner})" if terms else predicate
        case Not(Atom(predicate, (left, right))) if predicate == EQUAL:
            return f"{left.name} {symbols['unequal']} {right.name}"
        case Not(body) | Quantified(_, _, body):
            text = show(body, symbols)
            return _head(formula, symbols) + (f"({text})" if isinstance(body, Binary) else text)
        case Binary(connective):
            parts = (
                f"({show(part, symbols)})" if bracketed else show(part, symbols)
                for part, bracketed in _operands(formula)
            )
            return f" {symbols[connective]} ".join(parts)


def show_latex(formula: Formula) -> str:
    """A formula in LaTeX, to stand between dollar signs."""
    return show(formula, LATEX)


def show_indented(formula: Formula, width: int = 40) -> str:
    """A formula whose parts of more than ``width`` characters are broken into lines (Table 2)."""
    return "\n".join(_lines(formula, width))


def _head(formula: Not | Quantified, symbols: Mapping[str, str]) -> str:
    if isinstance(formula, Not):
        return symbols["not"]
    return f"{symbols[formula.quantifier]}{formula.variable.name} "


def _operands(formula: Binary) -> tuple[tuple[Formula, bool], tuple[Formula, bool]]:
    """Both sides, and whether each needs brackets: not where the parser groups so by itself."""
    to_the_right = formula.connective in ("implies", "iff")
    left, right = (
        isinstance(part, Binary) and (part.connective != formula.connective or against)
        for part, against in ((formula.left, to_the_right), (formula.right, not to_the_right))
    )
    return (formula.left, left), (formula.right, right)


def _lines(formula: Formula, width: int) -> list[str]:
    text = show(formula)
    if len(text) <= width:
        return [text]
    match formula:
        case Atom() | Not(Atom()):
            return [text]
        case Not(body) | Quantified(_, _, body):
            first, *others = _open(body, isinstance(body, Binary), width)
            return [_head(formula, UNICODE) + first, *others]
        case Binary(connective):
            left, right = (_open(part, inside, width) for part, inside in _operands(formula))
            return [*left[:-1], f"{left[-1]} {UNICODE[connective]}", *right]


def _open(formula: Formula, bracketed: bool, width: int) -> list[str]:
    lines = _lines(formula, width)
    if not bracketed:
        return lines
    if len(lines) == 1:
        return [f"({lines[0]})"]
    return ["(", *(f"  {line}" for line in lines), ")"]
