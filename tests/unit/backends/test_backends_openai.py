"""The client of OpenAI-compatible servers: every fault, and that nothing is lost or doubled."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import logging
import socket
import threading
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends import openai_client
from tablemend.backends.backend import open_backend
from tablemend.backends.names import NO_KEY, ModelName, key_of
from tablemend.backends.openai_client import CONNECT_SECONDS
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config import parse
from tablemend.config.section import NAMED_BY_FILES, BackendOptions
from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tests.support.chat_server import ChatServer, Reply, Respond, Seen, answer, refuse

KEY = "sk-tablemend-0123456789abcdef"


@pytest.fixture(autouse=True)
def _no_key_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def options(**more: Any) -> BackendOptions:
    """Quick retries and no cache."""
    return BackendOptions(**{"cache": None, "backoff": 0.01, "retries": 4, "timeout": 10, **more})


def request(id: str = "r", prompt: str = "hello", **more: Any) -> Request:
    return Request(id, ({"role": "user", "content": prompt},), Sampling(100, 0.6), **more)


def requests(n: int) -> list[Request]:
    return [request(f"r{number}", f"prompt {number}") for number in range(n)]


def ask(server: ChatServer | str, asked: Iterable[Request], **more: Any) -> list[Completion]:
    url = server if isinstance(server, str) else server.url
    with open_backend(f"openai:m@{url}", options(**more)) as backend:
        return list(backend.generate(asked))


def ask_one(
    respond: Respond, asked: Request | None = None, **more: Any
) -> tuple[Completion, list[Seen]]:
    with ChatServer(respond) as server:
        (one,) = ask(server, [asked or request()], **more)
        return one, server.seen


# what is sent


def test_a_request_is_sent_as_asked() -> None:
    asked = Request(
        "r",
        (
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "Grüße \U0001f600"},
        ),
        Sampling(100, 0.6),
        thinking=False,
        seed=5,
    )
    one, (seen,) = ask_one(lambda _: answer("ja"), asked)
    assert seen.body == {
        "model": "m",
        "messages": list(asked.messages),
        "temperature": 0.6,
        "max_tokens": 100,
        "seed": 5,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["authorization"] == "Bearer none"
    assert one == Completion("r", "ja", 5, 2, "stop", seconds=one.seconds)
    assert one.seconds > 0


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("asked", "more", "fields"),
    [
        ({"sampling": Sampling(7)}, {}, {"temperature": 0.0, "max_tokens": 7}),
        (
            {"sampling": Sampling(7)},
            {"limit_field": "max_completion_tokens", "body": {"temperature": None, "top_p": 0.9}},
            {"max_completion_tokens": 7, "top_p": 0.9},
        ),
        (
            {"sampling": Sampling(7), "thinking": True},
            {"body": {"chat_template_kwargs": {"a": 1}}},
            {
                "temperature": 0.0,
                "max_tokens": 7,
                "chat_template_kwargs": {"enable_thinking": True, "a": 1},
            },
        ),
        (
            {"sampling": Sampling(7), "thinking": True},
            {"thinking_switch": "none"},
            {"temperature": 0.0, "max_tokens": 7},
        ),
        (
            {"sampling": Sampling(7), "schema": SCHEMA},
            {},
            {
                "temperature": 0.0,
                "max_tokens": 7,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
                },
            },
        ),
        (
            {"sampling": Sampling(7), "schema": SCHEMA},
            {"body": {"response_format": None}},
            {"temperature": 0.0, "max_tokens": 7},
        ),
    ],
)
def test_options_decide_on_the_fields(
    asked: dict[str, Any], more: dict[str, Any], fields: dict[str, Any]
) -> None:
    body = openai_client.body_of(replace(request(), **asked), "m", options(**more))
    assert body == {"model": "m", "messages": [{"role": "user", "content": "hello"}], **fields}


# what comes back


THOUGHT = {"type": "thinking", "thinking": "hm"}
DEEP = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}


def test_an_answer_without_a_reason_for_its_end_is_marked() -> None:
    one, _ = ask_one(lambda _: answer("hi", None))
    assert one.error == openai_client.UNSAID
    one, _ = ask_one(lambda _: answer("hi", "STOP"))
    assert one.error == ""


@pytest.mark.parametrize(
    ("reply", "text", "finish"),
    [
        (answer("hi", "length"), "hi", "length"),
        (answer("", "stop"), "", "stop"),
        (answer(None, "stop"), "", "stop"),
        (answer("hi", "stop_sequence"), "hi", "stop"),
        (answer("hi", "end_turn"), "hi", "stop"),
        (answer("hi", "eos"), "hi", "stop"),
        (answer("hi", "eos_token"), "hi", "stop"),
        (answer("hi", "max_tokens"), "hi", "length"),
        (answer("so far", "content_filter"), "so far", "refusal"),
        (answer(None, "stop", refusal="I will not."), "I will not.", "refusal"),
        (answer([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", "stop"),  # type: ignore[arg-type]
        (answer("x", reasoning_content="hm"), "<think>\nhm\n</think>\n\nx", "stop"),
        (answer("x", reasoning="hm"), "<think>\nhm\n</think>\n\nx", "stop"),
        (answer(None, "length", reasoning="hm"), "<think>\nhm", "length"),
        (answer("hm", "length"), "hm", "length"),
        (
            answer("<think>\nhm\n</think>\n\nx", reasoning="hm"),
            "<think>\nhm\n</think>\n\nx",
            "stop",
        ),
        (answer("x", reasoning=None, reasoning_content=""), "x", "stop"),
        (answer("hi", "STOP"), "hi", "stop"),
        (answer("hi", "COMPLETE"), "hi", "stop"),
        (answer("hi", "MAX_TOKENS"), "hi", "length"),
        (answer(None, "SAFETY"), "", "refusal"),
        (answer("hi", None), "hi", "stop"),
        (answer("hi", None, usage={"completion_tokens": 100}), "hi", "length"),
        (answer([THOUGHT, {"type": "text", "text": "x"}]), "<think>\nhm\n</think>\n\nx", "stop"),  # type: ignore[arg-type]
        (answer([DEEP, {"type": "text", "text": "x"}]), "<think>\nhm\n</think>\n\nx", "stop"),  # type: ignore[arg-type]
        (answer([DEEP], "length"), "<think>\nhm", "length"),  # type: ignore[arg-type]
    ],
)
def test_an_answer_is_read(reply: Reply, text: str, finish: str) -> None:
    one, seen = ask_one(lambda _: reply)
    assert (one.text, one.finish_reason, len(seen)) == (text, finish, 1)


# faults that pass


def bad(body: bytes | dict[str, Any]) -> Reply:
    return Reply(body if isinstance(body, bytes) else json.dumps(body).encode())


PASSING = {
    "429 with Retry-After": (refuse(429, headers={"Retry-After": "0.05"}), "status 429: no"),
    "503 with HTML": (Reply(b"<html>Bad Gateway</html>", 503), "status 503"),
    "500 nested for ever": (Reply(b"[" * 200_000, 500), "status 500"),
    "cut": (replace(answer("x" * 500), cut=100), "the connection broke off"),
    "cut before the body": (replace(answer(), cut=0), "the connection broke off"),
    "truncated JSON": (bad(answer().body[:-7]), "a body that is no JSON"),
    "no UTF-8": (bad(b'{"choices": "\xff\xfe"}'), "a body that is no JSON"),
    "nested for ever": (bad(b"[" * 200_000), "a body that is no JSON"),
    "no choices": (bad({"choices": []}), "no choice with a message"),
    "error with 200": (bad({"error": {"message": "x"}}), "an error: x"),
    "error with 200 and a code": (bad({"error": {"message": "x", "code": 529}}), "status 529: x"),
    "error in a choice": (
        bad({"choices": [{"error": {"code": 502, "message": "Up"}, "message": {"content": ""}}]}),
        "status 502: Up",
    ),
    "a list": (bad(b"[1]"), "no choice with a message"),
    "no message": (bad({"choices": [{"finish_reason": "stop"}]}), "no choice with a message"),
    "content is a number": (answer(5), "no choice with a message"),  # type: ignore[arg-type]
    "a call of a tool": (answer("x", "tool_calls"), "an answer that ended with 'tool_calls'"),
    "no end and no text": (answer("", None), "an answer that ended with 'None'"),
    "a picture alone": (answer([{"type": "image"}]), "no choice with a message"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", PASSING)
def test_a_fault_that_stays_is_recorded_and_the_rest_goes_on(kind: str) -> None:
    reply, reason = PASSING[kind]
    with ChatServer(lambda seen: reply if seen.prompt == "prompt 3" else answer()) as server:
        done = ask(server, requests(8), retries=2)
        tries = Counter(seen.prompt for seen in server.seen)
    by_id = {one.id: one for one in done}
    assert len(done) == len(by_id) == 8
    failed = by_id.pop("r3")
    assert (failed.finish_reason, failed.text) == ("error", "")
    assert reason in failed.error and failed.error.endswith("(3 tries)")
    assert "\n" not in failed.error and "prompt 3" not in failed.error
    assert {one.finish_reason for one in by_id.values()} == {"stop"}
    assert tries == {f"prompt {n}": 3 if n == 3 else 1 for n in range(8)}


def test_nothing_is_lost_or_doubled_under_all_faults_at_once() -> None:
    faults = itertools.cycle([reply for reply, _ in PASSING.values()])
    lock = threading.Lock()

    def respond(seen: Seen) -> Reply:
        with lock:
            return next(faults) if seen.number % 2 else answer(seen.prompt)

    with ChatServer(respond) as server:
        done = ask(server, requests(150), concurrency=32, retries=40, backoff=0.0001)
        good = Counter(seen.prompt for seen in server.seen if seen.number % 2 == 0)
        assert server.most <= 32
    assert Counter(one.id for one in done) == Counter(f"r{n}" for n in range(150))
    assert all(one.text == f"prompt {one.id[1:]}" for one in done)
    assert good == Counter(f"prompt {n}" for n in range(150))  # answered once, asked no more


# faults of one request, and faults of all


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (refuse(401, "bad key"), r"wants a key \(status 401\): .* OPENAI_API_KEY"),
        (refuse(403, "no access"), r"does not answer for the model 'm' \(status 403: no access\)"),
        (refuse(404, "no such model"), r"the model 'm' \(status 404: no such model\): mend the"),
        (Reply(b"", 307, {"Location": "http://x"}), r"the model 'm' \(status 307\)"),
        (Reply(b"Not Found", 405), r"\(status 405: Not Found\)"),
        (refuse(402, "pay"), "credit is used up"),
        (Reply(refuse(402, "Insufficient credits", code=402).body), "status 402: Insufficient cr"),
        (Reply(refuse(404, "No endpoints found", code=404).body), "status 404: No endpoints found"),
        (Reply(refuse(401, "no", code="401").body), r"wants a key \(status 401\)"),
        (Reply(refuse(429, "You", code="insufficient_quota").body), "credit is used up"),
        (refuse(429, "You exceeded", code="insufficient_quota"), "credit is used up"),
        (
            refuse(400, "Unsupported parameter", param="max_tokens", code="unsupported_parameter"),
            "limit_field=max_completion_tokens",
        ),
        (refuse(400, "temperature does not support 0.6"), r"body\.temperature=null"),
        (refuse(422, "Unexpected fields in the request: {'seed'}"), r"body\.seed=null"),
        (refuse(400, "response_format is unavailable"), "body.response_format=null"),
        (refuse(422, "chat_template_kwargs: extra inputs"), "thinking_switch=no_think"),
    ],
)
def test_what_no_request_survives_stops_the_run_at_once(reply: Reply, message: str) -> None:
    with ChatServer(lambda _: reply) as server:
        with pytest.raises(TablemendError, match=message) as caught:
            ask(server, requests(50), concurrency=4)
        assert len(server.seen) <= 8
    assert "\n" not in str(caught.value)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_where_nothing_listens_the_run_stops() -> None:
    with pytest.raises(TablemendError, match=r"no server answers at .*: start it"):
        ask(f"http://127.0.0.1:{free_port()}/v1", requests(20), retries=2)


def test_a_wrong_address_is_told_after_two_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("tablemend.backends.openai_client.asyncio.sleep", sleep)
    with pytest.raises(TablemendError, match="no server answers"):
        ask(f"http://127.0.0.1:{free_port()}/v1", [request()], retries=6, backoff=1)
    assert len(waits) == 1 and waits[0] + 2 * CONNECT_SECONDS <= 5


def test_a_server_that_has_answered_is_waited_for() -> None:
    served = ChatServer(lambda _: answer())
    with open_backend(f"openai:m@{served.url}", options(retries=4)) as backend:
        (first,) = backend.generate([request()])
        served.stop()
        (then,) = backend.generate([request()])
    assert first.text == "hi" and then.error == "no connection to the server (5 tries)"


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_has_a_size_after_decompression(packed: bool, status: int) -> None:
    body = answer("x" * 3_000_000).body
    encoding = {"Content-Encoding": "gzip"} if packed else {}
    reply = Reply(gzip.compress(body) if packed else body, status, encoding)
    with ChatServer(lambda _: reply) as server:
        (one,) = ask(server, [request()], max_reply_mib=2)
        assert one.error == "a reply of more than max_reply_mib=2 MiB (1 try)"
        (one,) = ask(server, [request()], retries=0)
        assert len(one.text) == (3_000_000 if status == 200 else 0)


def test_a_bomb_takes_little_memory() -> None:
    bomb = zlib.compressobj(wbits=31)
    body = b"".join([bomb.compress(bytes(2**20)) for _ in range(512)]) + bomb.flush()
    tracemalloc.start()
    try:
        one, _ = ask_one(lambda _: Reply(body, headers={"Content-Encoding": "gzip"}), retries=0)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "max_reply_mib=8" in one.error and most < 200 * 2**20


def test_the_version_of_an_api_is_sent_behind_the_path() -> None:
    name = ModelName.parse("openai:m@https://a.example/openai/v1/?api-version=2024-10-21")
    assert str(name) == "openai:m@https://a.example/openai/v1?api-version=2024-10-21"
    with ChatServer(lambda _: answer()) as server:
        server.path = "/v1/chat/completions?api-version=2024-10-21"
        (one,) = ask(f"{server.url}?api-version=2024-10-21", [request()])
    assert one.text == "hi"
    for query in ("?key=abc", "?api-version=1&sig=abc", "?api-version=" + "a" * 40):
        with pytest.raises(TablemendError, match="a query other than") as refused:
            ModelName.parse(f"openai:m@https://a.example/v1{query}")
        assert "abc" not in str(refused.value)


# keys


def spellings() -> dict[str, str]:
    """Ways in which a server may repeat the key that can be read back."""
    words = f"Authorization: Bearer {KEY}"
    return {
        "plain": KEY,
        "json": "".join(f"\\u{ord(one):04x}" for one in KEY),
        "partly json": KEY.replace("t", "\\u0074").replace("-", "\\x2D"),
        "url": "".join(f"%{ord(one):02X}" for one in KEY),
        "html": "".join(f"&#{ord(one)};" for one in KEY),
        "html hexadecimal": "".join(f"&#x{ord(one):x};" for one in KEY),
        "hexadecimal": KEY.encode().hex().upper(),
        **{
            f"base64 {n}": base64.b64encode(f"{'x' * n}{words}".encode()).decode() for n in range(3)
        },
        "base64 of urls": base64.urlsafe_b64encode(KEY.encode()).decode(),
    }


@pytest.mark.parametrize("kind", spellings())
@pytest.mark.parametrize("status", [200, 400, 500])
def test_no_spelling_of_the_key_comes_through(
    kind: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    spelt = spellings()[kind]
    reply = answer(f"You sent {spelt}.") if status == 200 else refuse(status, f"no: {spelt}")
    one, _ = ask_one(lambda _: reply, key_variable="MY_KEY", retries=0)
    said = one.text + one.error
    assert "***" in said and spelt[-24:-8] not in said


@pytest.mark.parametrize("before", range(190, 245, 3))
def test_no_piece_of_the_key_is_left_where_words_are_cut(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    reply = refuse(500, f"{'x' * before} {KEY} y")
    one, _ = ask_one(lambda _: reply, key_variable="MY_KEY", retries=0)
    assert KEY[:6] not in one.error


def places(tmp_path: Path, records: Sequence[logging.LogRecord], *texts: str) -> Iterator[str]:
    for path in tmp_path.rglob("*"):
        if path.is_file():
            yield path.read_bytes().decode("latin-1")
    yield from (record.getMessage() for record in records)
    yield from texts


@pytest.mark.parametrize("status", [200, 400, 401, 403, 429])
def test_the_key_is_sent_and_stands_nowhere_else(
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    echoes: list[str] = []

    def respond(seen: Seen) -> Reply:
        echoes.append(seen.headers["authorization"])
        if status == 200:
            return answer()
        # as a proxy that is being debugged does
        piece = f"; key {KEY[3:-3]}***" if status in (401, 403) else ""
        return refuse(status, f"refused: Authorization: {echoes[-1]}{piece}")

    more = options(key_variable="MY_KEY", retries=1, cache=str(tmp_path / "c.sqlite"))
    said = []
    with ChatServer(respond) as server:
        backend = open_backend(f"openai:m@{server.url}", more)
        said += [repr(backend), repr(vars(backend)["_engine"]), str(backend.identity), backend.name]
        try:
            said += [repr(one) for one in backend.generate(requests(3))]
        except TablemendError as error:
            said += [str(error), repr(error), repr(error.__cause__), repr(error.__context__)]
        backend.close()
    assert set(echoes) == {f"Bearer {KEY}"}
    out, err = capfd.readouterr()
    for text in places(tmp_path, caplog.records, out, err, *said):
        for piece in (KEY, KEY[3:-3], KEY[5:15]):
            assert piece not in text


@pytest.mark.parametrize("finish", ["stop", KEY])
def test_a_key_in_an_answer_is_masked(
    finish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    echo = answer(f"You sent {KEY}.", finish, reasoning_content=KEY, refusal=None)
    more = options(key_variable="MY_KEY", retries=0, cache=str(tmp_path / "c.sqlite"))
    with (
        ChatServer(lambda _: echo) as server,
        open_backend(f"openai:m@{server.url}", more) as backend,
    ):
        said = [repr(one) for _ in range(2) for one in backend.generate([request()])]
    for text in places(tmp_path, [], *said):
        assert KEY[3:12] not in text
    assert ("You sent ***." in said[1]) is (finish == "stop")


STRANGE = """kind: evaluation
name: strange
model: {path: "openai:m@SERVER"}
data: {test: {source: small-world, n: 2, seed: 3}}
evaluation: {max_new_tokens: 9, options: {OPTIONS}, systems: {base: {}}}
"""


@pytest.mark.parametrize(
    ("server", "options_", "given", "keys", "sent"),
    [
        ("https://evil.example/v1", "key_variable: AWS_KEY", [], "", None),
        ("http://evil.example/v1", "key_variable: AWS_KEY", [], "", None),
        ("https://evil.example/v1", "", [], "", None),  # the default key
        ("https://evil.example/v1", "key_variable: AWS_KEY", [], "other.example=AWS_KEY", None),
        ("https://evil.example/v1", "key_variable: AWS_KEY", [], "evil.example=AWS_KEY", KEY),
        ("https://evil.example/v1", "", [], "a.example=B, evil.example=AWS_KEY", KEY),
        ("http://localhost:8000/v1", "key_variable: AWS_KEY", [], "", KEY),
        (
            "https://evil.example/v1",
            "",
            ["model.path=openai:m@https://a.example/v1", "evaluation.options.key_variable=AWS_KEY"],
            "",
            KEY,
        ),
    ],
)
def test_a_recipe_does_not_choose_which_secret_is_sent_where(
    server: str,
    options_: str,
    given: list[str],
    keys: str,
    sent: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    NAMED_BY_FILES.clear()
    monkeypatch.setenv("AWS_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-default-0123456789")
    monkeypatch.setenv("TABLEMEND_KEYS", keys)
    path = tmp_path / "strange.yaml"
    path.write_text(STRANGE.replace("SERVER", server).replace("OPTIONS", options_))
    config = parse(CompareCommand, [f"recipe={path}", *given])
    name = ModelName.parse(config.model.path)
    try:
        if sent is None:
            with pytest.raises(TablemendError, match="must not choose which secret") as refused:
                key_of(name, config.evaluation.options)
            assert "\n" not in str(refused.value) and KEY not in str(refused.value)
        else:
            assert key_of(name, config.evaluation.options) == sent
    finally:
        NAMED_BY_FILES.clear()


def test_a_reference_is_refused_before_its_value_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_KEY", KEY)
    for text in ("kind: ${oc.env:AWS_KEY}\n", "kind: evaluation\nname: ${oc.env:AWS_KEY}\n"):
        (tmp_path / "r.yaml").write_text(text)
        with pytest.raises(TablemendError, match="is not filled in") as refused:
            parse(CompareCommand, [f"recipe={tmp_path / 'r.yaml'}"])
        assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://api.example.com/v1", True),
        ("http://localhost:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://10.0.0.5:8000/v1", False),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
    ],
)
def test_which_servers_the_default_key_is_sent_to(
    url: str, sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    key = key_of(ModelName.parse(f"openai:m@{url}"), BackendOptions())
    assert key == (KEY if sent else NO_KEY)


@pytest.mark.parametrize(
    ("reply", "thinking", "text"),
    [
        (answer("| a |\n|---|\n| 1 |", "length"), True, "<think>\n| a |\n|---|\n| 1 |"),
        (answer("| a |\n|---|\n| 1 |", "length"), None, "| a |\n|---|\n| 1 |"),
        (answer("| a |\n|---|\n| 1 |", "stop"), True, "| a |\n|---|\n| 1 |"),
        (answer("hm</think>| a |", "length"), True, "hm</think>| a |"),
        (answer("<thinking>hm", "length"), True, "<thinking>hm"),
        (answer("| a |", "length", reasoning="hm"), True, "<think>\nhm\n</think>\n\n| a |"),
    ],
)
def test_what_is_cut_while_thinking_is_a_thought(
    reply: Reply, thinking: bool | None, text: str
) -> None:
    asked = replace(request(), thinking=thinking)
    assert openai_client.read_reply(reply.body, asked).text == text
