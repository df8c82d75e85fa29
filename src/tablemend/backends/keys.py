"""The server's key: where it is read, and to which server it is sent."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from tablemend.backends.names import ModelName
from tablemend.config.section import NAMED_BY_FILES, BackendOptions
from tablemend.errors import TablemendError

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
