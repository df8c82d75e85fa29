"""The program verifier: every claim of a document scored against its source."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

from tablemend.evidence.source import Source
from tablemend.records import Claim, Document, Verdict
from tablemend.values.sentences import Span
from tablemend.verification.context import verify_answer_claims
from tablemend.verification.date_findings import DateFindings
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.linking import Linking
from tablemend.verification.logic.verify import verify_logic
from tablemend.verification.name_findings import NameFindings
from tablemend.verification.negation import denied, deny
from tablemend.verification.number_findings import NumberFindings, is_scoped
from tablemend.verification.partial_numbers import is_partial, withhold
from tablemend.verification.reading import Reading
from tablemend.verification.scripts import Scripts
from tablemend.verification.whole_sentences import settle_sentences

VERSION = "program/2"

_LONGEST_STATEMENT = 1500
"""Characters of a sentence over which something is computed; no comparison is so long."""
_LONGEST_SENTENCE = 6000
"""Characters of a sentence that is looked up; what is longer is no prose."""


def verify_document(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Verify every claim of a document, in its order.

    A claim of a text is looked up, cell by cell, and where its words ask for it computed over the
    whole tables; one of an answer table is looked for in the source's text and tables.
    """
    if document.table is not None:
        return verify_answer_claims(document, source)
    verifier = DocumentVerifier(document, source)
    verdicts = [verifier.verify(claim) for claim in document.claims]
    verdicts = settle_sentences(verifier.linking, verdicts, verifier.is_closed)
    return tuple(replace(verdict, verifier=VERSION) for verdict in verdicts)


class DocumentVerifier:
    """One text against one source; every sentence is read once.

    Args:
        document: the text and its claims.
        source: the tables.
    """

    def __init__(self, document: Document, source: Source) -> None:
        self.document = document
        self.linking = Linking(Reading(document.text), source)
        self._numbers = NumberFindings(Grounder(self.linking))
        self._dates = DateFindings(self.linking)
        self._names = NameFindings(self.linking)
        self._scripts = Scripts(document.text, source)
        self._found: dict[int, list[Finding]] = {}
        self._orphans: dict[Claim, list[Finding]] | None = None

    def verify(self, claim: Claim) -> Verdict:
        """The verdict on one claim."""
        if claim.start is None or claim.end is None:
            return Verdict(claim, "unscored", reason="it has no place in the text")
        if not self.linking.source.grids:
            return Verdict(claim, "unscored", reason="the source has no table")
        if not any(grid.lines for grid in self.linking.source.grids):
            return Verdict(claim, "unscored", reason="the tables have no rows")
        sentence = self.linking.reading.sentences[self.linking.sentence_at(claim.start)]
        if reason := self._scripts.unread(*sentence):
            return Verdict(claim, "unscored", reason=reason)
        findings = self.findings(claim)
        if any(finding.final for finding in findings):
            return combine(claim, findings)
        return self._verify(claim)

    def is_closed(self, number: int) -> bool:
        """Whether a sentence denies something, or the table itself leaves a part of it open."""
        final = any(finding.final for finding in self.sentence_findings(number))
        return final or bool(denied(self.linking, number))

    def _verify(self, claim: Claim) -> Verdict:
        """The verdict on a claim by what its words name and what the tables give."""
        findings = self.findings(claim)
        stated = combine(claim, findings)
        if stated.verdict == "supported" and all(finding.firm for finding in findings):
            return stated
        computed = self._compute(claim)
        if claim.kind == "comparative":
            if stated.wrong and (computed is None or computed.verdict != "contradicted"):
                return stated
            return computed or Verdict(claim, "unscored", reason="nothing to compare is found")
        if computed is None or computed.verdict == "unscored":
            return stated
        about = any(_overlap(span, claim.focus) for span in computed.spans)
        if computed.verdict == "contradicted":
            return computed if about and not stated.wrong else stated
        return computed if stated.verdict == "unscored" else stated

    def findings(self, claim: Claim) -> list[Finding]:
        """What is found of the things that a claim states: of its focus where it has one."""
        assert claim.start is not None
        assert claim.end is not None
        found = self.sentence_findings(self.linking.sentence_at(claim.start))
        if claim.focus is None:
            return [f for f in found if claim.start <= f.start < claim.end]
        own = [f for f in found if f.start < claim.focus.end and claim.focus.start < f.end]
        if self._orphans is None:
            self._orphans = self._adopt()
        return own + self._orphans.get(claim, [])

    def sentence_findings(self, number: int) -> list[Finding]:
        """Everything that is found in a sentence, in the order of the text."""
        found = self._found.get(number)
        sentence = self.linking.reading.sentences[number]
        if sentence.end - sentence.start > _LONGEST_SENTENCE:
            return []
        if found is None:
            found = withhold(
                self._numbers.verify(number), self.document.text, self.linking.source.grids
            )
            found += self._dates.verify(number)
            found += self._names.verify(number)
            found = deny(found, self.linking, number)
            found.sort(key=lambda finding: finding.start)
            found = self._found[number] = _without_mentions(found)
        return found

    def _adopt(self) -> dict[Claim, list[Finding]]:
        """Errors outside every claim's focus go to the claim before them that holds the words."""
        placed = [(claim.focus, claim) for claim in self.document.claims if claim.focus]
        placed.sort(key=lambda entry: (entry[0], entry[1].kind == "comparative"))
        starts = [focus.start for focus, _ in placed]
        adopted: dict[Claim, list[Finding]] = {}
        for number in range(len(self.linking.reading.sentences)):
            for finding in self.sentence_findings(number):
                if finding.verdict not in ("contradicted", "not_in_source"):
                    continue
                last = bisect_right(starts, finding.start)
                near = [claim for _, claim in placed[max(0, last - 4) : last + 4]]
                if any(_turns_on(claim, finding) for claim in near):
                    continue
                near.sort(key=lambda claim: claim.kind != "comparative")
                holding = [c for c in near if (c.start or 0) <= finding.start < (c.end or 0)]
                before = [c for c in holding if c.focus and c.focus.start <= finding.start]
                if holding:
                    adopted.setdefault((before or holding)[-1 if before else 0], []).append(finding)
        return adopted

    def _is_refuted(self, verdict: Verdict) -> bool:
        """Whether words that are called wrong are what a cell of a named row and column says."""
        for span in verdict.spans:
            if is_partial(self.document.text, span.start):
                return True
            found = self.sentence_findings(self.linking.sentence_at(span.start))
            if any(
                f.firm
                and f.kind == "number"
                and f.verdict == "supported"
                and f.start < span.end
                and span.start < f.end
                for f in found
            ):
                return True
        return False

    def _is_of_a_list(self, verdict: Verdict, number: int) -> bool:
        """Whether values of two attributes were compared: "the chipset with 2 GB of RAM".

        A list of attributes tells one thing; one clause may tell the values of several.
        """
        columns = self.linking.source.grids[number].columns
        listed = len(columns) == 3 and columns[-1].name.casefold() == "value"  # group, name, value
        return listed and verdict.error_type == "REL"

    def _compute(self, claim: Claim) -> Verdict | None:
        """What the whole tables say; the table of which most is named first."""
        assert claim.start is not None
        assert claim.end is not None
        said = self.linking.reading.sentences[self.linking.sentence_at(claim.start)]
        whole = claim.sentence or said
        if max(whole.end - whole.start, len(claim.statement)) > _LONGEST_STATEMENT:
            return None
        span = Span(claim.start, claim.end)
        weight = {}
        for grid in self.linking.source.grids:
            links = self.linking.links(span, grid.number)
            weight[grid.number] = len(links.columns) + len(links.rows)
        unclear = None
        # which of several tables is meant, no number of words tells for sure
        doubtful = len(weight) > 1 or is_scoped(self.linking.reading.plain, *said)
        for number in sorted(weight, key=lambda number: (-weight[number], number)):
            verdict = verify_logic(claim, self.linking, number)
            if verdict is None or verdict.verdict == "unscored":
                unclear = unclear or verdict
            elif verdict.verdict == "supported" or not (
                doubtful or self._is_refuted(verdict) or self._is_of_a_list(verdict, number)
            ):
                return verdict
        return unclear


