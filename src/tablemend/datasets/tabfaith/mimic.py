"""Laboratory tables from MIMIC-IV files that the user has (credentialed access; none is ours).

Read are ``hosp/labevents.csv.gz`` and ``hosp/d_labitems.csv.gz``, streamed: one patient's events
are in memory at a time. A table is what one specimen of blood was tested for, in the paper's
columns. Neither identifiers nor times of the patient go into it.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

from tablemend.errors import TablemendError
from tablemend.tables.table import Cell, Table

LABEVENTS, D_LABITEMS = "labevents.csv", "d_labitems.csv"
MIN_TESTS, MAX_TESTS = 4, 30
PER_PATIENT = 2
"""Tables of one patient at most, so that a long stay does not fill the set."""
COLUMNS = ("Test", "Measurement", "Unit", "Reference Range", "Flag Status")

_EVENT_FIELDS = (
    "subject_id specimen_id itemid valuenum value valueuom ref_range_lower ref_range_upper flag"
)
_ITEM_FIELDS = "itemid label fluid category"
_CATEGORIES = {"Hematology": "Complete blood count", "Chemistry": "Chemistry panel"}
Event = dict[str, str]


def read_panels(folder: Path) -> Iterator[Table]:
    """Tables in the order of the file, without end before its end.

    Args:
        folder: MIMIC-IV's folder, or its ``hosp``; files may be ``.csv`` or ``.csv.gz``.

    Raises:
        TablemendError: a file or a column of it is missing, or it is no gzip or no UTF-8 text.
    """
    items = {
        row["itemid"]: (row["label"], row["category"])
        for row in _rows(folder, D_LABITEMS, _ITEM_FIELDS)
        if row["fluid"].casefold() == "blood"
    }
    events = _rows(folder, LABEVENTS, _EVENT_FIELDS)
    for _, own in groupby(events, key=lambda event: event["subject_id"]):
        specimens: dict[str, list[Event]] = {}
        for event in own:
            if event["itemid"] in items and event["specimen_id"]:
                specimens.setdefault(event["specimen_id"], []).append(event)
        panels = (_panel(tests, items) for tests in specimens.values())
        yield from islice((panel for panel in panels if panel is not None), PER_PATIENT)


def _panel(events: list[Event], items: dict[str, tuple[str, str]]) -> Table | None:
    """The tests of one specimen; ``None`` where too few have a number and a range."""
    rows: dict[str, list[Cell]] = {}
    categories = set()
    for event in events:
        label, category = items[event["itemid"]]
        numbers = [event[name] for name in ("valuenum", "ref_range_lower", "ref_range_upper")]
        if not (label and all(map(_is_number, numbers))):
            continue
        value, low, high = map(float, numbers)
        flag = "L" if value < low else "H" if value > high else None
        if (flag is not None) != (event["flag"].casefold() == "abnormal"):
            continue  # the laboratory scored by more than this range
        shown = float(event["value"]) if _is_number(event["value"]) else value
        between = f"{low:.10g}-{high:.10g}"  # the files have more zeros than a report
        rows.setdefault(label, [label, f"{shown:.10g}", event["valueuom"] or None, between, flag])
        categories.add(category)
    if not MIN_TESTS <= len(rows) <= MAX_TESTS or len(categories) != 1:
        return None
    title = _CATEGORIES.get(categories.pop(), "Laboratory results")
    return Table.of(COLUMNS, list(rows.values()), title)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _rows(folder: Path, name: str, fields: str) -> Iterator[Event]:
    """The rows of a file in the folder or in ``hosp``, packed or not."""
    places = [base / own for base in (folder, folder / "hosp") for own in (f"{name}.gz", name)]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise TablemendError(
            f"{folder}: neither {name}.gz nor {name}, nor either in hosp/; give the folder of "
            "MIMIC-IV"
        )
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in fields.split() if name not in (reader.fieldnames or ())]
            if missing:
                raise TablemendError(f"{path}: no column {', '.join(missing)}")
            for row in reader:
                yield {name: (row[name] or "").strip() for name in fields.split()}
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise TablemendError(f"{path}: cannot be read: {error}") from error
