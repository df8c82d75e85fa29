"""What a ToRR set can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from tablemend.config import HUB, SMALL_WORLD, Count, Section
from tablemend.datasets.splits import Shares
from tablemend.datasets.torr.readers import LOOKUP, READERS

FILES = {
    "finqa": "finqa/open.jsonl",
    "tablebench_data_analysis": "tablebench/open.jsonl",
    "tablebench_numerical_reasoning": "tablebench/open.jsonl",
    "tablebench_fact_checking": "tablebench/open.jsonl",
    "wikitq": "wikitablequestions/open.jsonl",
    "tabfact": "tabfact/open.jsonl",
    "qtsumm": "qtsumm/open.jsonl",
    "scigen": "scigen/open.jsonl",
    "numericnlg": "numericnlg/open.jsonl",
    "turl_cta": "turl_cta/open.jsonl",
}
"""Where each set is looked for in ``data``."""


class TorrSet(Section):
    """Examples of the data sets of ToRR."""

    kind: Literal["torr"] = "torr"
    """What a recipe is for."""
    sets: tuple[str, ...] = tuple(FILES)
    """The data sets; `lookup` is generated, for small models, and not one of the ten."""
    data: str | None = None
    """Folder with the sets: finqa/open.jsonl, wikitablequestions/open.jsonl and so on."""
    files: Mapping[str, str] = {}
    """By name a JSON or JSONL file, or hub:owner/name, in place of the one in `data`."""
    n: Count = Field(default=100, ge=1)
    """Most examples of a set in the test split (section 2.3: 100)."""
    train: Count = Field(default=0, ge=0)
    """Most examples of a set in the train and in the validation split, without demonstrations."""
    cells: int | None = Field(default=None, ge=1)
    """Most cells of a table, its header included; null: any. Larger ones are counted."""
    demonstrations: int | None = Field(default=None, ge=0)
    """Solved examples before each; null: as in the paper, five, of WikiTableQuestions one."""
    shares: Shares = Shares(train=0.5, validation=0.1, test=0.4)
    """Split of the tables and documents; demonstrations are of the train split."""
    seed: int = Field(default=0, ge=0)
    """Seed of what is drawn."""
    out: str = "data/torr"
    """Folder to write into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Sets that there are not, and nowhere to read from."""
        for name in (*self.sets, *self.files):
            if name not in READERS:
                yield "sets", f"no data set {name!r}; there are {', '.join(READERS)}"
        if self.data is None and not self.files and LOOKUP not in self.sets:
            yield "data", "neither a folder of the sets nor files= is given"
        if self.data is not None and not Path(self.data).is_dir():
            yield "data", f"no folder {self.data}"

    def place(self, name: str) -> str | None:
        """Where a set is; ``None`` where it is not there."""
        if name == LOOKUP:
            return SMALL_WORLD
        given = self.files.get(name)
        if given is None and self.data is not None:
            given = str(Path(self.data) / FILES[name])
        there = given is not None and (given.startswith(HUB) or Path(given).is_file())
        return given if there else None
