"""Tables 4 to 7 and 11 to 14 of the paper for the annotations of a run, beside the published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tablemend.config import Source
from tablemend.datasets.logic.annotation import AMBIGUITIES, Annotation, read_annotations
from tablemend.datasets.logic.pair import Domain, Pair
from tablemend.errors import TablemendError
from tablemend.records import RELATIONS
from tablemend.reports.content import Cell, Rows
from tablemend.reports.wording import DASH
from tablemend.runs import write_json, write_text
from tablemend.tasks.logic import measures
from tablemend.tasks.logic.annotating import ANNOTATIONS, PAIRS
from tablemend.tasks.logic.command import ANNOTATES
from tablemend.tasks.logic.measures import DIMENSIONS, KINDS, Unit
from tablemend.tasks.logic.tree import RELATION_WORDS
from tablemend.tasks.sources import read_records

KIND_WORDS = {
    "divergent_input": "divergent in input",
    "divergent_output": "divergent in output",
    "wrong": "factually wrong",
}
MACRO = "Macro average"


class Part(NamedTuple):
    """A table in the paper's form.

    Attributes:
        number: of the paper's table.
        title: what is in it.
        rows: the table.
    """

    number: int
    title: str
    rows: Rows


def write_annotation_report(run: Path, more: Sequence[str] = (), passed: bool = False) -> str:
    """Write annotations.md and annotations.json into a run folder; the Markdown.

    Args:
        run: a folder with ``pairs.jsonl`` and, where nothing else is given, ``annotations.jsonl``.
        more: further files of annotations of the same pairs.
        passed: count only who passed the comprehension check, or had none.

    Raises:
        TablemendError: no annotations, annotations of other pairs, or two of one pair by one
            annotator.
    """
    pairs = read_records(Source(source=str(run / PAIRS)), Pair.from_json, ANNOTATES)
    own = run / ANNOTATIONS
    paths = [*([own] if own.is_file() or not more else []), *map(Path, more)]
    found = [one for path in paths for one in read_annotations(path)]
    _refuse(pairs, found)
    if passed:
        found = [one for one in found if one.passed_check is not False]
    units: dict[Domain, list[Unit]] = {
        domain: measures.units([one for one in pairs if one.domain == domain], found)
        for domain in DIMENSIONS
    }
    units = {domain: own for domain, own in units.items() if own}
    if not units:
        raise TablemendError(f"{run}: no annotation has a relation: see why in {ANNOTATIONS}")
    who = _who(pairs, found)
    text = _markdown(run.name, who, list(_tables(units)), [d for d in DIMENSIONS if d not in units])
    write_text(run / "annotations.md", text)
    numbers = {domain: _numbers(own) for domain, own in units.items()}
    write_json(run / "annotations.json", {"annotators": who, **numbers})
    return text


def _refuse(pairs: Sequence[Pair], found: Sequence[Annotation]) -> None:
    known = {one.id for one in pairs}
    for (name, pair), count in Counter((one.annotator, one.pair) for one in found).items():
        if pair not in known:
            raise TablemendError(
                f"{name} annotates {pair}, which is no pair of this run: give annotations of its "
                "pairs.jsonl"
            )
        if count > 1:
            raise TablemendError(
                f"{name} annotates {pair} {count} times: give each annotator another name, and "
                "each file once"
            )


def of_annotator(units: Sequence[Unit], name: str) -> list[Unit]:
    """The pairs that one annotator annotated, with these annotations alone."""
    own = [Unit(p, [one for one in all if one.annotator == name]) for p, all in units]
    return [one for one in own if one.annotations]


def _names(units: Mapping[Domain, Sequence[Unit]]) -> list[str]:
    return sorted({a.annotator for own in units.values() for one in own for a in one.annotations})


def _numbers(own: Sequence[Unit]) -> dict[str, Any]:
    """All measures of a domain, of all annotators together and of each."""

    def part(units: Sequence[Unit]) -> dict[str, Any]:
        rows = measures.by_category(units)
        return {
            "pairs": len(units),
            "accuracy": {
                d: measures.accuracy(units, d)._asdict() for d in DIMENSIONS[units[0].pair.domain]
            },
            "categories": {name: row._asdict() for name, row in rows.items()},
            "macro": measures.macro(rows),
        }

    domain = own[0].pair.domain
    return {
        **part(own),
        "agreement": {d: measures.agreement(own, d) for d in DIMENSIONS[domain]},
        "ratios": {kind: measures.mean_ratio(own, kind) for kind in KINDS},
        "slider": {kind: measures.correlation(own, kind)._asdict() for kind in KINDS},
        "jaccard": {kind: measures.jaccard(own, kind)._asdict() for kind in KINDS},
        "ambiguities": dict(measures.ambiguities(own)),
        "annotators": {name: part(of_annotator(own, name)) for name in _names({domain: own})},
    }


def _who(pairs: Sequence[Pair], found: Sequence[Annotation]) -> list[dict[str, Any]]:
    """What each annotator did: what is unscored is in no table."""
    domains = {one.id: one.domain for one in pairs}
    rows: list[dict[str, Any]] = []
    for name, domain in sorted({(one.annotator, domains[one.pair]) for one in found}):
        own = [a for a in found if (a.annotator, domains[a.pair]) == (name, domain)]
        checks = {one.passed_check for one in own}
        check = {None: "none", True: "passed", False: "failed"}
        line = {
            "annotator": name,
            "domain": domain,
            "pairs": len(own),
            "unscored": sum(one.relation is None for one in own),
            "check": ", ".join(check[one] for one in (True, False, None) if one in checks),
            "tokens": sum(one.completion_tokens + one.prompt_tokens for one in own),
            "seconds a pair": round(sum(one.seconds for one in own) / len(own), 1),
        }
        rows.append(line)
    return rows


def _tables(units: Mapping[Domain, Sequence[Unit]]) -> Iterator[Part]:
    names = _names(units)
    dimensions = [(domain, d) for domain in units for d in DIMENSIONS[domain]]
    head = [f"{domain} {d}" for domain, d in dimensions]
    found = [measures.accuracy(units[domain], d) for domain, d in dimensions]
    alphas = [measures.agreement(units[domain], d)["alpha"] for domain, d in dimensions]
    means = [_two(one.mean) + (f" ({one.sd:.2f})" if one.sd is not None else "") for one in found]
    yield Part(
        4,
        "APA (SD) and IAA of all annotators",
        _rows(["metric", *head], [["APA", *means], ["IAA", *map(_two, alphas)]]),
    )
    for domain, own in units.items():
        yield Part(5, f"FPC of all annotators, {domain} domain", _categories({"": own}))
    for domain, own in units.items():
        each = {name: of_annotator(own, name) for name in names}
        yield Part(6, f"FPC by annotator, {domain} domain", _categories(each))
    lines = [[name, *(_two(one.annotators.get(name)) for one in found)] for name in names]
    yield Part(7, "APA by annotator", _rows(["annotator", *head], lines))
    for domain, own in units.items():
        if domain == "hotel":
            yield from _highlights(own)
        else:
            counts = measures.ambiguities(own)
            lines = [[kind.replace("_", " "), str(counts[kind])] for kind in AMBIGUITIES]
            yield Part(14, f"Kinds of ambiguity, {domain} domain", _rows(["kind", "times"], lines))


def _highlights(own: Sequence[Unit]) -> Iterator[Part]:
    lines = [[KIND_WORDS[kind], _two(measures.mean_ratio(own, kind))] for kind in KINDS]
    rows = _rows(["information", "ratio"], lines)
    yield Part(11, "Ratios of highlighted tokens, hotel domain", rows)
    found = [(KIND_WORDS[kind], measures.correlation(own, kind)) for kind in KINDS]
    lines = [[kind, _two(one.r), _two(one.p, 3), str(one.n)] for kind, one in found]
    rows = _rows(["information", "r", "p", "pairs"], lines)
    yield Part(12, "Pearson correlation with the slider, hotel domain", rows)
    each = [measures.jaccard(own, kind) for kind in KINDS]
    lines = [
        ["Jaccard index", *(_two(one.mean) for one in each)],
        ["both highlight nothing", *(_two(one.empty) for one in each)],
    ]
    rows = _rows(["all annotators", *KIND_WORDS.values()], lines)
    yield Part(13, "Jaccard index of highlights, hotel domain", rows)


def _categories(each: Mapping[str, Sequence[Unit]]) -> Rows:
    """P, R, F1, S and # of each annotator; a dash where S and # are 0, as in Table 6."""
    tables = {name: measures.by_category(own) for name, own in each.items()}
    lines = []
    for label in RELATIONS:
        if any(label in table for table in tables.values()):
            line = [RELATION_WORDS[label][0]]
            for table in tables.values():
                row = table.get(label)
                counts = [str(row.support), str(row.annotated)] if row else ["0", "0"]
                line += [*map(_two, row[:3] if row else [None] * 3), *counts]
            lines.append(line)
    ends = [MACRO]
    for table in tables.values():
        ends += [*map(_two, measures.macro(table) or [None] * 3), "", ""]
    head = [f"{name} {one}".strip() for name in tables for one in ("P", "R", "F1", "S", "#")]
    return _rows(["category", *head], [*lines, ends])


