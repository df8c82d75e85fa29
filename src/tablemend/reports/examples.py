"""The page of examples: answers side by side with the gold table, each error in its colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tablemend.backends.requests import END_OF_THINKING
from tablemend.records import Answer, Finding, Judgement, SampleView
from tablemend.reports.markup import Markup, join, tag, text
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
    """Examples that together show every kind of error of every system, few at a time.

    Greedy: each next example adds the most pairs of system and outcome not shown so far; an
    answer without errors is an outcome too. Ties go to the earlier example, so the choice is
    the same every time. It is made to be telling, not representative.

    Args:
        judgements: system -> example id -> judgement, on one context.
        most: how many to choose.
    """
    outcomes: dict[str, set[tuple[str, str]]] = {}
    for system, own in judgements.items():
        for example_id, judgement in own.items():
            kinds: set[str] = {kind for kind, count in judgement.counts.items() if count}
            kinds = kinds or {"none"}
            outcomes.setdefault(example_id, set()).update((system, kind) for kind in kinds)
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


@dataclass(frozen=True, slots=True)
class Look:
    """How answers are read and what is said of them.

    Attributes:
        formats: table format of each system; ``None`` for texts.
        titles: of the error types.
        classes: CSS classes of the error types.
    """

    formats: Mapping[str, Format | None]
    titles: Mapping[str, str]
    classes: Mapping[str, str]


def show_example(number: int, view: SampleView, answers: Mapping[str, Shown], look: Look) -> Markup:
    """One sample: what was asked and read, the gold, and every system's answer."""
    gold = view.gold
    is_wide = isinstance(gold, Table) and len(gold.columns) > WIDE
    return tag(
        "article",
        tag("h3", f"{number}. {view.title} ", tag("small", view.note)),
        tag("p", tag("b", "Query. "), view.query, class_="query") if view.query else None,
        tag(
            "details",
            tag("summary", f"What the model read ({_size(view)})"),
            _legend_of_facts(view) if view.marks else None,
            tag("p", highlight(view), class_="context") if view.text else None,
            *(_scrolling(show_table(table)) for table in view.tables),
            open=view.length <= 1500,
        ),
        tag(
            "div",
            None
            if gold is None
            else tag(
                "div",
                tag("h4", "What is right ", tag("small", "gold")),
                _scrolling(show_table(gold)) if isinstance(gold, Table) else tag("p", gold),
                class_="answer gold",
            ),
            *(show_answer(system, shown, look) for system, shown in answers.items()),
            class_="answers wide" if is_wide else "answers",
        ),
        class_="example",
    )


def _size(view: SampleView) -> str:
    return f"{view.length:,} {'characters' if view.text else 'cells'}"


def _legend_of_facts(view: SampleView) -> Markup:
    distracts = any(mark.kind == "distractor" for mark in view.marks)
    return tag(
        "p",
        tag("mark", "in scope", class_="fact"),
        " belongs into the table",
        join("; ", tag("mark", "out of scope", class_="distractor"), " is a distractor")
        if distracts
        else None,
        ". Point at a mark to see whose value it is.",
        class_="note",
    )


def highlight(view: SampleView) -> Markup:
    """The text with its marks."""
    parts: list[str] = []
    end = 0
    for mark in view.marks:
        if mark.start < end:
            continue  # two facts in one place: the first is marked
        words = view.text[mark.start : mark.end]
        parts += [
            view.text[end : mark.start],
            tag("mark", words, class_=mark.kind, title=mark.why),
        ]
        end = mark.end
    return join(*parts, view.text[end:])


def show_answer(system: str, shown: Shown, look: Look) -> Markup:
    """One system's answer with the errors marked, why, and the raw text."""
    answer, judgement = shown.answer, shown.judgement
    raw = answer.text[:SHOWN_CHARACTERS]
    cut = len(answer.text) - len(raw)
    format = look.formats[system]
    return tag(
        "div",
        tag("h4", system, " ", _badge(judgement, answer)),
        show_text(answer.text, judgement.findings, look)
        if format is None
        else _read_table(answer.text, format, judgement.findings, look),
        tag("ol", *(_explain(finding, look) for finding in judgement.findings), class_="findings")
        if judgement.findings
        else None,
        tag(
            "details",
            tag("summary", f"Raw answer, {answer.completion_tokens} tokens"),
            tag("pre", raw, f"\n[{cut:,} more characters]" if cut else None),
        ),
        class_="answer",
    )


