"""Credit on tokens: where in an answer stands what is wrong with it, and what it is to bear.

Fine-grained rewards (Wu et al. 2023, section 3) put each error's on the span that has it; here
the advantage of GRPO is laid there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

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
    rows = [] if format is None else _cells(text, format)
    for one in findings:
        if one.start is not None and one.end is not None:
            spans.append(Span(one.start, one.end))
            continue
        cells = rows[one.row] if one.row is not None and one.row < len(rows) else {}
        if not cells:
            return []
        if one.type != "order_mismatch" and one.column in cells:
            spans.append(cells[one.column])
        else:
            first, *_, last = [*cells.values()] * 2
            spans.append(Span(first.start, last.end))
    return spans


def _cells(text: str, format: Format) -> list[dict[str, Span]]:
    """The places of an answer table's cells by column, row by row; without those not found."""
    found, rows = extract_table(text, format), []
    at = found.start
    if found.format == "markdown":  # behind the line of dashes
        at = text.find("\n", text.find("\n", at) + 1)
    for row in found.table.rows if found.table else ():
        rows.append(cells := dict[str, Span]())
        for column, cell in zip(found.table.columns, row, strict=True) if found.table else ():
            if found.format == "json":
                at = max(at, text.find(f'"{column}"', at) + len(column) + 2)
            start = text.find(cell, at, found.end) if cell else -1
            if start >= 0:
                at = start + len(cell or "")
                cells[column] = Span(start, at)
    return rows


def fault_tokens(tokenizer: Tokenizer, ids: Sequence[int], spans: Sequence[Span]) -> list[bool]:
    """Which tokens of an answer have a character of one of the spans."""
    if not spans:
        return [False] * len(ids)

    def length(count: int) -> int:
        """Characters of the first tokens; the first bytes of one decode to a replacement."""
        return len(tokenizer.decode(ids[:count]).rstrip("\ufffd"))

    counts, faults = range(len(ids) + 1), [False] * len(ids)
    for span in spans:
        first = bisect_right(counts, span.start, key=length) - 1
        first = min(first, bisect_left(counts, span.start, key=length))
        last = min(len(ids), bisect_left(counts, span.end, key=length))
        faults[first:last] = [True] * (last - first)
    return faults


def spread(advantages: Tensor, faults: Tensor) -> Tensor:
    """Advantages (answers,) on tokens (answers, tokens), of which some may be at fault: what is
    wrong gets no reward, the rest no blame.
    """
    bears = faults | ~faults.any(dim=1, keepdim=True)
    return advantages.unsqueeze(1) * torch.where(advantages.unsqueeze(1) < 0, bears, ~faults)
