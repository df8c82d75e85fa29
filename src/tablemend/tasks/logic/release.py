"""The authors' release of their annotations, read as it is: GitHub
Eduardo-Calo/hallucination-framework, CC BY-NC-SA 4.0; no part of it is in this repository.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from string import punctuation
from typing import Literal, NamedTuple

from tablemend.errors import TablemendError
from tablemend.tasks.logic.pair import (
    AMBIGUITIES,
    AMBIGUOUS,
    Annotation,
    Domain,
    Pair,
    Question,
    Span,
    follow,
    leaves,
    path_to,
)

Strategy = Literal["zero_shot", "few_shot", "cot", "tot"]


class Release(NamedTuple):
    """Pairs with reference labels, none where they are left undefined, and who annotated them."""

    pairs: list[Pair]
    references: list[Annotation]
    people: list[Annotation]
    models: list[Annotation]


_FILES: dict[Domain, tuple[str, str, str, str]] = {
    "hotel": (
        "Trivago/data/data_processed.tsv", "item", "13_1",
        "self_contradiction=3 follows=5 wrong=7 implies=6,9,10 contradiction=11",
    ),
    "logic": (
        "Logic/data/input_output.csv", "block", "10_1",
        "ambiguous=3 self_contradiction=5 follows=6 implies=7,8 contradiction=9",
    ),
}  # fmt: skip
"""The pairs, their number, and of a question block the columns of the slider and the answers."""
_FIRST = 4
"""The question block of pair 1 is the fifth: training and check stand before it."""
_FAILED = ("trivago_complete.csv", 4)
"""File and row (of those below the head) that the authors' script marks as a failed check."""
_OURS = ("tautologous", "not_well_formed")
"""Relations that the paper's trees do not have: the letters of its categories pass over them."""
_BLOCK = re.compile(r"(?:Block )?(\d+)(?:\.0)?")
_HIGHLIGHT = re.compile(r"(?:^|,)(\d+): ")
_MARKED = re.compile(r"Q\d+\.[12]_1")


def read_release(folder: Path, strategy: Strategy = "tot") -> Release:
    """The domains that a copy of the release has, with the models' answers to one way of asking.

    Raises:
        TablemendError: a folder without the release's files, or a file without its columns or with
            answers to other pairs.
    """
    found = Release([], [], [], [])
    for domain, (path, number, _, _) in _FILES.items():
        base = folder / path.partition("/")[0]
        if not base.is_dir():
            continue
        rows = _table(folder / path, "input", "output", "model", number)
        numbers = [_BLOCK.fullmatch(row[number].strip()) for row in rows]  # none of a pilot's
        bare = {
            int(match[1]): Pair(domain, row["input"], row["output"], row["model"])
            for match, row in zip(numbers, rows, strict=True)
            if match
        }
        gold = _answered(domain, base.glob("*/gold_label/*.csv"))
        crowd = base.glob("*/crowdsourcing/*.csv"), base.glob("*/*annotations/*.csv")
        said = [*_annotations(gold, "reference", bare)]
        pairs = {key: _with_labels(bare[key], said) for key in sorted(bare)}
        found.pairs.extend(pairs.values())
        found.references.extend(_annotations(gold, "reference", pairs))
        found.people.extend(_annotations(_answered(domain, chain(*crowd)), "person", pairs))
        for file in sorted((folder / "LLMs/results" / domain).glob(f"results_{strategy}_*.json")):
            name = file.stem.removeprefix(f"results_{strategy}_")
            found.models.extend(_model(file, name, pairs.values()))
    if not (found.references and found.people):
        raise TablemendError(
            f"source: {folder} has no references or no answers of people in Trivago and Logic: "
            "give the folder of the release"
        )
    return found


