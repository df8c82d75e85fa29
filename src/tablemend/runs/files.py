"""Files that are never half-written: bytes first, then the name; and one writer at a time."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from tablemend.errors import FULL_DISK, TablemendError
from tablemend.foreign import load_json

PROBE = 1 << 20
"""Bytes that must fit on a disk that is not full."""
NO_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""What file systems answer that cannot wait."""
NO_FOLDER_SYNC = (*NO_SYNC, errno.EBADF, errno.EACCES)
"""What they answer of a folder, or of one that may be written but not read."""


def sync(path: Path) -> None:
    """Wait until the disk has the bytes of a file, or the names in a folder.

    Raises:
        OSError: for example of a full disk, which some systems find only now.
    """
    try:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in (NO_FOLDER_SYNC if path.is_dir() else NO_SYNC):
            raise


def sync_all(folder: Path) -> None:
    """:func:`sync` of everything below a folder, then of its name."""
    for path in (*folder.rglob("*"), folder, folder.parent):
        sync(path)


def is_special(path: Path) -> bool:
    """Whether a device, a FIFO or a socket is there: it is written into, never replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def written_to(path: Path) -> Path:
    """The place that a name stands for: what a link leads to is written, the link stays."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def moved_beside(new: Path, path: Path) -> Path:
    """A finished file or folder where ``path`` can be its name: on the disk of that place."""
    if new.parent.samefile(path.parent):
        return new
    return Path(shutil.move(new, path.with_name(f".{path.name}.{os.getpid()}.new")))


def replace_file(new: Path, path: Path) -> None:
    """Give a finished file its name: after a power cut the old one is there, or all of the new.

    Links are followed; a device or a FIFO takes the bytes and stays what it is.
    """
    if is_special(path):
        with new.open("rb") as file, path.open("wb") as special:
            shutil.copyfileobj(file, special)
        new.unlink()
        return
    path = written_to(path)
    new = moved_beside(new, path)
    sync(new)
    new.replace(path)
    sync(path.parent)


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
    write_text(path, "".join(to_line(record) for record in records))


def to_line(record: Any) -> str:
    """A record as one line of JSON. NaN is refused: it is not JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


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


LOCK = ".lock"
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Be the only process that writes into a folder.

    Raises:
        TablemendError: another process is there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        if not lock(file):
            file.seek(0)
            raise TablemendError(
                f"another process ({file.read().strip()}) is writing into {folder}: wait until it "
                "has ended, or write into another folder"
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def lock(file: IO[str] | IO[bytes]) -> bool:
    """Lock an open file for this process alone; whether nobody else has it locked."""
    import fcntl  # not on every system; only what writes needs it

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:  # which some clusters' disks do not have
            raise
    return os.fstat(file.fileno()).st_nlink > 0  # removed: it would lock nothing
