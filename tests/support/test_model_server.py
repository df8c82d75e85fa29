"""The model server: its protocol, each fault of transport and content, its life and death."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tablemend.errors import TablemendError
from tests.support.model_server.chat import FixedAnswer
from tests.support.model_server.faults import CONTENT, KINDS, TRANSPORT, Faults
from tests.support.model_server.local import ROOT, LocalServer
from tests.support.model_server.server import DIED, Server

COMMAND = [sys.executable, "-m", "tests.support.model_server"]
JSON_TEXT = json.dumps({"table": {"columns": ["A", "B"], "rows": [["1", None]]}, "context": "So."})


@contextmanager
def serving(
    text: str = "Yes.", faults: str = "", seed: int = 0, latency: float = 0.0
) -> Iterator[str]:
    """A server with one answer in a thread of this process; its address."""
    ready: dict[str, Any] = {}
    up = threading.Event()

    async def serve() -> None:
        server = Server(FixedAnswer(text), Faults.parse(faults, seed), latency)
        ready["stop"], ready["loop"] = asyncio.Event(), asyncio.get_running_loop()
        listening, ready["url"] = await server.start()
        up.set()
        await ready["stop"].wait()
        listening.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert up.wait(10)
    try:
        yield urlsplit(ready["url"]).netloc
    finally:
        ready["loop"].call_soon_threadsafe(ready["stop"].set)
        thread.join(10)
    assert not thread.is_alive()


def body_of(text: str = "Hello?", **fields: Any) -> bytes:
    turns = [{"role": "user", "content": text}]
    return json.dumps({"model": "m", "messages": turns, **fields}).encode()


class Answer:
    """A response with its status, headers and JSON."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.raw = response.status, response.headers, response.read()

    @property
    def json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.raw)
        return data


def ask(
    where: str | http.client.HTTPConnection,
    body: bytes | None = None,
    path: str = "/v1/chat/completions",
    method: str = "POST",
) -> Answer:
    """One request, on a connection of its own or on one that is open."""
    if isinstance(where, str):
        connection = http.client.HTTPConnection(where, timeout=5)
        try:
            return ask(connection, body, path, method)
        finally:
            connection.close()
    where.request(method, path, body)
    return Answer(where.getresponse())


def counts(where: str) -> dict[str, Any]:
    return ask(where, None, "/counts", "GET").json


def test_a_chat_is_answered_in_the_protocol() -> None:
    with serving("The answer.") as where:
        answer = ask(where, body_of("What is it?", seed=3, temperature=0.6))
        assert answer.status == 200
        data = answer.json
        assert data["object"] == "chat.completion" and data["model"] == "m" and data["id"]
        (choice,) = data["choices"]
        assert choice["message"]["role"] == "assistant"
        assert choice["message"]["content"] == "The answer."
        assert choice["finish_reason"] == "stop"
        usage = data["usage"]
        assert usage["prompt_tokens"] > 4 and usage["completion_tokens"] > 2
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        models = ask(where, None, "/v1/models", "GET").json
        assert [model["id"] for model in models["data"]] == ["scripted"]


def test_a_long_answer_is_cut_at_max_tokens_and_says_so() -> None:
    with serving("one two three four five six seven") as where:
        whole = ask(where, body_of(max_tokens=100)).json
        cut = ask(where, body_of(max_tokens=3)).json
        renamed = ask(where, body_of(max_completion_tokens=3)).json
    assert whole["choices"][0]["finish_reason"] == "stop"
    assert cut["choices"][0]["finish_reason"] == "length"
    assert cut["choices"][0]["message"]["content"].split() == ["one", "two", "three"]
    assert cut["usage"]["completion_tokens"] == 3
    assert renamed["choices"] == cut["choices"]


def test_the_openai_client_understands_answers_and_refusals() -> None:
    openai = pytest.importorskip("openai")

    def create(where: str) -> Any:
        with openai.OpenAI(base_url=f"http://{where}/v1", api_key="none", max_retries=0) as client:
            turns = [{"role": "user", "content": "Hello?"}]
            return client.chat.completions.create(model="m", messages=turns, seed=1)

    with serving("The answer.") as where:
        answer = create(where)
    assert answer.choices[0].message.content == "The answer."
    assert answer.choices[0].finish_reason == "stop" and answer.usage.completion_tokens > 2
    with serving(faults="refusal:1") as where:
        assert create(where).choices[0].message.refusal
    with serving(faults="429-retry-after:1") as where, pytest.raises(openai.RateLimitError) as low:
        create(where)
    assert low.value.response.headers["retry-after"] == "1"
    for fault, error in (
        ("400", openai.BadRequestError),
        ("500", openai.InternalServerError),
        ("cut", openai.APIConnectionError),
        ("reset", openai.APIConnectionError),
    ):
        with serving("x" * 500, faults=f"{fault}:1") as where, pytest.raises(error):
            create(where)