def _table(path: Path, *needed: str) -> list[dict[str, str]]:
    """The rows of a CSV or TSV file below its head."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            rows = [{k: v or "" for k, v in row.items() if k} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TablemendError(f"{path}: {error}; give the release as it is") from error
    if missing := [name for name in needed if name not in (reader.fieldnames or ())]:
        raise TablemendError(f"{path}: no column {missing[0]}; give the release as it is")
    return rows


def _answered(domain: Domain, paths: Iterable[Path]) -> list[dict[str, str]]:
    """Who finished, and in the hotel domain passed the check."""
    check = "Q30.2" if domain == "hotel" else "Finished"
    return [
        row
        for path in paths
        for i, row in enumerate(_table(path, "Finished", f"Q{_FIRST + 1}.3", check))
        if row["Finished"].casefold() == "true" and row[check] and (path.name, i) != _FAILED
    ]


def _with_labels(pair: Pair, said: Sequence[Annotation]) -> Pair:
    """The two commonest labels count, and one reference that finds an ambiguity is enough."""
    own = [one for one in said if one.pair == pair.id]
    votes = Counter(one.relation for one in own if one.relation is not None)
    asked = [one.path[AMBIGUOUS] for one in own if AMBIGUOUS in one.path]
    labels = tuple(label for label, _ in votes.most_common(2))
    return replace(pair, labels=labels, ambiguous=any(asked) if asked else None)


def _annotations(
    rows: Sequence[Mapping[str, str]], who: str, pairs: Mapping[int, Pair]
) -> Iterator[Annotation]:
    """The answers of each row on the pairs that it was shown; no relation where left undefined."""
    for i, row in enumerate(rows, 1):
        # Of the references one gave no highlights at all: he is not one who found nothing.
        marked = any(value for key, value in row.items() if _MARKED.fullmatch(key))
        for number, pair in pairs.items():
            _, _, slider, questions = _FILES[pair.domain]
            block = f"Q{_FIRST + number}."
            own = {k.removeprefix(block): v for k, v in row.items() if k.startswith(block) and v}
            if "3" not in own:
                continue
            answers = {
                question: own[column] == "Yes"
                for question, _, columns in (one.partition("=") for one in questions.split())
                for column in columns.split(",")
                if own.get(column) in ("Yes", "No")
            }
            path, end = follow(pair.domain, answers, added=False)
            kinds = own.get("4", "").casefold() if pair.domain == "logic" else ""
            hotel = pair.domain == "hotel" and marked
            yield Annotation(
                f"{who}-{i}",
                pair.id,
                path,
                None if isinstance(end, Question) else end,
                "left open" if isinstance(end, Question) else "",
                tuple(kind for kind in AMBIGUITIES if kind.replace("_", " ") in kinds),
                _highlighted(pair.input, own.get("1_1", "")) if hotel else None,
                _highlighted(pair.output, own.get("2_1", "")) if hotel else None,
                _aligned(pair.output, own.get("8", "")) if hotel else None,
                int(own[slider]) if slider in own else None,
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
        matcher = SequenceMatcher(None, words, piece, autojunk=False)
        for start, _, n in matcher.get_matching_blocks():
            found.update(places[start : start + n])
    return tuple(sorted(found))


def _model(path: Path, name: str, pairs: Iterable[Pair]) -> Iterator[Annotation]:
    """A model's categories by their letters; asked by the tree, its answer on ambiguity too."""
    left: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        left[pair.input, pair.output].append(pair)
    try:
        for one in json.loads(path.read_text("utf-8")):
            pair, letter = left[one["input"], one["output"]].pop(0), str(one["predicted_category"])
            relations = (relation for relation in leaves(pair.domain) if relation not in _OURS)
            relation = dict(zip("ABCDEFGH", relations, strict=False)).get(letter)
            answers = dict(path_to(pair.domain, relation)) if relation else {}
            asked = one["reasoning"][0] if isinstance(one.get("reasoning"), list) else ("", "")
            if pair.domain == "logic" and asked[1] in ("yes", "no"):
                answers[AMBIGUOUS] = asked[1] == "yes"
            unscored = "" if relation else f"{letter} is no category"
            yield Annotation(name, pair.id, answers, relation, unscored)
    except (OSError, ValueError, LookupError, TypeError) as error:
        what = "an answer to another pair" if isinstance(error, IndexError) else repr(error)
        raise TablemendError(f"{path}: {what}; give the release as it is") from error
