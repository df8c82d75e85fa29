"""What single cells say: a value, a property, several values of one entity."""

from __future__ import annotations

from tablemend.datasets.tabfaith import templates
from tablemend.datasets.tabfaith.labels import is_plural_label
from tablemend.datasets.tabfaith.periods import read_period
from tablemend.datasets.tabfaith.sentences import Plan, Word
from tablemend.datasets.tabfaith.sheet import Row
from tablemend.datasets.tabfaith.speech import Datum, Speech
from tablemend.datasets.tabfaith.summary import Part
from tablemend.datasets.tablehallu.sentences import EVENTS, with_article
from tablemend.records import ClaimKind


def say_value(speech: Speech) -> Plan | None:
    """One number."""
    datum = speech.any_datum()
    if datum is None:
        return None
    words = speech.words(datum)
    measure = datum.measure
    if datum.row.entity is None or measure is None:
        pool = templates.VALUE
    elif speech.is_counted(datum):
        pool = templates.COUNTED + templates.OWNER
    else:
        pool = templates.VALUE + templates.VALUE_OF_ENTITY
        pool += () if is_plural_label(measure.label) else templates.OWNER_OF_AMOUNT
    template = speech.choose(pool, measure)
    owner = template in templates.OWNER + templates.OWNER_OF_AMOUNT
    claim = speech.value_claim(datum, "v", "relational" if owner else "numeric")
    return speech.plan(template, words, [claim], datum)


def say_attribute(speech: Speech) -> Plan | None:
    """One text or date."""
    measure = speech.pick([*speech.texts, *speech.dates])
    row = speech.pick(speech.sheet.rows)
    if measure is None or row is None:
        return None
    text = speech.sheet.text(row.index, measure.index)
    if not text:
        return None
    datum = Datum(row, measure.index, measure, None)
    words = speech.words(datum)
    if measure.kind == "date":
        if row.entity is None or (period := read_period(text)) is None:
            return None
        words["v"] = speech.period(period)._replace(style=text)
        pool = templates.EVENT if measure.label in EVENTS else templates.DATE
    else:
        words["v"] = Word(text, "text")
        plural = is_plural_label(measure.label)
        if measure.flags and row.entity is not None:
            words["m"], words["v"] = Word(templates.FLAGGED), flag_word(text)
            pool = templates.FLAG
        elif row.entity is None:
            pool = templates.TEXT_OF_PERIOD
        else:
            pool = templates.TEXTS if plural else templates.TEXT
    kind: ClaimKind = "temporal" if measure.kind == "date" else "attribute"
    claim = speech.value_claim(datum, "v", kind)
    return speech.plan(speech.choose(pool, measure), words, [claim], datum)


def flag_word(text: str) -> Word:
    """A flag as a sentence has it: "high" for High, H as it is."""
    return Word(text.lower() if len(text) > 1 else text, "flag")


def say_several(speech: Speech) -> Plan | None:
    """Two or three values of one entity."""
    row = speech.pick(speech.sheet.rows)
    if row is None or row.entity is None:
        return None
    return _list(speech, row, speech.choose(templates.LISTS), None)


def say_more(speech: Speech, carried: Part) -> Plan | None:
    """More of the entity of the sentence before, which "the team" stands for."""
    sheet = speech.sheet
    if sheet.layout != "entities":
        return None
    rows = [row for row in sheet.rows if row.entity == carried.style]
    if not rows:
        return None
    it = f"the {sheet.noun}" if sheet.noun else "the same entry"
    template = speech.choose(templates.LISTS_ON).replace("<it>", it)
    return _list(speech, rows[0], template, carried)


def _list(speech: Speech, row: Row, template: str, carried: Part | None) -> Plan | None:
    """Two or three values of one entity, joined."""
    measures = [
        measure
        for measure in [*speech.numbers, *speech.texts]
        if not measure.flags
        and (row.index, measure.index) not in speech.said
        and speech.sheet.text(row.index, measure.index)
        and (measure.kind == "text" or (row.index, measure.index) in speech.amounts)
        and (
            speech.is_counted(Datum(row, measure.index, measure, None)) or speech.is_single(measure)
        )
    ]
    wanted = speech.rng.choice((1, 2)) if carried is not None else speech.rng.choice((2, 2, 3))
    if len(measures) < wanted:
        return None
    words: dict[str, Word] = {}
    claims, items = [], []
    for number, measure in enumerate(speech.rng.sample(measures, wanted)):
        datum = Datum(row, measure.index, measure, None)
        m, v = f"m{number}", f"v{number}"
        article = with_article(measure.label).split()[0]
        words[m] = Word(measure.label, article)
        words.update({k: w for k, w in speech.words(datum, v).items() if k in ("e", "p", v)})
        if measure.kind == "text":
            words[v] = Word(speech.sheet.text(row.index, measure.index), "text")
            items.append(f"{{{v}}} as the {{{m}}}")
        elif speech.is_counted(datum):
            items.append(f"{{{v}}} {{{m}}}")
        else:
            items.append(f"{article} {{{m}}} of {{{v}}}")
        kind: ClaimKind = "attribute" if measure.kind == "text" else "numeric"
        claim = speech.value_claim(datum, v, kind, m)
        if carried is not None:
            claim = claim._replace(roles={**claim.roles, "entity": carried})
        claims.append(claim)
    joined = ", ".join(items[:-1]) + f" and {items[-1]}" if len(items) > 1 else items[0]
    return speech.plan(template.replace("<list>", joined), words, claims, datum)
