"""Which half of a data set a record is in: rules are chosen on one, figures reported on the other.

The half hangs on the record's ``split_key``, so no table and no document stands on both sides.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

Half = Literal["rules", "report"]


def half_of(split_key: str) -> Half:
    """The half of all records with this key.

    The second lowest bit of its SHA-256: the sets that we have were cut from larger ones by the
    lowest, which is 0 for every record.

    >>> half_of("2-1570274-4.html.csv")
    'report'
    """
    return "report" if int(sha256(split_key.encode()).hexdigest(), 16) >> 1 & 1 else "rules"
