"""How every script ends: cleanly, or with one clear line and a non-zero status."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from tablemend.errors import FULL_DISK, Stopped, TablemendError, missing_extra
from tablemend.shipped import FROM_WHEEL

REFUSED = TablemendError.status
INTERRUPTED = 130
FORBIDDEN = (
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.EEXIST, errno.ENOTDIR, errno.EISDIR),  # a file in a folder's place, and the reverse
    *(errno.ENOENT, errno.ENXIO, errno.ELOOP, errno.ENAMETOOLONG),  # /proc/x, a socket, a link
)
SCRIPTS = {
    **{f"train/{name}.py": f"train {name}" for name in ("sft", "dpo", "grpo", "distil")},
    **{
        f"data_gen/{name}.py": f"data {name}"
        for name in "tablehallu tabfaith faith torr claims records logic publish".split()
    },
    "data_gen/preference.py": "preference",
    **{
        f"eval/{name}.py": name
        for name in ("compare", "report", "robustness", "leaderboard", "reproduce", "validate")
    },
    **{f"train/{name}.py": name for name in ("run", "merge", "publish")},
    "checkpoints/fetch.py": "fetch",
    "eval/annotate.py": "logic annotate",
    "eval/annotation_sheet.py": "logic sheet",
    "eval/annotation_report.py": "logic report",
}
"""Script -> the command of ``tablemend`` that runs it."""
_LAUNCHED = re.compile(
    r"(launch (?:-\S+ )*)?(?:python )?\b((?:train|data_gen|eval|checkpoints)/\w+\.py)"
)


def run_script(main: Callable[[], None]) -> None:
    """Run ``main``; what a user can mend ends in one line on stderr, without a traceback.

    A :class:`TablemendError` exits with its status (2 where it says no other), a path that may not
    be used and a missing extra with 2, a full disk or quota, a cap that is reached and servers that
    answer nothing more with 1, Ctrl-C with 130. A reader of our output that has gone (``| head``)
    ends it with 1 and without a word. Any
    other exception is a defect of ours and keeps its traceback.
    """
    _ready_streams()
    try:
        try:
            main()
        except SystemExit:
            sys.stdout.flush()  # a full disk or a closed pipe shows here, not at the end of Python
            raise
        sys.stdout.flush()
    except Stopped as error:
        _leave(f"stopped: {error}", 1)
    except TablemendError as error:
        _leave(f"error: {error}", error.status)
    except KeyboardInterrupt:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would only spoil the end
        _leave("interrupted; the same command continues", INTERRUPTED)
    except ModuleNotFoundError as error:
        if why := missing_extra(error):
            _leave(f"error: {why}", REFUSED)
        raise
    except BrokenPipeError:
        _drop_output()
        raise SystemExit(1) from None
    except OSError as error:
        if error.errno in FORBIDDEN and error.filename:
            _leave(f"error: {error.filename}: {error.strerror}", REFUSED)
        full = FULL_DISK.get(error.errno or 0)
        if full is None:
            raise
        _drop_output()
        where = f" at {error.filename}" if error.filename else ""
        _leave(
            f"error: {full}{where}; what is written is kept: make room, then run the same command "
            "again",
            1,
        )


def _ready_streams() -> None:
    """Open what the caller closed (``>&-``); escape what a terminal's encoding cannot write."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def as_commands(message: str) -> str:
    """A message that names scripts, for who has none: from a wheel there are their commands."""

    def named(match: re.Match[str]) -> str:
        launch = f"{match[1]}-m " if match[1] else ""
        return f"{launch}tablemend {SCRIPTS[match[2]]}" if match[2] in SCRIPTS else match[0]

    return _LAUNCHED.sub(named, message)


def _leave(message: str, status: int) -> NoReturn:
    print(as_commands(message) if FROM_WHEEL else message, file=sys.stderr)
    raise SystemExit(status)


def _drop_output() -> None:
    """What is still in the buffer cannot be written: keep the interpreter from trying at exit."""
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # no file, as under a test
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output)
    os.close(nowhere)