def combine(claim: Claim, findings: list[Finding]) -> Verdict:
    """The verdict on a claim from the findings on what it states: the worst decides."""
    if not findings:
        return Verdict(claim, "unscored", reason="nothing in it can be looked up")
    for verdict in ("contradicted", "not_in_source"):
        wrong = [finding for finding in findings if finding.verdict == verdict]
        if wrong:
            first = wrong[0]
            return Verdict(
                claim,
                first.verdict,
                first.error,
                tuple(dict.fromkeys(e for finding in wrong for e in finding.evidence)),
                "; ".join(dict.fromkeys(finding.reason for finding in wrong)),
                tuple(dict.fromkeys(f.span for f in wrong if f.span is not None)),
                first.expected if len({finding.span for finding in wrong}) == 1 else (),
            )
    doubtful = [finding for finding in findings if finding.verdict == "unscored"]
    shown = doubtful or findings
    return Verdict(
        claim,
        "unscored" if doubtful else "supported",
        evidence=tuple(dict.fromkeys(e for finding in shown for e in finding.evidence)),
        reason=shown[0].reason,
    )


def _without_mentions(findings: list[Finding]) -> list[Finding]:
    """Leave open what is only named: that a word stands in the table proves no sentence.

    Where another thing in the sentence was looked up and found right, and nothing wrong, the
    names and periods beside it are what it was found by, and count as supported.
    """
    looked_up = any(f.firm and f.verdict == "supported" for f in findings)
    wrong = any(f.verdict in ("contradicted", "not_in_source") for f in findings)
    if looked_up and not wrong:
        return findings
    return [
        replace(f, verdict="unscored", reason=f"{f.reason}; what is said of it was not looked up")
        if f.verdict == "supported" and not f.firm
        else f
        for f in findings
    ]


def _turns_on(claim: Claim, finding: Finding) -> bool:
    return _overlap(Span(finding.start, finding.end), claim.focus)


def _overlap(span: Span, focus: Span | None) -> bool:
    return focus is not None and span.start < focus.end and focus.start < span.end
