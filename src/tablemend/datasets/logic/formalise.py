"""Free English as formulas, by a model; each is checked by what it says in controlled English."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tablemend.backends.asking import ask
from tablemend.backends.backend import Backend
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.datasets.logic.english import EnglishError, say
from tablemend.datasets.logic.formula import BLOCKS, Formula, free_variables
from tablemend.datasets.logic.notation import FormulaError, parse_formula
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import (
    WRONG_FIELD,
    Unreadable,
    one_object,
    read_verdict,
    why_no_answer,
)

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
FORMALISE, SAME = "formalise", "same_meaning"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"formula": {"type": "string"}},
    "required": ["formula"],
    "additionalProperties": False,
}
MAX_NEW_TOKENS = 2048


class Formalised(NamedTuple):
    """What a text says: a formula, or the reason why there is none and the text is unjudged.

    ``said`` is the formula in controlled English, as the model was asked about it.
    """

    formula: Formula | None
    said: str = ""
    reason: str = ""


def formalise(texts: Sequence[str], backend: Backend) -> list[Formalised]:
    """The formulas of texts, in their order.

    A formula counts only where the same model, shown what it says, finds that to be the same.

    Raises:
        Stopped: the server is gone.
    """
    written = ask(backend, [_request(FORMALISE, n, text=text) for n, text in enumerate(texts)])
    found = [_read(written[f"{FORMALISE}.{n}"]) for n in range(len(texts))]
    asked = {n: one.said for n, one in enumerate(found) if one.formula is not None}
    checks = [_request(SAME, n, text=texts[n], said=said) for n, said in asked.items()]
    checked = ask(backend, checks)
    for n in asked:
        if reason := _refused(checked[f"{SAME}.{n}"]):
            found[n] = Formalised(None, found[n].said, reason)
    return found


def _request(prompt: str, number: int, **slots: str) -> Request:
    schema = SCHEMA if prompt == FORMALISE else None
    messages = PROMPTS.render(prompt, **slots)
    return Request(f"{prompt}.{number}", messages, Sampling(MAX_NEW_TOKENS), schema=schema)


def _read(completion: Completion) -> Formalised:
    try:
        if problem := why_no_answer(completion):
            return Formalised(None, reason=problem.text)
        text = one_object(completion.answer, ("formula",))["formula"]
        if not isinstance(text, str):
            raise Unreadable(WRONG_FIELD, "The formula must be a text.")
        formula = parse_formula(text, BLOCKS)
        if free := free_variables(formula):
            name = min(variable.name for variable in free)
            return Formalised(None, reason=f"nothing binds the variable {name}")
        return Formalised(formula, say(formula, Random(0)))
    except (Unreadable, FormulaError, EnglishError) as error:
        return Formalised(None, reason=str(error))


def _refused(completion: Completion) -> str:
    """Why a formula is not taken; empty where it is."""
    if problem := why_no_answer(completion):
        return problem.text
    try:
        verdict = read_verdict(completion.answer, "same", "different")
    except Unreadable as error:
        return str(error)
    return "" if verdict.ok else f"read back, it says something else: {verdict.reason}".strip(": ")
