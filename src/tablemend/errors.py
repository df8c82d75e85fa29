"""The exceptions that a user is meant to see, and what a full disk is called."""

from __future__ import annotations

import errno
from typing import ClassVar

FULL_DISK = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file may not grow any more (ulimit -f)",
}
"""What the system says of a disk, a quota or a file that has no room left."""


class TablemendError(Exception):
    """Input that is refused: one line saying what, where and how to mend it.

    Scripts print it without a traceback and exit with :attr:`status`.
    """

    status: ClassVar[int] = 2


class Stopped(TablemendError):
    """A run that ended before its end and kept what it has: the same command goes on.

    Scripts exit with status 1.
    """


MOST_FAILURES = 20
"""Failures in a row after which a server counts as gone, and a run is :class:`Stopped`."""
