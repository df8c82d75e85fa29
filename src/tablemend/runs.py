"""The run folder: resolved configuration, manifest, and files that are never half-written."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from io import FileIO
from pathlib import Path
from typing import Any, TextIO

import yaml

from tablemend.config import Recipe, Section, to_yaml
from tablemend.disk import is_special, replace_file, written_to
from tablemend.errors import FULL_DISK, TablemendError
from tablemend.values.foreign import load_json

RUNS = Path("runs")
LOCK = ".lock"
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
PROBE = 1 << 20
"""Bytes that must fit on a disk that is not full."""
MOVE_AWAY = "move it away, and the same command writes a new one; the rest of the run is kept"
PACKAGES = (
    "accelerate",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "flash-attn",
    "kernels",
    "numpy",
    "peft",
    "sentence-transformers",
    "tablemend",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
    "vllm",
)


def say(text: str, output: TextIO | None = None) -> None:
    """What a command is doing, in a line for the one who waits; of several processes one says it.

    Args:
        text: the line.
        output: standard error, so that it mixes with no result.
    """
    if os.environ.get("RANK", "0") == "0":
        print(text, file=sys.stderr if output is None else output, flush=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole file or leave the old one: a temporary file beside it, then a rename.

    Links are followed; a device or a FIFO is written into.

    Raises:
        OSError: for example of a full disk; the old file is then untouched.
    """
    if is_special(path):
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    path = written_to(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        replace_file(temporary, path)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(path)  # the name that a user gave
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    """:func:`write_text` of indented JSON. NaN is refused: it is not JSON."""
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def read_object(path: Path, mend: str) -> dict[str, Any]:
    """The JSON object of a file that was written whole: anything else there is a damage.

    Args:
        path: the file.
        mend: what a user can do about a damage.

    Raises:
        TablemendError: it holds no object.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8
        raise TablemendError(f"{path} is not JSON ({error}): {mend}") from error
    if not isinstance(data, dict):
        raise TablemendError(f"{path} holds no JSON object: {mend}")
    return data


def write_jsonl(path: Path, records: Sequence[Any]) -> None:
    """:func:`write_text` of one JSON object a line."""
    write_text(path, "".join(_line(record) for record in records))


def read_jsonl(path: Path) -> Iterator[Any]:
    """The records of a file of JSON lines; none where there is no file.

    A last line without its newline was cut by an interruption and is left out.

    Raises:
        TablemendError: naming the file and line that is not JSON.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield load_json(line)
            except (ValueError, RecursionError) as error:
                raise TablemendError(f"{path}:{number} is not a line of JSON: {error}") from error


def append_jsonl(path: Path, records: Sequence[Any], *, sync: bool = True) -> None:
    """Append whole lines; what an interruption left of a line before is cut off first.

    On a failure (a full disk) the file is cut back to the lines it had, and the error passes.

    Args:
        path: the file; made where it is not there.
        records: JSON-serialisable, one a line.
        sync: wait until the disk has them. Without it they outlive a kill, not a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(_line(record) for record in records).encode()
    # unbuffered: closing the file would write once more what the disk had no room for
    with path.open("ab+", buffering=0) as file:
        end = end_of_last_line(path)
        file.truncate(end)
        append_whole(file, data, end)
        if sync:
            try:
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise


def append_whole(file: FileIO, data: bytes, end: int) -> int:
    """Append all of some bytes, or nothing: on a failure the file is cut back.

    Args:
        file: open to be appended to, without a buffer.
        data: what is to stand at its end.
        end: its length.

    Returns:
        Its length now.

    Raises:
        OSError: for example of a full disk.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        file.truncate(end)
        raise
    return end + len(data)


def _line(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def end_of_last_line(path: Path, block: int = 1 << 16) -> int:
    """Byte after the last newline; 0 where there is none."""
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        while position > 0:
            start = max(0, position - block)
            file.seek(start)
            newline = file.read(position - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            position = start
    return 0


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Be the only process that writes into a folder; the lock ends with the process.

    Raises:
        TablemendError: another process is there.
    """
    import fcntl  # not on every system; only what writes runs needs it

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(file.fileno()).st_nlink:  # removed: it would lock nothing
                raise BlockingIOError
        except BlockingIOError as error:
            file.seek(0)
            raise TablemendError(
                f"another process ({file.read().strip()}) is writing into {folder}: wait until it "
                "has ended, or write into another folder"
            ) from error
        except OSError as error:
            if error.errno not in NO_LOCKS:  # which some clusters' disks do not have
                raise
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Let a library that has no room to write below a folder fail with an ``OSError``.

    safetensors and tokenizers raise types of their own that quote the system's error; torch says
    nothing of it, so a small file tells whether there is room. Any other error passes as it is.

    Raises:
        OSError: the disk or the quota is full; ``filename`` is the folder.
    """
    try:
        yield
    except (OSError, TablemendError):
        raise
    except Exception as error:
        quoted = re.search(r"os error (\d+)", str(error))
        number = int(quoted[1]) if quoted else _probe(folder)
        if number not in FULL_DISK:
            raise
        raise OSError(number, os.strerror(number), str(folder)) from error


def _probe(folder: Path) -> int | None:
    """Number of the error with which a small file cannot be written; ``None`` where it can."""
    try:
        while not folder.is_dir():
            folder = folder.parent
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(PROBE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno
    return None


def folder_of(run: str) -> Path:
    """The folder of a run: a path where there is a slash, else a name below ``runs/``."""
    return Path(run) if "/" in run else RUNS / run


@dataclass(frozen=True)
class Run:
    """The folder that one recipe's commands write into."""

    path: Path

    @classmethod
    def of(cls, recipe: Recipe) -> Run:
        """The folder a recipe names: ``run``, else ``runs/<name>``."""
        return cls(folder_of(recipe.run or recipe.name))

    @property
    def model(self) -> Path:
        """Folder of the finished fine-tuned checkpoint (the system ``model: sft``)."""
        return self.path / "model"

    @property
    def manifest(self) -> Path:
        """File with what every stage of the run has recorded."""
        return self.path / "manifest.json"

    def begin(
        self,
        stage: str,
        config: Section,
        parts: Sequence[str],
        mend: str = "give run=NAME for a new run, or overwrite=true to start this one anew",
    ) -> None:
        """Note the resolved configuration of a stage, or check it against the noted one.

        Args:
            stage: name of the command, such as ``sft``.
            config: the resolved configuration; written to ``<stage>.yaml``.
            parts: dotted keys that must not change between two calls of the same stage.
            mend: what to do where they have.

        Raises:
            TablemendError: the folder holds the same stage with other settings.
        """
        self._keep_private()
        path = self.path / f"{stage}.yaml"
        text = to_yaml(config)
        if path.exists():
            try:
                old = yaml.safe_load(path.read_text("utf-8"))
            except (yaml.YAMLError, ValueError, RecursionError) as error:
                raise TablemendError(f"{path} cannot be read: {MOVE_AWAY}") from error
            new = yaml.safe_load(text)
            changes = [line for part in parts for line in _changes(part, old, new)]
            if changes:
                raise TablemendError(
                    f"{self.path} was started with other settings: {'; '.join(changes)}: {mend}"
                )
        write_text(path, text)

    def _keep_private(self) -> None:
        """Prompts and answers are nobody else's; a folder of something else keeps its mode."""
        self.path.mkdir(parents=True, exist_ok=True)
        held = {path.name for path in self.path.iterdir()} - {LOCK}
        if not held or self.manifest.name in held:
            with suppress(OSError):  # another user's, or a disk without modes
                self.path.chmod(self.path.stat().st_mode & 0o700)

    def record(self, stage: str, facts: Mapping[str, Any]) -> None:
        """Put a stage's facts into the manifest, beside those of the other stages."""
        write_json(self.manifest, {**self._stages(), stage: {**surroundings(), **facts}})

    def recorded(self, stage: str) -> dict[str, Any]:
        """What the manifest says of a stage; empty where it says nothing.

        Raises:
            TablemendError: the manifest is no such file any more.
        """
        return dict(self._stages().get(stage, {}))

    def _stages(self) -> dict[str, dict[str, Any]]:
        if not self.manifest.exists():
            return {}
        stages = read_object(self.manifest, MOVE_AWAY)
        if not all(isinstance(stage, dict) for stage in stages.values()):
            raise TablemendError(f"{self.manifest} does not list stages: {MOVE_AWAY}")
        return stages


LATER = {
    "task": "table_generation",
    "evaluation.verifier": "program",
    "evaluation.extractor": "program",
}
"""What runs of before there were these settings had in their place."""


def _changes(part: str, old: Any, new: Any) -> Iterator[str]:
    before, after = dict(_leaves(_select(old, part), part)), dict(_leaves(_select(new, part), part))
    if before.get(part, "") is None and part in LATER:
        before[part] = LATER[part]
    for key in before | after:
        if before.get(key) != after.get(key):
            yield f"{key} was {before.get(key)!r}, is {after.get(key)!r}"


def _select(data: Any, part: str) -> Any:
    for name in part.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _leaves(data: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _leaves(value, f"{path}.{name}")
    else:
        yield path, data


def surroundings() -> dict[str, Any]:
    """What the result may depend on beside the recipe: code, packages, machine, command."""
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "dirty": _dirty(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "world_size": int(os.environ.get("WORLD_SIZE", "1")),
    }


def _dirty() -> bool | None:
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return None if changes is None else bool(changes)


def _git(*arguments: str) -> str | None:
    """Output of git for the code that is running; ``None`` outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def hash_text(text: str) -> str:
    """SHA-256 of a text, first 16 hex digits: templates, prompts, data."""
    return sha256(text.encode()).hexdigest()[:16]


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes, first 16 hex digits."""
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]
