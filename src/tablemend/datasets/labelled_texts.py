"""What people said of texts about tables: the one record that every set becomes, and a reader
for each of the nine public sets.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from tablemend.errors import TablemendError
from tablemend.evidence.files import document_tables, read_source
from tablemend.evidence.source import Source
from tablemend.foreign import load_json
from tablemend.tables.table import Table
from tablemend.values.text import Span

Label = Literal["supported", "contradicted", "not_in_source"]
Split = Literal["dev", "test"]


def split_of(split_key: str) -> Split:
    """The split of all records with this key: rules are chosen on dev, figures reported on test.

    The second lowest bit of its SHA-256: the sets that we have were cut from larger ones by the
    lowest, which is 0 for every record. No table or document is in both splits.

    >>> split_of("2-1570274-4.html.csv")
    'test'
    """
    return "test" if int(sha256(split_key.encode()).hexdigest(), 16) >> 1 & 1 else "dev"


@dataclass(frozen=True, slots=True)
class Mark:
    """Words that an annotator marked.

    Attributes:
        start, end: half-open character places in the text.
        label: what the set calls the error.
        error: whether that is an error of faithfulness; where not (repetition, incoherence, a
            fragment), what is predicted there is neither right nor wrong.
    """

    start: int
    end: int
    label: str
    error: bool = True


@dataclass(frozen=True, slots=True)
class Item:
    """One text with its source and what people said of it.

    Attributes:
        id: within its set.
        set: name of the set.
        group: a part of the set that has figures of its own: a domain, a difficulty; may be empty.
        text: what is verified.
        source: the truth.
        split_key: what is split and resampled together.
        references: texts that people wrote of the same source; may be empty.
        label: of the text as one statement; ``None`` in sets without.
        marks: one tuple for every annotator; empty in sets without marked words.
        rating: how much of the source the text gets right, by people; ``None`` in sets without.
    """

    id: str
    set: str
    group: str
    text: str
    source: Source
    split_key: str
    references: tuple[str, ...] = ()
    label: Label | None = None
    marks: tuple[tuple[Mark, ...], ...] = ()
    rating: float | None = None

    @property
    def judgements(self) -> Iterator[bool]:
        """Whether the text holds an error: the label, or each annotator's marks."""
        if self.label is not None:
            yield self.label != "supported"
        for marks in self.marks:
            yield any(mark.error for mark in marks)


def overlap(one: Span | Mark, other: Span | Mark) -> bool:
    """Whether two passages share at least one character."""
    return one.start < other.end and other.start < one.end


PLAYER = {
    "PLAYER_NAME": "Player",
    "TEAM_CITY": "Team city",
    "START_POSITION": "Starting position",
    "MIN": "Minutes",
    "PTS": "Points",
    "REB": "Rebounds",
    "AST": "Assists",
    "STL": "Steals",
    "BLK": "Blocks",
    "TO": "Turnovers",
    "PF": "Personal fouls",
    "FGM": "Field goals made",
    "FGA": "Field goals attempted",
    "FG_PCT": "Field goal percentage (%)",
    "FG3M": "Three-pointers made",
    "FG3A": "Three-pointers attempted",
    "FG3_PCT": "Three-point percentage (%)",
    "FTM": "Free throws made",
    "FTA": "Free throws attempted",
    "FT_PCT": "Free throw percentage (%)",
    "OREB": "Offensive rebounds",
    "DREB": "Defensive rebounds",
}
"""Columns of the box score in words, as its makers explain them (Wiseman et al. 2017, RotoWire)."""
TEAM = {
    "TEAM-NAME": "Team",
    "TEAM-CITY": "City",
    "TEAM-PTS": "Points",
    "TEAM-WINS": "Wins",
    "TEAM-LOSSES": "Losses",
    "TEAM-PTS_QTR1": "Points in the first quarter",
    "TEAM-PTS_QTR2": "Points in the second quarter",
    "TEAM-PTS_QTR3": "Points in the third quarter",
    "TEAM-PTS_QTR4": "Points in the fourth quarter",
    "TEAM-REB": "Rebounds",
    "TEAM-AST": "Assists",
    "TEAM-TOV": "Turnovers",
    "TEAM-FG_PCT": "Field goal percentage (%)",
    "TEAM-FG3_PCT": "Three-point percentage (%)",
    "TEAM-FT_PCT": "Free throw percentage (%)",
}
BLANK = "N/A"


