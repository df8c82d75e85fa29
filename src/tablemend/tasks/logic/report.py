"""Measures of annotations (section 3.4, appendix C) in Tables 4-7 and 11-14, and the published."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal, NamedTuple

import yaml

from tablemend.config import Section, Source
from tablemend.config.section import RunFolder
from tablemend.errors import TablemendError
from tablemend.records import RELATIONS, Relation
from tablemend.reports.content import DASH
from tablemend.reports.rendering import align
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
from tablemend.tasks.logic.release import Strategy, read_release
from tablemend.tasks.sources import read_records

Dimension = Literal["CAT", "I|=O", "O|=I", "FWI", "AMB"]
DIMENSIONS: dict[Domain, tuple[Dimension, ...]] = {
    "hotel": ("CAT", "I|=O", "O|=I", "FWI"),
    "logic": ("CAT", "I|=O", "O|=I", "AMB"),
}
Kind = Literal["divergent_input", "divergent_output", "wrong"]
KIND_WORDS: dict[Kind, str] = {
    "divergent_input": "divergent in input",
    "divergent_output": "divergent in output",
    "wrong": "factually wrong",
}
_TOKEN = re.compile(r"\S+")


class AnnotationReportCommand(Section):
    """Which annotations are measured."""

    run: RunFolder
    """Run folder: a name below runs/, or a path where it contains a slash."""
    annotations: tuple[str, ...] = ()
    """Further files of annotations of the same pairs, such as those of people."""
    passed: bool = False
    """Count only annotators who passed the comprehension check, or had none."""
    source: str | None = None
    """The authors' release, in place of pairs and annotations of the run folder."""
    strategy: Strategy = "tot"
    """Of a release: how its models were asked, as the names of its files have it."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if self.source and not Path(self.source).is_dir():
            yield "source", f"no folder {self.source}"
        if self.source and self.annotations:
            yield "annotations", "the release brings its own: leave out source or annotations"
        for name in self.annotations:
            if not Path(name).is_file():
                yield "annotations", f"no file {name}"


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
    figures: dict[Domain, dict[str, Any]] = {}
    for domain in DIMENSIONS:
        if said := units([one for one in pairs if one.domain == domain], found):
            figures[domain] = _figures(said)
    if not figures:
        raise TablemendError(f"{run}: no annotation has a relation: see why in {ANNOTATIONS}")
    who = list(_who(pairs, found))
    text = _markdown(f"run {run.name}", who, figures)
    write_text(run / "annotations.md", text)
    write_json(run / "annotations.json", {"annotators": who, **figures})
    return text


def write_release_report(run: Path, source: Path, strategy: Strategy = "tot") -> str:
    """The same of the authors' release: of all people, and by model.

    Raises:
        TablemendError: a folder that is not the release, or a file of it that cannot be read.
    """
    release = read_release(source, strategy)
    figures: dict[Domain, dict[str, Any]] = {}
    for domain in DIMENSIONS:
        pairs = [one for one in release.pairs if one.domain == domain]
        if people := units(pairs, release.people):
            models = units(pairs, release.models)
            figures[domain] = _figures(people) | {
                "annotators": _figures(models)["annotators"] if models else {},
                "references": [
                    jaccard(units(pairs, release.references), kind) for kind in KIND_WORDS
                ],
            }
    did = list(_who(release.pairs, [*release.people, *release.models]))
    whose = "published; of other models in Tables 6 and 7"
    text = _markdown("the authors' release", did, figures, whose)
    write_text(run / "annotations.md", text)
    write_json(run / "annotations.json", {"annotators": did, **figures})
    return text


# ---- measures ----


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


def _figures(own: Sequence[Unit]) -> dict[str, Any]:
    """All measures of a domain, of all annotators together and of each."""
    dimensions = DIMENSIONS[own[0].pair.domain]

    def part(units: Sequence[Unit]) -> dict[str, Any]:
        rows = by_category(units)
        own_accuracy = {dimension: accuracy(units, dimension) for dimension in dimensions}
        return {
            "pairs": len(units),
            "accuracy": own_accuracy,
            "categories": rows,
            "macro": macro(rows),
        }

    by_name = defaultdict[str, list[Annotation]](list)
    for unit in own:
        for one in unit.annotations:
            by_name[one.annotator].append(one)
    pairs = [unit.pair for unit in own]
    return {
        **part(own),
        "agreement": {dimension: agreement(own, dimension) for dimension in dimensions},
        "ratios": {kind: mean_ratio(own, kind) for kind in KIND_WORDS},
        "slider": {kind: correlation(own, kind) for kind in KIND_WORDS},
        "jaccard": {kind: jaccard(own, kind) for kind in KIND_WORDS},
        "ambiguities": Counter(k for one in own for a in one.annotations for k in a.ambiguities),
        "annotators": {name: part(units(pairs, by_name[name])) for name in sorted(by_name)},
    }


def _answers(relation: Relation | None, path: Answers) -> dict[Dimension, Hashable | None]:
    """The answer in each dimension; ``None`` to a question that did not come up.

    An output that follows from its input has no divergent information, and so none that is
    factually wrong, although that is not asked. One that contradicts itself counts as neither
    following nor implying, as in the scripts of the authors' release.
    """
    neither = False if path.get("self_contradiction") else None
    return {
        "CAT": relation,
        "I|=O": path.get("follows", neither),
        "O|=I": path.get("implies", neither),
        "FWI": path.get("wrong", False if path.get("follows") else None),
        "AMB": path.get(AMBIGUOUS),
    }


def accuracy(found: Sequence[Unit], dimension: Dimension) -> dict[str, Any]:
    """Accuracy per annotator (APA): the share of answers that match any reference label.

    Compared is where both sides answer the question.

    Returns:
        ``mean`` and ``sd``, the population's standard deviation (as in the release), over
        ``annotators``, whose own accuracies these are; ``n`` answers could be compared.
    """
    right: dict[str, list[bool]] = defaultdict(list)
    for pair, own in found:
        ways = [_answers(one, path_to(pair.domain, one))[dimension] for one in pair.labels]
        wanted = {pair.ambiguous} if dimension == "AMB" else set(ways)
        for one in own if wanted - {None} else ():
            if (said := _answers(one.relation, one.path)[dimension]) is not None:
                right[one.annotator].append(said in wanted)
    shares = {name: fmean(one) for name, one in right.items()}
    return {
        "mean": fmean(shares.values()) if shares else None,
        "sd": pstdev(shares.values()) if len(shares) > 1 else None,
        "n": sum(map(len, right.values())),
        "annotators": shares,
    }


def agreement(found: Sequence[Unit], dimension: Dimension) -> Agreement:
    """Krippendorff's alpha (IAA), nominal, over pairs with two answers or more.

    A pair that references leave without a label, where others have one, counts for AMB alone.
    """
    labelled = [one for one in found if one.pair.labels]
    counts = [
        Counter(_answers(one.relation, one.path)[dimension] for one in own)
        for _, own in (found if dimension == "AMB" else labelled or found)
    ]
    columns = sorted({value for one in counts for value in one if value is not None}, key=str)
    return krippendorffs_alpha([[one[value] for value in columns] for one in counts])


def by_category(found: Sequence[Unit]) -> dict[Relation, dict[str, Any]]:
    """Precision, recall and F1 of each category that either side uses (FPC).

    A pair's label on the annotators' side is their most frequent one; of several that are equally
    frequent each counts, so that counts may sum to more than there are pairs. On the other side
    every reference label counts: the supports of Tables 5 and 6 sum to 25 and 8 pairs that
    references disagree on, and to 71 and 3. A share is 0 where nothing could be counted.
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
            shares = {"precision": p, "recall": r, "f1": f1}
            rows[label] = {**shares, "support": wanted[label], "annotated": said[label]}
    return rows


