"""What is written stays, whatever happens to the power: bytes first, then the name."""

from __future__ import annotations

import errno
import os
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


def replace_file(new: Path, path: Path) -> None:
    """Give a finished file its name: after a power cut the old one is there, or all of the new."""
    sync(new)
    new.replace(path)
    sync(path.parent)
