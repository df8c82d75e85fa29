"""The wording of statements: templates and their marks, words for more and less."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tablemend.programs.nouns import is_plural_label, with_article
from tablemend.programs.speaker import Measure, Speaker
from tablemend.values.dates import read_period

_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
TEMPLATES: dict[str, list[str]] = _DATA["sentences"]
PAIRS: dict[str, tuple[list[str], list[str]]] = _DATA["pairs"]
ORDINALS: list[str] = _DATA["ordinals"]
EXPECTED: list[str] = _DATA["expected"]
"""Last words of headers against which other columns are set."""
QUANTIFIERS: dict[str, list[str]] = _DATA["quantifiers"]
EVERY: list[str] = _DATA["every"]


@dataclass(frozen=True, slots=True)
class Degrees:
    """Pairs of words for more and less of a quantity, and for most and least of it."""

    compare: tuple[list[str], list[str]]
    most: tuple[list[str], list[str]]


_BY_LABEL = [
    (
        re.compile(rf"\b(?:{entry['words']})\b", re.I),
        Degrees(PAIRS[entry["compare"]], PAIRS[entry["most"]]),
    )
    for entry in _DATA["degrees"]
]


def degrees_of(measure: Measure) -> Degrees:
    """The adjectives that go with a measure."""
    if measure.counted:
        return Degrees(PAIRS["more"], PAIRS["most"])
    usual = Degrees(PAIRS["higher"], PAIRS["highest"])
    if measure.is_name or measure.period is not None:
        return usual
    return next((degrees for words, degrees in _BY_LABEL if words.search(measure.label)), usual)


def fill_marks(
    template: str,
    words: Mapping[str, str],
    measure: Measure | None,
    speaker: Speaker,
    random: Random,
) -> str:
    """The template without its ``<marks>``; the period goes to the front or the end.

    Args:
        template: of templates.yaml, which says what its marks mean.
        words: what will fill its slots.
        measure: the column that it speaks of.
        speaker: the table.
        random: what draws one of several wordings.
    """
    if "{x}" in template and measure is not None:
        name = "quantity_by_name" if speaker.names_measures else "quantity_by_entity"
        if not measure.is_name:
            name = "quantity_counted" if measure.counted else "quantity"
            name += "" if "e" in words else "_of_period"
        quantity = random.choice(TEMPLATES[name])
        if "{e}'s" in quantity and words["e"].endswith(("s", ".", ")")):
            quantity = TEMPLATES[name][0]
        template = template.replace("{x}", quantity)
    for mark, tails in (("<tail>", "tails"), ("<at>", "tails_at")):
        if mark in template:
            pool = [tail for tail in TEMPLATES[tails] if "v" in words or not tail]
            template = template.replace(mark, random.choice(pool))
    if measure is not None and measure.is_name:
        template = re.sub(r"\bthe \{m\}", "{m}", template, flags=re.I)
    things = "e" in words and speaker.is_plural_name(words["e"])
    plural = (
        measure is not None
        and is_plural_label(measure.label)
        and not re.search(r"(?:number of|figure for) \{m\}", template)
    )
    article = with_article(words["m"]).split()[0] if "m" in words else ""
    for mark, text in (
        ("<rows>", speaker.row_word(plural=True)),
        ("<row>", speaker.row_word()),
        ("<a>", article),
        ("<A>", article.capitalize()),
        ("<was>", "were" if plural else "was"),
        ("<were>", "were" if things else "was"),
        ("<that>", "those" if plural else "that"),
    ):
        template = template.replace(mark, text)
    if "p" in words and "{p}" not in template:
        period = _preposition(words["p"])
        opened = template.startswith(("At ", "For "))  # one thing in front is enough
        if "<when>" in template and (opened or random.random() < 0.5):
            template = template.replace("<when>", f" {period} {{p}}", 1)
        else:
            lowered = _lower_first(template.replace("<when>", ""))
            template = f"{period} {{p}}, {lowered}"
    template = template.replace("<when>", "")
    for slot in ("p", "q", "v"):
        mark = f"{{in}} {{{slot}}}"
        if mark in template:
            template = template.replace(mark, f"{_preposition(words[slot])} {{{slot}}}")
    return template


def _preposition(words: str) -> str:
    period = read_period(words)
    return "on" if period is not None and period.grain in ("day", "date") else "in"


def _lower_first(template: str) -> str:
    """The sentence as it goes on behind a comma: a slot keeps its case."""
    return template if template.startswith("{") else template[0].lower() + template[1:]
