"""A whole validation: every set, every scorer, results.json, and the figures as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.datasets.labelled_texts import draw, file_of, read_set, split_of
from tablemend.meta_evaluation.agreement import score_metric, score_verifier
from tablemend.meta_evaluation.command import INJECTION, ValidateCommand
from tablemend.meta_evaluation.injection_study import SOURCES, study
from tablemend.meta_evaluation.metrics import bleu, score_items
from tablemend.records import CLAIM_ERRORS, VERDICTS
from tablemend.reports import rendering
from tablemend.reports.content import DASH, percent, with_interval
from tablemend.reports.rendering import align
from tablemend.runs import hash_file, surroundings, write_json, write_text
from tablemend.statistics import Rate


def validate(command: ValidateCommand) -> tuple[dict[str, Any], Path]:
    """Compare every scorer with people on every set; write results.json, the manifest, the page.

    Returns:
        The results, and report.md or the page that the command names.
    """
    data, run = Path(command.data), command.folder
    if command.page:
        rendering.read_page(Path(command.page), KNOWN)
    if INJECTION in command.sets or "bleu" in command.metrics:
        bleu("", [""])  # a missing extra is said now, not after hours
    for metric in command.metrics:
        score_items((), metric)  # and so is a missing model
    read = {name: read_set(name, data) for name in command.sets if name != INJECTION}
    for line in (line for _, left_out in read.values() for line in left_out):
        print(f"left out: {line}", file=sys.stderr)
    run.begin("validate", command, parts=())
    around = surroundings()
    manner = {"per_request": command.per_request, "samples": command.samples}
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
        scorers: dict[str, Any] = {}
        for verifier in command.verifiers:
            scorers[verifier] = score_verifier(items, verifier, command.options, **manner)
        dev = [item for item in every if split_of(item.split_key) == "dev"]
        for metric in command.metrics:
            figures = score_metric(items, items if command.split == "dev" else dev, metric)
            if figures is not None:
                kind, _, model = metric.partition(":")
                scorers[kind] = figures | ({"model": model} if model else {})
        results["sets"][name] = {"texts": len(items), "scorers": scorers}
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


Figures = Mapping[str, Any]
SCORER_NAMES = {
    "program": "STAF, program",
    "bleu": "BLEU",
    "parent": "PARENT",
    "overlap": "PARENT, no reference",
    "bertscore": "BERTScore",
    "true": "TRUE",
    "STAF": "STAF, program",
}
MEASURES = {
    "coverage": "claims scored",
    "f1": "F1",
    "f1_all": "F1, all",
    "recall_all": "recall, all",
    "balanced_accuracy": "balanced acc.",
    "accuracy": "acc. on scored",
    "right": "right of all",
    "wrong": "wrong of all",
    "right_with_coin": "a fair coin for what is unscored",
    "precision_single": "one to one: precision",
    "recall_single": "one to one: recall",
    "precision_words": "words: precision",
    "recall_words": "words: recall",
    "pearson": "Pearson r",
    "spearman": "Spearman",
}
"""Headings, where they are not the measure's own name."""
_SPAN = ("span.precision", "span.recall", "span.f1", "span.open")
_TEXT = ("text.precision", "text.recall", "text.f1", "text.balanced_accuracy", "text.accuracy")
_SINGLE = ("span.precision_single", "span.recall_single")
_OF_ALL = ("text.right", "text.wrong", "text.unscored")
_CORRELATION = ("correlation.pearson", "correlation.spearman")
_CLAIMS = ("coverage", "precision", "recall", "recall_all")


def _table(
    heads: Sequence[str],
    places: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Figures]],
    intervals: bool = False,
) -> str:
    """Rows of labels, each with the figures at some dotted places."""
    head = list(heads)
    for place in places:
        level, _, measure = place.rpartition(".")
        named = MEASURES.get(measure, measure)
        has_level = level in ("span", "text") and ":" not in named
        head.append(f"{level}: {named}" if has_level else named)
    lines = [head]
    for names, own in rows:
        lines.append([*names, *(_show(own, place, intervals) for place in places)])
    return align(lines)


