"""What comes along with tablemend beside its code: recipes, scripts, the tiny base."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_WHEEL = _PACKAGE / "repository"
"""Where pyproject.toml puts these folders in a wheel; a clone has them at its root."""
FROM_WHEEL = _WHEEL.is_dir()


def shipped(path: str) -> Path:
    """A file or folder of the repository, in a clone and from a wheel; it may not exist."""
    return (_WHEEL if FROM_WHEEL else _PACKAGE.parents[1]) / path


def here_or_shipped(path: str) -> str:
    """A path as it is, unless it is not here and comes along with tablemend."""
    along = shipped(path)
    return path if Path(path).exists() or not along.exists() else str(along)
