"""Credit on tokens: the cell, the row or the words that a finding is about, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from tablemend.config import Format
from tablemend.records import Finding
from tablemend.tables.table import Table
from tablemend.tasks import tablehallu
from tablemend.training.credit import fault_spans, fault_tokens, spread
from tablemend.values.sentences import Span

TABLE = Table.of(
    ["Wells", "Town", "Well"], [["4", "Nel 4", "4"], ["-", "Zan Dil", "4"], ["9", "Kes & Bau", "-"]]
)


def finding(type: str, row: int | None, column: str | None = None) -> Finding:
    return Finding(type, row, column, None, None, "")


@pytest.mark.parametrize("format", ["markdown", "json", "latex"])
def test_a_cell_or_a_row_is_found_at_its_own_place(format: Format) -> None:
    text = f"<think>\nNel 4 has 4.\n</think>\n\n{tablehallu.answer(TABLE, format)}"
    table = text.index("####")
    for row in range(3):
        for column, cell in zip(TABLE.columns, TABLE.rows[row], strict=True):
            (span,) = fault_spans(text, [finding("attribute", row, column)], format)
            said = text[span.start : span.end]
            assert span.start > table
            if (format, cell) == ("latex", "Kes & Bau"):  # escaped, not found: its row
                assert said.startswith("9")
            else:
                assert said == cell
    (first,) = fault_spans(text, [finding("attribute", 0, "Well")], format)
    (whole,) = fault_spans(text, [finding("out_of_range", 0)], format)
    assert text[whole.start : whole.end].startswith("4") and whole.end == first.end
    order = fault_spans(text, [finding("order_mismatch", 0, "Well")], format)
    assert order == [whole]


def test_a_finding_without_a_place_leaves_none() -> None:
    text = tablehallu.answer(TABLE)
    placed = finding("attribute", 0, "Well")
    for other in (finding("format_error", None, "Well"), finding("out_of_range", 7)):
        assert fault_spans(text, [placed, other], "markdown") == []
    assert fault_spans("no table", [placed], "markdown") == []
    words = Finding("NUM", None, None, None, "four", "", 3, 7)
    assert fault_spans("is four", [words], None) == [(3, 7)]


def test_tokens_are_those_with_a_character_of_the_span(tiny_model: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    text = "####\n| Town | Wells |\n|---|---|\n| Zürich \u4e2d\u56fd | 12 |"
    ids = tokenizer.encode(text, add_special_tokens=False)
    for words in ("12", "Zürich \u4e2d\u56fd"):
        start = text.index(words)
        faults = fault_tokens(tokenizer, ids, [Span(start, start + len(words))])
        chosen = [one for one, fault in zip(ids, faults, strict=True) if fault]
        assert words in tokenizer.decode(chosen) and len(tokenizer.decode(chosen)) < len(words) + 4
    assert not any(fault_tokens(tokenizer, ids, []))


def test_what_is_wrong_gets_no_reward_and_what_is_right_no_blame() -> None:
    faults = torch.tensor([[0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=torch.bool)
    found = spread(torch.tensor([-2.0, 1.0, -1.0, 3.0]), faults)
    expected = [[0, -2.0, 0], [1.0, 0, 1.0], [-1.0] * 3, [3.0] * 3]
    assert torch.equal(found, torch.tensor(expected))
