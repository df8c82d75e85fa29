"""Measure, train away and mend what language models make up around tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tablemend.api import detect, mend, verify
    from tablemend.errors import TablemendError

__version__ = "0.1.0"
__all__ = ["TablemendError", "__version__", "detect", "mend", "verify"]


def __getattr__(name: str) -> Any:
    """The API, loaded when it is first used."""
    if name == "TablemendError":
        from tablemend.errors import TablemendError

        return TablemendError
    if name in ("detect", "mend", "verify"):
        from tablemend import api

        return getattr(api, name)
    raise AttributeError(f"module 'tablemend' has no attribute {name!r}")