def _show(own: Figures, place: str, interval: bool) -> str:
    """A share as ``71.3``, a correlation as ``0.71``, with their intervals or without."""
    *levels, measure = place.split(".")
    for level in levels:
        own = own.get(level, {})
    rate: Rate | None = own.get(measure)
    if rate is None or rate["rate"] is None:
        return DASH
    known = interval and rate["low"] is not None and rate["high"] is not None
    if measure in ("pearson", "spearman"):
        text = f"{rate['rate']:.2f}"
        return f"{text} ({rate['low']:.2f}{DASH}{rate['high']:.2f})" if known else text
    return with_interval(rate) if known else percent(rate["rate"])


def _name(scorer: str) -> str:
    """What a scorer is called in a table."""
    return SCORER_NAMES.get(scorer, scorer)


def _scorers(results: Figures) -> Iterator[tuple[str, str, Figures]]:
    for name, figures in results["sets"].items():
        for scorer, own in figures["scorers"].items():
            yield name, scorer, own


def summary(results: Figures, intervals: bool = True) -> str:
    """The one table: a row for every set and scorer; of a single set also its parts."""

    def rows() -> Iterator[tuple[Sequence[str], Figures]]:
        for name, scorer, own in _scorers(results):
            yield (name, _name(scorer), str(own["texts"])), own
            for group, part in own["groups"].items() if len(results["sets"]) == 1 else ():
                yield (f"- {group}", _name(scorer), str(part["texts"])), part

    places = ("coverage", *_SPAN, *_TEXT, "text.unscored", *_CORRELATION)
    return _table(["set", "scorer", "texts"], places, rows(), intervals)


def of_sets(results: Figures) -> dict[str, str]:
    """Every table of the sets by the name of its place in a page.

    In `everything` what is unscored counts as not found; one to one. `all statements` has what is
    scored of labelled statements, and what it comes to over all of them: its last column gives
    every unscored one to a fair coin, so that it can be compared with programs that verify all,
    and is no accuracy of the program's verdicts. `parts`, `labels` (gold labels against verdicts
    on whole statements) and `people` (every kind of error that people marked) are the program's.
    """
    program = [(name, own) for name, scorer, own in _scorers(results) if scorer == "program"]
    everything = (
        ((n, _name(scorer)), own) for n, scorer, own in _scorers(results) if "text" in own
    )
    statements = (((n, str(own["texts"])), own) for n, own in program if "labels" in own)
    parts = (
        ((name, group, str(part["texts"])), part)
        for name, own in program
        for group, part in own["groups"].items()
    )
    labels = [["set", "people say", *(verdict.replace("_", " ") for verdict in VERDICTS)]]
    people = [["set", "marked as", "marked", "found", "found one to one", "open"]]
    for name, own in program:
        for label, verdicts in own.get("labels", {}).items():
            if any(verdicts.values()):
                counts = [str(verdicts[verdict]) for verdict in VERDICTS]
                labels.append([name, label.replace("_", " "), *counts])
        for label, count in sorted(own["by_label"].items(), key=lambda item: -item[1]["marked"]):
            marked = count["marked"]
            shares = [percent(count[key] / marked) for key in ("found", "single_found", "open")]
            people.append([name, label, str(marked), *shares])
    recalls = ("span.recall_all", "span.f1_all", *_SINGLE, "text.recall_all", *_OF_ALL)
    of_statements = ("text.accuracy", *_OF_ALL, "text.right_with_coin")
    of_parts = (
        *("coverage", "span.precision", "span.recall_all", "text.precision", "text.recall_all"),
        *("text.balanced_accuracy", "text.unscored", "correlation.pearson"),
    )
    return {
        "summary": summary(results),
        "everything": _table(["set", "scorer"], recalls, everything),
        "all statements": _table(["set", "statements"], of_statements, statements, intervals=True),
        "parts": _table(["set", "part", "texts"], of_parts, parts),
        "labels": align(labels),
        "people": align(people),
    }


