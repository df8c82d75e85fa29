"""TabFaith sets: synthetic tables, those of others, files, splits, restarts and settings."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import ConfigError, parse
from tablemend.errors import TablemendError
from tablemend.tables.html import read_filing
from tablemend.tables.jsontable import is_totto, read_totto
from tablemend.tables.table import Table, TableError
from tablemend.tasks.tabfaith.data import (
    TabFaith,
    make_dataset,
    open_tables,
    plan_example,
    take_table,
)
from tablemend.tasks.tabfaith.domains import (
    PANELS,
    SYNTHETIC,
    Domain,
    clinical_table,
    financial_table,
)
from tablemend.tasks.tabfaith.task import TabFaithExample
from tests.support.files import SHARED_DATA


@pytest.mark.parametrize("domain", SYNTHETIC)
def test_a_number_decides_a_table_and_no_two_are_alike(domain: Domain) -> None:
    make = SYNTHETIC[domain]
    made = [make(0, number) for number in range(30)]
    assert made == [make(0, number) for number in range(30)]
    assert len({table.content_hash() for table in made}) == 30
    assert make(1, 0) != made[0]
    assert all(len(table.rows) >= 4 and len(table.columns) >= 4 for table in made)


def test_earnings_tables_have_the_papers_columns_and_agree_with_themselves() -> None:
    checked = 0
    for number in range(40):
        table = financial_table(0, number)
        if table.columns[1] != "Metric":
            continue
        assert table.columns == (
            "Fiscal Quarter", "Metric", "Reported Value", "YoY Change", "Analyst Consensus"
        )  # fmt: skip
        reported = {(row[0], row[1]): row[2] or "" for row in table.rows}
        for quarter, metric, now, change, _ in table.rows:
            before = re.sub(r"\d{4}", lambda year: str(int(year[0]) - 1), quarter or "")
            old = reported.get((before, metric))
            if old is None or change is None:
                continue
            checked += 1
            one, other = (Decimal(re.sub(r"[^\d.-]", "", text or "")) for text in (old, now))
            if metric == "Operating margin":
                assert change == f"{other - one:+} pp"
            else:
                assert abs(float(change.strip("+%")) - 100 * float(other - one) / float(one)) < 0.06
    assert checked > 50


def test_flags_agree_with_ranges_and_values_are_possible() -> None:
    tests = {test.name: test for panel in PANELS.values() for test in panel}
    seen = set()
    for number in range(60):
        table = clinical_table(0, number)
        ranges = table.column("Reference Range")
        for row, between in zip(table.rows, ranges, strict=True):
            test = tests[row[0] or ""]
            assert between == test.range
        if "Flag" not in table.columns and "Flag Status" not in table.columns:
            continue
        flag = "Flag" if "Flag" in table.columns else "Flag Status"
        value = "Result" if "Result" in table.columns else "Measurement"
        shown = zip(
            table.column(table.columns[0]), _measured(table, value), table.column(flag), strict=True
        )
        for name, number_, flagged in shown:
            test = tests[name or ""]
            above = test.high is not None and number_ > test.high
            below = test.low is not None and number_ < test.low
            wanted = "h" if above else "l" if below else "n"
            assert (flagged or "normal").casefold()[0] == wanted, (name, number_, flagged)
            seen.add(wanted)
            assert 0 <= number_ <= 1000
    assert seen == {"h", "l", "n"}


def _measured(table: Table, column: str) -> list[float]:
    return [float((cell or "").split()[0].rstrip("%")) for cell in table.column(column)]


def cell(value: str, wide: int = 1, high: int = 1, header: bool = False) -> dict[str, Any]:
    return {"value": value, "is_header": header, "column_span": wide, "row_span": high}


TOTTO = {
    "example_id": 7,
    "table_page_title": "Alba FC",
    "table_section_title": "Seasons",
    "table": [
        [cell("Season", high=2, header=True), cell("League", wide=2, header=True)],
        [cell("Division", header=True), cell("Points", header=True)],
        [cell("2019"), cell("First", high=2), cell("41")],
        [cell("2020"), cell("38")],
    ],
}


def test_totto_spans_and_headers() -> None:
    table = read_totto(TOTTO)
    assert table.title == "Alba FC - Seasons"
    assert table.columns == ("Season", "League Division", "League Points")
    assert table.rows == (("2019", "First", "41"), ("2020", "First", "38"))


def test_the_official_sample_is_read() -> None:
    folder = SHARED_DATA / "totto_sample"
    if not folder.is_dir():
        pytest.skip("real data is not part of the repository")
    for name in ("dev_sample.jsonl", "train_sample.jsonl"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            assert is_totto(record)
            table = read_totto(record)
            marked = [record["table"][row][cell] for row, cell in record["highlighted_cells"]]
            texts = {" ".join(one["value"].split()) for one in marked}
            assert texts <= {*table.columns, *(text for row in table.rows for text in row)}


FILING = """<table><tr><td></td><td></td><td colspan="2">2020</td><td></td><td colspan="2">2019</td><td></td></tr>
<tr><td>Net&#160;sales</td><td></td><td>$</td><td>5,310</td><td></td><td>$</td><td>4,900</td><td></td></tr>
<tr><td>Net loss</td><td></td><td></td><td>(120</td><td>)</td><td></td><td>(80</td><td>)</td></tr>
<tr><td></td><td></td><td></td><td></td><td></td><td></td><td></td><td></td></tr></table>"""  # noqa: E501


def test_signs_brackets_and_spacers_of_filings_join_their_numbers() -> None:
    table = read_filing(FILING)
    assert table.columns == ("", "2020", "2019")
    assert table.rows == (("Net sales", "$5,310", "$4,900"), ("Net loss", "(120)", "(80)"))


ASCII = """<TABLE>
<CAPTION>
                              Three months ended
                               1999        1998
                              ------      ------
