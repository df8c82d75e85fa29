"""The steps of ``train/error_types.py``: examples, training, figures."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablemend.config.error_types import ErrorTypes, ErrorTypesCommand
from tablemend.datasets.tabfaith.error_figures import figures_page, shortened_lines, summary_table
from tablemend.datasets.tabfaith.error_types import (
    TypedClaim,
    fit,
    made_up_tables,
    measure,
    split,
    typed_claims,
)
from tablemend.errors import TablemendError
from tablemend.meta_evaluation.injection import read_tables
from tablemend.records import ClaimError
from tablemend.runs import Run, hash_file, surroundings, write_json, write_text
from tablemend.verification.error_features import VERSION as FEATURES
from tablemend.verification.error_types import BY_KIND, read_classifier

STAGE = "error_types"
FIXED = ("seed", "data.tables", "data.summaries", "data.held_out", "linear", "encoder")
MADE_UP = "made-up tables"
Judge = Callable[[Sequence[TypedClaim]], list[ClaimError]]


@dataclass(frozen=True, slots=True)
class Examples:
    """Claims to learn from, and held-out ones by the source of their tables."""

    learn: list[TypedClaim]
    held_out: dict[str, list[TypedClaim]]


def begin(config: ErrorTypesCommand, run: Run) -> None:
    """Note the settings, or refuse others; with ``overwrite`` delete what this command wrote.

    Raises:
        TablemendError: another training stands in the run folder, or no folder of real tables.
    """
    if config.data.real is not None and not Path(config.data.real).is_dir():
        raise TablemendError(f"data.real: no folder {config.data.real}")
    if config.overwrite:
        for path in (_weights(run), run.path / f"{STAGE}.yaml", run.path / "results.json"):
            path.unlink(missing_ok=True)
        for folder in (run.model, run.path / "checkpoints"):
            shutil.rmtree(folder, ignore_errors=True)
    run.begin(STAGE, config, FIXED)


def read_examples(config: ErrorTypes) -> Examples:
    """Plant the errors; made-up tables are split by their content, real ones only measured on."""
    data, seed = config.data, config.seed
    learn, held_out = split(made_up_tables(data, seed), data.held_out)
    found = {MADE_UP: list(typed_claims(held_out, data.summaries, seed))}
    if data.real is not None:
        for named in read_tables(Path(data.real), data.split, data.real_tables):
            claims = typed_claims([named.table], 1, seed)
            found.setdefault(f"real tables: {named.source}", []).extend(claims)
        found["real tables: all"] = [
            one for name in found if name != MADE_UP for one in found[name]
        ]
    return Examples(list(typed_claims(learn, data.summaries, seed)), found)


def train(
    config: ErrorTypes, run: Run, examples: Sequence[TypedClaim]
) -> tuple[dict[str, Judge], Counter[str]]:
    """The classifiers to be measured; what is trained already is read.

    Returns:
        By name: the trained one first, and what the kind of a claim alone says; and what an
        encoder counts of the claims that it cannot read whole.
    """
    judges: dict[str, Judge] = {}
    shortened: Counter[str] = Counter()
    if config.linear is not None:
        path = _weights(run)
        if not path.exists():
            write_json(path, fit(examples, config.linear, config.seed).to_json())
        classifier = read_classifier(path)
        judges["classifier"] = lambda claims: [
            classifier.classify(one.claim, one.evidence, one.source) for one in claims
        ]
        judges["classifier, evidence alone"] = lambda claims: [
            classifier.classify(one.claim, one.evidence) for one in claims
        ]
        if config.out is not None:
            shutil.copy(path, config.out)
    elif config.encoder is not None:
        from tablemend.training import error_encoder  # torch

        if not (run.model / "config.json").exists():
            counts = error_encoder.train(
                examples, config.encoder, config.seed, run.path / "checkpoints", run.model
            )
            run.record(STAGE, counts)
        encoder = error_encoder.EncoderClassifier(run.model)
        shortened = encoder.shortened
        judges["classifier"] = lambda claims: encoder.classify(
            [(one.claim, one.evidence) for one in claims]
        )
    judges["kind alone"] = lambda claims: [BY_KIND[one.claim.kind] for one in claims]
    return judges, shortened


def evaluate(
    config: ErrorTypes,
    run: Run,
    examples: Examples,
    judges: Mapping[str, Judge],
    shortened: Counter[str],
) -> dict[str, Any]:
    """Figures of every judge on every held-out set, written as JSON and as a page.

    Args:
        config: the recipe.
        run: its folder.
        examples: what was learnt from, and what is measured on.
        judges: what is measured, by name.
        shortened: what an encoder counts of the claims that it cannot read whole.
    """
    around = surroundings()
    path = _weights(run)
    too_long = run.recorded(STAGE).get("too_long", 0)
    sets, not_whole = {}, {}
    for name, claims in examples.held_out.items():
        shortened.clear()
        sets[name] = {
            judge: measure(claims, say(claims), config.seed) for judge, say in judges.items()
        }
        not_whole[name] = dict(+shortened)
    results = {
        "run": run.path.name,
        "command": " ".join(around["command"]),
        "commit": around["commit"],
        "classifier": FEATURES if config.encoder is None else f"encoder {config.encoder.path}",
        "learnt": {
            "claims": len(examples.learn) - too_long,
            "too_long": too_long,
            "errors": len({one.error for one in examples.learn}),
            "tables": len({one.source.tables[0].content_hash() for one in examples.learn}),
        },
        "sets": sets,
        "shortened": not_whole,
    }
    write_json(run.path / "results.json", results)
    page = run.path / "figures.md" if config.page is None else Path(config.page)
    write_text(page, figures_page(results))
    facts = {"weights": hash_file(path)} if path.exists() else {}
    run.record(STAGE, {**run.recorded(STAGE), **facts, "learnt": results["learnt"]})
    return results


def summary(results: Mapping[str, Any]) -> str:
    """The table of all sets, for the end of the command."""
    return summary_table(results["sets"]) + shortened_lines(results)


def _weights(run: Run) -> Path:
    return run.path / "error_types.json"
