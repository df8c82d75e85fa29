"""Can a query-blind classifier tell gold rows from distractors?

For the card of a data set, and for ``benchmarks/shortcuts.py``. Classifiers that never see the
query learn from some tables and are tested on others; a rule without learning takes the rows whose
values are said least often. They need scikit-learn, which is slow to load.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tablemend.datasets.splits import SPLITS
from tablemend.errors import install
from tablemend.records import Example, Fact
from tablemend.statistics import Array, Rate, interval, mean_interval

EXAMPLES = 100
"""Most examples to learn from, and to test on, for a card."""
FEWEST = 20
ROWS = 24
"""Rows of a context that are looked at: hard ones have 150. What a row is beside the others of its
context is worked out before."""
COMPONENTS = 10
"""Dimensions of the n-grams for gradient boosting."""
RESAMPLES = 200
GOLD, ALONE = -1, -2
"""The group of gold rows; of rows whose groups nobody noted it is ``ALONE`` or less."""
NUMBERS = ("repetition", "ranks", "places and sizes", "shapes")
TEXTS = ("names", "values", "words around", "sentences")
EVERYTHING = "everything"
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*")
_WORD = re.compile(r"[^\W\d_]{3,}")


class Shortcuts(NamedTuple):
    """How well gold is told from the other rows without the query, with 95 % intervals over tables.

    Attributes:
        rows: AUC of a classifier over all rows.
        within: the mean of its AUCs within a context.
        rule: likewise of the rule without learning: rows whose values are said least often in
            their column come first.
        rule_gold: of as many rows as are gold, those first by the rule: the share that is gold.
        chance: that share of rows drawn by lot.
    """

    rows: Rate
    within: Rate
    rule: Rate
    rule_gold: Rate
    chance: float


class _Rows(NamedTuple):
    """Rows of several contexts, one beside the other.

    Attributes:
        tables, contexts, groups: of each row; the groups as in ``Example.groups``.
        numbers: of each family in :data:`NUMBERS`.
        texts: of each kind in :data:`TEXTS`.
        rule: for each query: its table, AUC, share of gold and chance by the rule; those of the
            query that is asked, then with every group in turn.
    """

    tables: list[str]
    contexts: Array
    groups: Array
    numbers: dict[str, Array]
    texts: dict[str, list[str]]
    rule: tuple[list[tuple[str, float, float, float]], ...]


class Probe:
    """What the rows of two sets of examples of different tables are made of."""

    def __init__(self, train: Sequence[Example], test: Sequence[Example]) -> None:
        from scipy.sparse import csr_array, hstack
        from sklearn.preprocessing import StandardScaler

        self.train, self.test = _rows_of(train), _rows_of(test)
        self.views: dict[str, tuple[Array, Any]] = {}
        """By family what gradient boosting reads, and logistic regression: train rows first."""
        size = len(self.train.groups)
        for family in NUMBERS:
            plain = np.vstack([self.train.numbers[family], self.test.numbers[family]])
            scaled = StandardScaler().fit(plain[:size]).transform(plain)
            self.views[family] = plain, csr_array(scaled)
        for kind in TEXTS:
            self.views[kind] = n_grams(self.train.texts[kind], self.test.texts[kind])
        boosted, regressed = zip(*self.views.values(), strict=True)
        self.views[EVERYTHING] = np.hstack(boosted), hstack(regressed, format="csr")

    def scores(self, family: str = EVERYTHING, boosting: bool = True) -> Array:
        """Scores of the test rows by gradient boosting, or logistic regression.

        Args:
            family: one of :data:`NUMBERS`, :data:`TEXTS`, or everything.
            boosting: else by logistic regression.
        """
        features, size = self.views[family][not boosting], len(self.train.groups)
        index, gold = map(np.concatenate, zip(*_asked(self.train), strict=True))
        return held_out_scores(features[:size][index], gold, features[size:], boosting)

    def figures(self, scores: Array, in_turn: bool = False) -> Shortcuts:
        """The figures of the scores of the test rows.

        Args:
            scores: of :meth:`scores`.
            in_turn: every group of a context is gold in turn, where groups are noted: all queries
                of a context count alike. That gives more pairs, but shows only what differences
                in size give away; what happens to gold after the draw shows in the query that is
                asked alone.
        """
        asked = _asked(self.test, in_turn)
        within = [_auc(gold, scores[index]) for index, gold in asked]
        clusters = [self.test.tables[index[0]] for index, _ in asked]
        index, gold = map(np.concatenate, zip(*asked, strict=True))
        of, rule, share, chance = zip(
            *self.train.rule[in_turn], *self.test.rule[in_turn], strict=True
        )
        return Shortcuts(
            auc_interval(gold, scores[index], [self.test.tables[row] for row in index]),
            mean_interval(within, clusters=clusters),
            mean_interval(rule, clusters=of),
            mean_interval(share, clusters=of),
            float(np.mean(chance)),
        )


def say_shortcuts(out: Path) -> str:
    """A paragraph for the card of a data set: whether gold is told without the query."""
    sets: list[list[Example]] = []
    for splits in (SPLITS[:1], SPLITS[1:]):
        paths = [path for split in splits if (path := out / f"{split}.jsonl").exists()]
        lines = islice((line for path in paths for line in path.open(encoding="utf-8")), EXAMPLES)
        sets.append([Example.from_json(json.loads(line)) for line in lines])
    if min(sum(map(holds_both, each)) for each in sets) < FEWEST:
        return (
            f"Fewer than {FEWEST} examples with gold rows in train, or in validation and test "
            "together, are too few to measure whether who does not read the query can tell them."
        )
    try:
        probe = Probe(*sets)
    except ModuleNotFoundError:
        return f"Whether gold is told without the query is not measured: {install('metrics')}."
    scores = probe.scores()
    found, turns = (probe.figures(scores, in_turn) for in_turn in (False, True))
    said = (
        "Who does not read the query (`benchmarks/shortcuts.py`; 95 % intervals, 0.5 is chance): "
        "gradient boosting over repetition, ranks, places, shapes and n-grams tells gold rows of "
        f"other tables from distractors with an AUC of {say(found.rows)} over all rows, and of "
        f"{say(found.within)} within a context. The rule that takes the rows whose values are said "
        f"least often in their column has {say(found.rule)} within a context; of as many rows as "
        f"are gold, {say(found.rule_gold)} of those that it takes are (by lot {found.chance:.2f})."
    )
    if any(example.groups for each in sets for example in each):
        said += (
            f" With every group of a context as gold in turn: {say(turns.within)}, the rule "
            f"{say(turns.rule)} and {say(turns.rule_gold)} (by lot {turns.chance:.2f})."
        )
    return said


def holds_both(example: Example) -> bool:
    """Gold rows and others."""
    return len({fact.violates is None for fact in example.facts}) == 2


def say(rate: Rate) -> str:
    """``0.50 [0.45, 0.55]``."""
    if rate["rate"] is None:
        return "unknown"
    ends = "" if rate["low"] is None else f" [{rate['low']:.2f}, {rate['high']:.2f}]"
    return f"{rate['rate']:.2f}{ends}"


def most_said(examples: Sequence[Example]) -> tuple[Rate, float]:
    """How often the value that is said most often in the query's column is one that is asked for.

    Returns:
        The rate, and that of a value drawn by lot among those of the column.
    """
    found, chances, tables = [], [], []
    for example in examples:
        columns = {condition.column for condition in example.constraints.conditions}
        facts = [fact for fact in example.facts if fact.column in columns]
        gold = {(fact.column, fact.value) for fact in facts if fact.violates is None}
        counts = Counter((fact.column, fact.value) for fact in facts)
        for column in {column for column, _ in gold}:
            own = {value: n for value, n in counts.items() if value[0] == column}
            most = [value for value, n in own.items() if n == max(own.values())]
            found.append(sum(value in gold for value in most) / len(most))
            chances.append(sum(value in gold for value in own) / len(own))
            tables.append(example.source_hash)
    return mean_interval(found, clusters=tables), float(np.mean(chances)) if chances else 0.0


# ---- the rows of a context ----


def _rows_of(examples: Sequence[Example]) -> _Rows:
    """The rows of contexts that hold gold and others, at most :data:`ROWS` of each."""
    tables, contexts, groups = list[str](), list[int](), list[int]()
    numbers: dict[str, list[Array]] = {family: [] for family in NUMBERS}
    texts: dict[str, list[str]] = {kind: [] for kind in TEXTS}
    rule: tuple[list[tuple[str, float, float, float]], ...] = [], []
    rng = np.random.default_rng(0)
    for number, example in enumerate(examples):
        rows: dict[tuple[bool, int], list[Fact]] = defaultdict(list)
        for fact in sorted(example.facts, key=lambda fact: fact.adversarial):
            rows[fact.violates is None, fact.row].append(fact)
        noted = example.groups
        group = [GOLD if gold else noted[n] if noted else ALONE - n for gold, n in rows]
        of, facts = np.array(group), list(rows.values())
        if not any(True for _ in _queries(of, in_turn=True)):
            continue
        found, rarity = _numbers_of(example.adversarial_context, facts)
        for in_turn in (False, True):
            for mask in _queries(of, in_turn):
                asked = _auc(mask, rarity), _share_of_first(mask, rarity), float(mask.mean())
                rule[in_turn].append((example.source_hash, *asked))
        # whole groups, gold first: AUCs are then those of the groups as they are
        order = {one: rng.random() for one in dict.fromkeys(group)} | {GOLD: -1.0}
        most = max(ROWS, 2 * group.count(GOLD))
        chosen = sorted(range(len(group)), key=lambda row: order[group[row]])[:most]
        for family, values in found.items():
            numbers[family].append(values[chosen])
        for row in chosen:
            for kind, text in zip(TEXTS, _texts_of(example, facts[row]), strict=True):
                # two words for all: texts that have none in common have no n-grams
                texts[kind].append(f"the text {text}")
        tables += [example.source_hash] * len(chosen)
        contexts += [number] * len(chosen)
        groups += of[chosen].tolist()
    return _Rows(
        tables,
        np.array(contexts),
        np.array(groups),
        {family: np.vstack(values) for family, values in numbers.items()},
        texts,
        rule,
    )


def _numbers_of(context: str, rows: list[list[Fact]]) -> tuple[dict[str, Array], Array]:
    """Of each family the features of all rows, alone and beside the others; and how rarely their
    values are said.
    """
    columns: dict[str, list[str]] = defaultdict(list)
    for fact in (fact for facts in rows for fact in facts):
        columns[fact.column].append(fact.value)
    counts = {column: Counter(values) for column, values in columns.items()}
    ranked = {column: _ranks(values) for column, values in columns.items()}
    said = Counter(_NUMBER.findall(context))
    words = Counter(_WORD.findall(context.lower()))
    names = Counter(facts[0].entity for facts in rows)
    paragraphs = [match.start() for match in re.finditer("\n\n", context)]
    most = max(map(len, rows))
    cells = [{(fact.column, fact.value) for fact in facts} for facts in rows]
    known = {cell: n for n, cell in enumerate(set[tuple[str, str]]().union(*cells))}
    holds = np.zeros((len(rows), len(known)))
    for place, own in enumerate(cells):
        holds[place, [known[cell] for cell in own]] = 1
    common = holds @ holds.T  # cells that two rows have in common
    np.fill_diagonal(common, 0)
    found: dict[str, list[list[float]]] = {family: [] for family in NUMBERS}
    rarity = []
    for place, facts in enumerate(rows):
        name = facts[0].entity
        stated = [fact for fact in facts if fact.value != name]
        times = [counts[fact.column][fact.value] for fact in stated]
        rarity.append(-sum(map(log, times)) / len(times) if times else -5.0)
        figures = [figure for fact in stated for figure in _NUMBER.findall(fact.value)]
        worded = [words[word] for fact in stated for word in _WORD.findall(fact.value.lower())]
        named = [words[word] for word in _WORD.findall(name.lower())]
        found["repetition"].append(
            [
                *_spread(times),
                *_spread([t / len(columns[f.column]) for t, f in zip(times, stated, strict=True)]),
                *_spread([said[figure] for figure in figures]),
                *_spread(np.log1p([said[figure] for figure in figures])),
                *_spread(np.log1p(worded)),
                *_spread(np.log1p(named)),
                common[place].max(),
                common[place].sum(),
                names[name],
                context.count(name),
            ]
        )
        numbered = [ranked[f.column][f.value] for f in stated if f.value in ranked[f.column]]
        ranks, crowds, gaps = zip(*numbered, strict=True) if numbered else ((), (), ())
        edges = [abs(rank - 0.5) for rank in ranks]
        found["ranks"].append([*_spread(ranks), *_spread(edges), *_spread(crowds), *_spread(gaps)])
        spans = sorted({fact.adversarial[2:] for fact in facts})
        start, end = spans[0][0], spans[-1][1]
        before = [position for position in paragraphs if position < start]
        found["places and sizes"].append(
            [
                start / len(context),
                place / len(rows),
                len(before),
                start - (before[-1] + 2 if before else 0),
                (end - start) / len(context),
                len(spans),
                sum(end - start for start, end in spans),
                len(facts),
                len(facts) / most,
                len(rows),
            ]
        )
        text = " ".join(context[start:end] for start, end in spans)
        plain = [figure.replace(",", "").rstrip(".") for figure in figures]
        found["shapes"].append(
            [
                sum(map(str.isdigit, text)) / len(text),
                sum(map(str.isupper, text)) / len(text),
                len(text) - len(text.encode("ascii", "ignore")),
                sum("," in fact.value for fact in stated),
                len(name),
                *_spread([len(fact.value) for fact in stated]),
                *_spread([figure.endswith("0") for figure in plain]),
                *_spread([len(figure.partition(".")[2]) for figure in plain]),
                *_spread([len(figure) for figure in plain]),
            ]
        )
    return {family: _beside_others(np.array(own)) for family, own in found.items()}, np.array(
        rarity
    )


def _ranks(values: list[str]) -> dict[str, tuple[float, float, float]]:
    """Of the values of a column that hold numbers: rank, share of the others near by, and distance
    from the next.
    """
    found = [(value, match[0]) for value in values if (match := _NUMBER.search(value))]
    if len(found) < 4:
        return {}
    numbers = np.array([float(number.replace(",", "").rstrip(".")) for _, number in found])
    order = np.sort(numbers)
    middle = order[3 * len(order) // 4] - order[len(order) // 4] or 1
    left, right = np.searchsorted(order, numbers), np.searchsorted(order, numbers, "right")
    low = np.searchsorted(order, numbers - 0.15 * middle)
    high = np.searchsorted(order, numbers + 0.15 * middle, "right")
    steps = np.diff(order, prepend=-np.inf, append=np.inf)
    gaps = np.minimum(steps[:-1], steps[1:])[left] / middle
    ranks = np.stack([(left + right) / 2 / len(order), (high - low) / len(order), gaps], axis=1)
    return {value: tuple(own) for (value, _), own in zip(found, ranks.tolist(), strict=True)}


def _spread(values: Any) -> tuple[float, float, float]:
    if not len(values):
        return (-1.0,) * 3
    return min(values), sum(values) / len(values), max(values)


def _beside_others(values: Array) -> Array:
    """Features of the rows of a context, and their distances from its mean in deviations."""
    known = values >= 0
    size = known.sum(0).clip(1)
    away = np.where(known, values - (values * known).sum(0) / size, 0)
    deviation = np.sqrt((away**2).sum(0) / size)
    return np.hstack([values, away / np.where(deviation > 0, deviation, 1)])


def _texts_of(example: Example, facts: list[Fact]) -> tuple[str, ...]:
    """A row's name, values, sentences without either, and sentences."""
    context, name = example.adversarial_context, facts[0].entity
    values = " | ".join(f"{fact.column}: {fact.value}" for fact in facts if fact.value != name)
    spans = sorted({fact.adversarial[2:] for fact in facts})
    around = []
    for start, end in spans:
        text, position = "", start
        for fact in facts:
            if start <= fact.adversarial.start < end:
                text += context[position : fact.adversarial.start] + "VALUE"
                position = fact.adversarial.end
        around.append((text + context[position:end]).replace(name, "NAME"))
    said = " | ".join(context[start:end] for start, end in spans)
    return name, values, " | ".join(around), said


