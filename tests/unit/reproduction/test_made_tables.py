"""Tables made of run folders that never were: the right numbers in the right cells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.detector.errors import METRICS
from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.reports.content import DASH
from tablemend.reproduction.papers import choose, paper_of, published
from tablemend.reproduction.tables import Answers, ReproducedTable, fill
from tablemend.reproduction.writing import markdown, rows_of, write_table_files
from tablemend.runs import write_json, write_jsonl
from tablemend.tables.read import read_table
from tablemend.tasks.tabfaith.task import METRICS as SUMMARY_METRICS
from tests.support.made_up_runs import made_up_run

ROOT = Path(__file__).parents[3]
CLEAN = ["", "", "", ""]
BASE = ["out_of_range", "attribute attribute", "order_mismatch", "?"]
SFT = ["", "attribute", "", ""]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def made(paper: str, place: str, run: Path, recipe: str = "tiny") -> ReproducedTable:
    table = next(one for one in published(paper)[1] if one.place == place)
    found = ReproducedTable(paper, table, paper_of(paper).items[place])
    fill(found, run, parse(CompareCommand, [f"recipe={recipe}"]) if recipe else None)
    found.say_missing()
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    answers = {
        "base": {"clean": CLEAN, "adversarial": BASE},
        "careful": {"clean": CLEAN, "adversarial": BASE},
        "sft": {"clean": CLEAN, "adversarial": SFT},
    }
    return made_up_run(tmp_path / "run", answers, METRICS)


def test_rates_stand_beside_the_published_ones(run: Path) -> None:
    table = made("tablehallu", "table 4", run)
    base = table.ours["Base"]
    assert base["Query-Violation"]["rate"] == pytest.approx(2 / 3)
    assert base["Context-Violation"]["rate"] == pytest.approx(1 / 3)
    assert base["Total Hallu"] == {**base["Total Hallu"], "rate": 1.0, "n": 3}  # one is unscored
    assert table.ours["SFT"]["Total Hallu"]["rate"] == 0.25
    assert "no system cot" in table.missing["COT"] and "COT" not in table.ours
    head, rows = rows_of(table).head, {row[0].text: row for row in rows_of(table).rows}
    assert head[1:3] == ["Query-Violation", "Query-Violation (published)"]
    assert [cell.text for cell in rows["Base"][1:3]] == ["66.7", "15.35"]
    assert rows["COT"][1].text == DASH and rows["COT"][2].text == "15.15"
    assert {test["system_b"] for test in table.tests} == {"careful", "sft"}
    assert all(test["p_holm"] is not None for test in table.tests)


@pytest.mark.parametrize("samples", [1, 5])
def test_files_of_two_comparisons_are_refused(run: Path, samples: int) -> None:
    write_jsonl(run / "examples.jsonl", [{"source_hash": "one"}] * samples)
    with pytest.raises(TablemendError, match=rf"has 4 samples, examples.jsonl {samples}: repeat"):
        Answers.read(run)


def test_cells_of_whole_runs_are_those_of_results_json(run: Path) -> None:
    answers = Answers.read(run)
    for system, kinds in answers.results["systems"].items():
        for context, rates in kinds.items():
            for name, rate in rates.items():
                pick = {"system": [system], "context": context, "metric": name}
                assert answers.cell(pick) == rate


def test_models_of_other_rows_say_what_they_need(run: Path) -> None:
    table = made("tablehallu", "table 1", run)
    assert table.ours["tiny-base"]["TotalHallu"]["rate"] == 1.0
    assert "hosted" in table.missing["GPT-4o"]
    assert "above 7B: model.path=Qwen/Qwen3-32B" in table.missing["Qwen3-32B"]
    assert "of 7B" in table.missing["Qwen2.5-7B-Instruct"]
    assert table.missing["Avg."] == "needs all models"


def answered_by(run: Path, **models: str) -> None:
    """Say that systems were asked so."""
    results = json.loads((run / "results.json").read_text("utf-8"))
    for system, named in models.items():
        results["settings"][system] |= {"named": named, "model": named.partition(":")[2]}
    write_json(run / "results.json", results)


@pytest.mark.parametrize("named", ["hf:Qwen/Qwen3-14B", "vllm:Qwen/Qwen3-14B", "openai:Qwen3-14B"])
def test_a_table_names_the_models_that_answered(named: str, run: Path, tmp_path: Path) -> None:
    """Not the recipe's: that of each system, in table, footer and JSON; in the paper's row."""
    answered_by(run, base=named, careful="openai:gpt-4o", sft="hf:sft")
    table = made("tablehallu", "table 4", run)
    assert table.measured["model"] == "Qwen3-14B, gpt-4o, tiny-base"
    whole = made("tablehallu", "table 1", run)
    assert list(whole.ours) == ["Qwen3-14B"] and whole.measured["model"] == "Qwen3-14B"
    for path in write_table_files([whole], tmp_path):
        assert "tiny-base" not in path.read_text()
    assert "model Qwen3-14B, gpt-4o, tiny-base" in markdown(table)


def test_a_hosted_model_gets_the_papers_row(run: Path) -> None:
    answered_by(run, base="openai:gpt-4o")
    assert list(made("tablehallu", "table 1", run).ours) == ["GPT-4o"]


def test_a_system_that_was_not_possible_says_why(run: Path) -> None:
    results = json.loads((run / "results.json").read_text("utf-8"))
    write_json(run / "results.json", results | {"not_possible": {"cot": "no such key"}})
    assert made("tablehallu", "table 4", run).missing["COT"] == (
        "cot: not possible here: no such key"
    )


def test_parts_of_the_data_get_rows(run: Path) -> None:
    domains = made("tablehallu", "figure 9", run).ours
    assert domains["Law"]["TotalHallu"]["n"] == 1  # the other one is unscored
    assert made("tablehallu", "figure 3", run).ours["Law"]["examples"]["n"] == 2
    categories = made("tablehallu", "figure 8", run).ours
    assert list(categories) == ["Society & Humanities"]  # of both domains
    assert categories["Society & Humanities"]["TotalHallu"]["n"] == 3
    lengths = made("tablehallu", "figure 6", run).ours
    assert len(lengths) == 8 and all(" characters" in label for label in lengths)
    assert {label.partition(",")[0] for label in lengths} == {"clean", "adversarial"}


def test_sizes_of_what_was_shown(run: Path) -> None:
    lengths = made("tablehallu", "figure 4", run).ours["base"]
    assert lengths["from"]["rate"] == pytest.approx(10.3)
    assert lengths["to"]["rate"] == pytest.approx(12.7)
    sizes = made("tablehallu", "figure 5", run).ours
    assert sizes["cells, about"]["from"]["rate"] == 4 and sizes["rows"]["to"]["n"] == 4


def test_a_calculation_is_a_part(run: Path) -> None:
    assert made("tablehallu", "figure 7", run).ours["none"]["attribute hallucination"]["n"] == 3


@pytest.fixture
def summaries(tmp_path: Path) -> Path:
    answers = {
        "base": {"table": ["NUM NUM", "CMP", "", "NUM"]},
        "cave": {"table": ["", "CMP", "", "NUM"]},
    }
    cost = {"cave": {"table": {"answers": 4, "passes": {"0": 1, "1": 2, "2": 1}}}}
    domains, changes = ("general", "general", "clinical"), {"task": "table_summary", "cost": cost}
    run = made_up_run(
        tmp_path / "summaries", answers, SUMMARY_METRICS, domains=domains, share="staf", **changes
    )
    answered_by(run, base="vllm:Qwen/Qwen3-8B", cave="vllm:Qwen/Qwen3-8B")
    return run


def test_cave_by_source_of_the_tables(summaries: Path) -> None:
    row = made("tabfaith", "table 3", summaries, "tabfaith-eval").ours["Qwen3-8B"]
    assert row["ToTTo base"]["rate"] == pytest.approx((0.5 + 0.75 + 0.75) / 3)
    assert row["ToTTo gain"]["rate"] == pytest.approx(0.5 / 3)
    assert row["TabSum-Ent base"]["rate"] == 1.0 and row["TabSum-Ent gain"]["n"] == 1
    shown = rows_of(made("tabfaith", "table 3", summaries, "tabfaith-eval")).rows[0]
    assert shown[1].text == "0.667"  # as the paper writes STAF
    results = json.loads((summaries / "results.json").read_text("utf-8"))
    results["settings"]["cave"]["rewriter"] = "openai:gpt-4o"
    write_json(summaries / "results.json", results)
    other = made("tabfaith", "table 3", summaries, "tabfaith-eval")
    assert other.measured["model"] == "Qwen3-8B, Qwen3-8B rewritten by GPT-4o"


def test_errors_by_type_and_gain(summaries: Path) -> None:
    shares = made("tabfaith", "figure 1", summaries, "tabfaith-eval").ours
    assert shares["Numerical (NUM)"]["Qwen3-8B"]["rate"] == pytest.approx(3 / 4)
    assert shares["Numerical (NUM)"]["Qwen3-8B"]["n"] == 4  # errors
    gain = made("tabfaith", "figure 2", summaries, "tabfaith-eval").ours["Numerical (NUM)"]
    assert gain["CAVE less base"]["rate"] == pytest.approx(-1 / 4)
    passes = made("tabfaith", "section 5", summaries, "tabfaith-eval").ours
    assert passes["answers of CAVE with 1 passes"]["answers"]["rate"] == 2


def test_counts_of_a_data_set(tmp_path: Path) -> None:
    counts = {"type NUM": 7, "type REL": 3, "errors": 10, "company 1": 2, "company 2": 1}
    counts |= {"characters": 900, "tables": 6, "spans": 3, "sentences": 2, "votes 3 yes, 0 no": 3}
    write_json(tmp_path / "counts.json", {"counts": counts})
    for paper, place, recipe, row, column, value in (
        ("tabfaith", "table 1", "tabfaith-eval", "Numerical (NUM)", "Total", 7),
        ("faith", "table 1", "faith-eval", "3 yes", "total", 3),
        ("faith", "table 2", "faith-eval", "companies", "ours", 2),
        ("faith", "table 2", "faith-eval", "characters of the tables, mean", "ours", 300),
    ):
        table = next(one for one in published(paper)[1] if one.place == place)
        found = ReproducedTable(paper, table, paper_of(paper).items[place])
        tokens = [f"recipe={recipe}", f"data.test.source={tmp_path}"]
        fill(found, tmp_path, parse(CompareCommand, tokens))
        assert found.ours[row][column]["rate"] == value
        assert found.ours.get("Comparative (CMP)") is None  # not counted, and not 0


@pytest.fixture
def robust(tmp_path: Path) -> Path:
    """A run of three systems, of which one has another model."""
    systems = {name: {"csv+none": CLEAN} for name in ("base", "sft", "big")}
    run = made_up_run(tmp_path / "robust", systems, METRICS)
    answered_by(run, sft="hf:sft", big="openai:Qwen/Qwen3-14B")
    return run


def test_robustness(robust: Path) -> None:
    rate = {"rate": 0.5, "low": 0.4, "high": 0.6, "n": 3}
    data: dict[str, Any] = {
        "systems": ["base", "sft", "big"],
        "sets": ["finqa", "lookup"],
        "performance": [rate, rate | {"rate": 0.7}, rate],
        "robustness": [rate, rate, rate],
        "performance_by_set": [[rate, rate], [rate, rate | {"rate": 0.9}]],
        "sorted": [[0.1, 0.5], [0.2, 0.6], [0.3, 0.7]],
        "reliability": {"kendalls_w": [0.25]},
    }
    write_json(robust / "robustness.json", data)
    whole = made("torr", "table 2", robust, "tiny-torr")
    table = whole.ours
    assert list(table) == ["tiny-base", "tiny-base, sft", "Qwen3-14B, big"]
    assert whole.measured["model"] == "tiny-base, Qwen3-14B"
    assert table["tiny-base, sft"]["P"] == rate | {"rate": 0.7}
    assert table["tiny-base, sft"]["lookup"]["rate"] == 0.9 and "FinQA" in table["tiny-base"]
    assert made("torr", "figure 3", robust, "tiny-torr").ours["tiny-base"]["highest"]["rate"] == 0.5
    w = made("torr", "figure 4", robust, "tiny-torr").ours["our systems, all data sets"]
    assert list(w) == ["1 configuration"]  # one configuration alone was run


def test_scores_are_written_as_the_paper_writes_them(robust: Path) -> None:
    rate = {"rate": 0.5, "low": 0.4, "high": 0.6, "n": 3}
    nothing = {"rate": None, "low": None, "high": None, "n": 0}
    data = {
        "systems": ["base", "sft"],
        "performance": [rate, nothing],
        "robustness": [rate, nothing],
    }
    write_json(robust / "robustness.json", data)
    table = made("torr", "table 2", robust, "tiny-torr")
    rows = {row[0].text: row for row in rows_of(table).rows}
    assert rows["tiny-base"][1].text == "0.500" and rows["tiny-base, sft"][1].text == DASH
    assert rows["tiny-base, sft"][-1].text == "nothing could be scored"
    assert "nothing to compare" in made("torr", "figure 4", robust, "tiny-torr").missing[""]
    (robust / "robustness.json").write_text("{")
    with pytest.raises(TablemendError, match="cannot be read"):
        made("torr", "table 2", robust, "tiny-torr")


def test_correlations_with_people_by_set(tmp_path: Path) -> None:
    rate = {"rate": 0.58, "low": 0.54, "high": 0.62, "n": 9}
    own = {"program": {"correlation": {"pearson": rate, "spearman": rate}}}
    write_json(tmp_path / "results.json", {"sets": {"tabfact": {"scorers": own}}})
    table = made("tabfaith", "table 2", tmp_path, "")
    assert rows_of(table).rows[0][1].text == "0.580"
    assert list(table.ours) == ["STAF, tabfact"]


def test_agreement_of_annotators(tmp_path: Path) -> None:
    part = {"accuracy": {"CAT": {"mean": 0.5}}, "macro": [0.1, 0.2, 0.3]}
    own = {"agreement": {"CAT": {"alpha": 0.25}}, "annotators": {"m": part}}
    kinds = {"ratios": {"wrong": 0.02}, "slider": {"wrong": {"r": -0.5, "p": 0.01}}}
    category = {"precision": 1.0, "recall": 0.5, "f1": 0.67, "support": 2, "annotated": 1}
    whole = {**part, **own, **kinds, "categories": {"well_matched": category}}
    write_json(tmp_path / "annotations.json", {"annotators": [], "hotel": whole})
    for place, row, column, value in (
        ("table 4", "APA", "hotel CAT", 0.5),
        ("table 4", "IAA", "hotel CAT", 0.25),
        ("table 7", "m", "hotel CAT", 0.5),
        ("table 5", "Well-matched", "R", 0.5),
        ("table 6", "m, macro average", "F1", 0.3),
        ("table 11", "factually wrong", "ratio", 0.02),
        ("table 12", "factually wrong", "r", -0.5),
    ):
        table = made("logic-annotation", place, tmp_path, "")
        assert table.ours[row][column]["rate"] == value, place


def test_three_formats_are_written(run: Path, tmp_path: Path) -> None:
    table = made("tablehallu", "table 4", run)
    paths = write_table_files([table], tmp_path / "out")
    assert [path.name for path in paths] == [
        f"tablehallu-table-4.{e}" for e in ("md", "tex", "json")
    ]
    text = paths[0].read_text()
    assert "0123456789abcdef" in text and "made up 1" in text  # data and scorer
    read = read_table(paths[1].read_text(), "latex")
    assert "Total Hallu (published)" in read.columns and len(read.rows) == 5
    (data,) = json.loads(paths[2].read_text())
    assert data["published"]["SFT"]["Total Hallu"] == 24.45
    assert data["ours"]["SFT"]["Total Hallu"]["rate"] == 0.25
    assert "COT" in data["missing"] and data["tests"] and data["measured"]["n"] == 4


def test_a_table_without_numbers_says_why(run: Path) -> None:
    table = next(one for one in published("torr")[1] if one.place == "figure 5")
    found = ReproducedTable(
        "torr", table, paper_of("torr").items["figure 5"], missing={"": "draw it"}
    )
    assert "curves are drawn" in markdown(found) and "draw it" in markdown(found)


def test_results_of_another_version_are_refused(run: Path) -> None:
    data = json.loads((run / "results.json").read_text())
    write_json(run / "results.json", data | {"version": 1})
    with pytest.raises(TablemendError, match="version 1"):
        made("tablehallu", "table 4", run)


def test_a_system_is_chosen_by_how_it_is_asked() -> None:
    systems = {"base": {"thinking": "on"}, "no-think": {"thinking": "off"}}
    off = {"system": ["base", "no-think"], "thinking": ["off"]}
    assert choose(off, systems) == "no-think"
    assert choose({"system": ["base"], "format": ["json"]}, systems) is None


def test_items_know_only_fields_that_are_explained() -> None:
    item = paper_of("tablehallu").items["table 4"]
    with pytest.raises(TypeError):
        replace(item, colour="red")  # type: ignore[call-arg]
