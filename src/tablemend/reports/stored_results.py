"""Reading results.json: a file of another version is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.reports.tabulation import RESULTS_VERSION


def read_results(path: Path) -> dict[str, Any]:
    """Read a results.json.

    Raises:
        TablemendError: it is no JSON, or of another version.
    """
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        version = results.get("version") if isinstance(results, dict) else None
        why = "" if version == RESULTS_VERSION else f"version {version}, not {RESULTS_VERSION}"
    except (ValueError, RecursionError) as error:
        why = str(error)
    if why:
        raise TablemendError(
            f"{path} is no result of a comparison as this version writes it ({why}): run the "
            "comparison again (python eval/compare.py recipe=... run=...); answers that are stored "
            "are not generated again"
        )
    return dict(results)
