"""How every script ends: cleanly, or with one clear line and a non-zero status."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable

from tablemend.errors import TablemendError

REFUSED = 2
INTERRUPTED = 130
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def run_script(main: Callable[[], None]) -> None:
    """Run ``main``; what a user can mend ends in one line on stderr, without a traceback.

    A :class:`TablemendError` exits with 2, a full disk with 1, Ctrl-C with 130. Any other
    exception is a defect of ours and keeps its traceback.
    """
    try:
        main()
    except TablemendError as error:
        _leave(f"error: {error}", REFUSED)
    except KeyboardInterrupt:
        _leave("interrupted; the same command continues", INTERRUPTED)
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        where = f" at {error.filename}" if error.filename else ""
        _leave(
            f"error: no space left on the disk{where}; what is written is kept: "
            "make room, then run the same command again",
            1,
        )


def _leave(message: str, status: int) -> None:
    print(message, file=sys.stderr)
    raise SystemExit(status)
