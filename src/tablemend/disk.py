"""What is written stays, whatever happens to the power: bytes first, then the name."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

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
