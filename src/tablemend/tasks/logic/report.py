"""Measures of annotations (section 3.4, appendix C) in Tables 4-7 and 11-14, and the published."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple

import yaml

from tablemend.config import Section, Source
from tablemend.config.section import RunFolder
from tablemend.errors import TablemendError
from tablemend.records import RELATIONS, Relation
from tablemend.reports.content import DASH, Rows, plain
from tablemend.runs import write_json, write_text
from tablemend.statistics import Agreement, krippendorffs_alpha
from tablemend.tasks.logic.annotating import ANNOTATES, ANNOTATIONS, PAIRS
from tablemend.tasks.logic.pair import (
    AMBIGUITIES,
    AMBIGUOUS,
    RELATION_WORDS,
    Annotation,
    Answers,
    Domain,
    Pair,
    Span,
    path_to,
    read_annotations,
)
from tablemend.tasks.sources import read_records

KIND_WORDS: dict[Kind, str] = {
    "divergent_input": "divergent in input",
    "divergent_output": "divergent in output",
    "wrong": "factually wrong",
}


class AnnotationReportCommand(Section):
    """Which annotations are measured."""

    run: RunFolder
    """Run folder: a name below runs/, or a path where it contains a slash."""
    annotations: tuple[str, ...] = ()
    """Further files of annotations of the same pairs, such as those of people."""
    passed: bool = False
    """Count only annotators who passed the comprehension check, or had none."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Files that are not there."""
        for name in self.annotations:
            if not Path(name).is_file():
                yield "annotations", f"no file {name}"


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
    known = {one.id for one in pairs}
    for (name, pair), count in Counter((one.annotator, one.pair) for one in found).items():
        if pair not in known:
            mend = "which is no pair of this run: give annotations of its pairs.jsonl"
            raise TablemendError(f"{name} annotates {pair}, {mend}")
        if count > 1:
            mend = "give each annotator another name, and each file once"
            raise TablemendError(f"{name} annotates {pair} {count} times: {mend}")
    if passed:
        found = [one for one in found if one.passed_check is not False]
    numbers: dict[Domain, dict[str, Any]] = {}
    for domain in DIMENSIONS:
        if said := units([one for one in pairs if one.domain == domain], found):
            numbers[domain] = _numbers(said)
    if not numbers:
        raise TablemendError(f"{run}: no annotation has a relation: see why in {ANNOTATIONS}")
    who = list(_who(pairs, found))
    text = _markdown(run.name, who, list(_tables(numbers)), set(DIMENSIONS) - numbers.keys())
    write_text(run / "annotations.md", text)
    write_json(run / "annotations.json", {"annotators": who, **numbers})
    return text


