"""Run folders: whole files or the old ones, and manifests that say what made them."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment
from tablemend.runs import (
    Run,
    disk_errors,
    write_json,
)
from tablemend.script import run_script

ROOT = Path(__file__).parents[3]
PARTS = ("seed", "train")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Experiment:
    monkeypatch.chdir(ROOT)
    return parse(Experiment, ["recipe=tiny"])


def _full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.json"
    write_json(path, {"n": 1})
    monkeypatch.setattr(os, "fsync", _full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"n": 2})
    assert json.loads(path.read_text()) == {"n": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("Error while serializing: I/O error: x (os error 28)", errno.ENOSPC),
        ("Disk quota exceeded (os error 122)", errno.EDQUOT),
    ],
)
def test_what_a_library_quotes_of_a_full_disk_is_raised(
    message: str, number: int, tmp_path: Path
) -> None:
    with pytest.raises(OSError) as caught, disk_errors(tmp_path):
        raise Exception(message)  # the type that tokenizers raises
    assert caught.value.errno == number
    assert caught.value.filename == str(tmp_path)


def test_what_a_library_does_not_say_of_a_full_disk_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RuntimeError, match="a defect"), disk_errors(tmp_path):
        raise RuntimeError("a defect")
    with pytest.raises(TablemendError), disk_errors(tmp_path):
        raise TablemendError("refused")
    monkeypatch.setattr(os, "fsync", _full_disk)
    with pytest.raises(OSError, match="No space left"), disk_errors(tmp_path / "not" / "yet"):
        raise RuntimeError("unexpected pos 576 vs 534")  # as torch.save says it
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("held", "mode"),
    [
        (None, 0o700),
        (".lock", 0o700),
        ("manifest.json", 0o700),  # of an earlier version
        ("thesis.tex", 0o755),
    ],
)
def test_run_folders_are_private_unless_they_are_of_something_else(
    tiny: Experiment, tmp_path: Path, held: str | None, mode: int
) -> None:
    run = Run(tmp_path / "above" / "run")
    if held is not None:
        run.path.mkdir(parents=True)
        run.path.chmod(0o755)
        (run.path / held).write_text("{}")
    run.begin("sft", tiny, PARTS)
    assert stat.S_IMODE(run.path.stat().st_mode) == mode


def test_changed_settings_are_refused_and_named(tiny: Experiment, tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin("sft", tiny, PARTS)
    run.begin("sft", tiny, PARTS)
    other = parse(Experiment, ["recipe=tiny", "train.learning_rate=0.5", "evaluation.n=5"])
    with pytest.raises(TablemendError, match=r"train\.learning_rate was .*, is 0\.5.*overwrite"):
        run.begin("sft", other, PARTS)
    run.begin("sft", parse(Experiment, ["recipe=tiny", "evaluation.n=5"]), PARTS)


def test_the_manifest_keeps_every_stage(tiny: Experiment, tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.record("sft", {"dropped": {"too long": 2}})
    run.record("compare", {"n": 300})
    manifest = json.loads(run.manifest.read_text())
    assert manifest["sft"]["dropped"] == {"too long": 2}
    assert manifest["compare"]["n"] == 300
    for key in ("commit", "dirty", "packages", "world_size", "time", "command"):
        assert key in manifest["sft"]
    assert manifest["sft"]["packages"]["numpy"]


@pytest.mark.parametrize(
    ("raised", "status", "line"),
    [
        (TablemendError("what, where, how"), 2, "error: what, where, how\n"),
        (OSError(errno.ENOSPC, "No space left"), 1, "error: no space left on the disk"),
        (OSError(errno.EDQUOT, "Quota", "/a"), 1, "error: the disk quota is used up at /a; what"),
        (PermissionError(errno.EACCES, "Permission denied", "/a"), 2, "error: /a: Permission den"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/proc/x"), 2, "error: /proc/x: No such"),
        (ModuleNotFoundError("no", name="trl.x"), 2, "error: trl is not installed: pip install"),
        (KeyboardInterrupt(), 130, "interrupted; the same command continues\n"),
    ],
)
def test_scripts_end_in_one_line(
    raised: BaseException,
    status: int,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def main() -> None:
        raise raised

    monkeypatch.setattr(signal, "signal", lambda *_: None)  # this process goes on
    with pytest.raises(SystemExit) as caught:
        run_script(main)
    shown = capsys.readouterr().err
    assert caught.value.code == status
    assert shown.startswith(line) and shown.count("\n") == 1


INTERRUPTED = {
    "exit": """
import threading
threading.Thread(target=sys.stdin.read).start()  # the interpreter waits for it
def main():
    print("ready", flush=True)
    time.sleep(600)
""",
    "workers": """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from tablemend.workers import map_in
def main():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for _ in map_in(pool, time.sleep, [0, 600, 600]):
            print("ready", flush=True)
""",
}


@pytest.mark.parametrize("case", INTERRUPTED)
def test_two_ctrl_c_end_everything_in_one_line(tmp_path: Path, case: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import signal, sys, time\nfrom tablemend.script import run_script\n"
        f"{INTERRUPTED[case]}\nif __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n    run_script(main)\n"
    )
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(
        [sys.executable, str(script)], text=True, start_new_session=True, **pipes
    ) as child:
        assert child.stdout.readline() == "ready\n"
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to workers too
        first = child.stderr.readline()
        os.killpg(child.pid, signal.SIGINT)
        _, rest = child.communicate(timeout=300)
    assert (child.returncode, first + rest) == (130, "interrupted; the same command continues\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"generate": {"sp', "is not JSON"),
        (b"", "is not JSON"),
        (b"\xff\xfe{}", "is not JSON"),
        (b"[1, 2]", "holds no JSON object"),
        (b'{"generate": 3}', "does not list stages"),
    ],
)
def test_a_broken_manifest_is_refused_in_one_line_and_left_as_it_is(
    content: bytes, said: str, tmp_path: Path
) -> None:
    run = Run(tmp_path)
    run.manifest.write_bytes(content)
    for use in (lambda: run.recorded("generate"), lambda: run.record("generate", {})):
        with pytest.raises(TablemendError, match=f"^.*manifest.json {said}.*move it away") as told:
            use()
        assert "\n" not in str(told.value)
    assert run.manifest.read_bytes() == content
