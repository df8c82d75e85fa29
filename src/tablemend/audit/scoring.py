"""What an audit notes of each answer: its errors, what was checked, or why nothing could be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tablemend.api import detection, verification
from tablemend.audit.inputs import Answer, Block, Record, read_answer, read_block, source_in
from tablemend.detector.algorithm import detector_name
from tablemend.detector.similarity import load_similarity
from tablemend.errors import TablemendError, defect
from tablemend.evidence.files import given_gold
from tablemend.evidence.source import Source
from tablemend.mitigations.edits import Draft
from tablemend.results import Claim, Detection, Error, Verification
from tablemend.runs.files import hash_text
from tablemend.verifier.program import VERSION
from tablemend.verifier.staf import open_verifier, verify_documents
from tablemend.verifier.verifiers import PROGRAM, Verifier

EXPECTED = (OSError, ImportError, MemoryError)
"""What no single answer is to blame for."""
LONGEST_LABEL = 60


class AnswerScorer:
    """Scores the answers of blocks; made once in each process.

    Args:
        fields: see :func:`~tablemend.audit.inputs.read_answer`.
        verifier: of texts, and of tables without a gold table.
    """

    def __init__(self, fields: Mapping[str, str], verifier: str) -> None:
        self._fields = fields
        self._verifier = open_verifier(verifier)

    def __call__(self, block: Block) -> list[dict[str, Any]]:
        """What is noted of each record of a block, in order."""
        return [self.note(one) for one in read_block(block)]

    def note(self, record: Record) -> dict[str, Any]:
        """What is noted of one record: JSON.

        ``skipped`` says why it holds no answer that could be scored, ``unscored`` why none was; of
        all others ``score``, ``scored`` of ``total`` claims or error types, ``errors``, and
        ``columns``: 1 of those with an error, 0 of others that were checked.
        """
        answer = record.problem if record.data is None else read_answer(record.data, self._fields)
        if isinstance(answer, str):
            return {"place": record.place, "skipped": answer}
        noted = {"place": record.place} | _about(answer)
        try:
            found = score_answer(answer, self._verifier, record.place)
        except TablemendError as error:
            return noted | {"unscored": str(error)}
        except EXPECTED:
            raise
        except Exception as error:
            return noted | {"unscored": defect(error)}
        if not found.coverage.scored:
            why = found.unscored[0].reason if found.unscored else "no claim was found"
            return noted | {"unscored": why, "scorer": found.scorer}
        return noted | {
            "kind": found.kind,
            "scorer": found.scorer,
            "score": found.score,
            "scored": found.coverage.scored,
            "total": found.coverage.total,
            "errors": [_error(one) for one in found.errors],
            "columns": _columns(answer, found),
        }


def score_answer(
    answer: Answer, verifier: str | Verifier, place: str = ""
) -> Detection | Verification:
    """An answer beside its gold table; else the claims of a text by its table, or the cells of an
    answer table by its context.

    Raises:
        TablemendError: what it is to be scored by cannot be read, or it holds no table.
    """
    if answer.gold is not None:
        gold = _gold(_key(answer.gold))
        return detection(answer.text, gold, answer.context, answer.query, name=place)
    if answer.table is not None:
        source = _source(_key(answer.table), answer.context or "")
        draft = Draft(answer.text, source, None, place)
    else:
        source = Source(text=answer.context or "", query=answer.query)
        draft = Draft(answer.text, source, "auto", place)
        if (read := draft.read()).table is None:
            raise TablemendError(f"the answer holds no table ({read.reason or 'an empty one'})")
    (found,) = verify_documents([(draft.read().table or draft.text, draft.evidence)], verifier)
    return verification(found, draft)


def scorer_names(verifier: str) -> list[str]:
    """What scores, with versions: settings that notes depend on."""
    return [VERSION if verifier == PROGRAM else verifier, detector_name(load_similarity("lexical"))]


def _key(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=64)
def _source(key: str, context: str) -> Source:
    """The tables of a record; many answers are about one, which is read and indexed once."""
    found = source_in(json.loads(key))
    return Source(found.tables, "\n\n".join(filter(None, (found.text, context))))


@lru_cache(maxsize=64)
def _gold(key: str) -> Any:
    return given_gold(json.loads(key))


def _about(answer: Answer) -> dict[str, Any]:
    """What an answer is counted by: its table stands for what it was made from."""
    known = (answer.table, answer.context, answer.gold)
    basis = next((one for one in known if one is not None), "")
    return {
        "id": answer.id or hash_text(_key([*known, answer.query]))[:16],
        "model": answer.model,
        "table": hash_text(answer.table_id or _key(basis))[:12],
        "label": (answer.table_id or _label(basis))[:LONGEST_LABEL],
        "time": answer.time,
        "length": len(answer.text.split()),
        "fields": answer.found_in,
    }


def _label(basis: Any) -> str:
    """A name for a table: its title, else its columns and first row; of a text its beginning."""
    try:
        (table, *_) = _source(_key(basis), "").tables
    except (TablemendError, ValueError):
        return " ".join(str(basis).split())
    first = table.rows[0] if table.rows else ()
    return table.title or ", ".join(filter(None, (*table.columns, *first)))


def _error(error: Error) -> dict[str, Any]:
    own = {"type": error.type, "name": error.name, "column": _column(error), "word": error.word}
    return own | {"expected": list(error.expected)}


def _column(checked: Claim | Error) -> str:
    """The column that a claim or an error is about: of its evidence names of rows come first."""
    shown = [one.column for one in checked.evidence if one.column]
    return checked.column or (shown or [""])[-1]


def _columns(answer: Answer, found: Detection | Verification) -> dict[str, int]:
    """Columns that were checked: those of gold, or that the evidence of a scored claim is of."""
    if isinstance(found, Verification):
        scored = [one for one in found.claims if one.verdict != "unscored"]
        checked = dict.fromkeys(sorted({_column(one) for one in scored} - {""}), 0)
    else:
        checked = dict.fromkeys(_gold(_key(answer.gold)).columns, 0)
    wrong = {_column(one) for one in found.errors} - {""}
    return checked | dict.fromkeys(sorted(wrong), 1)