def accuracy_shared_task(record: dict[str, Any]) -> Iterator[Item]:
    """One report, spaced as usual where that changes nothing else; the marks are moved there."""
    text = record["text_detokenized"]
    if "".join(text.split()) != "".join(record["text"].split()):
        text = record["text"]
    places = move_places(record["text"], text)
    marks = tuple(
        Mark(places[error["char_start"]], places[error["char_end"] - 1] + 1, error["type"])
        for error in record["errors"]
    )
    yield Item(
        id=record["id"],
        set="accuracy_shared_task",
        group="",
        text=text,
        source=Source(game_tables(record)),
        split_key=record["split_key"],
        references=(record["human_summary"],),
        marks=(marks,),
    )


def move_places(one: str, other: str) -> list[int]:
    """For each character of a text its place in another that differs in spaces alone.

    A space gets the place of what follows it.
    """
    visible = [place for place, character in enumerate(other) if not character.isspace()]
    places, count = [], 0
    for character in one:
        places.append(visible[min(count, len(visible) - 1)])
        count += not character.isspace()
    return places


def game_tables(record: dict[str, Any]) -> tuple[Table, Table]:
    """The two teams with the day of the game, and the players."""
    day = datetime.strptime(record["date"], "%m_%d_%y").date()
    home, away = record["home_line"], record["vis_line"]
    columns = [*TEAM.values(), "Home or away", "Date", "Weekday"]
    teams = [
        [*(line[key] for key in TEAM), place, f"{day:%B} {day.day}, {day.year}", f"{day:%A}"]
        for line, place in ((home, "home"), (away, "away"))
    ]
    score = record["box_score"]
    index = [score["header"].index(name) for name in PLAYER]
    bench = list(PLAYER).index("START_POSITION")
    players = []
    for row in score["rows"]:
        cells = ["" if row[place] == BLANK else row[place] for place in index]
        played = cells[list(PLAYER).index("MIN")]
        cells[bench] = cells[bench] or ("bench" if played else "did not play")
        players.append(cells)
    title = f"{away['TEAM-NAME']} at {home['TEAM-NAME']}"
    return Table.of(columns, teams, title), Table.of(list(PLAYER.values()), players, title)


T = TypeVar("T")
Record = dict[str, Any]
SetName = Literal[
    "quintd",
    "d2t_span_annotation",
    "scigen",
    "accuracy_shared_task",
    "d2t_human_ratings",
    "tabfact",
    "scitab",
    "infotabs",
    "logicnlg",
]
SETS: tuple[SetName, ...] = get_args(SetName)


# ---- descriptions in which people marked errors ----

FAITHFULNESS = {
    "quintd": {"Incorrect", "Not checkable", "Misleading"},
    "d2t_span_annotation": {"Contradictory", "Not checkable", "Misleading"},
}
"""Kinds of error that concern the source; what else is marked does not count for or against."""
IN_PROSE = ("owid", "wikidata")
"""Quintd's domains whose data are a text; of the others they are a Python literal."""


def quintd(record: Record) -> Iterator[Item]:
    """Descriptions of games, phones, weather, time series and films by four models.

    The source is the data as the models saw them: CSV with remarks, a list of facts, or a nested
    object.
    """
    if record["domain"] in IN_PROSE:
        tables = read_source(record["data"]).tables
    else:
        tables = document_tables(ast.literal_eval(record["data"]))
    for output in record["outputs"]:
        spans = [s for s in output["human_spans"] if s["offset_ok"] and s["start"] < s["end"]]
        yield _description("quintd", record, output, Source(tables), [spans])


def d2t_span_annotation(record: Record) -> Iterator[Item]:
    """Descriptions of games, phones and weather by four newer models, by one or two annotators."""
    source = Source(document_tables(record["data"]))
    for output in record["outputs"]:
        spans = [annotation["spans"] for annotation in output["annotations"]]
        yield _description("d2t_span_annotation", record, output, source, spans)


def _description(
    name: str, record: Record, output: Record, source: Source, annotations: Iterable[list[Record]]
) -> Item:
    errors = FAITHFULNESS[name]
    return Item(
        id=f"{record['id']} {output['model']}",
        set=name,
        group=record["domain"],
        text=output["text"],
        source=source,
        split_key=record["split_key"],
        marks=tuple(
            tuple(Mark(s["start"], s["end"], s["type"], s["type"] in errors) for s in spans)
            for spans in annotations
        ),
    )


# ---- tables of papers: labelled descriptions (SciGen), claims that people checked (SciTab) ----

