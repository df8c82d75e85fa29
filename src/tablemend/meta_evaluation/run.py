"""A whole validation: every set, every scorer, results.json."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.faithfulness.names import PROGRAM
from tablemend.meta_evaluation.command import INJECTION, ValidateCommand
from tablemend.meta_evaluation.injection import SOURCES
from tablemend.meta_evaluation.items import Item
from tablemend.meta_evaluation.metrics import bleu
from tablemend.meta_evaluation.page import fill_page, read_page, report
from tablemend.meta_evaluation.scoring import (
    disagreements,
    score_metric,
    score_people,
    score_verifier,
)
from tablemend.meta_evaluation.sets import READERS, draw, read_set
from tablemend.meta_evaluation.splits import split_of
from tablemend.meta_evaluation.study import study
from tablemend.meta_evaluation.verifying import Scored, verify_by_model, verify_by_program
from tablemend.runs import hash_file, surroundings, write_json, write_jsonl, write_text

PEOPLE = "other annotator"


def validate(command: ValidateCommand) -> dict[str, Any]:
    """Compare every scorer with people on every set; write results.json and the manifest."""
    data, run = Path(command.data), command.folder
    if command.page:
        read_page(Path(command.page))
    if INJECTION in command.sets or "bleu" in command.metrics:
        bleu.score((), ())  # a missing extra is said now, not after hours
    names = [name for name in command.sets if name != INJECTION]
    left_out: dict[str, list[str]] = {name: [] for name in names}
    read = {name: read_set(name, data, left_out[name]) for name in names}  # before hours of work
    for line in chain(*left_out.values()):
        print(f"left out: {line}", file=sys.stderr)
    run.begin("validate", command, parts=())
    errors: list[dict[str, Any]] = []
    around = surroundings()
    results: dict[str, Any] = {
        "split": command.split,
        "n": command.n,
        "command": " ".join(["python eval/validate.py", *around["command"][1:]]),
        "commit": around["commit"] and around["commit"][:12],
        "sets": {},
    }
    for name, every in tqdm(read.items(), unit="set", disable=None):
        dev = [item for item in every if split_of(item.split_key) == "dev"]
        items = _chosen(every, command)
        scorers: dict[str, Any] = {}
        for verifier in command.verifiers:
            scored = _verify(items, verifier, name, command)
            scorers[verifier] = score_verifier(items, scored)
            if command.errors and verifier == PROGRAM:
                errors += disagreements(items, scored)
        for metric in command.metrics:
            figures = score_metric(items, items if command.split == "dev" else dev, metric)
            if figures is not None:
                scorers[metric] = figures
        people = score_people(items)
        if people is not None:
            scorers[PEOPLE] = people
        unread = {"left_out": len(left_out[name])} if left_out[name] else {}
        results["sets"][name] = {"texts": len(items), "scorers": scorers, **unread}
    files = [READERS[name][0] for name in names]
    if INJECTION in command.sets:
        split = None if command.split == "all" else command.split
        results[INJECTION], tried = study(data, split, command.n, command.workers)
        errors += [mistake for one in tried for mistake in one.mistakes]
        files += [file for file, _ in SOURCES.values()]
    hashes = {file: hash_file(data / file) for file in files if (data / file).is_file()}
    run.record("validate", {"settings": command.model_dump(mode="json"), "data": hashes})
    write_json(run.path / "results.json", results)
    if command.errors:
        write_jsonl(Path(command.errors), errors)
    return results


def write_pages(results: Mapping[str, Any], command: ValidateCommand) -> Path:
    """Write report.md, or fill the page that the command names.

    Returns:
        The page.
    """
    path = Path(command.page) if command.page else command.folder.path / "report.md"
    if command.page:
        fill_page(path, results)
    else:
        write_text(path, report(results))
    return path


def _chosen(every: Sequence[Item], command: ValidateCommand) -> list[Item]:
    split = [item for item in every if command.split in ("all", split_of(item.split_key))]
    return split if command.n is None else draw(split, command.n)


def _verify(items: Sequence[Item], verifier: str, name: str, command: ValidateCommand) -> Scored:
    if verifier == PROGRAM:
        return verify_by_program(items, command.workers)
    store = re.sub(r"[^\w.+-]+", "_", f"{name}-{verifier}") + ".jsonl"
    return verify_by_model(
        items, verifier, command.options, command.folder.path / "verdicts" / store
    )
