"""Language models as verifiers and extractors: strict reading, counting, combining."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tablemend.errors import Stopped
from tablemend.evidence.source import TOP, Source
from tablemend.prompting.replies import Unreadable
from tablemend.records import Claim, ClaimKind, Document, Usage, Verdict
from tablemend.tables.read import write_table
from tablemend.tables.table import Table
from tablemend.values.text import Span
from tablemend.verifier import staf, verifiers
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.llm import LLMVerifier, ModelExtractor, align_claims, read_verdict
from tablemend.verifier.verifiers import CombinedVerifier, name_error
from tests.support.faithfulness_models import Answer, CannedBackend
from tests.support.prompts import recognise

TABLE = Table.of(
    ["Team", "Points", "City"],
    [["Alba", "41", "Oslo"], ["Sella", "37", "Rome"], ["Vey", "12", "Lima"]],
    title="League 2019",
)
SOURCE = Source((TABLE,))
LONG = Source((replace(TABLE, rows=TABLE.rows + (("Aro", "9", "Kyiv"),) * (verifiers.SHORT // 8)),))
TEXT = "Alba won 41 points. Sella has 39 points."


def claim(text: str, start: int, kind: ClaimKind = "numeric") -> Claim:
    return Claim(text, start, start + len(text), kind, text)


DOCUMENT = Document(TEXT, (claim(TEXT[:19], 0), replace(claim(TEXT[20:], 20), focus=Span(30, 32))))


def says(verdict: str) -> str:
    return json.dumps({"reason": "so it is", "verdict": verdict})


def test_a_verdict_is_one_json_object_or_its_word_alone() -> None:
    assert read_verdict(says("contradicted")) == ("contradicted", "so it is")
    assert read_verdict("**Not in source.**") == ("not_in_source", "")
    assert read_verdict("```json\n" + says("supported") + "\n```")[0] == "supported"
    for text in (
        "",
        "I think that it is supported.",
        "supported contradicted",
        says("Supported"),
        says("unscored"),
        says("supported") + says("contradicted"),
        says("supported")[:-1],
        '{"reason": "yes"}',
        "not supported",
    ):
        with pytest.raises(Unreadable):
            read_verdict(text)


def test_a_model_scores_every_claim_by_its_own_evidence() -> None:
    backend = CannedBackend(lambda text: says("contradicted" if "39" in text else "supported"))
    ((verdicts, usage),) = LLMVerifier(backend).verify([(DOCUMENT, SOURCE)])
    assert [one.verdict for one in verdicts] == ["supported", "contradicted"]
    assert [one.error_type for one in verdicts] == [None, "NUM"]
    assert [one.claim for one in verdicts] == list(DOCUMENT.claims)
    assert usage == Usage(2, 20, 6)
    shown = [recognise(request.messages) for request in backend.asked]
    slots = {one.slots["statement"]: one.slots for one in shown if one is not None}
    assert set(slots) == {TEXT[:19], TEXT[20:]}
    assert slots[TEXT[20:]]["evidence"] == write_table(TABLE, "markdown")
    assert "League 2019" in slots[TEXT[20:]]["about"]
    LLMVerifier(backend).verify([(DOCUMENT, LONG)])
    asked = recognise(backend.asked[-1].messages)
    assert asked is not None and asked.slots["evidence"].count("Row ") == TOP
    assert all("Row " in verdict.evidence[0].text for verdict in verdicts)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (("", "error"), "request failed: gone"),
        (("supp", "length"), "cut by the token limit"),
        (("No.", "refusal"), "refusal"),
        ("", "empty answer"),
        ("<think>\nno end of thinking, supported", "empty answer"),
        ("It is supported, I am sure.", "no JSON object"),
        ('{"verdict": "maybe"}', "missing or wrong field"),
    ],
)
def test_what_cannot_be_read_is_unscored_and_says_why(answer: Answer, reason: str) -> None:
    verifier = LLMVerifier(CannedBackend(lambda text: answer))
    ((verdicts, usage),) = verifier.verify([(DOCUMENT, SOURCE)])
    assert {one.verdict for one in verdicts} == {"unscored"}
    assert all(reason in one.reason for one in verdicts), verdicts
    assert usage.calls == 2


def test_a_server_that_is_gone_stops_the_run() -> None:
    many = replace(DOCUMENT, claims=DOCUMENT.claims * 20)
    with pytest.raises(Stopped, match="20 requests in a row failed"):
        LLMVerifier(CannedBackend(lambda _: ("", "error"))).verify([(many, SOURCE)])


def test_evidence_that_is_too_long_is_left_out_whole() -> None:
    long = Table.of(["Team", "Points"], [["Alba", "41 points " * 2000], ["Alba two", "points"]])
    shown = verifiers.gather(TEXT[:19], Source((long,)))
    assert shown.left_out >= 1
    assert all(len(one.text) < verifiers.MOST_CHARACTERS for one in shown.evidence)
    alone = verifiers.gather(TEXT[:19], Source((Table.of(["Alba"], [["41 " * 9000]]),)))
    assert not alone.evidence and "too long" in alone.reason


class Fixed:
    """Gives the verdicts of a list, and notes what it was shown."""

    name = "fixed"

    def __init__(self, verdicts: dict[str, str]) -> None:
        self.verdicts = verdicts
        self.seen: list[list[str]] = []

    def verify(
        self, items: list[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        self.seen += [[one.text for one in document.claims] for document, _ in items]
        return [
            (
                tuple(Verdict(one, self.verdicts[one.text], reason="r") for one in d.claims),  # type: ignore[arg-type]
                Usage(len(d.claims)),
            )
            for d, _ in items
        ]

    def close(self) -> None:
        pass


def test_the_second_verifier_sees_only_what_the_first_leaves() -> None:
    texts = [f"c{number}" for number in range(4)]
    documents = [Document("", (claim(texts[0], 0), claim(texts[1], 0))) for _ in range(1)]
    documents.append(Document("", (claim(texts[2], 0), claim(texts[3], 0))))
    first = Fixed({"c0": "supported", "c1": "supported", "c2": "unscored", "c3": "supported"})
    second = Fixed({"c2": "unscored"})
    items = [(document, SOURCE) for document in documents]
    found = CombinedVerifier(first, second).verify(items)
    assert second.seen == [[], ["c2"]]
    assert [usage.calls for _, usage in found] == [2, 3]
    assert [one.verdict for one in found[1][0]] == ["unscored", "supported"]


def test_claims_of_a_model_are_set_back_into_the_text() -> None:
    text = "In 2019 Alba won 41 points, four more than Sella. Vey, from Lima, came last."
    document, dropped = align_claims(
        text,
        [
            "Vey is from Lima.",
            "Vey came last.",
            "Vey came last.",
            "Alba won 41 points in 2019.",
            "Alba won four more points than Sella.",
            "Alba won 44 points.",
            "The weather was fine.",
        ],
    )
    assert dropped == 2
    assert [one.text for one in document.claims] == [
        "2019 Alba won 41 points",
        "Alba won 41 points, four more than Sella",
        "Vey, from Lima",
        "Vey, from Lima, came last",
    ]
    for one in document.claims:
        assert text[one.start : one.end] == one.text
        assert one.sentence is not None and one.start is not None
        assert one.sentence.start <= one.start < one.sentence.end


def test_an_extractor_counts_and_says_what_it_dropped() -> None:
    answers = {TEXT: "Alba won 41 points.\nAlba won 99 points.", "x y": ("", "length")}
    backend = CannedBackend(
        lambda text: next(a for t, a in answers.items() if f"Summary:\n{t}\n" in text)
    )
    found = ModelExtractor(backend).extract([TEXT, "x y", " "])
    assert [len(one.document.claims) for one in found] == [1, 0, 0]
    assert "1 of the model's 2 claims stand nowhere" in found[0].notes[0]
    assert "cut by the token limit" in found[1].notes[0]
    assert found[2].notes == () and found[2].usage == Usage() and len(backend.asked) == 2


def test_an_open_verifier_stays_open_and_usage_is_added_up() -> None:
    backend = CannedBackend(lambda text: says("supported"))
    extracting = CannedBackend(lambda text: "Alba won 41 points.\nSella has 39 points.")
    found = staf.verify_documents(
        [(TEXT, SOURCE), (TEXT, SOURCE)], LLMVerifier(backend), ModelExtractor(extracting)
    )
    assert [one.staf for one in found] == [1.0, 1.0]
    assert [one.usage for one in found] == [Usage(3, 30, 9)] * 2
    assert not backend.closed and not extracting.closed
    assert found[0].verifier == "llm:hf:canned, verify/2; claims: llm:hf:canned, extract/1"


# ---- the type of an error where only a model says that a claim is wrong

FIRMS = Table.of(
    ("Company", "Revenue", "Employees", "Founded"),
    [
        ("Acme", "512", "40", "1991"),
        ("Bolt", "734", "77", "2004"),
        ("Cora", "96", "12", "2013"),
    ],
)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("The revenue of Acme was 598.", "NUM"),
        ("The revenue of Acme was 734.", "REL"),
        ("The revenue of Acme was 40.", "NUM"),
        ("Cora had the highest revenue.", "CMP"),
        ("Acme had a higher revenue than Bolt.", "CMP"),
        ("Acme was founded in 1987.", "TMP"),
    ],
)
def test_plain_cases(text: str, type: str) -> None:
    claim = extract_claims(text).claims[0]
    assert name_error(claim, Source((FIRMS,))) == type


def test_a_row_that_does_not_belong_is_relational_and_without_tables_the_kind_decides() -> None:
    claim = Claim("Acme is one of the rows.", None, None, "presence", "Acme is one of the rows.")
    assert name_error(claim, Source((FIRMS,))) == "REL"
    numeric = extract_claims("The revenue of Acme was 598.").claims[0]
    assert name_error(numeric, Source(text="Acme earned 512.")) == "NUM"
    assert name_error(Claim("", None, None, "attribute", ""), Source((FIRMS,))) == "ATT"
