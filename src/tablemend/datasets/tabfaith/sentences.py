"""From a template and its words to a sentence whose every claim knows its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from tablemend.datasets.tabfaith.summary import Fact, Operation, Part, Role
from tablemend.records import ClaimKind
from tablemend.values.sentences import Span

_SLOT = re.compile(r"\{(\w+)\}")


class Word(NamedTuple):
    """What fills a slot."""

    text: str
    style: str = ""


class Claimed(NamedTuple):
    """A fact before its words have places.

    Attributes:
        roles: what states each role: a slot of the template, or words that stand earlier.
        focus: the role that the claim turns on.
    """

    kind: ClaimKind
    operation: Operation
    roles: Mapping[str, str | Part]
    focus: Role
    cells: tuple[tuple[int, int], ...]


class Plan(NamedTuple):
    """A sentence to be.

    Attributes:
        template: text with slots such as ``{e}``; it ends with a full stop.
        words: what fills them; more may be given than the template has.
        claims: those whose slots the template lacks are left out.
    """

    template: str
    words: Mapping[str, Word]
    claims: Sequence[Claimed]


def render(plan: Plan, start: int) -> tuple[str, list[Fact]]:
    """The sentence and its facts.

    Args:
        plan: the sentence.
        start: where it will stand in the text.
    """
    text, places = "", dict[str, tuple[int, int]]()
    position = 0
    for match in _SLOT.finditer(plan.template):
        text += plan.template[position : match.start()]
        word = plan.words[match[1]].text
        places[match[1]] = (len(text), len(text) + len(word))
        text += word
        position = match.end()
    end = plan.template[position:]
    text += end.removeprefix(".") if text.endswith(".") else end  # "Inc." ends its sentence
    text = text[0].upper() + text[1:]
    sentence = Span(start, start + len(text))
    facts, claimed = [], set[str]()
    for claim in plan.claims:
        slots = [slot for slot in claim.roles.values() if isinstance(slot, str)]
        if not all(slot in places for slot in slots):
            continue
        claimed.update(slots)
        parts = []
        for role, slot in claim.roles.items():
            if isinstance(slot, str):
                begin, stop = places[slot]
                style = plan.words[slot].style
                parts.append(
                    Part(cast(Role, role), start + begin, start + stop, text[begin:stop], style)
                )
            else:
                parts.append(replace(slot, role=cast(Role, role)))
        focus = next(i for i, part in enumerate(parts) if part.role == claim.focus)
        facts.append(Fact(claim.kind, claim.operation, tuple(parts), focus, claim.cells, sentence))
    assert claimed == set(places), f"{plan.template!r}: words that no fact states"
    return text, facts