def test_a_connection_is_kept_and_a_pipelined_request_waits_its_turn() -> None:
    with serving(latency=0.02) as where:
        connection = http.client.HTTPConnection(where, timeout=5)
        for _ in range(3):
            assert ask(connection, body_of()).status == 200
        used = connection.sock
        assert ask(connection, body_of()).status == 200 and connection.sock is used
        connection.close()
        host, port = where.split(":")
        with socket.create_connection((host, int(port)), timeout=5) as link:
            wanted = [body_of("a", max_tokens=1), body_of("b" * 30_000), b"no chat", b""]
            for body in wanted:
                head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
                link.sendall(head.encode() + body)
            link.sendall(b"GET /counts HTTP/1.1\r\nConnection: close\r\n\r\n")
            received = b"".join(iter(lambda: link.recv(65536), b""))
        assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [
            b"200", b"200", b"400", b"400", b"200",
        ]  # fmt: skip
        assert received.index(b'"length"') < received.index(b'"stop"')
        last = json.loads(received[received.rindex(b"\r\n\r\n") :])
        assert last["requests"] == 6 and last["repeated"] == 3 and last["in_flight"] == 0


def test_a_request_in_pieces_is_one_request() -> None:
    body = body_of("in pieces")
    text = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with serving() as where:
        host, port = where.split(":")
        with socket.create_connection((host, int(port)), timeout=5) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for place in range(0, len(text), 7):
                link.sendall(text[place : place + 7])
            assert link.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"stream": True}, "stream"),
        ({"n": 2}, "n=2"),
        ({"tools": [{}]}, "tools"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "role"),
        ({"messages": [{"role": "user", "content": None}]}, "text"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "text"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"seed": "1"}, "seed"),
        ({"response_format": {"type": "json_schema"}}, "schema"),
        ({"response_format": {"type": "xml"}}, "xml"),
    ],
)
def test_what_is_no_chat_or_not_done_is_refused(fields: dict[str, Any], word: str) -> None:
    with serving() as where:
        answer = ask(where, body_of(**fields))
        assert answer.status == 400 and word in answer.json["error"]["message"]
        assert counts(where)["requests"] == 0


def test_other_paths_methods_and_broken_http_are_refused() -> None:
    with serving() as where:
        assert ask(where, None, "/v1/nothing", "GET").status == 404
        assert ask(where, None, "/v1/chat/completions", "GET").status == 405
        host, port = where.split(":")
        for text, status in (
            (b"hello\r\n\r\n", b"400"),
            (b"GET / HTTP/1.1\r\nbroken line\r\n\r\n", b"400"),
            (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
            (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
            (b"x" * 70_000, b"431"),
        ):
            with socket.create_connection((host, int(port)), timeout=5) as link:
                link.sendall(text)
                received = b"".join(iter(lambda link=link: link.recv(65536), b""))
            assert received.split(b" ")[1] == status


def test_requests_in_flight_are_counted_and_forgotten_when_the_client_goes() -> None:
    with serving(faults="timeout:1") as where:
        host, port = where.split(":")
        body = body_of()
        text = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        links = [socket.create_connection((host, int(port)), timeout=5) for _ in range(3)]
        for link in links:
            link.sendall(text + body)
        wait_until(lambda: counts(where)["in_flight"] == 3)
        for link in links:
            link.close()
        wait_until(lambda: counts(where)["in_flight"] == 0)
        assert counts(where)["most_in_flight"] == 3
        assert counts(where)["faults"] == {"timeout": 3}


def wait_until(true: Any, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("fault", "status"), [("400", 400), ("429", 429), ("500", 500), ("503", 503)]
)
def test_a_failing_status(fault: str, status: int) -> None:
    with serving(faults=f"{fault}:1") as where:
        answer = ask(where, body_of())
        assert answer.status == status and answer.json["error"]["message"]
        assert "Retry-After" not in answer.headers
        assert counts(where)["faults"] == {fault: 1}


def test_retry_after_in_seconds_and_as_a_date() -> None:
    with serving(faults="429-retry-after:1") as where:
        answer = ask(where, body_of())
        assert answer.status == 429 and answer.headers["Retry-After"] == "1"
    with serving(faults="429-retry-date:1") as where:
        answer = ask(where, body_of())
        back = parsedate_to_datetime(answer.headers["Retry-After"])
        sent = answer.status == 429 and back.timestamp() - time.time()
        assert -1 < sent <= 2


def test_a_cut_connection_a_reset_and_silence() -> None:
    with serving("x" * 1000, faults="cut:1") as where, pytest.raises(http.client.IncompleteRead):
        ask(where, body_of())
    with (
        serving(faults="reset:1") as where,
        pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)),
    ):
        ask(where, body_of())
    with serving(faults="timeout:1") as where:
        connection = http.client.HTTPConnection(where, timeout=0.2)
        with pytest.raises(TimeoutError):
            ask(connection, body_of())
        connection.close()


