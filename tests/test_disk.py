"""A power cut loses what the disk has not yet: bytes come before names, names before marks."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tablemend.annotation.outcome import _new_folder
from tablemend.disk import replace_file, sync
from tablemend.runs import write_text
from tablemend.synthesis import small_world
from tablemend.synthesis.files import open_writer
from tablemend.training import checkpoints

Synced = Callable[[], dict[str, list[str]]]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Synced:
    """What was there, at each call of fsync, by the name that the synced thing has in the end."""
    calls: list[tuple[int, list[str]]] = []

    def fsync(number: int) -> None:
        there = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
        calls.append((os.fstat(number).st_ino, there))

    def by_name() -> dict[str, list[str]]:
        things = {path.stat().st_ino: path for path in (tmp_path, *tmp_path.rglob("*"))}
        return {
            things[inode].relative_to(tmp_path).as_posix(): there
            for inode, there in calls
            if inode in things
        }

    monkeypatch.setattr(os, "fsync", fsync)
    return by_name


def _folder(path: Path) -> Path:
    (path / "deep").mkdir(parents=True)
    (path / "weights").write_text("1")
    (path / "deep" / "shard").write_text("2")
    return path


def test_a_checkpoint_is_on_the_disk_before_it_is_marked(tmp_path: Path, synced: Synced) -> None:
    checkpoints.mark_complete(_folder(tmp_path / "new"))
    found = synced()
    marker = f"new/{checkpoints.MARKER}"
    assert found.keys() == {".", "new", "new/weights", "new/deep", "new/deep/shard", marker}
    for name in (".", "new/weights", "new/deep", "new/deep/shard", marker):
        assert marker not in found[name], name
    assert marker in found["new"]  # its name, at the end


def test_a_folder_is_on_the_disk_before_it_has_its_name_and_the_old_one_goes(
    tmp_path: Path, synced: Synced
) -> None:
    _folder(tmp_path / "model")
    checkpoints.put_in_place(tmp_path / "model", _folder(tmp_path / ".new"))
    found = synced()
    for name in ("model", "model/weights", "model/deep", "model/deep/shard"):
        assert {".new/weights", "model/weights"} <= set(found[name]), name  # not renamed yet
    assert {"model/weights", ".model.old/weights"} <= set(found["."])
    assert not (tmp_path / ".model.old").exists()


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, synced: Synced) -> None:
    (tmp_path / "new").write_text("1")
    replace_file(tmp_path / "new", tmp_path / "state")
    found = synced()
    assert found == {"state": ["new"], ".": ["state"]}


def test_data_and_manifests_too(tmp_path: Path, synced: Synced) -> None:
    write_text(tmp_path / "manifest.json", "{}")
    for form in ("jsonl", "parquet"):
        writer = open_writer(tmp_path, "train", form)
        writer.write(small_world.example(1, 0))
        writer.close()
    with _new_folder(tmp_path / "verified") as folder:
        (folder / "test.jsonl").write_text("{}")
    found = synced()
    for name in ("manifest.json", "train.jsonl", "train.parquet", "verified/test.jsonl"):
        assert name not in found[name]
        assert name in found["."]


def test_a_disk_that_cannot_sync_a_folder_is_used_a_full_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(number: int) -> None:
        raise OSError(code, os.strerror(code))

    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(os, "fsync", fail)
    for code in (errno.EINVAL, errno.EBADF, errno.EACCES):  # noqa: B007 - ``fail`` reads it
        sync(tmp_path)
    for code, path in ((errno.ENOSPC, tmp_path), (errno.EBADF, file)):
        with pytest.raises(OSError, match=os.strerror(code)):
            sync(path)