def macro(rows: Mapping[Relation, Mapping[str, Any]]) -> list[float] | None:
    """The mean precision, recall and F1 of the categories; ``None`` where there are none."""
    if not rows:
        return None
    return [fmean(row[share] for row in rows.values()) for share in ("precision", "recall", "f1")]


def tokens(text: str, spans: Sequence[Span]) -> tuple[frozenset[int], int]:
    """The tokens that spans touch, by number, and how many tokens there are: words and marks."""
    places = [match.span() for match in _TOKEN.finditer(text)]
    touched = (i for i, (a, b) in enumerate(places) if any(x < b and a < y for x, y in spans))
    return frozenset(touched), len(places)


def _highlighted(unit: Unit, kind: Kind) -> tuple[list[frozenset[int]], float | None]:
    """The tokens that each annotator highlights who was asked to, and their mean share."""
    text = unit.pair.input if kind == "divergent_input" else unit.pair.output
    spans = [getattr(one, kind) for one in unit.annotations]
    sets, n = [tokens(text, one)[0] for one in spans if one is not None], tokens(text, ())[1]
    return sets, fmean(len(one) / n for one in sets) if sets and n else None


def jaccard(found: Sequence[Unit], kind: Kind) -> dict[str, Any]:
    """Intersection over union of the highlighted tokens of two annotators (Table 13).

    The paper does not say what two annotators count who both highlight nothing: they agree.

    Returns:
        ``mean`` over ``pairs`` with two annotators or more; ``empty`` is the share of pairs of
        annotators that both highlight nothing.
    """
    means, empty = [], []
    for unit in found:
        pairs = list(combinations(_highlighted(unit, kind)[0], 2))
        if pairs:
            means.append(fmean(len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs))
            empty += [not (a | b) for a, b in pairs]
    mean, share = (fmean(means), fmean(empty)) if means else (None, None)
    return {"mean": mean, "pairs": len(means), "empty": share}


