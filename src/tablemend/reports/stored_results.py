"""Reading results.json: a file of another shape is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablemend.errors import TablemendError
from tablemend.records import ContextKind, Metric
from tablemend.tables.read import Format


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", protected_namespaces=())


class _Rate(_Part):
    rate: float | None
    low: float | None
    high: float | None
    n: int


class _Test(_Part):
    context: ContextKind
    metric: str
    system_a: str
    system_b: str
    n: int
    a_only: int
    b_only: int
    difference: float | None
    low: float | None
    high: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    p_holm: float | None


class _Cost(_Part):
    answers: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    finish_reasons: dict[str, int]


class _Agreement(_Part):
    n: int
    both: int
    detector_only: int
    second_only: int
    kappa: float | None
    examples: dict[str, list[str]]


class _SecondRates(_Part):
    total_hallu: _Rate
    agreement: _Agreement


class _Second(_Part):
    scorers: list[str]
    systems: dict[str, dict[str, dict[ContextKind, _SecondRates]]]


class _Data(_Part):
    source: str
    hash: str


class _Results(_Part):
    version: Literal[3]
    run: str
    recipe: str
    task: str
    description: str
    contexts: dict[ContextKind, str] = Field(min_length=1)
    length_unit: str
    second_scorer: str | None
    metrics: list[Metric]
    n: int
    scorer: str
    data: _Data
    format: Format | None
    systems: dict[str, dict[ContextKind, dict[str, _Rate]]] = Field(min_length=1)
    settings: dict[str, dict[str, Any]]
    cost: dict[str, dict[ContextKind, _Cost]]
    paired: list[_Test]
    by_domain: dict[str, dict[ContextKind, dict[str, dict[str, _Rate]]]]
    by_length: dict[str, dict[ContextKind, list[dict[str, Any]]]]
    second: _Second


def read_results(path: Path) -> dict[str, Any]:
    """Read a results.json.

    Raises:
        TablemendError: it is no JSON, or lacks what a report is made of.
    """
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        systems = _Results.model_validate(results).systems
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise _refusal(path, f"{where}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise _refusal(path, str(error)) from error
    for part in ("settings", "cost"):
        if lacking := systems.keys() ^ results[part].keys():
            raise _refusal(path, f"{part}: of other systems ({', '.join(sorted(lacking))})")
    for system, kinds in systems.items():
        for context, rates in kinds.items():
            if lacking := {one["name"] for one in results["metrics"]} - rates.keys():
                raise _refusal(
                    path, f"systems.{system}.{context} lacks {', '.join(sorted(lacking))}"
                )
    return results


def _refusal(path: Path, why: str) -> TablemendError:
    return TablemendError(
        f"{path} is no result of a comparison as this version writes it ({why}): run the "
        "comparison again (python eval/compare.py recipe=... run=...); answers that are stored "
        "are not generated again"
    )
