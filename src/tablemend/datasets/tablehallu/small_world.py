"""A world small enough for a model of a few million parameters.

The same task as everywhere in tablemend (scope, columns in order, sort rule, blanks,
distractors that each break the scope), with short contexts, one kind of scope (a year), few
columns and invented names, so that a tiny model can learn it on a laptop and its errors can
be studied. Nothing in it is true of the real world and nothing can be known beforehand:
names are drawn from 48 x 40 words, values uniformly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tablemend.datasets.tablehallu.compose import StatedRow, compose, fill
from tablemend.records import Condition, Constraints, Example, SortOrder
from tablemend.tables.table import Table

ENGINE = "small-world/4"
SCOPE_COLUMN = "Year"
YEARS = range(2010, 2030)
NUMBERS = range(2, 10)

# Two short words a name, each one token: what stands where in a sentence is then regular.
FIRST_WORDS = (
    "Bal Bem Bor Cal Cem Dal Dor Dun Fal Fen Fir Gal Gor Gul Hal Hem Hol Jar Jen Jun "
    "Kal Kem Kor Lam Len Lor Mal Mer Mol Nar Nel Nor Pal Pel Pon Ral Rem Rin Sal Sor "
    "Sul Tal Tem Tor Val Ver Wel Zan"
).split()
SECOND_WORDS = (
    "Bek Bin Bru Dan Dek Dil Fas Fel Gar Gen Gis Kan Kel Kif Lan Lem Lis Lod Mak Men "
    "Mir Mus Nab Nek Nis Pak Pem Ras Rek Rim Sab Sem Tis Vok Wim Wok Yan Yel Yor Zim"
).split()


@dataclass(frozen=True, slots=True)
class Topic:
    """What a small table is about.

    Attributes:
        key: header of the key column.
        plural: the entities in the query.
        category, domain: the place of the topic in the paper's hierarchy (TableHallu, A.1.1).
        verbs: past-tense verbs that take the phrases below as objects.
        counts: columns with a number, each with the noun that follows it.
        kinds: columns with a category: the phrase around the value, and the values.
    """

    key: str
    plural: str
    category: str
    domain: str
    verbs: tuple[str, ...]
    counts: dict[str, str]
    kinds: dict[str, tuple[str, tuple[str, ...]]]


COLOURS = ("red", "blue", "green", "white", "black", "yellow", "brown", "pink")
WOODS = ("oak", "pine", "elm", "birch", "cedar", "ash", "larch", "beech")
GOODS = ("salt", "wool", "corn", "wine", "iron", "silk", "tea", "rice")

TOPICS = (
    Topic(
        "Town", "towns", "Society & Humanities", "History & Politics", ("had", "counted"),
        {"Mills": "mills", "Wells": "wells"},
        {"Flag": ("a {} flag", COLOURS), "Crop": ("{} as crop", GOODS)},
    ),
    Topic(
        "Ship", "ships", "Technology & Business", "Technology & Business", ("had", "carried"),
        {"Sails": "sails", "Guns": "guns"},
        {"Mast": ("masts of {}", WOODS), "Cargo": ("{} as cargo", GOODS)},
    ),
    Topic(
        "Farm", "farms", "Nature & Health", "Environment & Agriculture", ("had", "kept"),
        {"Cows": "cows", "Barns": "barns"},
        {"Gate": ("a {} gate", COLOURS), "Fence": ("a fence of {}", WOODS)},
    ),
    Topic(
        "Club", "clubs", "Lifestyle & Culture", "Sports & Leisure", ("had", "reported"),
        {"Wins": "wins", "Fans": "fans"},
        {"Shirt": ("a {} shirt", COLOURS), "Prize": ("{} as prize", GOODS)},
    ),
)  # fmt: skip

QUERY_PATTERNS = (
    "Make a table of the {plural} in {year} with the columns {columns}, in this order, "
    'sorted by "{sort}" in {order} order.',
    "Show the {plural} in {year} as a table. Columns in order: {columns}. "
    'Sort by "{sort}" in {order} order.',
    'Tabulate the {plural} in {year}: columns {columns} in this sequence, rows sorted by "{sort}" '
    "in {order} order.",
)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a small-world example is; both ends of the bounds are included.

    Attributes:
        rows: rows in scope.
        attributes: columns beside the key.
        distractors: rows out of scope.
        twins: share of the distractors that are an entity in scope, in another year.
        descending: share of the queries that sort in descending order.
    """

    rows: tuple[int, int] = (2, 3)
    attributes: tuple[int, int] = (2, 3)
    distractors: tuple[int, int] = (3, 6)
    twins: float = 0.5
    descending: float = 0.0


DEFAULT_SIZE = Size()
SIZES = {
    "default": DEFAULT_SIZE,
    "large": Size(rows=(4, 6), attributes=(3, 4), distractors=(6, 10), descending=0.5),
}
"""Sizes that a recipe can name. The embedded base has seen neither six rows nor a descending sort,
so on the large one fine-tuning does not solve all there is within a few minutes."""


def _value(topic: Topic, column: str, rng: Random) -> str:
    if column in topic.counts:
        return str(rng.choice(NUMBERS))
    return rng.choice(topic.kinds[column][1])


def _phrase(topic: Topic, column: str) -> str:
    slot = "{" + column + "}"
    if column in topic.counts:
        return f"{slot} {topic.counts[column]}"
    return topic.kinds[column][0].format(slot)


