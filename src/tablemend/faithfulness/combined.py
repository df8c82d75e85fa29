"""The program first, and a model for what it leaves unscored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tablemend.evidence.source import Source
from tablemend.faithfulness.interface import Verifier
from tablemend.records import Document, Usage, Verdict


class CombinedVerifier:
    """Two verifiers, the second for the claims that the first leaves unscored.

    Args:
        first: verifies every claim.
        second: sees only what is left.
    """

    def __init__(self, first: Verifier, second: Verifier) -> None:
        self.name = f"{first.name} + {second.name}"
        self._first, self._second = first, second

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`Verifier`; what the first verifies whole, the second never sees."""
        scored = self._first.verify(items)
        left = [
            (number, [v.claim for v in verdicts if v.verdict == "unscored"])
            for number, (verdicts, _) in enumerate(scored)
        ]
        left = [(number, claims) for number, claims in left if claims]
        answers = self._second.verify(
            [(replace(items[n][0], claims=tuple(claims)), items[n][1]) for n, claims in left]
        )
        for (number, _), (verdicts, usage) in zip(left, answers, strict=True):
            before, used = scored[number]
            scored[number] = _joined(before, verdicts), used + usage
        return scored

    def close(self) -> None:
        """Close both."""
        self._first.close()
        self._second.close()


def _joined(first: Sequence[Verdict], second: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The second's verdicts where the first has none; where neither has, both reasons."""
    answers = iter(second)
    joined = []
    for verdict in first:
        if verdict.verdict == "unscored":
            answer = next(answers)
            if answer.verdict == "unscored" and verdict.reason:
                reasons = "; ".join(filter(None, (verdict.reason, answer.reason)))
                answer = replace(answer, reason=reasons)
            verdict = answer
        joined.append(verdict)
    return tuple(joined)
