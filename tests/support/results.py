"""results.json and views of answers that no command has made; what is packed in a report's page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tablemend.generations import Stored
from tablemend.records import UNDECIDED, Example
from tablemend.reports.report import ShownSystems
from tablemend.reports.tabulation import RESULTS_VERSION, Views, cost, tabulate
from tablemend.tasks.tablehallu.task import TableGeneration

TASK = TableGeneration()
SETTINGS = {
    "model": "made up",
    "fingerprint": "f",
    "prompt": "base",
    "thinking": "off",
    "dtype": "float32",
    "temperature": 0,
    "seed": 0,
    "max_new_tokens": 9,
    "prompts": "p",
}


def unpack(packed: str) -> Any:
    """What a block of a report's page holds."""
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def examples_in(page: str) -> list[dict[str, Any]]:
    """All examples in a report's page, with their answers."""
    blocks = re.findall(r'<script type="text/plain" id="block-\d+">([^<]*)<', page)
    return [example for block in blocks for example in unpack(block)]


def results_of(
    examples: Sequence[Example], shown: ShownSystems, settings: Mapping[str, Any] = SETTINGS
) -> tuple[dict[str, Any], Views]:
    """What a comparison of table generation would have left, and what was shown."""
    contexts = list(next(iter(shown.values())))
    views = {context: {one.id: TASK.show(one, context) for one in examples} for context in contexts}
    judgements = {
        system: {
            context: {name: one.judgement for name, one in own.items()}
            for context, own in kinds.items()
        }
        for system, kinds in shown.items()
    }
    results = {
        "version": RESULTS_VERSION,
        "run": "test",
        "recipe": "tiny",
        "task": TASK.name,
        "description": TASK.description,
        "contexts": {context: TASK.views[context] for context in contexts},
        "length_unit": TASK.length_unit,
        "second_scorer": TASK.second_scorer,
        "metrics": [asdict(metric) for metric in TASK.metrics],
        "n": len(examples),
        "scorer": "tablemend 0, lexical",
        "data": {"source": "made up", "hash": "h"},
        "format": "markdown",
        "settings": dict.fromkeys(shown, settings),
        "cost": {
            system: {
                context: cost([Stored(one.answer, 0.5) for one in own.values()], 1.5)
                for context, own in kinds.items()
            }
            for system, kinds in shown.items()
        },
        **tabulate(judgements, views, TASK.metrics, {one.id: one.source_hash for one in examples}),
        "relations": {
            system: {
                context: Counter(TASK.relation(one) or UNDECIDED for one in own.values())
                for context, own in kinds.items()
            }
            for system, kinds in judgements.items()
        },
        "second": {"scorer": None, "systems": {}, "paired": []},
    }
    return results, views
