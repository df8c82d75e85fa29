"""Credit on tokens: where in an answer stands what is wrong with it, and what it is to bear.

Fine-grained rewards (Wu et al. 2023, section 3) put each error's on the span that has it; here
the advantage of GRPO is laid there. An answer's choices that do not change its reward get an
advantage of mean 0, so that leaving them out adds no bias for the others and takes noise away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from tablemend.config import Format
from tablemend.records import Finding
from tablemend.renderer import Tokenizer
from tablemend.tables.extract import extract_table
from tablemend.values.sentences import Span


def fault_spans(text: str, findings: Iterable[Finding], format: Format | None) -> list[Span]:
    """The cells, rows and words of a raw answer that findings are about.

    Empty where one of them has no place: a wrong header, no table, or a text that was not found.
    """
    spans: list[Span] = []
    columns, rows = _cells(text, format) if format is not None else ((), [])
    for one in findings:
        found = []
        if one.start is not None and one.end is not None:
            found = [Span(one.start, one.end)]
        elif one.row is not None and one.row < len(rows):
            cells = dict(zip(columns, rows[one.row], strict=True))
            found = [own for own in cells.values() if own]
            if one.type != "order_mismatch" and (cell := cells.get(one.column or "")):
                found = [cell]
        if not found:
            return []
        spans.append(Span(found[0].start, found[-1].end))
    return spans


def _cells(text: str, format: Format) -> tuple[Sequence[str], list[list[Span | None]]]:
    """Names of an answer table's columns, and the places of its cells, row by row."""
    found = extract_table(text, format)
    if found.table is None:
        return (), []
    columns, rows, at = found.table.columns, [], found.start
    if found.format == "markdown":  # behind the line of dashes
        at = text.find("\n", text.find("\n", at) + 1)
    for row in found.table.rows:
        places: list[Span | None] = []
        for column, cell in zip(columns, row, strict=True):
            if found.format == "json":
                at = max(at, text.find(f'"{column}"', at) + len(column) + 2)
            start = text.find(cell, at, found.end) if cell else -1
            places.append(None if start < 0 else Span(start, start + len(cell or "")))
            at = max(at, start + len(cell or ""))
        rows.append(places)
    return columns, rows


def fault_tokens(tokenizer: Tokenizer, ids: Sequence[int], spans: Sequence[Span]) -> list[bool]:
    """Which tokens of an answer have a character of one of the spans."""
    if not spans:
        return [False] * len(ids)
    # the first bytes of a character decode to a replacement
    texts = [tokenizer.decode(ids[:count]).rstrip("\ufffd") for count in range(len(ids) + 1)]
    return [
        any(start < span.end and max(end, start + 1) > span.start for span in spans)
        for start, end in pairwise(map(len, texts))
    ]


def spread(advantages: Tensor, faults: Tensor) -> Tensor:
    """Advantages of tokens: what is wrong gets no reward, and what is right no blame.

    Args:
        advantages: one an answer, shape (answers,).
        faults: tokens at fault, shape (answers, tokens); none in an answer without any, or whose
            fault has no place, which keeps its advantage on every token.

    Returns:
        Shape (answers, tokens): a negative advantage on the tokens at fault alone, another on all
        but these.
    """
    whole = advantages.unsqueeze(1).expand(faults.shape)
    bears = torch.where(whole < 0, faults | ~faults.any(dim=1, keepdim=True), ~faults)
    return whole * bears