def _numbers(own: Sequence[Unit]) -> dict[str, Any]:
    """All measures of a domain, of all annotators together and of each."""
    dimensions = DIMENSIONS[own[0].pair.domain]

    def part(units: Sequence[Unit]) -> dict[str, Any]:
        rows = by_category(units)
        return {
            "pairs": len(units),
            "accuracy": {d: accuracy(units, d)._asdict() for d in dimensions},
            "categories": {name: row._asdict() for name, row in rows.items()},
            "macro": macro(rows),
        }

    by_name = defaultdict[str, list[Annotation]](list)
    for unit in own:
        for one in unit.annotations:
            by_name[one.annotator].append(one)
    pairs = [unit.pair for unit in own]
    return {
        **part(own),
        "agreement": {d: agreement(own, d) for d in dimensions},
        "ratios": {kind: mean_ratio(own, kind) for kind in KIND_WORDS},
        "slider": {kind: correlation(own, kind)._asdict() for kind in KIND_WORDS},
        "jaccard": {kind: jaccard(own, kind)._asdict() for kind in KIND_WORDS},
        "ambiguities": Counter(k for one in own for a in one.annotations for k in a.ambiguities),
        "annotators": {name: part(units(pairs, by_name[name])) for name in sorted(by_name)},
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


Dimension = Literal["CAT", "I|=O", "O|=I", "FWI", "AMB"]
DIMENSIONS: dict[Domain, tuple[Dimension, ...]] = {
    "hotel": ("CAT", "I|=O", "O|=I", "FWI"),
    "logic": ("CAT", "I|=O", "O|=I", "AMB"),
}
STEPS = {"I|=O": "follows", "O|=I": "implies", "FWI": "wrong", "AMB": AMBIGUOUS}
"""Questions of the tree."""
Kind = Literal["divergent_input", "divergent_output", "wrong"]
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Unit(NamedTuple):
    """One pair with what annotators say of it; who is unscored says nothing."""

    pair: Pair
    annotations: Sequence[Annotation]


def units(pairs: Iterable[Pair], annotations: Iterable[Annotation]) -> list[Unit]:
    """The pairs that somebody annotated, in their order."""
    by_pair: dict[str, list[Annotation]] = defaultdict(list)
    for one in annotations:
        if one.relation is not None:
            by_pair[one.pair].append(one)
    return [Unit(pair, by_pair[pair.id]) for pair in pairs if pair.id in by_pair]


# ---- answers ----


def answer(one: Annotation, dimension: Dimension) -> Hashable | None:
    """What an annotator says; ``None`` of a question that did not come up.

    An output that follows from its input has no divergent information, and so none that is
    factually wrong, although that is not asked.
    """
    return one.relation if dimension == "CAT" else _step(one.path, dimension)


def references(pair: Pair, dimension: Dimension) -> set[Relation] | set[bool | None]:
    """The answers that are right: those on the paths to the labels; empty where none is known."""
    if dimension == "CAT":
        return set(pair.labels)
    if dimension == "AMB":
        return {pair.ambiguous} - {None}
    return {_step(path_to(pair.domain, one), dimension) for one in pair.labels} - {None}


def _step(path: Answers, dimension: Dimension) -> bool | None:
    otherwise = False if dimension == "FWI" and path.get("follows") else None
    return path.get(STEPS[dimension], otherwise)


# ---- accuracy and agreement ----


class Accuracy(NamedTuple):
    """Accuracy per annotator (APA): mean and the sample's standard deviation over annotators.

    ``n`` answers could be compared; ``annotators`` has each one's own accuracy.
    """

    mean: float | None
    sd: float | None
    n: int
    annotators: Mapping[str, float]


def accuracy(found: Sequence[Unit], dimension: Dimension) -> Accuracy:
    """The share of each annotator's answers that match any reference label.

    Compared is where both sides answer the question: whoever calls an output contradictory is not
    asked for I|=O, and neither is the reference.
    """
    right: dict[str, list[bool]] = defaultdict(list)
    for pair, own in found:
        if wanted := references(pair, dimension):
            for one in own:
                if (said := answer(one, dimension)) is not None:
                    right[one.annotator].append(said in wanted)
    shares = {name: fmean(one) for name, one in right.items()}
    sd = stdev(shares.values()) if len(shares) > 1 else None
    return Accuracy(
        fmean(shares.values()) if shares else None, sd, sum(map(len, right.values())), shares
    )


def agreement(found: Sequence[Unit], dimension: Dimension) -> Agreement:
    """Krippendorff's alpha (IAA), nominal, over pairs with two answers or more."""
    counts = [Counter(answer(one, dimension) for one in own) for _, own in found]
    columns = sorted({value for one in counts for value in one if value is not None}, key=str)
    return krippendorffs_alpha([[one[value] for value in columns] for one in counts])


# ---- categories ----


class Category(NamedTuple):
    """One row of Table 5; a share is 0 where nothing could be counted.

    Of ``support`` pairs this is a label of the references, of ``annotated`` one of annotators.
    """

    precision: float
    recall: float
    f1: float
    support: int
    annotated: int


def by_category(found: Sequence[Unit]) -> dict[Relation, Category]:
    """Precision, recall and F1 of each category that either side uses (FPC).

    A pair's label on the annotators' side is their most frequent one; of several that are equally
    frequent each counts, so that counts may sum to more than there are pairs. On the other side
    every reference label counts: the supports of Tables 5 and 6 sum to 25 and 8 pairs that
    references disagree on, and to 71 and 3.
    """
    said, wanted, both = Counter[Relation](), Counter[Relation](), Counter[Relation]()
    for pair, own in found:
        if pair.labels:
            votes = Counter(one.relation for one in own if one.relation is not None)
            most = {label for label, n in votes.items() if n == max(votes.values())}
            said.update(most)
            wanted.update(set(pair.labels))
            both.update(most & set(pair.labels))
    rows = {}
    for label in RELATIONS:
        counts = said[label], wanted[label], (said[label] + wanted[label]) / 2
        if any(counts):
            p, r, f1 = (both[label] / count if count else 0.0 for count in counts)
            rows[label] = Category(p, r, f1, wanted[label], said[label])
    return rows


def macro(rows: Mapping[Relation, Category]) -> tuple[float, float, float] | None:
    """The mean precision, recall and F1 of the categories; ``None`` where there are none."""
    p, r, f = ([row[place] for row in rows.values()] for place in range(3))
    return (fmean(p), fmean(r), fmean(f)) if rows else None


# ---- highlights ----


def tokens(text: str, spans: Sequence[Span]) -> tuple[frozenset[int], int]:
    """The tokens that spans touch, by number, and how many tokens there are: words and marks."""
    places = [match.span() for match in _TOKEN.finditer(text)]
    touched = (i for i, (a, b) in enumerate(places) if any(x < b and a < y for x, y in spans))
    return frozenset(touched), len(places)


def highlighted(unit: Unit, kind: Kind) -> tuple[list[frozenset[int]], int]:
    """The tokens that each annotator highlights who was asked to, and how many there are."""
    text = unit.pair.input if kind == "divergent_input" else unit.pair.output
    spans = [getattr(one, kind) for one in unit.annotations]
    return [tokens(text, one)[0] for one in spans if one is not None], tokens(text, ())[1]


class Jaccard(NamedTuple):
    """Agreement on highlights (Table 13), the mean over ``pairs`` of two annotators or more.

    ``empty`` is the share of pairs of annotators that both highlight nothing; each counts as 1.
    """

    mean: float | None
    pairs: int
    empty: float | None


def jaccard(found: Sequence[Unit], kind: Kind) -> Jaccard:
    """Intersection over union of the highlighted tokens of two annotators.

    The paper does not say what two annotators count who both highlight nothing: they agree.
    """
    means, empty = [], []
    for unit in found:
        pairs = list(combinations(highlighted(unit, kind)[0], 2))
        if pairs:
            means.append(fmean(len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs))
            empty += [not (a | b) for a, b in pairs]
    return Jaccard(*((fmean(means), len(means), fmean(empty)) if means else (None, 0, None)))


def ratio(unit: Unit, kind: Kind) -> float | None:
    """The share of tokens that are highlighted, the mean over annotators."""
    sets, n = highlighted(unit, kind)
    return fmean(len(one) / n for one in sets) if sets and n else None


def mean_ratio(found: Sequence[Unit], kind: Kind) -> float | None:
    """:func:`ratio`, the mean over pairs (Table 11)."""
    ratios = [value for one in found if (value := ratio(one, kind)) is not None]
    return fmean(ratios) if ratios else None


class Correlation(NamedTuple):
    """Pearson's r with its two-sided p, over ``n`` pairs; ``None`` where it is not defined."""

    r: float | None
    p: float | None
    n: int


def correlation(found: Sequence[Unit], kind: Kind) -> Correlation:
    """Between :func:`ratio` and the mean slider of each pair (Table 12)."""
    from scipy.stats import pearsonr  # takes a second to import

    points = []
    for one in found:
        sliders = [a.slider for a in one.annotations if a.slider is not None]
        if sliders and (value := ratio(one, kind)) is not None:
            points.append((value, fmean(sliders)))
    x, y = zip(*points, strict=True) if points else ((), ())
    if len(points) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
        return Correlation(None, None, len(points))
    r, p = pearsonr(x, y)
    return Correlation(float(r), float(p), len(points))
