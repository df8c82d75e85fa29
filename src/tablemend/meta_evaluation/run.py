"""A whole validation: every set, every scorer, results.json and the page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.meta_evaluation.command import INJECTION, ValidateCommand
from tablemend.meta_evaluation.injection import SOURCES
from tablemend.meta_evaluation.items import Item, split_of
from tablemend.meta_evaluation.metrics import bleu
from tablemend.meta_evaluation.page import fill_page, read_page, report
from tablemend.meta_evaluation.scoring import score_metric, score_verifier
from tablemend.meta_evaluation.sets import draw, file_of, read_set
from tablemend.meta_evaluation.study import study
from tablemend.meta_evaluation.verifying import verify_items
from tablemend.runs import hash_file, surroundings, write_json, write_text


def validate(command: ValidateCommand) -> tuple[dict[str, Any], Path]:
    """Compare every scorer with people on every set; write results.json, the manifest, the page.

    Returns:
        The results, and report.md or the page that the command names.
    """
    data, run = Path(command.data), command.folder
    if command.page:
        read_page(Path(command.page))
    if INJECTION in command.sets or "bleu" in command.metrics:
        bleu("", [""])  # a missing extra is said now, not after hours
    read = {name: read_set(name, data) for name in command.sets if name != INJECTION}
    for line in (line for _, left_out in read.values() for line in left_out):
        print(f"left out: {line}", file=sys.stderr)
    run.begin("validate", command, parts=())
    around = surroundings()
    results: dict[str, Any] = {
        "split": command.split,
        "n": command.n,
        "command": " ".join(["python eval/validate.py", *around["command"][1:]]),
        "commit": around["commit"] and around["commit"][:12],
        "sets": {},
    }
    for name, (every, left_out) in tqdm(read.items(), unit="set", disable=None):
        items = [item for item in every if command.split in ("all", split_of(item.split_key))]
        items = items if command.n is None else draw(items, command.n)
        results["sets"][name] = _score_set(items, every, command)
        if left_out:
            results["sets"][name]["left_out"] = len(left_out)
    files: list[str] = list(read)
    if INJECTION in command.sets:
        split = None if command.split == "all" else command.split
        results[INJECTION] = study(data, split, command.n)
        files += SOURCES
    paths = {file_of(name): data / file_of(name) for name in files}
    hashes = {name: hash_file(path) for name, path in paths.items() if path.is_file()}
    run.record("validate", {"settings": command.model_dump(mode="json"), "data": hashes})
    write_json(run.path / "results.json", results)
    page = Path(command.page) if command.page else run.path / "report.md"
    if command.page:
        fill_page(page, results)
    else:
        write_text(page, report(results))
    return results, page


def _score_set(
    items: Sequence[Item], every: Sequence[Item], command: ValidateCommand
) -> dict[str, Any]:
    scorers: dict[str, Any] = {}
    for verifier in command.verifiers:
        scorers[verifier] = score_verifier(items, verify_items(items, verifier, command.options))
    dev = [item for item in every if split_of(item.split_key) == "dev"]
    for metric in command.metrics:
        scorers[metric] = score_metric(items, items if command.split == "dev" else dev, metric)
    known = {scorer: figures for scorer, figures in scorers.items() if figures is not None}
    return {"texts": len(items), "scorers": known}
