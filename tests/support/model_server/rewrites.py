"""Rewrites by program: what is said to be right is put in the place of what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from tablemend.mitigations.repair_table import BLANK
from tablemend.mitigations.rewriting import DROP
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import verify_document
from tests.support.model_server.claims import read_evidence

_FIX = re.compile(r'; right would be "(?P<right>.*?)" for "(?P<wrong>.*?)"$', re.MULTILINE)
_RIGHT = re.compile(r'; the source has "(.*?)"$', re.MULTILINE)


def rewrite(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """The words of a text, mended by the findings, else by the evidence shown."""
    new = slots["words"]
    for wrong, right in _fixes(slots):
        new = new.replace(wrong, right, 1)
    return new


def rewrite_cell(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """What a cell should hold by the findings; a blank where they do not say it."""
    right = _RIGHT.search(slots["findings"])
    return right[1] if right else BLANK


def rewrite_row(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """A flagged row is dropped."""
    return DROP


def _fixes(slots: Mapping[str, str]) -> list[tuple[str, str]]:
    """Wrong words and right ones."""
    found = [(match["wrong"], match["right"]) for match in _FIX.finditer(slots["findings"])]
    if found:
        return found
    document = extract_claims(slots["sentence"])
    return [
        (document.text[verdict.spans[0].start : verdict.spans[0].end], verdict.expected[0])
        for verdict in verify_document(document, read_evidence(slots["evidence"]))
        if verdict.wrong and len(verdict.spans) == len(verdict.expected) == 1
    ]
