"""How annotators agree with references and with each other (section 3.4 and appendix C)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from tablemend.datasets.logic.pair import Annotation, Domain, Pair, Span
from tablemend.records import RELATIONS, Relation
from tablemend.statistics import Agreement, krippendorffs_alpha
from tablemend.tasks.logic.tree import AMBIGUOUS, Answers, path_to

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


def of_annotator(found: Sequence[Unit], name: str) -> list[Unit]:
    """The pairs that one annotator annotated, with these annotations alone."""
    own = [one for _, every in found for one in every if one.annotator == name]
    return units([pair for pair, _ in found], own)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


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
    return Accuracy(_mean([*shares.values()]), sd, sum(map(len, right.values())), shares)


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
    return Jaccard(_mean(means), len(means), _mean(empty))


def ratio(unit: Unit, kind: Kind) -> float | None:
    """The share of tokens that are highlighted, the mean over annotators."""
    sets, n = highlighted(unit, kind)
    return fmean(len(one) / n for one in sets) if sets and n else None


def mean_ratio(found: Sequence[Unit], kind: Kind) -> float | None:
    """:func:`ratio`, the mean over pairs (Table 11)."""
    return _mean([value for one in found if (value := ratio(one, kind)) is not None])


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


def ambiguities(found: Sequence[Unit]) -> Counter[str]:
    """How often each kind of ambiguity is named (Table 14)."""
    return Counter(kind for one in found for a in one.annotations for kind in a.ambiguities)
