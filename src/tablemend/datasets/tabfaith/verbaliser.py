"""Faithful summaries of a table by program (issue: 2 to 5 sentences, verified)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tablemend.datasets.tabfaith.cells import say_attribute, say_more, say_several, say_value
from tablemend.datasets.tabfaith.comparing import (
    say_against,
    say_compared,
    say_order,
    say_range,
    say_rank,
    say_superlative,
)
from tablemend.datasets.tabfaith.counting import say_count, say_quantified, say_total
from tablemend.datasets.tabfaith.over_time import say_change, say_peak, say_trend
from tablemend.datasets.tabfaith.reading import open_sheet
from tablemend.datasets.tabfaith.recomputation import Recomputation
from tablemend.datasets.tabfaith.sentences import Plan, render
from tablemend.datasets.tabfaith.sheet import Sheet, Unverbalisable
from tablemend.datasets.tabfaith.speech import Speech
from tablemend.datasets.tabfaith.summary import Fact, Part, Summary
from tablemend.datasets.tabfaith.templates import TEMPLATES
from tablemend.tables.table import Table
from tablemend.values.sentences import sentence_spans

VERSION = "verbaliser-2"
SENTENCES = (2, 5)
_TRIES = 80
"""Draws for one sentence."""
KINDS: dict[Callable[[Speech], Plan | None], int] = {
    say_value: 3,
    say_attribute: 2,
    say_several: 3,
    say_compared: 4,
    say_against: 3,
    say_superlative: 5,
    say_rank: 2,
    say_order: 2,
    say_range: 5,
    say_change: 6,
    say_trend: 2,
    say_peak: 3,
    say_count: 3,
    say_quantified: 2,
    say_total: 2,
}
"""What can be said, and how often it is tried. What a table has no place for is drawn anew."""
_TRIES_OF_A_KIND = 4


def verbalise(table: Table, seed: int | str, sentences: tuple[int, int] = SENTENCES) -> Summary:
    """A faithful summary of a table.

    Every claim is true by construction, and :class:`Recomputation` has found it true again from
    the words of the text.

    Args:
        table: a real or synthetic table.
        seed: the same gives the same summary.
        sentences: fewest and most.

    Raises:
        Unverbalisable: too little can be said beyond doubt.
    """
    return Verbaliser(table).summarise(Random(f"verbaliser:{seed}"), sentences)


class Verbaliser:
    """Makes any number of summaries of one table.

    Args:
        table: the table.

    Raises:
        Unverbalisable: nothing can be said of it.
    """

    def __init__(self, table: Table) -> None:
        self.sheet: Sheet = open_sheet(table)
        self.recomputation = Recomputation(table)

    def summarise(self, rng: Random, sentences: tuple[int, int] = SENTENCES) -> Summary:
        """A faithful summary; see :func:`verbalise`."""
        speech = Speech(self.sheet, rng)
        wanted = rng.randint(*sentences)
        text, facts = "", list[Fact]()
        said: set[tuple[object, ...]] = set()
        carried: Part | None = None
        made = 0
        for attempt in range(_TRIES * wanted):
            if made == wanted:
                break
            plan = _draw(speech, rng, carried)
            if plan is None:
                continue
            if made and plan.template.startswith("The ") and rng.random() < 0.2:
                template = rng.choice(TEMPLATES["connectives"]) + "t" + plan.template[1:]
                plan = plan._replace(template=template)
            start = len(text) + 1 if text else 0
            sentence, found = render(plan, start)
            keys = {_key(fact) for fact in found}
            again = any(fact.operation == "value" and _key(fact) in said for fact in found)
            if again and attempt < _TRIES * wanted // 2:
                continue  # the same number twice, only where little else can be said
            longer = f"{text} {sentence}" if text else sentence
            if not keys or keys <= said or not self._are_true(found):
                continue
            if sentence_spans(longer)[-1].start != start:  # "Pop. 2008" would end a sentence
                continue
            said |= keys
            text = longer
            facts += found
            speech.said |= {cell for f in found if f.operation == "value" for cell in f.cells}
            carried = _only_entity(found)
            if carried is not None and carried.start < start:
                carried = None  # "The team also" does not stand twice in a row
            made += 1
        if made < sentences[0]:
            raise Unverbalisable("too little can be said beyond doubt")
        return Summary(text, tuple(facts))

    def _are_true(self, facts: list[Fact]) -> bool:
        return all(
            self.recomputation.holds(fact.operation, {part.role: part.text for part in fact.parts})
            for fact in facts
        )


def _key(fact: Fact) -> tuple[object, ...]:
    """What a fact says, however it is worded."""
    if fact.operation == "count" and len(fact.parts) == 1:
        return ("rows",)
    return fact.operation, fact.cells


def _only_entity(facts: list[Fact]) -> Part | None:
    """The entity of a sentence that names just one, which a pronoun can take up."""
    entities = {part for fact in facts for part in fact.parts if part.role in ("entity", "other")}
    return next(iter(entities)) if len(entities) == 1 else None


def _draw(speech: Speech, rng: Random, carried: Part | None) -> Plan | None:
    """A sentence, or ``None`` where what was drawn cannot be said of this table.

    Args:
        speech: the table.
        rng: what draws.
        carried: the only entity of the sentence before, which another word can stand for.
    """
    if carried is not None and rng.random() < (0.35 if speech.sheet.noun else 0.1):
        plan = say_more(speech, carried)
        if plan is not None:
            return plan
    say = rng.choices(list(KINDS), list(KINDS.values()))[0]
    for _ in range(_TRIES_OF_A_KIND):  # rarer kinds would be too rare otherwise
        if (plan := say(speech)) is not None:
            return plan
    return None