SCIGEN_LABELS = {"Entailed": None, "Extra": None, "Incorrect": True, "Hallucinated": True}
"""Clauses that are so (in the reference too, or only in the table), and those that are not."""
SCITAB_LABELS: dict[str, Label] = {
    "supports": "supported",
    "refutes": "contradicted",
    "not enough info": "not_in_source",
}
ENOUGH = 0.5
"""Share of a quoted clause that must stand in the text in one piece."""
_MARKUP = re.compile(r"\[(?:BOLD|ITALIC|EMPTY|CONTINUE)\]\s*")


def scigen(record: Record) -> Iterator[Item]:
    """Descriptions of tables in papers by two models, labelled clause by clause."""
    text, marks, end = record["output"], [], 0
    for unit in record["units"]:
        place = find_quote(unit["text"], text, end)
        if place is None:
            continue
        end = place.end
        error = SCIGEN_LABELS.get(unit["label"], False)
        if error is not None:
            marks.append(Mark(place.start, place.end, unit["label"], error))
    yield Item(
        id=record["id"],
        set="scigen",
        group="",
        text=text,
        source=Source((_paper_table(record),)),
        split_key=record["split_key"],
        references=(record["gold_text"],),
        marks=(tuple(marks),),
    )


def find_quote(quote: str, text: str, start: int = 0) -> Span | None:
    """Where a text is quoted, perhaps with a slip; the first place at or after ``start``.

    Where the whole is nowhere, its longest part that is, if that is half of it at least.
    """
    quote = quote.strip()
    for begin in (start, 0):
        place = text.find(quote, begin)
        if quote and place >= 0:
            return Span(place, place + len(quote))
    match = SequenceMatcher(None, text, quote, autojunk=False).find_longest_match()
    if match.size < ENOUGH * len(quote) or not match.size:
        return None
    return Span(match.a, match.a + match.size)


def scitab(record: Record) -> Iterator[Item]:
    """Claims of papers about their tables, altered ones, and ones that the table leaves open."""
    yield Item(
        id=record["id"],
        set="scitab",
        group="",
        text=_plain(record["claim"]),
        source=Source((_paper_table(record),)),
        split_key=record["split_key"],
        label=SCITAB_LABELS[record["label"]],
    )


def _paper_table(record: Record) -> Table:
    columns = map(_plain, record["table_column_names"])
    rows = [list(map(_plain, row)) for row in record["table_content_values"]]
    return Table.of(list(columns), rows, record["table_caption"])


def _plain(text: str) -> str:
    """Without the marks of bold and italic type."""
    return _MARKUP.sub("", text).strip()


# ---- single statements that people labelled: TabFact, InfoTabS, LogicNLG ----

LABELS: dict[str | int, Label] = {
    1: "supported",
    0: "contradicted",
    "E": "supported",
    "C": "contradicted",
    "N": "not_in_source",
}


def tabfact(record: Record) -> Iterator[Item]:
    """Entailed (1) and refuted (0) statements about Wikipedia tables, two difficulties."""
    table = Table.of(record["header"], record["rows"], record["caption"])
    return _statements("tabfact", record, record["statements"], table, record["difficulty"])


def infotabs(record: Record) -> Iterator[Item]:
    """Entailed, contradicted and neutral statements about the info box of one thing."""
    table = _attribute_table(record["table"], record["category"])
    return _statements("infotabs", record, record["hypotheses"], table, record["part"])


def _statements(
    name: str, record: Record, statements: Sequence[Record], table: Table, group: str
) -> Iterator[Item]:
    source = Source((table,))
    for number, statement in enumerate(statements):
        yield Item(
            id=f"{record['table_id']} {number}",
            set=name,
            group=group,
            text=statement["text"],
            source=source,
            split_key=record["split_key"],
            label=LABELS[statement["label"]],
        )


def logicnlg(record: Record) -> Iterator[Item]:
    """True statements and their minimally edited, false counterparts.

    Pairs whose two sides are equal say nothing and are left out, repeated statements too. The
    references are those of the table's other pairs.
    """
    source = Source((Table.of(record["header"], record["rows"], record["title"]),))
    pairs = [pair for pair in record["pos_neg"] if pair["pos"] != pair["neg"]]
    true = {pair["pos"] for pair in pairs}
    seen: set[str] = set()
    for number, pair in enumerate(pairs):
        texts = [one["text"] for one in record["references"]]
        references = tuple(text for text in texts if text not in (pair["pos"], pair["neg"]))
        for side in ("pos", "neg"):
            text = pair[side]
            if text in seen or (side == "neg" and text in true):
                continue
            seen.add(text)
            yield Item(
                id=f"{record['table_id']} {number} {side}",
                set="logicnlg",
                group="",
                text=text,
                source=source,
                split_key=record["split_key"],
                references=references,
                label="supported" if side == "pos" else "contradicted",
            )


