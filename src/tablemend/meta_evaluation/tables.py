"""The figures of a validation as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tablemend.records import CLAIM_ERRORS, VERDICTS
from tablemend.reports.rendering import align
from tablemend.reports.wording import DASH, p_value, percent, with_interval
from tablemend.statistics import Rate

Figures = Mapping[str, Any]
SCORER_NAMES = {
    "program": "STAF, program",
    "bleu": "BLEU",
    "parent": "PARENT",
    "overlap": "PARENT, no reference",
    "parent_own": "PARENT, original as reference",
    "STAF": "STAF, program",
}


def _head(names: str) -> list[str]:
    return names.split("|")


def scorer_name(scorer: str) -> str:
    """What a scorer is called in a table."""
    return SCORER_NAMES.get(scorer, scorer)


def summary(results: Figures, intervals: bool = False) -> str:
    """The one table: a row for every set and scorer; of a single set also its parts."""
    rows = [
        _head(
            "set|scorer|texts|claims scored|span: precision|recall|F1|open|text: precision|recall"
            "|F1|balanced acc.|acc. on scored|unscored|Pearson r|Spearman"
        )
    ]
    single = len(results["sets"]) == 1
    for name, figures in results["sets"].items():
        for scorer, own in figures["scorers"].items():
            rows.append(_row(name, scorer, own, intervals))
            for group, part in own["groups"].items() if single else ():
                rows.append(_row(f"- {group}", scorer, part, intervals))
    return align(rows)


def unread(results: Figures) -> str:
    """How many records could not be read; empty where all could."""
    counts = {name: own["left_out"] for name, own in results["sets"].items() if "left_out" in own}
    named = ", ".join(f"{count} of {name}" for name, count in counts.items())
    return f"Records left out because they could not be read: {named}." if named else ""


def terminal(results: Figures) -> str:
    """What the command prints at its end."""
    parts = [summary(results)] if results["sets"] else []
    if left_out := unread(results):
        parts.append(left_out)
    if "injection" in results:
        parts += [injected(results["injection"]), injected_texts(results["injection"])]
    return "\n\n".join(parts)


def _row(name: str, scorer: str, own: Figures, intervals: bool) -> list[str]:
    def show(level: str, *measures: str) -> list[str]:
        return [share(own.get(level, {}).get(measure), intervals) for measure in measures]

    return [
        name,
        scorer_name(scorer),
        str(own["texts"]),
        share(own.get("coverage"), intervals),
        *show("span", "precision", "recall", "f1", "open"),
        *show("text", "precision", "recall", "f1", "balanced_accuracy", "accuracy", "unscored"),
        *(number(own["correlation"][measure], intervals) for measure in ("pearson", "spearman")),
    ]


def share(rate: Rate | None, interval: bool = False) -> str:
    """``71.3``, or with its interval."""
    if rate is None or rate["rate"] is None:
        return DASH
    return with_interval(rate) if interval and rate["low"] is not None else percent(rate["rate"])


def number(rate: Rate | None, interval: bool = False) -> str:
    """``0.71``, or ``0.71 (0.68-0.74)``."""
    if rate is None or rate["rate"] is None:
        return DASH
    text = f"{rate['rate']:.2f}"
    if not interval or rate["low"] is None or rate["high"] is None:
        return text
    return f"{text} ({rate['low']:.2f}{DASH}{rate['high']:.2f})"


def over_everything(results: Figures) -> str:
    """What is unscored counts as not found here; sentences, characters, one to one."""
    rows = [
        _head(
            "set|scorer|span: recall, all|F1, all|one to one: precision|recall"
            "|characters: precision|recall|sentence: precision|recall|recall, all"
            "|text: recall, all|right|wrong|unscored"
        )
    ]
    for name, figures in results["sets"].items():
        for scorer, own in figures["scorers"].items():
            if "text" not in own:
                continue
            span, sentence, text = (own.get(level, {}) for level in ("span", "sentence", "text"))
            rows.append(
                [name, scorer_name(scorer)]
                + [share(span.get(m)) for m in ("recall_all", "f1_all")]
                + [share(span.get(m)) for m in ("precision_single", "recall_single")]
                + [share(span.get(m)) for m in ("precision_characters", "recall_characters")]
                + [share(sentence.get(m)) for m in ("precision", "recall", "recall_all")]
                + [share(text.get(m)) for m in ("recall_all", "right", "wrong", "unscored")]
            )
    return align(rows)


def people_kinds(results: Figures) -> str:
    """Every kind of error that people marked: how much of it the program finds."""
    rows = [["set", "marked as", "marked", "found", "found one to one", "open"]]
    for name, own in _program(results):
        for label, count in sorted(own["by_label"].items(), key=lambda item: -item[1]["marked"]):
            marked = count["marked"]
            shares = [percent(count[key] / marked) for key in ("found", "found_single", "open")]
            rows.append([name, label, str(marked), *shares])
    return align(rows)


def over_all_statements(results: Figures) -> str:
    """Labelled statements: what is scored, and what it comes to over all of them.

    The last column gives every unscored statement to a fair coin, so that it can be compared with
    programs that verify all; it is no accuracy of the program's verdicts.
    """
    rows = [
        _head(
            "set|statements|scored|acc. on scored|right of all|wrong of all|unscored"
            "|a fair coin for what is unscored"
        )
    ]
    for name, own in _program(results):
        if "labels" not in own:
            continue
        text = own["text"]
        scored = None if text["unscored"]["rate"] is None else 1 - text["unscored"]["rate"]
        rows.append(
            [name, str(own["texts"]), percent(scored), share(text["accuracy"], True)]
            + [share(text[measure]) for measure in ("right", "wrong", "unscored")]
            + [share(text["right_with_coin"], True)]
        )
    return align(rows)


def labels(results: Figures) -> str:
    """Gold labels against verdicts on whole statements, in counts."""
    rows = [["set", "people say", *(verdict.replace("_", " ") for verdict in VERDICTS)]]
    for name, own in _program(results):
        for label, verdicts in own.get("labels", {}).items():
            if any(verdicts.values()):
                counts = [str(verdicts[verdict]) for verdict in VERDICTS]
                rows.append([name, label.replace("_", " "), *counts])
    return align(rows)


def parts(results: Figures) -> str:
    """The parts of every set, for the program."""
    rows = [
        _head(
            "set|part|texts|claims scored|span: precision|recall, all|text: precision|recall, all"
            "|balanced acc.|unscored|Pearson r"
        )
    ]
    for name, own in _program(results):
        for group, part in own["groups"].items():
            span, text = part.get("span", {}), part.get("text", {})
            rows.append(
                [name, group, str(part["texts"]), share(part["coverage"])]
                + [share(span.get(m)) for m in ("precision", "recall_all")]
                + [share(text.get(m)) for m in ("precision", "recall_all")]
                + [share(text.get(m)) for m in ("balanced_accuracy", "unscored")]
                + [number(part["correlation"]["pearson"])]
            )
    return align(rows)


def sizes(results: Figures) -> str:
    """STAF and people's judgement against the cells of the source, over real outputs."""
    rows = [["set", "texts", "STAF: r", "p", "people: r", "p"]]
    for name, own in _program(results):
        size = own["size"]
        cells = [str(size["STAF"]["n"])]
        for side in ("STAF", "people"):
            r, p = size[side]["r"], size[side]["p"]
            cells += [DASH, DASH] if r is None else [f"{r:.2f}", p_value(p).removeprefix("= ")]
        rows.append([name, *cells])
    return align(rows)


