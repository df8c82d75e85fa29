"""A language model as verifier: one request a claim, the verdict read strictly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tablemend.backends.asking import ask
from tablemend.backends.requests import Completion, Request
from tablemend.evidence.source import Source
from tablemend.faithfulness.asking import Asker, usage_of
from tablemend.faithfulness.premise import Shown, about, gather, premise, scored, unscored
from tablemend.faithfulness.prompting import PROMPTS, VERIFY
from tablemend.faithfulness.verifier import Usage
from tablemend.prompting.replies import (
    WRONG_FIELD,
    Unreadable,
    one_object,
    why_no_answer,
)
from tablemend.records import VERDICTS, Claim, Document, Verdict, VerdictName

NAMES: tuple[VerdictName, ...] = tuple(name for name in VERDICTS if name != "unscored")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "verdict": {"type": "string", "enum": NAMES}},
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}
_WORD = re.compile(r"[\W_]*(supported|contradicted|not[_ ]in[_ ]source)[\W_]*", re.IGNORECASE)
_LONGEST_WORD = 80


class LLMVerifier(Asker):
    """Any backend's model, shown a claim and its top cells and sentences."""

    PROMPT = VERIFY
    LONGEST = 1024

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`Verifier`.

        Raises:
            Stopped: the server is gone.
        """
        shown = [[gather(claim, source) for claim in document.claims] for document, source in items]
        completions = ask(
            self._backend,
            [
                self._request(f"{VERIFY}.{number}.{place}", claim, one, about(document, source))
                for number, (document, source) in enumerate(items)
                for place, (claim, one) in enumerate(
                    zip(document.claims, shown[number], strict=True)
                )
                if one.evidence
            ],
        )
        found = []
        for number, (document, source) in enumerate(items):
            answers = [
                completions.get(f"{VERIFY}.{number}.{place}")
                for place in range(len(document.claims))
            ]
            verdicts = tuple(
                self._verify(claim, one, answer, source)
                for claim, one, answer in zip(document.claims, shown[number], answers, strict=True)
            )
            found.append((verdicts, usage_of([one for one in answers if one is not None])))
        return found

    def _request(self, name: str, claim: Claim, shown: Shown, subject: str) -> Request:
        return Request(
            id=name,
            messages=PROMPTS.render(
                VERIFY,
                about=subject,
                evidence=premise(shown.evidence),
                statement=claim.statement,
            ),
            sampling=self._sampling,
            thinking=self._thinking,
            schema=SCHEMA,
        )

    def _verify(
        self, claim: Claim, shown: Shown, completion: Completion | None, source: Source
    ) -> Verdict:
        if completion is None:
            return unscored(claim, shown, shown.reason, self.name)
        if problem := why_no_answer(completion):
            return unscored(claim, shown, f"{problem.kind}: {problem.text}", self.name)
        try:
            verdict, reason = read_verdict(completion.answer)
        except Unreadable as error:
            return unscored(claim, shown, f"the model's answer: {error}", self.name)
        return scored(claim, verdict, shown.evidence, source, reason, self.name)


def read_verdict(text: str) -> tuple[VerdictName, str]:
    """The verdict of an answer and its reason: one JSON object, or the verdict's word alone.

    Raises:
        Unreadable: anything else; nothing is guessed.
    """
    if len(text) <= _LONGEST_WORD and (match := _WORD.fullmatch(text)):
        word = match[1].casefold().replace(" ", "_")
        return next(name for name in NAMES if name == word), ""
    data = one_object(text, ("verdict",))
    said = data["verdict"]
    for name in NAMES:
        if said == name:
            reason = data.get("reason")
            return name, " ".join(reason.split()) if isinstance(reason, str) else ""
    raise Unreadable(WRONG_FIELD, f'"verdict" must be one of {", ".join(NAMES)}.')
