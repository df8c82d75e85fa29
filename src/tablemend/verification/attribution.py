"""Values told of the wrong one: the numbers of a sentence are right, the name is not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from tablemend.values.sentences import Span
from tablemend.verification.binding import Binder
from tablemend.verification.findings import Finding, Subject
from tablemend.verification.grounding import Grounder

_SHARE = 0.75  # of the numbers that the other row must explain


def find_wrong_names(grounder: Grounder, binder: Binder, findings: list[Finding]) -> list[Finding]:
    """Put the blame on a name where one other row has what is said of it.

    At least two numbers must contradict the named row, and exactly one other row must agree with
    all of these and with nearly all that is said of the name: then the name is wrong, not each
    number (ATT). Where half of the numbers fit the named row, it is the others that are wrong.
    """
    groups: dict[Subject, list[int]] = defaultdict(list)
    for place, finding in enumerate(findings):
        if finding.firm and finding.subject is not None and finding.columns:
            groups[finding.subject].append(place)
    result = list(findings)
    for subject, places in groups.items():
        if len(grounder.grids[subject.grid].lines) < 3:
            continue  # of two rows one always has what the other has not
        wrong = [place for place in places if findings[place].verdict == "contradicted"]
        if (
            len(wrong) < 2
            or 2 * len(wrong) <= len(places)
            or subject.start < 0
            or grounder.grids[subject.grid].transposed
        ):
            continue
        rows = _rows_that_agree(grounder, binder, subject, [findings[p] for p in places], wrong)
        if len(rows) != 1:
            continue
        name = _name(grounder, binder, subject, rows[0])
        span = Span(subject.start, subject.end)
        said = grounder.text[subject.start : subject.end]
        for place in wrong:
            finding = findings[place]
            columns = [(rows[0], column) for column in finding.columns]
            result[place] = replace(
                finding,
                error="ATT",
                span=span,
                expected=(name,) if name else (),
                evidence=finding.evidence + grounder.evidence(subject.grid, columns)[:1],
                reason=f'what is said of "{said}" is true of {name or "another row"}',
            )
    return result


def _rows_that_agree(
    grounder: Grounder,
    binder: Binder,
    subject: Subject,
    findings: list[Finding],
    wrong: list[int],
) -> list[int]:
    amounts = {amount.start: amount for amount in binder.amounts}
    rows = []
    for line in grounder.grids[subject.grid].lines:
        if line.index == subject.index or line.total:
            continue
        missed = hit = 0
        for finding in findings:
            cells = [(line.index, column) for column in finding.columns]
            same = grounder.agreement(amounts[finding.start], subject.grid, cells) == "same"
            hit += same
            missed += not same and finding.verdict == "contradicted"
        if not missed and hit >= max(2, _SHARE * len(findings)):
            rows.append(line.index)
    return rows


def _name(grounder: Grounder, binder: Binder, subject: Subject, row: int) -> str:
    """The other row's name, from the column in which the text found the first one."""
    for link in binder.by_grid[subject.grid].rows:
        if link.start == subject.start and link.column >= 0:
            return grounder.grids[subject.grid].cell(row, link.column)
    return ""
