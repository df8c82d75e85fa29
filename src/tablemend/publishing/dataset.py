"""A data set as others load it: Parquet, and a card with licence, language, sizes and features.

One way for every folder that a script of ``data_gen/`` writes. The Hub makes its Croissant record
of such files by itself: every column has a type.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from datasets import DatasetInfo, Features, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard, DatasetCardData
from pyarrow import parquet

from tablemend.config import SMALL_WORLD
from tablemend.datasets.build import COUNTS, SETTINGS
from tablemend.datasets.card import LICENCE, table_of
from tablemend.datasets.splits import POOL, SPLITS
from tablemend.errors import TablemendError
from tablemend.publishing.checkpoint import leave_out_paths
from tablemend.publishing.hub import BEHIND, PublishDataCommand, PublishedFolder
from tablemend.publishing.recorded import made_again
from tablemend.runs import MOVE_AWAY, disk_errors, read_jsonl, read_object, write_text
from tablemend.tasks.faith.reports import INVENTED
from tablemend.tasks.logic.dataset import HAVE
from tablemend.tasks.tabfaith.data import SYNTHETIC
from tablemend.tasks.torr.data import LOOKUP
from tablemend.training.checkpoints import put_in_place
from tablemend.training.data import PAIRS_FILE
from tablemend.training.pair_generation import STAGE as PAIRS

OWN = "apache-2.0"
"""Licence of what is made of invented tables alone: this repository's."""
INVENTED_TABLES = (POOL, SMALL_WORLD, SYNTHETIC, INVENTED, LOOKUP, *HAVE)
KNOWN = {"data_gen/tables": "cc-by-sa-4.0"}
"""Licences of tables that come with the repository; what is made of them is under the same."""
SIZES = {"n<1K": 1e3, "1K<n<10K": 1e4, "10K<n<100K": 1e5, "100K<n<1M": 1e6, "1M<n<10M": inf}
"""Names of the Hub, each with what is just too large for it."""


def write_folder(command: PublishDataCommand) -> PublishedFolder:
    """Write the folder; nothing leaves this machine.

    Raises:
        TablemendError: no such data set, a licence that is not known or not the tables', records
            that have no common columns, or a folder in the way.
    """
    source = Path(command.data).expanduser()
    settings = _settings(source)
    license = _license(source, settings, command.license)
    splits = _splits(source)
    out = Path(command.out).expanduser() if command.out else source / "publish"
    if out.exists() and (not out.is_dir() or (not (out / "data").is_dir() and any(out.iterdir()))):
        raise TablemendError(f"{out} holds other files: name an empty folder (out=FOLDER)")
    partial = out.with_name(f".{out.name}.partial")
    with disk_errors(source):
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "data").mkdir(parents=True)
        schema = _schema(source, splits)
        sizes = {
            split: _write(partial / "data" / f"{split}.parquet", records, schema, source)
            for split, records in splits.items()
        }
        (partial / BEHIND).mkdir()  # what says how it was made, and pictures of the card
        for name in (SETTINGS, COUNTS, f"{PAIRS}.yaml"):
            if (source / name).is_file():
                shutil.copy2(source / name, partial / BEHIND / name)
        for path in source.glob("*.png"):
            shutil.copy2(path, partial / path.name)
        card = _card(source, partial, settings, license, command, schema, sizes)
        write_text(partial / "README.md", card)
        leave_out_paths([partial / "README.md", *(partial / BEHIND).iterdir()])
        put_in_place(out, partial)
    return PublishedFolder(out, license=license, splits=sizes)


def _settings(source: Path) -> dict[str, Any]:
    """What the data set was made with."""
    if (noted := source / SETTINGS).is_file():
        return read_object(noted, MOVE_AWAY)
    if (noted := source / f"{PAIRS}.yaml").is_file():
        found: dict[str, Any] = yaml.safe_load(noted.read_text("utf-8"))
        return found
    raise TablemendError(
        f"data={source} is no finished data set: it has no {SETTINGS} and no {PAIRS}.yaml, which "
        "the scripts of data_gen/ write"
    )


def _splits(source: Path) -> dict[str, list[Any]]:
    """The records of each split that has some."""
    if (pairs := source / PAIRS_FILE).is_file():
        records = list(read_jsonl(pairs))
        found = {split: [one for one in records if one["split"] == split] for split in SPLITS}
    else:
        paths = {split: source / f"{split}.jsonl" for split in SPLITS}
        found = {split: list(read_jsonl(path)) for split, path in paths.items() if path.is_file()}
    splits: dict[str, list[Any]] = {split: own for split, own in found.items() if own}
    if not splits:
        raise TablemendError(f"data={source} has no example in any of {', '.join(SPLITS)}")
    return splits


