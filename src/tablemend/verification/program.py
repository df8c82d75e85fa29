"""The program verifier: every claim of a document judged against its source."""

from __future__ import annotations

from tablemend.evidence.source import Source
from tablemend.records import Claim, Document, Verdict
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.linking import Linking
from tablemend.verification.moments import Moments
from tablemend.verification.names import Names
from tablemend.verification.reading import Reading
from tablemend.verification.values import Values

VERSION = "program/1"


def verify_document(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Judge every claim of a document, in its order."""
    judge = _Judge(document, source)
    return tuple(judge.judge(claim) for claim in document.claims)


class _Judge:
    """One document against one source; sentences are read once."""

    def __init__(self, document: Document, source: Source) -> None:
        self.document = document
        self.linking = Linking(Reading(document.text), source)
        self._values = Values(self.linking)
        self._moments = Moments(self.linking)
        self._names = Names(self.linking)
        self._findings: dict[int, list[Finding]] = {}

    def judge(self, claim: Claim) -> Verdict:
        """The verdict on one claim."""
        if claim.start is None or claim.end is None:
            return Verdict(claim, "unjudged", reason="no place in the text", judge=VERSION)
        return combine(claim, self.findings(claim))

    def findings(self, claim: Claim) -> list[Finding]:
        """What is found of the things that a claim states: of its focus where it has one."""
        assert claim.start is not None
        assert claim.end is not None
        found = self.sentence_findings(self.linking.sentence_at(claim.start))
        span = claim.focus or Span(claim.start, claim.end)
        inside = [f for f in found if f.start < span.end and span.start < f.end]
        if inside or claim.focus is None:
            return inside
        return [f for f in found if claim.start <= f.start < claim.end]

    def sentence_findings(self, number: int) -> list[Finding]:
        """Everything that is found in a sentence, in the order of the text."""
        found = self._findings.get(number)
        if found is None:
            found = self._values.judge(number)
            found += self._moments.judge(number)
            found += self._names.judge(number)
            found.sort(key=lambda finding: finding.start)
            self._findings[number] = found
        return found


def combine(claim: Claim, findings: list[Finding]) -> Verdict:
    """The verdict on a claim from the findings on what it states: the worst decides."""
    if not findings:
        return Verdict(claim, "unjudged", reason="nothing in it can be looked up", judge=VERSION)
    for verdict in ("contradicted", "not_in_source"):
        wrong = [finding for finding in findings if finding.verdict == verdict]
        if wrong:
            first = wrong[0]
            return Verdict(
                claim,
                first.verdict,
                first.error,
                tuple(e for finding in wrong for e in finding.evidence),
                "; ".join(finding.reason for finding in wrong),
                tuple(finding.span for finding in wrong if finding.span is not None),
                first.expected if len(wrong) == 1 else (),
                VERSION,
            )
    supported = [finding for finding in findings if finding.verdict == "supported"]
    decided = [finding for finding in findings if finding.verdict == "unjudged"]
    shown = decided or supported
    return Verdict(
        claim,
        "supported" if not decided else "unjudged",
        None,
        tuple(e for finding in shown for e in finding.evidence),
        shown[0].reason,
        judge=VERSION,
    )
