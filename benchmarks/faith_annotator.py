"""How well the program finds numbers in reports, and how they follow from the tables.

    python benchmarks/faith_annotator.py [--data ../shared/data] [--split dev|test] [--show 50]
    python benchmarks/faith_annotator.py --split test --pages 30

On FAITH's pilot: spans found of those that were masked, and derivations of those that people call
answerable, by scenario and by how three models voted. On FinQA: the cells of the gold program, of
the questions whose program works on cells of the table alone. Sets are split by company; rules were
chosen on ``dev``. ``--show`` prints derivations at random, for a person to judge. ``--pages``
labels pages of FinQA and TAT-QA as ``data_gen/faith.py`` does, counts, and prints so many labels.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tablemend.datasets.labelled_texts import split_of
from tablemend.statistics import rate_interval
from tablemend.tasks.faith.data import FaithSet, make_dataset
from tablemend.tasks.faith.derivations import Derivation, Evidence
from tablemend.tasks.faith.reports import Report, read_record
from tablemend.tasks.faith.sample import MASK, SCENARIOS, MaskedSpan
from tablemend.tasks.faith.sentences import find_spans

_DEV = ("893538", "1045810", "709005")
_STEP = re.compile(r"(add|subtract|divide)\(([^,()]+), ([^,()]+)\)")
_ASKED = re.compile(r"(?:what|how much) (?:is|was|were|are) ", re.I)
_PROGRAMS = ("subtract", "divide", "add", "subtract, divide", "add, add")
_SHARE = re.compile(r"percent|portion|share|growth rate|margin|%")


def records(path: Path, split: str) -> list[dict[str, Any]]:
    """The records of a file in one half."""
    lines = path.read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [one for one in found if split in ("all", half_of(one))]


def half_of(record: dict[str, Any]) -> str:
    """The half that a record is in."""
    if "metadata" in record:
        return "dev" if record["metadata"]["cik"] in _DEV else "test"
    return split_of(record["split_key"])


def spans_found(labelled: list[Report], found: Counter[str]) -> None:
    """Masked spans that the recogniser finds."""
    for one in labelled:
        for label in one.labels:
            sentence = label.sentence.replace(MASK, label.answer)
            start = label.sentence.index(MASK)
            spans = [sentence[a:b] for a, b in find_spans(sentence) if a <= start < b]
            found["masked"] += 1
            found["found to the letter"] += label.answer in spans
            found["found"] += bool(spans)
        sentences = {s.sentence.replace(MASK, s.answer) for s in one.labels}
        found["spans in these sentences"] += sum(len(find_spans(s)) for s in sentences)


def pilot(labelled: list[Report], votes: list[list[int]]) -> Iterator[tuple[str, bool, Any]]:
    """Each labelled span: its group, whether it is derived, and how."""
    for one, own in zip(labelled, votes, strict=True):
        evidence = Evidence(one.tables)
        for label, yes in zip(one.labels, own, strict=True):
            way = derive(evidence, label)
            for group in (SCENARIOS[label.scenario], f"{yes} of 3 models: answerable", "all"):
                yield group, way is not None, (label, way)


def derive(evidence: Evidence, one: MaskedSpan) -> Derivation | None:
    """The program's derivation."""
    return evidence.derive(one.sentence, one.answer, one.around)


def finqa(lines: list[dict[str, Any]]) -> Counter[str]:
    """Questions whose gold program works on cells alone: the same cells, others, or none."""
    found: Counter[str] = Counter()
    for line in lines:
        steps = _STEP.findall(line["program"])
        if (
            ", ".join(step for step, _, _ in steps) not in _PROGRAMS
            or ", ".join(f"{step}({a}, {b})" for step, a, b in steps) != line["program"]
        ):
            continue
        wanted = {number(x) for _, *pair in steps for x in pair if not x.startswith("#")}
        report = read_record(line)
        cells = {number(cell) for row in report.tables[0].rows for cell in row}
        if None in wanted or not wanted <= cells:
            continue
        value = float(line["answer"])
        is_share = steps[-1][0] == "divide" and _SHARE.search(line["question"])
        span = f"{100 * value:.2f}%" if is_share else f"{value:g}"
        way = Evidence(report.tables).derive(_said(line["question"]), span)
        found["questions"] += 1
        if way is None:
            found["no derivation"] += 1
        else:
            same = {number(one.text) for one in way.operands} == wanted
            found["the cells of the gold program" if same else "other cells"] += 1
    return found