def _read_table(text: str, format: Format, findings: Sequence[Finding], look: Look) -> Markup:
    extraction = extract_table(text, format)
    if extraction.table is None:
        return tag("p", f"No table: {extraction.reason}.", class_="note")
    return _scrolling(show_table(extraction.table, findings, look))


def show_text(text: str, findings: Sequence[Finding], look: Look) -> Markup:
    """A text, its wrong claims coloured and numbered, without the thinking before it."""
    begin = text.rfind(END_OF_THINKING)
    end = 0 if begin < 0 else begin + len(END_OF_THINKING)
    placed = [
        (finding.start, finding.end, number, finding)
        for number, finding in enumerate(findings, 1)
        if finding.start is not None and finding.end is not None
    ]
    parts: list[str] = []
    for start, stop, number, finding in sorted(placed, key=lambda one: one[:3]):
        if start < end:
            continue  # two claims share words: the first is marked, the list has both
        kind = look.classes[finding.type]
        parts += [
            text[end:start],
            tag("span", text[start:stop], class_=f"error {kind}", title=_say(finding, look)),
            tag("sup", str(number)),
        ]
        end = stop
    return tag("p", *parts, text[end:][:SHOWN_CHARACTERS], class_="context")


def _badge(judgement: Judgement, answer: Answer) -> Markup:
    if judgement.unscored:
        return tag("span", f"unscored: {judgement.unscored}", class_="badge")
    count = len(judgement.findings)
    if judgement.abstained:
        verdict = tag("span", "says nothing", class_="badge")
    elif count:
        verdict = tag("span", f"{count} error{'s' if count > 1 else ''}", class_="badge bad")
    else:
        verdict = tag("span", "no error", class_="badge good")
    said = "".join(
        f" {name.replace('_', ' ')} {share.part} of {share.total}"
        for name, share in list(judgement.shares.items())[:1]
    )
    cut = " · cut at the token limit" if answer.finish_reason == "length" else ""
    return join(verdict, tag("small", said + cut))


def show_table(table: Table, findings: Sequence[Finding] = (), look: Look | None = None) -> Markup:
    """A table; cells and rows with a finding are coloured, numbered, and say why."""
    places = _place(table, findings)
    head = tag("tr", *(tag("th", column, scope="col") for column in table.columns))
    body = [
        tag(
            "tr",
            *(
                _show_cell(cell, places.get((row, column), []), look)
                for column, cell in enumerate(cells)
            ),
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


def _show_cell(cell: Cell, findings: Sequence[Numbered], look: Look | None) -> Markup:
    shown = tag("span", "empty", class_="blank") if cell is None else text(cell)
    if not findings or look is None:
        return tag("td", shown)
    title = "\n".join(_say(finding, look) for _, finding in findings)
    marks = ", ".join(str(number) for number, _ in findings)
    kind = look.classes[findings[0][1].type]
    return tag("td", shown, tag("sup", marks), class_=f"error {kind}", title=title, tabindex="0")


def _values(finding: Finding) -> list[tuple[str, str]]:
    """What was expected and what came, where the two are values of one cell or header."""
    if finding.type == "order_mismatch":
        return []  # two rows are compared; the evidence names both
    pairs = (("expected", finding.expected), ("got", finding.got))
    return [(word, value) for word, value in pairs if value is not None]


def _say(finding: Finding, look: Look) -> str:
    """A finding in one line."""
    values = [f"{word} {value}" for word, value in _values(finding)]
    return "; ".join([look.titles[finding.type], *values, finding.evidence])


def _explain(finding: Finding, look: Look) -> Markup:
    row = None if finding.row is None else f"row {finding.row + 1}"
    where = ", ".join(part for part in (row, finding.column) if part)
    values = [join(f" {word} ", tag("q", value)) for word, value in _values(finding)]
    return tag(
        "li",
        tag("span", look.titles[finding.type], class_=f"chip {look.classes[finding.type]}"),
        f" {where}:" if where else ":",
        *values,
        f" ({finding.evidence})" if values else f" {finding.evidence}",
    )


def _scrolling(table: Markup) -> Markup:
    return tag("div", table, class_="scroll")


def legend(look: Look) -> Markup:
    """The colours of the kinds of error."""
    chips = (
        tag("span", look.titles[kind], class_=f"chip {name}") for kind, name in look.classes.items()
    )
    return tag("p", *chips, class_="legend")
