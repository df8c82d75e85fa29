"""The dev or test split of a record: rules are chosen on dev, figures reported on test.

The split follows from the record's ``split_key``, so no table or document is in both.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

Split = Literal["dev", "test"]


def split_of(split_key: str) -> Split:
    """The split of all records with this key.

    The second lowest bit of its SHA-256: the sets that we have were cut from larger ones by the
    lowest, which is 0 for every record.

    >>> split_of("2-1570274-4.html.csv")
    'test'
    """
    return "test" if int(sha256(split_key.encode()).hexdigest(), 16) >> 1 & 1 else "dev"
