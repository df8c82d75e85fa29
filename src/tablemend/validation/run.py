"""A whole validation: every set, every scorer, results.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablemend.runs import hash_file, write_json, write_jsonl
from tablemend.validation.command import ValidateCommand
from tablemend.validation.judging import judge_items
from tablemend.validation.scoring import disagreements, score_verifier
from tablemend.validation.sets import READERS, read_set


def validate(command: ValidateCommand) -> dict[str, Any]:
    """Compare every scorer with people on every set; write results.json and the manifest."""
    data = Path(command.data)
    half = None if command.half == "all" else command.half
    items = {name: read_set(name, data, half, command.n) for name in command.sets}
    errors: list[dict[str, Any]] = []
    results: dict[str, Any] = {"half": command.half, "n": command.n, "sets": {}}
    for name, own in items.items():
        figures: dict[str, Any] = {"texts": len(own), "scorers": {}}
        for verifier in command.verifiers:
            judged = judge_items(own, command.workers)
            figures["scorers"][verifier] = score_verifier(own, judged)
            if verifier == "program":
                errors += disagreements(own, judged)
        results["sets"][name] = figures
    hashes = {name: hash_file(data / READERS[name][0]) for name in command.sets}
    run = command.folder
    run.begin("validate", command, parts=())
    run.record("validate", {"settings": command.model_dump(mode="json"), "data": hashes})
    write_json(run.path / "results.json", results)
    if command.errors:
        write_jsonl(Path(command.errors), errors)
    return results
