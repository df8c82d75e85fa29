"""The words for an edited slot, in the style of those that stood there."""

from __future__ import annotations

import re

from tablemend.programs.edit import Edit
from tablemend.programs.execute import execute
from tablemend.programs.nouns import is_plural_label, with_article
from tablemend.programs.program import Amount, Change, Condition, Count, Statement
from tablemend.programs.say import short_names
from tablemend.programs.speaker import QUOTES, Speaker
from tablemend.programs.templates import ORDINALS, PAIRS, QUANTIFIERS
from tablemend.programs.wording import HEDGES, spell, spell_count
from tablemend.values.dates import Period, read_period, spell_like

_HEDGES = sorted((word for pool in HEDGES.values() for word in pool), key=len, reverse=True)
_HEDGE = re.compile(f"(?:{'|'.join(_HEDGES)}) ")


def reword(old: str, edit: Edit, statement: Statement, speaker: Speaker) -> str | None:
    """What stands in place of the words of a slot; ``None`` where there are no such words.

    Args:
        old: the words.
        edit: the slot and what it holds now.
        statement: the statement before.
        speaker: of the table, or the table turned.
    """
    text = _words(old, edit, statement, speaker)
    if not text:
        return None
    is_first = old[0].isupper() and edit.role not in ("entity", "other")
    return text[0].upper() + text[1:] if is_first else text


def _words(old: str, edit: Edit, statement: Statement, speaker: Speaker) -> str | None:
    new = edit.new
    if edit.role in ("cue", "quantifier"):
        return _other_cue(old.casefold(), str(new))
    if isinstance(new, Amount):
        return _number(old, new, statement, speaker)
    if edit.role in ("period", "until") or read_period(old):
        return _period(old, edit, speaker)
    if isinstance(new, int):
        return _label(old, new, speaker)
    if isinstance(new, Condition):
        cells = (speaker.cell(row, new.column) for row in speaker.rows)
        text = next((cell.text for cell in cells if cell.key == new.value), "")
    else:
        text = new
    if edit.role in ("entity", "other"):
        return _name(old, text.strip(QUOTES), speaker)
    return text.lower() if old.islower() and len(text) > 1 else text


def _name(old: str, name: str, speaker: Speaker) -> str | None:
    """Another entity, by a short form where that is what stood there."""
    known = {speaker.spoken_name(speaker.name(row)).casefold() for row in speaker.rows}
    if old.casefold() in known:
        return speaker.spoken_name(name)
    return next(iter(short_names(speaker, name)), None)


def _number(old: str, new: Amount, statement: Statement, speaker: Speaker) -> str:
    if isinstance(statement.program, Count):
        return spell_count(new.value, digits=old[0].isdigit())
    hedge = match[0].strip() if (match := _HEDGE.match(old.casefold())) and new.hedge else ""
    result = execute(statement.program, speaker.table)
    signed = isinstance(statement.stated, Amount) and statement.stated.value < 0 and "-" not in old
    own = Amount(-new.value, new.unit, new.step, new.hedge) if signed else new
    is_share = isinstance(statement.program, Change) and statement.program.percent
    in_points = "percentage point" in old and not is_share
    return spell(own, "points" if in_points else result.measure, hedge, old.endswith(" percent"))


def _period(old: str, edit: Edit, speaker: Speaker) -> str | None:
    """Another period in the same spelling."""
    own, new = read_period(old), edit.new
    if own is None:
        return None
    if isinstance(new, int):
        period: Period | None = speaker.table.period_headers.get(new)
    else:
        key = str(new.value) if isinstance(new, Condition) else str(new)
        period = read_period(key)
        listed = [found for row in speaker.rows if (found := speaker.period(row))]
        period = next((found for found in listed if found.iso == key), period)
        if period and old in (found.text for found in listed):
            return period.text  # who knows whether "May" is short
    return None if period is None or period.grain != own.grain else spell_like(period, own)


def _label(old: str, column: int, speaker: Speaker) -> str | None:
    """Another column's label, if the sentence stays right with it."""
    measure = speaker.measures.get(column)
    if measure is None or is_plural_label(measure.label) != is_plural_label(old):
        return None
    if with_article(measure.label).split()[0] != with_article(old).split()[0]:
        return None
    own = next((m for m in speaker.measures.values() if m.label.casefold() == old.casefold()), None)
    return measure.label if own and own.counted == measure.counted else None


def _other_cue(old: str, new: str) -> str | None:
    """The contrary of a cue; another rank."""
    if new in QUANTIFIERS:
        own = next((pool for pool in QUANTIFIERS.values() if old in pool), [old])
        return QUANTIFIERS[new][min(own.index(old), len(QUANTIFIERS[new]) - 1)]
    if new in ("within", "above", "below"):
        return new
    n = new.rpartition(" ")[2]
    place = next((word for word in ORDINALS if word in old), None)
    if place and n.isdigit():
        word = ORDINALS[int(n) - 1]
        bare = place == old or word != "first"
        return old.replace(place, word) if bare else old.replace(f"{place}-", "")
    for pair in PAIRS.values():
        for ours, theirs in (pair, pair[::-1]):
            if old in ours:
                return theirs[min(ours.index(old), len(theirs) - 1)]
    for pair in PAIRS.values():  # "rose every year"
        for ours, theirs in (pair, pair[::-1]):
            for word in ours:
                if old.startswith(f"{word} "):
                    return theirs[min(ours.index(word), len(theirs) - 1)] + old[len(word) :]
    return None
