"""Model strings: what is read, and what is refused in one line."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from huggingface_hub import HfApi
from pydantic import ValidationError

from tablemend.backends.backend import open_backend
from tablemend.backends.names import OPENAI, ModelName
from tablemend.config import ConfigError, parse
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf:Qwen/Qwen3-8B", ModelName("hf", "Qwen/Qwen3-8B")),
        ("hf:runs/demo/model", ModelName("hf", "runs/demo/model")),
        ("vllm:/models/a:b", ModelName("vllm", "/models/a:b")),
        ("openai:m@http://h:8000/v1", ModelName("openai", "m", "http://h:8000/v1")),
        ("openai:m@http://h:8000/v1/", ModelName("openai", "m", "http://h:8000/v1")),
        ("openai:a/b@c@https://h/v1", ModelName("openai", "a/b@c", "https://h/v1")),
        ("openai:m@http://[::1]:8/v1", ModelName("openai", "m", "http://[::1]:8/v1")),
        ("scripted:a/b.jsonl", ModelName("scripted", "a/b.jsonl")),
    ],
)
def test_a_string_is_taken_apart_and_put_together_again(text: str, name: ModelName) -> None:
    assert ModelName.parse(text) == name
    assert ModelName.parse(str(name)) == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Qwen/Qwen3-8B", "names no engine: write hf:"),
        ("opena:m@http://h/v1", "no engine 'opena'.*openai"),
        ("hf:", "names no model"),
        ("vllm:", "names no model"),
        ("scripted:", r"names no file: write scripted:FILE\.jsonl$"),
        ("openai:", "with http:// or https://"),
        ("openai:@http://h/v1", "write openai:MODEL@"),
        ("openai:m@h:8000/v1", "with http:// or https://"),
        ("openai:m@http://h:port/v1", "is no base URL"),
        ("openai:m@http://h/v1,http://b/v1", "is no base URL"),
        ("openai:m@http://", "is no base URL"),
        ("openai:m@http://h/v1 x", "is no base URL"),
        ("openai:m@http://h/\u00fc", "is no base URL"),
        ("openai:m@http://h:0/v1", "is no base URL"),
        ("openai:m@http://a..b/v1", "base URL is no base URL"),
        (f"openai:m@http://{'a' * 64}.com/v1", "base URL is no base URL"),
    ],
)
def test_a_string_that_names_no_model_is_refused(text: str, message: str) -> None:
    with pytest.raises(TablemendError, match=message) as caught:
        ModelName.parse(text)
    assert "\n" not in str(caught.value)


def test_a_server_without_a_url_is_the_environments_or_openais(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert ModelName.parse("openai:gpt") == ModelName("openai", "gpt", OPENAI)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1/")
    assert str(ModelName.parse("openai:gpt")) == "openai:gpt@http://localhost:9/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:9")
    with pytest.raises(TablemendError, match="OPENAI_BASE_URL: the base URL is no base URL"):
        ModelName.parse("openai:gpt")


@pytest.mark.parametrize(
    "url", ["https://me:sk-secret@h/v1", "https://h/v1?key=sk-secret", "https://h/v1#sk-secret"]
)
def test_a_key_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(TablemendError, match="keys come from the environment") as caught:
        ModelName.parse(f"openai:m@{url}")
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"api_key": "sk-secret"}, "body.api_key"),
        ({"apiKey": "sk-secret"}, "body.apiKey"),
        ({"APIToken": "sk-secret"}, "body.APIToken"),
        ({"key": "sk-secret"}, "body.key"),
        ({"x-goog-api-key": "sk-secret"}, "body.x-goog-api-key"),
        ({"extra": {"hf_token": "sk-secret"}}, "body.extra.hf_token"),
        ({"extra": [{"a": 1}, {"AccessToken": "sk-secret"}]}, "body.extra.1.AccessToken"),
        ({"headers": {"Authorization": "Bearer sk-secret"}}, "body.headers.Authorization"),
        ({"client_secret": "sk-secret"}, "body.client_secret"),
        ({"credentials": {"a": "sk-secret"}}, "body.credentials"),
    ],
)
def test_a_key_in_the_body_is_refused_and_not_repeated(body: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BackendOptions(body=body)
    assert f"{path}: looks like a key" in str(caught.value.errors()[0]["msg"])
    tokens = [f"body={json.dumps(body)}"]
    with pytest.raises(ConfigError) as said:
        parse(BackendOptions, tokens)
    assert path in str(said.value) and "sk-secret" not in str(said.value)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("body.stream=true", "body.stream: is set by tablemend"),
        ("body.n=4", "body.n: is set by tablemend"),
        ("max_cost=3", "max_cost: needs price_in and price_out"),
        ("retries=-1", "retries"),
        ("timout=3", "did you mean timeout"),
    ],
)
def test_options_that_cannot_be_are_refused(token: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(BackendOptions, [token])


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("no route\nto it"),
        httpx.ReadTimeout("no route"),
        OSError("no route"),
        ValueError("no route"),
    ],
)
def test_a_name_that_the_hub_does_not_give_is_refused_after_one_request(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def model_info(_: HfApi, name: str, **options: Any) -> None:
        asked.append(name)
        raise error

    monkeypatch.setattr(HfApi, "model_info", model_info)
    message = r"^no-such/model is neither a folder nor a model that [^\n]* gives: no route$"
    with pytest.raises(TablemendError, match=message):
        open_backend("hf:no-such/model", BackendOptions())
    assert asked == ["no-such/model"]
