"""Examples by hand over one context: queries that two rows, one row and no row of it meet."""

from __future__ import annotations

from tablemend.records import Condition, Constraints, Example, Fact, Mention
from tablemend.tables.table import Table

CONTEXT = (
    "In 1990 the mill Alder, which stands in Oslo, had 5 wheels. "
    "In 1990 the mill Birch, which stands in Lima, had 7 wheels. "
    "In 2001 the mill Cedar, which stands in Kyoto, had 12 wheels."
)
COLUMNS = ("Mill", "Place", "Wheels")
MILLS = (
    ("Alder", "Oslo", "5", "1990"),
    ("Birch", "Lima", "7", "1990"),
    ("Cedar", "Kyoto", "12", "2001"),
)


def mills_of(year: str) -> Example:
    """The mills of a year: two of 1990, one of 2001, none of any other."""
    sentences = CONTEXT.replace(". ", ".\n").split("\n")
    gold = [mill for mill in MILLS if mill[3] == year]
    clean = " ".join(sentences[MILLS.index(mill)] for mill in gold)
    facts = []
    for number, mill in enumerate(MILLS):
        said = sentences[number]
        for column, value in zip((*COLUMNS, "Year"), mill, strict=True):
            places = [_mention(CONTEXT, said, value)]
            if mill in gold:
                places.append(_mention(clean, said, value))
            facts.append(
                Fact(
                    row=gold.index(mill) if mill in gold else number,
                    entity=mill[0],
                    column=column,
                    value=value,
                    violates=None if mill in gold else "Year",
                    clean=places[1] if mill in gold else None,
                    adversarial=places[0],
                )
            )
    query = (
        f"List the mills of {year}. The table should have the columns "
        '"Mill", "Place" and "Wheels", in that order, and be sorted by "Wheels" in ascending order.'
    )
    return Example(
        topic="Mills",
        category="industry",
        domain="industry",
        query=query,
        constraints=Constraints(
            ("mill",), None, "Wheels", "ascending", (Condition("Year", year, year),)
        ),
        gold_table=Table.of(COLUMNS, [mill[:3] for mill in gold]),
        gold_context=clean,
        adversarial_context=CONTEXT,
        difficulty="easy",
        facts=tuple(facts),
        source="by hand",
        source_hash="mills",
        engine="by hand",
        seed=0,
    )


def _mention(text: str, sentence: str, value: str) -> Mention:
    first = text.index(sentence)
    start = first + sentence.index(value)
    return Mention(start, start + len(value), first, first + len(sentence))


TWO, ONE, NONE = mills_of("1990"), mills_of("2001"), mills_of("1950")
