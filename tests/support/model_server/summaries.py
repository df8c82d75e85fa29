"""Summaries by program: what a careful model would say of the table in a prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from tablemend.tables.markdown import locate_markdown, read_markdown
from tablemend.tasks.tabfaith.data import MIX
from tablemend.tasks.tabfaith.summaries import Verbaliser, inject

_COUNT = re.compile(r"(\d+)(?: to (\d+))?")


def summarise(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """A faithful summary, or with a mistake one error in it, or too few sentences.

    Raises:
        TablemendError: too little can be said of the table.
    """
    text = "\n\n".join((slots["table"], slots["task"]))  # a title alone may be in the first
    start, end = locate_markdown(text)[-1]
    opened = Verbaliser(read_markdown(text[start:end]))
    found = _COUNT.fullmatch(slots["sentences"])
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (2, 5)
    summary = opened.summarise(rng, (low, high))
    match mistake:
        case "injected-error":
            injected = inject(summary, opened, [MIX], rng)
            return injected.text if injected else summary.text
        case "one-sentence":
            return summary.text[slice(*summary.facts[0].sentence)]
        case _:
            return summary.text
