"""Tables 4 to 7 and 11 to 14 of the paper for the annotations of a run, beside the published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tablemend.config import Source
from tablemend.datasets.logic.pair import AMBIGUITIES, Annotation, Domain, Pair, read_annotations
from tablemend.errors import TablemendError
from tablemend.records import RELATIONS
from tablemend.reports.content import DASH, Rows, plain
from tablemend.runs import write_json, write_text
from tablemend.tasks.logic import measures
from tablemend.tasks.logic.annotating import ANNOTATIONS, PAIRS
from tablemend.tasks.logic.command import ANNOTATES
from tablemend.tasks.logic.measures import DIMENSIONS, Kind, Unit
from tablemend.tasks.logic.tree import RELATION_WORDS
from tablemend.tasks.sources import read_records

KIND_WORDS: dict[Kind, str] = {
    "divergent_input": "divergent in input",
    "divergent_output": "divergent in output",
    "wrong": "factually wrong",
}


class Part(NamedTuple):
    """A table in the form of the paper's table of this number."""

    number: int
    title: str
    lines: Sequence[Sequence[str]]

    @property
    def rows(self) -> Rows:
        """The table; the first line is its head."""
        return plain(self.lines)


def write_annotation_report(run: Path, more: Sequence[str] = (), passed: bool = False) -> str:
    """Write annotations.md and annotations.json into a run folder; the Markdown.

    The folder has ``pairs.jsonl`` and, unless ``more`` files of annotations are given,
    ``annotations.jsonl``; ``passed`` counts only who passed the comprehension check, or had none.

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
    numbers: dict[Domain, dict[str, Any]] = {}
    for domain in DIMENSIONS:
        if units := measures.units([one for one in pairs if one.domain == domain], found):
            numbers[domain] = _numbers(units)
    if not numbers:
        raise TablemendError(f"{run}: no annotation has a relation: see why in {ANNOTATIONS}")
    who = list(_who(pairs, found))
    text = _markdown(run.name, who, list(_tables(numbers)), set(DIMENSIONS) - numbers.keys())
    write_text(run / "annotations.md", text)
    write_json(run / "annotations.json", {"annotators": who, **numbers})
    return text


def _refuse(pairs: Sequence[Pair], found: Sequence[Annotation]) -> None:
    known = {one.id for one in pairs}
    for (name, pair), count in Counter((one.annotator, one.pair) for one in found).items():
        if pair not in known:
            mend = "which is no pair of this run: give annotations of its pairs.jsonl"
            raise TablemendError(f"{name} annotates {pair}, {mend}")
        if count > 1:
            mend = "give each annotator another name, and each file once"
            raise TablemendError(f"{name} annotates {pair} {count} times: {mend}")


def _numbers(own: Sequence[Unit]) -> dict[str, Any]:
    """All measures of a domain, of all annotators together and of each."""
    dimensions = DIMENSIONS[own[0].pair.domain]

    def part(units: Sequence[Unit]) -> dict[str, Any]:
        rows = measures.by_category(units)
        return {
            "pairs": len(units),
            "accuracy": {d: measures.accuracy(units, d)._asdict() for d in dimensions},
            "categories": {name: row._asdict() for name, row in rows.items()},
            "macro": measures.macro(rows),
        }

    names = sorted({one.annotator for unit in own for one in unit.annotations})
    return {
        **part(own),
        "agreement": {d: measures.agreement(own, d) for d in dimensions},
        "ratios": {kind: measures.mean_ratio(own, kind) for kind in KIND_WORDS},
        "slider": {kind: measures.correlation(own, kind)._asdict() for kind in KIND_WORDS},
        "jaccard": {kind: measures.jaccard(own, kind)._asdict() for kind in KIND_WORDS},
        "ambiguities": dict(measures.ambiguities(own)),
        "annotators": {name: part(measures.of_annotator(own, name)) for name in names},
    }


def _who(pairs: Sequence[Pair], found: Sequence[Annotation]) -> Iterator[dict[str, Any]]:
    """What each annotator did: what is unscored is in no table."""
    domains = {one.id: one.domain for one in pairs}
    for name, domain in sorted({(one.annotator, domains[one.pair]) for one in found}):
        own = [a for a in found if (a.annotator, domains[a.pair]) == (name, domain)]
        checks = {one.passed_check for one in own}
        said = ((True, "passed"), (False, "failed"), (None, "none"))
        yield {
            "annotator": name,
            "domain": domain,
            "pairs": len(own),
            "unscored": sum(one.relation is None for one in own),
            "check": ", ".join(word for check, word in said if check in checks),
            "tokens": sum(one.completion_tokens + one.prompt_tokens for one in own),
            "seconds a pair": round(sum(one.seconds for one in own) / len(own), 1),
        }


def _tables(numbers: Mapping[Domain, Mapping[str, Any]]) -> Iterator[Part]:
    names = sorted({name for own in numbers.values() for name in own["annotators"]})
    columns = [["metric", "APA", "IAA", *names]]
    for domain, own in numbers.items():
        for dimension, found in own["accuracy"].items():
            sd = "" if found["sd"] is None else f" ({found['sd']:.2f})"
            alpha = _two(own["agreement"][dimension]["alpha"])
            each = (_two(found["annotators"].get(name)) for name in names)
            columns.append([f"{domain} {dimension}", _two(found["mean"]) + sd, alpha, *each])
    head, apa, iaa, *by_annotator = zip(*columns, strict=True)
    yield Part(4, "APA (SD) and IAA of all annotators", [head, apa, iaa])
    for domain, own in numbers.items():
        yield Part(5, f"FPC of all annotators, {domain} domain", _categories({"": own}))
    for domain, own in numbers.items():
        by_name = {name: own["annotators"].get(name, _NOTHING) for name in names}
        yield Part(6, f"FPC by annotator, {domain} domain", _categories(by_name))
    yield Part(7, "APA by annotator", [("annotator", *head[1:]), *by_annotator])
    for domain, own in numbers.items():
        if domain == "hotel":
            yield from _highlights(own)
        else:
            times = [[k.replace("_", " "), str(own["ambiguities"].get(k, 0))] for k in AMBIGUITIES]
            yield Part(14, f"Kinds of ambiguity, {domain} domain", [["kind", "times"], *times])


def _highlights(own: Mapping[str, Any]) -> Iterator[Part]:
    lines = [[KIND_WORDS[kind], _two(ratio)] for kind, ratio in own["ratios"].items()]
    head = ["information", "ratio"]
    yield Part(11, "Ratios of highlighted tokens, hotel domain", [head, *lines])
    lines = [
        [KIND_WORDS[kind], _two(one["r"]), _two(one["p"], 3), str(one["n"])]
        for kind, one in own["slider"].items()
    ]
    head = ["information", "r", "p", "pairs"]
    yield Part(12, "Pearson correlation with the slider, hotel domain", [head, *lines])
    lines = [["all annotators", *KIND_WORDS.values()]]
    for title, key in (("Jaccard index", "mean"), ("both highlight nothing", "empty")):
        lines.append([title, *(_two(one[key]) for one in own["jaccard"].values())])
    yield Part(13, "Jaccard index of highlights, hotel domain", lines)


def _categories(each: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """P, R, F1, S and # of each annotator; a dash where S and # are 0, as in Table 6."""
    used = [one for one in RELATIONS if any(one in own["categories"] for own in each.values())]
    head, last = ["category"], ["Macro average"]
    lines = {label: [RELATION_WORDS[label][0]] for label in used}
    for name, own in each.items():
        head += [f"{name} {one}".strip() for one in ("P", "R", "F1", "S", "#")]
        for label, line in lines.items():
            *shares, support, said = own["categories"].get(label, _NO_CATEGORY).values()
            line += [*map(_two, shares), str(support), str(said)]
        last += [*map(_two, own["macro"] or [None] * 3), "", ""]
    return [head, *lines.values(), last]