def mean_ratio(found: Sequence[Unit], kind: Kind) -> float | None:
    """The share of tokens that are highlighted, the mean over annotators, then pairs (Table 11)."""
    ratios = [value for one in found if (value := _highlighted(one, kind)[1]) is not None]
    return fmean(ratios) if ratios else None


def correlation(found: Sequence[Unit], kind: Kind) -> dict[str, Any]:
    """Pearson's r, with its two-sided p, of the share highlighted and the mean slider of ``n``
    pairs (Table 12); ``None`` where it is not defined.
    """
    from scipy.stats import pearsonr  # takes a second to import

    points = []
    for one in found:
        sliders = [a.slider for a in one.annotations if a.slider is not None]
        if sliders and (value := _highlighted(one, kind)[1]) is not None:
            points.append((value, fmean(sliders)))
    x, y = zip(*points, strict=True) if points else ((), ())
    if len(points) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
        return {"r": None, "p": None, "n": len(points)}
    r, p = map(float, pearsonr(x, y))
    return {"r": r, "p": p, "n": len(points)}


# ---- tables ----


class Part(NamedTuple):
    """A table in the form of the paper's table of this number; the first line is its head."""

    number: int
    title: str
    lines: Sequence[Sequence[str]]


def published() -> tuple[str, list[Part]]:
    """The paper's title, and its tables as data; nothing is computed with them."""
    path = Path(__file__).with_name("published.yaml")
    data: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return data["paper"], [
        Part(one["table"], one["title"], [one["head"], *one["rows"]]) for one in data["tables"]
    ]


def _markdown(
    run: str,
    who: Sequence[Mapping[str, Any]],
    figures: Mapping[Domain, Mapping[str, Any]],
    whose: str = "published, on other pairs and annotators",
) -> str:
    """Our tables, each with the published one of its number below, unless nobody annotated that."""
    parts = list(_tables(figures))
    paper, theirs = published()
    shown = [(one, f"{one.title}: measured here") for one in parts]
    for one in theirs:
        if not any(f"{name} domain" in one.title for name in DIMENSIONS.keys() - figures.keys()):
            where = f"{whose} ({paper}, Table {one.number})"
            shown.append((one, f"*{one.title}: {where}*"))
    did = align([list(who[0]), *([str(value) for value in line.values()] for line in who)])
    lines = [f"# Annotations: {run}", did]
    for number in dict.fromkeys(one.number for one in parts):
        lines.append(f"## In the form of Table {number}")
        for one, said in shown:
            lines += [said, align(one.lines)] if one.number == number else []
    return "\n\n".join(lines) + "\n"


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