# ---- queries, and what is gold ----


def _queries(groups: Array, in_turn: bool) -> Iterator[Array]:
    """Which rows of a context are gold by its query, or by each group's; not where all or none
    are.
    """
    for group in np.unique(groups[groups >= GOLD]) if in_turn else (GOLD,):
        gold = groups == group
        if gold.any() and not gold.all():
            yield gold


def _asked(rows: _Rows, in_turn: bool = False) -> list[tuple[Array, Array]]:
    """For each query the indices of its context's rows, and which of them are gold."""
    starts = np.flatnonzero(np.diff(rows.contexts, prepend=-1))
    contexts = np.split(np.arange(len(rows.contexts)), starts[1:])
    return [(own, gold) for own in contexts for gold in _queries(rows.groups[own], in_turn)]


def _auc(gold: Array, scores: Array) -> float:
    from scipy.stats import rankdata

    n = gold.sum()
    return float((rankdata(scores)[gold].mean() - (n + 1) / 2) / (len(gold) - n))


def _share_of_first(gold: Array, scores: Array) -> float:
    """Of as many rows as are gold, those with the highest scores, the share that is gold; among
    ties a lot decides.
    """
    n = gold.sum()
    last = np.sort(scores)[-n]
    first, tied = scores > last, scores == last
    return float((gold[first].sum() + gold[tied].mean() * (n - first.sum())) / n)


