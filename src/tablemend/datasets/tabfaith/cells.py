"""What single cells say: a value, a property, several values of one entity."""

from __future__ import annotations

from tablemend.datasets.tabfaith.labels import is_plural_label, takes_article
from tablemend.datasets.tabfaith.sentences import Plan, Word
from tablemend.datasets.tabfaith.sheet import Row
from tablemend.datasets.tabfaith.speech import Datum, Speech
from tablemend.datasets.tabfaith.summary import Part
from tablemend.datasets.tabfaith.templates import FLAGGED, TEMPLATES
from tablemend.datasets.tablehallu.sentences import EVENTS, with_article
from tablemend.records import ClaimKind
from tablemend.values.periods import read_period


def say_value(speech: Speech) -> Plan | None:
    """One number."""
    datum = speech.any_datum()
    if datum is None:
        return None
    words, measure = speech.words(datum), datum.measure
    if datum.row.entity is None or measure is None:
        names = ["value"]
    elif speech.is_counted(datum):
        names = ["counted", "owner"]
    else:
        names = ["value", "value_of_entity"]
        names += [] if is_plural_label(measure.label) else ["owner_of_amount"]
    template = speech.choose(*names, measure=measure)
    turns_on_owner = template in TEMPLATES["owner"] + TEMPLATES["owner_of_amount"]
    claim = speech.value_claim(datum, "v", "relational" if turns_on_owner else "numeric")
    return speech.plan(template, words, [claim], datum)


def say_attribute(speech: Speech) -> Plan | None:
    """One text or date."""
    measure = speech.pick([*speech.texts, *speech.dates])
    row = speech.pick(speech.sheet.rows)
    text = speech.sheet.text(row.index, measure.index) if measure and row else ""
    if measure is None or row is None or not text:
        return None
    datum = Datum(row, measure.index, measure)
    words = speech.words(datum)
    if measure.kind == "date":
        if row.entity is None or (period := read_period(text)) is None:
            return None
        words["v"] = speech.period(period)._replace(style=text)
        name = "event" if measure.label in EVENTS else "date"
    elif measure.flags and row.entity is not None:
        words["m"], words["v"] = Word(FLAGGED), flag_word(text)
        name = "flag"
    else:
        words["v"] = Word(text, "text")
        name = "texts" if is_plural_label(measure.label) else "text"
        name = "text_of_period" if row.entity is None else name
    claim = speech.value_claim(datum, "v", "temporal" if measure.kind == "date" else "attribute")
    return speech.plan(speech.choose(name, measure=measure), words, [claim], datum)


def flag_word(text: str) -> Word:
    """A flag as a sentence has it: "high" for High, H as it is."""
    return Word(text.lower() if len(text) > 1 else text, "flag")


def say_several(speech: Speech) -> Plan | None:
    """Two or three values of one entity."""
    row = speech.pick(speech.sheet.rows)
    if row is None or row.entity is None:
        return None
    return _list(speech, row, speech.choose("lists"), None)


def say_more(speech: Speech, carried: Part) -> Plan | None:
    """More of the entity of the sentence before, which "the team" stands for."""
    sheet = speech.sheet
    if sheet.layout != "entities":
        return None
    rows = [row for row in sheet.rows if row.entity == carried.style]
    if not rows:
        return None
    it = f"the {sheet.noun}" if sheet.noun else "the same entry"
    template = speech.choose("lists_on").replace("<it>", it)
    return _list(speech, rows[0], template, carried)


def _list(speech: Speech, row: Row, template: str, carried: Part | None) -> Plan | None:
    """Two or three values of one entity, joined."""
    data = [
        datum
        for measure in [*speech.numbers, *speech.texts]
        for datum in [Datum(row, measure.index, measure)]
        if not measure.flags
        and datum.cell not in speech.said
        and speech.sheet.text(*datum.cell)
        and (measure.kind == "text" or datum.cell in speech.amounts)
        and (speech.is_counted(datum) or takes_article(measure.label))
    ]
    wanted = speech.rng.choice((1, 2)) if carried is not None else speech.rng.choice((2, 2, 3))
    if len(data) < wanted:
        return None
    words: dict[str, Word] = {}
    claims, items = [], []
    for number, datum in enumerate(speech.rng.sample(data, wanted)):
        assert datum.measure is not None
        m, v = f"m{number}", f"v{number}"
        article = with_article(datum.measure.label).split()[0]
        words[m] = Word(datum.measure.label, article)
        words.update({k: w for k, w in speech.words(datum, v).items() if k in ("e", "p", v)})
        is_text = datum.measure.kind == "text"
        if is_text:
            words[v] = Word(speech.sheet.text(*datum.cell), "text")
            items.append(f"{{{v}}} as the {{{m}}}")
        elif speech.is_counted(datum):
            items.append(f"{{{v}}} {{{m}}}")
        else:
            items.append(f"{article} {{{m}}} of {{{v}}}")
        kind: ClaimKind = "attribute" if is_text else "numeric"
        claims.append(speech.value_claim(datum, v, kind, column=m, entity=carried or "e"))
    joined = ", ".join(items[:-1]) + f" and {items[-1]}" if len(items) > 1 else items[0]
    return speech.plan(template.replace("<list>", joined), words, claims, datum)
