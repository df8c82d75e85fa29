"""data_gen/publish.py: every kind of data set as Parquet with a card; a push only where asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset, load_dataset_builder
from huggingface_hub import DatasetCard

from tablemend.config import Source, parse
from tablemend.errors import TablemendError
from tablemend.publishing.dataset import write_folder
from tablemend.publishing.hub import PublishDataCommand
from tablemend.tasks import claim_verification
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.faith import data as faith
from tablemend.tasks.faith.data import FaithSet
from tablemend.tasks.logic import dataset as logic
from tablemend.tasks.logic.dataset import LogicSet
from tablemend.tasks.tabfaith import data as tabfaith
from tablemend.tasks.tabfaith.data import TabFaith
from tablemend.tasks.tablehallu import dataset as tablehallu
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.task import TaskOptions
from tablemend.tasks.torr import data as torr
from tablemend.tasks.torr.data import TorrSet
from tablemend.training.data import Pair
from tests.support.fake_hub import TOKEN, FakeHub
from tests.support.short_trainings import ROOT, injected_pairs, small_data

NAME = "someone/tables"
HALVES = ["shares.train=0.5", "shares.validation=0", "shares.test=0.5"]
SIZES = ["sizes.general=12", "sizes.financial=6", "sizes.clinical=6", "sizes.operations=0"]


def _tablehallu(out: Path) -> None:
    tablehallu.make_dataset(
        parse(Synthesis, ["source=pool", "n=12", f"out={out}", *HALVES]), lambda _: None
    )


def _tabfaith(out: Path) -> None:
    tabfaith.make_dataset(parse(TabFaith, [f"out={out}", *SIZES]), lambda _: None)


def _claims(out: Path) -> None:
    said = out.with_name("said")
    sizes = ["sizes.general=60", "sizes.financial=0", "sizes.clinical=0", "sizes.operations=0"]
    tabfaith.make_dataset(parse(TabFaith, [f"out={said}", *sizes]), lambda _: None)
    claim_verification.make_claims(
        parse(claim_verification.Claims, [f"tabfaith={said}", f"out={out}"])
    )


def _faith(out: Path) -> None:
    faith.make_dataset(parse(FaithSet, ["n=12", f"out={out}", *HALVES]), lambda _: None)


def _torr(out: Path) -> None:
    data = out.with_name("open")
    header, rows = ["team", "points"], [["Alba", "41"], ["Sella", "37"]]
    sets: dict[str, list[dict[str, Any]]] = {"wikitablequestions": [], "tabfact": []}
    for n in range(12):
        table = {"table_id": f"t{n}", "header": header, "rows": [*rows, ["Vey", str(n)]]}
        question = {"question": f"who won {n}?", "answer": ["Alba"]}
        sets["wikitablequestions"].append({**table, "questions": [question]})
        sets["tabfact"].append({**table, "statements": [{"text": f"vey have {n}", "label": 1}]})
    for name, lines in sets.items():
        (data / name).mkdir(parents=True)
        (data / name / "open.jsonl").write_text("\n".join(map(json.dumps, lines)))
    torr.make_dataset(
        parse(TorrSet, [f"data={data}", f"out={out}", "n=6", "train=2", "demonstrations=1"])
    )


def _logic(out: Path) -> None:
    logic.make_dataset(parse(LogicSet, [f"out={out}", "n=14", *HALVES]))


def _pairs(out: Path) -> None:
    injected_pairs(out, small_data(16))


KINDS: dict[str, tuple[Callable[[Path], None], str | None]] = {
    "table_generation": (_tablehallu, None),
    "table_summary": (_tabfaith, None),
    "claim_verification": (_claims, "cc-by-4.0"),
    "faith": (_faith, None),
    "torr": (_torr, "cc-by-sa-4.0"),
    "logic": (_logic, None),
    "pairs": (_pairs, None),
}
"""What makes a small set of each kind, and the licence that somebody has to give."""


def command(data: Path, **options: Any) -> PublishDataCommand:
    return PublishDataCommand(data=str(data), repo_id=NAME, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read_back_as_it_was(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    make, license = KINDS[kind]
    data = tmp_path / "set"
    make(data)
    if license is not None:
        with pytest.raises(TablemendError, match=r"find out what licence .* license=NAME"):
            write_folder(command(data))
    published = write_folder(command(data, license=license))
    out = published.folder
    read: Callable[[Any], Any] = (
        Pair.from_json if kind == "pairs" else TASKS[kind](TaskOptions()).sample
    )
    lines = [
        json.loads(line)
        for split in ("pairs", "train", "validation", "test")
        for path in [data / f"{split}.jsonl"]
        if path.is_file()
        for line in path.read_text("utf-8").splitlines()
    ]
    files = {split: str(out / "data" / f"{split}.parquet") for split in published.splits}
    cache = str(tmp_path / "cache")
    loaded = load_dataset("parquet", data_files=files, cache_dir=cache)
    records = [record for split in files for record in loaded[split]]
    assert len(lines) == len(records) == sum(published.splits.values()) > 0
    order = {read(line).id: read(line) for line in lines}
    assert {read(record).id: read(record) for record in records} == order
    head = DatasetCard.load(out / "README.md").data
    assert head.license == published.license == (license or "apache-2.0")
    assert head.language == ["en"] and head.size_categories == ["n<1K"]
    builder = load_dataset_builder(str(out), cache_dir=cache)
    assert builder.info.features == loaded[next(iter(files))].features
    counts = {name: one.num_examples for name, one in builder.info.splits.items()}
    assert counts == published.splits
    text = (out / "README.md").read_text("utf-8")
    assert "python data_gen/" in text and text.count("## Licence") == 1
    assert "has to state it here" not in text and str(tmp_path) not in text
    if kind not in ("pairs",):
        samples = TASKS[kind](TaskOptions()).samples(Source(source=files["test"]))
        assert len(samples) == published.splits["test"]


def test_what_is_made_of_tables_keeps_their_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    data = tmp_path / "set"
    _tablehallu(data)
    settings = json.loads((data / "settings.json").read_text())
    (data / "settings.json").write_text(json.dumps({**settings, "source": "data_gen/tables"}))
    with pytest.raises(TablemendError, match=r"data_gen/tables is under cc-by-sa-4\.0"):
        write_folder(command(data, license="mit"))
    assert write_folder(command(data)).license == "cc-by-sa-4.0"
    (data / "settings.json").write_text(json.dumps({**settings, "generator": "openai:MODEL"}))
    with pytest.raises(TablemendError, match="answers of openai:MODEL"):
        write_folder(command(data))
    of_pool = tmp_path / "pool"
    _tablehallu(of_pool)
    (data / "settings.json").write_text(json.dumps({**settings, "source": str(of_pool)}))
    assert write_folder(command(data)).license == "apache-2.0"


def test_what_is_no_data_set_or_has_no_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match=r"no finished data set: it has no settings\.json"):
        write_folder(command(tmp_path))
    data = tmp_path / "set"
    _tablehallu(data)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(TablemendError, match="holds other files"):
        write_folder(command(data, out=str(tmp_path / "full")))
    lines = (data / "test.jsonl").read_text("utf-8").splitlines()
    changed = json.dumps({**json.loads(lines[0]), "query": {"not": "a text"}})
    (data / "test.jsonl").write_text("\n".join([*lines, changed, ""]))
    with pytest.raises(TablemendError, match="no common columns"):
        write_folder(command(data))
    assert not (data / "publish").exists()


def test_nothing_leaves_without_push_and_a_refusal_hides_the_token(
    tmp_path: Path, fake: type[FakeHub], script: Callable[..., Any]
) -> None:
    data = tmp_path / "set"
    _tablehallu(data)
    tokens = ["data_gen/publish.py", f"data={data}", f"repo_id={NAME}"]
    script(*tokens, "--check")
    assert not (data / "publish").exists()
    assert "licence apache-2.0" in script(*tokens).out and fake.calls == []
    script(*tokens, "push=true")
    (_, made), (_, sent) = fake.calls
    assert made["repo_type"] == sent["repo_type"] == "dataset" and made["private"] is True
    assert {"README.md", "train.parquet", "settings.json"} <= set(sent["files"])
    assert not any(name.endswith(".jsonl") for name in sent["files"])
    fake.problem = RuntimeError(f"403 for {TOKEN}")
    err = script(*tokens, "push=true", status=2).err
    assert "403 for ***" in err and TOKEN not in err
    shutil.rmtree(data)
    script(*tokens, status=2)
    assert "license" in script(*tokens, "license=No Such", status=2).err
