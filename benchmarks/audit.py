"""Speed and memory of ``tablemend audit`` on answers of real models to real public data.

    python benchmarks/audit.py --data FOLDER --kind texts --workers 2

FOLDER has the sets quintd, d2t_span_annotation, fetaqa, tabfact and text2table_rotowire, each with
an ``open.jsonl``. ``texts`` are sentences and summaries beside their tables, ``tables`` what models
wrote of match reports beside the gold tables, ``contexts`` the same beside the reports alone. The
audit runs in processes of its own; memory is the largest of each of them.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any


def records(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Answers of the sets, each with what it is scored by."""

    def read(name: str) -> Iterator[dict[str, Any]]:
        with (folder / name / "open.jsonl").open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    if kind == "sentences" or kind == "texts":
        for one in read("fetaqa"):
            table = [
                dict(zip(one["table_array"][0], row, strict=False))
                for row in one["table_array"][1:]
            ]
            for model, text in one["system_outputs"].items():
                own = {"id": f"fetaqa-{one['feta_id']}", "model": model, "answer": text}
                yield own | {"table": table}
        for one in read("tabfact"):
            table = [dict(zip(one["header"], row, strict=False)) for row in one["rows"]]
            for number, said in enumerate(one["statements"]):
                own = {"id": f"{one['table_id']}-{number}", "answer": said["text"]}
                yield own | {"model": "people", "table": table, "table_name": one["caption"]}
    if kind == "texts":
        for name in ("quintd", "d2t_span_annotation"):
            for one in read(name):
                for said in one["outputs"]:
                    own = {"id": one["id"], "model": said["model"], "answer": said["text"]}
                    yield own | {"table": one["data"], "domain": one["domain"]}
    if kind in ("tables", "contexts"):
        for one in read("text2table_rotowire"):
            for model, tables in one["llm_tables"].items():
                for part, text in tables.items():
                    if part in one["gold"]:
                        gold = one["gold"][part]
                        head = [gold["header"][0] or part, *gold["header"][1:]]
                        rows = [dict(zip(head, row, strict=False)) for row in gold["rows"]]
                        own = {"id": f"{one['id']}-{part}", "model": model, "answer": text}
                        own |= {"gold": rows} if kind == "tables" else {}
                        yield own | {"context": one["text"]}


def main() -> None:
    """Write the answers, audit them, print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--kind", choices=("sentences", "texts", "tables", "contexts"), default="texts"
    )
    parser.add_argument("--n", type=int, default=10_000, help="answers; repeated where too few")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder to keep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = options.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        about: dict[str, list[dict[str, Any]]] = {}  # answers about one table come together
        for one in records(options.data, options.kind):
            about.setdefault(json.dumps(one.get("table", one.get("context"))), []).append(one)
        tables = list(about.values())
        random.Random(0).shuffle(tables)
        found = [one for own in tables for one in own]
        path = out / f"{options.kind}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for one in islice(cycle(found), options.n):
                file.write(json.dumps(one, ensure_ascii=False) + "\n")
        command = [sys.executable, "-m", "tablemend", "audit", str(path)]
        command += ["--out", str(out / "audit"), "--workers", str(options.workers)]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    print(
        f"{options.n} answers ({min(len(found), options.n)} different): {seconds:.1f} s,"
        f" {processor:.1f} processor seconds, {1000 * processor / options.n:.1f} ms each,"
        f" at most {used.ru_maxrss / 1024:.0f} MiB a process"
    )


if __name__ == "__main__":
    main()
