"""The figures of an audit: counts by part, where errors concentrate, and what became worse."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

from tablemend import __version__
from tablemend.errors import TablemendError
from tablemend.reports.content import listed, p_value, percent
from tablemend.reports.tabulation import length_bins
from tablemend.statistics import (
    compare_events,
    compare_rates,
    concentration,
    design_effect,
    holm,
    rate_interval,
)

VERSION = 1
"""Of audit.json; raised with every change of what stands under a name."""
PARTS = ("type", "model", "table", "column", "length", "time", "kind")
SHOWN = 20
"""Parts of one sort, and examples, that are kept."""
PLACES = 5
"""Lines that are named for each reason."""
MOST_OUTCOMES = 100_000
"""Answers up to which each one's outcome is kept, for a paired test with a later audit."""
LEVEL = 0.01
"""Corrected p up to which errors are said to concentrate."""
WORSE = 0.05
"""Corrected p up to which a rate is said to have become worse."""
MOST_DAYS = 31

Cluster = dict[str, list[int]]
"""By table: answers that show it, answers."""


class Tally:
    """Counts over notes (:meth:`AnswerScorer.note`), one at a time, in any number."""

    def __init__(self) -> None:
        self.read = self.claims = self.claims_scored = self.wrong = 0
        self.skipped: dict[str, dict[str, Any]] = {}
        self.unscored: dict[str, dict[str, Any]] = {}
        self.all: Cluster = {}
        self.left: Cluster = {}
        self.parts: dict[str, dict[str, Cluster]] = {part: {} for part in PARTS}
        self.labels: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.fields: dict[str, Counter[str]] = defaultdict(Counter)
        self.scorers: Counter[str] = Counter()
        self.outcomes: dict[tuple[str, str], tuple[str, list[str] | None]] = {}
        self.repeated = 0
        self.examples: dict[str, list[tuple[str, int, dict[str, Any]]]] = defaultdict(list)

    def add(self, note: Mapping[str, Any]) -> None:
        """Count one note."""
        self.read += 1
        if "skipped" in note:
            _count_reason(self.skipped, note["skipped"], note["place"])
            return
        for name, path in note["fields"].items():
            self.fields[name][path] += 1
        # tables share 65,536 clusters, so that memory stays flat; a shared one widens an interval
        cluster, missed = note["table"][:4], "unscored" in note
        _count(self.left, cluster, missed)
        self.scorers[note.get("scorer", "")] += 1
        types = None if missed else sorted({one["type"] for one in note["errors"]})
        if len(self.outcomes) <= MOST_OUTCOMES:
            key = (note["id"], note["model"])
            self.repeated += key in self.outcomes
            self.outcomes[key] = (note["table"], types)
        if types is None:
            _count_reason(self.unscored, note["unscored"], note["place"])
            return
        flawed = bool(types)
        _count(self.all, cluster, flawed)
        self.claims += note["total"]
        self.claims_scored += note["scored"]
        self.wrong += len(note["errors"])
        parts = {"model": note["model"], "table": note["table"], "time": note["time"]}
        parts |= {"length": str(note["length"]), "kind": note["kind"]}
        for part, value in parts.items():
            if value:
                _count(self.parts[part].setdefault(value, {}), cluster, flawed)
        self.labels.setdefault(note["table"], note["label"])
        for column, wrong in note["columns"].items():
            _count(self.parts["column"].setdefault(column, {}), cluster, bool(wrong))
        for one in note["errors"]:
            self.names[one["type"]] = one["name"]
        for kind in types:
            _count(self.parts["type"].setdefault(kind, {}), cluster, True)
            # any of them as likely as another, and the same ones in every run
            order = hashlib.sha256(note["place"].encode()).hexdigest()
            held = self.examples[kind]
            heapq.heappush(held, (_turned(order), self.read, dict(note)))
            if len(held) > SHOWN:
                heapq.heappop(held)

    def chosen(self) -> list[dict[str, Any]]:
        """Notes of answers to look at: of each type of error in turn."""
        turns = [
            [note for *_, note in sorted(own, key=lambda one: one[:2], reverse=True)]
            for _, own in sorted(self.examples.items())
        ]
        mixed = (note for turn in zip_longest(*turns) for note in turn if note is not None)
        return list(islice({note["place"]: note for note in mixed}.values(), SHOWN))

    def results(self, inputs: Sequence[str]) -> dict[str, Any]:
        """audit.json, but for the examples."""
        one_table = len(self.parts["table"]) < 2  # then answers are what was drawn
        by = {part: self._rates(part, one_table or part == "table") for part in PARTS}
        found: dict[str, Any] = {
            "version": VERSION,
            "tablemend": __version__,
            "scorers": sorted(filter(None, self.scorers)),
            "inputs": list(inputs),
            "fields": {name: dict(own.most_common()) for name, own in sorted(self.fields.items())},
            "answers": {
                "read": self.read,
                "scored": _total(self.all)[1],
                "unscored": _total(self.left)[0],
                "skipped": sum(one["count"] for one in self.skipped.values()),
            },
            "skipped": self.skipped,
            "unscored": self.unscored,
            "tables": len(self.parts["table"]),
            "flawed": _rate(self.all, one_table),
            "unscored_rate": _rate(self.left, one_table),
            "claims": {
                "total": self.claims,
                "scored": self.claims_scored,
                "wrong": self.wrong,
            },
            "by": by,
        }
        found["sentences"] = self._sentences(by)
        found["outcomes"] = self._outcomes()
        return found

    def _rates(self, part: str, alone: bool) -> dict[str, Any]:
        """The rates of one sort of part: all of length and time in order, of others the worst."""
        groups = self.parts[part]
        if part == "type":
            groups = {name: _with_all(own, self.all) for name, own in groups.items()}
        elif part == "length":
            groups = _binned(groups)
        elif part == "time":
            groups = _by_period(groups)
        elif part in ("table", "column"):  # what was seen once says nothing
            groups = {name: own for name, own in groups.items() if _total(own)[1] > 1}
        rates = {name: _rate(own, alone) for name, own in groups.items()}
        for name, own in rates.items():
            if part in ("table", "type"):
                own["label"] = (self.labels if part == "table" else self.names)[name]
        if part in ("length", "time"):
            return rates
        worst = sorted(rates, key=lambda name: (-(rates[name]["low"] or 0), name))
        return {name: rates[name] for name in worst[:SHOWN]}

    def _sentences(self, by: Mapping[str, Any]) -> list[str]:
        """Where errors concentrate, of what chance does not explain."""
        said: list[tuple[float, str]] = []
        for part, where in (("table", "tables"), ("column", "columns")):
            groups = self.parts[part]
            counts = [_total(own) for own in groups.values()]
            total, of = sum(c for c, _ in counts), sum(n for _, n in counts)
            if len(groups) < 3 or total < 10 or of > 10**9:
                continue
            most, share, p = concentration(counts)
            fullest = sorted(groups, key=lambda name: (-_total(groups[name])[0], name))[:most]
            size = sum(_total(groups[name])[1] for name in fullest) / of
            names = listed([f"“{self.labels.get(name, name)}”" for name in fullest[:3]])
            kind = "flawed answers" if part == "table" else "errors by column"
            if share < 1.25 * size or most > len(groups) / 2:
                continue
            more = f": {names}" if most <= 3 else ""
            checked = "the answers" if part == "table" else "what was checked"
            have = f"{where}, with {percent(size)} % of {checked}, have {percent(share)} %"
            said.append((p, f"{most} of {len(groups)} {have} of the {kind}{more}"))
        for part in ("model", "length", "time", "kind"):
            groups = by[part]
            count, n = _total(self.all)
            for name, own in groups.items() if len(groups) > 1 else ():
                rest = count - own["count"], n - own["n"], own["effect"]
                gap, _, _, p_own = compare_rates(rest, (own["count"], own["n"], own["effect"]))
                if gap is not None and p_own is not None and gap > 0:
                    are = f"{_TITLES[part]} {name}: {percent(own['rate'])} % of answers are flawed"
                    said.append((p_own, f"{are}, of the others {percent(rest[0] / rest[1])} %"))
        corrected = holm([p for p, _ in said])
        order = sorted(range(len(said)), key=lambda place: (corrected[place], place))
        shown = [place for place in order if corrected[place] <= LEVEL]
        return [f"{said[place][1]} (p {p_value(corrected[place])})." for place in shown]

    def _outcomes(self) -> dict[str, Any]:
        """By id the table of an answer and the types of its errors, ``null`` where unscored;
        nothing where ids repeat or answers are too many.
        """
        if self.repeated or len(self.outcomes) > MOST_OUTCOMES:
            return {}
        alone = Counter(name for name, _ in self.outcomes)
        return {
            name if alone[name] == 1 else f"{name} of {model}": list(own)
            for (name, model), own in self.outcomes.items()
        }


