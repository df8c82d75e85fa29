"""The exceptions that a user is meant to see, and words that many of them share."""

from __future__ import annotations

import errno
import json
import traceback
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from tablemend.shipped import FROM_WHEEL

FULL_DISK = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file may not grow any more (ulimit -f)",
}
"""What the system says of a disk, a quota or a file that has no room left."""
EXTRAS = {
    "accelerate": "train",
    "aiohttp": "api",
    "bert_score": "bertscore",
    "datasets": "data",
    "deepspeed": "deepspeed",
    "gguf": "gguf",
    "jsonschema": "records",
    "llguidance": "constrained",
    "httpx2": "api",
    "inspect_ai": "inspect",
    "lm_eval": "lm-eval",
    "matplotlib": "report",
    "openai": "api",
    "openpyxl": "xlsx",
    "peft": "train",
    "pyarrow": "data",
    "ray": "ray",
    "rouge_score": "metrics",
    "sacrebleu": "metrics",
    "scipy": "report",
    "sentence_transformers": "embed",
    "sklearn": "metrics",
    "torch": "train",
    "transformers": "train",
    "trl": "train",
    "z3": "logic",
}
"""Package -> the extra of pyproject.toml that brings it."""
GPU_EXTRAS = frozenset(("gpu", "qlora", "vllm"))
"""Extras of pyproject.toml that constraints-gpu.txt pins."""
UNPINNED = frozenset(("inspect",))
"""Extras that need older packages (fsspec) than those that constraints.txt pins."""


class TablemendError(Exception):
    """Input that is refused: one line saying what, where and how to mend it.

    Scripts print it without a traceback and exit with :attr:`status`.
    """

    status: ClassVar[int] = 2


class Stopped(TablemendError):
    """A run that ended before its end and kept what it has: the same command goes on.

    Scripts exit with status 1.
    """


DEFECT = "a defect of tablemend"


def defect(error: Exception) -> str:
    """One line on an exception that no input should bring about: what, and where in the code."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"{DEFECT} ({type(error).__name__} at {place}): please report it"


MOST_FAILURES = 20
"""Failures in a row after which a server counts as gone, and a run is :class:`Stopped`."""


def install(*extras: str) -> str:
    """The command that installs extras of pyproject.toml, from the wheel or the folder of the clone
    that this is installed from: the name on the public index is not ours.
    """
    if FROM_WHEEL:
        try:
            noted = json.loads(distribution("tablemend").read_text("direct_url.json") or "{}")
        except (PackageNotFoundError, ValueError):
            noted = {}
        wheel = unquote(urlsplit(noted.get("url", "")).path) or "THE-WHEEL-OF-TABLEMEND.whl"
        return f"pip install '{wheel}[{','.join(extras)}]'"
    if UNPINNED.intersection(extras):
        return f"pip install -e '.[{','.join(extras)}]'"
    pins = "constraints-gpu.txt" if GPU_EXTRAS.intersection(extras) else "constraints.txt"
    return f"pip install -e '.[{','.join(extras)}]' -c {pins}"


def not_installed(*packages: str) -> str:
    """Which packages are missing and the command that installs their extras; empty for none."""
    extras = dict.fromkeys(EXTRAS[one] for one in packages)
    are = "is" if len(packages) == 1 else "are"
    return f"{', '.join(packages)} {are} not installed: {install(*extras)}" if packages else ""


def missing_extra(error: ModuleNotFoundError) -> str:
    """:func:`not_installed` of a package that an extra brings; empty for any other."""
    package = (error.name or "").partition(".")[0]
    return not_installed(package) if package in EXTRAS else ""


class NoTarget(TablemendError):
    """A sample that nothing can be taught from as asked: counted by its reason, and left out."""

    kind = "no target"
