"""A data set in a folder: made by number, by any number of processes, resumable.

While it is being made, what came of each number lies in a store; the files of the splits, what was
left out, the card and last of all the counts are written when every number is there. Splits are
made by the content hash of the table, so no table is in two.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from math import ceil, log, log1p
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.datasets.splits import SPLITS, Shares, Split, split_of
from tablemend.errors import TablemendError
from tablemend.runs import (
    MOVE_AWAY,
    Store,
    hash_text,
    read_jsonl,
    read_object,
    refuse_other,
    replace_file,
    write_json,
    write_jsonl,
    write_text,
)

COUNTS = "counts.json"
SETTINGS = "settings.json"
SKIPPED = "skipped.jsonl"
MADE = "examples.store"
"""What came of each number, until the data set is finished; no suffix that ``datasets`` reads."""

NAMED = 10
"""Skipped tables that are named in the terminal."""
_TABLES = "tables"
Record = dict[str, Any]
"""What came of a number: ``line``, ``split`` and ``counts`` of its example (or of several:
``examples`` says how many, and there are as many lines), or why it was ``dropped``, or where its
source is and why it was ``skipped``; ``notes``: rejected draws, by reason; and ``beside``:
lines for further files, by their names."""


class SkippedTable(NamedTuple):
    """A place without a usable table, and why."""

    where: str
    reason: str


class OpenedSource(NamedTuple):
    """The source of a data set.

    Attributes:
        tables: what examples are made from, as their maker takes it.
        hashes: content hashes of those of a user.
        skipped: the others.
        unfit: how many of these give examples by other settings.
    """

    tables: Any
    hashes: Sequence[str]
    skipped: Sequence[SkippedTable]
    unfit: int = 0


def refuse_empty_splits(source: str, opened: OpenedSource, shares: Shares) -> None:
    """Refuse tables that leave a split without one, whose share is not 0.


    Raises:
        TablemendError: with the number of tables that leave none empty 99 times in 100.
    """
    found = Counter(split_of(source_hash, shares) for source_hash in opened.hashes)
    wanted = {split: share for split in SPLITS if (share := getattr(shares, split))}
    if not (empty := [split for split in wanted if not found[split]]):
        return
    enough = ceil(log(0.01 / len(wanted)) / log1p(-min(wanted.values())))
    most = max(wanted, key=lambda split: found[split])
    alone = " ".join(f"shares.{split}={int(split == most)}" for split in SPLITS)
    skipped = ranked(Counter(entry.reason for entry in opened.skipped), 3)
    raise TablemendError(
        f"{source}: none of the usable tables, {found.total()} in all, falls into "
        f"{' or '.join(empty)}, as its content decides: give {enough} or more, or one split alone: "
        f"{alone}"
        + "; skipped: " * bool(skipped)
        + ", ".join(f"{n} x {reason}" for reason, n in skipped.items())
    )


def build_resumable(
    out: Path,
    noted: dict[str, Any],
    total: int,
    open_source: Callable[[], OpenedSource],
    make: Callable[[Any, Sequence[int]], Iterator[Record]],
    card: Callable[[dict[str, Any]], str],
    progress: Callable[[int], object],
) -> dict[str, Any]:
    """Make a data set, or go on with it, or find it finished.

    Args:
        out: its folder.
        noted: all that its files depend on.
        total: numbers from 0 on.
        open_source: reads the source.
        make: gives the records of these numbers, in their order.
        card: its README, by the counts.
        progress: called with the number of examples that are newly done.

    Returns:
        The counts, as in ``counts.json``.

    Raises:
        TablemendError: the source changed or has no usable table, no example could be made, or the
            folder holds another data set or is being written.
    """

    def make_files(store: Store) -> dict[str, Any]:
        source = open_source()
        digest = hash_text("".join(source.hashes))
        if _TABLES not in store:
            store.put({"number": _TABLES, "hash": digest})
        elif store[_TABLES]["hash"] != digest:
            raise TablemendError(
                f"the source tables have changed since {out} was begun; give another out="
            )
        missing = [number for number in range(total) if number not in store]
        progress(total - len(missing))
        for record in make(source.tables, missing):
            store.put(record)
            progress(1)
        counts, skipped = _join(out, store, total, source)
        write_jsonl(out / SKIPPED, [entry._asdict() for entry in skipped])
        write_text(out / "README.md", card(counts))
        return counts

    return build(out, noted, make_files)


def _join(
    out: Path, store: Store, total: int, source: OpenedSource
) -> tuple[dict[str, Any], list[SkippedTable]]:
    """Write the splits; the counts, and what was skipped.

    Raises:
        TablemendError: there is no example.
    """
    counts, splits = Counter[str](), Counter[Split]()
    dropped, notes = Counter[str](), Counter[str]()
    left_out = list(source.skipped)
    beside = defaultdict[str, list[str]](list)
    with split_files(out) as write:
        for number in range(total):
            record = store[number]
            notes.update(record["notes"])
            for name, lines in record.get("beside", {}).items():
                beside[name] += lines
            if "skipped" in record:
                left_out.append(SkippedTable(*record["skipped"]))
                continue
            if "dropped" in record:
                dropped[record["dropped"]] += 1
                continue
            write(record["line"], record["split"])
            splits[record["split"]] += record.get("examples", 1)
            counts.update(record["counts"])
    # One reason for all tables: without what each has instead.
    said = (re.sub(r': (?:by )?".*', "", entry.reason) for entry in left_out)
    skipped = Counter(re.sub(r"\d+", "#", reason)[:80] for reason in said)
    if not splits:
        found = ranked(dropped + notes + skipped, 3)
        reasons = "; ".join(f"{n} x {reason}" for reason, n in found.items())
        raise TablemendError(
            f"none of {total} examples could be made ({reasons}); give other sources or settings, "
            f"and another out= or delete {out}"
        )
    for name, lines in beside.items():
        write_text(out / name, "".join(lines))
    counted = {
        "examples": {"asked": total, "made": splits.total()},
        "splits": {split: splits[split] for split in SPLITS if splits[split]},
        "counts": ranked(counts),
        "dropped": ranked(dropped),
        "notes": ranked(notes),
        "tables": {"usable": len(source.hashes), "skipped": skipped.total()}
        | ({"unfit": source.unfit} if source.unfit else {}),
        "skipped": ranked(skipped),
    }
    return counted, left_out


def describe(
    counts: Mapping[str, Any], out: str, shares: Shares, what: str = "example"
) -> Iterator[str]:
    """What came of a data set, in lines for a person; ``what`` is made of a number."""
    examples, tables = counts["examples"], counts["tables"]
    splits = ", ".join(f"{count} {split}" for split, count in counts["splits"].items())
    if contexts := counts["counts"].get("contexts"):
        of = f"{examples['made']} {what}s of {contexts} of {examples['asked']} contexts"
    else:
        of = f"{examples['made']} of {examples['asked']} {what}s"
    yield f"{of} in {out} ({splits})"
    for split, share in shares.model_dump().items():
        if share and split not in counts["splits"]:
            yield f"note: no {what} fell into {split}: raise n, or set other shares"
    if tables["usable"] and what == "example":
        said = f"source tables: {tables['usable']} usable, {tables['skipped']} skipped"
        other = f", {tables['unfit']} of them usable by other settings" if "unfit" in tables else ""
        yield said + other
    elif tables["skipped"]:
        yield f"skipped: {tables['skipped']} {what}s"
    source = "table" if what == "example" else what
    for title, of in (("skipped", source), ("dropped", "example"), ("notes", "drawn anew")):
        yield from (f"  {title}, {of}: {n} x {reason}" for reason, n in counts[title].items())
    if skipped := tables["skipped"]:
        path = Path(out) / SKIPPED
        yield from (f"  {one['where']}: {one['reason']}" for one in islice(read_jsonl(path), NAMED))
        if skipped > NAMED:
            yield f"  and {skipped - NAMED} more skipped {source}s in {path}"


def ranked(counter: Mapping[str, int], most: int | None = None) -> dict[str, int]:
    """The most frequent first; the order of equals does not depend on what came first."""
    order = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return dict(order[:most])


def build(
    out: Path, settings: dict[str, Any], make: Callable[[Store], dict[str, Any]]
) -> dict[str, Any]:
    """The counts of a data set, which is made where it is not there yet.

    Args:
        out: its folder.
        settings: all that its files depend on.
        make: writes its files, given the store of what was made before; returns the counts.

    Raises:
        TablemendError: the folder holds something else, a data set of other settings, or one that
            another process is making.
    """
    if not (out / COUNTS).exists():
        refuse_other_files(out, MADE)
        with no_empty_folder(out), Store(out / MADE, "number", settings) as store:
            if not (out / COUNTS).exists():  # by another process, meanwhile
                counts = make(store)
                write_json(out / SETTINGS, settings)
                write_json(out / COUNTS, counts)
    refuse_other(read_object(out / SETTINGS, MOVE_AWAY), settings, f"out={out}")
    (out / MADE).unlink(missing_ok=True)
    return read_object(out / COUNTS, MOVE_AWAY)


def build_splits(
    out: Path,
    settings: dict[str, Any],
    find: Callable[[Counter[str]], Mapping[Split, Sequence[Any]]],
) -> dict[str, Any]:
    """The counts of a data set that is made at once, by split: :func:`build`.

    Args:
        out: its folder.
        settings: all that its files depend on.
        find: gives the examples, each with ``to_json``, and counts them.
    """

    def write(store: Store) -> dict[str, Any]:
        counts = Counter[str]()
        for split, examples in find(counts).items():
            if examples:
                write_jsonl(out / f"{split}.jsonl", [one.to_json() for one in examples])
        return dict(sorted(counts.items()))

    return build(out, settings, write)


@contextmanager
def no_empty_folder(out: Path) -> Iterator[None]:
    """A refusal inside leaves no folder."""
    try:
        yield
    finally:
        with suppress(OSError):
            out.rmdir()


def refuse_other_files(out: Path, begun: str) -> None:
    """Refuse a folder of something else: with files, but without the one of a data set begun.

    Raises:
        TablemendError: it is one.
    """
    if not out.exists() or (out / begun).exists():
        return
    if not out.is_dir() or any(not path.name.startswith(".") for path in out.iterdir()):
        raise TablemendError(f"out={out} holds something else; give another out=")


@contextmanager
def lines_file(path: Path) -> Iterator[Callable[[str], object]]:
    """What writes lines into a file that has its name when it is whole."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            yield file.write
        replace_file(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def split_files(out: Path) -> Iterator[Callable[[str, Split], object]]:
    """What writes lines into the files of their splits; one without lines is no file."""
    with ExitStack() as stack:
        paths = {split: out / f"{split}.jsonl" for split in SPLITS}
        files = {split: stack.enter_context(lines_file(path)) for split, path in paths.items()}
        yield lambda line, split: files[split](line)
    for path in paths.values():
        if not path.stat().st_size:
            path.unlink()