def _listing(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _state(
    topic: Topic, values: dict[str, str | None], violates: str | None, rng: Random
) -> StatedRow:
    """One sentence that states the year and every non-blank cell of a row exactly once."""
    given = {column: value for column, value in values.items() if value is not None}
    columns = [column for column in given if column not in (topic.key, SCOPE_COLUMN)]
    rng.shuffle(columns)
    phrases = _listing([_phrase(topic, column) for column in columns])
    pattern = f"In {{{SCOPE_COLUMN}}}, {{{topic.key}}} {rng.choice(topic.verbs)} {phrases}."
    return StatedRow(given[topic.key], (fill(pattern, given),), violates)


def _gold_rows(
    topic: Topic, attributes: list[str], sort: str, names: list[str], year: str, rng: Random
) -> list[dict[str, str | None]]:
    """Rows in scope: distinct sort values, exactly one blank cell outside key and sort."""
    sort_values = rng.sample(NUMBERS, len(names))
    rows: list[dict[str, str | None]] = []
    for name, sort_value in zip(names, sort_values, strict=True):
        row: dict[str, str | None] = {SCOPE_COLUMN: year, topic.key: name}
        for column in attributes:
            row[column] = str(sort_value) if column == sort else _value(topic, column, rng)
        rows.append(row)
    rng.choice(rows)[rng.choice([c for c in attributes if c != sort])] = None
    return rows


def _distractor_rows(
    topic: Topic,
    attributes: list[str],
    gold: list[dict[str, str | None]],
    other_names: list[str],
    year: str,
    twins: float,
    rng: Random,
) -> list[dict[str, str | None]]:
    """Rows of other years; a twin is an entity in scope, which only the year distinguishes.

    What is blank for an entity in scope is left out in its other years too (TableHallu,
    Appendix E, null value protection).
    """
    other_years = [str(y) for y in YEARS if str(y) != year]
    pairs = [(row, other) for row in gold for other in other_years]
    twin_count = sum(rng.random() < twins for _ in other_names)
    rows: list[dict[str, str | None]] = []
    for twin, other in rng.sample(pairs, twin_count):
        row: dict[str, str | None] = {SCOPE_COLUMN: other, topic.key: twin[topic.key]}
        for column in attributes:
            row[column] = None if twin[column] is None else _value(topic, column, rng)
        rows.append(row)
    for name in other_names[twin_count:]:
        row = {SCOPE_COLUMN: rng.choice(other_years), topic.key: name}
        rows.append(row | {column: _value(topic, column, rng) for column in attributes})
    return rows


def invent_names(count: int, rng: Random) -> list[str]:
    """Names that share no word."""
    pairs = zip(rng.sample(FIRST_WORDS, count), rng.sample(SECOND_WORDS, count), strict=True)
    return [f"{first} {second}" for first, second in pairs]


def example(seed: int, index: int, size: Size = DEFAULT_SIZE) -> Example:
    """The example number ``index`` of the stream ``seed``; the same bytes on any machine."""
    rng = Random(f"{ENGINE}:{seed}:{index}")
    topic = rng.choice(TOPICS)
    attributes = rng.sample([*topic.counts, *topic.kinds], rng.randint(*size.attributes))
    if not any(column in topic.counts for column in attributes):
        attributes[rng.randrange(len(attributes))] = rng.choice(list(topic.counts))
    sort = rng.choice([column for column in attributes if column in topic.counts])
    order: SortOrder = "descending" if rng.random() < size.descending else "ascending"
    year = str(rng.choice(YEARS))
    row_count, distractor_count = rng.randint(*size.rows), rng.randint(*size.distractors)
    names = invent_names(row_count + distractor_count, rng)
    gold = _gold_rows(topic, attributes, sort, names[:row_count], year, rng)
    distractors = _distractor_rows(
        topic, attributes, gold, names[row_count:], year, size.twins, rng
    )
    gold.sort(key=lambda row: int(row[sort] or 0), reverse=order == "descending")
    composition = compose(
        [_state(topic, row, None, rng) for row in gold],
        [_state(topic, row, SCOPE_COLUMN, rng) for row in distractors],
        rng,
        paragraph=1,
    )
    # As a rank does, the sort column stands first: a row is then found by its value.
    columns = [sort, topic.key, *(column for column in attributes if column != sort)]
    query = rng.choice(QUERY_PATTERNS).format(
        plural=topic.plural,
        year=year,
        columns=", ".join(f'"{column}"' for column in columns),
        sort=sort,
        order=order,
    )
    table = Table.of(columns, [[row[column] for column in columns] for row in gold])
    constraints = Constraints(
        entity_scope=(topic.plural,),
        numerical_range=year,
        sort_column=sort,
        sort_order=order,
        conditions=(Condition(SCOPE_COLUMN, low=year, high=year),),
    )
    return Example(
        topic=topic.plural,
        category=topic.category,
        domain=topic.domain,
        query=query,
        constraints=constraints,
        gold_table=table,
        gold_context=composition.clean,
        adversarial_context=composition.adversarial,
        difficulty="small",
        facts=composition.facts,
        source="small-world",
        source_hash=table.content_hash(),
        engine=ENGINE,
        seed=seed,
    )


def examples(seed: int, n: int, start: int = 0, size: Size = DEFAULT_SIZE) -> Iterator[Example]:
    """Stream ``n`` examples from number ``start`` on."""
    for index in range(start, start + n):
        yield example(seed, index, size)
