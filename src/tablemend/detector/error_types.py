"""The types of errors in answer tables, and the metrics of reports (TableHallu, C.1).

A file of its own, so that who only trains loads no detector.
"""

from __future__ import annotations

from tablemend.records import ABSTENTION, UNSCORED, Metric, total

NEEDS_CONTEXT = "out_of_range"
"""What only the context tells from an entity fabrication."""

ERRORS = (
    Metric(
        "format_error",
        "Format error",
        "format",
        "no readable table, or not the columns that the query asked for, in its order",
    ),
    Metric(
        "out_of_range",
        "Out of range",
        "range",
        "a row that the context does mention but the query's scope leaves out",
    ),
    Metric(
        "order_mismatch", "Order mismatch", "order", "the rows are not sorted as the query says"
    ),
    Metric(
        "attribute",
        "Attribute distortion",
        "attribute",
        "a value that contradicts the context, or is missing though the context has it",
    ),
    Metric(
        "blank_filling",
        "Blank-filling",
        "blank",
        "a value where the context says nothing and the cell should be empty",
    ),
    Metric(
        "entity_fabrication",
        "Entity fabrication",
        "fabrication",
        "a row about something that the context never mentions",
    ),
)
ERROR_TYPES = tuple(one.name for one in ERRORS)
INVENTS_ROWS = Metric(
    "invents_rows",
    "Invents rows for a query of one or none",
    "invents rows",
    "a row that is out of range or made up, of the answers to queries that one row of the context "
    "meets, or none",
    "event",
    ("out_of_range", "entity_fabrication"),
)
OMITTED_CELL = Metric(
    "omitted_cell",
    "Omitted cell",
    "omitted",
    "an attribute distortion that is an empty cell where the context has a value",
    "event",
    ("attribute",),
)
METRICS = (
    *ERRORS,
    Metric(
        "constraint_violation",
        "Constraint violation",
        "constraint",
        "a format error, an out-of-range row or an order mismatch: the query was not followed",
        "group",
        ("format_error", "out_of_range", "order_mismatch"),
    ),
    Metric(
        "context_violation",
        "Context violation",
        "context",
        "a distorted value, a filled blank or an invented row: the context was not followed",
        "group",
        ("attribute", "blank_filling", "entity_fabrication"),
    ),
    total(ERRORS, "at least one error of any kind"),
    Metric(
        "row_recall",
        "Row recall",
        "row recall",
        "share of the rows asked for that the answer contains; higher is better",
        "share",
    ),
    Metric(
        "cell_recall",
        "Cell recall",
        "cell recall",
        "share of the values asked for that the answer states correctly; higher is better",
        "share",
    ),
    ABSTENTION,
    UNSCORED,
)
