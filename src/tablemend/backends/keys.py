"""The server's key: where it is read, and to which server it is sent."""

from __future__ import annotations

import os
from ipaddress import ip_address
from urllib.parse import urlsplit

from tablemend.backends.names import ModelName
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError

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


def is_local(url: str) -> bool:
    """Whether a URL's host is this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
