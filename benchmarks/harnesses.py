"""The rates of eval/compare.py, inspect_ai and lm-evaluation-harness on the same samples.

    python benchmarks/harnesses.py [--n 40] [--view adversarial] [--json FILE]

Three commands ask the embedded base the same prompts on this CPU, greedily, one at a time, in
float32; a fourth scores inspect's stored log again. It ends with status 1 where a rate differs in
any digit. It needs the extras train, inspect and lm-eval in one environment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
BASE = ROOT / "checkpoints" / "tiny-base"
LONGEST = 512
"""Tokens of an answer."""
Rates = Mapping[str, float]


def run(*command: object, folder: Path) -> str:
    """What a command prints on stdout; its errors end this one."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:3]))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def ours(n: int, seed: int, view: str, folder: Path) -> Rates:
    """Those of a comparison."""
    recipe = {
        "kind": "evaluation",
        "name": "harnesses",
        "model": {"path": str(BASE), "dtype": "float32"},
        "data": {"test": {"source": "small-world", "n": n, "seed": seed}},
        "evaluation": {
            "contexts": [view],
            "max_new_tokens": LONGEST,
            "options": {"batch_size": 1},
            "systems": {"base": {}},
        },
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    out = folder / "run"
    run(sys.executable, ROOT / "eval/compare.py", f"recipe={path}", f"run={out}", folder=ROOT)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    cost = results["cost"]["base"][view]["finish_reasons"]
    if set(cost) != {"stop"}:
        sys.exit(f"answers ended by {cost}: the harnesses do not say which were cut, lower --n")
    found = results["systems"]["base"][view]
    return {name: one["rate"] for name, one in found.items() if one["rate"] is not None}


def in_inspect(n: int, seed: int, view: str, folder: Path) -> Iterator[tuple[str, Rates]]:
    """Those of inspect_ai, and of its log scored again."""
    from inspect_ai.log import read_eval_log

    program = Path(sys.executable).with_name("inspect")
    options = ["-T", "source=small-world", "-T", f"n={n}", "-T", f"seed={seed}"]
    options += ["-T", f"view={view}", "--model", "hf/local", "-M", f"model_path={BASE}"]
    options += ["-M", "dtype=float32", "-M", "do_sample=false", "-M", "enable_thinking=false"]
    options += ["--max-tokens", str(LONGEST), "--max-connections", "1", "--display", "none"]
    run(program, "eval", "tablemend/table_generation", *options, "--log-dir", folder, folder=folder)
    (log,) = folder.glob("*.eval")
    again = folder / "again.eval"
    scoring = ["--scorer", "tablemend/detector", "--action", "overwrite", "--output-file", again]
    run(program, "score", log, *scoring, "--display", "none", folder=folder)
    for name, path in (("inspect_ai", log), ("inspect score", again)):
        results = read_eval_log(str(path), header_only=True).results
        assert results is not None
        yield (
            name,
            {
                one.name: one.metrics["tablemend/rate"].value
                for one in results.scores
                if one.scored_samples
            },
        )


def in_lm_eval(n: int, seed: int, view: str, folder: Path) -> Rates:
    """Those of lm-evaluation-harness."""
    settings = {"source": "small-world", "n": n, "seed": seed, "view": view}
    tasks = run(sys.executable, "-m", "tablemend.harnesses", folder=folder).strip()
    name = "tablemend_table_generation"
    program = (sys.executable, "-m", "lm_eval")
    where = ("--tasks", name, "--include_path", tasks)
    run(*program, "validate", *where, folder=folder)
    arguments = f"pretrained={BASE},dtype=float32,enable_thinking=False"
    options = ["--model", "hf", "--model_args", arguments, "--device", "cpu", "--batch_size", "1"]
    options += ["--metadata", json.dumps({"tablemend": settings}), "--apply_chat_template"]
    options += ["--gen_kwargs", f"max_gen_toks={LONGEST}", "--output_path", str(folder)]
    run(*program, "run", *where, *options, folder=folder)
    (path,) = folder.rglob("results_*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["results"][name]
    ends = ",none"
    return {
        key.removesuffix(ends): value
        for key, value in found.items()
        if key.endswith(ends) and not key.removesuffix(ends).endswith("_stderr")
    }


def main() -> None:
    """Print the rates side by side."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=40, help="samples of the small world")
    parser.add_argument("--seed", type=int, default=3, help="of the small world")
    parser.add_argument("--view", default="adversarial", help="clean or adversarial")
    parser.add_argument("--json", type=Path, help="write the rates into this file too")
    options = parser.parse_args()
    asked = (options.n, options.seed, options.view)
    with tempfile.TemporaryDirectory() as name:
        folders = {part: Path(name) / part for part in ("ours", "inspect", "lm-eval")}
        for folder in folders.values():
            folder.mkdir()
        rates = {"compare.py": ours(*asked, folders["ours"])}
        rates |= dict(in_inspect(*asked, folders["inspect"]))
        rates["lm-eval"] = in_lm_eval(*asked, folders["lm-eval"])
    for name in ("metric", *rates):
        print(f"{name:22}", end="")
    print()
    names = list(dict.fromkeys(name for own in rates.values() for name in own))
    for name in names:
        print(f"{name:22}" + "".join(f"{own.get(name)!s:22}" for own in rates.values()))
    if options.json:
        noted = {"n": options.n, "seed": options.seed, "view": options.view, "rates": rates}
        options.json.write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
    first = rates["compare.py"]
    if wrong := [name for name, own in rates.items() if own != first]:
        sys.exit(f"not the rates of compare.py: {', '.join(wrong)}")
    print(f"the same in every digit: {len(first)} rates of {options.n} answers")


if __name__ == "__main__":
    main()
