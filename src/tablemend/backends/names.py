"""The one string that names a model, and the key that its server is sent."""

from __future__ import annotations

import os
import re
import socket
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import AfterValidator

from tablemend.config.section import NAMED_BY_FILES, BackendOptions, nearest
from tablemend.errors import TablemendError

EngineKind = Literal["hf", "vllm", "openai", "scripted"]
ENGINES: tuple[EngineKind, ...] = get_args(EngineKind)
OPENAI = "https://api.openai.com/v1"
"""Base URL of a model string without one, where the environment variable OPENAI_BASE_URL names no
other, as in OpenAI's own client."""
CONNECT_SECONDS = 2.0
"""Longest wait for a connection."""
VERSION = re.compile(r"api-version=[\w.-]{1,32}")
"""The query that a base URL may have, as Azure wants it."""
EXAMPLES = {
    "hf": "hf:Qwen/Qwen3-8B",
    "vllm": "vllm:Qwen/Qwen3-8B",
    "openai": "openai:MODEL@http://localhost:8000/v1",
    "scripted": "scripted:FILE.jsonl",
}


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model string, taken apart.

    Attributes:
        engine: what generates.
        model: a folder or a Hub name (``hf``, ``vllm``), the name that a server knows
            (``openai``), or a file of answers (``scripted``).
        url: base URL of the model's server; empty for the other engines.
    """

    engine: EngineKind
    model: str
    url: str = ""

    @classmethod
    def parse(cls, text: str, default: EngineKind | None = None) -> ModelName:
        """Read ``hf:MODEL``, ``vllm:MODEL``, ``openai:MODEL[@URL]``, ``scripted:FILE``.

        Args:
            text: the string.
            default: engine of a string that names none; ``None`` refuses such a string.

        Raises:
            TablemendError: no engine or an unknown one, no model, no URL or one that is none, a
                key in a URL.
        """
        kind, colon, rest = text.partition(":")
        if not colon or "/" in kind:
            if default is None:
                raise TablemendError(
                    f"{_shown(text)} names no engine: write {', '.join(EXAMPLES.values())}"
                )
            kind, rest = default, text
        engine = next((known for known in ENGINES if kind == known), None)
        if engine is None:
            raise TablemendError(
                f"{_shown(text)}: no engine {_shown(kind)}{nearest(kind, ENGINES)}; "
                f"write {', '.join(EXAMPLES.values())}"
            )
        if engine != "openai":
            if not rest:
                what = "file" if engine == "scripted" else "model"
                raise TablemendError(f"{_shown(text)} names no {what}: write {EXAMPLES[engine]}")
            return cls(engine, rest)
        # a Hub name may hold an @, a URL begins with its scheme
        place = re.search(r"@https?://", rest)
        if not rest or (place is None and "@" in rest) or (place and place.start() == 0):
            raise TablemendError(
                f"{_shown(text)}: write {EXAMPLES[engine]}, with http:// or https://"
            )
        if place is None:
            model, url = rest, os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI
            where = "OPENAI_BASE_URL: the base URL"
        else:
            model, url = rest[: place.start()], rest[place.start() + 1 :].strip()
            where = f"{_shown(text)}: the base URL"
        base, mark, query = url.partition("?")
        url = f"{base.rstrip('/')}{mark}{query}"
        _check_url(url, where)
        return cls(engine, model, url)

    def refuse_unreachable(self) -> None:
        """One short try to connect to the model's server; one behind a proxy is not tried.

        Raises:
            TablemendError: nothing listens there.
        """
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        if not host or (parts.scheme in getproxies() and not proxy_bypass(host)):
            return
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
        except OSError as error:
            raise TablemendError(no_server(self.url)) from error

    def __str__(self) -> str:
        """The string again, to be recorded; it never holds a key."""
        return f"{self.engine}:{self.model}" + (f"@{self.url}" if self.url else "")


def no_server(url: str) -> str:
    """That nothing listens at a base URL."""
    return f"no server answers at {url}: start it, or mend the base URL"


def _shown(text: str) -> str:
    """A model string for an error: nothing of its URL, which may hold a key."""
    shown = re.split(r"@|://|\?|#", text, maxsplit=1)[0]
    return repr(shown if shown == text else f"{shown}...")


def _check_url(url: str, where: str) -> None:
    """Refuse what is no base URL, and any place where a key could hide; it is not repeated.

    Raises:
        TablemendError: one of these.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")  # its parts between dots have 1 to 63 characters
    except ValueError:  # its words repeat the URL
        parts, host, port = urlsplit(""), "", None
    version = not parts.query or VERSION.fullmatch(parts.query)
    if parts.username is not None or not version or parts.fragment:
        raise TablemendError(
            f"{where} carries a user, a query other than ?api-version=DATE, or a fragment: keys "
            "come from the environment alone (options.key_variable)"
        )
    clean = url.isascii() and url.isprintable() and not set(" ,") & set(url)
    if parts.scheme not in ("http", "https") or not host or not clean or port == 0:
        raise TablemendError(
            f"{where} is no base URL: write http://HOST:PORT/v1, PORT a number below 65536"
        )