def _sources(source: Path, settings: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What the texts and tables come from, each with its licence where that is known."""
    named: list[Any] = [settings.get("source"), *settings.get("reports", ())]
    named += [*settings.get("sets", ()), *settings.get("domains", ())]
    wanted = settings.get("sizes", {})
    named += [place for name, place in settings.get("sources", {}).items() if wanted.get(name)]
    written = [settings.get("generator"), *settings.get("models", {}).values()]
    data = settings.get("data")
    if isinstance(data, dict):  # pairs: a recipe
        named += [one["source"] for one in (data["train"], data["validation"]) if one]
        written += [settings["model"]["path"]] if settings["dpo"]["pairs"]["sampled"] else []
    for place in filter(None, map(str, filter(None, named))):
        if place in INVENTED_TABLES:
            yield place, OWN
        elif (Path(place) / SETTINGS).is_file() and Path(place).resolve() != source.resolve():
            yield from _sources(Path(place), _settings(Path(place)))
        else:
            yield place, next((own for name, own in KNOWN.items() if name in place), None)
    yield from ((f"answers of {model}", None) for model in written if model is not None)


def _license(source: Path, settings: Mapping[str, Any], given: str | None) -> str:
    """The licence that the data set is published under.

    Raises:
        TablemendError: it is not known, or another one than its tables have.
    """
    sources = dict(_sources(source, settings))
    for place, known in sources.items():
        if known not in (None, OWN, given) and given is not None:
            raise TablemendError(
                f"license={given}: {place} is under {known}, and so is what is made of it"
            )
    unknown = [place for place, known in sources.items() if known is None]
    if given is None and (unknown or not sources):
        raise TablemendError(
            f"data={source} is made from {', '.join(unknown) or 'what its settings do not name'}: "
            "find out what licence that is under, and give it as license=NAME (cc-by-sa-4.0)"
        )
    return given or next((one for one in sources.values() if one not in (None, OWN)), OWN)


def _schema(source: Path, splits: Mapping[str, list[Any]]) -> pa.Schema:
    """The columns that all records have, each with a type; what is always blank is text."""
    try:
        found = [pa.Table.from_pylist(records).schema for records in splits.values()]
        merged = pa.unify_schemas(found, promote_options="permissive")
    except pa.ArrowException as error:
        raise TablemendError(f"{source}: its records have no common columns: {error}") from error
    return pa.schema([field.with_type(_typed(field.type)) for field in merged])


def _typed(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_typed(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_typed(field.type)) for field in kind])
    return kind


def _write(path: Path, records: list[Any], schema: pa.Schema, source: Path) -> int:
    """Write a split and read it back; how many examples it has.

    Raises:
        TablemendError: what is read is not what was written.
    """
    try:
        parquet.write_table(pa.Table.from_pylist(records, schema=schema), path)
        back = parquet.read_table(path).to_pylist()
    except pa.ArrowException as error:
        raise TablemendError(f"{source}: not writable as Parquet: {error}") from error
    for number, (one, read) in enumerate(zip(records, back, strict=True), 1):
        if _without_blanks(one) != _without_blanks(read):
            raise TablemendError(
                f"{source}: example {number} of {path.stem} is not the same in Parquet"
            )
    return len(records)


def _without_blanks(value: Any) -> Any:
    """A record without keys that say nothing: in columns every record has every key."""
    if isinstance(value, dict):
        return {key: _without_blanks(own) for key, own in value.items() if own is not None}
    return [_without_blanks(own) for own in value] if isinstance(value, list) else value


def _card(
    source: Path,
    out: Path,
    settings: Mapping[str, Any],
    license: str,
    command: PublishDataCommand,
    schema: pa.Schema,
    sizes: Mapping[str, int],
) -> str:
    """The README: that of the folder, where it has one, under a head that says all."""
    readme = source / "README.md"
    written = DatasetCard.load(readme) if readme.is_file() else None
    head = {} if written is None else written.data.to_dict()
    files = {split: f"data/{split}.parquet" for split in sizes}
    splits = {
        split: SplitInfo(split, (out / files[split]).stat().st_size, count)
        for split, count in sizes.items()
    }
    size = sum(one.num_bytes for one in splits.values())
    info = DatasetInfo(
        features=Features.from_arrow_schema(schema),
        splits=SplitDict(splits),
        download_size=size,
        dataset_size=size,
    )
    data = DatasetCardData(
        license=license,
        language=[command.language],
        pretty_name=command.repo_id.partition("/")[2],
        size_categories=[
            next(name for name, limit in SIZES.items() if sum(sizes.values()) < limit)
        ],
        task_categories=head.get("task_categories", ["text-generation"]),
        tags=head.get("tags", ["tables", "hallucination"]),
        configs=[
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": path} for split, path in files.items()],
            }
        ],
    )
    DatasetInfosDict({"default": info}).to_dataset_card_data(data)
    if written is not None:
        body = written.text.strip()
    else:
        made = made_again(source) or f"python data_gen/preference.py recipe={BEHIND}/{PAIRS}.yaml"
        counted = table_of("split | examples", sizes)
        body = f"# {data.pretty_name}\n\n```\n{made}\n```\n\n{counted}"
    names = {
        next((one for one in KNOWN if one in place), Path(place).name)
        for place, _ in _sources(source, settings)
    }
    listed = ", ".join(f"`{name}`" for name in sorted(names)) or "other data"
    said = f"## Licence\n\n{license}; made from {listed}."
    with_licence = body.replace(LICENCE, said) if LICENCE in body else f"{body}\n\n{said}"
    return f"---\n{data.to_yaml()}\n---\n\n{with_licence}\n"
