"""The authors' release of their annotations, read as it is (docs/logic.md).

GitHub Eduardo-Calo/hallucination-framework, CC BY-NC-SA 4.0; no part of it is in this repository.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from string import punctuation
from typing import Literal, NamedTuple

from tablemend.errors import TablemendError
from tablemend.records import Relation
from tablemend.tasks.logic.pair import (
    AMBIGUITIES,
    AMBIGUOUS,
    Annotation,
    Domain,
    Pair,
    Question,
    Span,
    follow,
    path_to,
)

Strategy = Literal["zero_shot", "few_shot", "cot", "tot"]
Row = Mapping[str, str]


class Release(NamedTuple):
    """Pairs with reference labels, and who annotated them.

    A pair that the references leave undefined (an unfinished output) has no label.
    """

    pairs: list[Pair]
    references: list[Annotation]
    people: list[Annotation]
    models: list[Annotation]


class _Part(NamedTuple):
    """The files of a domain, and the columns that hold the answers to each question of its tree."""

    pairs: str
    number: str
    references: str
    people: tuple[str, ...]
    questions: Mapping[str, tuple[str, ...]]
    slider: str
    letters: tuple[Relation, ...]


_PARTS: dict[Domain, _Part] = {
    "hotel": _Part(
        "Trivago/data/data_processed.tsv",
        "item",
        "Trivago/experiment/gold_label/albert_edu_kees_gold.csv",
        (
            "Trivago/experiment/crowdsourcing/complete_annotations.csv",
            "Trivago/experiment/trivago_annotations/trivago_complete.csv",
        ),
        {
            "self_contradiction": ("3",),
            "follows": ("5",),
            "wrong": ("7",),
            "implies": ("6", "9", "10"),
            "contradiction": ("11",),
        },
        "13_1",
        (
            "well_matched", "well_matched_harmless", "too_weak", "too_weak_harmless", "too_strong",
            "output_contradictory", "independent", "contradictory",
        ),
    ),
    "logic": _Part(
        "Logic/data/input_output.csv",
        "block",
        "Logic/evaluation/gold_label/edu_kees.csv",
        ("Logic/evaluation/annotations/crowd_final.csv",),
        {
            AMBIGUOUS: ("3",),
            "self_contradiction": ("5",),
            "follows": ("6",),
            "implies": ("7", "8"),
            "contradiction": ("9",),
        },
        "10_1",
        (
            "well_matched", "too_weak", "too_strong", "output_contradictory", "independent",
            "contradictory",
        ),
    ),
}  # fmt: skip
_FIRST = 4
"""The question block of pair 1 is the fifth: training and check stand before it."""
_FAILED = ("trivago_complete.csv", 4)
"""File and row (of those below the head) that the authors' script marks as a failed check."""
_BLOCK = re.compile(r"(?:Block )?(\d+)(?:\.0)?")
_HIGHLIGHT = re.compile(r"(?:^|,)(\d+): ")
_MARKED = re.compile(r"Q\d+\.[12]_1")


def read_release(folder: Path, strategy: Strategy = "tot") -> Release:
    """The domains that a copy of the release has, with the models' answers to one way of asking.

    Raises:
        TablemendError: no such folder, none of the release's files in it, or a file without its
            columns or with answers to other pairs.
    """
    found = Release([], [], [], [])
    for domain, part in _PARTS.items():
        if (folder / part.pairs).is_file():
            one = _read_domain(folder, domain, part, strategy)
            for all_of, own in zip(found, one, strict=True):
                all_of.extend(own)  # type: ignore[arg-type]
    if not found.pairs:
        paths = " and ".join(part.pairs for part in _PARTS.values())
        raise TablemendError(f"source: {folder} has neither {paths}: give the release's folder")
    return found


def _read_domain(folder: Path, domain: Domain, part: _Part, strategy: Strategy) -> Release:
    bare = _bare_pairs(folder / part.pairs, domain, part)
    rows = _answered(folder / part.references, domain)
    labels: dict[str, list[Annotation]] = defaultdict(list)
    for one in _annotations(rows, "reference", bare, part):
        labels[one.pair].append(one)
    pairs = {number: _with_labels(pair, labels[pair.id]) for number, pair in bare.items()}
    people = [row for name in part.people for row in _answered(folder / name, domain)]
    answers = sorted((folder / "LLMs/results" / domain).glob(f"results_{strategy}_*.json"))
    return Release(
        list(pairs.values()),
        _annotations(rows, "reference", pairs, part),
        _annotations(people, "person", pairs, part),
        [one for path in answers for one in _model(path, strategy, list(pairs.values()), part)],
    )


def _table(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV or TSV file below its head."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            rows = [{k: v or "" for k, v in row.items() if k} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TablemendError(
            f"{path} cannot be read: {error}; give the release as it is"
        ) from error
    missing = [name for name in needed if name not in (reader.fieldnames or ())]
    if missing:
        raise TablemendError(f"{path}: no column {missing[0]}; give the release as it is")
    return rows


def _bare_pairs(path: Path, domain: Domain, part: _Part) -> dict[int, Pair]:
    """The pairs of the experiment by number; rows without one were for pilots."""
    found = {}
    for row in _table(path, ("input", "output", "model", part.number)):
        if match := _BLOCK.fullmatch(row[part.number].strip()):
            found[int(match[1])] = Pair(domain, row["input"], row["output"], row["model"])
    return dict(sorted(found.items()))