_TITLES = {"length": "Answers of", "time": "In", "model": "Model", "kind": "Answers for"}


def _turned(order: str) -> str:
    """A key whose smallest is another's largest: a heap drops its smallest first."""
    return order.translate(str.maketrans("0123456789abcdef", "fedcba9876543210"))


def _count(groups: Cluster, cluster: str, shows: bool) -> None:
    own = groups.setdefault(cluster, [0, 0])
    own[0] += shows
    own[1] += 1


def _count_reason(reasons: dict[str, dict[str, Any]], reason: str, place: str) -> None:
    """Count a reason; what is quoted in brackets or named after a colon is the answer's own."""
    own = reasons.setdefault(reason.partition(" (")[0][:120], {"count": 0, "places": []})
    own["count"] += 1
    if len(own["places"]) < PLACES:
        own["places"].append(place)


def _total(groups: Cluster) -> tuple[int, int]:
    return sum(c for c, _ in groups.values()), sum(n for _, n in groups.values())


def _with_all(shown: Cluster, everything: Cluster) -> Cluster:
    """Counts of what only answers with it were counted by, over all answers."""
    return {name: [shown.get(name, [0])[0], n] for name, (_, n) in everything.items()}


def _rate(groups: Cluster, alone: bool = False) -> dict[str, Any]:
    """A rate over answers; its interval takes tables for what was drawn, or answers ``alone``."""
    count, n = _total(groups)
    effect = 1.0
    if not alone:
        values = [float(k < c) for c, size in groups.values() for k in range(size)]
        clusters = [name for name, (_, size) in groups.items() for _ in range(size)]
        effect = design_effect(values, clusters) if n else 1.0
    return {"count": count, **rate_interval(count, n, effect), "effect": round(effect, 4)}


