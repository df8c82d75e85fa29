"""The solver of the logic domain: on pairs of known relation, and on public formulas.

    python benchmarks/logic_solver.py --n 2100
    python benchmarks/logic_solver.py --n 0 --folio FILE --malls FILE
    python benchmarks/logic_solver.py --n 70 --formaliser openai:MODEL@URL

Inputs are read back from what annotators are shown, outputs are the formulas that were said. Of
FOLIO the gold premises and conclusions are parsed and decided against its labels; of MALLS formulas
are parsed, shown and parsed again. What the parser refuses counts as not
parsed; it has no lenience for these sets. With a formaliser its formulas take the place of the
output's own: what it turns into a formula is decided against the relation of the pair.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tablemend.backends.backend import open_backend
from tablemend.config.section import BackendOptions
from tablemend.script import run_script
from tablemend.statistics import wilson
from tablemend.tasks.logic.formula import (
    BLOCKS,
    Formula,
    FormulaError,
    Not,
    free_variables,
    parse_formula,
    show,
    show_indented,
    show_latex,
)
from tablemend.tasks.logic.generate import CATEGORIES, make_pairs, to_pair
from tablemend.tasks.logic.solver import Theory, formalise

Record = dict[str, Any]
LABELS = {"Unknown": "Uncertain"}
"""FOLIO's third label has two names."""


def measure_pairs(n: int, seed: int, theory: Theory) -> Iterator[str]:
    """Agreement of the solver with the construction, by category, and the time that it takes."""
    right, total = Counter[str](), Counter[str]()
    passed, used = list[float](), list[float]()
    for number, made in enumerate(make_pairs(n, CATEGORIES, seed)):
        pair = to_pair(made, Random(f"benchmark:{seed}:{number}"))
        input, output = parse_formula(pair.input, BLOCKS), made.output
        start = time.perf_counter(), time.process_time()
        found = theory.judge(input, output)
        passed.append(time.perf_counter() - start[0])
        used.append(time.process_time() - start[1])
        total[made.category] += 1
        if found.relation == made.category:
            right[made.category] += 1
        else:
            yield f"  {show(input)} | {pair.output} | {made.category} {found}"
    for category in CATEGORIES:
        yield f"{category:<22} {right[category]} of {total[category]}"
    yield f"agreement {_share(right.total(), total.total())}"
    for what, seconds in (("seconds", passed), ("of the processor", used)):
        seconds.sort()
        late = sum(one > 1 for one in seconds)
        yield f"{what}: median {statistics.median(seconds):.4f}, most {seconds[-1]:.3f}, {late} > 1"


def measure_formaliser(n: int, seed: int, theory: Theory, model: str) -> Iterator[str]:
    """How many outputs a model puts into formulas, and how many of these have the relation."""
    made = list(make_pairs(n, CATEGORIES, seed))
    pairs = [to_pair(one, Random(f"benchmark:{seed}:{number}")) for number, one in enumerate(made)]
    with open_backend(model, BackendOptions()) as backend:
        found = formalise([pair.output for pair in pairs], backend)
    reasons = Counter(one.reason.partition(":")[0] for one in found if one.formula is None)
    right = sum(
        theory.judge(own.input, one.formula).relation == own.category
        for own, one in zip(made, found, strict=True)
        if one.formula is not None
    )
    yield f"put into a formula {_share(n - reasons.total(), n)}"
    yield f"relation as constructed {_share(right, n - reasons.total())}"
    yield from (f"  {count} {reason}" for reason, count in reasons.most_common())


def measure_folio(records: Sequence[Record], theory: Theory) -> Iterator[str]:
    """Parsed formulas and records, and decided labels against the recorded ones."""
    count, distinct = Counter[str](), dict[str, Formula | None]()
    for record in records:
        texts = [*record["premises-FOL"], *filter(None, [record.get("conclusion-FOL")])]
        parsed = [_parse(text) for text in texts]
        distinct |= zip(texts, parsed, strict=True)
        formulas = [one for one in parsed if one is not None]
        count.update(formulas=len(parsed), parsed=len(formulas))
        count.update(records=1, whole=len(formulas) == len(parsed))
        if "conclusion-FOL" not in record:
            continue
        count["with a conclusion"] += 1
        if len(formulas) < len(parsed):
            continue
        *premises, conclusion = formulas
        found = _label(theory, premises, conclusion)
        label = LABELS.get(record["label"], record["label"])
        count.update(decided=found in ("True", "False", "Uncertain"), right=found == label)
        if found != label:
            yield f"  {record['id']}: found {found}, recorded {label}"
    different = sum(one is not None for one in distinct.values())
    unbound = sum(one is not None and bool(free_variables(one)) for one in distinct.values())
    yield f"formulas parsed {_share(count['parsed'], count['formulas'])}"
    yield f"different formulas parsed {_share(different, len(distinct))}, {unbound} with a"
    yield "  variable that nothing binds"
    yield f"records parsed whole {_share(count['whole'], count['records'])}"
    yield f"decided {count['decided']} of {count['with a conclusion']} with a formal conclusion"
    yield f"as recorded {_share(count['right'], count['decided'])}"


def measure_malls(records: Sequence[Record]) -> Iterator[str]:
    """Parsed formulas, and those that are the same when shown and parsed again."""
    parsed = [_parse(record["FOL"]) for record in records]
    formulas = [one for one in parsed if one is not None]
    yield f"parsed {_share(len(formulas), len(parsed))}"
    for write in (show, show_latex, show_indented):
        same = sum(parse_formula(write(one)) == one for one in formulas)
        yield f"{write.__name__} read back {_share(same, len(formulas))}"


def _label(theory: Theory, premises: Sequence[Formula], conclusion: Formula) -> str:
    follows = theory.follows(premises, conclusion)
    fails = theory.follows(premises, Not(conclusion))
    if follows.holds and fails.holds:
        return "contradictory premises"
    if follows.holds or fails.holds:
        return str(bool(follows.holds))
    return "Uncertain" if follows.holds is fails.holds is False else "undecided"


def _parse(text: str) -> Formula | None:
    try:
        return parse_formula(text)
    except FormulaError:
        return None


def _records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _share(part: int, whole: int) -> str:
    if not whole:
        return "0 of 0"
    low, high = wilson(part, whole)
    return f"{part} of {whole}, {part / whole:.1%} ({low:.1%} to {high:.1%})"


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=2100, help="generated pairs; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--symmetric", action="store_true", help="adjoining is symmetric")
    parser.add_argument("--folio", type=Path, help="JSONL of FOLIO")
    parser.add_argument("--malls", type=Path, help="JSONL of MALLS")
    parser.add_argument("--seconds", type=float, default=5, help="most time for one answer")
    parser.add_argument("--formaliser", help="model that puts the outputs into formulas")
    options = parser.parse_args()
    parts: list[tuple[str, Iterator[str]]] = []
    if options.n:
        theory = Theory(symmetric=options.symmetric, seconds=options.seconds)
        given = options.n, options.seed, theory
        if options.formaliser:
            parts.append((options.formaliser, measure_formaliser(*given, options.formaliser)))
        else:
            parts.append(("pairs", measure_pairs(*given)))
    if options.folio:
        logic = Theory(blocks=False, seconds=options.seconds)
        parts.append(("FOLIO", measure_folio(_records(options.folio), logic)))
    if options.malls:
        parts.append(("MALLS", measure_malls(_records(options.malls))))
    for name, lines in parts:
        print(name)
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    run_script(main)
