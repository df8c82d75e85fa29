"""One process at a time writes into a folder or a file; a lock ends with its process."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tablemend.errors import TablemendError

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