<S>                           <C>         <C>
Net sales ................    $ 5,310     $ 4,900
Cost of goods
  sold ...................      3,000       2,900
                              ------      ------
Gross profit .............    $ 2,310     $ 2,000
</TABLE>"""


def test_ascii_tables_of_older_filings_are_read() -> None:
    table = read_filing(ASCII)
    assert table.columns == ("", "1999", "1998")
    assert table.rows == (
        ("Net sales", "$5,310", "$4,900"),
        ("Cost of goods sold", "3,000", "2,900"),
        ("Gross profit", "$2,310", "$2,000"),
    )


@pytest.mark.parametrize("text", ["", "no table at all", "<table></table>", "<TABLE>\n<S> <C>\n"])
def test_fragments_without_a_table_are_refused(text: str) -> None:
    with pytest.raises(TableError):
        read_filing(text)


def test_real_filings_are_read(shared_data: Callable[[str], list[dict[str, Any]]]) -> None:
    records = shared_data("sec_8k_tables")
    read = lone = 0
    for record in records:
        try:
            table = read_filing(record["raw_table"])
        except TableError:
            continue
        read += 1
        lone += any(cell in ("$", ")", "%") for row in table.rows for cell in row)
    assert read >= 0.9 * len(records)
    assert lone <= 0.1 * read  # two rows of one table may be laid out in different columns


def test_folders_of_files_are_sources(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.csv").write_text("Club,Points\nAlba,41\nBorea,38\nCorvo,27\n")
    (folder / "same.csv").write_text("Club,Points\nAlba,41\nBorea,38\nCorvo,27\n")
    (folder / "empty.csv").write_text("")
    (folder / "deep" / "filing.htm").write_text(FILING)
    (folder / "totto.jsonl").write_text(json.dumps(TOTTO) + "\nnot json\n")
    settings = TabFaith.model_validate(
        {"sources": {"general": str(folder)}, "sizes": {"general": 9, "financial": 0}}
    )
    tables, skipped = open_tables(settings, "general")
    assert [table.where for table in tables] == ["deep/filing.htm", "one.csv", "totto.jsonl:1"]
    assert [one.where for one in skipped] == [
        f"general: {name}" for name in ("empty.csv", "same.csv", "totto.jsonl:2")
    ]
    assert take_table(settings, {"general": tables}, "general", 3) == tables[0]


def test_rows_that_repeat_the_header_are_no_rows(tmp_path: Path) -> None:
    lines = ["Club,Points  won", "Alba,41", "CLUB, Points won", "Borea,38", "Club,", "Corvo,27"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    settings = TabFaith.model_validate({"sources": {"general": str(tmp_path)}})
    tables, _ = open_tables(settings, "general")
    assert tables[0].table.columns == ("Club", "Points won")
    assert tables[0].table.rows == (("Alba", "41"), ("Borea", "38"), ("Corvo", "27"))


def test_a_source_without_a_usable_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Club\nAlba\n")
    settings = TabFaith.model_validate({"sources": {"general": str(tmp_path)}})
    with pytest.raises(TablemendError, match=r"no table that can be summarised \(1 x only one"):
        open_tables(settings, "general")
    settings = TabFaith.model_validate({"sources": {"operations": str(tmp_path / "nothing")}})
    with pytest.raises(TablemendError, match="no such file or folder; `synthetic` is built in"):
        open_tables(settings, "operations")


SMALL = {"general": 18, "financial": 6, "clinical": 6, "operations": 6}
FILES = ("train.jsonl", "validation.jsonl", "test.jsonl")


def settings(out: Path, **given: Any) -> TabFaith:
    data = {"out": str(out), "sizes": SMALL, "seed": 4, **given}
    return TabFaith.model_validate(data)


def nothing(_: int) -> None:
    return None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tabfaith") / "set"
    make_dataset(settings(out), nothing)
    return out


def examples_of(folder: Path, *names: str) -> list[TabFaithExample]:
    paths = [folder / name for name in names or FILES]
    lines = [line for path in paths if path.exists() for line in path.read_text().splitlines()]
    return [TabFaithExample.from_json(json.loads(line)) for line in lines]


def test_numbers_labels_and_domains_are_those_asked_for(made: Path) -> None:
    examples = examples_of(made)
    assert Counter(one.domain for one in examples) == SMALL
    assert Counter(one.label for one in examples) == {"faithful": 24, "unfaithful": 12}
    assert all(bool(one.errors) == (one.label == "unfaithful") for one in examples)
    assert all(1 <= len(one.errors) <= 5 for one in examples if one.errors)
    assert len({one.id for one in examples}) == 36
    counts = json.loads((made / "counts.json").read_text())
    assert counts["examples"] == {"asked": 36, "made": 36}
    assert counts["counts"]["errors"] == sum(len(one.errors) for one in examples)


def test_the_papers_numbers_are_the_default() -> None:
    config = TabFaith()
    tasks = [plan_example(config, number) for number in range(config.sizes.total)]
    assert Counter(task.domain for task in tasks) == {
        "general": 1600, "financial": 280, "clinical": 280, "operations": 240
    }  # fmt: skip
    assert sum(task.unfaithful for task in tasks) == 800


def test_no_table_stands_in_two_splits(made: Path) -> None:
    hashes = [{one.source_hash for one in examples_of(made, name)} for name in FILES]
    assert all(hashes) and sum(map(len, hashes)) == len(set.union(*hashes))
    for name in FILES:
        for one in examples_of(made, name):
            assert one.source_hash == one.table.content_hash()


def test_a_seed_gives_these_bytes(made: Path) -> None:
    """Who changes what is written raises ``VERSION`` of the verbaliser or of the injection."""
    digest = hashlib.sha256((made / "train.jsonl").read_bytes()).hexdigest()
    assert digest[:16] == "be1a73535b85c504"


def test_the_mix_can_be_one_type_and_one_error(tmp_path: Path) -> None:
    mix = {"num": 0, "rel": 0, "cmp": 1, "tmp": 0, "att": 0}
    config = settings(tmp_path / "set", mix=mix, max_errors=1, faithful=0)
    make_dataset(config, nothing)
    examples = examples_of(tmp_path / "set")
    assert {error.type for one in examples for error in one.errors} == {"CMP"}
    assert {len(one.errors) for one in examples} == {1} and len(examples) >= 30


def test_the_card_names_the_fields_that_the_files_have(made: Path) -> None:
    text = (made / "README.md").read_text("utf-8")
    head = yaml.safe_load(text.split("---")[1])
    names = [field["name"] for field in head["dataset_info"]["features"]]
    with (made / "test.jsonl").open(encoding="utf-8") as file:
        assert set(names) == json.loads(file.readline()).keys()
    assert "| NUM |" in text


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        (["sources.general=synthetic"], "only the other domains are synthetic"),
        (["sources.clinical=pool"], "write synthetic"),
        (["min_errors=3", "max_errors=2"], "more than max_errors=2"),
        ([f"sizes.{domain}=0" for domain in SMALL], "no domain"),
        (["mix.num=0", "mix.rel=0", "mix.cmp=0", "mix.tmp=0", "mix.att=0"], "all shares are 0"),
        (["sources.dataset_config=x"], "only a `hub:` source has one"),
        (["max_eror=2"], "did you mean"),
        (["recipe=tabfath"], "did you mean tabfaith"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_named(tokens: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(TabFaith, tokens)
