"""Examples from where a recipe says they are: generated, a file, a folder, or the Hub.

Beside them ordinary instruction data: chats that keep a model's general ability while it learns
tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from tablemend.config import EXAMPLE_FILES, HUB, SMALL_WORLD, Mixture, Source
from tablemend.errors import TablemendError
from tablemend.foreign import load_json

MAKES = "python data_gen/tablehallu.py"
Item = TypeVar("Item")
_VERSION = re.compile(r"(?<=[-/])\d+(?=\+|$)")
OUTDATED = {"program": 8, "small-world": 4}
"""The last version of an engine whose gold is told from the context without the query."""
_ENGINE = re.compile(rb'"engine": ?"([^"]*)"')
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat whose last turn, the assistant's, is what is trained on.

    Attributes:
        messages: the turns before it, as the renderer takes them.
        answer: its text, with its own ``<think>`` block where it has one.
        source_hash: of the table, where the chat was made from a sample's.
        made_with: the settings of its prompt, where that is a sample's.
    """

    messages: tuple[Mapping[str, str], ...]
    answer: str
    source_hash: str = ""
    made_with: Mapping[str, str] | None = None

    @property
    def thinks(self) -> bool:
        """Whether the prompt is to leave room for thinking: only where the answer thinks."""
        return self.answer.startswith("<think>")

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Chat:
        """The chat of a record ``{"messages": [{"role": ..., "content": ...}, ...]}``.

        Raises:
            TablemendError: what is wrong with the record.
        """
        turns = record.get("messages")
        if not isinstance(turns, list) or len(turns) < 2:
            raise TablemendError("needs a list `messages` of at least two turns")
        messages = tuple(_turn(number, turn) for number, turn in enumerate(turns, 1))
        if messages[-1]["role"] != "assistant" or messages[-2]["role"] == "assistant":
            raise TablemendError("the last turn, and no other at the end, must be the assistant's")
        made = str(record.get("source_hash", "")), record.get("made_with")
        return cls(messages[:-1], messages[-1]["content"], *made)


def read_records(
    source: Source, parse: Callable[[dict[str, Any]], Item], command: str
) -> list[Item]:
    """The records of a file, a folder or the Hub, at most ``source.n`` of them, from the front.

    ``command`` makes such data, for messages.


    Raises:
        TablemendError: there is no such file, it holds no examples or fewer than ``n``, or a
            record lacks a field; the message names the file and the record.
    """
    if source.source == SMALL_WORLD:
        raise TablemendError(f"{SMALL_WORLD} has samples of table_generation alone: {command}")
    records, where = _records(source, command)
    hint = f"make the data with {command}"
    return _take(_parse(records, where, parse, "tablemend example", hint), source, "example")


def read_training(
    train: Source | Mixture, samples: Callable[[Source], list[Item]]
) -> dict[str, list[Item] | list[Chat]]:
    """All that there is to train on, by the name of its source; ``train`` for one alone.


    Raises:
        TablemendError: as for :func:`read_records`.
    """
    if isinstance(train, Source):
        return {"train": samples(train)}
    return {
        name: read_chats(part) if part.content == "messages" else samples(part)
        for name, part in train.items()
    }


def read_chats(source: Source) -> list[Chat]:
    """The chats of a source, at most ``source.n`` of them, from the front.

    Raises:
        TablemendError: as for :func:`read_records`.
    """
    records, where = _records(source)
    hint = (
        'each is an object {"messages": [{"role": "user", "content": "..."}, '
        '{"role": "assistant", "content": "..."}]}'
    )
    return _take(_parse(records, where, Chat.of, "chat", hint), source, "chat")


def _turn(number: int, turn: Any) -> dict[str, str]:
    if not isinstance(turn, dict):
        raise TablemendError(f"turn {number} is no mapping with role and content")
    known = {name: value for name, value in turn.items() if value is not None}  # Parquet fills up
    role, content = known.pop("role", None), known.pop("content", None)
    if role not in ROLES:
        raise TablemendError(f"turn {number}: the role is one of {', '.join(ROLES)}, not {role!r}")
    if not isinstance(content, str) or not content.strip():
        raise TablemendError(f"turn {number}: content must be a text that is not empty")
    if known:
        raise TablemendError(f"turn {number}: no place for {', '.join(sorted(known))}")
    return {"role": role, "content": content}


def mix(shares: Mapping[str, float], sizes: Mapping[str, int]) -> list[str]:
    """Which source each place of a mixture takes its next item from.

    Each place goes to the source that is furthest behind its share, so the shares hold at every
    length, to one item; the mixture ends where they would ask a source for more than it has. It
    depends on nothing but the arguments.

    Args:
        shares: by name; they sum to 1.
        sizes: how many items each source has.
    """
    order: list[str] = []
    taken = dict.fromkeys(shares, 0)
    length = int(min(sizes[name] / share for name, share in shares.items()) + 1e-6)
    for place in range(1, length + 1):
        behind = {name: share * place - taken[name] for name, share in shares.items()}
        name = max(behind, key=behind.__getitem__)  # the first of equals
        if taken[name] == sizes[name]:
            break
        taken[name] += 1
        order.append(name)
    return order


def mixed(
    sources: Mapping[str, Sequence[Item]], train: Source | Mixture
) -> Iterator[tuple[str, Item]]:
    """Every item to train on with the name of its source: in the order of :func:`mix`, or of the
    one source that there is.
    """
    shares = {"train": 1.0}
    if not isinstance(train, Source):
        shares = {name: part.share for name, part in train.items()}
    streams = {name: iter(items) for name, items in sources.items()}
    for name in mix(shares, {name: len(items) for name, items in sources.items()}):
        yield name, next(streams[name])


