"""Real data beside the repository, and a limit on the size of files."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Writing beyond ``size`` bytes fails, as on a full disk and without filling one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    written = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # a module imported meanwhile would leave half a .pyc
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = written