def _rows(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Rows:
    return Rows(head, [[Cell(text) for text in line] for line in lines])


def _two(value: float | None, digits: int = 2) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def published() -> tuple[str, list[Part]]:
    """The paper's title, and its tables as data; nothing is computed with them."""
    path = Path(__file__).with_name("published.yaml")
    data: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    parts = [
        Part(one["table"], one["title"], _rows(one["head"], one["rows"])) for one in data["tables"]
    ]
    return data["paper"], parts


def _markdown(
    run: str, who: Sequence[Mapping[str, Any]], parts: Sequence[Part], absent: Sequence[Domain]
) -> str:
    paper, theirs = published()
    theirs = [one for one in theirs if not any(f"{name} domain" in one.title for name in absent)]
    did = _rows(list(who[0]), [[str(value) for value in line.values()] for line in who])
    lines = [f"# Annotations: run {run}", did.markdown()]
    for number in dict.fromkeys(one.number for one in parts):
        lines.append(f"## In the form of Table {number}")
        for one in parts:
            if one.number == number:
                lines += [f"{one.title}: measured here", one.rows.markdown()]
        for one in theirs:
            if one.number == number:
                said = f"{one.title}: published, on other pairs and annotators ({paper}, Table "
                lines += [f"*{said}{number})*", one.rows.markdown()]
    return "\n\n".join(lines) + "\n"
