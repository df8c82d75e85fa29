"""Claims over tables with their labels: what a verifier is fine-tuned on (claim_verification).

From a TabFaith set come its sentences: supported, contradicted where an error was injected, and
not in the source where the columns that a sentence is about are taken out of the table. From the
public sets come claims that people labelled, of their dev split alone: the test split stays unseen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from tablemend.config import Section
from tablemend.config import Source as Examples
from tablemend.datasets.build import build
from tablemend.datasets.splits import SPLITS, Shares, split_of
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.errors import TablemendError
from tablemend.meta_evaluation.items import split_of as half_of
from tablemend.meta_evaluation.sets import file_of, read_set
from tablemend.runs import Store, hash_file, write_jsonl
from tablemend.tables.table import Table
from tablemend.tasks.claim_verification import LabelledClaim
from tablemend.tasks.sources import read_records
from tablemend.values.sentences import sentence_spans

PublicSet = Literal["tabfact", "logicnlg", "infotabs", "scitab"]
ENGINE = "claims-1"
LABELS = ("supported", "contradicted", "not_in_source")
SAID = "tabfaith"
"""Domain of claims that a program has said."""


class Claims(Section):
    """A set of labelled claims."""

    tabfaith: str | None = "data/tabfaith"
    """Folder of a TabFaith set (data_gen/tabfaith.py); null: public claims alone."""
    data: str | None = None
    """Folder of the public sets, with <data>/tabfact/open.jsonl and so on; null: none."""
    sets: tuple[PublicSet, ...] = get_args(PublicSet)
    """The public sets to read."""
    most_characters: int = Field(default=4000, ge=50)
    """Claims whose table and words have more are left out, and counted."""
    shares: Shares = Shares()
    """Split of the tables."""
    out: str = "data/claims"
    """Folder to write into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Nothing to read."""
        if self.data is not None and not Path(self.data).is_dir():
            yield "data", f"no folder {self.data}"
        if self.tabfaith is None and self.data is None:
            yield "data", "neither a TabFaith set nor a folder of public sets is given"


def make_claims(settings: Claims) -> dict[str, Any]:
    """Write the splits, or find them written; the counts, as in ``counts.json``.

    Raises:
        TablemendError: a set that is not there, or a folder that holds something else.
    """
    out, files = Path(settings.out), _files(settings)
    if missing := [path for path in files if not path.is_file()]:
        raise TablemendError(f"no file {missing[0]}: see tabfaith= and data=")
    noted = {
        "engine_version": ENGINE,
        **settings.model_dump(mode="json", exclude={"out", "tabfaith", "data"}),
        "files": [hash_file(path) for path in files],
    }

    def write(store: Store) -> dict[str, Any]:
        counts = Counter[str]()
        found: dict[str, dict[str, LabelledClaim]] = {split: {} for split in SPLITS}

        def fits(claim: LabelledClaim) -> bool:
            fitting = len(claim.claim) + _size(claim.table) <= settings.most_characters
            counts["left out: too long"] += not fitting
            return fitting

        home = dict[str, str]()
        for split, claim in _claims(settings, fits):
            if home.setdefault(claim.source_hash, split) == split:
                found[split][claim.id] = claim
            else:
                counts["left out: less a column, the same as a table of another split"] += 1
        for split, claims in found.items():
            if not claims:
                raise TablemendError(f"no claim for the {split} split: give more tables")
            drawn = [claims[id] for id in sorted(claims)]  # the first n are a sample
            write_jsonl(out / f"{split}.jsonl", [claim.to_json() for claim in drawn])
            counts.update(f"{split} {claim.domain} {claim.label}" for claim in drawn)
        return dict(sorted(counts.items()))

    return build(out, noted, write)


def _files(settings: Claims) -> list[Path]:
    said, public = settings.tabfaith, settings.data
    return [
        *([Path(said) / f"{split}.jsonl" for split in SPLITS] if said is not None else []),
        *([Path(public) / file_of(name) for name in settings.sets] if public else []),
    ]


def _size(table: Table) -> int:
    """Characters of the title, the cells and what is between them."""
    cells = (cell for row in (table.columns, *table.rows) for cell in row)
    return len(table.title) + sum(len(cell or "") + 3 for cell in cells)


def _claims(
    settings: Claims, fits: Callable[[LabelledClaim], bool]
) -> Iterator[tuple[str, LabelledClaim]]:
    """Every claim with its split, which the content of its whole table decides."""
    if settings.tabfaith is not None:
        yield from _balance(
            (split_of(example.source_hash, settings.shares), claim)
            for split in SPLITS
            for example in read_records(
                Examples(source=settings.tabfaith, split=split),
                TabFaithExample.from_json,
                "python data_gen/tabfaith.py",
            )
            for claim in said_claims(example)
            if fits(claim)
        )
    if settings.data is not None:
        for name in settings.sets:
            for item in read_set(name, Path(settings.data))[0]:
                if half_of(item.split_key) == "dev" and item.label is not None:
                    (table,) = item.source.tables
                    split = split_of(table.content_hash(), settings.shares)
                    claim = LabelledClaim(item.text, table, item.label, name)
                    if fits(claim):
                        yield split, claim


def said_claims(example: TabFaithExample) -> Iterator[LabelledClaim]:
    """The sentences of a summary that can be understood alone, and what is so of them."""
    for sentence in sentence_spans(example.summary):
        facts = [fact for fact in example.facts if fact.sentence == sentence]
        if not facts or any(part.start < sentence.start for fact in facts for part in fact.parts):
            continue  # a pronoun, whose name is in the sentence before
        text = example.summary[sentence.start : sentence.end]
        wrong = [one for one in example.errors if sentence.start <= one.start < sentence.end]
        if wrong:
            reason = f"{wrong[0].text} should be {wrong[0].expected or wrong[0].original}"
            yield LabelledClaim(text, example.table, "contradicted", SAID, reason)
            continue
        yield LabelledClaim(text, example.table, "supported", SAID)
        left = _without(example.table, {column for fact in facts for _, column in fact.cells})
        if left is not None:
            yield LabelledClaim(text, left, "not_in_source", SAID)


def _without(table: Table, columns: set[int]) -> Table | None:
    """The table less some columns, never the first, which names the rows; ``None`` if too few."""
    kept = [place for place in range(len(table.columns)) if place not in columns - {0}]
    if len(kept) < 2 or len(kept) == len(table.columns):
        return None
    rows = [[row[place] for place in kept] for row in table.rows]
    return Table.of([table.columns[place] for place in kept], rows, table.title)


def _balance(claims: Iterable[tuple[str, LabelledClaim]]) -> Iterator[tuple[str, LabelledClaim]]:
    """As many of each label as there are of the rarest, in every split; drawn by hash."""
    found: dict[str, dict[str, list[LabelledClaim]]] = defaultdict(lambda: defaultdict(list))
    for split, claim in claims:
        found[split][claim.label].append(claim)
    for split, by_label in found.items():
        n = min(len(by_label[label]) for label in LABELS)
        for own in by_label.values():
            yield from ((split, claim) for claim in sorted(own, key=lambda claim: claim.id)[:n])