def _answered(path: Path, domain: Domain) -> list[dict[str, str]]:
    """Who finished, and in the hotel domain passed the check."""
    first = f"Q{_FIRST + 1}.3"
    check = "Q30.2" if domain == "hotel" else "Finished"
    return [
        row
        for i, row in enumerate(_table(path, ("Finished", first, check)))
        if row["Finished"].casefold() == "true" and row[check] and (path.name, i) != _FAILED
    ]


def _with_labels(pair: Pair, said: Sequence[Annotation]) -> Pair:
    """The two commonest labels count, and one reference that finds an ambiguity is enough."""
    votes = Counter(one.relation for one in said if one.relation is not None)
    labels = tuple(label for label, _ in votes.most_common(2))
    asked = [one.path[AMBIGUOUS] for one in said if AMBIGUOUS in one.path]
    return replace(pair, labels=labels, ambiguous=any(asked) if asked else None)


def _annotations(
    rows: Sequence[Row], who: str, pairs: Mapping[int, Pair], part: _Part
) -> list[Annotation]:
    """The answers of each row on the pairs that it was shown."""
    return [
        _annotation(row, f"{who}-{i}", f"Q{_FIRST + number}", pair, part)
        for i, row in enumerate(rows, 1)
        for number, pair in pairs.items()
        if row.get(f"Q{_FIRST + number}.3")
    ]


def _annotation(row: Row, name: str, block: str, pair: Pair, part: _Part) -> Annotation:
    """One person's answers on a pair; without a relation where they leave it undefined."""
    said = {
        question: next((v for one in columns if (v := row.get(f"{block}.{one}"))), "")
        for question, columns in part.questions.items()
    }
    answers = {question: one == "Yes" for question, one in said.items() if one in ("Yes", "No")}
    path, end = follow(pair.domain, answers, added=False)
    unscored = f"no answer to {end.id}" if isinstance(end, Question) else ""
    kinds = row.get(f"{block}.4", "").casefold() if pair.domain == "logic" else ""
    marks: dict[str, tuple[Span, ...]] = {}
    # Of the references one gave no highlights at all: he is not one who found nothing.
    if pair.domain == "hotel" and any(v for k, v in row.items() if _MARKED.fullmatch(k)):
        marks = {
            "divergent_input": _highlighted(pair.input, row.get(f"{block}.1_1", "")),
            "divergent_output": _highlighted(pair.output, row.get(f"{block}.2_1", "")),
            "wrong": _aligned(pair.output, row.get(f"{block}.8", "")),
        }
    slider = row.get(f"{block}.{part.slider}", "")
    return Annotation(
        name,
        pair.id,
        path,
        None if isinstance(end, Question) else end,
        unscored,
        tuple(kind for kind in AMBIGUITIES if kind.replace("_", " ") in kinds),
        slider=int(slider) if slider in "1234567" and slider else None,
        **marks,
    )


def _highlighted(text: str, said: str) -> tuple[Span, ...]:
    """Where the highlighted words are: ``7: alluring,20: swimming``, counted from 1."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    numbers = [int(match[1]) for match in _HIGHLIGHT.finditer(said)]
    return tuple(words[i - 1] for i in numbers if 1 <= i <= len(words))


def _aligned(text: str, said: str) -> tuple[Span, ...]:
    """The words of a text that its reader copied, or wrote with slips, a piece a line.

    The authors align with CollateX over lemmas; here the longest common runs of words count.
    """
    places = [match.span() for match in re.finditer(r"\S+", text)]
    words = [text[a:b].strip(punctuation).casefold() for a, b in places]
    found: set[Span] = set()
    for line in said.splitlines():
        piece = [word.strip(punctuation).casefold() for word in line.split()]
        blocks = SequenceMatcher(None, words, piece, autojunk=False).get_matching_blocks()
        found.update(place for start, _, n in blocks for place in places[start : start + n])
    return tuple(sorted(found))


def _model(
    path: Path, strategy: Strategy, pairs: Sequence[Pair], part: _Part
) -> Iterator[Annotation]:
    """A model's categories, letters in the order of the paper's; of the tree its answer on
    ambiguity too.
    """
    name = path.stem.removeprefix(f"results_{strategy}_")
    left: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        left[pair.input, pair.output].append(pair)
    try:
        for one in json.loads(path.read_text("utf-8")):
            pair, letter = left[one["input"], one["output"]].pop(0), str(one["predicted_category"])
            place = "ABCDEFGH".find(letter) if len(letter) == 1 else -1
            relation = part.letters[place] if 0 <= place < len(part.letters) else None
            answers = dict(path_to(pair.domain, relation)) if relation else {}
            first = one["reasoning"][0] if strategy == "tot" else ("", "")
            if pair.domain == "logic" and first[1] in ("yes", "no"):
                answers[AMBIGUOUS] = first[1] == "yes"
            unscored = "" if relation else f"{letter} is no category"
            yield Annotation(name, pair.id, answers, relation, unscored)
    except (OSError, ValueError, LookupError, TypeError) as error:
        what = "an answer to another pair" if isinstance(error, IndexError) else repr(error)
        raise TablemendError(f"{path}: {what}; give the release as it is") from error