def labels_of_pages(data: Path, split: str) -> list[MaskedSpan]:
    """The labelled numbers of FinQA's and TAT-QA's pages in one half, each once."""
    with TemporaryDirectory() as folder:
        for name in ("finqa", "tatqa"):
            kept = records(data / name / "open.jsonl", split)
            (Path(folder) / f"{name}.jsonl").write_text("\n".join(map(json.dumps, kept)))
        out = Path(folder) / "set"
        asked = FaithSet(reports=(folder,), sentences=100, workers=1, out=str(out))
        make_dataset(asked, lambda _: None)
        lines = [line for file in out.glob("*.jsonl") for line in file.read_text().splitlines()]
    made = (json.loads(line) for line in lines)
    found = [MaskedSpan.from_json(one) for one in made if "derivation" in one]
    return sorted({one.id: one for one in found}.values(), key=lambda one: one.id)


def drawn(labels: list[MaskedSpan], count: int) -> list[MaskedSpan]:
    """So many at random, eight of C and of B among them where there are so many."""
    rng = random.Random(38)
    taken: list[MaskedSpan] = []
    for scenario in "CB":
        own = [one for one in labels if one.scenario == scenario]
        taken += rng.sample(own, min(8, len(own)))
    rest = [one for one in labels if one not in taken]
    return taken + rng.sample(rest, min(count - len(taken), len(rest)))


def _said(question: str) -> str:
    """A question as a sentence with a masked number: a program reads no questions."""
    return f"{_ASKED.sub('', question).rstrip(' ?')} was {MASK} ."


def number(text: str | None) -> Decimal | None:
    """The first number of a cell, without sign."""
    match = re.search(r"\d[\d,]*\.?\d*", text or "")
    return abs(Decimal(match[0].replace(",", "").rstrip("."))).normalize() if match else None


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--split", choices=("dev", "test", "all"), default="dev")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--pages", type=int, default=0)
    given = parser.parse_args()
    if given.pages:
        labels = labels_of_pages(given.data, given.split)
        print(Counter(one.scenario for one in labels))
        for one in drawn(labels, given.pages):
            print(f"\n{one.id[:12]} {one.report} {one.sentence.index(MASK)} {one.scenario}")
            print(f"{one.answer} | {one.sentence}\n{one.derivation}")
        return
    lines = records(given.data / "faith_pilot" / "open.jsonl", given.split)
    labelled = [read_record(line) for line in lines]
    names = ("gpt-4.1_label", "gemini-2.5-pro-label", "claude-sonnet-4-label")
    votes = [
        [sum(one[name] == "answerable" for name in names) for one in line["instances"]]
        for line in lines
    ]
    counted: Counter[str] = Counter()
    spans_found(labelled, counted)
    print(f"pilot, {given.split}: {len(lines)} reports")
    for name, count in counted.items():
        print(f"  {name}: {count}")
    groups: dict[str, list[bool]] = {}
    shown = []
    for group, is_derived, pair in pilot(labelled, votes):
        groups.setdefault(group, []).append(is_derived)
        if group == "all":
            shown.append(pair)
    for group, own in sorted(groups.items()):
        rate = rate_interval(sum(own), len(own))
        low, high = 100 * (rate["low"] or 0), 100 * (rate["high"] or 0)
        print(f"  derived, {group}: {sum(own)} of {len(own)} ({low:.0f} to {high:.0f} %)")
    derived = [(label, way) for label, way in shown if way is not None]
    several = sum(way.alternatives > 0 for _, way in derived)
    agree = sum(way.scenario == label.scenario for label, way in derived)
    print(f"  of {len(derived)} derivations: {agree} of the labelled scenario, {several} ambiguous")
    print(f"FinQA, {given.split}:")
    for name, count in finqa(records(given.data / "finqa" / "open.jsonl", given.split)).items():
        print(f"  {name}: {count}")
    for label, way in random.Random(0).sample(derived, min(given.show, len(derived))):
        print(f"\n{label.answer} | {label.sentence}\n{way.explanation}")


if __name__ == "__main__":
    main()
