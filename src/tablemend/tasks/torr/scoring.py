"""How an answer of each data set is scored, 0 to 1 (The Mighty ToRR, Table 1 and A.3).

Where the paper is silent, what its library does is followed (IBM/unitxt): which ROUGE it is, that
an answer is the first line that says something, and what of TableBench's answers is left out.
Programs of FinQA are read, run and compared as FinQA does (Figure 22, Chen et al. 2021): equal
programs, equal results. A program is a line of steps, ``subtract(5829, 5735), divide(#0, 5735)``;
its value is that of the last.
"""

from __future__ import annotations

import hashlib
import math
import operator
import re
import string
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from tablemend.errors import TablemendError, install
from tablemend.foreign import shown
from tablemend.tables.table import Cell, Table
from tablemend.values.numbers import parse_number
from tablemend.values.text import fold, split_tokens

LABELS = ("refuted", "entailed")
"""Of TabFact: any other answer is wrong."""
_EDGES = string.punctuation + string.whitespace
_END_OF_LABEL = re.compile(r"[.,!?;]")
_FINAL_ANSWER = re.compile(r"final answer[*_ ]*+:", re.IGNORECASE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_ROUGE_WORD = re.compile(r"[a-z0-9]", re.IGNORECASE)


class Unscored(TablemendError):
    """No score is possible, whatever the answer: the message says why."""


def first_line(text: str) -> str:
    """The first line that says something, without the spaces around it; empty for none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def final_answer(text: str) -> str:
    """The line behind the last ``Final Answer:`` (Figure 23), else the first line."""
    return first_line(_FINAL_ANSWER.split(text)[-1])


@cache
def load_rouge() -> Any:
    """The scorer of ROUGE-L without stemming; loaded before anything is generated.

    Raises:
        TablemendError: the package rouge-score is missing.
    """
    try:
        module = import_module("rouge_score.rouge_scorer")
    except ModuleNotFoundError as error:
        raise TablemendError(f"ROUGE needs rouge-score: {install('metrics')}") from error
    return module.RougeScorer(["rougeL"], use_stemmer=False)


def rouge(answer: str, reference: str) -> float:
    """F-measure of ROUGE-L (Lin 2004) over words of a-z and 0-9, by rouge-score.

    Raises:
        Unscored: the reference has no such word.
        TablemendError: the package rouge-score is missing.
    """
    if not _ROUGE_WORD.search(reference):
        raise Unscored("the reference has no word that ROUGE counts")
    return float(load_rouge().score(reference, answer)["rougeL"].fmeasure)


def final_answer_rouge(answer: str, reference: str) -> float:
    """:func:`rouge` of TableBench's final answer, without punctuation and articles.

    Punctuation goes before words are counted: 10.6 is one word. Raises what :func:`rouge` raises.
    """
    return rouge(_plain(final_answer(answer)), _plain(final_answer(reference)))


def token_f1(answer: str, reference: str) -> float:
    """F1 of two sets of tokens (footnote 8) of the first lines.

    Tokens are folded words and numbers; 1,234.0 is 1234. A text without any is one token.
    """
    found, wanted = _tokens(answer), _tokens(reference)
    return 2 * len(found & wanted) / (len(found) + len(wanted))


def label_accuracy(answer: str, reference: str) -> float:
    """1 where the first line, up to a full stop, comma or the like, is the label; 0 otherwise.

    Raises:
        Unscored: the reference is none of :data:`LABELS`.
    """
    if reference not in LABELS:
        raise Unscored(f"the reference is none of {', '.join(LABELS)}")
    label = _END_OF_LABEL.split(first_line(answer).strip(_EDGES), maxsplit=1)[0]
    return float(label.strip(_EDGES).casefold() == reference)


def type_match(answer: str, reference: str) -> float:
    """1 where the first line lists the same types, apart by commas, in any order; 0 otherwise."""
    return float(_types(answer) == _types(reference) != frozenset())


def _plain(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _tokens(text: str) -> frozenset[str]:
    line = first_line(text)
    return frozenset(split_tokens(line).words) or frozenset([fold(line)])


def _types(text: str) -> frozenset[str]:
    parts = (part.strip(_EDGES).casefold() for part in first_line(text).split(","))
    return frozenset(filter(None, parts))


def _best(score: Callable[[str, str], float]) -> Scorer:
    """The best score over the references."""

    def best(answer: str, references: Sequence[str], table: Table) -> float:
        if not (references and all(map(str.strip, references))):
            raise Unscored("there is no reference, or an empty one")
        try:
            return max(score(answer, one) for one in references)
        except ProgramError as error:
            raise Unscored(f"the reference cannot be read: {error}") from error

    return best


def _execution(answer: str, references: Sequence[str], table: Table) -> float:
    line = first_line(answer)
    score = _best(lambda _, gold: float(execution_accuracy(line, gold, table)))
    return score(answer, references, table)


Scorer = Callable[[str, Sequence[str], Table], float]
METRICS: Mapping[str, Scorer] = {
    "program_accuracy": _best(lambda text, gold: float(program_accuracy(first_line(text), gold))),
    "execution_accuracy": _execution,
    "rouge": _best(rouge),
    "final_answer_rouge": _best(final_answer_rouge),
    "token_f1": _best(token_f1),
    "label_accuracy": _best(label_accuracy),
    "type_match": _best(type_match),
}
"""By name: the score, 0 to 1, of an answer (its thinking cut off), its references and the table.

One reference is enough. References are gold programs for ``program_accuracy``, gold answers for
``execution_accuracy``. :class:`Unscored` is raised where no answer could be scored; a failed
request has no answer and is not asked for here.
"""


_CALCULATE: Mapping[str, Callable[[float, float], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "exp": operator.pow,
    "greater": operator.gt,
}
_OVER_A_ROW: Mapping[str, Callable[[Sequence[float]], float]] = {
    "table_max": max,
    "table_min": min,
    "table_sum": sum,
    "table_average": lambda row: sum(row) / len(row),
}
OPERATIONS = (*_CALCULATE, *_OVER_A_ROW)
"""All of Figure 22; it spells ``table-max`` what the data spell ``table_max``: both are read."""
_PRIME = 2**255 - 19
_STEP = re.compile(r"\s*+([a-z]++(?:[-_][a-z]++)?+)\s*+\(", re.IGNORECASE)
_NEXT = re.compile(r"\s*+(?:(,)|\Z)")
_BRACKET = re.compile(r"[()]")
_REFERENCE = re.compile(r"#(\d{1,6})")
_CONSTANT = re.compile(r"const_(m?)(\d++(?:\.\d++)?)")


class ProgramError(TablemendError):
    """A program that cannot be read or run, or an answer that is neither a number nor yes or no."""


class Step(NamedTuple):
    """One operation.

    Attributes:
        operation: one of :data:`OPERATIONS`.
        arguments: two numbers or constants as they are written, or indices of earlier steps; of a
            table operation the name of a row.
    """

    operation: str
    arguments: tuple[str | int, ...]


Program = tuple[Step, ...]
Value = float | bool
"""A number, or yes or no."""


def parse_program(text: str) -> Program:
    """The steps of a program, in time linear in its length.

    Spaces may be missing, and so may ``, none`` after the name of a row. A name may have commas and
    pairs of brackets, a number commas as long as ``, `` parts the arguments.

    Raises:
        ProgramError: anything else, a step inside a step or a reference to no earlier step too.
    """
    steps: list[Step] = []
    place = 0
    while True:
        head = _STEP.match(text, place)
        if head is None:
            raise ProgramError(f"no step of a program: {_clip(text[place:])}")
        end = _closing(text, head.end())
        steps.append(_read_step(head[1], text[head.end() : end], len(steps)))
        after = _NEXT.match(text, end + 1)
        if after is None:
            raise ProgramError(f"no comma after step {len(steps) - 1}: {_clip(text[end + 1 :])}")
        if after[1] is None:
            return tuple(steps)
        place = after.end()


def run_program(program: Program, table: Table) -> Value:
    """The value of the last step.

    The table is as FinQA has it, not perturbed. A row is found by its first cell, as it is written;
    the header counts as a row, and of rows with one name the last is meant. All other cells of the
    row must be numbers (:func:`read_cell`).

    Raises:
        ProgramError: no such row, a cell that is no number, arithmetic with a yes or no, a division
            by zero, a result that is not finite or not real.
    """
    rows = {_words(row[0] or ""): row[1:] for row in (table.columns, *table.rows)}
    values: list[Value] = []
    for operation, arguments in program:
        if operation in _OVER_A_ROW:
            numbers = [read_cell(cell) for cell in rows.get(str(arguments[0]), ())]
            if not numbers:
                raise ProgramError(f"no row of numbers: {_clip(str(arguments[0]))}")
            values.append(_finite(_OVER_A_ROW[operation](numbers)))
            continue
        one, other = (_number(argument, values) for argument in arguments)
        try:
            result = _CALCULATE[operation](one, other)
        except ArithmeticError as error:
            raise ProgramError(f"{operation}({one:g}, {other:g}): {error}") from error
        values.append(result if isinstance(result, bool) else _finite(result))
    return values[-1]


def execution_accuracy(predicted: str, gold: str, table: Table) -> bool:
    """Whether a program has the value of the gold answer, both rounded to 5 decimals, as in FinQA.

    A program that cannot be read or run is wrong.

    Raises:
        ProgramError: the gold answer is neither a number nor ``yes`` or ``no``.
    """
    folded = gold.strip().casefold()
    wanted: Value = folded == "yes" if folded in ("yes", "no") else read_number(gold)
    try:
        got = run_program(parse_program(predicted), table)
    except ProgramError:
        return False
    if isinstance(wanted, bool) or isinstance(got, bool):
        return got is wanted
    return round(got, 5) == round(wanted, 5)


def program_accuracy(predicted: str, gold: str) -> bool:
    """Whether a program is the gold program, as FinQA compares them.

    Every argument as it is written, and every table operation with its row, is a symbol: 25% is not
    0.25. A program with a symbol that gold has not is wrong. Else both must be the same function of
    their symbols: ``add(a, b)`` is ``add(b, a)``, and a step that leads nowhere does not count.
    FinQA has sympy simplify both; other than there, an expanded square is its square, and powers
    are equal only where base and exponent are.

    Raises:
        ProgramError: the gold program cannot be read.
    """
    wanted = parse_program(gold)
    try:
        found = parse_program(predicted)
    except ProgramError:
        return False
    return _symbols(found) <= _symbols(wanted) and _fingerprint(found) == _fingerprint(wanted)


def read_number(text: str) -> float:
    """A number with its sign, ``$``, commas and ``%`` (25% is 0.25), or a constant of FinQA."""
    constant = _CONSTANT.fullmatch(text)
    number = parse_number(f"{'-' if constant[1] else ''}{constant[2]}" if constant else text)
    if number is None or number.unit.scale != 1 or number.unit.symbol not in ("", "%"):
        raise ProgramError(f"no number: {_clip(text)}")
    return float(number.value) / 100 if number.percent else float(number.value)


def read_cell(cell: Cell) -> float:
    """The number of a cell: before a bracket as in ``-32 ( 32 )``, else as in ``( 32 )``."""
    text = (cell or "").replace("$", "")
    return read_number(text.partition("(")[0].strip() or text)


def _closing(text: str, start: int) -> int:
    """Where the bracket that was opened before ``start`` is closed."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] == "(" else -1
        if not depth:
            return bracket.start()
    raise ProgramError(f"no closing bracket: {_clip(text[start:])}")


def _read_step(name: str, inside: str, index: int) -> Step:
    operation = name.casefold().replace("-", "_")
    if operation in _OVER_A_ROW:
        before, comma, last = inside.rpartition(",")
        row = _words(before if comma and last.strip().casefold() == "none" else inside)
        if not row:
            raise ProgramError(f"{operation} names no row")
        return Step(operation, (row,))
    if operation not in _CALCULATE:
        raise ProgramError(f"no operation {_clip(name)}: {', '.join(OPERATIONS)}")
    parts = re.split(r",\s+" if ", " in inside else ",", inside)
    if len(parts) != 2:
        raise ProgramError(f"{operation} takes two arguments: {_clip(inside)}")
    return Step(operation, tuple(_read_argument(part.strip(), index) for part in parts))


def _read_argument(text: str, index: int) -> str | int:
    """A number as it is written, or the index of a step before ``index``."""
    if not text.startswith("#"):
        read_number(text)
        return text
    reference = _REFERENCE.fullmatch(text)
    if reference is None or int(reference[1]) >= index:
        raise ProgramError(f"step {index} refers to no earlier step: {_clip(text)}")
    return int(reference[1])


def _number(argument: str | int, values: Sequence[Value]) -> float:
    value = values[argument] if isinstance(argument, int) else read_number(argument)
    if isinstance(value, bool):
        raise ProgramError("yes or no is no number")
    return value


def _finite(result: float | complex) -> float:
    if isinstance(result, complex) or not math.isfinite(result):
        raise ProgramError("the result is no finite real number")
    return result


def _symbols(program: Program) -> set[str]:
    return {
        f"{operation}({argument})" if operation in _OVER_A_ROW else argument
        for operation, arguments in program
        for argument in arguments
        if isinstance(argument, str)
    }


def _fingerprint(program: Program) -> int:
    """The program's function at one point of a finite field, which the symbols' hashes choose.

    Rational functions with one value there are the same, but for a chance of their degree in 2**255
    (Schwartz 1980). Powers, differences compared and divisions by zero are new symbols.
    """
    values: list[int] = []
    for operation, arguments in program:
        if operation in _OVER_A_ROW:
            values.append(_hash(f"{operation}({arguments[0]})"))
            continue
        one, other = (values[a] if isinstance(a, int) else _hash(a) for a in arguments)
        if operation == "greater":
            values.append(_hash(f"greater {(one - other) % _PRIME}"))
        elif operation == "exp" or (operation == "divide" and not other):
            values.append(_hash(f"{operation} {one} {other}"))
        elif operation == "divide":
            values.append(one * pow(other, -1, _PRIME) % _PRIME)
        else:
            values.append(int(_CALCULATE[operation](one, other)) % _PRIME)
    return values[-1]


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), 16) % _PRIME


def _words(text: str) -> str:
    return " ".join(text.split())


def _clip(text: str) -> str:
    return repr(shown(text[:60]))