def _merged(groups: Iterable[Cluster]) -> Cluster:
    found: Cluster = {}
    for own in groups:
        for name, (count, n) in own.items():
            one = found.setdefault(name, [0, 0])
            one[0], one[1] = one[0] + count, one[1] + n
    return found


def _binned(groups: Mapping[str, Cluster]) -> dict[str, Cluster]:
    """Lengths in a few groups of about the same size."""
    sizes = {int(name): _total(own)[1] for name, own in groups.items()}
    bins = length_bins([length for length, n in sorted(sizes.items()) for _ in range(n)])
    return {
        f"{low} words" if low == high else f"{low} to {high} words": _merged(
            own for name, own in groups.items() if low <= int(name) <= high
        )
        for low, high in bins
    }


def _by_period(groups: Mapping[str, Cluster]) -> dict[str, Cluster]:
    """Days; months where days are many, and years where months are."""
    for length in (10, 7, 4):
        periods = sorted({day[:length] for day in groups})
        if len(periods) <= MOST_DAYS:
            break
    return {
        period: _merged(own for day, own in groups.items() if day.startswith(period))
        for period in periods
    }


def compare_audits(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What became worse or better from one audit.json to another: flawed and unscored answers,
    each type of error, and flawed answers of each model that both have.

    Where at least half of the answers of both have their ids in common the test is that of pairs,
    over those; else that of two proportions. Holm's correction is over all of them.
    """
    pairs = [(own, old["outcomes"].get(name)) for name, own in new["outcomes"].items()]
    shared = [(table, before[1], after) for (table, after), before in pairs if before is not None]
    paired = len(shared) * 2 >= max(len(old["outcomes"]), len(pairs)) > 0
    scored = [one for one in shared if one[1] is not None and one[2] is not None]
    kinds = dict.fromkeys([*old["by"]["type"], *new["by"]["type"]])
    nothing = {"count": 0, "effect": 1.0}
    flawed, unscored = [
        [(shows(before), shows(after)) for _, before, after in own]
        for own, shows in ((scored, bool), (shared, lambda types: types is None))
    ]
    compared: list[tuple[str, Any, Any, Any]] = [  # name, rates, outcomes of pairs
        ("flawed answers", old["flawed"], new["flawed"], flawed),
        ("unscored answers", old["unscored_rate"], new["unscored_rate"], unscored),
    ]
    for kind in kinds:
        sides = [one["by"]["type"].get(kind) for one in (new, old)]
        label = next(own["label"] for own in sides if own)
        b, a = (
            own or nothing | {"n": one["flawed"]["n"]}
            for own, one in zip(sides, (new, old), strict=True)
        )
        shown = [(kind in before, kind in after) for _, before, after in scored]
        compared.append((label, a, b, shown))
    models = new["by"]["model"] if len(new["by"]["model"]) > 1 else {}
    for model, own in old["by"]["model"].items():
        if model in models:
            compared.append((f"flawed answers of {model}", own, models[model], None))
    found = []
    for name, a, b, outcomes in compared:
        test: dict[str, Any] = {"of": name, "test": "two proportions"}
        if paired and outcomes is not None:
            of = shared if outcomes is unscored else scored
            own = compare_events(outcomes, [table for table, _, _ in of])
            test |= {"test": "paired", "n": own["n"], "only_before": own["a_only"]}
            test |= {"only_now": own["b_only"]}
            limits = own["difference"], own["low"], own["high"], own["p"]
            rates = [sum(o[side] for o in outcomes) / max(len(outcomes), 1) for side in (0, 1)]
        else:
            limits = compare_rates(*((o["count"], o["n"], o["effect"]) for o in (a, b)))
            rates = [o["count"] / max(o["n"], 1) for o in (a, b)]
        keys = ("difference", "low", "high", "p")
        test |= {"before": rates[0], "now": rates[1]}
        found.append(test | dict(zip(keys, limits, strict=True)))
    known = [one for one in found if one["p"] is not None]
    for one, p in zip(known, holm([one["p"] for one in known]), strict=True):
        one["p_holm"] = p
        one["worse"] = p <= WORSE and one["difference"] > 0
    return found


def read_audit(data: Any, path: object) -> dict[str, Any]:
    """An audit.json, read for :func:`compare_audits`.

    Raises:
        TablemendError: it is none, or of another version.
    """
    needed = {"outcomes", "flawed", "unscored_rate", "by"}
    if not isinstance(data, dict) or data.get("version") != VERSION or needed - data.keys():
        raise TablemendError(
            f"{path} is no audit.json of this version: give the audit.json of an earlier "
            "`tablemend audit`, or audit the old answers again"
        )
    return data