# ---- classifiers ----


def n_grams(train: list[str], test: list[str]) -> tuple[Array, Any]:
    """Character and word n-grams, weighted as in the train texts, which come first: in few
    dimensions, and sparse.
    """
    from scipy.sparse import hstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    size = len(train)
    texts = [re.sub(r"\s+", " ", text) for text in (*train, *test)]
    few, blocks = [], []
    for analyzer, sizes in (("char_wb", (1, 3)), ("word", (1, 2))):
        tfidf = TfidfVectorizer(analyzer=analyzer, ngram_range=sizes, min_df=3, max_features=20_000)
        grams = tfidf.fit(texts[:size]).transform(texts)
        svd = TruncatedSVD(min(COMPONENTS, grams.shape[1]), random_state=0)
        few.append(svd.fit(grams[:size]).transform(grams))
        blocks.append(grams)
    return np.hstack(few), hstack(blocks, format="csr")


def held_out_scores(train: Any, labels: Any, test: Any, boosting: bool) -> Array:
    """Scores of the test items by gradient boosting, or logistic regression, over the others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    if boosting:
        classifier = HistGradientBoostingClassifier(max_iter=100, random_state=0)
    else:
        classifier = LogisticRegression(solver="liblinear", max_iter=300)
    classifier.fit(train, labels)
    scores: Array = classifier.predict_proba(test)[:, 1]
    return scores


def auc_interval(labels: Sequence[bool] | Array, scores: Array, tables: Sequence[str]) -> Rate:
    """The AUC with its interval: tables are drawn with replacement."""
    order = np.argsort(scores, kind="stable")
    gold = np.asarray(labels, dtype=bool)[order]
    of, place = np.unique(tables, return_inverse=True)
    ties = np.flatnonzero(np.diff(scores[order], prepend=-np.inf))
    rng = np.random.default_rng(0)
    found = []
    for draw in range(RESAMPLES + 1):
        drawn = rng.integers(0, len(of), len(of)) if draw else np.arange(len(of))
        times = np.bincount(drawn, minlength=len(of))[place[order]]
        high, low = (np.add.reduceat(times * kind, ties) for kind in (gold, ~gold))
        pairs = high.sum() * low.sum()
        found.append((high * (low.cumsum() - low / 2)).sum() / pairs if pairs else np.nan)
    return interval(found[0], np.array(found[1:]), len(place))
