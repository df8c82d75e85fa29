"""The page of examples: answers side by side with the gold table, each error in its colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tablemend.records import ERROR_TYPES, Answer, ContextKind, Example, Finding, Judgement
from tablemend.reports.markup import Markup, join, tag, text
from tablemend.reports.words import ERROR_NAMES
from tablemend.tables.extract import extract_table
from tablemend.tables.read import Format
from tablemend.tables.table import Cell, Table

SHOWN_EXAMPLES = 12
SHOWN_CHARACTERS = 6000
SHOWN_ROWS = 40
WIDE = 4  # columns; wider tables stand below one another


@dataclass(frozen=True, slots=True)
class Shown:
    """One answer on the page."""

    answer: Answer
    judgement: Judgement


def choose_examples(
    judgements: Mapping[str, Mapping[str, Judgement]], most: int = SHOWN_EXAMPLES
) -> list[str]:
    """Examples that together show every kind of error of every arm, few at a time.

    Greedy: each next example adds the most pairs of arm and outcome not shown so far; an
    answer without errors is an outcome too. Ties go to the earlier example, so the choice is
    the same every time. It is made to be telling, not representative.

    Args:
        judgements: arm -> example id -> judgement, on one context.
        most: how many to choose.
    """
    outcomes: dict[str, set[tuple[str, str]]] = {}
    for arm, own in judgements.items():
        for example_id, judgement in own.items():
            kinds: set[str] = {kind for kind, count in judgement.counts.items() if count}
            kinds = kinds or {"none"}
            outcomes.setdefault(example_id, set()).update((arm, kind) for kind in kinds)
    chosen: list[str] = []
    shown: set[tuple[str, str]] = set()
    while len(chosen) < min(most, len(outcomes)):
        rest = [example_id for example_id in outcomes if example_id not in chosen]
        best = max(rest, key=lambda example_id: len(outcomes[example_id] - shown))
        if not outcomes[best] - shown:
            shown = set()  # all have been seen: begin another round
            continue
        chosen.append(best)
        shown |= outcomes[best]
    return chosen


def show_example(
    number: int,
    example: Example,
    context: ContextKind,
    answers: Mapping[str, Shown],
    formats: Mapping[str, Format],
) -> Markup:
    """One example: query, context, gold table, and every arm's answer in the arm's format."""
    return tag(
        "article",
        tag(
            "h3",
            f"{number}. {example.topic} ",
            tag("small", f"{example.domain}, {example.difficulty}, id {example.id}"),
        ),
        tag("p", tag("b", "Query. "), example.query, class_="query"),
        tag(
            "details",
            tag("summary", f"What the model read ({len(example.context(context)):,} characters)"),
            _legend_of_facts(context),
            tag("p", highlight(example, context), class_="context"),
            open=len(example.context(context)) <= 1500,
        ),
        tag(
            "div",
            tag(
                "div",
                tag("h4", "What is right ", tag("small", "gold table")),
                _scrolling(show_table(example.gold_table)),
                class_="answer gold",
            ),
            *(show_answer(arm, shown, formats[arm]) for arm, shown in answers.items()),
            class_="answers wide" if len(example.gold_table.columns) > WIDE else "answers",
        ),
        class_="example",
    )


def _legend_of_facts(context: ContextKind) -> Markup:
    return tag(
        "p",
        tag("mark", "in scope", class_="fact"),
        " belongs into the table",
        None
        if context == "clean"
        else join("; ", tag("mark", "out of scope", class_="distractor"), " is a distractor"),
        ". Point at a mark to see whose value it is.",
        class_="note",
    )


def highlight(example: Example, context: ContextKind) -> Markup:
    """The context with the value of every fact marked: in scope, or a distractor."""
    whole = example.context(context)
    marks = []
    for fact in example.facts:
        place = fact.clean if context == "clean" else fact.adversarial
        if place is not None:
            kind = "fact" if fact.violates is None else "distractor"
            why = f"{fact.entity}: {fact.column}" + (
                f" (out of scope by {fact.violates})" if fact.violates else ""
            )
            marks.append((place.start, place.end, kind, why))
    parts: list[str] = []
    end = 0
    for start, stop, kind, why in sorted(marks):
        if start < end:
            continue  # two facts in one place: the first is marked
        parts += [whole[end:start], tag("mark", whole[start:stop], class_=kind, title=why)]
        end = stop
    return join(*parts, whole[end:])


def show_answer(arm: str, shown: Shown, output: Format) -> Markup:
    """One arm's answer: its table with the errors marked, why, and the raw text."""
    answer, judgement = shown.answer, shown.judgement
    extraction = extract_table(answer.text, output)
    raw = answer.text[:SHOWN_CHARACTERS]
    cut = len(answer.text) - len(raw)
    return tag(
        "div",
        tag("h4", arm, " ", _badge(judgement, answer)),
        _scrolling(show_table(extraction.table, judgement.findings))
        if extraction.table is not None
        else tag("p", f"No table: {extraction.reason}.", class_="note"),
        tag("ol", *(_explain(finding) for finding in judgement.findings), class_="findings")
        if judgement.findings
        else None,
        tag(
            "details",
            tag("summary", f"Raw answer, {answer.completion_tokens} tokens"),
            tag("pre", raw, f"\n[{cut:,} more characters]" if cut else None),
        ),
        class_="answer",
    )


