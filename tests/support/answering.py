"""A small OpenAI-compatible server in this process, which answers what a test tells it to."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tablemend.records import ContextKind, Example
from tablemend.tasks import tablehallu

Reply = str | dict[str, Any] | int
"""A text, a choice's fields (``finish_reason``, ``message``), or the status of a failure."""


class AnsweringServer(ThreadingHTTPServer):
    """Notes every body that it is sent."""

    daemon_threads = True

    def __init__(self, reply: Callable[[dict[str, Any]], Reply], latency: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply = reply
        self.latency = latency
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no defect of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def model(self) -> str:
        """The model string to ask it by."""
        return f"openai:tester@http://127.0.0.1:{self.server_address[1]}/v1"

    def prompts(self) -> list[str]:
        """The user turns so far."""
        return [body["messages"][-1]["content"] for body in self.bodies]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AnsweringServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        time.sleep(self.server.latency)
        reply = self.server.reply(body)
        if isinstance(reply, int):
            self._send(reply, {"error": {"message": "told to fail"}})
            return
        choice = {"index": 0, "finish_reason": "stop"}
        choice |= reply if isinstance(reply, dict) else {"message": {"content": reply}}
        choice["message"] = {"role": "assistant", **choice["message"]}
        usage = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
        whole = {"id": "x", "object": "chat.completion", "created": 0, "model": "tester"}
        self._send(200, {**whole, "choices": [choice], "usage": usage})

    def _send(self, status: int, data: dict[str, Any]) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def answering(
    reply: Callable[[dict[str, Any]], Reply], latency: float = 0.0
) -> Iterator[AnsweringServer]:
    """A server on a free port, for as long as the block runs."""
    with AnsweringServer(reply, latency) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def asked(body: dict[str, Any], examples: Sequence[Example]) -> tuple[Example, ContextKind]:
    """The example that a request is about, and the context that it shows."""
    text = body["messages"][-1]["content"]
    for example in examples:
        for context in ("clean", "adversarial"):
            if f"Context:\n{example.context(context)}\n\nQuery:\n{example.query}\n" in text:
                return example, context
    raise AssertionError(text)


def right_answer(body: dict[str, Any], examples: Sequence[Example]) -> str:
    """The gold table, in the format that the prompt asks for."""
    text = body["messages"][-1]["content"]
    example, _ = asked(body, examples)
    (output,) = [name for name, words in tablehallu.FORMATS.items() if words in text]
    return tablehallu.answer(example.gold_table, output)
