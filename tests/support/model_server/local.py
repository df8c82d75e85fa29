"""The model server as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from urllib.parse import urlsplit

from tablemend.errors import TablemendError

ROOT = Path(__file__).parents[3]
START_SECONDS = 60.0
END_SECONDS = 5.0


class LocalServer:
    """``python -m tests.support.model_server`` on a free port, until it is closed.

    Args:
        arguments: of its command line.

    Raises:
        TablemendError: it did not start; its own last line says why.
    """

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._arguments = arguments
        self.url = self._start(0)

    @property
    def model(self) -> str:
        """Its model string; the server needs no key."""
        return f"openai:scripted@{self.url}"

    def restart(self) -> None:
        """Start it again at the same address: it has forgotten what it was asked."""
        self.close()
        self._start(urlsplit(self.url).port or 0)

    def close(self) -> None:
        """End it; a second call does nothing."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def _start(self, port: int) -> str:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "tests.support.model_server", f"--port={port}"]
        with tempfile.TemporaryFile("w+") as errors:  # a pipe that nobody reads would fill
            self._process = subprocess.Popen(
                [*command, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for us: it answers until it is closed
            )
            assert self._process.stdout is not None
            alarm = Timer(START_SECONDS, self._process.kill)
            alarm.start()
            url = self._process.stdout.readline().strip()
            alarm.cancel()
            if not url:
                self._process.communicate()
                errors.seek(0)
                said = errors.read().strip().splitlines() or [f"{self._process.returncode}"]
                raise TablemendError(f"the model server did not start: {said[-1]}")
        return url
