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
from itertools import groupby
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
        for row in _rows(_find(folder, D_LABITEMS), _ITEM_FIELDS)
        if row["fluid"].strip().casefold() == "blood"
    }
    events = _rows(_find(folder, LABEVENTS), _EVENT_FIELDS)
    for _, own in groupby(events, key=lambda event: event["subject_id"]):
        specimens: dict[str, list[Event]] = {}
        for event in own:
            if event["itemid"] in items and event["specimen_id"]:
                specimens.setdefault(event["specimen_id"], []).append(event)
        made = 0
        for tests in specimens.values():
            table = _panel(tests, items)
            if table is not None and made < PER_PATIENT:
                made += 1
                yield table


def _panel(events: list[Event], items: dict[str, tuple[str, str]]) -> Table | None:
    """The tests of one specimen; ``None`` where too few have a number and a range."""
    rows: dict[str, list[Cell]] = {}
    categories = set()
    for event in events:
        label, category = items[event["itemid"]]
        number, unit = event["valuenum"].strip(), event["valueuom"].strip()
        low, high = event["ref_range_lower"].strip(), event["ref_range_upper"].strip()
        if not (label and _is_number(number) and _is_number(low) and _is_number(high)):
            continue
        shown = event["value"].strip() if _is_number(event["value"].strip()) else number
        value, least, most = float(number), float(low), float(high)
        flag = "L" if value < least else "H" if value > most else None
        if (flag is not None) != (event["flag"].strip().casefold() == "abnormal"):
            continue  # the laboratory scored by more than this range
        between = f"{_short(low)}-{_short(high)}"
        rows.setdefault(label, [label, _short(shown), unit or None, between, flag])
        categories.add(category)
    if not MIN_TESTS <= len(rows) <= MAX_TESTS or len(categories) != 1:
        return None
    title = _CATEGORIES.get(next(iter(categories)), "Laboratory results")
    return Table.of(COLUMNS, list(rows.values()), title)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _short(number: str) -> str:
    """``4.0`` for 4.000: the files have more zeros than a report."""
    if "." not in number:
        return number
    whole, _, decimals = number.partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def _find(folder: Path, name: str) -> Path:
    for base in (folder, folder / "hosp"):
        for path in (base / f"{name}.gz", base / name):
            if path.is_file():
                return path
    raise TablemendError(
        f"{folder}: neither {name}.gz nor {name}, nor either in hosp/; give the folder of MIMIC-IV"
    )


def _rows(path: Path, fields: str) -> Iterator[Event]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in fields.split() if name not in (reader.fieldnames or ())]
            if missing:
                raise TablemendError(f"{path}: no column {', '.join(missing)}")
            for row in reader:
                yield {name: row[name] or "" for name in fields.split()}
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise TablemendError(f"{path}: cannot be read: {error}") from error
