"""Tasks and mitigations of other packages, by their entry points (docs/own-task.md)."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from tablemend.errors import TablemendError

Group = Literal["tablemend.tasks", "tablemend.mitigations"]


def find_plugins(group: Group) -> dict[str, EntryPoint]:
    """What installed packages offer, by name; nothing is loaded."""
    return {one.name: one for one in entry_points(group=group)}


def load_plugin(plugin: EntryPoint) -> Any:
    """What an entry point names.

    Raises:
        TablemendError: it does not load; says which package it is of, and why.
    """
    try:
        return plugin.load()
    except Exception as error:  # whatever a stranger's module raises
        package = plugin.dist.name if plugin.dist else "?"
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise TablemendError(
            f"{plugin.name!r} of the package {package} ({plugin.value}) does not load: {reason}; "
            f"mend or uninstall {package}"
        ) from error


def load_plugins(group: Group) -> dict[str, Any]:
    """What installed packages offer, loaded; one that does not load is left out with a warning."""
    found = {}
    for name, plugin in find_plugins(group).items():
        try:
            found[name] = load_plugin(plugin)
        except TablemendError as error:
            print(f"warning: {error}", file=sys.stderr)
    return found