def _that_parses(name: str) -> str:
    try:
        ModelName.parse(name)
    except TablemendError as error:
        raise ValueError(str(error)) from error
    return name


ModelString = Annotated[str, AfterValidator(_that_parses)]
"""A setting that names a model and its engine."""


SHORTEST_KEY = 8
"""Characters; what is shorter is no secret, and may stand in an answer (`none`, `EMPTY`)."""
KEYS = "TABLEMEND_KEYS"
"""Environment variable with the variables of keys by host: ``HOST=VARIABLE,HOST=VARIABLE``."""
NO_KEY = "none"
"""What a server is sent in place of a key."""


def key_of(name: ModelName, options: BackendOptions) -> str:
    """What the server is sent as its key.

    The variable that is read by default holds the key of a hosted service. A server on plain
    http gets it where it is on this machine or where the variable was named: anybody between
    could read it. A recipe, which may come from anybody, cannot choose which secret is sent away:
    the command line names the variable, or the environment one for each host (:data:`KEYS`).

    Raises:
        TablemendError: no key, or one that no header can carry, for a server behind https; a
            server or a variable that only a stranger's recipe names.
    """
    host = urlsplit(name.url).hostname or ""
    pairs = (part.partition("=") for part in os.environ.get(KEYS, "").split(","))
    own = {known.strip(): variable.strip() for known, _, variable in pairs}
    variable, is_named = options.key_variable, "key_variable" in options.model_fields_set
    if host in own and not is_named:
        variable, is_named = own[host], True
    key = os.environ.get(variable, "").strip() if variable else ""
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise TablemendError(
            f"the environment variable {variable} holds no key: it has a space or a character "
            "that no HTTP header can carry"
        )
    secure = urlsplit(name.url).scheme == "https"
    if secure and not key:
        raise TablemendError(
            f"{name.url} needs a key: put it into the environment variable {variable}, or name "
            "another one with key_variable"
        )
    if not (key and (secure or is_named or is_local(name.url))):
        return NO_KEY
    strange = host in NAMED_BY_FILES or (is_named and variable in NAMED_BY_FILES)
    if strange and own.get(host) != variable and not is_local(name.url):
        raise TablemendError(
            f"a recipe would have {variable} sent to {host}, and it must not choose which secret "
            f"is sent where: set {KEYS}={host}={variable} in the environment, or name server and "
            "variable on the command line"
        )
    return key


def mask(text: str, key: str) -> str:
    """A server's words without the key, spelt plainly or so that it can be read back.

    Escapes of JSON, URLs and HTML, hexadecimal and base64 are known; the mask is three asterisks.
    """
    return text if len(key) < SHORTEST_KEY else _spellings(key).sub("***", text)


@cache
def _spellings(key: str) -> re.Pattern[str]:
    """Every way in which a key may be spelt."""

    def of(character: str) -> str:
        number, case = ord(character), re.escape(character)
        escapes = rf"(?:\\*(?:u00|x)|%|&#x0*){number:02x}"
        return rf"(?:\\*{case}|(?i:{escapes});?|&#0*{number};?)"

    encoded = []
    for before in range(3):  # base64 of the key, wherever it begins within a longer text
        behind = -(before + len(key)) % 3
        whole = b64encode(b"x" * before + key.encode() + b"x" * behind).decode()
        core = whole[(0, 2, 3)[before] : len(whole) - (0, 2, 3)[behind]]
        encoded += [re.escape(core), re.escape(core.translate(str.maketrans("+/", "-_")))]
    hexadecimal = rf"(?i:{key.encode().hex()})"
    return re.compile("|".join(("".join(map(of, key)), *encoded, hexadecimal)))


def is_local(url: str) -> bool:
    """Whether a URL's host is this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
