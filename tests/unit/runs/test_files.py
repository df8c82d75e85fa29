"""A power cut loses what the disk has not yet: bytes come before names, names before marks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tablemend.annotation.outcome import _new_folder
from tablemend.datasets.build import lines_file
from tablemend.runs import replace_file, to_line, write_text
from tablemend.tasks.tablehallu import small_world
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
    with lines_file(tmp_path / "train.jsonl") as write:
        write(to_line(small_world.example(1, 0).to_json()))
    with _new_folder(tmp_path / "verified") as folder:
        (folder / "test.jsonl").write_text("{}")
    found = synced()
    for name in ("manifest.json", "train.jsonl", "verified/test.jsonl"):
        assert name not in found[name]
        assert name in found["."]


def _replace(path: Path, text: str) -> None:
    new = path.with_name(".new")
    new.write_text(text)
    replace_file(new, path)


@pytest.mark.parametrize("write", [write_text, _replace])
@pytest.mark.parametrize("place", ["target", "deep/target"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_written_through(
    tmp_path: Path, write: Callable[[Path, str], None], place: str, there: bool
) -> None:
    target, link = tmp_path / place, tmp_path / "link"
    target.parent.mkdir(exist_ok=True)
    if there:
        target.write_text("old")
    (tmp_path / "other").symlink_to(place)
    link.symlink_to("other")
    write(link, "new")
    assert link.is_symlink() and not target.is_symlink() and target.read_text() == "new"
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert names - {"deep"} == {"link", "other", place}
