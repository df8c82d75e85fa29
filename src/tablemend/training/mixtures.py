"""Training rows of several sources, in fixed shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablemend.recipe.experiment import Experiment
from tablemend.renderer import Tokenizer
from tablemend.tasks.chats import Chat
from tablemend.tasks.sources import mix
from tablemend.tasks.task import Sample
from tablemend.training.data import Rows, add_item, refuse_nothing


def build_mixture(
    tokenizer: Tokenizer, sources: Mapping[str, Sequence[Sample | Chat]], config: Experiment
) -> tuple[Rows, dict[str, Any]]:
    """The rows of a mixture in its order (:func:`mix`), and what the manifest says of each part.

    Raises:
        TablemendError: nothing is left of a part.
    """
    parts = config.data.train
    assert isinstance(parts, dict)
    shares = {name: part.share for name, part in parts.items()}
    order = mix(shares, {name: len(items) for name, items in sources.items()})
    streams = {name: iter(items) for name, items in sources.items()}
    whole, built = Rows([]), {name: Rows([]) for name in sources}
    for name in order:
        part = built[name]
        known = len(part.rows)
        add_item(part, tokenizer, next(streams[name]), config)
        whole.rows += part.rows[known:]
    facts = {}
    for name, part in built.items():
        refuse_nothing(part, config, f"train.{name}")
        whole.dropped += part.dropped
        whole.longest = max(whole.longest, part.longest)
        whole.longest_answer = max(whole.longest_answer, part.longest_answer)
        facts[name] = {
            "share": shares[name],
            "available": len(sources[name]),
            "used": order.count(name),
            "rows": len(part.rows),
            "tokens": sum(map(len, part.rows)),
            "dropped": dict(part.dropped),
        }
    return whole, facts
