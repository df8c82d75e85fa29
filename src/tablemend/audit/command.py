"""``tablemend audit``: answers in, rates and where errors concentrate out; stops and goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.audit.inputs import (
    Block,
    find_blocks,
    open_input,
    read_answer,
    read_block,
    read_fields,
)
from tablemend.audit.report import say, write_page
from tablemend.audit.scoring import AnswerScorer, score_answer, scorer_names
from tablemend.audit.summary import Tally, compare_audits, read_audit
from tablemend.errors import TablemendError
from tablemend.runs import Store, write_json
from tablemend.runs.files import to_line
from tablemend.verifier.verifiers import PROGRAM
from tablemend.workers import Engine, map_in_workers

WORSE_STATUS = 3
"""Exit status where ``--baseline`` finds something worse."""
LINES: dict[Engine, int] = {"local": 16, "ray": 512}
"""Answers of a block, which is scored again where it was not finished."""


def audit(
    inputs: Sequence[str],
    out: Path,
    *,
    fields: Mapping[str, str] | None = None,
    verifier: str = PROGRAM,
    workers: int = 1,
    engine: Engine = "local",
    baseline: Path | None = None,
    scores: str | None = None,
) -> dict[str, Any]:
    """Score the answers of files and count: audit.json, audit.html and scores.jsonl in a folder.

    What is scored already is not scored again, so an audit that was stopped goes on, and that of a
    log that has grown scores what is new.

    Args:
        inputs: files, or URLs that fsspec opens; see :mod:`tablemend.audit.inputs`.
        out: the folder.
        fields: where fields of ours stand in a record, by name.
        verifier: ``program``, ``nli:MODEL``, ``llm:MODEL``, ``program+llm:MODEL``.
        workers: processes; models are asked by one.
        engine: ``ray``: the nodes of a cluster instead, which all see the files or URLs.
        baseline: an earlier audit.json, to be compared with.
        scores: another place for what is noted of each answer: a ``.jsonl`` or a ``.parquet``.

    Returns:
        audit.json.

    Raises:
        TablemendError: an input that cannot be read, or of which nothing could be scored.
    """
    old = None if baseline is None else _baseline(baseline)
    fields, scores = dict(fields or {}), scores or str(out / "scores.jsonl")
    if not scores.lower().endswith((".jsonl", ".parquet")):
        raise TablemendError(f"--scores {scores}: wanted a .jsonl or a .parquet")
    if not scores.lower().endswith(".jsonl"):
        import pyarrow  # noqa: F401 (missing: said before anything is scored)
    blocks = [
        one
        for path in dict.fromkeys(inputs)
        for one in find_blocks(path, out / "converted", LINES[engine])
    ]
    if not blocks:
        raise TablemendError(f"{', '.join(inputs)}: there is nothing in it")
    tally = Tally()
    settings = {"scorers": scorer_names(verifier), "fields": fields}
    arguments = (fields, verifier)
    with Store(out / "blocks.jsonl", "block", settings) as store:
        new = [one for one in blocks if _name(one) not in store]
        made = map_in_workers(AnswerScorer, arguments, new, workers, engine)
        with tqdm(total=sum(one.lines for one in new), unit=" answers", disable=None) as shown:
            for block, notes in zip(new, made, strict=True):
                store.put({"block": _name(block), "notes": notes})
                shown.update(block.lines)

        def counted() -> Iterator[dict[str, Any]]:
            for number, block in enumerate(blocks):
                for note in store[_name(block)]["notes"]:
                    tally.add(note | {"number": number})
                    yield note

        _write_scores(scores, counted())
    results = tally.results([one.rpartition("/")[2] for one in inputs])
    if not results["answers"]["scored"]:
        why = _why_nothing(results)
        raise TablemendError(f"{', '.join(inputs)}: nothing could be scored: {why}")
    results["examples"], shown_examples = [], []
    for note in tally.chosen():
        records = {one.place: one for one in read_block(blocks[note.pop("number")])}
        answer = read_answer(records[note["place"]].data or {}, fields)
        assert not isinstance(answer, str)  # it was scored
        found = score_answer(answer, verifier, note["place"])
        results["examples"].append({**note, "text": answer.text})
        shown_examples.append((note, found))
    if old is not None:
        results["baseline"] = compare_audits(old, results)
    write_json(out / "audit.json", results)
    write_page(out / "audit.html", results, shown_examples)
    return results


def run_audit(
    inputs: Sequence[str],
    out: Path | None,
    fields: str,
    workers: int | None,
    as_json: bool,
    **how: Any,
) -> int:
    """:func:`audit` of what a command line names; 3 where something is worse than the baseline."""
    out = out or Path("runs") / f"audit-{Path(inputs[0].rpartition('/')[2]).stem}"
    cores = (workers or os.cpu_count() or 1) if how["verifier"] == PROGRAM else 1
    found = audit(inputs, out, fields=read_fields(fields), workers=cores, **how)
    lines = [*say(found), f"{out}: audit.html, audit.json, scores.jsonl"]
    print(json.dumps(found, indent=1) if as_json else "\n".join(lines))
    return WORSE_STATUS if any(one.get("worse") for one in found.get("baseline", ())) else 0


def _name(block: Block) -> str:
    return f"{block.path}:{block.first}:{block.digest}"


def _baseline(path: Path) -> dict[str, Any]:
    own = path / "audit.json" if path.is_dir() else path
    try:
        return read_audit(json.loads(own.read_text("utf-8")), own)
    except (OSError, ValueError) as error:
        raise TablemendError(f"--baseline {path} cannot be read: {error}") from error


def _why_nothing(results: Mapping[str, Any]) -> str:
    """The commonest reason, with a line that it is true of."""
    reasons = {**results["skipped"], **results["unscored"]}
    why, own = max(reasons.items(), key=lambda one: one[1]["count"])
    hint = "; name the fields with --fields answer=...,table=..." if "no answer" in why else ""
    return f"{why} ({own['places'][0]}, and {own['count'] - 1} more){hint}"


def _write_scores(place: str, notes: Iterator[dict[str, Any]]) -> None:
    """What is noted of each answer, one a line or a row."""
    if "://" not in place:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
    if place.lower().endswith(".jsonl"):
        with open_input(place, "wb") as file:
            for note in notes:
                file.write(to_line(note).encode())
        return
    import pyarrow
    import pyarrow.parquet

    texts = ("place", "id", "model", "table", "time", "kind", "skipped", "unscored", "errors")
    types = {**dict.fromkeys(texts, pyarrow.string()), "score": pyarrow.float64()}
    types |= dict.fromkeys(("length", "scored", "total"), pyarrow.int64())
    schema = pyarrow.schema(types.items())
    with open_input(place, "wb") as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
        rows: list[dict[str, Any]] = []
        for note in notes:
            errors = None if "errors" not in note else json.dumps(note["errors"])
            rows.append({name: note.get(name) for name in types} | {"errors": errors})
            if len(rows) == 10_000:
                writer.write_table(pyarrow.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pyarrow.Table.from_pylist(rows, schema))
