"""A headless Chromium driven over its pipe, with real keys, clicks and downloads."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 300  # seconds; reached only where something is broken


def find_chromium() -> str | None:
    """Path of a Chromium on this machine."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class NoBrowserError(Exception):
    """Chromium is not here, or does not start, as where libraries that it needs are missing."""


class Browser:
    """One page. Messages are JSON, ended by a zero byte, on descriptors 3 and 4 of Chromium."""

    def __init__(self, reader: int, writer: int, downloads: Path) -> None:
        self._reader, self._writer = reader, writer
        self.downloads = downloads
        self._number = 0
        self._buffer = b""
        self.session: str | None = None
        self.problems: list[str] = []

    def call(self, method: str, **parameters: Any) -> Any:
        """The answer to a command; what happens meanwhile is noted."""
        number = self._send(method, **parameters)
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _send(self, method: str, **parameters: Any) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reader], [], [], PATIENCE)
            assert ready, "Chromium says nothing"
            block = os.read(self._reader, 1 << 16)
            assert block, "Chromium has ended"
            self._buffer += block
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(event["params"]["exceptionDetails"])[:500])
        if event.get("method") == "Log.entryAdded":
            self.problems.append(event["params"]["entry"]["text"])
        if event.get("method") == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {event['params']['type']}")
            self._send("Page.handleJavaScriptDialog", accept=True)

    def open(self, path: Path) -> None:
        """Load a file and wait for its script."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def reload(self) -> None:
        """Load the page again, in the same process, and wait for its script."""
        self.run("void (window.before = true)")
        self.call("Page.reload")
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(
                AssertionError
            ):  # nothing can be asked while one page gives way to another
                if self.run("!window.before && document.readyState === 'complete'"):
                    return
            assert time.monotonic() < end, "the page was not loaded again"
            time.sleep(0.02)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until an expression holds."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"!!({expression})"):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.02)

    def press(self, key: str, code: int = 0, text: str | None = None) -> None:
        """A key, as a person presses it."""
        text = key if text is None and len(key) == 1 else text
        code = code or (ord(key.upper()) if len(key) == 1 else KEYS[key])
        text = "\r" if key == "Enter" else text
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text or "", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """A click of the mouse in the middle of an element."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )


KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser with its profile and its downloads in ``folder``.

    Raises:
        NoBrowserError: there is none that starts.
    """
    program, downloads = find_chromium(), folder / "downloads"
    if program is None:
        raise NoBrowserError("no Chromium on this machine")
    to_read, to_write = os.pipe(), os.pipe()
    descriptors = (to_write[0], to_read[1])
    command = [
        program,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder / 'profile'}",
        "about:blank",
    ]
    # the shell puts our ends of the pipes where Chromium looks for them
    script = f'exec "$@" 3<&{descriptors[0]} 4>&{descriptors[1]}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=descriptors,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for descriptor in descriptors:
        os.close(descriptor)
    browser = Browser(to_read[0], to_write[1], downloads)
    try:
        try:
            targets = browser.call("Target.getTargets")["targetInfos"]
        except (AssertionError, OSError) as error:
            raise NoBrowserError(f"{program} does not start: {error}") from error
        page = next(target for target in targets if target["type"] == "page")
        browser.call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads.resolve())
        )
        attached = browser.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        browser.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            browser.call(f"{domain}.enable")
        yield browser
    finally:
        process.terminate()
        process.wait(PATIENCE)
        for descriptor in (to_read[0], to_write[1]):
            os.close(descriptor)
