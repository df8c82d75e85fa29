"""The server's key: where it is read, and to which server it is sent."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from tablemend.backends.names import ModelName
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError

SHORTEST_KEY = 8
"""Characters; what is shorter is no secret, and may stand in an answer (`none`, `EMPTY`)."""
NO_KEY = "none"
"""What a server is sent in place of a key."""


def key_of(name: ModelName, options: BackendOptions) -> str:
    """What the server is sent as its key.

    The variable that is read by default holds the key of a hosted service. A server on plain
    http gets it where it is on this machine or where the variable was named: anybody between
    could read it.

    Raises:
        TablemendError: no key, or one that no header can carry, for a server behind https.
    """
    variable = options.key_variable
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
    sent = secure or "key_variable" in options.model_fields_set or is_local(name.url)
    return key if key and sent else NO_KEY


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
