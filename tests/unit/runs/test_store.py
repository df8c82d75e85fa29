"""The resumable store: whatever stops the writer, whole records stay, and the same call goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.errors import TablemendError
from tablemend.runs import Store, settings_of
from tests.support.files import file_size_limit


def _fill(path: Path, keys: range, **noted: object) -> Store:
    """What every user of the store does: make what is not there."""
    with Store(path, "id", noted) as store:
        for key in keys:
            if key not in store:
                store.put({"id": key, "square": key * key})
    return store


def test_records_are_read_by_key_and_the_later_of_two_counts(tmp_path: Path) -> None:
    path = tmp_path / "new" / "store.jsonl"
    assert len(Store(path, "id")) == 0 and settings_of(path) is None and not path.parent.exists()
    _fill(path, range(3), model="m")
    with Store(path, "id") as store:
        store.put({"id": 1, "square": "one"})
        assert store[1] == {"id": 1, "square": "one"}
    store = Store(path, "id", {"model": "m"})
    assert [store[key]["square"] for key in (0, 1, 2)] == [0, "one", 4]
    assert set(store) == {0, 1, 2} and store.settings == settings_of(path) == {"model": "m"}


@settings(deadline=None, max_examples=30)  # the disk may be busy
@given(st.lists(st.text(), max_size=5), st.integers(0, 200))
def test_a_cut_file_goes_on_to_what_it_would_have_been(texts: list[str], cut: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.jsonl"

        def fill() -> None:
            with Store(path, "id", {"seed": 1}) as store:
                for number, text in enumerate(texts):
                    if number not in store:
                        store.put({"id": number, "text": text})

        fill()
        whole = path.read_bytes() if texts else b""
        path.write_bytes(whole[: max(0, len(whole) - cut)])
        fill()
        assert (path.read_bytes() if texts else b"") == whole


def test_a_kill_loses_the_record_in_flight_at_most(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    program = (
        "import sys; from pathlib import Path; from tablemend.runs import Store\n"
        f"with Store(Path({str(path)!r}), 'id') as store:\n"
        "    for number in range(10**9):\n"
        "        store.put({'id': number, 'text': 'x' * 1000})\n"
        "        print(number, flush=True)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=env) as one:
        assert one.stdout is not None
        said = [one.stdout.readline() for _ in range(50)]
        one.send_signal(signal.SIGKILL)
    store = Store(path, "id")
    assert list(store) == list(range(len(store))) and len(store) >= len(said)


def test_a_full_disk_keeps_the_records_before_and_the_same_call_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    with pytest.raises(OSError, match="too large") as caught, file_size_limit(200):
        _fill(path, range(50))
    assert caught.value.filename == str(path)
    kept = len(Store(path, "id"))
    assert 0 < kept < 50 and path.read_bytes().endswith(b"}\n")
    _fill(path, range(50))
    assert _fill(tmp_path / "whole.jsonl", range(50)).items() == Store(path, "id").items()


def test_another_process_that_writes_is_refused_and_reading_is_not(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    with Store(path, "id") as store:
        store.put({"id": 1})
        assert 1 in Store(path, "id")
        with (
            pytest.raises(TablemendError, match=r"store\.jsonl is being written by another"),
            Store(path, "id"),
        ):
            pass


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    _fill(path, range(2), model="a", prompts={"kernel": 1}, pair=(1, 2))
    _fill(path, range(3), model="a", prompts={"kernel": 1}, pair=(1, 2))
    with pytest.raises(TablemendError, match=r"prompts.kernel was 1, is 2; more was None, is 3"):
        Store(path, "id", {"model": "a", "prompts": {"kernel": 2}, "pair": (1, 2), "more": 3})


@pytest.mark.parametrize("line", ['{"n": 1}', "{broken", "[]", "7"])
def test_a_line_that_is_no_record_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    _fill(path, range(1))
    with path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(TablemendError, match=r"store\.jsonl:3 is no record .*: take the line out"):
        Store(path, "id")


@pytest.mark.parametrize("line", ['{"id": 1}', '{"settings": "hash"}', "prose"])
def test_a_file_of_another_kind_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    path.write_text(f"{line}\n")
    for read in (lambda: Store(path, "id"), lambda: settings_of(path)):
        with pytest.raises(TablemendError, match=r"store\.jsonl:1 does not say what its records"):
            read()
