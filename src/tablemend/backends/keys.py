"""The server's key: where it is read, and which servers it is sent to."""

from __future__ import annotations

import os
from ipaddress import ip_address
from urllib.parse import urlsplit

from tablemend.backends.names import ModelName
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError

NO_KEY = "none"
"""What a server is sent in place of a key."""


def read_key(name: ModelName, options: BackendOptions) -> str | None:
    """The key from the environment; ``None`` where there is none and no server needs one.

    Raises:
        TablemendError: no key, or one that no header can carry, for a server behind https.
    """
    key = os.environ.get(options.key_variable, "").strip() if options.key_variable else ""
    secure = next((url for url in name.urls if urlsplit(url).scheme == "https"), None)
    if not key:
        if secure is not None:
            raise TablemendError(
                f"{secure} needs a key: put it into the environment variable "
                f"{options.key_variable}, or name another one with key_variable"
            )
        return None
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise TablemendError(
            f"the environment variable {options.key_variable} holds no key: it has a space or a "
            "character that no HTTP header can carry"
        )
    return key


def is_meant_for(url: str, options: BackendOptions) -> bool:
    """Whether a server may be sent the key.

    The variable that is read by default holds the key of a hosted service. A server on plain
    http gets it where it is on this machine or where the variable was named: anybody between
    could read it.
    """
    parts = urlsplit(url)
    named = "key_variable" in options.model_fields_set
    return named or parts.scheme == "https" or _is_local(parts.hostname or "")


def _is_local(host: str) -> bool:
    """Whether a host name or address is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