def test_bodies_that_are_no_answer() -> None:
    with serving(faults="bad-body:1") as where:
        answer = ask(where, body_of())
        assert answer.status == 200
        with pytest.raises(json.JSONDecodeError):
            json.loads(answer.raw)
    with serving(faults="empty-choices:1") as where:
        assert ask(where, body_of()).json["choices"] == []
    with serving(faults="no-usage:1") as where:
        answer = ask(where, body_of())
        assert "usage" not in answer.json and answer.json["choices"][0]["finish_reason"] == "stop"


def test_wrong_token_counts_come_in_every_kind() -> None:
    with serving(faults="wrong-usage:1") as where:
        usages = [ask(where, body_of(f"question {number}")).json["usage"] for number in range(40)]
    assert len({json.dumps(usage) for usage in usages}) >= 6
    for usage in usages:
        found = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        assert any(not isinstance(value, int) or value <= 0 or value > 10**9 for value in found)


def test_spoilt_content() -> None:
    seen: dict[str, set[str]] = {}
    finishes: dict[str, set[str]] = {}
    for fault in CONTENT:
        with serving(JSON_TEXT, faults=f"{fault}:1") as where:
            answers = [ask(where, body_of(f"question {n}")).json["choices"][0] for n in range(30)]
            assert counts(where)["faults"] == {fault: 30}
        seen[fault] = {answer["message"]["content"] for answer in answers}
        finishes[fault] = {answer["finish_reason"] for answer in answers}
        refusals = {answer["message"]["refusal"] for answer in answers}
        assert (None in refusals) == (fault != "refusal")
    for text in seen["truncated-json"]:
        assert JSON_TEXT.startswith(text) and len(text) < len(JSON_TEXT)
    for text in seen["truncated-json"] | seen["bad-json"]:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
    assert all(JSON_TEXT in text and text != JSON_TEXT for text in seen["prose"])
    assert len(seen["prose"]) == 3
    assert seen["refusal"] == {None} and all("{" not in text for text in seen["refusal-text"])
    assert seen["empty"] == seen["content-filter"] == {""}
    assert seen["length"] == {JSON_TEXT[: len(JSON_TEXT) // 2]}
    assert finishes.pop("length") == {"length"}
    assert finishes.pop("content-filter") == {"content_filter"}
    assert all(finish == {"stop"} for finish in finishes.values())


def test_a_fault_of_json_passes_over_an_answer_in_words() -> None:
    with serving("Just words.", faults="prose:0.5+bad-json:0.5") as where:
        answer = ask(where, body_of()).json["choices"][0]
        assert answer["message"]["content"] == "Just words." and counts(where)["faults"] == {}


def test_faults_do_not_depend_on_the_order_and_pass_when_tried_again() -> None:
    questions = [body_of(f"question {number}") for number in range(200)]

    def statuses(order: list[bytes]) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {question: [] for question in questions}
        with serving(faults="429:0.2+500:0.2+503!:0.1", seed=5) as where:
            connection = http.client.HTTPConnection(where, timeout=5)
            for question in order:
                found[question].append(ask(connection, question).status)
            connection.close()
        return found

    rounds = statuses(questions * 3)
    turned = statuses([q for question in reversed(questions) for q in [question] * 3])
    assert rounds == turned
    lasting = sum(found == [503, 503, 503] for found in rounds.values())
    assert 8 <= lasting <= 36
    assert all(503 not in found or found == [503] * 3 for found in rounds.values())
    firsts = [found[0] for found in rounds.values()]
    assert 20 <= firsts.count(429) <= 55 and 20 <= firsts.count(500) <= 55
    helped = [found for found in rounds.values() if found[0] in (429, 500)]
    assert sum(200 in found for found in helped) > 0.6 * len(helped)
    assert any(found[1] != found[0] for found in helped)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("429", "no share"),
        ("429:2", "0 to 1"),
        ("429:nan", "0 to 1"),
        ("429:x", "0 to 1"),
        ("4299:0.1", "did you mean 429?"),
        ("cut:0.6+500:0.6", "more than 1"),
        ("cut:0.1+cut:0.1", "twice"),
        ("die-after:0", "from 1"),
        ("die-after:x", "from 1"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line(spec: str, word: str) -> None:
    with pytest.raises(TablemendError, match=r"^[^\n]*$") as refused:
        Faults.parse(spec)
    assert word in str(refused.value)


def test_every_fault_can_be_named() -> None:
    spec = "+".join(f"{name}:0.01" for name in (*TRANSPORT, *CONTENT))
    faults = Faults.parse(f"{spec}+mistake!:0.01+die-after:7", seed=1)
    assert len(faults.passing) == len(TRANSPORT) + len(CONTENT)
    assert faults.lasting == (("mistake", 0.01),) and faults.die_after == 7
    assert Faults.parse("") == Faults()


def start(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """The command in a process of its own, and where it listens."""
    command, pipe = [*COMMAND, *arguments], subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    return process, urlsplit(process.stdout.readline().strip()).netloc


def end(process: subprocess.Popen[str]) -> int:
    process.terminate()
    process.communicate(timeout=10)
    return process.returncode


def test_the_command_prints_its_address_first_and_ends_when_told() -> None:
    process, where = start("--answer", "So it is.", "--latency", "0.05")
    try:
        begin = time.monotonic()
        answer = ask(where, body_of()).json
        assert answer["choices"][0]["message"]["content"] == "So it is."
        assert time.monotonic() - begin >= 0.05
    finally:
        assert end(process) == 0


def test_the_command_refuses_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for arguments in (
            ["--faults", "nothing:1"],
            ["--latency", "-1"],
            ["--answer", "x", "--examples", "y"],
            ["--examples", "no/such/folder"],
            ["--answer", "x", "--port", str(taken.getsockname()[1])],
        ):
            done = subprocess.run([*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 2 and done.stdout == ""
            assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_it_dies_in_mid_request_and_comes_back_on_the_same_port() -> None:
    process, where = start("--answer", "x", "--faults", "die-after:2")
    assert [ask(where, body_of()).status for _ in range(2)] == [200, 200]
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        ask(where, body_of())
    process.communicate(timeout=10)
    assert process.returncode == DIED
    again, back = start("--answer", "x", "--port", where.split(":")[1])
    try:
        assert back == where and ask(where, body_of()).status == 200
    finally:
        end(again)


def test_it_does_not_outlive_the_process_that_started_it() -> None:
    code = (
        "import subprocess, sys, time\n"
        f"server = subprocess.Popen({[*COMMAND, '--answer', 'x']!r}, stdout=subprocess.PIPE)\n"
        "print(server.pid, server.stdout.readline().decode().strip(), flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid, url = parent.stdout.readline().split()
    assert ask(urlsplit(url).netloc, body_of()).status == 200
    parent.send_signal(signal.SIGKILL)
    parent.communicate(timeout=10)

    def gone() -> bool:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        # an orphan that nobody waits for is over, though its number is still there
        return "State:\tZ" in status

    wait_until(gone, 10)


def test_it_loads_no_torch() -> None:
    code = (
        "import sys, tests.support.model_server.oracle, tests.support.model_server.__main__\n"
        "sys.exit(', '.join({'torch', 'transformers', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_local_server_is_started_anew_at_its_address_and_ended() -> None:
    server = LocalServer(["--answer=ja"])
    where = urlsplit(server.url).netloc
    assert server.model == f"openai:scripted@http://{where}/v1"
    assert ask(where, body_of()).status == 200 and counts(where)["requests"] == 1
    server.restart()
    assert counts(where)["requests"] == 0
    server.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        counts(where)


def test_a_local_server_that_does_not_start_says_why() -> None:
    with pytest.raises(TablemendError, match="did not start: error: no fault 'x'"):
        LocalServer(["--faults=x:1"])


def test_the_page_and_the_help_name_every_fault() -> None:
    page = (ROOT / "tests" / "support" / "model_server" / "README.md").read_text(encoding="utf-8")
    done = subprocess.run([*COMMAND, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    for name in (*KINDS, "die-after"):
        assert f"`{name}" in page and f"{name}" in done.stdout
