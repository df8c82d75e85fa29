"""CAVE on answer tables: flagged cells and rows alone change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tablemend.evidence.source import Source
from tablemend.mitigations.edits import Draft, Mended
from tablemend.mitigations.mend import mend as mend_drafts
from tablemend.records import Document, Usage, Verdict
from tablemend.tables.extract import extract_table
from tests.support.faithfulness_models import Answer, CannedBackend

CONTEXT = "Alba won 41 points and plays in Oslo. Sella won 37 points. Vey won 12 points."
ANSWER = """Sure, here it is:

| Team | Points | City |
|---|---|---|
| Alba | 41 | Oslo |
| Sella | 39 | Rome |
| Kor | 7 | - |

I hope it helps."""
QUERY = "List team, points and city of all teams."


TRUTH = {"Alba": ("41", "Oslo"), "Sella": ("37", ""), "Vey": ("12", "")}


class Knowing:
    """Calls a cell wrong where it is not what the truth says; a row whose name it does not know."""

    name = "knowing/1"

    def verify(
        self, items: list[tuple[Document, object]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        return [
            (tuple(self._score(document, claim) for claim in document.claims), Usage())
            for document, _ in items
        ]

    def _score(self, document: Document, claim) -> Verdict:  # type: ignore[no-untyped-def]
        assert document.table is not None
        row = document.table.rows[claim.row]
        known = TRUTH.get(row[0] or "")
        if claim.column in (None, "Team"):
            wrong = known is None and claim.column is None
        else:
            place = document.table.columns.index(claim.column) - 1
            wrong = known is not None and row[place + 1] != known[place]
        return Verdict(claim, "not_in_source" if wrong else "supported", "NUM" if wrong else None)

    def close(self) -> None:
        pass


def mend(answer: Callable[[str], Answer], text: str = ANSWER) -> tuple[Mended, CannedBackend]:
    backend = CannedBackend(answer)
    draft = Draft(text, Source(text=CONTEXT, query=QUERY), "auto")
    (found,) = mend_drafts([draft], "cave", backend, verifier=Knowing())  # type: ignore[arg-type]
    return found, backend


def good(prompt: str) -> str:
    if "KEEP or DROP" in prompt:
        return "DROP"
    return "37" if "Column:\nPoints" in prompt else "-"


def test_cells_are_corrected_or_blanked_and_rows_dropped() -> None:
    found, backend = mend(good)
    table = extract_table(found.text).table
    assert table is not None
    assert table.rows == (("Alba", "41", "Oslo"), ("Sella", "37", "-"))
    assert found.text.startswith("Sure, here it is:\n\n") and found.text.endswith(
        "I hope it helps."
    )
    changes = [(edit.row, edit.column, edit.old, edit.new) for edit in found.edits]
    assert changes == [
        (1, "Points", "39", "37"),
        (1, "City", "Rome", None),
        (2, None, "Team: Kor; Points: 7; City: -", None),
    ]
    assert len(backend.asked) == found.usage.calls == 3


def test_a_model_sees_the_row_the_question_and_the_context() -> None:
    _, backend = mend(good)
    prompts = [request.messages[1]["content"] for request in backend.asked]
    prompt = next(prompt for prompt in prompts if "Column:\nPoints" in prompt)
    assert QUERY in prompt and "Team: Sella; Points: 39; City: Rome" in prompt
    assert "Sella won 37 points." in prompt


def test_what_mends_nothing_is_undone_and_asked_for_once_more() -> None:
    found, backend = mend(lambda prompt: "KEEP" if "DROP" in prompt else "99")
    assert found.text == ANSWER and not found.edits
    assert len(backend.asked) == 5 and len(found.undone) == 4  # the row is kept


@pytest.mark.parametrize("text", ["I cannot do that.", "", "| Team | Points |"])
def test_an_answer_without_a_table_stays_as_it_is(text: str) -> None:
    found, backend = mend(good, text)
    assert found.text == text and not backend.asked and found.before is None


def test_a_json_answer_stays_json() -> None:
    text = 'Here:\n####\n{"t": [{"Team": "Sella", "Points": 39, "City": null}]}\nDone.'
    found, _ = mend(good, text)
    assert found.text.startswith("Here:\n####\n{") and found.text.endswith("}\nDone.")
    assert '"37"' in found.text and "null" in found.text and "39" not in found.text