def of_injections(study: Figures) -> dict[str, str]:
    """Every table of the injection study by the name of its place in a page.

    `injected` has precision and recall by number of injected errors, claims and words; without an
    error every claim found wrong is a false alarm. `injected texts` tells summaries with errors
    from those without, `injected types` how many errors are found, open, and under which type,
    `injected sources` one injected error by source of the tables.
    """
    counts = (((count, str(own["texts"])), own) for count, own in study["by_errors"].items())
    alarms = _show(study["by_errors"]["0"], "false_alarms", False)
    scorers = list(study["by_errors"]["1"]["text"])
    texts = [["errors", *(f"{_name(scorer)}: precision, recall" for scorer in scorers)]]
    for count, own in study["by_errors"].items():
        if "text" in own:
            pairs = [own["text"][scorer] for scorer in scorers]
            shown = [[_show(p, m, False) for m in ("precision", "recall_all")] for p in pairs]
            texts.append([count, *map(", ".join, shown)])
    correlation = [_show(study["correlation"], f"{scorer}.pearson", True) for scorer in scorers]
    texts.append(["r with the share of true claims", *correlation])
    types = (
        ((kind, str(own["injected"]), *(str(own["typed"][other]) for other in CLAIM_ERRORS)), own)
        for kind, own in study["by_type"].items()
    )
    found_as = ["injected", "errors", *(f"found as {other}" for other in CLAIM_ERRORS)]
    sources = (
        ((source, str(own["read"]), str(own["summarised"])), own)
        for source, own in study["by_source"].items()
    )
    of_counts = (*_CLAIMS, "open", "precision_words", "recall_words")
    by_count = _table(["errors", "summaries"], of_counts, counts, intervals=True)
    return {
        "injected": f"{by_count}\n\nFalse alarms, of all claims of the summaries without an error: "
        f"{alarms} %.",
        "injected texts": align(texts),
        "injected types": _table(
            found_as, ("recall_all", "recall_words", "open"), types, intervals=True
        ),
        "injected sources": _table(
            ["tables of", "read", "summarised"], _CLAIMS, sources, intervals=True
        ),
    }


def unread(results: Figures) -> str:
    """How many records could not be read; empty where all could."""
    counts = {name: own["left_out"] for name, own in results["sets"].items() if "left_out" in own}
    named = ", ".join(f"{count} of {name}" for name, count in counts.items())
    return f"Records left out because they could not be read: {named}." if named else ""


def made_by(results: Figures) -> str:
    """Where the figures come from."""
    scorers = [own for _, _, own in _scorers(results)]
    verifiers = sorted({own["verifier"] for own in scorers if "verifier" in own})
    models = {f"{_name(s)} by {own['model']}" for _, s, own in _scorers(results) if "model" in own}
    timed = [own for own in scorers if own.get("claims_per_second")]
    speed = ""
    if timed:
        claims = sum(own["claims"] for own in timed)
        seconds = sum(own["claims"] / own["claims_per_second"] for own in timed)
        speed = f" The program read and scored {claims:,} claims, {claims / seconds:,.0f} a second."
    limit = "all texts" if results["n"] is None else f"at most {results['n']} texts a set"
    return (
        f"Split: {results['split']}; {limit}. "
        f"Verifiers: {', '.join([*verifiers, *sorted(models)]) or 'none'}. "
        f"Command: `{results['command']}`, commit {results['commit']}.{speed}"
    )


KNOWN = (
    *("made by", "summary", "everything", "all statements", "parts", "labels", "people"),
    *("injected", "injected texts", "injected types", "injected sources"),
)
"""Names of the places in a page."""


def sections(results: Figures) -> dict[str, str]:
    """Every part of the page that has figures."""
    found = {"made by": made_by(results)}
    if results["sets"]:
        found |= of_sets(results)
    if "injection" in results:
        found |= of_injections(results["injection"])
    return found


def terminal(results: Figures) -> str:
    """What the command prints at its end."""
    shown = [summary(results, intervals=False)] if results["sets"] else []
    shown += [unread(results)]
    if "injection" in results:
        study = of_injections(results["injection"])
        shown += [study["injected"], study["injected texts"]]
    return "\n\n".join(filter(None, shown))


def fill_page(path: Path, results: Figures) -> None:
    """Put the figures between the page's markers and leave the rest of it alone."""
    rendering.fill_page(path, sections(results), KNOWN)


def report(results: Figures) -> str:
    """All figures one after another: the run folder's report.md."""
    shown = [unread(results)]
    shown += [f"## {name.capitalize()}\n\n{text}" for name, text in sections(results).items()]
    return "# Agreement with people\n\n" + "\n\n".join(filter(None, shown)) + "\n"
