"""What annotators get and give back: sample, texts, sheet, answer files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tablemend.annotation.page import choose, read_data, segments
from tablemend.records import Example
from tests.support.annotators import (
    Choices,
    all_answers,
    write_answers,
)

# ---- the sample ----


def test_the_sample_is_seeded_nested_and_disjoint_by_skip(folder: Path) -> None:
    data = read_data(str(folder))
    ten, twenty = choose(data, 10, seed=0), choose(data, 20, seed=0)
    assert ten == twenty[:10] and len(set(twenty)) == 20
    assert choose(data, 10, seed=0, skip=10) == twenty[10:]
    assert choose(data, 10, seed=1) != ten


def test_what_cannot_be_exported_is_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    out = tmp_path / "page.html"
    assert "40 examples in its split test; --n 41" in refused(
        "export", folder, "--n", "41", "--out", out
    )
    assert "after --skip 35" in refused("export", folder, "--n=6", "--skip=35", "--out", out)
    assert "at least 1" in refused("export", folder, "--n", "0", "--out", out)
    assert "validation.jsonl" in refused("export", folder, "--split", "validation", "--out", out)
    assert "leave --split out" in refused(
        "export", folder / "test.jsonl", "--split", "test", "--out", out
    )
    assert "--revision" in refused("export", folder, "--revision", "abc", "--out", out)
    assert "generated anew" in refused("export", "small-world", "--out", out)
    assert "no file or folder" in refused("export", tmp_path / "none", "--out", out)
    assert not out.exists()
    out.write_text("answers typed in by hand")
    assert "may hold answers" in refused("export", folder, "--n", "5", "--out", out)
    assert out.read_text() == "answers typed in by hand"


# ---- what annotators see ----


def test_segments_join_to_the_context_and_hold_the_facts(examples: list[Example]) -> None:
    for example in examples:
        for context in ("clean", "adversarial"):
            parts = segments(example, context, marks=True)
            assert "".join(part[0] for part in parts) == example.context(context)
            marked = [part for part in parts if len(part) == 5]
            assert len(marked) == sum(
                context == "adversarial" or fact.clean is not None for fact in example.facts
            )
            values = {(fact.row, fact.column, fact.value) for fact in example.facts}
            assert {(part[1], part[3], part[0]) for part in marked} <= values
            text = example.context(context)  # the clean one of no row is empty
            assert segments(example, context, marks=False) == ([(text,)] if text else [])


# ---- answers that are refused ----


def test_bad_answer_files_are_refused_in_one_line(
    folder: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    data = read_data(str(folder))
    good = all_answers(data)
    name = next(iter(good))

    def line(choices: Choices = good, **changes: Any) -> str:
        path = write_answers(tmp_path / "a.json", data, "anna", choices, **changes)
        return refused("report", folder, path)

    assert "is about the data set 0123, " in line(data="0123")
    assert "no example 'nobody'" in line({**good, "nobody": {"query": "yes"}})
    assert "answers.0.answer" in line({name: {"query": "maybe"}})
    assert "answers.0.step" in line({name: {"quest": "yes"}})
    assert "version" in line(version=2)
    assert "annotator" in line(annotator=" ")
    assert "color" in line(color="red")
    assert "no answer yet" in line(all_answers(data, None))
    (tmp_path / "a.json").write_text("{")
    assert "a.json: Invalid JSON" in refused("report", folder, tmp_path / "a.json")
    (tmp_path / "a.json").write_text("[" * 100_000)
    assert "a.json" in refused("report", folder, tmp_path / "a.json")
    assert "cannot read the answers" in refused("report", folder, tmp_path / "none.json")
