"""A language model as extractor: one request a text, every claim set back into the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tablemend.backends.asking import ask
from tablemend.backends.requests import Completion, Request
from tablemend.faithfulness.alignment import align_claims
from tablemend.faithfulness.asking import Asker, usage_of
from tablemend.faithfulness.prompting import EXTRACT, NO_CLAIM, PROMPTS
from tablemend.faithfulness.verifier import Extraction, Usage
from tablemend.prompting.replies import Unreadable, prose, why_no_answer
from tablemend.records import NO_CLAIMS, Document

_BULLET = re.compile(r"\s*(?:[-*\u2022\u2013]+\s+|\(?\d{1,3}[.)]\s+)?")


class ModelExtractor(Asker):
    """Any backend's model with the extraction prompt."""

    PROMPT = EXTRACT
    LONGEST = 2048

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """See :class:`Extractor`. A text whose answer cannot be read has no claims, and says so.

        Raises:
            Stopped: the server is gone.
        """
        completions = ask(
            self._backend,
            [
                Request(
                    id=f"{EXTRACT}.{number}",
                    messages=PROMPTS.render(EXTRACT, summary=text),
                    sampling=self._sampling,
                    thinking=self._thinking,
                )
                for number, text in enumerate(texts)
                if text.strip()
            ],
        )
        return [
            _read(text, completions.get(f"{EXTRACT}.{number}")) for number, text in enumerate(texts)
        ]


def _read(text: str, completion: Completion | None) -> Extraction:
    if completion is None:  # an empty text
        return Extraction(Document(text, ()), Usage())
    usage = usage_of([completion])
    if problem := why_no_answer(completion):
        return Extraction(Document(text, ()), usage, f"{NO_CLAIMS}: {problem.kind}: {problem.text}")
    try:
        statements = read_statements(completion.answer)
    except Unreadable as error:
        return Extraction(Document(text, ()), usage, f"{NO_CLAIMS}: the model's answer: {error}")
    document, dropped = align_claims(text, statements)
    note = f"{dropped} of the model's {len(statements)} claims stand nowhere in the text: dropped"
    return Extraction(document, usage, note if dropped else "")


def read_statements(answer: str) -> list[str]:
    """The claims of an answer, one a line; bullets and numbers before them are left out.

    Raises:
        Unreadable: nothing, a refusal, or data.
    """
    lines = [_BULLET.sub("", line, count=1).strip() for line in prose(answer).splitlines()]
    lines = [line for line in lines if line]
    return [] if lines == [NO_CLAIM] else lines
