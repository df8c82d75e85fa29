from __future__ import annotations

from pathlib import Path

import pytest

from tablemend.errors import TablemendError
from tablemend.runs import write_jsonl
from tablemend.tasks.logic.pair import Annotation, read_annotations

ONE = Annotation(
    "ann",
    "abc",
    {"self_contradiction": False, "follows": False},
    "too_strong",
    divergent_output=((3, 9),),
    wrong=(),
    slider=5,
    passed_check=True,
)


def test_annotations_are_read_back(tmp_path: Path) -> None:
    refused = Annotation("ann", "abd", unscored="neither yes nor no: perhaps")
    write_jsonl(tmp_path / "a.jsonl", [ONE.to_json(), refused.to_json()])
    assert read_annotations(tmp_path / "a.jsonl") == [ONE, refused]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"relation": None}, "the reason why there is none"),
        ({"unscored": "cut"}, "the reason why there is none"),
        ({"relation": "wrong"}, "relation: "),
        ({"slider": 8}, "8 is not 1 to 7"),
        ({"path": {"follows": "maybe"}}, "path.follows: "),
    ],
)
def test_what_is_no_annotation_is_refused_with_its_line(
    tmp_path: Path, change: dict[str, object], why: str
) -> None:
    write_jsonl(tmp_path / "a.jsonl", [ONE.to_json(), ONE.to_json() | change])
    with pytest.raises(TablemendError, match=rf"a\.jsonl:2 is no annotation: .*{why}"):
        read_annotations(tmp_path / "a.jsonl")


def test_a_missing_file_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match=r"eval/annotate\.py"):
        read_annotations(tmp_path / "a.jsonl")
