"""Training rows: exactly the evaluation prompt, exactly the target, nothing cut in silence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from accelerate import skip_first_batches
from accelerate.data_loader import prepare_data_loader
from torch.utils.data import DataLoader, Sampler
from transformers import AutoTokenizer, TrainerState

from tablemend.config import ConfigError, Source, parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment
from tablemend.records import Example
from tablemend.tasks.sources import check_local
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.task import read_examples
from tablemend.training.data import build_rows, read_validation, render, show
from tablemend.training.trainer import LengthGrouped, Passes, PromptOrder, length_groups

ROOT = Path(__file__).parents[3]
EXAMPLES = list(small_world.examples(seed=1, n=12))


@pytest.fixture(scope="module")
def tokenizer(tiny_model: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_model)


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Experiment]:
    monkeypatch.chdir(ROOT)
    return lambda *tokens: parse(Experiment, ["recipe=tiny", *tokens])


def test_length_groups_are_a_permutation_without_padding_that_changes_by_epoch() -> None:
    lengths = [(index * 7919) % 500 + 20 for index in range(1001)]
    batch = 16

    def order(seed: int, epoch: int) -> list[int]:
        return list(length_groups(lengths, batch, seed, epoch))

    def padded(indices: list[int]) -> int:
        groups = [indices[at : at + batch] for at in range(0, len(indices), batch)]
        return sum(len(group) * max(lengths[index] for index in group) for group in groups)

    first = order(0, 0)
    assert sorted(first) == list(range(1001))
    assert first == order(0, 0) != order(0, 1)
    assert first != order(1, 0)
    assert padded(first) < 1.05 * sum(lengths)
    assert padded(list(range(1001))) > 1.5 * sum(lengths)


ROWS = list(range(48))


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    "order",
    [lambda: LengthGrouped(ROWS, 8, seed=0), lambda: PromptOrder(ROWS, 2, 4, seed=0)],
    ids=["rows", "prompts"],
)
def test_a_resumed_pass_keeps_its_order(order: Callable[[], Sampler[int]], processes: int) -> None:

    def shards(epoch: int, skipped: int) -> list[list[int]]:
        read = []
        for index in range(processes):
            loader = DataLoader(ROWS, batch_size=2, sampler=order())
            loader = prepare_data_loader(
                loader, num_processes=processes, process_index=index, put_on_device=False
            )
            state = TrainerState(epoch=epoch + 0.5)
            Passes().on_epoch_begin(None, state, None, train_dataloader=loader)
            # as transformers' Trainer does
            rest = skip_first_batches(loader, skipped) if skipped else loader
            rest.set_epoch(epoch)
            read.append([batch.tolist() for batch in rest])
        return read

    assert shards(2, 0) != shards(0, 0)
    assert shards(2, 4) == [shard[4:] for shard in shards(2, 0)]


def test_show_colours_the_loss(tokenizer: Any, recipe: Callable[..., Experiment]) -> None:
    row = render(tokenizer, EXAMPLES[0], "adversarial", recipe())
    text = show(tokenizer, row)
    masked, _, trained = text.partition("\033[32m")
    assert "Context" in masked.replace("\033[0m|\033[90m", "")
    assert "####" in trained and "####" not in trained.split("\033[32m")[0]
    assert f"{len(row.prompt)} masked + {len(row.target)} trained" in text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    from tablemend.runs import write_jsonl

    records = [example.to_json() for example in EXAMPLES]
    write_jsonl(tmp_path / "train.jsonl", records[:8])
    parquet.write_table(pa.Table.from_pylist(records[8:]), tmp_path / "test.parquet")
    return tmp_path


def _read(**fields: Any) -> list[Example]:
    return read_examples(Source(**fields))


@pytest.mark.parametrize(
    ("engines", "refused"),
    [
        (("program/10", "program/10"), ""),
        (("program/9", "program/9"), ""),
        (("program/10", "llm/1"), ""),
        (("program/9", "small-world/5"), ""),
        (("program/10", "program/9"), r"program/10 .*0.jsonl.* program/9 .*1.jsonl"),
        (("verbaliser-4+injection-2", "verbaliser-4+injection-3"), "two versions"),
        (("openai:m-1, general/2", "openai:m-2, general/2"), ""),
    ],
)
def test_two_versions_of_an_engine_are_refused_together(
    tmp_path: Path, engines: tuple[str, str], refused: str
) -> None:
    sources = [Source(source=f"{tmp_path}/{place}.jsonl") for place in (0, 1)]
    for engine, source in zip(engines, sources, strict=True):
        Path(source.source).write_text(f'{{"a": 1}}\n{{"id": "x", "engine": "{engine}"}}\n')
        check_local(source)
    check_local(None, Source(source="small-world", n=1))
    if not refused:
        return check_local(*sources)
    with pytest.raises(TablemendError, match=refused):
        check_local(*sources)


@pytest.mark.parametrize("engine", ["program/8", "program/3", "small-world/4"])
def test_examples_that_give_gold_away_are_refused_alone(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text(f'{{"id": "x", "engine": "{engine}"}}\n')
    with pytest.raises(
        TablemendError, match=rf"old.jsonl: made by {engine}, .* make the data anew"
    ):
        check_local(Source(source=str(path)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": "{}", "split": "validation"}, "of validation.jsonl .*validation=null"),
        ({"source": "{}/none", "split": "train"}, "no file or folder"),
        ({"source": "{}/train.jsonl", "n": 9}, "holds 8 examples, n asks for 9"),
        ({"source": "{}/bad.jsonl"}, "bad.jsonl:2 is not a line of JSON"),
        ({"source": "{}/ragged.jsonl"}, "ragged.jsonl: record 1 is no tablemend example .*cells"),
        ({"source": "{}/latin.jsonl"}, "latin.jsonl:1 is not a line of JSON"),
        ({"source": "{}/empty.jsonl"}, "holds no example"),
        ({"source": "{}/cut.parquet"}, "not readable as Parquet"),
        ({"source": "{}/table.csv"}, "read from .jsonl or .parquet"),
    ],
)
def test_bad_sources_are_refused(folder: Path, fields: dict[str, Any], message: str) -> None:
    whole = (folder / "train.jsonl").read_text().splitlines()[0]
    (folder / "bad.jsonl").write_text(f"{whole}\n{{\n")
    ragged = json.loads(whole)
    ragged["gold_table"]["rows"][0].pop()
    (folder / "ragged.jsonl").write_text(json.dumps(ragged) + "\n")
    (folder / "latin.jsonl").write_bytes('{"topic": "é"}\n'.encode("latin-1"))
    (folder / "empty.jsonl").write_text("")
    (folder / "cut.parquet").write_bytes((folder / "test.parquet").read_bytes()[:-20])
    (folder / "table.csv").write_text("a,b\n")
    with pytest.raises(TablemendError, match=message):
        _read(**{**fields, "source": fields["source"].format(folder)})


def of_thinking(recipe: Callable[..., Experiment], thinking: str, *tokens: str) -> Experiment:
    return recipe(f"thinking={thinking}", f"evaluation.systems.sft.thinking={thinking}", *tokens)


def test_the_small_world_asks_each_context_as_often_as_the_source_says() -> None:
    made = read_examples(Source(source="small-world", n=7, seed=3, queries=2))
    assert made == list(small_world.examples(3, 7, queries=2))
    texts = [one.adversarial_context for one in made]
    assert len({one.id for one in made}) == 7 and len(set(texts)) == 4
    assert texts[::2][:3] == texts[1::2]
    once = read_examples(Source(source="small-world", n=4, seed=3))
    assert [one.adversarial_context for one in once] == texts[::2]


def test_validation_and_test_share_no_table(
    tmp_path: Path, recipe: Callable[..., Experiment]
) -> None:
    """The best checkpoint is chosen on the one, and compared on the other."""
    made = list(small_world.examples(seed=3, n=4))
    path = tmp_path / "validation.jsonl"
    path.write_text("".join(json.dumps(one.to_json()) + "\n" for one in made))
    config = recipe(
        f"data.validation={{source: {path}, n: null, seed: 0}}", "data.train.n=5", "data.test.n=5"
    )
    with pytest.raises(TablemendError, match=r"data\.test and data\.validation share 3 tables"):
        read_validation(config, read_examples(config.data.train))
    with pytest.raises(ConfigError, match=r"data\.validation: the same examples as data\.test"):
        recipe("data.validation={source: small-world, n: 9, seed: 3}")


def test_the_empty_block_is_qwens_and_bears_loss(
    tokenizer: Any, recipe: Callable[..., Experiment]
) -> None:
    """What the prompt of `off` gives, the model of `empty` writes: the same text, other masks."""
    for example in EXAMPLES:
        off = render(tokenizer, example, "adversarial", of_thinking(recipe, "off"))
        empty = render(tokenizer, example, "adversarial", of_thinking(recipe, "empty"))
        assert tokenizer.decode(off.input_ids) == tokenizer.decode(empty.input_ids)
        assert tokenizer.decode(empty.target).startswith("<think>\n\n</think>\n\n####")
        assert tokenizer.decode(off.prompt).endswith("<think>\n\n</think>\n\n")


def test_an_example_whose_rows_cannot_be_listed_is_dropped_and_counted(
    tokenizer: Any, recipe: Callable[..., Experiment]
) -> None:
    config = of_thinking(recipe, "list")
    text = json.dumps(EXAMPLES[0].to_json())
    marked = Example.from_json(json.loads(text.replace(EXAMPLES[0].facts[0].entity, "Bor | Nis")))
    reason = "no list: a value with a line break, a thinking tag or a |"
    built = build_rows(tokenizer, [marked, *EXAMPLES[1:]], config)
    assert built.dropped == {reason: 1} and len(built.rows) == len(EXAMPLES) - 1
    with pytest.raises(
        TablemendError, match=re.escape(f"no training example is left (1 x {reason})")
    ):
        build_rows(tokenizer, [marked], config)