def _badge(judgement: Judgement, answer: Answer) -> Markup:
    if judgement.unjudged:
        return tag("span", f"unjudged: {judgement.unjudged}", class_="badge")
    count = len(judgement.findings)
    if judgement.abstained:
        verdict = tag("span", "empty table", class_="badge")
    elif count:
        verdict = tag("span", f"{count} error{'s' if count > 1 else ''}", class_="badge bad")
    else:
        verdict = tag("span", "no error", class_="badge good")
    recall = f" {judgement.matched_rows} of {judgement.gold_rows} rows"
    cut = " · cut at the token limit" if answer.finish_reason == "length" else ""
    return join(verdict, tag("small", recall + cut))


def show_table(table: Table, findings: Sequence[Finding] = ()) -> Markup:
    """A table; cells and rows with a finding are coloured, numbered, and say why."""
    places = _place(table, findings)
    head = tag("tr", *(tag("th", column, scope="col") for column in table.columns))
    body = [
        tag(
            "tr",
            *(_show_cell(cell, places.get((row, column), [])) for column, cell in enumerate(cells)),
        )
        for row, cells in enumerate(table.rows[:SHOWN_ROWS])
    ]
    more = len(table.rows) - SHOWN_ROWS
    note = tag("caption", f"{more} more rows are not shown") if more > 0 else None
    return tag("table", note, tag("thead", head), tag("tbody", *body))


Numbered = tuple[int, Finding]


def _place(table: Table, findings: Sequence[Finding]) -> dict[tuple[int, int], list[Numbered]]:
    """Findings by (row, column) of the answer; a finding of a whole row is on all its cells."""
    places: dict[tuple[int, int], list[Numbered]] = {}
    for number, finding in enumerate(findings, 1):
        if finding.row is None:
            continue
        named = [i for i, column in enumerate(table.columns) if column == finding.column]
        for column in named[:1] or range(len(table.columns)):
            places.setdefault((finding.row, column), []).append((number, finding))
    return places


def _show_cell(cell: Cell, findings: Sequence[Numbered]) -> Markup:
    shown = tag("span", "empty", class_="blank") if cell is None else text(cell)
    if not findings:
        return tag("td", shown)
    title = "\n".join(_say(finding) for _, finding in findings)
    marks = ", ".join(str(number) for number, _ in findings)
    kind = findings[0][1].type
    return tag("td", shown, tag("sup", marks), class_=f"error {kind}", title=title, tabindex="0")


def _values(finding: Finding) -> list[tuple[str, str]]:
    """What was expected and what came, where the two are values of one cell or header."""
    if finding.type == "order_mismatch":
        return []  # two rows are compared; the evidence names both
    pairs = (("expected", finding.expected), ("got", finding.got))
    return [(word, value) for word, value in pairs if value is not None]


def _say(finding: Finding) -> str:
    """A finding in one line."""
    values = [f"{word} {value}" for word, value in _values(finding)]
    return "; ".join([ERROR_NAMES[finding.type], *values, finding.evidence])


def _explain(finding: Finding) -> Markup:
    row = None if finding.row is None else f"row {finding.row + 1}"
    where = ", ".join(part for part in (row, finding.column) if part)
    values = [join(f" {word} ", tag("q", value)) for word, value in _values(finding)]
    return tag(
        "li",
        tag("span", ERROR_NAMES[finding.type], class_=f"chip {finding.type}"),
        f" {where}:" if where else ":",
        *values,
        f" ({finding.evidence})" if values else f" {finding.evidence}",
    )


def _scrolling(table: Markup) -> Markup:
    return tag("div", table, class_="scroll")


def legend() -> Markup:
    """The colours of the kinds of error."""
    chips = (tag("span", ERROR_NAMES[kind], class_=f"chip {kind}") for kind in ERROR_TYPES)
    return tag("p", *chips, class_="legend")