def _tables(figures: Mapping[Domain, Mapping[str, Any]]) -> Iterator[Part]:
    names = sorted({name for own in figures.values() for name in own["annotators"]})
    columns = [["metric", "APA", "IAA", *names]]
    for domain, own in figures.items():
        for dimension, found in own["accuracy"].items():
            sd = "" if found["sd"] is None else f" ({found['sd']:.2f})"
            alpha = _two(own["agreement"][dimension]["alpha"])
            each = (_two(found["annotators"].get(name)) for name in names)
            columns.append([f"{domain} {dimension}", _two(found["mean"]) + sd, alpha, *each])
    head, apa, iaa, *by_annotator = zip(*columns, strict=True)
    yield Part(4, "APA (SD) and IAA of all annotators", [head, apa, iaa])
    for domain, own in figures.items():
        yield Part(5, f"FPC of all annotators, {domain} domain", _categories({"": own}))
    nothing: dict[str, Any] = {"categories": {}, "macro": None}
    for domain, own in figures.items():
        by_name = {name: own["annotators"].get(name, nothing) for name in names}
        yield Part(6, f"FPC by annotator, {domain} domain", _categories(by_name))
    yield Part(7, "APA by annotator", [("annotator", *head[1:]), *by_annotator])
    for domain, own in figures.items():
        if domain == "hotel":
            yield from _highlights(own)
        else:
            times = [[k.replace("_", " "), str(own["ambiguities"].get(k, 0))] for k in AMBIGUITIES]
            yield Part(14, f"Kinds of ambiguity, {domain} domain", [["kind", "times"], *times])


def _highlights(own: Mapping[str, Any]) -> Iterator[Part]:
    ratios = [[KIND_WORDS[kind], _two(ratio)] for kind, ratio in own["ratios"].items()]
    yield Part(
        11, "Ratios of highlighted tokens, hotel domain", [["information", "ratio"], *ratios]
    )
    lines = [["information", "r", "p", "pairs"]]
    for kind, one in own["slider"].items():
        lines.append([KIND_WORDS[kind], _two(one["r"]), _two(one["p"], 3), str(one["n"])])
    yield Part(12, "Pearson correlation with the slider, hotel domain", lines)
    lines = [["all annotators", *KIND_WORDS.values()]]
    for title, key in (("Jaccard index", "mean"), ("both highlight nothing", "empty")):
        lines.append([title, *(_two(one[key]) for one in own["jaccard"].values())])
    if references := own.get("references"):
        lines.append(["references", *(_two(one["mean"]) for one in references)])
    yield Part(13, "Jaccard index of highlights, hotel domain", lines)


def _categories(each: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """P, R, F1, S and # of each annotator; a dash where S and # are 0, as in Table 6."""
    used = [one for one in RELATIONS if any(one in own["categories"] for own in each.values())]
    head, last = ["category"], ["Macro average"]
    lines = {label: [RELATION_WORDS[label][0]] for label in used}
    for name, own in each.items():
        head += [f"{name} {one}".strip() for one in ("P", "R", "F1", "S", "#")]
        for label, line in lines.items():
            row = own["categories"].get(label)
            *shares, support, said = row.values() if row else (None, None, None, 0, 0)
            line += [*map(_two, shares), str(support), str(said)]
        last += [*map(_two, own["macro"] or [None] * 3), "", ""]
    return [head, *lines.values(), last]


def _two(value: float | None, digits: int = 2) -> str:
    return DASH if value is None else f"{value:.{digits}f}"
