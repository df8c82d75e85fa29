"""A whole validation: every set, every scorer, results.json, and the figures as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tablemend.datasets.labelled_texts import draw, file_of, read_set, split_of
from tablemend.meta_evaluation.agreement import score_metric, score_verifier
from tablemend.meta_evaluation.command import INJECTION, ValidateCommand
from tablemend.meta_evaluation.injection_study import SOURCES, study
from tablemend.meta_evaluation.metrics import bleu
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
        scorers: dict[str, Any] = {}
        for verifier in command.verifiers:
            scorers[verifier] = score_verifier(items, verifier, command.options)
        dev = [item for item in every if split_of(item.split_key) == "dev"]
        for metric in command.metrics:
            figures = score_metric(items, items if command.split == "dev" else dev, metric)
            if figures is not None:
                scorers[metric] = figures
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


def scorer_name(scorer: str) -> str:
    """What a scorer is called in a table."""
    return SCORER_NAMES.get(scorer, scorer)


def _scorers(results: Figures) -> Iterator[tuple[str, str, Figures]]:
    for name, figures in results["sets"].items():
        for scorer, own in figures["scorers"].items():
            yield name, scorer, own


def _program(results: Figures) -> Iterator[tuple[str, Figures]]:
    return ((name, own) for name, scorer, own in _scorers(results) if scorer == "program")


def summary(results: Figures, intervals: bool = True) -> str:
    """The one table: a row for every set and scorer; of a single set also its parts."""

    def rows() -> Iterator[tuple[Sequence[str], Figures]]:
        for name, scorer, own in _scorers(results):
            yield (name, scorer_name(scorer), str(own["texts"])), own
            for group, part in own["groups"].items() if len(results["sets"]) == 1 else ():
                yield (f"- {group}", scorer_name(scorer), str(part["texts"])), part

    places = ("coverage", *_SPAN, *_TEXT, "text.unscored", *_CORRELATION)
    return _table(["set", "scorer", "texts"], places, rows(), intervals)


def over_everything(results: Figures) -> str:
    """What is unscored counts as not found here; one to one."""
    rows = (
        ((name, scorer_name(scorer)), own)
        for name, scorer, own in _scorers(results)
        if "text" in own
    )
    places = ("span.recall_all", "span.f1_all", *_SINGLE, "text.recall_all", *_OF_ALL)
    return _table(["set", "scorer"], places, rows)


def over_all_statements(results: Figures) -> str:
    """Labelled statements: what is scored, and what it comes to over all of them.

    The last column gives every unscored statement to a fair coin, so that it can be compared with
    programs that verify all; it is no accuracy of the program's verdicts.
    """
    rows = (((n, str(own["texts"])), own) for n, own in _program(results) if "labels" in own)
    places = ("text.accuracy", *_OF_ALL, "text.right_with_coin")
    return _table(["set", "statements"], places, rows, intervals=True)


def parts(results: Figures) -> str:
    """The parts of every set, for the program."""
    rows = (
        ((name, group, str(part["texts"])), part)
        for name, own in _program(results)
        for group, part in own["groups"].items()
    )
    span, text = ("span.precision", "span.recall_all"), ("text.precision", "text.recall_all")
    rest = ("text.balanced_accuracy", "text.unscored", "correlation.pearson")
    places = ("coverage", *span, *text, *rest)
    return _table(["set", "part", "texts"], places, rows)


def labels(results: Figures) -> str:
    """Gold labels against verdicts on whole statements, in counts."""
    rows = [["set", "people say", *(verdict.replace("_", " ") for verdict in VERDICTS)]]
    for name, own in _program(results):
        for label, verdicts in own.get("labels", {}).items():
            if any(verdicts.values()):
                counts = [str(verdicts[verdict]) for verdict in VERDICTS]
                rows.append([name, label.replace("_", " "), *counts])
    return align(rows)


def people_kinds(results: Figures) -> str:
    """Every kind of error that people marked: how much of it the program finds."""
    rows = [["set", "marked as", "marked", "found", "found one to one", "open"]]
    for name, own in _program(results):
        for label, count in sorted(own["by_label"].items(), key=lambda item: -item[1]["marked"]):
            marked = count["marked"]
            shares = [percent(count[key] / marked) for key in ("found", "single_found", "open")]
            rows.append([name, label, str(marked), *shares])
    return align(rows)


def injected(study: Figures) -> str:
    """Precision and recall by number of injected errors, claims and words.

    Without an error every claim found wrong is a false alarm: their share of all claims is below.
    """
    rows = (((count, str(own["texts"])), own) for count, own in study["by_errors"].items())
    alarms = _show(study["by_errors"]["0"], "false_alarms", False)
    places = (*_CLAIMS, "open", "precision_words", "recall_words")
    table = _table(["errors", "summaries"], places, rows, intervals=True)
    return f"{table}\n\nFalse alarms, of all claims of the summaries without an error: {alarms} %."


def injected_texts(study: Figures) -> str:
    """Summaries with errors told from those without, by number of errors and scorer."""
    scorers = list(study["by_errors"]["1"]["text"])
    rows = [["errors", *(f"{scorer_name(s)}: precision, recall" for s in scorers)]]
    for count, own in study["by_errors"].items():
        if "text" in own:
            pairs = [own["text"][scorer] for scorer in scorers]
            shown = [[_show(p, m, False) for m in ("precision", "recall_all")] for p in pairs]
            rows.append([count, *map(", ".join, shown)])
    correlation = [_show(study["correlation"], f"{scorer}.pearson", True) for scorer in scorers]
    return align([*rows, ["r with the share of true claims", *correlation]])


def injected_types(study: Figures) -> str:
    """Injected types: how many are found, how many are open, and under which type."""
    rows = (
        ((kind, str(own["injected"]), *(str(own["typed"][other]) for other in CLAIM_ERRORS)), own)
        for kind, own in study["by_type"].items()
    )
    heads = ["injected", "errors", *(f"found as {other}" for other in CLAIM_ERRORS)]
    return _table(heads, ("recall_all", "recall_words", "open"), rows, intervals=True)


def injected_sources(study: Figures) -> str:
    """One injected error, by source of the tables."""
    rows = (
        ((source, str(own["read"]), str(own["summarised"])), own)
        for source, own in study["by_source"].items()
    )
    return _table(["tables of", "read", "summarised"], _CLAIMS, rows, intervals=True)


def unread(results: Figures) -> str:
    """How many records could not be read; empty where all could."""
    counts = {name: own["left_out"] for name, own in results["sets"].items() if "left_out" in own}
    named = ", ".join(f"{count} of {name}" for name, count in counts.items())
    return f"Records left out because they could not be read: {named}." if named else ""


def made_by(results: Figures) -> str:
    """Where the figures come from."""
    scorers = [own for _, _, own in _scorers(results)]
    verifiers = sorted({own["verifier"] for own in scorers if "verifier" in own})
    timed = [own for own in scorers if own.get("claims_per_second")]
    speed = ""
    if timed:
        claims = sum(own["claims"] for own in timed)
        seconds = sum(own["claims"] / own["claims_per_second"] for own in timed)
        speed = f" The program read and scored {claims:,} claims, {claims / seconds:,.0f} a second."
    limit = "all texts" if results["n"] is None else f"at most {results['n']} texts a set"
    return (
        f"Split: {results['split']}; {limit}. Verifiers: {', '.join(verifiers) or 'none'}. "
        f"Command: `{results['command']}`, commit {results['commit']}.{speed}"
    )


SECTIONS: dict[str, Callable[[Figures], str]] = {
    "summary": summary,
    "everything": over_everything,
    "all statements": over_all_statements,
    "parts": parts,
    "labels": labels,
    "people": people_kinds,
}
STUDY: dict[str, Callable[[Figures], str]] = {
    "injected": injected,
    "injected texts": injected_texts,
    "injected types": injected_types,
    "injected sources": injected_sources,
}
"""Names of the places in a page, and what fills them."""
KNOWN = ("made by", *SECTIONS, *STUDY)


def sections(results: Figures) -> dict[str, str]:
    """Every part of the page that has figures."""
    found = {"made by": made_by(results)}
    if results["sets"]:
        found |= {name: fill(results) for name, fill in SECTIONS.items()}
    if "injection" in results:
        found |= {name: fill(results["injection"]) for name, fill in STUDY.items()}
    return found


def terminal(results: Figures) -> str:
    """What the command prints at its end."""
    shown = [summary(results, intervals=False)] if results["sets"] else []
    shown += [unread(results)]
    if "injection" in results:
        shown += [injected(results["injection"]), injected_texts(results["injection"])]
    return "\n\n".join(filter(None, shown))


def read_page(path: Path) -> str:
    """A page that figures are to be put into; see `rendering.read_page`."""
    return rendering.read_page(path, KNOWN)


def fill_page(path: Path, results: Figures) -> None:
    """Put the figures between the page's markers and leave the rest of it alone."""
    rendering.fill_page(path, sections(results), KNOWN)


def report(results: Figures) -> str:
    """All figures one after another: the run folder's report.md."""
    shown = [unread(results)]
    shown += [f"## {name.capitalize()}\n\n{text}" for name, text in sections(results).items()]
    return "# Agreement with people\n\n" + "\n\n".join(filter(None, shown)) + "\n"