def _attribute_table(values: dict[str, list[str]], title: str) -> Table:
    """The attributes of one thing as a table of one row; several values stand in one cell."""
    row = ["; ".join(value.strip() for value in own) for own in values.values()]
    return Table.of(list(values), [row], title)


# ---- texts of dialogue systems with ratings: BAGEL, SFHOT, SFRES ----

_ACT = re.compile(r"(?P<act>\w+)\((?P<slots>.*)\)\s*", re.DOTALL)
_SLOT = re.compile(r"(?P<name>\w+)(?:=(?:'(?P<quoted>[^']*)'|(?P<plain>[^,]*)))?(?:,|$)")


def d2t_human_ratings(record: Record) -> Iterator[Item]:
    """One text; its rating is the informativeness, 1 to 6."""
    yield Item(
        id=record["id"],
        set="d2t_human_ratings",
        group=record["dataset"],
        text=record["text"],
        source=Source((read_meaning(record["mr"]),)),
        split_key=record["split_key"],
        references=tuple(record["refs"]),
        rating=float(record["human"]["informativeness"]),
    )


def read_meaning(text: str) -> Table:
    """``inform(name='X',area=riverside)`` as a table of one row; the act is its title.

    Raises:
        ValueError: it is no dialogue act with slots.
    """
    match = _ACT.fullmatch(text.strip())
    values: dict[str, list[str]] = {}
    for slot in _SLOT.finditer(match["slots"]) if match else ():
        value = slot["quoted"] if slot["quoted"] is not None else slot["plain"] or ""
        values.setdefault(slot["name"].replace("_", " "), []).append(value.replace("_", " "))
    if match is None or not values:
        raise ValueError(f"no meaning representation with a slot: {text!r}")
    return _attribute_table(values, match["act"])


# ---- reading ----

READERS: dict[SetName, Callable[[Record], Iterator[Item]]] = {
    "quintd": quintd,
    "d2t_span_annotation": d2t_span_annotation,
    "scigen": scigen,
    "accuracy_shared_task": accuracy_shared_task,
    "d2t_human_ratings": d2t_human_ratings,
    "tabfact": tabfact,
    "scitab": scitab,
    "infotabs": infotabs,
    "logicnlg": logicnlg,
}
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def file_of(name: str) -> str:
    """The file of a set, or of a source of tables, below the data folder."""
    return f"{name}/open.human_eval.jsonl" if name == "scigen" else f"{name}/open.jsonl"


def read_records(
    path: Path, read: Callable[[Any], T], unread: Callable[[str, Exception], object]
) -> Iterator[T]:
    """What comes of every line of JSON; one that cannot be read is named, and the others go on.

    Args:
        path: the file.
        read: makes something of a record.
        unread: takes the place and the error of a line of which nothing can be made.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                found = read(load_json(line))
            except (*_UNREADABLE, TablemendError) as error:
                unread(f"{path}:{number}", error)
            else:
                yield found


def read_set(name: SetName, data: Path) -> tuple[list[Item], list[str]]:
    """The items of a set, of both splits, and one line for every record that cannot be read.

    Args:
        name: the set.
        data: folder of all sets.

    Raises:
        TablemendError: the file is not there, or no record is as its README says.
    """
    path = data / file_of(name)
    if not path.is_file():
        raise TablemendError(f"no file {path}: give data=FOLDER, or leave {name} out of sets=")
    left_out: list[str] = []

    def unread(place: str, error: Exception) -> None:
        left_out.append(f"{place} is no record of {name} ({type(error).__name__}: {error})")

    found = list(read_records(path, lambda record: list(READERS[name](record)), unread))
    if left_out and not found:
        raise TablemendError(f"{left_out[0]}, nor is any other: see the README beside it")
    return [item for items in found for item in items], left_out


def draw(items: Sequence[Item], n: int) -> list[Item]:
    """At most ``n`` items, the same ones on every machine, in their order."""
    order = sorted(items, key=lambda item: sha256(f"{item.set} {item.id}".encode()).digest())
    kept = {item.id for item in order[:n]}
    return [item for item in items if item.id in kept]