def _take(items: Iterator[Item], source: Source, what: str) -> list[Item]:
    found = list(islice(items, source.n))
    if not found:
        of = f" of split {source.split}" if source.split else ""
        raise TablemendError(f"{source.source} holds no {what}{of}{_without(source.split)}")
    if source.n is not None and len(found) < source.n:
        raise TablemendError(
            f"{source.source} holds {len(found)} {what}s, n asks for {source.n}: "
            "lower n or make more data"
        )
    return found


def check_local(*sources: Source | None, command: str = MAKES) -> None:
    """Refuse sources on this machine that are not there, or of two versions of one engine.


    Raises:
        TablemendError: see :func:`read_records` and :func:`refuse_engines`.
    """
    for source in sources:
        if source and source.source != SMALL_WORLD and not source.source.startswith(HUB):
            _file(Path(source.source), source.split, command)
    refuse_engines(*sources)


def refuse_engines(*sources: Source | None) -> None:
    """Refuse examples by two versions of one engine, to be trained on and measured with together,
    and those of an engine whose contexts give gold away. What is not here is passed over.


    Raises:
        TablemendError: naming both, or the set that gives gold away.
    """
    found, outdated = dict[str, dict[str, Path]](), dict[str, Path]()
    for source in sources:
        if not source or source.source == SMALL_WORLD or source.source.startswith(HUB):
            continue
        with suppress(TablemendError):
            path = _file(Path(source.source), source.split)
            for engine in sorted(_engines(path)):
                found.setdefault(_VERSION.sub("#", engine), {})[engine] = path
                name, _, version = engine.partition("/")
                if version.isdecimal() and int(version) <= OUTDATED.get(name, -1):
                    outdated[engine] = path
    for engine, path in outdated.items():
        raise TablemendError(
            f"{path}: made by {engine}, whose contexts tell gold without the query (by how rarely "
            f"its values are repeated): make the data anew with {MAKES}"
        )
    for versions in found.values():
        if len(versions) > 1:
            listing = " and ".join(f"{engine} ({path})" for engine, path in versions.items())
            raise TablemendError(
                f"examples by two versions of one engine, {listing}: they are not trained on and "
                "measured with together; make the older set anew, or use each alone"
            )


def _engines(path: Path) -> set[str]:
    """What the records of a file say that they were made by; of Parquet, the first record."""
    if path.suffix != ".jsonl":
        return {str(next(_parquet_records(path), {}).get("engine"))}
    with path.open("rb") as file:  # not parsed: this comes before every training
        return {
            match[1].decode(errors="replace") for line in file if (match := _ENGINE.search(line))
        }


def _records(source: Source, command: str = MAKES) -> tuple[Iterator[dict[str, Any]], str]:
    """The raw records of a source, and where they are."""
    if source.source.startswith(HUB):
        return hub_records(source), source.source
    path = _file(Path(source.source), source.split, command)
    return _json_records(path) if path.suffix == ".jsonl" else _parquet_records(path), str(path)


def _without(split: str | None) -> str:
    """How to do without a split that is not there; empty where nothing trains without it."""
    if split != "validation":
        return ""
    return "; data.validation=null trains without a held-out loss"


def _file(path: Path, split: str | None, command: str = MAKES) -> Path:
    """The one file that a path and a split name."""
    if path.is_file():
        if path.suffix not in EXAMPLE_FILES:
            raise TablemendError(
                f"{path}: examples are read from {' or '.join(EXAMPLE_FILES)} files"
            )
        return path
    if not path.is_dir():
        raise TablemendError(
            f"no file or folder {path}: make the data first ({command} --help), or write "
            f"{HUB}owner/name for a data set on the Hub"
        )
    candidates = [path / f"{split}{suffix}" for suffix in EXAMPLE_FILES]
    found = [candidate for candidate in candidates if candidate.is_file()]
    if len(found) != 1:
        present = ", ".join(sorted(entry.name for entry in path.iterdir())) or "nothing"
        wanted = " or ".join(candidate.name for candidate in candidates)
        raise TablemendError(
            f"{path}: needs exactly one of {wanted}, has {present}{_without(split)}"
        )
    return found[0]


def _parse(
    records: Iterator[dict[str, Any]],
    where: str,
    parse: Callable[[dict[str, Any]], Item],
    what: str,
    hint: str,
) -> Iterator[Item]:
    for number, record in enumerate(records, 1):
        try:
            yield parse(record)
        except (KeyError, TypeError, AttributeError, ValueError, TablemendError) as error:
            why = str(error) if isinstance(error, TablemendError) else repr(error)
            raise TablemendError(
                f"{where}: record {number} is no {what} ({why}): {hint}"
            ) from error


def _json_records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield load_json(line)
            except (ValueError, RecursionError) as error:
                raise TablemendError(f"{path}:{number} is not a line of JSON: {error}") from error


def _parquet_records(path: Path) -> Iterator[dict[str, Any]]:
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                yield from batch.to_pylist()
    except (ArrowException, OSError) as error:
        raise TablemendError(f"{path} is not readable as Parquet: {error}") from error


def hub_records(source: Source) -> Iterator[dict[str, Any]]:
    """The rows of a data set on the Hub.

    Raises:
        TablemendError: it cannot be loaded.
    """
    import datasets

    name = source.source.removeprefix(HUB)
    try:
        rows = datasets.load_dataset(name, split=source.split, revision=source.revision)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise TablemendError(f"cannot load {source.source}: {reason}") from error
    yield from rows
