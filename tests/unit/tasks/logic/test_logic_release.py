"""The authors' release, in made-up files of its columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tablemend.errors import TablemendError
from tablemend.tasks.logic.release import read_release
from tablemend.tasks.logic.report import write_release_report

PRECEDENCE = "There is one or more connective precedence ambiguity."
HOTEL = ("1_1", "2_1", "3", "5", "6", "7", "8", "9", "10", "11", "13_1")
LOGIC = ("3", "4", "5", "6", "7", "8", "9", "10_1")
INPUT, OUTPUT = "Name: Inn\nStar rating: 4", "The Inn is a cosy 4-star hotel.\nIt has a pool."


def export(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    """A Qualtrics export: names, two rows of labels, then a row for each person."""
    names = ["Progress", "Finished", "Q_RecaptchaScore", "Q1.2", "Q30.2"]
    names += [f"Q{block}.{one}" for block in (6, 5) for one in columns]  # not in their order
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerow({one: one.split("_")[0] for one in names})
        writer.writerow(dict.fromkeys(names, '{"ImportId":"QID1"}'))
        for row in rows:
            writer.writerow({"Progress": "100", "Finished": "TRUE", "Q1.2": "Yes", **row})


def block(number: int, columns: Sequence[str], *values: str) -> dict[str, str]:
    return {f"Q{number}.{one}": value for one, value in zip(columns, values, strict=True)}


def texts(path: Path, head: str, *rows: Sequence[str]) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([head.split(), *rows])


MATCHED = ("No", "", "No", "Yes", "Yes", "", "", "7")
WEAK = ("Yes", f"{PRECEDENCE},Other", "No", "Yes", "No", "", "", "3")
UNDEFINED = ("Yes", PRECEDENCE, "UND", "", "", "", "", "1")
CONTRADICTORY = ("No", "", "Yes", "", "", "", "", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "hallucination-framework"
    pairs = [["Cube(a)", "a is a cube", f"m{n}", f"Block {n}"] for n in (2, 1)]
    pilot = ["Cube(a)", "A pilot.", "gpt", "Pilot 1"]
    texts(base / "Logic/data/input_output.csv", "input output model block", pilot, *pairs)
    refs = [{**block(5, LOGIC, *MATCHED), **block(6, LOGIC, *UNDEFINED)}]
    refs += [{**block(5, LOGIC, *WEAK), **block(6, LOGIC, *UNDEFINED)}]
    export(base / "Logic/evaluation/gold_label/edu_kees.csv", LOGIC, refs)
    crowd = [
        {**block(5, LOGIC, *WEAK), **block(6, LOGIC, *MATCHED)},
        block(5, LOGIC, *CONTRADICTORY),
        {"Finished": "False", **block(5, LOGIC, *MATCHED)},
    ]
    export(base / "Logic/evaluation/annotations/crowd_final.csv", LOGIC, crowd)

    pairs = [[INPUT, "A pilot.", "gpt", "", ""], [INPUT, OUTPUT, "gpt", "5", "1"]]
    texts(base / "Trivago/data/data_processed.tsv", "input output model block_Q item", *pairs)
    strong = ("", "5: cosy,10: a,11: pool.", "No", "No", "", "Yes", "it has a Pool", "", "Yes", "")
    harmless = ("4: 4", "5: cosy", "No", "No", "", "No", "", "No", "", "")
    refs = [block(5, HOTEL, *strong, "3"), block(5, HOTEL, "", "", *harmless[2:], "2")]
    refs = [{"Q30.2": "1 minute", **one} for one in refs]
    export(base / "Trivago/experiment/gold_label/albert_edu_kees_gold.csv", HOTEL, refs)
    passed = {"Q30.2": "2 minutes", **block(5, HOTEL, *harmless, "5")}
    crowd = [passed, {"Q30.2": "", **block(5, HOTEL, *strong, "1")}]
    export(base / "Trivago/experiment/crowdsourcing/complete_annotations.csv", HOTEL, crowd)
    own = base / "Trivago/experiment/trivago_annotations/trivago_complete.csv"
    export(own, HOTEL, [passed] * 4)

    results = base / "LLMs/results/logic"
    results.mkdir(parents=True)
    answers = [
        {"input": "Cube(a)", "output": "a is a cube", "predicted_category": letter}
        | {"reasoning": [["Is Output ambiguous?", ambiguous, "Hm."]]}
        for letter, ambiguous in (("B", "yes"), ("Z", "no"))
    ]
    (results / "results_tot_gpt-9.json").write_text(json.dumps(answers), encoding="utf-8")
    return base


def test_pairs_and_answers_are_read(folder: Path) -> None:
    hotel, one, two = (release := read_release(folder)).pairs
    assert hotel.labels == ("too_strong", "too_weak_harmless") and hotel.output == OUTPUT
    assert (one.system, one.labels, one.ambiguous) == ("m1", ("well_matched", "too_weak"), True)
    assert (two.system, two.labels, two.ambiguous) == ("m2", (), True)  # left undefined
    people = {(a.annotator, a.pair): a for a in release.people}
    said = [a.relation for a in release.people if a.pair == one.id]
    assert said == ["too_weak", "output_contradictory"]
    first = people["person-1", one.id]
    assert (first.ambiguities, first.slider) == (("connective_precedence", "other"), 3)
    # One passed of the crowd; of the company's own the third failed, as the authors note.
    names = [a.annotator for a in release.people if a.pair == hotel.id]
    assert names == ["person-1", "person-2", "person-3", "person-4"]
    assert people["person-1", hotel.id].divergent_input == ((15, 22),)  # rating:
    strong, silent = (a for a in release.references if a.pair == hotel.id)
    assert [OUTPUT[a:b] for a, b in strong.divergent_output or ()] == ["cosy", "a", "pool."]
    assert [OUTPUT[a:b] for a, b in strong.wrong or ()] == ["It", "has", "a", "pool."]
    assert silent.divergent_output is None
    answers = [(m.annotator, m.relation, m.path.get("ambiguous")) for m in release.models]
    assert answers == [("gpt-9", "too_weak", True), ("gpt-9", None, False)]


def test_the_report_is_of_all_people_and_by_model(folder: Path, tmp_path: Path) -> None:
    text = write_release_report(tmp_path / "out", folder)
    own = json.loads((tmp_path / "out/annotations.json").read_text("utf-8"))["logic"]
    assert list(own["annotators"]) == ["gpt-9"]
    accuracy = own["accuracy"]
    assert accuracy["CAT"]["annotators"] == {"person-1": 1.0, "person-2": 0.0}
    assert accuracy["AMB"]["annotators"] == {"person-1": 0.5, "person-2": 0.0}  # the open pair too
    assert own["annotators"]["gpt-9"]["accuracy"]["CAT"]["mean"] == 1.0
    assert text.index("of Table 4") < text.index("of Table 6")
    assert "| references " in text.split("of Table 13")[1]


@pytest.mark.parametrize(
    ("path", "content", "what"),
    [
        ("Logic/data/input_output.csv", "input,output\n", "no column model"),
        ("Trivago/data/data_processed.tsv", None, "data_processed.tsv"),
        (
            "LLMs/results/logic/results_tot_gpt-9.json",
            '[{"input": "x", "output": "y", "predicted_category": "A", "reasoning": [["", ""]]}]',
            "an answer to another pair",
        ),
    ],
)
def test_a_folder_that_is_not_the_release_is_refused(
    folder: Path, path: str, content: str | None, what: str
) -> None:
    (folder / path).unlink()
    if content is not None:
        (folder / path).write_text(content, encoding="utf-8")
    with pytest.raises(TablemendError, match=what) as error:
        read_release(folder)
    assert "\n" not in str(error.value)
    with pytest.raises(TablemendError, match="has no references or no answers"):
        read_release(folder / "LLMs")
