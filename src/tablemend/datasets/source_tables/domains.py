"""Domain and category of a real table, by the words of its title and header (``domains.yaml``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import yaml

from tablemend.datasets.source_tables.columns import words_of

UNKNOWN = "unknown"


@cache
def _domains() -> dict[str, tuple[str, str]]:
    """Category and domain by word."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return {
        words_of(word).strip(): (category, domain)
        for category, domains in yaml.safe_load(text).items()
        for domain, words in domains.items()
        for word in words
    }


def domain_of(title: str, columns: Sequence[str]) -> tuple[str, str]:
    """Category and domain; :data:`UNKNOWN` where no domain's words are the most frequent."""
    counts = Counter[tuple[str, str]]()
    for text, weight in ((title, 2), *((name, 1) for name in columns)):
        words = words_of(text).split()
        terms = {*words, *map(" ".join, pairwise(words))}
        found = {known for term in terms for known in (term, term.removesuffix("s"))}
        for place in {word: _domains()[word] for word in found & _domains().keys()}.values():
            counts[place] += weight
    best = counts.most_common(2)
    is_clear = best and best[0][1] > best[-1][1] * (len(best) - 1)
    return best[0][0] if is_clear else (UNKNOWN, UNKNOWN)
