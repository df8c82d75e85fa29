"""A world small enough for a model of a few million parameters.

The same task as everywhere in tablemend (scope, columns in order, sort rule, blanks, a context
of groups of rows that is told before one of them is asked for), with short contexts, one kind of
scope (a year), few columns and invented names, so that a tiny model can learn it on a laptop and
its errors can be studied. Nothing in it is true of the real world and nothing can be known
beforehand: names are drawn from 48 x 40 words, values uniformly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, islice
from random import Random

from tablemend.records import Condition, Constraints, Example, SortOrder
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.compose import Context, StatedRow, fill

ENGINE = "small-world/5"
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
    """How large a small-world context is; both ends of the bounds are included.

    Attributes:
        groups: years of a context, each of which may be asked for.
        rows: rows of a year.
        even: share of the contexts whose years have as many rows each. Where they differ, rows of
            few-row years are gold a little too often for who counts rows.
        attributes: columns beside the key.
        twins: share of the rows that are an entity of another year again.
        blank: share of the years that have a blank cell.
        none: share of the queries that ask for a year that no row has.
        descending: share of the queries that sort in descending order.
    """

    groups: int = 4
    rows: tuple[int, int] = (1, 3)
    even: float = 0.75
    attributes: tuple[int, int] = (2, 3)
    twins: float = 0.4
    blank: float = 0.5
    none: float = 0.05
    descending: float = 0.0


DEFAULT_SIZE = Size()
SIZES = {
    "default": DEFAULT_SIZE,
    "large": Size(groups=3, rows=(4, 6), attributes=(3, 4), descending=0.5),
}
"""Sizes that a recipe can name. The embedded base has seen neither six rows nor a descending sort,
so on the large one fine-tuning does not solve all there is within a few minutes."""


def _state(topic: Topic, values: dict[str, str | None], rng: Random) -> StatedRow:
    """One sentence that states the year and every non-blank cell of a row exactly once."""
    given = {column: value for column, value in values.items() if value is not None}
    columns = [column for column in given if column not in (topic.key, SCOPE_COLUMN)]
    rng.shuffle(columns)
    phrases = [
        f"{{{column}}} {topic.counts[column]}"
        if column in topic.counts
        else topic.kinds[column][0].format(f"{{{column}}}")
        for column in columns
    ]
    said = " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))
    pattern = f"In {{{SCOPE_COLUMN}}}, {{{topic.key}}} {rng.choice(topic.verbs)} {said}."
    return StatedRow(given[topic.key], (fill(pattern, given),))


def _rows(
    topic: Topic, attributes: list[str], sort: str, sizes: list[int], size: Size, rng: Random
) -> list[dict[str, str | None]]:
    """The rows of a context, year by year, with different sort values in each year.

    A blank is blank in all rows of its entity (TableHallu, Appendix E, null value protection).
    """
    years = [str(year) for year in rng.sample(YEARS, len(sizes))]
    names, rows = iter(invent_names(sum(sizes), rng)), list[dict[str, str | None]]()
    for year, own in zip(years, sizes, strict=True):
        elsewhere = sorted({row[topic.key] or "" for row in rows})
        twins = min(len(elsewhere), sum(rng.random() < size.twins for _ in range(own)))
        entities = [*rng.sample(elsewhere, twins), *islice(names, own - twins)]
        for entity, value in zip(entities, rng.sample(NUMBERS, own), strict=True):
            row: dict[str, str | None] = {SCOPE_COLUMN: year, topic.key: entity}
            for column in attributes:
                if column in topic.counts:
                    row[column] = str(value if column == sort else rng.choice(NUMBERS))
                else:
                    row[column] = rng.choice(topic.kinds[column][1])
            rows.append(row)
    for year in years:
        if rng.random() < size.blank:
            hidden = rng.choice([row[topic.key] for row in rows if row[SCOPE_COLUMN] == year])
            column = rng.choice([column for column in attributes if column != sort])
            for row in rows:
                if row[topic.key] == hidden:
                    row[column] = None
    return rows


def invent_names(count: int, rng: Random) -> list[str]:
    """Names that share no word."""
    pairs = zip(rng.sample(FIRST_WORDS, count), rng.sample(SECOND_WORDS, count), strict=True)
    return [f"{first} {second}" for first, second in pairs]


def example(seed: int, index: int, size: Size = DEFAULT_SIZE) -> Example:
    """The query of context ``index`` of the stream ``seed``, asked alone."""
    return context(seed, index, 1, size)[0]


def context(seed: int, index: int, queries: int, size: Size = DEFAULT_SIZE) -> list[Example]:
    """Queries of context ``index`` of the stream ``seed``: the same on any machine.

    The context is the same for any number of queries, each for another year; which years is not.
    """
    rng = Random(f"{ENGINE}:{seed}:{index}")
    topic = rng.choice(TOPICS)
    attributes = rng.sample([*topic.counts, *topic.kinds], rng.randint(*size.attributes))
    if not any(column in topic.counts for column in attributes):
        attributes[rng.randrange(len(attributes))] = rng.choice(list(topic.counts))
    sort = rng.choice([column for column in attributes if column in topic.counts])
    sizes = [rng.randint(*size.rows) for _ in range(size.groups)]
    if rng.random() < size.even:
        sizes = sizes[:1] * size.groups
    rows = _rows(topic, attributes, sort, sizes, size, rng)
    # As a rank does, the sort column stands first: a row is then found by its value.
    columns = [sort, topic.key, *(column for column in attributes if column != sort)]
    years = [row[SCOPE_COLUMN] or "" for row in rows]
    groups = {year: group for group, year in enumerate(dict.fromkeys(years))}
    stated = [_state(topic, row, rng) for row in rows]
    told = Context(stated, [groups[year] for year in years], rng, paragraph=1)
    whole = Table.of((SCOPE_COLUMN, *columns), [[row[c] for c in row] for row in rows])
    # What is asked for is drawn last, so nothing in the context can say what it is.
    asked = rng.sample([*groups], min(queries, len(groups)))
    if rng.random() < size.none * len(asked):
        unheard = [str(year) for year in YEARS if str(year) not in groups]
        asked[rng.randrange(len(asked))] = rng.choice(unheard)
    found = []
    for year in asked:
        order: SortOrder = "descending" if rng.random() < size.descending else "ascending"
        gold = [number for number, own in enumerate(years) if own == year]
        gold.sort(key=lambda number: int(rows[number][sort] or 0), reverse=order == "descending")
        composition = told.ask(gold, [None if own == year else SCOPE_COLUMN for own in years])
        query = rng.choice(QUERY_PATTERNS).format(
            plural=topic.plural,
            year=year,
            columns=", ".join(f'"{column}"' for column in columns),
            sort=sort,
            order=order,
        )
        constraints = Constraints(
            entity_scope=(topic.plural,),
            numerical_range=year,
            sort_column=sort,
            sort_order=order,
            conditions=(Condition(SCOPE_COLUMN, low=year, high=year),),
        )
        table = Table.of(columns, [[rows[n][column] for column in columns] for n in gold])
        found.append(
            Example(
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
                groups=composition.groups,
                source="small-world",
                source_hash=whole.content_hash(),
                engine=ENGINE,
                seed=seed,
            )
        )
    return found


def examples(
    seed: int, n: int, start: int = 0, size: Size = DEFAULT_SIZE, queries: int = 1
) -> Iterator[Example]:
    """Stream ``n`` examples from context ``start`` on."""
    contexts = (context(seed, index, queries, size) for index in count(start))
    return islice(chain.from_iterable(contexts), n)