def _program(results: Figures) -> Iterator[tuple[str, Figures]]:
    for name, figures in results["sets"].items():
        if "program" in figures["scorers"]:
            yield name, figures["scorers"]["program"]


def injected(study: Figures) -> str:
    """Precision and recall by number of injected errors, claims and words."""
    rows = [
        _head(
            "errors|summaries|claims scored|claims: precision|recall|recall, all|open"
            "|words: precision|recall|false alarms"
        )
    ]
    for count, own in study["by_errors"].items():
        rows.append(
            [count, str(own["texts"]), share(own["coverage"])]
            + [share(own[m], True) for m in ("precision", "recall", "recall_all")]
            + [share(own[m]) for m in ("open", "precision_words", "recall_words")]
            + [share(own["false_alarms"]) if count == "0" else DASH]
        )
    return align(rows)


def injected_texts(study: Figures) -> str:
    """Summaries with errors told from those without, by number of errors and scorer."""
    scorers = list(study["by_errors"]["1"]["text"])
    rows = [["errors", *(f"{scorer_name(s)}: precision, recall" for s in scorers)]]
    for count, own in study["by_errors"].items():
        if "text" in own:
            pairs = [own["text"][scorer] for scorer in scorers]
            rows.append(
                [count, *(f"{share(p['precision'])}, {share(p['recall_all'])}" for p in pairs)]
            )
    correlation = study["correlation"]
    rows.append(
        ["r with the share of true claims"]
        + [number(correlation[scorer]["pearson"], True) for scorer in scorers]
    )
    return align(rows)


def injected_types(study: Figures) -> str:
    """Injected types: how many are found, how many are open, and under which type."""
    rows = [
        ["injected", "errors", "found", "words found", "open"]
        + [f"called {kind}" for kind in CLAIM_ERRORS]
    ]
    for kind, own in study["by_type"].items():
        rows.append(
            [kind, str(own["injected"])]
            + [share(own[m], m == "recall_all") for m in ("recall_all", "recall_words", "open")]
            + [str(own["typed"][other]) for other in CLAIM_ERRORS]
        )
    return align(rows)


def injected_sources(study: Figures) -> str:
    """One injected error, by source of the tables."""
    rows = [
        ["tables of", "read", "summarised", "claims scored", "precision", "recall", "recall, all"]
    ]
    for source, own in study["by_source"].items():
        tables = study["tables"][source]
        rows.append(
            [source, str(tables["read"]), str(tables["told"]), share(own["coverage"])]
            + [share(own[m], True) for m in ("precision", "recall", "recall_all")]
        )
    return align(rows)
