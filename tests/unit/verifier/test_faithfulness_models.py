"""Language models as verifiers and extractors: strict reading, counting, combining."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tablemend import verify
from tablemend.errors import Stopped
from tablemend.evidence.source import TOP, Source
from tablemend.prompting.replies import Unreadable
from tablemend.records import Claim, ClaimKind, Document, Evidence, Usage, Verdict
from tablemend.tables.read import write_table
from tablemend.tables.table import Table
from tablemend.values.text import Span
from tablemend.verifier import llm, staf, verifiers
from tablemend.verifier.extraction import answer_claims, extract_claims
from tablemend.verifier.llm import (
    PER_REQUEST,
    WHOLE,
    LLMVerifier,
    ModelExtractor,
    PerRequest,
    align_claims,
    read_verdicts,
)
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


def answers(*verdicts: str) -> str:
    """One entry for every part that is asked about."""
    return json.dumps({str(n): json.loads(says(one)) for n, one in enumerate(verdicts, 1)})


def test_a_verdict_on_one_part_is_an_object_or_its_word() -> None:
    wrong = {1: ("contradicted", "so it is")}
    assert read_verdicts(says("contradicted")) == wrong
    assert read_verdicts(answers("contradicted")) == wrong
    assert read_verdicts("**Not in source.**") == {1: ("not_in_source", "")}
    assert read_verdicts("```json\n" + says("supported") + "\n```")[1][0] == "supported"
    reasoned = "The table says 37.\n\nVerdict: contradicted"
    assert read_verdicts(reasoned) == {1: ("contradicted", "The table says 37.")}
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
        "It is not\nsupported",
        "1: supported\n1: contradicted",
    ):
        with pytest.raises(Unreadable):
            read_verdicts(text)


def test_verdicts_on_several_parts_are_an_object_or_numbered_lines() -> None:
    both = answers("supported", "contradicted")
    assert read_verdicts(both, 2) == {1: ("supported", "so it is"), 2: ("contradicted", "so it is")}
    lines = "Let me look at the rows.\n- **1**: supported\n2. Verdict: contradicted, it says 37.\n"
    assert read_verdicts(lines, 2) == {1: ("supported", ""), 2: ("contradicted", "it says 37")}
    assert read_verdicts("2: not in source\n7: supported", 3) == {2: ("not_in_source", "")}
    assert read_verdicts('{"1": "supported", "2": "perhaps"}', 2) == {1: ("supported", "")}
    for text in ("supported", says("supported"), "1: supported\n1: contradicted\n2: supported"):
        with pytest.raises(Unreadable):
            read_verdicts(text, 2)


def test_a_model_scores_every_claim_by_its_own_evidence() -> None:
    backend = CannedBackend(lambda text: answers("contradicted" if "39" in text else "supported"))
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


LEAGUE = (
    "Alba won 41 points and Sella 39, ahead of Vey with 12. In 2018 the city of Sella was Rome.\n\n"
    "Vey has 12 points."
)


def asked_of(
    per_request: PerRequest, source: Source = SOURCE
) -> tuple[list[dict[str, str]], list[Verdict]]:
    """What a model is asked about :data:`LEAGUE`, in order, and what is made of its answers."""

    def answer(text: str) -> str:
        parts = text.rpartition("Parts to check:\n")[2].splitlines()
        return answers(*("contradicted" if '"39"' in part else "supported" for part in parts))

    backend = CannedBackend(answer)
    document = extract_claims(LEAGUE)
    (((*verdicts,), usage),) = LLMVerifier(backend, per_request=per_request).verify(
        [(document, source)]
    )
    assert [one.claim for one in verdicts] == list(document.claims)
    assert usage.calls == len(backend.asked)
    asked = [recognise(request.messages) for request in reversed(backend.asked)]
    return [one.slots for one in asked if one is not None], verdicts


def test_a_sentence_is_one_request_and_names_every_number() -> None:
    asked, verdicts = asked_of("sentence")
    assert [one["statement"] for one in asked][::2] == [LEAGUE.partition(" In")[0], LEAGUE[-18:]]
    parts = ['"41"', '"Sella"', '"39"', '"ahead of"', '"12"']
    assert asked[0]["parts"].splitlines() == [f"{n}. {part}" for n, part in enumerate(parts, 1)]
    wrong = [one for one in verdicts if one.wrong]
    assert [LEAGUE[slice(*one.claim.focus)] for one in wrong if one.claim.focus] == ["39"]
    assert len({one["evidence"] for one in asked}) == 1  # an engine reads it once


def test_parts_of_one_name_are_numbered_and_a_pronoun_has_its_sentence() -> None:
    backend = CannedBackend(lambda _: answers("supported"))
    text = "Alba won 41 points. It lost 12 games and drew 12. Sella won."
    LLMVerifier(backend).verify([(extract_claims(text), SOURCE)])
    slots = [one.slots for r in backend.asked if (one := recognise(r.messages))]
    (asked,) = (one for one in slots if "drew" in one["statement"])
    assert asked["statement"] == text.removesuffix(" Sella won.")
    assert asked["parts"].splitlines()[::2] == ['1. "12" (number 1)', '3. "12" (number 2)']


def test_claims_of_a_model_without_a_focus_are_parts_in_its_words() -> None:
    backend = CannedBackend(lambda _: answers("supported", "contradicted"))
    document, _ = align_claims("Alba, of Oslo, is happy.", ["Alba is of Oslo.", "Alba is happy."])
    bare = replace(document, claims=tuple(replace(c, focus=None) for c in document.claims))
    ((verdicts, _),) = LLMVerifier(backend).verify([(bare, SOURCE)])
    assert [one.verdict for one in verdicts] == ["supported", "contradicted"]
    asked = recognise(backend.asked[0].messages)
    assert asked is not None
    assert asked.slots["parts"] == "1. Alba is of Oslo.\n2. Alba is happy."


def test_sizes_of_requests_differ_in_requests_alone() -> None:
    sentences, expected = asked_of("sentence")
    paragraphs, verdicts = asked_of("paragraph")
    assert [one.verdict for one in verdicts] == [one.verdict for one in expected]
    assert (len(sentences), len(paragraphs)) == (3, 2)
    claims, verdicts = asked_of("claim")
    assert len(claims) == len(verdicts) == len(expected)
    assert {one["parts"] for one in claims} == {"1. the whole statement"}  # as it is trained


def test_a_part_alone_is_not_the_whole_sentence() -> None:
    """Another number of the sentence that is wrong does not make it wrong."""
    backend = CannedBackend(lambda _: answers("supported"))
    document = extract_claims("Alba won 41 points and lost 12 games.")
    alone = replace(document, claims=tuple(replace(c, focus=None) for c in document.claims[:1]))
    named = replace(document, claims=document.claims[:1])
    for one in (alone, named):
        LLMVerifier(backend).verify([(replace(one, text=f"{document.text} It won."), SOURCE)])
    parts = [found.slots["parts"] for r in backend.asked if (found := recognise(r.messages))]
    assert WHOLE not in parts[0] or alone.claims[0].statement == document.text[:-1]
    assert parts[1] == '1. "41"'


def test_claims_of_one_focus_are_told_apart_by_their_words() -> None:
    backend = CannedBackend(lambda _: answers("supported", "supported"))
    found = extract_claims("Alba won 41 points and no cup.")
    (one, *_) = found.claims
    document = replace(found, claims=(one, replace(one, statement="Alba won no cup but 41 points")))
    LLMVerifier(backend).verify([(document, SOURCE)])
    asked = recognise(backend.asked[0].messages)
    assert asked is not None and len(set(asked.slots["parts"].splitlines())) == 2
    assert "Alba" in asked.slots["parts"]


def test_numbers_inside_others_are_not_counted() -> None:
    backend = CannedBackend(lambda _: answers("supported"))
    LLMVerifier(backend).verify([(extract_claims("Alba won 12 games in 2012 and lost 2."), SOURCE)])
    asked = recognise(backend.asked[0].messages)
    assert asked is not None and "(number" not in asked.slots["parts"]


def test_a_sentence_over_two_lines_is_one_statement() -> None:
    backend = CannedBackend(lambda _: answers("supported"))
    text = "Alba won 41 points\nand lost 12 games.\n\nSella won 37."
    LLMVerifier(backend, per_request="paragraph").verify([(extract_claims(text), SOURCE)])
    said = [found.slots["statement"] for r in backend.asked if (found := recognise(r.messages))]
    assert sorted(said) == sorted(text.split("\n\n"))


def test_evidence_of_several_claims_is_shown_once() -> None:
    asked, _ = asked_of("sentence", LONG)
    cells = re.findall(r'Row "[^"]*", Column "[^"]*"', asked[0]["evidence"])
    assert len(cells) == len(set(cells)) > 0
    assert all(f'Row "{team}"' in asked[0]["evidence"] for team in ("Alba", "Sella", "Vey"))


def test_cells_of_a_row_of_an_answer_table_are_one_request() -> None:
    backend = CannedBackend(lambda text: answers("supported", "supported", "contradicted"))
    document = answer_claims(TABLE)
    ((verdicts, usage),) = LLMVerifier(backend).verify([(document, Source(text=LEAGUE))])
    assert usage.calls == len(TABLE.rows) < len(verdicts)
    assert {one.claim.row for one in verdicts if one.wrong} == {0, 1, 2}


def test_a_part_that_the_answer_leaves_out_is_unscored() -> None:
    backend = CannedBackend(lambda text: answers("supported", "supported"))
    document = extract_claims(LEAGUE.partition(" In")[0])
    ((verdicts, _),) = LLMVerifier(backend).verify([(document, SOURCE)])
    assert [one.verdict for one in verdicts] == ["supported"] * 2 + ["unscored"] * 3
    assert "no verdict on this part" in verdicts[2].reason


def test_requests_and_tokens_of_a_hundred_claims() -> None:
    """At most 35 requests and 0.4 of the words where a sentence makes three claims."""
    text = " ".join(f"Alba won {n} points and lost {n + 1} of {n + 2} games." for n in range(3, 37))
    document, sizes = extract_claims(text), {}
    assert 100 <= len(document.claims) <= 140
    for per_request in PER_REQUEST:
        backend = CannedBackend(lambda _: answers("supported"))
        LLMVerifier(backend, per_request=per_request).verify([(document, SOURCE)])
        turns = [turn["content"] for request in backend.asked for turn in request.messages]
        sizes[per_request] = len(backend.asked), sum(len(turn.split()) for turn in turns)
    assert sizes["claim"][0] == len(document.claims) and sizes["sentence"][0] <= 35
    assert sizes["sentence"][1] <= 0.4 * sizes["claim"][1]
    assert sizes["paragraph"][0] < sizes["sentence"][0]


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


def test_an_answer_of_nonsense_is_told_and_nothing_is_called_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = CannedBackend(lambda text: "I like tables.")
    monkeypatch.setattr(staf, "open_backend", lambda *_: backend)
    found = verify(TEXT, TABLE, verifier="llm:hf:canned")
    count = len(found.unscored)
    assert found.conclusion() == f"{count} of {count} claims could not be checked."


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


def test_a_claim_whose_evidence_did_not_fit_beside_the_others_is_unscored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def long(statement: str, source: Source) -> verifiers.Premise:
        return verifiers.Premise((Evidence(statement.ljust(5000, "."), table=0, row=0, column=0),))

    monkeypatch.setattr(llm, "gather", long)
    monkeypatch.setattr(llm, "whole_tables", lambda _: "")
    backend = CannedBackend(lambda _: answers("supported"))
    document = align_claims("Alba, of Oslo, is happy.", ["Alba is of Oslo.", "Alba is happy."])[0]
    ((verdicts, _),) = LLMVerifier(backend).verify([(document, SOURCE)])
    assert [one.verdict for one in verdicts] == ["supported", "unscored"]
    assert "too long for the model" in verdicts[1].reason
    (asked,) = (one for r in backend.asked if (one := recognise(r.messages)))
    assert len(asked.slots["parts"].splitlines()) == 1


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


def test_a_flag_of_the_program_needs_the_models_word() -> None:
    """Four flags: confirmed, called something else, denied, and left without a verdict."""
    texts = [f"c{number}" for number in range(6)]
    document = Document("", tuple(claim(text, 0) for text in texts))
    model = dict(
        zip(texts, ("contradicted", "not_in_source", "supported", "unscored"), strict=False)
    )

    class Program(Fixed):
        def verify(
            self, items: list[tuple[Document, Source]]
        ) -> list[tuple[tuple[Verdict, ...], Usage]]:
            flags = (Verdict(one, "contradicted", "NUM", (), "37") for one in document.claims[:4])
            rest = (
                Verdict(document.claims[4], "supported"),
                Verdict(document.claims[5], "unscored"),
            )
            return [((*flags, *rest), Usage())]

    class Model(Fixed):
        def verify(
            self, items: list[tuple[Document, Source]]
        ) -> list[tuple[tuple[Verdict, ...], Usage]]:
            self.seen += [[one.text for one in found.claims] for found, _ in items]
            wrong = ("contradicted", "not_in_source")
            verdicts = (
                Verdict(
                    one,
                    self.verdicts[one.text],
                    "NUM" if self.verdicts[one.text] in wrong else None,
                )  # type: ignore[arg-type]
                for one in items[0][0].claims
            )
            return [(tuple(verdicts), Usage(1))]

    second = Model(model | {"c5": "supported"})
    ((found, usage),) = CombinedVerifier(Program({}), second, veto=True).verify(
        [(document, SOURCE)]
    )
    assert second.seen == [["c0", "c1", "c2", "c3", "c5"]] and usage.calls == 1
    assert [one.verdict for one in found] == [
        *("contradicted", "contradicted", "unscored", "contradicted"),
        *("supported", "supported"),
    ]
    assert found[2].reason.startswith("disputed: 37; but") and found[2].error_type is None
    (told,) = staf.verify_documents([("x", SOURCE)], Disputing())
    assert told.notes == ("flags of the program that the model did not confirm: 1, unscored",)


class Disputing(Fixed):
    """Disputes one claim of whatever it is asked about."""

    def __init__(self) -> None:
        super().__init__({})

    def verify(
        self, items: list[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        return [((Verdict(claim("x", 0), "unscored", None, (), "disputed: a; but b"),), Usage())]


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
    assert found[0].verifier == "llm:hf:canned, verify/3; claims: llm:hf:canned, extract/1"


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