_NO_CATEGORY = {"precision": None, "recall": None, "f1": None, "support": 0, "annotated": 0}
_NOTHING: Mapping[str, Any] = {"categories": {}, "macro": None}


def _two(value: float | None, digits: int = 2) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def published() -> tuple[str, list[Part]]:
    """The paper's title, and its tables as data; nothing is computed with them."""
    path = Path(__file__).with_name("published.yaml")
    data: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return data["paper"], [
        Part(one["table"], one["title"], [one["head"], *one["rows"]]) for one in data["tables"]
    ]


def _markdown(
    run: str, who: Sequence[Mapping[str, Any]], parts: Sequence[Part], absent: Collection[Domain]
) -> str:
    paper, theirs = published()
    shown = [(one, f"{one.title}: measured here") for one in parts]
    for one in theirs:
        if not any(f"{name} domain" in one.title for name in absent):
            where = f"published, on other pairs and annotators ({paper}, Table {one.number})"
            shown.append((one, f"*{one.title}: {where}*"))
    did = plain([list(who[0]), *([str(value) for value in line.values()] for line in who)])
    lines = [f"# Annotations: run {run}", did.markdown()]
    for number in dict.fromkeys(one.number for one in parts):
        lines.append(f"## In the form of Table {number}")
        for one, said in shown:
            lines += [said, one.rows.markdown()] if one.number == number else []
    return "\n\n".join(lines) + "\n"
